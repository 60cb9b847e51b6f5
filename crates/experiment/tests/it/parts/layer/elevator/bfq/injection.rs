use headstack_block::layer::elevator::bfq::injection::*;
use headstack_units::Time;

/// By hand: alone 10 ms, so one request may be injected. With it 12 ms: two. With them 16 ms, more than 15: one.
#[test]
fn the_limit_follows_the_delay() {
    let (mut all, mut limit) = (Injection::default(), Limit::new(Time::ZERO, 0));
    let mut now = Time(500 * MS);
    let mut steps = Vec::new();
    for (others, took) in [(0, 10), (1, 12), (2, 16)] {
        all.see(others + 1);
        all.arrives(now, &mut limit, true, 0, true);
        all.dispatched(7);
        all.has_injected = others > 0;
        now = Time(now.0 + took * MS);
        all.ended(now, 7, &mut limit, 1);
        steps.push(limit.at(now, false));
    }
    assert_eq!(steps, [1, 2, 1]);
    // A second later nothing is known.
    now = Time(now.0 + 1_000 * MS);
    all.arrives(now, &mut limit, true, 0, true);
    assert_eq!((limit.at(now, false), limit.at(now, true)), (0, 1));
}
