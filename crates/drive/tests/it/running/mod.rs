//! Drives whose power condition changes while they run, and drives that are set otherwise while they
//! run: traces worked by hand, and invariants on every shipped drive.

mod settings;
mod shipped;
mod watched;

use headstack_drive::power::conditions::{Condition, ConditionPhase, Passage};
use headstack_drive::spec::DriveSpec;
use headstack_drive::{Command, Completion, Drive, DriveEnergy, DriveOptions, DriveRequest, Phase, PhaseKind, Setting};
use headstack_testkit::commands::{self, command as request};
use headstack_testkit::disk::Disk;
use headstack_units::{Span, Time};

const S: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// 100 turns per second, 100 sectors a track; idle 10 W, access 13 W; a standby timer of 2 s.
fn small() -> DriveSpec {
    let disk = Disk { rpm: 6000, surfaces: 4, cylinders: 120, sectors: 100, skew: None };
    disk.drive(
        r#"
        [seek]
        model = "linear"
        single = "1 ms"
        full = "8 ms"
        cylinders = 120
        [power]
        rotation_speed = "6000 rpm"
        spindle = "7 W"
        electronics = "3 W"
        voice_coil = "6 W"
        access = "3 W"
        idle_b = "8 W"
        standby = "1 W"
        spin_up = "25 W"
        [power.conditions]
        idle_b = { enter_time = "0.5 s", recovery_time = "0.4 s" }
        standby = { timer = "2 s", enter_time = "0.5 s", recovery_time = "3 s" }
    "#,
    )
}

/// The same that never goes down by itself.
fn awake() -> DriveSpec {
    let mut spec = small();
    spec.power["conditions"]["standby"].as_object_mut().and_then(|t| t.remove("timer")).expect("a timer");
    spec
}

/// The same with a buffer that completes writes.
fn buffered(mut spec: DriveSpec) -> DriveSpec {
    spec.cache = toml::from_str(
        "enabled = true\nsegments = 4\nsegment_sectors = 100\nwrite_back = true\n\
         hit_check = \"arrival\"\ndestage = \"idle\"\ndestage_after = \"1 s\"\nwrite_segments = 3",
    )
    .expect("a cache");
    spec
}

fn new(spec: &DriveSpec) -> Drive {
    Drive::builtin(spec, &DriveOptions::default()).expect("a drive")
}

/// Submits commands at their times and returns the completions in order of their names.
fn run(drive: &mut Drive, trace: &[(u64, DriveRequest)]) -> Vec<Completion> {
    let mut done = commands::run(drive, trace);
    done.sort_by_key(|c| c.id);
    done
}

fn near(got: f64, need: f64, what: &str) {
    assert!((got - need).abs() < 1e-9 * need.abs().max(1.0), "{what}: got {got}, need {need}");
}

/// The whole track 0 at time zero: 10 ms. The drive is idle from 10 ms, spins down from 2.01 to 2.51 s and
/// stands. The same again at 5 s: it spins up until 8 s, when the platter stands as at time zero, and
/// reads for 10 ms. By hand: transfer 20 ms x 13 W, idle 2 s x 10 W, spinning down .5 s x 10 W, standby
/// 2.49 s x 1 W, spinning up 3 s x 25 W: 0.26 + 20 + 5 + 2.49 + 75 = 102.75 J.
#[test]
fn standby_by_hand() {
    let mut drive = new(&small());
    let read = |id| request(id, Command::Read, 0, 100);
    let done = run(&mut drive, &[(0, read(0)), (5 * S, read(1))]);
    assert_eq!(done[0].completion, Time(10 * MS));
    assert_eq!(done[1].completion, Time(8 * S + 10 * MS));
    let c = done[1].components;
    assert_eq!([c.queue, c.rotation, c.transfer].map(Span::non_negative), [3 * S, 0, 10 * MS]);
    let e = drive.energy(Time(8 * S + 10 * MS));
    near(e.idle_s, 2.0, "idle");
    near(e.idle_j, 20.0, "idle");
    near(e.transfer_j, 0.26, "transfer");
    near(e.standby_s, 0.5 + 2.49 + 3.0, "standby");
    near(e.standby_j, 82.49, "standby");
    near(e.total_j(), 102.75, "in all");
    near(e.total_s(), 8.01, "in all");
    near(e.conditions.standby.time_s, 2.49, "standing");
    near(e.conditions.spin_up.energy_j, 75.0, "spinning up");
}

/// In the middle of spinning down: 0.31 s are left of it, then 3 s.
#[test]
fn spinning_down_is_finished() {
    let mut drive = new(&small());
    let read = |id| request(id, Command::Read, 0, 100);
    let done = run(&mut drive, &[(0, read(0)), (2200 * MS, read(1))]);
    assert_eq!(done[1].components.queue.non_negative(), 3310 * MS);
    assert_eq!(done[1].completion, Time(5520 * MS));
    // Commands that come meanwhile wait for the same moment, and are then served in order.
    let mut drive = new(&small());
    let trace = [(0, read(0)), (2200 * MS, read(1)), (4 * S, read(2))];
    let done = run(&mut drive, &trace);
    assert_eq!(done[2].completion, Time(5530 * MS));
    assert_eq!(done[2].components.queue.non_negative(), 1520 * MS);
}

/// A sample at every 37 ms: each is what was drawn in it.
#[test]
fn samples_by_hand() {
    let mut drive = new(&small());
    let read = |id| request(id, Command::Read, 0, 100);
    let trace = [(0, read(0)), (5 * S, read(1))];
    let (mut at, mut next, mut before) = (0, 0, DriveEnergy::default());
    let power = |t: f64| match t {
        t if t < 0.01 => 13.0,
        t if t < 2.51 => 10.0,
        t if t < 5.0 => 1.0,
        t if t < 8.0 => 25.0,
        t if t < 8.01 => 13.0,
        _ => 10.0,
    };
    while at < 9 * S {
        let from = at;
        at += 37 * MS;
        while next < trace.len() && trace[next].0 < at {
            drive.advance(Time(trace[next].0), &mut |_| {});
            drive.submit(Time(trace[next].0), trace[next].1);
            next += 1;
        }
        drive.advance(Time(at), &mut |_| {});
        let e = drive.energy(Time(at));
        let by_hand: f64 = (0..37).map(|i| power((from / MS + i) as f64 * 1e-3 + 5e-4) * 1e-3).sum();
        near(e.total_j() - before.total_j(), by_hand, &format!("until {at}"));
        before = e;
    }
}

/// What the drive tells until `until`.
fn told(drive: &mut Drive, until: u64) -> Vec<Phase> {
    let mut phases = Vec::new();
    drive.tell_phases(Time(until), &mut |p| phases.push(*p));
    phases
}

/// The phases of power conditions among it.
fn conditions(drive: &mut Drive, until: u64) -> Vec<ConditionPhase> {
    let all = told(drive, until);
    all.iter().filter_map(|p| p.condition).collect()
}

/// The whole course by hand: a read of a track, ready for two seconds, down for half a second, standing
/// until the next read asks for three seconds of spinning up.
#[test]
fn listeners_hear_one_course() {
    let mut drive = new(&small());
    drive.listen(Time::ZERO);
    let read = |id| request(id, Command::Read, 0, 100);
    run(&mut drive, &[(0, read(0)), (5 * S, read(1))]);
    let course: Vec<_> = told(&mut drive, 9 * S)
        .iter()
        .map(|p| (p.kind, p.from.0 / MS, p.to.0 / MS, p.condition.map(|c| c.condition)))
        .collect();
    let standby = Some(Condition::Standby);
    assert_eq!(
        course,
        [
            (PhaseKind::Transfer, 0, 10, None),
            (PhaseKind::Idle, 10, 2010, None),
            (PhaseKind::Standby, 2010, 2510, standby),
            (PhaseKind::Standby, 2510, 5000, standby),
            (PhaseKind::SpinUp, 5000, 8000, standby),
            (PhaseKind::Transfer, 8000, 8010, None),
            (PhaseKind::Idle, 8010, 9000, None),
        ]
    );
    // From here on each call goes on where the last one stopped.
    assert_eq!(told(&mut drive, 9 * S), []);
    let more = told(&mut drive, 10 * S + 1);
    assert_eq!((more[0].from.0, more[0].to.0), (9 * S, 10 * S + 1));
}

/// Read-ahead for a second track postpones the timer: 20 ms later.
#[test]
fn background_work_postpones_timers() {
    let mut spec = small();
    spec.cache = toml::from_str(
        "enabled = true\nsegments = 4\nsegment_sectors = 200\nread_ahead = \"limit\"\n\
         read_ahead_sectors = 100",
    )
    .expect("a cache");
    let mut drive = new(&spec);
    drive.listen(Time::ZERO);
    run(&mut drive, &[(0, request(0, Command::Read, 0, 100))]);
    let phases = conditions(&mut drive, 3 * S);
    assert_eq!(phases[0].passage, Passage::Entering);
    assert_eq!(phases[0].from, Time(2020 * MS));
    // A write waits a second in the buffer, then it goes out: the head is over the sector in question
    // at a whole number of turns, so it is on the medium at 1.02 s, and the drive goes down at 3.02 s.
    let mut drive = new(&buffered(small()));
    drive.listen(Time::ZERO);
    let done = run(&mut drive, &[(0, request(0, Command::Write, 0, 100))]);
    assert!(done[0].cache_hit);
    let phases = told(&mut drive, 4 * S);
    let written = phases.iter().filter(|p| p.work.is_some()).map(|p| p.to.0);
    let writing = written.max().expect("work");
    let phases: Vec<_> = phases.iter().filter_map(|p| p.condition).collect();
    assert!(writing > S && !drive.destage_pending());
    assert_eq!(phases[0].from, Time(writing + 2 * S));
}

/// A read that the buffer holds waits for the spindle as well.
#[test]
fn hits_wait_too() {
    let mut drive = new(&buffered(small()));
    let read = |id| request(id, Command::Read, 0, 100);
    let done = run(&mut drive, &[(0, read(0)), (100 * MS, read(1)), (60 * S, read(2))]);
    assert!(done[1].cache_hit && done[1].completion < Time(101 * MS));
    assert!(done[2].cache_hit);
    assert!(done[2].completion >= Time(63 * S));
    assert_eq!(done[2].components.queue.non_negative(), 3 * S);
}

/// Asked for while a command is served and another one waits: both are served, buffered data are
/// written, then the drive goes down. What comes meanwhile waits for that and wakes it.
#[test]
fn standby_immediate() {
    let mut drive = new(&buffered(awake()));
    let mut done = Vec::new();
    for id in 0..3 {
        let write = request(id, Command::Write, id * 300, 100);
        drive.advance(Time(id), &mut |c| done.push(*c));
        drive.submit(Time(id), write);
    }
    drive.listen(Time(2));
    drive.advance(Time(5 * MS), &mut |c| done.push(*c));
    assert!(drive.destage_pending());
    drive.set(Time(5 * MS), Setting::PowerCondition(Condition::Standby)).unwrap();
    drive.submit(Time(6 * MS), request(3, Command::Read, 2000, 1));
    drive.advance(Time::NEVER, &mut |c| done.push(*c));
    assert!(!drive.destage_pending());
    let read = done.iter().find(|c| c.id == 3).expect("done");
    let phases = told(&mut drive, read.completion.0);
    let destaged = phases.iter().filter(|p| p.work == Some(headstack_drive::Work::Destage));
    let written = destaged.map(|p| p.to.0).max().expect("destaging");
    let phases: Vec<_> = phases.iter().filter_map(|p| p.condition).collect();
    // Down for half a second once all is written, then up at once for the read.
    assert_eq!((phases[0].from, phases[0].to), (Time(written), Time(written + S / 2)));
    assert_eq!(phases[1].passage, Passage::Leaving);
    assert_eq!(phases[1].to, Time(written + S / 2 + 3 * S));
    assert_eq!(read.components.queue.non_negative(), written + 3500 * MS - 6 * MS);
    assert!(done.iter().all(|c| c.id < 4), "the drive's own flush is nobody's business");
    let e = drive.energy(read.completion);
    near(e.standby_j, 0.5 * 10.0 + 75.0, "standby");
    near(e.total_s(), read.completion.as_secs_f64(), "in all");
}

/// An idle drive is asked for standby, then for unloaded heads, then to be ready.
#[test]
fn idle_drives_change_at_once() {
    let mut drive = new(&awake());
    let done = run(&mut drive, &[(0, request(0, Command::Read, 0, 100))]);
    assert_eq!(done.len(), 1);
    let ask = |drive: &mut Drive, at: u64, c| drive.set(Time(at), Setting::PowerCondition(c)).unwrap();
    ask(&mut drive, S, Condition::Standby);
    assert_eq!(drive.power_condition(Time(20 * S)), Condition::Standby);
    ask(&mut drive, 20 * S, Condition::IdleB);
    assert_eq!(drive.power_condition(Time(30 * S)), Condition::IdleB);
    ask(&mut drive, 30 * S, Condition::Active);
    assert_eq!(drive.power_condition(Time(31 * S)), Condition::Active);
    let e = drive.energy(Time(31 * S));
    // 0.5 s down, 18.5 s standing, 3 s up; 0.5 s unloading, 6.5 s unloaded, 0.4 s loading.
    near(e.standby_s, 22.0, "standby");
    near(e.standby_j, 5.0 + 18.5 + 75.0, "standby");
    near(e.conditions.idle_b.time_s, 7.4, "idle_b");
    near(e.conditions.idle_b.energy_j, 5.0 + 6.5 * 8.0 + 4.0, "idle_b");
    near(e.total_s(), 31.0, "in all");
    let refused = drive.set(Time(31 * S), Setting::PowerCondition(Condition::IdleC)).unwrap_err();
    assert_eq!(refused.key, "setting.power_condition");
}

/// A drive that never rests by itself gets a timer for unloaded heads, then one for standby, then its own again. A
/// read of a track ends at 10 ms.
#[test]
fn idle_timers_are_set_while_it_runs() {
    let mut drive = new(&awake());
    let read =
        |drive: &mut Drive, id: u64, at: u64| run(drive, &[(at, request(id, Command::Read, 0, 100))])[0].completion.0;
    assert_eq!(read(&mut drive, 0, 0), S / 100);
    let set = |drive: &mut Drive, at: u64, condition, after| {
        let setting = Setting::IdleTimer { condition, after };
        drive.set(Time(at), setting)
    };
    let after = |s: u64| Some(Span((s * S) as i64));
    set(&mut drive, S, Condition::IdleB, after(2)).unwrap();
    // The drive had no timers: the time counts from 1 s on. The heads are unloaded from 3 to 3.5 s.
    assert_eq!(drive.power_condition(Time(3 * S - 1)), Condition::Active);
    assert_eq!(drive.power_condition(Time(3 * S + 1)), Condition::IdleB);
    // 0.4 s to load them, and the turn that the read begins in.
    assert!(read(&mut drive, 1, 10 * S) >= 10 * S + S * 4 / 10);
    let ended = read(&mut drive, 2, 11 * S);
    // Standby after three seconds, while the other timer has not expired yet: both count from the last completion.
    set(&mut drive, 12 * S, Condition::Standby, after(3)).unwrap();
    assert_eq!(drive.power_condition(Time(ended + 2 * S + 1)), Condition::IdleB);
    assert_eq!(drive.power_condition(Time(ended + 3 * S + 1)), Condition::Standby);
    // Without timers it stays there until a command comes, and then does not rest again.
    for condition in [Condition::IdleB, Condition::Standby] {
        set(&mut drive, 20 * S, condition, None).unwrap();
    }
    assert_eq!(drive.power_condition(Time(30 * S)), Condition::Standby);
    assert!(read(&mut drive, 3, 30 * S) >= 33 * S);
    assert_eq!(drive.power_condition(Time(60 * S)), Condition::Active);
    for (condition, after, key) in [
        (Condition::IdleC, after(1), "setting.idle_timer.condition"),
        (Condition::Active, after(1), "setting.idle_timer.condition"),
        (Condition::IdleB, Some(Span(0)), "setting.idle_timer.after"),
    ] {
        let refused = set(&mut drive, 60 * S, condition, after).unwrap_err();
        assert_eq!(refused.key, key);
    }
}
