//! The time of real targets.

use rustix::time::{clock_gettime, ClockId};

/// Nanoseconds of the machine's crystal since it was made (`CLOCK_MONOTONIC_RAW`): nobody slews it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: u64,
}

fn raw_ns() -> u64 {
    let now = clock_gettime(ClockId::MonotonicRaw);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Clock {
    pub fn new() -> Clock {
        Clock { start: raw_ns() }
    }

    #[inline]
    pub fn now(&self) -> u64 {
        raw_ns() - self.start
    }
}

/// Whether this thread is scheduled in real time (`SCHED_FIFO` or `SCHED_RR`, as by `chrt -f 10`).
pub(crate) fn is_real_time() -> bool {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap_or_default();
    // The name of the thread may have spaces. Behind it, the policy is the 39th field (proc_pid_stat(5): 41).
    let policy = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(38));
    matches!(policy, Some("1" | "2"))
}
