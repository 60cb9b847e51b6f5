//! What a run is given besides its experiment.

use crate::open::{open_workload, OpenWorkload, Opened};
use crate::run::error::RunError;
use headstack_block::layer::{self, elevator, Elevators, Layer};
use headstack_block::organisation::{self, Organisation};
use headstack_control::{policy, Policy};
use headstack_drive::{DriveSpec, Models};
use headstack_schema::Plugins;
use headstack_trace::reader::{self, Formats};
use std::path::PathBuf;

/// Where experiments find drives, workloads and plug-ins.
pub struct Inputs<'a> {
    /// Folders with one TOML file per drive.
    pub drive_dirs: Vec<PathBuf>,
    /// The known organisations.
    pub organisations: Plugins<dyn Organisation>,
    /// The known layers.
    pub layers: Plugins<dyn Layer>,
    /// The known elevators.
    pub elevators: Elevators,
    /// The known power-capping policies.
    pub policies: Plugins<dyn Policy>,
    /// The known models of drives.
    pub models: Models,
    /// The known trace formats.
    pub formats: Formats,
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
            organisations: organisation::PLUGINS.clone(),
            layers: layer::PLUGINS.clone(),
            elevators: elevator::PLUGINS.clone(),
            policies: policy::PLUGINS.clone(),
            models: Models::builtin(),
            formats: reader::PLUGINS.clone(),
            other_drive: &|_| Err("its name does not end in .toml".into()),
            open: &open_workload,
        }
    }
}
