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
#[derive(Default)]
pub struct Queue {
    items: Vec<Waiting>,
    /// What positional schedulers read per candidate.
    keys: Vec<Key>,
    next: Vec<u32>,
    previous: Vec<u32>,
    oldest: Option<u32>,
    newest: Option<u32>,
    index: Option<Index>,
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
        self.oldest.unwrap_or(0) as usize
    }
    /// Positions from the oldest command to the newest.
    pub fn by_age(&self) -> impl Iterator<Item = usize> + '_ {
        let mut at = self.oldest;
        std::iter::from_fn(move || {
            let here = at?;
            let next = self.next[here as usize];
            at = (next != NONE).then_some(next);
            Some(here as usize)
        })
    }

    /// Adds a command behind all others.
    #[inline]
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
        self.next.push(NONE);
        self.previous.push(self.newest.unwrap_or(NONE));
        match self.newest {
            Some(n) => self.next[n as usize] = i,
            None => self.oldest = Some(i),
        }
        self.newest = Some(i);
    }

    /// Takes a command out. The last position moves into its place.
    #[inline]
    pub fn remove(&mut self, i: usize) -> Waiting {
        let (before, after) = (self.previous[i], self.next[i]);
        self.link(before, after);
        if let Some(index) = &mut self.index {
            index.swap_remove(i);
        }
        self.keys.swap_remove(i);
        self.next.swap_remove(i);
        self.previous.swap_remove(i);
        let item = self.items.swap_remove(i);
        if i < self.items.len() {
            // The last command has moved here: its neighbours must know.
            let (before, after) = (self.previous[i], self.next[i]);
            match before {
                NONE => self.oldest = Some(i as u32),
                b => self.next[b as usize] = i as u32,
            }
            match after {
                NONE => self.newest = Some(i as u32),
                a => self.previous[a as usize] = i as u32,
            }
        }
        item
    }

    fn link(&mut self, before: u32, after: u32) {
        match before {
            NONE => self.oldest = (after != NONE).then_some(after),
            b => self.next[b as usize] = after,
        }
        match after {
            NONE => self.newest = (before != NONE).then_some(before),
            a => self.previous[a as usize] = before,
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
