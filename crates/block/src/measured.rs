//! What was measured of one drive.

use headstack_drive::limits::CountsByLimit;
use headstack_drive::{Completion, Counters, Drive, DriveEnergy, Fault, RoleUse};
use headstack_units::Time;

/// The requests, or parts of requests, that a drive served. They are in one line of memory, because in a run with many
/// drives each counts in another place.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub struct Served {
    /// Their number.
    pub n_requests: u64,
    /// Those that failed.
    pub n_errors: u64,
    /// Those served from the buffer.
    pub n_cache_hits: u64,
    /// Those for which the arm moved.
    pub n_seeks: u64,
    /// Sum of response times, nanoseconds.
    pub response_ns: u128,
    /// Sum of the times that failed ones were there, nanoseconds.
    pub failed_ns: u128,
}

/// Measurements of one drive.
#[derive(Debug, Clone, Default)]
pub struct MemberOutcome {
    /// What it served.
    pub served: Served,
    /// Energy and time by mode since the warm-up.
    pub energy: DriveEnergy,
    /// Whether it was out of the system all the time.
    pub is_absent: bool,
    /// Parts taken out of use, the warm-up included.
    pub faults: Vec<Fault>,
    /// What the drive has counted, the warm-up included.
    pub counters: Counters,
    /// What the drive has counted of its duration limits, the warm-up included; `None` where it heeds none.
    pub limits: Option<CountsByLimit>,
    /// What was done with the arms' roles, the warm-up included; `None` where they never change.
    pub roles: Option<RoleUse>,
}

impl Served {
    /// Counts a request, or a part of a request.
    #[inline]
    pub fn count(&mut self, c: &Completion) {
        self.n_requests += 1;
        let response_ns = c.completion.since(c.arrival).0 as u128;
        if c.error {
            self.n_errors += 1;
            self.failed_ns += response_ns;
        } else {
            self.n_cache_hits += c.cache_hit as u64;
            self.n_seeks += c.moved() as u64;
            self.response_ns += response_ns;
        }
    }
}

impl MemberOutcome {
    /// Reads the counters that a drive has itself at `until`, except its energy.
    pub fn observe(&mut self, drive: &Drive, until: Time) {
        self.faults = drive.faults();
        self.counters = drive.counters();
        self.limits = drive.limit_counts();
        self.roles = drive.role_use(until);
    }
}
