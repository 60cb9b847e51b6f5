//! Volumes: one space of blocks over several members, with or without redundancy.
//!
//! # Model
//! Each request becomes a `Plan`: reads of members, and writes of members that begin when all reads have
//! completed. The `Placement` makes the plan. The volume carries it out, keeps the state of its members and
//! joins the results. A write to a volume with redundancy locks its range, so that nothing else changes it
//! meanwhile; with parity writes of the same rows join (`volume/stripe_cache.rs`). A read that has to reconstruct blocks locks its range too.
//!
//! - *Gone*: a member that is gone gets no requests. Its requests without an announced completion are aborted
//!   and read elsewhere; the others end as announced. Blocks that could not be written to it are marked stale.
//! - *Back*: a member comes back when all requests that it had when it left have ended. Its stale blocks are
//!   not read until they are written or rebuilt.
//! - *A read fails*: the blocks are marked stale on that member and read elsewhere.
//! - *A write fails*: the member is gone, as in md.
//! - *A request is refused* for what it asks (the rules of zones): that is the answer of the volume, and the member
//!   remains. But a member that refuses to be rebuilt is gone, and what a member refuses to supply to a rebuild is stale.
//! - A member of a volume without redundancy is never considered gone: its errors are errors of the request.
//! - *Rebuild*: stale ranges of present members are rewritten, several at once (`volume/rebuild.rs`), no faster than the
//!   rate (`volume/pace.rs`). What no other member can supply remains stale; it is passed over at once. The rebuild looks
//!   at it again when a member comes back or the rate is set. RAID-10 has a barrier (`volume/barrier.rs`): its requests and
//!   the windows take turns.
//!
//! Statistics: `member_reads` and `member_writes` (requests to members), `read_modify_write_rows` and
//! `reconstruct_write_rows` (rows by how their parity was updated), `degraded_reads` (reads that had to
//! reconstruct blocks), `retried` (operations planned again because a read of a member failed or the member left),
//! `waited_for_range` (operations that waited for a lock), `members_lost`, `rebuilt_bytes`, `stale_bytes` (the state at
//! the end: bytes of members whose content is outdated or cannot be read).
//! # Source
//! Linux md for the rules; Patterson, Gibson & Katz, SIGMOD 1988, for the levels.
//! # Validity
//! No write-intent bitmap, no journal, no rewriting
//! of blocks that could not be read.

mod barrier;
#[doc(hidden)]
pub mod choice;
#[doc(hidden)]
pub mod copies;
mod host;
#[doc(hidden)]
pub mod locks;
mod pace;
#[doc(hidden)]
pub mod parity;
pub mod plan;
mod rebuild;
pub(crate) mod set;
#[doc(hidden)]
pub mod state;
pub(crate) mod stripe_cache;

use super::statistics::counts;
pub use set::VolumeSetting;

use super::{add_components, ErrorKind, Flow, Layer, LayerCompletion, Request, Setting, Statistics, ANYONE};
use barrier::Barrier;
use headstack_drive::join::Join;
use headstack_drive::{Command, Hint};
use headstack_engine::SpecError;
use headstack_units::Time;
use host::{Host, Then};
use locks::Locks;
use plan::{Io, Piece, Plan, Step};
use rebuild::Rebuild;
use slab::Slab;
use state::State;
use std::collections::VecDeque;
use std::ops::Range;
use stripe_cache::{Ending, StripeCache, ROWS};

/// Receives every step of every plan when its request is submitted to a member.
pub type Listener = Box<dyn FnMut(&Step) + Send>;

/// How a placement answers a request to repair a stale range. The answer is about a first part of the range, as long as
/// the placement can say at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    /// The plan repairs this first part.
    Planned(Range<u64>),
    /// This first part holds no block of the volume.
    Unused(Range<u64>),
    /// No other member can supply this first part.
    Impossible(Range<u64>),
}

/// Where the blocks of a volume lie on its members, and with what redundancy.
pub trait Placement: Send {
    /// Size of the volume in 512-byte blocks.
    fn blocks(&self) -> u64;
    /// Whether all blocks can be read while one member is gone.
    fn is_redundant(&self) -> bool;
    /// The range that a write locks, in blocks of the volume (with parity: of a member); `None` if no lock is
    /// needed.
    fn write_lock(&self, lba: u64, blocks: u64) -> Option<Range<u64>>;
    /// Plans a read of blocks inside the volume.
    ///
    /// # Errors
    /// No member can supply a block.
    fn read(&mut self, state: &State, lba: u64, blocks: u64, plan: &mut Plan) -> Result<(), ErrorKind>;
    /// Plans a write of blocks inside the volume.
    ///
    /// # Errors
    /// As for [`Placement::read`], where old data are needed.
    fn write(&mut self, state: &State, lba: u64, blocks: u64, plan: &mut Plan) -> Result<(), ErrorKind>;
    /// Whether the other members hold the data of this range of a member.
    fn is_held(&self, state: &State, member: u32, range: Range<u64>) -> bool;
    /// Plans to rewrite a first part of a stale range of a member, at most up to about `window` blocks after its start,
    /// or says how much of it cannot be rewritten. The range may be as large as the member: the work must not grow with
    /// its length, only with the number of stale ranges of the others.
    fn repair(&mut self, state: &State, member: u32, range: Range<u64>, window: u64, plan: &mut Plan) -> Repair;
}

/// The stage in progress of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Reading,
    Writing,
}

/// The purpose of an operation.
#[derive(Debug, Clone)]
enum Task {
    /// A request to the volume.
    Request(u32),
    /// The rebuild of a range of a member.
    Repair(u32, Range<u64>),
}

/// An operation in progress: a request or a rebuild.
struct Op {
    task: Task,
    stage: Stage,
    /// The range that it has locked or waits for.
    lock: Option<Range<u64>>,
    /// Requests to members in the present stage that have not completed.
    remaining: u32,
    join: Option<Join<LayerCompletion>>,
    /// How it would end if it ended with what has ended of it: the shares are those of the time up to its completion.
    done: LayerCompletion,
    /// Requests to members that follow when the reads are done.
    writes: Vec<Io>,
    pieces: Vec<Piece>,
    /// A read failed, so the operation is planned anew.
    again: bool,
    /// A read failed in a rebuild of several windows, which is to be done window by window.
    divides: bool,
    /// Ranges of members that could not be written.
    lost: Vec<(u32, Range<u64>)>,
    /// Blocks of members in the rows that it has joined and that are not written yet.
    blocks_left: u64,
}

impl Op {
    /// Up to now it has waited in the volume.
    fn wait_until(&mut self, now: Time) {
        let waited = now.span_from(self.done.completion);
        self.done.components.queue += waited;
        self.done.waits.array += waited;
        self.done.completion = now;
    }

    /// A stage has ended. In a read before its write, all waiting is the array's.
    fn account(&mut self, whole: &LayerCompletion, reads_for_write: bool) {
        add_components(&mut self.done.components, &whole.components);
        match reads_for_write {
            true => self.done.waits.array += whole.components.queue,
            false => self.done.waits.add(&whole.waits),
        }
        self.done.completion = whole.completion;
    }

    /// Something has ended, and is what ended last: it ends so, as far as its times are not concerned.
    fn take_over(&mut self, last: &LayerCompletion) {
        let LayerCompletion { completion, components, waits, .. } = self.done;
        let (cache_hit, moved) = (self.done.cache_hit && last.cache_hit, self.done.moved || last.moved);
        self.done = LayerCompletion { completion, components, waits, cache_hit, moved, ..*last };
    }
}

/// In the place of the operation of a request to a member: its result is ignored, because the member left.
const ORPHAN: u32 = u32::MAX - 1;

counts! {
    member_reads, member_writes, read_modify_write_rows, reconstruct_write_rows, degraded_reads, retried,
    waited_for_range, members_lost, rebuilt_bytes
}

/// A volume over its members. Locks, stale ranges and repairs are handled here, addresses by the placement.
pub struct Volume {
    name: &'static str,
    placement: Box<dyn Placement>,
    /// Size of each member in 512-byte blocks.
    sizes: Vec<u64>,
    state: State,
    ops: Slab<Op>,
    locks: Locks,
    /// Operations that were given their lock and are to be started.
    granted: VecDeque<u32>,
    /// With parity: where writes join.
    cache: Option<Box<StripeCache>>,
    /// Operations that have locked rows in which there are writes, and writes that wait for such locks.
    turn: Vec<u32>,
    plan: Plan,
    /// Empty lists, kept for reuse.
    spare: Vec<Vec<Io>>,
    rebuild: Rebuild,
    host: Host,
    /// Only where the whole volume has one.
    barrier: Option<Barrier>,
    counts: Counts,
    listener: Option<Listener>,
}

impl Volume {
    /// A volume whose members have these blocks, with what lies where said by `placement`.
    pub fn new(name: &'static str, placement: Box<dyn Placement>, sizes: Vec<u64>) -> Volume {
        Volume {
            name,
            state: State::new(sizes.len()),
            placement,
            sizes,
            ops: Slab::new(),
            locks: Locks::default(),
            granted: VecDeque::new(),
            cache: None,
            turn: Vec::new(),
            plan: Plan::default(),
            spare: Vec::new(),
            rebuild: Rebuild::default(),
            host: Host::default(),
            barrier: None,
            counts: Counts::default(),
            listener: None,
        }
    }

    /// The volume whose requests and rebuild take turns.
    pub(crate) fn with_barrier(mut self) -> Volume {
        self.barrier = Some(Barrier::default());
        self
    }

    /// Gives every step of every plan to `listener` from now on.
    pub fn listen(&mut self, listener: Listener) {
        self.plan.listening = true;
        self.listener = Some(listener);
    }

    /// Number of stale blocks of each member, of 512 bytes.
    pub fn stale_blocks(&self) -> Vec<u64> {
        let members = self.state.members.iter();
        members.map(|m| m.stale.iter().map(|r| r.end - r.start).sum()).collect()
    }

    fn add(&mut self, task: Task, now: Time) -> u32 {
        self.ops.insert(Op {
            task,
            stage: Stage::Waiting,
            lock: None,
            remaining: 0,
            join: None,
            done: LayerCompletion::at_once(now, None),
            writes: self.spare.pop().unwrap_or_default(),
            pieces: Vec::new(),
            again: false,
            divides: false,
            lost: Vec::new(),
            blocks_left: 0,
        }) as u32
    }

    /// Locks the range that an operation needs. Returns false if the operation has to wait for it.
    fn hold(&mut self, op: u32, range: Range<u64>) -> bool {
        self.ops[op as usize].lock = Some(range.clone());
        let locked = self.locks.take(op, range);
        let held = locked && self.is_clear(op);
        if locked && !held {
            self.turn.push(op);
        }
        self.counts.waited_for_range += u64::from(!held);
        held
    }

    /// Locks the range of an operation, if it needs one, and starts it.
    fn begin(&mut self, op: u32, asked: &Request, flow: &mut Flow) {
        if self.joins(asked) {
            return self.join_rows(op, asked, flow);
        }
        let range = match asked.command.writes() {
            true => self.placement.write_lock(asked.lba, u64::from(asked.blocks)),
            false => None,
        };
        if range.is_none_or(|range| self.hold(op, range)) {
            self.start(op, flow);
        }
    }

    /// Plans an operation that has its lock, and submits its first requests to members.
    fn start(&mut self, op: u32, flow: &mut Flow) {
        self.plan.clear();
        let request = match &self.ops[op as usize].task {
            Task::Request(request) => flow[*request].request,
            Task::Repair(member, range) => {
                let (member, range) = (*member, range.clone());
                return self.start_repair(op, flow, member, range);
            }
        };
        if self.joins(&request) {
            // It had locked its rows when all their units could be read.
            if let Some(range) = self.ops[op as usize].lock.take() {
                self.locks.release(range.start, &mut self.granted);
            }
            return self.join_rows(op, &request, flow);
        }
        let (lba, blocks) = (request.lba, u64::from(request.blocks));
        let (state, plan) = (&self.state, &mut self.plan);
        let planned = match request.command {
            Command::Read | Command::ReadThrough => self.placement.read(state, lba, blocks, plan),
            Command::Write | Command::WriteThrough => self.placement.write(state, lba, blocks, plan),
            Command::Flush => plan_flush(state, plan),
        };
        if let Err(kind) = planned {
            return self.finish(op, flow, Some(kind));
        }
        if self.plan.lock.is_some() && self.ops[op as usize].lock.is_none() {
            self.counts.degraded_reads += 1;
            let range = self.placement.write_lock(lba, blocks);
            if !range.is_none_or(|range| self.hold(op, range)) {
                return;
            }
        }
        self.carry_out(op, flow);
    }

    /// Submits the first requests of the plan just made; the writes wait until the reads are done.
    fn carry_out(&mut self, op: u32, flow: &mut Flow) {
        for (member, range) in self.plan.unwritten.drain(..) {
            self.state.set_stale(member, range);
        }
        self.counts.read_modify_write_rows += self.plan.read_modify_writes;
        self.counts.reconstruct_write_rows += self.plan.reconstruct_writes;
        let o = &mut self.ops[op as usize];
        o.writes.clone_from(&self.plan.writes.ios);
        if self.plan.listening {
            o.pieces.clone_from(&self.plan.writes.pieces);
        }
        if self.plan.reads.ios.is_empty() {
            self.write(op, flow);
        } else {
            let ios = std::mem::take(&mut self.plan.reads.ios);
            let pieces = std::mem::take(&mut self.plan.reads.pieces);
            self.give(op, flow, Stage::Reading, &ios, &pieces);
            self.plan.reads.ios = ios;
            self.plan.reads.pieces = pieces;
        }
    }

    /// Submits the writes of an operation whose reads are done.
    fn write(&mut self, op: u32, flow: &mut Flow) {
        let o = &mut self.ops[op as usize];
        let mut ios = std::mem::take(&mut o.writes);
        let pieces = std::mem::take(&mut o.pieces);
        // Members may have left since the plan was made.
        if !self.state.degraded.is_empty() && self.placement.is_redundant() {
            let state = &mut self.state;
            let lost = &mut o.lost;
            ios.retain(|io| {
                let gone = state.is_gone(io.member);
                if gone && io.blocks > 0 {
                    let range = io.lba..io.lba + u64::from(io.blocks);
                    state.set_stale(io.member, range.clone());
                    lost.push((io.member, range));
                }
                !gone
            });
        }
        if ios.is_empty() {
            self.spare.push(ios);
            return self.finish_stage(op, flow, Stage::Writing);
        }
        self.give(op, flow, Stage::Writing, &ios, &pieces);
        self.ops[op as usize].writes = ios;
    }

    /// Submits the requests of a stage to the members.
    fn give(&mut self, op: u32, flow: &mut Flow, stage: Stage, ios: &[Io], pieces: &[Piece]) {
        let now = flow.now;
        let o = &mut self.ops[op as usize];
        o.stage = stage;
        o.remaining = ios.len() as u32;
        o.join = None;
        o.wait_until(now);
        let asked = match &o.task {
            Task::Request(request) => Some(flow[*request].request),
            Task::Repair(..) => None,
        };
        let submitter = asked.map_or(ANYONE, |r| r.submitter);
        let hint = asked.map_or(Hint::None, |r| r.hint);
        let command = match stage {
            Stage::Reading if asked.is_some_and(|r| r.command == Command::ReadThrough) => Command::ReadThrough,
            Stage::Reading => Command::Read,
            _ => asked.map_or(Command::Write, |r| r.command),
        };
        for io in ios {
            let own = Request { id: 0, command, unit: 0, lba: io.lba, blocks: io.blocks, submitter, hint };
            let request = self.open(op, io, own, flow);
            if let Some(listener) = &mut self.listener {
                let of = |p: &&Piece| p.member == io.member && is_within(p, io);
                listener(&Step {
                    request: asked.map(|r| r.id),
                    writers: Vec::new(),
                    operation: op,
                    id: u64::from(request),
                    command,
                    io: *io,
                    pieces: pieces.iter().filter(of).copied().collect(),
                });
            }
            if asked.is_none() {
                self.rebuild.pace.submit(io.member, io.blocks);
            }
            flow.submit(io.member, request);
        }
    }

    /// Opens a request to a member for an operation, and counts it.
    fn open(&mut self, op: u32, io: &Io, own: Request, flow: &mut Flow) -> u32 {
        let member = &mut self.state.members[io.member as usize];
        member.pending += 1;
        if own.command.reads() {
            member.next = io.lba + u64::from(io.blocks);
        }
        self.counts.member_reads += u64::from(own.command.reads());
        self.counts.member_writes += u64::from(own.command.writes());
        flow.open(own, op)
    }

    /// A request to a member has completed, as announced.
    fn part_ends(&mut self, request: u32, flow: &mut Flow) {
        let entry = &flow[request];
        let (op, member, mut done) = (entry.above, entry.member, entry.done);
        let range = blocks_of(&entry.request);
        let writes = entry.request.command.writes();
        flow.close(request);
        self.rebuild.pace.complete(member, range.end - range.start);
        self.state.members[member as usize].pending -= 1;
        self.return_if_idle(member);
        if op == ORPHAN {
            return;
        }
        if !range.is_empty() {
            self.state.members[member as usize].head = range.end;
        }
        if op == ROWS {
            let ending = Ending { member, range, writes, failed: false, done };
            return self.row_part_ends(ending, flow);
        }
        let writing = self.ops[op as usize].stage == Stage::Writing;
        // A request that is refused for what it asks says nothing of the member's health. A rebuild asks for what a
        // member of a volume must be able to do.
        let o = &mut self.ops[op as usize];
        let (repairs, divisible) = match &o.task {
            Task::Repair(_, run) => (true, run.end - run.start > rebuild::WINDOW),
            Task::Request(_) => (false, false),
        };
        if divisible && !writing && done.error.take().is_some() {
            o.divides = true;
            return self.join(op, &done, flow);
        }
        let refused = is_refused(done.error) && !repairs;
        if self.placement.is_redundant() && !refused {
            if done.error.take().is_none() {
                if writing {
                    self.state.set_fresh(member, range);
                }
            } else if writing {
                self.lose_write(op, member, range);
                self.leave(member, flow);
            } else {
                self.state.set_stale(member, range);
                self.ops[op as usize].again = true;
                self.rebuild.look_again();
            }
        }
        self.join(op, &done, flow);
    }

    /// Records that a range of a member could not be written.
    fn lose_write(&mut self, op: u32, member: u32, range: Range<u64>) {
        if !range.is_empty() {
            self.state.set_stale(member, range.clone());
            self.ops[op as usize].lost.push((member, range));
        }
    }

    /// Adds the result of a request to a member.
    fn join(&mut self, op: u32, done: &LayerCompletion, flow: &mut Flow) {
        let o = &mut self.ops[op as usize];
        let whole = match &mut o.join {
            None if o.remaining == 1 => Some(*done),
            Some(join) => {
                join.add(done, done.drive);
                join.whole()
            }
            none => none.insert(Join::of(done, done.drive, o.remaining)).whole(),
        };
        o.remaining -= 1;
        if let Some(whole) = whole {
            let reads_for_write = o.stage == Stage::Reading && !o.writes.is_empty();
            o.account(&whole, reads_for_write);
            o.take_over(&whole);
            let stage = o.stage;
            self.finish_stage(op, flow, stage);
        }
    }

    /// All requests of a stage have completed.
    fn finish_stage(&mut self, op: u32, flow: &mut Flow, stage: Stage) {
        let o = &mut self.ops[op as usize];
        let error = o.done.error;
        if std::mem::take(&mut o.divides) {
            if let Task::Repair(member, range) = &o.task {
                let (member, range) = (*member, range.clone());
                return self.give_up_run(op, flow, member, range);
            }
        }
        if std::mem::take(&mut o.again) {
            self.counts.retried += 1;
            return self.start(op, flow);
        }
        let repairs = match &o.task {
            Task::Repair(_, range) => range.end - range.start,
            Task::Request(_) => 0,
        };
        let then = match stage == Stage::Reading && error.is_none() && !o.writes.is_empty() {
            true => Then::Write(op),
            false => Then::End(op),
        };
        if !self.host.step(flow.now, repairs, then) {
            self.go_on(then, flow);
        }
    }

    /// Goes on with an operation whose step of the host is done.
    fn go_on(&mut self, then: Then, flow: &mut Flow) {
        match then {
            Then::Write(op) => self.write(op, flow),
            Then::Free(op) => self.quarter_is_free(op, flow),
            Then::End(op) => self.conclude(op, flow),
            Then::Begin(op) => self.begin_waiting(op, flow),
        }
    }

    /// Completes an operation whose last stage has been completed.
    fn conclude(&mut self, op: u32, flow: &mut Flow) {
        let o = &mut self.ops[op as usize];
        let error = o.done.error;
        let lost = std::mem::take(&mut o.lost);
        let held = match o.task {
            Task::Request(_) => {
                let mut lost = lost.into_iter();
                lost.all(|(m, range)| self.placement.is_held(&self.state, m, range))
            }
            // A rebuild that did not write has rebuilt nothing.
            Task::Repair(..) => lost.is_empty(),
        };
        let lost = (!held).then_some(ErrorKind::MemberLost);
        self.finish(op, flow, error.or(lost));
    }

    /// Completes an operation, and releases its lock.
    fn finish(&mut self, op: u32, flow: &mut Flow, error: Option<ErrorKind>) {
        let mut o = self.ops.remove(op as usize);
        o.writes.clear();
        self.spare.push(std::mem::take(&mut o.writes));
        if let Some(range) = &o.lock {
            self.locks.release(range.start, &mut self.granted);
        }
        let request = match &o.task {
            Task::Request(request) => *request,
            Task::Repair(member, range) => {
                self.repaired(*member, range, error);
                self.leave_memory(self.rebuild.active, flow);
                return self.lower_barrier(flow);
            }
        };
        if let Some(barrier) = self.barrier_of(flow[request].request.command) {
            barrier.exit();
        }
        let now = flow.now;
        o.wait_until(now);
        let done = &mut flow[request].done;
        *done = LayerCompletion {
            arrival: done.arrival,
            admitted: done.arrival,
            cache_hit: o.done.cache_hit && error.is_none(),
            error,
            ..o.done
        };
        flow.end(request);
    }

    /// The barrier that a command heeds.
    fn barrier_of(&mut self, command: Command) -> Option<&mut Barrier> {
        self.barrier.as_mut().filter(|_| command != Command::Flush)
    }

    /// Starts the operations whose locks were granted, and the window that waited for requests to end.
    fn start_granted(&mut self, flow: &mut Flow) {
        loop {
            self.next_turn(flow);
            let mut goes_on = false;
            while let Some(op) = self.granted.pop_front() {
                let clear = self.is_clear(op);
                goes_on |= clear;
                match clear {
                    true => self.start(op, flow),
                    false => self.turn.push(op),
                }
            }
            if goes_on {
                continue;
            }
            if !self.barrier.as_ref().is_some_and(Barrier::is_drained) {
                return;
            }
            self.rebuild_next(flow);
        }
    }
}

/// Plans a flush of every present member.
fn plan_flush(state: &State, plan: &mut Plan) -> Result<(), ErrorKind> {
    for (m, member) in state.members.iter().enumerate() {
        if !member.gone {
            plan.writes.ios.push(Io { member: m as u32, lba: 0, blocks: 0 });
        }
    }
    match plan.writes.ios.is_empty() {
        true => Err(ErrorKind::MemberLost),
        false => Ok(()),
    }
}

/// Whether an error says nothing of the member's health.
fn is_refused(error: Option<ErrorKind>) -> bool {
    use ErrorKind::{Limit, OutOfRange, Zone};
    matches!(error, Some(OutOfRange | Zone(_) | Limit(_)))
}

/// The blocks of a request to a member.
fn blocks_of(request: &Request) -> Range<u64> {
    request.lba..request.lba + u64::from(request.blocks)
}

fn is_within(piece: &Piece, io: &Io) -> bool {
    piece.lba >= io.lba && piece.lba + u64::from(piece.blocks) <= io.lba + u64::from(io.blocks)
}

impl Layer for Volume {
    fn name(&self) -> &str {
        self.name
    }

    fn units(&self) -> Vec<u64> {
        vec![self.placement.blocks()]
    }

    fn submit(&mut self, request: u32, flow: &mut Flow) {
        let asked = flow[request].request;
        let op = self.add(Task::Request(request), flow.now);
        // Reads of a volume with all its members go past the memory in which rows are put together.
        let direct = asked.command == Command::Flush || asked.command.reads() && self.state.degraded.is_empty();
        if self.barrier_of(asked.command).is_none_or(|b| b.enter(op)) && (direct || self.rebuild.enter(op)) {
            self.begin(op, &asked, flow);
        }
        self.start_granted(flow);
    }

    fn ended(&mut self, request: u32, flow: &mut Flow) {
        self.part_ends(request, flow);
        self.start_granted(flow);
    }

    fn next_event(&self) -> Time {
        self.rebuild.due(&self.state).min(self.host.next())
    }

    fn happen(&mut self, flow: &mut Flow) {
        let now = flow.now;
        match self.host.take(now) {
            Some(then) => self.go_on(then, flow),
            None => self.rebuild_next(flow),
        }
        self.start_granted(flow);
    }

    fn set(&mut self, setting: &Setting, flow: &mut Flow) -> Result<(), SpecError> {
        let result = self.set_here(setting, flow);
        self.start_granted(flow);
        result
    }

    fn is_removed(&self, member: u32) -> bool {
        self.state.members[member as usize].removed
    }

    fn reset_statistics(&mut self, _now: Time) {
        self.counts = Counts::default();
    }

    fn add_counts(&self, all: &mut Statistics) {
        self.counts.add_to(all);
        all.count("stale_bytes", self.stale_blocks().iter().sum::<u64>() * 512);
    }
}
