//! Unit attentions: what each initiator is told before its next command.

use crate::sense::Code;
use std::collections::{BTreeMap, VecDeque};

/// Most attentions that wait for one initiator. Further ones are dropped: the first ones matter most.
const MOST: usize = 8;

/// The connection of an initiator port with the unit (I_T nexus), by a number that is never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nexus(pub u64);

/// What waits for each initiator.
#[derive(Debug, Default)]
pub struct Attentions {
    waiting: BTreeMap<Nexus, VecDeque<Code>>,
}

impl Attentions {
    /// A new initiator.
    pub fn connect(&mut self, nexus: Nexus) {
        self.waiting.insert(nexus, VecDeque::new());
    }

    /// An initiator has left.
    pub fn disconnect(&mut self, nexus: Nexus) {
        self.waiting.remove(&nexus);
    }

    /// Tells one initiator.
    pub fn tell(&mut self, nexus: Nexus, code: Code) {
        if let Some(waiting) = self.waiting.get_mut(&nexus) {
            if waiting.len() < MOST && !waiting.contains(&code) {
                waiting.push_back(code);
            }
        }
    }

    /// Tells all initiators but one.
    pub fn tell_others(&mut self, but: Option<Nexus>, code: Code) {
        let others: Vec<Nexus> = (self.waiting.keys().copied()).filter(|n| Some(*n) != but).collect();
        for nexus in others {
            self.tell(nexus, code);
        }
    }

    /// A reset: what was told before no longer matters, except the reset itself.
    pub fn reset(&mut self, code: Code) {
        for waiting in self.waiting.values_mut() {
            waiting.clear();
            waiting.push_back(code);
        }
    }

    /// What an initiator is to be told next.
    pub fn take(&mut self, nexus: Nexus) -> Option<Code> {
        self.waiting.get_mut(&nexus)?.pop_front()
    }
}
