//! The schema of an experiment, for TOML files and Python, with its checks.
//!
//! Errors name the dotted key, what was got and what is needed, with the nearest known name.

use crate::document::{check_kind, located, read_text, toml_value, LISTS, TOML};
use crate::overrides::Overrides;
use headstack_block::layer::tree::{AsOrganisation, LayerSpec};
use headstack_drive::spec::{Dash, Params};
use headstack_drive::DriveSpec;
use headstack_engine::quantiles::EXACT_LIMIT;
use headstack_schema::{wrong_kind, Adapter, Choice, Field, Kind, Parameter, SpecError, Table};
use headstack_sim::capping::{self, Capping};
use headstack_sim::change::Change;
use headstack_sim::simulate::warm_up::WarmUp;
use headstack_sim::simulate::OutOfRangePolicy;
use headstack_trace::{Arrivals, Job, OnError, Order, RequestClass, Synthetic, Transform};
use headstack_units::{Span, Time};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Systems to be run on workloads.
#[derive(Debug, Clone, PartialEq, Table)]
pub struct Experiment {
    /// Every system runs every workload.
    #[param(alias = "workloads", with = OneOrSeveral, need = NO_WORKLOAD)]
    pub workload: Vec<Workload>,
    /// The systems that are compared.
    #[param(alias = "systems", with = OneOrSeveral, need = NO_SYSTEM)]
    pub system: Vec<System>,
    /// Seed, threads and limits.
    #[param(default)]
    pub run: RunSpec,
    /// Prices for the cost of energy.
    #[param(default)]
    pub cost: EnergyPrice,
    /// What a system must reach to be an answer, as in `p99=20ms` or `mean<8ms, read.p99<15ms`. It has no effect on the
    /// simulation; the reader of the results compares them with it.
    pub goal: Option<String>,
    /// Power capping of all systems.
    #[param(default, kind = Capping::kind())]
    pub capping: Params,
    /// Dotted keys of values that an earlier run filled in; results mark them as defaults.
    #[param(default)]
    pub defaults: Vec<String>,
    /// The document as it was given, with keys by their first names, and workloads and systems as lists.
    #[param(skip)]
    pub document: Params,
    /// Folder that relative paths start from.
    #[param(skip)]
    pub base: PathBuf,
    /// Actual paths of traces whose names do not lead to them; results show the name.
    #[param(skip)]
    pub places: BTreeMap<String, PathBuf>,
    /// The file from which it was read, if any; errors of its run begin with its path.
    #[param(skip)]
    pub file: Option<PathBuf>,
    /// The text of that file, if it is TOML: errors show its lines.
    #[param(skip)]
    pub text: Option<String>,
    /// Overrides of parts of it; errors of its run name the keys that were set.
    #[param(skip)]
    pub overrides: Overrides,
}

const NO_WORKLOAD: &str = "a table [workload] with trace, synthetic or jobs, or several [[workload]]";
const NO_SYSTEM: &str = "one or several [[system]] with a drive";

/// One table, or a list of them.
struct OneOrSeveral;

impl<T: Parameter + InList> Adapter<Vec<T>> for OneOrSeveral {
    fn kind() -> Kind {
        Kind::OneOf(vec![T::kind(), <Vec<T>>::kind()])
    }

    fn read(value: &Value) -> Result<Vec<T>, SpecError> {
        match value {
            Value::Object(_) => Ok(vec![T::read(value)?]),
            Value::Array(list) => {
                let one = |(i, entry): (usize, &Value)| {
                    let read = match entry {
                        Value::Object(_) => T::read(entry),
                        other => Err(wrong_kind(other, T::NEED)),
                    };
                    read.map_err(|e| e.within(&format!("[{i}]")))
                };
                list.iter().enumerate().map(one).collect()
            }
            other => Err(wrong_kind(other, T::NEED_LIST)),
        }
    }

    fn write(list: &Vec<T>) -> Value {
        list.write()
    }
}

/// What is needed of a table in a list of an experiment, and of the list.
trait InList {
    const NEED: &'static str;
    const NEED_LIST: &'static str;
}

impl InList for Workload {
    const NEED: &'static str = "a table";
    const NEED_LIST: &'static str = NO_WORKLOAD;
}

impl InList for System {
    const NEED: &'static str = "a table, such as { drive = \"exos-x18\" }";
    const NEED_LIST: &'static str = NO_SYSTEM;
}

/// A trace or a synthetic workload.
#[derive(Debug, Clone, PartialEq, Table)]
#[table(before = outside_synthetic)]
pub struct Workload {
    /// Name in results; the trace's file name without extensions or `synthetic` if absent.
    #[param(default)]
    pub name: String,
    /// Path of a trace.
    pub trace: Option<String>,
    /// Format of the trace; detected if absent.
    #[param(kind = Kind::Name("trace format"))]
    pub format: Option<String>,
    /// Parameters of the format's reader.
    #[param(default, kind = Kind::Parameters("trace format"))]
    pub format_parameters: Params,
    /// Handling of a wrong record.
    #[param(default)]
    pub on_error: OnError,
    /// Times that run backwards: `strict`: a wrong record; `sort` or `sort:N`: N records (65,536) are held back and
    /// sorted, even later ones are moved forward; `format`: as the format usually needs.
    #[param(default)]
    pub order: Order,
    /// A synthetic workload, in place of a trace.
    #[param(kind = Synthetic::kind())]
    pub synthetic: Option<Params>,
    /// Threads that issue a request and wait for its end, in place of a trace or a synthetic workload.
    #[param(default, kind = <Vec<Job>>::kind())]
    pub jobs: Vec<Params>,
    /// Processors that the threads of all jobs compute on; they need none if absent.
    pub processors: Option<u32>,
    /// Classes of requests with I/O priorities, for which results are shown apart.
    #[param(default)]
    pub classes: Vec<RequestClass>,
    /// What statistics leave out: a length of time, or a number of requests; nothing if absent.
    pub warm_up: Option<WarmUp>,
    /// `"open"`: at their times; `{ closed = { outstanding = 8, think_time = "1 ms" } }`: a fixed number in flight,
    /// times ignored. If absent, the synthetic workload's or `open`.
    pub arrivals: Option<Arrivals>,
    /// Size of each device in 512-byte blocks, a list, or one number for all. If absent, it is measured by a first pass
    /// where the organisation needs it.
    #[param(with = OneOrList)]
    pub device_blocks: Option<Vec<u64>>,
    /// Handling of a request beyond the end of a device.
    #[param(default)]
    pub past_end: OutOfRangePolicy,
    /// The changes of the trace.
    #[param(flatten)]
    pub transform: Transform,
}

/// One number, or a list of them.
struct OneOrList;

impl Adapter<Option<Vec<u64>>> for OneOrList {
    fn kind() -> Kind {
        Kind::OneOf(vec![u64::kind(), <Vec<u64>>::kind()])
    }

    fn read(value: &Value) -> Result<Option<Vec<u64>>, SpecError> {
        match value {
            Value::Null => Ok(None),
            Value::Number(_) => Ok(Some(vec![u64::read(value)?])),
            list => <Vec<u64>>::read(list).map(Some),
        }
    }

    fn write(list: &Option<Vec<u64>>) -> Value {
        list.write()
    }
}

/// Refuses keys of a synthetic workload outside its table.
fn outside_synthetic(table: &Params) -> Result<(), SpecError> {
    let need = |key: &str| format!("it inside synthetic = {{ {key} = ... }}");
    refuse_keys_of(Synthetic::fields(), table, Workload::fields(), need)
}

/// Refuses keys of a workload in the table `run`.
fn of_workload(table: &Params) -> Result<(), SpecError> {
    let need = |key: &str| format!("it in a workload, as workload.{key}");
    refuse_keys_of(Workload::fields(), table, RunSpec::fields(), need)
}

/// Refuses the keys of `other` in a table that has the fields `own`.
fn refuse_keys_of(
    other: Vec<Field>,
    table: &Params,
    own: Vec<Field>,
    need: impl Fn(&str) -> String,
) -> Result<(), SpecError> {
    let has = |fields: &[Field], key: &str| fields.iter().any(|f| f.key == key);
    match table.keys().find(|k| has(&other, k) && !has(&own, k)) {
        None => Ok(()),
        Some(key) => Err(SpecError::new("", format!("key {key:?}"), need(key)).about_key(key)),
    }
}

/// Refuses a number of drives as `drives`, which is a list of drives that differ.
fn drives_without_number(table: &Params) -> Result<(), SpecError> {
    match table.get("drives") {
        Some(Value::Number(n)) => {
            let need = format!("a list of drives that differ; hint: count = {n}");
            Err(SpecError::new("drives", n, need))
        }
        _ => Ok(()),
    }
}

/// One system: drives, their organisation and their layers.
#[derive(Debug, Clone, PartialEq, Table)]
#[table(before = drives_without_number)]
pub struct System {
    /// Name in results; the drive's name if absent.
    #[param(default)]
    pub name: String,
    /// The drives, or what those of `drives` have in common.
    #[param(flatten)]
    pub common: DriveGroup,
    /// Instead of `drive` and `count`: drives that differ, in order. Each table has `drive`, `count` and values
    /// to change; keys that it leaves out are taken from the system.
    #[param(default)]
    pub drives: Vec<DriveGroup>,
    /// Name of an organisation, or a table with `name` and its parameters.
    #[param(default = LayerSpec::organisation("independent"), with = AsOrganisation)]
    pub organisation: LayerSpec,
    /// Layers over the drives, from the host down: names, or tables with `name`, `of` and parameters. The
    /// organisation then maps devices to the units of the first layer.
    #[param(default)]
    pub layers: Vec<LayerSpec>,
    /// Whether the spindles rotate in phase.
    #[param(default)]
    pub spindles: Spindles,
    /// Seed of this system's drives; the run's if absent.
    pub seed: Option<u64>,
    /// Changes while it runs.
    #[param(default)]
    pub change: Vec<Change>,
    /// Power capping; what it leaves out is the experiment's.
    #[param(default, kind = Capping::kind())]
    pub capping: Params,
}

/// Drives of one kind.
#[derive(Debug, Clone, PartialEq, Table)]
pub struct DriveGroup {
    /// A drive's name, a path to a TOML or DiskSim file, or a whole drive as a table; of a system needed without
    /// `drives`.
    #[param(default, kind = drive_kind())]
    pub drive: Value,
    /// Number of drives.
    #[param(default = 1)]
    pub count: u32,
    /// Values of the drive to change, by dotted key or nested tables.
    #[param(default, alias = "drive_overrides")]
    pub set: Params,
    /// Those of the system, unless an entry of `drives` has its own.
    #[param(flatten)]
    pub settings: DriveSettings,
}

fn drive_kind() -> Kind {
    Kind::OneOf(vec![Kind::Text, DriveSpec::kind()])
}

/// Keys of a system that change its drives, and that entries of `drives` may have themselves.
#[derive(Debug, Clone, PartialEq, Default, Table)]
pub struct DriveSettings {
    /// Scheduler of the drives; the drive's if absent.
    #[param(kind = Kind::Name("scheduler"))]
    pub scheduler: Option<String>,
    /// Parameters of the scheduler.
    #[param(kind = Kind::Parameters("scheduler"))]
    pub scheduler_parameters: Option<Params>,
    /// Commands that each drive's scheduler sees, the rest wait in order; 0: all; the drive's if absent.
    pub queue_depth: Option<u32>,
    /// Values of the drive's cache to change.
    pub cache: Option<Params>,
    /// Stacks, arm assemblies, surfaces at once and heads per arm of the drives: `D1A2S1H1`; the drive's if absent.
    pub dash: Option<Dash>,
    /// Values of the drive's parallelism to change: limits, angles, faults.
    pub parallelism: Option<Params>,
}

/// The phases of a system's spindles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum Spindles {
    /// Each spindle starts at an angle drawn from the system's seed.
    #[default]
    Free,
    /// All have the same angle at all times.
    Synchronized,
}

/// The document with alternative keys replaced by their first names.
fn first_names(document: Value) -> Params {
    let rename = |table: &mut Params, name: &str, alias: &str| {
        if let Some(value) = table.remove(alias) {
            table.insert(name.into(), value);
        }
    };
    let Value::Object(mut table) = document else {
        return Params::new();
    };
    for [name, alias] in LISTS {
        rename(&mut table, name, alias);
        if let Some(entry) = table.get_mut(name).filter(|e| e.is_object()) {
            *entry = Value::Array(vec![entry.take()]);
        }
    }
    // One size for all devices is written as a number.
    let workloads = table.get_mut("workload").and_then(Value::as_array_mut);
    for workload in workloads.into_iter().flatten() {
        if let Some(n) = workload.get_mut("device_blocks").filter(|n| n.is_number()) {
            *n = Value::Array(vec![n.take()]);
        }
    }
    let systems = table.get_mut("system").and_then(Value::as_array_mut);
    for system in systems.into_iter().flatten() {
        if let Some(system) = system.as_object_mut() {
            rename(system, "set", "drive_overrides");
        }
    }
    table
}

/// Refuses lengths of time outside the range of a run.
fn check_length(key: &str, span: Span) -> Result<(), SpecError> {
    if (0..=Time::LATEST.0 as i64).contains(&span.0) {
        return Ok(());
    }
    let need = format!("a length of time from 0, {}", Time::LATEST_SHOWN);
    Err(SpecError::new(key, span, need))
}

/// A path's file name without its extension.
fn stem(path: &str) -> String {
    let stem = Path::new(path).file_stem();
    stem.map_or(path.to_string(), |s| s.to_string_lossy().into_owned())
}

/// Name of a trace: its file name without extensions, also if it is compressed.
pub fn trace_name(path: &str) -> String {
    let packed = [".gz", ".zst", ".bz2", ".xz"];
    let plain = packed.iter().find_map(|p| path.strip_suffix(p));
    stem(plain.unwrap_or(path))
}

/// Seed, threads and limits of a run.
#[derive(Debug, Clone, PartialEq, Table)]
#[table(defaults, before = of_workload)]
pub struct RunSpec {
    /// Seed of all random streams.
    pub seed: u64,
    /// Number of threads, for systems and workloads side by side and for parts of one system that share no drive; it
    /// has no effect on the results; all cores if absent.
    #[param(range = 1..=usize::MAX)]
    pub threads: Option<usize>,
    /// No arrivals later than this after the first one; the whole workload if absent.
    pub duration: Option<Span>,
    /// Most requests, per system and workload; the whole workload if absent.
    #[param(range = 1..=u64::MAX)]
    pub max_requests: Option<u64>,
    /// Whether to log every request; needs an output folder.
    pub log_requests: bool,
    /// Number of response times that are kept exactly; above it a histogram is used.
    #[param(default = EXACT_LIMIT)]
    pub exact_limit: usize,
    /// Share of the requests of a system that may fail; more are an error (exit code 2), unless parts fail in the
    /// experiment (`fail`, `faults`, `gone`).
    #[param(default = 0.05, range = 0.0..=1.0)]
    pub allowed_errors: f64,
}

/// Cost of energy: the mean power of the workload, drawn for `years`.
///
/// The defaults are chosen: a round number near what American businesses paid for electricity in
/// the 2020s, the length of the warranty of data-centre drives, and a round number near the mean
/// that data centres reported in those years.
#[derive(Debug, Clone, Copy, PartialEq, Table)]
#[table(defaults)]
pub struct EnergyPrice {
    /// Price of energy, in US dollars per kilowatt-hour.
    #[param(default = 0.12, range = 0.0..=f64::MAX)]
    pub energy_usd_per_kwh: f64,
    /// Years for which the mean power of the workload is drawn.
    #[param(default = 5.0, range = 0.0..=f64::MAX)]
    pub years: f64,
    /// Power usage effectiveness: the power of the building divided by that of its machines.
    #[param(default = 1.5, range = 1.0..=f64::MAX)]
    pub pue: f64,
}

impl EnergyPrice {
    /// Dollars for a mean power in watts. A year has 365.25 days.
    pub fn usd(&self, watts: f64) -> f64 {
        let kwh = watts * 1e-3 * self.years * 365.25 * 24.0;
        kwh * self.pue * self.energy_usd_per_kwh
    }
}

impl Workload {
    /// Checks what the values mean together, and fills in the name; `key` is its place.
    fn complete(&mut self, key: &str) -> Result<(), SpecError> {
        let sources =
            [("trace", self.trace.is_some()), ("synthetic", self.synthetic.is_some()), ("jobs", !self.jobs.is_empty())];
        let given: Vec<&str> = sources.iter().filter(|s| s.1).map(|s| s.0).collect();
        if given.len() != 1 {
            let got = match given.is_empty() {
                true => "neither trace nor synthetic nor jobs".to_string(),
                false => given.join(" and "),
            };
            return Err(SpecError::new(key, got, "one of them"));
        }
        if self.trace.as_deref() == Some("") {
            return Err(SpecError::new(format!("{key}.trace"), "\"\"", "a path"));
        }
        if let (Some(parameter), None) = (self.format_parameters.keys().next(), &self.trace) {
            let got = format!("key {parameter:?} without a trace");
            let need = "no keys here";
            return Err(SpecError::new(format!("{key}.format_parameters"), got, need));
        }
        if let (Some(n), true) = (self.processors, self.jobs.is_empty()) {
            let place = format!("{key}.processors");
            return Err(SpecError::new(place, format!("{n} without jobs"), "no key here"));
        }
        check_sizes(key, self.device_blocks.as_deref())?;
        if let Some(WarmUp::Time(span)) = self.warm_up {
            check_length(&format!("{key}.warm_up"), span)?;
        }
        if let Some(Arrivals::Closed(closed)) = &self.arrivals {
            let place = format!("{key}.arrivals.closed");
            closed.pauses().map_err(|e| e.within(&place))?;
        }
        if self.name.is_empty() {
            self.name = match &self.trace {
                Some(path) => trace_name(path),
                None if self.jobs.is_empty() => "synthetic".into(),
                None => "jobs".into(),
            };
        }
        Ok(())
    }
}

impl System {
    /// Checks what the values mean together, and fills in the name; `key` is its place.
    fn complete(&mut self, key: &str) -> Result<(), SpecError> {
        self.check_drives().map_err(|e| e.within(key))?;
        self.planned_changes(key)?;
        if self.name.is_empty() {
            self.name = match &self.common.drive {
                Value::String(name) => stem(name),
                Value::Null => "mixed".into(),
                table => table["name"].as_str().unwrap_or("drive").to_string(),
            };
        }
        Ok(())
    }
}

impl Experiment {
    /// The capping of a system; `None` if neither it nor the experiment has a table.
    ///
    /// # Errors
    /// As [`capping::Plan::read`].
    pub fn capping_of(&self, system: usize) -> Result<Option<capping::Plan>, SpecError> {
        let own = &self.system[system];
        let place = match own.capping.is_empty() {
            true => "capping".to_string(),
            false => format!("system[{system}].capping"),
        };
        let table = capping::merged(&self.capping, &own.capping);
        let seed = own.seed.unwrap_or(self.run.seed);
        capping::Plan::read(&table, &self.base, seed, &place)
    }

    /// Reads TOML. `file` names the source in errors; relative paths start from its folder.
    ///
    /// # Errors
    /// The dotted key or line, what was got and what is needed.
    pub fn from_toml(text: &str, file: &Path) -> Result<Experiment, SpecError> {
        let value = toml_value(text, file)?;
        let base = file.parent().unwrap_or(Path::new(""));
        Experiment::from_value(value, base).map_err(|e| located(e, file, Some(text)))
    }

    /// Reads a TOML file and applies `overrides`; relative paths start from the file's folder.
    ///
    /// # Errors
    /// A file that cannot be read; else as [`Experiment::from_toml`].
    pub fn open(file: &Path, overrides: &Overrides) -> Result<Experiment, SpecError> {
        Experiment::from_text(&read_text(file, TOML)?, file, overrides)
    }

    /// As [`Experiment::open`], with TOML that was already read; errors name it `file`.
    ///
    /// # Errors
    /// As [`Experiment::from_toml`].
    pub fn from_text(text: &str, file: &Path, overrides: &Overrides) -> Result<Experiment, SpecError> {
        Experiment::in_file(toml_value(text, file)?, file, Some(text), overrides)
    }

    /// As [`Experiment::open`], with a document that was read from another kind of file.
    ///
    /// # Errors
    /// As [`Experiment::from_toml`].
    pub fn of_document(value: Value, file: &Path, overrides: &Overrides) -> Result<Experiment, SpecError> {
        Experiment::in_file(value, file, None, overrides)
    }

    fn in_file(value: Value, file: &Path, text: Option<&str>, overrides: &Overrides) -> Result<Experiment, SpecError> {
        let experiment = Experiment::changed(value, file.parent(), overrides);
        let mut experiment = experiment.map_err(|e| located(e, file, text))?;
        experiment.file = Some(file.to_path_buf());
        experiment.text = text.map(str::to_string);
        Ok(experiment)
    }

    /// Reads a parsed document and applies overrides; relative paths start from `base`, or from the current
    /// directory.
    ///
    /// # Errors
    /// As [`Experiment::from_toml`].
    pub fn changed(mut value: Value, base: Option<&Path>, overrides: &Overrides) -> Result<Experiment, SpecError> {
        overrides.apply(&mut value)?;
        let experiment = Experiment::from_value(value, base.unwrap_or(Path::new("")));
        let mut experiment = experiment.map_err(|e| overrides.named(e))?;
        experiment.overrides = overrides.clone();
        Ok(experiment)
    }

    /// Reads a parsed document.
    ///
    /// # Errors
    /// As [`Experiment::from_toml`].
    pub fn from_value(value: Value, base: &Path) -> Result<Experiment, SpecError> {
        check_kind(&value)?;
        let mut experiment = Experiment::read(&value).map_err(|e| e.or_at("experiment"))?;
        experiment.base = base.to_path_buf();
        experiment.document = first_names(value);
        experiment.complete()?;
        Ok(experiment)
    }

    /// Checks what the values mean together, and fills in names.
    fn complete(&mut self) -> Result<(), SpecError> {
        if let Some(duration) = self.run.duration {
            check_length("run.duration", duration)?;
        }
        for (list, n) in [("workload", self.workload.len()), ("system", self.system.len())] {
            if n == 0 {
                return Err(SpecError::new(list, "none", "at least one"));
            }
        }
        for (i, workload) in self.workload.iter_mut().enumerate() {
            workload.complete(&format!("workload[{i}]"))?;
        }
        for (i, system) in self.system.iter_mut().enumerate() {
            system.complete(&format!("system[{i}]"))?;
        }
        (0..self.system.len()).try_for_each(|i| self.capping_of(i).map(drop))
    }

    /// The path of a trace, from the folder of the experiment's file.
    pub fn path(&self, path: &str) -> PathBuf {
        let place = self.places.get(path);
        place.cloned().unwrap_or_else(|| self.base.join(path))
    }
}

/// A device has at least one block. An empty list would mean sizes that are measured.
fn check_sizes(key: &str, sizes: Option<&[u64]>) -> Result<(), SpecError> {
    let key = format!("{key}.device_blocks");
    match sizes {
        Some([]) => Err(SpecError::new(key, "no sizes", "one for each device, or one number")),
        Some(sizes) if sizes.contains(&0) => Err(SpecError::new(key, 0, "1 or more")),
        _ => Ok(()),
    }
}
