//! Failed requests.

use super::{about, words, Ended};
use headstack_engine::{Check, Warning};

pub const CHECK: Check = Check {
    name: "failed-requests",
    summary: "requests failed",
    way_out: "the request log names the reason of each (error_kind); run.allowed_errors = 0 makes the first an error",
};

pub fn find(run: &Ended, tell: &mut dyn FnMut(Warning)) {
    for (_, _, result) in run.results() {
        if result.n_errors > 0 {
            let text = format!(
                "{} of {} requests failed: its times and rate cannot be compared",
                words::count(result.n_errors),
                words::count(result.n_requests)
            );
            tell(about(&CHECK, result, text));
        }
    }
}
