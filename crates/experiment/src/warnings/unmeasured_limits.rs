//! Duration limits longer than any with which a drive was measured.

use super::Ended;
use headstack_engine::{Check, Warning};
use headstack_units::Span;

pub const CHECK: Check = Check {
    name: "unmeasured-limits",
    summary: "a duration limit is longer than 300 ms, with which no drive was measured; in the order of commands it counts as 300 ms",
    way_out: "guidelines and inactive times of at most 300 ms; or commands without a limit",
};

/// The longest that was measured: docs/models/duration-limits.md.
const MEASURED: Span = Span(300_000_000);

pub fn find(run: &Ended, tell: &mut dyn FnMut(Warning)) {
    for result in run.one_each() {
        let longest = result.facts.drives.iter().filter_map(|d| d.longest_target);
        if let Some(longest) = longest.max().filter(|longest| *longest > MEASURED) {
            let text = format!("not measured above {MEASURED}: a limit orders commands by {longest}");
            tell(CHECK.warn(text).of_system(&result.name));
        }
    }
}
