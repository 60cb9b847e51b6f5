//! What a live system has counted, in simulated time.

use crate::devices::Ended;
use crate::history::Torn;
use crate::live::Access;
use hdrhistogram::Histogram;
use headstack_block::layer::ErrorKind;
use headstack_drive::Command;
use headstack_units::Time;
use std::collections::BTreeMap;
use std::time::Duration;

/// Later than this a completion is late, for [`Counters::is_too_slow`].
pub const LATE: Duration = Duration::from_millis(1);
/// The share of late completions above which the machine is too slow.
pub const LATE_SHARE: f64 = 0.01;

/// Requests of one kind.
#[derive(Debug, Clone)]
pub struct Ops {
    /// Requests that have ended, failed ones included.
    pub requests: u64,
    /// Of these, those that failed.
    pub failed: u64,
    /// Bytes of requests that did not fail.
    pub bytes: u64,
    /// Sum of the response times in nanoseconds.
    pub time_ns: u128,
    /// Response times in nanoseconds.
    pub response_ns: Histogram<u64>,
}

impl Default for Ops {
    fn default() -> Ops {
        Ops { requests: 0, failed: 0, bytes: 0, time_ns: 0, response_ns: histogram() }
    }
}

/// What was counted of one device.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs)]
pub struct DeviceCounters {
    pub reads: Ops,
    /// Writes, also zeroes.
    pub writes: Ops,
    pub flushes: Ops,
    /// Requests that are at the device.
    pub in_flight: u64,
    /// Time with requests at the device, in nanoseconds, until `since`.
    busy_ns: u64,
    /// Sum over the requests of the time at the device, until `since`.
    queue_ns: u128,
    since: Time,
}

impl DeviceCounters {
    /// The kinds with their names.
    pub fn ops(&self) -> [(&'static str, &Ops); 3] {
        [("read", &self.reads), ("write", &self.writes), ("flush", &self.flushes)]
    }

    fn reach(&mut self, now: Time) {
        let passed = now.0.saturating_sub(self.since.0);
        if self.in_flight > 0 {
            self.busy_ns += passed;
            self.queue_ns += u128::from(passed) * u128::from(self.in_flight);
        }
        self.since = self.since.max(now);
    }

    /// Time with requests at the device until `now`, in nanoseconds.
    pub fn busy_ns(&self, now: Time) -> u64 {
        let passed = now.0.saturating_sub(self.since.0);
        self.busy_ns + if self.in_flight > 0 { passed } else { 0 }
    }

    /// Sum over the requests of the time at the device until `now`, in nanoseconds.
    pub fn queue_ns(&self, now: Time) -> u128 {
        let passed = u128::from(now.0.saturating_sub(self.since.0));
        self.queue_ns + passed * u128::from(self.in_flight)
    }
}

/// What a live system has counted.
#[derive(Debug, Clone)]
pub struct Counters {
    /// By device.
    pub devices: Vec<DeviceCounters>,
    /// Failed requests by kind of error.
    pub errors: BTreeMap<&'static str, u64>,
    /// The last error, with the device.
    pub last_error: Option<(usize, ErrorKind)>,
    /// How long after its simulated end each completion was handed to its client, nanoseconds of the machine.
    pub lateness_ns: Histogram<u64>,
    /// Of these, those later than [`LATE`].
    pub late: u64,
    /// Losses of power.
    pub power_losses: u64,
    /// What became of the sectors that were not on the medium then.
    pub torn: Torn,
    /// Why the record ended before the server did.
    pub record_ended: Option<String>,
}

/// Adds a time. The histogram grows with it; `saturating_record` would count all of more than 2 us as 2 us.
fn record(times: &mut Histogram<u64>, ns: u64) {
    // Only a histogram that may not grow refuses a value.
    let _ = times.record(ns);
}

fn histogram() -> Histogram<u64> {
    Histogram::new(3).unwrap_or_else(|_| unreachable!("three digits are allowed"))
}

impl Counters {
    /// Nothing counted of so many devices.
    pub fn new(devices: usize) -> Counters {
        Counters {
            devices: vec![DeviceCounters::default(); devices],
            errors: BTreeMap::new(),
            last_error: None,
            lateness_ns: histogram(),
            late: 0,
            power_losses: 0,
            torn: Torn::default(),
            record_ended: None,
        }
    }

    /// Requests that have ended.
    pub fn requests(&self) -> u64 {
        let all = self.devices.iter().flat_map(|d| d.ops());
        all.map(|(_, ops)| ops.requests).sum()
    }

    /// Whether more completions were late than [`LATE_SHARE`].
    pub fn is_too_slow(&self) -> bool {
        self.late as f64 > LATE_SHARE * self.lateness_ns.len() as f64
    }

    /// The share of completions that were late.
    pub fn late_share(&self) -> f64 {
        self.late as f64 / self.lateness_ns.len().max(1) as f64
    }

    /// What is said at the end if the machine was too slow, or the record is not whole.
    pub fn warning(&self) -> Option<String> {
        let slow = self.is_too_slow().then(|| {
            let percent = self.late_share() * 100.0;
            format!("too slow: {percent:.1} % of the replies were later than 1 ms, so clients saw a slower drive")
        });
        let ended = self.record_ended.as_ref();
        let ended = ended.map(|why| format!("the record ended early: {why}"));
        let all: Vec<String> = slow.into_iter().chain(ended).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    pub(crate) fn begun(&mut self, device: usize, now: Time) {
        let device = &mut self.devices[device];
        device.reach(now);
        device.in_flight += 1;
    }

    pub(crate) fn ended(&mut self, access: &Access, arrival: Time, ended: &Ended) {
        let device = &mut self.devices[access.device];
        device.reach(ended.at);
        device.in_flight -= 1;
        let ops = match access.command {
            Command::Read | Command::ReadThrough => &mut device.reads,
            Command::Flush => &mut device.flushes,
            Command::Write | Command::WriteThrough => &mut device.writes,
        };
        let response = ended.at.0.saturating_sub(arrival.0);
        ops.requests += 1;
        ops.time_ns += u128::from(response);
        record(&mut ops.response_ns, response);
        match ended.error {
            None if access.command == Command::Flush => {}
            None => ops.bytes += access.length,
            Some(error) => {
                ops.failed += 1;
                *self.errors.entry(error.name()).or_default() += 1;
                self.last_error = Some((access.device, error));
            }
        }
    }

    pub(crate) fn lost(&mut self, device: usize, now: Time) {
        let device = &mut self.devices[device];
        device.reach(now);
        device.in_flight -= 1;
    }

    pub(crate) fn power_lost(&mut self, torn: Torn) {
        self.power_losses += 1;
        self.torn.add(torn);
    }

    #[doc(hidden)]
    pub fn answered(&mut self, late: Duration) {
        record(&mut self.lateness_ns, late.as_nanos() as u64);
        self.late += u64::from(late > LATE);
    }
}
