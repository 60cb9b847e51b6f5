//! Changes that never came.

use super::{about, Ended};
use headstack_engine::{Check, Warning};

pub const CHECK: Check = Check {
    name: "late-changes",
    summary: "changes of a system were due only after its last completion, and were not made",
    way_out: "earlier times (at), which count from the first request, or a longer workload",
};

pub fn find(run: &Ended, tell: &mut dyn FnMut(Warning)) {
    for (_, _, result) in run.results() {
        let Some(counts) = result.changes.filter(|c| c.n_after_end > 0) else {
            continue;
        };
        let text = format!(
            "{} of {} changes were due after the last completion and never came",
            counts.n_after_end,
            counts.n_after_end + counts.n_done
        );
        tell(about(&CHECK, result, text));
    }
}
