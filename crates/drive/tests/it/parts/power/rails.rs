use crate::parts::power::watts;
use headstack_drive::power::PLUGINS;

fn es3(more: &str) -> String {
    format!("model = \"rails\"\n{}\n{more}", PLUGINS.get("rails").expect("it is listed").example())
}

/// Constellation ES.3 4 TB: for the assumed shares the model returns the manual's rows.
#[test]
fn rows_come_back() {
    for (s, x) in [(0.6, 0.01), (0.4, 0.2), (0.9, 0.1)] {
        let toml = es3(&format!("seek_share = {s}\ntransfer_share = {x}"));
        let w = watts(&toml, 7200.0, 1).unwrap();
        assert!((w.idle - 7.97).abs() < 1e-9);
        assert!((w.transfer - 10.70).abs() < 1e-9);
        assert!((w.mix(s, 1.0 - s - x, x) - 11.86).abs() < 1e-9);
        assert!((w.standby - 1.20).abs() < 1e-9);
        assert!(w.seek > w.rotation && w.rotation > w.idle);
    }
}

/// The same for equal numbers of reads and writes: (11.86 + 10.76) / 2 and (10.70 + 10.43) / 2.
#[test]
fn reads_and_writes_blend() {
    let rows = "random_write = [0.52, 0.68]\nsequential_write = [0.67, 0.59]\nread_ratio = 0.5";
    let w = watts(&es3(rows), 7200.0, 1).unwrap();
    assert!((w.mix(0.6, 0.39, 0.01) - 11.31).abs() < 1e-9);
    assert!((w.transfer - 10.565).abs() < 0.003);
}

/// Rows computed from known adders at several rates return the adders, whatever the number of rows.
#[test]
fn points_give_the_adders_back() {
    // e = 0.7 W, t5 = 2.2 W; v = 5.1 W, t12 = 0.4 W; idle 2 W and 6 W.
    let row = |s: f64, r: f64, x: f64| {
        let w5 = 2.0 + 0.7 * (s + r) + 2.2 * x;
        let w12 = 6.0 + 5.1 * s + 0.4 * x;
        format!("current = [{}, {}]", w5 / 5.0, w12 / 12.0)
    };
    // Requests of 4 ms seek, 3 ms wait and 0.1 ms transfer, at three rates.
    let mut points = String::new();
    for iops in [20.0, 80.0, 140.0] {
        let current = row(iops * 4e-3, iops * 3e-3, iops * 1e-4);
        points += &format!(
            "{{ {current}, iops = {iops}, seek_time = \"4 ms\", rotation_time = \"3 ms\", \
             transfer_time = \"100 us\" }}, "
        );
    }
    points += &format!("{{ {}, transfer = 0.95 }}, ", row(0.0, 0.0, 0.95));
    points += &format!("{{ {}, seek = 0.3, rotation = 0.6, transfer = 0.1 }}", row(0.3, 0.6, 0.1));
    let toml = format!("model = \"rails\"\nidle = [0.4, 0.5]\nstandby = [0.2, 0.0]\npoints = [{points}]");
    let w = watts(&toml, 7200.0, 1).unwrap();
    for (got, need) in [(w.idle, 8.0), (w.seek, 13.8), (w.rotation, 8.7), (w.transfer, 10.6)] {
        assert!((got - need).abs() < 1e-9, "{got} W, need {need} W");
    }
}

/// A third row that contradicts the others changes the fit by least squares: differences of 2 W and 3 W
/// for the same transfers give 2.5 W.
#[test]
fn rows_that_disagree_are_averaged() {
    let rows = "random_read = [0.5, 0.7]\nsequential_read = [0.8, 0.5]\nseek_share = 1.0\n\
                transfer_share = 0.0\npoints = [{ current = [1.0, 0.5], transfer = 1.0 }]";
    let toml = format!("model = \"rails\"\nidle = [0.4, 0.5]\nstandby = [0.2, 0.0]\n{rows}");
    let w = watts(&toml, 7200.0, 1).unwrap();
    assert!((w.transfer - w.idle - 2.5).abs() < 1e-9);
    assert!((w.seek - w.idle - 0.5 - 2.4).abs() < 1e-9);
}

/// Compared with a fine grid of both adders.
#[test]
fn the_fit_is_the_best_of_all_that_are_not_negative() {
    for rows in [
        [(1.0, 0.0, 2.0), (0.0, 1.0, 1.0), (0.5, 0.5, 1.0)],
        [(0.6, 0.01, 3.0), (0.0, 1.0, 0.5), (0.9, 0.0, 4.0)],
        // The unconstrained optimum has a negative adder.
        [(0.9, 0.1, 2.0), (0.5, 0.5, 0.2), (0.2, 0.1, 0.4)],
        [(0.1, 0.9, 2.0), (0.5, 0.5, 0.1), (0.1, 0.2, 0.5)],
    ] {
        let error = |p: f64, q: f64| -> f64 { rows.iter().map(|(a, b, c)| (p * a + q * b - c).powi(2)).sum() };
        let [p, q] = headstack_drive::power::rails::non_negative_fit(rows.into_iter()).unwrap();
        assert!(p >= 0.0 && q >= 0.0);
        let best = error(p, q);
        for i in 0..=600 {
            for j in 0..=600 {
                let (p, q) = (f64::from(i) * 0.01, f64::from(j) * 0.01);
                assert!(best <= error(p, q) + 1e-12, "{rows:?}: {p} {q}");
            }
        }
    }
    assert_eq!(
        headstack_drive::power::rails::non_negative_fit([(0.6, 0.01, 3.0), (0.3, 0.005, 1.5)].into_iter()),
        None
    );
}

/// Constellation ES.3 4 TB, table 2 of its manual: low-power conditions and the peak at start.
#[test]
fn steps_of_low_power_are_rows_too() {
    let steps = "idle_a = [0.36, 0.50]\nidle_b = [0.28, 0.43]\nidle_c = [0.25, 0.25]\nspin_up = [0.63, 2.16]";
    let w = watts(&es3(steps), 7200.0, 1).unwrap().low_power;
    let near = |got: Option<f64>, need: f64| assert!((got.unwrap() - need).abs() < 1e-9);
    near(w.idle_b, 6.56);
    near(w.idle_c, 4.25);
    near(w.spin_up, 29.07);
    near(w.idle_a, 7.80);
    assert_eq!(w.sleep, None);
}

#[test]
fn refuses_impossible_rows_and_shares() {
    for (more, key) in [
        ("seek_share = 0.0", "power.seek_share"),
        ("transfer_share = 0.5", "power.transfer_share"),
        ("read_ratio = 0.5", "power.random_write"),
        ("read_ratio = 2.0", "power.read_ratio"),
        ("points = [{ current = [0.5, 0.6] }]", "power.points[0].seek"),
        ("points = [{ current = [0.5, 0.6], seek = 0.7, transfer = 0.4 }]", "power.points[0].seek"),
        ("points = [{ current = [0.5, 0.6], seek_time = \"4 ms\" }]", "power.points[0].iops"),
        ("points = [{ current = [0.5, 0.6], iops = 9, seek = 0.1 }]", "power.points[0].iops"),
        ("points = [{ current = [0.3, 0.3], seek = 0.1 }]", "power.points[0].current"),
        ("points = [{ current = [0.5, -1], seek = 0.1 }]", "power.points[0].current[1]"),
        ("spin_up = [-1, 0.1]", "power.spin_up[0]"),
    ] {
        assert_eq!(watts(&es3(more), 7200.0, 1).unwrap_err().key, key);
    }
    let low = es3("").replace("[0.82, 0.55]", "[0.1, 0.1]");
    assert_eq!(watts(&low, 7200.0, 1).unwrap_err().key, "power.sequential_read");
    let alike = es3("").replace("sequential_read = [0.82, 0.55]", "");
    assert_eq!(watts(&alike, 7200.0, 1).unwrap_err().key, "power.points");
    let below = es3("").replace("0.24", "-0.24");
    assert_eq!(watts(&below, 7200.0, 1).unwrap_err().key, "power.standby[0]");
}
