//! What random experiments have found, made small. Each failed before its mend.

use crate::random::folder;
use crate::random::trial::{in_folder, write, Wrong};
use headstack_engine::Progress;
use headstack_experiment::{RunResult, SystemResult};

/// The result of an experiment that keeps all checks.
fn holds(name: &str, experiment: &str) -> RunResult {
    let folder = folder();
    write(experiment, None, folder.path());
    let result = in_folder(folder.path(), &Progress::new());
    result.unwrap_or_else(|e| panic!("{name}: {e:?}\n{experiment}"))
}

/// The only system's result.
fn only(result: &RunResult) -> &SystemResult {
    &result.systems[0]
}

/// Requests at 0 s, 0.25 s, ... of which those after the duration do not arrive. Time passed to the first of them, and
/// energy was sampled there, in samples of 0.1 s.
#[test]
fn nothing_is_measured_after_the_duration() {
    let result = holds(
        "duration",
        r#"
        [workload]
        synthetic = { n_requests = 10, arrivals = "constant", rate = "0.5/s", reads = 1.0 }
        [system]
        drive = "barracuda-es-750"
        count = 4
        [run]
        duration = "3 s"
        "#,
    );
    // Requests at 2 s and 4 s at most: the end is the completion of the one before 3 s.
    let s = only(&result);
    assert!(s.duration_s < 3.0, "{}", s.duration_s);
}

/// Each thread is due a second after its request, when its burst is over: no request comes.
#[test]
fn nothing_is_measured_until_a_thread_finds_its_burst_over() {
    let result = holds(
        "burst",
        r#"
        [[workload.jobs]]
        threads = 3
        duration = "2 s"
        rate = "1/s"
        requests = { reads = 1.0 }
        [system]
        drive = "barracuda-es-750"
        capping = { policy = "none", interval = "100 ms" }
        "#,
    );
    let s = only(&result);
    assert_eq!(s.n_requests, 6);
    // From the first request, within 1 s, to the last, before 2 s.
    assert!(s.duration_s < 2.1, "{}", s.duration_s);
}

/// The last request of a closed loop is followed by a pause of five seconds, and by nothing.
#[test]
fn nothing_is_measured_in_the_pause_after_the_last_request() {
    for more in ["", "[run]\nmax_requests = 2", "[run]\nduration = \"6 s\""] {
        let result = holds(
            "pause",
            &format!(
                r#"
                [workload]
                synthetic = {{ n_requests = {}, arrivals = "closed", think = "5 s", reads = 1.0 }}
                [system]
                drive = "barracuda-es-750"
                capping = {{ policy = "none" }}
                {more}
                "#,
                if more.is_empty() { 2 } else { 20 }
            ),
        );
        let s = only(&result);
        assert_eq!(s.n_requests, 2, "{more}");
        assert!((5.0..5.1).contains(&s.duration_s), "{more}: {}", s.duration_s);
    }
}

/// A rebuild goes on in the pause after the last request. Its members had worked ahead of the end of the run, and the
/// energy up to it was less than that of the sample before.
#[test]
fn a_rebuild_does_not_work_ahead_of_the_end() {
    let result = holds(
        "rebuild-after-end",
        r#"
        [workload]
        jobs = [{ threads = 1, duration = "15 s", think_time = "4 s", requests = { reads = 1.0, size = "4 KiB" } }]
        [system]
        drive = "ultrastar-7k4000"
        count = 5
        organisation = { name = "raid5", chunk = "64 KiB", gone = [1], rebuild_rate = "200 MB/s", rebuild_at_once = "2 MiB" }
        layers = [{ name = "host-queue", completion_time = "900 us" }]
        [[system.change]]
        at = "0 s"
        layer = "raid5"
        member_replaced = 1
        "#,
    );
    let s = only(&result);
    assert_eq!(s.n_requests, 4);
    // Five drives at work draw more than 5 W each.
    let least = s.series.power_w.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(least > 25.0, "{least} W");
}

/// Drives do not work ahead over the end of a warm-up: what is measured afterwards is what the samples of a run without
/// warm-up say. During the pause a drive serves what waits in one go.
#[test]
fn a_warm_up_ends_at_its_time_in_a_closed_loop() {
    let run = |warm_up: &str| {
        let text = format!(
            r#"
            [workload]
            synthetic = {{ n_requests = 300, arrivals = "closed", outstanding = 30, think = "300 ms", reads = 0.0 }}
            {warm_up}
            [system]
            drive = "ultrastar-hs760"
            count = 2
            "#
        );
        holds("warm-up", &text)
    };
    let (whole, rest) = (run(""), run("warm_up = \"100 ms\""));
    let (whole, rest) = (only(&whole), only(&rest));
    // The first sample, of 0.1 s, is the warm-up.
    let after = whole.energy_j - whole.series.power_w[0] * 0.1;
    assert!((rest.energy_j - after).abs() < 1e-6 * after, "{} J, need {after} J", rest.energy_j);
}

/// 60 requests of the warm-up keep the first drive at work long after the second one has served its measured requests.
#[test]
fn a_run_ends_after_the_requests_of_its_warm_up() {
    let result = holds(
        "after-warm-up",
        r#"
        [workload]
        warm_up = "10 ms"
        [[workload.jobs]]
        threads = 60
        think_time = "1 s"
        duration = "5 ms"
        requests = { reads = 1.0, size = "4 KiB", footprint = "700 GB" }
        [[workload.jobs]]
        threads = 1
        think_time = "1 s"
        first_device = 1
        start = "20 ms"
        duration = "40 ms"
        requests = { reads = 1.0, size = "4 KiB" }
        [system]
        drive = "barracuda-es-750"
        count = 2
        "#,
    );
    let s = only(&result);
    // 60 seeks and rotations take more than 2 ms each.
    assert!(s.duration_s > 0.12, "{}", s.duration_s);
    assert!(s.drives[0].utilisation > s.drives[1].utilisation);
}

/// With layers, drives that were never measured were asked for their energy up to time zero; in a closed loop with a
/// pause they had worked ahead of the time at which the warm-up ended with the run.
#[test]
fn a_run_that_ends_in_its_warm_up_is_refused() {
    for arrivals in ["rate = \"100/s\"", "arrivals = \"closed\", outstanding = 10, think = \"3 s\""] {
        let text = format!(
            r#"
            [workload]
            synthetic = {{ n_requests = 20, {arrivals} }}
            warm_up = "10 s"
            [system]
            drive = "ultrastar-hs760"
            layers = ["host-queue"]
            [run]
            duration = "1 s"
            "#
        );
        let folder = folder();
        write(&text, None, folder.path());
        match in_folder(folder.path(), &Progress::new()) {
            Err(Wrong::Refused(e)) => {
                assert!(e.ends_with("need a warm-up that leaves requests"), "{e}");
            }
            other => panic!("{other:?}"),
        }
    }
}

/// The second change follows a flush that the drive begins at the end of the run and that ends after it. Think times
/// let drives be advanced past that end, and the energy up to it was then read from a drive that had settled later.
#[test]
fn nothing_is_measured_of_a_change_after_the_end() {
    let result = holds(
        "change-after-end",
        r#"
        [run]
        duration = "114659839 ns"
        [[workload]]
        [[workload.jobs]]
        threads = 8
        duration = "1.152038 s"
        think_time = "0.030721014 s"
        requests = { footprint = "448651264 B", reads = 0.0, size = "16384 B" }
        [system]
        drive = "barracuda-7200.9-2006"
        queue_depth = 1
        [[system.change]]
        at = "7571954 ns"
        spindle_speed = { speed = "3600 rpm", takes = "923270254 ns" }
        [[system.change]]
        at = "64981259 ns"
        spindle_speed = { speed = "7200 rpm", takes = "333536618 ns" }
        "#,
    );
    let s = only(&result);
    assert!((0.93..1.0).contains(&s.duration_s), "{}", s.duration_s);
}

/// Writes that waited for a change entered the buffer at their arrival, before the change.
#[test]
fn held_writes_do_not_enter_the_buffer_before_a_change() {
    let result = holds(
        "held-writes",
        r#"
        [workload]
        synthetic = { n_requests = 251, footprint = "1413120 B", reads = 0.66, sequential = 0.5, size = "4096 B", rate = "2478.930994/s" }
        [system]
        drive = "wd-re-2tb"
        [[system.change]]
        power_condition = "active"
        at = "1811903 ns"
        "#,
    );
    assert_eq!(only(&result).n_requests, 251);
}

/// A log that finds nothing to clean 29 ms after its last command was taken to have been at rest before that, and its
/// time in idle_a to have begun before the energy was reset at the first request. All requests lie outside the drive.
#[test]
fn a_drive_rests_once_cleaning_has_found_nothing_to_do() {
    let result = holds(
        "rest-after-cleaning",
        r#"
        [run]
        seed = 168058410
        allowed_errors = 1.0
        [[workload]]
        [[workload.jobs]]
        threads = 14
        duration = "0.5 s"
        rate = "10/s"
        together = false
        requests = { footprint = "1413120 B", reads = 1.0, size = "8 KiB", block = "8 KiB" }
        [system]
        [system.drive]
        name = "small"
        seek = { model = "linear", single = "1 ms", full = "9 ms", cylinders = 179 }
        [system.drive.geometry]
        rotation_speed = "7200 rpm"
        surfaces = 2
        cylinders = 179
        sector_size = "512 B"
        extents = [[0, 10, 0, 0, 0], [10, 9, 0, 1, 1]]
        layout = "extents"
        zones = [{ first_cylinder = 0, last_cylinder = 178, sectors_per_track = 118 }]
        [system.drive.power]
        model = "modes"
        spindle = "4 W"
        electronics = "2 W"
        voice_coil = "3 W"
        access = "1.5 W"
        idle_a = "2.4 W"
        [system.drive.power.conditions.idle_a]
        timer = "0.6 ms"
        enter_time = "95 ms"
        recovery_time = "26 ms"
        [system.drive.mapping]
        model = "log"
        block = "2 KiB"
        reserve = 0.05
        initial_blocks = 1
        initial = "written"
        cleaning = { policy = "hole-plugging", low = 0.1, high = 0.15, pressed = 0.05, idle_after = "29 ms" }
        "#,
    );
    let s = only(&result);
    assert_eq!(s.n_errors, s.n_requests);
    let conditions = s.drives[0].power_conditions.as_ref().unwrap();
    let low = conditions.low_idle().time_s;
    // At rest from 29 ms on, in idle_a 0.6 ms later; the run begins with the first request, before that.
    assert!(low > 0.3 && low < s.duration_s - 0.01, "{low} of {} s", s.duration_s);
}

/// Parts of one request that reach the two actuators of one drive had one number in the layers above it, and the end of the
/// first was told twice.
#[test]
fn parts_of_a_request_on_two_actuators_of_a_drive_end_once_each() {
    let result = holds(
        "parts",
        r#"
        [run]
        seed = 862348037
        [workload]
        synthetic = { n_requests = 222, rate = "308/s", reads = 0.66, size = "80 KiB", footprint = "225 MB" }
        [[system]]
        drive = "exos-2x14"
        count = 4
        organisation = "raid0"
        layers = [{ name = "independent" }]
        "#,
    );
    assert_eq!(only(&result).n_requests, 222);
}

/// Requests to a member that leaves while they wait for its throttle: no drive had them, so the volume was waited for.
#[test]
fn waits_for_a_member_that_left_are_those_of_the_volume() {
    holds(
        "left",
        r#"
        [workload]
        synthetic = { n_requests = 54, arrivals = "closed", outstanding = 14, reads = 0.66, sequential = 1.0, block = "16 KiB", size = "96 KiB", footprint = "1687552 B" }
        [system]
        drive = "constellation-es3-4tb"
        count = 2
        layers = [
            { name = "link", bandwidth = "9.950 MB/s", duplex = "half" },
            { name = "raid1", read_policy = "first" },
            { name = "throttle", iops = "15.959/s" },
        ]
        [[system.change]]
        at = "0.468943 s"
        layer = 1
        member_gone = 0
        [run]
        seed = 495589795
        "#,
    );
}
