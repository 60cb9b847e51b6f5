//! The commands that a drive's scheduler can choose from, as columns, so that a positional
//! scheduler runs over plain arrays.

use crate::drive::{Command, DriveRequest};
use crate::layout::Place;

mod index;

pub use index::Index;

/// No neighbour in the order of age.
const NONE: u32 = u32::MAX;

/// A command waiting, with where its first sector lies.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    /// The request as the host gave it.
    pub request: DriveRequest,
    /// When it arrived.
    pub arrival: u64,
    /// First physical sector.
    pub sector: u64,
    /// Number of physical sectors.
    pub count: u32,
    /// Place of the first sector.
    pub place: Place,
}

/// Waiting commands in no particular order, linked by age.
pub struct Queue {
    items: Vec<Waiting>,
    /// What positional schedulers read per candidate.
    keys: Vec<Key>,
    links: Vec<Link>,
    oldest: u32,
    newest: u32,
    index: Option<Index>,
}

/// Neighbours in the order of age.
#[derive(Debug, Clone, Copy)]
struct Link {
    before: u32,
    after: u32,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue {
            items: Vec::new(),
            keys: Vec::new(),
            links: Vec::new(),
            oldest: NONE,
            newest: NONE,
            index: None,
        }
    }
}

/// What positional schedulers read per candidate.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Angle of the first sector, fraction of 2^64.
    pub angle: u64,
    /// Cylinder of the first sector.
    pub cylinder: u32,
    /// Head of the first sector.
    pub head: u16,
    /// Whether it writes.
    pub write: bool,
}

impl Queue {
    /// A queue that also knows which commands lie near a cylinder.
    pub fn with_index(cylinders: u32) -> Queue {
        Queue {
            index: Some(Index::new(cylinders)),
            ..Queue::default()
        }
    }
    /// Positions by cylinder, if the queue was made with an index.
    #[inline]
    pub fn index(&self) -> Option<&Index> {
        self.index.as_ref()
    }
    /// Number of commands.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    /// The commands; a position in this slice names one until the next change.
    #[inline]
    pub fn items(&self) -> &[Waiting] {
        &self.items
    }
    /// The same, as schedulers read them.
    #[inline]
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }
    /// Position of the command that has waited longest. The queue must not be empty.
    #[inline]
    pub fn oldest(&self) -> usize {
        self.oldest as usize
    }
    /// Positions from the oldest command to the newest.
    pub fn by_age(&self) -> impl Iterator<Item = usize> + '_ {
        let mut at = self.oldest;
        std::iter::from_fn(move || {
            let here = (at != NONE).then_some(at as usize)?;
            at = self.links[here].after;
            Some(here)
        })
    }

    /// Adds a command behind all others.
    #[inline(always)]
    pub fn push(&mut self, item: Waiting) {
        let i = self.items.len() as u32;
        if let Some(index) = &mut self.index {
            index.push(item.place.cylinder);
        }
        self.keys.push(Key {
            angle: item.place.angle.0,
            cylinder: item.place.cylinder,
            head: item.place.head,
            write: item.request.command == Command::Write,
        });
        self.items.push(item);
        self.links.push(Link {
            before: self.newest,
            after: NONE,
        });
        match self.newest {
            NONE => self.oldest = i,
            n => self.links[n as usize].after = i,
        }
        self.newest = i;
    }

    /// Takes a command out. The last position moves into its place.
    #[inline(always)]
    pub fn remove(&mut self, i: usize) -> Waiting {
        if let Some(index) = &mut self.index {
            index.swap_remove(i);
        }
        if self.items.len() == 1 {
            self.keys.clear();
            self.links.clear();
            (self.oldest, self.newest) = (NONE, NONE);
            return self.items.swap_remove(i);
        }
        let link = self.links[i];
        self.join(link.before, link.after);
        self.keys.swap_remove(i);
        self.links.swap_remove(i);
        let item = self.items.swap_remove(i);
        if let Some(moved) = self.links.get(i).copied() {
            // The last command has moved here: its neighbours must know.
            match moved.before {
                NONE => self.oldest = i as u32,
                b => self.links[b as usize].after = i as u32,
            }
            match moved.after {
                NONE => self.newest = i as u32,
                a => self.links[a as usize].before = i as u32,
            }
        }
        item
    }

    /// Makes `after` follow `before`.
    #[inline]
    fn join(&mut self, before: u32, after: u32) {
        match before {
            NONE => self.oldest = after,
            b => self.links[b as usize].after = after,
        }
        match after {
            NONE => self.newest = before,
            a => self.links[a as usize].before = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headstack_units::Lba;

    fn item(id: u64) -> Waiting {
        Waiting {
            request: DriveRequest {
                id,
                command: Command::Read,
                lba: Lba(id),
                blocks: 8,
            },
            arrival: id,
            sector: id,
            count: 8,
            place: Place::default(),
        }
    }

    #[test]
    fn order_of_age_survives_any_removals() {
        // Every order of removing five commands, against a plain list.
        fn orders(n: usize) -> Vec<Vec<usize>> {
            if n == 0 {
                return vec![vec![]];
            }
            let mut all = Vec::new();
            for rest in orders(n - 1) {
                for first in 0..n {
                    let mut order = vec![first];
                    order.extend(&rest);
                    all.push(order);
                }
            }
            all
        }
        for order in orders(5) {
            let mut queue = Queue::default();
            let mut model: Vec<u64> = (0..5).collect();
            model.iter().for_each(|id| queue.push(item(*id)));
            for rank in order {
                let id = model.remove(rank);
                let at = queue
                    .items()
                    .iter()
                    .position(|w| w.request.id == id)
                    .unwrap();
                assert_eq!(queue.remove(at).request.id, id);
                let ages: Vec<u64> = queue
                    .by_age()
                    .map(|i| queue.items()[i].request.id)
                    .collect();
                assert_eq!(ages, model);
            }
            queue.push(item(9));
            assert_eq!(queue.oldest(), 0);
        }
    }
}
