//! The map of a media cache: which addresses have their current copy there, and where.

use std::collections::BTreeMap;

/// Consecutive addresses in consecutive sectors of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Its first address.
    pub address: u64,
    pub count: u64,
    /// Where the first address lies: the number of sectors written to the log before it. So no two copies that were
    /// ever written have the same number.
    pub at: u64,
}

impl Extent {
    pub fn past(&self) -> u64 {
        self.address + self.count
    }

    /// The part of it in the addresses `[from, past)`; the part must not be empty.
    fn within(&self, from: u64, past: u64) -> Extent {
        let address = self.address.max(from);
        Extent { address, count: self.past().min(past) - address, at: self.at + (address - self.address) }
    }
}

/// The extents of a cache by address. They do not overlap.
#[derive(Debug, Clone, Default)]
pub struct Extents(BTreeMap<u64, Extent>);

impl Extents {
    pub fn len(&self) -> u64 {
        self.0.len() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The extent that holds `address`, or else the ends of the gap around it: the end of the extent before it (0 if
    /// there is none) and the start of the extent behind it (`u64::MAX` if there is none).
    pub fn at(&self, address: u64) -> Result<Extent, (u64, u64)> {
        let before = self.0.range(..=address).next_back();
        match before {
            Some((_, e)) if e.past() > address => Ok(*e),
            _ => {
                let behind = self.0.range(address..).next();
                let from = before.map_or(0, |(_, e)| e.past());
                Err((from, behind.map_or(u64::MAX, |(start, _)| *start)))
            }
        }
    }

    /// The parts of extents that lie in addresses `[from, past)`, in order of address.
    pub fn overlapping(&self, from: u64, past: u64) -> impl Iterator<Item = Extent> + '_ {
        let first = match self.at(from) {
            Ok(e) => e.address,
            Err(_) => from,
        };
        let all = self.0.range(first..past.max(first));
        all.map(move |(_, e)| e.within(from, past))
    }

    /// Forgets the addresses `[from, past)`.
    #[inline]
    pub fn remove(&mut self, from: u64, past: u64) {
        let inside: Vec<Extent> = self.overlapping(from, past).collect();
        for part in inside {
            self.cut(part);
        }
    }

    /// Forgets a part of one extent and keeps the parts before and behind it.
    fn cut(&mut self, part: Extent) {
        let Ok(whole) = self.at(part.address) else { return };
        self.0.remove(&whole.address);
        if whole.address < part.address {
            let before = whole.within(whole.address, part.address);
            self.0.insert(before.address, before);
        }
        if part.past() < whole.past() {
            let behind = whole.within(part.past(), whole.past());
            self.0.insert(behind.address, behind);
        }
    }

    /// Forgets the addresses of `part` that still lie in the sectors of `part`.
    pub fn remove_copies(&mut self, part: &Extent) {
        for now in self.copies(part) {
            self.cut(now);
        }
    }

    /// The first extent of addresses of `part` that still lie where `part` has them.
    pub fn first_copy(&self, part: &Extent) -> Option<Extent> {
        let mut now = self.overlapping(part.address, part.past());
        now.find(|e| lies_in(e, part))
    }

    /// What is left of `part`.
    fn copies(&self, part: &Extent) -> Vec<Extent> {
        let now = self.overlapping(part.address, part.past());
        now.filter(|e| lies_in(e, part)).collect()
    }

    /// The addresses of `new` lie in its sectors from now on. It is joined to the extent that it continues, if any.
    #[inline]
    pub fn insert(&mut self, new: Extent) {
        self.remove(new.address, new.past());
        let before = self.0.range_mut(..new.address).next_back();
        match before {
            Some((_, e)) if e.past() == new.address && e.at + e.count == new.at => {
                e.count += new.count;
            }
            _ => {
                self.0.insert(new.address, new);
            }
        }
    }
}

/// Whether an extent of addresses of `part` has each address where `part` has it.
fn lies_in(e: &Extent, part: &Extent) -> bool {
    e.at.wrapping_sub(part.at) == e.address - part.address
}
