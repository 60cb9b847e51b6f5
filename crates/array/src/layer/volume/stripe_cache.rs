//! The stripe cache of a RAID-5: writes of the same rows join, and what was read or written is not read again.
//!
//! # Model
//! While all members are there, a write does not wait for other writes of its rows (`parity.rs`): it joins them. For each
//! row the cheaper way is chosen for all writes that have joined it so far, and chosen anew when another joins or a read
//! ends. A unit that was read or written, or is being so, costs neither way anything. Once nothing is under way to the
//! row's members and nothing is to be read, all that have joined are written at once; later ones read meanwhile what they
//! need, and are written together next. A unit that is written in part is read first. A write of a unit that waits to be
//! written stands behind it.
//!
//! Rows without writes are kept, those used last, as many as fit beside the others. Rows that are alike are treated as
//! one *run*, so that their requests to a member are one. The time that a write waits for its row, and for reads that began
//! before it joined, is time in the queue.
//!
//! With a member gone or stale, writes lock their rows and are served one by one; what the cache holds is forgotten.
//! # Source
//! Linux md, `raid5.c`: `add_stripe_bio`, `handle_stripe_fill`, `handle_stripe_dirtying`, `schedule_reconstruction`; counts
//! of Linux 6.12 in docs/models/md.md.
//! # Validity
//! Writes are synchronous (direct): md lets those of its page cache wait for others before it reads for them.

use super::parity::{Cover, InStripe, Parity, RmwLevel, Rows};
use super::plan::{Content, Io, Piece, Step, Transfers};
use super::state::State;
use super::{add_components, blocks_of, is_refused, Task, Volume};
use crate::layer::{Flow, LayerCompletion, Request, ANYONE};
use headstack_drive::join::Join;
use headstack_drive::{Command, Components, Hint};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The operation of requests to members for rows that writes have joined.
pub const ROWS: u32 = u32::MAX;

/// What is said of a unit: its content is in memory.
const KNOWN: u8 = 1;
/// It is being read.
const READING: u8 = 2;
/// It is being written.
const WRITING: u8 = 4;
/// It is to be written whole.
const WHOLE: u8 = 8;
/// A part of it is to be written.
const PART: u8 = 16;

/// Rows of one stripe that are alike.
#[derive(Clone)]
struct Run {
    end: u64,
    parity: u32,
    /// By member.
    units: Vec<u8>,
    /// Operations that are to be written together.
    joined: Vec<u32>,
    /// Those that are being written, how, and what was read before.
    drained: Vec<u32>,
    way: Content,
    before: Option<LayerCompletion>,
    written: Option<Join<LayerCompletion>>,
    /// What write units that wait to be written.
    behind: Vec<(u32, InStripe)>,
    /// The last read since something was written.
    read: Option<LayerCompletion>,
    /// When it was last used, if it has no writes.
    idle: Option<u64>,
}

/// The end of an operation's part in some rows.
struct Ended {
    op: u32,
    blocks: u64,
    read: Option<LayerCompletion>,
    /// The write; `None`: the rows must be written in another way.
    last: Option<LayerCompletion>,
}

/// What is to be done now.
#[derive(Default)]
struct Todo {
    reads: Transfers,
    writes: Transfers,
    ended: Vec<Ended>,
    /// Operations whose blocks of a member were not written.
    lost: Vec<(u32, Range<u64>)>,
    waited: u64,
    /// Blocks of members by the way in which their parity is updated.
    modified: u64,
    reconstructed: u64,
}

/// The rows that have writes or were used last, by their first block on the members.
pub(crate) struct StripeCache {
    parity: Parity,
    runs: BTreeMap<u64, Run>,
    /// Blocks of a member in all runs, and how many are kept.
    blocks: u64,
    most: u64,
    /// Runs without writes: when each was last used, its first block.
    idle: BTreeSet<(u64, u64)>,
    uses: u64,
    /// Operations under way.
    ops: u32,
}

impl Run {
    fn is_busy(&self) -> bool {
        self.units.iter().any(|u| u & (READING | WRITING) > 0)
    }

    /// An operation joins, or stands behind what waits to be written. Returns false if it stands behind.
    fn add(&mut self, op: u32, s: InStripe, rows: Rows, parity: &Parity) -> bool {
        let chunk = parity.chunk;
        let waits = |i| self.units[parity.member(&s, i) as usize] & (WHOLE | PART) > 0;
        let covered = |i: &u64| s.cover(*i, chunk, rows) != Cover::None;
        if !self.behind.is_empty() || s.chunks(chunk).filter(covered).any(waits) {
            self.behind.push((op, s));
            return false;
        }
        for i in s.chunks(chunk) {
            self.units[parity.member(&s, i) as usize] |= match s.cover(i, chunk, rows) {
                Cover::Whole => WHOLE,
                Cover::Part => PART,
                Cover::None => 0,
            };
        }
        self.joined.push(op);
        true
    }

    /// Those of the units that have one of some flags and are neither known nor under way; they are read now.
    fn read_units(&mut self, start: u64, of: impl Fn(u32, u8) -> bool, todo: &mut Todo) {
        for (m, unit) in (0..).zip(&mut self.units) {
            if *unit & (KNOWN | READING | WRITING) == 0 && of(m, *unit) {
                *unit |= READING;
                todo.reads.push(false, piece(m, start, self.end));
            }
        }
    }

    /// Reads what is missing; if nothing is, and nothing is under way, writes.
    fn go_on(&mut self, start: u64, rmw: RmwLevel, todo: &mut Todo) {
        if self.joined.is_empty() {
            return;
        }
        self.read_units(start, |_, unit| unit & PART > 0, todo);
        let parity = self.parity;
        let modify = move |m: u32, unit: u8| unit & (WHOLE | PART) > 0 || m == parity;
        let reconstruct = move |m: u32, unit: u8| unit & WHOLE == 0 && m != parity;
        let (mut modifying, mut reconstructing) = (0, 0);
        for (m, unit) in (0..).zip(&self.units) {
            let missing = *unit & (KNOWN | READING | WRITING) == 0;
            modifying += u32::from(missing && modify(m, *unit));
            reconstructing += u32::from(missing && reconstruct(m, *unit));
        }
        let modifies = match rmw {
            RmwLevel::Never => false,
            RmwLevel::IfLess => modifying < reconstructing,
            RmwLevel::IfNotMore => modifying <= reconstructing && reconstructing > 0,
        };
        match modifies {
            true => self.read_units(start, modify, todo),
            false => self.read_units(start, reconstruct, todo),
        }
        if !self.is_busy() {
            self.write(start, modifies, todo);
        }
    }

    /// Writes all that has joined.
    fn write(&mut self, start: u64, modifies: bool, todo: &mut Todo) {
        for (m, unit) in (0..).zip(&mut self.units) {
            if *unit & (WHOLE | PART) > 0 || m == self.parity {
                *unit = KNOWN | WRITING;
                todo.writes.push(false, piece(m, start, self.end));
            }
        }
        (self.way, todo.modified, todo.reconstructed) = match (modifies, self.end - start) {
            (true, n) => (
                Content::ReadModifyWrite,
                todo.modified + n,
                todo.reconstructed,
            ),
            (false, n) => (
                Content::ReconstructWrite,
                todo.modified,
                todo.reconstructed + n,
            ),
        };
        self.drained = std::mem::take(&mut self.joined);
        (self.before, self.written) = (self.read.take(), None);
    }

    /// A write of a member has ended; with the last one those of all operations.
    fn part_is_written(&mut self, start: u64, done: &LayerCompletion, todo: &mut Todo) {
        let left = self.units.iter().filter(|u| **u & WRITING > 0).count();
        let whole = match &mut self.written {
            None if left == 0 => Some(*done),
            None => {
                self.written = Some(Join::of(done, done.drive, left as u32 + 1));
                None
            }
            Some(join) => {
                join.add(done, done.drive);
                join.whole()
            }
        };
        let Some(whole) = whole else { return };
        for op in self.drained.drain(..) {
            todo.ended.push(Ended {
                op,
                blocks: self.end - start,
                read: self.before,
                last: Some(whole),
            });
        }
    }

    /// What has joined is not written, but ends so: with an error, or to be done in another way.
    fn give_up(&mut self, start: u64, last: Option<LayerCompletion>, todo: &mut Todo) {
        let behind = self.behind.drain(..).map(|b| b.0);
        for op in self.joined.drain(..).chain(behind) {
            todo.ended.push(Ended {
                op,
                blocks: self.end - start,
                read: None,
                last,
            });
        }
        for unit in &mut self.units {
            *unit &= !(WHOLE | PART);
        }
    }
}

fn piece(member: u32, from: u64, to: u64) -> Piece {
    Piece {
        member,
        lba: from,
        blocks: (to - from) as u32,
        content: Content::Old,
    }
}

impl StripeCache {
    /// A cache of so many blocks of each member.
    pub fn new(parity: Parity, most: u64) -> StripeCache {
        StripeCache {
            parity,
            runs: BTreeMap::new(),
            blocks: 0,
            most,
            idle: BTreeSet::new(),
            uses: 0,
            ops: 0,
        }
    }

    /// Divides the run that holds a block and begins before it.
    fn split(&mut self, at: u64) {
        let Some((start, run)) = self.runs.range_mut(..at).next_back() else {
            return;
        };
        if run.end <= at {
            return;
        }
        debug_assert!(*start < at);
        let rest = run.clone();
        run.end = at;
        self.idle.extend(rest.idle.map(|used| (used, at)));
        self.runs.insert(at, rest);
    }

    /// An operation enters rows `from..to` of the members, in which it covers each unit of a member alike.
    fn enter(&mut self, op: u32, s: InStripe, from: u64, to: u64, todo: &mut Todo) {
        self.split(from);
        self.split(to);
        let mut at = from;
        while at < to {
            let next = self.runs.range(at..to).next().map_or(to, |r| *r.0);
            let gap = next > at;
            let (idle, uses) = (&mut self.idle, &mut self.blocks);
            let run = self.runs.entry(at).or_insert_with(|| {
                *uses += next - at;
                Run::new(next, s.parity as u32, self.parity.n)
            });
            debug_assert!(!gap || run.end == next);
            if let Some(used) = run.idle.take() {
                idle.remove(&(used, at));
            }
            let rows = rows_of(&self.parity, &s, at, run.end);
            todo.waited += u64::from(!run.add(op, s, rows, &self.parity));
            run.go_on(at, self.parity.rmw, todo);
            at = run.end;
        }
    }

    /// An operation joins the rows of its blocks; returns how many blocks of a member they have.
    fn join(&mut self, state: &State, op: u32, lba: u64, blocks: u64, todo: &mut Todo) -> u64 {
        self.ops += 1;
        let mut all = 0;
        for s in self.parity.in_stripes(lba, blocks) {
            self.parity.cut(state, &s);
            let runs: Vec<Rows> = self.parity.runs(&s).collect();
            for rows in runs {
                let first = s.stripe * self.parity.chunk;
                self.enter(op, s, first + rows.from, first + rows.to, todo);
                all += rows.to - rows.from;
            }
        }
        self.forget_oldest();
        all
    }

    /// A request to a member has ended. `failed`: the member has not done it, and will not be asked again.
    fn part_ends(
        &mut self,
        io: (u32, Range<u64>),
        writes: bool,
        failed: bool,
        done: &LayerCompletion,
        broken: bool,
        todo: &mut Todo,
    ) {
        let (member, range) = io;
        let mut at = range.start;
        while let Some((&start, run)) = self.runs.range_mut(at..range.end).next() {
            at = run.end;
            let unit = &mut run.units[member as usize];
            let flag = if writes { WRITING } else { READING };
            if *unit & flag == 0 {
                continue;
            }
            *unit &= !flag;
            let good = !failed && done.error.is_none();
            match (writes, good) {
                (false, true) => *unit |= KNOWN,
                (true, false) => *unit &= !KNOWN,
                _ => {}
            }
            if writes {
                if failed {
                    let lost = run.drained.iter().map(|op| (*op, start..run.end));
                    todo.lost.extend(lost);
                }
                run.part_is_written(start, done, todo);
            } else if good {
                run.read = Some(*done);
            } else if !failed {
                run.give_up(start, Some(*done), todo);
            }
            self.go_on(start, broken, todo);
        }
        self.forget_oldest();
    }

    /// Goes on with the run that begins there.
    fn go_on(&mut self, start: u64, broken: bool, todo: &mut Todo) {
        let Some(run) = self.runs.get_mut(&start) else {
            return;
        };
        if run.joined.is_empty() {
            for (op, s) in std::mem::take(&mut run.behind) {
                let rows = rows_of(&self.parity, &s, start, run.end);
                run.add(op, s, rows, &self.parity);
            }
        }
        if !broken {
            run.go_on(start, self.parity.rmw, todo);
        } else if !run.is_busy() {
            run.give_up(start, None, todo);
        }
        if !run.is_busy() && run.joined.is_empty() {
            self.uses += 1;
            run.idle = Some(self.uses);
            self.idle.insert((self.uses, start));
        }
    }

    /// Forgets the rows without writes that were used first, as long as there are too many rows.
    fn forget_oldest(&mut self) {
        while self.blocks > self.most {
            let Some((used, start)) = self.idle.pop_first() else {
                return;
            };
            let Some(mut run) = self.runs.remove(&start) else {
                continue;
            };
            let cut = (self.blocks - self.most).min(run.end - start);
            self.blocks -= cut;
            if start + cut < run.end {
                run.idle = Some(used);
                self.idle.insert((used, start + cut));
                self.runs.insert(start + cut, run);
            }
        }
    }

    /// Forgets all rows; none has writes.
    fn forget(&mut self) {
        self.runs.clear();
        self.idle.clear();
        self.blocks = 0;
    }
}

impl Run {
    fn new(end: u64, parity: u32, members: u64) -> Run {
        Run {
            end,
            parity,
            units: vec![0; members as usize],
            joined: Vec::new(),
            drained: Vec::new(),
            way: Content::Data,
            before: None,
            written: None,
            behind: Vec::new(),
            read: None,
            idle: None,
        }
    }
}

/// Blocks `from..to` of the members as rows of a stripe.
fn rows_of(parity: &Parity, s: &InStripe, from: u64, to: u64) -> Rows {
    let first = s.stripe * parity.chunk;
    Rows {
        from: from - first,
        to: to - first,
    }
}

impl Volume {
    /// The volume whose writes join in a stripe cache.
    pub(crate) fn with_stripe_cache(mut self, parity: Parity, blocks: u64) -> Volume {
        self.cache = Some(Box::new(StripeCache::new(parity, blocks)));
        self
    }

    /// Whether a range may be locked: no rows are joined, and nobody waits for that. Others than the cache then change rows.
    pub(super) fn may_lock(&mut self) -> bool {
        let Some(cache) = &mut self.cache else {
            return true;
        };
        let may = cache.ops == 0 && self.turn.is_empty();
        if may {
            cache.forget();
        }
        may
    }

    /// A write joins others in its rows.
    pub(super) fn join_rows(&mut self, op: u32, flow: &mut Flow) {
        let o = &mut self.ops[op as usize];
        let (Task::Request(request), Some(cache)) = (&o.task, &mut self.cache) else {
            return;
        };
        if !self.locks.is_empty() || !self.turn.is_empty() {
            return self.turn.push_back(op);
        }
        let asked = flow[*request].request;
        let mut todo = Todo::default();
        let blocks = u64::from(asked.blocks);
        o.blocks_left = cache.join(&self.state, op, asked.lba, blocks, &mut todo);
        self.carry_out_rows(todo, flow);
    }

    /// Lets those go on whose turn it is: all that lock ranges, or all that join rows.
    pub(super) fn next_turn(&mut self, flow: &mut Flow) {
        while let Some(&op) = self.turn.front() {
            let o = &mut self.ops[op as usize];
            let joins = o.lock.is_none() && self.state.degraded.is_empty();
            let waits = match joins {
                true => !self.locks.is_empty(),
                false => self.cache.as_ref().is_some_and(|cache| cache.ops > 0),
            };
            if waits {
                return;
            }
            let rest = self.turn.split_off(1);
            self.turn.clear();
            let Task::Request(request) = o.task.clone() else {
                self.take_lock(op);
                self.turn = rest;
                continue;
            };
            match o.lock.is_some() {
                true => self.take_lock(op),
                false => {
                    let asked = flow[request].request;
                    self.begin(op, &asked, flow);
                }
            }
            self.turn = rest;
        }
    }

    /// Locks the range that an operation has waited for.
    fn take_lock(&mut self, op: u32) {
        if let Some(range) = self.ops[op as usize].lock.clone() {
            if self.may_lock() && self.locks.take(op, range) {
                self.granted.push_back(op);
            }
        }
    }

    /// A request to a member for joined rows has ended.
    pub(super) fn row_part_ends(
        &mut self,
        member: u32,
        range: Range<u64>,
        writes: bool,
        mut done: LayerCompletion,
        flow: &mut Flow,
    ) {
        let failed = !is_refused(done.error) && done.error.take().is_some();
        if failed {
            self.state.set_stale(member, range.clone());
            self.rebuild.look_again();
        } else if writes && done.error.is_none() {
            self.state.set_fresh(member, range.clone());
        }
        if failed && writes {
            self.leave(member, flow);
        }
        self.go_on_with_rows((member, range), writes, failed, &done, flow);
    }

    /// The member of a request for joined rows has left.
    pub(super) fn row_part_is_lost(&mut self, request: u32, flow: &mut Flow) {
        let entry = &flow[request];
        let (member, range, now) = (entry.member, blocks_of(&entry.request), flow.now());
        let writes = entry.request.command.writes();
        let lost = LayerCompletion {
            arrival: entry.done.arrival,
            completion: now,
            components: Components {
                queue: now.0 - entry.done.arrival.0,
                ..Components::default()
            },
            drive: ANYONE,
            ..LayerCompletion::default()
        };
        if writes {
            self.state.set_stale(member, range.clone());
        }
        self.go_on_with_rows((member, range), writes, true, &lost, flow);
    }

    fn go_on_with_rows(
        &mut self,
        io: (u32, Range<u64>),
        writes: bool,
        failed: bool,
        done: &LayerCompletion,
        flow: &mut Flow,
    ) {
        let (mut todo, broken) = (Todo::default(), !self.state.degraded.is_empty());
        let member = io.0;
        if let Some(cache) = &mut self.cache {
            cache.part_ends(io, writes, failed, done, broken, &mut todo);
        }
        for (op, range) in todo.lost.drain(..) {
            self.ops[op as usize].lost.push((member, range));
        }
        self.carry_out_rows(todo, flow);
    }

    /// Submits what rows need, and ends operations all of whose rows are written.
    fn carry_out_rows(&mut self, todo: Todo, flow: &mut Flow) {
        let unit = self.cache.as_ref().map_or(1, |cache| cache.parity.unit);
        self.counts.read_modify_write_rows += todo.modified / unit;
        self.counts.reconstruct_write_rows += todo.reconstructed / unit;
        self.counts.waited_for_range += todo.waited;
        for (ios, command) in [
            (&todo.reads.ios, Command::Read),
            (&todo.writes.ios, Command::Write),
        ] {
            for io in ios {
                self.give_for_rows(io, command, flow);
            }
        }
        for ended in todo.ended {
            self.rows_end(&ended, flow);
        }
    }

    /// Submits a request for joined rows. It is of the first of the operations that it serves.
    fn give_for_rows(&mut self, io: &Io, command: Command, flow: &mut Flow) {
        let Some(cache) = &self.cache else { return };
        let of = |run: &Run| match command {
            Command::Read => run.joined.clone(),
            _ => run.drained.clone(),
        };
        let asked = |op: u32| match self.ops[op as usize].task {
            Task::Request(request) => Some(flow[request].request),
            Task::Repair(..) => None,
        };
        let served = cache.runs.get(&io.lba).map(of).unwrap_or_default();
        let served: Vec<Request> = served.into_iter().filter_map(asked).collect();
        let through = served.iter().any(|r| r.command == Command::WriteThrough);
        let own = Request {
            id: 0,
            command: match through && command.writes() {
                true => Command::WriteThrough,
                false => command,
            },
            unit: 0,
            lba: io.lba,
            blocks: io.blocks,
            submitter: served.first().map_or(ANYONE, |r| r.submitter),
            hint: served.first().map_or(Hint::None, |r| r.hint),
        };
        let mut told = Vec::new();
        if self.listener.is_some() {
            let runs = cache.runs.range(io.lba..io.lba + u64::from(io.blocks));
            for (start, run) in runs {
                let content = match command {
                    Command::Read => Content::Old,
                    _ if io.member == run.parity => run.way,
                    _ => Content::Data,
                };
                let whole = piece(io.member, *start, run.end);
                let writers: Vec<u64> = of(run)
                    .into_iter()
                    .filter_map(asked)
                    .map(|r| r.id)
                    .collect();
                told.push((Piece { content, ..whole }, *start..run.end, writers));
            }
        }
        let request = self.open(ROWS, io, own, flow);
        if let Some(listener) = &mut self.listener {
            let rows = |(_, rows, ids): &(Piece, Range<u64>, Vec<u64>)| -> Vec<_> {
                ids.iter().map(|id| (rows.clone(), *id)).collect()
            };
            listener(&Step {
                request: None,
                writers: told.iter().flat_map(rows).collect(),
                operation: ROWS,
                id: u64::from(request),
                command: own.command,
                io: *io,
                pieces: told.iter().map(|t| t.0).collect(),
            });
        }
        flow.submit(io.member, request);
    }

    /// Rows of an operation are written, or have to be written in another way.
    fn rows_end(&mut self, ended: &Ended, flow: &mut Flow) {
        let o = &mut self.ops[ended.op as usize];
        o.blocks_left -= ended.blocks;
        match &ended.last {
            None => o.again = true,
            Some(last) => {
                for done in ended.read.iter().chain([last]) {
                    o.cache_hit &= done.cache_hit;
                    o.moved |= done.moved;
                }
                let error = o.last.error.or(last.error);
                o.last = LayerCompletion { error, ..*last };
            }
        }
        if o.blocks_left > 0 {
            return;
        }
        if let Some(cache) = &mut self.cache {
            cache.ops -= 1;
        }
        if std::mem::take(&mut o.again) {
            self.counts.retried += 1;
            return self.begin_waiting(ended.op, flow);
        }
        // A read that began before the operation joined was not for it: until it ended it waited.
        let read = ended.read.filter(|read| read.arrival >= o.accounted);
        for done in read.iter().chain(&ended.last) {
            o.spent.queue += done.arrival.0 - o.accounted.0;
            add_components(&mut o.spent, &done.components);
            o.accounted = done.completion;
        }
        self.conclude(ended.op, flow);
    }
}
