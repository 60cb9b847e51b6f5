//! PCAP with bounded queues, in its tail-latency mode or its throughput mode.
//!
//! # Model
//! The controller of [`Pcap`](crate::Pcap) with bounds on both queues, so that few steps are needed after a change of the cap. In
//! throughput mode the queues jump from the upper bounds to `throughput_nr_requests` and `throughput_queue_depth`, and
//! back when power must fall.
//!
//! Of the parameters that `pcap-base` does not have, Table 1 calls the two numbers of `nr_requests` Q_IOQ^L and Q_IOQ^U,
//! those of `queue_depth` Q_NCQ^L and Q_NCQ^U, `throughput_nr_requests` and `throughput_queue_depth` Q_IOQ^P and Q_NCQ^P.
//!
//! # Source
//! Khatib and Bandic, FAST 2016, sections 6.2, 6.3 and Table 1.
//! # Validity
//! As for [`Pcap`](crate::Pcap). The lowest power is that of (32, 1), or of (128, 1) in throughput mode: lower caps are not
//! kept.

use super::{only, policy, Drives, Need, Policy};
use crate::pcap::Queues;
use crate::single::Single;
use headstack_schema::Plugin;

/// Registration.
pub fn plugin() -> Plugin<dyn Policy> {
    let summary = "PCAP with bounded queues, for tail latency or throughput (FAST 2016, sections 6.2 and 6.3)";
    let example = "mode = \"throughput\"\nnr_requests = [4, 32]\nqueue_depth = [1, 8]";
    policy(["pcap-agile", summary, example], Drives::One, &[Need::Queues], |reader, devices| {
        Ok(Box::new(Single::read(reader, only(devices, "pcap-agile")?, Some(BOUNDS))?))
    })
}

/// The upper bounds of Table 1.
pub(super) const BOUNDS: Queues = Queues { host: 32, drive: 8 };
