//! Values that decide and that nobody gave.

use super::Ended;
use headstack_engine::{Check, Warning};

pub const CHECK: Check = Check {
    name: "default-values",
    summary: "the buffer, the queue or the watts of a drive are defaults, because neither its file nor the experiment \
              gives them",
    way_out: "give them in the drive's file or in set: cache, queue.scheduler, queue.depth, power",
};

pub fn find(run: &Ended, tell: &mut dyn FnMut(Warning)) {
    // All workloads of a system have the same drives.
    for result in run.one_each() {
        for drive in result.drive.iter().filter(|d| !d.described.unsaid.is_empty()) {
            let unsaid: Vec<String> = drive.described.unsaid.iter().map(ToString::to_string).collect();
            let text = format!("nothing is said of {}'s {}", drive.name, unsaid.join(", "));
            tell(CHECK.warn(text).of_system(&result.name));
        }
    }
}
