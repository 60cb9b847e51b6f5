//! Classes of requests: from a share or a job to the limit at the drive, and back into results by class.

use headstack_experiment::SystemResult;

fn go(text: &str, threads: usize) -> Result<Vec<SystemResult>, String> {
    crate::records::ran_on(text, threads).map(|r| r.systems).map_err(|e| e.to_string())
}

const LIMITS: &str = r#"{ duration_limits = { enabled = "limits", reads = [{ guideline = "50 ms" }, { inactive = "60 ms",
    inactive_policy = "abort" }], transport = "sas" } }"#;

fn shared(layers: &str) -> String {
    format!(
        r#"
[workload]
synthetic = {{ n_requests = 3000, reads = 1.0, size = "128 KiB", block = "128 KiB", arrivals = "closed", outstanding = 32, footprint = "20 TB" }}
warm_up = 100
[[workload.classes]]
name = "fast"
share = 0.2
ioprio_hint = 1
[[workload.classes]]
name = "bounded"
share = 0.1
ioprio_class = "real-time"
ioprio_hint = 2
[[system]]
drive = "ultrastar-hc570"
{layers}
set = {limits}
[run]
seed = 3
allowed_errors = 1.0
"#,
        limits = LIMITS.replace('\n', " ")
    )
}

/// Directly and through a host queue: the classes add up to all, the limited ones are faster, only what is aborted fails, and
/// the drive has counted the same.
#[test]
fn limits_reach_the_drive_and_results_tell_classes_apart() {
    for layers in ["", "layers = [{ name = \"host-queue\", depth = 32, nr_requests = 64 }]"] {
        let text = shared(layers);
        let systems = go(&text, 1).expect("a run");
        assert_eq!(systems, go(&text, 2).expect("a run"));
        let system = &systems[0];
        let names: Vec<&str> = system.classes.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["fast", "bounded", "other"]);
        let [fast, bounded, other] = [0, 1, 2].map(|i| &system.classes[i]);
        let sum: u64 = system.classes.iter().map(|c| c.n_requests).sum();
        assert_eq!(sum, system.n_requests);
        let mean = |c: &headstack_sim::classes::ClassResult| c.response_time_s.mean;
        assert!(mean(fast) < mean(other) / 2.0, "{systems:?}");
        assert_eq!((fast.n_errors, other.n_errors, other.n_missed), (0, 0, 0));
        assert!(fast.n_missed > 0 && fast.n_missed < fast.n_requests);
        assert_eq!(bounded.n_errors, bounded.n_missed);
        assert_eq!(system.n_errors, bounded.n_errors);
        let counted = system.drives[0].duration_limits.expect("limits");
        // The drive has counted the warm-up as well.
        assert!(counted.reads[0].n_commands >= fast.n_requests);
        assert!(counted.reads[1].n_inactive >= bounded.n_errors);
        assert_eq!(counted.writes, <[headstack_drive::limits::LimitCounts; 7]>::default());
    }
}

/// Classes of jobs; drives apart on several threads give the same bytes.
#[test]
fn jobs_are_classes() {
    let text = r#"
[workload]
jobs = [
  { name = "web", threads = 4, devices = 2, requests = { size = "64 KiB", footprint = "1 TB", reads = 1.0 } },
  { name = "batch", threads = 12, devices = 2, requests = { size = "64 KiB", footprint = "1 TB", reads = 1.0 } },
]
[[workload.classes]]
name = "interactive"
jobs = ["web"]
ioprio_hint = 1
[[system]]
drive = "ultrastar-hc570"
count = 2
set = { duration_limits = { enabled = "limits", reads = [{ guideline = "50 ms" }] } }
[run]
duration = "20 s"
"#;
    let systems = go(text, 1).expect("a run");
    assert_eq!(systems, go(text, 2).expect("a run"));
    let [web, batch] = [0, 1].map(|i| &systems[0].classes[i]);
    assert_eq!((web.name.as_str(), batch.name.as_str()), ("interactive", "other"));
    let mean = |i: usize| systems[0].classes[i].response_time_s.mean;
    assert!(mean(0) < mean(1) / 2.0, "{} {}", mean(0), mean(1));
    let wrong = text.replace("[\"web\"]", "[\"wed\"]");
    let error = go(&wrong, 1).expect_err("no such job");
    assert!(error.contains("workload[0].classes[0].jobs[0]: got \"wed\", need the name of a job"), "{error}");
}

/// Shares of jobs beside whole jobs: a quarter of what `web` reads has the limit, no write of it, and nothing of `batch`. Drives apart
/// on several threads give the same bytes.
#[test]
fn jobs_have_shares() {
    let text = r#"
[workload]
jobs = [
  { name = "web", threads = 8, devices = 2, requests = { size = "64 KiB", footprint = "1 TB", reads = 0.7 } },
  { name = "batch", threads = 8, devices = 2, requests = { size = "64 KiB", footprint = "1 TB", reads = 1.0 } },
]
[[workload.classes]]
name = "quick"
jobs = ["web"]
share = 0.25
operations = "reads"
ioprio_hint = 1
[[workload.classes]]
name = "rest of web"
jobs = ["web"]
[[system]]
drive = "ultrastar-hc570"
count = 2
set = { duration_limits = { enabled = "limits", reads = [{ guideline = "50 ms" }] } }
[run]
duration = "30 s"
"#;
    let systems = go(text, 1).expect("a run");
    assert_eq!(systems, go(text, 2).expect("a run"));
    let [quick, rest, other] = [0, 1, 2].map(|i| &systems[0].classes[i]);
    let names = [quick, rest, other].map(|c| c.name.as_str());
    assert_eq!(names, ["quick", "rest of web", "other"]);
    let sum = quick.n_requests + rest.n_requests + other.n_requests;
    assert_eq!(sum, systems[0].n_requests);
    // A quarter of 70 % of what web asked for, within four standard deviations.
    let web = (quick.n_requests + rest.n_requests) as f64;
    let (want, deviation) = (0.175 * web, (0.175 * 0.825 * web).sqrt());
    let got = quick.n_requests as f64;
    assert!((got - want).abs() < 4.0 * deviation, "{got} of {want}");
    let mean = |i: usize| systems[0].classes[i].response_time_s.mean;
    assert!(mean(0) < mean(2) / 2.0, "{} {}", mean(0), mean(2));
    // The drives have counted them, and none besides.
    let counted: u64 = (systems[0].drives.iter()).map(|d| d.duration_limits.expect("limits").reads[0].n_commands).sum();
    assert!(counted >= quick.n_requests && counted < quick.n_requests + 32);
}

/// A trace says who asks: processes of a column, and I/O priorities that reach the drive without a class, too.
#[test]
fn traces_have_classes() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("classes.csv");
    let mut trace = String::from("time_ms,lba,blocks,op,process,ioprio\n");
    // Hint 1 with class best effort: 2 << 13 | 1 << 3.
    for i in 0..600u64 {
        let (process, ioprio) = (100 + i % 3, if i % 3 == 1 { 16392 } else { 0 });
        let lba = i * 7_919_000_017 % 30_000_000_000;
        trace += &format!("{},{lba},256,R,{process},{ioprio}\n", i * 6);
    }
    std::fs::write(&file, trace).expect("a file");
    let text = |classes: &str| {
        format!(
            "[workload]\ntrace = {file:?}\n{classes}\n[[system]]\ndrive = \"ultrastar-hc570\"\nset = {}\n\
             [run]\nallowed_errors = 1.0\n",
            LIMITS.replace('\n', " ")
        )
    };
    let classes = "[[workload.classes]]\nname = \"hint\"\nby_ioprio = true\nioprio_hint = 1\n\
                   [[workload.classes]]\nname = \"two\"\nprocesses = [102, 7]\nioprio_hint = 2\n";
    let systems = go(&text(classes), 1).expect("a run");
    let [hint, two, other] = [0, 1, 2].map(|i| &systems[0].classes[i]);
    assert_eq!((hint.n_requests, two.n_requests), (200, 200));
    assert_eq!((hint.n_errors, other.n_missed), (0, 0));
    let counted = systems[0].drives[0].duration_limits.expect("limits").reads;
    assert_eq!((counted[0].n_commands, counted[1].n_commands), (200, 200));
    assert_eq!(two.n_errors, counted[1].n_inactive);
    let systems = go(&text(""), 1).expect("a run");
    let counted = systems[0].drives[0].duration_limits.expect("limits").reads;
    assert_eq!((counted[0].n_commands, counted[1].n_commands), (200, 0));

    let text = text(classes).replace("process,ioprio", "who,ioprio");
    std::fs::write(&file, "time_ms,lba,blocks,op\n0,1,1,R\n").expect("a file");
    let error = go(&text, 1).expect_err("no processes");
    assert!(error.contains("need a column process in csv or parquet"), "{error}");
}

/// Data that are not available are not counted as bytes (check 14 of the tools for real drives): those that succeeded are.
#[test]
fn unavailable_data_have_no_bytes() {
    let text = shared("").replace("\"abort\"", "\"complete-unavailable\"");
    let systems = go(&text, 1).expect("a run");
    let bounded = &systems[0].classes[1];
    assert!(bounded.n_errors > 0);
    let bytes = bounded.throughput_bytes_per_s / bounded.throughput_iops;
    assert!((bytes - 131_072.0).abs() < 1e-6, "{bytes}");
    let done = bounded.throughput_iops * systems[0].duration_s;
    let want = (bounded.n_requests - bounded.n_errors) as f64;
    assert!((done - want).abs() < 1e-3, "{done} {want}");
}

/// A change enables limits in the middle of a run; high priority is a class, too.
#[test]
fn limits_are_enabled_while_the_drive_runs() {
    let text = shared("change = [{ at = \"10 s\", heeded_hints = \"limits\" }]");
    let off = text.replace("enabled = \"limits\"", "enabled = \"none\"");
    let systems = go(&off, 1).expect("a run");
    let missed: u64 = systems[0].classes.iter().map(|c| c.n_missed).sum();
    let whole = go(&text, 1).expect("a run");
    let all: u64 = whole[0].classes.iter().map(|c| c.n_missed).sum();
    assert!(missed > 0 && missed < all, "{missed} {all}");
    let priority = shared("").replace("enabled = \"limits\"", "enabled = \"priority\"");
    let systems = go(&priority, 1).expect("a run");
    let mean = |i: usize| systems[0].classes[i].response_time_s.mean;
    // Only the class real-time has a priority.
    assert!(mean(1) < mean(0) / 2.0 && mean(1) < mean(2) / 2.0);
}
