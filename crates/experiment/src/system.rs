//! The drives of a system: their descriptions, and the members that serve its requests, with or without layers.

use crate::dotted::change_all;
use crate::drive_file::load_drive;
use crate::experiment::{Spindles, System};
use crate::inputs::Inputs;
use crate::resolved::PER_DRIVE;
use headstack_block::layer::tree::{LayerSpec, Tree};
use headstack_block::layer::LayerResult;
use headstack_block::member::Member;
use headstack_block::organisation::{Organisation, VOLUMES};
use headstack_drive::spec::Params;
use headstack_drive::{Drive, DriveDesign, DriveOptions, DriveSpec};
use headstack_engine::random::nth;
use headstack_schema::{read_table, unknown_keys, SpecError};
use headstack_sim::change::{self, Planned};
use headstack_sim::simulate::{divide, simulate, Log, Options, Outcome, SimulateError};
use headstack_trace::Requests;
use headstack_units::Turn;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Most drives in a system.
const MOST: u32 = 100_000;

/// Keys of an entry of `drives`.
pub(crate) const PER_ENTRY: [&str; 9] = {
    let [a, b, c, d, e, f] = PER_DRIVE;
    ["drive", "count", "set", a, b, c, d, e, f]
};

/// Drives of one description, ready to be made.
pub(crate) struct DriveKind {
    /// The place of the description in the system: `drive`, `drives[1].drive`.
    pub place: String,
    pub design: Arc<DriveDesign>,
    /// Of each drive.
    pub options: Vec<DriveOptions>,
}

impl DriveKind {
    /// Makes a drive with its options.
    pub fn drive(&self, options: &DriveOptions) -> Result<Drive, SpecError> {
        self.design.drive(options).map_err(|e| e.within(&self.place))
    }

    /// Each drive of these kinds: what it is, and its options.
    pub fn each(kinds: &[DriveKind]) -> impl Iterator<Item = (&DriveKind, &DriveOptions)> {
        kinds.iter().flat_map(|kind| kind.options.iter().map(move |options| (kind, options)))
    }

    /// Makes all drives of these kinds.
    pub fn all(kinds: &[DriveKind]) -> Result<Vec<Drive>, SpecError> {
        DriveKind::each(kinds).map(|(kind, options)| kind.drive(options)).collect()
    }
}

/// The members that serve the requests of a system.
pub(crate) enum Members {
    /// Drives that do not influence each other.
    Bare(Vec<Drive>),
    /// One tree of layers over all of them.
    Layered(Box<Tree>),
}

impl Members {
    /// Drives under the layers of the system, if any.
    pub fn of(system: &System, drives: Vec<Drive>, inputs: &Inputs) -> Result<Members, SpecError> {
        Ok(match system.layers()?.is_empty() {
            true => Members::Bare(drives),
            false => Members::Layered(Box::new(system.tree(drives, inputs)?)),
        })
    }

    /// Tries the system's changes on its drives and layers, so that a change that they refuse is an error
    /// before the run begins.
    ///
    /// # Errors
    /// A change that is refused, at its place.
    pub fn dry_run(
        system: &System,
        changes: &[Planned],
        kinds: &[DriveKind],
        inputs: &Inputs,
    ) -> Result<(), SpecError> {
        if changes.is_empty() || system.layers()?.is_empty() {
            let all: Vec<(&DriveKind, &DriveOptions)> = DriveKind::each(kinds).collect();
            return change::dry_run(changes, all.len() as u32, |i| all[i as usize].0.drive(all[i as usize].1));
        }
        change::dry_run_layers(changes, &mut system.tree(DriveKind::all(kinds)?, inputs)?)
    }

    /// Sizes of the units that are members of the organisation.
    pub fn logical_units(&self) -> Vec<u64> {
        match self {
            Members::Bare(drives) => drives.iter().flat_map(Drive::logical_units).collect(),
            Members::Layered(tree) => tree.logical_units(),
        }
    }

    /// Simulates a workload; the outcome has one member per drive.
    pub fn simulate<'a, 'l>(
        &mut self,
        source: &mut impl Requests,
        organisation: &dyn Organisation,
        options: &Options,
        log: Option<&'a mut Log<'l>>,
    ) -> Result<Outcome, SimulateError> {
        match self {
            Members::Bare(drives) => simulate(source, drives, organisation, options, log),
            Members::Layered(tree) => {
                let units = tree.units_of_roots();
                let outcome = match divide(options, organisation, &units, log.is_some()) {
                    Some(_) => {
                        let mut trees = std::mem::replace(&mut **tree, Tree::over(vec![])).split();
                        let outcome = simulate(source, &mut trees, organisation, options, log);
                        **tree = Tree::join(trees);
                        outcome
                    }
                    None => {
                        let whole = std::slice::from_mut(&mut **tree);
                        simulate(source, whole, organisation, options, log)
                    }
                };
                let mut outcome = outcome?;
                outcome.members = tree.drives(outcome.end);
                Ok(outcome)
            }
        }
    }

    /// Statistics of the layers, from the host down.
    pub fn layers(&self) -> Vec<LayerResult> {
        match self {
            Members::Bare(_) => Vec::new(),
            Members::Layered(tree) => tree.results(),
        }
    }
}

impl System {
    /// The drives of each description, with the keys of the system that they take over.
    ///
    /// # Errors
    /// A key that a drive cannot have, at `drives[i]`.
    pub fn kinds(&self) -> Result<Vec<System>, SpecError> {
        if self.drives.is_empty() {
            return Ok(vec![self.clone()]);
        }
        let kind = |(i, table): (usize, &Params)| self.kind(table).map_err(|e| e.within(&format!("drives[{i}]")));
        self.drives.iter().enumerate().map(kind).collect()
    }

    fn kind(&self, table: &Params) -> Result<System, SpecError> {
        unknown_keys(table, &[], &PER_ENTRY)?;
        let own: System = read_table(table)?;
        if own.drive.is_null() {
            return Err(SpecError::new("drive", "nothing", "a value"));
        }
        let mut set = self.set.clone();
        set.extend(own.set);
        Ok(System {
            drive: own.drive,
            drives: Vec::new(),
            count: own.count,
            set,
            // Parameters belong to the scheduler with which they were given.
            scheduler_parameters: match &own.scheduler {
                Some(_) => own.scheduler_parameters,
                None => own.scheduler_parameters.or_else(|| self.scheduler_parameters.clone()),
            },
            scheduler: own.scheduler.or_else(|| self.scheduler.clone()),
            queue_depth: own.queue_depth.or(self.queue_depth),
            cache: own.cache.or_else(|| self.cache.clone()),
            dash: own.dash.or(self.dash),
            parallelism: own.parallelism.or_else(|| self.parallelism.clone()),
            ..self.clone()
        })
    }

    /// The drives as they are made: their platters start at different angles, drawn from the seed, unless the spindles are
    /// synchronized. `base` is the folder of relative paths.
    ///
    /// # Errors
    /// A drive that does not fit, by its key in the system.
    pub(crate) fn designs(&self, base: &Path, seed: u64, inputs: &Inputs) -> Result<Vec<DriveKind>, SpecError> {
        let synchronized_spindles = self.spindles == Spindles::Synchronized;
        let options = |index| DriveOptions {
            seed: nth(seed, index),
            start_phase: Turn(nth(seed, if synchronized_spindles { 0 } else { index })),
            synchronized_spindles,
            ..DriveOptions::default()
        };
        let mut first = 0;
        let design = |(i, kind): (usize, &System)| {
            let (key, place) = match self.drives.is_empty() {
                true => (String::new(), "drive".into()),
                false => (format!("drives[{i}]"), format!("drives[{i}].drive")),
            };
            let spec = kind.drive_spec(base, inputs).map_err(|e| e.within(&key))?;
            let design = DriveDesign::new(&spec, &inputs.models).map_err(|e| e.within(&place))?;
            let own = first..first + kind.count;
            first = own.end;
            Ok(DriveKind { place, design, options: own.map(options).collect() })
        };
        self.kinds()?.iter().enumerate().map(design).collect()
    }

    /// Checks that there is one `drive` or a list of drives, and their number; stores the number.
    pub(crate) fn check_drives(&mut self) -> Result<(), SpecError> {
        match (self.drive.is_null(), self.drives.is_empty()) {
            (true, true) => return Err(SpecError::new("drive", "nothing", "a value")),
            (false, false) => return Err(SpecError::new("drives", "drive as well", "one of the two")),
            _ => {}
        }
        if self.drives.is_empty() {
            return counted("count", u64::from(self.count));
        }
        if self.count != 1 {
            let need = "the count of each drive in its own table";
            return Err(SpecError::new("count", self.count, need));
        }
        let mut sum = 0;
        for (i, kind) in self.kinds()?.iter().enumerate() {
            sum += u64::from(kind.count);
            counted(&format!("drives[{i}].count"), u64::from(kind.count))?;
        }
        counted("drives", sum)
    }

    /// The drive with all changes of this system.
    ///
    /// # Errors
    /// An unknown drive; a file or value that does not fit.
    pub fn drive_spec(&self, base: &Path, inputs: &Inputs) -> Result<DriveSpec, SpecError> {
        let spec = match &self.drive {
            Value::String(name) => load_drive(name, base, inputs).map_err(|e| match e.key.as_str() {
                "drive" => e,
                _ => e.in_file("drive"),
            })?,
            table @ Value::Object(_) => {
                DriveSpec::from_value(table.clone(), &inputs.models).map_err(|e| e.within("drive"))?
            }
            other => return Err(SpecError::new("drive", other, "a name, a path or a table")),
        };
        let changes = self.drive_changes();
        if changes.is_empty() && self.set.is_empty() {
            return Ok(spec);
        }
        let mut value = serde_json::to_value(&spec)
            .map_err(|e| SpecError::new("drive", e, "a drive that can be written as JSON"))?;
        self.change(&mut value)?;
        DriveSpec::from_value(value, &inputs.models).map_err(|e| e.within("drive"))
    }

    /// Applies this system's changes to a drive's description.
    ///
    /// # Errors
    /// A key of `set` that does not exist.
    pub(crate) fn change(&self, drive: &mut Value) -> Result<(), SpecError> {
        for (table, whole) in [(&self.drive_changes(), "drive"), (&self.set, "set")] {
            change_all(drive, table).map_err(|mut e| {
                e.key = format!("{whole}.{}", e.key);
                e
            })?;
        }
        Ok(())
    }

    /// The changes that the keys of the system make in its drive.
    fn drive_changes(&self) -> Params {
        let mut changes = Params::new();
        let mut set = |key: &str, value: Value| {
            changes.insert(key.to_string(), value);
        };
        if let Some(scheduler) = &self.scheduler {
            set("queue.scheduler", scheduler.clone().into());
            // Parameters belong to the scheduler with which they were given.
            set("queue.scheduler_parameters", Value::Null);
        }
        if let Some(parameters) = &self.scheduler_parameters {
            set("queue.scheduler_parameters", Value::Object(parameters.clone()));
        }
        if let Some(depth) = self.queue_depth {
            set("queue.depth", depth.into());
        }
        if let Some(cache) = &self.cache {
            set("cache", Value::Object(cache.clone()));
        }
        if let Some(dash) = self.dash {
            set("dash", dash.to_string().into());
        }
        if let Some(parallelism) = &self.parallelism {
            set("parallelism", Value::Object(parallelism.clone()));
        }
        changes
    }

    /// The changes during the run of the system; `key` is the system's key.
    ///
    /// # Errors
    /// As [`change::plan`].
    pub(crate) fn planned_changes(&self, key: &str) -> Result<Vec<Planned>, SpecError> {
        let count = self.kinds()?.iter().map(|kind| kind.count).sum();
        change::plan(&self.change, count, &self.layers()?, key)
    }

    /// Builds its layers over the drives.
    fn tree(&self, drives: Vec<Drive>, inputs: &Inputs) -> Result<Tree, SpecError> {
        Tree::new(drives, &self.layers()?, &inputs.layers, &inputs.elevators)
    }

    /// The layers over the drives, from the host down; empty if there are none. An organisation that is a layer comes
    /// first.
    ///
    /// # Errors
    /// An entry that is not a layer, at `layers[i]`; an organisation without a name.
    pub fn layers(&self) -> Result<Vec<LayerSpec>, SpecError> {
        let (name, params) = self.organisation()?;
        let volume =
            VOLUMES.contains(&name.as_str()).then_some(LayerSpec { name, of: None, params, is_organisation: true });
        Ok(volume.into_iter().chain(self.listed_layers()?).collect())
    }

    /// The layers of the system's list.
    ///
    /// # Errors
    /// An entry that is not a layer, at `layers[i]`.
    pub fn listed_layers(&self) -> Result<Vec<LayerSpec>, SpecError> {
        let read = |(i, value)| LayerSpec::from_value(value).map_err(|e: SpecError| e.within(&format!("layers[{i}]")));
        self.layers.iter().enumerate().map(read).collect()
    }
}

fn counted(key: &str, count: u64) -> Result<(), SpecError> {
    match (1..=u64::from(MOST)).contains(&count) {
        true => Ok(()),
        false => Err(SpecError::new(key, count, format!("1 to {MOST}"))),
    }
}
