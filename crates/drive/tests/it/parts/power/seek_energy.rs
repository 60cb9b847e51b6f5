use headstack_drive::power::seek_energy::SeekEnergy;
use headstack_drive::spec::Params;

/// The constants that were fitted to the numbers of FAST 2016, with acceleration 24843.4 strokes/s2 and full speed
/// 86.96 strokes/s: `coast_from` is v^2 / a, `acceleration_time` 2 v / a.
const FITTED: &str = "[seek_energy]\nacceleration_power = \"2.2 W\"\nspeed_energy = \"33 mJ\"\n\
    coast_power = \"7 W\"\nacceleration_time = \"7.00065 ms\"\ncoast_from = 0.30439";

fn law(toml: &str) -> Result<Option<SeekEnergy>, headstack_engine::SpecError> {
    let table: Params = toml::from_str(toml).expect("TOML");
    SeekEnergy::read(&table, 100_001)
}

/// By hand, from the equation with the times 2 sqrt(x / a), v / a and (x - X) / v: 3.9, 11.7, 50.7 and 104 mJ.
#[test]
fn energies_by_hand() {
    let law = law(FITTED).unwrap().unwrap();
    let (a, v) = (24843.4f64, 86.96f64);
    let x_full = v * v / a;
    for (x, millijoules) in [(0.01, 3.9), (0.05, 11.7), (1.0 / 3.0, 50.7), (1.0, 104.0)] {
        let t_a = 2.0 * (x / a).sqrt().min(v / a);
        let t_c = ((x - x_full) / v).max(0.0);
        let by_hand = 2.2 * t_a + 0.033 * (x / x_full).min(1.0) + 7.0 * t_c;
        let got = law.joules((x * 100_000.0).round() as u32);
        assert!((got - by_hand).abs() < 2e-5, "{x}: {got} J, by hand {by_hand} J");
        assert!((got * 1e3 - millijoules).abs() < 0.5, "{x}: {got} J");
    }
    assert_eq!(law.joules(0), 0.0);
    // Farther than the stroke is the stroke.
    assert_eq!(law.joules(u32::MAX), law.joules(100_000));
}

/// The pieces meet where the arm reaches full speed, and a longer seek never takes less.
#[test]
fn continuous_and_growing() {
    let law = law(FITTED).unwrap().unwrap();
    let mut before = 0.0;
    for d in 0..=100_000u32 {
        let now = law.joules(d);
        assert!(now >= before && now - before < 3e-4, "{d}: {before} then {now}");
        before = now;
    }
}

#[test]
fn absent_wrong_and_misspelt() {
    assert_eq!(law("idle = 3").unwrap(), None);
    for (from, to, key) in [
        ("0.30439", "0.0", "power.seek_energy.coast_from"),
        ("0.30439", "1.5", "power.seek_energy.coast_from"),
        ("\"7.00065 ms\"", "\"0 ms\"", "power.seek_energy.acceleration_time"),
        ("\"2.2 W\"", "\"-2 W\"", "power.seek_energy.acceleration_power"),
        ("\"33 mJ\"", "33", "power.seek_energy.speed_energy"),
        ("coast_power", "coast", "power.seek_energy"),
    ] {
        let error = law(&FITTED.replace(from, to)).expect_err(to);
        assert!(error.key.starts_with(key), "{error}");
    }
    assert_eq!(law("seek_energy = 3").unwrap_err().key, "power.seek_energy");
}
