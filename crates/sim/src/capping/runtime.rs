//! The controller of a simulated system.

use super::caps::CapSchedule;
use super::meter::Meter;
use super::observed::{Interval, Observed, EXACT};
use super::series::{CapPoint, CapSeries, DrivePoint};
use super::{LatencyStatistic, Plan};
use headstack_block::controlled::ControlledDrive;
use headstack_block::layer::{HostQueueSetting, Setting};
use headstack_block::member::Member;
use headstack_control::policy::{Need, Told};
use headstack_control::{
    Actuator, Command, Controller, Device, Held, Policy, Progress, RateLimit, Rest, Sensor, Status, Work,
    MOST_READ_EXPIRE,
};
use headstack_drive::power::conditions::Condition;
use headstack_drive::Setting as DriveSetting;
use headstack_engine::Quantiles;
use headstack_schema::{Plugin, Plugins, SpecError};
use headstack_units::{Frequency, Span, Time, Watts};
use std::ops::Range;

/// The observations of a capped run.
pub struct CappingOutcome {
    /// What was to be done.
    pub plan: Plan,
    /// The policy's parameters and their defaults.
    pub told: Told,
    /// Cap and power over time.
    pub series: CapSeries,
    /// Response times from admission, by drive.
    pub by_drive: Vec<Quantiles>,
    /// Response times from submission and from admission, of all drives.
    pub all: [Quantiles; 2],
    /// Number of settings that were changed.
    pub n_changes: u64,
    /// Requests of each drive that took at most 100 ms from admission.
    pub within: Vec<u64>,
    /// The cap at the beginning.
    pub first_cap_w: Option<f64>,
}

/// The controller of a system, its meter and its caps.
pub(crate) struct Capper {
    controller: Controller,
    meter: Meter,
    schedule: CapSchedule,
    controlled: Vec<(usize, ControlledDrive)>,
    /// The last command to each drive. Its places are in force once the queue has drained.
    set: Vec<Command>,
    first: Time,
    /// When it acts next; [`Time::NEVER`] before the first request.
    pub due: Time,
    last: Time,
    /// Energy of each drive in joules at the last reading, and energy before a reset of the drives' meters since then.
    joules: Vec<f64>,
    before_reset: Vec<f64>,
    /// The requests that ended since the last reading.
    interval: Interval,
    outcome: CappingOutcome,
}

impl Capper {
    /// The controller of a plan for the drives inside `members`.
    ///
    /// # Errors
    /// A policy that cannot be built, or drives without the layers that it sets.
    pub fn new<M: Member>(
        plan: &Plan,
        policies: &Plugins<dyn Policy>,
        members: &[M],
        jobs: Vec<String>,
    ) -> Result<Capper, SpecError> {
        let mut controlled = Vec::new();
        for (m, member) in members.iter().enumerate() {
            controlled.extend(member.controlled_drives().into_iter().map(|k| (m, k)));
        }
        let table = &plan.table;
        let plugin = policies.find("policy", &table.policy)?;
        check_knobs(plugin, &controlled)?;
        let devices: Vec<Device> = controlled.iter().map(|(_, k)| device(k)).collect();
        let built = (plugin.facts.build_and_tell)(&table.parameters, &devices);
        let (policy, told) = built.map_err(|e| match e.key.as_str() {
            "drives" => e,
            _ => e.within("parameters"),
        })?;
        let n = devices.len();
        Ok(Capper {
            controller: Controller::new(policy, &devices),
            meter: Meter::new(table, plan.seed),
            schedule: CapSchedule::new(&plan.caps, plan.seed),
            set: devices.iter().map(|d| d.open).collect(),
            controlled,
            first: Time::ZERO,
            due: Time::NEVER,
            last: Time::ZERO,
            joules: vec![0.0; n],
            before_reset: vec![0.0; n],
            interval: Interval::new(n, jobs.len()),
            outcome: CappingOutcome {
                plan: plan.clone(),
                told,
                series: CapSeries::new(n, jobs),
                by_drive: Vec::new(),
                all: [Quantiles::with_limit(EXACT), Quantiles::with_limit(EXACT)],
                n_changes: 0,
                within: Vec::new(),
                first_cap_w: None,
            },
        })
    }

    /// The first request arrives at `first`; later calls have no effect.
    pub fn begin(&mut self, first: Time) {
        if self.due == Time::NEVER {
            (self.first, self.last, self.due) = (first, first, first);
        }
    }

    /// What observes the requests of some of the members for it.
    pub fn observed(&self, members: &Range<usize>) -> Observed {
        let before = |end: usize| self.controlled.partition_point(|(m, _)| *m < end);
        let (first, end) = (before(members.start), before(members.end));
        Observed::new(first, end - first, self.interval.by_job.len())
    }

    /// Reads what ended since the last reading: the next step is told of it.
    pub fn read(&mut self, observed: &mut Observed) {
        let known = self.interval.response_ns.len();
        observed.move_to(&mut self.interval);
        let [response, admitted] = &mut self.outcome.all;
        let new = |all: &[u64], times: &mut Quantiles| all[known..].iter().for_each(|t| times.add(*t));
        new(&self.interval.response_ns, response);
        new(&self.interval.admitted_ns, admitted);
    }

    /// The drives' meters are reset at `now`, up to which they were advanced.
    pub fn before_reset<M: Member>(&mut self, now: Time, members: &mut [&mut M]) {
        let now = self.read_joules(now, members);
        for ((kept, now), last) in self.before_reset.iter_mut().zip(now).zip(&mut self.joules) {
            *kept += now - *last;
            *last = 0.0;
        }
    }

    fn read_joules<M: Member>(&self, now: Time, members: &mut [&mut M]) -> Vec<f64> {
        let mut joules = Vec::with_capacity(self.controlled.len());
        for member in members {
            member.drive_joules(now, &mut joules);
        }
        joules
    }

    /// One step, when it is due. The members have been advanced to this time.
    ///
    /// # Errors
    /// A setting that a drive or a layer refuses.
    pub fn step<M: Member>(&mut self, members: &mut [&mut M], in_flight: u64) -> Result<(), SpecError> {
        let now = self.due;
        let width_s = now.since(self.last).as_secs_f64();
        let watts = self.watts(now, width_s, members);
        if let Some(watts) = &watts {
            let work = self.work(width_s);
            self.meter.take(now, watts.iter().sum(), work);
        }
        let cap = self.schedule.at(now.since(self.first));
        let status = {
            let mut controlled = Turning {
                members,
                controlled: &self.controlled,
                now,
                set: &mut self.set,
                n_changes: &mut self.outcome.n_changes,
                refused: None,
            };
            let status = self.controller.step(now, cap, &mut self.meter, &mut controlled);
            match controlled.refused {
                Some(e) => return Err(e.within("capping")),
                None => status,
            }
        };
        if now == self.first {
            self.outcome.first_cap_w = cap.map(|c| c.0);
        }
        if let Some(watts) = watts {
            self.note(now, width_s, &watts, (cap, status), in_flight);
        }
        self.last = now;
        self.due = now + self.outcome.plan.table.interval;
        Ok(())
    }

    /// Mean power of each drive since the last reading; `None` at the first step.
    fn watts<M: Member>(&mut self, now: Time, width_s: f64, members: &mut [&mut M]) -> Option<Vec<f64>> {
        let joules = self.read_joules(now, members);
        let last = std::mem::replace(&mut self.joules, joules);
        let kept = std::mem::replace(&mut self.before_reset, vec![0.0; last.len()]);
        let drawn = self.joules.iter().zip(last).zip(kept);
        let watts = drawn.map(|((now, last), kept)| (now - last + kept) / width_s);
        (width_s > 0.0).then(|| watts.collect())
    }

    /// The response time for a reading; none if no request ended.
    fn work(&mut self, width_s: f64) -> Option<Work> {
        let rate = self.interval.response_ns.len() as f64 / width_s;
        let times = &mut self.interval.admitted_ns;
        let latency = match self.outcome.plan.table.response_time {
            LatencyStatistic::Mean => mean(times)?,
            LatencyStatistic::P50 => quantile(times, 0.5)?,
            LatencyStatistic::P90 => quantile(times, 0.9)?,
            LatencyStatistic::P99 => quantile(times, 0.99)?,
            LatencyStatistic::Max => quantile(times, 1.0)?,
        };
        Some(Work { response_time: Span::from_secs_f64(latency), rate: Some(Frequency(rate)) })
    }

    /// Adds a row to the series and begins another interval.
    fn note(&mut self, now: Time, width_s: f64, watts: &[f64], (cap, status): (Option<Watts>, Status), in_flight: u64) {
        let w = &mut self.interval;
        let (response_s, admitted_s) = (shown(&mut w.response_ns), shown(&mut w.admitted_ns));
        let measured_w = self.meter.read(now).power.map(|w| w.0);
        self.outcome.series.points.push(CapPoint {
            t_s: now.since(self.first).as_secs_f64(),
            width_s,
            power_w: self.meter.before_supply(watts.iter().sum()),
            measured_w,
            cap_w: cap.map(|c| c.0),
            status,
            iops: w.response_ns.len() as f64 / width_s,
            bytes_per_s: w.blocks as f64 * 512.0 / width_s,
            in_flight,
            response_s,
            admitted_s,
            job_iops: w.by_job.iter().map(|n| *n as f64 / width_s).collect(),
        });
        for (i, command) in self.set.iter().enumerate() {
            self.outcome.series.drives.push(DrivePoint {
                power_w: watts[i],
                iops: w.by_drive[i] as f64 / width_s,
                command: *command,
            });
        }
        w.clear();
    }

    /// The observations, with those of all drives in order.
    pub fn into_outcome(mut self, observed: Vec<Observed>) -> CappingOutcome {
        for mut own in observed {
            self.read(&mut own);
            for drive in own.drives {
                self.outcome.by_drive.push(drive.times);
                self.outcome.within.push(drive.n_short);
            }
        }
        self.outcome
    }
}

/// The mean in seconds; `None` without values.
fn mean(times: &[u64]) -> Option<f64> {
    let sum: u128 = times.iter().map(|t| u128::from(*t)).sum();
    (!times.is_empty()).then(|| sum as f64 * 1e-9 / times.len() as f64)
}

/// Mean, median, 99th percentile and maximum in seconds, as [`quantile`].
fn shown(times: &mut [u64]) -> [Option<f64>; 4] {
    let s = |ns: &u64| *ns as f64 * 1e-9;
    let (mean, most) = (mean(times), times.iter().max().map(s));
    let Some(at) = place(times, 0.99) else {
        return [mean, None, None, most];
    };
    let half = place(times, 0.5).unwrap_or(at);
    // Below the 99th percentile lie fewer values, among them the median.
    let p99 = *times.select_nth_unstable(at).1;
    let p50 = *times[..=at].select_nth_unstable(half).1;
    [mean, Some(s(&p50)), Some(s(&p99)), most]
}

/// The place in order of the smallest value that is at least as large as this share of the values.
fn place(times: &[u64], q: f64) -> Option<usize> {
    let rank = (q * times.len() as f64).ceil() as usize;
    let at = rank.max(1) - 1;
    (at < times.len()).then_some(at)
}

/// The smallest value that is at least as large as this share of the values, in seconds. It changes their order:
/// sorting all of them would take longer.
fn quantile(times: &mut [u64], q: f64) -> Option<f64> {
    let at = place(times, q)?;
    Some(*times.select_nth_unstable(at).1 as f64 * 1e-9)
}

/// A drive as a policy sees it. Without a host queue of its own only its arms can be set.
fn device(controlled: &ControlledDrive) -> Device {
    let usual = Device::default();
    let (nr_requests, queue_depth) = match &controlled.queue {
        Some((_, nr_requests, depth)) => (*nr_requests, *depth),
        None => (usual.open.nr_requests, usual.open.queue_depth),
    };
    Device {
        open: Command {
            nr_requests,
            queue_depth,
            read_expire: controlled.read_expire,
            arms: controlled.arms,
            rate_limit: RateLimit::Unlimited,
            rest: Rest::Own,
        },
        most_nr_requests: usual.most_nr_requests.max(nr_requests),
        most_queue_depth: usual.most_queue_depth.max(queue_depth),
        most_read_expire: controlled.read_expire.map(|expire| MOST_READ_EXPIRE.max(expire)),
        arms: controlled.arms,
        can_limit: controlled.throttle.is_some(),
        can_unload: controlled.conditions.contains(&Condition::IdleB),
        can_stop: controlled.conditions.contains(&Condition::Standby),
        ..usual
    }
}

/// Checks that each drive has the layers with the settings that the policy needs.
fn check_knobs(plugin: &Plugin<dyn Policy>, controlled: &[(usize, ControlledDrive)]) -> Result<(), SpecError> {
    for (i, (_, k)) in controlled.iter().enumerate() {
        for need in plugin.facts.needs {
            let (layer, is_there) = match need {
                Need::Queues => ("host-queue", k.queue.is_some()),
                Need::RateLimit => ("throttle", k.throttle.is_some()),
            };
            if !is_there {
                let got = format!("drive {i} without a {layer} of its own");
                let need =
                    format!("a {layer} over each drive in the system's layers, for the policy {}", plugin.name());
                return Err(SpecError::new("policy", got, need));
            }
        }
    }
    Ok(())
}

/// The condition of a rest, and its timer.
fn timer(rest: Rest) -> Option<(Condition, Span)> {
    match rest {
        Rest::Own => None,
        Rest::Unload { after } => Some((Condition::IdleB, after)),
        Rest::Standby { after } => Some((Condition::Standby, after)),
    }
}

/// Carries out commands.
struct Turning<'a, 'm, M> {
    members: &'a mut [&'m mut M],
    controlled: &'a [(usize, ControlledDrive)],
    now: Time,
    /// As [`Capper::set`].
    set: &'a mut [Command],
    n_changes: &'a mut u64,
    /// The first setting that was refused.
    refused: Option<SpecError>,
}

impl<M: Member> Turning<'_, '_, M> {
    fn apply(&mut self, drive: usize, wanted: &Command) -> Result<(), SpecError> {
        let (member, controlled) = &self.controlled[drive];
        let (member, now) = (&mut self.members[*member], self.now);
        let before = self.set[drive];
        if let Some((way, ..)) = &controlled.queue {
            if wanted.nr_requests != before.nr_requests {
                member.apply(now, way, &Setting::HostQueue(HostQueueSetting::Requests(wanted.nr_requests)))?;
            }
            if wanted.queue_depth != before.queue_depth {
                member.apply(now, way, &Setting::HostQueue(HostQueueSetting::Depth(wanted.queue_depth)))?;
            }
            if let Some(expire) = wanted.read_expire.filter(|_| wanted.read_expire != before.read_expire) {
                member.apply(now, way, &Setting::HostQueue(HostQueueSetting::ReadExpire(expire)))?;
            }
        }
        if let Some(way) = &controlled.throttle {
            if wanted.rate_limit != before.rate_limit {
                member.apply(now, way, &Setting::Throttle(wanted.rate_limit.into()))?;
            }
        }
        if wanted.arms != before.arms {
            let arms = Setting::Drive(DriveSetting::ArmsInMotion(wanted.arms));
            member.apply(now, &controlled.drive, &arms)?;
        }
        if wanted.rest != before.rest {
            // First the timer of before as the drive's file has it, then the new one.
            let timers = [timer(before.rest).map(|t| (t.0, None)), timer(wanted.rest).map(|t| (t.0, Some(t.1)))];
            for (condition, after) in timers.into_iter().flatten() {
                let timer = Setting::Drive(DriveSetting::IdleTimer { condition, after });
                member.apply(now, &controlled.drive, &timer)?;
            }
        }
        *self.n_changes += u64::from(before != *wanted);
        self.set[drive] = *wanted;
        Ok(())
    }

    /// What became of a change of the places of a drive's queue. In Linux the write to `nr_requests` returns once the
    /// queue is empty; until then its drive gets no other command.
    fn resized(&self, drive: usize) -> Progress {
        let (member, controlled) = &self.controlled[drive];
        match &controlled.queue {
            Some((way, ..)) if self.members[*member].is_draining(way) => Progress::Pending,
            _ => Progress::Done,
        }
    }
}

impl<M: Member> Actuator for Turning<'_, '_, M> {
    fn apply(&mut self, drive: usize, command: &Command) -> Progress {
        let places = self.set[drive].nr_requests;
        match self.apply(drive, command) {
            Ok(()) if command.nr_requests != places => self.resized(drive),
            Ok(()) => Progress::Done,
            Err(e) => {
                self.refused.get_or_insert(e);
                Progress::REFUSED
            }
        }
    }

    fn poll(&mut self, drive: usize) -> Progress {
        self.resized(drive)
    }

    fn read(&mut self, drive: usize, command: &Command) -> Held {
        match self.set[drive] == *command {
            true => Held::Same,
            false => Held::Other,
        }
    }
}
