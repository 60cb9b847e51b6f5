//! The waiting commands from which a drive's scheduler chooses.
//!
//! # Model
//! A command keeps its number while it waits. All commands are linked in order of age. The queue also keeps
//! the orders that its scheduler asks for ([`Needs`]): by position on the medium, by cylinder, by address. An
//! empty queue allocates no memory for them.

use crate::command::{Command, DriveRequest};
use crate::layout::Place;
use headstack_units::{Span, Time};

mod ordered;
mod positions;

pub use ordered::Ordered;
use positions::Entry;
pub use positions::{since, Chunk, Positions, ANGLE_BITS, CHUNK, SINCE_BITS, WRITE};

/// A queue longer than this keeps its orders by cylinder and by address until it has shrunk to a quarter. For
/// shorter queues a plain scan is cheaper than keeping the orders.
pub const LONG: usize = 64;

/// No neighbour in the order of age, or no vacant number.
const NONE: u32 = u32::MAX;

/// The arrival of a command. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Arrival {
    /// When the command reached the drive.
    pub at: Time,
    /// When its processing began, which is when it was admitted to the drive's queue.
    pub decoding_since: Time,
    /// Whether the previous command to arrive was a write.
    pub after_write: bool,
}

/// Which orders of the waiting commands a scheduler asks for. By default none: it reads all commands in order
/// of age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Needs {
    /// It always takes the oldest command.
    pub only_oldest: bool,
    /// It reads [`Queue::positions`].
    pub positions: bool,
    /// It reads [`Queue::by_cylinder`].
    pub cylinders: bool,
    /// For which commands it reads [`Queue::by_address`].
    pub addresses: Addresses,
}

/// Which commands are kept in order of address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Addresses {
    /// None.
    #[default]
    None,
    /// Reads.
    Reads,
    /// All commands.
    All,
}

/// A waiting command, with the place of its first sector.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    /// The request as the host submitted it.
    pub request: DriveRequest,
    /// Its arrival.
    pub arrival: Arrival,
    /// First physical sector.
    pub sector: u64,
    /// Number of physical sectors.
    pub count: u32,
    /// Place of the first sector.
    pub place: Place,
}

impl Waiting {
    /// Transfer time of its sectors, rounded down to a nanosecond; all at the rate of the first sector's
    /// track.
    #[inline]
    pub fn transfer_time(&self) -> Span {
        Span((f64::from(self.count) * self.place.sector_ns) as i64)
    }

    /// The key of the order of age.
    #[inline]
    fn age(&self) -> (Time, u64) {
        (self.arrival.at, self.request.id)
    }
}

/// The links of a number: its neighbours in the order of age (for a vacant number, `after` is the next vacant
/// one), and its place in the positions.
#[derive(Debug, Clone, Copy)]
struct Link {
    before: u32,
    after: u32,
    chunk: u32,
    at: u32,
}

/// The commands by number. The entry of a vacant number has no meaning.
#[derive(Debug, Default)]
pub struct Numbered(Vec<Waiting>);

impl std::ops::Index<usize> for Numbered {
    type Output = Waiting;
    #[inline(always)]
    fn index(&self, i: usize) -> &Waiting {
        &self.0[i]
    }
}

/// Waiting commands with fixed numbers, linked in order of age.
// In this order in memory: what each command needs is together (docs/design/decisions.md, closed loops).
#[repr(C)]
pub struct Queue {
    /// Number of commands.
    pub len: usize,
    oldest: u32,
    newest: u32,
    vacant: u32,
    needs: Needs,
    /// Whether the orders by cylinder and address are kept.
    long: bool,
    /// Whether commands that arrived together were pushed in another order than that of their ids. Kept only
    /// if addresses are.
    pub(crate) mixed_ids: bool,
    /// A single command that has not been added to the positions yet, because it is often served before
    /// another one arrives.
    lone: Option<u32>,
    /// A lower bound of the transfer times: a number of sectors, and the time of one in nanoseconds.
    least_transfer: (u32, f64),
    /// The commands by number. A command keeps its number until it is removed.
    pub items: Numbered,
    links: Vec<Link>,
    /// The positions of all commands on the medium, in chunks of neighbouring cylinders; empty unless
    /// [`Needs::positions`] asks for them. A single command is included only after [`Queue::place_lone`].
    pub positions: Positions,
    cylinders: Ordered,
    addresses: Ordered,
}

impl Queue {
    /// An empty queue that keeps the orders in `needs`.
    pub fn new(needs: Needs) -> Queue {
        Queue {
            items: Numbered::default(),
            links: Vec::new(),
            len: 0,
            oldest: NONE,
            newest: NONE,
            vacant: NONE,
            needs,
            positions: Positions::default(),
            lone: None,
            least_transfer: (u32::MAX, f64::MAX),
            mixed_ids: false,
            long: false,
            cylinders: Ordered::default(),
            addresses: Ordered::default(),
        }
    }
    /// Whether there are no commands.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The number of the oldest command. The queue must not be empty.
    #[inline]
    pub fn oldest(&self) -> usize {
        self.oldest as usize
    }
    /// The number of the command that was pushed last. The queue must not be empty.
    #[inline]
    #[doc(hidden)]
    pub fn newest(&self) -> usize {
        self.newest as usize
    }
    /// The numbers of the commands, from the oldest to the newest.
    pub fn by_age(&self) -> impl Iterator<Item = usize> + '_ {
        let mut at = self.oldest;
        std::iter::from_fn(move || {
            let here = (at != NONE).then_some(at as usize)?;
            at = self.links[here].after;
            Some(here)
        })
    }
    /// Whether `a` is older than `b`. Of commands that arrived together, the one with the lower id is older.
    #[inline]
    pub fn older(&self, a: usize, b: usize) -> bool {
        self.items[a].age() < self.items[b].age()
    }
    /// The commands by cylinder, if asked for by [`Needs::cylinders`] and the queue is [`LONG`].
    #[inline]
    pub fn by_cylinder(&self) -> Option<&Ordered> {
        (self.long && self.needs.cylinders).then_some(&self.cylinders)
    }
    /// The commands by first sector, if asked for by [`Needs::addresses`] and the queue is [`LONG`].
    #[inline]
    pub fn by_address(&self) -> Option<&Ordered> {
        (self.long && self.needs.addresses != Addresses::None).then_some(&self.addresses)
    }
    /// A lower bound of [`Waiting::transfer_time`] over all commands.
    pub fn least_transfer_time(&self) -> Span {
        Span((f64::from(self.least_transfer.0) * self.least_transfer.1) as i64)
    }

    /// Adds a command as the newest one; `locate` sets its place.
    #[inline(always)]
    pub fn push(
        &mut self,
        request: DriveRequest,
        arrival: Arrival,
        (sector, count): (u64, u32),
        locate: impl FnOnce(&mut Place),
    ) {
        let before = self.newest;
        let link = Link { before, after: NONE, chunk: 0, at: 0 };
        let i = match self.vacant {
            NONE => self.one_more(request, arrival),
            vacant => vacant,
        };
        let waiting = &mut self.items.0[i as usize];
        waiting.request = request;
        waiting.arrival = arrival;
        (waiting.sector, waiting.count) = (sector, count);
        locate(&mut waiting.place);
        let slot = &mut self.links[i as usize];
        self.vacant = slot.after;
        *slot = link;
        if self.needs.positions {
            if self.len == 0 {
                self.lone = Some(i);
            } else {
                self.place_lone();
                self.place(i);
            }
        }
        match before {
            NONE => self.oldest = i,
            n => {
                self.links[n as usize].after = i;
                if self.needs.addresses != Addresses::None {
                    self.mixed_ids |= self.older(i as usize, n as usize);
                }
            }
        }
        self.newest = i;
        self.len += 1;
        if self.long || self.len > LONG {
            self.order_one_more(i);
        }
    }

    /// A number that was never used.
    #[cold]
    fn one_more(&mut self, request: DriveRequest, arrival: Arrival) -> u32 {
        let i = self.links.len() as u32;
        self.items.0.push(Waiting { request, arrival, sector: 0, count: 0, place: Place::default() });
        self.links.push(Link { before: NONE, after: NONE, chunk: 0, at: 0 });
        i
    }

    /// The processing of a waiting command begins anew, at `decoding_since`.
    pub(crate) fn readmit(&mut self, i: usize, decoding_since: Time) {
        self.items.0[i].arrival.decoding_since = decoding_since;
    }

    /// Changes the place of a waiting command.
    pub fn relocate(&mut self, i: usize, place: Place) {
        let old = self.items.0[i].place;
        if self.long && self.needs.cylinders && old.cylinder != place.cylinder {
            let age = self.items[i].age();
            self.cylinders.remove(u64::from(old.cylinder), age, i);
            self.cylinders.insert(u64::from(place.cylinder), age, i);
        }
        let moves = (old.cylinder, old.angle) != (place.cylinder, place.angle);
        let placed = self.needs.positions && self.lone.is_none();
        if placed && moves {
            let link = self.links[i];
            self.positions.remove(link.chunk, link.at, &mut self.links);
        }
        self.items.0[i].place = place;
        if placed && moves {
            self.place(i as u32);
        } else {
            self.least_transfer.1 = self.least_transfer.1.min(place.sector_ns);
        }
    }

    /// Adds a single command to the positions, for a scheduler that is about to read them.
    #[inline]
    pub fn place_lone(&mut self) {
        if let Some(i) = self.lone.take() {
            self.place(i);
        }
    }

    /// Adds a command to the positions.
    fn place(&mut self, i: u32) {
        let w = &self.items.0[i as usize];
        let entry = Entry {
            cylinder: w.place.cylinder,
            angle: w.place.angle,
            write: w.request.command.writes(),
            since: since(w.arrival.at),
        };
        self.least_transfer.0 = self.least_transfer.0.min(w.count);
        if w.place.sector_ns < self.least_transfer.1 {
            self.least_transfer.1 = w.place.sector_ns;
        }
        self.positions.insert(i, entry, &mut self.links);
    }

    /// Removes a command. Its number is used again for a later one.
    #[inline(always)]
    pub fn remove(&mut self, i: usize) {
        if self.long {
            self.order_one_less(i);
        }
        let link = self.links[i];
        if self.needs.positions && self.lone.take().is_none() {
            self.positions.remove(link.chunk, link.at, &mut self.links);
        }
        match link.before {
            NONE => self.oldest = link.after,
            b => self.links[b as usize].after = link.after,
        }
        match link.after {
            NONE => self.newest = link.before,
            a => self.links[a as usize].before = link.before,
        }
        self.links[i].after = self.vacant;
        self.vacant = i as u32;
        self.len -= 1;
        if self.len == 0 {
            self.least_transfer = (u32::MAX, f64::MAX);
            self.mixed_ids = false;
        }
    }

    #[inline(never)]
    fn order_one_more(&mut self, i: u32) {
        if !self.needs.cylinders && self.needs.addresses == Addresses::None {
            return;
        }
        if self.long {
            self.order(i as usize);
        } else {
            self.long = true;
            let all: Vec<usize> = self.by_age().collect();
            all.into_iter().for_each(|i| self.order(i));
        }
    }

    /// Adds a command to the orders that are kept.
    fn order(&mut self, i: usize) {
        let w = &self.items[i];
        if self.needs.cylinders {
            self.cylinders.insert(u64::from(w.place.cylinder), w.age(), i);
        }
        if self.in_address_order(w) {
            self.addresses.insert(w.sector, w.age(), i);
        }
    }

    fn in_address_order(&self, w: &Waiting) -> bool {
        match self.needs.addresses {
            Addresses::None => false,
            Addresses::Reads => w.request.command == Command::Read,
            Addresses::All => true,
        }
    }

    #[inline(never)]
    fn order_one_less(&mut self, i: usize) {
        if self.len - 1 <= LONG / 4 {
            self.long = false;
            self.cylinders = Ordered::default();
            self.addresses = Ordered::default();
            return;
        }
        let w = &self.items[i];
        if self.needs.cylinders {
            self.cylinders.remove(u64::from(w.place.cylinder), w.age(), i);
        }
        if self.in_address_order(w) {
            self.addresses.remove(w.sector, w.age(), i);
        }
    }
}
