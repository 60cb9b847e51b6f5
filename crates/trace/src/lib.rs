//! Traces of block requests: one reader per format, synthetic workloads, transformations, writers.
//!
//! Everything is a stream of [`Request`]s in time order, with addresses and lengths in 512-byte
//! blocks whatever the source counts in.

mod error;
mod request;

pub use error::TraceError;
pub use request::{Op, Request};

/// A stream of requests in time order. An error names where in the source it was found.
pub type Source = Box<dyn Iterator<Item = Result<Request, TraceError>> + Send>;
