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
pub enum Share {
    /// The last tier loses first.
    Strict,
    /// Watts by weight.
    Weight,
    /// By requests per second and watt.
    Marginal,
}

/// A setting that a tier can have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offer {
    /// Of one drive.
    pub power_w: f64,
    /// Of one drive, per second.
    pub iops: f64,
    /// Whether it may be chosen.
    pub is_open: bool,
}

/// A tier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// Number of drives.
    pub n: f64,
    pub weight: f64,
    /// The most that one drive may draw.
    pub most_w: f64,
}

/// Rounds of bisection: a double has 53 bits.
const ROUNDS: usize = 60;

/// Sums are compared with so much room, relative to the budget.
const ROOM: f64 = 1e-9;

/// Tiers with what they offer: `offers` has as many for each tier.
#[derive(Debug, Clone, Copy)]
pub struct Market<'a> {
    pub claims: &'a [Claim],
    pub offers: &'a [Offer],
}

impl Market<'_> {
    /// Chooses an offer for each tier. Returns whether there is a choice within the budget; else `chosen` means nothing.
    pub fn choose(&self, share: Share, budget_w: f64, chosen: &mut [usize]) -> bool {
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
    pub fn offer(&self, tier: usize, c: usize) -> &Offer {
        &self.of(tier)[c]
    }

    /// Power of all drives with these offers.
    pub fn total_w(&self, chosen: &[usize]) -> f64 {
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
pub fn divide(sum: f64, parts: &mut [(f64, f64, f64)]) {
    let rest = sum - parts.iter().map(|p| p.0 * p.1).sum::<f64>();
    let all: f64 = parts.iter().map(|p| (p.0 * p.2).powi(2)).sum();
    if all > 0.0 {
        for part in parts {
            part.1 += part.0 * part.2 * part.2 * rest / all;
        }
    }
}
