//! Writes: through to the medium, or completing in the buffer with the medium written behind.

use super::pass::{Order, Supply};
use super::read::{in_buffer, mechanical};
use super::{Core, Task};
use crate::background::destage::Writing;
use crate::background::BackgroundJob;
use crate::buffer::Dirty;
use crate::command::Completion;
use crate::mechanics::Mechanics;
use crate::phase::Work;

/// When a write may use link and mechanism.
#[derive(Debug, Clone, Copy)]
struct Admission {
    /// The link starts.
    bus: u64,
    /// The arm may move.
    mech: u64,
    /// How long it waited for data of an earlier write.
    waited: u64,
    /// The segment that it continues.
    appended: Option<usize>,
    /// After the data have been taken in: off the link, and back on it.
    last_disconnect: u64,
    last_reselect: u64,
}

impl Core {
    pub fn write(&mut self, task: &Task) -> Completion {
        self.run_background(task.start);
        let previous_write = std::mem::replace(&mut self.previous_write, true);
        let previous_end = std::mem::replace(&mut self.previous_end, task.past());
        if self.deferred_writes() {
            self.write_deferred(task)
        } else {
            let elsewhere = previous_write && task.sector != previous_end;
            self.write_now(task, elsewhere)
        }
    }

    /// The medium is written while (or right after) the data arrive. `elsewhere`: the previous command
    /// was a write to another place.
    fn write_now(&mut self, task: &Task, elsewhere: bool) -> Completion {
        let a = task.start;
        self.stop_others(a, None, task.sector, task.past());
        let admission = self.admit_write(task, elsewhere);
        let work = if self.cache.write_back {
            Work::Destage
        } else {
            Work::Request
        };
        let mech = admission.mech + self.settling_minimum(task);
        let order = Order {
            place: task.place,
            write: true,
            via: task.via,
            on_arrival: self.cache.write_on_arrival && !self.compat,
            link_ns: self.timing.link_write_ns,
            supply: Some(self.supply(task, admission.bus)),
            ..Order::plain(task.sector, task.count, mech)
        };
        let mut pass = self.pass(&order, work);
        let arrived = pass.last_arrival;
        if task.partial {
            self.site(self.acting).0.write_in_next_turn(&mut pass, work);
        }
        let segment = self.place_written(task, admission.appended);
        let tail = self.timing.write_completion;
        if self.cache.write_back {
            self.assemblies[self.acting].jobs.destage.writing = Some(Writing {
                segment,
                end: pass.end,
                past: task.past(),
            });
            return in_buffer(a, admission.waited, admission.bus, arrived, tail);
        }
        if let (Some(i), false) = (segment, self.cache.read_hits_on_written) {
            self.buffer.segments.list[i].clear();
        }
        let taken = pass.end.max(arrived + admission.last_disconnect);
        let completion = taken + admission.last_reselect + tail;
        mechanical(a, mech, admission.waited, &pass, completion)
    }

    /// When link and arm may start, after data that are still on their way to the medium.
    fn admit_write(&mut self, task: &Task, elsewhere: bool) -> Admission {
        let a = task.start;
        let t = &self.timing;
        let ready = task.decoded(t.write.of(task.after_write));
        let preparation = t.preparation;
        let mut admission = Admission {
            bus: ready + preparation,
            mech: ready,
            waited: 0,
            appended: None,
            last_disconnect: t.write_disconnect,
            last_reselect: t.first_reselect,
        };
        if let Some(w) = self.jobs().destage.writing {
            admission.waited = w.end.saturating_sub(a);
            if self.cache.append_writes && w.past == task.sector && w.segment.is_some() {
                admission.mech = w.end;
                admission.appended = w.segment;
            } else {
                let back = (ready + t.write_disconnect).max(w.end);
                admission.bus = back + t.first_reselect + preparation;
                admission.mech = ready.max(w.end);
            }
            self.finish_destage();
            return admission;
        }
        match t.extra_write_disconnect {
            Some(x) if elsewhere => {
                let reselects = [t.first_reselect, t.other_reselect];
                let command = task.decoded(x.command.non_negative());
                let away = x.disconnect.non_negative() + x.pause.non_negative();
                admission.bus = command + away + reselects[0] + preparation;
                admission.mech = self.command_mechanism(a, command + x.seek_delay.non_negative());
                admission.last_disconnect = x.second_disconnect.non_negative();
                admission.last_reselect = reselects[1];
            }
            _ => admission.mech = self.command_mechanism(a, ready),
        }
        admission
    }

    /// What the movement of a write falls short of the drive's least.
    fn settling_minimum(&self, task: &Task) -> u64 {
        let minimum = self.timing.minimum_write;
        if minimum == 0 {
            return 0;
        }
        let Some(place) = self.mechanics.layout.locate(task.sector) else {
            return 0;
        };
        let movement = self
            .mechanics
            .move_ns(self.arm(), place.cylinder, place.head, true);
        minimum.saturating_sub(movement)
    }

    /// When the data of a write whose link starts at `bus` are in the buffer.
    fn supply(&self, task: &Task, bus: u64) -> Supply {
        let gate = match self.timing.extra_write_disconnect {
            None => 1,
            Some(x) if x.long_request_sectors > 0 && task.count >= x.long_request_sectors => {
                x.buffered_sectors_long.max(1)
            }
            Some(x) => x.buffered_sectors.max(1),
        };
        Supply {
            start: bus,
            gate,
            buffer: match self.buffer.segments.size {
                0 => u64::MAX,
                size => size,
            },
        }
    }

    /// Puts written data into a segment, and drops what they overwrite elsewhere.
    fn place_written(&mut self, task: &Task, appended: Option<usize>) -> Option<usize> {
        let (start, end) = (task.sector, task.past());
        let i = self.buffer.segments.for_written(start, end, appended)?;
        self.stop_others(task.start, Some(i), start, end);
        self.buffer.segments.place_written(start, end, appended)
    }

    /// The data wait in the buffer until the mechanism takes them.
    fn write_deferred(&mut self, task: &Task) -> Completion {
        let a = task.start;
        let t = &self.timing;
        let ready = task.decoded(t.write.of(task.after_write));
        let (preparation, tail) = (t.preparation, t.write_completion);
        let link_all = Mechanics::pass_ns(task.count, t.link_write_ns);
        let (start, end) = (task.sector, task.past());
        // Read-ahead into what is overwritten must not resurrect old data.
        let r = &self.jobs().read_ahead;
        if r.is_under_way() && r.touches(&self.buffer.segments.list[r.segment], start, end) {
            self.stop_read_ahead(a);
        }
        self.stop_others(a, None, start, end);
        self.buffer.segments.invalidate(start, end, None);
        let joined = self.buffer.dirty.iter().position(|d| {
            (d.start <= start && end <= d.end)
                || (self.cache.append_writes
                    && d.end == start
                    && end - d.start <= self.buffer.segments.size.max(1))
        });
        let free = match joined {
            Some(_) => a,
            None => self.make_room(a),
        };
        let bus = ready.max(free) + preparation;
        let arrived = bus + link_all;
        match joined {
            Some(i) => {
                let d = &mut self.buffer.dirty[i];
                d.end = d.end.max(end);
                d.partial |= task.partial;
            }
            None => self.buffer.dirty.push(Dirty {
                start,
                end,
                ready: arrived,
                partial: task.partial,
            }),
        }
        in_buffer(a, free - a, bus, arrived, tail)
    }

    /// Makes room for one more entry of unwritten data, from `at` on; returns when there is. A segment
    /// stays taken until its data are on the medium.
    fn make_room(&mut self, at: u64) -> u64 {
        let most = self.cache.write_segments as usize;
        let mut free = at;
        if self.buffer.dirty.len() >= most {
            self.stop_read_ahead(at);
        }
        while self.buffer.dirty.len() + self.jobs().destage.writing.is_some() as usize >= most {
            if let Some(end) = self.finish_destage() {
                free = free.max(end);
                continue;
            }
            let (mut site, jobs) = self.site(self.acting);
            if !jobs.destage.send(&mut site, free, |_| true) {
                break;
            }
            self.couple(self.acting);
        }
        free
    }
}
