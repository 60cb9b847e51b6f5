//! The commands that a drive's scheduler can choose from, as columns, so that a positional
//! scheduler runs over plain arrays.

use crate::command::DriveRequest;
use crate::layout::Place;

mod index;

pub use index::Index;

/// A queue that grows beyond so many commands keeps an index until it is a quarter as long: for less
/// it is not worth its upkeep.
pub const LONG: usize = 64;

/// No neighbour in the order of age.
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

/// A command waiting, with where its first sector lies.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    link: Link,
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

/// Waiting commands in no particular order, linked by age.
pub struct Queue {
    items: Vec<Waiting>,
    /// What positional schedulers read per candidate; empty for those who do not.
    keys: Vec<Key>,
    keyed: bool,
    oldest: u32,
    newest: u32,
    index: Option<Index>,
    indexed: bool,
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
            keyed: true,
            oldest: NONE,
            newest: NONE,
            index: None,
            indexed: false,
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
    /// A queue of which only the oldest command is asked for: [`Queue::keys`] gives none.
    pub fn in_order() -> Queue {
        Queue {
            keyed: false,
            ..Queue::default()
        }
    }
    /// A queue that also knows which commands lie near a cylinder.
    pub fn with_index(cylinders: u32) -> Queue {
        Queue {
            index: Some(Index::new(cylinders)),
            ..Queue::default()
        }
    }
    /// Positions by cylinder, if the queue was made with an index and is [`LONG`].
    #[inline]
    pub fn index(&self) -> Option<&Index> {
        self.index.as_ref().filter(|_| self.indexed)
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
            at = self.items[here].link.after;
            Some(here)
        })
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
        let i = self.items.len() as u32;
        let before = self.newest;
        self.items.push(Waiting {
            link: Link {
                before,
                after: NONE,
            },
            request,
            arrival,
            sector,
            count,
            place: Place::default(),
        });
        let place = &mut self.items[i as usize].place;
        locate(place);
        if self.keyed {
            let key = Key {
                angle: place.angle.0,
                cylinder: place.cylinder,
                head: place.head,
                write: request.command.writes(),
            };
            if self.indexed || self.keys.len() == LONG {
                self.index_one_more(key.cylinder);
            }
            self.keys.push(key);
        }
        match before {
            NONE => self.oldest = i,
            n => self.items[n as usize].link.after = i,
        }
        self.newest = i;
    }

    /// Drops a command. The last position moves into its place.
    #[inline(always)]
    pub fn remove(&mut self, i: usize) {
        if self.indexed {
            self.index_one_less(i);
        }
        if self.items.len() == 1 {
            self.keys.clear();
            self.items.clear();
            (self.oldest, self.newest) = (NONE, NONE);
            return;
        }
        let link = self.items[i].link;
        self.join(link.before, link.after);
        if self.keyed {
            self.keys.swap_remove(i);
        }
        self.items.swap_remove(i);
        if let Some(moved) = self.items.get(i).map(|w| w.link) {
            // The last command has moved here: its neighbours must know.
            match moved.before {
                NONE => self.oldest = i as u32,
                b => self.items[b as usize].link.after = i as u32,
            }
            match moved.after {
                NONE => self.newest = i as u32,
                a => self.items[a as usize].link.before = i as u32,
            }
        }
    }

    #[inline(never)]
    fn index_one_more(&mut self, cylinder: u32) {
        if let Some(index) = &mut self.index {
            if !self.indexed {
                self.keys.iter().for_each(|k| index.push(k.cylinder));
                self.indexed = true;
            }
            index.push(cylinder);
        }
    }

    #[inline(never)]
    fn index_one_less(&mut self, i: usize) {
        if let Some(index) = &mut self.index {
            index.swap_remove(i);
            if self.items.len() - 1 <= LONG / 4 {
                for last in (0..self.items.len() - 1).rev() {
                    index.swap_remove(last);
                }
                self.indexed = false;
            }
        }
    }

    /// Makes `after` follow `before`.
    #[inline]
    fn join(&mut self, before: u32, after: u32) {
        match before {
            NONE => self.oldest = after,
            b => self.items[b as usize].link.after = after,
        }
        match after {
            NONE => self.newest = before,
            a => self.items[a as usize].link.before = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Command;
    use crate::fixtures::Noise;
    use headstack_units::Lba;

    fn push(queue: &mut Queue, id: u64, cylinder: u32) {
        let request = DriveRequest {
            id,
            command: Command::Read,
            lba: Lba(id),
            blocks: 8,
        };
        let arrival = Arrival {
            at: id,
            ..Arrival::default()
        };
        queue.push(request, arrival, (id, 8), |place| place.cylinder = cylinder);
    }

    /// The index is there for long queues, not for short ones, and then names every command.
    #[test]
    fn long_queues_have_an_index() {
        let mut queue = Queue::with_index(10_000);
        let mut noise = Noise::new();
        for i in 0..6_000u64 {
            // Up to 150 and down to nothing, several times.
            let grow = i / 300 % 2 == 0;
            if queue.is_empty() || (noise.below(10) < 8) == grow {
                push(&mut queue, i, noise.below(10_000) as u32);
            } else {
                queue.remove(noise.below(queue.len() as u64) as usize);
            }
            assert!(queue.len() <= LONG || queue.index().is_some());
            assert!(queue.len() > LONG / 4 || queue.index().is_none());
            let Some(index) = queue.index() else { continue };
            let mut found = Vec::new();
            let mut at = 0;
            while let Some(bucket) = index.up(at) {
                for &i in index.bucket(bucket) {
                    let cylinder = queue.items()[i as usize].place.cylinder;
                    assert_eq!(index.bucket_of(cylinder), bucket);
                    found.push(i);
                }
                at = bucket + 1;
            }
            found.sort_unstable();
            assert!(found.into_iter().eq(0..queue.len() as u32));
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
            model.iter().for_each(|id| push(&mut queue, *id, 0));
            for rank in order {
                let id = model.remove(rank);
                let at = queue
                    .items()
                    .iter()
                    .position(|w| w.request.id == id)
                    .unwrap();
                queue.remove(at);
                let ages: Vec<u64> = queue
                    .by_age()
                    .map(|i| queue.items()[i].request.id)
                    .collect();
                assert_eq!(ages, model);
            }
            push(&mut queue, 9, 0);
            assert_eq!(queue.oldest(), 0);
        }
    }
}
