//! Striped copies: near, far and offset layouts.
//!
//! # Model
//! There are `far` sets of copies, each with `near` copies of every chunk. Copy `i` of chunk `c` in a set has
//! the number `x = c near + i`. With `n` members, it lies in chunk row `x div n` of its set; in set `s` on
//! member `(x + s near) mod n`. The sets lie in sections of the members, one after another (far), or their
//! rows alternate (`offset`). Requests and the windows of a rebuild take turns, as in md: a window of 64 KiB begins when all
//! requests under way have completed, and requests that arrive meanwhile begin one after another when it is done. More windows begin
//! with it while no request waits.
//! # Source
//! Linux md, `raid10.c`; `md(4)`.
//! # Validity
//! As `raid1`.

use super::raid1::AT_ONCE;
use super::volume::choice::{Copy, ReadPolicy};
use super::volume::copies::{Copies, CopyMap, Pattern};
use super::volume::set::{Redundancy, MOST, WINDOW};
use super::volume::Volume;
use super::LowerCount;
use headstack_schema::{SpecError, Table};
use headstack_units::Bytes;

/// The layer's name.
pub const NAME: &str = "raid10";

/// Parameters of `raid10`.
#[derive(Debug, Clone, Table)]
#[table(
    model = "striped copies: near, far and offset layouts",
    example = "near = 2\nchunk = \"64 KiB\"",
    facts = LowerCount::Many,
    build = |own, context| Ok(Box::new(volume(context.members, &own)?)),
    complete = Parameters::complete
)]
pub struct Parameters {
    /// Copies in a set; `near` times `far` copies in all.
    #[param(default = 2)]
    near: u32,
    /// Number of sets.
    #[param(default = 1)]
    far: u32,
    /// Whether the rows of the sets alternate.
    #[param(default)]
    offset: bool,
    /// Contiguous data per member.
    #[param(default = DEFAULT_CHUNK)]
    chunk: Bytes,
    /// Which copy a read takes; if absent `md-raid10-near`, or `md-raid10-far` where `far` is above 1 and not
    /// `offset`.
    read_policy: Option<ReadPolicy>,
    /// Bytes of a member that are being rebuilt at once.
    #[param(default = AT_ONCE, range = WINDOW..=MOST)]
    rebuild_at_once: Bytes,
    #[param(flatten)]
    redundancy: Redundancy,
}

impl Parameters {
    /// The parameters in use, with the policy of reads that follows from the others.
    pub(crate) fn complete(self) -> Parameters {
        Parameters { read_policy: Some(self.policy()), ..self }
    }

    /// The policy of reads; that of the layout if none is given.
    fn policy(&self) -> ReadPolicy {
        let usual = if self.far > 1 && !self.offset { ReadPolicy::MdRaid10Far } else { ReadPolicy::MdRaid10Near };
        self.read_policy.unwrap_or(usual)
    }
}

/// md's default chunk size.
pub(crate) const DEFAULT_CHUNK: Bytes = Bytes(512 * 1024);

/// Size of a chunk in 512-byte blocks.
///
/// # Errors
/// `chunk` is zero, no multiple of `unit` blocks, or not below 2 TiB.
pub(crate) fn chunk_blocks(chunk: Bytes, unit: u64) -> Result<u64, SpecError> {
    let blocks = chunk.0 / 512;
    if blocks == 0 || chunk.0 % (512 * unit) != 0 || blocks > u64::from(u32::MAX) {
        let need = format!("a positive multiple of {} B below 2 TiB", 512 * unit);
        return Err(SpecError::new("chunk", chunk, need));
    }
    Ok(blocks)
}

#[doc(hidden)]
pub struct Striped {
    pub n: u64,
    pub near: u64,
    pub far: u64,
    pub offset: bool,
    /// Size of a chunk in 512-byte blocks.
    pub chunk: u64,
    /// Chunk rows of one section.
    pub rows: u64,
    /// Chunks of data in the volume.
    pub chunks: u64,
}

impl CopyMap for Striped {
    fn blocks(&self) -> u64 {
        self.chunks * self.chunk
    }
    fn copies(&self) -> u32 {
        (self.near * self.far) as u32
    }
    fn place(&self, at: u64, copy: u32) -> (Copy, u64) {
        let (number, inside) = (at / self.chunk, at % self.chunk);
        let (near, far) = (u64::from(copy) % self.near, u64::from(copy) / self.near);
        let x = number * self.near + near;
        let row = if self.offset { x / self.n * self.far + far } else { x / self.n + far * self.rows };
        let copy = Copy { member: ((x + far * self.near) % self.n) as u32, lba: row * self.chunk + inside };
        (copy, at - inside + self.chunk)
    }
    fn at(&self, member: u32, lba: u64) -> (Option<u64>, u64) {
        let (row, inside) = (lba / self.chunk, lba % self.chunk);
        if row >= self.rows * self.far {
            return (None, u64::MAX);
        }
        let run_end = lba - inside + self.chunk;
        let (row, far) = match self.offset {
            true => (row / self.far, row % self.far),
            false => (row % self.rows, row / self.rows),
        };
        let first = (u64::from(member) + self.n - far * self.near % self.n) % self.n;
        let number = (row * self.n + first) / self.near;
        let used = number < self.chunks;
        (used.then_some(number * self.chunk + inside), run_end)
    }
    fn pattern(&self, lba: u64) -> Pattern {
        // After `near` rows the copies have gone round the members a whole number of times.
        let section = self.rows * self.chunk;
        match self.offset {
            true => Pattern { period: self.near * self.far * self.chunk, end: section * self.far },
            false => Pattern { period: self.near * self.chunk, end: (lba / section + 1) * section },
        }
    }
}

/// Builds a volume from its parameters.
///
/// # Errors
/// Too few members, or a parameter that does not fit.
pub fn volume(sizes: Vec<u64>, p: &Parameters) -> Result<Volume, SpecError> {
    let n = sizes.len() as u64;
    let chunk = chunk_blocks(p.chunk, 1)?;
    let (near, far) = (u64::from(p.near), u64::from(p.far));
    if near == 0 || far == 0 || near * far < 2 || near * far > n {
        let got = format!("{near} near times {far} far copies on {n} members");
        return Err(SpecError::new("near", got, "2 copies to one for each member"));
    }
    let smallest = sizes.iter().copied().min().unwrap_or(0);
    let rows = smallest / chunk / far;
    let map = Striped { n, near, far, offset: p.offset, chunk, rows, chunks: rows * n / near };
    if map.chunks == 0 {
        let need = format!("at most the smallest member's {} B", smallest * 512);
        return Err(SpecError::new("chunk", p.chunk, need));
    }
    let copies = Copies::new(map, p.policy());
    let volume = Volume::new(NAME, Box::new(copies), sizes).with_barrier();
    volume.with_redundancy(&p.redundancy, WINDOW.0 / 512, p.rebuild_at_once, false)
}
