//! Destaging: writing buffered data to the medium.
//!
//! # Model
//! With `destage = "immediate"` a write completes in the buffer and its data go to the medium at once. The
//! next write waits for that, unless it continues the first one. With `destage = "idle"` data wait in the
//! buffer. They are written in passes: when no command has used the mechanism for `destage_after`, or when
//! data are older than `destage_age`. The unit also starts a pass when a write finds no room.
//!
//! A pass writes data of one track. Passes proceed over the addresses in one direction and then start again
//! at the lowest (C-LOOK). Of the next `destage_window` extents in that direction, the one with the shortest
//! positioning time is taken. A pass that continues where the last one ended needs no positioning, so
//! sequential data are written at the rate of the medium. A sector of which only a part is dirty waits for
//! the rest for up to `partial_wait`. After that, or where room is needed, it is read in one turn and written
//! in the next. A pass is never interrupted.
//! # Source
//! `immediate`: DiskSim 4.0's disk module, as observed from outside. `idle`: chosen.
//! # Validity
//! One pass at a time for each assembly. The order in which real firmware destages is not published.

use super::{Activity, BackgroundJob, JobContext};
use crate::buffer::{Blocks, Scope, Segment};
use crate::layout::Place;
use crate::phase::Work;
use crate::service::pass::{AccessRequest, Supply};
use headstack_units::{Lba, Span, Time};

/// A pass: data on their way from the buffer to the medium.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writing {
    /// The segment that holds the data, if any.
    pub segment: Option<usize>,
    pub end: Time,
    /// The sector after the last one written.
    pub past: u64,
    /// The blocks written, if they came from the unwritten data.
    pub range: Option<Blocks>,
}

/// How long a job that found nothing to do waits before it tries again: 1 ms.
const LOOKS_AGAIN: Span = Span(1_000_000);

/// Destaging of one assembly.
#[derive(Debug, Default)]
pub(crate) struct Destage {
    /// The block after the last one written, where the sweep continues.
    cursor: Lba,
    /// When a pass last found nothing to write that this assembly reaches.
    nothing_at: Option<Time>,
}

/// What the next pass writes, and with which head set.
struct Choice {
    blocks: Blocks,
    place: Place,
    /// Index of the head set in the assembly.
    set: usize,
}

impl Writing {
    /// To be called when the pass has ended: its data are on the medium.
    #[inline]
    pub fn finish(&self, context: &mut JobContext) {
        if let Some(range) = self.range {
            context.buffer.unwritten.sent(range);
        }
        let keep = context.cache.read_hits_on_written && !context.buffer.segments.separate_write;
        if let (Some(i), false) = (self.segment, keep) {
            // In the meantime the command of another assembly may have taken over the segment.
            let segments = &mut context.buffer.segments;
            if segments.list[i].end == self.past {
                segments.change(i, Segment::clear);
            }
        }
    }
}

impl Destage {
    /// The assembly may reach other data now than when it last found nothing to write.
    pub fn look_again(&mut self) {
        self.nothing_at = None;
    }

    /// Starts a pass, not before `at`, and returns it. `None` if there are no data to write that this assembly reaches.
    /// Sectors of which only a part is known may wait for the rest, unless `all` is set.
    pub fn send(&mut self, context: &mut JobContext, at: Time, all: bool) -> Option<Writing> {
        let at = at.max(context.mechanism.timeline.free);
        context.buffer.unwritten.settle(at);
        context.buffer.unwritten.dirty.promote(at);
        let choice = self.choose(context, at, all)?;
        context.mechanism.active_set = choice.set;
        let size = context.buffer.size;
        let first = size.sector_of(choice.blocks.start);
        let most = choice.blocks.count().min(context.buffer.unwritten.pass_most);
        // With a mapping that chooses the places now, the pass may fill a whole track.
        let run = if context.mapping.moves_writes() { choice.place.sectors_per_track } else { choice.place.run };
        let count = size.fitting(most).min(u64::from(run)) as u32;
        let range = context.buffer.blocks(first, count);
        let order = AccessRequest {
            place: Some(&choice.place),
            write: true,
            on_arrival: context.cache.write_on_arrival,
            supply: Some(Supply { start: Time::ZERO, gate: 1, buffer: u64::MAX }),
            ..AccessRequest::plain(first, count, at)
        };
        let partial = context.buffer.unwritten.dirty.partial_sectors(range);
        let mut pass = context.write_pass(&order, Work::Destage, &partial);
        if !partial.is_empty() && !context.mapping.moves_writes() {
            context.buffer.counted.n_read_modify_writes += partial.len() as u64;
            context.write_in_next_turn(&mut pass, Work::Destage);
        }
        context.buffer.unwritten.send(range);
        self.cursor = range.past;
        let past = first + u64::from(count);
        let segment =
            if context.cache.read_hits_on_written { context.buffer.segments.place_written(first, past) } else { None };
        Some(Writing { segment, end: pass.end, past, range: Some(range) })
    }

    /// Chooses, among the next extents of the sweep, the one with the shortest positioning time.
    fn choose(&self, context: &JobContext, at: Time, all: bool) -> Option<Choice> {
        let dirty = &context.buffer.unwritten.dirty;
        let scope = if all { Scope::All } else { Scope::Due };
        let mut best: Option<(Span, Choice)> = None;
        let mut seen = 0;
        for extent in dirty.sweep(self.cursor, scope) {
            let Some(blocks) = dirty.to_write(extent, at, all) else { continue };
            let Some((cost, choice)) = Destage::reach(context, at, blocks) else { continue };
            if best.as_ref().is_none_or(|b| cost < b.0) {
                best = Some((cost, choice));
            }
            seen += 1;
            // If places are chosen later, positioning does not depend on the extent.
            if cost == Span::ZERO || seen >= context.cache.destage_window || context.mapping.moves_writes() {
                break;
            }
        }
        best.map(|b| b.1)
    }

    /// Positioning time to these blocks, and the head set that has it; `None` if no head set reaches them.
    fn reach(context: &JobContext, at: Time, blocks: Blocks) -> Option<(Span, Choice)> {
        let place = context.mapping.locate(context.mechanics, context.buffer.size.sector_of(blocks.start))?;
        let mut best = None;
        for (set, arm) in context.mechanism.arms.iter().enumerate() {
            let may = if context.restricted {
                context.head_sets()[set].reaches(1 << place.head, place.cylinder, true)
            } else {
                set == context.mechanism.active_set
            };
            if may {
                let cost = context.mechanics.position(arm, &place, true, at).total();
                if best.is_none_or(|b: (Span, usize)| cost < b.0) {
                    best = Some((cost, set));
                }
            }
        }
        let (cost, set) = best?;
        Some((cost, Choice { blocks, place, set }))
    }

    /// Whether the assembly reaches any of the waiting data.
    fn reaches_any(context: &JobContext) -> bool {
        let dirty = &context.buffer.unwritten.dirty;
        !context.restricted
            || dirty
                .sweep(Lba(0), Scope::All)
                .any(|e| Destage::reach(context, context.times.now, dirty.in_sectors(e)).is_some())
    }
}

impl BackgroundJob for Destage {
    #[inline]
    fn due(&self, context: &JobContext) -> Time {
        if !context.buffer.unwritten.waits() {
            return Time::NEVER;
        }
        self.due_with_data(context)
    }

    fn begin(&mut self, context: &mut JobContext, at: Time) -> Activity {
        let pass = self.send(context, at, false);
        self.nothing_at = pass.is_none().then_some(at);
        pass.map_or(Activity::None, Activity::Destage)
    }
}

impl Destage {
    /// When a pass may start: the drive has been idle long enough or data are old enough, and no command
    /// waits.
    fn due_with_data(&self, context: &JobContext) -> Time {
        if !Destage::reaches_any(context) {
            return Time::NEVER;
        }
        let unwritten = &context.buffer.unwritten;
        let oldest = unwritten.dirty.oldest();
        let idle_from = |there: Time| unwritten.command_end.max(there) + context.cache.destage_after;
        let idle = oldest.map_or(Time::NEVER, idle_from);
        let old = match (oldest, context.cache.destage_age.0) {
            (Some(oldest), 1..) => oldest + context.cache.destage_age,
            _ => Time::NEVER,
        };
        let waiting = unwritten.dirty.due_from();
        let waiting = waiting.map_or(Time::NEVER, |t| t.max(idle.min(old)));
        let again = self.nothing_at.map_or(Time::ZERO, |t| t + LOOKS_AGAIN);
        let free = context.mechanism.timeline.free.max(context.times.happened);
        let free = free.max(unwritten.newest);
        context.unless_wanted(waiting.max(free).max(again))
    }
}
