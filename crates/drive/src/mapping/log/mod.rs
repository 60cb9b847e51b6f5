//! A log mapping: each block is written to the free slot that the heads reach first.
//!
//! # Model
//! The medium is divided into slots. A slot holds one block and consists of consecutive addresses of the layout. A map
//! gives the slot of each block's current copy. When the arm may start to move for a write, the policy chooses a free
//! slot; then the slot of the old copy becomes free. A block that was never written is read from the slot with its own
//! number, as on a drive without a mapping.
//!
//! A cylinder of the log is the tracks at one radial position. With the layout `adaptive` these are steps of a quarter
//! of a nominal cylinder, and not every surface has a track at each step.
//!
//! A write that covers a block only in part reads the old copy first.
//!
//! When no whole slot is free, broken ones are taken (`Cylinder`). When no slot at all is free, a block is written in
//! place, over its old copy. There are at least as many slots as blocks, so every block has one.
//!
//! If several commands are in service at once, a block counts as lying in its old slot until its write has ended. The
//! old slot is not used again while a command in service may still read it.
//! # Source
//! J. A. Chandy, "A Dual Actuator Logging Disk Architecture"; R. Y. Wang, T. E. Anderson, D. A. Patterson,
//! "Virtual Log Based File Systems for a Programmable Disk", OSDI 1999.
//! # Validity
//! The map is in memory. `recovery` models checkpoints of the map and the time to restore it after a loss of power;
//! without it both take no time.

pub mod clean;
pub mod cylinder;
pub mod grid;
pub mod initial;
pub mod levels;
pub mod map;
pub mod recovery;
pub mod segments;
pub mod slots;
pub mod write;

pub use clean::{Move, Mover};

use super::moves::Moves;
use super::parameters::{Initial, LogParameters, RecoveryModel};
use super::policy::{Policy, Search, Slot};
use crate::counters::Counters;
use crate::layout::Place;
use crate::mechanics::{Arm, Mechanics};
use crate::spec::GeometrySpec;
use clean::Clean;
use cylinder::Class;
use headstack_engine::{random, SpecError};
use headstack_units::{Span, Time};
use initial::InOrder;
use map::BlockMap;
use rand::RngCore;
use recovery::Checkpoints;
pub use slots::From;
use slots::{Found, FreeSlots, Ties};

/// A log mapping and its state.
#[derive(Debug)]
pub struct Log {
    /// Base-2 logarithm of the physical sectors of a block.
    shift: u32,
    /// Number of blocks that are offered.
    pub blocks: u64,
    pub map: BlockMap,
    pub slots: FreeSlots,
    policy: Box<dyn Policy>,
    /// The highest cylinder in which a slot was ever taken.
    pub frontier: u32,
    /// Time in which a sector of the first track passes, in nanoseconds.
    sector_ns: f64,
    /// Lower bound of a write's movement.
    minimum_write: Span,
    pub under_way: UnderWay,
    pub(super) moves: Moves,
    /// What is counted: blocks moved, blocks written over their old copy, checkpoints.
    pub counted: Counters,
    /// Cleaning, if the log is cleaned.
    pub clean: Option<Box<Clean>>,
    /// How the map is found after a loss of power.
    recovery: RecoveryModel,
    /// Checkpoints, if they are written.
    pub checkpoints: Option<Box<Checkpoints>>,
    /// Number of slots that hold checkpoints: the last ones of the disk.
    withdrawn: u64,
}

/// What is not settled yet because several commands may be in service at once.
#[derive(Debug, Default)]
pub struct UnderWay {
    /// Whether several may be. If not, nothing is ever unsettled.
    several: bool,
    /// Blocks that are being written, with their new slots and the end of their pass.
    pub written: Vec<Written>,
    /// When the latest pass that wrote blocks ended or ends.
    written_until: Time,
    /// Slots that become free when no service can read them any more, and when that is.
    pub released: Vec<(u64, Time)>,
}

/// A block on its way to a slot.
#[derive(Debug, Clone, Copy)]
pub struct Written {
    block: u64,
    slot: u64,
    end: Time,
    moved: Moved,
}

/// Whose copy is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    /// That of the host.
    No,
    /// Cleaning writes the block again.
    Yes,
    /// Cleaning writes the block again, but the host has written it since, so this copy is not used.
    Stale,
}

/// Why and when a slot is taken.
#[derive(Debug, Clone, Copy)]
pub struct SlotUse {
    /// For a moved block: the time at which its old cylinder was last written.
    pub at: Time,
    pub moved: Moved,
}

/// Number of sectors that are offered of a layout with this many physical sectors.
pub fn offered_sectors(p: &LogParameters, sector: u64, capacity: u64) -> u64 {
    sizes(p, sector, capacity).1 << shift(p, sector)
}

/// Number of slots of a geometry, and of blocks that are offered.
fn sizes(p: &LogParameters, sector: u64, capacity: u64) -> (u64, u64) {
    let slots = capacity >> shift(p, sector);
    let blocks = slots - (slots as f64 * p.reserve) as u64;
    (slots, blocks.min(slots - region_slots(p, sector, slots)))
}

/// Number of slots that two checkpoints take on a disk with this many slots.
fn region_slots(p: &LogParameters, sector: u64, slots: u64) -> u64 {
    if p.recovery.model != RecoveryModel::Checkpoint {
        return 0;
    }
    let sectors = recovery::checkpoint_sectors(slots, BlockMap::bits_for(slots), sector);
    (2 * sectors).div_ceil(1 << shift(p, sector)).min(slots)
}

/// The highest cylinder among the first sectors of the layout, so many of them. It need not be that of the last one:
/// in some layouts the tracks of a band go outward.
fn highest_cylinder(m: &Mechanics, sectors: u64) -> u32 {
    let (mut at, mut highest) = (0, 0);
    while let Some(place) = (at < sectors).then(|| m.layout.locate(at)).flatten() {
        highest = highest.max(place.cylinder);
        at += u64::from(place.run.max(1));
    }
    highest
}

fn shift(p: &LogParameters, sector: u64) -> u32 {
    (p.block.0 / sector).trailing_zeros()
}

impl Log {
    /// The mapping of a unit with this geometry; `together`: several commands may be in service at once.
    ///
    /// # Errors
    /// More initial blocks than the unit offers, or a disk that is smaller than one block.
    pub fn new(
        p: &LogParameters,
        m: &Mechanics,
        geometry: &GeometrySpec,
        policy: Box<dyn Policy>,
        minimum_write: Span,
        together: bool,
    ) -> Result<Log, SpecError> {
        let sector = geometry.sector_size.0;
        let shift = shift(p, sector);
        let (slots, blocks) = sizes(p, sector, m.layout.capacity());
        if blocks == 0 {
            return Err(SpecError::new("mapping.block", p.block, "blocks of which the disk holds one or more"));
        }
        if p.initial_blocks > blocks {
            return Err(SpecError::new(
                "mapping.initial_blocks",
                p.initial_blocks,
                format!("at most the {blocks} blocks that the drive offers"),
            ));
        }
        let initial = match p.initial {
            Initial::InOrder => InOrder::dense(p.initial_blocks),
            Initial::Spread => {
                let offered = slots - region_slots(p, sector, slots);
                InOrder::spread(p.initial_blocks, offered)
            }
            Initial::Written => InOrder::dense(0),
        };
        let first = m.layout.locate(0);
        let mut log = Log {
            shift,
            blocks,
            map: BlockMap::new(blocks, slots, initial),
            slots: FreeSlots::new(m, geometry.surfaces, shift, initial),
            policy,
            frontier: highest_cylinder(m, initial.past() << shift),
            sector_ns: first.map_or(0.0, |p| p.sector_ns),
            minimum_write,
            under_way: UnderWay { several: together, ..UnderWay::default() },
            moves: Moves::default(),
            counted: Counters::default(),
            clean: None,
            recovery: p.recovery.model,
            checkpoints: None,
            withdrawn: 0,
        };
        log.reserve_checkpoints(p, m, sector);
        Ok(log)
    }

    /// Takes the slots of the checkpoints out of use.
    fn reserve_checkpoints(&mut self, p: &LogParameters, m: &Mechanics, sector: u64) {
        let slots = self.slots.slots;
        self.withdrawn = region_slots(p, sector, slots);
        if self.withdrawn > 0 {
            let first = slots - self.withdrawn;
            for slot in first..slots {
                self.slots.withdraw(m, slot);
            }
            let bits = BlockMap::bits_for(slots);
            let sectors = recovery::checkpoint_sectors(slots, bits, sector);
            let made = Checkpoints::new(p.recovery.every, first << self.shift, sectors);
            self.checkpoints = Some(Box::new(made));
        }
    }

    /// Number of physical sectors that have an address.
    #[inline]
    pub fn capacity(&self) -> u64 {
        self.blocks << self.shift
    }

    /// Physical sectors of a block.
    #[inline]
    fn block_sectors(&self) -> u32 {
        1 << self.shift
    }

    /// The slot in which a block is found now.
    #[inline]
    pub fn slot_of(&self, block: u64) -> u64 {
        self.map.get(block).unwrap_or(block)
    }

    /// Writes the present place of the address `sector` into `place`. [`Place::run`] is at least `wanted`, if so many
    /// sectors follow each other on the track.
    // Not inlined, so that it adds no code to the path of drives without a mapping.
    #[inline(never)]
    pub fn locate_into(&self, m: &Mechanics, sector: u64, wanted: u32, place: &mut Place) -> bool {
        if sector >= self.capacity() {
            return false;
        }
        let block = sector >> self.shift;
        let inside = sector & u64::from(self.block_sectors() - 1);
        let slot = self.slot_of(block);
        if !m.layout.locate_into((slot << self.shift) + inside, place) {
            return false;
        }
        let have = self.block_sectors() - inside as u32;
        let run = self.extend(block, slot, have, place.run.min(wanted.max(have)));
        place.run = place.run.min(run);
        place.before = place.before.min(inside as u32);
        true
    }

    /// How many sectors, at most `most`, follow in consecutive slots from this block on. `have` sectors of the block
    /// are left.
    #[inline]
    fn extend(&self, mut block: u64, mut slot: u64, mut have: u32, most: u32) -> u32 {
        while have < most && block + 1 < self.blocks {
            let left = u64::from((most - have).div_ceil(self.block_sectors()));
            // In a page without entries the blocks lie in order.
            let same = self.map.untouched(block + 1, left.min(self.blocks - block - 1));
            if same > 0 && slot == block {
                block += same;
                slot += same;
                have = have.saturating_add((same << self.shift) as u32);
            } else if self.slot_of(block + 1) == slot + 1 {
                block += 1;
                slot += 1;
                have += self.block_sectors();
            } else {
                break;
            }
        }
        have
    }

    /// The first and the last of the addresses around `sector` that lie in consecutive sectors of its track.
    #[inline]
    pub fn track_bounds(&self, m: &Mechanics, sector: u64) -> (u64, u64) {
        let here = sector >> self.shift;
        let inside = sector & u64::from(self.block_sectors() - 1);
        let slot = self.slot_of(here);
        let (low, high) = m.layout.track_bounds((slot << self.shift) + inside);
        let (mut first, mut first_slot) = (here, slot);
        while first > 0 && first_slot << self.shift > low && self.slot_of(first - 1) + 1 == first_slot {
            (first, first_slot) = (first - 1, first_slot - 1);
        }
        let (mut past, mut past_slot) = (here + 1, slot + 1);
        while past < self.blocks && past_slot << self.shift <= high && self.slot_of(past) == past_slot {
            (past, past_slot) = (past + 1, past_slot + 1);
        }
        let before = low.saturating_sub(first_slot << self.shift);
        let behind = ((past_slot << self.shift) - 1).saturating_sub(high);
        ((first << self.shift) + before, (past << self.shift) - 1 - behind)
    }

    /// The slot that a write would take with this arm; `None` if no slot is free.
    #[inline]
    pub fn predict(&mut self, from: &From) -> Option<Found> {
        let mut search = Search { slots: &mut self.slots, from: *from, frontier: self.frontier };
        match self.policy.choose(&mut search) {
            Some(Slot(found)) => Some(found),
            None => self.slots.soonest(from, Class::Broken, Ties::Nearest),
        }
    }

    /// Writes `block` for the first time; the write arrives at `start`. `arms` are the head sets that write. Returns
    /// the one that takes the write, the slot, and the end of the pass.
    fn write_new(&mut self, m: &Mechanics, arms: &[Arm], block: u64, start: Time) -> Option<(usize, Found, Time)> {
        let mut best: Option<(usize, Found)> = None;
        for (i, arm) in arms.iter().enumerate() {
            let found =
                self.predict(&From { mechanics: m, arm, start, ready: Time::ZERO, minimum: self.minimum_write });
            if let Some(found) = found.filter(|f| best.is_none_or(|b| f.cost < b.1.cost)) {
                best = Some((i, found));
            }
        }
        let (i, found) = best?;
        let class = self.slots.take(&found);
        self.note_taken(&found);
        self.map.set(block, found.at.slot);
        let by = SlotUse { at: Time::ZERO, moved: Moved::No };
        self.count_taken(block, &found, class, by);
        self.count_moved(block, None, found.at.slot);
        let place = self.place_in(m, found.at.slot, 0)?;
        let transfer = Mechanics::pass_time(self.block_sectors(), place.sector_ns);
        Some((i, found, start.after(found.cost + transfer)))
    }

    /// Writes the first `count` blocks where the policy chooses, with arrivals of a Poisson process. The arms stay
    /// where the last writes end.
    pub fn write_initial(&mut self, m: &Mechanics, arms: &mut [Arm], (count, interval): (u64, Span), seed: u64) {
        let mut random = random::stream(seed, "initial-blocks");
        let (mut arrival, mut free) = (0.0, Time::ZERO);
        for block in 0..count {
            let uniform = ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
            arrival += -uniform.ln() * interval.0 as f64;
            let start = free.max(Time(arrival as u64));
            let Some((i, found, end)) = self.write_new(m, arms, block, start) else { return };
            (arms[i].cylinder, arms[i].head) = (found.cylinder, found.at.head);
            free = end;
        }
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.restart();
        }
    }

    fn note_taken(&mut self, found: &Found) {
        self.frontier = self.frontier.max(found.cylinder);
        self.policy.took(found.cylinder, self.frontier, self.slots.last);
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.took(found.cylinder, found.at.head);
        }
    }

    /// Takes a slot for a block. The slot of its old copy becomes free at once, unless several commands may be in
    /// service.
    #[inline]
    pub fn take(&mut self, m: &Mechanics, block: u64, found: &Found, by: SlotUse) {
        let class = self.slots.take(found);
        self.note_taken(found);
        if self.clean.is_some() {
            self.count_taken(block, found, class, by);
        }
        if self.under_way.several {
            self.under_way.written.push(Written { block, slot: found.at.slot, end: Time::NEVER, moved: by.moved });
            return;
        }
        let old = self.map.get(block);
        self.map.set(block, found.at.slot);
        self.count_moved(block, old, found.at.slot);
        if let Some(old) = old {
            self.free(m, old);
        }
        self.note_moved(block);
    }

    fn note_moved(&mut self, block: u64) {
        (self.moves).note(block << self.shift, (block + 1) << self.shift);
    }

    /// Brings the map up to `now`: blocks whose pass has ended lie in their new slots. All services that began before
    /// end by `last_end`.
    #[inline]
    pub fn settle(&mut self, m: &Mechanics, now: Time, last_end: Time) {
        if !self.under_way.several {
            return;
        }
        // In order of the ends, so that of two copies of a block the later one stays.
        loop {
            let ended = self.under_way.written.iter().enumerate();
            let ended = ended.filter(|(_, w)| w.end <= now);
            let Some((first, _)) = ended.min_by_key(|(i, w)| (w.end, *i)) else { break };
            self.commit(first, last_end);
        }
        let mut i = 0;
        while i < self.under_way.released.len() {
            let (slot, at) = self.under_way.released[i];
            if at <= now {
                self.free(m, slot);
                self.under_way.released.remove(i);
            } else {
                i += 1;
            }
        }
    }

    /// A block lies in its new slot from now on. The old slot becomes free at `last_end`.
    fn commit(&mut self, index: usize, last_end: Time) {
        let w = self.under_way.written.remove(index);
        if w.moved == Moved::Stale {
            self.under_way.released.push((w.slot, last_end));
            return;
        }
        let old = self.map.get(w.block);
        if let Some(old) = old {
            self.under_way.released.push((old, last_end));
        }
        self.map.set(w.block, w.slot);
        self.count_moved(w.block, old, w.slot);
        self.note_moved(w.block);
    }

    /// Frees all slots that wait for services to end. Used when the disk has no other free slot; a real drive would let
    /// the write wait.
    fn free_early(&mut self, m: &Mechanics) {
        while !self.under_way.written.is_empty() {
            self.commit(0, Time::ZERO);
        }
        for (slot, _) in std::mem::take(&mut self.under_way.released) {
            self.free(m, slot);
        }
    }

    /// A slot becomes free.
    #[inline]
    fn free(&mut self, m: &Mechanics, slot: u64) {
        let freed = self.slots.free(m, slot);
        if self.clean.is_some() {
            self.count_freed(freed);
        }
    }
}
