//! Drives: checking, describing, importing, replaying.

use crate::errors::{config, json, raise, trace};
use crate::run::sources;
use headstack_block::layer::tree::{usable_blocks, LayerSpec};
use headstack_block::layer::{self, elevator};
use headstack_disksim::{import_with, validate as demerit, Sources};
use headstack_drive::layout::adaptive::Adaptive;
use headstack_drive::layout::{Layout, Place};
use headstack_drive::mechanics::Mechanics;
use headstack_drive::replay::{replay_closed as replay, ReplayRequest};
use headstack_drive::spec::ArmShare;
use headstack_drive::DriveOptions;
use headstack_drive::{cost, depopulation, power, DriveDesign, DriveSpec, Models};
use headstack_engine::{SpecError, Warning};
use headstack_experiment::result::SystemResult;
use headstack_experiment::{Inputs, RunError};
use headstack_schema::{Column, Field, ModelKind, Parameter, Plugin, Plugins, Usual};
use headstack_trace::ValidateRecord;
use headstack_units::Span;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use serde_json::{json, Value};
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Points of a seek curve: enough for a smooth line.
const CURVE_POINTS: u32 = 1000;

pub fn parse(spec_json: &str) -> PyResult<DriveSpec> {
    let value: Value =
        serde_json::from_str(spec_json).map_err(|e| raise("ConfigError", format!("drive: got {e}, need JSON")))?;
    DriveSpec::from_value(value, &Models::builtin()).map_err(|e| config(e.or_at("drive")))
}

/// Checks a drive and returns it with its defaults.
#[pyfunction]
pub fn check_drive(spec_json: &str) -> PyResult<String> {
    let spec = parse(spec_json)?;
    DriveDesign::new(&spec, &Models::builtin()).map_err(config)?;
    cost::Parts::of(&spec)
        .and_then(|parts| cost::build(&spec.cost, &parts, &Models::builtin().cost))
        .map_err(config)?;
    serde_json::to_string(&spec).map_err(json)
}

/// Refuses a drive of a kind from which no head can be removed.
#[pyfunction]
pub fn check_depopulation(spec_json: &str) -> PyResult<()> {
    let spec: Value = serde_json::from_str(spec_json).map_err(json)?;
    depopulation::check(&spec).map_err(config)
}

/// The description of a drive without one of its heads.
#[pyfunction]
pub fn without_head(spec_json: &str, head: i64) -> PyResult<String> {
    let spec: Value = serde_json::from_str(spec_json).map_err(json)?;
    let made = depopulation::without_head(&spec, head, &Models::builtin()).map_err(config)?;
    serde_json::to_string(&made).map_err(json)
}

/// Capacity, zones, seek curve and average seek, power by state and cost; the whole description, and which of its
/// values the given one leaves out.
#[pyfunction]
pub fn drive_info(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    let spec = parse(spec_json)?;
    let given: Value = serde_json::from_str(spec_json).map_err(json)?;
    let info = py.detach(|| describe(&spec, &given)).map_err(config)?;
    serde_json::to_string(&info).map_err(json)
}

fn describe(spec: &DriveSpec, given: &Value) -> Result<Value, SpecError> {
    let drive = DriveDesign::new(spec, &Models::builtin())?.drive(&DriveOptions::default())?;
    // Of the first unit: a stack or, where assemblies have surfaces of their own, an assembly.
    let mechanics = drive.mechanics();
    let sector = spec.geometry.sector_size.0;
    let sectors = mechanics.layout.capacity();
    let zones = zones(&*mechanics.layout);
    // Units that follow each other in the addresses repeat the zones; stacks that addresses are
    // striped over share them.
    let assemblies = match spec.parallelism.arm_share {
        ArmShare::All => 1,
        ArmShare::OwnShare => spec.dash.arms,
    };
    let stacks = match spec.parallelism.stack_unit.0 {
        0 => spec.dash.stacks,
        _ => 1,
    };
    let copies = (0..u64::from(assemblies * stacks)).map(|unit| unit * sectors);
    let zones: Vec<Value> = copies
        .flat_map(|first| zones.iter().map(move |(at, place)| (first + at, place)))
        .map(|(at, place)| {
            json!({
                "first_lba": at * (sector / 512),
                "sectors_per_track": place.sectors_per_track,
                "rate_bytes_per_s": sector as f64 / (place.sector_ns * 1e-9),
            })
        })
        .collect();
    let (curve, average) = seeks(mechanics, spec.geometry.cylinders.max(1));
    // Over a round, each head has its turn.
    let round = mechanics.layout.tracks_per_round(spec.geometry.surfaces);
    let sustained = |first: u64| {
        let rate = mechanics.sustained_sectors_per_s(first, round);
        rate.map(|r| r * sector as f64 * f64::from(assemblies * stacks))
    };
    // As many tracks before the end as there are between two visits of a head.
    let last = (0..2 * round).fold(sectors, |at, _| mechanics.layout.track_bounds(at.max(1) - 1).0);
    let described = spec.described(given, &Models::builtin());
    Ok(json!({
        "name": spec.name,
        "description": described.description,
        "defaults": described.defaults,
        "missing": described.missing,
        "unsaid": described.unsaid,
        "year": spec.year,
        "n_actuators": spec.dash.arms * spec.dash.stacks,
        "sustained_bytes_per_s": {"outer": sustained(0), "inner": sustained(last)},
        "capacity_bytes": drive.design.capacity_blocks() * 512,
        "logical_unit_blocks": drive.design.logical_units(),
        "rotation_s": mechanics.rotation.period_ns * 1e-9,
        "zones": zones,
        "surfaces": mechanics.layout.adaptive().map(Adaptive::surface_formats),
        "seek_curve": curve,
        "average_seek_s": average,
        "power_w": power::build(&spec.power, &power::Shape::of(spec), &Models::builtin().power)?,
        "cost_usd": cost::build(&spec.cost, &cost::Parts::of(spec)?, &Models::builtin().cost)?,
    }))
}

/// Bytes for data, without copies and parity, of drives with logical units of these sizes in blocks, under layers; the
/// first layer is the organisation.
#[pyfunction]
pub fn usable_bytes(layers_json: &str, drives: Vec<Vec<u64>>) -> PyResult<u64> {
    let layers: Value = serde_json::from_str(layers_json).map_err(json)?;
    let layers = Vec::<LayerSpec>::read(&layers).map_err(config)?;
    let blocks = usable_blocks(drives, &layers, &layer::PLUGINS, &elevator::PLUGINS).map_err(config)?;
    Ok(blocks * 512)
}

/// The zones in order of address: first address in sectors, and the place there.
fn zones(layout: &dyn Layout) -> Vec<(u64, Place)> {
    let sectors = layout.capacity();
    let zone_of = |s: u64| layout.locate(s).map(|p| p.zone);
    let (mut zones, mut at) = (Vec::new(), 0);
    while let Some(place) = (at < sectors).then(|| layout.locate(at)).flatten() {
        // The first address of the next one is found by halving.
        let (mut low, mut high) = (at + 1, sectors);
        while low < high {
            let middle = low + (high - low) / 2;
            if zone_of(middle) == Some(place.zone) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        zones.push((at, place));
        at = low;
    }
    zones
}

/// Seek times in seconds by distance in cylinders, and their mean over all ordered pairs of different cylinders.
fn seeks(mechanics: &Mechanics, cylinders: u32) -> (Vec<[f64; 2]>, f64) {
    let step = (cylinders / CURVE_POINTS).max(1);
    let steps = mechanics.layout.steps_per_cylinder();
    let seconds = |d: u32| mechanics.seek.time(d * steps).as_secs_f64();
    let mut distances: Vec<u32> = (1..cylinders).step_by(step as usize).collect();
    if distances.last().is_some_and(|d| *d != cylinders - 1) {
        distances.push(cylinders - 1);
    }
    let curve = distances.iter().map(|&d| [f64::from(d), seconds(d)]);
    let n = f64::from(cylinders);
    let pairs: f64 = (1..cylinders).map(|d| 2.0 * (n - f64::from(d)) * seconds(d)).sum();
    let average = if cylinders > 1 { pairs / (n * (n - 1.0)) } else { 0.0 };
    (curve.collect(), average)
}

/// The models of a list: what each is, parameters that work, and all that it takes.
fn list<T: ?Sized + ModelKind>(models: &Plugins<T>) -> Value {
    let of = |m: &Plugin<T>| {
        let parameters: Vec<Value> = m.parameters().fields.iter().map(parameter).collect();
        json!({ "name": m.name(), "summary": m.summary(), "example": m.example(), "parameters": parameters })
    };
    models.iter().map(of).collect()
}

/// What drives count.
#[pyfunction]
pub fn counters() -> PyResult<String> {
    serde_json::to_string(headstack_drive::Counters::ALL).map_err(json)
}

/// The table of a system in results: its columns, and the tables in them.
#[pyfunction]
pub fn result_columns() -> PyResult<String> {
    serde_json::to_string(&SystemResult::kind()).map_err(json)
}

/// The registries.
#[pyfunction]
pub fn plugins() -> PyResult<String> {
    let lists = Inputs::new(Vec::new());
    let models = &lists.models;
    let imports = headstack_disksim::checks::CHECKS.iter().copied();
    let warnings: Vec<_> = headstack_experiment::warnings::list().into_iter().chain(imports).collect();
    serde_json::to_string(&json!({
        "capping": list(&lists.policies),
        "cleaning": list(&models.cleaning),
        "cost": list(&models.cost),
        "elevator": list(&lists.elevators),
        "layer": list(&lists.layers),
        "layout": list(&models.layouts),
        "mapping": list(&models.policies),
        "organisation": list(&lists.organisations),
        "power": list(&models.power),
        "reader": list(&lists.formats),
        "roles": list(&models.roles),
        "scheduler": list(&models.schedulers),
        "seek": list(&models.seek),
        "warning": warnings,
    }))
    .map_err(json)
}

/// The JSON Schema of experiments, or of drive files.
#[pyfunction]
pub fn schema(of_experiments: bool) -> PyResult<String> {
    let lists = Inputs::new(Vec::new());
    let schema = match of_experiments {
        true => lists.experiment_schema(),
        false => lists.models.drive_schema(),
    };
    serde_json::to_string(&schema).map_err(json)
}

/// What is wrong with a TOML file, an experiment or a drive.
#[pyfunction]
pub fn check_file(py: Python<'_>, file: PathBuf, drive_dirs: Vec<PathBuf>) -> PyResult<String> {
    let found = py.detach(|| headstack_experiment::check_file(&file, &Inputs::new(drive_dirs)));
    let told = |error: &RunError| {
        let of_file = match error {
            RunError::Input(e) => Some(e),
            _ => None,
        };
        let at = of_file.and_then(|e| e.at);
        json!({
            "message": error.to_string(),
            "line": at.map(|(line, _)| line),
            "column": at.map(|(_, column)| column),
            "excerpt": of_file.and_then(|e| e.excerpt.as_ref()),
        })
    };
    let errors: Vec<Value> = found.iter().map(told).collect();
    serde_json::to_string(&errors).map_err(json)
}

/// Passes on what an import had to tolerate, as Python's warnings.
fn warn(py: Python<'_>, warnings: Vec<Warning>) -> PyResult<()> {
    for warning in warnings {
        let text = CString::new(warning.text.replace('\0', " "))?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)?;
    }
    Ok(())
}

/// A DiskSim file as a drive, what it had to tolerate passed on as warnings.
pub fn import(path: &Path, sources: Sources) -> PyResult<headstack_disksim::Import> {
    let found = import_with(path, sources).map_err(|e| raise("ConfigError", e))?;
    Python::attach(|py| warn(py, found.warnings()))?;
    Ok(found)
}

/// A DiskSim file as an experiment, under `trace` instead of its synthetic load if there is one; warnings as for
/// drives.
pub fn import_system(path: &Path, trace: Option<&str>, sources: Sources) -> PyResult<headstack_disksim::SystemImport> {
    let found = headstack_disksim::import_experiment(path, trace, sources);
    let found = found.map_err(|e| raise("ConfigError", e))?;
    Python::attach(|py| warn(py, found.warnings()))?;
    Ok(found)
}

/// A DiskSim file as an experiment.
#[pyfunction]
#[pyo3(signature = (path, trace, sources_anywhere=false))]
pub fn import_experiment(path: PathBuf, trace: Option<&str>, sources_anywhere: bool) -> PyResult<String> {
    let found = import_system(&path, trace, sources(sources_anywhere))?;
    serde_json::to_string(&json!({"document": found.document, "report": found.report})).map_err(json)
}

/// A DiskSim file as a drive.
#[pyfunction]
#[pyo3(signature = (path, sources_anywhere=false))]
pub fn import_disksim(path: PathBuf, sources_anywhere: bool) -> PyResult<String> {
    let found = import(&path, sources(sources_anywhere))?;
    serde_json::to_string(&json!({"spec": found.spec, "report": found.report})).map_err(json)
}

fn simulate(design: &Arc<DriveDesign>, records: &[ValidateRecord], compat: bool) -> Result<Vec<f64>, SpecError> {
    let requests: Vec<ReplayRequest> = records
        .iter()
        .map(|r| ReplayRequest { write: r.op.writes(), lba: r.lba.0, blocks: r.blocks, think: r.think.max(Span::ZERO) })
        .collect();
    let options = DriveOptions { compat_disksim_40: compat, ..DriveOptions::default() };
    replay(design, &options, &requests)?
        .iter()
        .enumerate()
        .map(|(i, t)| {
            t.map(Span::as_secs_f64).ok_or_else(|| {
                let got = format!("block {}", records[i].lba.0);
                SpecError::new(format!("request {}", i + 1), got, "a block of the drive")
            })
        })
        .collect()
}

/// Response times of a validation trace in seconds, closed loop.
#[pyfunction]
#[pyo3(signature = (spec_json, trace_path, start, count, compat))]
pub fn replay_closed(
    py: Python<'_>,
    spec_json: &str,
    trace_path: &str,
    start: usize,
    count: Option<usize>,
    compat: bool,
) -> PyResult<Vec<f64>> {
    let spec = parse(spec_json)?;
    let records = headstack_trace::read_measured(Path::new(trace_path)).map_err(trace)?;
    let rest = records.get(start..).unwrap_or_default();
    let chosen = &rest[..count.unwrap_or(rest.len()).min(rest.len())];
    let replay = || simulate(&DriveDesign::new(&spec, &Models::builtin())?, chosen, compat);
    py.detach(replay).map_err(config)
}

/// A trace with response times by columns: write, first block, blocks, measured response time in seconds.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn read_measured(path: &str) -> PyResult<(Vec<bool>, Vec<u64>, Vec<u32>, Vec<f64>)> {
    let records = headstack_trace::read_measured(Path::new(path)).map_err(trace)?;
    let (mut writes, mut lbas, mut blocks, mut measured) = (vec![], vec![], vec![], vec![]);
    for r in records {
        writes.push(r.op.writes());
        lbas.push(r.lba.0);
        blocks.push(r.blocks);
        measured.push(r.measured.as_secs_f64());
    }
    Ok((writes, lbas, blocks, measured))
}

/// The demerit figure of two samples.
#[pyfunction(name = "demerit")]
pub fn demerit_of(measured: Vec<f64>, simulated: Vec<f64>) -> f64 {
    demerit::demerit(&measured, &simulated)
}

/// Demerit of one drive of a DiskSim directory; else the file that cannot be used, and why.
fn compare(
    py: Python<'_>,
    pair: &demerit::Pair,
    compat: bool,
    sources: Sources,
) -> PyResult<Result<demerit::DriveResult, demerit::Unusable>> {
    let parameters = pair.parameters.as_path();
    let spec = match parameters.extension().is_some_and(|e| e == "toml") {
        true => {
            let inputs = Inputs::new(Vec::new());
            let spec = headstack_experiment::load_drive(&parameters.to_string_lossy(), Path::new(""), &inputs);
            spec.map_err(|e| (parameters, e.to_string()))
        }
        false => match import_with(parameters, sources) {
            Ok(import) => {
                warn(py, import.warnings())?;
                Ok(import.spec)
            }
            Err(e) => Err((parameters, e.to_string())),
        },
    };
    let found = spec.and_then(|spec| {
        let trace = pair.trace.as_path();
        let records = headstack_trace::read_measured(trace).map_err(|e| (trace, e.to_string()))?;
        let at = |path| move |e: SpecError| (path, format!("{}: {e}", Path::display(path)));
        let design = DriveDesign::new(&spec, &Models::builtin()).map_err(at(parameters))?;
        let simulated = py.detach(|| simulate(&design, &records, compat)).map_err(at(trace))?;
        let requests = records.iter();
        let requests = requests.map(|r| demerit::Request { write: r.op.writes(), lba: r.lba.0, blocks: r.blocks });
        let measured: Vec<f64> = records.iter().map(|r| r.measured.as_secs_f64()).collect();
        let compared = demerit::DriveResult::new(&pair.name, &requests.collect::<Vec<_>>(), &measured, &simulated);
        compared.map_err(|message| (trace, message))
    });
    let unusable =
        |(path, message): (&Path, String)| demerit::Unusable { name: pair.name.clone(), path: path.into(), message };
    Ok(found.map_err(unusable))
}

/// Demerit of every drive of a DiskSim directory.
#[pyfunction]
#[pyo3(signature = (dir, compat, sources_anywhere=false))]
pub fn validate(py: Python<'_>, dir: PathBuf, compat: bool, sources_anywhere: bool) -> PyResult<String> {
    let pairs = demerit::pairs(&dir).map_err(|e| {
        let message = format!("{}: got {e}, need a folder", dir.display());
        raise("ConfigError", message)
    })?;
    let mut result = demerit::Validation::default();
    for pair in pairs {
        py.check_signals()?;
        match compare(py, &pair, compat, sources(sources_anywhere))? {
            Ok(drive) => result.drives.push(drive),
            Err(unusable) => result.errors.push(unusable),
        }
    }
    serde_json::to_string(&result).map_err(json)
}

/// One parameter of a model, for tables of documentation.
fn parameter(field: &Field) -> Value {
    json!({
        "key": field.key,
        "what": field.doc,
        "default": field.default(),
        "needed": field.usual == Usual::Required,
        "bounds": field.need(),
    })
}
