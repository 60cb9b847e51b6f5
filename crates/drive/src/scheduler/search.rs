//! The command of the least price, where a price grows with the positioning time: an exact choice
//! that looks closely only at those that a lower bound leaves a chance.

use super::bounds::{scores_up_to, Approach, Floor, Scores, EXCESS};
use super::{Choice, View};
use crate::queue::{Chunk, Positions, Queue, CHUNK};

/// What a scheduler that reads the positions pays for a command.
pub(super) trait Price {
    /// The least is taken.
    type Cost: PartialOrd + Copy;

    /// Whether the price is the positioning time with the arm that is looked at.
    const IS_POSITIONING: bool = false;

    /// What command `i` costs if arm `arm` is looked at, and the arm that serves it; nothing if none
    /// reaches it.
    fn of(&self, i: usize, arm: usize) -> Option<(Self::Cost, u8)>;

    /// No command whose positioning takes longer than this, in nanoseconds, costs `cost` or less.
    fn within_ns(&self, cost: Self::Cost) -> u64;

    /// If waiting makes commands cheaper: what command `i` and all that arrived later cost at least
    /// where positioning takes `ns` or more.
    #[inline]
    fn floor_by_age(&self, _i: usize, _ns: u64) -> Option<Self::Cost> {
        None
    }
}

/// What is kept from choice to choice.
#[derive(Default)]
pub(super) struct Search {
    scores: Vec<Scores>,
    /// Of each arm, the least score and its row.
    least: Vec<u32>,
}

/// The best command found so far.
struct Best<'a, P: Price> {
    queue: &'a Queue,
    price: &'a P,
    floor: &'a Floor,
    cost: Option<P::Cost>,
    choice: Choice,
    /// What could cost as little: positioning in nanoseconds, and in scores.
    within_ns: u64,
    limit: u32,
}

impl<P: Price> Best<'_, P> {
    /// Takes the command if it is better, or as good and older (or the same with an earlier arm).
    #[inline]
    fn consider(&mut self, index: usize, arm: usize) {
        let Some((cost, arm)) = self.price.of(index, arm) else {
            return;
        };
        let choice = Choice { index, arm };
        if let Some(best) = self.cost {
            let before = &self.choice;
            let first = cost < best
                || (cost == best
                    && (self.queue.older(index, before.index)
                        || (index == before.index && arm < before.arm)));
            if !first {
                return;
            }
        }
        self.cost = Some(cost);
        self.choice = choice;
        self.within_ns = self.price.within_ns(cost);
        self.limit = self.floor.limit(self.within_ns);
    }

    /// Looks at a piece of which an arm's scores are known: hardly ever at more than one command.
    #[inline]
    fn look(&mut self, chunk: &Chunk, scores: &Scores, least: u32, arm: usize) {
        if least / CHUNK as u32 > self.limit {
            return;
        }
        let row = least as usize % CHUNK;
        self.consider(chunk.number[row] as usize, arm);
        if scores_up_to(scores, chunk.len, self.limit) > 1 {
            for (i, score) in scores[..chunk.len].iter().enumerate() {
                if i != row && *score <= self.limit {
                    self.consider(chunk.number[i] as usize, arm);
                }
            }
        }
    }
}

impl Search {
    /// The command of the least price, the oldest among equals; nothing if no free arm reaches any.
    #[inline]
    pub fn best<P: Price>(&mut self, queue: &Queue, view: &View, price: &P) -> Option<Choice> {
        let floor = view.mechanics.derived(Floor::new);
        let arms = view.arms.len();
        if self.scores.len() != arms {
            self.scores = vec![[0; CHUNK]; arms];
            self.least = vec![0; arms];
        }
        let is_short = queue.positions().pieces() == 1;
        if is_short {
            let (lowest, arm, sure) = self.score(queue, view, floor);
            let limit = lowest / CHUNK as u32 + EXCESS;
            if P::IS_POSITIONING && sure && view.paths.is_none() {
                let chunk = queue.positions().piece(0);
                let mut others = self.least.iter().enumerate();
                // Bounds alone decide: the lowest one is sure, and no other comes near.
                if scores_up_to(&self.scores[arm], chunk.len, limit) == 1
                    && (arms == 1
                        || others.all(|(a, least)| a == arm || least / CHUNK as u32 > limit))
                {
                    let index = chunk.number[lowest as usize % CHUNK] as usize;
                    let arm = arm as u8;
                    return Some(Choice { index, arm });
                }
            }
        }
        let mut best = Best {
            queue,
            price,
            floor,
            cost: None,
            choice: Choice { index: 0, arm: 0 },
            within_ns: u64::MAX,
            limit: super::bounds::NEVER - 1,
        };
        if is_short {
            let chunk = queue.positions().piece(0);
            for arm in 0..arms {
                best.look(chunk, &self.scores[arm], self.least[arm], arm);
            }
        } else {
            long(&mut best, view, &mut self.scores[0]);
        }
        best.cost.map(|_| best.choice)
    }

    /// Scores of a short queue with each arm; the least one of all, its arm, and whether it is sure.
    #[inline(always)]
    fn score(&mut self, queue: &Queue, view: &View, floor: &Floor) -> (u32, usize, bool) {
        let chunk = queue.positions().piece(0);
        let mut best = (u32::MAX, 0, false);
        for arm in 0..view.arms.len() {
            self.least[arm] = u32::MAX;
            if !view.is_usable(arm) {
                continue;
            }
            let approach = view.approach(floor, arm);
            let least = approach.score(chunk, &mut self.scores[arm]);
            self.least[arm] = least;
            if least < best.0 {
                let (row, score) = (least as usize % CHUNK, least / CHUNK as u32);
                best = (least, arm, approach.is_sure(chunk, row, score));
            }
        }
        best
    }
}

/// Outward from each arm, until the least movement to what is left takes too long.
#[inline(never)]
fn long<P: Price>(best: &mut Best<'_, P>, view: &View, scores: &mut Scores) {
    let positions = best.queue.positions();
    let mut ages = best.queue.by_age();
    for arm in 0..view.arms.len() {
        if !view.is_usable(arm) {
            continue;
        }
        let here = view.arms[arm].cylinder;
        let approach = view.approach(best.floor, arm);
        let home = positions.rank_of(here, 0);
        // The next piece upwards, and the one after the next downwards.
        let (mut up, mut down) = (home, home);
        loop {
            let far_up = match up < positions.pieces() {
                true => positions.least(up).0.saturating_sub(here),
                false => u32::MAX,
            };
            let far_down = match down > 0 {
                true => here.saturating_sub(positions.least(down).0),
                false => u32::MAX,
            };
            let far = far_up.min(far_down);
            if far == u32::MAX || far > best.floor.reach(best.within_ns) {
                break;
            }
            let rank = if far_up <= far_down {
                up += 1;
                up - 1
            } else {
                down -= 1;
                down
            };
            look_at_piece(best, positions, rank, (&approach, arm), scores);
            // With one arm, all pieces nearer than this have been looked at.
            let seen = if view.arms.len() == 1 { far } else { 0 };
            if older_ones_decide(best, &mut ages, seen, arm) {
                return;
            }
        }
    }
}

fn look_at_piece<P: Price>(
    best: &mut Best<'_, P>,
    positions: &Positions,
    rank: usize,
    (approach, arm): (&Approach, usize),
    scores: &mut Scores,
) {
    let (from, to) = (positions.least(rank), positions.least(rank + 1));
    // Where many commands share a cylinder, most pieces are far from the arm by angle.
    if from.0 == to.0 && approach.score_of_range(from.0, (from.1, to.1)) > best.limit {
        return;
    }
    let chunk = positions.piece(rank);
    #[cfg(test)]
    super::count(chunk.len as u64);
    if chunk.len > 0 {
        let least = approach.score(chunk, scores);
        best.look(chunk, scores, least, arm);
    }
}

/// Looks at some of the oldest commands; whether none of the later ones, `distance` away or farther,
/// can be better, where age has a price.
#[inline]
fn older_ones_decide<P: Price>(
    best: &mut Best<'_, P>,
    ages: &mut impl Iterator<Item = usize>,
    distance: u32,
    arm: usize,
) -> bool {
    let oldest = best.queue.oldest();
    if best.price.floor_by_age(oldest, 0).is_none() {
        return false;
    }
    let least_ns = best.floor.least_ns(distance);
    for _ in 0..16 {
        let Some(cost) = best.cost else { return false };
        let Some(i) = ages.next() else { return true };
        match best.price.floor_by_age(i, least_ns) {
            Some(least) if least > cost => return true,
            _ => best.consider(i, arm),
        }
    }
    false
}
