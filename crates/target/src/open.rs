//! What is emulated: a drive or a system of an experiment, and its data.

use crate::clock::Clock;
use crate::devices::Devices;
use crate::live::{Device, Live, Parts};
use crate::power::PowerLosses;
use crate::record::Record;
use crate::store::Store;
use crate::TargetError;
use headstack_disksim::import_file;
use headstack_experiment::experiment::System;
use headstack_experiment::{live_system, read_toml, Experiment, Inputs, LiveSystem, Overrides};
use headstack_schema::document::located;
use headstack_schema::{chosen, read_table, SpecError};
use headstack_units::Time;
use serde_json::{json, Value};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where data are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Kept {
    /// In memory, as far as it is written.
    #[default]
    Memory,
    /// In a sparse file; of several devices, in one each (`FILE-0`, `FILE-1`).
    File(PathBuf),
}

/// What to emulate, and how; by default in memory and as fast as possible.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// A drive's name, a path to a drive, or an experiment.
    pub target: String,
    /// Of an experiment, the system; without it there must be only one.
    pub system: Option<String>,
    /// Folders with one file per drive.
    pub drive_dirs: Vec<PathBuf>,
    /// Replaces the experiment's seed.
    pub seed: Option<u64>,
    /// Where data are kept.
    pub store: Kept,
    /// Simulated seconds in a second; 0: as fast as possible.
    pub speed: f64,
    /// Whether the clock and the sockets are watched without sleeping while there is something to do.
    pub busy: bool,
    /// A file for the requests, as a trace.
    pub record: Option<PathBuf>,
    /// When power is lost.
    pub losses: PowerLosses,
}

impl Live {
    /// Builds the devices and opens their data. Time begins now.
    ///
    /// # Errors
    /// A drive, experiment or store that does not fit.
    pub fn open(options: &Options) -> Result<Live, TargetError> {
        if !(options.speed >= 0.0 && options.speed <= 1e6) {
            let got = format!("speed: got {}, need 0 to 1000000", options.speed);
            return Err(TargetError::Argument(got));
        }
        let (name, system) = system_of(options)?;
        let devices = Devices::new(system);
        let sizes = devices.bytes();
        let described: Vec<Device> = (sizes.iter().enumerate())
            .map(|(i, bytes)| Device {
                name: i.to_string(),
                description: match sizes.len() {
                    1 => name.clone(),
                    _ => format!("{name}, device {i}"),
                },
                bytes: *bytes,
            })
            .collect();
        let store = |(i, bytes): (usize, &u64)| match &options.store {
            Kept::Memory => Ok(Store::memory()),
            Kept::File(path) => {
                let path = file_of(path, i, sizes.len());
                Store::file(&path, *bytes).map_err(|e| TargetError::Store { path, why: e.to_string() })
            }
        };
        let stores = sizes.iter().enumerate().map(store);
        let stores = stores.collect::<Result<Vec<Store>, TargetError>>()?;
        let (kept, n) = (&options.store, sizes.len());
        let is_store =
            |path: &PathBuf| matches!(kept, Kept::File(of) if (0..n).any(|i| is_same_file(path, &file_of(of, i, n))));
        let record = |path: &PathBuf| match is_store(path) {
            true => Err(TargetError::Argument(format!(
                "record: got {}, the file of the store, need another one",
                path.display()
            ))),
            false => Record::new(path, has_limits(&devices.system, sizes.len())),
        };
        let record = options.record.as_ref().map(record).transpose()?;
        let again = options.clone();
        Ok(Live::new(Parts {
            make: Box::new(move || Ok(system_of(&again)?.1)),
            devices,
            name,
            described,
            stores,
            clock: Clock::new(options.speed),
            busy: options.busy,
            record,
            losses: options.losses.clone(),
        }))
    }
}

/// The file of a device.
fn file_of(path: &Path, device: usize, devices: usize) -> PathBuf {
    match devices {
        1 => path.into(),
        _ => {
            let mut name = path.as_os_str().to_owned();
            name.push(format!("-{device}"));
            name.into()
        }
    }
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    let number = |path: &Path| path.metadata().ok().map(|m| (m.dev(), m.ino()));
    number(a).is_some() && number(a) == number(b)
}

/// Whether a drive has duration limits.
fn has_limits(system: &LiveSystem, devices: usize) -> bool {
    let drive = |device: usize| system.view(Time::ZERO, device).drive;
    (0..devices).any(|device| drive(device).is_some_and(|(_, facts)| facts.has_limits))
}

/// The name of what is emulated, and the system.
fn system_of(options: &Options) -> Result<(String, LiveSystem), TargetError> {
    let inputs = Inputs {
        other_drive: &|path| match import_file(path) {
            Ok(import) => Ok(import.spec),
            Err(e) => Err(e.to_string()),
        },
        ..Inputs::new(options.drive_dirs.clone())
    };
    let file = Path::new(&options.target);
    let is_experiment =
        file.extension().is_some_and(|e| e == "toml") && file.is_file() && read_toml(file)?.get("system").is_some();
    if !is_experiment {
        if let Some(system) = &options.system {
            let text = format!("--system: got {system:?} with a drive, need an experiment");
            return Err(TargetError::Argument(text));
        }
        let table = json!({ "drive": options.target });
        let Value::Object(table) = table else {
            unreachable!("a table was made");
        };
        let system: System = read_table(&table)?;
        let seed = options.seed.unwrap_or(0);
        let made = live_system(&system, Path::new("."), seed, &inputs)?;
        return Ok((options.target.clone(), made));
    }
    let experiment = Experiment::open(file, &Overrides::default())?;
    let names: Vec<&str> = experiment.system.iter().map(|s| s.name.as_str()).collect();
    let i = chosen("--system", &names, options.system.as_deref())?;
    let system = &experiment.system[i];
    let seed = options.seed.unwrap_or(experiment.run.seed);
    let placed = |e: SpecError| located(e.within(&format!("system[{i}]")), file, experiment.text.as_deref());
    let made = live_system(system, &experiment.base, seed, &inputs).map_err(placed)?;
    Ok((system.name.clone(), made))
}
