use headstack_control::guard::meter::*;
use headstack_control::guard::period::Period;
use headstack_testkit::SplitMix;

/// Sums of twelve uniform numbers are nearly normal, with a variance of 1.
#[test]
fn the_scatter_is_that_of_the_readings() {
    let mut rng = SplitMix(3);
    let mut normal = || (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
    let mut meter = Meter::default();
    for _ in 0..400 {
        // The level of periods varies by 0.4 W, single readings of a period by 0.3 W about it.
        let level_w = 9.0 + 0.4 * normal();
        let mut period = Period::new(true);
        for _ in 0..41 {
            period.add(level_w + 0.3 * normal(), None);
        }
        let median_w = period.reading().expect("readings").power_w;
        meter.see_period(median_w, period.distance_w());
    }
    assert!((meter.scatter_w() - 0.5).abs() < 0.1, "{}", meter.scatter_w());
    // A change of the setting is no scatter.
    let before_w = meter.scatter_w();
    meter.changed();
    meter.see_period(20.0, None);
    assert_eq!(meter.scatter_w(), before_w);
    meter.see_period(30.0, None);
    assert!(meter.scatter_w() > 2.0);
}
