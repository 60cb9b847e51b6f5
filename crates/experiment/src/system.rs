//! The drives of a system: their descriptions, and the members that serve its requests, with or without layers.

use crate::dotted::change_all;
use crate::drive_file::load_drive;
use crate::experiment::{DriveGroup, DriveSettings, Spindles, System};
use crate::inputs::Inputs;
use headstack_block::layer::tree::{LayerSpec, Tree};
use headstack_block::layer::LayerResult;
use headstack_block::member::Member;
use headstack_block::organisation::{Organisation, VOLUMES};
use headstack_drive::spec::Params;
use headstack_drive::{Drive, DriveDesign, DriveOptions, DriveSpec};
use headstack_engine::random::nth;
use headstack_schema::{Parameter, SpecError};
use headstack_sim::change::{self, Planned};
use headstack_sim::simulate::{divide, simulate_drives, simulate_trees, Log, Options, Outcome, SimulateError};
use headstack_trace::Requests;
use headstack_units::Turn;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Most drives in a system.
const MOST: u32 = 100_000;

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
        Ok(match system.all_layers().is_empty() {
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
        if changes.is_empty() || system.all_layers().is_empty() {
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
        source: &mut dyn Requests,
        organisation: &dyn Organisation,
        options: &Options,
        log: Option<&'a mut Log<'l>>,
    ) -> Result<Outcome, SimulateError> {
        match self {
            Members::Bare(drives) => simulate_drives(source, drives, organisation, options, log),
            Members::Layered(tree) => {
                let units = tree.units_of_roots();
                let outcome = match divide(options, organisation, &units, log.is_some()) {
                    Some(_) => {
                        let mut trees = std::mem::replace(&mut **tree, Tree::over(vec![])).split();
                        let outcome = simulate_trees(source, &mut trees, organisation, options, log);
                        **tree = Tree::join(trees);
                        outcome
                    }
                    None => {
                        let whole = std::slice::from_mut(&mut **tree);
                        simulate_trees(source, whole, organisation, options, log)
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
    /// The drives of each description, with what they take over from the system.
    pub fn groups(&self) -> Vec<DriveGroup> {
        let DriveGroup { set, settings, .. } = &self.common;
        if self.drives.is_empty() {
            return vec![self.common.clone()];
        }
        let group = |own: &DriveGroup| {
            let own = own.clone();
            let set = set.clone().into_iter().chain(own.set).collect();
            DriveGroup { set, settings: own.settings.or(settings.clone()), ..own }
        };
        self.drives.iter().map(group).collect()
    }

    /// The settings of the system that no drive takes over, because each entry of `drives` has its own.
    pub(crate) fn ignored_settings(&self) -> impl Iterator<Item = &'static str> + '_ {
        let own: Vec<Params> = self.drives.iter().map(|group| group.settings.given()).collect();
        let common = self.common.settings.given();
        let is_ignored = move |key: &&str| common.contains_key(*key) && own.iter().all(|own| own.contains_key(*key));
        let keys = DriveSettings::KEYS.iter().copied().filter(is_ignored);
        keys.filter(|_| !self.drives.is_empty())
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
        let design = |(i, group): (usize, &DriveGroup)| {
            let (key, place) = match self.drives.is_empty() {
                true => (String::new(), "drive".into()),
                false => (format!("drives[{i}]"), format!("drives[{i}].drive")),
            };
            let spec = group.drive_spec(base, inputs).map_err(|e| e.within(&key))?;
            let design = DriveDesign::new(&spec, &inputs.models).map_err(|e| e.within(&place))?;
            let own = first..first + group.count;
            first = own.end;
            Ok(DriveKind { place, design, options: own.map(options).collect() })
        };
        self.groups().iter().enumerate().map(design).collect()
    }

    /// Checks that there is one `drive` or a list of drives, and their number; stores the number.
    pub(crate) fn check_drives(&mut self) -> Result<(), SpecError> {
        match (self.common.drive.is_null(), self.drives.is_empty()) {
            (true, true) => return Err(SpecError::new("drive", "nothing", "a value")),
            (false, false) => return Err(SpecError::new("drives", "drive as well", "one of the two")),
            _ => {}
        }
        if self.drives.is_empty() {
            return counted("count", u64::from(self.common.count));
        }
        if self.common.count != 1 {
            let need = "the count of each drive in its own table";
            return Err(SpecError::new("count", self.common.count, need));
        }
        let mut sum = 0;
        for (i, group) in self.drives.iter().enumerate() {
            if group.drive.is_null() {
                return Err(SpecError::new(format!("drives[{i}].drive"), "nothing", "a value"));
            }
            sum += u64::from(group.count);
            counted(&format!("drives[{i}].count"), u64::from(group.count))?;
        }
        counted("drives", sum)
    }

    /// The changes during the run of the system; `key` is the system's key.
    ///
    /// # Errors
    /// As [`change::plan`].
    pub(crate) fn planned_changes(&self, key: &str) -> Result<Vec<Planned>, SpecError> {
        let count = self.groups().iter().map(|group| group.count).sum();
        change::plan(&self.change, count, &self.all_layers(), key)
    }

    /// Builds its layers over the drives.
    fn tree(&self, drives: Vec<Drive>, inputs: &Inputs) -> Result<Tree, SpecError> {
        Tree::new(drives, &self.all_layers(), &inputs.layers, &inputs.elevators)
    }

    /// The layers over the drives, from the host down; empty if there are none. An organisation that is a layer comes
    /// first.
    pub fn all_layers(&self) -> Vec<LayerSpec> {
        let volume = Some(&self.organisation).filter(|spec| VOLUMES.contains(&spec.name.as_str()));
        volume.into_iter().chain(&self.layers).cloned().collect()
    }
}

impl DriveGroup {
    /// The drive with all its changes.
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
        let changes = self.settings.changes();
        if changes.is_empty() && self.set.is_empty() {
            return Ok(spec);
        }
        let mut value = spec.write();
        self.change(&mut value)?;
        DriveSpec::from_value(value, &inputs.models).map_err(|e| e.within("drive"))
    }

    /// Applies its changes to a drive's description.
    ///
    /// # Errors
    /// A key of `set` that does not exist.
    pub(crate) fn change(&self, drive: &mut Value) -> Result<(), SpecError> {
        for (table, whole) in [(&self.settings.changes(), "drive"), (&self.set, "set")] {
            change_all(drive, table).map_err(|e| e.within(whole))?;
        }
        Ok(())
    }
}

impl DriveSettings {
    /// Its keys, and those of the drive's description that they change.
    pub(crate) const PLACES: [(&'static str, &'static str); 6] = [
        ("scheduler", "queue.scheduler"),
        ("scheduler_parameters", "queue.scheduler_parameters"),
        ("queue_depth", "queue.depth"),
        ("cache", "cache"),
        ("dash", "dash"),
        ("parallelism", "parallelism"),
    ];

    /// With those of the system for what it leaves out.
    fn or(self, mut system: DriveSettings) -> DriveSettings {
        // Parameters belong to the scheduler with which they were given.
        if self.scheduler.is_some() {
            system.scheduler_parameters = None;
        }
        DriveSettings {
            scheduler: self.scheduler.or(system.scheduler),
            scheduler_parameters: self.scheduler_parameters.or(system.scheduler_parameters),
            queue_depth: self.queue_depth.or(system.queue_depth),
            cache: self.cache.or(system.cache),
            dash: self.dash.or(system.dash),
            parallelism: self.parallelism.or(system.parallelism),
        }
    }

    /// Those that are given, by key.
    pub(crate) fn given(&self) -> Params {
        let Value::Object(mut table) = self.write() else { return Params::new() };
        table.retain(|_, value| !value.is_null());
        table
    }

    /// The changes of the drive's description.
    fn changes(&self) -> Params {
        let given = self.given();
        let place = |(key, place): (&str, &str)| Some((place.to_string(), given.get(key)?.clone()));
        // Parameters belong to the scheduler with which they were given.
        let reset = self.scheduler.as_ref().map(|_| ("queue.scheduler_parameters".to_string(), Value::Null));
        reset.into_iter().chain(DriveSettings::PLACES.into_iter().filter_map(place)).collect()
    }
}

fn counted(key: &str, count: u64) -> Result<(), SpecError> {
    match (1..=u64::from(MOST)).contains(&count) {
        true => Ok(()),
        false => Err(SpecError::new(key, count, format!("1 to {MOST}"))),
    }
}
