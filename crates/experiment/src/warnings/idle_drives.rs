//! Drives without requests.

use super::{about, words, Ended};
use crate::experiment::System;
use crate::failure_limit::gone;
use headstack_block::layer::{Setting, VolumeSetting};
use headstack_engine::{Check, Warning};
use headstack_sim::change::Change;

pub const CHECK: Check = Check {
    name: "idle-drives",
    summary: "drives got no request, but draw power and have a price",
    way_out:
        "organisation = \"raid0\" or \"concatenate\" spreads one device over all drives; with \"independent\" each \
              device of the workload is one drive (synthetic.devices); or fewer drives (count)",
};

pub fn find(run: &Ended, tell: &mut dyn FnMut(Warning)) {
    for (s, _, result) in run.results() {
        let idle: Vec<_> = result.drives.iter().filter(|d| d.n_requests == 0).collect();
        // A run that was interrupted may not have come to them. Missing members are meant to be idle.
        let is_meant = result.covered.is_some() || lacks_members(&run.experiment.system[s]);
        if idle.is_empty() || idle.len() == result.drives.len() || is_meant {
            continue;
        }
        let watts: f64 = idle.iter().map(|d| d.power_w.mean).sum();
        let text = format!(
            "{} of {} drives got no request ({}): {watts:.2} of the system's {:.2} W are theirs",
            idle.len(),
            result.drives.len(),
            words::names(idle.iter().map(|d| d.name.as_str())),
            result.power_w.mean
        );
        tell(about(&CHECK, result, text));
    }
}

/// Whether members of its volumes are missing, from the start or later.
fn lacks_members(system: &System) -> bool {
    let leaves = |c: &Change| matches!(c.setting, Setting::Volume(VolumeSetting::MemberGone(_)));
    system.layers.iter().any(gone) || system.change.iter().any(leaves)
}
