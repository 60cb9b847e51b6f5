//! Options of one simulation.

use super::warm_up::WarmUp;
use crate::capping::Plan as CapPlan;
use crate::change::Planned;
use crate::crew::Crew;
use headstack_control::{policy, Policy};
use headstack_engine::Progress;
use headstack_schema::{Choice, Plugins};
use headstack_trace::Arrivals;
use headstack_units::Span;

/// What happens to a request beyond the end of its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum OutOfRangePolicy {
    /// It fails at once and is counted in `n_errors`.
    #[default]
    Error,
    /// Its address is taken modulo the device's size.
    Wrap,
    /// It is left out and counted in `n_dropped`.
    DropCounted,
}

/// Options of one simulation.
#[derive(Debug, Clone)]
pub struct Options {
    /// How requests come.
    pub arrivals: Arrivals,
    /// What the statistics leave out.
    pub warm_up: WarmUp,
    /// Most requests, warm-up included.
    pub max_requests: Option<u64>,
    /// No arrivals later than this after the first one.
    pub duration: Option<Span>,
    /// Handling of requests beyond a device's end.
    pub past_end: OutOfRangePolicy,
    /// Power capping, if the system has it.
    pub capping: Option<CapPlan>,
    /// The policies that it can name.
    pub policies: Plugins<dyn Policy>,
    /// Changes during the run, in order of time.
    pub changes: Vec<Planned>,
    /// Number of classes of requests.
    pub classes: usize,
    /// Number of response times that are kept exactly.
    pub exact_limit: usize,
    /// Initial bucket width of the time series, nanoseconds.
    pub series_width_ns: u64,
    /// Counts requests and may stop the run.
    pub progress: Progress,
    /// Threads on which parts of the system are simulated.
    pub crew: Crew,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            arrivals: Arrivals::Open,
            warm_up: WarmUp::Requests(0),
            max_requests: None,
            duration: None,
            past_end: OutOfRangePolicy::Error,
            capping: None,
            policies: policy::PLUGINS.clone(),
            changes: Vec::new(),
            classes: 0,
            exact_limit: headstack_engine::quantiles::EXACT_LIMIT,
            series_width_ns: 100_000_000,
            progress: Progress::new(),
            crew: Crew::default(),
        }
    }
}
