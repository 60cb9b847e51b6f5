//! The parameters of a host queue, and those that follow from others.

use super::{HostQueue, DEFAULT_ELEVATOR};
use crate::layer::{Elevators, LowerCount};
use headstack_drive::spec::Params;
use headstack_schema::{Choice, Kind, Table};
use headstack_units::{Bytes, Span};
use serde_json::Value;

/// Fewest places, as in Linux.
pub(super) const FEWEST: u32 = 4;
pub(super) const MOST: u32 = 65_536;

/// The table of a host queue.
#[derive(Table)]
#[table(
    model = "places for requests, merging, an elevator, a depth at the device",
    example = "elevator = \"deadline\"\nnr_requests = 64\ndepth = 4",
    facts = LowerCount::One, complete = Parameters::complete,
    build = |own, context| Ok(Box::new(HostQueue::new(context, &own)?))
)]
pub(crate) struct Parameters {
    /// The order in which requests are dispatched.
    #[param(default = DEFAULT_ELEVATOR.into(), kind = Kind::Name("elevator"))]
    pub elevator: String,
    /// Parameters of the elevator.
    #[param(default, kind = Kind::Parameters("elevator"))]
    pub elevator_parameters: Params,
    /// How places are counted; if absent `legacy` for `deadline`, else `blk-mq`.
    pub places: Option<PlacesName>,
    /// Places; requests at the lower layer hold theirs. If absent, 128 for `legacy`, and for `blk-mq` twice the depth,
    /// at most 256 (with `none` the depth).
    #[param(range = FEWEST..=MOST)]
    pub nr_requests: Option<u32>,
    /// Requests at the lower layer at once.
    #[param(default = 32, range = 1..=MOST)]
    pub depth: u32,
    /// Time from the moment when a process is woken until it submits again.
    #[param(default = Span(50_000), range = Span::ZERO..=Span(1_000_000_000))]
    pub wake_time: Span,
    /// With `blk-mq`: the share of the places promised to a woken process that one which comes earlier takes; 0: the
    /// place is kept.
    #[param(default = 0.3, range = 0.0..=1.0)]
    pub retake: f64,
    /// Time from the end of a request at the device until the host notices it.
    #[param(default, range = Span::ZERO..=Span(1_000_000_000))]
    pub completion_time: Span,
    /// Plain writes count as sync, as with direct input and output.
    #[param(default)]
    pub sync_writes: bool,
    /// Whether requests are merged at all.
    #[param(default = true)]
    pub merge: bool,
    /// Whether requests are also merged in front of waiting ones.
    #[param(default = true)]
    pub front_merges: bool,
    /// Longest merged request; if absent 512 KiB for `legacy`, 1280 KiB for `blk-mq`.
    #[param(range = Bytes(4096)..=Bytes(1 << 30))]
    pub max_request: Option<Bytes>,
    /// Most submitted requests in a merged one.
    #[param(default = 128, range = 1..=MOST)]
    pub max_segments: u32,
}

/// How places are counted.
#[derive(Clone, Copy, PartialEq, Choice)]
pub(crate) enum PlacesName {
    /// Sync and async requests have separate pools, with batchers.
    Legacy,
    /// One pool.
    BlkMq,
}

/// A layer's parameters in use with all those of the elevator that they name, if they name one.
pub fn with_elevator(mut all: Params, elevators: &Elevators) -> Params {
    if let (Some(Value::String(name)), Some(Value::Object(own))) = (all.get("elevator"), all.get("elevator_parameters"))
    {
        let own = elevators.filled(name, own);
        all.insert("elevator_parameters".into(), own.into());
    }
    all
}

impl Parameters {
    /// With those that follow from others.
    pub fn complete(self) -> Parameters {
        let (places, nr_requests, max_request) = (self.places(), self.nr_requests(), self.max_request());
        Parameters { places: Some(places), nr_requests: Some(nr_requests), max_request: Some(max_request), ..self }
    }

    pub fn places(&self) -> PlacesName {
        let usual = match self.elevator.as_str() {
            "deadline" => PlacesName::Legacy,
            _ => PlacesName::BlkMq,
        };
        self.places.unwrap_or(usual)
    }

    pub fn nr_requests(&self) -> u32 {
        let usual = match self.places() {
            PlacesName::Legacy => 128,
            PlacesName::BlkMq => usual_tags(&self.elevator, self.depth),
        };
        self.nr_requests.unwrap_or(usual)
    }

    pub fn max_request(&self) -> Bytes {
        let usual = match self.places() {
            PlacesName::Legacy => 512,
            PlacesName::BlkMq => 1280,
        };
        self.max_request.unwrap_or(Bytes(usual * 1024))
    }
}

/// The places that blk-mq has under an elevator, at a device that takes `depth` requests at once.
pub(super) fn usual_tags(elevator: &str, depth: u32) -> u32 {
    let usual = match elevator {
        "none" => depth,
        _ => 2 * depth.min(128),
    };
    usual.max(FEWEST)
}

/// How many waiting processes blk-mq wakes at a time under an elevator; `None`: as many as follow from the number of
/// places.
pub(super) fn wake_batch(elevator: &str) -> Option<u32> {
    // With an elevator, Linux wakes waiters one at a time.
    (elevator != "none").then_some(1)
}
