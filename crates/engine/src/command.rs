//! What a request asks for: the same for traces, layers and drives.

use headstack_schema::Choice;

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Choice)]
pub enum Command {
    /// Data from the medium or the cache to the host.
    #[default]
    Read,
    /// Data from the host.
    Write,
    /// Data from the host that must be on the medium before this completes (forced unit access).
    WriteThrough,
    /// Everything that completed or arrived before must be on the medium before this completes.
    Flush,
    /// Data from the medium to the host, even if the cache has them (forced unit access).
    ReadThrough,
}

impl Command {
    /// The name in our files and results.
    pub fn name(self) -> &'static str {
        self.word()
    }

    /// Whether it transfers data to the host.
    #[inline]
    pub fn reads(self) -> bool {
        matches!(self, Command::Read | Command::ReadThrough)
    }

    /// Whether it transfers data from the host.
    #[inline]
    pub fn writes(self) -> bool {
        matches!(self, Command::Write | Command::WriteThrough)
    }
}
