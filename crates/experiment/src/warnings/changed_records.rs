//! Records of a trace that were left out or moved.

use super::{words, Ended};
use headstack_engine::{Check, Warning};
use headstack_trace::checks::CHANGED_RECORDS;

pub const CHECK: Check = CHANGED_RECORDS;

pub fn find(run: &Ended, tell: &mut dyn FnMut(Warning)) {
    // All systems read the same trace; those that were interrupted have read a part.
    let n = run.experiment.workload.len();
    for (w, workload) in run.experiment.workload.iter().enumerate() {
        let counts = || run.systems.iter().skip(w).step_by(n).map(|s| s.trace_records);
        for (found, what) in [
            (counts().map(|c| c.n_skipped).max(), "wrong records left out"),
            (counts().map(|c| c.n_clamped).max(), "requests moved to the time of the one before"),
            (counts().map(|c| c.n_zero_sized).max(), "requests of no bytes left out"),
        ] {
            if let Some(n) = found.filter(|n| *n > 0) {
                let text = format!("{} {what}", words::count(n));
                tell(CHECK.warn(text).on(&workload.name));
            }
        }
    }
}
