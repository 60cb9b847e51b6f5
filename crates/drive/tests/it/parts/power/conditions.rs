use headstack_drive::power::conditions::*;
use headstack_drive::power::{build, Shape, PLUGINS};
use headstack_engine::random;
use headstack_schema::{Params, SpecError};
use headstack_units::{Rpm, Span, Time};
use rand::Rng;

const S: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

fn design(toml: &str) -> Result<Conditions, SpecError> {
    let power: Params = toml::from_str(toml).expect("TOML");
    let shape = Shape { rotation_speed: Rpm(7200.0), arms: 1, stacks: 1, platters: 4 };
    Conditions::new(&power, &build(&power, &shape, &PLUGINS)?)
}

/// 10 W idle; heads unloaded, 8 W, after 2 s; slower, 6 W, after 10 s; spun down, 1 W, after 20 s.
const DRIVE: &str = r#"
spindle = "6 W"
electronics = "4 W"
idle_b = "8 W"
idle_c = "6 W"
standby = "1 W"
spin_up = "25 W"
spin_up_time = "12 s"
[conditions]
idle_b = { timer = "2 s", enter_time = "0.5 s", recovery_time = "0.4 s" }
idle_c = { timer = "10 s", enter_time = "2 s", recovery_time = "3 s" }
standby = { timer = "20 s", enter_time = "5 s" }
"#;

/// All phases from `idle_from` on, with a command at `command`.
fn course(design: &Conditions, idle_from: u64, command: u64) -> (Vec<ConditionPhase>, u64) {
    let mut all = Vec::new();
    let ready = Rest::new(Time(idle_from)).wake(design, Time(command), &mut |s| all.push(s));
    (all, ready.0)
}

fn row(s: &ConditionPhase) -> (Condition, Passage, u64, u64, f64) {
    (s.condition, s.passage, s.from.0, s.to.0, s.watts)
}

/// Idle from 1 s, a command at 30 s. By hand: 2 s at 10 W, 0.5 s at 10 W, 7.5 s at 8 W, 2 s at 8 W, 8 s at 6
/// W, 5 s at 6 W, 4 s at 1 W, 12 s at 25 W: 20 + 5 + 60 + 16 + 48 + 30 + 4 + 300 = 483 J.
#[test]
fn all_the_way_down_and_back() {
    use {Condition::*, Passage::*};
    let (all, ready) = course(&design(DRIVE).unwrap(), S, 30 * S);
    let half = S / 2;
    assert_eq!(
        all.iter().map(row).collect::<Vec<_>>(),
        [
            (Active, Holding, S, 3 * S, 10.0),
            (IdleB, Entering, 3 * S, 3 * S + half, 10.0),
            (IdleB, Holding, 3 * S + half, 11 * S, 8.0),
            (IdleC, Entering, 11 * S, 13 * S, 8.0),
            (IdleC, Holding, 13 * S, 21 * S, 6.0),
            (Standby, Entering, 21 * S, 26 * S, 6.0),
            (Standby, Holding, 26 * S, 30 * S, 1.0),
            (Standby, Leaving, 30 * S, 42 * S, 25.0),
        ]
    );
    assert_eq!(ready, 42 * S);
    let joules: f64 = all.iter().map(ConditionPhase::joules).sum();
    assert!((joules - 483.0).abs() < 1e-9, "{joules} J");
}

/// The same up to 36 s, in the middle of the spin-up, by condition: 20 J while ready, 65 J for `idle_b`, 64 J
/// for `idle_c`, and 30, 4 and 150 J for spin-down, standby and spin-up.
#[test]
fn time_and_energy_by_condition() {
    let d = design(DRIVE).unwrap();
    let (all, _) = course(&d, S, 30 * S);
    let mut time = ConditionTime::default();
    all.iter().for_each(|s| time.add(s, Time(36 * S)));
    assert_eq!(time.total().non_negative(), 33 * S);
    let e = time.energy(&d);
    let want = [(0.0, 0.0), (8.0, 65.0), (10.0, 64.0), (4.0, 4.0), (5.0, 30.0), (6.0, 150.0)];
    for ((name, got), (seconds, joules)) in e.named().into_iter().zip(want) {
        assert!((got.time_s - seconds).abs() < 1e-9, "{name}: {got:?}");
        assert!((got.energy_j - joules).abs() < 1e-9, "{name}: {got:?}");
    }
    assert!((e.low_idle().energy_j - 129.0).abs() < 1e-9);
    assert!((e.all_standby().time_s - 15.0).abs() < 1e-9);
    // The last six seconds only.
    let mut first = ConditionTime::default();
    all.iter().for_each(|s| first.add(s, Time(30 * S)));
    let last = time.since(&first).energy(&d).all_standby();
    assert_eq!((last.time_s, last.energy_j), (6.0, 150.0));
}

/// A command at the moment at which a timer expires finds the drive ready.
#[test]
fn a_command_when_a_timer_expires_comes_first() {
    let d = design(DRIVE).unwrap();
    assert_eq!(course(&d, S, 3 * S).1, 3 * S);
    // A nanosecond later the heads are being unloaded. They reach the ramp and are then loaded again.
    assert_eq!(course(&d, S, 3 * S + 1).1, 3 * S + S / 2 + 4 * S / 10);
}

#[test]
fn ways_down_are_finished_or_broken_off() {
    let d = design(DRIVE).unwrap();
    // One second into a spin-down of five: four more, then 12 s.
    assert_eq!(course(&d, 0, 21 * S).1, 21 * S + 4 * S + 12 * S);
    // Half of the change to the lower speed has passed: half of 3 s.
    assert_eq!(course(&d, 0, 11 * S).1, 11 * S + 3 * S / 2);
    // A tenth of 3 s would be 0.3 s, but the heads are unloaded: 0.4 s.
    assert_eq!(course(&d, 0, 10 * S + S / 5).1, 10 * S + S / 5 + 4 * S / 10);
    // A command that arrives during the recovery does not change its end.
    let mut rest = Rest::new(Time::ZERO);
    assert_eq!(rest.wake(&d, Time(40 * S), &mut |_| {}), Time(52 * S));
    assert_eq!(rest.ready(&d, Time(45 * S)), Time(52 * S));
}

/// A host asks for standby and later for `idle_b`: 12 s of spin-up, then half a second of unloading. The
/// timers start then.
#[test]
fn a_host_asks() {
    use {Condition::*, Passage::*};
    let d = design(DRIVE).unwrap();
    let mut all = Vec::new();
    let mut rest = Rest::new(Time::ZERO);
    rest.ask(&d, Time(S), Standby, &mut |s| all.push(s));
    rest.ask(&d, Time(100 * S), IdleB, &mut |s| all.push(s));
    rest.advance(&d, Time(124 * S), &mut |s| all.push(s));
    let rows: Vec<_> = all.iter().map(|s| (s.condition, s.passage, s.from.0 / MS, s.to.0 / MS)).collect();
    assert_eq!(
        rows,
        [
            (Active, Holding, 0, 1_000),
            (Standby, Entering, 1_000, 6_000),
            (Standby, Holding, 6_000, 100_000),
            (Standby, Leaving, 100_000, 112_000),
            (IdleB, Entering, 112_000, 112_500),
            (IdleB, Holding, 112_500, 122_500),
            (IdleC, Entering, 122_500, 124_000),
        ]
    );
    assert_eq!(rest.condition(), IdleC);
    // Asked to be ready after three quarters of the change to the lower speed: 2.25 s.
    rest.ask(&d, Time(124 * S), Active, &mut |_| {});
    assert_eq!(rest.ready(&d, Time(124 * S)), Time(124 * S + 2_250 * MS));
}

/// A shallower condition with the longer timer is never entered. Of two that are due together the deeper one
/// is entered.
#[test]
fn only_deeper() {
    let late = DRIVE.replace("timer = \"2 s\"", "timer = \"15 s\"");
    let (all, _) = course(&design(&late).unwrap(), 0, 60 * S);
    assert!(all.iter().all(|s| s.condition != Condition::IdleB));
    let together = DRIVE.replace("timer = \"2 s\"", "timer = \"10 s\"");
    let (all, _) = course(&design(&together).unwrap(), 0, 60 * S);
    assert!(all.iter().all(|s| s.condition != Condition::IdleB));
}

#[test]
fn timers_are_off_unless_given() {
    let off = DRIVE.replace("timer = ", "nominal_timer = ");
    let d = design(&off).unwrap();
    assert!(!d.has_timer() && d.has(Condition::Standby) && !d.has(Condition::IdleA));
    let year = 365 * 86_400 * S;
    assert_eq!(course(&d, 0, year).1, year);
    let on = off.replace("[conditions]", "[conditions]\ntimers = \"nominal\"");
    assert_eq!(design(&on).unwrap(), design(DRIVE).unwrap());
    // Without a known recovery the drive cannot enter a condition.
    assert!(!design("idle_b = \"7 W\"").unwrap().has(Condition::IdleB));
    assert!(!design("spin_up_time = \"9 s\"").unwrap().has(Condition::Standby));
    assert!(design("spin_up_time = \"9 s\"\nspin_up = \"20 W\"").unwrap().has(Condition::Standby));
}

#[test]
fn bad_values_are_named() {
    for (from, to, key) in [
        ("timer = \"2 s\"", "timer = \"0 s\"", "idle_b.timer"),
        ("timer = \"2 s\"", "timer = \"-2 s\"", "idle_b.timer"),
        ("timer = \"2 s\"", "timer = \"200000 h\"", "idle_b.timer"),
        ("timer = \"20 s\"", "nominal_timer = \"0 s\"", "standby.nominal_timer"),
        ("enter_time = \"2 s\"", "enter_time = \"-1 ms\"", "idle_c.enter_time"),
        ("recovery_time = \"3 s\"", "recovery_time = \"2 h\"", "idle_c.recovery_time"),
        ("enter_time = \"5 s\"", "recovery_power = \"0.5 W\"", "standby.recovery_power"),
        ("enter_time = \"5 s\"", "enter_power = \"-1 W\"", "standby.enter_power"),
        ("enter_time = \"5 s\"", "enter = \"5 s\"", "standby"),
        (", recovery_time = \"3 s\"", "", "idle_c.recovery_time"),
        ("[conditions]", "[conditions]\ntimers = \"on\"", "timers"),
    ] {
        assert!(DRIVE.contains(from), "{from}");
        let error = design(&DRIVE.replace(from, to)).unwrap_err();
        assert_eq!(error.key, format!("power.conditions.{key}"), "{error}");
    }
    let no_power = DRIVE.replace("idle_b = \"8 W\"", "");
    assert_eq!(design(&no_power).unwrap_err().key, "power.idle_b");
    let no_spin_up = DRIVE.replace("spin_up = \"25 W\"", "");
    let key = design(&no_spin_up).unwrap_err().key;
    assert_eq!(key, "power.conditions.standby.recovery_power");
    assert_eq!(design("conditions = 3").unwrap_err().key, "power.conditions");
}

fn ms(ms: u64) -> Span {
    Span((ms * MS) as i64)
}

/// A drive with random conditions, in whole milliseconds.
fn any_design(random: &mut impl Rng) -> Conditions {
    let mut watts = 10.0;
    let steps = [0; 4].map(|_| {
        watts *= random.random_range(0.4..1.0);
        random.random_bool(0.75).then(|| Step {
            watts,
            timer: random.random_bool(0.8).then(|| ms(random.random_range(1..40))),
            enter: ms(random.random_range(0..10)),
            enter_watts: random.random_bool(0.5).then(|| random.random_range(0.0..12.0)),
            // A recovery of zero length would not be told.
            recovery: ms(random.random_range(1..20)),
            recovery_watts: random.random_range(10.0..25.0),
        })
    });
    Conditions { idle_watts: 10.0, steps }
}

/// The condition after each millisecond without commands, computed step by step: the rules in another form.
fn by_the_clock(d: &Conditions, milliseconds: u64) -> Vec<(Condition, Passage)> {
    let (mut at, mut busy) = (Condition::Active, 0);
    let mut seen = Vec::new();
    for now in 0..milliseconds {
        while busy == 0 {
            let due = |c: &Condition| {
                d.step(*c).and_then(|s| s.timer).is_some_and(|t| t <= Span((now * MS) as i64)) && *c > at
            };
            // Timers that expired together, or while another condition was entered: the deepest counts.
            let Some(next) = Condition::LOW.into_iter().rev().find(due) else { break };
            at = next;
            busy = d.step(next).map_or(0, |s| s.enter.non_negative() / MS);
        }
        seen.push((at, if busy > 0 { Passage::Entering } else { Passage::Holding }));
        busy = busy.saturating_sub(1);
    }
    seen
}

#[test]
fn the_same_as_by_the_clock() {
    for seed in 0..400 {
        let random = &mut random::stream(seed, "by-the-clock");
        let d = any_design(random);
        let mut rest = Rest::new(Time::ZERO);
        let mut stretches = Vec::new();
        rest.advance(&d, Time(120 * MS), &mut |s| stretches.push(s));
        for (ms, seen) in by_the_clock(&d, 120).into_iter().enumerate() {
            let now = ms as u64 * MS;
            let s = stretches.iter().find(|s| s.from <= Time(now) && now < s.to.0).expect("no gap");
            assert_eq!((s.condition, s.passage), seen, "seed {seed}, {ms} ms, {d:?}");
        }
    }
}

/// Whatever is asked, and however the time is divided: phases follow each other without gap or overlap;
/// energy is the integral of power; a drive only goes deeper unless it recovers; a command is served not
/// before it arrives, and not later than after the end of entering and the recovery.
#[test]
fn stretches_tile_time() {
    for seed in 0..600 {
        let random = &mut random::stream(seed, "tiling");
        let d = any_design(random);
        let (mut whole, mut pieces) = (Vec::new(), Vec::new());
        let (mut one, mut other) = (Rest::new(Time(5)), Rest::new(Time(5)));
        let mut now = 5;
        for _ in 0..12 {
            for _ in 0..random.random_range(0..4) {
                now += random.random_range(0..15) * MS + random.random_range(0..9);
                other.advance(&d, Time(now), &mut |s| pieces.push(s));
            }
            let c = Condition::LOW[random.random_range(0..4)];
            if random.random_bool(0.5) && d.has(c) {
                one.ask(&d, Time(now), c, &mut |s| whole.push(s));
                other.ask(&d, Time(now), c, &mut |s| pieces.push(s));
            } else {
                let ready = one.wake(&d, Time(now), &mut |s| whole.push(s));
                assert_eq!(other.wake(&d, Time(now), &mut |s| pieces.push(s)), ready, "seed {seed}");
                assert!(now <= ready.0 && ready <= Time(now + 30 * MS), "seed {seed}");
                now = ready.0;
            }
        }
        one.advance(&d, Time(now), &mut |s| whole.push(s));
        other.advance(&d, Time(now), &mut |s| pieces.push(s));
        assert_eq!(one, other, "seed {seed}");
        check_tiling(&whole, 5, now, seed);
        check_tiling(&pieces, 5, now, seed);
        // The power is the same at every division, so the energy is the same.
        for s in &pieces {
            let w = whole.iter().find(|w| w.from <= s.from && s.to <= w.to);
            let w = w.unwrap_or_else(|| panic!("seed {seed}: {s:?} in none of {whole:?}"));
            assert_eq!((s.condition, s.passage, s.watts), (w.condition, w.passage, w.watts));
        }
        let sum = |all: &[ConditionPhase]| all.iter().map(ConditionPhase::joules).sum::<f64>();
        assert!((sum(&whole) - sum(&pieces)).abs() < 1e-9, "seed {seed}");
    }
}

fn check_tiling(all: &[ConditionPhase], from: u64, to: u64, seed: u64) {
    let mut at = from;
    let mut last: Option<&ConditionPhase> = None;
    for s in all {
        assert!(s.from == Time(at) && s.to > Time(at) && s.watts >= 0.0, "seed {seed}: {s:?} after {last:?}");
        if let Some(l) = last.filter(|l| l.passage != Passage::Leaving) {
            assert!(s.condition >= l.condition, "seed {seed}: {s:?} after {l:?}");
        }
        at = s.to.0;
        last = Some(s);
    }
    assert_eq!(at, to, "seed {seed}");
}
