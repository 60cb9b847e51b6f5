//! Deadlines for each independent access range of a drive with several actuators.
//!
//! # Model
//! The blocks are divided into equal ranges, one for each actuator. A request belongs to the range of its
//! last block, and is not merged with one of another range. Each range has an `mq-deadline` elevator of its
//! own. The next request is taken from the range with the fewest requests at the drive, as long as that is
//! fewer than `load`; of equal ones, from the first. When all ranges that have waiting requests have `load`
//! of them at the drive, it is taken from the range with the earliest deadline.
//! # Source
//! Linux's BFQ chooses like this for drives with several actuators since 6.3
//! (`bfq_find_bfqq_for_underused_actuator`); here the rule is applied to deadlines. 4 is BFQ's empirical
//! number.
//! # Validity
//! Only BFQ's rule for actuators: no slices, budgets or weights (for these see `bfq`). Where all actuators are loaded,
//! BFQ continues with the process in service.

use super::mq_deadline::{MqDeadline, Next};
use super::sorted::Parameters;
use super::{Elevator, Queued};
use headstack_schema::Table;
use headstack_units::{Span, Time};

#[derive(Table)]
#[table(
    model = "deadlines per independent access range, idle actuators first",
    example = "ranges = 2",
    build = |own, blocks| Ok(Box::new(Ranges::new(blocks, &own)))
)]
pub(super) struct OfRanges {
    /// How many ranges, of equal size.
    #[param(default = 2, range = 1..=8)]
    ranges: u32,
    /// Requests at the drive that keep an actuator busy.
    #[param(default = 4)]
    load: u32,
    #[param(flatten)]
    each: Parameters,
}

struct Range {
    waiting: MqDeadline,
    /// Requests of this range that are at the drive.
    at_drive: u32,
}

struct Ranges {
    ranges: Vec<Range>,
    /// Blocks of each range except the last, which also has the remainder.
    size: u64,
    load: u32,
    /// The range of each request, by slot.
    range_of: Vec<u32>,
}

impl Ranges {
    fn new(blocks: u64, table: &OfRanges) -> Ranges {
        let ranges = (0..table.ranges)
            .map(|_| Range { waiting: MqDeadline::new(table.each.clone(), Next::LookedUp), at_drive: 0 });
        Ranges {
            ranges: ranges.collect(),
            size: (blocks / u64::from(table.ranges)).max(1),
            load: table.load,
            range_of: Vec::new(),
        }
    }

    fn range_at(&self, block: u64) -> u64 {
        (block / self.size).min(self.ranges.len() as u64 - 1)
    }

    fn of(&self, slot: u32) -> usize {
        self.range_of.get(slot as usize).map_or(0, |r| *r as usize)
    }
}

impl Elevator for Ranges {
    fn add(&mut self, now: Time, request: &Queued) {
        let range = self.range_at(request.last());
        let slot = request.slot as usize;
        if slot >= self.range_of.len() {
            self.range_of.resize(slot + 1, 0);
        }
        self.range_of[slot] = range as u32;
        self.ranges[range as usize].waiting.add(now, request);
    }

    fn take(&mut self, now: Time) -> Option<u32> {
        let load = self.load;
        let waiting = self.ranges.iter_mut().filter(|r| !r.waiting.is_empty());
        // Ranges below `load`: the one with the fewest requests at the drive. Otherwise: the one with the
        // earliest deadline.
        let range = waiting.min_by_key(|r| match r.at_drive < load {
            true => (r.at_drive, Time::ZERO),
            false => (load, r.waiting.first_deadline()),
        })?;
        let slot = range.waiting.take(now)?;
        range.at_drive += 1;
        Some(slot)
    }

    fn resort(&mut self, request: &Queued) {
        let range = self.of(request.slot);
        self.ranges[range].waiting.resort(request);
    }

    fn absorb(&mut self, survivor: u32, gone: u32) {
        let range = self.of(survivor);
        self.ranges[range].waiting.absorb(survivor, gone);
    }

    fn may_join(&self, request: &Queued, other: &Queued) -> bool {
        self.range_at(request.last()) == self.range_at(other.last())
    }

    fn ended(&mut self, _now: Time, slot: u32) {
        let range = self.of(slot);
        let range = &mut self.ranges[range];
        range.at_drive = range.at_drive.saturating_sub(1);
    }

    fn read_expire(&self) -> Option<Span> {
        self.ranges.first()?.waiting.read_expire()
    }

    fn set_read_expire(&mut self, expire: Span) {
        for range in &mut self.ranges {
            range.waiting.set_read_expire(expire);
        }
    }

    fn len(&self) -> usize {
        self.ranges.iter().map(|r| r.waiting.len()).sum()
    }
}
