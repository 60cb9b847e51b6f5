use headstack_host::meter::model::Modelled;
use headstack_host::stat::Stat;
use headstack_host::watched::*;
use headstack_units::Span;

/// From 5 W to 8 W: 1 - 1/e of the way after 30 s. What counts is never further from the mean than the tolerance, and
/// changes seldom: 3 W in steps of at least 0.5 W are at most 6.
#[test]
fn what_counts_follows_the_mean_in_few_steps() {
    let mut watched = Watched {
        modelled: Modelled::of_each(Stat::default(), |_| unreachable!("there is no drive")),
        stats: Stat::default(),
        mean_w: None,
        counted_w: 0.0,
        tolerance_w: 0.5,
    };
    let second = Span(1_000_000_000);
    watched.take(5.0, second);
    assert_eq!(watched.counted_w, 5.0);
    let mut changes = 0;
    for s in 1..=300 {
        let before_w = watched.counted_w;
        watched.take(8.0, second);
        let mean_w = watched.mean_w.expect("a mean");
        let want_w = 8.0 - 3.0 * (-f64::from(s) / MEAN_OVER_S).exp();
        assert!((mean_w - want_w).abs() < 1e-9, "{s} s: {mean_w} {want_w}");
        assert!((mean_w - watched.counted_w).abs() <= 0.5, "{s} s");
        changes += u32::from(watched.counted_w != before_w);
    }
    assert!((2..=6).contains(&changes), "{changes} changes");
}
