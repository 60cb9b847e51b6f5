//! Mirrors.
//!
//! # Model
//! Every member holds every block. A read goes to one member, chosen by a policy; a write goes to all. Writes
//! that overlap are carried out one after another, so that all members hold the same data.
//!
//! | parameter | means | if absent |
//! |---|---|---|
//! | `read_policy` | `md-raid1`, `nearest`, `fewest-pending`, `round-robin`, `first`, ... | `md-raid1` |
//! | `rebuild_rate` | rate at which stale data are rewritten | no rebuilding |
//! | `gone` | list of members that are missing from the start | none |
//! # Source
//! Linux md, `raid1.c`: the read policy of 6.9 and later for rotating members.
//! # Validity
//! md leaves overlapping writes to the file system; here they are serialised. No write-mostly members.

use super::below::LowerLayers;
use super::volume::choice::{self, Copy};
use super::volume::copies::{Copies, CopyMap, Pattern};
use super::volume::Volume;
use super::{Context, Entry, LowerCount};
use headstack_drive::plugin::{params, taken};
use headstack_engine::SpecError;
use headstack_units::Bandwidth;
use serde::{Deserialize, Serialize};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "raid1",
    summary: "every block on every member; reads by a policy",
    example: "read_policy = \"nearest\"",
    lower: LowerCount::Many,
    parameters: &|table, _| taken::<Parameters>(&[], table),
    build: &|context| Ok(Box::new(volume(context)?)),
};

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default = "md_raid1")]
    read_policy: String,
    rebuild_rate: Option<Bandwidth>,
    #[serde(default)]
    gone: Vec<u32>,
}

fn md_raid1() -> String {
    "md-raid1".into()
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
        let copy = Copy {
            member: copy,
            lba: at,
        };
        (copy, self.blocks)
    }
    fn at(&self, _member: u32, lba: u64) -> (Option<u64>, u64) {
        match lba < self.blocks {
            true => (Some(lba), self.blocks),
            false => (None, u64::MAX),
        }
    }
    fn pattern(&self, _lba: u64) -> Pattern {
        Pattern {
            period: self.blocks,
            end: self.blocks,
        }
    }
}

/// Builds a mirror from its parameters.
///
/// # Errors
/// Fewer than two members, or a parameter that does not fit.
pub fn volume(context: Context) -> Result<Volume, SpecError> {
    let p: Parameters = params(&context.params)?;
    let below = LowerLayers::new(context.below);
    let sizes = below.member_blocks();
    if sizes.len() < 2 {
        return Err(SpecError::new("below", sizes.len(), "at least 2 members"));
    }
    let map = Mirror {
        members: sizes.len() as u32,
        blocks: sizes.into_iter().min().unwrap_or(0),
    };
    let copies = Copies::new(map, choice::find(&p.read_policy)?);
    let volume = Volume::new(ENTRY.name, Box::new(copies), below);
    volume.with_redundancy(&p.gone, p.rebuild_rate)
}
