//! How tiers of drives share a budget of watts.
//!
//! # Model
//! Each tier `t` has `n` equal drives and offers: settings with the power `p` and the rate `x` of one drive. Chosen is one offer
//! for each tier, so that `sum of n · p` is at most the budget and no tier is above a cap of its own.
//!
//! | share | chosen |
//! |---|---|
//! | strict | from the best tier to the last, the fastest that leaves the later tiers their lowest |
//! | by weight | each drive gives up `c / weight` watts of its fastest offer, with the smallest `c` that keeps the budget |
//! | by marginal loss | each takes the offer with the largest `weight · x - price · p`, with the lowest price (requests per second per watt) that keeps the budget: no watt moved between tiers would gain more than it loses |
//!
//! Offers are steps, so some watts are left. They go to faster offers, the best tier first.

use headstack_schema::Choice;

/// How tiers share a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Choice)]
pub(crate) enum Share {
    /// The last tier loses first.
    Strict,
    /// Watts by weight.
    Weight,
    /// By requests per second and watt.
    Marginal,
}

/// A setting that a tier can have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Offer {
    /// Of one drive.
    pub(crate) power_w: f64,
    /// Of one drive, per second.
    pub(crate) iops: f64,
    /// Whether it may be chosen.
    pub(crate) is_open: bool,
}

/// A tier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Claim {
    /// Number of drives.
    pub(crate) n: f64,
    pub(crate) weight: f64,
    /// The most that one drive may draw.
    pub(crate) most_w: f64,
}

/// Rounds of bisection: a double has 53 bits.
const ROUNDS: usize = 60;

/// Sums are compared with so much room, relative to the budget.
const ROOM: f64 = 1e-9;

/// Tiers with what they offer: `offers` has as many for each tier.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Market<'a> {
    pub(crate) claims: &'a [Claim],
    pub(crate) offers: &'a [Offer],
}

impl Market<'_> {
    /// Chooses an offer for each tier. Returns whether there is a choice within the budget; else `chosen` means nothing.
    pub(crate) fn choose(&self, share: Share, budget_w: f64, chosen: &mut [usize]) -> bool {
        let all_least = self.each(chosen, |m, t| m.best(t, f64::INFINITY, |o| -o.power_w));
        if !all_least || self.total_w(chosen) > budget_w {
            return false;
        }
        match share {
            Share::Strict => {}
            Share::Weight => self.bisect(budget_w, chosen, |m, t, given_up| {
                let fastest = m.best(t, f64::INFINITY, |o| o.iops)?;
                let left_w = m.offer(t, fastest).power_w - given_up / m.claims[t].weight;
                let lowest = |m: &Self| m.best(t, f64::INFINITY, |o| -o.power_w);
                m.best(t, left_w, |o| o.iops).or_else(|| lowest(m))
            }),
            Share::Marginal => self.bisect(budget_w, chosen, |m, t, price| {
                let weight = m.claims[t].weight;
                m.best(t, f64::INFINITY, |o| weight * o.iops - price * o.power_w)
            }),
        }
        self.fill(budget_w, chosen);
        true
    }

    fn of(&self, tier: usize) -> &[Offer] {
        let n = self.offers.len() / self.claims.len();
        &self.offers[tier * n..(tier + 1) * n]
    }

    /// An offer of a tier.
    pub(crate) fn offer(&self, tier: usize, c: usize) -> &Offer {
        &self.of(tier)[c]
    }

    /// Power of all drives with these offers.
    pub(crate) fn total_w(&self, chosen: &[usize]) -> f64 {
        let watts = |(t, c): (usize, &usize)| self.claims[t].n * self.offer(t, *c).power_w;
        chosen.iter().enumerate().map(watts).sum()
    }

    /// The offer of at most `most_w` with the highest value; the first of equal ones.
    fn best(&self, tier: usize, most_w: f64, value: impl Fn(&Offer) -> f64) -> Option<usize> {
        let most_w = most_w.min(self.claims[tier].most_w);
        let mut best: Option<(usize, f64)> = None;
        for (c, offer) in self.of(tier).iter().enumerate() {
            if !offer.is_open || offer.power_w > most_w {
                continue;
            }
            let value = value(offer);
            if best.is_none_or(|(_, least)| value > least) {
                best = Some((c, value));
            }
        }
        best.map(|(c, _)| c)
    }

    /// Sets `chosen`. Returns whether each tier has an offer.
    fn each(&self, chosen: &mut [usize], pick: impl Fn(&Self, usize) -> Option<usize>) -> bool {
        for (t, place) in chosen.iter_mut().enumerate() {
            match pick(self, t) {
                Some(c) => *place = c,
                None => return false,
            }
        }
        true
    }

    /// The smallest `x`, from 0 up, with which what is picked keeps the budget.
    fn bisect(&self, budget_w: f64, chosen: &mut [usize], pick: impl Fn(&Self, usize, f64) -> Option<usize>) {
        let mut keeps = |x: f64| self.each(chosen, |m, t| pick(m, t, x)) && self.total_w(chosen) <= budget_w;
        if keeps(0.0) {
            return;
        }
        let mut high = 1.0;
        for _ in 0..ROUNDS {
            if keeps(high) {
                break;
            }
            high *= 2.0;
        }
        let mut low = 0.0;
        for _ in 0..ROUNDS {
            let middle = 0.5 * (low + high);
            match keeps(middle) {
                true => high = middle,
                false => low = middle,
            }
        }
        if !keeps(high) {
            // Only by rounding: all at their lowest keep it.
            self.each(chosen, |m, t| m.best(t, f64::INFINITY, |o| -o.power_w));
        }
    }

    /// Watts that are left go to faster offers, the best tier first.
    fn fill(&self, budget_w: f64, chosen: &mut [usize]) {
        let mut left_w = budget_w - self.total_w(chosen) + ROOM * budget_w.abs();
        for (t, place) in chosen.iter_mut().enumerate() {
            let n = self.claims[t].n;
            let has = *self.offer(t, *place);
            let faster = self.best(t, has.power_w + left_w / n, |o| o.iops);
            if let Some(c) = faster.filter(|c| self.offer(t, *c).iops > has.iops) {
                left_w -= n * (self.offer(t, c).power_w - has.power_w);
                *place = c;
            }
        }
    }
}

/// Divides a sum that was read among parts of which values are believed with doubts, so that the parts add up to it: the most
/// probable values if errors are normal. `parts` are (number, believed value of one, doubt of one); the values are written
/// there.
pub(crate) fn divide(sum: f64, parts: &mut [(f64, f64, f64)]) {
    let rest = sum - parts.iter().map(|p| p.0 * p.1).sum::<f64>();
    let all: f64 = parts.iter().map(|p| (p.0 * p.2).powi(2)).sum();
    if all > 0.0 {
        for part in parts {
            part.1 += part.0 * part.2 * part.2 * rest / all;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
