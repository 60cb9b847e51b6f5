//! Buffered data on their way to the medium.
//!
//! # Model
//! With `destage = "immediate"` a write completes in the buffer while the medium is written behind
//! it; the next write waits for that unless it continues it. With `destage = "idle"` data wait and go
//! out in passes when no command has used the mechanism for `destage_after`, or when they are older
//! than `destage_age`; the unit forces a pass where a write finds no room.
//!
//! A pass writes data of one track. Passes go over the addresses in one direction and then begin anew;
//! of the next `destage_window` extents in that direction the one that is reached first is taken. A pass
//! that continues where the last one ended is reached at once, so that streams go at the rate of the
//! medium. A sector that is dirty only in part waits for the rest of it for `partial_wait`; after that, or
//! where room is needed, it is read in one turn and written in the next. Passes are never interrupted.
//! # Source
//! DiskSim 4.0's disk module as observed from outside (immediate); chosen (idle).
//! # Validity
//! One pass at a time for each assembly. The order of real firmware is not published.

use super::{BackgroundJob, Site, NEVER};
use crate::buffer::{Blocks, Scope};
use crate::layout::Place;
use crate::phase::Work;
use crate::service::pass::{Order, Supply};

/// Data on their way from the buffer to the medium.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writing {
    /// The segment that they are in.
    pub segment: Option<usize>,
    pub end: u64,
    /// Sector after the last one.
    pub past: u64,
    /// What the unwritten data miss.
    pub range: Option<Blocks>,
}

/// How soon a job that found nothing to do looks again: a millisecond.
const LOOKS_AGAIN: u64 = 1_000_000;

/// Destaging of one assembly.
#[derive(Debug, Default)]
pub(crate) struct Destage {
    pub writing: Option<Writing>,
    /// The block after the last one written.
    cursor: u64,
    /// Nothing that it reaches was due then: it looks again a while later.
    nothing_at: Option<u64>,
}

/// What a pass takes, and how.
struct Choice {
    blocks: Blocks,
    place: Place,
    /// Head set of the assembly.
    set: usize,
}

impl Destage {
    /// What was being written is on the medium; returns it.
    pub fn finish(&mut self, site: &mut Site) -> Option<Writing> {
        let writing = self.writing.take()?;
        if let Some(range) = writing.range {
            site.buffer.unwritten.sent(range);
        }
        let keep = site.cache.read_hits_on_written && !site.buffer.segments.separate_write;
        if let (Some(i), false) = (writing.segment, keep) {
            // Another assembly's command may have taken the segment meanwhile.
            let segment = &mut site.buffer.segments.list[i];
            if segment.end == writing.past {
                segment.clear();
            }
        }
        Some(writing)
    }

    /// Begins a pass, not before `at`; false if there is nothing for it that this assembly reaches. Edges
    /// that may still wait for the rest of their sector do, unless `all` must go.
    pub fn send(&mut self, site: &mut Site, at: u64, all: bool) -> bool {
        let at = at.max(site.mechanism.free);
        site.buffer.unwritten.settle(at);
        site.buffer.unwritten.dirty.promote(at);
        let Some(choice) = self.choose(site, at, all) else {
            return false;
        };
        site.mechanism.acting = choice.set;
        let shift = site.buffer.shift;
        let first = choice.blocks.start >> shift;
        let most = choice.blocks.count().min(site.buffer.unwritten.pass_most);
        let count = (most >> shift).min(u64::from(choice.place.run)) as u32;
        let range = site.buffer.blocks(first, count);
        let order = Order {
            place: Some(&choice.place),
            write: true,
            on_arrival: site.cache.write_on_arrival,
            supply: Some(Supply {
                start: 0,
                gate: 1,
                buffer: u64::MAX,
            }),
            ..Order::plain(first, count, at)
        };
        let mut pass = site.pass(&order, Work::Destage);
        let partial = site.buffer.unwritten.dirty.partial_sectors(range).len();
        if partial > 0 {
            site.buffer.read_modify_writes += partial as u64;
            site.write_in_next_turn(&mut pass, Work::Destage);
        }
        site.buffer.unwritten.send(range);
        self.cursor = range.past;
        let past = first + u64::from(count);
        let segment = if site.cache.read_hits_on_written {
            site.buffer.segments.place_written(first, past)
        } else {
            None
        };
        self.writing = Some(Writing {
            segment,
            end: pass.end,
            past,
            range: Some(range),
        });
        true
    }

    /// What the next pass takes: of the next few extents the one that is reached first.
    fn choose(&self, site: &Site, at: u64, all: bool) -> Option<Choice> {
        let dirty = &site.buffer.unwritten.dirty;
        let scope = if all { Scope::All } else { Scope::Due };
        let mut best: Option<(u64, Choice)> = None;
        let mut seen = 0;
        for extent in dirty.sweep(self.cursor, scope) {
            let Some(blocks) = dirty.to_write(extent, at, all) else {
                continue;
            };
            let Some((cost, choice)) = Destage::reach(site, at, blocks) else {
                continue;
            };
            if best.as_ref().is_none_or(|b| cost < b.0) {
                best = Some((cost, choice));
            }
            seen += 1;
            if cost == 0 || seen >= site.cache.destage_window {
                break;
            }
        }
        best.map(|b| b.1)
    }

    /// How soon the assembly reaches data, with which head set; `None` if it does not.
    fn reach(site: &Site, at: u64, blocks: Blocks) -> Option<(u64, Choice)> {
        let place = site
            .mechanics
            .layout
            .locate(blocks.start >> site.buffer.shift)?;
        let mut best = None;
        for (set, arm) in site.mechanism.arms.iter().enumerate() {
            let may = if site.restricted {
                site.paths()[set].reaches(1 << place.head, place.cylinder)
            } else {
                set == site.mechanism.acting
            };
            if may {
                let cost = site.mechanics.position(arm, &place, true, at).total();
                if best.is_none_or(|b: (u64, usize)| cost < b.0) {
                    best = Some((cost, set));
                }
            }
        }
        let (cost, set) = best?;
        Some((cost, Choice { blocks, place, set }))
    }

    /// Whether the assembly can write any of the data that wait; always, where nothing is out of reach.
    fn reaches_any(site: &Site) -> bool {
        let dirty = &site.buffer.unwritten.dirty;
        !site.restricted
            || site.buffer.unwritten.incoming_until().is_some()
            || dirty
                .sweep(0, Scope::All)
                .any(|e| Destage::reach(site, site.now, dirty.in_sectors(e)).is_some())
    }
}

impl BackgroundJob for Destage {
    #[inline]
    fn is_under_way(&self) -> bool {
        self.writing.is_some()
    }

    #[inline]
    fn due(&self, site: &Site) -> u64 {
        if !site.buffer.unwritten.waits() {
            return NEVER;
        }
        self.due_with_data(site)
    }

    fn begin(&mut self, site: &mut Site, at: u64) {
        self.nothing_at = (!self.send(site, at, false)).then_some(at);
    }

    #[inline]
    fn go_on(&mut self, site: &mut Site, until: u64) -> Option<u64> {
        match self.writing {
            Some(w) if w.end > until => None,
            Some(_) => self.finish(site).map(|w| w.end),
            None => Some(0),
        }
    }

    fn ends(&self) -> u64 {
        self.writing.map_or(NEVER, |w| w.end)
    }

    fn give_way(&mut self, site: &mut Site, at: u64) -> u64 {
        self.finish(site).map_or(at, |w| w.end)
    }
}

impl Destage {
    /// When the drive has been idle long enough, or data are old enough; not while a command waits.
    fn due_with_data(&self, site: &Site) -> u64 {
        if !Destage::reaches_any(site) {
            return NEVER;
        }
        let unwritten = &site.buffer.unwritten;
        let after = |t: u64, wait: u64| t.saturating_add(wait);
        let wait = site.cache.destage_after.non_negative();
        let idle_from = |there: u64| after(unwritten.command_end.max(there), wait);
        let oldest = unwritten.dirty.oldest();
        let idle = oldest.map_or(NEVER, idle_from);
        let old = match (oldest, site.cache.destage_age.0) {
            (Some(oldest), 1..) => after(oldest, site.cache.destage_age.non_negative()),
            _ => NEVER,
        };
        let waiting = unwritten.dirty.due_from();
        let waiting = waiting.map_or(NEVER, |t| t.max(idle.min(old)));
        // What the link brings may be due when it has come.
        let incoming = unwritten.incoming_until().map_or(NEVER, idle_from);
        let again = self.nothing_at.map_or(0, |t| t + LOOKS_AGAIN);
        let free = site.mechanism.free.max(site.happened);
        let free = free.max(unwritten.newest);
        let due = waiting.min(incoming).max(free).max(again);
        if due < site.wanted_since {
            due
        } else {
            NEVER
        }
    }
}
