//! The contract between a drive and its host: commands go in, completions come out.

use headstack_units::{Lba, Time};

/// What the host asks of the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Read blocks.
    Read,
    /// Write blocks.
    Write,
    /// Write blocks, to the medium before completion (forced unit access).
    WriteThrough,
    /// Put everything written before on the medium.
    Flush,
}

impl Command {
    /// Whether it writes blocks.
    #[inline]
    pub fn writes(self) -> bool {
        matches!(self, Command::Write | Command::WriteThrough)
    }
}

/// One command to a drive. Blocks are 512 bytes whatever the physical sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DriveRequest {
    /// The host's name for it; comes back in the [`Completion`].
    pub id: u64,
    /// What to do.
    pub command: Command,
    /// First 512-byte block.
    pub lba: Lba,
    /// Number of 512-byte blocks; ignored by [`Command::Flush`].
    pub blocks: u32,
}

/// Where the response time of one request went, in nanoseconds. The six shares add up to the
/// response time exactly; work that overlaps is charged to the part that was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Components {
    /// Waiting for other requests, and for the mechanism to come free.
    pub queue: u64,
    /// Command processing.
    pub overhead: u64,
    /// Arm movement, head switch and settling.
    pub seek: u64,
    /// Waiting for the platter.
    pub rotation: u64,
    /// Sectors passing under the head, track switches inside the transfer included.
    pub transfer: u64,
    /// The link, where it is not hidden behind the medium.
    pub bus: u64,
}

/// One request done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Completion {
    /// The host's name for the request.
    pub id: u64,
    /// When it reached the drive.
    pub arrival: Time,
    /// When the host was told that it is done.
    pub completion: Time,
    /// Where the time went.
    pub components: Components,
    /// Served wholly from the buffer (reads) or completed in it (writes).
    pub cache_hit: bool,
    /// Whether the request itself used the mechanism before it completed.
    pub mechanical: bool,
    /// Cylinders that the arm moved for it.
    pub seek_distance: u32,
    /// Which arm assembly of the drive served it, counted from 0 through all stacks.
    pub arm: u8,
    /// Set when it could not be served: outside the drive, or nothing reaches the surface.
    pub error: bool,
}

impl Completion {
    /// Whether an arm moved for it.
    #[inline]
    pub fn moved(&self) -> bool {
        self.mechanical && self.seek_distance > 0
    }

    /// A command that ends as an error at `now`, at which it arrived.
    pub(crate) fn refused(request: &DriveRequest, now: Time) -> Completion {
        Completion {
            id: request.id,
            arrival: now,
            completion: now,
            error: true,
            ..Completion::default()
        }
    }
}

/// A head or an assembly that the drive has deconfigured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// When it failed, or was about to.
    pub failed: Time,
    /// When the drive took it out of use.
    pub deconfigured: Time,
    /// Disk stack.
    pub stack: u32,
    /// Assembly of the stack.
    pub arm: u32,
    /// Surface of the head; `None`: the whole assembly.
    pub surface: Option<u32>,
    /// Whether the drive was warned.
    pub warning: bool,
}
