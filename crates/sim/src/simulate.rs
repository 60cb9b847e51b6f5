//! Simulates one workload on one system: arrivals, joining of parts, statistics.
//!
//! # Model
//! Open arrivals: requests reach the array at their trace times. Drives do not influence each other, so each is
//! advanced only when it gets a request and at the boundaries of the time series; there is no global event
//! heap. A single drive that serves in order serves a request when it arrives ([`Member::serve_at_once`]).
//! Closed arrivals: `outstanding` requests circulate; each completion issues the next request after the
//! think time. The earliest of all drive events and issues is next; a tournament tree of the drives' next
//! events finds it. Requests are dealt to drives many at a time (`dealt.rs`), and jobs on drives without common threads
//! are simulated apart (`apart.rs`); neither has an effect on results. A drive that chooses a command at the same
//! instant as an arrival can choose that arrival.
//!
//! A request that an organisation splits completes with its last part. Its components are those of that part,
//! so that they add up to its response time. Statistics count requests that arrive after the warm-up.

#[doc(hidden)]
pub mod apart;
mod by_jobs;
mod dealt;
mod devices;
mod end;
pub(crate) mod error;
mod feed;
mod marks;
pub(crate) mod options;
pub(crate) mod record;
mod samples;
mod seen;
#[doc(hidden)]
pub mod warm_up;

use crate::capping::Capper;
use crate::ended::Asked;
use crate::held::Order;
use crate::memory_guard::MemoryGuard;
use crate::outcome::operation;
pub use crate::outcome::{MemberOutcome, Outcome};
use crate::request_tracker::RequestTracker;
pub use apart::divide;
use apart::everyone;
use dealt::Deal;
use devices::{Devices, Direct};
use error::not_late;
pub use error::SimulateError;
use feed::{Feed, BATCH};
use headstack_block::layer::tree::Tree;
use headstack_block::layer::{ErrorKind, LayerCompletion};
use headstack_block::member::{CompletionReport, Member};
use headstack_block::organisation::{Organisation, Part};
use headstack_block::timetable::Timetable;
use headstack_drive::{Drive, DriveRequest};
use headstack_engine::{Series, SpecError};
use headstack_trace::{Arrivals, Command, Jobs, Request, Requests};
use headstack_units::{Lba, Span, Time};
use marks::Marks;
pub use options::{Options, OutOfRangePolicy};
pub use record::{Log, Record};
use samples::Samples;
pub use warm_up::WarmUp;

struct Run<'a, 'l, M: Member> {
    members: &'a mut [M],
    // Parts of the system that are simulated by themselves and have the members instead; see `apart.rs`.
    parts: Vec<Run<'a, 'l, M>>,
    // In which order what happens in the parts is counted.
    order: Order,
    // Whether open requests may be served when they arrive: by a single drive that serves in sequence.
    at_once: bool,
    // Open requests that their drives have not got yet.
    deal: Option<Box<Deal<M::Report>>>,
    devices: Devices<'a>,
    options: &'a Options,
    tracker: RequestTracker<'a, 'l>,
    marks: Marks<'a>,
    // In a part: samples of energy that it takes by itself.
    samples: Samples,
    // Next event of each drive, if drives are taken in order of time: in closed loops, and after the last
    // arrival.
    due: Option<Timetable>,
    last_arrival: Time,
    failure: Option<SimulateError>,
    taken: u64,
    // The latest event that completed nothing and left its drive due: its time, the drive, what waits there, and the
    // requests so far.
    waiting: Option<(Time, usize, usize, u64)>,
    // Requests that the progress has counted.
    reported: u64,
    memory_guard: MemoryGuard,
}

/// Declares [`simulate`] for one kind of members. Its code is made here: in the crates that call it, it would be divided into
/// units that are compiled apart, and a request would take 1 to 2 % more instructions.
macro_rules! simulate_each {
    ($($name:ident: $member:ty, $what:literal;)+) => {
        $(#[doc = concat!("[`simulate`] on ", $what, ".\n\n# Errors\nAs [`simulate`].")]
        pub fn $name<'a>(
            source: &mut dyn Requests,
            members: &'a mut [$member],
            organisation: &'a dyn Organisation,
            options: &'a Options,
            log: Option<&'a mut Log<'_>>,
        ) -> Result<Outcome, SimulateError> {
            simulate(source, members, organisation, options, log)
        })+
    };
}
simulate_each! {
    simulate_drives: Drive, "drives";
    simulate_trees: Tree, "layers over drives";
}

/// Simulates a workload on a system.
///
/// The organisation's members are the logical units of the drives, in order; most drives have one. `source` is in
/// time order; a time before that of the previous request counts as that time. When `Progress::cancel` is
/// called, the outcome holds what was done so far and `partial` is set.
///
/// # Errors
/// A wrong workload, a device without a drive, or a log that cannot be written.
pub fn simulate<'a, 'l, M: Member>(
    source: &mut dyn Requests,
    members: &'a mut [M],
    organisation: &'a dyn Organisation,
    options: &'a Options,
    log: Option<&'a mut Log<'l>>,
) -> Result<Outcome, SimulateError> {
    let units: Vec<usize> = members.iter().map(|m| m.logical_units().len()).collect();
    let division = divide(options, organisation, &units, log.is_some());
    let jobs = match &options.arrivals {
        Arrivals::Jobs { jobs, processors, seed } => Some(Jobs::new(jobs, *processors, *seed)?),
        _ => None,
    };
    let capper = capper(options, members, jobs.as_ref())?;
    let tracker = RequestTracker::new(Outcome::new(members.len(), options), log);
    let mut run = Run::new(members, organisation, options, tracker);
    let mut feed = Feed { source, batch: Vec::with_capacity(BATCH), failure: None };
    if let Some(capper) = capper {
        run.tracker.cap(capper, run.members.len());
    }
    match &options.arrivals {
        Arrivals::Open => run.open_loop(&mut feed)?,
        Arrivals::Closed(closed) => {
            let told_apart = M::TELLS_SUBMITTERS_APART;
            run.tracker.close(closed.outstanding, closed.pauses()?, told_apart);
            run.closed_loop(&mut feed)?;
        }
        Arrivals::Jobs { .. } => match (jobs, division) {
            (Some(jobs), Some(division)) => run.jobs_apart(jobs, &division)?,
            (jobs, _) => {
                jobs.into_iter().for_each(|jobs| run.tracker.issue_by_jobs(jobs));
                run.closed_loop(&mut feed)?;
            }
        },
    }
    run.finish()
}

/// The power capping controller, if the run has one.
fn capper<M: Member>(options: &Options, members: &[M], jobs: Option<&Jobs>) -> Result<Option<Capper>, SimulateError> {
    let Some(plan) = &options.capping else {
        return Ok(None);
    };
    let names = jobs.map(Jobs::names).unwrap_or_default();
    let capper = Capper::new(plan, &options.policies, members, names);
    let placed = |e: SpecError| SimulateError::Change(e.within(&plan.place));
    capper.map(Some).map_err(placed)
}

impl<'a, 'l, M: Member> Run<'a, 'l, M> {
    fn new(
        members: &'a mut [M],
        organisation: &'a dyn Organisation,
        options: &'a Options,
        tracker: RequestTracker<'a, 'l>,
    ) -> Run<'a, 'l, M> {
        Run {
            parts: Vec::new(),
            order: Order::new(0, 0),
            at_once: false,
            deal: None,
            devices: Devices::new(organisation, members),
            members,
            options,
            tracker,
            marks: Marks::new(&options.changes),
            samples: Samples::none(),
            due: None,
            last_arrival: Time::ZERO,
            failure: None,
            taken: 0,
            waiting: None,
            reported: 0,
            memory_guard: MemoryGuard::default(),
        }
    }

    fn open_loop(&mut self, feed: &mut Feed) -> Result<(), SimulateError> {
        self.deal_out();
        let mut now = Time::ZERO;
        let mut going = true;
        while going && self.refill(feed)? {
            self.play_if_full();
            let mut taken = 0;
            for request in &feed.batch {
                now = now.max(request.time);
                going = self.arrive(now, request);
                if !going {
                    break;
                }
                taken += 1;
            }
            self.tracker.observers.outcome.seen.alignment.add_all(&feed.batch[..taken]);
        }
        // A request after the run's duration does not advance the run to its time.
        self.drain(self.last_arrival)
    }

    fn closed_loop(&mut self, feed: &mut Feed) -> Result<(), SimulateError> {
        self.take_in_order();
        let by_jobs = matches!(self.options.arrivals, Arrivals::Jobs { .. });
        // Nothing is measured once a drive has begun a change that lies after the end of the run.
        let own_times = self.marks.schedule.has_own_times();
        let pause = if own_times { Span::ZERO } else { self.tracker.issuer.least_pause() };
        let (mut now, mut next) = (Time::ZERO, 0);
        loop {
            // It must be known whether a request follows before time passes to it, because nothing is measured after
            // the end of the run.
            if !by_jobs && next == feed.batch.len() {
                self.tracker.observers.outcome.seen.alignment.add_all(&feed.batch);
                next = 0;
                if !self.refill(feed)? {
                    break;
                }
            }
            let issue = self.next_issue();
            if issue == Time::NEVER && self.tracker.in_flight == 0 {
                break;
            }
            let (drive, member) = self.earliest();
            // Completions that a drive has ready are due now, whatever its next event.
            let drive = drive.max(now);
            let due = self.next_mark();
            let next_event = drive.min(issue);
            if due <= next_event && next_event != Time::NEVER {
                self.pass_until(due);
                self.take_failure()?;
                continue;
            }
            if drive < issue {
                now = drive;
                self.pass_until(now);
                let until = self.limit(now, pause).min(issue);
                // A rebuild goes on after the last request, and nothing is measured there.
                self.step::<true>(member, now, until)?;
                continue;
            }
            if issue == Time::NEVER {
                break;
            }
            not_late(issue)?;
            now = issue;
            if by_jobs {
                if !self.arrive_of_jobs(now) {
                    break;
                }
                continue;
            }
            self.tracker.issuer.take();
            if !self.arrive(now, &feed.batch[next]) {
                break;
            }
            next += 1;
        }
        self.tracker.observers.outcome.seen.alignment.add_all(&feed.batch[..next]);
        // Requests in flight complete; no more are issued.
        self.tracker.issuer.end();
        self.drain(now)
    }

    /// When the next request of a closed loop is issued; [`Time::NEVER`] if the run's duration is over then, or the run
    /// has all its requests.
    #[inline(always)]
    fn next_issue(&mut self) -> Time {
        let issue = self.tracker.issuer.next_time();
        let full = self.options.max_requests.is_some_and(|n| self.taken >= n);
        match full || issue > self.marks.over {
            true => Time::NEVER,
            false => issue,
        }
    }

    fn report(&mut self) {
        self.options.progress.add(self.taken - self.reported);
        self.reported = self.taken;
    }

    /// Takes the next batch; false at the end of the workload, at the limit, or when cancelled.
    fn refill(&mut self, feed: &mut Feed) -> Result<bool, SimulateError> {
        self.report();
        self.tracker.observers.settle();
        if self.options.progress.is_cancelled() {
            self.tracker.observers.outcome.partial = true;
            return Ok(false);
        }
        let times = self.taken.min(self.options.exact_limit as u64);
        self.memory_guard.check(self.tracker.in_flight, times)?;
        let left = self.options.max_requests.map(|n| n - self.taken);
        feed.refill(left.unwrap_or(u64::MAX))?;
        Ok(!feed.batch.is_empty())
    }

    /// A request reaches the array; false when the run's duration is over or after an error, which
    /// [`Run::drain`] then returns.
    #[inline(always)]
    fn arrive(&mut self, now: Time, request: &Request) -> bool {
        let id = self.taken;
        self.taken += 1;
        if now >= self.marks.next_check && !self.check(now, id) {
            return false;
        }
        self.last_arrival = now;
        let blocks = u64::from(request.blocks);
        let direct = self.devices.direct.get(request.device as usize);
        // With `blocks` = 0, the subtraction wraps round to more blocks than any device has.
        let inside = |d: &&Direct| blocks.wrapping_sub(1) < d.blocks && request.lba.0 <= d.blocks - blocks;
        match direct.filter(inside) {
            Some(&Direct { member, first, .. }) if request.op != Command::Flush => {
                let lba = first + request.lba.0;
                if !self.at_once || !self.serve_at_once(id, now, request, lba) {
                    let slot = self.tracker.open(id, now, request, 1, self.marks.measuring);
                    self.give(now, slot, request, member, lba, request.blocks);
                }
                self.tracker.observers.failure.is_none()
            }
            _ => self.arrive_generally(now, id, request),
        }
    }

    /// Lets the only drive serve a request that arrives at `now`, if its end can be told now; false if not.
    #[inline(always)]
    fn serve_at_once(&mut self, id: u64, now: Time, asked: &Request, lba: u64) -> bool {
        let request = DriveRequest {
            id,
            command: asked.op,
            lba: Lba(lba),
            blocks: asked.blocks,
            hint: self.members[0].hint_of(asked.priority),
        };
        // Nothing looks at the drive before then; before the end of the warm-up, the next request may.
        let before = self.marks.next_check;
        let Some(c) = self.members[0].serve_at_once(now, &request, before) else {
            return false;
        };
        self.tracker.done_at_once(id, now, asked, c);
        true
    }

    /// The general case of [`Run::arrive`].
    #[inline(never)]
    fn arrive_generally(&mut self, now: Time, id: u64, request: &Request) -> bool {
        if let Err(e) = self.arrive_in_parts(now, id, *request) {
            self.failure = Some(e);
        }
        self.failure.is_none() && self.tracker.observers.failure.is_none()
    }

    /// Submits a part of a request to its drive.
    fn submit(&mut self, now: Time, slot: u64, asked: &Request, part: &Part) {
        let (member, first) = self.devices.logical[part.member as usize];
        self.give(now, slot, asked, member, first + part.lba, part.blocks);
    }

    /// Advances a drive to `now` and submits a command.
    #[inline(always)]
    fn give(&mut self, now: Time, slot: u64, asked: &Request, member: u32, lba: u64, blocks: u32) {
        let member = member as usize;
        let request = DriveRequest {
            id: slot,
            command: asked.op,
            lba: Lba(lba),
            blocks,
            hint: self.members[member].hint_of(asked.priority),
        };
        let submitter = self.tracker.issuer.submitter;
        if let Some(deal) = &mut self.deal {
            return deal.push(now, member, request, submitter);
        }
        let host = &mut self.tracker;
        let drive = &mut self.members[member];
        drive.advance(now, &mut |c| host.part_done(member, c));
        drive.submit(now, request, submitter);
        if let Some(due) = &mut self.due {
            due.set(member, drive.next_event());
        }
    }

    /// Handles what is due at certain times only: the begin and end of the run, the end of the warm-up,
    /// samples. False when the run is over.
    #[cold]
    fn check(&mut self, now: Time, id: u64) -> bool {
        if self.marks.first.is_none() {
            self.start(now);
        }
        if now > self.marks.over {
            return false;
        }
        if !self.marks.measuring && matches!(self.options.warm_up, WarmUp::Requests(n) if id >= n) {
            self.begin(now);
        }
        self.pass_until(now);
        self.at_once = matches!(self.options.arrivals, Arrivals::Open)
            && self.members.len() == 1
            && self.tracker.is_quiet
            && self.members[0].serves_in_sequence();
        self.marks.next_check = if self.marks.measuring {
            self.marks.next_sample.min(self.marks.over).min(self.next_mark())
        } else {
            Time::ZERO
        };
        self.failure.is_none()
    }

    /// The first request arrives: times of the run count from now on.
    fn start(&mut self, first: Time) {
        self.marks.first = Some(first);
        self.marks.schedule.begin(first);
        if let Some(capper) = &mut self.tracker.observers.capper {
            capper.begin(first);
        }
        if let Some(duration) = self.options.duration {
            self.marks.over = first + duration;
        }
        if let WarmUp::Time(span) = self.options.warm_up {
            self.marks.warm = first + span;
        }
    }

    /// Handles a request that may reach beyond its device, be a flush, or need a plan.
    fn arrive_in_parts(&mut self, now: Time, id: u64, mut request: Request) -> Result<(), SimulateError> {
        let measured = self.marks.measuring;
        let size = self.devices.blocks_of(id, request.device)?;
        let blocks = request.blocks as u64;
        let flush = request.op == Command::Flush;
        let past = blocks > size || request.lba.0 > size - blocks;
        let mut failed = false;
        if !flush && past && measured {
            self.tracker.observers.outcome.seen.see_beyond(&request, size);
        }
        if !flush && (past || blocks == 0) {
            match self.options.past_end {
                OutOfRangePolicy::Wrap if blocks > 0 && blocks <= size => {
                    // A request that still reaches beyond the device is moved to end at the device's end.
                    let inside = (request.lba.0 as i64).rem_euclid(size as i64) as u64;
                    request.lba = Lba(inside.min(size - blocks));
                }
                OutOfRangePolicy::DropCounted => {
                    self.tracker.observers.outcome.seen.n_dropped += measured as u64;
                    let thread = self.tracker.issuer.arriving;
                    self.tracker.issuer.issue(now, thread);
                    return Ok(());
                }
                _ => failed = true,
            }
        }
        let mut plan = std::mem::take(&mut self.devices.plan);
        plan.parts.clear();
        if flush {
            let members = self.devices.organisation.members_of(request.device);
            plan.parts.extend(members.map(|member| Part { member, lba: 0, blocks: 0 }));
        } else if !failed {
            let (device, lba) = (request.device, request.lba.0);
            self.devices.organisation.plan(device, lba, request.blocks, &mut plan);
        }
        if plan.parts.is_empty() {
            self.play();
            let answer = LayerCompletion::at_once(now, failed.then_some(ErrorKind::OutOfRange));
            let asked = Asked {
                arrival: now,
                blocks: request.blocks,
                parts: 0,
                thread: self.tracker.issuer.arriving,
                kind: operation(request.op) as u8,
                class: request.class,
                measured,
                quick: false,
            };
            self.tracker.finish(&asked, &answer);
            if measured {
                self.tracker.observers.log(None, id, Request { time: now, ..request }, &answer);
            }
        } else {
            let parts = plan.parts.len() as u32;
            let slot = self.tracker.open(id, now, &request, parts, measured);
            for part in &plan.parts {
                self.submit(now, slot, &request, part);
            }
        }
        self.devices.plan = plan;
        Ok(())
    }

    /// Ends the warm-up: counters start at `now`.
    fn begin(&mut self, now: Time) {
        self.marks.warm = Time::NEVER;
        self.pass_until(now);
        self.play();
        self.advance_all(now);
        let mut members: Vec<&mut M> = everyone(self.members, &mut self.parts).collect();
        if let Some(capper) = &mut self.tracker.observers.capper {
            capper.before_reset(now, &mut members);
        }
        members.iter_mut().for_each(|m| m.reset_statistics(now));
        self.measure_from(now);
        self.parts.iter_mut().for_each(|p| p.measure_from(now));
        self.marks.next_sample = self.tracker.observers.outcome.series.next_boundary(now);
    }

    fn measure_from(&mut self, now: Time) {
        self.marks.measuring = true;
        let width_ns = self.options.series_width_ns;
        let o = &mut self.tracker.observers.outcome;
        o.start = now;
        o.end = now;
        o.series = Series::new(now, width_ns);
    }

    #[inline(never)]
    fn advance_all(&mut self, until: Time) {
        let host = &mut self.tracker;
        for (i, member) in self.members.iter_mut().enumerate() {
            host.reach(until, i);
            member.advance(until, &mut |c| host.part_done(i, c));
        }
        self.renew();
        self.advance_parts(until);
    }

    /// Takes drives in the order of their next events from now on.
    fn take_in_order(&mut self) {
        self.due = Some(Timetable::new(self.members.len()));
        self.renew();
    }

    /// Reads the next events of all drives, if drives are taken in order of time.
    fn renew(&mut self) {
        if let Some(due) = &mut self.due {
            for (i, member) in self.members.iter().enumerate() {
                due.set(i, member.next_event());
            }
        }
        self.parts.iter_mut().for_each(Run::renew);
    }

    /// The earliest drive event and its drive.
    fn earliest(&self) -> (Time, usize) {
        self.due.as_ref().map_or((Time::NEVER, 0), Timetable::first)
    }

    /// How far the drive with the earliest event, at `time`, may be advanced by itself: until another drive or a mark
    /// is due, or a completion can have led to another request. A completion is followed by a request after `pause`
    /// at the earliest.
    #[inline]
    fn limit(&self, time: Time, pause: Span) -> Time {
        if pause == Span::ZERO {
            return Time(time.0 + 1);
        }
        let others = self.due.as_ref().map_or(time, Timetable::second);
        let marks = self.marks.next_sample.min(self.next_mark());
        others.min(marks).clamp(Time(time.0 + 1), time + pause)
    }

    /// Advances one drive, whose next event is at `time`, through its events before `until`; `WHILE_BUSY`: as
    /// [`Clock::advance_busy`].
    #[inline(never)]
    fn step<const WHILE_BUSY: bool>(&mut self, member: usize, time: Time, until: Time) -> Result<(), SimulateError> {
        let host = &mut self.tracker;
        host.reach(time, member);
        let drive = &mut self.members[member];
        let in_flight = host.in_flight;
        let mut count = |c: &M::Report| {
            if let Some(made) = c.made() {
                host.reach(made, member);
            }
            host.part_done(member, c);
        };
        match WHILE_BUSY {
            true => drive.advance_busy(time, until, &mut count),
            false => drive.advance(until, &mut count),
        }
        let next = drive.next_event();
        if let Some(due) = &mut self.due {
            due.set(member, next);
        }
        if next <= time && host.in_flight == in_flight {
            self.waits(member, time)?;
        }
        self.take_failure()
    }

    /// After an event of a drive that completed nothing and left it due at the same time: an error if the same happened
    /// before and nothing has changed since.
    #[cold]
    fn waits(&mut self, member: usize, time: Time) -> Result<(), SimulateError> {
        let waiting = self.members[member].queue_len();
        let now = Some((time, member, waiting, self.taken));
        if std::mem::replace(&mut self.waiting, now) == now {
            return Err(SimulateError::Lost { drive: member, waiting: waiting as u64 });
        }
        Ok(())
    }

    /// Returns the error that occurred since the last call, if any.
    #[inline]
    fn take_failure(&mut self) -> Result<(), SimulateError> {
        if self.failure.is_none() && self.tracker.observers.failure.is_none() {
            return Ok(());
        }
        let later = self.tracker.observers.failure.take();
        self.failure.take().or(later).map_or(Ok(()), Err)
    }
}
