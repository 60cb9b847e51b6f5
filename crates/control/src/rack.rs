//! How groups of drives with meters of their own share the cap of a rack.
//!
//! # Model
//! Each group has a least power, which it always gets, a most power, and a weight. It asks for its power now and some headroom
//! more. So a group whose cap slows it asks for more than it has, and one with little work asks for little. A group whose power
//! is not known gets at most what it had; at first it asks for all.
//!
//! | split | shares, while the groups ask for more than there is |
//! |---|---|
//! | `weight` | `c · weight` watts, at least the least power and at most what is asked for, with the one `c` that spends the cap |
//! | `strict` | from the first group to the last, what it asks for, as far as the later ones keep their least |
//!
//! What nobody asks for goes to all groups by weight, up to their most. A lowered share holds at once. A raised one waits
//! until the power of the others has fallen: shares and power beyond them never add up to more than the cap.
//!
//! # Source
//! `weight` is max-min fairness with weights and bounds (Bertsekas and Gallager, Data Networks, 2nd ed., section 6.5.2).

use headstack_schema::Choice;
use headstack_units::Watts;

/// Who gets the watts for which several groups ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum Split {
    /// All, by weight.
    #[default]
    Weight,
    /// The first of the list that asks.
    Strict,
}

/// What one group may have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// What it always gets, at least 0 W.
    pub least: Watts,
    /// What it asks for.
    pub asked: Watts,
    /// What it may get; infinite without a bound.
    pub most: Watts,
    /// Its weight, above 0.
    pub weight: f64,
}

impl Claim {
    /// Its least, what it asks for and its most, in order: `most` bounds the others.
    fn levels(&self) -> (f64, f64, f64) {
        let (most, least) = (self.most.0, self.least.0.min(self.most.0));
        (least, self.asked.0.min(most).max(least), most)
    }
}

/// A group of a rack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Member {
    /// What it always gets, at least 0 W.
    pub least: Watts,
    /// What it may get; infinite without a bound.
    pub most: Watts,
    /// Its weight, above 0.
    pub weight: f64,
    /// Its power, if it is known.
    pub power: Option<Watts>,
    /// Its share until now, if it has one.
    pub share: Option<Watts>,
}

/// Rounds of bisection: enough for neighbouring doubles at any scale of the weights.
const ROUNDS: usize = 200;

/// Divides `cap` among `claims`. The shares add up to at most `cap`. Only where all have their most do they add up to less.
/// A cap below the sum of what all always get is divided in proportion to that.
pub fn divide(cap: Watts, split: Split, claims: &[Claim]) -> Vec<Watts> {
    let cap_w = cap.0.max(0.0);
    let levels: Vec<(f64, f64, f64)> = claims.iter().map(Claim::levels).collect();
    let total = |level: fn(&(f64, f64, f64)) -> f64| levels.iter().map(level).sum::<f64>();
    let (least_w, asked_w) = (total(|l| l.0), total(|l| l.1));
    let pairs = || claims.iter().zip(&levels);
    let watts: Vec<f64> = if least_w > cap_w {
        levels.iter().map(|l| l.0 * (cap_w / least_w)).collect()
    } else if asked_w <= cap_w {
        // What is left goes to all.
        fill(cap_w, |c| {
            let share = |(claim, l): (&Claim, &(f64, f64, f64))| (l.1 + c * claim.weight).min(l.2);
            pairs().map(share).collect()
        })
    } else if split == Split::Weight {
        fill(cap_w, |c| {
            let share = |(claim, l): (&Claim, &(f64, f64, f64))| (c * claim.weight).clamp(l.0, l.1);
            pairs().map(share).collect()
        })
    } else {
        let mut left_w = cap_w - least_w;
        let strict = |l: &(f64, f64, f64)| {
            let more_w = (l.1 - l.0).min(left_w);
            left_w -= more_w;
            l.0 + more_w
        };
        levels.iter().map(strict).collect()
    };
    watts.into_iter().map(Watts).collect()
}

/// The shares for the largest level that keeps the cap, where shares rise with the level and level 0 keeps it.
fn fill(cap_w: f64, shares: impl Fn(f64) -> Vec<f64>) -> Vec<f64> {
    let keeps = |level: f64| shares(level).iter().sum::<f64>() <= cap_w;
    let mut high = 1.0;
    while keeps(high) && high < f64::MAX / 4.0 {
        high *= 2.0;
    }
    shares(largest(high, keeps))
}

/// The largest number from 0 to `high` that `keeps` something, where all smaller ones keep it, and 0 does.
fn largest(mut high: f64, keeps: impl Fn(f64) -> bool) -> f64 {
    if keeps(high) {
        return high;
    }
    let mut low = 0.0;
    for _ in 0..ROUNDS {
        let middle = 0.5 * (low + high);
        if keeps(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The next shares of a rack's members under `cap`. `headroom` is what each asks for above its power. Shares that would
/// change by less than half of it stay as they are, as long as they keep the cap.
pub fn next(cap: Watts, split: Split, headroom: Watts, members: &[Member]) -> Vec<Watts> {
    let claim = |m: &Member| Claim {
        least: m.least,
        asked: match (m.power, m.share) {
            (Some(power), _) => Watts(power.0 + headroom.0),
            (None, Some(share)) => share,
            (None, None) => m.most,
        },
        most: match (m.power, m.share) {
            (None, Some(share)) => Watts(share.0.min(m.most.0)),
            _ => m.most,
        },
        weight: m.weight,
    };
    let claims: Vec<Claim> = members.iter().map(claim).collect();
    let mut shares = divide(cap, split, &claims);
    let Some(before) = members.iter().map(|m| m.share).collect::<Option<Vec<_>>>() else { return shares };
    wait_for_others(cap, members, &before, &mut shares);
    let mut pairs = before.iter().zip(&shares);
    let is_near = pairs.all(|(old, new)| (old.0 - new.0).abs() < 0.5 * headroom.0);
    let is_kept =
        before.iter().map(|w| w.0).sum::<f64>() <= cap.0 && before.iter().zip(members).all(|(w, m)| *w <= m.most);
    if is_near && is_kept {
        return before;
    }
    shares
}

/// Raises shares only as far as there is room beside the power that the others still draw.
fn wait_for_others(cap: Watts, members: &[Member], before: &[Watts], shares: &mut [Watts]) {
    let raised = |before: f64, share: f64, part: f64| share.min(before + part * (share - before).max(0.0));
    let keeps = |part: f64| {
        let pairs = members.iter().zip(before).zip(&*shares);
        let held = pairs.map(|((member, before), share)| {
            let power_w = member.power.unwrap_or(*before).0;
            raised(before.0, share.0, part).max(power_w)
        });
        held.sum::<f64>() <= cap.0
    };
    let part = largest(1.0, keeps);
    for (before, share) in before.iter().zip(shares) {
        share.0 = raised(before.0, share.0, part);
    }
}
