use crate::parts::power::watts;

fn near(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a} W, expected {b} W");
}

/// Idle from the Barracuda ES manual, 34 W and 13 W from the paper's Table 1.
#[test]
fn main_meets_the_manual_and_table_1() {
    let w = watts("", 7200.0, 1).unwrap();
    near(w.idle, 5.0 * 0.611 + 12.0 * 0.520, 0.01);
    near(w.mix(4.0, 0.0, 0.0), 34.0, 0.1);
    near(w.mix(0.4, 0.2, 0.2), 13.0, 0.1);
}

/// Table 1 read as motor and voice coils: 13 W with one coil, 34 W with four.
#[test]
fn table_1_profile() {
    let w = watts("profile = \"table-1\"", 7200.0, 4).unwrap();
    near(w.mix(1.0, 0.0, 0.0), 13.0, 0.3);
    near(w.mix(4.0, 0.0, 0.0), 34.0, 0.1);
}

/// Also 34 W at most. The watts per drive of section 7.3 (61.4 W for four, 37.1 W for two, 26.2 W for
/// one) are within 4 % of what one arm in motion can reach.
#[test]
fn raid_fitted_profile() {
    for (arms, per_drive) in [(1, 61.4 / 4.0), (2, 37.1 / 2.0), (4, 26.2)] {
        let w = watts("profile = \"raid-fitted\"", 7200.0, arms).unwrap();
        near(w.idle.max(w.seek.min(per_drive)), per_drive, 0.04 * per_drive);
    }
    let four = watts("profile = \"raid-fitted\"", 7200.0, 4).unwrap();
    near(four.mix(4.0, 0.0, 0.0), 34.0, 0.1);
}

/// (6200/7200)^2.8 = .658.
#[test]
fn slower_spindles_draw_less() {
    let at = |rpm| watts("electronics = \"0 W\"", rpm, 1).unwrap().idle;
    near(at(6200.0) / at(7200.0), 0.658, 0.001);
}

/// The 10,000 rpm drive: 6.24 (10000/7200)^2.8 (3.3/3.7)^4.6 W for smaller platters.
#[test]
fn reference_speed_is_a_parameter() {
    let platters: f64 = 6.24 * (10_000.0f64 / 7200.0).powf(2.8) * (3.3f64 / 3.7).powf(4.6);
    near(platters, 9.25, 0.01);
    let w = watts("spindle = \"9.25 W\"\nrotation_speed = \"10000 rpm\"", 1e4, 1).unwrap();
    near(w.idle, 12.31, 0.01);
    let scaled = watts("platter_diameter = \"3.3 in\"", 1e4, 1).unwrap();
    near(scaled.idle, 12.31, 0.01);
}

#[test]
fn refuses_bad_values_by_key() {
    for (toml, key) in [
        ("profile = \"mian\"", "power.profile"),
        ("spindle = 6", "power.spindle"),
        ("spindle = \"-6 W\"", "power.spindle"),
        ("rotation_speed = \"0 rpm\"", "power.rotation_speed"),
        ("standby = \"90 W\"", "power"),
        ("platters = 0", "power.platters"),
        ("platter_diameter = \"0 mm\"", "power.platter_diameter"),
        ("spindle = \"5 W\"\nplatter_diameter = \"95 mm\"", "power.reference_diameter"),
        ("model = 3", "power.model"),
    ] {
        assert_eq!(watts(toml, 7200.0, 1).unwrap_err().key, key);
    }
}
