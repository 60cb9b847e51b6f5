//! Time that neither a change of the date nor a suspended machine disturbs.

use headstack_units::Time;
use rustix::time::{clock_gettime, ClockId};

/// The time since the machine started, also while it was suspended (`CLOCK_BOOTTIME`).
pub fn now() -> Time {
    let t = clock_gettime(ClockId::Boottime);
    // Neither is negative.
    let (s, ns) = (t.tv_sec.max(0) as u64, t.tv_nsec.max(0) as u64);
    Time(s.saturating_mul(1_000_000_000).saturating_add(ns))
}
