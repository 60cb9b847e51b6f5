//! What a run is given besides its experiment.

use crate::open::{open_workload, OpenWorkload, Opened};
use crate::run::error::RunError;
use headstack_block::layer::{self, elevator};
use headstack_block::organisation;
use headstack_control::policy;
use headstack_drive::{DriveSpec, Models};
use headstack_schema::Registry;
use headstack_trace::reader::{formats, Format};
use std::path::PathBuf;

/// Where experiments find drives, workloads and plug-ins.
pub struct Inputs<'a> {
    /// Folders with one TOML file per drive.
    pub drive_dirs: Vec<PathBuf>,
    /// The known organisations.
    pub organisations: Registry<organisation::Entry>,
    /// The known layers.
    pub layers: Registry<layer::Entry>,
    /// The known elevators.
    pub elevators: Registry<elevator::Entry>,
    /// The known power-capping policies.
    pub policies: Registry<policy::Plugin>,
    /// The known models of drives.
    pub models: Models,
    /// The known trace formats.
    pub formats: Registry<Format>,
    /// Reads drive files that are not TOML (DiskSim's).
    pub other_drive: &'a (dyn Fn(&str) -> Result<DriveSpec, String> + Sync),
    /// Opens a workload at its start. It is called twice if devices must be measured first.
    pub open: &'a (dyn Fn(&OpenWorkload) -> Result<Opened, RunError> + Sync),
}

impl Inputs<'_> {
    /// Drives of these folders, and all plug-ins of this crate; drive files that are not TOML are refused.
    pub fn new(drive_dirs: Vec<PathBuf>) -> Self {
        Inputs {
            drive_dirs,
            organisations: organisation::entries(),
            layers: layer::entries(),
            elevators: elevator::entries(),
            policies: policy::policies(),
            models: Models::builtin(),
            formats: formats(),
            other_drive: &|_| Err("its name does not end in .toml".into()),
            open: &open_workload,
        }
    }
}
