//! What holds for every drive, whatever its host does.

use crate::commands::{response, shares};
use crate::world::{Deed, Ran, World};
use headstack_drive::power::StateWatts;
use headstack_drive::spec::{ArmShare, DriveSpec, MediaScanMode, Parking};
use headstack_drive::{
    power, Command, Completion, DriveEnergy, DriveRequest, Heeded, Hint, LimitEnd, Phase, PhaseKind, Setting, Work,
};
use headstack_units::Span;
use std::collections::BTreeMap;

/// Whether two numbers are the same but for rounding, at numbers of the size of `scale`.
pub fn near(got: f64, need: f64, scale: f64) -> bool {
    (got - need).abs() <= 1e-9 * scale
}

/// Seconds and joules of the states of a drive.
pub fn states(e: &DriveEnergy) -> [f64; 10] {
    let s = [e.idle_s, e.seek_s, e.rotation_s, e.transfer_s, e.standby_s];
    let j = [e.idle_j, e.seek_j, e.rotation_j, e.transfer_j, e.standby_j];
    std::array::from_fn(|i| if i < 5 { s[i] } else { j[i - 5] })
}

/// No state has less time or energy than before, and the time of all states is that which has passed.
pub fn grows(before: &DriveEnergy, e: &DriveEnergy, now: u64) {
    for (was, is) in states(before).iter().zip(states(e)) {
        assert!(is >= was - 1e-9, "at {now}: {before:?} then {e:?}");
    }
    let s = now as f64 * 1e-9;
    assert!(near(e.total_s(), s, 1.0 + s), "at {now}: {e:?}");
}

/// Seconds and joules of two readings of the same time are the same.
pub fn same_energy(one: &DriveEnergy, other: &DriveEnergy) {
    let conditions = |e: &DriveEnergy| e.conditions.named().iter().flat_map(|(_, c)| [c.time_s, c.energy_j]).collect();
    let (mine, theirs): (Vec<f64>, Vec<f64>) = (conditions(one), conditions(other));
    let all = states(one).into_iter().chain(mine).zip(states(other).into_iter().chain(theirs));
    let scale = 1.0 + one.total_j() + one.total_s();
    for (a, b) in all {
        assert!(near(a, b, scale), "{one:?} or {other:?}");
    }
}

/// Every command ends once and not before it arrived, shares add up, an arm serves that the drive has, and only commands
/// with a limit end by one. Of right commands without faults no other fails.
pub fn completions(world: &World, ran: &Ran) {
    let spec = world.spec();
    let submitted = world.deeds.iter().filter_map(|(at, deed)| match deed {
        Deed::Submit(request) => Some((request.id, (*at, *request))),
        _ => None,
    });
    let requests: BTreeMap<u64, (u64, DriveRequest)> = submitted.collect();
    let only_commands = requests.len() == world.deeds.len();
    let zoned = spec.mapping.get("model").is_some_and(|m| m == "zoned");
    let may_fail = !only_commands || zoned || !spec.parallelism.faults.is_empty();
    let arms = spec.dash.stacks * spec.dash.arms;
    let limits = spec.duration_limits.enabled == Heeded::Limits;
    assert!(ran.done.windows(2).all(|pair| pair[0].id < pair[1].id), "twice");
    assert_eq!(ran.done.len(), requests.len() + 1, "some have not ended");
    for c in &ran.done[..requests.len()] {
        let (at, request) = requests[&c.id];
        assert_eq!(c.arrival.0, at, "{request:?} {c:?}");
        assert!(c.completion >= c.arrival, "{request:?} {c:?}");
        assert_eq!(shares(c), response(c), "{request:?} {c:?}");
        assert!(u32::from(c.arm) < arms, "{c:?}");
        let limited = limits && matches!(request.hint, Hint::Limit(_)) && request.command != Command::Flush;
        assert!(limited || c.limit == LimitEnd::Unlimited, "{request:?} {c:?}");
        let past = request.lba.0.saturating_add(request.blocks.into());
        let outside = request.blocks == 0 || past > world.design.capacity_blocks();
        if !may_fail && !outside {
            assert_eq!(limited, c.limit != LimitEnd::Unlimited, "{request:?} {c:?}");
            assert_eq!(c.error, c.limit.fails(), "{request:?} {c:?}");
            active_time(spec, &request, c);
        }
    }
    let scan = ran.drive.counters().recovery_scan_s;
    assert!(scan.is_none_or(|s| (0.0..1e4).contains(&s)), "{scan:?}");
}

/// A command that was served within its limit did not take longer than its active time.
fn active_time(spec: &DriveSpec, request: &DriveRequest, c: &Completion) {
    let (Hint::Limit(number), LimitEnd::Met, true) = (request.hint, c.limit, c.mechanical) else { return };
    let limits = &spec.duration_limits;
    let of = if request.command.writes() { &limits.writes } else { &limits.reads };
    let most = of.get(number.place()).and_then(|limit| limit.active).unwrap_or(Span::FOREVER);
    assert!(c.completion.span_from(c.arrival) - c.components.queue <= most, "{most}: {c:?}");
}

/// Phases of each assembly follow each other from 0 to the end at least, and nobody works in a low-power condition.
/// Assemblies of which one works at a time do not work together. Conditions take the time and energy that the meter says.
pub fn course(world: &World, ran: &Ran) {
    let spec = world.spec();
    follow(spec, &ran.phases, ran.end);
    let mut low = vec![[0.0; 4]; (spec.dash.stacks * spec.dash.arms) as usize];
    for p in &ran.phases {
        let s = p.to.0.min(ran.end).saturating_sub(p.from.0) as f64 * 1e-9;
        let sums = &mut low[p.assembly as usize];
        let rests = match p.kind {
            PhaseKind::Idle => true,
            PhaseKind::Standby | PhaseKind::SpinUp | PhaseKind::Parked => {
                let nth = [PhaseKind::Standby, PhaseKind::SpinUp, PhaseKind::Parked].iter().position(|k| *k == p.kind);
                sums[nth.expect("one of them")] += s;
                assert!(p.condition.is_some(), "{p:?}");
                true
            }
            _ => false,
        };
        sums[3] += p.condition.map_or(0.0, |c| c.watts * s);
        assert_eq!(p.work.is_none(), rests, "{p:?}");
    }
    let c = &ran.energy.conditions;
    let drawn: f64 = c.named().iter().map(|(_, share)| share.energy_j).sum();
    let standby = c.standby.time_s + c.spin_down.time_s;
    let need = [standby, c.spin_up.time_s, c.idle_b.time_s + c.idle_c.time_s, drawn];
    for sums in &low {
        for (got, need) in sums.iter().zip(need) {
            assert!(near(*got, need, 1.0 + need), "{got} of {need}: {c:?}");
        }
    }
    if is_fixed(world) {
        order(spec, &ran.phases);
    }
}

/// Phases of each assembly follow each other from 0 to `end` at least.
pub fn follow(spec: &DriveSpec, phases: &[Phase], end: u64) {
    let mut told = vec![0; (spec.dash.stacks * spec.dash.arms) as usize];
    for p in phases {
        let told = &mut told[p.assembly as usize];
        assert_eq!(p.from.0, *told, "{p:?}");
        *told = p.to.0;
    }
    assert!(told.iter().all(|t| *t >= end), "{told:?} of {end}");
}

/// Whether the mechanism stays as it was built.
fn is_fixed(world: &World) -> bool {
    let changes = |d: &Deed| matches!(d, Deed::Set(Setting::ArmsInMotion(_) | Setting::SpindleSpeed { .. }));
    !world.deeds.iter().any(|(_, deed)| changes(deed))
}

/// Assemblies that can be at work at once, as [`DriveEnergy`] averages over them.
pub fn at_once(spec: &DriveSpec) -> f64 {
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

/// Work of each assembly never overlaps; nor does that of assemblies of which one works at a time.
pub fn order(spec: &DriveSpec, phases: &[Phase]) {
    let apart = at_once(spec) > f64::from(spec.dash.stacks);
    let together = spec.parallelism.arm_share == ArmShare::OwnShare || apart;
    let per_stack = if together { 1 } else { spec.dash.arms };
    let mut last: Vec<Option<Phase>> = vec![None; (spec.dash.stacks * spec.dash.arms) as usize];
    for phase in phases.iter().filter(|p| p.work.is_some()) {
        let before = &mut last[(phase.assembly / per_stack) as usize];
        assert!(phase.from < phase.to, "{phase:?}");
        assert_eq!(phase.distance > 0, phase.kind == PhaseKind::Seek, "{phase:?}");
        if let Some(before) = before {
            assert!(before.to <= phase.from, "{before:?} then {phase:?}");
        }
        *before = Some(*phase);
    }
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
            self.open.extend(first.work.map(|_| *first));
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

/// Each reading of the meter is what the phases in its interval say, cut to it here.
pub fn readings(world: &World, ran: &Ran) {
    let spec = world.spec();
    if !is_fixed(world) {
        return;
    }
    let watts = power::build(&spec.power, &power::Shape::of(spec), &power::PLUGINS).expect("watts");
    let by_hand = !spec.power.contains_key("conditions") && !spec.power.contains_key("seek_energy");
    let n = at_once(spec);
    let mut cutter = Cutter { rest: &ran.phases, open: Vec::new() };
    let mut from = 0;
    for (t, e) in &ran.readings {
        let busy = cutter.cut(from, *t, n);
        let length_s = (t - from) as f64 * 1e-9;
        interval(e, &busy, length_s, &format!("{from} to {t} ns"));
        if by_hand {
            joules(e, &busy, length_s, &watts, n);
        }
        from = *t;
    }
}

/// The times of one reading.
fn interval(e: &DriveEnergy, busy: &Busy, length_s: f64, what: &str) {
    let of_states = [e.seek_s, e.rotation_s, e.transfer_s];
    for (got, need) in of_states.iter().zip(&busy.states) {
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
    assert!(near(e.idle_s + e.standby_s, idle, length_s), "{what}: {e:?}, idle {idle}");
    assert!(near(e.total_s(), length_s, length_s), "{what}: {e:?}");
    assert!(states(e).iter().all(|part| *part >= 0.0), "{what}: {e:?}");
}

/// By hand: idle power all the time, and what each state adds for each assembly in it.
fn joules(e: &DriveEnergy, busy: &Busy, length_s: f64, w: &StateWatts, n: f64) {
    let [seek, rotation, transfer] = busy.states.map(|s| s * n);
    let need = w.idle * length_s
        + (w.seek - w.idle) * seek
        + (w.rotation - w.idle) * rotation
        + (w.transfer - w.idle) * transfer;
    assert!(near(e.total_j(), need, w.idle * length_s), "{e:?}, by hand {need} J");
    let dearest = w.seek.max(w.rotation).max(w.transfer) - w.idle;
    let (low, high) = (w.idle * length_s, (w.idle + n * dearest) * length_s);
    let slack = 1e-9 * high;
    let j = e.total_j();
    assert!(low - slack <= j && j <= high + slack, "{j} J of {low} to {high}");
}
