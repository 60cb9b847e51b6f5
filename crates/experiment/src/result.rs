//! The result of a run, in the form of `run --json`.
//!
//! Times are seconds, energies joules, powers watts. A number that does not exist (the mean of no
//! requests) is `null`.

use crate::experiment::EnergyPrice;
use crate::provenance::{DriveDescription, Input};
use crate::warnings::Facts;
use headstack_block::layer::LayerResult;
use headstack_drive::cost::CostRange;
use headstack_drive::limits::LimitCounts;
use headstack_drive::meter::BackgroundEnergy;
use headstack_drive::power::conditions::ConditionEnergy;
use headstack_drive::{Counters, DriveEnergy, RoleUse};
use headstack_engine::batches;
use headstack_engine::quantiles::mean_s;
use headstack_engine::{ByMode, SeriesPoint, Summary, Warning};
use headstack_schema::{Column, ColumnEntry, ColumnKind, Columns};
use headstack_sim::capping::CappingResult;
use headstack_sim::change::ChangeCounts;
use headstack_sim::classes::{self, ClassResult};
use headstack_sim::outcome::{MemberOutcome, Outcome, Shares, Sums, OPERATIONS};
use headstack_sim::overload::{self, Overloaded};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Most points of a response-time distribution.
pub const CDF_POINTS: usize = 1000;

/// Results of all systems on all workloads, in the order of the experiment: systems first, then workloads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunResult {
    /// One entry per system and workload.
    pub systems: Vec<SystemResult>,
    /// The prices used for every `energy_cost_usd`.
    pub cost: EnergyPrice,
    /// The run's seed.
    pub seed: u64,
    /// Version of the simulator.
    pub version: String,
    /// Equal for equal experiments, input files, drives and versions.
    pub run_id: String,
    /// The experiment with all values that decide its result: as TOML it runs again.
    pub experiment: serde_json::Value,
    /// Dotted keys of its values that were filled in: `system.0.scheduler`.
    pub defaults: Vec<String>,
    /// The input files.
    pub inputs: Vec<Input>,
    /// What makes the numbers mislead, see [`warnings`](crate::warnings).
    pub warnings: Vec<Warning>,
    /// Whether the run was stopped early.
    pub partial: bool,
}

impl RunResult {
    /// The document as one line of JSON.
    ///
    /// # Errors
    /// Never for the results of a run.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

/// One system on one workload.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Columns)]
pub struct SystemResult {
    /// The system's name.
    pub name: String,
    /// The workload's name.
    pub workload: String,
    /// Requests after the warm-up, failed ones included.
    pub n_requests: u64,
    /// Failed requests.
    pub n_errors: u64,
    /// Requests beyond the end of a device that were left out (`past_end`).
    pub n_dropped: u64,
    /// Records of the trace that were left out or changed.
    pub trace_records: TraceRecords,
    /// From the end of the warm-up (or the first arrival) to the last completion.
    pub duration_s: f64,
    /// Requests that succeeded, per second.
    pub throughput_iops: f64,
    /// Bytes of these requests per second.
    pub throughput_bytes_per_s: f64,
    /// From arrival to completion.
    pub response_time_s: Summary,
    /// From start of service to completion.
    pub service_time_s: Summary,
    /// Confidence interval of the mean response time; `null` for few requests, or without a steady state.
    pub confidence_s: Option<Confidence>,
    /// The same of `read`, `write` (with or without forced unit access) and `flush`, each if it occurs.
    #[columns(kind = by_operation())]
    pub operations: BTreeMap<&'static str, OperationResult>,
    /// Results of each class of requests, in the order of the workload; absent without classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassResult>,
    /// Why the system cannot keep up with its requests, if it cannot.
    pub overloaded: Option<Overloaded>,
    /// Means per request; they add up to the mean response time.
    pub components_s: ComponentMeans,
    /// Where requests wait: means per request that add up to the `queue` of `components_s`.
    pub queue_parts_s: QueueParts,
    /// Shares of its requests.
    #[serde(flatten)]
    pub shares: Shares<f64>,
    /// Mean number of requests in the system, failed ones included.
    pub queue_depth_mean: f64,
    /// Mean over the drives of the share of time in which the mechanism seeks, waits or transfers, for requests or in
    /// the background; the mean of several assemblies that can work at once.
    pub utilisation: f64,
    /// The part of `utilisation` that is background work.
    pub utilisation_background: f64,
    /// Of all drives, joules.
    pub energy_j: f64,
    /// Of all drives, watts.
    pub power_w: PowerByMode,
    /// Each drive.
    pub drives: Vec<DriveResult>,
    /// What the drives have counted together, the warm-up included; absent if it is nothing.
    #[serde(skip_serializing_if = "Counters::is_zero")]
    pub counters: Counters,
    /// The drives' descriptions, each once.
    pub drive: Vec<DriveDescription>,
    /// Counts of the system's changes; absent without changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<ChangeCounts>,
    /// How a power cap was kept; absent without capping.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capping: Option<CappingResult>,
    /// The layers over the drives, from the host down, each the sum of equal ones; absent without layers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<LayerResult>,
    /// Cost of the drives; `null` if their description has none.
    pub cost_usd: Cost,
    /// Cost of the mean power over the years of `cost`.
    pub energy_cost_usd: f64,
    /// `exact`, or `hdr-3`: an HdrHistogram with three significant figures.
    pub quantile_method: &'static str,
    /// Points `[seconds, fraction of requests not slower]`.
    pub response_time_cdf: Vec<[f64; 2]>,
    /// Time series.
    pub series: SeriesColumns,
    /// Whether this simulation was stopped early.
    pub partial: bool,
    /// How much of the workload it has seen; absent if it has seen all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub covered: Option<Covered>,
    /// What warnings are found from.
    #[serde(skip)]
    pub(crate) facts: Facts,
    /// The log of requests, relative to the output folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_file: Option<String>,
    /// The time series by mode of power, relative to the output folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series_file: Option<String>,
}

/// How much of its workload a simulation has seen, the warm-up included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Columns)]
pub struct Covered {
    /// Requests that have arrived.
    pub n_requests: u64,
    /// Requests of the whole workload; `null` if unknown.
    pub n_expected: Option<u64>,
    /// Whether that is an estimate, from the part of the trace that was read.
    pub is_estimate: bool,
    /// From the first arrival to the last.
    pub seconds: f64,
    /// Time of the last arrival, on the clock of the series. Completions until then are all counted.
    pub until_s: f64,
}

/// Interval that contains the mean with a probability of 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Columns)]
pub struct Confidence {
    /// Low and high end, seconds.
    pub mean: [f64; 2],
    /// Method by which it was computed.
    pub method: &'static str,
}

impl Confidence {
    fn of(interval: Option<[f64; 2]>) -> Option<Confidence> {
        interval.map(|mean| Confidence { mean, method: batches::METHOD })
    }
}

/// The requests of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Columns)]
pub struct OperationResult {
    /// Requests after the warm-up, failed ones included.
    pub n_requests: u64,
    /// Failed ones.
    pub n_errors: u64,
    /// Requests that succeeded, per second.
    pub throughput_iops: f64,
    /// Their bytes per second.
    pub throughput_bytes_per_s: f64,
    /// From arrival to completion.
    pub response_time_s: Summary,
    /// From start of service to completion.
    pub service_time_s: Summary,
    /// Confidence interval of the mean response time, as for the whole.
    pub confidence_s: Option<Confidence>,
}

/// The columns of [`SystemResult::operations`].
fn by_operation() -> ColumnKind {
    let of = |name| ColumnEntry { name, sentence: "", kind: OperationResult::kind() };
    let about = "Results of each operation; one that does not occur is absent.";
    ColumnKind::Table("Operations", about, OPERATIONS.map(of).to_vec())
}

/// Results of each operation that occurs.
fn operations(outcome: &mut Outcome, seconds: f64, steady: bool) -> BTreeMap<&'static str, OperationResult> {
    let mut found = BTreeMap::new();
    let (response, service) = (&mut outcome.response.kinds, &mut outcome.service.kinds);
    for (i, name) in OPERATIONS.into_iter().enumerate() {
        let (done, n_errors) = (response[i].count(), outcome.sums.errors_by[i]);
        if done + n_errors == 0 {
            continue;
        }
        // This must be computed before the values are sorted.
        let interval = response[i].confidence_s().filter(|_| steady);
        let result = OperationResult {
            n_requests: done + n_errors,
            n_errors,
            throughput_iops: done as f64 / seconds,
            throughput_bytes_per_s: (512 * u128::from(outcome.sums.blocks_by[i])) as f64 / seconds,
            response_time_s: response[i].summary(),
            service_time_s: service[i].summary(),
            confidence_s: Confidence::of(interval),
        };
        found.insert(name, result);
    }
    found
}

/// Records of a trace that were left out or changed, the warm-up included; all zero for synthetic
/// workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Columns)]
pub struct TraceRecords {
    /// Wrong records left out (`on_error = "skip"`).
    pub n_skipped: u64,
    /// Requests whose time was moved forward to that of the request before.
    pub n_clamped: u64,
    /// Reads and writes of no bytes, left out.
    pub n_zero_sized: u64,
}

/// Mean share of the response time per request, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Columns)]
#[columns("Components")]
pub struct ComponentMeans {
    /// Waiting.
    pub queue: f64,
    /// Command processing.
    pub overhead: f64,
    /// Arm movement.
    pub seek: f64,
    /// Waiting for the platter.
    pub rotation: f64,
    /// Transfer between medium and head.
    pub transfer: f64,
    /// The link.
    pub bus: f64,
}

impl ComponentMeans {
    /// Of sums in nanoseconds over so many requests.
    fn of(sums: [u128; 6], done: u64) -> ComponentMeans {
        let [queue, overhead, seek, rotation, transfer, bus] = sums.map(|sum| mean_s(sum, done));
        ComponentMeans { queue, overhead, seek, rotation, transfer, bus }
    }
}

/// Where requests wait, mean seconds per request.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Columns)]
pub struct QueueParts {
    /// For a place in a host queue, or for a throttle.
    pub place: f64,
    /// In an elevator.
    pub elevator: f64,
    /// In a volume: for rows or ranges, for a rebuild, for a member that left, and in the queues of the reads before a write.
    pub array: f64,
    /// In the drive.
    pub drive: f64,
}

impl QueueParts {
    fn of(sums: &Sums, done: u64) -> QueueParts {
        let [place, elevator, array] = sums.wait_ns;
        let drive = sums.component_ns[0] - place - elevator - array;
        let [place, elevator, array, drive] = [place, elevator, array, drive].map(|sum| mean_s(sum, done));
        QueueParts { place, elevator, array, drive }
    }
}

/// Mean power by mode; the modes add up to the mean.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Columns)]
#[columns("Power")]
pub struct PowerByMode {
    /// Total.
    pub mean: f64,
    /// In each mode.
    #[serde(flatten)]
    pub modes: ByMode,
}

/// One drive of a system.
#[derive(Debug, Clone, PartialEq, Serialize, Columns)]
pub struct DriveResult {
    /// The drive's name and its index in the system: `cheetah-10k-19g[3]`.
    pub name: String,
    /// Requests or parts of requests that it served.
    pub n_requests: u64,
    /// Those that failed.
    pub n_errors: u64,
    /// From arrival at the drive to completion.
    #[columns(null)]
    pub response_time_mean_s: f64,
    /// Share for which the arm moved.
    #[columns(null)]
    pub nonzero_seek_ratio: f64,
    /// Share served from the buffer.
    #[columns(null)]
    pub cache_hit_ratio: f64,
    /// Mean number of requests at the drive, failed ones included.
    pub queue_depth_mean: f64,
    /// Share of time in which the mechanism seeks, waits or transfers, for requests or in the background; the
    /// mean of several assemblies that can work at once.
    pub utilisation: f64,
    /// The part of `utilisation` that is background work.
    pub utilisation_background: f64,
    /// Energy.
    pub energy_j: f64,
    /// Mean power by mode.
    pub power_w: PowerByMode,
    /// Time by mode, averaged over the commands that the drive can have in service.
    pub time_s: ByMode,
    /// The part of the active modes that was background work.
    pub background: BackgroundEnergy,
    /// The part of idle and standby in low-power conditions; absent if zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_conditions: Option<ConditionEnergy>,
    /// Heads and assemblies taken out of use.
    pub faults: Vec<FaultResult>,
    /// What the drive has counted, the warm-up included.
    #[serde(flatten)]
    pub counters: Counters,
    /// What was counted of each duration limit, the warm-up included; absent where the drive heeds none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_limits: Option<LimitResults>,
    /// How often the arms' roles changed, the warm-up included; absent where they never change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roles: Option<RoleUse>,
}

/// What a drive has counted of its duration limits, by number from 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Columns)]
#[columns("DurationLimits")]
pub struct LimitResults {
    /// Those of reads.
    pub reads: [LimitCounts; 7],
    /// Those of writes.
    pub writes: [LimitCounts; 7],
}

/// A head or an arm assembly that a drive took out of use.
#[derive(Debug, Clone, PartialEq, Serialize, Columns)]
pub struct FaultResult {
    /// Time of the failure, or of its warning, from the start of the simulation.
    pub failed_s: f64,
    /// When the drive took it out of use.
    pub deconfigured_s: f64,
    /// Disk stack.
    pub stack: u32,
    /// Arm assembly of the stack.
    pub arm: u32,
    /// Surface of the head; `null`: the whole assembly.
    pub surface: Option<u32>,
    /// Whether the drive was warned.
    pub warning: bool,
}

/// A range of costs in dollars.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Columns)]
pub struct Cost {
    /// Lower end; `null` when nothing is known.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Kind of the price: the cost model's name, several joined by `+`. Prices of different kinds cannot be
    /// compared.
    pub price_kind: Option<String>,
}

impl Cost {
    /// Cost of all drives together, with the kinds of their prices.
    pub fn of(all: Option<CostRange>, kinds: &BTreeSet<String>) -> Cost {
        let joined = || kinds.iter().cloned().collect::<Vec<_>>().join("+");
        Cost { low: all.map(|c| c.low), high: all.map(|c| c.high), price_kind: all.map(|_| joined()) }
    }
}

/// A time series, column by column; each entry is one bucket.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Columns)]
#[columns("Series")]
pub struct SeriesColumns {
    /// Start of each bucket.
    pub t_s: Vec<f64>,
    /// Mean number of requests in the system, failed ones included.
    pub queue_depth: Vec<f64>,
    /// Mean response time of the completions in each bucket.
    #[columns(null)]
    pub response_time_mean_s: Vec<f64>,
    /// Completions per second.
    pub throughput_iops: Vec<f64>,
    /// Mean power of all drives.
    pub power_w: Vec<f64>,
}

impl SeriesColumns {
    fn of(points: &[SeriesPoint]) -> SeriesColumns {
        let column = |of: fn(&SeriesPoint) -> f64| points.iter().map(of).collect();
        SeriesColumns {
            t_s: column(|p| p.t_s),
            queue_depth: column(|p| p.queue_depth),
            response_time_mean_s: column(|p| p.response_time_mean_s),
            throughput_iops: column(|p| p.throughput_iops),
            power_w: column(|p| p.power_w.total()),
        }
    }
}

fn ratio(n: u64, of: u64) -> f64 {
    n as f64 / of as f64
}

/// Share of time at work, and the part of it that is background work; 0 if there is no time.
fn utilisation(e: &DriveEnergy) -> [f64; 2] {
    let background: f64 = e.background.each().iter().map(|work| work.time_s).sum();
    let share = |part: f64| match e.total_s() {
        total if total > 0.0 => (part / total).clamp(0.0, 1.0),
        _ => 0.0,
    };
    [share(e.seek_s + e.rotation_s + e.transfer_s), share(background)]
}

fn power(e: &DriveEnergy, seconds: f64) -> PowerByMode {
    let watts = |joules: f64| joules / seconds;
    let ByMode { idle, seek, rotation, transfer, standby } = e.joules();
    let [idle, seek, rotation, transfer, standby] = [idle, seek, rotation, transfer, standby].map(watts);
    PowerByMode { mean: watts(e.total_j()), modes: ByMode { idle, seek, rotation, transfer, standby } }
}

fn drive_result(name: String, m: &MemberOutcome, seconds: f64) -> DriveResult {
    let served = &m.served;
    let done = served.n_requests - served.n_errors;
    let e = &m.energy;
    let [utilisation, utilisation_background] = utilisation(e);
    DriveResult {
        name,
        n_requests: served.n_requests,
        n_errors: served.n_errors,
        response_time_mean_s: mean_s(served.response_ns, done),
        nonzero_seek_ratio: ratio(served.n_seeks, done),
        cache_hit_ratio: ratio(served.n_cache_hits, done),
        queue_depth_mean: (served.response_ns + served.failed_ns) as f64 * 1e-9 / seconds,
        utilisation,
        utilisation_background,
        energy_j: e.total_j(),
        power_w: power(e, seconds),
        time_s: ByMode {
            idle: e.idle_s,
            seek: e.seek_s,
            rotation: e.rotation_s,
            transfer: e.transfer_s,
            standby: e.standby_s,
        },
        background: e.background,
        power_conditions: (e.conditions != ConditionEnergy::default()).then_some(e.conditions),
        faults: m
            .faults
            .iter()
            .map(|f| FaultResult {
                failed_s: f.failed.0 as f64 * 1e-9,
                deconfigured_s: f.deconfigured.0 as f64 * 1e-9,
                stack: f.stack,
                arm: f.arm,
                surface: f.surface,
                warning: f.warning,
            })
            .collect(),
        counters: m.counters,
        duration_limits: m.limits.map(|[reads, writes]| LimitResults { reads, writes }),
        roles: m.roles.clone(),
    }
}

/// Each drive, and energy and counters of all of them.
fn of_drives(members: &[MemberOutcome], names: &[String], seconds: f64) -> (Vec<DriveResult>, DriveEnergy, Counters) {
    let (mut energy, mut counters) = (DriveEnergy::default(), Counters::default());
    for m in members {
        energy.add(&m.energy);
        counters.add(&m.counters);
    }
    let drives = members.iter().zip(names).map(|(m, name)| drive_result(name.clone(), m, seconds));
    (drives.collect(), energy, counters)
}

/// Computes the result from the outcome, and the time series by mode for a file. `names` are those of the drives.
pub fn summarise(
    names: &[String],
    energy: &EnergyPrice,
    classes: &[String],
    mut outcome: Outcome,
) -> (SystemResult, Vec<SeriesPoint>) {
    let seconds = outcome.end.since(outcome.start).as_secs_f64();
    let (n_errors, bytes) = (outcome.n_errors(), outcome.bytes());
    let done = outcome.sums.n_requests - n_errors;
    let (drives, total, counters) = of_drives(&outcome.members, names, seconds);
    let points = outcome.series.points();
    let power_w = power(&total, seconds);
    let mean = |of: fn(&DriveResult) -> f64| drives.iter().map(of).sum::<f64>() / drives.len() as f64;
    let utilisation = mean(|d| d.utilisation);
    let utilisation_background = mean(|d| d.utilisation_background);
    let overloaded = overload::find(&outcome, &points, utilisation);
    let steady = overloaded.is_none();
    let operations = operations(&mut outcome, seconds, steady);
    let classes = classes::results(&mut outcome, classes, seconds);
    let interval = outcome.batches.interval_s().filter(|_| steady);
    let mut response = outcome.response.into_all();
    // This sorts the values, of which quantiles are then read.
    let response_time_cdf = response.cdf_points(CDF_POINTS);
    let result = SystemResult {
        n_requests: outcome.sums.n_requests,
        n_errors,
        n_dropped: outcome.seen.n_dropped,
        duration_s: seconds,
        throughput_iops: done as f64 / seconds,
        throughput_bytes_per_s: bytes as f64 / seconds,
        response_time_s: response.summary(),
        service_time_s: outcome.service.into_all().summary(),
        confidence_s: Confidence::of(interval),
        operations,
        classes,
        overloaded,
        components_s: ComponentMeans::of(outcome.sums.component_ns, done),
        queue_parts_s: QueueParts::of(&outcome.sums, done),
        shares: outcome.sums.shares.of(done),
        queue_depth_mean: (response.sum_ns() + outcome.sums.failed_ns) as f64 * 1e-9 / seconds,
        utilisation,
        utilisation_background,
        energy_j: total.total_j(),
        energy_cost_usd: energy.usd(power_w.mean),
        power_w,
        drives,
        counters,
        changes: outcome.changes,
        quantile_method: response.method(),
        response_time_cdf,
        series: SeriesColumns::of(&points),
        partial: outcome.partial,
        ..SystemResult::default()
    };
    (result, points)
}
