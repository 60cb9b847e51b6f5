//! Why a simulation ends early.

use headstack_engine::SpecError;
use headstack_trace::TraceError;
use headstack_units::Time;
use thiserror::Error;

/// Why a simulation ended early.
#[derive(Debug, Error)]
pub enum SimulateError {
    /// The workload is wrong.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A closed loop with impossible parameters.
    #[error("arrivals.closed.{0}")]
    Loop(#[from] SpecError),
    /// A device number without a drive.
    #[error("workload: request {request}: {message}")]
    Device {
        /// Number of the request in the workload, from 0.
        request: u64,
        /// What was got and what is needed.
        message: String,
    },
    /// A drive refuses a change.
    #[error(transparent)]
    Change(SpecError),
    /// The log could not be written.
    #[error("{0}")]
    Log(String),
    /// Too little memory.
    #[error(
        "got no more memory with {in_flight} requests that wait or are served, need more of it (ulimit -v), or a \
         load that the system can carry"
    )]
    Memory {
        /// Requests that have not completed.
        in_flight: u64,
    },
    /// A time beyond the end of simulated time.
    #[error("workload: got {what} at {} ns, need {}", time.0, Time::LATEST_SHOWN)]
    Late {
        /// The event.
        what: &'static str,
        /// Its time.
        time: Time,
    },
    /// A drive did not complete its requests.
    #[error("drive {drive}: got {waiting} requests that never complete, need none; this is a bug")]
    Lost {
        /// Index of the drive.
        drive: usize,
        /// Number of requests.
        waiting: u64,
    },
}

/// Whether a request can be issued at this time.
pub(super) fn not_late(time: Time) -> Result<(), SimulateError> {
    let what = "the end of a pause";
    match time > Time::LATEST {
        true => Err(SimulateError::Late { what, time }),
        false => Ok(()),
    }
}
