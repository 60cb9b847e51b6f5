//! Commands that are split over several units.

use crate::command::Completion;
use crate::join::Join;

/// The commands of a drive that are split over units. The parts of one have its name here as their number.
#[derive(Default)]
pub(super) struct Split {
    commands: Vec<InParts>,
    /// Names that are free again.
    free: Vec<u64>,
}

struct InParts {
    id: u64,
    /// Number of parts; 0 once the command is complete.
    parts: u32,
    /// Result of the parts that have completed.
    done: Option<Join<Completion>>,
}

impl Split {
    /// Adds a command, and returns its name.
    pub fn begin(&mut self, id: u64, parts: u32) -> u64 {
        let command = InParts { id, parts, done: None };
        match self.free.pop() {
            Some(name) => {
                self.commands[name as usize] = command;
                name
            }
            None => {
                self.commands.push(command);
                self.commands.len() as u64 - 1
            }
        }
    }

    /// Records the completion of a part by a unit; with the last part, returns the completion of the command.
    pub fn part_done(&mut self, unit: usize, c: &Completion) -> Option<Completion> {
        let command = &mut self.commands[c.id as usize];
        let whole = match &mut command.done {
            Some(join) => {
                join.add(c, unit as u32);
                join.whole()
            }
            none => none.insert(Join::of(c, unit as u32, command.parts)).whole(),
        };
        let id = command.id;
        whole.map(|whole| {
            self.end(c.id);
            Completion { id, ..whole }
        })
    }

    /// Name and number of parts of a command called `id` of which no part has completed.
    pub fn find(&self, id: u64) -> Option<(u64, usize)> {
        let mut named = (0..).zip(&self.commands);
        let found = named.find(|(_, c)| c.id == id && c.parts > 0 && c.done.is_none());
        found.map(|(name, c)| (name, c.parts as usize))
    }

    /// The command is complete, or has ended without service.
    pub fn end(&mut self, name: u64) {
        self.commands[name as usize].parts = 0;
        self.free.push(name);
    }
}
