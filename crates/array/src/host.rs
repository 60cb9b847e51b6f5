//! The host's side of a run: requests that are somewhere in the array, joined from their parts and
//! counted when they are done.

use crate::simulate::{Log, Outcome, Record};
use headstack_drive::{Completion, Components};
use headstack_engine::EventQueue;
use headstack_trace::{ClosedLoop, Request};
use headstack_units::Time;

/// A request that is somewhere in the array.
#[derive(Clone, Copy)]
struct Slot {
    id: u64,
    request: Request,
    parts: u32,
    remaining: u32,
    measured: bool,
    // Of the parts done so far; not kept for requests of one part.
    answer: Answer,
}

/// What came of the parts of a request.
#[derive(Clone, Copy)]
pub(crate) struct Answer {
    completion: Time,
    components: Components,
    // Of the last part; `u32::MAX` before the first is done.
    drive: u32,
    seek_distance: u32,
    arm: u8,
    cache_hit: bool,
    mechanical: bool,
    error: bool,
}

impl Answer {
    /// Of a request that no drive sees, at `now`.
    pub fn at_once(now: Time, error: bool) -> Answer {
        Answer {
            cache_hit: !error,
            error,
            ..Answer::none(now)
        }
    }

    /// Nothing done yet at `now`.
    fn none(now: Time) -> Answer {
        Answer {
            completion: now,
            components: Components::default(),
            drive: u32::MAX,
            seek_distance: 0,
            arm: 0,
            cache_hit: true,
            mechanical: false,
            error: false,
        }
    }

    #[inline]
    fn of(member: usize, c: &Completion) -> Answer {
        Answer {
            completion: c.completion,
            components: c.components,
            drive: member as u32,
            seek_distance: c.seek_distance,
            arm: c.arm,
            cache_hit: c.cache_hit,
            mechanical: c.mechanical && c.seek_distance > 0,
            error: c.error,
        }
    }

    /// The later part decides; of parts done at the same time, the one on the first drive.
    fn join(&mut self, part: &Answer) {
        let first = self.drive == u32::MAX;
        let later = part.completion > self.completion
            || (part.completion == self.completion && part.drive < self.drive);
        let last = if first || later { *part } else { *self };
        *self = Answer {
            cache_hit: self.cache_hit & part.cache_hit,
            mechanical: self.mechanical | part.mechanical,
            error: self.error | part.error,
            ..last
        };
    }
}

/// What is in flight and what was observed.
pub(crate) struct Host<'a, 'l> {
    slots: Vec<Slot>,
    free: Vec<u32>,
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
            in_flight: 0,
            outcome,
            log,
            failure: None,
            issues: None,
        }
    }

    /// A request enters, in so many parts; returns the name under which its parts complete.
    #[inline]
    pub fn open(&mut self, id: u64, request: &Request, parts: u32, measured: bool) -> u64 {
        self.in_flight += 1;
        let i = match self.free.pop() {
            Some(i) => i as usize,
            None => {
                self.slots.push(Slot {
                    id,
                    request: *request,
                    parts,
                    remaining: parts,
                    measured,
                    answer: Answer::none(request.time),
                });
                return self.slots.len() as u64 - 1;
            }
        };
        let slot = &mut self.slots[i];
        slot.id = id;
        slot.request = *request;
        slot.parts = parts;
        slot.remaining = parts;
        slot.measured = measured;
        if parts > 1 {
            slot.answer = Answer::none(request.time);
        }
        i as u64
    }

    /// One part is done by drive `member`.
    #[inline(always)]
    pub fn part_done(&mut self, member: usize, c: Completion) {
        let slot = &mut self.slots[c.id as usize];
        let part = Answer::of(member, &c);
        if slot.measured {
            let m = &mut self.outcome.members[member];
            m.n_requests += 1;
            if c.error {
                m.n_errors += 1;
            } else {
                m.n_cache_hits += part.cache_hit as u64;
                m.n_seeks += part.mechanical as u64;
                m.response_ns += c.completion.since(c.arrival).0 as u128;
            }
        }
        let answer = if slot.parts == 1 {
            part
        } else {
            slot.answer.join(&part);
            slot.remaining -= 1;
            if slot.remaining > 0 {
                return;
            }
            slot.answer
        };
        let (arrival, blocks, measured) = (slot.request.time, slot.request.blocks, slot.measured);
        self.free.push(c.id as u32);
        self.in_flight -= 1;
        self.finish(arrival, blocks, &answer, measured);
        if measured && self.log.is_some() {
            let Slot { id, request, .. } = self.slots[c.id as usize];
            self.write_log(id, request, &answer);
        }
    }

    /// A request is done: counted, and in closed loops the next one is due.
    #[inline(always)]
    pub fn finish(&mut self, arrival: Time, blocks: u32, answer: &Answer, measured: bool) {
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
            o.n_seeks += answer.mechanical as u64;
            o.series.add_request(arrival, answer.completion);
        }
    }

    #[inline(never)]
    pub fn write_log(&mut self, id: u64, request: Request, answer: &Answer) {
        let record = Record {
            id,
            request,
            completion: answer.completion,
            components: answer.components,
            drive: answer.drive,
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
