//! A drive that removes heads or takes them back: it writes its whole medium anew, and is away until then.
//!
//! # Model
//! Requests that the drive has are carried out first. Then the drive that remains takes its place, without any data, and writes
//! all of its blocks in order, `PIECE` at a time. So the time and the energy are those of the modelled drive.
//!
//! # Source
//! SBC-4 and ACS-5 (depopulation), as the product manual of the Ultrastar DC HC580 describes it: all data are lost, and a loss of
//! power makes the removal fail.
//!
//! # Validity
//! A device that is one drive of a kind that [`headstack_drive::depopulation`] supports, without zones. Whether firmware writes
//! in this order has not been published.

use headstack_experiment::Exchange;
use std::collections::BTreeSet;

/// Bytes that are written at once. Between two pieces the drive loses about a turn: 1 % of the time.
pub(crate) const PIECE: u64 = 256 << 20;
/// The front end of a drive's own requests.
pub(crate) const OWN: usize = usize::MAX;

/// How far a drive is that writes itself anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Bytes that are written, and all of them; both 0 as long as earlier requests are carried out.
    Writes {
        /// Those that are written.
        done: u64,
        /// All of them.
        of: u64,
    },
    /// A write failed, or power was lost.
    Failed,
}

/// A removal of heads or their return, from its begin until it has ended well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remake {
    /// The heads that are removed afterwards, as they are counted in the whole drive.
    pub heads: BTreeSet<u32>,
    /// Those that were removed before.
    pub before: BTreeSet<u32>,
    /// How far it is.
    pub progress: Progress,
}

/// The same, with the drive that takes the place of the other.
pub(crate) struct Remaking {
    pub told: Remake,
    /// Until earlier requests have ended.
    pub next: Option<Exchange>,
}
