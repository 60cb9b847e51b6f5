//! Cleaning of a log: the blocks of one cylinder after the other are moved, so that the cylinder becomes empty.
//!
//! # Model
//! Cleaning starts when less than the share `low` of the cylinders is empty, and stops when the share `high` is empty.
//! The policy chooses a cylinder. Its blocks are read track by track, in the order in which they pass under the head.
//! After each track they are written, each to the slot of the target cylinder that is reached first.
//!
//! A cylinder is emptied only if the holes of other cylinders can take all its blocks. So each emptied cylinder gives
//! one more empty cylinder or fills a target, and cleaning ends when the holes are used up. It tries again when the
//! host has written as many blocks as a cylinder holds.
//!
//! If the host writes a block that cleaning has read, the host's copy stays and cleaning does not write the block.

use super::cylinder::SlotAt;
use super::segments::{Counts, Segments};
use super::slots::From;
use super::{Class, Found, Log, Moved, SlotUse};
use crate::layout::Place;
use crate::mapping::cleaning::{Cleaner, Cleaning, Segment, Target};
use crate::mechanics::{Arm, Mechanics};
use crate::service::pass::{AccessRequest, Places};
use headstack_units::{Span, Time};

/// The cleaning of a log and its state.
#[derive(Debug)]
pub struct Clean {
    pub segments: Segments,
    policy: Box<dyn Cleaner>,
    /// Shares of the cylinders, as in the table `[mapping.cleaning]`.
    low: f64,
    high: f64,
    pressed: f64,
    moves: u32,
    /// Whether cleaning has started because of `low` and not yet stopped because of `high`.
    active: bool,
    /// The value of `taken` when cleaning last found nothing to do.
    nothing_at: Option<u64>,
    /// Number of slots that the host has ever taken.
    taken: u64,
    /// The cylinder that is being emptied.
    victim: Option<Victim>,
    /// The cylinder that takes the moved blocks.
    target: Option<u32>,
}

/// A cylinder that is being emptied.
#[derive(Debug)]
struct Victim {
    cylinder: u32,
    changed: Time,
    /// Its slots that are still to be read, surface by surface from the last one on.
    slots: Vec<SlotAt>,
    /// Blocks that have been read.
    held: Vec<Held>,
}

/// A block that has been read and waits to be written.
#[derive(Debug, Clone, Copy)]
struct Held {
    block: u64,
    /// The slot from which it was read.
    slot: u64,
    /// When its data are in the buffer.
    ready: Time,
}

/// What cleaning does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// A block is read.
    Read(u64),
    /// A block is written into this cylinder.
    Write {
        block: u64,
        cylinder: u32,
        /// When its data are in the buffer.
        ready: Time,
    },
}

impl Clean {
    /// Nothing is under way.
    pub fn new(p: &Cleaning, policy: Box<dyn Cleaner>, segments: Segments) -> Clean {
        let mut made = Clean {
            segments,
            policy,
            low: p.low,
            high: p.high,
            pressed: p.pressed,
            moves: p.moves,
            active: false,
            nothing_at: None,
            taken: 0,
            victim: None,
            target: None,
        };
        made.look();
        made
    }

    /// Share of the cylinders that is empty.
    pub fn empty_share(&self) -> f64 {
        f64::from(self.segments.empty) / f64::from(self.segments.cylinders_used.max(1))
    }

    /// Compares the share of empty cylinders with the thresholds.
    pub fn look(&mut self) {
        let share = self.empty_share();
        self.active = share < self.low || (self.active && share < self.high);
    }

    /// Whether there is something to do.
    fn wants(&self) -> bool {
        let looks = self.active && self.nothing_at.is_none_or(|t| t <= self.taken);
        looks || self.victim.is_some()
    }

    /// Chooses the next cylinder to empty.
    fn choose(&self, now: Time) -> Option<(u32, Counts)> {
        let mut best: Option<(f64, u32, Counts)> = None;
        for (n, c) in self.segments.all() {
            let candidate = c.used > 0 && c.open > 0 && Some(n) != self.target;
            if !candidate || !self.segments.fits_elsewhere(c) {
                continue;
            }
            let worth =
                self.policy.worth(&Segment { live: c.used, slots: c.slots, age_s: now.since(c.changed).as_secs_f64() });
            if best.as_ref().is_none_or(|b| worth > b.0) {
                best = Some((worth, n, *c));
            }
        }
        best.map(|b| (b.1, b.2))
    }

    /// The cylinder that takes the next block of `victim`, for an arm at `here`.
    fn target(&mut self, victim: u32, here: u32) -> Option<u32> {
        let open = |t: &u32| self.segments.of(*t).open > 0 && *t != victim;
        if self.target.filter(open).is_none() {
            let empty = match self.policy.target() {
                Target::Empty => self.segments.nearest_empty(here),
                Target::Holes => None,
            };
            self.target = empty.or_else(|| self.segments.fullest_with_hole(victim));
        }
        self.target
    }
}

impl Log {
    /// Whether cleaning has something to do.
    pub fn wants_cleaning(&self) -> bool {
        self.clean.as_ref().is_some_and(|c| c.wants())
    }

    /// How many blocks are moved after a write; 0 unless so few cylinders are empty that cleaning does not
    /// wait for idle time.
    pub fn pressure(&self) -> u32 {
        let pressed = |c: &&Clean| c.wants() && c.empty_share() < c.pressed;
        self.clean.as_deref().filter(pressed).map_or(0, |c| c.moves)
    }

    /// The next move of cleaning, with an arm that is free at `at`; `None` if there is nothing to do, which is
    /// remembered.
    #[inline]
    pub fn next_move(&mut self, m: &Mechanics, arm: &Arm, at: Time) -> Option<Move> {
        loop {
            if self.clean.as_ref()?.victim.is_none() && !self.choose_victim(m, at) {
                return None;
            }
            if let Some(next) = self.move_of_victim(m, arm, at) {
                return Some(next);
            }
            self.clean.as_mut()?.victim = None;
        }
    }

    /// Chooses a cylinder to empty. False if there is none.
    fn choose_victim(&mut self, m: &Mechanics, at: Time) -> bool {
        let Some(clean) = &mut self.clean else { return false };
        if !clean.wants() {
            return false;
        }
        let chosen = clean.choose(at);
        let Some((cylinder, counts)) = chosen else { return self.rest_cleaning() };
        let mut slots = self.slots.taken_in(m, cylinder);
        slots.retain(|s| self.movable(s.slot).is_some());
        if slots.is_empty() {
            // All of them are being written, or are still being read.
            return self.rest_cleaning();
        }
        if let Some(clean) = &mut self.clean {
            clean.victim = Some(Victim { cylinder, changed: counts.changed, slots, held: Vec::new() });
        }
        true
    }

    /// Cleaning looks again when as many slots have been taken as a cylinder has.
    fn rest_cleaning(&mut self) -> bool {
        if let Some(clean) = &mut self.clean {
            let most = clean.segments.all().map(|(_, c)| c.slots).max();
            clean.nothing_at = Some(clean.taken + u64::from(most.unwrap_or(1)));
        }
        false
    }

    /// The block in a slot, if it is not being written elsewhere.
    fn movable(&self, slot: u64) -> Option<u64> {
        let block = self.clean.as_ref()?.segments.blocks.get(slot)?;
        let written = self.under_way.written.iter().any(|w| w.block == block);
        (!written).then_some(block)
    }

    /// The next block of the cylinder that is being emptied; `None` if all have been moved.
    fn move_of_victim(&mut self, m: &Mechanics, arm: &Arm, at: Time) -> Option<Move> {
        loop {
            let victim = self.clean.as_ref()?.victim.as_ref()?;
            let head = victim.slots.last().map(|s| s.head);
            let track_read = match (victim.held.last(), head) {
                (Some(_), None) => true,
                (Some(held), Some(head)) => {
                    let place = m.layout.locate(held.slot << self.shift);
                    place.is_none_or(|p| p.head != head)
                }
                (None, Some(_)) => false,
                (None, None) => return None,
            };
            let next = if track_read { self.next_write(arm) } else { self.next_read(m, arm, at) };
            if next.is_some() {
                return next;
            }
        }
    }

    /// Chooses the block of the present track that passes first; it is held from now on. `None` if the block examined
    /// need not be moved.
    fn next_read(&mut self, m: &Mechanics, arm: &Arm, at: Time) -> Option<Move> {
        let shift = self.shift;
        let victim = self.clean.as_mut()?.victim.as_mut()?;
        let head = victim.slots.last()?.head;
        let track = victim.slots.iter().enumerate().rev();
        let track = track.take_while(|(_, s)| s.head == head);
        let first = track.min_by_key(|(_, s)| {
            let place = m.layout.locate(s.slot << shift);
            place.map_or(Span::FOREVER, |p| m.position(arm, &p, false, at).total())
        })?;
        // The order within the track does not matter.
        let slot = victim.slots.remove(first.0).slot;
        let block = self.movable(slot)?;
        self.clean.as_mut()?.victim.as_mut()?.held.push(Held { block, slot, ready: Time::NEVER });
        Some(Move::Read(block))
    }

    /// The next block that has been read, with the cylinder into which it is written. `None` if it no longer needs to
    /// be moved.
    fn next_write(&mut self, arm: &Arm) -> Option<Move> {
        let clean = self.clean.as_mut()?;
        let victim = clean.victim.as_mut()?;
        let cylinder = victim.cylinder;
        let Held { block, slot, ready } = victim.held.pop()?;
        if self.movable(slot) != Some(block) {
            return None;
        }
        let clean = self.clean.as_mut()?;
        let Some(target) = clean.target(cylinder, arm.cylinder) else {
            // Other writes have used up the holes. The remaining blocks stay where they are.
            if let Some(victim) = &mut clean.victim {
                victim.slots.clear();
                victim.held.clear();
            }
            self.rest_cleaning();
            return None;
        };
        Some(Move::Write { block, cylinder: target, ready })
    }

    /// Takes the soonest whole slot of a cylinder for a block that is moved.
    fn take_in(
        &mut self,
        m: &Mechanics,
        (block, cylinder, ready): (u64, u32, Time),
        (arm, at): (&Arm, Time),
    ) -> Option<u64> {
        let from = From { mechanics: m, arm, start: at, ready, minimum: self.minimum_write };
        let found = self.slots.soonest_in(&from, cylinder, Class::Whole, Span::FOREVER)?;
        let clean = self.clean.as_mut()?;
        self.counted.n_moved_blocks += 1;
        let changed = clean.victim.as_ref().map_or(at, |v| v.changed);
        let by = SlotUse { at: changed, moved: Moved::Yes };
        self.take(m, block, &found, by);
        Some(found.at.slot)
    }

    /// The block that was read last is in the buffer at `end`.
    pub fn read_ends(&mut self, end: Time) {
        let victim = self.clean.as_mut().and_then(|c| c.victim.as_mut());
        if let Some(held) = victim.and_then(|v| v.held.last_mut()) {
            held.ready = end;
        }
    }

    /// The order that reads or writes a block that is moved, not before `at`.
    pub fn order_of(&self, next: &Move, at: Time) -> AccessRequest<'static> {
        let (block, write) = match next {
            Move::Read(block) => (*block, false),
            Move::Write { block, .. } => (*block, true),
        };
        AccessRequest {
            write,
            minimum_move: if write { self.minimum_write } else { Span::ZERO },
            ..AccessRequest::plain(block << self.shift, self.block_sectors(), at)
        }
    }

    /// Cleaning counts a slot that was taken for a block.
    pub fn count_taken(&mut self, block: u64, found: &Found, class: Option<Class>, by: SlotUse) {
        let Some(clean) = &mut self.clean else { return };
        if let Some(class) = class {
            clean.segments.took(found.cylinder, class, by.at);
        }
        clean.look();
        if by.moved == Moved::No {
            clean.taken += 1;
            self.forget_moves(block);
        }
    }

    /// Cleaning counts a slot that became free, of this cylinder and class.
    pub fn count_freed(&mut self, freed: Option<(u32, Class)>) {
        if let (Some(clean), Some((cylinder, class))) = (&mut self.clean, freed) {
            clean.segments.freed(cylinder, class);
            clean.look();
        }
    }

    /// Cleaning notes in which slot a block lies from now on.
    #[inline]
    pub fn count_moved(&mut self, block: u64, old: Option<u64>, slot: u64) {
        if let Some(clean) = &mut self.clean {
            clean.segments.moves(block, old, slot);
        }
    }

    /// The host writes a block: the copy that cleaning has read or is writing is no longer used.
    pub fn forget_moves(&mut self, block: u64) {
        let Some(clean) = &mut self.clean else { return };
        if let Some(victim) = &mut clean.victim {
            victim.held.retain(|h| h.block != block);
        }
        for w in &mut self.under_way.written {
            if w.block == block && w.moved == Moved::Yes {
                w.moved = Moved::Stale;
            }
        }
    }

    /// From now on the log is cleaned.
    pub fn clean_with(&mut self, p: &Cleaning, policy: Box<dyn Cleaner>, m: &Mechanics) {
        let all = self.slots.slots;
        let sizes = (all, self.blocks, all - self.withdrawn);
        let segments = Segments::new(m, self.shift, sizes, self.slots.initial);
        self.clean = Some(Box::new(Clean::new(p, policy, segments)));
    }
}

/// Chooses the slot of a block that is moved.
pub struct Mover<'a> {
    pub log: &'a mut Log,
    pub cylinder: u32,
    pub ready: Time,
}

impl Places for Mover<'_> {
    fn place(&mut self, m: &Mechanics, order: &AccessRequest, done: u32, arm: &Arm, at: Time) -> Option<Place> {
        let log = &mut *self.log;
        let block = (order.sector + u64::from(done)) >> log.shift;
        let slot = log.take_in(m, (block, self.cylinder, self.ready), (arm, at))?;
        log.place_in(m, slot, 0)
    }
}
