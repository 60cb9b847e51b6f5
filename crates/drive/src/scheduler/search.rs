//! Finds the command of the least price, for prices that grow with positioning time. The choice is exact:
//! only commands whose lower bound is low enough are computed in full.

use super::bounds::{row_of, scores_up_to, ArmSnapshot, Scores, SeekLowerBound, EXCESS};
use super::{Choice, View};
use crate::queue::{Chunk, Positions, Queue, CHUNK};

/// The price by which a scheduler compares commands.
pub(super) trait CostFunction {
    /// The command with the least value is chosen.
    type Cost: PartialOrd + Copy;

    /// Whether the price is the positioning time with the arm that is given.
    const IS_POSITIONING: bool = false;

    /// The price of command `i` when arm `arm` is examined, and the arm that serves it; `None` if none
    /// reaches it.
    fn of(&self, i: usize, arm: usize) -> Option<(Self::Cost, u8)>;

    /// A positioning time in nanoseconds; no command with a longer one has a price of `cost` or less.
    fn within_ns(&self, cost: Self::Cost) -> u64;

    /// For prices that fall with age: a lower bound of the price of command `i` and all that arrived later,
    /// if positioning takes `ns` or more. `None` for other prices.
    #[inline]
    fn floor_by_age(&self, _i: usize, _ns: u64) -> Option<Self::Cost> {
        None
    }
}

/// Buffers that are kept from choice to choice.
#[derive(Default)]
pub(super) struct Search {
    scores: Vec<Scores>,
    /// For each arm, the least score.
    least: Vec<u32>,
}

/// The least score of a queue, and whether it is sure.
struct Lowest {
    score: u32,
    arm: usize,
    row: usize,
    sure: bool,
}

/// The best command found so far.
struct Best<'a, P: CostFunction> {
    queue: &'a Queue,
    price: &'a P,
    floor: &'a SeekLowerBound,
    cost: Option<P::Cost>,
    choice: Choice,
    /// The largest positioning time, in nanoseconds and as a score, with which a command could be as good.
    within_ns: u64,
    limit: u32,
}

impl<P: CostFunction> Best<'_, P> {
    /// Takes the command if it is better than the best so far, or equal and older, or the same with a lower
    /// arm.
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

    /// Examines a chunk whose scores for an arm are known; nearly always a single command.
    #[inline]
    fn look(&mut self, chunk: &Chunk, scores: &Scores, least: u32, arm: usize) {
        if least > self.limit {
            return;
        }
        let row = row_of(scores, least);
        self.consider(chunk.number[row] as usize, arm);
        if scores_up_to(scores, chunk.len, self.limit) > 1 {
            for (i, score) in scores[..chunk.len].iter().enumerate() {
                if i != row && *score as u32 <= self.limit {
                    self.consider(chunk.number[i] as usize, arm);
                }
            }
        }
    }
}

impl Search {
    /// The command of the least price, the oldest of equal ones; `None` if no free arm reaches any.
    #[inline]
    pub fn best<P: CostFunction>(
        &mut self,
        queue: &Queue,
        view: &View,
        price: &P,
    ) -> Option<Choice> {
        let floor = view.mechanics.derived(SeekLowerBound::new);
        let arms = view.arms.len();
        if self.scores.len() != arms {
            self.scores = vec![[0; CHUNK]; arms];
            self.least = vec![0; arms];
        }
        let is_short = queue.positions().pieces() == 1;
        if is_short {
            let lowest = self.score(queue, view, floor);
            if let (true, Some(lowest)) = (P::IS_POSITIONING && view.head_sets.is_none(), lowest) {
                let chunk = queue.positions().piece(0);
                let limit = lowest.score + EXCESS;
                let mut others = self.least.iter().enumerate();
                // The bounds decide: the lowest is sure, and no other one is close to it.
                if lowest.sure
                    && scores_up_to(&self.scores[lowest.arm], chunk.len, limit) == 1
                    && (arms == 1 || others.all(|(a, least)| a == lowest.arm || *least > limit))
                {
                    let index = chunk.number[lowest.row] as usize;
                    let arm = lowest.arm as u8;
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

    /// Computes the scores of a short queue for each arm. Returns the least one; `None` if no arm is free.
    #[inline(always)]
    fn score(&mut self, queue: &Queue, view: &View, floor: &SeekLowerBound) -> Option<Lowest> {
        let chunk = queue.positions().piece(0);
        let moment = floor.at(view.mechanics, view.start);
        let (mut lowest, mut best) = (u32::MAX, None);
        for arm in 0..view.arms.len() {
            self.least[arm] = u32::MAX;
            if !view.is_usable(arm) {
                continue;
            }
            let approach = view.approach(&moment, arm);
            let least = approach.score(chunk, &mut self.scores[arm]);
            self.least[arm] = least;
            if least < lowest {
                lowest = least;
                best = Some((arm, approach));
            }
        }
        let (arm, approach) = best?;
        let row = row_of(&self.scores[arm], lowest);
        Some(Lowest {
            score: lowest,
            arm,
            row,
            sure: approach.is_sure(chunk, row, lowest),
        })
    }
}

/// Searches outward from each arm, until even the shortest movement to the remaining commands takes too long.
#[inline(never)]
fn long<P: CostFunction>(best: &mut Best<'_, P>, view: &View, scores: &mut Scores) {
    let positions = best.queue.positions();
    let mut ages = best.queue.by_age();
    let moment = best.floor.at(view.mechanics, view.start);
    for arm in 0..view.arms.len() {
        if !view.is_usable(arm) {
            continue;
        }
        let here = view.arms[arm].cylinder;
        let approach = view.approach(&moment, arm);
        let home = positions.rank_of(here, 0);
        // The next chunk upwards, and the chunk after the next one downwards.
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
            // With one arm, all chunks nearer than this have been examined.
            let seen = if view.arms.len() == 1 { far } else { 0 };
            if older_ones_decide(best, &mut ages, seen, arm) {
                return;
            }
        }
    }
}

fn look_at_piece<P: CostFunction>(
    best: &mut Best<'_, P>,
    positions: &Positions,
    rank: usize,
    (approach, arm): (&ArmSnapshot, usize),
    scores: &mut Scores,
) {
    let (from, to) = (positions.least(rank), positions.least(rank + 1));
    // If many commands share a cylinder, most chunks are excluded by their angles.
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

/// For prices that fall with age: examines some of the oldest commands. True if no later command can be
/// better; those not yet examined are at least `distance` away.
#[inline]
fn older_ones_decide<P: CostFunction>(
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
