//! RAID-5: one parity unit in each row.
//!
//! # Model
//! `volume/parity.rs` describes the reads and writes that keep the parity consistent, also without a member.
//!
//! | parameter | means | if absent |
//! |---|---|---|
//! | `layout` | `left-symmetric`, `left-asymmetric`, `right-symmetric`, `right-asymmetric` | `left-symmetric` |
//! | `chunk` | contiguous data per member | 512 KiB |
//! | `unit` | smallest run that is read, computed and written | 4 KiB |
//! | `rmw_level` | read-modify-write: 0 never; 1 where it reads less than reconstruct-write; 2 also where it reads as much | 1 |
//! | `rebuild_rate`, `gone` | as in `raid1` | |
//! # Source
//! Linux md, `raid5.c`; Patterson, Gibson & Katz, SIGMOD 1988.
//! # Validity
//! No stripe cache: nothing that was read before is kept, and writes of one row do not wait to be combined.

use super::below::LowerLayers;
use super::raid10::{chunk_blocks, default_chunk};
use super::volume::parity::{Layout, Parity, RmwLevel};
use super::volume::Volume;
use super::{Context, Entry, LowerCount};
use headstack_drive::plugin::{params, taken};
use headstack_engine::SpecError;
use headstack_units::{Bandwidth, Bytes};
use serde::{Deserialize, Serialize};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "raid5",
    summary: "striped with rotating parity: one member may be gone",
    example: "chunk = \"64 KiB\"",
    lower: LowerCount::Many,
    parameters: &|table, _| taken::<Parameters>(&[], table),
    build: &|context| Ok(Box::new(volume(context)?)),
};

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    layout: LayoutName,
    #[serde(default = "default_chunk")]
    chunk: Bytes,
    #[serde(default = "default_unit")]
    unit: Bytes,
    #[serde(default = "if_less")]
    rmw_level: u8,
    rebuild_rate: Option<Bandwidth>,
    #[serde(default)]
    gone: Vec<u32>,
}

#[derive(Deserialize, Serialize, Default)]
#[serde(rename_all = "kebab-case")]
enum LayoutName {
    LeftAsymmetric,
    RightAsymmetric,
    #[default]
    LeftSymmetric,
    RightSymmetric,
}

fn default_unit() -> Bytes {
    Bytes(4096)
}

fn if_less() -> u8 {
    1
}

/// Builds a volume from its parameters.
///
/// # Errors
/// Fewer than three members, or a parameter that does not fit.
pub fn volume(context: Context) -> Result<Volume, SpecError> {
    let p: Parameters = params(&context.params)?;
    let below = LowerLayers::new(context.below);
    let sizes = below.member_blocks();
    if sizes.len() < 3 {
        return Err(SpecError::new("below", sizes.len(), "at least 3 members"));
    }
    let unit = p.unit.0 / 512;
    if unit == 0 || p.unit.0 % 512 != 0 {
        return Err(SpecError::new(
            "unit",
            p.unit,
            "a positive multiple of 512 B",
        ));
    }
    let chunk = chunk_blocks(p.chunk, unit)?;
    let smallest = sizes.iter().min().copied().unwrap_or(0);
    if smallest < chunk {
        let need = format!("at most the smallest member's {} B", smallest * 512);
        return Err(SpecError::new("chunk", p.chunk, need));
    }
    let parity = Parity {
        layout: match p.layout {
            LayoutName::LeftAsymmetric => Layout::LeftAsymmetric,
            LayoutName::RightAsymmetric => Layout::RightAsymmetric,
            LayoutName::LeftSymmetric => Layout::LeftSymmetric,
            LayoutName::RightSymmetric => Layout::RightSymmetric,
        },
        rmw: match p.rmw_level {
            0 => RmwLevel::Never,
            1 => RmwLevel::IfLess,
            2 => RmwLevel::IfNotMore,
            other => return Err(SpecError::new("rmw_level", other, "0, 1 or 2")),
        },
        n: sizes.len() as u64,
        chunk,
        unit,
        stripes: smallest / chunk,
        cuts: Vec::new(),
    };
    let volume = Volume::new(ENTRY.name, Box::new(parity), below);
    volume.with_redundancy(&p.gone, p.rebuild_rate)
}
