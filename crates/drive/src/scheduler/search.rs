//! Finds the command of the least price, for prices that grow with positioning time. The choice is exact:
//! only commands whose lower bound is low enough are computed in full.

use super::bounds::{lone_row, row_of, several, Ageing, ArmSnapshot, Scores, SeekLowerBound, ANY, NEVER};
use super::{Choice, View};
use crate::queue::{Chunk, Positions, Queue, CHUNK};
use headstack_units::Span;

/// The price by which a scheduler compares commands.
pub trait CostFunction {
    /// The command with the least value is chosen.
    type Cost: PartialOrd + Copy;

    /// Whether the price is the positioning time with the arm that is given, less [`CostFunction::weight`] times the age.
    const IS_POSITIONING: bool = false;

    /// Whether the price falls with age.
    const IS_AGED: bool = false;

    /// How much positioning time a unit of waiting time outweighs.
    #[inline]
    fn weight(&self) -> f64 {
        0.0
    }

    /// The price of command `i` when arm `arm` is examined, and the arm that serves it; `None` if none
    /// reaches it.
    fn of(&self, i: usize, arm: usize) -> Option<(Self::Cost, u8)>;

    /// A positioning time; no command with a longer one has a price of `cost` or less. For prices that fall
    /// with age, no command as old as the oldest.
    fn within(&self, cost: Self::Cost) -> Span;

    /// For prices that fall with age: a lower bound of the price of command `i` and all that arrived later,
    /// if positioning takes `span` or more. `None` for other prices.
    #[inline]
    fn floor_by_age(&self, _i: usize, _span: Span) -> Option<Self::Cost> {
        None
    }
}

/// Buffers of drives with several arms, kept from choice to choice. With one arm they are on the stack: in a run with
/// many drives, what belongs to a drive is in no cache.
#[derive(Default)]
pub struct Search {
    scores: Vec<Scores>,
    /// For each arm, the least score.
    least: Vec<u32>,
}

/// The best command found so far.
struct Best<'a, P: CostFunction> {
    queue: &'a Queue,
    price: &'a P,
    floor: &'a SeekLowerBound,
    ageing: &'a Ageing,
    cost: Option<P::Cost>,
    choice: Choice,
    /// The largest positioning time, as it is and as a score, with which a command could be as good.
    within: Span,
    limit: u32,
}

impl<P: CostFunction> Best<'_, P> {
    /// Takes the command if it is better than the best so far, or equal and older, or the same with a lower
    /// arm.
    #[inline]
    fn consider(&mut self, index: usize, arm: usize) {
        let Some((cost, arm)) = self.price.of(index, arm) else { return };
        let choice = Choice { index, arm };
        if let Some(best) = self.cost {
            let before = &self.choice;
            let first = cost < best
                || (cost == best
                    && (self.queue.older(index, before.index) || (index == before.index && arm < before.arm)));
            if !first {
                return;
            }
        }
        self.cost = Some(cost);
        self.choice = choice;
        self.within = self.price.within(cost);
        self.limit = match P::IS_AGED {
            true => self.floor.limit::<true>(self.within, self.ageing),
            false => self.floor.limit::<false>(self.within, self.ageing),
        };
    }

    /// Examines a chunk whose scores for an arm are known; nearly always a single command.
    #[inline]
    fn look(&mut self, chunk: &Chunk, scores: &Scores, least: u32, arm: usize) {
        if least > self.limit {
            return;
        }
        let row = row_of(scores, chunk.len, least);
        self.consider(chunk.number[row] as usize, arm);
        if several(scores, chunk.len, self.limit) {
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
    pub fn best<P: CostFunction>(&mut self, queue: &Queue, view: &View, price: &P) -> Option<Choice> {
        let arms = view.arms.len();
        if arms == 1 {
            let (mut scores, mut least) = ([[0; CHUNK]], [0]);
            return best_of(queue, view, price, &mut scores, &mut least);
        }
        if self.scores.len() != arms {
            self.scores = vec![[0; CHUNK]; arms];
            self.least = vec![0; arms];
        }
        best_of(queue, view, price, &mut self.scores, &mut self.least)
    }
}

/// [`Search::best`] with a buffer for the scores and the least score of each arm.
#[inline(always)]
fn best_of<P: CostFunction>(
    queue: &Queue,
    view: &View,
    price: &P,
    all_scores: &mut [Scores],
    all_least: &mut [u32],
) -> Option<Choice> {
    let floor = view.mechanics.derived(SeekLowerBound::new);
    let ageing = match P::IS_AGED {
        true => {
            let oldest = &queue.items[queue.oldest()];
            floor.ageing(price.weight(), oldest.arrival.at)
        }
        false => Ageing::NONE,
    };
    let is_short = queue.positions.order.len() == 1;
    if is_short {
        let sure = match P::IS_AGED {
            true => score::<P, true>(queue, view, (floor, &ageing), all_scores, all_least),
            false => score::<P, false>(queue, view, (floor, &ageing), all_scores, all_least),
        };
        if sure.is_some() {
            return sure;
        }
    }
    let mut best = Best {
        queue,
        price,
        floor,
        ageing: &ageing,
        cost: None,
        choice: Choice { index: 0, arm: 0 },
        within: Span::FOREVER,
        limit: ANY,
    };
    if is_short {
        let chunk = queue.positions.piece(0);
        for (arm, (scores, least)) in all_scores.iter().zip(all_least).enumerate() {
            best.look(chunk, scores, *least, arm);
        }
    } else {
        long(&mut best, view, &mut all_scores[0]);
    }
    best.cost.map(|_| best.choice)
}

/// Computes the scores of a short queue for each arm. Returns the command of the least one if the bounds decide: the
/// price is what they bound, the least score is sure, and no other one is close to it.
#[inline(always)]
fn score<P: CostFunction, const AGED: bool>(
    queue: &Queue,
    view: &View,
    (floor, ageing): (&SeekLowerBound, &Ageing),
    all_scores: &mut [Scores],
    all_least: &mut [u32],
) -> Option<Choice> {
    let chunk = queue.positions.piece(0);
    let moment = floor.at(view.mechanics, view.start);
    let (mut lowest, mut best) = (u32::MAX, None);
    for (arm, (scores, score)) in all_scores.iter_mut().zip(&mut *all_least).enumerate() {
        *score = u32::MAX;
        if !view.is_usable(arm) {
            continue;
        }
        let approach = view.approach(&moment, arm);
        let least = approach.score::<AGED>(chunk, scores, ageing);
        *score = least;
        if least < lowest {
            lowest = least;
            best = Some((arm, approach));
        }
    }
    if !P::IS_POSITIONING || view.head_sets.is_some() || lowest >= NEVER {
        return None;
    }
    let (arm, approach) = best?;
    let limit = (lowest + SeekLowerBound::margin::<AGED>(ageing)).min(ANY);
    let row = lone_row(&all_scores[arm], chunk.len, limit)?;
    let index = chunk.number[row] as usize;
    let after = match AGED {
        true => {
            let arrival = |i: usize| queue.items[i].arrival.at;
            arrival(index).since(arrival(queue.oldest()))
        }
        false => Span::ZERO,
    };
    let mut others = all_least.iter().enumerate();
    let alone = all_least.len() == 1 || others.all(|(a, least)| a == arm || *least > limit);
    let sure = alone && approach.is_sure::<AGED>(chunk, (row, lowest), ageing, after);
    sure.then_some(Choice { index, arm: arm as u8 })
}

/// Searches outward from each arm, until even the shortest movement to the remaining commands takes too long.
#[inline(never)]
fn long<P: CostFunction>(best: &mut Best<'_, P>, view: &View, scores: &mut Scores) {
    let positions = &best.queue.positions;
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
            let far_up = if up < positions.order.len() { positions.least(up).0.saturating_sub(here) } else { u32::MAX };
            let far_down = if down > 0 { here.saturating_sub(positions.least(down).0) } else { u32::MAX };
            let far = far_up.min(far_down);
            if far == u32::MAX || far > best.floor.reach(best.within) {
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
            if older_ones_decide(best, view, &mut ages, (seen, arm)) {
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
    if chunk.len > 0 {
        let least = match P::IS_AGED {
            true => approach.score::<true>(chunk, scores, best.ageing),
            false => approach.score::<false>(chunk, scores, best.ageing),
        };
        best.look(chunk, scores, least, arm);
    }
}

/// For prices that fall with age: examines some of the oldest commands. True if no later command can be
/// better; those not yet examined are at least `distance` away.
#[inline]
fn older_ones_decide<P: CostFunction>(
    best: &mut Best<'_, P>,
    view: &View,
    ages: &mut impl Iterator<Item = usize>,
    (distance, arm): (u32, usize),
) -> bool {
    let oldest = best.queue.oldest();
    if best.price.floor_by_age(oldest, Span::ZERO).is_none() {
        return false;
    }
    let least = best.floor.least_time(distance);
    for _ in 0..16 {
        let Some(cost) = best.cost else { return false };
        let Some(i) = ages.next() else { return true };
        match best.price.floor_by_age(i, least) {
            Some(least) if least > cost => return true,
            _ if P::IS_POSITIONING => {
                let arms = 0..view.arms.len();
                arms.for_each(|arm| best.consider(i, arm));
            }
            _ => best.consider(i, arm),
        }
    }
    false
}
