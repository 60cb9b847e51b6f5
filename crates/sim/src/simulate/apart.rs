//! Parts of a system that do not influence each other, each simulated by itself.
//!
//! # Model
//! Threads that wait for their requests connect the drives that they use. Drives without common threads influence each
//! other only at marks: where the power capping controller acts, or the warm-up ends. Between two marks each part of the
//! system goes through its own events, one part after the other (so that what a part needs stays in the core's cache) and
//! several on different threads, and samples its energy on its way (`samples.rs`). What depends on the order of requests
//! (the log, batch means) is held and then counted in the order of the whole system, so that neither the division nor the
//! number of threads has an effect on results. The other figures of a part are sums of whole numbers, or sets of times.
//!
//! # Validity
//! [`divide`] decides once per run. Not divided are: systems under changes, which may concern any of their parts; runs
//! that a number of requests ends, or whose warm-up it ends, because their order decides which requests these are; threads
//! on common processors; logged runs of several bursts, because the order of their threads at the beginning of a burst
//! depends on all parts. Jobs that draw think times for all their devices from one stream connect these.

use super::{not_late, Options, Organisation, Run, SimulateError, WarmUp};
use crate::held::{Held, Order};
use crate::outcome::Outcome;
use crate::request_tracker::RequestTracker;
use headstack_block::member::Member;
use headstack_trace::{Arrivals, Jobs};
use headstack_units::{Span, Time};
use std::ops::Range;

/// Most parts: each has a time series of its own, and tables by device.
pub const MOST: usize = 64;

/// The parts of a system, as ranges of its members; `units` is the number of logical units of each member. `None` if it
/// cannot be divided.
pub fn divide(
    options: &Options,
    organisation: &dyn Organisation,
    units: &[usize],
    is_logged: bool,
) -> Option<Vec<Range<usize>>> {
    let Arrivals::Jobs { jobs, processors: None, .. } = &options.arrivals else {
        return None;
    };
    let by_number = matches!(options.warm_up, WarmUp::Requests(1..));
    if by_number || options.max_requests.is_some() || !options.changes.is_empty() {
        return None;
    }
    if is_logged && jobs.iter().any(|j| j.bursts > 1) {
        return None;
    }
    let members = units.iter().enumerate();
    let member_of: Vec<usize> = members.flat_map(|(m, n)| std::iter::repeat_n(m, *n)).collect();
    // Whether a member belongs together with the next one.
    let mut joined = vec![false; units.len()];
    for job in jobs {
        let (mut low, mut high) = (usize::MAX, 0);
        for device in job.first_device..job.first_device.checked_add(job.devices)? {
            organisation.device_blocks(device).ok()?;
            let of = organisation.members_of(device);
            let first = *member_of.get(of.start as usize)?;
            let last = *member_of.get((of.end as usize).checked_sub(1)?)?;
            if first == 0 && last + 1 == units.len() {
                return None;
            }
            joined[first..last].fill(true);
            (low, high) = (low.min(first), high.max(last));
        }
        if !job.has_devices_apart() && low < high {
            joined[low..high].fill(true);
        }
    }
    let ranges = grouped(&joined);
    (ranges.len() > 1).then_some(ranges)
}

/// The ranges of members that belong together; neighbours are put together if there are too many.
pub fn grouped(joined: &[bool]) -> Vec<Range<usize>> {
    let ends: Vec<usize> = (1..=joined.len()).filter(|end| !joined[end - 1]).collect();
    let n = ends.len().min(MOST);
    let mut start = 0;
    let ranges = (1..=n).map(|i| {
        let end = ends[i * ends.len() / n - 1];
        std::mem::replace(&mut start, end)..end
    });
    ranges.collect()
}

/// All members of a run, in order.
pub(super) fn everyone<'r, 'a, 'l, M: Member>(
    members: &'r mut [M],
    parts: &'r mut [Run<'a, 'l, M>],
) -> impl Iterator<Item = &'r mut M> + use<'r, 'a, 'l, M> {
    let apart = parts.iter_mut().flat_map(|p| p.members.iter_mut());
    members.iter_mut().chain(apart)
}

/// So many events are held before they are counted: few enough for a core's cache, and for a run that is cancelled.
const ROOM: u64 = 1 << 14;

/// Longest step.
const LONGEST: Span = Span(3_600_000_000_000);

/// With fewer requests in a step than these, waking other threads takes longer than the step.
const WORTH: u64 = 128;

/// How far the parts go before they are brought together.
struct Stride {
    span: Span,
    /// Requests of the last step.
    n: u64,
}

impl Stride {
    /// The last step had `n` requests: the next one is to have no more than [`ROOM`].
    fn adapt(&mut self, n: u64) {
        self.n = n;
        if n > ROOM {
            self.span.0 = (self.span.0 / 2).max(1);
        } else if n < ROOM / 4 {
            self.span.0 = (self.span.0 * 2).min(LONGEST.0);
        }
    }
}

impl<M: Member> Run<'_, '_, M> {
    /// Simulates jobs on a divided system.
    pub(super) fn jobs_apart(&mut self, jobs: Jobs, division: &[Range<usize>]) -> Result<(), SimulateError> {
        self.take_apart(jobs, division);
        let first = self.next_of_parts();
        if first != Time::NEVER {
            not_late(first)?;
            self.check(first, 0);
            let over = self.marks.over;
            self.parts.iter_mut().for_each(|p| p.marks.over = over);
        }
        let mut stride = Stride { span: Span::from_ms(10.0), n: 0 };
        loop {
            self.take_failure()?;
            self.report();
            if self.options.progress.is_cancelled() {
                self.tracker.observers.outcome.partial = true;
                break;
            }
            let times = self.taken.min(self.options.exact_limit as u64);
            self.memory_guard.check(self.tracker.in_flight, times)?;
            let next = self.next_of_parts();
            if next == Time::NEVER {
                break;
            }
            let mark = self.marks.next_sample.min(self.next_mark());
            if mark <= next {
                self.pass_until(mark);
                continue;
            }
            let before = self.taken;
            let until = self.next_mark().min(self.begin_samples());
            self.step_parts(until.min(next + stride.span), stride.n >= WORTH);
            stride.adapt(self.taken - before);
        }
        self.end_apart()
    }

    /// Gives each part its members and its threads.
    fn take_apart(&mut self, jobs: Jobs, division: &[Range<usize>]) {
        self.order = Order::new(jobs.n_threads(), division.len());
        let part_of = |device: u32| {
            let member = self.devices.first_member_of(device);
            division.partition_point(|own| own.end <= member)
        };
        let jobs = jobs.split(division.len(), part_of);
        let mut members = std::mem::take(&mut self.members);
        let observers = &mut self.tracker.observers;
        observers.observed = None;
        let (is_logged, capper) = (observers.log.is_some(), &observers.capper);
        for (own, jobs) in division.iter().zip(jobs) {
            let mine;
            (mine, members) = members.split_at_mut(own.len());
            let held = Held::new(is_logged);
            let outcome = Outcome::new(own.len(), self.options);
            let tracker = RequestTracker::apart(outcome, held, own.start);
            let mut part = Run::new(mine, self.devices.organisation, self.options, tracker);
            let observed = capper.as_ref().map(|c| Box::new(c.observed(own)));
            part.tracker.observers.observed = observed;
            part.devices.take_part(&self.devices, own.start);
            part.marks.next_check = Time::NEVER;
            part.tracker.issue_by_jobs(jobs);
            part.take_in_order();
            self.parts.push(part);
        }
    }

    /// The next event of all parts; [`Time::NEVER`] if no request is in flight or to come.
    fn next_of_parts(&mut self) -> Time {
        let next = self.parts.iter_mut().map(|part| match part.next_issue() {
            Time::NEVER if part.tracker.in_flight == 0 => Time::NEVER,
            issue => issue.min(part.earliest().0.max(part.marks.now)),
        });
        next.min().unwrap_or(Time::NEVER)
    }

    /// Simulates all parts up to `until`.
    fn step_parts(&mut self, until: Time, is_worth: bool) {
        let go = |part: &mut Run<M>| {
            let gone = part.go_until(until);
            part.failure = part.failure.take().or(gone.err());
        };
        match is_worth {
            true => self.options.crew.each(&mut self.parts, go),
            false => self.parts.iter_mut().for_each(go),
        }
        self.join_samples();
        self.gather();
    }

    /// Simulates this part by itself up to `until`, or until it has no more requests: then it waits for the others,
    /// because what its drives do after the last request of all is not measured.
    fn go_until(&mut self, until: Time) -> Result<(), SimulateError> {
        let pause = self.tracker.issuer.least_pause();
        loop {
            let issue = self.next_issue();
            if issue == Time::NEVER && self.tracker.in_flight == 0 {
                return Ok(());
            }
            let (drive, member) = self.earliest();
            let drive = drive.max(self.marks.now);
            let next = drive.min(issue);
            let sample = self.samples.next;
            if sample <= next && sample < until && next != Time::NEVER {
                self.take_sample();
                continue;
            }
            if next >= until {
                return Ok(());
            }
            if drive < issue {
                self.marks.now = drive;
                let until = self.limit(drive, pause).min(issue).min(until).min(sample);
                self.step::<true>(member, drive, until)?;
                continue;
            }
            not_late(issue)?;
            self.marks.now = issue;
            if let Some(request) = self.tracker.issuer.take_of_jobs() {
                self.tracker.hold_arrival(issue);
                if !self.arrive_of_thread(issue, &request) {
                    return self.take_failure();
                }
            }
        }
    }

    /// Advances the members of all parts to `until`.
    pub(super) fn advance_parts(&mut self, until: Time) {
        if !self.parts.is_empty() {
            self.parts.iter_mut().for_each(|p| p.advance_all(until));
            self.gather();
        }
    }

    /// Counts what the parts have held, and what the whole run needs to know of them.
    fn gather(&mut self) {
        let parts = self.parts.iter_mut().map(|p| &mut p.tracker.observers);
        let mut held: Vec<&mut Held> = parts.filter_map(|o| o.held.as_deref_mut()).collect();
        self.order.count(&mut held, &mut self.tracker.observers);
        (self.tracker.in_flight, self.taken) = (0, 0);
        for part in &mut self.parts {
            self.tracker.in_flight += part.tracker.in_flight;
            self.taken += part.taken;
            self.last_arrival = self.last_arrival.max(part.last_arrival);
            self.tracker.observers.follow(&part.tracker.observers);
            self.failure = self.failure.take().or(part.take_failure().err());
        }
    }

    /// After the last request of all parts, or when the run is cancelled.
    fn end_apart(&mut self) -> Result<(), SimulateError> {
        let is_partial = self.tracker.observers.outcome.partial;
        let waits = |p: &&Run<M>| p.tracker.in_flight > 0 && !is_partial;
        if let Some(part) = self.parts.iter().find(waits) {
            return Err(SimulateError::Lost { drive: part.tracker.first, waiting: part.tracker.in_flight });
        }
        if self.marks.measuring {
            let last = self.last_arrival;
            self.tracker.observers.reach(last);
        }
        let last = self.parts.iter().map(|p| p.marks.now).max();
        self.marks.passed = self.marks.passed.max(last.unwrap_or(Time::ZERO));
        self.advance_parts(self.marks.passed);
        self.report();
        Ok(())
    }

    /// Adds what the parts have counted.
    pub(super) fn absorb_parts(&mut self) {
        for part in &mut self.parts {
            let none = Outcome::new(0, self.options);
            let mut own = std::mem::replace(&mut part.tracker.observers.outcome, none);
            let members = std::mem::take(&mut own.members);
            let whole = &mut self.tracker.observers.outcome;
            let places = &mut whole.members[part.tracker.first..];
            places.iter_mut().zip(members).for_each(|(p, m)| *p = m);
            whole.absorb(own);
        }
    }
}
