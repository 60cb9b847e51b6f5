//! The commands that a drive's scheduler can choose from.
//!
//! # Model
//! A command keeps its number while it waits. All are linked by age. Besides, the queue keeps the
//! orders that its scheduler asks for ([`Needs`]): by place on the medium, by cylinder, by address.
//! A queue at rest holds no memory for them.

use crate::command::{Command, DriveRequest};
use crate::layout::Place;

mod ordered;
mod positions;

pub use ordered::Ordered;
pub use positions::{Chunk, Positions, ANGLE_BITS, CHUNK};

/// A queue that grows beyond so many commands keeps its order by cylinder and by address until it is a
/// quarter as long: for less a plain scan is cheaper than their upkeep.
pub const LONG: usize = 64;

/// No neighbour in the order of age, or no vacant number.
const NONE: u32 = u32::MAX;

/// How a command came.
#[derive(Debug, Clone, Copy, Default)]
pub struct Arrival {
    /// When it reached the drive.
    pub at: u64,
    /// When its processing began: when it came into the drive's queue.
    pub decoding_since: u64,
    /// Whether the command that arrived before it was a write.
    pub after_write: bool,
}

/// Which orders of the waiting commands a scheduler asks for; by default it reads them all, in order
/// of age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Needs {
    /// It always takes the command that has waited longest.
    pub only_oldest: bool,
    /// It reads [`Queue::positions`].
    pub positions: bool,
    /// It reads [`Queue::by_cylinder`].
    pub cylinders: bool,
    /// Which commands it reads from [`Queue::by_address`].
    pub addresses: Addresses,
}

/// Which commands are kept in order of their addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Addresses {
    /// None.
    #[default]
    None,
    /// Reads only.
    Reads,
    /// All.
    All,
}

#[cfg(test)]
impl Arrival {
    /// At a time, into a drive that has room.
    pub(crate) fn simple(at: u64) -> Arrival {
        Arrival {
            at,
            decoding_since: at,
            after_write: false,
        }
    }
}

/// A command waiting, with where its first sector lies.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    /// The request as the host gave it.
    pub request: DriveRequest,
    /// How it came.
    pub arrival: Arrival,
    /// First physical sector.
    pub sector: u64,
    /// Number of physical sectors.
    pub count: u32,
    /// Place of the first sector.
    pub place: Place,
}

impl Waiting {
    /// Whether it writes.
    #[inline]
    pub fn writes(&self) -> bool {
        self.request.command.writes()
    }

    /// Time that its sectors take to pass, all at the rate of the first one's track, cut to whole
    /// nanoseconds.
    #[inline]
    pub fn transfer_ns(&self) -> u64 {
        (f64::from(self.count) * self.place.sector_ns) as u64
    }

    /// What orders commands by how long they have waited.
    #[inline]
    fn age(&self) -> (u64, u64) {
        (self.arrival.at, self.request.id)
    }
}

/// What the queue notes of a number: neighbours in the order of age (of a vacant one: the next vacant
/// one, in `after`), and its place among the positions.
#[derive(Debug, Clone, Copy)]
struct Link {
    before: u32,
    after: u32,
    chunk: u32,
    at: u32,
}

/// The commands by their numbers; a number that no command has holds nothing of meaning.
#[derive(Debug, Default)]
pub struct Numbered(Vec<Waiting>);

impl std::ops::Index<usize> for Numbered {
    type Output = Waiting;
    #[inline(always)]
    fn index(&self, i: usize) -> &Waiting {
        &self.0[i]
    }
}

/// Waiting commands under numbers that do not change, linked by age.
pub struct Queue {
    items: Numbered,
    links: Vec<Link>,
    len: usize,
    oldest: u32,
    newest: u32,
    vacant: u32,
    needs: Needs,
    positions: Positions,
    /// A command that came into the empty queue and has no place among the positions yet: it often goes
    /// before another one comes.
    lone: Option<u32>,
    /// No command that waits transfers in less: a number of sectors, and the time of one.
    least_transfer: (u32, f64),
    /// Whether some of those that arrived together were pushed in another order than that of their
    /// ids; told only where addresses are kept.
    mixed_ids: bool,
    /// Whether the orders below are kept.
    long: bool,
    cylinders: Ordered,
    addresses: Ordered,
}

impl Queue {
    /// A queue that keeps what a scheduler asks for.
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
    /// Number of commands.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The commands by number. A command keeps its number until it is removed.
    #[inline]
    pub fn items(&self) -> &Numbered {
        &self.items
    }
    /// Number of the command that was pushed first. The queue must not be empty.
    #[inline]
    pub fn oldest(&self) -> usize {
        self.oldest as usize
    }
    /// Numbers from the oldest command to the newest.
    pub fn by_age(&self) -> impl Iterator<Item = usize> + '_ {
        let mut at = self.oldest;
        std::iter::from_fn(move || {
            let here = (at != NONE).then_some(at as usize)?;
            at = self.links[here].after;
            Some(here)
        })
    }
    /// Whether `a` has waited longer than `b`; commands that arrived together keep their ids' order.
    #[inline]
    pub fn older(&self, a: usize, b: usize) -> bool {
        self.items[a].age() < self.items[b].age()
    }
    /// Whether [`Queue::by_age`] may differ from the order of [`Queue::older`] among commands that arrived
    /// together.
    pub(crate) fn mixed_ids(&self) -> bool {
        self.mixed_ids
    }
    /// Places on the medium of all commands, in pieces of neighbouring cylinders; none unless asked
    /// for by [`Needs::positions`]. A command that is alone is there after [`Queue::place_lone`].
    #[inline]
    pub fn positions(&self) -> &Positions {
        &self.positions
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
    /// No command that waits has a shorter [`Waiting::transfer_ns`].
    pub fn least_transfer_ns(&self) -> u64 {
        (f64::from(self.least_transfer.0) * self.least_transfer.1) as u64
    }

    /// Adds a command behind all others; `locate` fills in its place.
    #[inline(always)]
    pub fn push(
        &mut self,
        request: DriveRequest,
        arrival: Arrival,
        (sector, count): (u64, u32),
        locate: impl FnOnce(&mut Place),
    ) {
        let waiting = Waiting {
            request,
            arrival,
            sector,
            count,
            place: Place::default(),
        };
        let before = self.newest;
        let link = Link {
            before,
            after: NONE,
            chunk: 0,
            at: 0,
        };
        let mut i = self.vacant;
        if i == NONE {
            i = self.links.len() as u32;
            self.items.0.push(waiting);
            self.links.push(link);
        } else {
            self.vacant = self.links[i as usize].after;
            self.items.0[i as usize] = waiting;
            self.links[i as usize] = link;
        }
        let place = &mut self.items.0[i as usize].place;
        locate(place);
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

    /// Puts a command that is alone among the positions as well, for a scheduler that is about to look.
    #[inline]
    pub fn place_lone(&mut self) {
        if let Some(i) = self.lone.take() {
            self.place(i);
        }
    }

    /// Puts a command among the positions.
    fn place(&mut self, i: u32) {
        let w = &self.items.0[i as usize];
        let key = (w.place.cylinder, w.place.angle, w.writes());
        self.least_transfer.0 = self.least_transfer.0.min(w.count);
        self.least_transfer.1 = self.least_transfer.1.min(w.place.sector_ns);
        self.positions.insert(i, key, &mut self.links);
    }

    /// Drops a command; its number goes to one that comes later.
    #[inline(always)]
    pub fn remove(&mut self, i: usize) {
        if self.long {
            self.order_one_less(i);
        }
        let link = self.links[i];
        if self.needs.positions && self.lone.take().is_none() {
            self.positions.remove(link.chunk, link.at, &mut self.links);
        }
        if self.len == 1 {
            self.items.0.clear();
            self.links.clear();
            self.len = 0;
            (self.oldest, self.newest, self.vacant) = (NONE, NONE, NONE);
            self.least_transfer = (u32::MAX, f64::MAX);
            self.mixed_ids = false;
            return;
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

    /// Puts a command into the orders that are kept.
    fn order(&mut self, i: usize) {
        let w = &self.items[i];
        if self.needs.cylinders {
            self.cylinders
                .insert(u64::from(w.place.cylinder), w.age(), i);
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
            self.cylinders
                .remove(u64::from(w.place.cylinder), w.age(), i);
        }
        if self.in_address_order(w) {
            self.addresses.remove(w.sector, w.age(), i);
        }
    }
}

#[cfg(test)]
mod tests;
