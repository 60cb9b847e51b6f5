//! The host's side of a run: requests that are somewhere in the array, joined from their parts and
//! counted when they are done.

use crate::simulate::{Log, Outcome, Record};
use headstack_drive::Completion;
use headstack_engine::EventQueue;
use headstack_trace::{ClosedLoop, Request};
use headstack_units::Time;

/// A request that is somewhere in the array.
#[derive(Clone, Copy, Default)]
struct Slot {
    id: u64,
    request: Request,
    parts: u32,
    // Those that are not done yet.
    remaining: u32,
    measured: bool,
}

/// What came of the parts of a request that are done so far.
#[derive(Clone, Copy)]
struct Join {
    /// The part that ended last; of parts that ended together, the one on the first drive.
    last: Completion,
    drive: u32,
    cache_hit: bool,
    moved: bool,
    error: bool,
}

impl Join {
    fn of(drive: u32, part: &Completion) -> Join {
        Join {
            last: *part,
            drive,
            cache_hit: part.cache_hit,
            moved: part.moved(),
            error: part.error,
        }
    }

    fn add(&mut self, drive: u32, part: &Completion) {
        self.cache_hit &= part.cache_hit;
        self.moved |= part.moved();
        self.error |= part.error;
        if (part.completion, self.drive) > (self.last.completion, drive) {
            (self.last, self.drive) = (*part, drive);
        }
    }
}

/// What is in flight and what was observed.
pub(crate) struct Host<'a, 'l> {
    slots: Vec<Slot>,
    free: Vec<u32>,
    // By slot, for those of several parts.
    joins: Vec<Option<Join>>,
    pub in_flight: u64,
    pub outcome: Outcome,
    pub log: Option<&'a mut Log<'l>>,
    pub failure: Option<String>,
    // Closed arrivals: when slots come free, and the think times.
    pub issues: Option<(EventQueue<()>, ClosedLoop)>,
}

impl<'a, 'l> Host<'a, 'l> {
    pub fn new(outcome: Outcome, log: Option<&'a mut Log<'l>>) -> Host<'a, 'l> {
        Host {
            slots: Vec::new(),
            free: Vec::new(),
            joins: Vec::new(),
            in_flight: 0,
            outcome,
            log,
            failure: None,
            issues: None,
        }
    }

    /// A request enters at `now`, in so many parts; returns the name under which its parts complete.
    #[inline(always)]
    pub fn open(
        &mut self,
        id: u64,
        now: Time,
        request: &Request,
        parts: u32,
        measured: bool,
    ) -> u64 {
        self.in_flight += 1;
        let i = match self.free.pop() {
            Some(i) => i as usize,
            None => self.add_slot(),
        };
        let slot = &mut self.slots[i];
        slot.id = id;
        slot.request = *request;
        slot.request.time = now;
        slot.parts = parts;
        slot.remaining = parts;
        slot.measured = measured;
        i as u64
    }

    #[cold]
    fn add_slot(&mut self) -> usize {
        self.slots.push(Slot::default());
        self.joins.push(None);
        self.slots.len() - 1
    }

    /// One part is done by drive `member`.
    #[inline(always)]
    pub fn part_done(&mut self, member: usize, c: &Completion) {
        let slot = &mut self.slots[c.id as usize];
        let measured = slot.measured;
        if measured {
            let m = &mut self.outcome.members[member];
            m.n_requests += 1;
            if c.error {
                m.n_errors += 1;
            } else {
                m.n_cache_hits += c.cache_hit as u64;
                m.n_seeks += c.moved() as u64;
                m.response_ns += c.completion.since(c.arrival).0 as u128;
            }
        }
        if slot.parts > 1 {
            return self.join(member as u32, c);
        }
        let (arrival, blocks) = (slot.request.time, slot.request.blocks);
        self.free.push(c.id as u32);
        self.in_flight -= 1;
        self.finish(arrival, blocks, c, c.moved(), measured);
        if measured && self.log.is_some() {
            self.log_slot(c.id as usize, member as u32, c);
        }
    }

    /// One part of several is done.
    fn join(&mut self, drive: u32, part: &Completion) {
        let i = part.id as usize;
        let join = match &mut self.joins[i] {
            Some(join) => {
                join.add(drive, part);
                *join
            }
            none => *none.insert(Join::of(drive, part)),
        };
        let slot = &mut self.slots[i];
        slot.remaining -= 1;
        if slot.remaining > 0 {
            return;
        }
        let (arrival, blocks, measured) = (slot.request.time, slot.request.blocks, slot.measured);
        let answer = Completion {
            cache_hit: join.cache_hit,
            error: join.error,
            ..join.last
        };
        self.joins[i] = None;
        self.free.push(i as u32);
        self.in_flight -= 1;
        self.finish(arrival, blocks, &answer, join.moved, measured);
        if measured {
            self.log_slot(i, join.drive, &answer);
        }
    }

    /// A request is done: counted, and in closed loops the next one is due.
    #[inline(always)]
    pub fn finish(
        &mut self,
        arrival: Time,
        blocks: u32,
        answer: &Completion,
        moved: bool,
        measured: bool,
    ) {
        if let Some((queue, think)) = &mut self.issues {
            queue.push(answer.completion + think.think(), 0, ());
        }
        if !measured {
            return;
        }
        let o = &mut self.outcome;
        o.n_requests += 1;
        o.end = o.end.max(answer.completion);
        if answer.error {
            o.n_errors += 1;
        } else {
            let response = answer.completion.since(arrival).0 as u64;
            let c = &answer.components;
            o.response.add(response);
            o.service.add(response.saturating_sub(c.queue));
            let shares = [c.queue, c.overhead, c.seek, c.rotation, c.transfer, c.bus];
            for (sum, share) in o.component_ns.iter_mut().zip(shares) {
                *sum += share as u128;
            }
            o.bytes += blocks as u128 * 512;
            o.n_cache_hits += answer.cache_hit as u64;
            o.n_seeks += moved as u64;
            o.series.add_request(arrival, answer.completion);
        }
    }

    #[inline(never)]
    fn log_slot(&mut self, slot: usize, drive: u32, answer: &Completion) {
        let Slot { id, request, .. } = self.slots[slot];
        self.write_log(id, request, drive, answer);
    }

    #[inline(never)]
    pub fn write_log(&mut self, id: u64, request: Request, drive: u32, answer: &Completion) {
        let record = Record {
            id,
            request,
            completion: answer.completion,
            components: answer.components,
            drive,
            cache_hit: answer.cache_hit,
            seek_distance: answer.seek_distance,
            arm: answer.arm,
            error: answer.error,
        };
        if let Some(Err(e)) = self.log.as_mut().map(|log| log(&record)) {
            self.failure.get_or_insert(e);
        }
    }
}
