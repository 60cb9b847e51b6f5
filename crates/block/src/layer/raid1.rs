//! Mirrors.
//!
//! # Model
//! Every member holds every block. A read goes to one member, chosen by a policy; a write goes to all. Writes
//! that overlap are carried out one after another, so that all members hold the same data.
//! # Source
//! Linux md, `raid1.c`: the read policy of 6.9 and later for rotating members.
//! # Validity
//! md leaves overlapping writes to the file system; here they are serialised. No write-mostly members.

use super::volume::choice::{Copy, ReadPolicy};
use super::volume::copies::{Copies, CopyMap, Pattern};
use super::volume::set::{Redundancy, MOST, WINDOW};
use super::volume::Volume;
use super::LowerCount;
use headstack_schema::{SpecError, Table};
use headstack_units::Bytes;

/// The layer's name.
pub const NAME: &str = "raid1";

/// 31 windows: md's `RESYNC_DEPTH` is 32, of which it uses one less.
pub(super) const AT_ONCE: Bytes = Bytes(31 * WINDOW.0);

/// Parameters of `raid1`.
#[derive(Debug, Clone, Table)]
#[table(
    model = "every block on every member; reads by a policy",
    example = "read_policy = \"nearest\"",
    facts = LowerCount::Many, build = |own, context| Ok(Box::new(volume(context.members, &own)?))
)]
pub struct Parameters {
    /// Which copy a read takes.
    #[param(default = ReadPolicy::MdRaid1)]
    read_policy: ReadPolicy,
    /// Bytes of a member that are being rebuilt at once.
    #[param(default = AT_ONCE, range = WINDOW..=MOST)]
    rebuild_at_once: Bytes,
    #[param(flatten)]
    redundancy: Redundancy,
}

struct Mirror {
    members: u32,
    blocks: u64,
}

impl CopyMap for Mirror {
    fn blocks(&self) -> u64 {
        self.blocks
    }
    fn copies(&self) -> u32 {
        self.members
    }
    #[inline]
    fn place(&self, at: u64, copy: u32) -> (Copy, u64) {
        let copy = Copy { member: copy, lba: at };
        (copy, self.blocks)
    }
    fn at(&self, _member: u32, lba: u64) -> (Option<u64>, u64) {
        match lba < self.blocks {
            true => (Some(lba), self.blocks),
            false => (None, u64::MAX),
        }
    }
    fn pattern(&self, _lba: u64) -> Pattern {
        Pattern { period: self.blocks, end: self.blocks }
    }
}

/// Builds a mirror from its parameters.
///
/// # Errors
/// Fewer than two members, or a parameter that does not fit.
pub fn volume(sizes: Vec<u64>, p: &Parameters) -> Result<Volume, SpecError> {
    if sizes.len() < 2 {
        return Err(SpecError::new("below", sizes.len(), "at least 2 members"));
    }
    let map = Mirror { members: sizes.len() as u32, blocks: sizes.iter().copied().min().unwrap_or(0) };
    let copies = Copies::new(map, p.read_policy);
    let volume = Volume::new(NAME, Box::new(copies), sizes);
    volume.with_redundancy(&p.redundancy, WINDOW.0 / 512, p.rebuild_at_once, false)
}
