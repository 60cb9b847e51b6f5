//! Duration limits: each policy in sequences worked by hand, errors on SATA and SAS, changes while the drive runs, and what
//! holds under any mix.

use headstack_drive::spec::DriveSpec;
use headstack_drive::{
    Command, Completion, Drive, DriveOptions, DriveRequest, DurationLimit, Heeded, Hint, LimitEnd, LimitsSpec, Policy,
    Setting, Transport,
};
use headstack_testkit::commands;
use headstack_testkit::disk::Disk;
use headstack_units::{Lba, Span, Time};

mod measured;
mod mixes;

const MS: u64 = 1_000_000;

/// 100 turns per second, 100 sectors a track, no buffer, in order of arrival. A read of the first track takes a turn, 10 ms,
/// and begins at a multiple of it.
fn small(limits: LimitsSpec) -> DriveSpec {
    let disk = Disk { rpm: 6000, surfaces: 4, cylinders: 120, sectors: 100, skew: None };
    let mut spec = disk.drive(
        r#"
        [seek]
        model = "linear"
        single = "1 ms"
        full = "8 ms"
        cylinders = 120
    "#,
    );
    spec.duration_limits = limits;
    spec
}

/// Limits of reads, on SAS.
fn limits(reads: Vec<DurationLimit>) -> LimitsSpec {
    LimitsSpec { enabled: Heeded::Limits, reads, transport: Transport::Sas, ..LimitsSpec::default() }
}

fn ms(n: i64) -> Option<Span> {
    Some(Span(n * MS as i64))
}

fn inactive(time: i64, policy: Policy) -> DurationLimit {
    DurationLimit { inactive: ms(time), inactive_policy: policy, ..DurationLimit::default() }
}

fn active(time: i64, policy: Policy) -> DurationLimit {
    DurationLimit { active: ms(time), active_policy: policy, ..DurationLimit::default() }
}

fn guideline(time: i64, policy: Policy) -> DurationLimit {
    DurationLimit { guideline: ms(time), guideline_policy: policy, ..DurationLimit::default() }
}

fn new(spec: &DriveSpec) -> Drive {
    Drive::builtin(spec, &DriveOptions::default()).expect("a drive")
}

/// A read of the first track with this limit; 0 for none.
fn read(id: u64, limit: u8) -> DriveRequest {
    DriveRequest {
        id,
        command: Command::Read,
        lba: Lba(0),
        blocks: 100,
        hint: Hint::new(limit, false).expect("a limit"),
    }
}

/// Submits commands at their times in milliseconds; completions in order of their ids.
fn run(drive: &mut Drive, trace: &[(u64, DriveRequest)]) -> Vec<Completion> {
    let trace: Vec<_> = trace.iter().map(|(at, request)| (at * MS, *request)).collect();
    let mut done = commands::run(drive, &trace);
    done.sort_by_key(|c| c.id);
    assert!(done.iter().map(|c| c.id).eq(0..trace.len() as u64));
    for c in &done {
        assert_eq!(commands::shares(c), commands::response(c), "{c:?}");
        assert_eq!(c.error, c.limit.fails());
    }
    done
}

/// When each command ended, in milliseconds, and how.
fn ends(drive: &mut Drive, trace: &[(u64, DriveRequest)]) -> Vec<(u64, LimitEnd)> {
    let done = run(drive, trace);
    done.iter().map(|c| (c.completion.0 / MS, c.limit)).collect()
}

/// Four reads at time zero, the last one under limit 1: without limits it begins at 30 ms and ends at 40 ms.
fn fourth(reads: Vec<DurationLimit>) -> (u64, LimitEnd) {
    let trace = [0, 0, 0, 1].map(|limit| (0, limit));
    let trace: Vec<_> = (0..).zip(trace).map(|(id, (at, l))| (at, read(id, l))).collect();
    let found = ends(&mut new(&small(limits(reads))), &trace);
    let others = [(10, LimitEnd::Unlimited), (20, LimitEnd::Unlimited), (30, LimitEnd::Unlimited)];
    assert_eq!(found[..3], others);
    found[3]
}

#[test]
fn inactive_times_by_hand() {
    use LimitEnd::{AbortedBefore, Met, Missed, Unavailable};
    assert_eq!(fourth(vec![inactive(15, Policy::CompleteEarliest)]), (40, Missed));
    assert_eq!(fourth(vec![inactive(15, Policy::CompleteUnavailable)]), (15, Unavailable));
    assert_eq!(fourth(vec![inactive(15, Policy::Abort)]), (15, AbortedBefore));
    // A service that begins at the very end of the time has met it.
    assert_eq!(fourth(vec![inactive(29, Policy::Abort)]), (29, AbortedBefore));
    assert_eq!(fourth(vec![inactive(30, Policy::Abort)]), (40, Met));
    assert_eq!(fourth(vec![inactive(30, Policy::CompleteEarliest)]), (40, Met));
    // The limits of writes are others.
    let mut spec = limits(Vec::new());
    spec.writes = vec![inactive(15, Policy::Abort)];
    let found = ends(&mut new(&small(spec)), &[(0, read(0, 0)), (0, read(1, 0)), (0, read(2, 1))]);
    assert_eq!(found[2], (30, Met));
}

#[test]
fn guidelines_by_hand() {
    use LimitEnd::{AbortedBefore, Met, Missed, Unavailable};
    assert_eq!(fourth(vec![guideline(15, Policy::CompleteEarliest)]), (40, Missed));
    assert_eq!(fourth(vec![guideline(15, Policy::CompleteUnavailable)]), (15, Unavailable));
    assert_eq!(fourth(vec![guideline(15, Policy::Abort)]), (15, AbortedBefore));
    assert_eq!(fourth(vec![guideline(30, Policy::Abort)]), (40, Met));
    assert_eq!(fourth(vec![guideline(5, Policy::ContinueNoLimit)]), (40, Missed));
    // The next limit: its time has not passed, has passed already, or is met, or it has none.
    let next = |time, next| fourth(vec![guideline(time, Policy::ContinueNextLimit), next]);
    assert_eq!(next(5, guideline(15, Policy::Abort)), (15, AbortedBefore));
    assert_eq!(next(20, inactive(15, Policy::CompleteUnavailable)), (20, Unavailable));
    assert_eq!(next(5, inactive(30, Policy::Abort)), (40, Missed));
    assert_eq!(next(5, DurationLimit::default()), (40, Missed));
    assert_eq!(next(35, inactive(1, Policy::Abort)), (40, Met));
    // The active time that counts is that of the limit in force.
    assert_eq!(next(5, active(3, Policy::Abort)), (33, LimitEnd::AbortedDuring));
    // From the first to the seventh, one by one.
    let mut all: Vec<_> = (1..7).map(|i| guideline(i, Policy::ContinueNextLimit)).collect();
    all.push(guideline(27, Policy::Abort));
    assert_eq!(fourth(all), (27, AbortedBefore));
}

/// The arm completes the movement that has begun: what follows begins as it would have.
#[test]
fn active_times_by_hand() {
    use LimitEnd::{AbortedDuring, Met, Missed, Unavailable, Unlimited};
    let second = |limit: DurationLimit| {
        let trace = [(0, read(0, 0)), (0, read(1, 1)), (0, read(2, 0))];
        let found = ends(&mut new(&small(limits(vec![limit]))), &trace);
        // The third begins when the arm is free, or follows the first if the second never began.
        let third = if found[1].0 < 10 { 20 } else { 30 };
        assert_eq!((found[0], found[2]), ((10, Unlimited), (third, Unlimited)));
        found[1]
    };
    assert_eq!(second(active(4, Policy::CompleteEarliest)), (20, Missed));
    assert_eq!(second(active(4, Policy::CompleteUnavailable)), (14, Unavailable));
    assert_eq!(second(active(4, Policy::Abort)), (14, AbortedDuring));
    assert_eq!(second(active(4, Policy::AbortRecovery)), (14, AbortedDuring));
    assert_eq!(second(active(10, Policy::Abort)), (20, Met));
    // Two times in one limit: each counts by itself.
    let both = DurationLimit { inactive: ms(9), ..active(4, Policy::Abort) };
    assert_eq!(second(both), (14, AbortedDuring));
    let both = DurationLimit { inactive_policy: Policy::CompleteUnavailable, ..both };
    assert_eq!(second(both), (9, Unavailable));
}

/// Sense key, code and qualifier of the standards (SPC-6): 2Eh/01h before, 2Eh/02h during processing; 55h/0Ah without an
/// error.
#[test]
fn sense_of_the_ends() {
    let codes = [
        (LimitEnd::Unlimited, None),
        (LimitEnd::Met, None),
        (LimitEnd::Missed, None),
        (LimitEnd::Unavailable, Some((0xf, 0x55, 0x0a))),
        (LimitEnd::AbortedBefore, Some((0xb, 0x2e, 0x01))),
        (LimitEnd::AbortedDuring, Some((0xb, 0x2e, 0x02))),
    ];
    for (end, code) in codes {
        assert_eq!(end.code(), code);
        assert_eq!(end.fails(), code.is_some());
    }
}

/// The third read ends at 5 ms; the fourth arrives at 7 ms.
fn after_an_error(transport: Transport, policy: Policy) -> Vec<(u64, LimitEnd)> {
    let limits = LimitsSpec { transport, ..limits(vec![inactive(5, policy)]) };
    let trace = [(0, read(0, 0)), (0, read(1, 0)), (0, read(2, 1)), (7, read(3, 0))];
    ends(&mut new(&small(limits)), &trace)
}

/// On SAS the fourth read follows the second. On SATA, after a command without data, the host waits for the end of both at
/// 20 ms, reads the log until 21 ms and sends it; the sector comes round at 30 ms. After an error the drive gives the second
/// read back as well: the first ends at 10 ms, the log is read until 11 ms, the second is read from 20 ms to 30 ms.
#[test]
fn errors_cost_more_on_sata() {
    use LimitEnd::{AbortedBefore, Unavailable, Unlimited};
    let sas = [(10, Unlimited), (20, Unlimited), (5, AbortedBefore), (30, Unlimited)];
    assert_eq!(after_an_error(Transport::Sas, Policy::Abort), sas);
    let sas = [(10, Unlimited), (20, Unlimited), (5, Unavailable), (30, Unlimited)];
    assert_eq!(after_an_error(Transport::Sas, Policy::CompleteUnavailable), sas);
    let sata = [(10, Unlimited), (20, Unlimited), (5, Unavailable), (40, Unlimited)];
    assert_eq!(after_an_error(Transport::Sata, Policy::CompleteUnavailable), sata);
    let sata = [(10, Unlimited), (30, Unlimited), (5, AbortedBefore), (40, Unlimited)];
    assert_eq!(after_an_error(Transport::Sata, Policy::Abort), sata);
}

/// The log is read when the last of the host's commands has ended, also if none waits: the next one, at 12 ms, is sent at
/// 11 ms or later.
#[test]
fn the_host_reads_the_log_of_an_empty_drive() {
    let limits = LimitsSpec {
        transport: Transport::Sata,
        log_read: Span(5 * MS as i64),
        ..limits(vec![active(4, Policy::CompleteUnavailable)])
    };
    let trace = [(0, read(0, 1)), (3, read(1, 0)), (12, read(2, 0)), (22, read(3, 0))];
    let found = run(&mut new(&small(limits)), &trace);
    // The first ends at 4 ms. The second was sent before and is read from 10 ms to 20 ms; the third waits for the log, which
    // is read until 25 ms, and so does the fourth.
    let ends: Vec<u64> = found.iter().map(|c| c.completion.0 / MS).collect();
    assert_eq!(ends, [4, 20, 40, 50]);
    assert_eq!(found[2].components.queue.non_negative(), 13 * MS);
    assert_eq!(found[2].components.rotation.non_negative(), 5 * MS);
}

/// Commands that were sent again have their times from then on: the third is sent again at 11 ms and waits from then; the
/// second is read from 20 to 30 ms.
#[test]
fn times_begin_anew_when_a_command_is_sent_again() {
    let both = vec![inactive(5, Policy::Abort), inactive(15, Policy::Abort)];
    let found = |transport| {
        let limits = LimitsSpec { transport, ..limits(both.clone()) };
        let trace = [(0, read(0, 0)), (0, read(1, 0)), (0, read(2, 2)), (0, read(3, 1))];
        ends(&mut new(&small(limits)), &trace)
    };
    assert_eq!(found(Transport::Sas)[2], (15, LimitEnd::AbortedBefore));
    assert_eq!(found(Transport::Sata)[2], (26, LimitEnd::AbortedBefore));
}

#[test]
fn limits_change_while_the_drive_runs() {
    let spec = limits(vec![inactive(15, Policy::Abort)]);
    let trace: Vec<_> = [0, 0, 0, 1].into_iter().zip(0..).map(|(l, id)| read(id, l)).collect();
    let found = |first: Heeded, at: u64, setting: Setting| {
        let enabled = LimitsSpec { enabled: first, ..spec.clone() };
        let mut drive = new(&small(enabled));
        trace.iter().for_each(|r| drive.submit(Time(0), *r));
        let mut done = Vec::new();
        drive.advance(Time(at * MS), &mut |c| done.push(*c));
        drive.set(Time(at * MS), setting).expect("a setting");
        drive.advance(Time::NEVER, &mut |c| done.push(*c));
        let last = done.iter().find(|c| c.id == 3).expect("an end");
        assert_eq!(done.len(), 4);
        (last.completion.0 / MS, last.limit)
    };
    let off = Setting::HeededHints(Heeded::None);
    assert_eq!(found(Heeded::Limits, 12, off), (40, LimitEnd::Unlimited));
    // What has passed acts at once.
    let on = || Setting::HeededHints(Heeded::Limits);
    assert_eq!(found(Heeded::None, 17, on()), (17, LimitEnd::AbortedBefore));
    assert_eq!(found(Heeded::None, 12, on()), (15, LimitEnd::AbortedBefore));
    let longer = limits(vec![inactive(30, Policy::Abort)]);
    assert_eq!(found(Heeded::Limits, 12, Setting::DurationLimits(longer)), (40, LimitEnd::Met));
    // Another scheduler gives waiting commands other numbers.
    let scheduler = Setting::Scheduler { name: "sptf".into(), parameters: Default::default() };
    assert_eq!(found(Heeded::Limits, 12, scheduler), (15, LimitEnd::AbortedBefore));
    let mut drive = new(&small(spec.clone()));
    let mut wrong = spec.clone();
    wrong.performance = 0.3;
    let refused = drive.set(Time(0), Setting::DurationLimits(wrong));
    let text = refused.expect_err("a wrong share").to_string();
    assert!(text.starts_with("setting.duration_limits.performance: got 0.3, need"), "{text}");
    assert_eq!(drive.duration_limits(), &spec);
}

/// A command that the host aborts has no end by its limit.
#[test]
fn an_aborted_command_is_out_of_its_limit() {
    let mut drive = new(&small(limits(vec![inactive(15, Policy::Abort)])));
    (0..3).for_each(|id| drive.submit(Time(0), read(id, u8::from(id == 2))));
    let mut done = Vec::new();
    drive.advance(Time(12 * MS), &mut |c| done.push((c.id, c.completion.0 / MS, c.limit)));
    assert!(drive.abort(Time(12 * MS), 2));
    drive.advance(Time::NEVER, &mut |c| done.push((c.id, c.completion.0 / MS, c.limit)));
    done.sort_unstable();
    let none = LimitEnd::Unlimited;
    assert_eq!(done, [(0, 10, none), (1, 20, none), (2, 12, none)]);
}

/// A command has a limit or a priority, and what the drive does not heed has no effect.
#[test]
fn hints_that_are_heeded() {
    assert_eq!(Hint::new(0, true), Ok(Hint::HighPriority));
    let both = Hint::new(2, true).expect_err("both").to_string();
    assert_eq!(both, "command: got duration limit 2 and high priority, need one of them");
    assert!(Hint::new(8, false).is_err());
    let hints = |enabled| {
        let drive = new(&small(LimitsSpec { enabled, ..limits(Vec::new()) }));
        [drive.hint(3, true), drive.hint(0, true), drive.hint(3, false)]
    };
    let third = Hint::new(3, false).expect("a limit");
    assert_eq!(hints(Heeded::None), [Hint::None; 3]);
    assert_eq!(hints(Heeded::Limits), [third, Hint::None, third]);
    assert_eq!(hints(Heeded::Priority), [Hint::HighPriority, Hint::HighPriority, Hint::None]);
    let unheeded = LimitsSpec { enabled: Heeded::Priority, ..limits(vec![inactive(1, Policy::Abort)]) };
    let found = ends(&mut new(&small(unheeded)), &[(0, read(0, 0)), (0, read(1, 1))]);
    assert_eq!(found[1], (20, LimitEnd::Unlimited));
}
