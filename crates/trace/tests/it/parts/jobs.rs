use headstack_trace::jobs::{Job, Jobs, DETACHED};
use headstack_trace::request::Command;
use headstack_units::{Span, Time};

fn jobs(toml: &str) -> Result<Jobs, headstack_trace::TraceError> {
    #[derive(headstack_schema::Table)]
    struct File {
        processors: Option<u32>,
        jobs: Vec<Job>,
    }
    let table = toml::from_str(toml).expect("TOML");
    let file: File = headstack_schema::read_table(&table)?;
    Jobs::new(&file.jobs, file.processors, 7)
}

/// Plays jobs against a device that serves each request in `service`, any number at once: issue times in
/// milliseconds by thread, up to `until_ms`.
fn play(jobs: &mut Jobs, service: Span, until_ms: f64) -> Vec<(u32, f64)> {
    let mut issued = Vec::new();
    while jobs.next_time() < Time::from_secs_f64(until_ms * 1e-3) {
        let now = jobs.next_time();
        if let Some((request, thread)) = jobs.take() {
            assert_eq!(request.time, now);
            issued.push((thread & !DETACHED, now.0 as f64 * 1e-6));
            jobs.ended(thread, now + service);
        }
    }
    issued
}

#[test]
fn a_thread_waits_for_its_request_and_thinks() {
    let mut j = jobs("[[jobs]]\nthreads = 2\nthink_time = \"1 ms\"").unwrap();
    let issued = play(&mut j, Span::from_ms(4.0), 11.0);
    assert_eq!(issued, [(0, 0.0), (1, 0.0), (0, 5.0), (1, 5.0), (0, 10.0), (1, 10.0)]);
}

/// At 100/s a thread is due every 10 ms. One whose request took 25 ms is late and issues at once.
#[test]
fn rates_are_kept_and_caught_up() {
    let mut j = jobs("[[jobs]]\nthreads = 2\nrate = \"100/s\"\ntogether = true").unwrap();
    let mut issued = Vec::new();
    for end in [25.0, 25.0, 26.0, 26.0, 27.0, 27.0] {
        let now = j.next_time().0 as f64 * 1e-6;
        let (_, thread) = j.take().unwrap();
        issued.push((thread, now));
        j.ended(thread, Time::from_secs_f64(end * 1e-3));
    }
    // 10 ms and 20 ms were missed: both come at once, then 30 ms.
    assert_eq!(issued, [(0, 0.0), (1, 0.0), (0, 25.0), (1, 25.0), (0, 26.0), (1, 26.0)]);
    assert_eq!(j.next_time(), Time(30_000_000));
}

#[test]
fn threads_apart_have_phases_of_their_own() {
    let mut j = jobs("[[jobs]]\nthreads = 50\nrate = \"10/s\"").unwrap();
    let issued = play(&mut j, Span::from_ms(1.0), 1000.0);
    assert_eq!(issued.len(), 500);
    let mut first: Vec<f64> = issued[..50].iter().map(|(_, t)| *t).collect();
    first.dedup();
    assert_eq!(first.len(), 50);
    assert!(first[0] < 20.0 && first[49] > 80.0, "{first:?}");
}

/// 40 KiB in requests of 4 KiB are ten, on each device, in each of three bursts a second apart.
#[test]
fn bursts_of_a_volume_on_each_device() {
    let toml = "[[jobs]]\nthreads = 3\ndevices = 2\nfirst_device = 4\nvolume = \"40 KiB\"\nstart = \"2 s\"\n\
                every = \"1 s\"\nbursts = 3\noffset = \"8 KiB\"\nrequests = { footprint = \"4 KiB\" }";
    let mut j = jobs(toml).unwrap();
    let mut count = std::collections::BTreeMap::new();
    while j.next_time() < Time::NEVER {
        let now = j.next_time();
        let Some((request, thread)) = j.take() else { continue };
        assert_eq!((request.lba.0, request.blocks), (16, 8));
        let second = now.0 / 1_000_000_000;
        *count.entry((second, request.device)).or_insert(0) += 1;
        j.ended(thread, now + Span::from_ms(3.0));
    }
    let wanted: Vec<_> = [2, 3, 4].iter().flat_map(|s| [((*s, 4), 10), ((*s, 5), 10)]).collect();
    assert_eq!(count.into_iter().collect::<Vec<_>>(), wanted);
}

/// A burst that takes 30 ms delays one that is due 10 ms after its beginning.
#[test]
fn a_long_burst_delays_the_next() {
    let toml = "[[jobs]]\nthreads = 1\nvolume = \"12 KiB\"\nevery = \"10 ms\"\nbursts = 2";
    let issued = play(&mut jobs(toml).unwrap(), Span::from_ms(10.0), 1000.0);
    let times: Vec<f64> = issued.iter().map(|(_, t)| *t).collect();
    assert_eq!(times, [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
}

#[test]
fn a_duration_ends_a_job() {
    let toml = "[[jobs]]\nthreads = 1\nduration = \"25 ms\"";
    let issued = play(&mut jobs(toml).unwrap(), Span::from_ms(10.0), 1000.0);
    assert_eq!(issued.len(), 3);
}

#[test]
fn the_same_seed_gives_the_same_requests_and_each_device_others() {
    let toml = "[[jobs]]\nthreads = 1\ndevices = 2\nrequests = { footprint = \"1 TB\" }";
    let lbas = |seed: u64| -> Vec<(u32, u64)> {
        #[derive(headstack_schema::Table)]
        struct File {
            jobs: Vec<Job>,
        }
        let table = toml::from_str(toml).expect("TOML");
        let file: File = headstack_schema::read_table(&table).expect("jobs");
        let mut j = Jobs::new(&file.jobs, None, seed).unwrap();
        (0..10)
            .map(|_| {
                let now = j.next_time();
                let (r, thread) = j.take().unwrap();
                j.ended(thread, now + Span::from_ms(1.0));
                (r.device, r.lba.0)
            })
            .collect()
    };
    assert_eq!(lbas(1), lbas(1));
    assert_ne!(lbas(1), lbas(2));
    let first = lbas(1);
    assert_eq!((first[0].0, first[1].0), (0, 1));
    assert_ne!(first[0].1, first[1].1);
}

#[test]
fn refuses_what_cannot_be() {
    for (toml, key) in [
        ("threads = 0", "jobs[0].threads"),
        ("threads = 1\nbursts = 2", "jobs[0].every"),
        ("threads = 1\nevery = \"1 s\"", "jobs[0].bursts"),
        ("threads = 1\nevery = \"1 s\"\nbursts = 2", "jobs[0].bursts"),
        ("threads = 1\nrate = \"0/s\"", "jobs[0].rate"),
        ("threads = 1\ntogether = true", "jobs[0].rate"),
        ("threads = 1\nstart = \"-1 s\"", "jobs[0].start"),
        ("threads = 1\nthink_time = \"-1 s\"", "jobs[0].think_time"),
        ("threads = 1\noffset = \"100 B\"", "jobs[0].offset"),
        ("threads = 1\nvolume = \"0 B\"", "jobs[0].volume"),
        ("threads = 1\nrequests = { reads = 2 }", "jobs[0].requests.reads"),
        ("threads = 1\nrequests = { rate = \"3/s\" }", "jobs[0].requests.rate"),
        ("threads = 1\nrequests = { devices = 2 }", "jobs[0].requests.devices"),
        ("threads = 1\nblocking = 1.5", "jobs[0].blocking"),
        ("threads = 1\nblocking = 0", "jobs[0].think_time"),
    ] {
        let error = jobs(&format!("[[jobs]]\n{toml}")).err().expect(toml).to_string();
        assert!(error.contains(key), "{toml}: {error}");
    }
    for (toml, want) in [
        ("processors = 0\n[[jobs]]\nthreads = 1", "processors: got 0, need 1 or more"),
        ("processors = 1\n[[jobs]]\nthreads = 1\nrate = \"3/s\"", "jobs[0].rate: got 3 /s"),
    ] {
        let error = jobs(toml).err().expect(toml).to_string();
        assert!(error.contains(want), "{error}");
    }
}

/// Times by thread at which requests are issued, in milliseconds; each request ends `service` after it.
fn times(toml: &str, service_ms: f64, until_ms: f64) -> Vec<(u32, f64)> {
    let mut jobs = jobs(toml).unwrap_or_else(|e| panic!("{e}"));
    play(&mut jobs, Span::from_ms(service_ms), until_ms)
}

/// Two threads compute for 10 ms on one processor, then wait 4 ms for a request. Each is ready before the other has
/// computed, so the processor is always busy and they issue in turn every 10 ms. On two processors neither waits for the
/// other: a cycle of 14 ms each.
#[test]
fn threads_share_processors() {
    let toml = |n: u32| format!("processors = {n}\n[[jobs]]\nthreads = 2\nthink_time = \"10 ms\"");
    let want = [(0, 10.0), (1, 20.0), (0, 30.0), (1, 40.0), (0, 50.0)];
    assert_eq!(times(&toml(1), 4.0, 51.0), want);
    // Requests of 25 ms: the processor is idle from 20 ms, when both wait, to 35 ms.
    let want = [(0, 10.0), (1, 20.0), (0, 45.0), (1, 55.0), (0, 80.0)];
    assert_eq!(times(&toml(1), 25.0, 81.0), want);
    let want = [(0, 10.0), (1, 10.0), (0, 24.0), (1, 24.0), (0, 38.0), (1, 38.0)];
    assert_eq!(times(&toml(2), 4.0, 39.0), want);
    // More processors than threads change nothing.
    assert_eq!(times(&toml(9), 4.0, 39.0), want);
}

/// A thread that waits for nothing never gives its processor away: of three jobs the first two run on two processors,
/// at their own rates, and the third never. Without processors all three run, each at once from its beginning.
#[test]
fn a_thread_that_waits_for_nothing_keeps_its_processor() {
    let job = |ms: u32| format!("[[jobs]]\nthreads = 1\nblocking = 0\nthink_time = \"{ms} ms\"\n");
    let all = [10, 25, 5].map(job).concat();
    let want = [(0, 10.0), (0, 20.0), (1, 25.0), (0, 30.0), (0, 40.0)];
    assert_eq!(times(&format!("processors = 2\n{all}"), 1000.0, 41.0), want);
    let free = times(&all, 1000.0, 31.0);
    let of = |thread: u32| free.iter().filter(|(t, _)| *t == thread).count();
    assert_eq!([of(0), of(1), of(2)], [4, 2, 7]);
    assert_eq!(free[..3], [(0, 0.0), (1, 0.0), (2, 0.0)]);
}

/// A thread whose burst is over gives its processor away: then the second job begins.
#[test]
fn the_end_of_a_burst_frees_a_processor() {
    let toml = "processors = 1\n[[jobs]]\nthreads = 1\nblocking = 0\nthink_time = \"10 ms\"\nvolume = \"12 KiB\"\n\
                [[jobs]]\nthreads = 1\nblocking = 0\nthink_time = \"7 ms\"\n";
    // The third request of 4 KiB is the last; that there is no fourth shows after another 10 ms.
    let want = [(0, 10.0), (0, 20.0), (0, 30.0), (1, 47.0), (1, 54.0)];
    assert_eq!(times(toml, 1.0, 55.0), want);
}

/// Half of the requests are waited for, drawn for each: a cycle takes 2 ms of thinking, and 10 ms more in half of the
/// cases, 7 ms on average. Over 20,000 cycles the standard error is 5 ms / sqrt(20,000) = 0.035 ms.
#[test]
fn threads_wait_for_a_share_of_their_requests() {
    let toml = "[[jobs]]\nthreads = 1\nblocking = 0.5\nthink_time = \"2 ms\"";
    let issued = times(toml, 10.0, 140_000.0);
    let cycle_ms = 140_000.0 / issued.len() as f64;
    assert!((cycle_ms - 7.0).abs() < 4.0 * 0.035, "{cycle_ms}");
}

/// Five threads that compute for 10 ms on average, exponentially distributed, on one processor, and wait 20 ms for each
/// request: the machine repairman's model, in which only the mean of the wait matters. With k threads waiting the weight
/// is (20/10)^k / k!, and the processor is idle only if all five wait: it issues 0.1 (1 - P(5)) requests a millisecond.
/// (Gross & Harris, Fundamentals of Queueing Theory, finite source queues.)
#[test]
fn processors_with_exponential_computation_follow_the_machine_repairmans_model() {
    let toml =
        "processors = 1\n[[jobs]]\nthreads = 5\nthink_time = { distribution = \"exponential\", mean = \"10 ms\" }";
    let issued = times(toml, 20.0, 4_000_000.0);
    let weight = |k: i32| 2f64.powi(k) / (1..=k).map(f64::from).product::<f64>();
    let sum: f64 = (0..=5).map(weight).sum();
    let rate = 0.1 * (1.0 - weight(5) / sum);
    let got = issued.len() as f64 / 4_000_000.0;
    assert!((got / rate - 1.0).abs() < 0.01, "{got} {rate}");
}

/// Three threads over four devices in all: every device gets a fourth of the requests. Deviations of a binomial share:
/// sqrt(0.25 * 0.75 / 12,000) = 0.004.
#[test]
fn threads_may_go_to_any_device() {
    let toml = "[[jobs]]\nthreads = 3\ndevices = 4\nfirst_device = 2\nany_device = true\nthink_time = \"1 ms\"";
    let mut j = jobs(toml).unwrap();
    let mut count = [0u32; 6];
    for _ in 0..12_000 {
        let now = j.next_time();
        let (request, thread) = j.take().expect("a request");
        assert!(thread < 3);
        count[request.device as usize] += 1;
        j.ended(thread, now + Span::from_ms(1.0));
    }
    assert_eq!(count[..2], [0, 0]);
    for n in &count[2..] {
        assert!((f64::from(*n) / 12_000.0 - 0.25).abs() < 4.0 * 0.004, "{count:?}");
    }
}

/// The operations of a job with a service of 10 ms: `W` writes, `R` reads, `F` flushes, with their times in ms.
fn operations(toml: &str, until_ms: f64) -> Vec<(Command, u32, f64)> {
    let mut j = jobs(toml).unwrap();
    let mut found = Vec::new();
    while j.next_time() < Time::from_secs_f64(until_ms * 1e-3) {
        let now = j.next_time();
        if let Some((r, thread)) = j.take() {
            found.push((r.op, r.device, now.0 as f64 * 1e-6));
            j.ended(thread, now + Span::from_ms(10.0));
        }
    }
    found
}

/// fio's `fsync=2` with `thinktime`: the flush follows the second write at once, and the pause follows the flush.
#[test]
fn a_flush_follows_every_nth_write() {
    let toml = "[[jobs]]\nthreads = 1\nfirst_device = 3\nflush_every = 2\nthink_time = \"5 ms\"\n\
                requests = { reads = 0.0 }";
    let wanted = [
        (Command::Write, 3, 0.0),
        (Command::Write, 3, 15.0),
        (Command::Flush, 3, 25.0),
        (Command::Write, 3, 40.0),
        (Command::Write, 3, 55.0),
        (Command::Flush, 3, 65.0),
    ];
    assert_eq!(operations(toml, 80.0), wanted);
}

/// Reads are not counted, and the flush after the last write of a volume is issued. On a processor the flush needs none:
/// it begins at the end of the write, although another thread computes.
#[test]
fn flushes_count_writes_only_end_a_burst_and_need_no_processor() {
    let toml = "[[jobs]]\nthreads = 1\nflush_every = 1\nvolume = \"80 KiB\"\nrequests = { reads = 0.5 }";
    let found = operations(toml, 10_000.0);
    let count = |op| found.iter().filter(|(o, ..)| *o == op).count();
    assert_eq!(count(Command::Read) + count(Command::Write), 20);
    assert_eq!(count(Command::Flush), count(Command::Write));
    assert!(count(Command::Write) > 0);
    for (i, (op, ..)) in found.iter().enumerate() {
        let before = i.checked_sub(1).map(|i| found[i].0);
        assert_eq!(*op == Command::Flush, before == Some(Command::Write));
    }
    let toml = "processors = 1\n[[jobs]]\nthreads = 2\nflush_every = 1\nthink_time = \"10 ms\"\n\
                requests = { reads = 0.0 }";
    let times: Vec<_> = operations(toml, 35.0).into_iter().map(|(op, _, t)| (op, t)).collect();
    // The second thread computes from 10 to 20 ms; the first one's write ends at 20 ms, its flush at 30 ms.
    let wanted = [(Command::Write, 10.0), (Command::Write, 20.0), (Command::Flush, 20.0), (Command::Flush, 30.0)];
    assert_eq!(times, wanted);
}

#[test]
fn flushes_of_threads_that_do_not_wait_are_refused() {
    let toml = "[[jobs]]\nthreads = 1\nflush_every = 1\nblocking = 0.5";
    let error = jobs(toml).err().expect("an error").to_string();
    assert!(error.contains("jobs[0].blocking: got 0.5, need 1"), "{error}");
}
