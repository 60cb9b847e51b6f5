//! Striped copies: near, far and offset layouts.
//!
//! # Model
//! There are `far` sets of copies, each with `near` copies of every chunk. Copy `i` of chunk `c` in a set has
//! the number `x = c near + i`. With `n` members, it lies in chunk row `x div n` of its set; in set `s` on
//! member `(x + s near) mod n`. The sets lie in sections of the members, one after another (far), or their
//! rows alternate (`offset`). Requests and the windows of a rebuild take turns, as in md: a window of 64 KiB begins when all
//! requests under way have completed, and requests that arrive meanwhile begin one after another when it is done. More windows begin
//! with it while no request waits.
//!
//! | parameter | means | if absent |
//! |---|---|---|
//! | `near`, `far` | copies in a set, and number of sets; `near` times `far` copies in all | 2, 1 |
//! | `offset` | rows of the sets alternate | `false` |
//! | `chunk` | contiguous data per member | 512 KiB |
//! | `read_policy` | see `raid1` | `md-raid10-near`; `md-raid10-far` where `far` is above 1 and not `offset` |
//! | `rebuild_rate`, `rebuild_rate_min`, `rebuild_at_once`, `rebuild_request`, `rebuild_host_time`, `gone` | as in `raid1` | |
//! # Source
//! Linux md, `raid10.c`; `md(4)`.
//! # Validity
//! As `raid1`.

use super::raid1::AT_ONCE;
use super::volume::choice::{Copy, ReadPolicy};
use super::volume::copies::{Copies, CopyMap, Pattern};
use super::volume::set::{Redundancy, MOST, WINDOW};
use super::volume::Volume;
use super::{Entry, LowerCount};
use headstack_schema::{read, read_table, Parameter, Params, SpecError, Table};
use headstack_units::Bytes;

/// The layer's name.
pub const NAME: &str = "raid10";

/// The registry's entry.
pub fn entry() -> Entry {
    let summary = "striped copies: near, far and offset layouts";
    let entry = Entry::new(NAME, summary, LowerCount::Many, |context, p| Ok(Box::new(volume(context.members, &p)?)));
    Entry { effective: |table, _| effective(table), ..entry.with_example("near = 2\nchunk = \"64 KiB\"") }
}

/// The parameters in use, with the policy of reads that follows from the others.
pub(crate) fn effective(table: &Params) -> Result<Params, SpecError> {
    let mut p: Parameters = read_table(table)?;
    p.read_policy = Some(p.policy());
    read(&p.write())
}

/// Parameters of `raid10`.
#[derive(Debug, Clone, Table)]
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
    /// The policy of reads; that of the layout if none is given.
    fn policy(&self) -> ReadPolicy {
        let usual = match self.far > 1 && !self.offset {
            true => ReadPolicy::MdRaid10Far,
            false => ReadPolicy::MdRaid10Near,
        };
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

struct Striped {
    n: u64,
    near: u64,
    far: u64,
    offset: bool,
    /// Size of a chunk in 512-byte blocks.
    chunk: u64,
    /// Chunk rows of one section.
    rows: u64,
    /// Chunks of data in the volume.
    chunks: u64,
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
        let row = match self.offset {
            true => x / self.n * self.far + far,
            false => x / self.n + far * self.rows,
        };
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

#[cfg(test)]
mod tests {
    use super::super::volume::state::State;
    use super::super::volume::walk::{damaged, noise, walk, Truth};
    use super::*;

    fn map(n: u64, near: u64, far: u64, offset: bool) -> Striped {
        // Twelve chunk rows of eight blocks on each member.
        let rows = 12 / far;
        Striped { n, near, far, offset, chunk: 8, rows, chunks: rows * n / near }
    }

    /// Member and chunk row of every copy of the first chunks, by hand from md's layouts for three members.
    #[test]
    fn layouts_by_hand() {
        // The second section of a far layout begins at row 6.
        let near: [[(u32, u64); 2]; 4] = [[(0, 0), (1, 0)], [(2, 0), (0, 1)], [(1, 1), (2, 1)], [(0, 2), (1, 2)]];
        let far = [[(0, 0), (1, 6)], [(1, 0), (2, 6)], [(2, 0), (0, 6)], [(0, 1), (1, 7)]];
        let offset = [[(0, 0), (1, 1)], [(1, 0), (2, 1)], [(2, 0), (0, 1)], [(0, 2), (1, 3)]];
        for (map, want) in [(map(3, 2, 1, false), near), (map(3, 1, 2, false), far), (map(3, 1, 2, true), offset)] {
            for (number, want) in want.iter().enumerate() {
                for (copy, want) in want.iter().enumerate() {
                    let at = number as u64 * 8 + 3;
                    let (got, end) = map.place(at, copy as u32);
                    assert_eq!((got.member, got.lba), (want.0, want.1 * 8 + 3));
                    assert_eq!(end, number as u64 * 8 + 8);
                }
            }
        }
    }

    /// The state of block `lba` of a member, by its copies.
    fn truth(map: &Striped, state: &State, member: u32, lba: u64) -> Truth {
        let Some(at) = map.at(member, lba).0 else {
            return Truth::Unused;
        };
        let mut copies = (0..map.copies()).map(|i| map.place(at, i).0);
        match copies.any(|c| state.is_fresh(c.member, c.lba, 1)) {
            true => Truth::Held,
            false => Truth::Lost,
        }
    }

    /// Random damage in every layout: what is said of each part of a stale member is true of each of its blocks, and all
    /// blocks of which there is a copy are rewritten.
    #[test]
    fn rebuilds_exactly_what_there_are_copies_of() {
        for seed in 1..600 {
            let mut random = noise(seed);
            let n = 2 + random(6);
            let near = 1 + random(n.min(4));
            let far = 1 + random(n / near);
            if near * far < 2 {
                continue;
            }
            let offset = random(2) == 0;
            let map = || map(n, near, far, offset);
            let blocks = 13 * 8 + random(40);
            let member = random(n) as u32;
            let state = damaged(n as usize, blocks, member, &mut random);
            let from = random(blocks);
            let truth = |lba: u64| truth(&map(), &state, member, lba);
            let want = (from..blocks).filter(|b| truth(*b) == Truth::Held).count();
            let mut copies = Copies::new(map(), ReadPolicy::First);
            let (_, held) = walk(&mut copies, &state, member, from..blocks, 16, &truth);
            assert_eq!(held, want as u64, "seed {seed}");
        }
    }

    /// 18 TB of which no copy is left are passed over in a few steps, whatever the layout: one for each section of a far
    /// layout, one for the end of the member.
    #[test]
    fn what_has_no_copies_costs_nothing() {
        let chunk = 1024;
        let rows = 18_000_000_000_000 / 512 / chunk;
        for (n, near, far, offset) in [
            (4u64, 3, 1, false),
            (4, 2, 1, false),
            (5, 2, 1, false),
            (3, 1, 2, false),
            (5, 1, 3, true),
            (6, 2, 2, false),
        ] {
            let map = |rows: u64| Striped { n, near, far, offset, chunk, rows, chunks: rows * n / near };
            let blocks = rows * chunk;
            for gone in [true, false] {
                let mut state = State::new(n as usize);
                for other in 1..n as u32 {
                    state.set_stale(other, 0..blocks);
                    state.set_gone(other, gone);
                }
                state.set_stale(0, 0..blocks);
                let map = || map(rows / far);
                let mut copies = Copies::new(map(), ReadPolicy::First);
                let truth = |lba: u64| truth(&map(), &state, 0, lba);
                let (answers, held) = walk(&mut copies, &state, 0, 0..blocks, 128, &truth);
                assert_eq!(held, 0);
                assert!(answers <= far + 2, "{n} {near} {far} {offset} {gone}: {answers}");
            }
        }
    }

    /// Every copy of every block has its own place, inside a member; copies of one block are on different
    /// members. The inverse finds them, and no other block of a member is in use.
    #[test]
    fn places_are_one_to_one() {
        for n in 2..=6u64 {
            for (near, far, offset) in
                [(2, 1, false), (3, 1, false), (1, 2, false), (1, 2, true), (2, 2, false), (2, 2, true)]
            {
                if near * far > n {
                    continue;
                }
                let map = map(n, near, far, offset);
                let mut used = std::collections::BTreeMap::new();
                for at in 0..map.blocks() {
                    let mut members = std::collections::BTreeSet::new();
                    for copy in 0..map.copies() {
                        let (place, _) = map.place(at, copy);
                        assert!(place.lba < 12 * 8 && u64::from(place.member) < n);
                        assert!(members.insert(place.member), "{n} {near} {far} {offset}");
                        assert_eq!(used.insert((place.member, place.lba), at), None);
                    }
                }
                for member in 0..n as u32 {
                    for lba in 0..14 * 8 {
                        let want = used.get(&(member, lba)).copied();
                        assert_eq!(map.at(member, lba).0, want, "{n} {near} {far} {offset}");
                    }
                }
            }
        }
    }
}
