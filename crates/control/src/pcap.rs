//! The queue controller of PCAP, which the policies `pcap-base`, `pcap-agile` and `pcap-s` share.
//!
//! # Model
//! The power error is `e = P_c - P_t` watts, where `P_c` is the mean power of a period and `P_t` the cap. Nothing
//! changes while `|e| <= tolerance`. Otherwise the sizes `I` of the host queue and `N` of the drive queue change by the
//! steps (equations 1 and 2)
//!
//! ```text
//! dI = int(|e| / host_queue_power  · 2 · a)     host queue (IOQ)
//! dN = int(|e| / drive_queue_power · a)         drive queue (NCQ)
//! ```
//!
//! with `a = lower_factor` if power is too high and `raise_factor` if it is too low. `int` truncates ([`Rounding`]), so
//! small errors change nothing. With the values of Table 1, `I` does not change if power is too low by less than 0.5 W,
//! and `N` does not change below 1 W.
//!
//! Power falls as the host queue grows and as the drive queue shrinks. The bounds are `[IL, IU]` for `I` and `[NL, NU]`
//! for `N`; `IP` and `NP` are the sizes for the highest throughput. One queue changes at a time:
//!
//! | mode | power too high | power too low |
//! |---|---|---|
//! | tail-latency | `N` down to `NL`, then `I` up to `IU` | `I` down to `IL`, then `N` up to `NU` |
//! | throughput | `I` up; at `IU` it becomes `IP`. Then `N`: from above `NU` to `NU`, then down to `NL` | `I` and `N` up; at `IU` and `NU` they become `IP` and `NP` |
//!
//! `snap_back` has the other readings of the way down in throughput mode: `both` queues return to `IU` and `NU`, and `N`
//! then shrinks beside `IU`; or `N` `never` jumps, and shrinks in steps from `NP`.
//!
//! # Source
//! M. G. Khatib and Z. Bandic, "PCAP: Performance-aware Power Capping for the Disk Drive in the Cloud", FAST 2016,
//! section 6 and Table 1. The paper gives the two equations and describes in words how the queues change; the order of
//! the changes is our reading. The paper's "increase both queues" cannot reach low power, because with a long host
//! queue power *rises* with the drive queue (its Figure 3b).
//!
//! # Validity
//! Random requests, with more of them outstanding than places in the host queue. With fewer than four outstanding
//! requests there is nothing to reorder, and no setting lowers the power.

use crate::policy::fill;
use crate::{Command, Device, LEAST_NR_REQUESTS};
use headstack_schema::{Choice, SpecError, Table};
use headstack_units::Watts;
use std::ops::RangeInclusive;

/// Sizes of the two queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Queues {
    /// Places of the host's queue (IOQ).
    pub host: u32,
    /// Depth of the drive's queue (NCQ).
    pub drive: u32,
}

/// The sizes of Table 1 for the highest throughput, and its upper bounds.
pub(crate) const LONG: Queues = Queues { host: 128, drive: 32 };
const AGILE: Queues = Queues { host: 32, drive: 8 };

impl Queues {
    pub(crate) fn within(self, low: Queues, high: Queues) -> Queues {
        Queues { host: self.host.clamp(low.host, high.host), drive: self.drive.clamp(low.drive, high.drive) }
    }

    /// The command with these sizes and all other settings of `open`.
    pub(crate) fn command(self, open: &Command) -> Command {
        Command { nr_requests: self.host, queue_depth: self.drive, ..*open }
    }
}

/// The mode of the controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Choice)]
pub enum Mode {
    /// Short queues.
    TailLatency,
    /// Long queues.
    Throughput,
}

/// What happens, in throughput mode, to queues at the sizes for the highest throughput when power is too high. The
/// paper says that PCAP "snaps back from these settings to the upper bounds in the downtrend" (section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Choice)]
pub enum SnapBack {
    /// The drive queue alone returns to its upper bound: the host queue lowers power by being long.
    Drive,
    /// Both queues return to their upper bounds, as the sentence says.
    Both,
    /// The drive queue shrinks step by step from its size for the highest throughput.
    Never,
}

/// Treatment of the fraction of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Choice)]
pub enum Rounding {
    /// Truncated, as by Python's `int`.
    Down,
    /// Rounded to the nearest integer.
    Nearest,
    /// Rounded up: the smallest error makes a step.
    Up,
}

impl Rounding {
    /// `x` as a step, from 0 to a million.
    fn apply(self, x: f64) -> u32 {
        let whole = match self {
            Rounding::Down => x.floor(),
            Rounding::Nearest => x.round(),
            Rounding::Up => x.ceil(),
        };
        // NaN becomes 0.
        whole.clamp(0.0, 1e6) as u32
    }
}

/// Gains: how far one period changes the queues.
#[derive(Debug, Clone, Copy, PartialEq, Table)]
pub struct Gains {
    /// Gain when power may rise.
    #[param(default = 2.0, range = 0.01..=MOST)]
    pub raise_factor: f64,
    /// Gain when power must fall.
    #[param(default = 8.0, range = 0.01..=MOST)]
    pub lower_factor: f64,
    /// The most by which the host's queue changes the power.
    #[param(default = Watts(2.0), range = Watts(0.01)..=Watts(MOST))]
    pub host_queue_power: Watts,
    /// The most by which the drive's queue changes the power.
    #[param(default = Watts(2.0), range = Watts(0.01)..=Watts(MOST))]
    pub drive_queue_power: Watts,
    /// What is done with the fraction of a step.
    #[param(default = Rounding::Down)]
    pub rounding: Rounding,
}

/// Bounds of both queues.
#[derive(Debug, Clone, Copy, PartialEq, Table)]
pub(crate) struct Bounds {
    /// Least and most places of the host's queue; left out, [4, 32] as far as the drive accepts them.
    pub(crate) nr_requests: Option<[u32; 2]>,
    /// Least and most depth of the drive's queue; left out, [1, 8] as far as the drive accepts them.
    pub(crate) queue_depth: Option<[u32; 2]>,
}

/// Sizes of both queues without a cap.
#[derive(Debug, Clone, Copy, PartialEq, Table)]
pub(crate) struct Start {
    /// Places of the host's queue without a cap; left out, its least, in throughput mode its most.
    pub(crate) start_nr_requests: Option<u32>,
    /// Depth of the drive's queue without a cap; left out, its least, in throughput mode its most.
    pub(crate) start_queue_depth: Option<u32>,
}

impl Bounds {
    /// The shortest and the longest queues.
    ///
    /// # Errors
    /// Sizes that the device does not accept, or in descending order.
    pub(crate) fn fill(&mut self, device: &Device) -> Result<[Queues; 2], SpecError> {
        let [bottom, top] = bounds(device);
        let usual = AGILE.within(bottom, top);
        let host = pair("nr_requests", &mut self.nr_requests, usual.host, bottom.host..=top.host)?;
        let drive = pair("queue_depth", &mut self.queue_depth, usual.drive, bottom.drive..=top.drive)?;
        Ok([0, 1].map(|i| Queues { host: host[i], drive: drive[i] }))
    }
}

/// Two numbers in ascending order; left out, the least of `bounds` and `most`.
fn pair(key: &str, pair: &mut Option<[u32; 2]>, most: u32, bounds: RangeInclusive<u32>) -> Result<[u32; 2], SpecError> {
    match *pair.get_or_insert([*bounds.start(), most]) {
        [a, b] if a <= b && bounds.contains(&a) && bounds.contains(&b) => Ok([a, b]),
        [a, b] => {
            let need = format!("two numbers in ascending order, from {} to {}", bounds.start(), bounds.end());
            Err(SpecError::new(key, format!("[{a},{b}]"), need))
        }
    }
}

impl Gains {
    /// Steps of the host's and of the drive's queue for an error in watts (equations 1 and 2).
    fn steps(&self, error_w: f64) -> Queues {
        let factor = if error_w > 0.0 { self.lower_factor } else { self.raise_factor };
        let size = error_w.abs();
        Queues {
            host: self.rounding.apply(size / self.host_queue_power.0 * 2.0 * factor),
            drive: self.rounding.apply(size / self.drive_queue_power.0 * factor),
        }
    }
}

/// The controller of one drive: its queue sizes and its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub struct Pcap {
    /// The current sizes.
    pub queues: Queues,
    /// The sizes without a cap.
    pub start: Queues,
    /// Lower bounds.
    pub least: Queues,
    /// Upper bounds; in throughput mode the queues jump from here to `most`.
    pub agile: Queues,
    /// The longest useful queues, beyond which power hardly falls. In throughput mode the queues jump here.
    pub most: Queues,
    pub mode: Mode,
    /// How queues return to the upper bounds, in throughput mode.
    pub snap_back: SnapBack,
    pub gains: Gains,
}

/// The largest factor, and the largest power in watts, that parameters may have.
pub(crate) const MOST: f64 = 1000.0;

impl Pcap {
    /// The controller between the shortest and the longest queues, in throughput mode up to `most`.
    ///
    /// # Errors
    /// A start outside these bounds.
    pub(crate) fn new(
        [least, agile, most]: [Queues; 3],
        (mode, snap_back): (Mode, SnapBack),
        start: &mut Start,
        gains: Gains,
    ) -> Result<Pcap, SpecError> {
        let usual = match mode {
            Mode::TailLatency => least,
            Mode::Throughput => most,
        };
        let Start { start_nr_requests: host, start_queue_depth: drive } = start;
        let start = Queues {
            host: fill("start_nr_requests", host, usual.host, least.host..=most.host)?,
            drive: fill("start_queue_depth", drive, usual.drive, least.drive..=most.drive)?,
        };
        Ok(Pcap { queues: start, start, least, agile, most, mode, snap_back, gains })
    }

    /// The queues after one step of the controller, when power is too high by `error_w` watts.
    pub fn after(&self, error_w: f64) -> Queues {
        let step = self.gains.steps(error_w);
        match (self.mode, error_w > 0.0) {
            (Mode::TailLatency, true) => self.lower_short(step),
            (Mode::TailLatency, false) => self.raise_short(step),
            (Mode::Throughput, true) => self.lower_long(step),
            (Mode::Throughput, false) => self.raise_long(step),
        }
    }

    /// Whether no setting has lower power.
    pub fn is_lowest(&self) -> bool {
        self.queues == self.lowest()
    }

    /// Whether no setting has higher power, in tail-latency mode.
    pub fn is_highest(&self) -> bool {
        self.queues.host == self.least.host && self.queues.drive == self.agile.drive
    }

    /// The sizes with the lowest power: a long host queue and a short drive queue.
    pub fn lowest(&self) -> Queues {
        Queues { host: self.most.host, drive: self.least.drive }
    }

    fn lower_short(&self, step: Queues) -> Queues {
        let Queues { host, drive } = self.queues;
        if drive > self.least.drive {
            let drive = drive.saturating_sub(step.drive).max(self.least.drive);
            Queues { host, drive }
        } else {
            let host = host.saturating_add(step.host).min(self.agile.host.max(host));
            Queues { host, drive }
        }
    }

    fn raise_short(&self, step: Queues) -> Queues {
        let Queues { host, drive } = self.queues;
        if host > self.least.host {
            let host = host.saturating_sub(step.host).max(self.least.host);
            Queues { host, drive }
        } else {
            let drive = drive.saturating_add(step.drive).min(self.agile.drive.max(drive));
            Queues { host, drive }
        }
    }

    fn lower_long(&self, step: Queues) -> Queues {
        let Queues { host, drive } = self.queues;
        let (agile, both) = (self.agile, self.snap_back == SnapBack::Both);
        if both && (host > agile.host || drive > agile.drive) {
            return self.queues.within(self.least, agile);
        }
        if host < agile.host {
            let host = if both { host.saturating_add(step.host).min(agile.host) } else { self.grown_host(step) };
            return Queues { host, drive };
        }
        let drive = match drive > agile.drive && self.snap_back != SnapBack::Never {
            true => agile.drive,
            false => drive.saturating_sub(step.drive).max(self.least.drive),
        };
        let host = if both { agile.host } else { self.most.host };
        Queues { host, drive }
    }

    fn raise_long(&self, step: Queues) -> Queues {
        let drive = match self.queues.drive {
            drive if drive >= self.agile.drive => self.most.drive,
            drive => match drive.saturating_add(step.drive) {
                drive if drive >= self.agile.drive => self.most.drive,
                drive => drive,
            },
        };
        let host = self.grown_host(step);
        Queues { host, drive }
    }

    /// The host queue after one step upwards; at the agile bound it jumps to the maximum.
    fn grown_host(&self, step: Queues) -> u32 {
        match self.queues.host.saturating_add(step.host) {
            host if host >= self.agile.host => self.most.host,
            host => host,
        }
    }
}

/// The shortest and the longest queues of a device.
pub(crate) fn bounds(device: &Device) -> [Queues; 2] {
    let bottom =
        Queues { host: device.least_nr_requests.max(LEAST_NR_REQUESTS), drive: device.least_queue_depth.max(1) };
    let top =
        Queues { host: device.most_nr_requests.max(bottom.host), drive: device.most_queue_depth.max(bottom.drive) };
    [bottom, top]
}
