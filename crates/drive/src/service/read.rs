//! Reads: hits, partial hits, misses, and the read-ahead they start.

use super::background::{Background, ReadingAhead};
use super::pass::{self, Order, Pass};
use super::{Core, Outcome, Task};
use crate::drive::Components;
use crate::mechanics::Mechanics;
use crate::spec::{ReadAhead, ReadAheadTrigger};

impl Core {
    /// Where read-ahead for a request that ends before `past` ends, for data in `segment`.
    fn read_limit(&self, task: &Task, segment: usize) -> u64 {
        let capacity = self.mechanics.layout.capacity();
        let past = task.past();
        let limit = match self.cache.read_ahead {
            ReadAhead::None => past,
            ReadAhead::NextTrack => {
                let (low, high) = self
                    .mechanics
                    .layout
                    .track_bounds(past.min(capacity.saturating_sub(1)));
                let more = if self.segments.list[segment].start < low {
                    let place = self.mechanics.layout.locate(task.sector);
                    place.map_or(0, |p| p.sectors_per_track as u64)
                } else {
                    0
                };
                high + 1 + more
            }
            ReadAhead::TrackEnd | ReadAhead::CylinderEnd | ReadAhead::Limit => {
                let n = match self.cache.read_ahead_sectors {
                    0 => self.segments.size,
                    n => n as u64,
                };
                past + n
            }
        };
        // What waits in the write buffer is newer than what lies on the medium.
        let dirty = self.dirty.iter().map(|d| d.start).filter(|s| *s >= past);
        limit.min(capacity).min(dirty.min().unwrap_or(u64::MAX))
    }

    /// End of the unwritten data nearest before `sector`: what is on the medium between them counts.
    fn clean_from(&self, sector: u64) -> u64 {
        let ends = self.dirty.iter().map(|d| d.end).filter(|e| *e <= sector);
        ends.max().unwrap_or(0)
    }

    /// Sends unwritten data that a read needs in part to the medium; the last of them is then on
    /// its way.
    fn destage_overlapping(&mut self, task: &Task) {
        let (start, past) = (task.sector, task.past());
        let mut free = task.start;
        while self.dirty.iter().any(|d| d.start < past && start < d.end) {
            self.end_read_ahead(free);
            if let Some(end) = self.finish_destage() {
                free = free.max(end);
            }
            self.start_destage(free, |d| d.start < past && start < d.end);
        }
    }

    fn start_read_ahead(&mut self, task: &Task, segment: usize, time: u64) {
        if self.cache.read_ahead == ReadAhead::None {
            return;
        }
        let next = self.segments.list[segment].end.max(task.past());
        let arm = self.arms[self.active];
        let place = task.place.filter(|_| next == task.past());
        self.background = Background::Reading(ReadingAhead {
            segment,
            next,
            place: place.and_then(|p| p.after(task.count)),
            limit: self.read_limit(task, segment),
            at_least: next + self.cache.read_ahead_minimum as u64,
            time,
            run: None,
            cylinder: arm.cylinder,
            head: arm.head,
        });
    }

    /// Drops what was asked for, where the drive does so.
    fn discard(&mut self, segment: usize, task: &Task) {
        if self.cache.discard_requested {
            let s = &mut self.segments.list[segment];
            s.start = s.start.max(task.past());
            s.end = s.end.max(s.start);
            s.whole_track = None;
        }
    }

    /// Applies "the whole track is in the buffer" to segments for which a turn has passed.
    fn complete_tracks(&mut self, now: u64) {
        let size = self.segments.size;
        for s in &mut self.segments.list {
            if let Some((when, low)) = s.whole_track {
                if when <= now {
                    s.start = s.start.min(low);
                    s.bound(size);
                    s.whole_track = None;
                }
            }
        }
    }

    /// A whole hit on arrival, served beside whatever the mechanism does.
    pub fn read_at_arrival(&mut self, at: u64, sector: u64, count: u32) -> Option<Outcome> {
        let i = self.segments.holds_at(at, sector, sector + count as u64)?;
        self.segments.touch(i);
        let overhead =
            self.read_hit.of(self.previous_write) + self.overhead.data_preparation.non_negative();
        let bus = (count as f64 * self.link_read_ns + 0.5) as u64;
        let tail = self.overhead.read_completion.non_negative();
        Some(Outcome {
            completion: at + overhead + bus + tail,
            components: Components {
                overhead: overhead + tail,
                bus,
                ..Components::default()
            },
            hit: true,
            ..Outcome::default()
        })
    }

    /// Neither data that a read could find nor work that it would have to wait for.
    #[inline]
    fn holds_nothing(&self) -> bool {
        self.segments.list.is_empty()
            && self.dirty.is_empty()
            && matches!(self.background, Background::None)
    }

    pub fn read(&mut self, task: &Task) -> Outcome {
        let a = task.start;
        let p = self.previous_write;
        let sequential = !p && task.sector == self.previous_end;
        self.run_background(a);
        if self.holds_nothing() {
            return self.read_miss(task, None, sequential);
        }
        let miss = self.read_miss.of(p);
        let disconnect = if self.never_disconnect {
            0
        } else {
            self.read_disconnect.of(p)
        };
        let reselect = if self.never_disconnect {
            0
        } else {
            self.overhead.first_reselect.non_negative()
        };
        let preparation = self.overhead.data_preparation.non_negative();
        let tail = self.overhead.read_completion.non_negative();
        let link_all = Mechanics::pass_ns(task.count, self.link_read_ns);
        let past = task.past();

        // Data still in the write buffer.
        if self
            .dirty
            .iter()
            .any(|d| d.start <= task.sector && past <= d.end)
        {
            let overhead = self.read_hit.of(p) + preparation;
            return self.finish_read(
                task,
                Outcome {
                    completion: a + overhead + link_all + tail,
                    components: Components {
                        overhead: overhead + tail,
                        bus: link_all,
                        ..Components::default()
                    },
                    hit: true,
                    ..Outcome::default()
                },
            );
        }

        // A write on its way to the medium is finished first; the search comes after it, because
        // what was written may then be read. So is a waiting one that holds a part of the data.
        self.destage_overlapping(task);
        let blocked = self.finish_destage();
        let waited = blocked.map_or(0, |e| e.saturating_sub(a));
        if self.cache.keep_whole_track {
            self.complete_tracks(a + waited);
        }
        let found = self.segments.find(task.sector);
        let active = match &self.background {
            Background::Reading(r) => Some(*r),
            _ => None,
        };
        // The sector being read ahead right now is as good as held, where the drive knows it.
        let found = found.or_else(|| match active {
            Some(r) if self.cache.almost_hits && r.next == task.sector && r.run.is_some() => {
                Some(r.segment)
            }
            _ => None,
        });

        let Some(segment) = found.filter(|i| self.visible(*i, a)) else {
            return self.read_miss(task, blocked, sequential);
        };
        self.segments.touch(segment);
        let bus = match blocked {
            Some(e) => (a + miss + disconnect).max(e) + reselect + preparation,
            None => a + self.read_hit.of(p) + preparation,
        };
        let whole = self.segments.list[segment].end >= past;
        let another = self.filled_by_another(segment);
        if another && !whole {
            self.stop_others(a, Some(segment), 0, 0);
        }
        let joined = active.filter(|r| r.segment == segment);
        let limit = self.read_limit(task, segment);
        if whole {
            if let Some(mut r) = joined {
                r.limit = r.limit.max(limit);
                self.background = Background::Reading(r);
            } else {
                let mech = self
                    .command_mechanism(a, a + miss)
                    .max(blocked.unwrap_or(0));
                if self.cache.read_ahead_on_idle_hit && !another {
                    self.start_read_ahead(task, segment, mech);
                }
            }
            self.discard(segment, task);
            let completion = bus + link_all + tail;
            let queue = waited.min(bus - a);
            return self.finish_read(
                task,
                Outcome {
                    completion,
                    components: Components {
                        queue,
                        overhead: bus - a - queue + tail,
                        bus: link_all,
                        ..Components::default()
                    },
                    hit: true,
                    ..Outcome::default()
                },
            );
        }

        // Partial hit: what is held goes out while the rest is read.
        let link_ns = self.link_read_ns;
        let mut done = bus + link_all;
        let (pass, mech);
        let held = self.segments.list[segment].end.max(task.sector);
        if let Some(mut r) = joined {
            let mut bound = 0u64;
            let begun = r.run.map_or(r.time, |run| run.begun).max(a);
            let end = self.read_ahead_to(&mut r, past, |first, last, at, sector_ns| {
                for k in [first, last - 1] {
                    let media = at as f64 + (k - first + 1) as f64 * sector_ns;
                    bound = bound.max((media + (past - k) as f64 * link_ns) as u64);
                }
            });
            done = done.max(bound);
            r.limit = r.limit.max(limit);
            self.background = Background::Reading(r);
            mech = begun.min(end).max(a);
            pass = Pass {
                end: end.max(mech),
                transfer: end.saturating_sub(mech),
                ..Pass::default()
            };
        } else {
            mech = self
                .command_mechanism(a, a + miss)
                .max(blocked.unwrap_or(0));
            let order = Order {
                place: None,
                sector: held,
                count: (past - held) as u32,
                write: false,
                start: mech,
                via: task.via,
                minimum_move: 0,
                on_arrival: false,
                watermark: 0,
                link_ns,
                supply: None,
            };
            pass = self.pass(&order).0;
            done = done.max(pass.link_bound);
            let size = self.segments.size;
            let s = &mut self.segments.list[segment];
            s.end = past;
            s.bound(size);
            self.start_read_ahead(task, segment, pass.end);
        }
        self.discard(segment, task);
        let completion = done.max(pass.end) + tail;
        self.finish_read(task, mechanical(a, mech, waited, &pass, completion))
    }

    fn read_miss(&mut self, task: &Task, blocked: Option<u64>, sequential: bool) -> Outcome {
        let a = task.start;
        let p = self.previous_write;
        let miss = self.read_miss.of(p);
        let preparation = self.overhead.data_preparation.non_negative();
        let tail = self.overhead.read_completion.non_negative();
        let past = task.past();
        let mech = self
            .command_mechanism(a, a + miss)
            .max(blocked.unwrap_or(0));
        let waited = mech - (a + miss);
        let base = if self.cache.watermark_of_request {
            (task.count as u64).min(self.segments.size.max(1))
        } else {
            self.segments.size.max(1)
        };
        let watermark = ((base as f64 * self.cache.read_watermark) as u32).clamp(1, task.count) - 1;
        let order = Order {
            place: task.place,
            sector: task.sector,
            count: task.count,
            write: false,
            start: mech,
            via: task.via,
            minimum_move: self.minimum_read.of(p),
            on_arrival: self.cache.read_on_arrival && !self.compat,
            watermark,
            link_ns: self.link_read_ns,
            supply: None,
        };
        let pass = self.pass(&order).0;
        let bus = if self.never_disconnect {
            a + miss + preparation
        } else {
            (a + miss + self.read_disconnect.of(p)).max(pass.ready)
                + self.overhead.first_reselect.non_negative()
                + preparation
        };
        let link_all = Mechanics::pass_ns(task.count, self.link_read_ns);
        let completion = (bus + link_all).max(pass.link_bound).max(pass.end) + tail;
        if let Some(segment) = self.segments.victim(None) {
            self.stop_others(a, Some(segment), 0, 0);
            self.segments.touch(segment);
            let size = self.segments.size;
            let trigger = match self.cache.read_ahead_trigger {
                ReadAheadTrigger::Always => true,
                ReadAheadTrigger::Sequential => sequential,
            };
            let mut start = task.sector;
            if self.cache.keep_passing_sectors && !self.compat && trigger {
                let (low, _) = self.mechanics.layout.track_bounds(task.sector);
                let passed = (pass.first_wait as f64 / pass.first_sector_ns.max(1.0)) as i64 as u64;
                let low = low.max(self.clean_from(task.sector));
                start = start.saturating_sub(passed).max(low);
            }
            let whole_track = (self.cache.keep_whole_track && !self.compat).then(|| {
                let turn = self.mechanics.rotation.period_ns() as u64;
                (
                    pass.end + turn,
                    self.mechanics
                        .layout
                        .track_bounds(task.sector)
                        .0
                        .max(self.clean_from(task.sector)),
                )
            });
            let s = &mut self.segments.list[segment];
            s.before = (0, 0);
            s.visible_at = completion;
            s.start = start;
            s.end = past;
            s.whole_track = whole_track;
            s.bound(size);
            self.discard(segment, task);
            if trigger {
                self.start_read_ahead(task, segment, pass.end);
            }
        }
        self.finish_read(task, mechanical(a, mech, waited, &pass, completion))
    }

    /// Runs a pass with the active arm and charges its time.
    #[inline]
    pub(super) fn pass(&mut self, order: &Order) -> (Pass, u64) {
        let channels = self.together.as_mut().and_then(|t| t.channels.as_mut());
        let phase = self.arms[self.active].angle;
        let result = pass::run(
            &self.mechanics,
            &mut self.arms[self.active],
            order,
            &mut self.scratch,
            channels,
        );
        self.keep_in_phase(phase);
        self.carry();
        self.mechanism_free = result.0.end;
        if order.supply.is_none() || !self.cache.write_back {
            self.busy.seek += result.0.seek;
            self.busy.rotation += result.0.rotation;
            self.busy.transfer += result.0.transfer;
        }
        result
    }

    fn finish_read(&mut self, task: &Task, outcome: Outcome) -> Outcome {
        self.previous_write = false;
        self.previous_end = task.past();
        outcome
    }
}

/// The shares of a command that used the mechanism from `mech` to the end of its pass.
pub(super) fn mechanical(a: u64, mech: u64, waited: u64, pass: &Pass, completion: u64) -> Outcome {
    let queue = waited.min(mech - a);
    let media = pass.seek + pass.rotation + pass.transfer;
    Outcome {
        completion,
        components: Components {
            queue,
            overhead: mech - a - queue,
            seek: pass.seek,
            rotation: pass.rotation,
            transfer: pass.transfer,
            bus: completion - mech - media,
        },
        hit: false,
        mechanical: true,
        distance: pass.distance,
    }
}
