//! RAID-5: one parity unit in each row.
//!
//! # Model
//! A *stripe* is one chunk of each member; a *row* is one unit (4 KiB in md) of each member at the same
//! address. Units are read, computed and written as a whole. A write updates the parity in the cheaper of two
//! ways: *read-modify-write* reads the data that it overwrites and the old parity; *reconstruct-write* reads
//! the data of the row that it does not overwrite. Both read a unit that is written in part. As in md the
//! choice is made for each row, and a tie is reconstructed (`rmw_level` 1). What is in memory costs nothing
//! (`stripe_cache.rs`).
//!
//! When a unit cannot be read, because its member is gone or the unit is stale, a read of it reads the other members of
//! the row; `stripe_cache.rs` says what a write does.

use super::plan::{Content, Piece, Plan};
use super::state::State;
use super::{Placement, Repair};
use crate::layer::ErrorKind;
use std::ops::Range;

/// How md places the parity and the data of each stripe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    LeftAsymmetric,
    RightAsymmetric,
    LeftSymmetric,
    RightSymmetric,
}

impl Layout {
    /// The member that holds the parity of a stripe; `n` is the number of members.
    #[inline]
    pub fn parity(self, stripe: u64, n: u64) -> u64 {
        match self {
            Layout::LeftAsymmetric | Layout::LeftSymmetric => n - 1 - stripe % n,
            Layout::RightAsymmetric | Layout::RightSymmetric => stripe % n,
        }
    }

    /// The member that holds data chunk `i` of a stripe whose parity is on member `parity`.
    #[inline]
    pub fn data(self, i: u64, parity: u64, n: u64) -> u64 {
        match self {
            Layout::LeftAsymmetric | Layout::RightAsymmetric => i + u64::from(i >= parity),
            Layout::LeftSymmetric | Layout::RightSymmetric => (parity + 1 + i) % n,
        }
    }
}

/// When read-modify-write is preferred to reconstruct-write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RmwLevel {
    /// Only where reconstruct-write is not possible.
    Never,
    /// Where it reads less.
    IfLess,
    /// Where it reads less or as much.
    IfNotMore,
}

/// A volume with one parity block to each row.
#[derive(Clone)]
pub struct Parity {
    pub layout: Layout,
    pub rmw: RmwLevel,
    /// Number of members.
    pub n: u64,
    /// Size of a chunk in blocks, a multiple of the unit.
    pub chunk: u64,
    /// Size of a unit in blocks.
    pub unit: u64,
    pub stripes: u64,
    /// Rows at which the treatment changes; kept for reuse.
    pub cuts: Vec<u64>,
    /// What is read of a stripe; kept for reuse.
    pub pieces: Vec<Piece>,
}

/// The part of a request that lies in one stripe: blocks `from..to` of the stripe's data.
#[derive(Clone, Copy)]
pub(super) struct InStripe {
    pub stripe: u64,
    pub parity: u64,
    from: u64,
    to: u64,
}

/// How much of a unit a request covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cover {
    None,
    Part,
    Whole,
}

/// Rows `from..to` of a stripe that are treated alike, in blocks from the start of a chunk.
#[derive(Debug, Clone, Copy)]
pub struct Rows {
    pub from: u64,
    pub to: u64,
}

impl InStripe {
    /// The data chunks that the request overlaps.
    pub(super) fn chunks(&self, chunk: u64) -> Range<u64> {
        self.from / chunk..(self.to - 1) / chunk + 1
    }

    /// The part of data chunk `i` that the request covers, in blocks from the chunk's start.
    fn span(&self, i: u64, chunk: u64) -> (u64, u64) {
        let from = self.from.max(i * chunk) - i * chunk;
        let to = self.to.min((i + 1) * chunk).saturating_sub(i * chunk);
        (from, to)
    }

    pub(super) fn cover(&self, i: u64, chunk: u64, rows: Rows) -> Cover {
        if !self.chunks(chunk).contains(&i) {
            return Cover::None;
        }
        let (from, to) = self.span(i, chunk);
        if from <= rows.from && rows.to <= to {
            Cover::Whole
        } else if from < rows.to && rows.from < to {
            Cover::Part
        } else {
            Cover::None
        }
    }
}

impl Parity {
    fn data_chunks(&self) -> u64 {
        self.n - 1
    }

    fn stripe_blocks(&self) -> u64 {
        self.chunk * self.data_chunks()
    }

    /// Splits a request by stripes.
    pub(super) fn in_stripes(&self, lba: u64, blocks: u64) -> impl Iterator<Item = InStripe> {
        let (size, layout, n) = (self.stripe_blocks(), self.layout, self.n);
        let end = lba + blocks;
        (lba / size..(end - 1) / size + 1).map(move |stripe| InStripe {
            stripe,
            parity: layout.parity(stripe, n),
            from: lba.max(stripe * size) - stripe * size,
            to: end.min((stripe + 1) * size) - stripe * size,
        })
    }

    pub(super) fn member(&self, s: &InStripe, i: u64) -> u32 {
        self.layout.data(i, s.parity, self.n) as u32
    }

    /// First block of a run of rows, on each member.
    fn at(&self, s: &InStripe, rows: Rows) -> u64 {
        s.stripe * self.chunk + rows.from
    }

    /// Splits the rows of a request into runs that are treated alike, in ascending order.
    pub(super) fn cut(&mut self, state: &State, s: &InStripe) {
        let mut cuts = std::mem::take(&mut self.cuts);
        cuts.clear();
        let chunks = s.chunks(self.chunk);
        let (first, last) = (chunks.start, chunks.end - 1);
        for i in [first].into_iter().chain((last > first).then_some(last)) {
            let (from, to) = s.span(i, self.chunk);
            for edge in [from, to] {
                cuts.push(edge / self.unit * self.unit);
                cuts.push(edge.div_ceil(self.unit) * self.unit);
            }
        }
        let base = s.stripe * self.chunk;
        for m in &state.degraded {
            let stale = &state.members[*m as usize].stale;
            for range in stale.overlapping(base..base + self.chunk) {
                let inside = range.start.max(base)..range.end.min(base + self.chunk);
                cuts.push((inside.start - base) / self.unit * self.unit);
                cuts.push((inside.end - base).div_ceil(self.unit) * self.unit);
            }
        }
        cuts.sort_unstable();
        cuts.dedup();
        self.cuts = cuts;
    }

    /// The runs of rows between the cuts that overlap the request.
    pub(super) fn runs(&self, s: &InStripe) -> impl Iterator<Item = Rows> + '_ {
        let chunks = s.chunks(self.chunk);
        let (first, last) = (s.span(chunks.start, self.chunk), s.span(chunks.end - 1, self.chunk));
        let whole = chunks.end - chunks.start > 2;
        self.cuts.windows(2).filter_map(move |w| {
            let touches = |span: (u64, u64)| span.0 < w[1] && w[0] < span.1;
            (whole || touches(first) || touches(last)).then_some(Rows { from: w[0], to: w[1] })
        })
    }

    /// The rows of all members except `but`.
    fn others(&self, s: &InStripe, rows: Rows, but: u64) -> impl Iterator<Item = Piece> {
        let (at, len) = (self.at(s, rows), rows.to - rows.from);
        let others = (0..self.n).filter(move |m| *m != but);
        others.map(move |m| Piece::new(m as u32, at, len, Content::Old))
    }

    /// Plans to read the part of a request in one stripe. As in md, rows that replace a lost chunk and are asked for
    /// themselves are read once.
    fn read_stripe(&mut self, state: &State, s: &InStripe, plan: &mut Plan) -> Result<(), ErrorKind> {
        let base = s.stripe * self.chunk;
        let mut pieces = std::mem::take(&mut self.pieces);
        for i in s.chunks(self.chunk) {
            let member = self.member(s, i);
            let (from, to) = s.span(i, self.chunk);
            if state.is_fresh(member, base + from, to - from) {
                pieces.push(Piece::new(member, base + from, to - from, Content::Data));
                continue;
            }
            let alone = InStripe { from: i * self.chunk + from, to: i * self.chunk + to, ..*s };
            self.cut(state, &alone);
            for rows in self.runs(&alone) {
                let (at, len) = (self.at(s, rows), rows.to - rows.from);
                if state.is_fresh(member, at, len) {
                    let start = at.max(base + from);
                    let end = (at + len).min(base + to);
                    pieces.push(Piece::new(member, start, end - start, Content::Data));
                    continue;
                }
                let others = (0..self.n as u32).filter(|m| *m != member);
                if !others.clone().all(|m| state.is_fresh(m, at, len)) {
                    return Err(ErrorKind::MemberLost);
                }
                pieces.extend(self.others(s, rows, u64::from(member)));
                plan.lock_also(at..at + len);
            }
        }
        if !state.degraded.is_empty() {
            // Only what follows in ascending order is joined.
            pieces.sort_by_key(|p| (p.member, p.lba));
        }
        pieces.drain(..).for_each(|p| plan.read_piece(p));
        self.pieces = pieces;
        Ok(())
    }

    /// The first rows from `start` on that all members but one can supply, up to `end` rounded up to a unit; empty, and
    /// at that end, if there are none. `start` is a multiple of the unit.
    fn rows_held(&self, state: &State, but: u32, start: u64, end: u64) -> Range<u64> {
        let end = end.div_ceil(self.unit) * self.unit;
        let others = || state.degraded.iter().filter(|m| **m != but);
        if others().any(|m| state.is_gone(*m)) {
            return end..end;
        }
        let mut from = start;
        loop {
            let stale = |m: &u32| {
                let stale = &state.members[*m as usize].stale;
                stale.overlapping(from..from + self.unit).next()
            };
            match others().find_map(stale) {
                Some(range) if from < end => from = range.end.div_ceil(self.unit) * self.unit,
                _ => break,
            }
        }
        if from >= end {
            return end..end;
        }
        let next = others().filter_map(|m| {
            let stale = &state.members[*m as usize].stale;
            let first = stale.overlapping(from..end).next()?;
            Some(first.start / self.unit * self.unit)
        });
        from..next.min().unwrap_or(end)
    }

    /// Plans to write rows all of whose units can be read.
    fn write_rows(&self, s: &InStripe, rows: Rows, plan: &mut Plan) {
        let units = (rows.to - rows.from) / self.unit;
        let content = match self.modifies(s, rows) {
            true => {
                self.read_covered(s, rows, plan);
                plan.read_modify_writes += units;
                Content::ReadModifyWrite
            }
            false => {
                self.read_uncovered(s, rows, plan);
                plan.reconstruct_writes += units;
                Content::ReconstructWrite
            }
        };
        self.write_covered(s, rows, content, plan);
    }

    /// Whether read-modify-write is used for a run of rows.
    fn modifies(&self, s: &InStripe, rows: Rows) -> bool {
        let covers = s.chunks(self.chunk).map(|i| s.cover(i, self.chunk, rows));
        let (mut covered, mut whole) = (0, 0);
        for cover in covers {
            covered += u64::from(cover != Cover::None);
            whole += u64::from(cover == Cover::Whole);
        }
        let (modify, reconstruct) = (covered + 1, self.data_chunks() - whole);
        match self.rmw {
            RmwLevel::Never => false,
            RmwLevel::IfLess => modify < reconstruct,
            RmwLevel::IfNotMore => modify <= reconstruct,
        }
    }

    fn read_chunk(&self, s: &InStripe, rows: Rows, i: u64, plan: &mut Plan) {
        let (member, at) = (self.member(s, i), self.at(s, rows));
        plan.read(member, at, rows.to - rows.from, Content::Old);
    }

    /// Plans to read the units that are written, and the parity.
    fn read_covered(&self, s: &InStripe, rows: Rows, plan: &mut Plan) {
        for i in s.chunks(self.chunk) {
            if s.cover(i, self.chunk, rows) != Cover::None {
                self.read_chunk(s, rows, i, plan);
            }
        }
        let at = self.at(s, rows);
        plan.read(s.parity as u32, at, rows.to - rows.from, Content::Old);
    }

    /// Plans to read the data units that are not written whole.
    fn read_uncovered(&self, s: &InStripe, rows: Rows, plan: &mut Plan) {
        for i in 0..self.data_chunks() {
            if s.cover(i, self.chunk, rows) != Cover::Whole {
                self.read_chunk(s, rows, i, plan);
            }
        }
    }

    /// Plans to write the units that the request covers, and the parity.
    fn write_covered(&self, s: &InStripe, rows: Rows, parity: Content, plan: &mut Plan) {
        let (at, len) = (self.at(s, rows), rows.to - rows.from);
        for i in s.chunks(self.chunk) {
            if s.cover(i, self.chunk, rows) != Cover::None {
                plan.write(self.member(s, i), at, len, Content::Data);
            }
        }
        plan.write(s.parity as u32, at, len, parity);
    }
}

impl Placement for Parity {
    fn blocks(&self) -> u64 {
        self.stripes * self.stripe_blocks()
    }

    fn is_redundant(&self) -> bool {
        true
    }

    /// The rows that the request overlaps, in blocks of a member.
    fn write_lock(&self, lba: u64, blocks: u64) -> Option<Range<u64>> {
        let size = self.stripe_blocks();
        let (first, last) = (lba / size, (lba + blocks - 1) / size);
        let (mut from, mut to) = (first * self.chunk, (last + 1) * self.chunk);
        if first == last {
            let inside = lba % size;
            let end = inside + blocks;
            if inside / self.chunk == (end - 1) / self.chunk {
                let start = inside % self.chunk / self.unit * self.unit;
                from = first * self.chunk + start;
                let stop = inside % self.chunk + blocks;
                to = first * self.chunk + stop.div_ceil(self.unit) * self.unit;
            }
        }
        Some(from..to)
    }

    fn read(&mut self, state: &State, lba: u64, blocks: u64, plan: &mut Plan) -> Result<(), ErrorKind> {
        for s in self.in_stripes(lba, blocks) {
            self.read_stripe(state, &s, plan)?;
        }
        Ok(())
    }

    fn write(&mut self, state: &State, lba: u64, blocks: u64, plan: &mut Plan) -> Result<(), ErrorKind> {
        for s in self.in_stripes(lba, blocks) {
            self.cut(state, &s);
            for rows in self.runs(&s) {
                self.write_rows(&s, rows, plan);
            }
        }
        Ok(())
    }

    fn is_held(&self, state: &State, member: u32, range: Range<u64>) -> bool {
        let len = range.end - range.start;
        let mut others = (0..self.n as u32).filter(|m| *m != member);
        others.all(|m| state.is_fresh(m, range.start, len))
    }

    fn repair(&mut self, state: &State, member: u32, range: Range<u64>, window: u64, plan: &mut Plan) -> Repair {
        let used = self.stripes * self.chunk;
        if range.start >= used {
            return Repair::Unused(range);
        }
        let start = range.start / self.unit * self.unit;
        let rows = self.rows_held(state, member, start, range.end.min(used));
        if rows.start > start {
            return Repair::Impossible(range.start..rows.start.min(range.end));
        }
        let end = (range.start + window).min(range.end);
        let end = (end.div_ceil(self.unit) * self.unit).min(rows.end);
        let others = (0..self.n as u32).filter(|m| *m != member);
        others.for_each(|m| plan.read(m, start, end - start, Content::Old));
        plan.write(member, start, end - start, Content::Repair);
        plan.lock_also(start..end);
        Repair::Planned(start..end)
    }
}
