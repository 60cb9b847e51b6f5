//! Streams against walks over tracks, against request-by-request service, and against closed forms.

use headstack_drive::design::DriveDesign;
use headstack_drive::mechanics::{Arm, Mechanics};
use headstack_drive::models::Models;
use headstack_drive::stream::*;
use headstack_drive::{Command, Density, DriveOptions, DriveRequest, DriveSpec};
use headstack_engine::SpecError;
use headstack_testkit::SplitMix;
use headstack_units::{Lba, Rpm, Time, Turn};
use std::sync::Arc;

const TURN: u128 = 1 << 64;

fn built(spec: &DriveSpec) -> Result<Arc<DriveDesign>, SpecError> {
    DriveDesign::new(spec, &Models::builtin())
}

/// A drive of 7200 rpm (a turn is 25/3 ms); `geometry`, `seek` and `rest` are TOML.
fn spec(geometry: &str, switch_ms: f64, rest: &str) -> DriveSpec {
    let text = format!(
        "name = \"s\"\n[geometry]\nrotation_speed = \"7200 rpm\"\nlayout = \"adaptive\"\nskew_unit = \"turns\"\n\
         {geometry}\n[seek]\nmodel = \"linear\"\nsingle = \"0.6 ms\"\nfull = \"8 ms\"\ncylinders = 1000\n\
         [positioning]\nhead_switch = \"{switch_ms} ms\"\n{rest}"
    );
    toml::from_str(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A random small drive: zones with gaps, densities from a quarter to four, skews that often are too short
/// for the movements that they should cover.
fn random(d: &mut SplitMix) -> DriveSpec {
    let surfaces = d.between(1, 4);
    let (mut zones, mut first) = (Vec::new(), 0);
    for _ in 0..d.between(1, 4) {
        let last = first + d.between(0, 40);
        let skew = |d: &mut SplitMix| f64::from(d.between(0, 150)) / 997.0;
        zones.push(format!(
            "{{ first_cylinder = {first}, last_cylinder = {last}, sectors_per_track = {}, \
             track_skew = {}, cylinder_skew = {}, offset = {} }}",
            d.between(1, 30),
            skew(d),
            skew(d),
            skew(d),
        ));
        first = last + 1 + d.between(0, 30);
    }
    let density: Vec<String> = (0..surfaces)
        .map(|_| {
            let factor = |d: &mut SplitMix| f64::from(d.between(25, 400)) / 100.0;
            format!("{{ bpi = {}, tpi = {} }}", factor(d), factor(d))
        })
        .collect();
    let geometry = format!(
        "surfaces = {surfaces}\ncylinders = {first}\nband_cylinders = {}\ndensity = [{}]\n\
         head_order = {:?}\ndirection = {:?}\nzones = [{}]",
        d.between(1, 15),
        density.join(", "),
        ["same", "alternate"][d.below(2) as usize],
        ["inward", "serpentine"][d.below(2) as usize],
        zones.join(", "),
    );
    let sector = ["512 B", "4 KiB"][d.below(2) as usize];
    let geometry = format!("sector_size = \"{sector}\"\n{geometry}");
    spec(&geometry, f64::from(d.between(1, 1500)) / 1000.0, "")
}

/// The times at which tracks begin and end, by walking from track to track with the mechanics alone:
/// `(first sector, begin, end)` in nanoseconds from the beginning of the first track.
fn walk(mechanics: &Mechanics) -> Vec<(u64, u64, u64)> {
    let mut place = mechanics.layout.locate(0).unwrap();
    let mut arm = Arm { cylinder: place.cylinder, head: place.head, angle: Turn(0) };
    let begin = mechanics.wait_time(&arm, place.angle, Time::ZERO).non_negative();
    let (mut at, mut sector, mut tracks) = (begin, 0, Vec::new());
    loop {
        let end = at + Mechanics::pass_time(place.run, place.sector_ns).non_negative();
        tracks.push((sector, at - begin, end - begin));
        sector += u64::from(place.run);
        if !mechanics.layout.locate_into(sector, &mut place) {
            return tracks;
        }
        at = end + mechanics.position(&arm, &place, false, Time(end)).total().non_negative();
        (arm.cylinder, arm.head) = (place.cylinder, place.head);
    }
}

#[test]
fn a_stream_is_a_walk_over_the_tracks() {
    let mut lost = 0;
    for seed in 0..400 {
        let spec = random(&mut SplitMix(seed));
        let design = built(&spec).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        let stream = Stream::new(&design).unwrap();
        let mechanics = design.mechanics();
        let size = spec.geometry.sector_size.0;
        let tracks = walk(mechanics);
        assert_eq!(stream.ns(0), 0);
        assert_eq!(stream.capacity, mechanics.layout.capacity() * size);
        for (i, (first, begin, end)) in tracks.iter().enumerate() {
            // One rounding of the walk's wait, one of its pass, one of ours.
            let past = tracks.get(i + 1).map_or(stream.capacity, |t| t.0 * size);
            let got = stream.ns(past);
            assert!(got.abs_diff(*end) <= 2, "seed {seed}, track {i}: {got} of {end}");
            let sectors = (past / size - first) as f64;
            let one = begin + ((*end - *begin) as f64 / sectors).round() as u64;
            let got = stream.ns(first * size + size);
            assert!(got.abs_diff(one) <= 2, "seed {seed}, track {i}: {got} of {one}");
            lost += tracks.get(i + 1).map_or(0, |t| (t.1 - end) / 8_333_000);
        }
    }
    assert!(lost > 1000, "{lost} turns lost: the case is tested");
}

/// Every byte takes time, and the end of any part is the beginning of the next.
#[test]
fn streams_grow_strictly() {
    for seed in 0..50 {
        let mut d = SplitMix(seed);
        let design = built(&random(&mut d)).unwrap();
        let stream = Stream::new(&design).unwrap();
        for _ in 0..200 {
            let x = d.below(stream.capacity);
            assert!(stream.turns(x) < stream.turns(x + 1), "seed {seed}: {x}");
        }
        let beyond = stream.capacity + 1;
        assert_eq!(stream.turns(beyond), stream.turns(stream.capacity));
        // Whole zones, one after the other.
        let mut at = 0;
        for z in 0..stream.zones() {
            let bytes = stream.zone_bytes(z);
            assert_eq!(bytes.start, at, "seed {seed}");
            at = bytes.end;
            let byte = |n: u64| stream.turns(bytes.start + n) as i128;
            let begin = 2 * byte(1) - byte(2);
            let turns = (stream.turns(bytes.end) as i128 - begin) as f64 / TURN as f64;
            let rate = (bytes.end - bytes.start) as f64 * 120.0 / turns;
            let off = rate / stream.zone_rate(z) - 1.0;
            assert!(off.abs() < 1e-12, "seed {seed}: {off}");
        }
        assert_eq!(at, stream.held, "seed {seed}");
    }
}

/// A drive with twelve surfaces' worth of variety: unlike densities, skews that cover the switches.
fn varied(rest: &str) -> Arc<DriveDesign> {
    let zone = |first: u32, last: u32, spt: u32| {
        format!(
            "{{ first_cylinder = {first}, last_cylinder = {last}, sectors_per_track = {spt}, \
             track_skew = 0.21, cylinder_skew = 0.09 }}"
        )
    };
    let geometry = format!(
        "surfaces = 4\ncylinders = 400\nband_cylinders = 37\nhead_order = \"alternate\"\n\
         density = [{{ bpi = 1.0315, tpi = 0.9694 }}, {{ bpi = 0.9, tpi = 1.11 }}, \
         {{ bpi = 1.0, tpi = 1.0 }}, {{ bpi = 1.2, tpi = 0.8 }}]\nzones = [{}, {}]",
        zone(0, 180, 1021),
        zone(181, 399, 857)
    );
    built(&spec(&geometry, 0.5, rest)).unwrap()
}

fn read(id: u64, lba: u64, blocks: u32) -> DriveRequest {
    DriveRequest { id, command: Command::Read, lba: Lba(lba), blocks, ..DriveRequest::default() }
}

/// Times of service may be off by this much, in nanoseconds. A transfer that begins up to 5e-7 turn (4.2 ns) late
/// by the rounding of the one before does not catch up ([`Mechanics::late_by`]); two roundings come on top.
const SERVICE_NS: u64 = 6;

/// Requests that wait in the drive's queue keep the medium busy: each completes when its last sector has
/// passed.
#[test]
fn a_stream_is_the_service_of_requests_that_wait() {
    let design = varied("");
    let stream = Stream::new(&design).unwrap();
    for (seed, most) in [(1, 40), (2, 900), (3, 30_000)] {
        let mut d = SplitMix(seed);
        let mut drive = design.drive(&DriveOptions::default()).unwrap();
        let (mut lba, mut ends) = (0, Vec::new());
        while lba < drive.design.capacity_blocks() && ends.len() < 2000 {
            let blocks = d.between(1, most).min((drive.design.capacity_blocks() - lba) as u32);
            drive.submit(Time(0), read(ends.len() as u64, lba, blocks));
            lba += u64::from(blocks);
            ends.push(lba);
        }
        let mut done = Vec::new();
        drive.advance(Time::NEVER, &mut |c| done.push((c.id, c.completion.0)));
        assert_eq!(done.len(), ends.len());
        // The stream begins with the first sector; the drive waited for it before.
        let begin = done[0].1 - stream.ns(ends[0] * 512);
        for ((id, at), end) in done.iter().zip(&ends) {
            let want = begin + stream.ns(end * 512);
            assert!(at.abs_diff(want) <= SERVICE_NS, "seed {seed}, request {id}: {at} of {want}");
        }
    }
}

/// One request at a time, from a buffer that reads ahead.
#[test]
fn a_stream_is_the_service_of_a_drive_that_reads_ahead() {
    let design = varied(
        "[cache]\nenabled = true\nalmost_hits = true\nhit_check = \"arrival\"\nsegments = 2\nsegment_sectors = 4096\nread_ahead = \"limit\"\n\
         read_ahead_sectors = 4096\n[link]\nrate = \"100 GB/s\"",
    );
    let stream = Stream::new(&design).unwrap();
    let mut drive = design.drive(&DriveOptions::default()).unwrap();
    let (mut now, mut begin) = (0, 0);
    for id in 0..3000 {
        drive.submit(Time(now), read(id, id * 128, 128));
        let mut done = None;
        while done.is_none() {
            let until = Time(drive.next_event().0 + 1);
            drive.advance(until, &mut |c| done = Some(c.completion.0));
        }
        now = done.unwrap();
        let want = stream.ns((id + 1) * 128 * 512);
        if id == 0 {
            begin = now - want;
        }
        // The last sector's 512 B take 5 ns on the link, in the first request as in all others.
        let off = now.abs_diff(begin + want);
        assert!(off <= SERVICE_NS, "request {id}: {now} of {}", begin + want);
    }
}

/// The WD RE3 of the model notes: 6 surfaces, 14 zones of equal width, bands of 116 tracks, radii from 46 to
/// 22.5 mm, skews of a tenth of a turn that cover what the mechanics need. One outer track of nominal density
/// passes at 112.9 MB/s, skew included. Density classes are 3.1 % apart, at equal areal density.
fn re3() -> Arc<DriveDesign> {
    let (n, bands) = (116, 133);
    let zones: Vec<String> = (0..14)
        .map(|z| {
            let inner = 46.0 - (46.0 - 22.5) * f64::from(z + 1) / 14.0;
            let outermost = 46.0 - 23.5 / 14.0;
            let spt = 112.9e6 * 1.1 / 120.0 / 512.0 * inner / outermost;
            let first = z * n * bands;
            format!(
                "{{ first_cylinder = {first}, last_cylinder = {}, sectors_per_track = {}, \
                 track_skew = 0.1, cylinder_skew = 0.1 }}",
                first + n * bands - 1,
                spt.round()
            )
        })
        .collect();
    let geometry =
        format!("surfaces = 6\ncylinders = {}\nband_cylinders = {n}\nzones = [{}]", 14 * n * bands, zones.join(", "));
    let mut spec = spec(&geometry, 0.5, "");
    spec.seek = toml::from_str("model = \"constant\"\ntime = \"0.8 ms\"").unwrap();
    built(&spec).unwrap()
}

fn class(k: i32) -> Density {
    let bpi = (0.031 * f64::from(k)).exp();
    Density { bpi, tpi: 1.0 / bpi }
}

fn classes(list: [i32; 6]) -> Vec<Density> {
    list.map(class).to_vec()
}

/// Rates of heads of the classes -1, 0 and 1 as in Figure 4 of the paper: 109, 113 and 116 MB/s.
#[test]
fn three_classes_have_the_rates_of_figure_4() {
    let design = re3().with_density(&classes([1, 0, 0, -1, 0, 0])).unwrap();
    let stream = Stream::new(&design).unwrap();
    let zone = &design.mechanics().layout.adaptive().unwrap().zones[0];
    let mut rates = Vec::new();
    for (h, published) in [(0, 116.0), (1, 113.0), (3, 109.0)] {
        let part = zone.full.parts[h];
        let from = part.sectors_before * 512;
        let bytes = u64::from(part.tracks) * u64::from(zone.formats[h].get()) * 512;
        // Between the ends of the tracks of a band there are a turn and a skew each.
        let track = bytes / u64::from(part.tracks);
        let time = stream.ns(from + bytes) - stream.ns(from + track);
        let rate = (bytes - track) as f64 / (time as f64 * 1e-9) * 1e-6;
        let exact = f64::from(zone.formats[h].get()) * 512.0 / (1.1 / 120.0) * 1e-6;
        assert!((rate / exact - 1.0).abs() < 1e-6, "{rate} of {exact}");
        assert!((rate - published).abs() < 0.6, "{rate} of {published}");
        rates.push(rate);
    }
    for pair in rates.windows(2) {
        let step = (pair[0] / pair[1]).ln() / 0.031 - 1.0;
        assert!((pair[0] / pair[1] / 0.031f64.exp() - 1.0).abs() < 1e-3, "{step}");
    }
}

/// Drives of any classes: the surfaces of a zone hold equal numbers of sectors within 1 %, and so the drive
/// holds what a nominal one does.
#[test]
fn surfaces_of_all_classes_hold_the_same() {
    let base = re3();
    let nominal = Stream::new(&base).unwrap().held;
    for seed in 0..100 {
        let mut d = SplitMix(seed);
        let list = [(); 6].map(|()| d.between(0, 11) as i32 - 8);
        let design = base.with_density(&classes(list)).unwrap();
        let layout = design.mechanics().layout.clone();
        for zone in &layout.adaptive().unwrap().zones {
            let held: Vec<f64> =
                (0..6).map(|h| f64::from(zone.full.parts[h].tracks) * f64::from(zone.formats[h].get())).collect();
            let most = held.iter().copied().fold(0.0, f64::max);
            let least = held.iter().copied().fold(f64::MAX, f64::min);
            assert!(most / least < 1.01, "seed {seed}: {list:?} hold {held:?}");
        }
        let held = Stream::new(&design).unwrap().held;
        assert!(held as f64 > 0.99 * nominal as f64, "seed {seed}: {held} of {nominal}");
    }
}

/// Heads of one class give one line: equal sweeps, and within a zone blocks of 128 MiB that vary by less
/// than 0.1 %.
#[test]
fn equal_heads_give_equal_sweeps() {
    let base = re3();
    let streams = [(); 2].map(|()| {
        let design = base.with_density(&[class(0)]).unwrap();
        Stream::new(&design).unwrap()
    });
    let sweep = Sweep { block: 128 << 20, first: 0, past: streams[0].capacity, trials: 1, seed: 1 };
    let quiet = Noise::default();
    let rates = [0, 1].map(|i| {
        let mut rates = vec![0.0; sweep.blocks()];
        sweep.run(&streams[i], (i, 1.0), &quiet, &mut rates).unwrap();
        rates
    });
    assert_eq!(rates[0], rates[1]);
    assert_eq!(rates[0].len(), sweep.blocks());
    for z in 0..streams[0].zones() {
        let bytes = streams[0].zone_bytes(z);
        let (from, to) = (bytes.start.div_ceil(sweep.block), bytes.end / sweep.block);
        let own = &rates[0][from as usize..to as usize];
        let most = own.iter().copied().fold(0.0, f64::max);
        let least = own.iter().copied().fold(f64::MAX, f64::min);
        assert!(own.len() > 100 && most / least < 1.001, "{z}: {least} to {most}");
    }
}

/// Switches that the skews do not cover lose whole turns: between bands, a seek of 3 ms over a skew of a
/// tenth of a turn.
#[test]
fn a_switch_that_the_skew_does_not_cover_loses_a_turn() {
    let mut slow = re3().spec().clone();
    let table = "model = \"table\"\npoints = [[1, \"0.8 ms\"], [115, \"3 ms\"], [216000, \"20 ms\"]]";
    slow.seek = toml::from_str(table).unwrap();
    let stream = |spec: &DriveSpec| Stream::new(&built(spec).unwrap()).unwrap();
    let (fast, slow) = (stream(re3().spec()), stream(&slow));
    // 3 ms over the 115 cylinders to the outermost track of the next surface; a skew is 0.83 ms. On to the
    // next band it is one cylinder.
    let cycle = 6 * 116 * u128::from(re3().spec().geometry.zones[0].sectors_per_track.of(0)) * 512;
    let lost = slow.turns(cycle as u64 + 512) - fast.turns(cycle as u64 + 512);
    assert_eq!(lost, 5 * TURN);
}

/// The sum of the times of all blocks is the time of the whole; damage, factors and lost turns are what they
/// say.
#[test]
fn noise_is_what_it_says() {
    let stream = Stream::new(&re3()).unwrap();
    let sweep = Sweep { block: 16 << 20, first: 4096, past: 4096 + (64 << 30), trials: 4, seed: 7 };
    let times = |factor: f64, noise: &Noise| -> Vec<f64> {
        let mut rates = vec![0.0; sweep.blocks() * sweep.trials];
        noise.check(1).unwrap();
        sweep.check(1).unwrap();
        sweep.run(&stream, (0, factor), noise, &mut rates).unwrap();
        rates.iter().map(|r| sweep.block as f64 / r).collect()
    };
    let n = sweep.blocks();
    let quiet = times(1.0, &Noise::default());
    let whole = (stream.ns(sweep.past) - stream.ns(sweep.first)) as f64 * 1e-9;
    for trial in quiet.chunks(n) {
        assert!((trial.iter().sum::<f64>() / whole - 1.0).abs() < 1e-12);
    }
    for (a, b) in times(1.003, &Noise::default()).iter().zip(&quiet) {
        assert!((a / b - 1.003).abs() < 1e-12);
    }
    // Half of block 2 at half the rate takes half as much again.
    let from = sweep.first + 2 * sweep.block;
    let damaged = Noise {
        damage: vec![(0, from, from + sweep.block / 2, 0.5), (0, sweep.past, u64::MAX, 0.1)],
        ..Noise::default()
    };
    for (i, (a, b)) in times(1.0, &damaged).iter().zip(&quiet).enumerate() {
        let want = if i % n == 2 { 1.5 } else { 1.0 };
        assert!((a / b - want).abs() < 0.01, "{i}: {}", a / b);
    }
    // Lost turns are whole turns; 4096 blocks a trial of 16 MiB, one turn per 400 MB.
    let lossy = Noise { lost_turns_per_byte: 1.0 / 400e6, ..Noise::default() };
    let turns: Vec<f64> = times(1.0, &lossy).iter().zip(&quiet).map(|(a, b)| (a - b) * 120.0).collect();
    assert!(turns.iter().all(|t| (t - t.round()).abs() < 1e-6 && *t > -1e-6));
    let (sum, want) = (turns.iter().sum::<f64>(), 4.0 * (64u64 << 30) as f64 / 400e6);
    assert!((sum - want).abs() < 5.0 * want.sqrt(), "{sum} of {want}");
    // One factor per trial.
    let jitter = Noise { trial_factor: 5e-4, ..Noise::default() };
    let noisy = times(1.0, &jitter);
    let factors: Vec<f64> = noisy.chunks(n).map(|t| t[0] / quiet[0]).collect();
    for (t, trial) in noisy.chunks(n).enumerate() {
        for (a, b) in trial.iter().zip(&quiet) {
            assert!((a / b - factors[t]).abs() < 1e-12);
        }
    }
    assert!(factors.iter().all(|f| *f != 1.0 && (f - 1.0).abs() < 4e-3), "{factors:?}");
    assert_eq!(noisy, times(1.0, &jitter));
}

#[test]
fn wrong_sweeps_and_noise_are_refused_by_key() {
    let noise = |json: &str| serde_json::from_str::<Noise>(json).unwrap().check(2);
    for (json, key) in [
        (r#"{"lost_turns_per_byte": -1}"#, "noise.lost_turns_per_byte"),
        (r#"{"trial_factor": 0.2}"#, "noise.trial_factor"),
        (r#"{"damage": [[2, 0, 1, 0.5]]}"#, "noise.damage[0][0]"),
        (r#"{"damage": [[0, 5, 5, 0.5]]}"#, "noise.damage[0][2]"),
        (r#"{"damage": [[0, 0, 5, 0.0]]}"#, "noise.damage[0][3]"),
        (r#"{"damage": [[1, 3, 9, 0.5], [1, 0, 4, 0.5]]}"#, "noise.damage"),
    ] {
        assert_eq!(noise(json).err().map(|e| e.key), Some(key.into()), "{json}");
    }
    assert!(noise(r#"{"damage": [[1, 4, 9, 0.5], [1, 0, 4, 0.5], [0, 0, 9, 1.0]]}"#).is_ok());
    let good = Sweep { block: 10, first: 5, past: 25, trials: 1, seed: 0 };
    assert!(good.check(1).is_ok() && good.blocks() == 2);
    for (sweep, key) in [
        (Sweep { block: 0, ..good.clone() }, "block_bytes"),
        (Sweep { past: 14, ..good.clone() }, "last_byte"),
        (Sweep { past: 0, ..good.clone() }, "last_byte"),
        (Sweep { trials: 0, ..good.clone() }, "trials"),
        (Sweep { trials: usize::MAX, ..good.clone() }, "trials"),
    ] {
        assert_eq!(sweep.check(1).err().map(|e| e.key), Some(key.into()), "{sweep:?}");
    }
    let error = good.check(1 << 29).err().map(|e| e.key);
    assert_eq!(error, None, "2^30 blocks");
    let error = good.check((1 << 29) + 1).err().map(|e| e.key);
    assert_eq!(error, Some("trials".into()));
    let stream = Stream::new(&varied("")).unwrap();
    let far = Sweep { past: stream.capacity + 1, ..good };
    let error = far.run(&stream, (0, 1.0), &Noise::default(), &mut [0.0; 2]);
    assert_eq!(error.err().map(|e| e.key), Some("last_byte".into()));
}

#[test]
fn drives_without_streams_are_refused_by_key() {
    let refused = |change: &dyn Fn(&mut DriveSpec)| {
        let mut spec = varied("").spec().clone();
        change(&mut spec);
        let design = built(&spec).unwrap_or_else(|e| panic!("{e}"));
        Stream::new(&design).err().map(|e| e.key)
    };
    assert_eq!(refused(&|_| ()), None);
    let banded = |s: &mut DriveSpec| {
        s.geometry.layout = "cylinder-major".into();
        s.geometry.layout_parameters.clear();
    };
    assert_eq!(refused(&banded), Some("geometry.layout".into()));
    let stacks = |s: &mut DriveSpec| s.dash = "D2A1S1H1".parse().unwrap();
    assert_eq!(refused(&stacks), Some("dash".into()));
    let shares = |s: &mut DriveSpec| {
        s.dash = "D1A2S1H1".parse().unwrap();
        s.parallelism.arm_share = headstack_drive::spec::ArmShare::OwnShare;
    };
    assert_eq!(refused(&shares), Some("dash".into()));
    let scaled = |s: &mut DriveSpec| s.positioning.rotation_scale = 0.5;
    assert_eq!(refused(&scaled), Some("positioning.rotation_scale".into()));
}

/// A design of other densities is the design of a description with them, at every spindle speed.
#[test]
fn designs_of_other_densities_are_those_of_their_descriptions() {
    let list = [class(2), class(-3), class(0), class(1)];
    let own = varied("").with_density(&list).unwrap();
    let slow = own.at_speed(Rpm(5400.0)).unwrap();
    for design in [own, slow] {
        let again = built(design.spec()).unwrap();
        assert_eq!(again.capacity_blocks(), design.capacity_blocks());
        let (a, b) = (Stream::new(&design).unwrap(), Stream::new(&again).unwrap());
        for x in (0..a.capacity).step_by(1_000_003) {
            assert_eq!(a.ns(x), b.ns(x), "{x}");
        }
    }
    let plain = varied("");
    let mut spec = plain.spec().clone();
    spec.geometry.layout = "cylinder-major".into();
    spec.geometry.layout_parameters.clear();
    let error = built(&spec).unwrap().with_density(&list).err();
    assert_eq!(error.map(|e| e.key), Some("geometry.layout".into()));
    let error = plain.with_density(&list[..3]).err();
    assert_eq!(error.map(|e| e.key), Some("geometry.density".into()));
    // A media cache of 300 MB is too large for a quarter of the sectors.
    let mapping = "[mapping]\nmodel = \"media-cache\"\ncache_size = \"300 MB\"\nband_size = \"8 MB\"";
    let error = varied(mapping).with_density(&[Density { bpi: 0.5, tpi: 0.5 }; 4]).err();
    assert_eq!(error.map(|e| e.key), Some("mapping.cache_size".into()));
}

/// A fleet is its drives one by one, whatever the number of threads.
#[test]
fn a_fleet_is_its_drives() {
    let design = varied("");
    let drives: Vec<[Density; 4]> = (0..7).map(|i| [0, 1, 2, 3].map(|h| class((i * (h + 1)) % 5 - 2))).collect();
    let factors: Vec<f64> = (0..7).map(|i| 1.0 + f64::from(i) / 1000.0).collect();
    let fleet = Fleet::new(design.clone(), drives.concat(), factors.clone()).unwrap();
    let sweep = Sweep { block: 1 << 20, first: 0, past: 100 << 20, trials: 3, seed: 5 };
    let noise = Noise { lost_turns_per_byte: 1e-7, trial_factor: 1e-3, damage: vec![(6, 0, 5 << 20, 0.5)] };
    let rates = fleet.sweep(&sweep, &noise, 1).unwrap();
    for threads in [0, 2, 3, 64] {
        assert_eq!(rates, fleet.sweep(&sweep, &noise, threads).unwrap());
    }
    let zones = fleet.zone_rates(2).unwrap();
    let capacities = fleet.capacities(2).unwrap();
    for (i, own) in drives.iter().enumerate() {
        let stream = Stream::new(&design.with_density(own).unwrap()).unwrap();
        let mut want = vec![0.0; sweep.blocks() * sweep.trials];
        sweep.run(&stream, (i, factors[i]), &noise, &mut want).unwrap();
        assert_eq!(rates[i * want.len()..][..want.len()], want, "{i}");
        assert_eq!(capacities[i], stream.held);
        assert_eq!(zones[2 * i + 1], stream.zone_rate(1) / factors[i]);
    }
    fleet.stop();
    assert!(fleet.capacities(2).is_err());
    // Wrong counts, and densities of one of the drives.
    let wrong = |n: usize, factors: Vec<f64>| {
        let fleet = Fleet::new(design.clone(), vec![class(0); n], factors);
        fleet.err().map(|e| e.key)
    };
    assert_eq!(wrong(5, Vec::new()), Some("densities".into()));
    assert_eq!(wrong(8, vec![1.0; 3]), Some("factors".into()));
    assert_eq!(wrong(8, vec![1.0, f64::NAN]), Some("factors[1]".into()));
    let mut list = drives.concat();
    list[6].tpi = 5.0;
    let fleet = Fleet::new(design.clone(), list, Vec::new()).unwrap();
    let error = fleet.capacities(3).err().map(|e| e.key);
    assert_eq!(error, Some("drives[1].geometry.density[2].tpi".into()));
    assert_eq!(Fleet::new(design, Vec::new(), Vec::new()).unwrap().len(), 1);
}
