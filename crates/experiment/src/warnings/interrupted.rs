//! A run that was interrupted.

use super::{about, words, Ended};
use headstack_engine::{Check, Warning};

pub const CHECK: Check = Check {
    name: "interrupted",
    summary: "the run was interrupted, so that systems have seen different parts of the workload",
    way_out: "compare systems by their common prefix only; run.max_requests or run.duration end all of them at the \
              same request",
};

pub fn find(run: &Ended, tell: &mut dyn FnMut(Warning)) {
    for (_, _, result) in run.results() {
        let Some(covered) = &result.covered else {
            continue;
        };
        let text = match (covered.n_requests, covered.n_expected) {
            (0, _) => "interrupted before its first request".to_string(),
            (n, Some(all)) => format!(
                "interrupted after {} of {}{} requests ({}), {:.3} s after the first",
                words::count(n),
                if covered.is_estimate { "about " } else { "" },
                words::count(all),
                words::share(n, all),
                covered.seconds
            ),
            (n, None) => {
                format!("interrupted after {} requests, {:.3} s after the first", words::count(n), covered.seconds)
            }
        };
        tell(about(&CHECK, result, text));
    }
}
