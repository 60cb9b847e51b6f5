//! PCAP with bounded queues, in its tail-latency mode or its throughput mode.
//!
//! # Model
//! The controller of [`Pcap`] with bounds on both queues, so that few steps are needed after a change of the cap. In
//! throughput mode the queues jump from the upper bounds to `throughput_nr_requests` and `throughput_queue_depth`, and
//! back when power must fall.
//!
//! Of the parameters that `pcap-base` does not have, Table 1 calls the two numbers of `nr_requests` Q_IOQ^L and Q_IOQ^U,
//! those of `queue_depth` Q_NCQ^L and Q_NCQ^U, `throughput_nr_requests` and `throughput_queue_depth` Q_IOQ^P and Q_NCQ^P.
//!
//! # Source
//! Khatib and Bandic, FAST 2016, sections 6.2, 6.3 and Table 1.
//! # Validity
//! As for [`Pcap`]. The lowest power is that of (32, 1), or of (128, 1) in throughput mode: lower caps are not
//! kept.

use super::{built, fill, only, only_with, Drives, Facts, Need, Policy, PolicyParameters};
use crate::pcap::{bounds, Bounds, Gains, Mode, Pcap, Queues, SnapBack, Start, LONG};
use crate::single::{Single, SingleTable};
use crate::Device;
use headstack_schema::{SpecError, Table};

/// Parameters of `pcap-agile`.
#[derive(Table)]
#[table(
    model = "PCAP with bounded queues, for tail latency or throughput (FAST 2016, sections 6.2 and 6.3)",
    example = "mode = \"throughput\"\nnr_requests = [4, 32]\nqueue_depth = [1, 8]",
    facts = Facts::of::<Self>(Drives::One, &[Need::Queues]), build = built
)]
pub(super) struct Parameters {
    #[param(flatten)]
    single: SingleTable,
    /// Which sizes of the queues are used: short ones for tail latency, or long ones for throughput.
    #[param(default = Mode::TailLatency)]
    mode: Mode,
    #[param(flatten)]
    bounds: Bounds,
    /// Places of the host's queue for the highest throughput, with `mode = "throughput"`; left out, 128.
    throughput_nr_requests: Option<u32>,
    /// Depth of the drive's queue for the highest throughput, with `mode = "throughput"`; left out, 32.
    throughput_queue_depth: Option<u32>,
    #[param(flatten)]
    start: Start,
    /// Which queues return to their upper bounds at once when power must fall, with `mode = "throughput"`; left out,
    /// `drive`.
    snap_back: Option<SnapBack>,
    #[param(flatten)]
    gains: Gains,
}

impl PolicyParameters for Parameters {
    fn build(&mut self, devices: &[Device]) -> Result<Box<dyn Policy>, SpecError> {
        let device = only(devices, "pcap-agile")?;
        let guard = self.single.guard.fill(1)?;
        let [least, agile] = self.bounds.fill(device)?;
        let Parameters { throughput_nr_requests: host, throughput_queue_depth: drive, snap_back, .. } = self;
        let (most, snap_back) = match self.mode {
            Mode::TailLatency => {
                let with = "mode = \"throughput\"";
                only_with(with, &[("throughput_nr_requests", host), ("throughput_queue_depth", drive)])?;
                only_with(with, &[("snap_back", snap_back)])?;
                (agile, SnapBack::Drive)
            }
            Mode::Throughput => {
                let [_, top] = bounds(device);
                let usual = LONG.within(agile, top);
                let host = fill("throughput_nr_requests", host, usual.host, agile.host..=top.host)?;
                let drive = fill("throughput_queue_depth", drive, usual.drive, agile.drive..=top.drive)?;
                (Queues { host, drive }, *snap_back.get_or_insert(SnapBack::Drive))
            }
        };
        let pcap = Pcap::new([least, agile, most], (self.mode, snap_back), &mut self.start, self.gains)?;
        Ok(Box::new(Single::new(guard, self.single.tolerance, pcap, device)))
    }
}
