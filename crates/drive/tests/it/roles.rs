//! Roles of arms that change while a drive runs: when, at what cost, and what the adaptive policy guarantees.

use headstack_drive::{Command, Completion, Drive, DriveOptions, DriveSpec, RoleUse};
use headstack_schema::Parameter;
use headstack_testkit::commands;
use headstack_testkit::shipped;
use headstack_testkit::SplitMix;
use headstack_units::{Span, Time};

const MS: u64 = 1_000_000;
/// Blocks of 4 KiB.
const BLOCK: u32 = 8;

/// A drive of the logging disk's paper with these tables merged in.
fn spec(name: &str, dash: &str, tables: &str) -> Result<DriveSpec, String> {
    let mut spec = shipped::drive(name);
    spec.dash = dash.parse().map_err(|e| format!("{e}"))?;
    let more: toml::Table = tables.parse().map_err(|e| format!("{e}"))?;
    for (key, value) in more {
        let wrong = |e: toml::de::Error| e.to_string();
        match key.as_str() {
            "parallelism" => spec.parallelism = value.try_into().map_err(wrong)?,
            "mapping" => spec.mapping = value.try_into().map_err(wrong)?,
            "positioning" => {
                let Some(every) = value["settle_before_every_write"].as_bool() else { return Err(value.to_string()) };
                spec.positioning.settle_before_every_write = every;
            }
            other => return Err(other.into()),
        }
    }
    Ok(spec)
}

fn drive(name: &str, dash: &str, tables: &str, seed: u64) -> Drive {
    let spec = spec(name, dash, tables).unwrap_or_else(|e| panic!("{e}: {tables}"));
    let options = DriveOptions { seed, ..DriveOptions::default() };
    Drive::builtin(&spec, &options).unwrap_or_else(|e| panic!("{e}: {tables}"))
}

/// A command of one block, at `now`, served before the next one is given.
fn serve(drive: &mut Drive, id: u64, now: u64, write: bool, block: u64) -> Completion {
    let command = if write { Command::Write } else { Command::Read };
    let request = commands::command(id, command, block * u64::from(BLOCK), BLOCK);
    drive.advance(Time(now), &mut |c| panic!("an early completion: {c:?}"));
    drive.submit(Time(now), request);
    let mut done = None;
    drive.advance(Time::NEVER, &mut |c| done = Some(*c));
    done.expect("a completion")
}

fn role_use(drive: &Drive, until: u64) -> RoleUse {
    drive.role_use(Time(until)).expect("roles that change")
}

/// The number of equal commands until the estimate, which starts at `from`, passes `threshold`. With only writes
/// 1 - f shrinks by the factor 1 - 1/window at each, with only reads f does.
fn until_passed(window: f64, from: f64, threshold: f64, write: bool) -> u64 {
    let left = |f: f64| if write { 1.0 - f } else { f };
    let n = (left(from) / left(threshold)).ln() / -(1.0 - 1.0 / window).ln();
    n.floor() as u64 + 1
}

/// Under commands of one kind the roles change before the command that follows the one with which the estimate
/// passes the threshold, or with which the dwell is over. Reads are then served by both arms, and writes by one.
#[test]
fn roles_change_when_the_estimate_passes_a_threshold() {
    for (window, dwell) in [(50.0, 0), (50.0, 150), (300.0, 10)] {
        let roles = format!(
            "[parallelism]\nroles = {{ policy = \"adaptive\", window = {window}, dwell = {dwell}, \
             to_shared_below = 0.4, to_split_above = 0.6 }}"
        );
        let mut drive = drive("ibm-18es", "D1A2S1H1", &roles, 1);
        let mut draw = SplitMix(7);
        let mut id = 0;
        let mut series = |drive: &mut Drive, write: bool, n: u64| {
            let mut arms = [0u64; 2];
            for _ in 0..n {
                let c = serve(drive, id, id * 100 * MS, write, draw.below(100_000));
                arms[usize::from(c.arm)] += 1;
                id += 1;
            }
            (arms, role_use(drive, id * 100 * MS).n_switches)
        };
        let first = until_passed(window, 0.5, 0.4, false).max(dwell);
        assert_eq!(series(&mut drive, false, first), ([0, first], 0));
        let (arms, switches) = series(&mut drive, false, 1000);
        assert_eq!(switches, 1);
        assert!(arms.iter().all(|n| *n > 400), "{arms:?}");
        let low = 0.4 * (1.0 - 1.0 / window).powi(1000);
        let second = until_passed(window, low, 0.6, true);
        let (arms, switches) = series(&mut drive, true, second);
        assert_eq!(switches, 1);
        assert!(arms.iter().all(|n| *n > 10), "{arms:?}");
        let (arms, switches) = series(&mut drive, true, 200);
        assert_eq!((arms, switches), ([200, 0], 2));
        let spent = role_use(&drive, id * 100 * MS);
        let time: f64 = spent.modes.iter().map(|m| m.time_s).sum();
        assert!((time - id as f64 * 0.1).abs() < 1e-6, "{spent:?}");
        assert_eq!((spent.n_forced, spent.switching_s), (0, 0.0));
    }
}

/// A change keeps the arms whose roles change from serving for the switch time, and no others.
#[test]
fn arms_whose_roles_change_wait_for_the_switch() {
    // With three arms the modes differ in the first two only.
    let (split, shared) =
        ("[[\"write\"], [\"read\"], [\"read\"]]", "[[\"read\", \"write\"], [\"read\", \"write\"], [\"read\"]]");
    let made = |time: &str| {
        let roles = format!(
            "[parallelism]\narms_in_motion = 3\nchannels = 3\nroles = {{ policy = \"adaptive\", window = 1, \
             dwell = 0, switch_time = {time:?}, split = {split}, shared = {shared} }}"
        );
        drive("ibm-18es", "D1A3S1H1", &roles, 1)
    };
    let run = |time: &str| {
        let mut drive = made(time);
        // With a window of one command, the first read changes the roles before the second command, a write.
        serve(&mut drive, 0, 0, false, 10);
        let write = serve(&mut drive, 1, 100 * MS, true, 10);
        // The write has changed them back, and the reading arms wait as well.
        let read = serve(&mut drive, 2, 1000 * MS, false, 10);
        (write, read, role_use(&drive, 2000 * MS))
    };
    let (write, _, spent) = run("0 ms");
    assert_eq!((spent.n_switches, spent.switching_s), (2, 0.0));
    let (late, read, spent) = run("90 ms");
    assert_eq!(spent.n_switches, 2);
    assert!((spent.switching_s - 4.0 * 0.09).abs() < 1e-9, "{spent:?}");
    // It starts 90 ms later; the rest is movement and less than two turns.
    let later = late.completion.0 - write.completion.0;
    assert!((90 * MS - 9 * MS..90 * MS + 9 * MS).contains(&later), "{later}");
    assert!(late.components.queue.non_negative() >= 90 * MS, "{late:?}");
    // The third arm keeps its role, so it reads at once.
    assert_eq!((read.arm, read.components.queue.non_negative()), (2, 0), "{read:?}");
}

/// What cannot be is refused by its key.
#[test]
fn wrong_roles_are_refused_by_key() {
    for (dash, parallelism, key) in [
        ("D1A2S1H1", "roles = { policy = \"adaptve\" }", ".policy"),
        ("D1A2S1H1", "roles = { window = 10 }", ".policy"),
        ("D1A2S1H1", "roles = { policy = \"adaptive\", window = 0.5 }", ".window"),
        ("D1A2S1H1", "roles = { policy = \"adaptive\", windw = 5 }", ""),
        ("D1A2S1H1", "roles = { policy = \"adaptive\", to_shared_below = 0.9 }", ".to_shared_below"),
        ("D1A2S1H1", "roles = { policy = \"adaptive\", switch_time = \"2 h\" }", ".switch_time"),
        ("D1A3S1H1", "roles = { policy = \"adaptive\", split = [[\"write\"], [\"read\"]] }", ""),
        ("D1A1S1H1", "roles = { policy = \"adaptive\" }", ""),
        ("D1A5S1H1", "arm_share = \"own-share\"\nroles = { policy = \"adaptive\" }", ""),
        ("D1A2S1H1", "roles = { policy = \"fixed\", arms = [[\"read\"], [\"read\"]] }", ""),
        (
            "D1A2S1H1",
            "faults = [{ at = \"1 s\", arm = 0 }]\nroles = { policy = \"adaptive\", \
             shared = [[\"read\", \"write\"], [\"read\"]] }",
            "",
        ),
    ] {
        let spec = spec("ibm-18es", dash, &format!("[parallelism]\n{parallelism}"));
        let spec = spec.unwrap_or_else(|e| panic!("{e}: {parallelism}"));
        let made = Drive::builtin(&spec, &DriveOptions::default());
        let error = made.err().map(|e| e.key);
        let want = format!("parallelism.roles{key}");
        assert_eq!(error.as_deref(), Some(want.as_str()), "{parallelism}");
    }
}

/// A table is short for the policy `fixed`.
#[test]
fn a_table_is_the_fixed_policy() {
    let run = |roles: &str| {
        let tables = format!("[parallelism]\nroles = {roles}\n[mapping]\nmodel = \"log\"");
        let mut drive = drive("ibm-18es", "D1A3S1H1", &tables, 1);
        assert_eq!(drive.role_use(Time(5)), None);
        let mut draw = SplitMix(3);
        let served = |id| serve(&mut drive, id, id * 50 * MS, draw.below(2) == 0, draw.below(9999));
        (0..500).map(served).collect::<Vec<Completion>>()
    };
    let table = "[[\"write\"], [\"read\"], [\"read\", \"write\"]]";
    let fixed = run(&format!("{{ policy = \"fixed\", arms = {table} }}"));
    assert_eq!(run(table), fixed);
    assert_ne!(run("[[\"write\"], [\"read\", \"write\"], [\"read\"]]"), fixed);
}

/// When the only arm that writes fails, the drive takes up roles in which another one does, and keeps them.
#[test]
fn a_failed_arm_forces_roles_that_serve_everything() {
    for (arm, warning) in [(0, true), (0, false), (1, true), (1, false)] {
        let tables = format!(
            "[parallelism]\nfaults = [{{ at = \"5 s\", arm = {arm}, warning = {warning} }}]\n\
             roles = {{ policy = \"adaptive\", window = 10, dwell = 0 }}"
        );
        let mut drive = drive("ibm-18es", "D1A2S1H1", &tables, 1);
        let mut draw = SplitMix(11);
        // Mostly writes, so that the roles would be split.
        for id in 0..400u64 {
            let write = draw.below(20) > 0;
            let c = serve(&mut drive, id, id * 50 * MS, write, draw.below(99_999));
            assert!(!c.error, "{tables}: {c:?}");
            if id > 140 {
                assert_eq!(c.arm, 1 - arm, "{tables}: {c:?}");
            }
        }
        let spent = role_use(&drive, 20_000 * MS);
        assert_eq!(spent.n_forced, 1, "{tables}: {spent:?}");
        // Without a warning the arm is in use until a command meets its fault.
        let least = if warning { 15.0 - 1e-9 } else { 12.0 };
        assert!(spent.modes[1].time_s >= least, "{tables}: {spent:?}");
    }
}

/// A load: pieces of so many commands with a write fraction.
struct Load {
    name: &'static str,
    pieces: Vec<(usize, f64)>,
}

/// At least 100,000 commands each. The oscillations are slow, as fast as they are noticed, and faster.
fn loads() -> Vec<Load> {
    let steps = [0.05, 0.95, 0.0, 1.0].map(|w| (25_000, w));
    let up = (0..=20).map(|i| (2500, f64::from(i) / 20.0));
    let ramp = up.clone().chain(up.rev()).collect();
    let square = |n: usize| (0..34_000 / n).map(move |i| (n, [0.1, 0.95][i % 2]));
    let oscillating = square(4250).chain(square(400)).chain(square(50));
    vec![
        Load { name: "step", pieces: steps.to_vec() },
        Load { name: "ramp", pieces: ramp },
        Load { name: "oscillation", pieces: oscillating.collect() },
    ]
}

/// Services of one write fraction: number, sum and sum of squares, in milliseconds.
#[derive(Default, Clone, Copy)]
struct Sums {
    n: f64,
    ms: f64,
    squares: f64,
}

impl Sums {
    fn mean(&self) -> f64 {
        self.ms / self.n
    }
    /// The variance of the sum.
    fn variance(&self) -> f64 {
        self.squares - self.ms * self.ms / self.n
    }
}

/// The blocks that are written before the run, and the share of writes that add one.
const INITIAL: u64 = 40_000;
const NEW: f64 = 0.5;

/// Serves a load as in the paper: Poisson arrivals at 10/s, uniform over the blocks written so far. Returns the
/// services by piece.
fn measure(drive: &mut Drive, load: &Load, seed: u64) -> (Vec<Sums>, Option<RoleUse>) {
    let mut draw = SplitMix(seed);
    let mut uniform = || (draw.below(1 << 53) as f64 + 0.5) / (1u64 << 53) as f64;
    let (mut now, mut blocks, mut id) = (0u64, INITIAL, 0);
    let mut sums = Vec::new();
    for (n, w) in &load.pieces {
        let mut sum = Sums::default();
        for _ in 0..*n {
            now += (-uniform().ln() * 1e8) as u64;
            let (write, new, which) = (uniform() < *w, uniform() < NEW, uniform());
            let block = if write && new {
                blocks += 1;
                blocks - 1
            } else {
                (which * blocks as f64) as u64
            };
            let command = if write { Command::Write } else { Command::Read };
            let request = commands::command(id, command, block * u64::from(BLOCK), BLOCK);
            drive.submit(Time(now), request);
            drive.advance(Time::NEVER, &mut |c| {
                let ns = c.completion.since(c.arrival).0 - c.components.queue.0;
                let ms = ns as f64 * 1e-6;
                sum.n += 1.0;
                sum.ms += ms;
                sum.squares += ms * ms;
            });
            id += 1;
        }
        sums.push(sum);
    }
    (sums, drive.role_use(Time(now)))
}

/// The parameters of the policy under test: its defaults.
const WINDOW: f64 = 200.0;
const DWELL: f64 = 200.0;
const TO_SHARED: f64 = 0.7;
const TO_SPLIT: f64 = 0.85;

/// The mean number of commands until a change to the write fraction `w` is noticed, as the policy states it;
/// `None` where it keeps the roles that it has.
fn until_noticed(w: f64) -> Option<f64> {
    if w < TO_SHARED {
        Some(DWELL + WINDOW * ((1.0 - w) / (TO_SHARED - w)).ln())
    } else if w > TO_SPLIT {
        Some(DWELL + WINDOW * (w / (w - TO_SPLIT)).ln())
    } else {
        None
    }
}

/// The sums of the systems over all pieces of a load with the same write fraction.
fn pooled(load: &Load, sums: &[Sums], w: f64) -> Sums {
    let all = load.pieces.iter().zip(sums).filter(|(p, _)| p.1 == w);
    all.fold(Sums::default(), |a, (_, b)| Sums { n: a.n + b.n, ms: a.ms + b.ms, squares: a.squares + b.squares })
}

/// What the adaptive drive may take longer, in milliseconds: its stated cost of switching. `fixed` are the drives
/// DAD, DALD, and a log of which both arms always serve everything.
fn switching_cost(load: &Load, fixed: &[Vec<Sums>; 3]) -> f64 {
    let mut cost = 0.0;
    // Whether the roles for many reads are surely in force, or those for many writes.
    let mut settled = None;
    for (n, w) in &load.pieces {
        let Some(noticed) = until_noticed(*w) else {
            settled = None;
            continue;
        };
        let reads = *w < TO_SHARED;
        if settled == Some(reads) {
            continue;
        }
        settled = (*n as f64 > noticed).then_some(reads);
        let [dad, dald, shared] = [0, 1, 2].map(|i| pooled(load, &fixed[i], *w).mean());
        let (old, new) = if reads { (dald, shared) } else { (shared, dald) };
        cost += noticed.min(*n as f64) * (old - new.min(dad)).max(0.0);
    }
    cost
}

/// DAD, DALD, the log with shared roles, and the adaptive drive on a load.
fn measure_all(name: &str, load: &Load, seed: u64) -> ([Vec<Sums>; 3], Vec<Sums>, RoleUse) {
    let settle = "[positioning]\nsettle_before_every_write = true\n";
    let log = format!("{settle}[mapping]\nmodel = \"log\"\ninitial = \"written\"\ninitial_blocks = {INITIAL}\n");
    let run = |tables: &str| measure(&mut drive(name, "D1A2S1H1", tables, seed), load, seed).0;
    let fixed = [run(settle), run(&format!("{log}[parallelism]\nroles = [[\"write\"], [\"read\"]]")), run(&log)];
    let adaptive = format!("{log}[parallelism]\nroles = {{ policy = \"adaptive\" }}");
    let mut drive = drive(name, "D1A2S1H1", &adaptive, seed);
    let (sums, spent) = measure(&mut drive, load, seed);
    (fixed, sums, spent.expect("roles that change"))
}

/// The adaptive drive is never slower than the better of DAD and DALD by more than its stated switching cost, also
/// if the better one is chosen anew for each write fraction of the load. What may be by chance is three standard
/// errors. The same bound refuses a drive that stays a DALD where the load has many reads.
fn check(name: &str, seed: u64) {
    for load in loads() {
        let (fixed, sums, spent) = measure_all(name, &load, seed);
        let cost = switching_cost(&load, &fixed);
        let mut fractions: Vec<f64> = load.pieces.iter().map(|p| p.1).collect();
        fractions.sort_by(f64::total_cmp);
        fractions.dedup();
        let (mut ours, mut best, mut variance, mut stays) = (0.0, 0.0, 0.0, 0.0);
        for w in &fractions {
            let [dad, dald] = [0, 1].map(|i| pooled(&load, &fixed[i], *w));
            let own = pooled(&load, &sums, *w);
            ours += own.ms;
            stays += dald.ms;
            best += dad.ms.min(dald.ms);
            variance += own.variance() + dad.variance().max(dald.variance());
        }
        let total = |i: usize| fixed[i].iter().map(|s| s.ms).sum::<f64>();
        let n: f64 = sums.iter().map(|s| s.n).sum();
        let chance = 3.0 * variance.sqrt();
        let text = format!(
            "{name}, {}, seed {seed}: DAD {:.4}, DALD {:.4}, shared {:.4}, adaptive {:.4} ms; best by write fraction \
             {:.4}, switching cost {:.4}, chance {:.4}; {} switches",
            load.name,
            total(0) / n,
            total(1) / n,
            total(2) / n,
            ours / n,
            best / n,
            cost / n,
            chance / n,
            spent.n_switches
        );
        println!("{text}");
        assert!(n >= 100_000.0);
        assert!(ours <= total(0).min(total(1)) + cost + chance, "{text}");
        assert!(ours <= best + cost + chance, "{text}");
        let most = 1.0 + n / DWELL;
        assert!(spent.n_switches >= 1 && (spent.n_switches as f64) <= most, "{text}");
        if load.name == "step" {
            // From the start and three steps, and no more.
            assert!(spent.n_switches <= 4, "{text}");
            assert!(stays > best + cost + chance, "{text}");
        }
    }
}

#[test]
fn the_adaptive_drive_is_as_good_as_the_better_one_on_the_ibm_18es() {
    (1..=headstack_testkit::cases(1)).for_each(|seed| check("ibm-18es", seed));
}

#[test]
fn the_adaptive_drive_is_as_good_as_the_better_one_on_the_cheetah_9lp() {
    (1..=headstack_testkit::cases(1)).for_each(|seed| check("cheetah-9lp", seed));
}

/// The defaults that the tests above assume are those of the policy.
#[test]
fn the_defaults_are_those_of_the_policy() {
    let tables = "[parallelism]\nroles = { policy = \"adaptive\" }";
    let spec = spec("ibm-18es", "D1A2S1H1", tables).expect("a drive");
    let whole = spec.with_all_parameters(&headstack_drive::Models::builtin());
    let roles = whole.parallelism.roles.write();
    for (key, value) in
        [("window", WINDOW), ("dwell", DWELL), ("to_shared_below", TO_SHARED), ("to_split_above", TO_SPLIT)]
    {
        assert_eq!(roles[key].as_f64(), Some(value), "{key}");
    }
    assert_eq!(roles["switch_time"], serde_json::json!(Span::ZERO.to_string()));
}
