//! Why a run failed.

use crate::document::located;
use headstack_engine::{printable, SpecError};
use headstack_sim::simulate::SimulateError;
use headstack_trace::TraceError;
use std::path::Path;
use thiserror::Error;

/// Why a run failed.
#[derive(Debug, Error)]
pub enum RunError {
    /// The experiment or a drive is wrong.
    #[error(transparent)]
    Input(#[from] SpecError),
    /// A trace is wrong.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The trace of a workload is wrong or missing, and its file name alone does not identify the workload.
    #[error("{}: {source}", printable(.place))]
    Workload {
        /// The key of the trace in the experiment.
        place: String,
        /// The error of the trace.
        source: TraceError,
    },
    /// The simulation failed.
    #[error("{}: {source}", printable(.system))]
    Simulate {
        /// The system's name, with the workload's if there are several.
        system: String,
        /// The error of the simulation.
        source: SimulateError,
    },
    /// A result could not be written.
    #[error("{0}")]
    Output(String),
}

impl RunError {
    /// Whether the user's input is wrong, and not the run.
    pub fn is_input(&self) -> bool {
        match self {
            RunError::Input(_) | RunError::Trace(_) | RunError::Workload { .. } => true,
            RunError::Simulate { source, .. } => {
                matches!(source, SimulateError::Trace(_) | SimulateError::Device { .. } | SimulateError::Late { .. })
            }
            RunError::Output(_) => false,
        }
    }

    /// The same error, with the file of the experiment before the place, and the line if that is known.
    pub(super) fn in_file(self, file: &Path, text: Option<&str>) -> RunError {
        match self {
            RunError::Input(e) => located(e, file, text).into(),
            RunError::Workload { place, source } => {
                RunError::Workload { place: format!("{}: {place}", file.display()), source }
            }
            RunError::Simulate { system, source } => {
                RunError::Simulate { system: format!("{}: {system}", file.display()), source }
            }
            e => e,
        }
    }
}
