//! The cap of a rack: shares never add up to more, keep what is promised, and go to who asks; a search on a grid finds no
//! fairer ones.

use crate::common::random;
use headstack_control::rack::{divide, next, Claim, Member, Split};
use headstack_units::Watts;
use proptest::prelude::*;

/// Sums of a few doubles below 10 kW.
const ROUNDING: f64 = 1e-7;

fn claim(least: f64, asked: f64, most: f64, weight: f64) -> Claim {
    Claim { least: Watts(least), asked: Watts(asked), most: Watts(most), weight }
}

fn shares(cap: f64, split: Split, claims: &[Claim]) -> Vec<f64> {
    let shares = divide(Watts(cap), split, claims);
    shares.iter().map(|w| w.0).collect()
}

/// By hand: 100 W by 1 : 3 are 25 and 75; who asks for 40 of its 75 leaves 35 to the other; who must have 30 leaves 70. With
/// strict shares the last group has its least. 20 W for which nobody asks are shared by 1 : 3, and by what one may have.
#[test]
fn shares_are_as_computed_by_hand() {
    const ALL: f64 = f64::INFINITY;
    let weight = Split::Weight;
    for (split, claims, want) in [
        (weight, [claim(5.0, ALL, ALL, 1.0), claim(5.0, ALL, ALL, 3.0)], [25.0, 75.0]),
        (weight, [claim(5.0, ALL, ALL, 1.0), claim(5.0, 40.0, ALL, 3.0)], [60.0, 40.0]),
        (weight, [claim(30.0, ALL, ALL, 1.0), claim(5.0, ALL, ALL, 3.0)], [30.0, 70.0]),
        (Split::Strict, [claim(5.0, ALL, ALL, 1.0), claim(5.0, ALL, ALL, 3.0)], [95.0, 5.0]),
        (Split::Strict, [claim(5.0, 70.0, ALL, 1.0), claim(5.0, ALL, ALL, 3.0)], [70.0, 30.0]),
        (weight, [claim(5.0, 20.0, ALL, 1.0), claim(5.0, 60.0, ALL, 3.0)], [25.0, 75.0]),
        (Split::Strict, [claim(5.0, 20.0, ALL, 1.0), claim(5.0, 60.0, 70.0, 3.0)], [30.0, 70.0]),
        (weight, [claim(5.0, 20.0, 24.0, 1.0), claim(5.0, 60.0, 70.0, 3.0)], [24.0, 70.0]),
        (weight, [claim(150.0, ALL, ALL, 1.0), claim(50.0, ALL, ALL, 3.0)], [75.0, 25.0]),
    ] {
        let got = shares(100.0, split, &claims);
        for (got, want) in got.iter().zip(want) {
            assert!((got - want).abs() < ROUNDING, "{split:?} {claims:?}: {got}, not {want}");
        }
    }
}

fn any_claim() -> impl Strategy<Value = Claim> {
    let asked = prop_oneof![4 => 0.0..300.0f64, 1 => Just(f64::INFINITY)];
    let most = prop_oneof![2 => 0.0..400.0f64, 2 => Just(f64::INFINITY)];
    (0.0..60.0f64, asked, most, 1e-3..1e3f64).prop_map(|(l, a, m, w)| claim(l, a, m, w))
}

fn any_split() -> impl Strategy<Value = Split> {
    prop_oneof![Just(Split::Weight), Just(Split::Strict)]
}

fn sum(claims: &[Claim], level: impl Fn(&Claim) -> f64) -> f64 {
    claims.iter().map(level).sum()
}

fn least(c: &Claim) -> f64 {
    c.least.0.min(c.most.0)
}

fn asked(c: &Claim) -> f64 {
    c.asked.0.min(c.most.0).max(least(c))
}

proptest! {
    #![proptest_config(random(256))]

    /// The sum is the cap, or less where all have their most. Each share is between what is promised and what is allowed, and
    /// nobody has more than it asks for while another has less.
    #[test]
    fn the_cap_is_spent_and_promises_are_kept(
        claims in prop::collection::vec(any_claim(), 1..8),
        cap in 0.0..1500.0f64,
        split in any_split(),
    ) {
        let got = shares(cap, split, &claims);
        let most = sum(&claims, |c| c.most.0);
        let total: f64 = got.iter().sum();
        prop_assert!((total - cap.min(most)).abs() < ROUNDING, "{total} of {cap}, most {most}");
        let is_enough = sum(&claims, least) <= cap;
        for (c, share) in claims.iter().zip(&got) {
            prop_assert!(*share <= c.most.0 + ROUNDING);
            prop_assert!(!is_enough || *share >= least(c) - ROUNDING);
        }
        if is_enough {
            let lacks = claims.iter().zip(&got).any(|(c, s)| *s < asked(c) - ROUNDING);
            let spoiled = claims.iter().zip(&got).any(|(c, s)| *s > asked(c) + ROUNDING);
            prop_assert!(!(lacks && spoiled), "{got:?}");
        }
    }

    /// Strict: who has more than its least has none before it that lacks. By weight: who lacks has no less by weight than any
    /// that has more than its least.
    #[test]
    fn the_order_is_that_of_the_list_or_of_the_weights(
        claims in prop::collection::vec(any_claim(), 2..8),
        part in 0.0..1.0f64,
        split in any_split(),
    ) {
        let (least_w, asked_w) = (sum(&claims, least), sum(&claims, asked).min(2000.0));
        let got = shares(least_w + part * (asked_w - least_w).max(0.0), split, &claims);
        for (i, a) in claims.iter().enumerate().filter(|(i, a)| got[*i] < asked(a) - ROUNDING) {
            for (j, b) in claims.iter().enumerate().filter(|(j, b)| got[*j] > least(b) + ROUNDING) {
                match split {
                    Split::Strict => prop_assert!(j <= i, "{got:?}"),
                    Split::Weight => {
                        let (a, b) = (got[i] / a.weight, got[j] / b.weight);
                        prop_assert!(a >= b * (1.0 - 1e-6) - ROUNDING / 1e-3, "{got:?}");
                    }
                }
            }
        }
    }

    /// More for all is less for none.
    #[test]
    fn a_higher_cap_lowers_no_share(
        claims in prop::collection::vec(any_claim(), 1..8),
        caps in (0.0..1500.0f64, 0.0..1500.0f64),
        split in any_split(),
    ) {
        let (low, high) = (caps.0.min(caps.1), caps.0.max(caps.1));
        let pairs = (shares(low, split, &claims), shares(high, split, &claims));
        for (low, high) in pairs.0.iter().zip(&pairs.1) {
            prop_assert!(*high >= low - ROUNDING);
        }
    }

    /// Of all divisions of whole watts the fairest (the largest least share by weight, then the next) is found, within the watt
    /// of the grid; equal weights, so that a watt is a watt.
    #[test]
    fn no_division_on_a_grid_is_fairer(
        bounds in prop::collection::vec((0u32..6, 0u32..14), 3),
        cap in 0u32..30,
    ) {
        let claims: Vec<Claim> = bounds.iter()
            .map(|(l, more)| claim(f64::from(*l), f64::from(l + more), f64::from(l + more), 1.0))
            .collect();
        let (least_w, most_w) = (sum(&claims, least), sum(&claims, asked));
        prop_assume!(least_w <= f64::from(cap) && f64::from(cap) <= most_w);
        let range = |i: usize| bounds[i].0..=bounds[i].0 + bounds[i].1;
        let mut best: Option<(Vec<u32>, [u32; 3])> = None;
        for a in range(0) {
            for b in range(1) {
                for c in range(2).filter(|c| a + b + c == cap) {
                    let mut sorted = vec![a, b, c];
                    sorted.sort_unstable();
                    if best.as_ref().is_none_or(|(s, _)| sorted > *s) {
                        best = Some((sorted, [a, b, c]));
                    }
                }
            }
        }
        let (_, best) = best.expect("a division");
        for (got, want) in shares(f64::from(cap), Split::Weight, &claims).iter().zip(best) {
            prop_assert!((got - f64::from(want)).abs() < 1.0, "{got} {want}");
        }
    }

    /// Whatever the groups draw, shares never add up to more than the cap; and a raised share stands beside the power that
    /// the others still draw.
    #[test]
    fn shares_and_what_is_drawn_beyond_them_keep_the_cap(
        groups in prop::collection::vec((0.0..20.0f64, 1e-1..10.0f64, 0.0..40.0f64), 1..6),
        periods in prop::collection::vec((0.8..1.2f64, 0.0..1.0f64, 0u8..10), 1..40),
        split in any_split(),
    ) {
        let promised: f64 = groups.iter().map(|g| g.0).sum();
        let mut members: Vec<Member> = groups.iter().map(|(least, weight, _)| Member {
            least: Watts(*least),
            most: Watts(f64::INFINITY),
            weight: *weight,
            power: None,
            share: None,
        }).collect();
        for (cap, load, silent) in periods {
            let cap = 1.3 * promised * cap + 1.0;
            prop_assume!(cap >= promised);
            let before: Vec<Option<Watts>> = members.iter().map(|m| m.share).collect();
            let shares = next(Watts(cap), split, Watts(2.0), &members);
            let total: f64 = shares.iter().map(|w| w.0).sum();
            prop_assert!(total <= cap + ROUNDING, "{total} of {cap}");
            let mut held = 0.0;
            let mut is_raised = false;
            for ((m, before), share) in members.iter().zip(before).zip(&shares) {
                let drawn = m.power.map_or(0.0, |w| w.0);
                held += drawn.max(share.0);
                is_raised |= before.is_some_and(|b| share.0 > b.0 + ROUNDING);
            }
            // Where a group's power is above its own raised share, it is counted once.
            prop_assert!(!is_raised || held <= cap + ROUNDING, "{held} of {cap}");
            for (i, (m, share)) in members.iter_mut().zip(shares).enumerate() {
                m.share = Some(share);
                let is_silent = usize::from(silent) == i;
                m.power = (!is_silent).then_some(Watts(load * groups[i].2 + 0.5 * share.0));
            }
        }
    }
}

/// Two groups of drives that draw what they may, up to what their loads need. The idle one leaves its watts to the busy one.
/// After one period, in which its load shows, it has them back, from 35 to 100 W, by one headroom in two periods: in the first
/// the other's share falls, in the second its own rises.
#[test]
fn watts_go_where_the_load_is_and_come_back() {
    let headroom = 5.0;
    let mut members = [0, 1].map(|_| Member {
        least: Watts(20.0),
        most: Watts(f64::INFINITY),
        weight: 1.0,
        power: None,
        share: None,
    });
    let mut run = |needs: [f64; 2], periods: usize| {
        for _ in 0..periods {
            let shares = next(Watts(200.0), Split::Weight, Watts(headroom), &members);
            for ((member, share), need) in members.iter_mut().zip(shares).zip(needs) {
                member.share = Some(share);
                member.power = Some(Watts(need.min(share.0)));
            }
        }
        [0, 1].map(|i| members[i].share.map_or(0.0, |w| w.0))
    };
    assert_eq!(run([300.0, 300.0], 1).map(f64::round), [100.0, 100.0]);
    let [busy, idle] = run([300.0, 30.0], 40);
    assert!((idle - 35.0).abs() <= 0.5 * headroom, "{busy} {idle}");
    assert!((busy - 165.0).abs() <= 0.5 * headroom, "{busy} {idle}");
    let [first, second] = run([300.0, 300.0], 1 + 2 * (100 - 35) / 5);
    assert!((second - 100.0).abs() <= 0.5 * headroom, "{first} {second}");
    assert!((first - 100.0).abs() <= 0.5 * headroom, "{first} {second}");
}
