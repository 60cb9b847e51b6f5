//! What happens in the parts of a system that are simulated by themselves, held until it can be counted in the order of
//! the whole system.

use crate::ended::Times;
use crate::observers::Observers;
use crate::simulate::record::Record;
use headstack_block::timetable::Timetable;
use headstack_units::Time;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

/// Where an event stands among those of the same time: arrivals come first, then events of members in their order.
const ARRIVALS: u32 = 0;

/// No slot: a request that ended as it arrived.
const AT_ONCE: usize = usize::MAX;

#[derive(Clone, Copy)]
pub enum What {
    /// A request of a thread arrives and takes a slot.
    Arrival {
        thread: u32,
        slot: usize,
    },
    Ended {
        thread: u32,
        times: Times,
    },
    /// The next record is that of the request in a slot.
    Logged {
        slot: usize,
    },
}

#[derive(Clone, Copy)]
struct Event {
    time: Time,
    place: u32,
    what: What,
}

/// The times of a request that ended, and where it stands among those of all parts.
#[derive(Clone, Copy)]
struct HeldTimes {
    /// Twice the time of the event, and one more at an event of a member: at equal times arrivals come first. Members of
    /// different parts are in the order of the parts.
    turn: Time,
    times: Times,
}

/// Events of one part of a system, in the order in which they happened there.
#[derive(Default)]
pub struct Held {
    /// What happened in a logged run.
    events: VecDeque<Event>,
    records: VecDeque<Record>,
    /// Without a log, requests that ended are all that is held. Their turns never decrease.
    ended: Vec<HeldTimes>,
    /// Time and place of what happens now.
    now: (Time, u32),
    pub is_logged: bool,
    /// By slot, the number of its request in the whole system.
    ids: Vec<u64>,
}

impl Held {
    pub fn new(is_logged: bool) -> Held {
        Held { now: (Time::ZERO, ARRIVALS), is_logged, ..Held::default() }
    }

    /// What follows happens at an event of a member, by its number in the whole system, at `now`.
    #[inline]
    pub fn reach(&mut self, now: Time, member: usize) {
        self.now = (now, member as u32 + 1);
    }

    pub fn push(&mut self, what: What) {
        let (time, place) = self.now;
        self.events.push_back(Event { time, place, what });
    }

    /// A request of a thread arrives.
    pub fn arrives(&mut self, now: Time, thread: u32) {
        self.now = (now, ARRIVALS);
        if self.is_logged {
            let slot = AT_ONCE;
            self.push(What::Arrival { thread, slot });
        }
    }

    /// The request that arrives gets a slot.
    pub fn opened(&mut self, own: usize) {
        if let Some(Event { what: What::Arrival { slot, .. }, .. }) = self.events.back_mut() {
            *slot = own;
        }
    }

    /// A request ended. `waiting`: the number of its thread among those of all jobs, if it waits for it.
    #[inline]
    pub fn ended(&mut self, times: Times, waiting: impl FnOnce() -> u32) {
        if self.is_logged {
            let thread = waiting();
            return self.push(What::Ended { thread, times });
        }
        if times.counts {
            let (time, place) = self.now;
            let turn = Time(2 * time.0 + u64::from(place != ARRIVALS));
            // What follows another event here is counted after it.
            let last = self.ended.last().map_or(turn, |last| last.turn);
            let turn = turn.max(last);
            self.ended.push(HeldTimes { turn, times });
        }
    }

    /// The request of a slot is to be logged, or without one the request that arrives.
    pub fn logged(&mut self, slot: Option<usize>, record: Record) {
        if self.is_logged {
            self.records.push_back(record);
            let slot = slot.unwrap_or(AT_ONCE);
            self.push(What::Logged { slot });
        }
    }
}

/// Counts events of several parts in the order in which they would have happened if all were simulated together: in
/// order of time; of equal times arrivals first, in the order in which their threads were set up for them, then members
/// in the order of their numbers.
pub struct Order {
    /// By thread: when it was set up for its next request, as a place in the order of all.
    ready: Vec<u64>,
    /// Threads that were set up, and requests that arrived.
    n_ready: u64,
    n_arrived: u64,
    /// The first event of each part: time and place as one number, since when its thread is ready, and the part.
    heads: BinaryHeap<Reverse<(u128, u64, usize)>>,
    /// Without a log: the next turn of each part, and how many of its requests are counted.
    turns: Timetable,
    counted: Vec<usize>,
}

impl Order {
    /// Of the requests of so many threads in so many parts.
    pub fn new(threads: usize, parts: usize) -> Order {
        Order {
            ready: (0..threads as u64).collect(),
            n_ready: threads as u64,
            n_arrived: 0,
            heads: BinaryHeap::new(),
            turns: Timetable::new(parts),
            counted: vec![0; parts],
        }
    }

    /// Counts all that is held, and releases it.
    pub(crate) fn count(&mut self, parts: &mut [&mut Held], whole: &mut Observers) {
        self.count_ended(parts, |times| whole.count(times));
        self.count_events(parts, whole);
    }

    /// Counts the requests that ended in a run without a log.
    pub fn count_ended(&mut self, parts: &mut [&mut Held], mut count: impl FnMut(&Times)) {
        let turn = |part: &Held, i: usize| part.ended.get(i).map_or(Time::NEVER, |e| e.turn);
        for (i, part) in parts.iter().enumerate() {
            self.turns.set(i, turn(part, 0));
        }
        while self.turns.earliest != Time::NEVER {
            let i = self.turns.first_index();
            let at = &mut self.counted[i];
            count(&parts[i].ended[*at].times);
            *at += 1;
            self.turns.set(i, turn(parts[i], *at));
        }
        self.counted.fill(0);
        parts.iter_mut().for_each(|part| part.ended.clear());
    }

    /// Counts and logs the events of a logged run.
    fn count_events(&mut self, parts: &mut [&mut Held], whole: &mut Observers) {
        self.heads.clear();
        for (i, part) in parts.iter().enumerate() {
            let head = self.head(part, i);
            self.heads.extend(head.map(Reverse));
        }
        while let Some(Reverse((.., i))) = self.heads.peek() {
            let i = *i;
            if let Some(event) = parts[i].events.pop_front() {
                self.happens(&event.what, parts[i], whole);
            }
            let next = self.head(parts[i], i);
            if let Some(mut first) = self.heads.peek_mut() {
                match next {
                    Some(next) => *first = Reverse(next),
                    None => drop(PeekMut::pop(first)),
                }
            }
        }
    }

    /// The first event of part `i`, to be compared with those of the others.
    fn head(&self, part: &Held, i: usize) -> Option<(u128, u64, usize)> {
        let event = part.events.front()?;
        // What happens at an arrival follows it at once.
        let ready = match event.what {
            What::Arrival { thread, .. } => 1 + self.ready[thread as usize],
            _ => 0,
        };
        let place = u128::from(event.time.0) << 64 | u128::from(event.place);
        Some((place, ready, i))
    }

    fn happens(&mut self, what: &What, part: &mut Held, whole: &mut Observers) {
        match *what {
            What::Arrival { thread, slot } => {
                // A thread that does not wait for the request is set up for the next one now.
                self.set_up(thread);
                if slot != AT_ONCE {
                    if slot >= part.ids.len() {
                        part.ids.resize(slot + 1, 0);
                    }
                    part.ids[slot] = self.n_arrived;
                }
                self.n_arrived += 1;
            }
            What::Ended { thread, times } => {
                self.set_up(thread);
                whole.count(&times);
            }
            What::Logged { slot } => {
                if let Some(mut record) = part.records.pop_front() {
                    record.answer.id = match slot {
                        AT_ONCE => self.n_arrived - 1,
                        slot => part.ids[slot],
                    };
                    whole.write_log(&record);
                }
            }
        }
    }

    fn set_up(&mut self, thread: u32) {
        if let Some(ready) = self.ready.get_mut(thread as usize) {
            *ready = self.n_ready;
            self.n_ready += 1;
        }
    }
}
