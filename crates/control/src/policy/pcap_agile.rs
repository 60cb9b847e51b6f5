//! PCAP with bounded queues, in its tail-latency mode or its throughput mode.
//!
//! # Model
//! The controller of [`Pcap`] with bounds on both queues, so that few steps are needed after a change of the cap. In
//! throughput mode the queues jump from the upper bounds to `throughput_nr_requests` and `throughput_queue_depth`, and
//! back when power must fall.
//!
//! Params are those of `pcap-base`, and:
//!
//! | key | default | bounds | Table 1 |
//! |---|---|---|---|
//! | `mode` | `tail-latency` | `tail-latency`, `throughput` | |
//! | `nr_requests` | [4, 32] | 4 to the device's | [Q_IOQ^L, Q_IOQ^U] |
//! | `queue_depth` | [1, 8] | the device's | [Q_NCQ^L, Q_NCQ^U] |
//! | `throughput_nr_requests` | 128 | the upper bound to the device's | Q_IOQ^P |
//! | `throughput_queue_depth` | 32 | the upper bound to the device's | Q_NCQ^P |
//! | `snap_back` | `drive` | `drive`, `both`, `never`; in throughput mode | section 6.3 |
//! | `start_nr_requests`, `start_queue_depth` | the lower bounds; in throughput mode 128 and 32 | the bounds | |
//!
//! # Source
//! Khatib and Bandic, FAST 2016, sections 6.2, 6.3 and Table 1.
//! # Validity
//! As for [`Pcap`]. The lowest power is that of (32, 1), or of (128, 1) in throughput mode: lower caps are not
//! kept.

use super::{only, Drives, Need, Plugin};
use crate::guard::{Guard, GuardSettings};
use crate::pcap::{tolerance, Mode, Pcap, Queues};
use crate::single::Single;
use crate::Device;
use headstack_schema::{Reader, SpecError};
use headstack_units::{Span, Watts};

/// Registration.
pub const PLUGIN: Plugin = Plugin {
    name: "pcap-agile",
    summary: "PCAP with bounded queues, for tail latency or throughput (FAST 2016, sections 6.2 and 6.3)",
    example: "mode = \"throughput\"\nnr_requests = [4, 32]\nqueue_depth = [1, 8]",
    drives: Drives::One,
    needs: &[Need::Queues],
    read: |reader, devices| Ok(Box::new(read(reader, only(devices, "pcap-agile")?)?)),
};

/// The upper bounds of Table 1.
pub(super) const BOUNDS: Queues = Queues { host: 32, drive: 8 };

fn read(reader: &mut Reader, device: &Device) -> Result<Single, SpecError> {
    let settings = GuardSettings::read(reader, Span(5_000_000_000), 1)?;
    let tolerance_w = tolerance(reader, Watts(0.2))?;
    let mode = reader.word(
        ("mode", "Which sizes of the queues are used: short ones for tail latency, or long ones for throughput."),
        Mode::TailLatency,
    )?;
    let pcap = Pcap::read(reader, device, mode, Some(BOUNDS))?;
    Ok(Single { guard: Guard::new(settings), pcap, tolerance_w, open: device.clamp(device.open) })
}
