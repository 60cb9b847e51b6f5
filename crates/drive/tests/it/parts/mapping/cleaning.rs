use crate::parts::contract::example;
use headstack_drive::mapping::cleaning::{Segment, PLUGINS};
use headstack_testkit::XorShift;

/// The contract: finite, and a fuller cylinder of the same age is never worth more.
#[test]
fn fuller_cylinders_are_never_worth_more() {
    let mut noise = XorShift::default();
    for plugin in PLUGINS.iter() {
        let policy = plugin.build(&example(plugin), ()).expect("the example");
        for _ in 0..2000 {
            let slots = 2 + noise.below(500) as u32;
            let live = 1 + noise.below(u64::from(slots) - 1) as u32;
            let age_s = noise.below(1 << 30) as f64 * 1e-3;
            let of = |live| policy.worth(&Segment { live, slots, age_s });
            assert!(of(live).is_finite(), "{}", plugin.name());
            assert!(of(live + 1) <= of(live), "{}: {live} of {slots}", plugin.name());
        }
    }
}

/// By hand: at the same age `cost-benefit` prefers the emptier cylinder. A cylinder of u = 0.75 that is 9 times as old
/// as one of u = 0.5 is worth more: 9/7 and 1/3.
#[test]
fn age_counts_for_cost_benefit_only() {
    let worth = |name: &str, live, age_s| {
        let plugin = PLUGINS.iter().find(|p| p.name() == name).expect(name);
        let policy = plugin.build(&example(plugin), ()).expect("the example");
        policy.worth(&Segment { live, slots: 4, age_s })
    };
    assert!((worth("cost-benefit", 3, 9.0) - 9.0 / 7.0).abs() < 1e-12);
    assert!((worth("cost-benefit", 2, 1.0) - 1.0 / 3.0).abs() < 1e-12);
    assert!(worth("greedy", 3, 9.0) < worth("greedy", 2, 1.0));
    assert!(worth("hole-plugging", 3, 9.0) < worth("hole-plugging", 2, 1.0));
}
