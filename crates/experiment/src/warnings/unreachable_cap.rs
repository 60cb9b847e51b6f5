//! Power caps below what the drives can reach.

use super::{about, Ended};
use headstack_engine::{Check, Warning};

pub const CHECK: Check = Check {
    name: "unreachable-cap",
    summary: "a power cap is below the lowest power that the drives can have, whatever a policy does",
    way_out: "raise the cap; or let drives rest: the policy pcap-s with rest, idle timers, a lower spindle_speed",
};

pub fn find(run: &Ended, tell: &mut dyn FnMut(Warning)) {
    for (s, _, result) in run.results() {
        let Some(capping) = result.capping.as_ref().filter(|c| c.policy != "none") else {
            continue;
        };
        // The table was read before the run.
        let Ok(Some(plan)) = run.experiment.capping_of(s) else {
            continue;
        };
        let drives = result.facts.drives.iter();
        let Some(least) = drives.map(|d| d.least_power_w).sum::<Option<f64>>() else {
            continue;
        };
        let least = least / plan.table.efficiency;
        let caps = capping.series.cap_w.iter().flatten();
        let lowest = caps.copied().fold(f64::INFINITY, f64::min);
        if lowest + plan.table.tolerance.0 >= least {
            continue;
        }
        let text =
            format!("the lowest cap is {lowest:.2} W, and the drives draw at least {least:.2} W without any request");
        tell(about(&CHECK, result, text));
    }
}
