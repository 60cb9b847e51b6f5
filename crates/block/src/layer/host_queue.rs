//! The host's request queue: a limited number of places, an elevator, merging, and a limited depth at the
//! device.
//!
//! # Model
//! A new request is first merged with a waiting one, if possible (`merging.rs`). Otherwise it takes a place
//! (`admission.rs`). If no place is free its submitting process is blocked, and with it all that this process
//! submits later. Admitted requests wait in the elevator while `depth` requests are at the lower layer. A
//! place becomes free when its request has completed. Each unit of the lower layer has a queue of its own.
//!
//! A woken process submits after its `wake_time`, when the next request has long been dispatched. In Linux this is so
//! because a completion is an interrupt, and a woken process must first be scheduled. The effect matters for short
//! queues: with 4 places the elevator then chooses among 3 requests, not 4. Meanwhile another process may take the place
//! (`waking.rs`), so where there are fewer places than processes, some wait for seconds while others go on.
//!
//! A completion is noticed `completion_time` after the device has ended the request. Only then the next one is
//! dispatched in its stead and its place is free.
//!
//! Flushes and write-through requests also take a place, and are dispatched before the requests in the elevator. One flush
//! is on its way at a time; those that come meanwhile are carried out by one flush after it (`flush.rs`).
//!
//! Statistics: `merged_back`, `merged_front`, `merged_neighbours`, `merged_flushes`, `dispatched`, `blocked` (requests that
//! waited for a place), `most_admitted`; times `blocked` and `waited_in_elevator`.
//! # Source
//! Linux 3.3 `blk-core.c`, `elevator.c`; Linux 6.x `blk-mq.c`, `blk-mq-sched.c`, `blk-merge.c`.
//! # Validity
//! No plug lists: requests arrive one at a time. No priorities, cgroups or writeback throttling.

#[doc(hidden)]
pub mod admission;
mod flush;
mod merging;
mod parameters;
mod processes;
mod settings;

pub use settings::HostQueueSetting;
#[doc(hidden)]
pub mod waking;

use super::elevator::{Elevator, Queued};
use super::statistics::counts;
use super::{Context, Elevators, Flow, Layer, ModelOfFolder, Request, Setting, Statistics, ANYONE};
use admission::{Places, Process, LAST_NAMED, UNKNOWN};
use flush::Flushes;
use headstack_drive::Command;
use headstack_schema::SpecError;
use headstack_units::{Span, Time};
use merging::{Edges, Limits};
pub use parameters::with_elevator;
pub(super) use parameters::Parameters;
use parameters::{wake_batch, PlacesName};
use processes::Processes;
use slab::Slab;
use std::collections::VecDeque;
use waking::Wakings;

/// The layer's name.
pub(crate) const NAME: &str = "host-queue";
/// The elevator unless another one is named.
pub(crate) const DEFAULT_ELEVATOR: &str = "mq-deadline";

/// No request: the end of the list of a group's requests.
const NONE: u32 = u32::MAX;

/// How a request comes to ask for a place.
#[derive(Clone, Copy, PartialEq)]
enum Turn {
    /// It has just been submitted.
    New,
    /// Its process waited, and was woken.
    Woken,
    /// Its process was woken and has got a place for an earlier request.
    GoesOn,
}

/// One request to the layer below: a submitted request, or several merged ones.
struct Group {
    command: Command,
    run: Queued,
    /// The first and the last of its submitted requests; each knows the next ([`Entry::next`](super::flow::Entry::next)).
    first: u32,
    last: u32,
    added: Time,
    /// The device has ended it, and the host notices it after the `completion_time`.
    is_noticed: bool,
}

/// The queue of one unit.
struct Queue {
    elevator: Box<dyn Elevator>,
    /// The elevator that takes over when all requests have completed.
    successor: Option<Box<dyn Elevator>>,
    places: Places,
    edges: Edges,
    /// Flushes and write-through requests, dispatched before those in the elevator.
    ahead: VecDeque<u32>,
    flushes: Flushes,
    processes: Processes,
    woken: VecDeque<Process>,
    /// Woken processes that have not submitted yet.
    waking: u32,
    below: u32,
    depth: u32,
    /// When the elevator, which keeps the device idle while requests wait, is to be asked again.
    resumes: Time,
}

counts! {
    merged_back, merged_front, merged_neighbours, merged_flushes, dispatched, blocked;
    blocked_ns = "blocked";
    in_elevator_ns = "waited_in_elevator"
}

/// A host queue for each unit of the layer below.
pub struct HostQueue {
    members: Vec<u64>,
    queues: Vec<Queue>,
    groups: Slab<Group>,
    waking: Wakings,
    /// The earliest time at which an elevator is to be asked again.
    resumes: Time,
    limits: Limits,
    completion_time: Span,
    sync_writes: bool,
    order: u64,
    /// The name of the elevator; of the next one, if it is to take over.
    elevator: String,
    /// All elevators that can take over.
    elevators: Elevators,
    /// Requests that the device takes at once, as it was built.
    tags: u32,
    counts: Counts,
    most_admitted: u64,
}

impl HostQueue {
    fn new(context: Context, p: &Parameters) -> Result<HostQueue, SpecError> {
        let legacy = p.places() == PlacesName::Legacy;
        let n = p.nr_requests();
        let limits = Limits {
            never: !p.merge,
            front: p.front_merges,
            blocks: p.max_request().0 / 512,
            segments: p.max_segments,
        };
        let mut queues = Vec::new();
        for blocks in &context.members {
            let elevator = (context.elevators).build_named("elevator", &p.elevator, &p.elevator_parameters, *blocks)?;
            queues.push(Queue {
                elevator,
                successor: None,
                places: if legacy { Places::legacy(n) } else { Places::tags(n, wake_batch(&p.elevator)) },
                edges: Edges::new(&limits),
                ahead: VecDeque::new(),
                flushes: Flushes::default(),
                processes: Processes::default(),
                woken: VecDeque::new(),
                waking: 0,
                below: 0,
                depth: p.depth,
                resumes: Time::NEVER,
            });
        }
        Ok(HostQueue {
            members: context.members,
            queues,
            groups: Slab::new(),
            waking: Wakings::new(p.wake_time, p.retake),
            resumes: Time::NEVER,
            limits,
            completion_time: p.completion_time,
            sync_writes: p.sync_writes,
            order: 0,
            elevator: p.elevator.clone(),
            elevators: context.elevators.clone(),
            tags: p.depth,
            counts: Counts::default(),
            most_admitted: 0,
        })
    }

    fn is_sync(&self, command: Command) -> bool {
        command != Command::Write || self.sync_writes
    }

    /// Merges or admits a submitted request of a process. False: it gets no place, so the process waits.
    fn try_admit(&mut self, q: usize, mut process: Process, child: u32, turn: Turn, flow: &mut Flow) -> bool {
        let asked = flow[child].request;
        let sync = self.is_sync(asked.command);
        let waited = turn == Turn::Woken;
        // A request that had to wait for a place is merged only when it is put into the elevator.
        let may_merge = !waited && !self.limits.never && !self.queues[q].places.is_frozen();
        if may_merge && self.merge(q, child, &asked, flow) {
            return true;
        }
        if turn == Turn::New && self.is_kept(q, sync, flow) && !self.retakes(q) {
            return false;
        }
        let Queue { places, processes, .. } = &mut self.queues[q];
        if process == UNKNOWN && places.makes_batcher(sync) {
            process = processes.name(asked.submitter);
        }
        if !places.take(flow.now, process, sync, waited) {
            return false;
        }
        let taken = u64::from(places.taken());
        self.most_admitted = self.most_admitted.max(taken);
        self.admit(child, flow);
        self.insert(q, child, &asked, waited, flow);
        true
    }

    /// A request is admitted, or merged with one that was.
    fn admit(&mut self, child: u32, flow: &mut Flow) {
        let now = flow.now;
        let done = &mut flow[child].done;
        done.admitted = now;
        let arrival = done.arrival;
        if flow.counts_from(arrival) {
            self.counts.blocked_ns += u128::from(now.0 - arrival.0);
        }
    }

    /// Puts an admitted request into the elevator, or among the requests that are dispatched before it.
    fn insert(&mut self, q: usize, child: u32, request: &Request, waited: bool, flow: &mut Flow) {
        if request.command == Command::Flush && self.joins_flush(q, child, flow) {
            return;
        }
        let now = flow.now;
        self.order += 1;
        let slot = self.groups.vacant_key() as u32;
        let run = Queued { slot, order: self.order, ..self.run_of(request) };
        self.groups.insert(Group {
            command: request.command,
            run,
            first: child,
            last: child,
            added: now,
            is_noticed: false,
        });
        let queue = &mut self.queues[q];
        match request.command {
            Command::Read | Command::Write => {}
            Command::Flush => return queue.flushes.add(slot, &mut queue.ahead),
            Command::WriteThrough | Command::ReadThrough => return queue.ahead.push_back(slot),
        }
        queue.elevator.add(now, &run);
        queue.edges.add(&run);
        if waited && !self.limits.never && queue.elevator.newest().is_none() {
            if let Some(before) = queue.edges.ending_at(run.write, run.lba) {
                if self.merge_groups(q, before, slot, flow) {
                    self.counts.merged_back += 1;
                }
            }
        }
    }

    /// The run of one request.
    fn run_of(&self, request: &Request) -> Queued {
        Queued {
            slot: NONE,
            write: request.command.writes(),
            sync: self.is_sync(request.command),
            submitter: request.submitter,
            lba: request.lba,
            blocks: u64::from(request.blocks),
            segments: 1,
            order: 0,
            hint: request.hint,
        }
    }

    /// Tries to merge a new request with a waiting one; true if it was merged.
    fn merge(&mut self, q: usize, child: u32, request: &Request, flow: &mut Flow) -> bool {
        if !matches!(request.command, Command::Read | Command::Write) {
            return false;
        }
        let new = self.run_of(request);
        let (back, front) = self.neighbours(q, &new);
        let back = back.filter(|slot| self.may_grow(q, *slot, &new));
        let front = front.filter(|slot| self.limits.front && self.may_grow(q, *slot, &new));
        let (slot, at_front) = match (back, front) {
            (Some(slot), _) => (slot, false),
            (None, Some(slot)) => (slot, true),
            (None, None) => return false,
        };
        self.admit(child, flow);
        self.grow(q, slot, child, &new, at_front, flow);
        let run = self.groups[slot as usize].run;
        if self.queues[q].elevator.newest().is_none() {
            let edges = &self.queues[q].edges;
            let pair = match at_front {
                true => edges.ending_at(run.write, run.lba).map(|n| (n, slot)),
                false => edges.starting_at(run.write, run.end()).map(|n| (slot, n)),
            };
            if let Some((first, second)) = pair {
                self.counts.merged_neighbours += u64::from(self.merge_groups(q, first, second, flow));
            }
        }
        true
    }

    /// The waiting request that ends where a new one begins, and the one that begins where it ends.
    fn neighbours(&self, q: usize, new: &Queued) -> (Option<u32>, Option<u32>) {
        let queue = &self.queues[q];
        let end = new.end();
        match queue.elevator.newest() {
            None => (queue.edges.ending_at(new.write, new.lba), queue.edges.starting_at(new.write, end)),
            Some(newest) => {
                let run = |slot: u32| self.groups[slot as usize].run;
                let of = |f: &dyn Fn(&Queued) -> bool| {
                    let fits = |s: &&u32| run(**s).write == new.write && f(&run(**s));
                    newest.iter().find(fits).copied()
                };
                (of(&|r| r.end() == new.lba), of(&|r| r.lba == end))
            }
        }
    }

    fn may_grow(&self, q: usize, slot: u32, new: &Queued) -> bool {
        let run = &self.groups[slot as usize].run;
        let elevator = &self.queues[q].elevator;
        self.limits.allow(run, new) && elevator.may_join(run, new)
    }

    /// Adds a request to a waiting group, at its front or its back.
    fn grow(&mut self, q: usize, slot: u32, child: u32, new: &Queued, at_front: bool, flow: &mut Flow) {
        let group = &mut self.groups[slot as usize];
        let queue = &mut self.queues[q];
        queue.edges.remove(&group.run);
        group.run.blocks += new.blocks;
        group.run.segments += 1;
        let last = group.last;
        group.last = child;
        flow[last].next = child;
        if at_front {
            group.run.lba = new.lba;
            queue.elevator.resort(&group.run);
            self.counts.merged_front += 1;
        } else {
            queue.elevator.grown(&group.run);
            self.counts.merged_back += 1;
        }
        queue.edges.add(&group.run);
    }

    /// Merges two waiting groups, if allowed; the second one follows the first. The place of the second becomes
    /// free. Returns whether they were merged.
    fn merge_groups(&mut self, q: usize, first: u32, second: u32, flow: &mut Flow) -> bool {
        let (a, b) = (self.groups[first as usize].run, self.groups[second as usize].run);
        let queue = &mut self.queues[q];
        let joins = queue.elevator.may_join(&a, &b);
        if first == second || !joins || !self.limits.allow(&a, &b) {
            return false;
        }
        queue.edges.remove(&a);
        queue.edges.remove(&b);
        queue.elevator.absorb(first, second);
        let gone = self.groups.remove(second as usize);
        let kept = &mut self.groups[first as usize];
        kept.run.blocks += b.blocks;
        kept.run.segments += b.segments;
        kept.added = kept.added.min(gone.added);
        let last = std::mem::replace(&mut kept.last, gone.last);
        flow[last].next = gone.first;
        let run = kept.run;
        queue.elevator.grown(&run);
        queue.edges.add(&run);
        let now = flow.now;
        queue.places.release(now, gone.run.sync, &mut queue.woken);
        true
    }

    /// Submits the requests of woken processes, then dispatches as far as the depth allows.
    #[inline(always)]
    fn dispatch_ready(&mut self, q: usize, flow: &mut Flow) {
        let queue = &self.queues[q];
        if !queue.woken.is_empty() || queue.below < queue.depth {
            self.dispatch(q, flow);
        }
    }

    #[inline(never)]
    fn dispatch(&mut self, q: usize, flow: &mut Flow) {
        while let Some(process) = self.queues[q].woken.pop_front() {
            self.wake(q, process, flow);
        }
        let now = flow.now;
        let queue = &mut self.queues[q];
        while queue.below < queue.depth {
            let ahead = queue.ahead.pop_front();
            let Some(slot) = ahead.or_else(|| queue.elevator.take(now)) else { return self.wait_for_elevator(q) };
            let group = &mut self.groups[slot as usize];
            if ahead.is_none() {
                queue.edges.remove(&group.run);
            }
            queue.below += 1;
            self.counts.dispatched += 1;
            self.counts.in_elevator_ns += u128::from(now.0 - group.added.0);
            let own = Request {
                id: 0,
                command: group.command,
                unit: 0,
                lba: group.run.lba,
                // Merged requests are at most `max_request` long, single ones as long as submitted: both fit
                // 32 bits.
                blocks: group.run.blocks as u32,
                submitter: ANYONE,
                hint: group.run.hint,
            };
            let request = flow.open_as(slot, own, slot);
            flow.submit(q as u32, request);
        }
    }

    /// A woken process submits what it could not submit before.
    #[inline(always)]
    fn resume(&mut self, q: usize, process: Process, flow: &mut Flow) {
        if process > LAST_NAMED {
            let child = (process - LAST_NAMED - 1) as u32;
            if !self.try_admit(q, process, child, Turn::Woken, flow) {
                self.wait(q, process, child, flow);
            }
            return;
        }
        let mut turn = Turn::Woken;
        while let Some(child) = self.queues[q].processes.first(process) {
            // A request that is admitted belongs to another list.
            let next = std::mem::replace(&mut flow[child].next, NONE);
            if !self.try_admit(q, process, child, turn, flow) {
                flow[child].next = next;
                self.counts.blocked += u64::from(turn != Turn::Woken);
                return self.wait(q, process, child, flow);
            }
            self.queues[q].processes.remove_first(process, next);
            turn = Turn::GoesOn;
        }
    }

    /// A process waits for a place for its request `child`.
    fn wait(&mut self, q: usize, process: Process, child: u32, flow: &Flow) {
        let sync = self.is_sync(flow[child].request.command);
        self.queues[q].places.wait(process, sync);
    }

    /// The elevator of a queue gives no request at present.
    fn wait_for_elevator(&mut self, q: usize) {
        let queue = &mut self.queues[q];
        let resumes = if queue.elevator.is_empty() { Time::NEVER } else { queue.elevator.resumes_at() };
        if std::mem::replace(&mut queue.resumes, resumes) != resumes {
            let all = self.queues.iter().map(|q| q.resumes);
            self.resumes = all.min().unwrap_or(Time::NEVER);
        }
    }

    /// The time has come until which an elevator kept its device idle.
    fn resume_elevators(&mut self, flow: &mut Flow) {
        for q in 0..self.queues.len() {
            if self.queues[q].resumes <= flow.now {
                self.queues[q].resumes = Time::NEVER;
                self.dispatch_ready(q, flow);
            }
        }
        let all = self.queues.iter().map(|q| q.resumes);
        self.resumes = all.min().unwrap_or(Time::NEVER);
    }
}

impl Layer for HostQueue {
    fn name(&self) -> &str {
        NAME
    }

    fn units(&self) -> Vec<u64> {
        self.members.clone()
    }

    fn submit(&mut self, child: u32, flow: &mut Flow) {
        let request = flow[child].request;
        let q = request.unit as usize;
        let processes = &mut self.queues[q].processes;
        let mut process = match request.submitter {
            // The request gets its own process number, so that it blocks no other request.
            ANYONE => LAST_NAMED + 1 + Process::from(child),
            submitter => processes.find(submitter),
        };
        if processes.first(process).is_some() {
            processes.add(process, child, flow);
            self.counts.blocked += 1;
        } else if !self.try_admit(q, process, child, Turn::New, flow) {
            self.counts.blocked += 1;
            if process <= LAST_NAMED {
                let processes = &mut self.queues[q].processes;
                if process == UNKNOWN {
                    process = processes.name(request.submitter);
                }
                processes.add(process, child, flow);
            }
            self.wait(q, process, child, flow);
        }
        self.dispatch_ready(q, flow);
    }

    fn ended(&mut self, request: u32, flow: &mut Flow) {
        let late = self.completion_time;
        let slot = flow[request].above;
        if late > Span::ZERO && !std::mem::replace(&mut self.groups[slot as usize].is_noticed, true) {
            let done = &mut flow[request].done;
            done.completion = done.completion.after(late);
            done.components.overhead += late;
            let until = done.completion;
            return flow.keep(request, until);
        }
        // It has completed, and with it all submitted requests merged into it.
        let (now, q) = (flow.now, flow[request].member as usize);
        flow.close(request);
        let group = self.groups.remove(slot as usize);
        let queue = &mut self.queues[q];
        queue.below -= 1;
        match group.command {
            Command::Read | Command::Write => queue.elevator.ended(now, slot),
            Command::Flush => queue.flush_ends(now, group.run.segments),
            Command::WriteThrough | Command::ReadThrough => {}
        }
        queue.places.release(now, group.run.sync, &mut queue.woken);
        if queue.successor.is_some() {
            queue.succeed();
        }
        let mut done = flow[request].done;
        let (given, queue, waits) = (done.arrival, done.components.queue, done.waits);
        let mut child = group.first;
        while child != NONE {
            let own = &mut flow[child];
            let next = own.next;
            (done.arrival, done.admitted) = (own.done.arrival, own.done.admitted);
            done.components.queue = queue + given.span_from(done.arrival);
            done.waits.place = waits.place + done.admitted.span_from(done.arrival);
            done.waits.elevator = waits.elevator + given.span_from(done.admitted);
            own.done = done;
            flow.end(child);
            child = next;
        }
        self.dispatch_ready(q, flow);
    }

    fn next_event(&self) -> Time {
        self.waking.next().min(self.resumes)
    }

    /// A woken process submits, or elevators go on.
    fn happen(&mut self, flow: &mut Flow) {
        if self.resumes < self.waking.next() {
            return self.resume_elevators(flow);
        }
        if let Some(woken) = self.waking.order.pop_front() {
            let q = woken.queue as usize;
            self.queues[q].waking -= 1;
            self.resume(q, woken.process, flow);
            self.dispatch_ready(q, flow);
        }
    }

    fn set(&mut self, setting: &Setting, flow: &mut Flow) -> Result<(), SpecError> {
        self.change(setting, flow)
    }

    fn reset_statistics(&mut self, _now: Time) {
        (self.counts, self.most_admitted) = (Counts::default(), 0);
    }

    fn add_counts(&self, all: &mut Statistics) {
        self.counts.add_to(all);
        all.most("most_admitted", self.most_admitted);
    }

    fn host_queue(&self) -> Option<&HostQueue> {
        Some(self)
    }
}

/// What a host sees of it. Its queues are alike.
impl HostQueue {
    /// Places and depth.
    pub fn sizes(&self) -> Option<(u32, u32)> {
        let queue = self.queues.first()?;
        Some((queue.places.limit(), queue.depth))
    }

    /// Whether it admits nothing until its requests have ended, because a change of its places or of its elevator waits for
    /// that.
    pub fn is_draining(&self) -> bool {
        self.queues.iter().any(|q| q.places.is_frozen())
    }

    /// Time from a read's arrival to its deadline; `None` of elevators without deadlines.
    pub fn read_expire(&self) -> Option<Span> {
        let queue = self.queues.first()?;
        let elevator = queue.successor.as_ref().unwrap_or(&queue.elevator);
        elevator.read_expire()
    }

    /// Its elevator, and the names of all that it can have.
    pub fn elevators(&self) -> (&str, Vec<&str>) {
        (&self.elevator, self.elevators.names().collect())
    }
}
