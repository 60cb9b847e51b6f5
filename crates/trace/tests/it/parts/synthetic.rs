use headstack_schema::Parameter;
use headstack_trace::arrivals::ClosedLoop;
use headstack_trace::request::{Command, Request};
use headstack_trace::source::Requests;
use headstack_trace::synthetic::*;
use headstack_units::{Span, Time};

fn read(toml: &str) -> Synthetic {
    toml::from_str(toml).unwrap()
}

/// The error of a wrong workload, when it is read or when it is opened.
fn refused(toml: &str) -> String {
    let value: serde_json::Value = toml::from_str(toml).unwrap();
    match Synthetic::read(&value) {
        Err(e) => e.within("synthetic").to_string(),
        Ok(read) => read.source(1).err().unwrap().to_string(),
    }
}

#[test]
fn the_design_page_example_has_the_shares_it_asks_for() {
    let s = read(
        "n_requests = 200_000\nreads = 0.6\nsequential = 0.2\nsize = '4 KiB'\narrivals = 'poisson'\nrate = '250/s'\nfootprint = '100 GB'",
    );
    let all: Vec<Request> = s.generator(7).unwrap().collect();
    assert_eq!(all.len(), 200_000);
    let n = all.len() as f64;
    // Five standard deviations of a binomial share and of the sum of exponential gaps.
    let reads = all.iter().filter(|r| r.op == Command::Read).count() as f64 / n;
    assert!((reads - 0.6).abs() < 5.0 * (0.24 / n * 1.5).sqrt(), "{reads}");
    let pairs = all.windows(2);
    let follow = pairs.filter(|w| w[1].lba.0 == w[0].lba.0 + u64::from(w[0].blocks) && w[0].op == w[1].op);
    let sequential = follow.count() as f64 / n;
    assert!((sequential - 0.2).abs() < 5.0 * (0.16 / n).sqrt(), "{sequential}");
    let span = all.last().unwrap().time.as_secs_f64();
    assert!((span - 800.0).abs() < 5.0 * 800.0 / n.sqrt(), "{span}");
    assert!(all.iter().all(|r| r.lba.0 % 8 == 0 && (r.lba.0 + 8) * 512 <= 100_000_000_000));
    let again: Vec<Request> = s.generator(7).unwrap().collect();
    assert_eq!(all, again);
    let mut many = Vec::new();
    let mut source = s.source(7).unwrap();
    source.fill(&mut many, 100_001).unwrap();
    source.fill(&mut many, 100_001).unwrap();
    assert_eq!(all, many);
    assert_ne!(all, s.generator(8).unwrap().collect::<Vec<_>>());
}

/// The choice of write-through has no effect on the rest of a workload.
#[test]
fn writes_through_have_their_share_and_leave_the_rest_alone() {
    let base = "n_requests = 50_000\nreads = 0.4\nrate = '90/s'\nfootprint = '10 GB'";
    for more in ["", "\nsequential = 0.3", "\nsize = { distribution = 'exponential', mean = '9 KiB' }"] {
        let plain: Vec<Request> = read(&format!("{base}{more}")).generator(5).unwrap().collect();
        let through = read(&format!("{base}{more}\nwrite_through = 0.1"));
        let mut all: Vec<Request> = through.generator(5).unwrap().collect();
        let mut many = Vec::new();
        through.source(5).unwrap().fill(&mut many, 50_000).unwrap();
        assert_eq!(all, many, "{more}");
        let writes = all.iter().filter(|r| r.op.writes()).count() as f64;
        let share = all.iter().filter(|r| r.op == Command::WriteThrough).count() as f64 / writes;
        // Five standard deviations; sequential requests repeat the operation, 1 / 0.7 times on average.
        assert!((share - 0.1).abs() < 5.0 * (0.09 / (0.4 * writes)).sqrt(), "{more}: {share}");
        for r in all.iter_mut().filter(|r| r.op == Command::WriteThrough) {
            r.op = Command::Write;
        }
        assert_eq!(all, plain, "{more}");
    }
    let want = "synthetic.write_through: got 1.5, need 0 to 1";
    assert_eq!(refused(&format!("{base}\nwrite_through = 1.5")), want);
    // What is made by a program is held to the same bounds.
    let made = Synthetic { write_through: 1.5, ..read(base) };
    assert_eq!(made.generator(5).unwrap_err().to_string(), want);
}

/// Batches contain the same requests as one at a time, for all distributions and batch sizes.
#[test]
fn batches_are_what_single_requests_are() {
    let mut lists = 0;
    for arrivals in [
        "rate = '90/s'",
        "arrivals = 'constant'\nrate = '90/s'",
        "arrivals = 'uniform'\nrate = '0.01/s'",
        "arrivals = 'closed'\noutstanding = 3",
        "interarrival = { distribution = 'normal', mean = '2 ms', deviation = '3 ms' }",
        "rate = '90/s'\nphases = [ { duration = '2 s' }, { duration = '1 s', reads = 0.9 } ]",
    ] {
        for sizes in [
            "size = '4 KiB'",
            "size = '10 KB'\nrounding = 'up'\nreads = 0.0",
            "size = { distribution = 'exponential', mean = '9 KiB' }\nreads = 1.0",
        ] {
            for places in ["", "devices = 5", "zipf = 0.8", "sequential = 0.3", "local = 0.4"] {
                let toml = format!("n_requests = 3_000\n{arrivals}\n{sizes}\n{places}");
                let toml = match arrivals.find("phases") {
                    Some(_) => toml,
                    None => format!("{toml}\nfootprint = '100 MB'"),
                };
                let single: Vec<Request> = read(&toml).generator(11).unwrap().collect();
                let mut source = read(&toml).source(11).unwrap();
                let mut many = Vec::new();
                for piece in [1, 0, 255, 256, 2, 700] {
                    source.fill(&mut many, piece).unwrap();
                }
                assert_eq!(many.len(), 1214, "{toml}");
                // Single requests continue where a batch ended.
                many.extend(source.by_ref().take(10).map(Result::unwrap));
                source.fill(&mut many, 5_000).unwrap();
                assert_eq!(many, single, "{toml}");
                lists += 1;
            }
        }
    }
    assert_eq!(lists, 90);
}

#[test]
fn exponential_sizes_follow_disksims_rule() {
    // Sectors = trunc(Exp(8)), rounded up to 8, zero redrawn. With q = exp(-1/8) per sector:
    // P(k units) = (q^(8k-7) - q^(8k+1)) / q, so the mean is 1/(1 - q^8) units.
    let s = read(
        "n_requests = 400_000\nsize = { distribution = 'exponential', mean = '4 KiB' }\nrounding = 'up'\nrate = '1/s'",
    );
    let units: f64 = s.generator(1).unwrap().map(|r| f64::from(r.blocks / 8)).sum();
    let expected = 1.0 / (1.0 - (-1.0f64).exp());
    assert!((units / 400_000.0 - expected).abs() < 0.01, "{}", units / 400_000.0);
}

/// Means and shares of blocks of 4 KiB by the laws that are asked for: uniform, and the geometric one of the same mean for
/// exponential sizes. Within five standard deviations. Rows: distribution; mean and deviation in blocks; a size and its share.
#[test]
fn sizes_of_whole_blocks_have_the_mean_and_the_shares_asked_for() {
    let n = 200_000.0;
    for row in [
        "'uniform', min = '4 KiB', max = '64 KiB' | 8.5 | 4.61 | 1 | 0.0625",
        "'uniform', min = '8 KiB', max = '24 KiB' | 4 | 1.42 | 6 | 0.2",
        "'exponential', mean = '16 KiB' | 4 | 3.47 | 1 | 0.25",
        "'exponential', mean = '6 KiB' | 1.5 | 0.87 | 2 | 0.2222",
        "'exponential', mean = '16 KiB', base = '8 KiB' | 6 | 4.48 | 2 | 0.2",
        "'normal', mean = '66 KiB', deviation = '16 KiB' | 16.5 | 4.1 | 99 | 0",
        "'two-value', value = '4 KiB', second = '12 KiB', probability = 0.3 | 1.6 | 0.92 | 3 | 0.3",
    ] {
        let (size, numbers) = row.split_once(" | ").unwrap();
        let numbers: Vec<f64> = numbers.split(" | ").map(|x| x.parse().unwrap()).collect();
        let [mean, deviation, first, share] = numbers[..] else { panic!("{row}") };
        let toml = format!("n_requests = {n}\nrate = '1/s'\nsize = {{ distribution = {size} }}");
        let drawn = read(&toml).generator(3).unwrap();
        let units: Vec<f64> = drawn.map(|r| f64::from(r.blocks / 8)).collect();
        let off = units.iter().sum::<f64>() / n - mean;
        assert!(off.abs() < 5.0 * deviation / n.sqrt(), "{row}: off by {off} with seed 3");
        let off = units.iter().filter(|u| **u == first).count() as f64 / n - share;
        let bound = 5.0 * (share * (1.0 - share) / n).sqrt();
        assert!(off.abs() <= bound, "{row}: share off by {off} with seed 3");
    }
}

#[test]
fn sizes_that_whole_blocks_cannot_have_are_refused() {
    for row in [
        "'10 kB' | multiples of the block of 4096 B",
        "{ distribution = 'exponential', mean = '4 KiB' } | a mean above the block",
        "{ distribution = 'exponential', mean = '4 KiB', base = '2 KiB' } | multiples of",
        "{ distribution = 'exponential', mean = '200 MB' } | within the footprint",
        "{ distribution = 'uniform', min = '0 B', max = '64 KiB' } | multiples of",
        "{ distribution = 'uniform', min = '4 KiB', max = '10 KiB' } | multiples of",
        "{ distribution = 'normal', mean = '16 KiB', deviation = '8 KiB' } | three deviations",
        "{ distribution = 'choice', values = ['4 KiB', '5 KiB'] } | multiples of",
    ] {
        let (size, need) = row.split_once(" | ").unwrap();
        let error = refused(&format!("rate = '1/s'\nsize = {size}"));
        let named = error.contains("synthetic.size: got");
        assert!(named && error.contains(need), "{row}: {error}");
    }
}

#[test]
fn phases_keep_their_own_rates() {
    let s = read(
        "n_requests = 30_300\nrate = '1/s'\nphases = [ { duration = '10 s', rate = '100/s' }, { duration = '10 s', rate = '200/s' }, { duration = '5 s', rate = '0/s' } ]",
    );
    let mut counts = [0u32; 3];
    for r in s.generator(3).unwrap() {
        let at = r.time.as_secs_f64() % 25.0;
        counts[if at < 10.0 {
            0
        } else if at < 20.0 {
            1
        } else {
            2
        }] += 1;
    }
    assert_eq!(counts[2], 0, "{counts:?}");
    let ratio = f64::from(counts[1]) / f64::from(counts[0]);
    assert!((ratio - 2.0).abs() < 0.15, "{counts:?}");
}

/// Phases of 1 s that only read and only write. Each request comes one constant gap after the last, also where the gap
/// is that of local requests, and skips the phases that end before it; at the end of a phase it is still inside.
#[test]
fn constant_gaps_skip_the_phases_that_are_over() {
    for ms in [0u64, 300, 5300] {
        let s = read(&format!(
            "n_requests = 50\nlocal = 1.0\nsize = '4 KiB'\nfootprint = '1 GB'\n\
             interarrival = '{ms} ms'\nlocal_interarrival = '{ms} ms'\n\
             phases = [{{ duration = '1 s', reads = 1.0 }}, {{ duration = '1 s', reads = 0.0 }}]"
        ));
        for (i, request) in (1..).zip(s.generator(3).unwrap()) {
            let at = i * ms * 1_000_000;
            let phase = at.saturating_sub(1) / 1_000_000_000 % 2;
            let op = [Command::Read, Command::Write][phase as usize];
            assert_eq!((request.time.0, request.op), (at, op), "{ms} ms, request {i}");
        }
    }
}

#[test]
fn local_requests_stay_near() {
    let s = read(
        "n_requests = 20_000\nlocal = 1.0\nlocal_distance = { deviation = '1 MB' }\nrate = '1/s'\nfootprint = '1 TB'",
    );
    let all: Vec<Request> = s.generator(3).unwrap().collect();
    let near = |w: &[Request]| w[0].lba.0.abs_diff(w[1].lba.0) * 512 < 5_000_000;
    assert!(all.windows(2).all(near));
}

#[test]
fn zipf_prefers_few_blocks_by_its_law() {
    let s = read("n_requests = 100_000\nzipf = 1.0\nrate = '1/s'\nfootprint = '4096 KiB'");
    let mut counts = vec![0u32; 1024];
    for r in s.generator(3).unwrap() {
        counts[(r.lba.0 / 8) as usize] += 1;
    }
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let harmonic: f64 = (1..=1024).map(|k| 1.0 / f64::from(k)).sum();
    let top = f64::from(counts[0]) / 100_000.0;
    assert!((top - 1.0 / harmonic).abs() < 0.01, "{top}");
}

#[test]
fn nonsense_is_refused_by_key() {
    for (toml, key) in [
        ("reads = 1.5\nrate='1/s'", "reads"),
        ("sequential = 0.7\nlocal = 0.7\nrate='1/s'", "sequential"),
        ("size = '0 B'\nrate='1/s'", "size"),
        ("", "rate"),
        ("footprint = '100 B'\nrate='1/s'", "footprint"),
        ("block = '100 B'\nrate='1/s'", "block"),
        ("devices = 0\nrate='1/s'", "devices"),
        ("arrivals = 'closed'\noutstanding = 0", "outstanding"),
        ("arrivals = 'closed'\nthink = '-1 ms'", "think"),
        ("size = '2 GB'\nrate='1/s'", "size"),
    ] {
        let error = refused(toml);
        assert!(error.contains(&format!("synthetic.{key}")), "{error}");
    }
    assert!(toml::from_str::<Synthetic>("speed = 1").is_err());
}

#[test]
fn closed_workloads_carry_their_loop() {
    let s = read("arrivals = 'closed'\noutstanding = 4\nthink = '2 ms'\nn_requests = 3");
    let closed = s.closed(1).unwrap().unwrap();
    let think = |closed: &ClosedLoop| closed.pauses().unwrap().draw();
    assert_eq!((closed.outstanding, think(&closed)), (4, Span(2_000_000)));
    assert!(s.generator(1).unwrap().all(|r| r.time == Time::ZERO));
    let same = ClosedLoop::fixed(4, Span(2_000_000));
    assert_eq!((same.outstanding, think(&same)), (4, Span(2_000_000)));
}

/// Records that grow: the first of `initial` records, then one more for each new write, in order; reads and
/// updates stay below, evenly. Seed 3.
#[test]
fn data_grow_by_new_writes() {
    let toml = "n_requests = 200_000\nreads = 0.25\nrate = '10/s'\nfootprint = '4 GB'\n\
                growth = { initial = 5_000, new = 0.4 }";
    let (mut count, mut writes, mut new) = (5_000, 0, 0);
    let mut halves = [0u64; 2];
    for request in read(toml).generator(3).unwrap() {
        let record = request.lba.0 / 8;
        assert_eq!((request.lba.0 % 8, request.blocks), (0, 8));
        writes += u64::from(request.op == Command::Write);
        if record == count {
            assert_eq!(request.op, Command::Write);
            (count, new) = (count + 1, new + 1);
        } else {
            assert!(record < count, "{record} of {count}");
            halves[usize::from(record >= count / 2)] += 1;
        }
    }
    // Five standard deviations.
    assert!((writes as f64 - 150_000.0).abs() < 5.0 * 194.0, "{writes}");
    assert!((new as f64 - 0.4 * writes as f64).abs() < 5.0 * 190.0, "{new}");
    assert!(halves[0].abs_diff(halves[1]) < 5 * 374, "{halves:?}");
    // The space is full: writes are updates.
    let full = toml.replace("4 GB", "20480000 B");
    assert!(read(&full).generator(3).unwrap().all(|r| r.lba.0 < 40_000));
}

#[test]
fn growth_that_does_not_fit_is_refused_by_its_key() {
    let base = "rate = '10/s'\nfootprint = '1 MB'\n";
    for (more, key) in [
        ("growth = { initial = 0, new = 0.5 }", "synthetic.growth.initial"),
        ("growth = { initial = 245, new = 0.5 }", "synthetic.growth.initial"),
        ("growth = { initial = 9, new = 1.5 }", "synthetic.growth.new"),
        ("growth = { initial = 9, new = 0.5 }\ndevices = 2", "synthetic.devices"),
        ("growth = { initial = 9, new = 0.5 }\nzipf = 1.0", "synthetic.zipf"),
        ("growth = { initial = 9, new = 0.5 }\nlocal = 0.1", "synthetic.sequential + local"),
        (
            "growth = { initial = 9, new = 0.5 }\nsize = { distribution = 'uniform', min = '4 KiB', max = '8 KiB' }",
            "synthetic.size",
        ),
    ] {
        let error = refused(&format!("{base}{more}"));
        assert!(error.starts_with(key), "{more}: {error}");
    }
}

/// fio's `bssplit=4k/70:8k/20:64k/10`: each size as often as its weight, within five standard deviations.
#[test]
fn sizes_of_a_choice_come_as_often_as_their_weights() {
    let s = read(
        "n_requests = 100_000\nrate = '1/s'\nsize = { distribution = 'choice', values = ['4 KiB', '8 KiB', '64 KiB'], weights = [70.0, 20.0, 10.0] }",
    );
    let all: Vec<Request> = s.generator(3).unwrap().collect();
    let n = all.len() as f64;
    let mut sum = 0;
    for (blocks, share) in [(8, 0.7), (16, 0.2), (128, 0.1)] {
        let found = all.iter().filter(|r| r.blocks == blocks).count();
        sum += found;
        let away = (found as f64 / n - share).abs();
        let deviation = (share * (1.0 - share) / n).sqrt();
        assert!(away < 5.0 * deviation, "{blocks} blocks: {found}");
    }
    assert_eq!(sum, all.len());
    let equally =
        read("n_requests = 40_000\nrate = '1/s'\nsize = { distribution = 'choice', values = ['4 KiB', '8 KiB'] }");
    let small = equally.generator(3).unwrap().filter(|r| r.blocks == 8);
    let away = (small.count() as f64 / 40_000.0 - 0.5).abs();
    assert!(away < 5.0 * (0.25f64 / 40_000.0).sqrt(), "{away}");
}

#[test]
fn choices_without_values_or_with_other_weights_are_refused() {
    let size = |rest: &str| refused(&format!("rate = '1/s'\nsize = {{ distribution = 'choice', {rest} }}"));
    assert!(size("values = []").contains("need 1 to 16 values"));
    assert!(size("values = ['4 KiB'], weights = [1.0, 2.0]").contains("one weight for each of the 1 values"));
    assert!(size("values = ['4 KiB'], weights = [0.0]").contains("one of them above 0"));
}
