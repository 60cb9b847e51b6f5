//! PCAP's base design: a proportional controller of the two queues, without upper bounds.
//!
//! # Model
//! The controller of [`Pcap`] in tail-latency mode, with the bounds of the device. So the host queue continues to grow
//! while the cap cannot be reached, and takes as long to shrink again. Without a cap the queues have the start sizes.
//! In the safe setting the host queue has 128 places and the drive queue its least depth.
//!
//! Of the parameters, Table 1 calls `period` T, `raise_factor` and `lower_factor` alpha_up and alpha_dn, `tolerance`
//! epsilon, `host_queue_power` and `drive_queue_power` Delta P_IOQ and Delta P_NCQ.
//!
//! # Source
//! Khatib and Bandic, FAST 2016, section 6.1 and Table 1.
//! # Validity
//! As for [`Pcap`]. The paper replaces this design by `pcap-agile`, because this design is slow when a cap is raised.
//! It is included for comparison.

use super::{built, only, Drives, Facts, Need, Policy, PolicyParameters};
use crate::pcap::{bounds, Gains, Mode, Pcap, SnapBack, Start, LONG};
use crate::single::{Single, SingleTable};
use crate::Device;
use headstack_schema::{SpecError, Table};

/// Parameters of `pcap-base`.
#[derive(Table)]
#[table(
    model = "PCAP without bounds on the queues (FAST 2016, section 6.1)",
    example = "period = \"5 s\"\nraise_factor = 2\nlower_factor = 8\ntolerance = \"0.2 W\"",
    facts = Facts::of::<Self>(Drives::One, &[Need::Queues]), build = built
)]
pub(super) struct Parameters {
    #[param(flatten)]
    single: SingleTable,
    #[param(flatten)]
    start: Start,
    #[param(flatten)]
    gains: Gains,
}

impl PolicyParameters for Parameters {
    fn build(&mut self, devices: &[Device]) -> Result<Box<dyn Policy>, SpecError> {
        let device = only(devices, "pcap-base")?;
        let guard = self.single.guard.fill(1)?;
        let [bottom, top] = bounds(device);
        let queues = [bottom, top, LONG.within(bottom, top)];
        let pcap = Pcap::new(queues, (Mode::TailLatency, SnapBack::Drive), &mut self.start, self.gains)?;
        Ok(Box::new(Single::new(guard, self.single.tolerance, pcap, device)))
    }
}
