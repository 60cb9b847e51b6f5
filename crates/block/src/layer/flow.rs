//! Requests in a system, the nodes that they pass, and the order in which things happen there.
//!
//! # Model
//! The nodes of a system (layers and drives) are numbered from the host down: each before the nodes below it, these in
//! order. One table has all requests under way; nodes pass each other their numbers. A node that divides or merges
//! requests opens others for the layers below.
//!
//! Each node has a time at which it is due next. At equal times the node with the lowest number is first, and all that
//! happens at that time below a node is finished before what happens there above it.

use super::{ErrorKind, LayerCompletion, Request, Statistics};
use crate::timetable::Order;
use headstack_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::{Index, IndexMut, Range};

/// No node: what is above the roots.
pub(super) const HOST: u32 = u32::MAX;

/// A request under way: what is asked of a node, and how that ends.
#[derive(Debug, Clone, Copy, Default)]
pub struct Entry {
    /// What is asked.
    pub request: Request,
    /// Arrival, and once it is announced the end.
    pub done: LayerCompletion,
    /// Its number among those that the node which opened it has under way. Drives know requests by it.
    pub tag: u32,
    /// Which of that node's members it was given to.
    pub member: u32,
    /// What that node opened it for: a request, or a number of its own.
    pub above: u32,
    /// The next of a list that the node makes which has the request.
    pub next: u32,
    /// Whether its end is announced.
    pub is_announced: bool,
}

// What is asked is half a line of the cache; what is kept of each request is three lines and 8 bytes.
const _: () = assert!(size_of::<Request>() == 32 && size_of::<Entry>() == 200);

/// A unit that the host or a node gives requests to: node, unit of that node, size in 512-byte blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub node: u32,
    pub unit: u32,
    pub blocks: u64,
}

/// Where a node stands.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The node above; [`HOST`] of a root.
    pub above: u32,
    /// The nodes below have the numbers from its own to this one.
    pub end: u32,
    /// Its members, in the list of all.
    pub members: Range<u32>,
    /// Whether it is told of an end when that is announced, and not when its time comes.
    pub passes_on: bool,
}

/// What one node tells another.
#[derive(Clone, Copy)]
pub(super) enum Message {
    /// A request arrives.
    Submit,
    /// A request arrives that is empty or does not lie in its unit.
    Refuse,
    /// The end of a request is announced to a node that passes it on.
    Ended,
    /// The node above has no use for a request.
    Abort,
}

/// No request.
const CLOSED: u32 = u32::MAX;

/// Requests that a node, or the host, has opened.
#[derive(Default)]
struct Opened {
    /// By tag; [`CLOSED`] where the tag is free.
    requests: Vec<u32>,
    /// Tags to be used again, unless the node gives its own.
    free: Vec<u32>,
    has_own_tags: bool,
    /// Those that it has to handle when their time comes: by time, then member, then tag, which are one number.
    kept: BinaryHeap<Reverse<u128>>,
}

/// The requests of a system and their order; what a layer sees of the rest.
pub struct Flow {
    /// The present time.
    pub now: Time,
    /// The node that is at work.
    pub(super) here: u32,
    entries: Vec<Entry>,
    free: Vec<u32>,
    pub(super) places: Vec<Place>,
    /// The members of all nodes.
    pub(super) members: Vec<Member>,
    /// By node; the last are the host's.
    opened: Vec<Opened>,
    pub(super) statistics: Vec<Statistics>,
    /// When each node is due.
    pub(super) order: Order,
    /// Message, node and request, in the order in which they were sent.
    pub(super) messages: Vec<(Message, u32, u32)>,
    /// Requests of the host that have ended and are to be delivered.
    pub(super) ended: Vec<u32>,
}

impl Index<u32> for Flow {
    type Output = Entry;
    #[inline]
    fn index(&self, request: u32) -> &Entry {
        &self.entries[request as usize]
    }
}

impl IndexMut<u32> for Flow {
    #[inline]
    fn index_mut(&mut self, request: u32) -> &mut Entry {
        &mut self.entries[request as usize]
    }
}

impl Flow {
    pub(super) fn new(places: Vec<Place>, members: Vec<Member>, order: Order) -> Flow {
        let n = places.len();
        Flow {
            now: Time::ZERO,
            here: 0,
            entries: Vec::new(),
            free: Vec::new(),
            places,
            members,
            opened: (0..=n).map(|_| Opened::default()).collect(),
            statistics: vec![Statistics::default(); n],
            order,
            messages: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// Whether the statistics of this layer count a request that arrived at `arrival`.
    #[inline]
    pub fn counts_from(&self, arrival: Time) -> bool {
        self.statistics[self.here as usize].counts_from(arrival)
    }

    /// What follows is the host's.
    #[inline]
    pub(super) fn of_host(&mut self) -> &mut Flow {
        self.here = self.places.len() as u32;
        self
    }

    /// Adds a request to the table, which is opened for `above`; returns its number in the table, which is also its
    /// [`Request::id`].
    #[inline]
    pub fn open(&mut self, request: Request, above: u32) -> u32 {
        let opened = &mut self.opened[self.here as usize];
        let tag = opened.free.pop().unwrap_or(opened.requests.len() as u32);
        self.enter(request, above, tag)
    }

    /// The same of a node that gives all its requests tags of its own.
    #[inline]
    pub fn open_as(&mut self, tag: u32, request: Request, above: u32) -> u32 {
        self.opened[self.here as usize].has_own_tags = true;
        self.enter(request, above, tag)
    }

    #[inline]
    fn enter(&mut self, request: Request, above: u32, tag: u32) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| self.add());
        let requests = &mut self.opened[self.here as usize].requests;
        if tag as usize >= requests.len() {
            requests.resize(tag as usize + 1, CLOSED);
        }
        requests[tag as usize] = number;
        let entry = &mut self.entries[number as usize];
        entry.request = request;
        entry.request.id = u64::from(number);
        (entry.tag, entry.above, entry.next) = (tag, above, u32::MAX);
        // Who ends it says how: the rest is written then.
        entry.is_announced = false;
        number
    }

    #[cold]
    fn add(&mut self) -> u32 {
        self.entries.push(Entry::default());
        self.entries.len() as u32 - 1
    }

    /// Removes a request of this layer that has ended from the table; its number is used again.
    #[inline]
    pub fn close(&mut self, request: u32) {
        let tag = self[request].tag;
        let opened = &mut self.opened[self.here as usize];
        if !opened.has_own_tags {
            opened.requests[tag as usize] = CLOSED;
            opened.free.push(tag);
        }
        self.free.push(request);
    }

    /// The requests that this layer has opened, if it does not give them tags.
    pub fn opened(&self) -> impl Iterator<Item = u32> + '_ {
        self.opened[self.here as usize].requests.iter().copied().filter(|request| *request != CLOSED)
    }

    /// The request that this layer was given with a tag.
    #[inline]
    pub fn with_tag(&self, tag: u64) -> u32 {
        let above = self.places[self.here as usize].above as usize;
        self.opened[above.min(self.places.len())].requests[tag as usize]
    }

    /// Opens a request that asks the same as another one, which ends when it ends: see [`Flow::take_over`].
    #[inline]
    pub fn open_for(&mut self, request: u32) -> u32 {
        self.open(self[request].request, request)
    }

    /// Of a request that was opened for another one and has ended: the other one ends likewise. Returns its number, for
    /// [`Flow::end`].
    #[inline]
    pub fn take_over(&mut self, given: u32) -> u32 {
        let (above, done) = (self[given].above, self[given].done);
        self.close(given);
        let own = &mut self[above].done;
        *own = LayerCompletion { arrival: own.arrival, ..done };
        above
    }

    /// Gives a request to a member of this layer. It arrives there before anything else happens.
    #[inline]
    pub fn submit(&mut self, member: u32, request: u32) {
        let first = self.places[self.here as usize].members.start;
        let to = self.members[(first + member) as usize];
        let message = self.address(to, member, request);
        self.messages.push((message, to.node, request));
    }

    /// Addresses a request to a unit, member number `member` of the giver; returns what the unit's node is to be told.
    #[inline]
    pub(super) fn address(&mut self, to: Member, member: u32, request: u32) -> Message {
        let now = self.now;
        let entry = &mut self[request];
        entry.request.unit = to.unit;
        entry.member = member;
        entry.done.arrival = now;
        match entry.request.is_inside(to.blocks) {
            true => Message::Submit,
            false => Message::Refuse,
        }
    }

    /// Asks the member that has a request to abort it. One that cannot, or has announced the end, goes on as usual: the
    /// request ends in both cases.
    pub fn abort(&mut self, request: u32) {
        let first = self.places[self.here as usize].members.start;
        let node = self.members[(first + self[request].member) as usize].node;
        self.messages.push((Message::Abort, node, request));
    }

    /// Has this layer told of a request, by [`Layer::ended`](super::Layer::ended), when a time has come. At equal times the
    /// order is that of the members.
    #[inline]
    pub fn keep(&mut self, request: u32, until: Time) {
        self.keep_at(self.here, request, until);
    }

    #[inline]
    fn keep_at(&mut self, node: u32, request: u32, until: Time) {
        let Entry { member, tag, .. } = self[request];
        let rest = u64::from(member) << 32 | u64::from(tag);
        let key = u128::from(until.0) << 64 | u128::from(rest);
        self.opened[node as usize].kept.push(Reverse(key));
    }

    /// Notes when a node is due next: `own` is the time of its own next event.
    #[inline(always)]
    pub(super) fn note(&mut self, node: u32, own: Time) {
        let due = match self.opened[node as usize].kept.peek() {
            Some(Reverse(key)) => own.min(Time((key >> 64) as u64)),
            None => own,
        };
        self.order.set(node, due.max(self.now));
    }

    /// Takes the first of the requests that a node keeps, if it is due by now.
    #[inline(always)]
    pub(super) fn take_kept(&mut self, node: u32) -> Option<u32> {
        let opened = &mut self.opened[node as usize];
        let Reverse(key) = opened.kept.peek()?;
        if (key >> 64) as u64 > self.now.0 {
            return None;
        }
        let Reverse(key) = opened.kept.pop()?;
        Some(opened.requests[key as u32 as usize])
    }

    /// A request that was submitted to this layer ends as its [`Entry::done`] says. An end is never revoked.
    #[inline]
    pub fn end(&mut self, request: u32) {
        let here = self.here as usize;
        let entry = &mut self.entries[request as usize];
        entry.is_announced = true;
        entry.done.announced = self.now;
        let end = entry.done.completion;
        self.statistics[here].add_done(&entry.done);
        let above = self.places[here].above;
        if above == HOST {
            self.ended.push(request);
        } else if self.places[above as usize].passes_on {
            self.messages.push((Message::Ended, above, request));
        } else {
            self.keep_at(above, request, end);
            if end < self.order.get(above) {
                self.order.set(above, end);
            }
        }
    }

    /// A request ends as it arrives.
    pub fn end_at_once(&mut self, request: u32, error: Option<ErrorKind>) {
        let entry = &mut self[request];
        entry.done = LayerCompletion::at_once(entry.done.arrival, error);
        self.end(request);
    }
}
