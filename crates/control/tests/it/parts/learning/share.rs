use headstack_control::learning::share::*;
use headstack_testkit::SplitMix;

const SHARES: [Share; 3] = [Share::Strict, Share::Weight, Share::Marginal];

/// Random tiers with offers whose powers and rates have no order.
fn random(rng: &mut SplitMix) -> (Vec<Claim>, Vec<Offer>) {
    let tiers = 1 + rng.below(3) as usize;
    let n_offers = 1 + rng.below(6) as usize;
    let claims = (0..tiers).map(|_| Claim {
        n: (1 + rng.below(5)) as f64,
        weight: 0.5 + 3.0 * rng.unit(),
        most_w: if rng.below(4) == 0 { 8.5 } else { f64::INFINITY },
    });
    let claims = claims.collect();
    let offers = (0..tiers * n_offers).map(|_| Offer {
        power_w: 7.0 + 3.0 * rng.unit(),
        iops: 50.0 + 150.0 * rng.unit(),
        is_open: rng.below(5) > 0,
    });
    (claims, offers.collect())
}

/// All choices, one after another.
fn all(tiers: usize, offers: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..offers.pow(tiers as u32)).map(move |mut code| {
        let digit = |_| {
            let c = code % offers;
            code /= offers;
            c
        };
        (0..tiers).map(digit).collect()
    })
}

fn is_allowed(market: &Market, budget_w: f64, chosen: &[usize]) -> bool {
    let open = |(t, c): (usize, &usize)| {
        let offer = market.offer(t, *c);
        offer.is_open && offer.power_w <= market.claims[t].most_w
    };
    chosen.iter().enumerate().all(open) && market.total_w(chosen) <= budget_w * (1.0 + 1e-6)
}

/// By trying all choices: one is found exactly if there is one, and it keeps the budget. With strict shares no choice is
/// faster for the first tier, and among those as fast none for the second, where the first of equally fast ones is the
/// one with the least power.
#[test]
fn choices_are_those_of_an_exhaustive_search() {
    for seed in 0..2000 {
        let mut rng = SplitMix(seed);
        let (claims, offers) = random(&mut rng);
        let market = Market { claims: &claims, offers: &offers };
        let drives: f64 = claims.iter().map(|c| c.n).sum();
        let budget_w = drives * (6.9 + 3.2 * rng.unit());
        let n = offers.len() / claims.len();
        let any = all(claims.len(), n).any(|c| is_allowed(&market, budget_w, &c));
        for share in SHARES {
            let mut chosen = vec![0; claims.len()];
            let is = market.choose(share, budget_w, &mut chosen);
            assert_eq!(is, any, "seed {seed}, {share:?}");
            if !is {
                continue;
            }
            assert!(is_allowed(&market, budget_w, &chosen), "seed {seed}, {share:?}: {chosen:?}");
            if share == Share::Strict {
                let first = |c: &[usize]| market.offer(0, c[0]).iops;
                let best = all(claims.len(), n)
                    .filter(|c| is_allowed(&market, budget_w, c))
                    .map(|c| first(&c))
                    .fold(0.0, f64::max);
                assert_eq!(first(&chosen), best, "seed {seed}");
            }
            let rate = |c: &[usize]| -> f64 {
                let each = |(t, c): (usize, &usize)| claims[t].n * claims[t].weight * market.offer(t, *c).iops;
                c.iter().enumerate().map(each).sum()
            };
            if share == Share::Marginal {
                // Prices leave at most what the largest step of one tier is worth.
                let best = all(claims.len(), n)
                    .filter(|c| is_allowed(&market, budget_w, c))
                    .map(|c| rate(&c))
                    .fold(0.0, f64::max);
                let step = claims.iter().map(|c| c.n * c.weight * 150.0).fold(0.0, f64::max);
                assert!(rate(&chosen) >= best - step, "seed {seed}: {} of {best}", rate(&chosen));
            }
        }
    }
}

/// Two tiers with the curves x = 200 - (10 - p)^2 · k, k = 10 and 40: equal marginal loss 2 k (10 - p) means that what the
/// second gives up is a fourth of the first's.
#[test]
fn equal_marginal_losses() {
    let curve = |k: f64| {
        (0..=200).map(move |i| {
            let given_up = f64::from(i) / 100.0;
            Offer { power_w: 10.0 - given_up, iops: 200.0 - k * given_up * given_up, is_open: true }
        })
    };
    let offers: Vec<Offer> = curve(10.0).chain(curve(40.0)).collect();
    let claims = [Claim { n: 1.0, weight: 1.0, most_w: f64::INFINITY }; 2];
    let market = Market { claims: &claims, offers: &offers };
    let mut chosen = [0; 2];
    assert!(market.choose(Share::Marginal, 18.75, &mut chosen));
    let given_up = [0, 1].map(|t| 10.0 - market.offer(t, chosen[t]).power_w);
    assert!((given_up[0] - 1.0).abs() < 0.03 && (given_up[1] - 0.25).abs() < 0.03, "{given_up:?}");
    // By weight 1 : 4 the same watts are given up here, by equal weights equal ones.
    let weighted = [Claim { weight: 4.0, ..claims[1] }, claims[0]];
    let market = Market { claims: &weighted, offers: &offers };
    assert!(market.choose(Share::Weight, 18.75, &mut chosen));
    let given_up = [0, 1].map(|t| 10.0 - market.offer(t, chosen[t]).power_w);
    assert!((given_up[0] - 0.25).abs() < 0.03 && (given_up[1] - 1.0).abs() < 0.03, "{given_up:?}");
    // Strict: the second gives up all.
    assert!(market.choose(Share::Strict, 18.75, &mut chosen));
    let given_up = [0, 1].map(|t| 10.0 - market.offer(t, chosen[t]).power_w);
    assert!(given_up[0] < 0.01 && (given_up[1] - 1.25).abs() < 0.02, "{given_up:?}");
}

/// What is certain stays, what is doubtful takes the rest.
#[test]
fn parts_add_up() {
    let mut parts = [(5.0, 9.0, 0.0), (6.0, 8.0, 0.3)];
    divide(90.0, &mut parts);
    assert_eq!((parts[0].1, parts[1].1), (9.0, 7.5));
    let mut parts = [(5.0, 9.0, 0.1), (5.0, 8.0, 0.1)];
    divide(90.0, &mut parts);
    assert!((parts[0].1 - 9.5).abs() < 1e-9 && (parts[1].1 - 8.5).abs() < 1e-9);
    divide(0.0, &mut []);
}
