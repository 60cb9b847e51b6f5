//! What holds for every drive at every point of the DASH space, whatever it is asked: shares add up,
//! an assembly does one thing at a time, and the energy of any interval is what was drawn in it.
//!
//! The clock of a test is cut into intervals of 1 to 7 ms. For each of them the meter is compared with
//! the phases that the drive tells, cut to the interval by the test itself.

use headstack_drive::power::StateWatts;
use headstack_drive::spec::{
    ArmChoice, ArmShare, Destage, DriveSpec, FaultSpec, HeadOffset, HitCheck, MediaScanMode, Parking, ReadAhead,
    ReadAheadTrigger,
};
use headstack_drive::{power, scheduler};
use headstack_drive::{
    Command, Completion, Drive, DriveDesign, DriveEnergy, DriveOptions, DriveRequest, Models, Phase, PhaseKind, Work,
};
use headstack_testkit::commands::shares;
use headstack_testkit::{shipped, SplitMix};
use headstack_units::{Bytes, Lba, Span, Time};
use std::sync::Arc;

const MS: u64 = 1_000_000;

/// A length of time below `most` milliseconds.
fn below_ms(draw: &mut SplitMix, most: f64) -> Span {
    Span::from_ms(draw.below(1000) as f64 * 1e-3 * most)
}

/// Something that a drive is asked, and when.
#[derive(Debug, Clone, Copy)]
struct Ask {
    at: u64,
    request: DriveRequest,
}

/// Gives a drive these commands, and brings it up to each of `instants` (in order) on the way; `each`
/// sees it there. Returns the completions.
fn run(drive: &mut Drive, asks: &[Ask], instants: &[u64], mut each: impl FnMut(&mut Drive, u64)) -> Vec<Completion> {
    let mut done = Vec::new();
    let mut instants = instants.iter().copied().peekable();
    for ask in asks {
        while let Some(t) = instants.next_if(|t| *t <= ask.at) {
            drive.advance(Time(t), &mut |c| done.push(*c));
            each(drive, t);
        }
        drive.advance(Time(ask.at), &mut |c| done.push(*c));
        drive.submit(Time(ask.at), ask.request);
    }
    for t in instants {
        drive.advance(Time(t), &mut |c| done.push(*c));
        each(drive, t);
    }
    drive.advance(Time::NEVER, &mut |c| done.push(*c));
    done
}

/// Seconds of seek, rotation and transfer, and of each kind of work.
#[derive(Debug, Clone, Copy, Default)]
struct Busy {
    states: [f64; 3],
    work: [f64; Work::ALL.len()],
}

/// Cuts phases to intervals that follow each other. Phases are in order of their beginning.
struct Cutter<'a> {
    rest: &'a [Phase],
    open: Vec<Phase>,
}

impl Cutter<'_> {
    fn cut(&mut self, from: u64, to: u64, at_once: f64) -> Busy {
        while let Some((first, rest)) = self.rest.split_first() {
            if first.from.0 >= to {
                break;
            }
            self.open.push(*first);
            self.rest = rest;
        }
        let mut busy = Busy::default();
        for p in &self.open {
            let ns = p.to.0.min(to).saturating_sub(p.from.0.max(from));
            let s = ns as f64 * 1e-9 / at_once;
            let state = match p.kind {
                PhaseKind::Seek | PhaseKind::Settle => 0,
                PhaseKind::RotationalWait => 1,
                PhaseKind::Transfer => 2,
                rest => panic!("{rest:?} is no work"),
            };
            busy.states[state] += s;
            busy.work[p.work.expect("work") as usize] += s;
        }
        self.open.retain(|p| p.to.0 > to);
        busy
    }
}

/// Assemblies that can be at work at once, as `DriveEnergy` averages over them.
fn at_once(spec: &DriveSpec) -> f64 {
    let p = &spec.parallelism;
    let own = p.arm_share == ArmShare::OwnShare;
    let all = p.arms_in_motion != 1 || p.parking == Parking::Follow;
    let each = match (own, all, spec.media_scan.mode) {
        (true, _, _) | (_, true, _) => spec.dash.arms,
        (_, _, MediaScanMode::OwnArm) => 2,
        _ => 1,
    };
    f64::from(spec.dash.stacks * each)
}

fn near(got: f64, need: f64, scale: f64) -> bool {
    (got - need).abs() <= 1e-9 * scale
}

/// Phases of each assembly lie in order and never overlap; nor do those of assemblies of which one
/// works at a time.
fn check_order(spec: &DriveSpec, phases: &[Phase], what: &str) {
    let p = &spec.parallelism;
    let apart = at_once(spec) > f64::from(spec.dash.stacks);
    let per_stack = if p.arm_share == ArmShare::OwnShare || apart { 1 } else { spec.dash.arms };
    let mut last: Vec<Option<Phase>> = vec![None; (spec.dash.stacks * spec.dash.arms) as usize];
    for phase in phases {
        let before = &mut last[(phase.assembly / per_stack) as usize];
        assert!(phase.from < phase.to, "{what}: {phase:?}");
        assert_eq!(phase.distance > 0, phase.kind == PhaseKind::Seek, "{what}: {phase:?}");
        if let Some(before) = before {
            assert!(before.to <= phase.from, "{what}: {before:?} then {phase:?}");
        }
        *before = Some(*phase);
    }
}

/// Phases of each assembly follow each other from 0 to `end` at least: at rest they are of no work.
fn check_course(spec: &DriveSpec, phases: &[Phase], end: u64, what: &str) {
    let mut told = vec![0; (spec.dash.stacks * spec.dash.arms) as usize];
    for phase in phases {
        let told = &mut told[phase.assembly as usize];
        assert_eq!(phase.from.0, *told, "{what}: {phase:?}");
        *told = phase.to.0;
        let rests = phase.kind == PhaseKind::Idle;
        assert_eq!(phase.work.is_none(), rests, "{what}: {phase:?}");
        assert_eq!(phase.condition, None, "{what}: {phase:?}");
    }
    assert!(told.iter().all(|t| *t >= end), "{what}: {told:?} of {end}");
}

/// Phases assembly by assembly; waits that go on are one. The scan of an arm of its own tells a wait in
/// as many pieces as it was asked about.
fn joined(mut phases: Vec<Phase>) -> Vec<Phase> {
    phases.sort_by_key(|p| (p.assembly, p.from, p.to));
    phases.dedup_by(|next, p| {
        let wait = next.kind == PhaseKind::RotationalWait;
        let goes_on = wait && (p.kind, p.work, p.assembly, p.to) == (next.kind, next.work, next.assembly, next.from);
        if goes_on {
            p.to = next.to;
        }
        goes_on
    });
    phases
}

/// One reading of the meter against the phases in its interval, and its bounds.
fn check_interval(e: &DriveEnergy, busy: &Busy, length_s: f64, w: &StateWatts, n: f64, what: &str) {
    let states = [e.seek_s, e.rotation_s, e.transfer_s];
    for (got, need) in states.iter().zip(&busy.states) {
        assert!(near(*got, *need, length_s), "{what}: {e:?}, phases {busy:?}");
    }
    let b = &e.background;
    let works = [
        (Work::ReadAhead, b.read_ahead.time_s),
        (Work::Destage, b.destage.time_s),
        (Work::MediaScan, b.media_scan.time_s),
        (Work::Follow, b.follow.time_s),
        (Work::Cleaning, b.cleaning.time_s),
        (Work::Checkpoint, b.checkpoint.time_s),
    ];
    for (work, got) in works {
        let need = busy.work[work as usize];
        assert!(near(got, need, length_s), "{what}: {work:?} {got} s, phases {need} s");
    }
    let idle: f64 = length_s - busy.states.iter().sum::<f64>();
    assert!(near(e.idle_s, idle, length_s), "{what}: {e:?}, idle {idle}");
    assert!(near(e.total_s(), length_s, length_s), "{what}: {e:?}");
    for s in [e.idle_s, e.seek_s, e.rotation_s, e.transfer_s, e.standby_s] {
        assert!(s >= 0.0, "{what}: {e:?}");
    }
    for j in [e.idle_j, e.seek_j, e.rotation_j, e.transfer_j, e.standby_j] {
        assert!(j >= 0.0, "{what}: {e:?}");
    }
    // By hand: idle power all the time, and what each state adds for each assembly in it.
    let [seek, rotation, transfer] = busy.states.map(|s| s * n);
    let joules = w.idle * length_s
        + (w.seek - w.idle) * seek
        + (w.rotation - w.idle) * rotation
        + (w.transfer - w.idle) * transfer;
    assert!(near(e.total_j(), joules, w.idle * length_s), "{what}: {e:?}");
    let dearest = w.seek.max(w.rotation).max(w.transfer) - w.idle;
    let (low, high) = (w.idle * length_s, (w.idle + n * dearest) * length_s);
    let slack = 1e-9 * high;
    let j = e.total_j();
    assert!(low - slack <= j && j <= high + slack, "{what}: {j} J of {low} to {high}");
}

/// All of it for one drive and one load. Returns how many intervals were looked at, and the
/// completions.
fn check(design: &Arc<DriveDesign>, asks: &[Ask], draw: &mut SplitMix, what: &str) -> (usize, Vec<Completion>) {
    let spec = design.spec();
    let options = DriveOptions { seed: 7, ..DriveOptions::default() };
    let mut plain = design.drive(&options).expect("a drive");
    plain.listen(Time::ZERO);
    let completions = run(&mut plain, asks, &[], |_, _| {});
    assert_eq!(completions.len(), asks.len(), "{what}");
    for c in &completions {
        assert_eq!(c.completion.0 - c.arrival.0, shares(c), "{what}: {c:?}");
    }
    // Long enough for destaging and read-ahead to come to their end.
    let last = completions.iter().map(|c| c.completion.0).max().unwrap_or(0);
    let end = last.max(asks.last().map_or(0, |a| a.at)) + 5_000 * MS;
    let mut instants = Vec::new();
    let mut t = 0;
    while t < last + 60 * MS {
        t += MS + draw.below(6 * MS);
        instants.push(t);
    }
    instants.extend([end - 1, end]);
    let whole = plain.energy(Time(end));
    assert!(!plain.destage_pending(), "{what}");

    let mut sampled = design.drive(&options).expect("a drive");
    sampled.listen(Time::ZERO);
    let (mut phases, mut readings) = (Vec::new(), Vec::new());
    let again = run(&mut sampled, asks, &instants, |drive, t| {
        readings.push(drive.energy(Time(t)));
        drive.reset_statistics(Time(t));
        drive.tell_phases(Time(t), &mut |p| phases.push(*p));
    });
    for (plain, sampled) in completions.iter().zip(&again) {
        assert_eq!(plain, sampled, "{what}: sampling changed what happens");
    }
    assert_eq!(completions.len(), again.len(), "{what}");
    phases.sort_by_key(|p| (p.from, p.to, p.assembly));
    check_course(spec, &phases, end, what);
    let mut unasked = Vec::new();
    plain.tell_phases(Time(end), &mut |p| unasked.push(*p));
    unasked.sort_by_key(|p| (p.from, p.to, p.assembly));
    check_course(spec, &unasked, end, what);
    phases.retain(|p| p.work.is_some());
    unasked.retain(|p| p.work.is_some());
    check_order(spec, &phases, what);
    let (unasked, asked) = (joined(unasked), joined(phases.clone()));
    for (plain, sampled) in unasked.iter().zip(&asked) {
        assert_eq!(plain, sampled, "{what}: sampling changed what is done");
    }
    assert_eq!(unasked.len(), asked.len(), "{what}");

    let n = at_once(spec);
    let w = power::build(&spec.power, &power::Shape::of(spec), &power::PLUGINS).expect("watts");
    let mut cutter = Cutter { rest: &phases, open: Vec::new() };
    let (mut from, mut sum, mut joules) = (0, DriveEnergy::default(), 0.0);
    for (t, e) in instants.iter().zip(&readings) {
        let busy = cutter.cut(from, *t, n);
        let length_s = (t - from) as f64 * 1e-9;
        let at = format!("{what}, {from} to {t} ns");
        check_interval(e, &busy, length_s, &w, n, &at);
        sum.idle_s += e.idle_s;
        sum.seek_s += e.seek_s;
        sum.rotation_s += e.rotation_s;
        sum.transfer_s += e.transfer_s;
        joules += e.total_j();
        from = *t;
    }
    let scale = end as f64 * 1e-9;
    for (got, need) in [
        (sum.idle_s, whole.idle_s),
        (sum.seek_s, whole.seek_s),
        (sum.rotation_s, whole.rotation_s),
        (sum.transfer_s, whole.transfer_s),
    ] {
        assert!(near(got, need, scale), "{what}: {got} s of {need} s");
    }
    assert!(near(joules, whole.total_j(), whole.total_j()), "{what}: {joules} J");
    (instants.len(), completions)
}

/// A mixed load: bursts and pauses, sequences, flushes, long commands; reads and writes.
fn load(draw: &mut SplitMix, spec: &DriveSpec, capacity: u64, n: u64) -> Vec<Ask> {
    let (mut at, mut next) = (0, 0);
    let mut asks = Vec::new();
    // A command of a tenth of a second or so.
    let z = &spec.geometry.zones[0];
    let track = u64::from(z.sectors_per_track.of(0)) * (spec.geometry.sector_size.0 / 512);
    let long = (track * 10).min(capacity / 4);
    let hot = capacity / 50;
    for id in 0..n {
        at += match draw.below(8) {
            0..=2 => 0,
            3 => draw.below(120 * MS),
            _ => draw.below(15 * MS),
        };
        let blocks = match draw.below(12) {
            0 => long,
            1..=3 => 1 + draw.below(200),
            _ => 8,
        };
        let lba = match draw.below(5) {
            0 | 1 if next + blocks <= capacity => next,
            2 => draw.below(hot),
            _ => draw.below(capacity - blocks + 1),
        };
        next = lba + blocks;
        let command = match draw.below(20) {
            0 => Command::Flush,
            1..=9 => Command::Write,
            _ => Command::Read,
        };
        asks.push(Ask {
            at,
            request: DriveRequest { id, command, lba: Lba(lba), blocks: blocks as u32, ..DriveRequest::default() },
        });
    }
    asks
}

/// A buffer of any kind.
fn vary_cache(draw: &mut SplitMix, spec: &mut DriveSpec) {
    let c = &mut spec.cache;
    c.enabled = !draw.one_in(12);
    c.segments = 2 + draw.below(6) as u32;
    c.segment_sectors = 16 + draw.below(500) as u32;
    c.write_segments = 1 + draw.below(4) as u32;
    // A limit of the file may be more than this buffer holds.
    c.dirty_limit = None;
    c.separate_write_segment = draw.one_in(4);
    c.hit_check = draw.of(&[HitCheck::Service, HitCheck::Arrival]);
    c.read_ahead = draw.of(&[
        ReadAhead::None,
        ReadAhead::TrackEnd,
        ReadAhead::CylinderEnd,
        ReadAhead::Limit,
        ReadAhead::NextTrack,
    ]);
    c.read_ahead_trigger = draw.of(&[ReadAheadTrigger::Always, ReadAheadTrigger::Sequential]);
    c.read_ahead_sectors = draw.of(&[0, 100, 400]);
    c.read_ahead_minimum = draw.of(&[0, 0, 60, 400]);
    for flag in [
        &mut c.read_ahead_on_idle_hit,
        &mut c.discard_requested,
        &mut c.keep_passing_sectors,
        &mut c.keep_whole_track,
        &mut c.read_on_arrival,
        &mut c.write_on_arrival,
        &mut c.stop_read_ahead_in_sector,
        &mut c.almost_hits,
        &mut c.write_back,
        &mut c.read_hits_on_written,
        &mut c.append_writes,
    ] {
        *flag = draw.one_in(2);
    }
    c.destage = draw.of(&[Destage::Immediate, Destage::Idle]);
    c.destage_after = below_ms(draw, 40.0);
    c.read_watermark = draw.of(&[0.0, 0.3, 1.0]);
    let o = &mut spec.overhead;
    for span in [
        &mut o.per_request,
        &mut o.read_hit.after_read,
        &mut o.read_miss.after_write,
        &mut o.write_hit.after_read,
        &mut o.write_miss.after_write,
        &mut o.read_completion,
        &mut o.first_reselect,
        &mut o.read_disconnect.after_read,
        &mut o.write_disconnect,
    ] {
        *span = below_ms(draw, 0.6);
    }
}

/// A point of the space for a drive, and everything that goes with it.
fn vary(draw: &mut SplitMix, spec: &mut DriveSpec, parking: Parking, arms_in_motion: u32, idle: bool) {
    let p = &mut spec.parallelism;
    p.parking = parking;
    p.arms_in_motion = arms_in_motion;
    if spec.geometry.surfaces % spec.dash.arms != 0 {
        p.arm_share = ArmShare::All;
    }
    p.channels = draw.of(&[0, 1]);
    p.heads = draw.of(&[HeadOffset::Angular, HeadOffset::Radial]);
    p.arm_choice = draw.of(&[ArmChoice::Positioning, ArmChoice::Rotation, ArmChoice::Seek]);
    p.stack_unit = draw.of(&[Bytes(0), Bytes(64 << 10), Bytes(1 << 20)]);
    p.fault_recovery = Span::from_ms(50.0);
    if !draw.one_in(3) {
        vary_cache(draw, spec);
    }
    let names: Vec<&str> = scheduler::PLUGINS.names().collect();
    spec.queue.scheduler = draw.of(&names).into();
    spec.queue.depth = draw.of(&[0, 1, 4, 32]);
    if !idle {
        spec.cache.destage = Destage::Immediate;
    }
    spec.positioning.write_settle = below_ms(draw, 0.5);
    // Which of several arms at work turns the platter on first is not defined.
    if arms_in_motion == 1 {
        spec.positioning.rotation_scale = draw.of(&[1.0, 1.0, 1.0, 0.5]);
    }
    spec.positioning.seek_scale = draw.of(&[1.0, 1.0, 1.0, 0.25]);
    // A scan walks over every track when it is built: small drives only.
    let tracks = spec.geometry.cylinders * spec.geometry.surfaces;
    let (dash, share) = (spec.dash, spec.parallelism.arm_share);
    let may_scan = dash.stacks * dash.heads == 1
        && arms_in_motion == 1
        && share == ArmShare::All
        && (dash.arms > 1 || dash.surfaces == 1)
        && tracks < 120_000;
    if may_scan && !draw.one_in(3) {
        spec.media_scan.block = Bytes(4096);
        spec.media_scan.mode = match dash.arms {
            1 => MediaScanMode::Freeblock,
            _ => MediaScanMode::OwnArm,
        };
        // Nor are the scan's own waits a matter of that study.
        spec.positioning.rotation_scale = 1.0;
    } else if draw.one_in(2) {
        vary_faults(draw, spec);
    }
}

/// Heads and assemblies that fail while commands are served, with warning and without.
fn vary_faults(draw: &mut SplitMix, spec: &mut DriveSpec) {
    for _ in 0..1 + draw.below(3) {
        spec.parallelism.faults.push(FaultSpec {
            at: Some(below_ms(draw, 300.0)),
            stack: draw.below(u64::from(spec.dash.stacks)) as u32,
            arm: draw.below(u64::from(spec.dash.arms)) as u32,
            surface: (!draw.one_in(3)).then(|| draw.below(u64::from(spec.geometry.surfaces)) as u32),
            warning: draw.one_in(2),
            ..FaultSpec::default()
        });
    }
    // The one combination that is refused.
    if spec.parallelism.arms_in_motion != 1 {
        spec.cache.destage = Destage::Immediate;
    }
}

/// Each point with one in so many drives, and each drive at one in so many points: 3 in a thorough run. Odd, so that a
/// drive meets arms, stacks and modes in all combinations.
fn one_in() -> usize {
    if headstack_testkit::cases(1) > 1 {
        3
    } else {
        17
    }
}

/// Every point of the space and every drive; parking and motion change from pair to pair, so that each
/// drive meets all four of their combinations.
fn every_point(idle: bool) {
    let seed = 20_080_621;
    println!("seed {seed}");
    let drives = shipped::drives();
    let modes = [(Parking::Hold, 1), (Parking::Follow, 1), (Parking::Hold, 0), (Parking::Follow, 0)];
    let (mut intervals, mut errors, mut hits, mut faulty) = (0, 0, 0, 0);
    let mut designs = 0;
    for point in 0..256u32 {
        for (i, shipped) in drives.iter().enumerate() {
            if (i + point as usize) % one_in() != 0 {
                continue;
            }
            let number = u64::from(point) * drives.len() as u64 + i as u64;
            let mut draw = SplitMix(seed ^ number << 32);
            let mut spec = shipped.clone();
            // Another scheduler is drawn; energy by distance is tested in `seek_energy.rs`.
            spec.queue.scheduler_parameters.clear();
            spec.power.remove("seek_energy");
            // Timers of power conditions are tested beside them.
            spec.power.remove("conditions");
            spec.dash.stacks = 1 + (point & 3);
            spec.dash.arms = 1 + (point >> 2 & 3);
            // Surfaces of the layout `adaptive` have tracks of their own and are not joined.
            let joined = spec.geometry.layout != "adaptive";
            spec.dash.surfaces = 1 + (point >> 4 & 3) * u32::from(joined);
            spec.dash.heads = 1 + (point >> 6);
            let (parking, motion) = modes[(point as usize / 3 + i / 3) % 4];
            vary(&mut draw, &mut spec, parking, motion, idle);
            let what = format!("{} {} {parking:?} {motion}", spec.name, spec.dash);
            let design = DriveDesign::new(&spec, &Models::builtin()).unwrap_or_else(|e| panic!("{what}: {e}"));
            let asks = load(&mut draw, &spec, design.capacity_blocks(), 30);
            let (n, done) = check(&design, &asks, &mut draw, &what);
            designs += 1;
            intervals += n;
            errors += done.iter().filter(|c| c.error).count();
            hits += done.iter().filter(|c| c.cache_hit).count();
            faulty += usize::from(!spec.parallelism.faults.is_empty());
        }
    }
    println!("{intervals} intervals, {hits} hits, {errors} errors, {faulty} drives with faults");
    assert!(designs >= 256 * drives.len() / one_in());
    // Of 30 commands at each design.
    assert!(intervals > 20 * designs && 2 * hits > designs);
    assert!(25 * errors > designs && 8 * faulty > designs);
}

#[test]
fn every_point_and_drive() {
    every_point(false);
}

/// The same with buffers that wait for idle time.
#[test]
fn every_point_and_drive_with_idle_destaging() {
    every_point(true);
}

fn ask(id: u64, at: u64, command: Command, lba: u64, blocks: u32) -> Ask {
    let request = DriveRequest { id, command, lba: Lba(lba), blocks, ..DriveRequest::default() };
    Ask { at, request }
}

/// 128 MiB take 0.5 s; each 100 ms of them is charged with what was drawn in it.
#[test]
fn long_reads_are_charged_to_the_intervals_that_they_fill() {
    let spec = shipped::drive("exos-x18");
    let mut drive = Drive::builtin(&spec, &DriveOptions::default()).expect("a drive");
    let w = power::build(&spec.power, &power::Shape::of(&spec), &power::PLUGINS).expect("watts");
    let blocks = 128 << 11;
    let asks: Vec<Ask> =
        (0..20).map(|i| ask(i, i * 800 * MS, Command::Read, i * u64::from(blocks) * 900, blocks)).collect();
    let instants: Vec<u64> = (1..=180).map(|i| i * 100 * MS).collect();
    let mut busiest = 0.0f64;
    run(&mut drive, &asks, &instants, |drive, t| {
        let e = drive.energy(Time(t));
        assert!(near(e.total_s(), 0.1, 0.1), "{t}: {e:?}");
        assert!(e.idle_s >= 0.0 && e.idle_j >= 0.0, "{t}: {e:?}");
        let watts = e.total_j() / 0.1;
        assert!((w.idle - 1e-9..=w.seek.max(w.transfer) + 1e-9).contains(&watts), "{t}: {watts} W");
        busiest = busiest.max(e.transfer_s);
        drive.reset_statistics(Time(t));
    });
    // Of a tenth of a second in such a read all is transfer but track switches.
    assert!((0.07..0.1).contains(&busiest), "{busiest}");
}

/// Three of four arms follow the one that works: together they account for 60 s, no more.
#[test]
fn arms_that_follow_account_for_the_time_that_passed() {
    let mut spec = shipped::drive("barracuda-es-750");
    spec.dash.arms = 4;
    spec.parallelism.parking = Parking::Follow;
    let mut drive = Drive::builtin(&spec, &DriveOptions::default()).expect("a drive");
    let capacity = drive.capacity_blocks();
    let mut draw = SplitMix(5);
    let asks: Vec<Ask> =
        (0..4_800).map(|i| ask(i, i * 12_500_000, Command::Read, draw.below(capacity - 8), 8)).collect();
    run(&mut drive, &asks, &[], |_, _| {});
    let e = drive.energy(Time(60_000 * MS));
    assert!(near(e.total_s(), 60.0, 60.0), "{e:?}");
    assert!(e.idle_s > 0.0 && e.background.follow.time_s > 1.0, "{e:?}");
}

/// Half reads of 4 KiB at 200/s: the arm is never at work for longer than time passes.
#[test]
fn destaging_and_reading_share_one_arm() {
    let spec = shipped::drive("exos-x18");
    let mut drive = Drive::builtin(&spec, &DriveOptions::default()).expect("a drive");
    drive.listen(Time::ZERO);
    let capacity = drive.capacity_blocks() / 8;
    let mut draw = SplitMix(7);
    let asks: Vec<Ask> = (0..32_000)
        .map(|i| {
            let command = draw.of(&[Command::Read, Command::Write]);
            ask(i, i * 5 * MS, command, draw.below(capacity) * 8, 8)
        })
        .collect();
    let done = run(&mut drive, &asks, &[], |_, _| {});
    let end = done.iter().map(|c| c.completion.0).max().expect("completions") + 60_000 * MS;
    let e = drive.energy(Time(end));
    let seconds = end as f64 * 1e-9;
    let busy = e.seek_s + e.rotation_s + e.transfer_s;
    assert!(busy <= seconds && near(e.idle_s, seconds - busy, seconds), "{e:?}");
    assert!(e.background.destage.time_s > 1.0, "{e:?}");
    let mut phases = Vec::new();
    drive.tell_phases(Time(end), &mut |p| phases.push(*p));
    check_course(&spec, &phases, end, "exos-x18");
    phases.retain(|p| p.work.is_some());
    check_order(&spec, &phases, "exos-x18");
}

/// Read-ahead of 512 sectors that cannot be interrupted: each miss is followed by 512 sectors exactly, and
/// time is enough for all of it.
#[test]
fn forced_read_ahead_is_kept_and_takes_its_time() {
    let mut spec = shipped::drive("cheetah-10k-19g");
    spec.cache.read_ahead = ReadAhead::Limit;
    spec.cache.read_ahead_sectors = 512;
    spec.cache.read_ahead_minimum = 512;
    let mut drive = Drive::builtin(&spec, &DriveOptions::default()).expect("a drive");
    let capacity = drive.capacity_blocks();
    let mut draw = SplitMix(11);
    // Four are always outstanding.
    let (mut id, mut last, mut misses) = (0, 0, 0u64);
    let mut due = vec![0u64; 4];
    while id < 1_000 {
        let event = drive.next_event().0;
        let next = due.iter().copied().min().filter(|t| *t <= event);
        if let Some(now) = next {
            due.retain(|t| *t != now);
            for _ in due.len()..4 {
                if drive.queue_len() + due.len() < 4 {
                    let lba = draw.below(capacity - 2_000);
                    drive.submit(Time(now), ask(id, now, Command::Read, lba, 8).request);
                    id += 1;
                }
            }
            continue;
        }
        drive.advance(Time(event + 1), &mut |c| {
            due.push(c.completion.0);
            last = last.max(c.completion.0);
            misses += u64::from(c.mechanical);
        });
    }
    drive.advance(Time::NEVER, &mut |c| {
        last = last.max(c.completion.0);
        misses += u64::from(c.mechanical);
    });
    let end = last + 1_000 * MS;
    let e = drive.energy(Time(end));
    assert!(e.total_s() <= end as f64 * 1e-9 + 1e-9 && e.idle_s >= 0.0, "{e:?}");
    assert!(misses > 900, "{misses}");
    // Transfers: 8 sectors and 512 for each miss, on the longest or the shortest tracks.
    let turn = 60.0 / spec.geometry.rotation_speed.0;
    let tracks: Vec<f64> = spec.geometry.zones.iter().map(|z| f64::from(z.sectors_per_track.of(0))).collect();
    let (most, least) = tracks.iter().fold((0.0f64, f64::MAX), |(a, b), n| (a.max(*n), b.min(*n)));
    let sectors = misses as f64 * 520.0;
    let (low, high) = (sectors * turn / most, sectors * turn / least);
    assert!((low..=high).contains(&e.transfer_s), "{} s, need {low} to {high}", e.transfer_s);
}
