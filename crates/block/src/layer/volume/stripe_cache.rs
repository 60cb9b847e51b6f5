//! The stripe cache of a RAID-5: writes of the same rows join, and what was read or written is not read again.
//!
//! # Model
//! A write does not wait for other writes of its rows (`parity.rs`): it joins them. For each
//! row the cheaper way is chosen for all that have joined it so far, and chosen anew when another joins or a read ends. A
//! unit that was read or written, or is being so, costs neither way anything. When nothing is under way to the row's
//! members and nothing is to be read, all that have joined are written at once; later ones read meanwhile what they need,
//! and are written together next. A unit that is written in part is read first. A write of a unit that waits to be written
//! stands behind it.
//!
//! Rows without writes are kept, those used last, as many as fit beside the others. Rows that are alike are one *run*, so
//! that their requests to a member are one. The time that a write waits for its row, and for reads that began before it
//! joined, is time in the queue.
//!
//! A unit that cannot be read costs each way that needs it more than all others; if it is needed nevertheless, all others
//! are read. What reads the others for it, or rebuilds it, locks the rows: it waits for what has joined, and writes wait for it.
//! If the parity cannot be read, reconstruct-write is used, also if its member is gone: md then reads the data that are not
//! overwritten, although no parity will be written (measured with Linux 6.12).
//! A row is lost if two of its units can neither be read nor are overwritten, or if two members are gone.
//!
//! Where writes are not to join, they do so only in rows with a unit that cannot be read, and nothing is kept.
//! # Source
//! Linux md, `raid5.c`: `add_stripe_bio`, `handle_stripe_fill`, `handle_stripe_dirtying`, `schedule_reconstruction`; counts
//! of Linux 6.12 in docs/models/md.md.
//! # Validity
//! Writes are synchronous (direct): md lets those of its page cache wait for others before it reads for them.

use super::parity::{Cover, InStripe, Parity, RmwLevel, Rows};
use super::plan::{Content, Io, Piece, Step, Transfers};
use super::state::State;
use super::{is_refused, Task, Volume};
use crate::layer::{ErrorKind, Flow, LayerCompletion, Request, ANYONE};
use headstack_drive::join::Join;
use headstack_drive::{Command, Hint};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The operation of requests to members for rows that writes have joined.
pub const ROWS: u32 = u32::MAX;

/// What is said of a unit: its content is in memory; it is being read, or written; it is to be written whole, or in part.
const KNOWN: u8 = 1;
const READING: u8 = 2;
const WRITING: u8 = 4;
const WHOLE: u8 = 8;
const PART: u8 = 16;
/// It costs nothing more to know it.
const AT_HAND: u8 = KNOWN | READING | WRITING;
const BUSY: u8 = READING | WRITING;
const WANTED: u8 = WHOLE | PART;

/// Rows of one stripe that are alike.
#[derive(Clone, Default)]
struct Run {
    end: u64,
    /// The member with the parity.
    parity: u32,
    /// By member.
    units: Vec<u8>,
    /// Operations that are to be written together, and those behind them.
    joined: Vec<u32>,
    behind: Vec<(u32, InStripe)>,
    /// The last read since something was written, and whether a unit was computed from all others.
    read: Option<LayerCompletion>,
    computed: bool,
    /// Operations that are being written, how, the last read before, and what has ended.
    drained: Vec<u32>,
    way: Option<Content>,
    before: Option<LayerCompletion>,
    written: Option<Join<LayerCompletion>>,
    /// When it was last used, if it has no writes.
    idle: Option<u64>,
}

/// The end of the parts of operations in some rows. Without `last` they are lost.
struct Ended {
    ops: Vec<u32>,
    blocks: u64,
    read: Option<LayerCompletion>,
    last: Option<LayerCompletion>,
}

/// What is to be done now.
#[derive(Default)]
struct Todo {
    reads: Transfers,
    writes: Transfers,
    ended: Vec<Ended>,
    /// Operations of which rows were not written on the member.
    lost: Vec<(u32, Range<u64>)>,
    /// What cannot be written on members.
    unwritten: Vec<(u32, Range<u64>)>,
    waited: u64,
    /// Blocks of members by the way in which their parity is updated: reconstruct-write, read-modify-write.
    by_way: [u64; 2],
}

/// The rows that have writes or were used last, by their first block on the members.
pub(crate) struct StripeCache {
    parity: Parity,
    runs: BTreeMap<u64, Box<Run>>,
    /// Blocks of a member in all runs, and how many are kept. Without any, writes join only where units cannot be read.
    blocks: u64,
    most: u64,
    /// Runs without writes: when each was last used, its first block.
    idle: BTreeSet<(u64, u64)>,
    uses: u64,
    /// An empty list, kept for reuse.
    todo: Option<Box<Todo>>,
}

impl Run {
    fn has(&self, flags: u8) -> bool {
        self.units.iter().any(|u| u & flags > 0)
    }

    /// The operations that a request to a member serves.
    fn served(&self, command: Command) -> &[u32] {
        match command {
            Command::Read => &self.joined,
            _ => &self.drained,
        }
    }

    /// An operation joins, or stands behind what waits to be written. Returns false if it stands behind.
    fn add(&mut self, op: u32, s: InStripe, start: u64, parity: &Parity) -> bool {
        let first = s.stripe * parity.chunk;
        let rows = Rows { from: start - first, to: self.end - first };
        let covers = s.chunks(parity.chunk).filter_map(|i| {
            let flag = match s.cover(i, parity.chunk, rows) {
                Cover::Whole => WHOLE,
                Cover::Part => PART,
                Cover::None => return None,
            };
            Some((parity.member(&s, i) as usize, flag))
        });
        let joins = self.behind.is_empty() && covers.clone().all(|c| self.units[c.0] & WANTED == 0);
        match joins {
            true => {
                covers.for_each(|(member, flag)| self.units[member] |= flag);
                self.joined.push(op);
            }
            false => self.behind.push((op, s)),
        }
        joins
    }

    /// What it costs to have some units at hand, of which `gone` cannot be read.
    fn cost(&self, gone: Option<u32>, of: impl Fn(u32, u8) -> bool) -> usize {
        let missing = (0..).zip(&self.units).filter(|(m, unit)| **unit & AT_HAND == 0 && of(*m, **unit));
        missing.map(|(m, _)| if Some(m) == gone { 2 * self.units.len() } else { 1 }).sum()
    }

    /// Those of some units that are not at hand are read; or all others, from which `gone` is computed.
    fn read(&mut self, start: u64, gone: Option<u32>, of: impl Fn(u32, u8) -> bool, todo: &mut Todo) {
        let all = self.cost(gone, &of) >= 2 * self.units.len();
        for (m, unit) in (0..).zip(&mut self.units) {
            if *unit & AT_HAND == 0 && Some(m) != gone && (all || of(m, *unit)) {
                *unit |= READING;
                todo.reads.push(false, piece(m, start..self.end, Content::Old));
            }
        }
        if let Some(gone) = gone.filter(|_| all && !self.has(BUSY)) {
            self.units[gone as usize] |= KNOWN;
            self.computed = true;
        }
    }

    /// Whether the units that cannot be read are computed or overwritten, and can be written but for one.
    fn is_held(&self, stale: impl Iterator<Item = u32> + Clone, state: &State) -> bool {
        let is_new = |m: u32| m == self.parity || self.units[m as usize] & WHOLE > 0;
        stale.clone().all(is_new) && stale.filter(|m| state.is_gone(*m)).count() < 2
    }

    /// Reads what is missing; if nothing is, and nothing is under way, writes all that has joined.
    fn go_on(&mut self, start: u64, rmw: RmwLevel, state: &State, todo: &mut Todo) {
        let stale = state.stale_in(start..self.end);
        let (gone, several) = (stale.clone().next(), stale.clone().nth(1).is_some());
        if self.joined.is_empty() || several && self.has(BUSY) {
            return;
        }
        if several && !self.is_held(stale, state) {
            let ops = std::mem::take(&mut self.joined);
            return self.give_up(ops, start, None, todo);
        }
        let parity = self.parity;
        let modify = |m: u32, unit: u8| unit & WANTED > 0 || m == parity;
        let reconstruct = |m: u32, unit: u8| unit & WHOLE == 0 && m != parity;
        self.read(start, gone, |_, unit| unit & PART > 0, todo);
        let (less, more) = (self.cost(gone, modify), self.cost(gone, reconstruct));
        let modifies = match rmw {
            _ if several => false,
            RmwLevel::Never => more > self.units.len() && less < more,
            RmwLevel::IfLess => less < more,
            RmwLevel::IfNotMore => less <= more && more > 0,
        };
        match modifies {
            true => self.read(start, gone, modify, todo),
            false => self.read(start, gone, reconstruct, todo),
        };
        if self.has(BUSY) {
            return;
        }
        for (m, unit) in (0..).zip(&mut self.units) {
            if modify(m, *unit) && state.is_gone(m) {
                *unit = 0;
                todo.unwritten.push((m, start..self.end));
            } else if modify(m, *unit) {
                *unit = KNOWN | WRITING;
                todo.writes.push(false, piece(m, start..self.end, Content::Data));
            } else if Some(m) == gone {
                *unit = 0;
            }
        }
        todo.by_way[usize::from(modifies)] += self.end - start;
        self.drained = std::mem::take(&mut self.joined);
        self.way = Some(match (std::mem::take(&mut self.computed), modifies) {
            (true, _) => Content::RebuildAndWrite,
            (_, true) => Content::ReadModifyWrite,
            (_, false) => Content::ReconstructWrite,
        });
        (self.before, self.written) = (self.read.take(), None);
    }

    /// A write of a member has ended; with the last one those of all operations.
    fn part_is_written(&mut self, start: u64, done: &LayerCompletion, todo: &mut Todo) {
        let left = self.units.iter().filter(|u| **u & WRITING > 0).count() as u32;
        let whole = match &mut self.written {
            Some(join) => {
                join.add(done, done.drive);
                join.whole()
            }
            none => none.insert(Join::of(done, done.drive, left + 1)).whole(),
        };
        if whole.is_some() {
            let ops = std::mem::take(&mut self.drained);
            todo.ended.push(Ended { ops, blocks: self.end - start, read: self.before, last: whole });
        }
    }

    /// Some operations are not written, but end so: with an error.
    fn give_up(&mut self, ops: Vec<u32>, start: u64, last: Option<LayerCompletion>, todo: &mut Todo) {
        todo.ended.push(Ended { ops, blocks: self.end - start, read: None, last });
        self.units.iter_mut().for_each(|unit| *unit &= !WANTED);
    }
}

fn piece(member: u32, blocks: Range<u64>, content: Content) -> Piece {
    Piece { member, lba: blocks.start, blocks: (blocks.end - blocks.start) as u32, content }
}

impl StripeCache {
    /// Divides the run that holds a block and begins before it.
    fn split(&mut self, at: u64) {
        let before = self.runs.range_mut(..at).next_back();
        if let Some((_, run)) = before.filter(|(_, run)| run.end > at) {
            let rest = run.clone();
            run.end = at;
            self.idle.extend(rest.idle.map(|used| (used, at)));
            self.runs.insert(at, rest);
        }
    }

    /// An operation enters rows `from..to` of the members, in which it covers each unit of a member alike.
    fn enter(&mut self, state: &State, op: u32, s: InStripe, rows: Range<u64>, todo: &mut Todo) {
        let (from, to) = (rows.start, rows.end);
        self.split(from);
        self.split(to);
        let mut at = from;
        while at < to {
            let end = self.runs.range(at..to).next().map_or(to, |r| *r.0);
            let run = self.runs.entry(at).or_insert_with(|| {
                self.blocks += end - at;
                Box::new(Run { end, parity: s.parity as u32, units: vec![0; self.parity.n as usize], ..Run::default() })
            });
            if let Some(used) = run.idle.take() {
                self.idle.remove(&(used, at));
            }
            todo.waited += u64::from(!run.add(op, s, at, &self.parity));
            run.go_on(at, self.parity.rmw, state, todo);
            let (end, is_lost) = (run.end, run.joined.is_empty() && !run.has(BUSY));
            if is_lost {
                self.go_on(at, state, todo);
            }
            at = end;
        }
    }

    /// An operation joins the rows of its blocks; returns how many blocks of a member they have.
    fn join(&mut self, state: &State, op: u32, lba: u64, blocks: u64, todo: &mut Todo) -> u64 {
        let mut all = 0;
        for s in self.parity.in_stripes(lba, blocks) {
            self.parity.cut(state, &s);
            let runs: Vec<Rows> = self.parity.runs(&s).collect();
            let first = s.stripe * self.parity.chunk;
            for rows in runs {
                self.enter(state, op, s, first + rows.from..first + rows.to, todo);
                all += rows.to - rows.from;
            }
        }
        self.forget_oldest();
        all
    }

    /// A request to a member has ended. `failed`: the member has not done it, and will not be asked again.
    fn part_ends(&mut self, io: &Ending, state: &State, todo: &mut Todo) {
        let flag = if io.writes { WRITING } else { READING };
        let good = !io.failed && io.done.error.is_none();
        let mut at = io.range.start;
        while let Some((&start, run)) = self.runs.range_mut(at..io.range.end).next() {
            at = run.end;
            let unit = &mut run.units[io.member as usize];
            if *unit & flag == 0 {
                continue;
            }
            *unit &= !(flag | KNOWN);
            *unit |= if good { KNOWN } else { 0 };
            if io.writes {
                if io.failed {
                    let lost = run.drained.iter().map(|op| (*op, start..run.end));
                    todo.lost.extend(lost);
                }
                run.part_is_written(start, &io.done, todo);
            } else if good {
                run.read = Some(io.done);
            } else if !io.failed {
                let behind = run.behind.drain(..).map(|b| b.0);
                let ops = run.joined.drain(..).chain(behind).collect();
                run.give_up(ops, start, Some(io.done), todo);
            }
            self.go_on(start, state, todo);
        }
        self.forget_oldest();
    }

    /// Goes on with the run that begins there.
    fn go_on(&mut self, start: u64, state: &State, todo: &mut Todo) {
        let Some(run) = self.runs.get_mut(&start) else { return };
        loop {
            if run.joined.is_empty() {
                for (op, s) in std::mem::take(&mut run.behind) {
                    run.add(op, s, start, &self.parity);
                }
            }
            run.go_on(start, self.parity.rmw, state, todo);
            if run.behind.is_empty() || !run.joined.is_empty() || run.has(BUSY) {
                break;
            }
        }
        if !run.has(BUSY) && run.joined.is_empty() {
            self.uses += 1;
            run.idle = Some(self.uses);
            self.idle.insert((self.uses, start));
        }
    }

    /// Forgets rows, unless there are writes in them: then it returns false.
    fn forget(&mut self, rows: Range<u64>) -> bool {
        self.split(rows.start);
        self.split(rows.end);
        let inside: Vec<u64> = self.runs.range(rows.clone()).map(|r| *r.0).collect();
        let clear = self.runs.range(rows).all(|r| r.1.idle.is_some());
        for start in inside.into_iter().filter(|_| clear) {
            if let Some(run) = self.runs.remove(&start) {
                self.blocks -= run.end - start;
                run.idle.map(|used| self.idle.remove(&(used, start)));
            }
        }
        clear
    }

    /// Forgets the rows without writes that were used first, as long as there are too many rows.
    fn forget_oldest(&mut self) {
        while self.blocks > self.most {
            let Some((used, start)) = self.idle.pop_first() else { return };
            if let Some(run) = self.runs.remove(&start) {
                let cut = (self.blocks - self.most).min(run.end - start);
                self.blocks -= cut;
                if start + cut < run.end {
                    self.idle.insert((used, start + cut));
                    self.runs.insert(start + cut, run);
                }
            }
        }
    }
}

/// The end of a request to a member for joined rows. `failed`: the member has not done it, and will not be asked again.
pub(super) struct Ending {
    pub member: u32,
    pub range: Range<u64>,
    pub writes: bool,
    pub failed: bool,
    pub done: LayerCompletion,
}

impl Volume {
    /// The volume whose writes join in a stripe cache of so many blocks of each member.
    pub(crate) fn with_stripe_cache(mut self, parity: Parity, most: u64) -> Volume {
        self.cache = Some(Box::new(StripeCache {
            parity,
            runs: BTreeMap::new(),
            blocks: 0,
            most,
            idle: BTreeSet::new(),
            uses: 0,
            todo: None,
        }));
        self
    }

    /// Whether an operation that has locked its range can begin: there are no writes in these rows. The cache forgets them.
    pub(super) fn is_clear(&mut self, op: u32) -> bool {
        match (&mut self.cache, &self.ops[op as usize].lock) {
            (Some(cache), Some(range)) => cache.forget(range.clone()),
            _ => true,
        }
    }

    /// Whether a write joins others in its rows.
    pub(super) fn joins(&self, asked: &Request) -> bool {
        let Some(cache) = self.cache.as_ref().filter(|_| asked.command.writes()) else { return false };
        let rows = || self.placement.write_lock(asked.lba, u64::from(asked.blocks));
        cache.most > 0 || rows().is_some_and(|rows| self.state.stale_in(rows).next().is_some())
    }

    /// A write joins others in its rows.
    pub(super) fn join_rows(&mut self, op: u32, asked: &Request, flow: &mut Flow) {
        let rows = self.placement.write_lock(asked.lba, u64::from(asked.blocks));
        if rows.is_some_and(|rows| self.locks.overlap(&rows)) {
            self.counts.waited_for_range += 1;
            return self.turn.push(op);
        }
        if let Some(cache) = &mut self.cache {
            let mut todo = cache.todo.take().unwrap_or_default();
            let blocks = u64::from(asked.blocks);
            let left = cache.join(&self.state, op, asked.lba, blocks, &mut todo);
            self.ops[op as usize].blocks_left = left;
            self.carry_out_rows(todo, flow);
        }
    }

    /// Those go on that have locked rows and waited for writes there, and those that waited for such a lock.
    pub(super) fn next_turn(&mut self, flow: &mut Flow) {
        for op in std::mem::take(&mut self.turn) {
            match self.ops[op as usize].lock {
                Some(_) => self.granted.push_back(op),
                None => self.begin_waiting(op, flow),
            }
        }
    }

    /// A request to a member for joined rows has ended.
    pub(super) fn row_part_ends(&mut self, mut io: Ending, flow: &mut Flow) {
        let fails = !is_refused(io.done.error) && io.done.error.take().is_some();
        io.failed |= fails;
        if fails || io.failed && io.writes {
            self.state.set_stale(io.member, io.range.clone());
            self.rebuild.look_again();
        } else if io.writes && io.done.error.is_none() {
            self.state.set_fresh(io.member, io.range.clone());
        }
        if io.failed && io.writes {
            self.leave(io.member, flow);
        }
        let Some(cache) = &mut self.cache else { return };
        let mut todo = cache.todo.take().unwrap_or_default();
        cache.part_ends(&io, &self.state, &mut todo);
        for (op, range) in todo.lost.drain(..) {
            self.ops[op as usize].lost.push((io.member, range));
        }
        self.carry_out_rows(todo, flow);
    }

    /// Submits what rows need, and ends operations all of whose rows are written.
    fn carry_out_rows(&mut self, mut todo: Box<Todo>, flow: &mut Flow) {
        let unit = self.cache.as_ref().map_or(1, |cache| cache.parity.unit);
        let [reconstruct, modify] = std::mem::take(&mut todo.by_way);
        self.counts.reconstruct_write_rows += reconstruct / unit;
        self.counts.read_modify_write_rows += modify / unit;
        self.counts.waited_for_range += std::mem::take(&mut todo.waited);
        for (member, range) in todo.unwritten.drain(..) {
            self.state.set_stale(member, range);
        }
        let reads = todo.reads.ios.iter().map(|io| (io, Command::Read));
        let writes = todo.writes.ios.iter().map(|io| (io, Command::Write));
        for (io, command) in reads.chain(writes) {
            self.give_for_rows(io, command, flow);
        }
        todo.reads.clear();
        todo.writes.clear();
        for ended in todo.ended.drain(..) {
            ended.ops.iter().for_each(|op| self.rows_end(*op, &ended, flow));
        }
        if let Some(cache) = &mut self.cache {
            cache.todo = Some(todo);
        }
    }

    /// Submits a request for joined rows. It is of the first of the operations that it serves.
    fn give_for_rows(&mut self, io: &Io, command: Command, flow: &mut Flow) {
        let Some(cache) = &self.cache else { return };
        let asked = |op: &u32| match self.ops[*op as usize].task {
            Task::Request(request) => Some(flow[request].request),
            Task::Repair(..) => None,
        };
        let served = || cache.runs.get(&io.lba).into_iter().flat_map(|run| run.served(command)).filter_map(asked);
        let first = served().next();
        let through = command.writes() && served().any(|r| r.command == Command::WriteThrough);
        let own = Request {
            id: 0,
            command: if through { Command::WriteThrough } else { command },
            unit: 0,
            lba: io.lba,
            blocks: io.blocks,
            submitter: first.map_or(ANYONE, |r| r.submitter),
            hint: first.map_or(Hint::None, |r| r.hint),
        };
        let (mut pieces, mut writers) = (Vec::new(), Vec::new());
        if self.listener.is_some() {
            let inside = io.lba..io.lba + u64::from(io.blocks);
            for (start, run) in cache.runs.range(inside) {
                let rows = *start..run.end;
                let content = match (command, run.way.filter(|_| io.member == run.parity)) {
                    (Command::Read, _) => Content::Old,
                    (_, way) => way.unwrap_or(Content::Data),
                };
                writers.extend(run.served(command).iter().filter_map(asked).map(|r| (rows.clone(), r.id)));
                pieces.push(piece(io.member, rows, content));
            }
        }
        let request = self.open(ROWS, io, own, flow);
        if let Some(listener) = &mut self.listener {
            listener(&Step {
                request: None,
                writers,
                operation: ROWS,
                id: u64::from(request),
                command: own.command,
                io: *io,
                pieces,
            });
        }
        flow.submit(io.member, request);
    }

    /// Rows of an operation are written, or lost.
    fn rows_end(&mut self, op: u32, ended: &Ended, flow: &mut Flow) {
        let o = &mut self.ops[op as usize];
        o.blocks_left -= ended.blocks;
        let lost = || LayerCompletion::at_once(flow.now, Some(ErrorKind::MemberLost));
        let last = ended.last.unwrap_or_else(lost);
        let error = o.done.error.or(last.error);
        for done in ended.read.iter().chain([&last]) {
            o.take_over(done);
        }
        o.done.error = error;
        if o.blocks_left > 0 {
            return;
        }
        // A read that began before the operation joined was not for it: until it ended it waited.
        let read = ended.read.filter(|read| read.arrival >= o.done.completion);
        for (done, reads) in read.iter().zip([true]).chain([(&last, false)]) {
            o.wait_until(done.arrival);
            o.account(done, reads);
        }
        self.conclude(op, flow);
    }
}
