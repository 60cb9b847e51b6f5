//! A system that cannot keep up.

use super::{about, Ended};
use headstack_engine::{Check, Warning};

pub const CHECK: Check = Check {
    name: "overloaded",
    summary: "requests arrive faster than the system completes them, so its times grow with the length of the run",
    way_out: "fewer requests (a lower rate, time_scale above 1), more or faster drives, or a closed loop (arrivals)",
};

pub fn find(run: &Ended, tell: &mut dyn FnMut(Warning)) {
    for (_, _, result) in run.results() {
        if let Some(overloaded) = &result.overloaded {
            let why = &overloaded.why;
            let text = format!("cannot keep up: {why}; its times depend on the length of the run");
            tell(about(&CHECK, result, text));
        }
    }
}
