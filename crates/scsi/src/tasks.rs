//! The task set of a unit: which commands are with the drive, and which wait because of their attribute.
//!
//! # Model
//! A unit has as many places as the drive has tags. A command that finds none ends with TASK SET FULL. An ORDERED command
//! goes to the drive when all earlier ones have ended, and later ones wait for it; HEAD OF QUEUE goes at once.

use std::collections::VecDeque;

/// The attribute of a command. The numbers are those of iSCSI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Attribute {
    /// In any order.
    Simple,
    /// After all earlier commands and before all later ones.
    Ordered,
    /// Before those that wait.
    HeadOfQueue,
}

/// A number that the owner gives to a command.
pub type Id = u64;

#[derive(Debug, Clone, Copy)]
struct Entry {
    id: Id,
    attribute: Attribute,
    is_running: bool,
}

/// What becomes of a command that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entered {
    /// It may go on.
    Now,
    /// It waits; [`TaskSet::next_free`] will name it.
    Later,
    /// There is no place.
    Full,
}

/// Commands in order of arrival.
#[derive(Debug)]
pub struct TaskSet {
    depth: usize,
    entries: VecDeque<Entry>,
}

impl TaskSet {
    /// Without commands; a depth of 0 is no limit.
    pub fn new(depth: u32) -> TaskSet {
        TaskSet {
            depth: match depth {
                0 => usize::MAX,
                n => n as usize,
            },
            entries: VecDeque::new(),
        }
    }

    /// Another number of places. Commands that have one keep it.
    pub fn set_depth(&mut self, depth: u32) {
        self.depth = TaskSet::new(depth).depth;
    }

    /// Whether there is no place for another command.
    pub fn is_full(&self) -> bool {
        self.entries.len() >= self.depth
    }

    /// Commands in it.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no command is in it.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// A command arrives.
    pub fn enter(&mut self, id: Id, attribute: Attribute) -> Entered {
        if self.is_full() {
            return Entered::Full;
        }
        let is_running = match attribute {
            Attribute::HeadOfQueue => true,
            Attribute::Ordered => self.entries.is_empty(),
            Attribute::Simple => {
                let is_barrier = |e: &Entry| e.attribute == Attribute::Ordered;
                !self.entries.iter().any(is_barrier)
            }
        };
        self.entries.push_back(Entry { id, attribute, is_running });
        match is_running {
            true => Entered::Now,
            false => Entered::Later,
        }
    }

    /// A command has ended, or was aborted.
    pub fn leave(&mut self, id: Id) {
        self.entries.retain(|e| e.id != id);
    }

    /// Whether a command waits because of its attribute or that of others.
    pub fn is_waiting(&self, id: Id) -> bool {
        self.entries.iter().any(|e| e.id == id && !e.is_running)
    }

    /// A command that waited and may go on now.
    pub fn next_free(&mut self) -> Option<Id> {
        for i in 0..self.entries.len() {
            let entry = self.entries[i];
            if !entry.is_running {
                // Of those that wait, an ordered one needs all before it to have ended.
                if entry.attribute == Attribute::Ordered && i > 0 {
                    return None;
                }
                self.entries[i].is_running = true;
                return Some(entry.id);
            }
            if entry.attribute == Attribute::Ordered {
                return None;
            }
        }
        None
    }
}
