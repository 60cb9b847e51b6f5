//! What a run sees of its workload: how much of it, how it lies in sectors, what lies beyond the devices.

use crate::outcome::{BeyondDevice, Seen};
use headstack_trace::Request;
use headstack_units::Time;

impl Seen {
    /// A request reaches beyond the end of its device, or begins below zero.
    #[cold]
    pub(super) fn see_beyond(&mut self, request: &Request, device_blocks: u64) {
        let end = match request.is_below_zero() {
            true => 0,
            false => request.lba.0.saturating_add(u64::from(request.blocks)),
        };
        let own = BeyondDevice {
            n_requests: 1,
            n_below_zero: u64::from(request.is_below_zero()),
            end_blocks: end,
            device: request.device,
            device_blocks,
        };
        self.beyond = Some(self.beyond.map_or(own, |all| all.and(&own)));
    }

    /// The requests that were taken, from the first arrival to the last.
    pub(super) fn cover(&mut self, n_taken: u64, first: Option<Time>, last: Time) {
        self.n_taken = n_taken;
        self.covered = first.map(|first| [first, last.max(first)]);
    }
}
