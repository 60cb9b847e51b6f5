//! Commands with limits in time at the least cost: what firmware could do, not what it does.
//!
//! # Model
//! As [`depth_aged_sptf`](super::depth_aged_sptf) while commands with limits or priorities wait (`urgency.rs`), with two
//! differences: a command with a limit may go before it is urgent, where it is near (`head_start`), and it is urgent later.
//! Without such commands it is the same order.
//! # Source
//! Our own.
//! # Validity
//! Positioning times are known exactly. The head start is fitted to a drive of 22 TB at depth 32.

use super::urgency::{BesideLimits, DepthAged, Urgency, AGEINGS};
use super::{Choice, Needs, Scheduler, View};
use crate::queue::Queue;
use headstack_schema::Table;
use headstack_units::Span;

/// Longest head start.
const MOST_START: Span = Span(1_000_000_000);

#[derive(Table)]
#[table(
    model = "SPTF with ageing; commands with limits go where they are near, and in time",
    example = "head_start = \"4 ms\""
)]
pub(super) struct DeadlineSptf {
    #[param(flatten)]
    order: DepthAged,
    /// `ageing` while commands with limits or priorities wait.
    #[param(default = 0.7, range = AGEINGS)]
    ageing_beside_limits: f64,
    /// After which share of its target a command with a limit goes first.
    #[param(default = 0.5, range = 0.0..=1.0)]
    urgent_after: f64,
    /// How much farther than the command whose turn it is a command with a limit may be, to go first before it is urgent.
    #[param(default = Span(6_000_000), range = Span::ZERO..=MOST_START)]
    head_start: Span,
}

impl Scheduler for DeadlineSptf {
    fn needs(&self) -> Needs {
        self.order.needs()
    }

    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        self.order.pick(queue, view, |n| BesideLimits {
            weight: self.ageing_beside_limits / n,
            slack_weight: 0.0,
            urgency: Urgency { after: self.urgent_after, before_ns: f64::INFINITY },
            detour_late: Span::ZERO,
            head_start_ns: self.head_start.0 as f64,
        })
    }
}
