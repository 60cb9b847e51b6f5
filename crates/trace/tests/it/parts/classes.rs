use headstack_trace::classes::*;
use headstack_trace::ioprio::{Ioprio, IoprioClass};
use headstack_trace::request::{Command, Process, Request};
use headstack_trace::source::Each;

fn class(name: &str, share: f64, operations: ClassOperations, hint: u32) -> RequestClass {
    RequestClass {
        name: name.into(),
        share: Some(share),
        jobs: Vec::new(),
        processes: Vec::new(),
        by_ioprio: false,
        operations,
        ioprio_class: None,
        ioprio_level: 0,
        ioprio_hint: hint,
    }
}

/// Shares are those of the operations that a class is about: a fifth of the reads, half of the writes, within four
/// standard deviations of 20,000 draws. The other requests keep no priority.
#[test]
fn shares_are_of_operations() {
    let classes = [class("reads", 0.2, ClassOperations::Reads, 1), class("writes", 0.5, ClassOperations::Writes, 2)];
    let requests = (0..40_000u64)
        .map(|i| Ok(Request { op: if i % 2 == 0 { Command::Read } else { Command::Write }, ..Request::default() }));
    let mut found = [[0; 3]; 2];
    for request in marked(Box::new(Each(requests)), &classes, 7) {
        let request = request.expect("a request");
        found[usize::from(request.op.writes())][usize::from(request.class)] += 1;
        assert_eq!(request.priority.limit(), request.class);
    }
    assert_eq!((found[0][2], found[1][1]), (0, 0));
    assert!((found[0][1] as f64 - 4000.0).abs() < 4.0 * 57.0, "{found:?}");
    assert!((found[1][2] as f64 - 10_000.0).abs() < 4.0 * 71.0, "{found:?}");
}

/// Processes and I/O priorities of the trace; the first class that takes a request has it. Without a priority of its own a class
/// leaves that of the trace.
#[test]
fn traces_tell_classes() {
    let mut by_process = class("p", 0.0, ClassOperations::Writes, 0);
    (by_process.share, by_process.processes) = (None, vec![5, 6]);
    let mut by_ioprio = class("i", 0.0, ClassOperations::All, 3);
    (by_ioprio.share, by_ioprio.by_ioprio) = (None, true);
    let classes = [by_process, by_ioprio];
    let limit = Ioprio::of(IoprioClass::BestEffort, 0, 3).expect("a priority");
    let one = |process: u32, op: Command, priority: Ioprio| {
        let request = Request { process: Process(process), op, priority, ..Request::default() };
        let all = Each(std::iter::once(Ok(request)));
        let mut found = marked(Box::new(all), &classes, 1);
        let request = found.next().expect("a request");
        request.map(|r| (r.class, r.priority)).map_err(|e| e.to_string())
    };
    assert_eq!(one(6, Command::Write, limit), Ok((1, limit)));
    assert_eq!(one(6, Command::Read, limit), Ok((2, limit)));
    assert_eq!(one(7, Command::Write, Ioprio::NONE), Ok((0, Ioprio::NONE)));
    let unsaid = one(Process::UNKNOWN.0, Command::Write, limit).expect_err("no process");
    assert!(unsaid.contains("need a column process"), "{unsaid}");
}

#[test]
fn wrong_classes_are_refused() {
    let all = ClassOperations::All;
    let error = |classes: &[RequestClass], jobs: &[String]| {
        let origin = match jobs {
            [] => Origin::Trace,
            names => Origin::Jobs(names),
        };
        let found = check_classes(classes, origin);
        found.expect_err("a wrong class").to_string()
    };
    let two = [class("a", 0.6, all, 0), class("b", 0.5, ClassOperations::Reads, 0)];
    let need = "[1].share: got 0.5, need shares of an operation that add up to 1 at most";
    assert_eq!(error(&two, &[]), need);
    let twice = [class("a", 0.1, all, 0), class("a", 0.1, all, 0)];
    assert!(error(&twice, &[]).starts_with("[1].name: got \"a\" twice"));
    let mut of_job = class("a", 0.1, all, 0);
    let jobs = ["web".into(), "batch".into()];
    let mut half = class("b", 0.6, all, 0);
    // Shares of different jobs do not add up; those of one do.
    (half.jobs, of_job.jobs) = (vec!["web".into()], vec!["batch".into()]);
    assert!(check_classes(&[half.clone(), of_job.clone()], Origin::Jobs(&jobs)).is_ok());
    (of_job.jobs, of_job.share) = (vec![], Some(0.5));
    assert_eq!(error(&[half, of_job.clone()], &jobs), need);
    let mut of_trace = class("c", 0.1, all, 0);
    (of_trace.processes, of_trace.share) = (vec![7], None);
    assert!(error(&[of_trace.clone()], &jobs).starts_with("[0].processes: got a value"));
    of_trace.by_ioprio = true;
    assert_eq!(
        error(&[of_trace.clone()], &[]),
        "[0]: got processes and by_ioprio, need one of them; share may be one of jobs"
    );
    of_trace.processes.clear();
    assert!(error(&[of_trace], &[]).starts_with("[0].by_ioprio: got true, need an I/O priority"));
    (of_job.share, of_job.jobs) = (None, vec!["wed".into()]);
    let text = error(&[of_job], &["web".into()]);
    assert!(text.starts_with("[0].jobs[0]: got \"wed\", need the name of a job"), "{text}");
    assert!(text.contains("\"web\""), "{text}");
    assert!(error(&[class("other", 0.1, all, 0)], &[]).contains("a name, other than"));
}
