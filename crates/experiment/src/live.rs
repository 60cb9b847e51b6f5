//! A system in the time of whoever drives it, for emulators: its drives and layers, without a workload.
//!
//! # Model
//! Organisations are layers here, also those that a simulation computes without layers. Below all layers, each drive has
//! a [`fault`] layer, unless the system lists one there: it passes requests unchanged until a fault
//! is asked for. Changes of the experiment happen at their times after the first request.

use crate::experiment::System;
use crate::inputs::Inputs;
use crate::system::DriveKind;
use headstack_block::layer::{fault, DriveFacts, FaultSigns, FaultState, LayerCompletion, LayerSpec, Setting, Tree};
use headstack_block::member::{Adjust, Clock, Member};
use headstack_drive::zoned::{ReportingOptions, ZoneCondition, ZoneDescriptor};
use headstack_drive::{Drive, DriveRequest};
use headstack_schema::SpecError;
use headstack_sim::change::{dry_run_layers, plan, Change, Schedule, Target};
use headstack_units::{Lba, Span, Time};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

mod removal;

pub use removal::Exchange;
use removal::{Made, Removed};

/// The organisation in which each device is a unit of a drive.
const INDEPENDENT: &str = "independent";

/// A system that is advanced to whatever time it is.
pub struct LiveSystem {
    /// The drives and layers; its units are the devices.
    pub tree: Tree,
    /// First block and size of each device, in blocks of the tree.
    devices: Vec<(u64, u64)>,
    layers: Vec<LayerSpec>,
    schedule: Schedule<'static>,
    /// The number in the tree of each request that is outstanding, by its own.
    numbers: Vec<u32>,
    /// Settings that were changed by hand.
    n_by_hand: u64,
    /// How each drive was made.
    made: Vec<Made>,
    /// What was removed from a device's drive.
    removed: BTreeMap<usize, Removed>,
}

/// What a host sees of a device, with the paths of layers that can be changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// The drives behind it.
    pub drives: Vec<u32>,
    /// The host queue above it: its path, places and depth.
    pub queue: Option<(Vec<u32>, u32, u32)>,
    /// Time from a read's arrival in that queue to its deadline, if its elevator has deadlines.
    pub read_expire: Option<Span>,
    /// The elevator of that queue, and all that it can have.
    pub elevators: Option<(String, Vec<String>)>,
    /// The drive, if it is one drive or a part of one.
    pub drive: Option<(Vec<u32>, DriveFacts)>,
    /// The fault layer, if it is one drive or a part of one.
    pub fault: Option<(Vec<u32>, FaultState)>,
    /// What the fault layer has a SCSI drive say.
    pub signs: FaultSigns,
}

/// Builds a system. Each unit of its uppermost layers is a device; `base` is the folder of relative paths.
///
/// # Errors
/// A drive, an organisation, a layer or a change that does not fit. What only a simulation does: capping.
pub fn live_system(system: &System, base: &Path, seed: u64, inputs: &Inputs) -> Result<LiveSystem, SpecError> {
    if !system.capping.is_empty() {
        let need = "a system without it: not supported in real time; headstack-capd caps emulated drives by their \
                    control directory";
        return Err(SpecError::new("capping", "a table", need));
    }
    let seed = system.seed.unwrap_or(seed);
    let layers = layers_of(system, seed);
    let kinds = system.designs(base, seed, inputs)?;
    let build = || Tree::new(DriveKind::all(&kinds)?, &layers, &inputs.layers, &inputs.elevators);
    let tree = build()?;
    let made = DriveKind::each(&kinds).map(|(kind, options)| (kind.design.clone(), *options));
    let made: Vec<Made> = made.collect();
    let unplaced = |mut e: SpecError| {
        e.key = e.key.trim_start_matches('.').into();
        e
    };
    let changes = plan(&system.change, made.len() as u32, &layers, "").map_err(unplaced)?;
    if !changes.is_empty() {
        dry_run_layers(&changes, &mut build()?).map_err(unplaced)?;
    }
    let mut first = 0;
    let devices = tree.logical_units().into_iter().map(|blocks| {
        let start = first;
        first += blocks;
        (start, blocks)
    });
    Ok(LiveSystem {
        devices: devices.collect(),
        tree,
        layers,
        schedule: Schedule::new(changes),
        numbers: Vec::new(),
        n_by_hand: 0,
        made,
        removed: BTreeMap::new(),
    })
}

/// Organisation and layers of a system, from the host down; the last one is the fault layer.
fn layers_of(system: &System, seed: u64) -> Vec<LayerSpec> {
    let organisation = Some(&system.organisation).filter(|spec| spec.name != INDEPENDENT);
    let mut all: Vec<LayerSpec> = organisation.into_iter().chain(&system.layers).cloned().collect();
    if all.last().is_none_or(|last| last.name != fault::NAME) {
        all.push(LayerSpec {
            name: fault::NAME.into(),
            of: None,
            params: [("seed".to_string(), (seed & u64::from(u32::MAX)).into())].into_iter().collect(),
            is_organisation: false,
        });
    }
    all
}

impl LiveSystem {
    /// Size of each device in 512-byte blocks.
    pub fn devices(&self) -> Vec<u64> {
        self.devices.iter().map(|d| d.1).collect()
    }

    /// Number of drives.
    pub fn n_drives(&self) -> u32 {
        self.made.len() as u32
    }

    /// Submits a request to blocks of a device, inside it. The system must have been advanced to `now`. Numbers of
    /// requests that are outstanding at one time are different.
    pub fn submit(&mut self, now: Time, device: usize, request: DriveRequest) {
        if self.schedule.begin(now) {
            self.change_until(now);
        }
        let (first, _) = self.devices[device];
        let request = DriveRequest { lba: Lba(first + request.lba.0), ..request };
        let number = self.tree.submit_numbered(now, request);
        let id = request.id as usize;
        if id >= self.numbers.len() {
            self.numbers.resize(id + 1, 0);
        }
        self.numbers[id] = number;
    }

    /// The host has no more use for a request that is outstanding: no end of it was announced. The system must have been
    /// advanced to `now`. A drive that has not begun with it drops it and has its place free. Its end is told as usual, with
    /// an error if it was not carried out.
    pub fn abort(&mut self, now: Time, id: u64) {
        if let Some(number) = self.numbers.get(id as usize) {
            self.tree.abort(now, *number);
        }
    }

    /// How many settings have changed so far, by the experiment and by hand.
    pub fn n_settings_changed(&self) -> u64 {
        self.schedule.n_done as u64 + self.n_by_hand
    }

    /// When [`LiveSystem::advance`] would next have an effect; [`Time::NEVER`] if nothing is to come.
    pub fn next_event(&self) -> Time {
        self.tree.next_event().min(self.schedule.due)
    }

    /// Carries out what happens before `until`. Completions may be announced before their times.
    pub fn advance(&mut self, until: Time, sink: &mut dyn FnMut(&LayerCompletion)) {
        while self.schedule.due < until {
            let due = self.schedule.due;
            self.tree.advance(due, &mut |c| sink(c));
            self.change_until(due);
        }
        self.tree.advance(until, &mut |c| sink(c));
    }

    /// Applies the changes that are due at `now`; the system was advanced to it.
    fn change_until(&mut self, now: Time) {
        while let Some(change) = self.schedule.take(now) {
            // Each was tried on a system like this one.
            let _ = self.tree.change(now, &change.target, &change.setting);
        }
    }

    /// Takes the place of an equal system at `now`, as after a loss of power: what the experiment has changed there is
    /// changed here, except the power condition, and later changes are due at their times.
    pub fn succeed(&mut self, now: Time, before: &LiveSystem) {
        use headstack_drive::Setting::PowerCondition;
        self.n_by_hand = before.n_by_hand + 1;
        for change in self.schedule.follow(&before.schedule) {
            if !matches!(&change.setting, Setting::Drive(PowerCondition(_))) {
                // Each was tried on a system like this one.
                let _ = self.tree.change(now, &change.target, &change.setting);
            }
        }
    }

    /// Changes the running system at `now`, to which it must have been advanced: what an experiment can change, at
    /// once. `at` of the change is not used.
    ///
    /// # Errors
    /// A change that does not fit; nothing is changed then, unless it names several drives or layers of which the later
    /// ones refuse it.
    pub fn change(&mut self, now: Time, change: &Change) -> Result<(), SpecError> {
        let only = std::slice::from_ref(change);
        let planned = plan(only, self.n_drives(), &self.layers, "").map_err(alone)?;
        self.n_by_hand += 1;
        planned.iter().try_for_each(|p| {
            let applied = self.tree.change(now, &p.target, &p.setting);
            applied.map_err(|e| alone(p.located(e)))
        })
    }

    /// Sets something of the fault layers of these drives, all if there are none, as [`LiveSystem::change`].
    ///
    /// # Errors
    /// A drive that does not exist, or a setting that does not fit.
    pub fn set_fault(&mut self, now: Time, drives: &[u32], setting: &Setting) -> Result<(), SpecError> {
        let target = Target::Layers { level: 1, instances: drives.to_vec() };
        self.n_by_hand += 1;
        self.tree.change(now, &target, setting)
    }

    /// What a host sees of a device.
    pub fn view(&self, now: Time, device: usize) -> View {
        let mut view = View { drives: self.tree.drives_of(device), ..View::default() };
        for (path, layer) in self.tree.passage(device) {
            if let Some(queue) = layer.host_queue() {
                view.queue = queue.sizes().map(|(nr_requests, depth)| (path.clone(), nr_requests, depth));
                view.read_expire = queue.read_expire();
                let (name, all) = queue.elevators();
                view.elevators = Some((name.into(), all.into_iter().map(String::from).collect()));
            }
            if let Some(fault) = layer.fault() {
                view.fault = Some((path.clone(), fault.state(now)));
                view.signs = fault.signs();
            }
            if let Some(drive) = layer.drive() {
                view.drive = Some((path, drive.facts()));
            }
        }
        view
    }

    /// Blocks of a device that are no longer in front of the write pointer of their zone, as they were in an equal system
    /// before a loss of power; and those of `lost`, which are in order, that are not in front of it.
    pub fn past_pointers(&self, device: usize, before: &LiveSystem, lost: &[u64]) -> Vec<Range<u64>> {
        let drives = self.tree.drive_of(device).zip(before.tree.drive_of(device));
        let Some((drive, old)) = drives.filter(|(d, _)| d.zone_rules().is_some()) else {
            return Vec::new();
        };
        let all =
            |drive: &'_ Drive| -> Vec<ZoneDescriptor> { drive.report_zones(Lba(0), ReportingOptions::All).collect() };
        let mut found = Vec::new();
        for (zone, old) in all(drive).into_iter().zip(all(old)) {
            let Some(pointer) = zone.write_pointer else {
                continue;
            };
            let (start, end) = (zone.start.0, zone.start.0 + zone.blocks);
            let until = match (old.condition, old.write_pointer) {
                (ZoneCondition::Full, _) => end,
                (_, written) => written.map_or(start, |p| p.0),
            };
            if pointer.0 < until {
                found.push(pointer.0..until);
            }
            let from = lost.partition_point(|block| *block < pointer.0.max(until));
            let past = lost[from..].iter().take_while(|block| **block < end);
            found.extend(past.map(|block| *block..block + 1));
        }
        found
    }

    /// Sets something of the layer at a path of [`LiveSystem::view`].
    ///
    /// # Errors
    /// A value that the layer refuses.
    pub fn set(&mut self, now: Time, path: &[u32], setting: &Setting) -> Result<(), SpecError> {
        self.n_by_hand += 1;
        self.tree.set(now, path, setting)
    }
}

/// An error of the only change of a list, without the place in the list.
fn alone(mut error: SpecError) -> SpecError {
    let key = error.key.trim_start_matches(".change[0]");
    error.key = key.trim_start_matches('.').into();
    error
}
