//! Refuses runs without meaningful results: without requests, or with too many failed ones.

use crate::experiment::{Experiment, System, Workload};
use crate::warnings::too_large_in_words;
use headstack_block::layer::{FailureSetting, LayerSpec, Setting, VolumeSetting};
use headstack_drive::DriveSpec;
use headstack_engine::SpecError;
use headstack_sim::change::Change;
use headstack_sim::outcome::{BeyondDevice, Outcome};
use headstack_sim::simulate::warm_up::WarmUp;

/// Whether members of a layer are missing from the start.
pub(crate) fn gone(layer: &LayerSpec) -> bool {
    layer.params.get("gone").and_then(serde_json::Value::as_array).is_some_and(|members| !members.is_empty())
}

/// Whether parts fail in this system of the experiment.
pub(crate) fn injects_failures(system: &System, drive: &DriveSpec) -> bool {
    let fails = |change: &Change| {
        use Setting::{Failure, Volume};
        matches!(change.setting, Failure(FailureSetting::Part(_)) | Volume(VolumeSetting::MemberGone(_)))
    };
    !drive.parallelism.faults.is_empty()
        || system.change.iter().any(fails)
        || system.layers.iter().any(gone)
        || gone(&system.organisation)
}

/// Refuses an outcome without requests, and one with a higher share of failed requests than
/// `run.allowed_errors`. The second is allowed where failures are `injected`. An outcome that was stopped early
/// is accepted as it is.
///
/// # Errors
/// The key that left no request, with the workload; the share of failed requests, with the system.
pub(crate) fn check(
    experiment: &Experiment,
    system: &System,
    w: usize,
    injected: bool,
    outcome: &Outcome,
) -> Result<(), SpecError> {
    if outcome.partial {
        return Ok(());
    }
    let workload = &experiment.workload[w];
    if outcome.sums.n_requests == 0 {
        return Err(nothing_done(workload, outcome).within(&format!("workload[{w}]")));
    }
    let allowed = experiment.run.allowed_errors;
    let share = outcome.n_errors() as f64 / outcome.sums.n_requests as f64;
    if injected || share <= allowed {
        return Ok(());
    }
    if let Some(beyond) = outcome.seen.beyond.filter(|b| 2 * b.n_requests > outcome.n_errors()) {
        return Err(too_large(workload, system, &beyond, share).within(&format!("workload[{w}]")));
    }
    let got = format!(
        "{:.1} % failed requests ({} of {}) in system {:?} on workload {:?}",
        100.0 * share,
        outcome.n_errors(),
        outcome.sums.n_requests,
        system.name,
        workload.name
    );
    let need = format!("at most {} %; hint: 1 allows all", 100.0 * allowed);
    Err(SpecError::new("run.allowed_errors", got, need))
}

/// The error of a workload that does not fit on a system.
fn too_large(workload: &Workload, system: &System, beyond: &BeyondDevice, share: f64) -> SpecError {
    let got = format!(
        "{} in system {:?}, where {:.1} % of the requests fail",
        too_large_in_words(workload, beyond),
        system.name,
        100.0 * share
    );
    let need = "a workload within the device; hint: past_end = \"wrap\" or \"drop-counted\", or run.allowed_errors = \
                1, which takes failed requests";
    SpecError::new("", got, need)
}

/// The reason why nothing was simulated, with the workload's key.
fn nothing_done(workload: &Workload, outcome: &Outcome) -> SpecError {
    let name = &workload.name;
    if outcome.seen.n_dropped > 0 {
        let got = format!("\"drop-counted\", which left out all {} requests of {name:?}", outcome.seen.n_dropped);
        return SpecError::new("past_end", got, "requests within the devices");
    }
    if outcome.seen.n_taken > 0 {
        let length = match workload.warm_up {
            Some(WarmUp::Time(span)) => span.to_string(),
            Some(WarmUp::Requests(n)) => format!("{n} requests"),
            None => "nothing".into(),
        };
        let n = outcome.seen.n_taken;
        let got = format!("{length}, which is all of the {n} requests of {name:?}");
        return SpecError::new("warm_up", got, "a warm-up that leaves requests");
    }
    let cutting = ["devices", "start", "end", "skip", "count"];
    let given = workload.transform.given();
    let cut = cutting.into_iter().filter(|key| given.contains(key));
    let cut: Vec<&str> = cut.collect();
    let (key, got) = match (cut.first(), &workload.trace) {
        (Some(key), _) => {
            let by = cut.join(", ");
            (*key, format!("no request of {name:?} left by {by}"))
        }
        (None, Some(path)) => ("trace", format!("no request in {path:?}")),
        (None, None) => ("synthetic.n_requests", format!("no request in {name:?}")),
    };
    SpecError::new(key, got, "at least one request")
}
