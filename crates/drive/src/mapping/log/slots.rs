//! The free slots of a unit, and the search for the one that the heads reach soonest.
//!
//! # Model
//! Free slots are kept by cylinder. A cylinder takes memory when the search first looks at it; until then its slots are
//! free, except those of blocks that lie in order. The search goes outward from the arm and skips full cylinders. It
//! ends when no farther slot can be reached earlier than the best one found: when the movement alone takes longer, or,
//! if all tracks share one grid of slots, when the next slot of the grid passes later. So its cost depends on how full
//! the cylinders near the arm are, and not on the size of the disk.
//!
//! On a grid, slots of hundreds of cylinders pass at the same moment. To take one at random, seek distances that the
//! arm can cover in time are drawn until there is a free slot at one.

use super::cylinder::{Class, Cylinder, SlotAt};
use super::grid::SlotGrid;
use super::initial::InOrder;
use super::levels::Levels;
use crate::mechanics::{Arm, Mechanics};
use headstack_engine::random::nth;
use headstack_schema::Choice;
use headstack_units::{Span, Time};

/// The slot for a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub cylinder: u32,
    pub at: SlotAt,
    /// Time from the start until the slot is under the head.
    pub cost: Span,
}

/// The state from which a write starts.
#[derive(Clone, Copy)]
pub struct From<'a> {
    pub mechanics: &'a Mechanics,
    pub arm: &'a Arm,
    /// When the arm may start to move.
    pub start: Time,
    /// When the data are in the buffer: the slot does not begin before.
    pub ready: Time,
    /// Lower bound of the time of a movement.
    pub minimum: Span,
}

/// Which of several slots is taken if they pass under the heads at the same time.
///
/// Such ties are common: an arm that reaches the next cylinder a microsecond later still waits for the same moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum Ties {
    /// The slot in the nearest cylinder; of two equally near ones, in the lower one.
    #[default]
    Nearest,
    /// The slot at one of these distances, drawn with equal probability; of two cylinders at this distance, the lower
    /// one. So the written area grows into new cylinders only where the old ones have no such slot.
    Any,
}

/// Times that differ by at most this count as equal, because each is rounded twice.
const SAME: Span = Span(2);

/// The free slots of a unit.
#[derive(Debug)]
pub struct FreeSlots {
    cylinders: Box<[Option<Box<Cylinder>>]>,
    /// The cylinders that may have a free slot: whole, broken.
    some: [Levels; 2],
    /// Number of surfaces.
    pub surfaces: u32,
    shift: u32,
    /// Number of slots.
    pub slots: u64,
    /// The last cylinder in which slots begin.
    pub last: u32,
    /// The slots that were taken at first.
    pub initial: InOrder,
    /// For each distance the shortest seek over it or more, if seek times do not grow with distance.
    least_seek_ns: Option<Box<[u32]>>,
    /// The grid on which all slots begin, if there is one.
    grid: Option<SlotGrid>,
}

/// Number of distances that are drawn at random before all are examined.
const DRAWS: u32 = 32;

impl FreeSlots {
    /// The slots of a unit with so many surfaces, of `1 << shift` sectors each. All are free except those of the initial blocks.
    pub fn new(m: &Mechanics, surfaces: u32, shift: u32, initial: InOrder) -> FreeSlots {
        let cylinders = m.seek.positions();
        let least_seek_ns = least_seek_ns(m);
        let farther_is_later = least_seek_ns.is_none();
        let mut made = FreeSlots {
            cylinders: (0..cylinders).map(|_| None).collect(),
            some: [Levels::all(cylinders), Levels::all(cylinders)],
            surfaces,
            shift,
            slots: m.layout.capacity() >> shift,
            last: 0,
            initial,
            least_seek_ns,
            grid: SlotGrid::new(m, shift).filter(|_| farther_is_later),
        };
        let has_slots = |c: &u32| !made.make(m, *c).tracks.is_empty();
        made.last = (0..cylinders).rev().find(has_slots).unwrap_or(0);
        made.skip_taken(m);
        made
    }

    /// The slots of a cylinder as they were at first.
    fn make(&self, m: &Mechanics, c: u32) -> Cylinder {
        let sizes = (self.shift, self.slots);
        Cylinder::new(&*m.layout, c, self.surfaces, sizes, &self.initial)
    }

    /// Number of cylinders, with those that have no slots.
    fn cylinders(&self) -> u32 {
        self.cylinders.len() as u32
    }

    /// Removes the cylinders whose slots are all taken at first.
    fn skip_taken(&mut self, m: &Mechanics) {
        if self.initial.past() == 0 || !self.initial.is_dense() {
            return;
        }
        let mut open = Levels::all(self.cylinders());
        (0..self.cylinders()).for_each(|c| open.remove(c));
        let mut at = self.initial.past() << self.shift;
        while let Some(place) = m.layout.locate(at) {
            open.insert(place.cylinder);
            at += u64::from(place.run.max(1));
        }
        for c in 0..self.cylinders() {
            if !open.contains(c) {
                self.some.iter_mut().for_each(|s| s.remove(c));
            }
        }
    }

    /// The slots of a cylinder.
    #[inline]
    pub fn cylinder(&mut self, m: &Mechanics, c: u32) -> &mut Cylinder {
        if self.cylinders[c as usize].is_none() {
            let made = self.make(m, c);
            for class in [Class::Whole, Class::Broken] {
                if made.free(class) == 0 {
                    self.some[class as usize].remove(c);
                }
            }
            self.cylinders[c as usize] = Some(Box::new(made));
        }
        match &mut self.cylinders[c as usize] {
            Some(made) => made,
            None => unreachable!("made above"),
        }
    }

    /// Whether a cylinder has a free slot of a class.
    pub fn has(&mut self, m: &Mechanics, c: u32, class: Class) -> bool {
        self.some[class as usize].contains(c) && self.cylinder(m, c).free(class) > 0
    }

    /// The free cylinder of a class nearest to `c`, the lower one of two.
    #[inline]
    pub fn nearest(&mut self, m: &Mechanics, c: u32, class: Class) -> Option<u32> {
        loop {
            let some = &self.some[class as usize];
            let (up, down) = (some.next(c), some.previous(c));
            let found = match (up, down) {
                (Some(u), Some(d)) => {
                    if c - d <= u - c {
                        d
                    } else {
                        u
                    }
                }
                (u, d) => u.or(d)?,
            };
            if self.has(m, found, class) {
                return Some(found);
            }
        }
    }

    /// The first free cylinder of a class at or after `c`.
    #[inline]
    pub fn next(&mut self, m: &Mechanics, c: u32, class: Class) -> Option<u32> {
        loop {
            let found = self.some[class as usize].next(c)?;
            if self.has(m, found, class) {
                return Some(found);
            }
        }
    }

    /// The free slot of a cylinder that is reached soonest, if it is reached within `within`.
    #[inline]
    pub fn soonest_in(&mut self, from: &From, c: u32, class: Class, within: Span) -> Option<Found> {
        let (m, arm) = (from.mechanics, from.arm);
        let slots = self.cylinder(m, c);
        if slots.free(class) == 0 {
            return None;
        }
        let mut best: Option<Found> = None;
        // The movement takes the same time to all surfaces except the one in use.
        let mut before = (Span::FOREVER, Default::default());
        // The head in use comes first, so that it is kept if times are equal.
        let heads = slots.heads();
        let own = if arm.head < heads { arm.head } else { 0 };
        for i in 0..heads {
            let head = match i {
                0 => own,
                i if i <= own => i - 1,
                i => i,
            };
            let moved = m.move_time(arm, c, head, true).max(from.minimum);
            if moved != before.0 {
                let there = from.start.after(moved).max(from.ready);
                let under = m.rotation.angle_at(there).since(arm.angle);
                before = (moved, (there, under));
            }
            let (there, under) = before.1;
            let most = best.map_or(within, |b| (b.cost - Span(1)).max(Span::ZERO));
            if there.span_from(from.start) > most {
                continue;
            }
            if let Some((ahead, at)) = slots.first_after(head, under, class) {
                let cost = there.after(m.wait_for(ahead)).span_from(from.start);
                if cost <= most {
                    best = Some(Found { cylinder: c, at, cost });
                }
            }
        }
        best
    }

    /// The free slot of the whole disk that is reached first. If several are equal: the one in the nearest (then the
    /// lower) cylinder and under the head in use, or one at any distance, as [`Ties`] says.
    #[inline]
    pub fn soonest(&mut self, from: &From, class: Class, ties: Ties) -> Option<Found> {
        let Some(grid) = self.grid else { return self.search(from, class, ties) };
        let best = self.search_on_grid(&grid, from, class)?;
        match ties {
            Ties::Nearest => Some(best),
            Ties::Any => Some(self.any_like(from, class, best)),
        }
    }

    /// The search outward from the arm.
    fn search(&mut self, from: &From, class: Class, ties: Ties) -> Option<Found> {
        let here = from.arm.cylinder;
        let mut best = self.in_own_cylinder(from, class);
        let mut rank = best.map_or(0, |b| rank_of(from, &b));
        let mut outward = Outward::new(here);
        while let Some(c) = outward.next(&self.some[class as usize]) {
            if best.is_some_and(|b| self.least_move(from, here.abs_diff(c)) >= b.cost) {
                break;
            }
            let within = best.map_or(Span::FOREVER, |b| b.cost + SAME);
            if let Some(found) = self.soonest_in(from, c, class, within) {
                let better = best.is_none_or(|b| found.cost + SAME < b.cost);
                let other = rank_of(from, &found);
                if better || (ties == Ties::Any && other > rank) {
                    (best, rank) = (Some(found), other);
                }
            }
        }
        best
    }

    /// The same on a grid, where no farther slot is reached before the next one of the grid.
    #[inline]
    fn search_on_grid(&mut self, grid: &SlotGrid, from: &From, class: Class) -> Option<Found> {
        let here = from.arm.cylinder;
        let mut best = self.in_own_cylinder(from, class);
        let mut outward = Outward::new(here);
        let (mut distance, mut next, mut cost) = (0, 0, Span::ZERO);
        while let Some(c) = outward.next(&self.some[class as usize]) {
            if here.abs_diff(c) != distance {
                distance = here.abs_diff(c);
                (next, cost) = self.next_on_grid(grid, from, distance);
            }
            // Costs are rounded.
            if best.is_some_and(|b| cost + SAME >= b.cost) {
                break;
            }
            let slots = self.cylinder(from.mechanics, c);
            if let Some(at) = slots.free_at(next, class, from.arm.head) {
                return Some(Found { cylinder: c, at, cost });
            }
            let within = best.map_or(Span::FOREVER, |b| (b.cost - SAME - Span(1)).max(Span::ZERO));
            best = self.soonest_in(from, c, class, within).or(best);
        }
        best
    }

    fn in_own_cylinder(&mut self, from: &From, class: Class) -> Option<Found> {
        let here = from.arm.cylinder;
        match self.some[class as usize].contains(here) {
            true => self.soonest_in(from, here, class, Span::FOREVER),
            false => None,
        }
    }

    /// The number of the slot that passes next after the arm has moved over `distance` cylinders (at least one), and
    /// the time from the start until then.
    #[inline]
    fn next_on_grid(&self, grid: &SlotGrid, from: &From, distance: u32) -> (u32, Span) {
        let m = from.mechanics;
        let there = from.start.after(self.least_move(from, distance)).max(from.ready);
        let under = m.rotation.angle_at(there).since(from.arm.angle);
        let (next, ahead) = grid.next(under);
        (next, there.after(m.wait_for(ahead)).span_from(from.start))
    }

    /// On a grid: a slot that passes at the same time as `best`, at one of the distances that have one, drawn with
    /// equal probability.
    #[inline]
    fn any_like(&mut self, from: &From, class: Class, best: Found) -> Found {
        let (mut reached, mut past) = (0, self.cylinders());
        while past - reached > 1 {
            let middle = reached + (past - reached) / 2;
            if self.least_move(from, middle) <= best.cost {
                reached = middle;
            } else {
                past = middle;
            }
        }
        if reached == 0 {
            return best;
        }
        for draw in 0..DRAWS {
            let of = u128::from(reached) + 1;
            let distance = ((u128::from(nth(from.start.0, draw)) * of) >> 64) as u32;
            if let Some(found) = self.like_at(from, class, distance, &best) {
                return found;
            }
        }
        let mut chosen = (0, best);
        for distance in 0..=reached {
            let rank = nth(from.start.0, DRAWS + distance);
            if rank >= chosen.0 {
                if let Some(found) = self.like_at(from, class, distance, &best) {
                    chosen = (rank, found);
                }
            }
        }
        chosen.1
    }

    /// On a grid: a slot that passes at the same time as `best`, in the lower cylinder at a distance or else in the
    /// upper one.
    #[inline]
    fn like_at(&mut self, from: &From, class: Class, distance: u32, best: &Found) -> Option<Found> {
        let here = from.arm.cylinder;
        if distance == 0 {
            let own = self.in_own_cylinder(from, class);
            return own.filter(|f| f.cost <= best.cost + SAME);
        }
        let lower = here.checked_sub(distance);
        let upper = here.checked_add(distance);
        for c in [lower, upper].into_iter().flatten() {
            // A set contains no cylinder past its end.
            if self.some[class as usize].contains(c) {
                let slots = self.cylinder(from.mechanics, c);
                if let Some(at) = slots.free_at(best.at.ordinal, class, from.arm.head) {
                    let cost = best.cost;
                    return Some(Found { cylinder: c, at, cost });
                }
            }
        }
        None
    }

    /// A lower bound of the time of a write's movement over `distance` cylinders or more.
    #[inline]
    fn least_move(&self, from: &From, distance: u32) -> Span {
        let m = from.mechanics;
        let seek = match &self.least_seek_ns {
            None => m.seek.time(distance),
            Some(least) => Span(least[distance as usize].into()),
        };
        (seek + m.write_settle).max(from.minimum)
    }

    /// Takes a free slot. Returns its class; `None` if there is no such slot.
    #[inline]
    pub fn take(&mut self, found: &Found) -> Option<Class> {
        let c = self.cylinders[found.cylinder as usize].as_mut()?;
        let (class, left) = c.set(&found.at, false);
        if left == 0 {
            self.some[class as usize].remove(found.cylinder);
        }
        Some(class)
    }

    /// Frees a slot. Returns its cylinder and class; `None` if there is no such slot.
    #[inline]
    pub fn free(&mut self, m: &Mechanics, slot: u64) -> Option<(u32, Class)> {
        let place = m.layout.locate(slot << self.shift)?;
        let c = self.cylinder(m, place.cylinder);
        let at = c.find(slot, &place)?;
        let (class, _) = c.set(&at, true);
        self.some[class as usize].insert(place.cylinder);
        Some((place.cylinder, class))
    }

    /// Takes a slot for good: no block is ever written into it.
    pub fn withdraw(&mut self, m: &Mechanics, slot: u64) {
        let Some(place) = m.layout.locate(slot << self.shift) else { return };
        let c = self.cylinder(m, place.cylinder);
        if let Some(at) = c.find(slot, &place) {
            let (class, left) = c.set(&at, false);
            if left == 0 {
                self.some[class as usize].remove(place.cylinder);
            }
        }
    }

    /// The slots of a cylinder that are not free, surface by surface.
    pub fn taken_in(&mut self, m: &Mechanics, c: u32) -> Vec<SlotAt> {
        self.cylinder(m, c).taken()
    }
}

/// The cylinders of a set from the nearest to the farthest, without the one under the heads. Of two equally near ones
/// the lower comes first.
struct Outward {
    here: u32,
    below: u32,
    above: u32,
}

impl Outward {
    fn new(here: u32) -> Outward {
        let (below, above) = (here, here + 1);
        Outward { here, below, above }
    }

    #[inline]
    fn next(&mut self, set: &Levels) -> Option<u32> {
        let (down, up) = (set.previous(self.below), set.next(self.above));
        let c = match (down, up) {
            (Some(d), Some(u)) if self.here - d <= u - self.here => d,
            (Some(d), None) => d,
            (_, Some(u)) => u,
            (None, None) => return None,
        };
        if c < self.here {
            self.below = c;
        } else {
            self.above = c + 1;
        }
        Some(c)
    }
}

/// A pseudo-random number that chooses one of several distances. It depends on the start of the write and is uniformly
/// distributed.
#[inline]
fn rank_of(from: &From, found: &Found) -> u64 {
    nth(from.start.0, found.cylinder.abs_diff(from.arm.cylinder))
}

/// For each distance the shortest seek over this distance or a longer one; `None` if seek times never decrease with
/// distance.
fn least_seek_ns(m: &Mechanics) -> Option<Box<[u32]>> {
    let mut least: Vec<u32> = (0..m.seek.positions()).map(|d| m.seek.time(d).0 as u32).collect();
    if least.is_sorted() {
        return None;
    }
    for d in (1..least.len()).rev() {
        least[d - 1] = least[d - 1].min(least[d]);
    }
    Some(least.into())
}
