//! Traces of block requests: one reader per format, synthetic workloads, transformations, writers.
//!
//! Everything is a stream of [`Request`]s in time order, with addresses and lengths in 512-byte blocks,
//! whatever the units of the source.

#[doc(hidden)]
pub mod alignment;
#[doc(hidden)]
pub mod arrivals;
pub mod classes;
#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod fuzzing;
#[doc(hidden)]
pub mod info;
#[doc(hidden)]
pub mod ioprio;
pub mod jobs;
#[doc(hidden)]
pub mod options;
pub mod reader;
#[doc(hidden)]
pub mod request;
#[doc(hidden)]
pub mod source;
pub mod synthetic;
pub mod table;
pub mod transform;
pub mod writer;

pub use alignment::{Alignment, SECTOR_BLOCKS};
pub use arrivals::{Arrivals, ClosedLoop, Pauses};
pub use classes::RequestClass;
pub use error::TraceError;
pub use info::{
    checks, AddressMap, DeviceSummary, Gaps, OperationSummary, Rates, Reuse, RowSummary, SharedOffset, SizeClass,
    TouchClass, TraceInfo, TraceSummary, WorkingSet,
};
pub use ioprio::{Ioprio, IoprioClass};
pub use jobs::{Job, Jobs};
pub use options::{Clock, Counters, OnError, Opened, Order, ReadOptions};
pub use reader::{open, read_measured, read_validate, spc_reader, SpcReader, ValidateRecord};
pub use request::{Command, Process, Request};
pub use source::{Each, Requests, Source};
pub use synthetic::{Synthetic, SyntheticSource};
pub use transform::{Shift, Transform};
pub use writer::{create, create_in, TraceWriter};
