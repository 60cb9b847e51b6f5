//! PCAP's base design: a proportional controller of the two queues, without upper bounds.
//!
//! # Model
//! The controller of [`Pcap`] in tail-latency mode, with the bounds of the device. So the host queue continues to grow
//! while the cap cannot be reached, and takes as long to shrink again. Without a cap the queues have the start sizes.
//! In the safe setting the host queue has 128 places and the drive queue its least depth.
//!
//! | key | default | bounds | Table 1 |
//! |---|---|---|---|
//! | `period` | 5 s | 10 ms to 1 h | T |
//! | `raise_factor`, `lower_factor` | 2, 8 | 0.01 to 1000 | alpha_up, alpha_dn |
//! | `tolerance` | 0.2 W | 0 to 1000 W | epsilon |
//! | `host_queue_power`, `drive_queue_power` | 2 W, 2 W | 0.01 to 1000 W | Delta P_IOQ, Delta P_NCQ |
//! | `rounding` | `down` | `down`, `nearest`, `up` | |
//! | `start_nr_requests`, `start_queue_depth` | 4, 1 | 4 to 128, 1 to 32 | |
//! | `stale_after`, `lost_after` | one period, three | 10 ms, one period, to 1 h | |
//! | `most_power` | 100 W | 0.1 to 1e6 W | |
//! | `on_loss` | `lowest` | `lowest`, `open` | |
//!
//! # Source
//! Khatib and Bandic, FAST 2016, section 6.1 and Table 1.
//! # Validity
//! As for [`Pcap`]. The paper replaces this design by `pcap-agile`, because this design is slow when a cap is raised.
//! It is included for comparison.

use super::{only, Drives, Need, Plugin};
use crate::guard::{Guard, GuardSettings};
use crate::pcap::{tolerance, Mode, Pcap};
use crate::single::Single;
use crate::Device;
use headstack_schema::{Reader, SpecError};
use headstack_units::{Span, Watts};

/// Registration.
pub const PLUGIN: Plugin = Plugin {
    name: "pcap-base",
    summary: "PCAP without bounds on the queues (FAST 2016, section 6.1)",
    example: "period = \"5 s\"\nraise_factor = 2\nlower_factor = 8\ntolerance = \"0.2 W\"",
    drives: Drives::One,
    needs: &[Need::Queues],
    read: |reader, devices| Ok(Box::new(read(reader, only(devices, "pcap-base")?)?)),
};

fn read(reader: &mut Reader, device: &Device) -> Result<Single, SpecError> {
    let settings = GuardSettings::read(reader, Span(5_000_000_000), 1)?;
    let tolerance_w = tolerance(reader, Watts(0.2))?;
    let pcap = Pcap::read(reader, device, Mode::TailLatency, None)?;
    Ok(Single { guard: Guard::new(settings), pcap, tolerance_w, open: device.clamp(device.open) })
}
