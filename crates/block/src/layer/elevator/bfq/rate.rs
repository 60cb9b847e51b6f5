//! The rate of the drive at its best, from what it is given and completes.
//!
//! # Model
//! Over windows of a second or more, the sectors dispatched divided by the time. A window counts if at least 3/4 of its
//! requests follow the one before closely while the drive is busy, or if its rate is above what was known. What is known
//! moves towards the new rate by a tenth to a half of the difference, the more of the window is sequential and the longer it
//! is. A pause, or a request that took long, ends a window.
//!
//! The largest budget is what the drive transfers at this rate in `timeout_sync`.

use headstack_units::Time;

/// Sectors per microsecond, in units of 2^-16.
type Rate = u64;

/// Rate of a usual disk, and how long such a disk takes to start a large program: a faster disk is given less time.
const USUAL: Rate = 14_000;
const USUAL_START_NS: u64 = 7_000_000_000;
/// Bounds of that time.
const LEAST_START_NS: u64 = 3_000_000_000;
const MOST_START_NS: u64 = 25_000_000_000;
/// A pause of the drive that is not of the load.
const SHORT_NS: u64 = 2_000_000;
/// A pause after which a new window begins.
const LONG_NS: u64 = 100_000_000;
const WINDOW_NS: u64 = 1_000_000_000;
/// Least length of a window, and least number of its requests.
const LEAST_NS: u64 = 300_000_000;
const LEAST: u64 = 32;
/// 20 sectors per microsecond: more is a mistake.
const IMPOSSIBLE: Rate = 20 << 16;

/// A request that is dispatched.
#[derive(Debug, Clone, Copy)]
pub struct Dispatched {
    pub sectors: u64,
    /// Whether it lies far from the end of the last one.
    pub is_far: bool,
    /// Requests at the drive before it.
    pub at_drive: u32,
}

/// The estimate.
#[derive(Debug, Default)]
pub struct PeakRate {
    rate: Rate,
    /// Whether a window has counted.
    pub is_measured: bool,
    requests: u64,
    sequential: u64,
    sectors: u64,
    longest: u64,
    first: Time,
    last: Time,
    last_end: Time,
}

impl PeakRate {
    pub fn new() -> PeakRate {
        PeakRate { rate: USUAL * 2 / 3, ..PeakRate::default() }
    }

    /// Sectors that are transferred in a time at this rate.
    pub fn sectors_in(&self, span_ns: u64) -> u64 {
        ((u128::from(self.rate) * u128::from(span_ns / 1000)) >> 16) as u64
    }

    /// How long a process that starts is raised.
    pub fn start_ns(&self) -> u64 {
        let product = u128::from(USUAL) * u128::from(USUAL_START_NS);
        let ns = (product / u128::from(self.rate)) as u64;
        ns.clamp(LEAST_START_NS, MOST_START_NS)
    }

    pub fn dispatched(&mut self, now: Time, request: &Dispatched) {
        if self.requests == 0 {
            self.begin(now, request);
        } else if now.0 - self.last.0 > LONG_NS && request.at_drive == 0 {
            self.evaluate(now);
            self.begin(now, request);
        } else {
            self.requests += 1;
            let is_busy = request.at_drive > 0 || now.0 - self.last_end.0 < SHORT_NS;
            self.sequential += u64::from(is_busy && !request.is_far);
            self.sectors += request.sectors;
            self.longest = match self.requests % 32 {
                0 => request.sectors,
                _ => self.longest.max(request.sectors),
            };
            if now.0 - self.first.0 >= WINDOW_NS {
                self.evaluate(now);
                self.begin(now, request);
            }
        }
        self.last = now;
    }

    fn begin(&mut self, now: Time, request: &Dispatched) {
        (self.first, self.last) = (now, now);
        (self.requests, self.sequential) = (1, 0);
        (self.sectors, self.longest) = (request.sectors, request.sectors);
    }

    /// A request ended. If it took so long that it cannot have been served at a rate near the best, the window ends.
    pub fn ended(&mut self, now: Time) {
        let us = (now.0 - self.last_end.0) / 1000;
        if us > SHORT_NS / 1000 && (self.longest << 16) / us < 1 << 6 {
            self.evaluate(now);
            self.requests = 0;
        }
        self.last_end = now;
    }

    /// The window is over.
    fn evaluate(&mut self, now: Time) {
        let length = (now.0 - self.first.0).max(self.last_end.0.saturating_sub(self.first.0));
        if self.requests < LEAST || now.0 - self.first.0 < LEAST_NS {
            return;
        }
        let rate = (self.sectors << 16) / (length / 1000).max(1);
        let is_sequential = self.sequential >= self.requests * 3 / 4;
        if (!is_sequential && rate <= self.rate) || rate > IMPOSSIBLE {
            return;
        }
        let share = 9 * self.sequential / self.requests;
        let weight = (share * length / WINDOW_NS).min(8);
        let divisor = 10 - weight;
        self.is_measured = true;
        self.rate = (self.rate * (divisor - 1) / divisor + rate / divisor).max(1);
    }
}
