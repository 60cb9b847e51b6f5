//! Requests on their way from their source into a run.

use super::SimulateError;
use headstack_trace::{Request, Requests, TraceError};
use headstack_units::Time;

/// Requests taken from their source in batches, so that source and simulation each run in a tight loop.
pub(super) struct Feed<'s> {
    pub source: &'s mut dyn Requests,
    pub batch: Vec<Request>,
    /// Error of the workload after the batch.
    pub failure: Option<TraceError>,
}

/// Small enough for a core's first-level cache.
pub(super) const BATCH: usize = 256;

impl Feed<'_> {
    /// Takes the next batch, of at most `most` requests; it is empty at the workload's end.
    #[inline(never)]
    pub fn refill(&mut self, most: u64) -> Result<(), SimulateError> {
        self.batch.clear();
        if let Some(e) = self.failure.take() {
            return Err(e.into());
        }
        let most = most.min(BATCH as u64) as usize;
        match self.source.fill(&mut self.batch, most) {
            // The requests before the error are simulated first.
            Err(e) if !self.batch.is_empty() => self.failure = Some(e),
            Err(e) => return Err(e.into()),
            Ok(()) => {}
        }
        match self.batch.iter().map(|r| r.time).max() {
            Some(time) if time > Time::LATEST => Err(SimulateError::Late { what: "a request", time }),
            _ => Ok(()),
        }
    }
}
