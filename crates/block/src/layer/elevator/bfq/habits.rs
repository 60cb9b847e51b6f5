//! What is known of a process: how soon it asks again, whether it seeks, whether it is bound by its requests.
//!
//! # Model
//! *Think time*: from the end of its last request until it has requests again, at most twice `slice_idle`; a moving mean
//! in which each new value has the weight 1/8. It is short until three values are known and their mean is above half of
//! `slice_idle`.
//!
//! *Seeks*: of its last 32 requests, those that lie more than 800 sectors from the end of the one before. A process that
//! has more than 19 of them is a seeky one. The first request of a process counts as a seek.
//!
//! *Bound by its requests*: it was without any for at most a fifth of the last 100 to 200 ms.

use headstack_units::Time;

/// A request that lies farther away, in sectors, is a seek.
const FAR: u64 = 800;
/// A process with more seeks among the last 32 requests is seeky.
const MANY_SEEKS: u32 = 19;
/// Longest time over which it is seen whether a process is bound by its requests.
const WINDOW_NS: u64 = 200_000_000;

/// Whether a request at `lba` is a seek from `last`.
pub(super) fn is_far(last: u64, lba: u64) -> bool {
    last.abs_diff(lba) > FAR
}

/// The habits of a process.
#[derive(Debug, Clone, Default)]
pub struct Habits {
    /// One bit for each of the last 32 requests; the last one is the lowest.
    seeks: u32,
    /// The block after its last request.
    pub position: u64,
    /// Weight of the values of the think time, 256 each, and their weighted sum.
    samples: u64,
    total: u64,
    pub has_short_think_time: bool,
    /// When its last request ended.
    pub last_end: Time,
    since: Time,
    idle_ns: u64,
    pub is_io_bound: bool,
}

impl Habits {
    pub fn new(now: Time) -> Habits {
        Habits {
            seeks: 1,
            has_short_think_time: true,
            last_end: now,
            since: now,
            is_io_bound: true,
            ..Habits::default()
        }
    }

    pub fn is_seeky(&self) -> bool {
        self.seeks.count_ones() > MANY_SEEKS
    }

    pub fn is_totally_seeky(&self) -> bool {
        self.seeks == u32::MAX
    }

    /// A request at `lba` comes, which ends at `end`.
    pub fn see_place(&mut self, lba: u64, end: u64) {
        self.seeks = self.seeks << 1 | u32::from(is_far(self.position, lba));
        self.position = end;
    }

    /// A process that had no requests has one.
    pub fn see_think_time(&mut self, now: Time, slice_idle: u64) {
        let elapsed = now.0.saturating_sub(self.last_end.0).min(2 * slice_idle);
        self.samples = (7 * self.samples + 256) / 8;
        self.total = (7 * self.total + 256 * elapsed) / 8;
    }

    /// Says anew whether the think time is short.
    pub fn judge_think_time(&mut self, slice_idle: u64) {
        let mean = (self.total + 128) / self.samples.max(1);
        // The weights of one, two and three values are 32, 60 and 84.
        self.has_short_think_time = self.samples <= 80 || mean <= slice_idle / 2;
    }

    /// A request comes; `is_idle`: the process had none, neither waiting nor at the drive. `is_new`: it is its first.
    pub fn see_intensity(&mut self, now: Time, is_idle: bool, is_new: bool) {
        if is_idle {
            self.idle_ns += now.0.saturating_sub(self.last_end.0);
        }
        if is_new {
            return;
        }
        let all = now.0.saturating_sub(self.since.0);
        self.is_io_bound = self.idle_ns * 5 <= all;
        if all > WINDOW_NS {
            self.since = Time(now.0 - all / 2);
            self.idle_ns /= 2;
        }
    }
}
