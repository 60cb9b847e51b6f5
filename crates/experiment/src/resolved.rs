//! An experiment as it was run, with all values that decide its result, and the keys of those that are
//! defaults.
//!
//! Values of the experiment stay as written; missing ones are filled in. Written as TOML, the result is an
//! experiment that gives the same numbers. A file may list in `defaults` which of its values were filled in by
//! an earlier run. They stay marked as long as the same values would be filled in again.
//!
//! What is filled in is what the tables declare, less what the experiment says ([`fill`]). Three things need more: keys
//! that apply only beside others (of traces, loops and local requests), tables of power capping, which systems
//! inherit, and drives, of which a file may say a part.

use crate::dotted::change_all;
use crate::drive_file::{load_drive, DriveFile};
use crate::experiment::{DriveGroup, DriveSettings, EnergyPrice, Experiment, RunSpec, System, Workload};
use crate::inputs::Inputs;
use crate::provenance::{hash_file, sha256, DriveDescription, Input};
use headstack_block::layer::host_queue::with_elevator;
use headstack_block::layer::LayerSpec;
use headstack_drive::spec::Params;
use headstack_drive::{Described, DriveSpec};
use headstack_schema::{fill, read_beside, Field, Parameter, SpecError, Table};
use headstack_sim::capping::caps::Signal;
use headstack_sim::capping::Capping;
use headstack_trace::synthetic::LocalDistance;
use headstack_trace::{reader, Arrivals, Synthetic};
use serde_json::{json, Value};
use std::collections::BTreeMap;

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
        filler.workload(&format!("workload.{i}"), table_of(&mut document["workload"][i]), workload);
    }
    let common = table_of(document.entry("capping").or_insert(Value::Null));
    let in_common = !common.is_empty();
    filler.capping("capping", common, true, agreed(experiment, policies));
    if !in_common {
        document.remove("capping");
    }
    let mut drives = Vec::new();
    for (i, system) in experiment.system.iter().enumerate() {
        let place = format!("system.{i}");
        let table = table_of(&mut document["system"][i]);
        if let Some(Value::Object(capping)) = table.get_mut("capping") {
            let policy = policies.get(i).cloned().flatten().filter(|_| has_parameters(capping));
            // The keys of one table that all systems have must not be filled in again for each.
            filler.capping(&format!("{place}.capping"), capping, !in_common, policy);
        }
        let all = filler.system(&place, table, system);
        drives.push(all.map_err(|e| e.within(&format!("system[{i}]")))?);
    }
    let run = table_of(document.entry("run").or_insert(Value::Null));
    NOT_DECIDING.iter().for_each(|key| drop(run.remove(*key)));
    filler.fill(run, "run", &usual::<RunSpec>(&NOT_DECIDING));
    filler.fill(table_of(document.entry("cost").or_insert(Value::Null)), "cost", &usual::<EnergyPrice>(&[]));
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
    format!("/{}", key.replace('.', "/"))
}

/// The defaults of a table, but for the keys `except`. Empty lists and tables are left out.
fn usual<T: Table>(except: &[&str]) -> Value {
    let fields = T::fields().into_iter().filter(|f| !except.contains(&f.key));
    let usual = |f: Field| Some((f.key.to_string(), f.default().filter(|value| !is_empty(value))?.clone()));
    Value::Object(fields.filter_map(usual).collect())
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
            let present = table.into_iter().filter(|(_, value)| !value.is_null());
            let sorted: BTreeMap<String, Value> = present.map(|(key, value)| (key, sorted(value))).collect();
            Value::Object(sorted.into_iter().collect())
        }
        Value::Array(list) => Value::Array(list.into_iter().map(sorted).collect()),
        value => value,
    }
}

/// Whether a system's table of power capping has parameters of its own; otherwise those of the common table hold.
fn has_parameters(own: &Params) -> bool {
    own.contains_key("policy") || own.contains_key("parameters")
}

/// The parameters of the common table of power capping: those on which all systems that use them agree.
fn agreed(experiment: &Experiment, policies: &[Option<Params>]) -> Option<Params> {
    let systems = experiment.system.iter().zip(policies);
    let inherit = systems.filter(|(system, _)| !has_parameters(&system.capping)).filter_map(|(_, all)| all.clone());
    inherit.reduce(|mut all, other| {
        all.retain(|key, value| other.get(key) == Some(value));
        all
    })
}

struct DefaultsFiller<'a> {
    experiment: &'a Experiment,
    inputs: &'a Inputs<'a>,
    defaults: Vec<String>,
    drive_files: Vec<Input>,
    cap_files: Vec<Input>,
}

impl DefaultsFiller<'_> {
    /// Fills in the values that a table leaves out of `all`, also in the tables inside it.
    fn fill(&mut self, table: &mut Params, place: &str, all: &Value) {
        let added = all.as_object().map(|all| fill(table, all));
        self.defaults.extend(added.into_iter().flatten().map(|key| format!("{place}.{key}")));
    }

    /// Fills in a table of power capping, if there is one, and notes its file of caps: the parameters of its policy,
    /// and its own keys if it `is_whole`.
    fn capping(&mut self, place: &str, table: &mut Params, is_whole: bool, policy: Option<Params>) {
        if table.is_empty() {
            return;
        }
        if let Some(file) = table.get("cap_file").and_then(Value::as_str) {
            let hash = hash_file(&self.experiment.base.join(file), &|| false);
            Input::new("caps", file, Some("csv".into()), hash).add_to(&mut self.cap_files);
        }
        let signal = table.get("signal").and_then(|signal| Signal::read(signal).ok());
        self.fill(table, place, &json!({ "signal": signal, "parameters": policy.filter(|all| !all.is_empty()) }));
        if is_whole {
            self.fill(table, place, &usual::<Capping>(&[]));
        }
    }

    fn workload(&mut self, place: &str, table: &mut Params, w: &Workload) {
        let mut all = json!({ "name": w.name, "past_end": w.past_end, "warm_up": 0 });
        let mut has_own_arrivals = !w.jobs.is_empty();
        if let Some(synthetic) = table.get_mut("synthetic").and_then(Value::as_object_mut) {
            let in_loop = matches!(w.arrivals, Some(Arrivals::Closed(_)));
            self.synthetic(&format!("{place}.synthetic"), synthetic, in_loop);
            has_own_arrivals = is_closed(synthetic);
        } else if let Some(path) = &w.trace {
            // A file that cannot be read now was read by the run, so this is no error.
            let found = reader::detected(&self.experiment.path(path), &self.inputs.formats);
            all["format"] = found.ok().flatten().into();
            all["on_error"] = w.on_error.write();
            all["order"] = w.order.write();
        }
        if !has_own_arrivals {
            all["arrivals"] = "open".into();
        }
        self.fill(table, place, &all);
    }

    /// Fills in a synthetic workload. `in_loop`: the workload has a closed loop.
    fn synthetic(&mut self, place: &str, table: &mut Params, in_loop: bool) {
        // These have a meaning only together with others.
        let mut except = Vec::new();
        if !is_closed(table) {
            except.extend(["outstanding", "think"]);
        }
        if in_loop || table.contains_key("interarrival") {
            except.push("arrivals");
        }
        self.fill(table, place, &usual::<Synthetic>(&except));
        let local = |table: &Params| table.get("local").and_then(Value::as_f64).unwrap_or(0.0) > 0.0;
        let phases = table.get("phases").and_then(Value::as_array);
        let mut phases = phases.into_iter().flatten().filter_map(Value::as_object);
        if (local(table) || phases.any(local)) && table.get("local_distance").is_none_or(Value::is_null) {
            table.insert("local_distance".into(), LocalDistance::default().write());
            self.defaults.push(format!("{place}.local_distance"));
        }
    }

    fn system(&mut self, place: &str, table: &mut Params, system: &System) -> Result<Vec<DriveDescription>, SpecError> {
        let organisation = &system.organisation;
        let all = json!({ "name": system.name, "spindles": system.spindles, "organisation": organisation.name });
        self.fill(table, place, &all);
        let known = self.inputs.organisations.find("organisation", &organisation.name)?;
        let all = known.effective(&organisation.params).unwrap_or_default();
        table.insert("organisation".into(), self.layer(&format!("{place}.organisation"), organisation, all));
        for (i, spec) in system.layers.iter().enumerate() {
            let all = self.inputs.layers.find("name", &spec.name)?.effective(&spec.params);
            let all = with_elevator(all.unwrap_or_default(), &self.inputs.elevators);
            let filled = self.layer(&format!("{place}.layers.{i}"), spec, all);
            if filled.is_object() {
                table["layers"][i] = filled;
            }
        }
        let mut described: Vec<DriveDescription> = Vec::new();
        for (d, group) in system.groups().iter().enumerate() {
            let drive = match system.drives.is_empty() {
                true => self.drive(place, table, group)?,
                false => {
                    let entry = &mut table["drives"][d];
                    let mut own = group.write();
                    let own = table_of(&mut own);
                    own.retain(|key, value| match key.as_str() {
                        "count" => entry.get("count").is_some(),
                        "set" => !is_empty(value),
                        _ => true,
                    });
                    let drive = self.drive(&format!("{place}.drives.{d}"), own, group)?;
                    *entry = Value::Object(std::mem::take(own));
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
            let ignored: Vec<&str> = system.ignored_settings().collect();
            let is_taken = |key: &str| DriveSettings::KEYS.contains(&key) && !ignored.contains(&key);
            table.retain(|key, _| key != "set" && !is_taken(key));
        }
        Ok(described)
    }

    /// A layer or an organisation with `all` its parameters.
    fn layer(&mut self, place: &str, spec: &LayerSpec, all: Params) -> Value {
        let mut filled = spec.clone();
        self.fill(&mut filled.params, place, &Value::Object(all));
        filled.write()
    }

    /// Fills in what depends on the drive, and describes the drive.
    fn drive(&mut self, place: &str, table: &mut Params, group: &DriveGroup) -> Result<DriveDescription, SpecError> {
        let base = &self.experiment.base;
        let spec = group.drive_spec(base, self.inputs)?;
        let (given, file) = self.given(group)?;
        self.fill(table, place, &json!({ "count": group.count }));
        let mut described = spec.described(&given, &self.inputs.models);
        described.description = sorted(described.description);
        // The whole description leaves out that of most drives.
        table.insert("dash".into(), spec.dash.write());
        if given.get("dash").is_none() {
            self.defaults.push(format!("{place}.dash"));
        }
        for (key, whole) in &DriveSettings::PLACES[..4] {
            let now = described.description.pointer(&pointer(whole));
            if let Some(now) = now.filter(|now| !is_empty(now)) {
                table.insert((*key).into(), now.clone());
                let unsaid = described.defaults.iter().filter_map(|key| inside(key, whole));
                self.defaults.extend(unsaid.map(|rest| format!("{place}.{key}{rest}")));
            }
        }
        self.own_drive(place, table, &spec, &described);
        let drive = DriveDescription {
            name: spec.name.clone(),
            count: group.count,
            sha256: file.as_ref().and_then(|file| file.sha256.clone()),
            described,
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
        let again = read_beside::<DriveGroup>(System::KEYS, table);
        let again = again.and_then(|group| group.drive_spec(base, self.inputs));
        let whole = |spec: &DriveSpec| spec.with_all_parameters(&self.inputs.models);
        if again.ok().as_ref().map(whole) == Some(whole(spec)) {
            return;
        }
        table.retain(|key, _| key != "set" && !DriveSettings::KEYS.contains(&key.as_str()));
        table.insert("drive".into(), all.description.clone());
        let gone = DriveSettings::KEYS.iter().chain(&["drive"]).map(|key| format!("{place}.{key}"));
        let gone: Vec<String> = gone.collect();
        self.defaults.retain(|key| !gone.iter().any(|table| inside(key, table).is_some()));
        self.defaults.extend(defaults);
    }

    /// The values of a drive in its file and in the experiment, and the file.
    fn given(&self, group: &DriveGroup) -> Result<(Value, Option<Input>), SpecError> {
        let (mut given, file) = match &group.drive {
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
                    false => load_drive(name, base, self.inputs)?.write(),
                };
                (given, Some(input))
            }
            table => (table.clone(), None),
        };
        // An error is ignored: a change may apply to a part that exists only in the full description.
        let _ = group.change(&mut given);
        Ok((given, file))
    }
}

fn is_same(a: &DriveDescription, b: &DriveDescription) -> bool {
    let DriveDescription { count, .. } = a;
    *a == DriveDescription { count: *count, ..b.clone() }
}

/// Whether a synthetic workload has a closed loop.
fn is_closed(synthetic: &Params) -> bool {
    synthetic.get("arrivals").and_then(Value::as_str) == Some("closed")
}
