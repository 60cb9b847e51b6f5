//! A drive as its host sees it: requests go in, completions with every share of their time come out.

use headstack_units::{Lba, Time};

/// What the host asks of the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Read blocks.
    Read,
    /// Write blocks.
    Write,
    /// Put everything written before on the medium.
    Flush,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// Which arm assembly served it.
    pub arm: u8,
    /// Set when it could not be served: outside the drive, or nothing reaches the surface.
    pub error: bool,
}

/// Time in each state and the energy of it, from time zero to `until`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DriveEnergy {
    /// Seconds spinning without positioning or transferring.
    pub idle_s: f64,
    /// Seconds seeking (switches and settling included), background work included.
    pub seek_s: f64,
    /// Seconds waiting for rotation.
    pub rotation_s: f64,
    /// Seconds transferring.
    pub transfer_s: f64,
    /// Seconds spun down.
    pub standby_s: f64,
    /// Joules in each of these states, same order.
    pub idle_j: f64,
    /// See `idle_j`.
    pub seek_j: f64,
    /// See `idle_j`.
    pub rotation_j: f64,
    /// See `idle_j`.
    pub transfer_j: f64,
    /// See `idle_j`.
    pub standby_j: f64,
}
