//! Systems that change while they run: each kind of change against times worked out by hand.
//!
//! The drive turns 100 times a second and has 100 sectors on each track; the first is under the head at every
//! whole turn. Every seek takes 5 ms.

use headstack_block::layer::ErrorKind;
use headstack_drive::{Drive, DriveOptions, DriveSpec};
use headstack_engine::SpecError;
use headstack_experiment::Experiment;
use headstack_schema::Parameter;
use headstack_sim::change::{dry_run, plan, Change, ChangeCounts};
use headstack_sim::simulate::{Record, WarmUp};
use headstack_sim::{Options, Outcome};
use headstack_trace::{Arrivals, ClosedLoop, Command, Request};
use headstack_units::{Lba, Span, Time};
use std::path::Path;

const S: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// The drive, with `before` and `after` inserted before and after the tables of its file.
fn drive(before: &str, after: &str) -> DriveSpec {
    let text = format!(
        r#"
        name = "small"
        {before}
        [geometry]
        rotation_speed = "6000 rpm"
        surfaces = 2
        cylinders = 100
        zones = [{{ first_cylinder = 0, last_cylinder = 99, sectors_per_track = 100 }}]
        [seek]
        model = "constant"
        time = "5 ms"
        {after}
    "#
    );
    toml::from_str(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Changes in the form of an experiment.
fn changes(text: &str) -> Vec<Change> {
    let table: toml::Table = text.parse().expect("TOML");
    let value = serde_json::to_value(table).expect("JSON");
    Parameter::read(&value["change"]).unwrap_or_else(|e| panic!("{e}"))
}

/// A read of a whole track at a time: (nanoseconds, device, cylinder, surface).
fn track(at: u64, device: u32, cylinder: u64, surface: u64) -> Request {
    Request { time: Time(at), device, lba: Lba((cylinder * 2 + surface) * 100), blocks: 100, ..Request::default() }
}

/// Runs requests on `count` drives; returns their records, in their order.
fn run(spec: &DriveSpec, count: u32, requests: Vec<Request>, text: &str, options: Options) -> (Vec<Record>, Outcome) {
    let changes = plan(&changes(text), count, &[], "system[0]").unwrap_or_else(|e| panic!("{e}"));
    let make = |_| Drive::builtin(spec, &DriveOptions::default());
    dry_run(&changes, count, make).unwrap_or_else(|e| panic!("{e}"));
    let mut members: Vec<Drive> = (0..count).map(|i| make(i).expect("a drive")).collect();
    crate::records::records(&mut members, requests, &Options { changes, ..options })
}

/// Completion of each request, in milliseconds.
fn ends(records: &[Record]) -> Vec<f64> {
    records.iter().map(|r| r.answer.completion.0 as f64 * 1e-6).collect()
}

/// A track is read from 0 to 10 ms. Then cylinder 90 waits and, behind it, cylinder 10; each takes a seek of 5
/// ms, a rotational wait of 5 ms, and 10 ms of transfer.
fn three() -> Vec<Request> {
    vec![track(0, 0, 0, 0), track(MS, 0, 90, 0), track(2 * MS, 0, 10, 0)]
}

#[test]
fn a_scheduler_orders_what_waits() {
    let fcfs = drive("", "");
    let text = "[[change]]\nat = \"3 ms\"\nscheduler = \"sstf\"\n";
    let (records, outcome) = run(&fcfs, 1, three(), text, Options::default());
    assert_eq!(ends(&records), [10.0, 50.0, 30.0]);
    let done = ChangeCounts { n_done: 1, n_after_end: 0 };
    assert_eq!(outcome.changes, Some(done));
    // This change comes too late: the next command was chosen at 10 ms.
    let late = text.replace("3 ms", "15 ms");
    let (records, _) = run(&fcfs, 1, three(), &late, Options::default());
    assert_eq!(ends(&records), [10.0, 30.0, 50.0]);
    let (records, outcome) = run(&fcfs, 1, three(), "change = []", Options::default());
    assert_eq!(ends(&records), [10.0, 30.0, 50.0]);
    assert_eq!(outcome.changes, None);
    // Times count from the first request; a change is applied before a request that arrives at the same time.
    let mut later = three();
    later.iter_mut().for_each(|r| r.time = Time(r.time.0 + 7 * S));
    let at_once = text.replace("3 ms", "0 s");
    let (records, _) = run(&fcfs, 1, later, &at_once, Options::default());
    assert_eq!(ends(&records), [7010.0, 7050.0, 7030.0]);
}

#[test]
fn a_depth_lets_more_commands_in() {
    let alone = drive("", "[queue]\nscheduler = \"sstf\"\ndepth = 1");
    let (records, _) = run(&alone, 1, three(), "change = []", Options::default());
    assert_eq!(ends(&records), [10.0, 30.0, 50.0]);
    let text = "[[change]]\nat = \"3 ms\"\nqueue_depth = 0\n";
    let (records, _) = run(&alone, 1, three(), text, Options::default());
    assert_eq!(ends(&records), [10.0, 50.0, 30.0]);
}

/// Without rotational waits a track takes 5 ms and 10 ms on either arm: two at once, or one after the other.
#[test]
fn arms_in_motion_are_limited() {
    let two = drive(
        "dash = \"D1A2S1H1\"",
        "[positioning]\nrotation_scale = 0.0\n[parallelism]\narms_in_motion = 2\nchannels = 2",
    );
    let pairs = || vec![track(0, 0, 10, 0), track(0, 0, 20, 0), track(100 * MS, 0, 30, 0), track(100 * MS, 0, 40, 0)];
    let (records, _) = run(&two, 1, pairs(), "change = []", Options::default());
    assert_eq!(ends(&records), [15.0, 15.0, 115.0, 115.0]);
    let text = "[[change]]\nat = \"50 ms\"\narms_in_motion = 1\n";
    let (records, _) = run(&two, 1, pairs(), text, Options::default());
    assert_eq!(ends(&records), [15.0, 15.0, 115.0, 130.0]);
}

const WATTS: &str = r#"
    [power]
    rotation_speed = "6000 rpm"
    spindle = "7 W"
    electronics = "3 W"
    voice_coil = "6 W"
    access = "3 W"
    standby = "1 W"
    spin_up = "25 W"
    [power.conditions]
    standby = { enter_time = "0.5 s", recovery_time = "3 s" }
"#;

/// Drive 1 goes into standby at 1 s: for half a second it draws its idle power, then 1 W, and for the read at
/// 10 s it needs three seconds at 25 W to be ready. Drive 0 is not changed.
#[test]
fn a_drive_goes_down_and_comes_back() {
    let spec = drive("", WATTS);
    let requests = vec![track(0, 0, 0, 0), track(0, 1, 0, 0), track(10 * S, 0, 0, 0), track(10 * S, 1, 0, 0)];
    let text = "[[change]]\nat = \"1 s\"\ndrives = [1]\npower_condition = \"standby\"\n";
    let (records, mut outcome) = run(&spec, 2, requests, text, Options::default());
    assert_eq!(ends(&records), [10.0, 10.0, 10_010.0, 13_010.0]);
    assert_eq!(records[3].answer.components.queue.non_negative(), 3 * S);
    let joules = outcome.members.iter().map(|m| m.energy.total_j());
    let joules: Vec<f64> = joules.collect();
    // 13 W while reading, else 10 W.
    let idle = 13.01 * 10.0 + 0.02 * 3.0;
    assert!((joules[0] - idle).abs() < 1e-9 * idle, "{joules:?}");
    let down = 0.02 * 13.0 + 0.99 * 10.0 + 0.5 * 10.0 + 8.5 + 3.0 * 25.0;
    assert!((joules[1] - down).abs() < 1e-9 * down, "{joules:?}");
    // The series contains the power of each drive at its time.
    let points = outcome.series.points();
    let series: f64 = points.iter().map(|p| p.power_w.total() * p.width_s).sum();
    assert!((series - idle - down).abs() < 1e-9 * series, "{series}");
    let within = |from: f64, to: f64| {
        let inside = points.iter().filter(|p| p.t_s >= from - 1e-9 && p.t_s + p.width_s <= to + 1e-9);
        inside.map(|p| p.power_w.total() * p.width_s).sum::<f64>()
    };
    assert!((within(2.0, 9.0) - 7.0 * 11.0).abs() < 1e-6, "{}", within(2.0, 9.0));
}

/// A timer set at 1 s: drive 1 rests from 3 s on (0.5 s to come to rest). The read at 10 s needs three seconds. With
/// the file's own timer again, which is none, it does not rest after that.
#[test]
fn an_idle_timer_is_set_and_taken_back() {
    let spec = drive("", WATTS);
    let requests = vec![track(0, 0, 0, 0), track(0, 1, 0, 0), track(10 * S, 1, 0, 0), track(30 * S, 1, 0, 0)];
    let text = "[[change]]\nat = \"1 s\"\ndrives = [1]\n\
                idle_timer = { condition = \"standby\", after = \"2 s\" }\n\
                [[change]]\nat = \"12 s\"\ndrives = [1]\nidle_timer = { condition = \"standby\" }\n";
    let (records, outcome) = run(&spec, 2, requests, text, Options::default());
    assert_eq!(ends(&records), [10.0, 10.0, 13_010.0, 30_010.0]);
    let joules = outcome.members[1].energy.total_j();
    let by_hand = 0.03 * 13.0 + 2.99 * 10.0 + 0.5 * 10.0 + 6.5 + 3.0 * 25.0 + 16.99 * 10.0;
    assert!((joules - by_hand).abs() < 1e-9 * by_hand, "{joules}");
}

/// At half the speed a track takes 20 ms. At 1 s and at 2 s the platter has completed whole turns.
#[test]
fn a_spindle_slows_down() {
    let spec = drive("", "");
    let reads = || vec![track(0, 0, 0, 0), track(2 * S, 0, 0, 0)];
    let text = "[[change]]\nat = \"1 s\"\nspindle_speed = { speed = \"3000 rpm\" }\n";
    let (records, _) = run(&spec, 1, reads(), text, Options::default());
    assert_eq!(ends(&records), [10.0, 2020.0]);
    // Slowing evenly from 100 to 50 turns a second takes 0.4 s, in which the platter turns 30 times, so that
    // its angle is 0 at 1.4 s. A command at 1.2 s waits until then.
    let text = text.replace("rpm\"", "rpm\", takes = \"0.4 s\"");
    let reads = vec![track(0, 0, 0, 0), track(1200 * MS, 0, 0, 0)];
    let (records, _) = run(&spec, 1, reads, &text, Options::default());
    assert_eq!(ends(&records), [10.0, 1420.0]);
}

/// In a closed loop of one, reads of tracks of one cylinder follow each other every 10 ms. The change at 95 ms
/// waits for the read in service; from 100 ms on each read takes 20 ms.
#[test]
fn closed_loops_change_too() {
    let spec = drive("", "");
    let options = Options { arrivals: Arrivals::Closed(ClosedLoop::fixed(1, Span::ZERO)), ..Options::default() };
    let text = "[[change]]\nat = \"95 ms\"\nspindle_speed = { speed = \"3000 rpm\" }\n";
    let reads = (0..14).map(|_| track(0, 0, 0, 0)).collect();
    let (records, _) = run(&spec, 1, reads, text, options);
    let mut want: Vec<f64> = (1..=10).map(|i| f64::from(i) * 10.0).collect();
    want.extend([120.0, 140.0, 160.0, 180.0]);
    assert_eq!(ends(&records), want);
}

/// The arms are half a turn apart. After the first has failed, the other waits half a turn longer.
#[test]
fn an_assembly_fails() {
    let two = drive("dash = \"D1A2S1H1\"", "");
    let reads = || vec![track(0, 0, 0, 0), track(2 * S, 0, 0, 0)];
    let text = "[[change]]\nat = \"1 s\"\nfail = { arm = 0, warning = true }\n";
    let (records, outcome) = run(&two, 1, reads(), text, Options::default());
    assert_eq!(ends(&records), [10.0, 2015.0]);
    assert_eq!((records[0].answer.arm, records[1].answer.arm), (0, 1));
    let faults = &outcome.members[0].faults;
    assert_eq!((faults.len(), faults[0].failed), (1, Time(S)));
}

/// The head of surface 1 fails: reads of that surface are errors, reads of surface 0 succeed.
#[test]
fn a_head_fails() {
    let spec = drive("", "");
    let text = "[[change]]\nat = \"1 s\"\nfail = { surface = 1, warning = true }\n";
    let reads = vec![track(0, 0, 0, 1), track(2 * S, 0, 0, 1), track(3 * S, 0, 0, 0)];
    let (records, outcome) = run(&spec, 1, reads, text, Options::default());
    let errors: Vec<_> = records.iter().map(|r| r.answer.error).collect();
    assert_eq!(errors, [None, Some(ErrorKind::Unreachable), None]);
    assert_eq!(outcome.n_errors(), 1);
    let member = &outcome.members[0].served;
    assert_eq!((member.n_requests, member.n_errors), (3, 1));
    assert_eq!(ends(&records)[2], 3010.0);
}

/// Requests that break a rule of zones are errors of that name; they end when they arrive, also behind a layer.
#[test]
fn zones_name_the_rules_that_are_broken() {
    let zoned = "[mapping]\nmodel = \"zoned\"\nzone_size = \"64 KiB\"\nconventional_zones = 0\n";
    let spec = drive("", zoned);
    let at = |at: u64, lba: u64, write: bool| Request {
        time: Time(at * S),
        lba: Lba(lba),
        blocks: 8,
        op: if write { Command::Write } else { Command::Read },
        ..Request::default()
    };
    let requests = vec![at(0, 0, false), at(1, 0, true), at(2, 0, true), at(3, 0, false)];
    let (records, outcome) = run(&spec, 1, requests, "change = []", Options::default());
    let names: Vec<_> = records.iter().map(|r| r.answer.error.map(ErrorKind::name)).collect();
    let invalid = Some("attempt_to_read_invalid_data");
    assert_eq!(names, [invalid, None, Some("unaligned_write_command"), None]);
    assert_eq!((ends(&records)[0], ends(&records)[2]), (0.0, 2000.0));
    assert_eq!(outcome.n_errors(), 2);
}

/// Changes are applied in order of time, whatever their order in the file; simultaneous ones in the order of
/// the file; those after the end not at all. The warm-up has no effect on changes.
#[test]
fn changes_come_in_order() {
    let spec = drive("", "");
    let text = r#"
        [[change]]
        at = "1 h"
        queue_depth = 1
        [[change]]
        at = "3 ms"
        scheduler = "sstf"
        [[change]]
        at = "2500 us"
        scheduler = "sstf"
        [[change]]
        at = "2500 us"
        scheduler = "fcfs"
    "#;
    for warm_up in [WarmUp::Requests(0), WarmUp::Requests(2), WarmUp::Time(Span(MS as i64 * 2))] {
        let options = Options { warm_up, ..Options::default() };
        let (records, outcome) = run(&spec, 1, three(), text, options);
        let last = records.last().expect("a record");
        assert_eq!((last.answer.id, last.answer.completion), (2, Time(30 * MS)), "{warm_up:?}");
        let counts = outcome.changes.expect("changes");
        assert_eq!((counts.n_done, counts.n_after_end), (3, 1), "{warm_up:?}");
    }
}

fn refused(text: &str) -> SpecError {
    let text =
        format!("[workload]\nsynthetic = {{ rate = \"1/s\" }}\n[[system]]\ndrive = \"small\"\ncount = 3\n{text}");
    let error = Experiment::from_toml(&text, Path::new("e.toml"));
    error.map(|_| ()).expect_err(&text)
}

#[test]
fn what_cannot_be_is_named_with_its_place() {
    for (text, want) in [
        ("at = \"1 s\"", "change[0]: got nothing that changes, need one of queue_depth, scheduler, "),
        (
            "at = \"1 s\"\nqueue_depth = 1\nscheduler = \"look\"",
            "change[0]: got queue_depth and scheduler, need one of queue_depth, ",
        ),
        ("at = \"-1 s\"\nqueue_depth = 1", "change[0].at: got -1 s, need 0 s or more"),
        ("queue_depth = 1", "change[0].at: got nothing, need a value"),
        ("at = \"1 s\"\nqueue_depth = -1", "change[0].queue_depth: got integer -1, need a whole"),
        (
            "at = \"1 s\"\nqueue_dept = 1",
            "change[0]: got key \"queue_dept\", need one of at, drives, layer, instances, queue_depth, ",
        ),
        (
            "at = \"1 s\"\npower_condition = \"idle_d\"",
            "change[0].power_condition: got \"idle_d\", need one of active, idle_a, ",
        ),
        ("at = \"1 s\"\nqueue_depth = 1\ndrives = [0, 3]", "change[0].drives[1]: got 3, need a drive below 3"),
        ("at = \"1 s\"\nqueue_depth = 1\ndrives = []", "change[0].drives: got none, need at least"),
        (
            "at = \"1 s\"\nqueue_depth = 1\nscheduler_parameters = { weight = 1 }",
            "change[0].scheduler_parameters: got queue_depth, need scheduler",
        ),
        ("at = \"1 s\"\nfail = { am = 1 }", "change[0].fail: got key \"am\", need one of stack, arm, surface, warning"),
        ("at = \"1 s\"\nspindle_speed = { speed = 3000 }", "change[0].spindle_speed.speed: got integer 3000, need"),
    ] {
        let error = refused(&format!("[[system.change]]\n{text}\n")).to_string();
        // The line is that of the entry or of the key in it.
        let is_located = error.starts_with("e.toml:") && error.contains(&format!(": system[0].{want}"));
        assert!(is_located, "{text}: {error}");
    }
}

/// Errors that only the drive can find are reported before the run, at the same place.
#[test]
fn what_a_drive_refuses_is_named_with_its_place() {
    let spec = drive("dash = \"D1A2S1H1\"", WATTS);
    for (text, want) in [
        ("queue_depth = 2000000", "queue_depth: got 2000000, need 0 to 1048576"),
        ("scheduler = \"sptff\"", "scheduler: got \"sptff\", need one of fcfs, "),
        (
            "scheduler = \"aged-sptf\"\nscheduler_parameters = { wight = 1 }",
            "scheduler: got key \"wight\", need one of weight",
        ),
        ("arms_in_motion = 3", "arms_in_motion: got 3, need 1 to 1"),
        ("power_condition = \"idle_b\"", "power_condition: got idle_b, need a condition"),
        ("idle_timer = { condition = \"idle_b\", after = \"1 s\" }", "idle_timer: got idle_b, need a condition"),
        ("idle_timer = { condition = \"standby\", after = \"0 s\" }", "idle_timer: got 0 ms, need"),
        ("spindle_speed = { speed = \"0 rpm\" }", "spindle_speed: got 0 rpm, need"),
        ("spindle_speed = { speed = \"60 rpm\", takes = \"-1 s\" }", "spindle_speed: got -1 s, need"),
        ("fail = { arm = 2 }", "fail.arm: got 2, need less than 2"),
        ("fail = { stack = 1 }", "fail.stack: got 1, need less than 1"),
        ("fail = { surface = 2 }", "fail.surface: got 2, need less than 2"),
    ] {
        let text = format!("[[change]]\nat = \"1 s\"\nqueue_depth = 4\n[[change]]\nat = \"2 s\"\n{text}\n");
        let changes = plan(&changes(&text), 2, &[], "system[0]").unwrap_or_else(|e| panic!("{e}"));
        let make = |_| Drive::builtin(&spec, &DriveOptions::default());
        let error = dry_run(&changes, 2, make).expect_err(&text).to_string();
        let want = format!("system[0].change[1].{want}");
        assert!(error.starts_with(&want), "{text}: {error}");
    }
}
