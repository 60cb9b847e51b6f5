//! What a log is told of a request.

use headstack_block::layer::LayerCompletion;
use headstack_trace::Request;

/// One finished request, for a log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Record {
    /// The request, with the time at which it reached the array.
    pub request: Request,
    /// How it ended; its number is that in the workload, from 0.
    pub answer: LayerCompletion,
}

/// Receives finished requests after the warm-up; an error ends the run.
pub type Log<'a> = dyn FnMut(&Record) -> Result<(), String> + Send + 'a;
