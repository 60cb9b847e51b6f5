//! What observes a run: here each request that ends and each sample of energy is recorded, once.
//!
//! # Model
//! Observers are a fixed list, and each gets what it counts:
//!
//! | observer | is told of | counted |
//! |---|---|---|
//! | sums, classes, time series ([`Outcome`]) | measured requests, failed ones included | at once: they are sums of whole numbers |
//! | response and service times, batch means, times of classes | measured requests that succeeded | in the order of the whole system |
//! | power capping ([`Observed`]) | requests that succeeded, those of the warm-up included | at once: their order has no effect |
//! | log | measured requests, failed ones included | in the order of the whole system |
//! | drives ([`Served`](headstack_block::measured::Served)) | parts of measured requests, where no layers stand above the drives; else the drives count themselves | at once |
//! | time series | energy of all drives since the last sample | at once |
//!
//! A part of a system that is simulated by itself holds what is counted in the order of the whole ([`Held`]).

use crate::capping::{Capper, Observed};
use crate::ended::{Asked, Times};
use crate::held::Held;
use crate::outcome::{Outcome, Sums};
use crate::request_tracker::issuer::Issuer;
use crate::simulate::error::SimulateError;
use crate::simulate::record::{Log, Record};
use headstack_block::layer::LayerCompletion;
use headstack_block::member::CompletionReport;
use headstack_drive::Completion;
use headstack_engine::ByMode;
use headstack_trace::Request;
use headstack_units::Time;

/// The observers of a run, or of a part of one.
pub(crate) struct Observers<'a, 'l> {
    pub outcome: Outcome,
    /// Sums of requests of at most `u32::MAX` ns each; [`Observers::settle`] empties it after each batch.
    tally: Sums<u64>,
    /// There is one drive, so the tally is also that drive's.
    alone: bool,
    pub capper: Option<Capper>,
    /// In a capped run: what the controller is told of.
    pub observed: Option<Box<Observed>>,
    pub log: Option<&'a mut Log<'l>>,
    /// In a part of a system that is simulated by itself: what is to be counted in the order of the whole.
    pub held: Option<Box<Held>>,
    /// The last completion of requests of the warm-up.
    pub unmeasured_end: Time,
    /// Energy of all drives at the last sample.
    sampled: ByMode,
    /// The error that ends the run.
    pub failure: Option<SimulateError>,
}

impl<'a, 'l> Observers<'a, 'l> {
    pub fn new(outcome: Outcome, log: Option<&'a mut Log<'l>>) -> Observers<'a, 'l> {
        Observers {
            tally: Sums::default(),
            alone: outcome.members.len() == 1,
            outcome,
            capper: None,
            observed: None,
            log,
            held: None,
            unmeasured_end: Time::ZERO,
            sampled: ByMode::default(),
            failure: None,
        }
    }

    /// A request of one part, with no other observers than [`Outcome`], was completed by drive `member` without an error.
    /// Returns false if it cannot be counted so fast, and does nothing then.
    #[inline(always)]
    pub fn tally(&mut self, member: usize, kind: u8, blocks: u32, c: &Completion) -> bool {
        let kind = usize::from(kind);
        let o = &mut self.outcome;
        let response = c.completion.0.wrapping_sub(c.arrival.0);
        let Ok(short) = u32::try_from(response) else {
            return false;
        };
        if !o.response.has_room(kind) || !o.service.has_room(kind) {
            return false;
        }
        o.response.add_short(kind, short);
        o.batches.add(response);
        o.service.add_short(kind, (response - c.components.queue.0 as u64) as u32);
        c.with(member as u32, |done| self.tally.count(kind, blocks, response, done));
        o.end = o.end.max(c.completion);
        if !self.alone {
            o.members[member].served.count(c);
        }
        o.series.add_request(c.arrival, c.completion);
        true
    }

    /// A drive has completed a part of a measured request; no layers stand above it.
    pub fn served(&mut self, member: usize, c: &Completion) {
        self.outcome.members[member].served.count(c);
    }

    /// Adds the tally to the outcome.
    pub fn settle(&mut self) {
        let tally = std::mem::take(&mut self.tally);
        let o = &mut self.outcome;
        o.sums.absorb(&tally);
        if self.alone {
            let m = &mut o.members[0].served;
            m.n_requests += tally.n_requests;
            m.n_cache_hits += tally.shares.cache_hit_ratio;
            m.n_seeks += tally.shares.nonzero_seek_ratio;
            m.response_ns += u128::from(tally.component_ns.iter().sum::<u64>());
        }
        let end = o.end;
        self.check_end(end);
    }

    /// The run fails if requests end later than simulated time can reach.
    pub fn check_end(&mut self, end: Time) {
        if end > Time::LATEST {
            let late = SimulateError::Late { what: "a completion", time: end };
            self.failure.get_or_insert(late);
        }
    }

    /// The run reaches this time.
    pub fn reach(&mut self, time: Time) {
        self.outcome.end = self.outcome.end.max(time);
    }

    /// Follows the observers of a part of the system.
    pub fn follow(&mut self, part: &Observers) {
        let end = part.outcome.end;
        self.reach(end);
        self.check_end(end);
        self.unmeasured_end = self.unmeasured_end.max(part.unmeasured_end);
        self.outcome.series.widen(part.outcome.series.width_ns);
    }

    /// A request has ended, which `issuer` issued.
    pub fn record(&mut self, asked: &Asked, answer: &LayerCompletion, issuer: &Issuer) {
        self.check_end(answer.completion);
        let response_ns = answer.completion.since(asked.arrival).non_negative();
        let succeeded = answer.error.is_none();
        if let Some(observed) = self.observed.as_mut().filter(|_| succeeded) {
            observed.add(asked, answer, response_ns, issuer.job_of(asked.thread));
        }
        let times = Times {
            response_ns,
            service_ns: response_ns.saturating_sub(answer.components.queue.0 as u64),
            kind: asked.kind,
            class: asked.class,
            counts: asked.measured && succeeded,
        };
        match &mut self.held {
            Some(held) => held.ended(times, || issuer.waiting(asked.thread)),
            None => self.count(&times),
        }
        match asked.measured {
            true => self.add(asked, answer, response_ns),
            false => self.unmeasured_end = self.unmeasured_end.max(answer.completion),
        }
    }

    /// Counts what depends on the order of requests.
    #[inline]
    pub fn count(&mut self, times: &Times) {
        if !times.counts {
            return;
        }
        let (o, kind) = (&mut self.outcome, usize::from(times.kind));
        o.response.add(kind, times.response_ns);
        o.batches.add(times.response_ns);
        o.service.add(kind, times.service_ns);
        if let Some(class) = o.classes.get_mut(usize::from(times.class)) {
            class.response.add(times.response_ns);
        }
    }

    /// Adds a measured request to the sums.
    fn add(&mut self, asked: &Asked, answer: &LayerCompletion, response_ns: u64) {
        let (o, arrival) = (&mut self.outcome, asked.arrival);
        o.sums.count(usize::from(asked.kind), asked.blocks, response_ns, answer);
        o.end = o.end.max(answer.completion);
        if let Some(class) = o.classes.get_mut(usize::from(asked.class)) {
            class.add(asked.blocks, answer);
        }
        match answer.error {
            None => o.series.add_request(arrival, answer.completion),
            Some(_) => {
                o.series.add_failed(arrival, answer.completion);
            }
        }
    }

    /// Logs a measured request, which has this number in the workload. `slot`: in the table of requests, if it was there.
    pub fn log(&mut self, slot: Option<usize>, id: u64, request: Request, answer: &LayerCompletion) {
        let record = Record { request, answer: LayerCompletion { id, ..*answer } };
        match &mut self.held {
            Some(held) => held.logged(slot, record),
            None => self.write_log(&record),
        }
    }

    /// Writes a record into the log.
    pub fn write_log(&mut self, record: &Record) {
        if let Some(Err(e)) = self.log.as_mut().map(|log| log(record)) {
            self.failure.get_or_insert(SimulateError::Log(e));
        }
    }

    /// The drives have used `joules` since the measurement began, at the time of a sample.
    pub fn sample(&mut self, at: Time, joules: ByMode) {
        let last = std::mem::replace(&mut self.sampled, joules);
        let since = joules.less(&last);
        // The difference of two sums may be wrong in the last digits.
        let least = -1e-9 * joules.total().max(1.0);
        debug_assert!(since.least() >= least, "{since:?} J at {at:?}");
        self.outcome.series.add_energy(at, since);
    }
}
