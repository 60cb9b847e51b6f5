//! Commands in order of a key (a cylinder or an address); commands with equal keys in order of age.

use headstack_units::Time;
use std::collections::BTreeSet;
use std::ops::Range;

/// Arrival time and id of a command.
type Age = (Time, u64);

const OLDEST: Age = (Time::ZERO, 0);

/// Numbers of commands, in order of a key and then of age.
#[derive(Debug, Default)]
pub struct Ordered(BTreeSet<(u64, Age, u32)>);

impl Ordered {
    pub(super) fn insert(&mut self, key: u64, age: Age, i: usize) {
        self.0.insert((key, age, i as u32));
    }

    pub(super) fn remove(&mut self, key: u64, age: Age, i: usize) {
        self.0.remove(&(key, age, i as u32));
    }

    /// The oldest command of the smallest key that is at least `from`.
    pub fn first_from(&self, from: u64) -> Option<usize> {
        let found = self.0.range((from, OLDEST, 0)..).next();
        found.map(|f| f.2 as usize)
    }

    /// The oldest command of the largest key below `before`.
    pub fn last_before(&self, before: u64) -> Option<usize> {
        let (key, ..) = self.0.range(..(before, OLDEST, 0)).next_back()?;
        self.first_from(*key)
    }

    /// Commands whose keys lie in a range, in order.
    pub fn within(&self, keys: Range<u64>) -> impl Iterator<Item = usize> + '_ {
        let past = keys.end.max(keys.start);
        self.0.range((keys.start, OLDEST, 0)..(past, OLDEST, 0)).map(|f| f.2 as usize)
    }
}
