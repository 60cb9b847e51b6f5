//! The command of the least price, where a price grows with the positioning time: an exact choice
//! that looks closely only at those that a lower bound leaves a chance.

use super::bounds::{scores_up_to, Approach, Floor, Scores, EXCESS};
use super::{Choice, View};
use crate::queue::{Positions, Queue, CHUNK};

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

    /// What command `i` and all that arrived later cost at least, if waiting makes commands cheaper.
    #[inline]
    fn floor_by_age(&self, _i: usize) -> Option<Self::Cost> {
        None
    }
}

/// What is kept from choice to choice: made at the first one.
#[derive(Default)]
pub(super) struct Search {
    floor: Option<Floor>,
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
    fn look(&mut self, numbers: &[u32], scores: &Scores, least: u32, arm: usize) {
        if least / CHUNK as u32 > self.limit {
            return;
        }
        let row = least as usize % CHUNK;
        self.consider(numbers[row] as usize, arm);
        if scores_up_to(scores, numbers.len(), self.limit) > 1 {
            for (i, number) in numbers.iter().enumerate() {
                if i != row && scores[i] <= self.limit {
                    self.consider(*number as usize, arm);
                }
            }
        }
    }
}

impl Search {
    /// The command of the least price, the oldest among equals; nothing if no free arm reaches any.
    #[inline]
    pub fn best<P: Price>(&mut self, queue: &Queue, view: &View, price: &P) -> Option<Choice> {
        let floor = self
            .floor
            .get_or_insert_with(|| Floor::new(view.mechanics));
        let arms = view.arms.len();
        if self.scores.len() < arms {
            self.scores.resize(arms, [0; CHUNK]);
            self.least.resize(arms, 0);
        }
        let is_short = queue.positions().pieces() == 1;
        if is_short && P::IS_POSITIONING && view.paths.is_none() {
            if let Some(choice) = clear(queue, view, floor, &mut self.scores, &mut self.least) {
                return Some(choice);
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
            short(&mut best, view, &mut self.scores);
        } else {
            long(&mut best, view, &mut self.scores[0]);
        }
        best.cost.map(|_| best.choice)
    }
}

/// The choice from a short queue, all of which every arm reaches, where bounds alone decide it: the
/// lowest one is sure, and no other comes near. So it is nearly always.
#[inline(always)]
fn clear(
    queue: &Queue,
    view: &View,
    floor: &Floor,
    scores: &mut [Scores],
    least: &mut [u32],
) -> Option<Choice> {
    let chunk = queue.positions().piece(0);
    let arms = view.arms.len();
    let approach = view.approach(floor, 0);
    let mut lowest = approach.score(chunk, &mut scores[0]);
    let mut sure = approach.is_sure(chunk, lowest as usize % CHUNK, lowest / CHUNK as u32);
    let mut arm = 0;
    if arms > 1 {
        least[0] = lowest;
        for a in 1..arms {
            let approach = view.approach(floor, a);
            least[a] = approach.score(chunk, &mut scores[a]);
            if least[a] < lowest {
                (arm, lowest) = (a, least[a]);
                let row = lowest as usize % CHUNK;
                sure = approach.is_sure(chunk, row, lowest / CHUNK as u32);
            }
        }
    }
    let limit = lowest / CHUNK as u32 + EXCESS;
    let others = (0..arms).filter(|a| *a != arm);
    let clear = sure
        && scores_up_to(&scores[arm], chunk.len, limit) == 1
        && (arms == 1 || others.into_iter().all(|a| least[a] / CHUNK as u32 > limit));
    let index = chunk.number[lowest as usize % CHUNK] as usize;
    let arm = arm as u8;
    clear.then_some(Choice { index, arm })
}

/// The one piece of a short queue with each arm.
#[inline(never)]
fn short<P: Price>(best: &mut Best<'_, P>, view: &View, scores: &mut [Scores]) {
    let chunk = best.queue.positions().piece(0);
    let numbers = &chunk.number[..chunk.len];
    for arm in 0..view.arms.len() {
        if view.is_usable(arm) {
            let least = view.approach(best.floor, arm).score(chunk, &mut scores[0]);
            best.look(numbers, &scores[0], least, arm);
        }
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
            if older_ones_decide(best, &mut ages, arm) {
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
        best.look(&chunk.number[..chunk.len], scores, least, arm);
    }
}

/// Looks at some of the oldest commands; whether none of the later ones can be better, where age has
/// a price.
#[inline]
fn older_ones_decide<P: Price>(
    best: &mut Best<'_, P>,
    ages: &mut impl Iterator<Item = usize>,
    arm: usize,
) -> bool {
    for _ in 0..8 {
        let (Some(cost), Some(_)) = (best.cost, best.price.floor_by_age(best.queue.oldest())) else {
            return false;
        };
        let Some(i) = ages.next() else { return true };
        match best.price.floor_by_age(i) {
            Some(least) if least > cost => return true,
            _ => best.consider(i, arm),
        }
    }
    false
}
