//! An experiment as it was run, with all values that decide its result, and the keys of those that are
//! defaults.
//!
//! Values of the experiment stay as written; missing ones are filled in. Written as TOML, the result is an
//! experiment that gives the same numbers. A file may list in `defaults` which of its values were filled in by
//! an earlier run. They stay marked as long as the same values would be filled in again.

use crate::dotted::change_all;
use crate::drive_file::{load_drive, DriveFile};
use crate::experiment::{EnergyPrice, Experiment, RunSpec, System, Workload};
use crate::inputs::Inputs;
use crate::provenance::{hash_file, sha256, DriveDescription, Input};
use crate::system::PER_ENTRY;
use headstack_block::layer::host_queue::with_elevator;
use headstack_drive::spec::Params;
use headstack_drive::{Described, DriveSpec};
use headstack_schema::{fill, read_table, Parameter, SpecError, Table};
use headstack_sim::capping::caps::Signal;
use headstack_sim::capping::Capping;
use headstack_sim::simulate::warm_up::WarmUp;
use headstack_sim::simulate::OutOfRangePolicy;
use headstack_trace::synthetic::{ArrivalProcess, LocalDistance};
use headstack_trace::{reader, Arrivals, OnError, Synthetic};
use serde::Serialize;
use serde_json::{json, Map, Value};

/// An experiment with all missing values filled in.
pub(crate) struct Resolved {
    /// The experiment, keys in alphabetical order.
    pub experiment: Value,
    /// Dotted keys of the values that were filled in: `system.0.scheduler`.
    pub defaults: Vec<String>,
    /// The drives of each system.
    pub drives: Vec<Vec<DriveDescription>>,
    /// The drive files, each once.
    pub drive_files: Vec<Input>,
    /// The files of caps, each once.
    pub cap_files: Vec<Input>,
}

/// Keys of a system that entries of `drives` may have themselves.
pub(crate) const PER_DRIVE: [&str; 6] =
    ["scheduler", "scheduler_parameters", "queue_depth", "cache", "dash", "parallelism"];

/// Keys of `run` that have no effect on results.
const NOT_DECIDING: [&str; 2] = ["threads", "log_requests"];

/// Fills in the missing values of an experiment. `policies` has the defaults of the power-capping policy of each
/// system, which depend on the drives.
///
/// # Errors
/// Drives that cannot be read.
pub(crate) fn resolve(
    experiment: &Experiment,
    inputs: &Inputs,
    policies: &[Option<Params>],
) -> Result<Resolved, SpecError> {
    let mut filler =
        DefaultsFiller { experiment, inputs, defaults: Vec::new(), drive_files: Vec::new(), cap_files: Vec::new() };
    let mut document = experiment.document.clone();
    document.remove("defaults");
    for (i, workload) in experiment.workload.iter().enumerate() {
        filler.workload(i, table_of(&mut document["workload"][i]), workload);
    }
    let mut common = std::mem::take(table_of(document.entry("capping").or_insert(Value::Null)));
    let in_common = !common.is_empty();
    filler.capping("capping", &mut common, in_common);
    filler.common_parameters(&mut common, policies);
    let common = in_common.then_some(Value::Object(common));
    document.insert("capping".into(), common.unwrap_or_default());
    let mut drives = Vec::new();
    for (i, system) in experiment.system.iter().enumerate() {
        let table = table_of(&mut document["system"][i]);
        if let Some(Value::Object(capping)) = table.get_mut("capping") {
            let place = format!("system.{i}.capping");
            filler.capping(&place, capping, !in_common);
            if has_parameters(capping) {
                filler.policy(&place, capping, policies.get(i).and_then(Option::as_ref));
            }
        }
        let all = filler.system(i, table, system);
        drives.push(all.map_err(|e| e.within(&format!("system[{i}]")))?);
    }
    let run = table_of(document.entry("run").or_insert(Value::Null));
    NOT_DECIDING.iter().for_each(|key| drop(run.remove(*key)));
    filler.fill_usual::<RunSpec>(run, "run", &NOT_DECIDING);
    filler.fill_usual::<EnergyPrice>(table_of(document.entry("cost").or_insert(Value::Null)), "cost", &[]);
    let DefaultsFiller { mut defaults, drive_files, cap_files, .. } = filler;
    let document = sorted(Value::Object(document));
    defaults.sort();
    Ok(Resolved { experiment: document, defaults, drives, drive_files, cap_files })
}

/// The experiment without the listed defaults that would be filled in again. Listed values that were edited
/// since, or for which this version has another default, stay.
pub(crate) fn without_defaults(
    experiment: &Experiment,
    inputs: &Inputs,
    policies: &[Option<Params>],
) -> Option<Experiment> {
    let listed = &experiment.defaults;
    if listed.is_empty() {
        return None;
    }
    let filled = resolve(&without(experiment, listed)?, inputs, policies).ok()?;
    let document = Value::Object(experiment.document.clone());
    let same = |key: &&String| {
        let at = pointer(key);
        filled.defaults.contains(key) && filled.experiment.pointer(&at) == document.pointer(&at)
    };
    let kept: Vec<String> = listed.iter().filter(same).cloned().collect();
    without(experiment, &kept)
}

/// The experiment without these keys; none if it is invalid without them.
fn without(experiment: &Experiment, keys: &[String]) -> Option<Experiment> {
    let mut document = Value::Object(experiment.document.clone());
    for key in keys {
        let (table, last) = key.rsplit_once('.')?;
        if let Some(Value::Object(table)) = document.pointer_mut(&pointer(table)) {
            table.remove(last);
        }
    }
    document.as_object_mut()?.remove("defaults");
    let mut shorter = Experiment::from_value(document, &experiment.base).ok()?;
    shorter.places.clone_from(&experiment.places);
    Some(shorter)
}

/// A dotted key as a JSON pointer.
fn pointer(key: &str) -> String {
    match key {
        "" => String::new(),
        key => format!("/{}", key.replace('.', "/")),
    }
}

/// A value as JSON. The types used here can always be written.
fn value(of: impl Serialize) -> Value {
    serde_json::to_value(of).unwrap_or(Value::Null)
}

/// A value as a table; an empty one in place of anything else.
fn table_of(value: &mut Value) -> &mut Params {
    if !value.is_object() {
        *value = Value::Object(Params::new());
    }
    match value {
        Value::Object(table) => table,
        _ => unreachable!(),
    }
}

/// What follows the key of a table in a dotted key; none if that is not inside it.
fn inside<'k>(key: &'k str, table: &str) -> Option<&'k str> {
    key.strip_prefix(table).filter(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(table) => table.is_empty(),
        value => value.is_null(),
    }
}

/// A value with the keys of each table in order, and without null, which TOML does not have.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(table) => {
            let mut entries: Vec<(String, Value)> = table
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key, sorted(value)))
                .collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().collect::<Map<_, _>>())
        }
        Value::Array(list) => Value::Array(list.into_iter().map(sorted).collect()),
        value => value,
    }
}

/// Whether a system's table of power capping has parameters of its own; otherwise those of the common table hold.
fn has_parameters(own: &Params) -> bool {
    own.contains_key("policy") || own.contains_key("parameters")
}

struct DefaultsFiller<'a> {
    experiment: &'a Experiment,
    inputs: &'a Inputs<'a>,
    defaults: Vec<String>,
    drive_files: Vec<Input>,
    cap_files: Vec<Input>,
}

impl DefaultsFiller<'_> {
    /// Fills in a missing value.
    fn fill(&mut self, table: &mut Params, place: &str, key: &str, default: impl Serialize) {
        if table.get(key).is_none_or(Value::is_null) {
            table.insert(key.into(), value(default));
            self.defaults.push(format!("{place}.{key}"));
        }
    }

    /// Fills in the parameters that a table leaves out of `all`, also in the tables inside it.
    fn fill_parameters(&mut self, table: &mut Params, place: &str, all: &Params) {
        let added = fill(table, all).into_iter();
        self.defaults.extend(added.map(|key| format!("{place}.{key}")));
    }

    /// Fills in the defaults of the table `T`, but for the keys `except`. Empty lists and tables are left out.
    fn fill_usual<T: Table>(&mut self, table: &mut Params, place: &str, except: &[&str]) {
        for field in T::fields().iter().filter(|f| !except.contains(&f.key)) {
            if let Some(value) = field.default().filter(|value| !is_empty(value)) {
                self.fill(table, place, field.key, value);
            }
        }
    }

    /// Fills in a table of power capping where `fills`, and notes its file of caps. The keys of one table that
    /// all systems have must not be filled in again for each.
    fn capping(&mut self, place: &str, table: &mut Params, fills: bool) {
        if let Some(file) = table.get("cap_file").and_then(Value::as_str) {
            let hash = hash_file(&self.experiment.base.join(file), &|| false);
            Input::new("caps", file, Some("csv".into()), hash).add_to(&mut self.cap_files);
        }
        if let Some(Value::Object(signal)) = table.get_mut("signal") {
            let read = read_table::<Signal>(signal);
            let all = read.map(|s| std::mem::take(table_of(&mut s.write()))).unwrap_or_default();
            self.fill_parameters(signal, &format!("{place}.signal"), &all);
        }
        if fills && !table.is_empty() {
            self.fill_usual::<Capping>(table, place, &[]);
        }
    }

    /// Fills in the parameters of the policy that a table of power capping names.
    fn policy(&mut self, place: &str, table: &mut Params, defaults: Option<&Params>) {
        let Some(defaults) = defaults.filter(|d| !d.is_empty()) else {
            return;
        };
        let parameters = table_of(table.entry("parameters").or_insert(Value::Null));
        self.fill_parameters(parameters, &format!("{place}.parameters"), defaults);
    }

    /// Fills in the parameters of the common table of power capping: those on which all systems that use them agree.
    fn common_parameters(&mut self, table: &mut Params, policies: &[Option<Params>]) {
        let systems = self.experiment.system.iter().zip(policies);
        let mut inherit = systems
            .filter(|(system, _)| !has_parameters(&system.capping))
            .filter_map(|(_, defaults)| defaults.as_ref());
        let Some(mut all) = inherit.next().cloned() else {
            return;
        };
        for other in inherit {
            all.retain(|key, value| other.get(key) == Some(value));
        }
        self.policy("capping", table, Some(&all));
    }

    fn workload(&mut self, i: usize, table: &mut Params, w: &Workload) {
        let place = format!("workload.{i}");
        self.fill(table, &place, "name", &w.name);
        self.fill(table, &place, "past_end", OutOfRangePolicy::default());
        self.fill(table, &place, "warm_up", WarmUp::Requests(0).write());
        let mut closed = false;
        match (&w.synthetic, &w.trace) {
            (Some(given), _) => {
                let mut synthetic = given.clone();
                let in_loop = matches!(w.arrivals, Some(Arrivals::Closed(_)));
                closed = self.synthetic(&place, &mut synthetic, in_loop);
                table.insert("synthetic".into(), Value::Object(synthetic));
            }
            (None, None) if !w.jobs.is_empty() => {}
            (None, path) => {
                self.fill(table, &place, "on_error", OnError::default());
                self.fill(table, &place, "order", "format");
                let path = self.experiment.path(path.as_deref().unwrap_or(""));
                // A file that cannot be read now was read by the run, so this is no error.
                let found = reader::detected(&path, &self.inputs.formats);
                if let Some(format) = found.ok().flatten() {
                    self.fill(table, &place, "format", format);
                }
            }
        }
        if !closed && w.jobs.is_empty() {
            self.fill(table, &place, "arrivals", "open");
        }
    }

    /// Fills in a synthetic workload; returns whether its table has a closed loop. `in_loop`: the workload has
    /// one.
    fn synthetic(&mut self, place: &str, table: &mut Params, in_loop: bool) -> bool {
        let place = format!("{place}.synthetic");
        // These have a meaning only together with others.
        self.fill_usual::<Synthetic>(table, &place, &["arrivals", "outstanding", "think"]);
        if !in_loop && !table.contains_key("interarrival") {
            self.fill(table, &place, "arrivals", ArrivalProcess::default().write());
        }
        let closed = table.get("arrivals") == Some(&json!("closed"));
        if closed {
            self.fill_usual::<Synthetic>(table, &place, &[]);
        }
        let local = |table: &Params| table.get("local").and_then(Value::as_f64).unwrap_or(0.0) > 0.0;
        let phases = table.get("phases").and_then(Value::as_array);
        let mut phases = phases.into_iter().flatten().filter_map(Value::as_object);
        if local(table) || phases.any(local) {
            self.fill(table, &place, "local_distance", LocalDistance::default());
        }
        closed
    }

    fn system(&mut self, i: usize, table: &mut Params, system: &System) -> Result<Vec<DriveDescription>, SpecError> {
        let place = format!("system.{i}");
        self.fill(table, &place, "name", &system.name);
        self.fill(table, &place, "spindles", "free");
        self.organisation(&place, table, system)?;
        self.layers(&place, table, system)?;
        let mut described: Vec<DriveDescription> = Vec::new();
        let kinds = system.kinds()?;
        for (d, kind) in kinds.iter().enumerate() {
            let drive = match system.drives.get(d) {
                None => self.drive(&place, table, kind)?,
                Some(entry) => {
                    let mut own = own_table(kind);
                    own.extend(entry.get("count").map(|count| ("count".into(), count.clone())));
                    let drive = self.drive(&format!("{place}.drives.{d}"), &mut own, kind)?;
                    table["drives"][d] = Value::Object(own);
                    drive
                }
            };
            match described.iter_mut().find(|d| is_same(d, &drive)) {
                Some(same) => same.count += drive.count,
                None => described.push(drive),
            }
        }
        if !system.drives.is_empty() {
            // The entries have taken over these keys. A key that no entry uses stays, and a warning names it.
            for key in PER_DRIVE.iter().filter(|key| !is_ignored(system, key)) {
                table.remove(*key);
            }
            table.remove("set");
        }
        Ok(described)
    }

    fn organisation(&mut self, place: &str, table: &mut Params, system: &System) -> Result<(), SpecError> {
        let (name, mut parameters) = system.organisation()?;
        if table.get("organisation").is_none_or(Value::is_null) {
            self.defaults.push(format!("{place}.organisation"));
        }
        let place = format!("{place}.organisation");
        let entry = self.inputs.organisations.find("organisation", &name)?;
        let all = entry.effective(&parameters).unwrap_or_default();
        self.fill_parameters(&mut parameters, &place, &all);
        let organisation = match parameters.is_empty() {
            true => Value::String(name),
            false => {
                parameters.insert("name".into(), Value::String(name));
                Value::Object(parameters)
            }
        };
        table.insert("organisation".into(), organisation);
        Ok(())
    }

    /// Fills in the parameters of the layers over the drives.
    fn layers(&mut self, place: &str, table: &mut Params, system: &System) -> Result<(), SpecError> {
        for (i, spec) in system.listed_layers()?.into_iter().enumerate() {
            let all = self.inputs.layers.find("name", &spec.name)?.effective(&spec.params);
            let all = with_elevator(all.unwrap_or_default(), &self.inputs.elevators);
            let mut filled = spec.params;
            self.fill_parameters(&mut filled, &format!("{place}.layers.{i}"), &all);
            if filled.is_empty() && spec.of.is_none() {
                continue;
            }
            filled.insert("name".into(), spec.name.into());
            filled.extend(spec.of.map(|of| ("of".into(), of.into())));
            table["layers"][i] = Value::Object(filled);
        }
        Ok(())
    }

    /// Fills in what depends on the drive, and describes the drive.
    fn drive(&mut self, place: &str, table: &mut Params, kind: &System) -> Result<DriveDescription, SpecError> {
        let base = &self.experiment.base;
        let spec = kind.drive_spec(base, self.inputs)?;
        let (given, file) = self.given(kind)?;
        self.fill(table, place, "count", kind.count);
        let mut described = spec.described(&given, &self.inputs.models);
        described.description = sorted(described.description);
        // The whole description leaves out that of most drives.
        table.insert("dash".into(), spec.dash.write());
        if given.get("dash").is_none() {
            self.defaults.push(format!("{place}.dash"));
        }
        for (key, whole) in [
            ("scheduler", "queue.scheduler"),
            ("queue_depth", "queue.depth"),
            ("scheduler_parameters", "queue.scheduler_parameters"),
            ("cache", "cache"),
        ] {
            let now = described.description.pointer(&pointer(whole));
            if let Some(now) = now.filter(|now| !is_empty(now)) {
                table.insert(key.into(), now.clone());
                let unsaid = described.defaults.iter().filter_map(|key| inside(key, whole));
                self.defaults.extend(unsaid.map(|rest| format!("{place}.{key}{rest}")));
            }
        }
        self.own_drive(place, table, &spec, &described);
        let drive = DriveDescription {
            name: spec.name.clone(),
            count: kind.count,
            sha256: file.as_ref().and_then(|file| file.sha256.clone()),
            missing: described.missing,
            defaults: described.defaults,
            unsaid: described.unsaid,
            description: described.description,
        };
        if let Some(file) = file {
            file.add_to(&mut self.drive_files);
        }
        Ok(drive)
    }

    /// Fills in what a drive leaves out that is described in the experiment itself. Where the system's tables
    /// cannot say again what was changed (by null), the drive is replaced by the whole description.
    fn own_drive(&mut self, place: &str, table: &mut Params, spec: &DriveSpec, all: &Described) {
        let own = format!("{place}.drive");
        let defaults = all.defaults.iter().map(|key| format!("{own}.{key}"));
        if let Some(drive) = table.get_mut("drive").filter(|drive| drive.is_object()) {
            let value = |key: &String| Some((key.clone(), all.description.pointer(&pointer(key))?.clone()));
            // The whole description has all of these tables.
            let _ = change_all(drive, &all.defaults.iter().filter_map(value).collect());
            self.defaults.extend(defaults.clone());
        }
        let base = &self.experiment.base;
        let again = read_table::<System>(table);
        let again = again.and_then(|s| s.drive_spec(base, self.inputs));
        let whole = |spec: &DriveSpec| spec.with_all_parameters(&self.inputs.models);
        if again.ok().as_ref().map(whole) == Some(whole(spec)) {
            return;
        }
        PER_DRIVE.iter().for_each(|key| drop(table.remove(*key)));
        table.remove("set");
        table.insert("drive".into(), all.description.clone());
        let gone = PER_DRIVE.map(|key| format!("{place}.{key}"));
        let is_in = |key: &str, table: &str| inside(key, table).is_some();
        self.defaults.retain(|key| !is_in(key, &own) && !gone.iter().any(|table| is_in(key, table)));
        self.defaults.extend(defaults);
    }

    /// The values of a drive in its file and in the experiment, and the file.
    fn given(&self, kind: &System) -> Result<(Value, Option<Input>), SpecError> {
        let (mut given, file) = match &kind.drive {
            Value::String(name) => {
                let base = &self.experiment.base;
                let file = DriveFile::find(name, base, &self.inputs.drive_dirs)?;
                let bytes = file.bytes()?;
                let format = if file.is_toml() { "toml" } else { "disksim" };
                let hash = (bytes.len() as u64, sha256(&bytes));
                let mut input = Input::new("drive", name, Some(format.into()), Some(hash));
                if !file.is_path {
                    std::mem::swap(&mut input.path, &mut input.name);
                }
                let given = match file.is_toml() {
                    true => file.table()?,
                    // For an imported drive, all values of the import count as given.
                    false => value(load_drive(name, base, self.inputs)?),
                };
                (given, Some(input))
            }
            table => (table.clone(), None),
        };
        // An error is ignored: a change may apply to a part that exists only in the full description.
        let _ = kind.change(&mut given);
        Ok((given, file))
    }
}

fn is_same(a: &DriveDescription, b: &DriveDescription) -> bool {
    let DriveDescription { count, .. } = a;
    *a == DriveDescription { count: *count, ..b.clone() }
}

/// An entry of `drives` with all keys that it takes over from its system.
fn own_table(kind: &System) -> Params {
    let mut table = std::mem::take(table_of(&mut kind.write()));
    table.retain(|key, value| match key.as_str() {
        "count" => false,
        "set" => !is_empty(value),
        key => PER_ENTRY.contains(&key),
    });
    table
}

/// Whether a system has this key and every entry of its `drives` has it too.
pub(crate) fn is_ignored(system: &System, key: &str) -> bool {
    let drives = &system.drives;
    !drives.is_empty() && drives.iter().all(|drive| drive.contains_key(key))
}
