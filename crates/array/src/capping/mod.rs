//! Power capping of a simulated system: a meter, a cap over time, a policy of `headstack-control`, and the settings
//! that the policy changes.
//!
//! # Model
//! After every `interval` of simulated time the meter gives the mean power of this interval; see [`meter`]. The
//! controller gets this reading and the cap. Its commands take effect at once. They set the places of the host's queue,
//! its depth (which is the queue depth of the drive, as in Linux), the expiry of reads of its elevator, the number of
//! arms that may move, and the limit of a throttle. So each drive needs a `host-queue` of its own in the system's
//! `layers`, and a `throttle` if the policy limits rates. A first step at the beginning, before any reading, sets the
//! policy's start values.
//!
//! | key of `[capping]` or `[system.capping]` | means | if absent |
//! |---|---|---|
//! | `policy` | name of a policy | needed |
//! | `parameters` | its table, with `tiers`, gains, bounds | none |
//! | `interval` | of the meter | 1 s |
//! | `efficiency` | of the power supply: what the drives draw over what the meter shows | 1 |
//! | `noise` | standard deviation of a reading | 0 W |
//! | `resolution` | readings are rounded to multiples of this | 0 W: not rounded |
//! | `delay` | age of the latest reading | 0 s |
//! | `response_time` | what a reading tells of response times: `mean`, `p50`, `p90`, `p99`, `max` | `mean` |
//! | `caps` | list of `{ at, cap }`, times from the first request; no `cap`: none from then on | none |
//! | `cap_file` | CSV file with seconds and watts in its first two columns; empty watts: no cap | none |
//! | `signal` | a cap that wanders; see [`caps`] | none |
//! | `tolerance` | watts above the cap that are no violation | 0 W |
//!
//! One of `caps`, `cap_file` and `signal` may be given. Keys of `[system.capping]` replace those of `[capping]`.
//! # Source
//! The parts of the set-up of M. G. Khatib and Z. Bandic, FAST 2016, section 3: a meter that is read once a second,
//! targets in a file, queues resized by the host.

pub mod caps;
pub mod meter;
mod runtime;
mod series;
mod summary;

pub use series::{write_drives, write_series, CapPoint, CapSeries, DrivePoint};
pub use summary::{CappedDrive, CappingResult, CappingSeries, Settling};

/// Every policy that `policy` can name.
pub use headstack_control::policy::PLUGINS as POLICIES;
pub use runtime::Knobs;
pub(crate) use runtime::{Capper, CappingOutcome, Done as DoneRequest};
pub(crate) use summary::summarise;

use crate::experiment::Experiment;
use caps::{CapAt, Caps, Signal};
use headstack_control::policy::{find_in, Plugin};
use headstack_drive::spec::Params;
use headstack_engine::describe::from_value;
use headstack_engine::SpecError;
use headstack_units::{Span, Watts};
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use std::path::Path;

/// The table `capping`; the keys are in this module's description.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capping {
    /// Name of the policy.
    pub policy: String,
    /// Parameters of the policy.
    #[serde(default)]
    pub parameters: Params,
    /// Time between two readings of the meter.
    #[serde(default = "one_second")]
    pub interval: Span,
    /// Efficiency of the power supply.
    #[serde(default = "one")]
    pub efficiency: f64,
    /// Standard deviation of a reading.
    #[serde(default)]
    pub noise: Watts,
    /// Step of readings.
    #[serde(default)]
    pub resolution: Watts,
    /// Age of the latest reading.
    #[serde(default)]
    pub delay: Span,
    /// Which response time a reading contains.
    #[serde(default)]
    pub response_time: Told,
    /// The cap over time.
    #[serde(default)]
    pub caps: Vec<CapAt>,
    /// A file with the cap over time.
    pub cap_file: Option<String>,
    /// A random cap.
    pub signal: Option<Signal>,
    /// How far the power may exceed the cap without a violation.
    #[serde(default)]
    pub tolerance: Watts,
}

/// Which response time a reading contains, from admission to the host's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// The mean of the interval.
    #[default]
    Mean,
    /// The median.
    P50,
    /// The 90th percentile.
    P90,
    /// The 99th percentile.
    P99,
    /// The longest.
    Max,
}

fn one_second() -> Span {
    Span(1_000_000_000)
}
fn one() -> f64 {
    1.0
}

/// A `capping` table that was checked, with its caps.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The table.
    pub table: Capping,
    /// Its caps.
    pub caps: Caps,
    /// Seed of the meter's noise and of a random cap.
    pub seed: u64,
    /// The table's place in the experiment.
    pub place: String,
}

/// Merges two tables; the keys of `own` replace those of `common`.
pub(crate) fn merged(common: &Params, own: &Params) -> Params {
    let mut table = common.clone();
    // A source of caps in `own` replaces any kind of source in `common`.
    let sources = ["caps", "cap_file", "signal"];
    if sources.iter().any(|k| own.contains_key(*k)) {
        sources.iter().for_each(|k| drop(table.remove(*k)));
    }
    // Parameters belong to the policy that they were written for.
    if own.contains_key("policy") {
        table.remove("parameters");
    }
    table.extend(own.clone());
    table
}

impl Plan {
    /// Reads a merged table of an experiment; `None` if there is none. `place` is its place there.
    ///
    /// # Errors
    /// Values out of bounds and caps that cannot be read, by dotted key. The policy is looked up when the run
    /// begins, among those of its inputs.
    pub fn read(
        table: &Params,
        base: &Path,
        seed: u64,
        place: &str,
    ) -> Result<Option<Plan>, SpecError> {
        if table.is_empty() {
            return Ok(None);
        }
        let read = || -> Result<Plan, SpecError> {
            let table: Capping = from_value(Value::Object(table.clone()))?;
            table.check()?;
            Ok(Plan {
                caps: Caps::read(&table, base)?,
                table,
                seed,
                place: place.to_string(),
            })
        };
        read().map(Some).map_err(|e| e.within(place))
    }

    /// Whether the policy is one of `policies`.
    ///
    /// # Errors
    /// The known names and the nearest one, by dotted key.
    pub(crate) fn check_policy(&self, policies: &[Plugin]) -> Result<(), SpecError> {
        let found = find_in(&self.table.policy, policies).map(drop);
        found.map_err(|e| e.within(&self.place))
    }
}

impl Capping {
    /// The values of the keys that a table may leave out.
    pub(crate) fn defaults() -> Params {
        let table: Result<Capping, _> = from_value(json!({ "policy": "none" }));
        let Ok(t) = table else { return Params::new() };
        let values = json!({
            "interval": t.interval, "efficiency": t.efficiency, "noise": t.noise,
            "resolution": t.resolution, "delay": t.delay, "response_time": t.response_time,
            "tolerance": t.tolerance,
        });
        values.as_object().cloned().unwrap_or_default()
    }

    fn check(&self) -> Result<(), SpecError> {
        let refuse = |key: &str, got: &dyn std::fmt::Display, need: &str| {
            Err(SpecError::new(key, got.to_string(), need))
        };
        let (least, most) = (Span::from_ms(10.0), Span(3_600_000_000_000));
        if !(least..=most).contains(&self.interval) {
            return refuse("interval", &self.interval, "10 ms to 1 h");
        }
        if !(0.1..=1.0).contains(&self.efficiency) {
            return refuse("efficiency", &self.efficiency, "0.1 to 1");
        }
        for (key, watts) in [
            ("noise", self.noise),
            ("resolution", self.resolution),
            ("tolerance", self.tolerance),
        ] {
            if !(0.0..=1000.0).contains(&watts.0) {
                return refuse(key, &watts, "0 to 1000 W");
            }
        }
        if !(Span::ZERO..=most).contains(&self.delay) {
            return refuse("delay", &self.delay, "0 s to 1 h");
        }
        Ok(())
    }
}

impl Experiment {
    /// The capping of a system; `None` if neither it nor the experiment has a table.
    ///
    /// # Errors
    /// As [`Plan::read`].
    pub fn capping_of(&self, system: usize) -> Result<Option<Plan>, SpecError> {
        let own = &self.system[system];
        let place = match own.capping.is_empty() {
            true => "capping".to_string(),
            false => format!("system[{system}].capping"),
        };
        let table = merged(&self.capping, &own.capping);
        let seed = own.seed.unwrap_or(self.run.seed);
        Plan::read(&table, &self.base, seed, &place)
    }
}

#[cfg(test)]
mod tests;
