//! Logs without a free slot.

use super::{about, words, Ended};
use headstack_engine::{Check, Warning};

pub const CHECK: Check = Check {
    name: "full-log",
    summary: "a logging disk wrote blocks in place because no slot was free, so it worked as a drive without a log",
    way_out: "a smaller footprint, or cleaning (mapping.cleaning), see docs/models/logging-disk.md",
};

pub fn find(run: &Ended, tell: &mut dyn FnMut(Warning)) {
    for (_, _, result) in run.results() {
        for drive in result.drives.iter().filter(|d| d.counters.n_in_place_writes > 0) {
            let text = format!(
                "{}: {} blocks were written in place because no slot of its log was free",
                drive.name,
                words::count(drive.counters.n_in_place_writes)
            );
            tell(about(&CHECK, result, text));
        }
    }
}
