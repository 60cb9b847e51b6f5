//! A workload with requests outside the devices.

use super::{about, words, Ended};
use crate::experiment::Workload;
use headstack_engine::{Check, Warning};
use headstack_sim::outcome::BeyondDevice;
use headstack_sim::simulate::OutOfRangePolicy;
use headstack_units::Bytes;
use serde_json::Value;

pub const CHECK: Check = Check {
    name: "workload-too-large",
    summary: "requests lie beyond the end of their device, or below its block zero: they failed, or were left out",
    way_out: "a smaller footprint, a larger drive, several drives as one device (organisation = \"raid0\" or \
              \"concatenate\"), space_scale, or past_end = \"wrap\"",
};

pub fn find(run: &Ended, tell: &mut dyn FnMut(Warning)) {
    for (_, workload, result) in run.results() {
        let Some(beyond) = &result.facts.beyond else {
            continue;
        };
        let fate = match workload.past_end {
            OutOfRangePolicy::Error => "failed",
            OutOfRangePolicy::DropCounted => "were left out",
            // The experiment says what is done with them.
            OutOfRangePolicy::Wrap => continue,
        };
        let all = result.n_requests + result.n_dropped;
        let text = format!(
            "{}: {} of {} requests ({}) lie outside and {fate}",
            in_words(workload, beyond),
            words::count(beyond.n_requests),
            words::count(all),
            words::share(beyond.n_requests, all)
        );
        tell(about(&CHECK, result, text));
    }
}

/// What does not fit, with both sizes.
pub(crate) fn in_words(workload: &Workload, beyond: &BeyondDevice) -> String {
    let device = format!("device {} of {}", beyond.device, words::size(beyond.device_blocks));
    if beyond.n_below_zero == beyond.n_requests {
        return format!("addresses below block 0 of {device}");
    }
    let synthetic = workload.synthetic.as_ref();
    let footprint = synthetic.and_then(|table| table.get("footprint"));
    let footprint = footprint.and_then(Value::as_str);
    let footprint = footprint.and_then(|text| text.parse::<Bytes>().ok());
    // Transformations change where the footprint lies.
    match footprint.filter(|_| workload.transform.given().is_empty()) {
        Some(Bytes(bytes)) => format!("a footprint of {} on {device}", words::size(bytes / 512)),
        None => format!("addresses up to {} on {device}", words::size(beyond.end_blocks)),
    }
}
