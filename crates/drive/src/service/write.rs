//! Writes: through to the medium, or completing in the buffer with the medium written behind.

use super::background::{Background, Destaging};
use super::pass::{Order, Supply};
use super::read::{in_buffer, mechanical};
use super::segments::Segment;
use super::{Busy, Core, Dirty, Task};
use crate::drive::Completion;
use crate::mechanics::Mechanics;
use crate::spec::Destage;

impl Core {
    pub fn write(&mut self, task: &Task) -> Completion {
        self.run_background(task.start);
        let p = std::mem::replace(&mut self.previous_write, true);
        let previous_end = std::mem::replace(&mut self.previous_end, task.past());
        if self.deferred_writes() {
            self.write_deferred(task, p)
        } else {
            self.write_now(task, p, previous_end)
        }
    }

    /// The medium is written while (or right after) the data arrive.
    fn write_now(&mut self, task: &Task, previous_write: bool, previous_end: u64) -> Completion {
        let a = task.start;
        let back = self.cache.write_back;
        let t = &self.timing;
        let over = t.write.of(previous_write);
        let (preparation, tail) = (t.preparation, t.write_completion);
        let (disconnect, first_reselect) = (t.write_disconnect, t.first_reselect);
        let (other_reselect, link_ns) = (t.other_reselect, t.link_write_ns);
        let extra = t.extra_write_disconnect;
        let elsewhere = previous_write && task.sector != previous_end;
        let mut last_disconnect = disconnect;
        let mut last_reselect = first_reselect;
        let mut gate = 1;
        let mut waited = 0;
        let mut appended = None;
        self.stop_others(a, None, task.sector, task.past());
        let (bus, mut mech);
        if let Background::Writing(w) = self.background {
            if self.cache.append_writes && w.past == task.sector && w.segment.is_some() {
                bus = a + over + preparation;
                mech = w.end;
                appended = w.segment;
            } else {
                bus = (a + over + disconnect).max(w.end) + first_reselect + preparation;
                mech = (a + over).max(w.end);
            }
            waited = w.end.saturating_sub(a);
            self.end_destage(w);
        } else {
            match extra {
                Some(x) if elsewhere => {
                    let command = a + x.command.non_negative();
                    bus = command
                        + x.disconnect.non_negative()
                        + x.pause.non_negative()
                        + first_reselect
                        + preparation;
                    mech = self.command_mechanism(a, command + x.seek_delay.non_negative());
                    last_disconnect = x.second_disconnect.non_negative();
                    last_reselect = other_reselect;
                }
                _ => {
                    bus = a + over + preparation;
                    mech = self.command_mechanism(a, a + over);
                }
            }
        }
        if let Some(x) = extra {
            gate = if x.long_request_sectors > 0 && task.count >= x.long_request_sectors {
                x.buffered_sectors_long
            } else {
                x.buffered_sectors
            }
            .max(1);
        }
        let minimum = self.timing.minimum_write;
        if minimum > 0 {
            if let Some(place) = self.mechanics.layout.locate(task.sector) {
                let arm = &self.arms[self.active];
                let movement = self
                    .mechanics
                    .move_ns(arm, place.cylinder, place.head, true);
                mech += minimum.saturating_sub(movement);
            }
        }
        let buffer = if self.segments.size == 0 {
            u64::MAX
        } else {
            self.segments.size
        };
        let order = Order {
            place: task.place,
            sector: task.sector,
            count: task.count,
            write: true,
            start: mech,
            via: task.via,
            minimum_move: 0,
            on_arrival: self.cache.write_on_arrival && !self.compat,
            watermark: 0,
            link_ns,
            supply: Some(Supply {
                start: bus,
                gate,
                buffer,
            }),
        };
        let mut pass = self.pass(&order);
        let last_arrival = pass.last_arrival;
        if task.partial {
            // The sectors were read in this turn; they are written in the next.
            let turn = self.mechanics.rotation.period_ns() as u64;
            pass.rotation += turn;
            pass.end += turn;
            if !back {
                self.busy.rotation += turn;
            }
            self.mechanism_free = pass.end;
        }
        let segment = self.place_written(task, appended);
        if back {
            let busy = Busy {
                seek: pass.seek,
                rotation: pass.rotation,
                transfer: pass.transfer,
            };
            self.background = Background::Writing(Destaging {
                segment,
                start: mech,
                end: pass.end,
                past: task.past(),
                busy,
            });
            return in_buffer(a, waited, bus, last_arrival, tail);
        }
        if let Some(i) = segment {
            if !self.cache.read_hits_on_written {
                self.segments.list[i].clear();
            }
        }
        let completion = pass.end.max(last_arrival + last_disconnect) + last_reselect + tail;
        mechanical(a, mech, waited, &pass, completion)
    }

    /// Puts written data into a segment, and drops what they overwrite elsewhere.
    fn place_written(&mut self, task: &Task, appended: Option<usize>) -> Option<usize> {
        let (start, end) = (task.sector, task.past());
        if self.segments.list.is_empty() {
            return None;
        }
        let i = if let Some(i) = appended {
            i
        } else if self.segments.separate_write {
            0
        } else {
            let overlapping = self
                .segments
                .list
                .iter()
                .position(|s| s.overlaps(start, end));
            overlapping.or_else(|| self.segments.victim())?
        };
        self.stop_others(task.start, Some(i), start, end);
        self.segments.invalidate(start, end, Some(i));
        self.segments.touch(i);
        let size = self.segments.size;
        let s = &mut self.segments.list[i];
        if appended.is_none() || s.end != start {
            s.start = start;
        }
        s.end = end;
        s.visible_at = 0;
        s.whole_track = Segment::NEVER;
        s.bound(size);
        Some(i)
    }

    /// The data wait in the buffer until the mechanism takes them.
    fn write_deferred(&mut self, task: &Task, previous_write: bool) -> Completion {
        let a = task.start;
        let t = &self.timing;
        let (over, preparation, tail) = (
            t.write.of(previous_write),
            t.preparation,
            t.write_completion,
        );
        let link_all = Mechanics::pass_ns(task.count, t.link_write_ns);
        let (start, end) = (task.sector, task.past());
        // Read-ahead into what is overwritten must not resurrect old data.
        if self.reads_ahead_into(start, end) {
            self.end_read_ahead(a);
        }
        self.stop_others(a, None, start, end);
        self.segments.invalidate(start, end, None);
        let joined = self.dirty.iter().position(|d| {
            (d.start <= start && end <= d.end)
                || (self.cache.append_writes
                    && d.end == start
                    && end - d.start <= self.segments.size.max(1))
        });
        let mut free = a;
        if joined.is_none() {
            if self.dirty.len() >= self.cache.write_segments as usize {
                self.end_read_ahead(a);
            }
            // A segment stays taken until its data are on the medium.
            while self.dirty.len() + matches!(self.background, Background::Writing(_)) as usize
                >= self.cache.write_segments as usize
            {
                match self.finish_destage() {
                    Some(e) => free = free.max(e),
                    None => self.start_destage(free, |_| true),
                }
            }
        }
        let bus = (a + over).max(free) + preparation;
        let arrived = bus + link_all;
        match joined {
            Some(i) => {
                let d = &mut self.dirty[i];
                d.end = d.end.max(end);
                d.partial |= task.partial;
            }
            None => self.dirty.push(Dirty {
                start,
                end,
                ready: arrived,
                partial: task.partial,
            }),
        }
        in_buffer(a, free - a, bus, arrived, tail)
    }

    /// Sends those of the `wanted` unwritten data that are reached first to the medium, not before
    /// `at`. There must be some.
    pub(super) fn start_destage(&mut self, at: u64, wanted: impl Fn(&Dirty) -> bool) {
        let mut best = (u64::MAX, 0, self.active);
        for (i, d) in self.dirty.iter().enumerate().filter(|(_, d)| wanted(d)) {
            let begin = at.max(self.mechanism_free).max(d.ready);
            if let Some(place) = self.mechanics.layout.locate(d.start) {
                for path in self.destage_paths(&place) {
                    let arm = &self.arms[path];
                    let cost = self.mechanics.position(arm, &place, true, begin);
                    let total = begin - at + cost.total();
                    if total < best.0 {
                        best = (total, i, path);
                    }
                }
            }
        }
        if best.0 == u64::MAX {
            // Nothing reaches any of them any more.
            let before = self.dirty.len();
            self.dirty.retain(|d| !wanted(d));
            self.lost_writes += (before - self.dirty.len()) as u64;
            return;
        }
        self.active = best.2;
        let d = self.dirty.remove(best.1);
        let begin = at
            .max(self.mechanism_free)
            .max(self.destage_free)
            .max(d.ready);
        let order = Order {
            place: None,
            sector: d.start,
            count: (d.end - d.start) as u32,
            write: true,
            start: begin,
            via: None,
            minimum_move: 0,
            on_arrival: self.cache.write_on_arrival,
            watermark: 0,
            link_ns: 0.0,
            supply: Some(Supply {
                start: 0,
                gate: 1,
                buffer: u64::MAX,
            }),
        };
        let mut pass = self.pass(&order);
        if d.partial {
            let turn = self.mechanics.rotation.period_ns() as u64;
            pass.rotation += turn;
            pass.end += turn;
            self.mechanism_free = pass.end;
        }
        let task = Task {
            start: begin,
            sector: d.start,
            count: order.count,
            partial: d.partial,
            place: None,
            via: None,
        };
        let segment = if self.cache.read_hits_on_written {
            self.place_written(&task, None)
        } else {
            None
        };
        self.background = Background::Writing(Destaging {
            segment,
            start: begin,
            end: pass.end,
            past: d.end,
            busy: Busy {
                seek: pass.seek,
                rotation: pass.rotation,
                transfer: pass.transfer,
            },
        });
    }

    /// Destages what the policy lets go before `until`.
    pub(super) fn run_destaging(&mut self, until: u64) {
        while !self.dirty.is_empty() {
            match self.background {
                Background::Writing(w) if w.end <= until => self.end_destage(w),
                Background::None => {}
                _ => return,
            }
            let ready = self.dirty.iter().map(|d| d.ready).min().unwrap_or(0);
            let mut begin = ready.max(self.mechanism_free).max(self.destage_free);
            if self.cache.destage == Destage::Idle {
                begin = begin.max(self.idle_since() + self.cache.destage_after.non_negative());
            }
            if begin >= until {
                return;
            }
            self.start_destage(begin, |_| true);
        }
    }

    /// When the last command ended on the mechanism or in the buffer.
    fn idle_since(&self) -> u64 {
        self.mechanism_free
            .max(self.dirty.iter().map(|d| d.ready).max().unwrap_or(0))
    }
}
