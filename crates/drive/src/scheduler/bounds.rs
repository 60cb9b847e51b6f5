//! Lower bounds of positioning times, computed for a whole chunk of the queue.
//!
//! # Model
//! Times are in units of 2^-11 turn, so that an angle is also a time, a rotational wait needs no multiplication, and
//! sixteen bits suffice. A movement is bounded from below by the shortest movement over a similar distance. The
//! sector passes no later after that than after the true movement. So a bound is nearly always exact to a few
//! units. It is a turn too low only if the sector passes between the two ends of the movement.

use crate::mechanics::{Arm, Mechanics};
use crate::queue::{Chunk, ANGLE_BITS, CHUNK};
use headstack_units::{Time, Turn};

/// Bounds for the commands of a chunk, in its order. Entries beyond its length are meaningless or [`NEVER`].
pub(super) type Scores = [i16; CHUNK];

/// Larger than any bound.
pub(super) const NEVER: u32 = i16::MAX as u32;

/// Units per turn.
const TURN: u32 = 1 << ANGLE_BITS;

/// Rows that are computed at a time.
const ROWS: usize = 8;

/// Entries of [`SeekLowerBound::moves`] for reads, and as many for writes.
const DISTANCES: usize = 4096;

/// Distances with an entry of their own: short seeks differ most between neighbouring distances.
const NEAR: u32 = 2048;

/// Longest movement and longest delay that bounds distinguish, in turns. With a turn of waiting, a bound is below
/// [`NEVER`].
const LONGEST_MOVE: u32 = 10;
const LONGEST_DELAY: u32 = 3;

/// Added to angles. Sectors that have just passed count as reached, within 2e-6 turn; their bound must not be
/// a turn too high. Includes rounding.
const EARLY: u32 = 2;

/// A bound may exceed the true time by less than this: [`EARLY`] and rounding.
pub(super) const EXCESS: u32 = 4;

/// Tables derived from a drive's mechanics; computed once.
pub(super) struct SeekLowerBound {
    /// The shortest movement, by [`SeekLowerBound::entry`] of the distance; first for reads, then for writes.
    moves: Box<[u16; 2 * DISTANCES]>,
    /// By the same index and in the same units: how much longer the longest movement is.
    spread: Box<[u16; 2 * DISTANCES]>,
    /// From `NEAR` on, one entry stands for `1 << shift` distances.
    shift: u32,
    /// Added to the shifted distance to get its entry.
    far: u32,
    units_per_ns: f64,
    /// By time in slots of `1 << SLOT_SHIFT` ns: the largest distance, in cylinders, of a movement that ends
    /// in that slot or earlier.
    reach: Vec<u32>,
}

/// Index of a distance in the tables. Each distance below `NEAR` has its own.
#[inline(always)]
fn entry(distance: u32, shift: u32, far: u32) -> u32 {
    let far = (distance >> (shift & 31)) + far;
    (distance as i32).min(far as i32) as u32
}

/// The length of a slot of [`SeekLowerBound::reach`] is 2^15 ns, or 33 us.
const SLOT_SHIFT: u32 = 15;

impl SeekLowerBound {
    pub fn new(mechanics: &Mechanics) -> SeekLowerBound {
        let cylinders = mechanics.positions();
        let far = |shift: u32| NEAR - (NEAR >> shift);
        let fits = |shift: &u32| ((cylinders >> *shift) + far(*shift)) < DISTANCES as u32;
        let shift = (0..31).find(fits).unwrap_or(31);
        let far = far(shift);
        let units_per_ns = f64::from(TURN) / mechanics.rotation.period_ns();
        let longest = LONGEST_MOVE * TURN;
        let coarse = |ns: i64| (ns.max(0) as f64 * units_per_ns) as u32;
        let mut moves = Box::new([longest as u16; 2 * DISTANCES]);
        let mut most = Box::new([0; 2 * DISTANCES]);
        let mut reach: Vec<u32> = Vec::new();
        let settle = mechanics.write_settle_ns();
        for distance in 0..cylinders {
            let read = i64::from(mechanics.seek.ns(distance));
            // A write on the arm's own track may need no settling.
            let write = read + if distance == 0 { settle.min(0) } else { settle };
            let at = distance.min((distance >> shift) + far) as usize;
            // The longest movement includes a head switch, and settling for a write.
            let switched = read.max(mechanics.head_switch_ns() as i64);
            let longer = [switched, switched + settle.max(0)];
            for (i, ns) in [read, write].into_iter().enumerate() {
                let at = at + i * DISTANCES;
                moves[at] = moves[at].min(coarse(ns).min(longest) as u16);
                most[at] = coarse(longer[i]).max(most[at]);
            }
            let slot = (read.min(write).max(0) >> SLOT_SHIFT) as usize;
            if slot >= reach.len() {
                reach.resize(slot + 1, 0);
            }
            reach[slot] = distance.max(reach[slot]);
        }
        // A movement that fits one slot fits all later ones. Seek times need not grow with distance.
        for slot in 1..reach.len() {
            reach[slot] = reach[slot].max(reach[slot - 1]);
        }
        let mut spread = Box::new([0; 2 * DISTANCES]);
        for at in 0..2 * DISTANCES {
            let more = (most[at] + 1).saturating_sub(u32::from(moves[at]));
            spread[at] = more.min(u32::from(u16::MAX)) as u16;
        }
        SeekLowerBound {
            moves,
            spread,
            shift,
            far,
            units_per_ns,
            reach,
        }
    }

    /// Index of a distance in the tables.
    #[inline(always)]
    fn entry(&self, distance: u32) -> usize {
        entry(distance, self.shift, self.far) as usize % DISTANCES
    }

    /// A distance in cylinders; no movement over a longer distance takes `ns` or less.
    #[inline]
    pub fn reach(&self, ns: u64) -> u32 {
        let slot = (ns >> SLOT_SHIFT).min(self.reach.len() as u64 - 1);
        self.reach[slot as usize]
    }

    /// A time in nanoseconds; no movement over `distance` or more takes less.
    pub fn least_ns(&self, distance: u32) -> u64 {
        let slot = self.reach.partition_point(|r| *r < distance);
        (slot as u64) << SLOT_SHIFT
    }

    /// A score; no command with a larger one has a positioning time of `ns` or less.
    #[inline]
    pub fn limit(&self, ns: u64) -> u32 {
        // Times of 2^63 ns or more become the largest score.
        let units = (ns >> 1) as i64 as f64 * (2.0 * self.units_per_ns);
        (units as i64).min(i64::from(NEVER - 1 - EXCESS)) as u32 + EXCESS
    }

    /// Delays in nanoseconds as scores.
    #[inline(never)]
    fn later(&self, delay: [u64; 2]) -> [u16; 2] {
        delay.map(|ns| {
            let units = (ns >> 1) as i64 as f64 * (2.0 * self.units_per_ns);
            (units as i64).min(i64::from(LONGEST_DELAY * TURN)) as u16
        })
    }

    /// The moments from which scores count, for reads and for writes.
    #[inline]
    pub fn at(&self, mechanics: &Mechanics, start: [u64; 2]) -> Moment<'_> {
        let read = mechanics.rotation.angle_at(Time(start[0]));
        let write = match start[1] == start[0] {
            true => read,
            false => mechanics.rotation.angle_at(Time(start[1])),
        };
        Moment {
            floor: self,
            apart: start[1] != start[0],
            under: [read, write],
            // Scaled waits may be shortened to nothing.
            turn: if mechanics.scales_rotation() {
                0
            } else {
                TURN as u16 - 1
            },
        }
    }
}

/// The moments from which scores count, for all arms.
pub(super) struct Moment<'a> {
    floor: &'a SeekLowerBound,
    /// Whether reads and writes start at different moments.
    apart: bool,
    /// The angle under the heads, for reads and for writes.
    under: [Turn; 2],
    turn: u16,
}

impl<'a> Moment<'a> {
    /// The state of an arm that may start to move `delay` later, for reads and for writes.
    #[inline]
    pub fn approach(&self, arm: &Arm, delay: [u64; 2]) -> ArmSnapshot<'a> {
        let ahead_of = |i: usize| {
            let under = (self.under[i].since(arm.angle).0 >> (64 - ANGLE_BITS)) as u16;
            (EARLY as u16).wrapping_sub(under)
        };
        let (mut ahead, mut later) = ([ahead_of(0); 2], [0; 2]);
        if self.apart || delay != [0, 0] {
            later = self.floor.later(delay);
            ahead = [0, 1].map(|i| ahead_of(i).wrapping_sub(later[i]));
        }
        ArmSnapshot {
            floor: self.floor,
            cylinder: arm.cylinder,
            ahead,
            later,
            turn: self.turn,
        }
    }
}

/// An arm at one moment, prepared to be compared with many commands.
pub(super) struct ArmSnapshot<'a> {
    floor: &'a SeekLowerBound,
    cylinder: u32,
    /// For reads and for writes: what to add to an angle to get its distance ahead of the heads when the arm
    /// may start to move; and the time of that start.
    ahead: [u16; 2],
    later: [u16; 2],
    turn: u16,
}

/// How many of the first `len` scores of a chunk are at most `limit`.
#[inline(always)]
pub(super) fn scores_up_to(scores: &Scores, len: usize, limit: u32) -> i32 {
    let mut count = [0i16; ROWS];
    for scores in scores.chunks_exact(ROWS).take(len.div_ceil(ROWS)) {
        for l in 0..ROWS {
            count[l] += i16::from(scores[l] <= limit as i16);
        }
    }
    count.iter().map(|n| i32::from(*n)).sum()
}

/// The first row that has the least score.
#[inline]
pub(super) fn row_of(scores: &Scores, least: u32) -> usize {
    let found = scores.iter().position(|score| *score as u32 == least);
    found.unwrap_or(0)
}

impl ArmSnapshot<'_> {
    /// Computes the bounds of all commands of a chunk. Returns the least one. The chunk must not be empty.
    #[inline]
    pub fn score(&self, chunk: &Chunk, scores: &mut Scores) -> u32 {
        if self.later == [0, 0] && self.ahead[0] == self.ahead[1] {
            self.score_rows::<false>(chunk, scores)
        } else {
            self.score_rows::<true>(chunk, scores)
        }
    }

    /// Works on several rows at a time, so that everything but the table look-ups becomes vector
    /// instructions. A separate function, because the compiler does not vectorise it when it is inlined. `APART`: reads
    /// and writes start at different times, or later.
    #[inline(never)]
    fn score_rows<const APART: bool>(&self, chunk: &Chunk, scores: &mut Scores) -> u32 {
        // Differences between writes and reads.
        let more_ahead = self.ahead[1].wrapping_sub(self.ahead[0]);
        let more_later = self.later[1].wrapping_sub(self.later[0]);
        let (moves, shift, far) = (&*self.floor.moves, self.floor.shift, self.floor.far);
        let past = chunk.len as i16;
        let mut least = [i16::MAX; ROWS];
        let mut row: [i16; ROWS] = std::array::from_fn(|l| l as i16);
        let rows = chunk.cylinder.chunks_exact(ROWS);
        let rows = rows.zip(chunk.angle.chunks_exact(ROWS));
        let rows = rows.zip(chunk.write.chunks_exact(ROWS));
        let rows = rows.zip(scores.chunks_exact_mut(ROWS));
        for (((cylinder, angle), write), scores) in rows.take(chunk.len.div_ceil(ROWS)) {
            let (mut at, mut moved) = ([0u32; ROWS], [0u16; ROWS]);
            for l in 0..ROWS {
                let distance = (cylinder[l] as i32).wrapping_sub(self.cylinder as i32);
                let entry = entry(distance.wrapping_abs() as u32, shift, far);
                at[l] = entry % DISTANCES as u32 + (u32::from(write[l]) & DISTANCES as u32);
            }
            for l in 0..ROWS {
                moved[l] = moves[at[l] as usize % (2 * DISTANCES)];
            }
            for l in 0..ROWS {
                let mut ahead = angle[l].wrapping_add(self.ahead[0]);
                if APART {
                    ahead = ahead.wrapping_add(write[l] & more_ahead);
                }
                let wait = ahead.wrapping_sub(moved[l]) & self.turn;
                let mut score = wait.wrapping_add(moved[l]);
                if APART {
                    let later = (write[l] & more_later).wrapping_add(self.later[0]);
                    score = score.wrapping_add(later);
                }
                // Without a branch, so that it becomes vector instructions: all bits set in rows of the chunk.
                let lives = row[l].wrapping_sub(past) >> 15;
                let score = (score as i16 & lives) | (NEVER as i16 & !lives);
                scores[l] = score;
                least[l] = least[l].min(score);
                row[l] += ROWS as i16;
            }
        }
        let mut fold = ROWS / 2;
        while fold > 0 {
            for l in 0..fold {
                least[l] = least[l].min(least[l + fold]);
            }
            fold /= 2;
        }
        least[0] as u32
    }

    /// Whether a score is also an upper bound of the command's positioning time: the sector passes so late
    /// that even the longest movement over a similar distance ends before.
    #[inline]
    pub fn is_sure(&self, chunk: &Chunk, row: usize, score: u32) -> bool {
        let distance = self.cylinder.abs_diff(chunk.cylinder[row]);
        let write = chunk.write[row];
        let at = self.floor.entry(distance) | (write as usize & DISTANCES);
        let moved = u32::from(self.floor.moves[at]);
        let spread = u32::from(self.floor.spread[at]);
        let later = u32::from(self.later[(write & 1) as usize]);
        let wait = score - moved - later;
        // A delay at the limit may be longer in truth.
        wait >= spread + EXCESS && later < LONGEST_DELAY * TURN
    }

    /// A lower bound of the scores of all commands on one cylinder at angles from `first` to `last`.
    pub fn score_of_range(&self, cylinder: u32, (first, last): (u32, u32)) -> u32 {
        let at = self.floor.entry(self.cylinder.abs_diff(cylinder));
        let score = |write: usize| {
            let turn = u32::from(self.turn);
            let moved = u32::from(self.floor.moves[at + write * DISTANCES]);
            let ahead = first.wrapping_add(u32::from(self.ahead[write]));
            let ahead = ahead.wrapping_sub(moved) & turn;
            let wait = if ahead + (last - first) > turn {
                0
            } else {
                ahead
            };
            wait + moved + u32::from(self.later[write])
        };
        score(0).min(score(1))
    }
}
