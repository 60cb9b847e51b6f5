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

use super::satf::needs_of;
use super::urgency::{Allowance, BesideLimits, Urgency};
use super::{Choice, Needs, Scheduler, Search, View};
use crate::queue::Queue;
use headstack_schema::{Plugin, Table};
use headstack_units::Span;

/// The registry entry.
pub fn plugin() -> Plugin<dyn Scheduler> {
    Plugin::<dyn Scheduler>::new(
        "deadline-sptf",
        "SPTF with ageing; commands with limits go where they are near, and in time",
        "head_start = \"4 ms\"",
        |model: DeadlineSptf, _| Ok(Box::new(model)),
    )
}

/// Far more than any fit.
const MOST_AGEING: f64 = 1e6;
/// Longest head start.
const MOST_START: Span = Span(1_000_000_000);

#[derive(Table)]
struct DeadlineSptf {
    /// How much positioning time a unit of waiting time outweighs, times the number of commands in the queue; no unit.
    #[param(default = 1.3, range = 0.0..=MOST_AGEING)]
    ageing: f64,
    /// Whether commands that the buffer can serve go first.
    #[param(default = true)]
    cache_aware: bool,
    /// `ageing` while commands with limits or priorities wait.
    #[param(default = 0.7, range = 0.0..=MOST_AGEING)]
    ageing_beside_limits: f64,
    /// After which share of its target a command with a limit goes first.
    #[param(default = 0.5, range = 0.0..=1.0)]
    urgent_after: f64,
    /// How much farther than the command whose turn it is a command with a limit may be, to go first before it is urgent.
    #[param(default = Span(6_000_000), range = Span::ZERO..=MOST_START)]
    head_start: Span,
    #[param(skip)]
    search: Search,
    #[param(skip)]
    allowance: Allowance,
}

impl Scheduler for DeadlineSptf {
    fn needs(&self) -> Needs {
        needs_of(self.cache_aware)
    }

    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        let n = queue.len() as f64;
        let order = BesideLimits {
            weight: self.ageing_beside_limits / n,
            slack_weight: 0.0,
            urgency: Urgency { after: self.urgent_after, before_ns: f64::INFINITY },
            detour_late_ns: 0,
            head_start_ns: self.head_start.non_negative() as f64,
        };
        let state = (&mut self.search, &mut self.allowance);
        order.pick_any(state, queue, view, self.cache_aware, self.ageing / n)
    }
}
