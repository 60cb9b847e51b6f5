//! Writes of a log mapping: slots are chosen block by block while the pass proceeds.

use super::slots::{Found, From};
use super::{Log, Moved, SlotUse};
use crate::buffer::PartialSector;
use crate::layout::Place;
use crate::mechanics::{Arm, Mechanics};
use crate::service::pass::{AccessRequest, Places, Supply};
use headstack_units::{Span, Time};

impl Log {
    /// The time from which a block can be written without waiting for its data, so that no sector loses a turn. `done`
    /// sectors of the order were written before.
    fn ready(&self, order: &AccessRequest, done: u32) -> Time {
        let Some(supply) = &order.supply else { return Time::ZERO };
        let needed = if order.link_ns <= self.sector_ns { 1 } else { self.block_sectors() };
        let gate = if done == 0 { supply.gate } else { 1 };
        let sectors = (done + needed).max(gate).min(order.count.max(1));
        supply.start.after(Span((f64::from(sectors) * order.link_ns).ceil() as i64))
    }

    /// Chooses the slot of the block that begins at sector `done` of a write, and takes it.
    fn choose(&mut self, m: &Mechanics, order: &AccessRequest, done: u32, (arm, start): (&Arm, Time)) -> Option<Place> {
        let block = (order.sector + u64::from(done)) >> self.shift;
        let from = From {
            mechanics: m,
            arm,
            start,
            ready: self.ready(order, done),
            minimum: if done == 0 { order.minimum_move } else { Span::ZERO },
        };
        let slot = match self.find(m, &from) {
            Some(found) => {
                let by = SlotUse { at: start, moved: Moved::No };
                self.take(m, block, &found, by);
                found.at.slot
            }
            // No slot is free. There are as many slots as blocks, so the block has a copy.
            None => {
                self.counted.n_in_place_writes += 1;
                self.forget_moves(block);
                self.slot_of(block)
            }
        };
        self.place_in(m, slot, 0)
    }

    /// The slot to take. Slots that other services may still read are taken only if no others are free.
    fn find(&mut self, m: &Mechanics, from: &From) -> Option<Found> {
        let found = self.predict(from);
        if found.is_some() || !self.under_way.several {
            return found;
        }
        self.free_early(m);
        self.predict(from)
    }

    /// The place of a sector of a slot.
    pub fn place_in(&self, m: &Mechanics, slot: u64, inside: u32) -> Option<Place> {
        let place = m.layout.locate((slot << self.shift) + u64::from(inside))?;
        let left = self.block_sectors() - inside;
        Some(Place { run: place.run.min(left), before: place.before.min(inside), ..place })
    }

    /// The slot into which a block is being written.
    fn new_slot(&self, block: u64) -> u64 {
        let written = self.under_way.written.iter().rev();
        let mut written = written.filter(|w| w.block == block && w.end == Time::NEVER);
        written.next().map_or_else(|| self.slot_of(block), |w| w.slot)
    }

    /// The pass whose blocks were chosen last ends at `end`.
    pub fn pass_ends(&mut self, end: Time) {
        for w in self.under_way.written.iter_mut().filter(|w| w.end == Time::NEVER) {
            w.end = end;
            self.under_way.written_until = self.under_way.written_until.max(end);
        }
    }

    /// A write order widened to whole blocks, whose movement may start at `start`.
    #[inline]
    pub fn whole_blocks<'a>(&self, order: &AccessRequest<'a>, start: Time) -> AccessRequest<'a> {
        let inside = u64::from(self.block_sectors() - 1);
        let first = order.sector & !inside;
        let past = (order.sector + u64::from(order.count) + inside) & !inside;
        // The sectors before the first one are not transferred.
        let lead = (order.sector - first) as f64 * order.link_ns;
        AccessRequest {
            place: None,
            sector: first,
            count: (past - first) as u32,
            write: true,
            start,
            reversal_cylinder: None,
            minimum_move: self.minimum_write,
            on_arrival: false,
            watermark: 0,
            link_ns: order.link_ns,
            supply: order.supply.map(|s| Supply { start: s.start.before(Span(lead as i64)), ..s }),
        }
    }

    /// The read of a block's copy that begins at `start`; `None` if it was never written.
    pub fn read_of(&self, block: Block, start: Time) -> Option<AccessRequest<'static>> {
        self.map.get(block.0)?;
        let first = block.0 << self.shift;
        Some(AccessRequest::plain(first, self.block_sectors(), start))
    }

    /// The first block behind `after` that a write covers only in part: the block at one of its ends, or one that
    /// contains a sector of `partial`, in order. `None` if there is none.
    pub fn incomplete_after(
        &self,
        after: Option<Block>,
        order: &AccessRequest,
        partial: &[PartialSector],
    ) -> Option<Block> {
        let past = order.sector + u64::from(order.count);
        let inside = u64::from(self.block_sectors() - 1);
        let ends = [order.sector, past].into_iter();
        let ends = ends.filter(|s| s & inside != 0);
        let sectors = partial.iter().map(|s| s.0).chain(ends);
        let blocks = sectors.map(|s| Block(s >> self.shift));
        blocks.filter(|b| after.is_none_or(|a| *b > a)).min()
    }
}

/// The number of a block of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Block(u64);

/// Chooses the places of a pass that writes whole blocks.
pub struct Writer<'a>(pub &'a mut Log);

impl Places for Writer<'_> {
    #[inline]
    fn place(&mut self, m: &Mechanics, order: &AccessRequest, done: u32, arm: &Arm, at: Time) -> Option<Place> {
        let log = &mut *self.0;
        let sector = order.sector + u64::from(done);
        let inside = (sector & u64::from(log.block_sectors() - 1)) as u32;
        match inside {
            0 => log.choose(m, order, done, (arm, at)),
            // The rest of a broken slot.
            _ => {
                let slot = log.new_slot(sector >> log.shift);
                log.place_in(m, slot, inside)
            }
        }
    }
}
