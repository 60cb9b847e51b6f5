//! Lower bounds of positioning times, computed for a whole chunk of the queue.
//!
//! # Model
//! Times are in units of 2^-11 turn, so that an angle is also a time, a rotational wait needs no multiplication, and
//! sixteen bits suffice. A movement is bounded from below by the shortest movement over a similar distance. The
//! sector passes no later after that than after the true movement. So a bound is nearly always exact to a few
//! units. It is a turn too low only if the sector passes between the two ends of the movement.

use crate::mechanics::{Arm, Mechanics};
use crate::queue::{since, Chunk, ANGLE_BITS, CHUNK, SINCE_BITS, WRITE};
use headstack_units::{Span, Time, Turn};

/// Bounds for the commands of a chunk, in its order. Entries beyond its length are meaningless, or [`NEVER`] or more.
pub type Scores = [i16; CHUNK];

/// Larger than any bound of a positioning time. With a turn it still fits 16 bits.
pub const NEVER: u32 = 30_000;

/// A limit that every command is within.
pub const ANY: u32 = i16::MAX as u32;

/// Units per turn.
const TURN: u32 = 1 << ANGLE_BITS;

/// Rows that are computed at a time.
const ROWS: usize = 8;

/// Entries of [`SeekLowerBound::moves`] for reads, and as many for writes.
const DISTANCES: usize = 4096;

/// The entry of vacant rows. No distance has it.
const NOWHERE: usize = DISTANCES - 1;

/// Distances with an entry of their own: short seeks differ most between neighbouring distances.
const NEAR: u32 = 2048;

/// Longest movement and longest delay that bounds distinguish, in turns. With a turn of waiting, a bound is below
/// [`NEVER`].
const LONGEST_MOVE: u32 = 10;
const LONGEST_DELAY: u32 = 3;

/// Added to angles. Sectors that have just passed count as reached, within 2e-6 turn; their bound must not be
/// a turn too high. Includes rounding.
const EARLY: u32 = 2;

/// A bound may exceed the true time by less than this: `EARLY` and rounding.
pub const EXCESS: u32 = 4;

/// Tables derived from a drive's mechanics; computed once.
pub struct SeekLowerBound {
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

/// The length of a slot of [`SeekLowerBound::reach`] is 2^15 ns, or 33 us.
const SLOT_SHIFT: u32 = 15;

impl SeekLowerBound {
    pub fn new(mechanics: &Mechanics) -> SeekLowerBound {
        let cylinders = mechanics.seek.positions();
        let far = |shift: u32| NEAR - (NEAR >> shift);
        let fits = |shift: &u32| ((cylinders >> *shift) + far(*shift)) < NOWHERE as u32;
        let shift = (0..31).find(fits).unwrap_or(31);
        let far = far(shift);
        let units_per_ns = f64::from(TURN) / mechanics.rotation.period_ns;
        let longest = LONGEST_MOVE * TURN;
        let coarse = |span: Span| (span.0.max(0) as f64 * units_per_ns) as u32;
        let mut moves = Box::new([longest as u16; 2 * DISTANCES]);
        moves[NOWHERE] = NEVER as u16;
        moves[NOWHERE + DISTANCES] = NEVER as u16;
        let mut most = Box::new([0; 2 * DISTANCES]);
        let mut reach: Vec<u32> = Vec::new();
        let settle = mechanics.write_settle;
        for distance in 0..cylinders {
            let read = mechanics.seek.time(distance);
            // A write on the arm's own track may need no settling.
            let write = read + if distance == 0 { settle.min(Span::ZERO) } else { settle };
            let at = distance.min((distance >> shift) + far) as usize;
            // The longest movement includes a head switch, and settling for a write.
            let switched = read.max(mechanics.head_switch);
            let longer = [switched, switched + settle.max(Span::ZERO)];
            for (i, span) in [read, write].into_iter().enumerate() {
                let at = at + i * DISTANCES;
                moves[at] = moves[at].min(coarse(span).min(longest) as u16);
                most[at] = coarse(longer[i]).max(most[at]);
            }
            let slot = (read.min(write).0.max(0) >> SLOT_SHIFT) as usize;
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
        SeekLowerBound { moves, spread, shift, far, units_per_ns, reach }
    }

    /// Index of a distance in the tables. Each distance below `NEAR` has its own.
    #[inline(always)]
    fn entry(&self, distance: u32) -> usize {
        let far = (distance >> (self.shift & 31)) + self.far;
        distance.min(far) as usize % DISTANCES
    }

    /// A distance in cylinders; no movement over a longer distance takes `span` or less.
    #[inline]
    pub fn reach(&self, span: Span) -> u32 {
        let slot = (span.0 as u64 >> SLOT_SHIFT).min(self.reach.len() as u64 - 1);
        self.reach[slot as usize]
    }

    /// No movement over `distance` or more takes less.
    pub fn least_time(&self, distance: u32) -> Span {
        let slot = self.reach.partition_point(|r| *r < distance);
        Span((slot as i64) << SLOT_SHIFT)
    }

    /// A score; no command with a larger one has a positioning time of `span` or less, with ageing more than that of the
    /// oldest command.
    #[inline]
    pub fn limit<const AGED: bool>(&self, span: Span, ageing: &Ageing) -> u32 {
        let units = span.0 as f64 * self.units_per_ns;
        let limit = (units as i64).min(i64::from(NEVER - 1 - EXCESS)) as u32 + EXCESS;
        let aged = limit + ageing.excess;
        match AGED {
            false => limit,
            true if aged < NEVER - 1 => aged,
            true => ANY,
        }
    }

    /// How far above the least score another one must be for the bounds to decide.
    #[inline]
    pub fn margin<const AGED: bool>(ageing: &Ageing) -> u32 {
        match AGED {
            true => EXCESS + ageing.excess,
            false => EXCESS,
        }
    }

    /// What waiting is worth if `weight` of it counts as positioning time, and the oldest command arrived at `oldest`.
    #[inline]
    pub fn ageing(&self, weight: f64, oldest: Time) -> Ageing {
        // The score of one unit of arrival time is `per_step * 2^-16 * 2^-shift`, and `per_step` has its highest bit set.
        let per_unit = weight * self.units_per_ns * (1u64 << SINCE_BITS) as f64;
        let exponent = (per_unit.to_bits() >> 52) as i32 - 1023;
        let shift = (-1 - exponent).clamp(0, 31) as u32;
        let per_step = (per_unit * (1u64 << (16 + shift)) as f64) as u16;
        Ageing {
            oldest: since(oldest),
            shift,
            per_step,
            // Rounding of two arrivals, of the shift, and of the product.
            excess: 3 + (2.0 * per_unit).min(1e9) as u32,
        }
    }

    /// Delays as scores.
    #[inline(never)]
    fn later(&self, delay: [Span; 2]) -> [u16; 2] {
        delay.map(|span| {
            let units = span.0 as f64 * self.units_per_ns;
            (units as i64).min(i64::from(LONGEST_DELAY * TURN)) as u16
        })
    }

    /// The moments from which scores count, for reads and for writes.
    #[inline]
    pub fn at(&self, mechanics: &Mechanics, start: [Time; 2]) -> Moment<'_> {
        let read = mechanics.rotation.angle_at(start[0]);
        let write = if start[1] == start[0] { read } else { mechanics.rotation.angle_at(start[1]) };
        Moment {
            floor: self,
            apart: start[1] != start[0],
            under: [read, write],
            // Scaled waits may be shortened to nothing.
            turn: if mechanics.scales_rotation() { 0 } else { TURN as u16 - 1 },
        }
    }
}

/// The moments from which scores count, for all arms.
pub struct Moment<'a> {
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
    pub fn approach(&self, arm: &Arm, delay: [Span; 2]) -> ArmSnapshot<'a> {
        let ahead_of = |i: usize| {
            let under = (self.under[i].since(arm.angle).0 >> (64 - ANGLE_BITS)) as u16;
            (EARLY as u16).wrapping_sub(under)
        };
        let (mut ahead, mut later) = ([ahead_of(0); 2], [0; 2]);
        if self.apart || delay != [Span::ZERO; 2] {
            later = self.floor.later(delay);
            ahead = [0, 1].map(|i| ahead_of(i).wrapping_sub(later[i]));
        }
        ArmSnapshot { floor: self.floor, cylinder: arm.cylinder, ahead, later, turn: self.turn }
    }
}

/// What waiting is worth, prepared for a queue: scores grow with the time by which a command arrived after the oldest.
///
/// # Model
/// The time since the oldest arrival, shifted to 15 bits, times a factor of 16 bits. A time too long for 15 bits counts
/// as the longest that fits, so the added score is a lower bound, but for the rounding in `excess`.
pub struct Ageing {
    /// Arrival of the oldest command, as chunks store it.
    oldest: u32,
    shift: u32,
    per_step: u16,
    /// How much a score may exceed the price by, and the price a score, because of rounding.
    excess: u32,
}

impl Ageing {
    /// No command becomes cheaper by waiting.
    pub const NONE: Ageing = Ageing { oldest: 0, shift: 31, per_step: 0, excess: 0 };

    /// The score of a command that arrived `since`, as chunks store it, for its age.
    #[inline(always)]
    fn of(&self, since: u32) -> u16 {
        let later = (since.wrapping_sub(self.oldest) >> (self.shift & 31)) as i32;
        // As two vector instructions. Rows without a command may be older than the oldest one.
        let later = later.clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16;
        let later = later.max(0);
        ((u32::from(later as u16) * u32::from(self.per_step)) >> 16) as u16
    }

    /// Whether the age of a command that arrived `later` than the oldest is known to `excess`.
    #[inline]
    fn knows(&self, later: Span) -> bool {
        let units = later.0 as u64 >> SINCE_BITS;
        units <= u64::from(u32::MAX) && units >> (self.shift & 31) < i16::MAX as u64 && self.per_step < u16::MAX
    }
}

/// An arm at one moment, prepared to be compared with many commands.
pub struct ArmSnapshot<'a> {
    floor: &'a SeekLowerBound,
    cylinder: u32,
    /// For reads and for writes: what to add to an angle to get its distance ahead of the heads when the arm
    /// may start to move; and the time of that start.
    ahead: [u16; 2],
    later: [u16; 2],
    turn: u16,
}

/// A command in a sum of [`rows_up_to`]; more than any row.
const ONE: i16 = 256;

/// Of the first `len` scores those that are at most `limit`: their number times [`ONE`], plus the sum of their rows.
/// A separate function, because the compiler does not vectorise it when it is inlined.
#[inline(never)]
fn rows_up_to(scores: &Scores, len: usize, limit: u32) -> i16 {
    let mut sum = [0i16; ROWS];
    let mut row: [i16; ROWS] = std::array::from_fn(|l| ONE + l as i16);
    for scores in scores.chunks_exact(ROWS).take(len.div_ceil(ROWS)) {
        for l in 0..ROWS {
            sum[l] += if scores[l] <= limit as i16 { row[l] } else { 0 };
            row[l] += ROWS as i16;
        }
    }
    let mut fold = ROWS / 2;
    while fold > 0 {
        for l in 0..fold {
            sum[l] += sum[l + fold];
        }
        fold /= 2;
    }
    sum[0]
}

/// Whether several of the first `len` scores are at most `limit`; rows that hold no command may count.
#[inline]
pub fn several(scores: &Scores, len: usize, limit: u32) -> bool {
    rows_up_to(scores, len, limit) >= 2 * ONE
}

/// The row of the only score that is at most `limit`; `None` if there are several. At least one must be.
#[inline]
pub fn lone_row(scores: &Scores, len: usize, limit: u32) -> Option<usize> {
    let sum = rows_up_to(scores, len, limit);
    (sum < 2 * ONE).then_some((sum - ONE) as usize % CHUNK)
}

/// The first of `len` rows that has the least score. If only rows without a command have it, the first one.
#[inline]
pub fn row_of(scores: &Scores, len: usize, least: u32) -> usize {
    let mut scores = scores.iter().take(len);
    let found = scores.position(|score| *score as u32 == least);
    found.unwrap_or(0)
}

impl ArmSnapshot<'_> {
    /// Computes the bounds of all commands of a chunk, each with its age if `AGED`. Returns the least one. The chunk must
    /// not be empty.
    #[inline]
    pub fn score<const AGED: bool>(&self, chunk: &Chunk, scores: &mut Scores, ageing: &Ageing) -> u32 {
        if self.later == [0, 0] && self.ahead[0] == self.ahead[1] {
            self.score_rows::<false, AGED>(chunk, scores, ageing)
        } else {
            self.score_rows::<true, AGED>(chunk, scores, ageing)
        }
    }

    /// Works on several rows at a time, in numbers of 16 bits, so that everything but the table look-ups becomes vector
    /// instructions. A separate function, because the compiler does not vectorise it when it is inlined. `APART`: reads
    /// and writes start at different times, or later.
    #[inline(never)]
    fn score_rows<const APART: bool, const AGED: bool>(
        &self,
        chunk: &Chunk,
        scores: &mut Scores,
        ageing: &Ageing,
    ) -> u32 {
        // Differences between writes and reads.
        let more_ahead = self.ahead[1].wrapping_sub(self.ahead[0]);
        let more_later = self.later[1].wrapping_sub(self.later[0]);
        let (moves, shift, far) = (&*self.floor.moves, self.floor.shift & 31, self.floor.far);
        // A conversion that keeps to the bounds of 16 bits is one vector instruction.
        let narrow = |x: u32| (x as i32).clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16;
        let mut least = [i16::MAX; ROWS];
        let rows = chunk.cylinder.chunks_exact(ROWS);
        let rows = rows.zip(chunk.angle.chunks_exact(ROWS));
        let rows = rows.zip(chunk.since.chunks_exact(ROWS));
        let rows = rows.zip(scores.chunks_exact_mut(ROWS));
        for (((cylinder, angle), since), scores) in rows.take(chunk.len.div_ceil(ROWS)) {
            let (mut near, mut distant) = ([0i16; ROWS], [0i16; ROWS]);
            for l in 0..ROWS {
                let distance = (cylinder[l] as i32).wrapping_sub(self.cylinder as i32);
                let distance = distance.wrapping_abs() as u32;
                near[l] = narrow(distance);
                distant[l] = narrow((distance >> shift) + far);
            }
            // All bits set for a write, none for other commands.
            let mut write = [0u16; ROWS];
            for l in 0..ROWS {
                write[l] = (angle[l] as i16 >> 15) as u16;
            }
            let (mut at, mut moved) = ([0u16; ROWS], [0u16; ROWS]);
            for l in 0..ROWS {
                let entry = near[l].min(distant[l]).min(NOWHERE as i16) as u16;
                at[l] = entry % DISTANCES as u16 + (write[l] & DISTANCES as u16);
            }
            for l in 0..ROWS {
                moved[l] = moves[at[l] as usize % (2 * DISTANCES)];
            }
            for l in 0..ROWS {
                // The bit that marks a write falls out of the wait.
                let mut ahead = angle[l].wrapping_add(self.ahead[0]);
                if APART {
                    ahead = ahead.wrapping_add(write[l] & more_ahead);
                }
                let wait = ahead.wrapping_sub(moved[l]) & self.turn;
                let mut score = wait.wrapping_add(moved[l]) as i16;
                if APART {
                    let later = (write[l] & more_later).wrapping_add(self.later[0]);
                    score = score.saturating_add(later as i16);
                }
                if AGED {
                    score = score.saturating_add(ageing.of(since[l]) as i16);
                }
                scores[l] = score;
                least[l] = least[l].min(score);
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

    /// Whether a score, with that for age if `AGED`, is also an upper bound of the command's price: the sector passes so
    /// late that even the longest movement over a similar distance ends before. `after` is how much later than the
    /// oldest command it arrived.
    #[inline]
    pub fn is_sure<const AGED: bool>(
        &self,
        chunk: &Chunk,
        (row, score): (usize, u32),
        ageing: &Ageing,
        after: Span,
    ) -> bool {
        let distance = self.cylinder.abs_diff(chunk.cylinder[row]);
        let write = usize::from(chunk.angle[row] & WRITE != 0);
        let at = self.floor.entry(distance) + write * DISTANCES;
        let moved = u32::from(self.floor.moves[at]);
        let spread = u32::from(self.floor.spread[at]);
        let later = u32::from(self.later[write]);
        let age = if AGED { u32::from(ageing.of(chunk.since[row])) } else { 0 };
        let wait = score.saturating_sub(moved + later + age);
        // A delay at the limit may be longer in truth.
        wait >= spread + EXCESS && later < LONGEST_DELAY * TURN && (!AGED || (score < NEVER && ageing.knows(after)))
    }

    /// A lower bound of the scores of all commands on one cylinder at angles from `first` to `last`.
    #[inline]
    pub fn score_of_range(&self, cylinder: u32, (first, last): (u32, u32)) -> u32 {
        let at = self.floor.entry(self.cylinder.abs_diff(cylinder));
        let score = |write: usize| {
            let turn = u32::from(self.turn);
            let moved = u32::from(self.floor.moves[at + write * DISTANCES]);
            let ahead = first.wrapping_add(u32::from(self.ahead[write]));
            let ahead = ahead.wrapping_sub(moved) & turn;
            let wait = if ahead + (last - first) > turn { 0 } else { ahead };
            wait + moved + u32::from(self.later[write])
        };
        score(0).min(score(1))
    }
}
