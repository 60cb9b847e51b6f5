//! Power capping of a simulated system: a meter, a cap over time, a policy of `headstack-control`, and the settings
//! that the policy changes.
//!
//! # Model
//! After every `interval` of simulated time the meter gives the mean power of this interval; see [`meter`]. The
//! controller gets this reading and the cap. Its commands set the places of the host's queue, its depth (which is the
//! queue depth of the drive, as in Linux), the expiry of reads of its elevator, the number of arms that may move, and the
//! limit of a throttle. They take effect at once, except for the places of a blk-mq queue: as in Linux these change when
//! all requests in the queue have ended. It admits no others before, and its drive gets no other command. The
//! controller finds the change done at its next step. So each drive needs a `host-queue` of its own in the system's
//! `layers`, and a `throttle` if the policy limits rates. A first step at the beginning, before any reading, sets the
//! policy's start values.
//!
//! One of `caps`, `cap_file` and `signal` may be given. Keys of `[system.capping]` replace those of `[capping]`.
//! # Source
//! The parts of the set-up of M. G. Khatib and Z. Bandic, FAST 2016, section 3: a meter that is read once a second,
//! targets in a file, queues resized by the host.

pub mod caps;
pub mod meter;
mod observed;
mod runtime;
mod series;
mod summary;

pub use series::{write_drives, write_series, CapPoint, CapSeries, DrivePoint};
pub use summary::{CappedDrive, CappingResult, CappingSeries, Settling};

pub use headstack_block::controlled::ControlledDrive;
pub(crate) use observed::Observed;
pub(crate) use runtime::Capper;
pub use runtime::CappingOutcome;
pub use summary::summarise;

use caps::{CapAt, Caps, Signal};
use headstack_drive::spec::Params;
use headstack_schema::{read_table, Choice, Kind, SpecError, Table};
use headstack_units::{Span, Watts};
use std::path::Path;

/// The table `[capping]` or `[system.capping]`.
#[derive(Debug, Clone, PartialEq, Table)]
pub struct Capping {
    /// Name of the policy.
    #[param(kind = Kind::Name("capping policy"))]
    pub policy: String,
    /// Parameters of the policy; for several drives also `tiers`, `share` and `weights`.
    #[param(default, kind = Kind::Parameters("capping policy"))]
    pub parameters: Params,
    /// Time between two readings of the meter.
    #[param(default = Span(1_000_000_000), range = Span::from_ms(10.0)..=HOUR)]
    pub interval: Span,
    /// Efficiency of the power supply; the meter measures the power that goes into it.
    #[param(default = 1.0, range = 0.1..=1.0)]
    pub efficiency: f64,
    /// Standard deviation of a reading.
    #[param(default, range = Watts(0.0)..=Watts(1000.0))]
    pub noise: Watts,
    /// Step to which readings are rounded.
    #[param(default, range = Watts(0.0)..=Watts(1000.0))]
    pub resolution: Watts,
    /// Age of the latest reading.
    #[param(default, range = Span::ZERO..=HOUR)]
    pub delay: Span,
    /// Which response time a reading contains.
    #[param(default)]
    pub response_time: LatencyStatistic,
    /// The cap over time: `{ at, cap }` each; `at` counts from the first request, without `cap` the cap ends.
    #[param(default)]
    pub caps: Vec<CapAt>,
    // CSV: seconds and watts in its first two columns; empty watts: no cap from then on.
    /// CSV with the cap over time: seconds and watts; empty watts: no cap.
    pub cap_file: Option<String>,
    /// A cap that changes at random, like a share of a rack's budget.
    pub signal: Option<Signal>,
    /// How far the power may exceed the cap without counting as a violation.
    #[param(default, range = Watts(0.0)..=Watts(1000.0))]
    pub tolerance: Watts,
}

/// Which response time a reading contains, from admission to the host's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum LatencyStatistic {
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

const HOUR: Span = Span(3_600_000_000_000);

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
pub fn merged(common: &Params, own: &Params) -> Params {
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
    pub fn read(table: &Params, base: &Path, seed: u64, place: &str) -> Result<Option<Plan>, SpecError> {
        if table.is_empty() {
            return Ok(None);
        }
        let read = || -> Result<Plan, SpecError> {
            let table: Capping = read_table(table)?;
            Ok(Plan { caps: Caps::read(&table, base)?, table, seed, place: place.to_string() })
        };
        read().map(Some).map_err(|e| e.within(place))
    }
}
