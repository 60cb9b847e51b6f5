//! Buffered data on their way to the medium.
//!
//! # Model
//! With `destage = "immediate"` a write completes in the buffer while the medium is written behind
//! it; the next write waits for that unless it continues it. With `destage = "idle"` data wait and go
//! out, nearest first, when no command has used the mechanism for `destage_after`, or when there is
//! no room for more. Writing is never interrupted.
//! # Source
//! DiskSim 4.0's disk module as observed from outside (immediate); chosen (idle).
//! # Validity
//! One run of addresses at a time for each assembly.

use super::{BackgroundJob, Site, NEVER};
use crate::buffer::Dirty;
use crate::phase::Work;
use crate::service::pass::{Order, Supply};
use crate::spec::Destage as When;

/// Data on their way from the buffer to the medium.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writing {
    /// The segment that they are in.
    pub segment: Option<usize>,
    pub end: u64,
    /// Sector after the last one.
    pub past: u64,
}

/// Destaging of one assembly.
#[derive(Debug, Default)]
pub(crate) struct Destage {
    pub writing: Option<Writing>,
}

impl Destage {
    /// What was being written is on the medium; returns it.
    pub fn finish(&mut self, site: &mut Site) -> Option<Writing> {
        let writing = self.writing.take()?;
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

    /// Sends those of the `wanted` unwritten data that are reached first to the medium, not before
    /// `at`; false if this assembly reaches none of them.
    pub fn send(&mut self, site: &mut Site, at: u64, wanted: impl Fn(&Dirty) -> bool) -> bool {
        let Some((index, set)) = Destage::nearest(site, at, wanted) else {
            return false;
        };
        site.mechanism.acting = set;
        let d = site.buffer.dirty.remove(index);
        site.buffer.newest_sent = site.buffer.newest_sent.max(d.ready);
        let begin = at.max(site.mechanism.free).max(d.ready);
        let order = Order {
            write: true,
            on_arrival: site.cache.write_on_arrival,
            supply: Some(Supply {
                start: 0,
                gate: 1,
                buffer: u64::MAX,
            }),
            ..Order::plain(d.start, (d.end - d.start) as u32, begin)
        };
        let mut pass = site.pass(&order, Work::Destage);
        if d.partial {
            site.write_in_next_turn(&mut pass, Work::Destage);
        }
        let segment = if site.cache.read_hits_on_written {
            site.buffer.segments.place_written(d.start, d.end, None)
        } else {
            None
        };
        self.writing = Some(Writing {
            segment,
            end: pass.end,
            past: d.end,
        });
        true
    }

    /// Whether some head set of the assembly can write data; always, where nothing is out of reach.
    fn reaches(site: &Site, dirty: &Dirty) -> bool {
        !site.restricted
            || site.mechanics.layout.locate(dirty.start).is_some_and(|at| {
                let mut paths = site.paths.iter();
                paths.any(|p| p.reaches(1 << at.head, at.cylinder))
            })
    }

    /// Position in the list and head set of those of the `wanted` data that are reached first.
    fn nearest(site: &Site, at: u64, wanted: impl Fn(&Dirty) -> bool) -> Option<(usize, usize)> {
        let mut best = (u64::MAX, 0, 0);
        for (i, d) in site.buffer.dirty.iter().enumerate() {
            if !wanted(d) {
                continue;
            }
            let begin = at.max(site.mechanism.free).max(d.ready);
            let Some(place) = site.mechanics.layout.locate(d.start) else {
                continue;
            };
            for (set, arm) in site.mechanism.arms.iter().enumerate() {
                let may = if site.restricted {
                    site.paths[set].reaches(1 << place.head, place.cylinder)
                } else {
                    set == site.mechanism.acting
                };
                if may {
                    let cost = site.mechanics.position(arm, &place, true, begin);
                    let total = begin - at + cost.total();
                    if total < best.0 {
                        best = (total, i, set);
                    }
                }
            }
        }
        (best.0 < u64::MAX).then_some((best.1, best.2))
    }
}

impl BackgroundJob for Destage {
    #[inline]
    fn is_under_way(&self) -> bool {
        self.writing.is_some()
    }

    fn due(&self, site: &Site) -> u64 {
        let reached = || site.buffer.dirty.iter().filter(|d| Destage::reaches(site, d));
        let Some(ready) = reached().map(|d| d.ready).min() else {
            return NEVER;
        };
        let free = ready.max(site.mechanism.free);
        if site.cache.destage != When::Idle {
            return free;
        }
        // The drive is idle since the last command ended on the mechanism or in the buffer.
        // What another assembly has taken since counts too: nothing begins in the past.
        let latest = site.buffer.dirty.iter().map(|d| d.ready).max().unwrap_or(0);
        let latest = latest.max(site.buffer.newest_sent);
        let idle = site.mechanism.free.max(latest);
        free.max(idle + site.cache.destage_after.non_negative())
    }

    fn begin(&mut self, site: &mut Site, at: u64) {
        self.send(site, at, |_| true);
    }

    fn go_on(&mut self, site: &mut Site, until: u64) -> Option<u64> {
        match self.writing {
            Some(w) if w.end > until => None,
            Some(_) => self.finish(site).map(|w| w.end),
            None => Some(0),
        }
    }

    fn next_change(&self) -> u64 {
        self.writing.map_or(NEVER, |w| w.end)
    }

    fn give_way(&mut self, site: &mut Site, at: u64) -> u64 {
        self.finish(site).map_or(at, |w| w.end)
    }
}
