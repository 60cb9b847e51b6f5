//! What the drive has to do for a command.

use headstack_drive::power::conditions::Condition;
use headstack_drive::LimitsSpec;
use headstack_units::Span;

/// Blocks of the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Extent {
    pub lba: u64,
    pub blocks: u32,
}

/// What is done with the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Their data are the answer.
    Read,
    /// They get the data of the command.
    Write,
    /// Each gets the one block that the command has; zeroes if it has none.
    WriteSame {
        /// The command has no block.
        zeroes: bool,
    },
    /// They are read from the medium, and perhaps compared.
    Verify(Compare),
    /// They are written to the medium, then read, and perhaps compared.
    WriteAndVerify(Compare),
    /// They are read into the buffer of the drive.
    Prefetch,
    /// All that is in the buffer is written to the medium; the blocks do not matter.
    Flush,
}

/// With what blocks are compared that are read from the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// With nothing.
    Nothing,
    /// With the data of the command.
    All,
    /// Each with the one block that the command has.
    EachWithOne,
}

/// Work for the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// What is done.
    pub task: Task,
    /// With which blocks.
    pub extent: Extent,
    /// Written blocks are on the medium before the answer.
    pub forced: bool,
    /// The answer does not wait for the work.
    pub immediate: bool,
    /// The duration limit's index; 0 for none.
    pub limit: u8,
}

impl Work {
    /// Everything in the buffer goes to the medium.
    pub fn flush(immediate: bool) -> Work {
        Work { task: Task::Flush, extent: Extent { lba: 0, blocks: 0 }, forced: false, immediate, limit: 0 }
    }
}

/// A setting of the drive that a command has changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// The power condition.
    Condition(Condition),
    /// The timer of a power condition; `None`: as the drive has it.
    Timer(Condition, Option<Span>),
    /// The duration limits.
    Limits(Box<LimitsSpec>),
}
