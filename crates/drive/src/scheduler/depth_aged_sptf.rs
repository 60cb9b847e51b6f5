//! SPTF with ageing in proportion to the queue: nobody is passed by for much longer than the queue is long.
//!
//! # Model
//! The smallest value of positioning time minus `ageing / n` times age, with `n` commands in the queue. Age divided by `n`
//! is about one service time for each place in the queue, so `ageing` has no unit and does not depend on the depth. With
//! `cache_aware` (the default), a command that the buffer can serve, or that continues the read-ahead in progress, goes
//! first.
//! # Source
//! Fitted: random reads of 128 KiB on a 22 TB SATA drive of 2022, closed, at depths 1 to 32 (Western Digital, cdl-tools,
//! README: 82, 97, 141 and 165 reads per second with a 99th percentile of 20, 65, 185 and 323 ms at depths 1, 4, 16 and
//! 32). Shortest positioning time first gives a quarter more reads at depth 4, and more than twice that percentile at
//! depth 32; an ageing that does not depend on the depth fits one depth only.
//! # Validity
//! One drive, one kind of load. The firmware's own rule is not published. Positioning times are known exactly; the age
//! limit of the queue, which firmware has beside its order, is `queue.age_limit`.

use super::aged_sptf::choose;
use super::satf::{needs_of, served_choice};
use super::{Choice, Needs, Scheduler, Search, View};
use crate::plugin::Plugin;
use crate::queue::Queue;
use headstack_schema::Table;

/// The registry entry.
pub fn plugin() -> Plugin<dyn Scheduler> {
    Plugin::<dyn Scheduler>::new(
        "depth-aged-sptf",
        "SPTF with ageing in proportion to the queue's length",
        "ageing = 1.3",
        |model: DepthAgedSptf, _| Ok(Box::new(model)),
    )
}

/// Far more than any fit; with many commands waiting about the order of arrival.
const MOST_AGEING: f64 = 1e6;

#[derive(Table)]
struct DepthAgedSptf {
    /// How much positioning time a unit of waiting time outweighs, times the number of commands in the queue; no unit.
    #[param(default = 1.3, range = 0.0..=MOST_AGEING)]
    ageing: f64,
    /// Whether commands that the buffer can serve go first.
    #[param(default = true)]
    cache_aware: bool,
    #[param(skip)]
    search: Search,
}

impl Scheduler for DepthAgedSptf {
    fn needs(&self) -> Needs {
        needs_of(self.cache_aware)
    }

    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        if self.cache_aware {
            if let Some(choice) = served_choice(queue, view) {
                return choice;
            }
        }
        let weight = self.ageing / queue.len() as f64;
        choose(&mut self.search, queue, view, weight)
    }
}
