//! RAID-5: one parity unit in each row.
//!
//! # Model
//! `volume/parity.rs` describes the reads and writes that keep the parity consistent, also without a member;
//! `volume/stripe_cache.rs` how writes of the same rows join.
//!
//! While a rebuild has all of the stripe cache under way, writes wait for it, and reads do so, too: md reads past the cache
//! only where no member is missing. When they go on the rebuild waits for a timer of one tick, so that they are first.
//! # Source
//! Linux md, `raid5.c` (DiskSim has no stripe cache); Patterson, Gibson & Katz, SIGMOD 1988.
//! # Validity
//! Requests themselves do not fill the cache. md's has no limit but memory, of which a host that needs it takes some back; so it grows only
//! where `rebuild_grows_to` says how far. The measured one went from 256 units to 510 in 40 s.

use super::raid10::{chunk_blocks, DEFAULT_CHUNK};
use super::volume::parity::{Layout, Parity, RmwLevel};
use super::volume::set::{Redundancy, MOST, WINDOW};
use super::volume::Volume;
use super::LowerCount;
use headstack_schema::{Choice, SpecError, Table};
use headstack_units::Bytes;

/// The layer's name.
pub const NAME: &str = "raid5";

/// md's stripe cache: 256 pages of each member.
const AT_ONCE: Bytes = Bytes(256 * 4096);

/// Parameters of `raid5`.
#[derive(Debug, Clone, Table)]
#[table(
    model = "striped with rotating parity: one member may be gone",
    example = "chunk = \"64 KiB\"",
    facts = LowerCount::Many, build = |own, context| Ok(Box::new(volume(context.members, &own)?))
)]
pub struct Parameters {
    /// Where the parity of each stripe lies, and where its data begin.
    #[param(default)]
    layout: LayoutName,
    /// Contiguous data per member, a multiple of `unit`.
    #[param(default = DEFAULT_CHUNK)]
    chunk: Bytes,
    /// Parity is computed for blocks of this size.
    #[param(default = Bytes(4096))]
    unit: Bytes,
    /// When a small write reads old data and parity: 0 never, 1 if that reads less, 2 if it does not read more.
    #[param(default = 1, range = 0..=2)]
    rmw_level: u8,
    /// Whether writes of the same rows join, and what was read or written is not read again, as in md.
    #[param(default = true)]
    stripe_cache: bool,
    // In md `stripe_cache_size`, in pages. Without a rebuild these are the rows that writes find there.
    /// Bytes of a member that are being rebuilt at once.
    #[param(default = AT_ONCE, range = WINDOW..=MOST)]
    rebuild_at_once: Bytes,
    /// What `rebuild_at_once` grows to, by one `unit` each time that all of it is used; if absent it does not grow.
    #[param(range = WINDOW..=MOST)]
    rebuild_grows_to: Option<Bytes>,
    #[param(flatten)]
    redundancy: Redundancy,
}

#[derive(Debug, Clone, Copy, Default, Choice)]
enum LayoutName {
    /// Parity moves to the left; data begin at the first member.
    LeftAsymmetric,
    /// Parity moves to the right; data begin at the first member.
    RightAsymmetric,
    /// Parity moves to the left; data begin behind the parity.
    #[default]
    LeftSymmetric,
    /// Parity moves to the right; data begin behind the parity.
    RightSymmetric,
}

/// Builds a volume from its parameters.
///
/// # Errors
/// Fewer than three members, or a parameter that does not fit.
pub fn volume(sizes: Vec<u64>, p: &Parameters) -> Result<Volume, SpecError> {
    if sizes.len() < 3 {
        return Err(SpecError::new("below", sizes.len(), "at least 3 members"));
    }
    let unit = p.unit.0 / 512;
    if unit == 0 || p.unit.0 % 512 != 0 {
        return Err(SpecError::new("unit", p.unit, "a positive multiple of 512 B"));
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
            _ => RmwLevel::IfNotMore,
        },
        n: sizes.len() as u64,
        chunk,
        unit,
        stripes: smallest / chunk,
        cuts: Vec::new(),
        pieces: Vec::new(),
    };
    let kept = if p.stripe_cache { p.rebuild_at_once.0 / 512 } else { 0 };
    let volume = Volume::new(NAME, Box::new(parity.clone()), sizes).with_stripe_cache(parity, kept);
    let volume = volume.with_redundancy(&p.redundancy, unit, p.rebuild_at_once, true)?;
    Ok(volume.grows_to(p.rebuild_grows_to))
}
