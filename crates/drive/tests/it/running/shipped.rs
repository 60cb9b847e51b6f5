//! Every shipped drive with all timers on.

use super::{buffered, near, request, small, MS, S};
use headstack_drive::power::conditions::Condition;
use headstack_drive::power::{self, Shape};
use headstack_drive::spec::{Destage, DriveSpec, Params, Parking};
use headstack_drive::{Command, Completion, Drive, DriveEnergy, DriveOptions, Phase, PhaseKind, Setting};
use headstack_engine::random;
use headstack_testkit::shipped;
use headstack_units::{Rpm, Span, Time};
use rand::Rng;

/// Every file in `drives/`, with short timers for every condition.
fn drives() -> Vec<DriveSpec> {
    let mut drives: Vec<DriveSpec> = shipped::drives().into_iter().map(sleepy).collect();
    drives.sort_by(|a, b| a.name.cmp(&b.name));
    drives
}

fn sleepy(mut spec: DriveSpec) -> DriveSpec {
    let watts = power::build(&spec.power, &Shape::of(&spec), &power::PLUGINS).expect("power");
    let rails = spec.power.get("model").is_some_and(|m| m == "rails");
    for (key, share) in [("idle_a", 0.95), ("idle_b", 0.8), ("idle_c", 0.6)] {
        let w = watts.standby + share * (watts.idle - watts.standby);
        let value = match rails {
            true => serde_json::json!([w / 5.0, 0.0]),
            false => serde_json::json!(format!("{w} W")),
        };
        spec.power.insert(key.into(), value);
    }
    let conditions: Params = toml::from_str(&format!(
        r#"
        idle_a = {{ timer = "100 ms", recovery_time = "1 ms" }}
        idle_b = {{ timer = "300 ms", enter_time = "80 ms", recovery_time = "90 ms" }}
        idle_c = {{ timer = "600 ms", enter_time = "200 ms", recovery_time = "150 ms" }}
        standby = {{ timer = "1 s", enter_time = "400 ms", recovery_time = "500 ms", recovery_power = "{} W" }}
        "#,
        3.0 * watts.idle
    ))
    .expect("conditions");
    spec.power.insert("conditions".into(), conditions.into());
    spec
}

/// Seconds and joules of each state, background and condition.
fn parts(e: &DriveEnergy) -> Vec<f64> {
    let mut all = vec![
        e.idle_s,
        e.seek_s,
        e.rotation_s,
        e.transfer_s,
        e.standby_s,
        e.idle_j,
        e.seek_j,
        e.rotation_j,
        e.transfer_j,
        e.standby_j,
    ];
    all.extend(e.conditions.named().iter().flat_map(|(_, c)| [c.time_s, c.energy_j]));
    all
}

/// A run over 40 s with pauses of up to 3 s: completions, the energy at the end, and the phases.
struct Run {
    done: Vec<Completion>,
    energy: DriveEnergy,
    phases: Vec<Phase>,
    end: u64,
}

fn run(spec: &DriveSpec, seed: u64, sampled: bool, changing: bool) -> Run {
    let options = DriveOptions { seed, ..DriveOptions::default() };
    let mut drive = Drive::builtin(spec, &options).expect(&spec.name);
    drive.listen(Time::ZERO);
    let random = &mut random::stream(seed, "running");
    let sampling = &mut random::stream(seed, "samples");
    let (mut now, mut sample, mut id) = (0, 0, 0);
    let mut before = DriveEnergy::default();
    let (mut done, mut phases) = (Vec::new(), Vec::new());
    while now < 40 * S {
        now += match random.random_range(0..10) {
            0..6 => random.random_range(0..20) * MS,
            6..9 => random.random_range(0..700) * MS,
            _ => random.random_range(0..3000) * MS,
        };
        while sampled && sample < now {
            let last = sample;
            sample = (sample + sampling.random_range(1..400) * MS).min(now);
            drive.advance(Time(sample), &mut |c| done.push(*c));
            let e = drive.energy(Time(sample));
            near(
                e.total_s() - before.total_s(),
                (sample - last) as f64 * 1e-9,
                &format!("{}, seed {seed}: {last} to {sample}", spec.name),
            );
            for (a, b) in parts(&e).into_iter().zip(parts(&before)) {
                assert!(a >= b - 1e-9, "{}, seed {seed}: {e:?} after {before:?}", spec.name);
            }
            before = e;
            drive.tell_phases(Time(sample), &mut |p| phases.push(*p));
        }
        drive.advance(Time(now), &mut |c| done.push(*c));
        if changing {
            change(&mut drive, now, id, random);
        }
        let command = match random.random_range(0..20) {
            0 => Command::Flush,
            1..8 => Command::Write,
            _ => Command::Read,
        };
        let blocks = 8 * random.random_range(1..40);
        let lba = random.random_range(0..drive.capacity_blocks() - blocks) / 8 * 8;
        drive.submit(Time(now), request(id, command, lba, blocks as u32));
        id += 1;
    }
    drive.advance(Time::NEVER, &mut |c| done.push(*c));
    done.sort_by_key(|c| c.id);
    assert!(done.iter().map(|c| c.id).eq(0..id), "{}, seed {seed}", spec.name);
    let end = done.iter().map(|c| c.completion.0).max().unwrap_or(0) + 5 * S;
    let energy = drive.energy(Time(end));
    near(energy.total_s(), end as f64 * 1e-9, &spec.name);
    drive.tell_phases(Time(end), &mut |p| phases.push(*p));
    phases.sort_by_key(|p| (p.assembly, p.from));
    Run { done, energy, phases, end }
}

/// Sets something at random.
fn change(drive: &mut Drive, now: u64, id: u64, random: &mut impl Rng) {
    let speed = Rpm([6000.0, 4500.0, 7200.0][random.random_range(0..3)]);
    let condition = [Condition::Active, Condition::IdleB, Condition::Standby];
    let setting = match random.random_range(0..24) {
        0 => Setting::QueueDepth([0, 1, 3, 32][random.random_range(0..4)]),
        1 => Setting::Scheduler {
            name: ["fcfs", "sptf", "look", "c-look"][random.random_range(0..4)].into(),
            parameters: Params::new(),
        },
        2 => Setting::ArmsInMotion(random.random_range(1..3)),
        3 | 4 => Setting::PowerCondition(condition[random.random_range(0..3)]),
        7 | 8 => Setting::IdleTimer {
            condition: condition[random.random_range(1..3)],
            after: [None, Some(Span::from_ms(40.0))][random.random_range(0..2)],
        },
        5 => Setting::SpindleSpeed { speed, takes: Span::from_ms(random.random_range(0.0..300.0)) },
        6 => {
            drive.abort(Time(now), id.saturating_sub(random.random_range(0..4)));
            return;
        }
        _ => return,
    };
    let limited = matches!(setting, Setting::ArmsInMotion(2));
    if let Err(e) = drive.set(Time(now), setting) {
        assert!(limited, "{e}");
    }
}

/// The same on drives of several stacks and arms, with and without a buffer, whose settings change all the
/// time: every command is completed once, and times and energies add up in every interval.
#[test]
fn drives_that_are_set_all_the_time() {
    let mut seed = 1000;
    for dash in ["D1A1S1H1", "D2A1S1H1", "D1A2S1H1", "D2A2S1H2", "D1A4S2H1"] {
        for (parking, at_once) in [(Parking::Hold, 1), (Parking::Follow, 1), (Parking::Hold, 0)] {
            for mut spec in [sleepy(small()), buffered(sleepy(small()))] {
                spec.dash = dash.parse().expect("a point");
                spec.parallelism.parking = parking;
                spec.parallelism.arms_in_motion = at_once;
                spec.queue.scheduler = "sptf".into();
                if at_once == 0 {
                    // Which of several idle arms takes buffered data depends on when somebody asks.
                    spec.cache.destage = Destage::Immediate;
                }
                seed += 1;
                let one = run(&spec, seed, true, true);
                let other = run(&spec, seed, false, true);
                let differ = one.done.iter().zip(&other.done).find(|(a, b)| a != b);
                assert_eq!(differ, None, "{dash}, {parking:?}, {at_once}, seed {seed}");
                check_run(&one, &format!("{dash}, {parking:?}, {at_once}, seed {seed}"));
                near(one.energy.total_j(), other.energy.total_j(), &format!("seed {seed}"));
                assert!(one.energy.standby_s > 0.0, "seed {seed}");
            }
        }
    }
}

/// Shares add up, the phases of each assembly fill the time, and conditions are what the meter says, for
/// each assembly: nobody works in them.
fn check_run(run: &Run, what: &str) {
    for c in &run.done {
        let k = &c.components;
        let sum = k.queue + k.overhead + k.seek + k.rotation + k.transfer + k.bus;
        assert_eq!(sum, c.completion.0 - c.arrival.0, "{what}: {c:?}");
    }
    for of_one in run.phases.chunk_by(|a, b| a.assembly == b.assembly) {
        let mut told = 0;
        let (mut standby, mut spin_up, mut parked, mut joules) = (0, 0, 0, 0.0);
        for p in of_one {
            assert_eq!(p.from.0, told, "{what}: {p:?}");
            told = p.to.0;
            let ns = p.to.0.min(run.end).saturating_sub(p.from.0);
            match p.kind {
                PhaseKind::Standby => standby += ns,
                PhaseKind::SpinUp => spin_up += ns,
                PhaseKind::Parked => parked += ns,
                _ => {}
            }
            let low = [PhaseKind::Standby, PhaseKind::SpinUp, PhaseKind::Parked].contains(&p.kind);
            assert!(!low || p.condition.is_some(), "{what}: {p:?}");
            assert!(p.condition.is_none() || p.work.is_none(), "{what}: {p:?}");
            joules += p.condition.map_or(0.0, |c| c.watts * ns as f64 * 1e-9);
        }
        assert!(told >= run.end, "{what}: {told} of {}", run.end);
        let c = &run.energy.conditions;
        let seconds = |ns: u64| ns as f64 * 1e-9;
        near(seconds(standby), c.standby.time_s + c.spin_down.time_s, what);
        near(seconds(spin_up), c.spin_up.time_s, what);
        near(seconds(parked), c.idle_b.time_s + c.idle_c.time_s, what);
        let drawn: f64 = c.named().iter().map(|(_, share)| share.energy_j).sum();
        near(joules, drawn, what);
    }
}

/// Shares add up, state times add up in every interval, nothing is negative, energy does not depend on how
/// often it is asked for, no assembly works in a low-power condition, and each drive gets everywhere.
#[test]
fn every_shipped_drive_goes_down_and_comes_back() {
    for (spec, seed) in drives().iter().zip(1..) {
        let one = run(spec, seed, true, false);
        let other = run(spec, seed, false, false);
        assert_eq!(one.done, other.done, "{}, seed {seed}", spec.name);
        check_run(&one, &format!("{}, seed {seed}", spec.name));
        for (a, b) in parts(&one.energy).into_iter().zip(parts(&other.energy)) {
            near(a, b, &format!("{}, seed {seed}: asked often, asked once", spec.name));
        }
        for (name, share) in one.energy.conditions.named() {
            assert!(share.time_s > 0.0, "{}, seed {seed}: never {name}", spec.name);
        }
    }
}
