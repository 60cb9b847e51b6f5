//! Heads and arm assemblies that have failed.

use super::{about, Ended};
use headstack_engine::{Check, Warning};

pub const CHECK: Check = Check {
    name: "parts-out-of-use",
    summary: "drives took heads or arm assemblies out of use in the run",
    way_out: "compare with the same system without fail and faults",
};

pub fn find(run: &Ended, tell: &mut dyn FnMut(Warning)) {
    for (_, _, result) in run.results() {
        for drive in &result.drives {
            for fault in &drive.faults {
                let head = match fault.surface {
                    Some(surface) => format!(", head of surface {surface}"),
                    None => String::new(),
                };
                let text = format!(
                    "{}: stack {}, arm {}{head} out of use from {:.3} s",
                    drive.name, fault.stack, fault.arm, fault.deconfigured_s
                );
                tell(about(&CHECK, result, text));
            }
        }
    }
}
