//! SPTF with ageing in proportion to the queue: nobody is passed by for much longer than the queue is long.
//!
//! # Model
//! The smallest value of positioning time minus `ageing / n` times age, with `n` commands in the queue. Age divided by `n`
//! is about one service time for each place in the queue, so `ageing` has no unit and does not depend on the depth. With
//! `cache_aware` (the default), a command that the buffer can serve, or that continues the read-ahead in progress, goes
//! first.
//!
//! While commands with duration limits or priorities wait, those give way until they are urgent and go first then, others are
//! served on the way to them, and with many commands age counts less (`urgency.rs`).
//! # Source
//! Fitted: random reads of 128 KiB on a 22 TB SATA drive of 2022, closed, at depths 1 to 32 (Western Digital, cdl-tools,
//! README: 82, 97, 141 and 165 reads per second with a 99th percentile of 20, 65, 185 and 323 ms at depths 1, 4, 16 and
//! 32). Shortest positioning time first gives a quarter more reads at depth 4, and more than twice that percentile at
//! depth 32; an ageing that does not depend on the depth fits one depth only.
//! With limits: the same drive with a fifth of the reads under a guideline of 50 ms, at depth 32: 154 reads per second; limited
//! reads mean 34 ms, 99th percentile 68 ms; others 250 and 435 ms; at depths 4 and 16, and under one of 300 ms at depths 4 and
//! 8: docs/models/duration-limits.md.
//! # Validity
//! One drive, one kind of load. The firmware's own rule is not published. Positioning times are known exactly; the age
//! limit of the queue, which firmware has beside its order, is `queue.age_limit`.

use super::urgency::{BesideLimits, DepthAged, Urgency, AGEINGS};
use super::{Choice, Needs, Scheduler, View};
use crate::queue::Queue;
use headstack_schema::Table;
use headstack_units::Span;

/// Far more than any fit.
const MOST_SPAN: Span = Span(10_000_000_000);
/// Number of commands up to which the ageing beside limits is the same.
const FALLS_ABOVE: f64 = 8.0;

#[derive(Table)]
#[table(model = "SPTF with ageing in proportion to the queue's length", example = "ageing = 1.3")]
pub(super) struct DepthAgedSptf {
    #[param(flatten)]
    order: DepthAged,
    /// `ageing` while commands with limits or priorities wait, up to 8 commands in all.
    #[param(default = 1.3, range = AGEINGS)]
    ageing_beside_limits: f64,
    /// By which power of the number of commands that ageing falls above 8.
    #[param(default = 0.4, range = 0.0..=1.0)]
    falls_with_depth: f64,
    /// As `ageing`, for the time that a command with a limit has until it is urgent: it makes the command wait.
    #[param(default = 0.25, range = AGEINGS)]
    slack_ageing: f64,
    /// After which share of its target a command with a limit is urgent at the earliest.
    #[param(default = 0.3, range = 0.0..=1.0)]
    urgent_after: f64,
    /// How long before the end of its target it is urgent.
    #[param(default = Span(35_000_000), range = Span::ZERO..=MOST_SPAN)]
    urgent_before: Span,
    /// Up to how long after its target others are served on the way to it.
    #[param(default = Span(5_000_000), range = Span::ZERO..=MOST_SPAN)]
    detour_late: Span,
}

impl Scheduler for DepthAgedSptf {
    fn needs(&self) -> Needs {
        self.order.needs()
    }

    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        self.order.pick(queue, view, |n| BesideLimits {
            weight: self.ageing_beside_limits * (n / FALLS_ABOVE).max(1.0).powf(-self.falls_with_depth) / n,
            slack_weight: self.slack_ageing / n,
            urgency: Urgency { after: self.urgent_after, before_ns: self.urgent_before.0 as f64 },
            detour_late: self.detour_late,
            head_start_ns: 0.0,
        })
    }
}
