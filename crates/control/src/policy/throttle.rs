//! Throttling: a limit on the rate of work that reaches the drive, computed from the cap.
//!
//! # Model
//! The power is a linear function of the rate, `P = base + slope · rate`. So the limit for a cap is
//!
//! ```text
//! rate = floor((cap - base) / slope)      if cap < unlimited_from, at least `least`
//! no limit                                otherwise
//! ```
//!
//! where the slope is `watts_per_iops` for requests per second (`limit = "iops"`), or
//! `watts_per_megabyte_per_s` for 10^6 B/s (`limit = "bandwidth"`). The meter is not used, so it cannot be lost. While
//! the cap is unknown the last one stays in force; before the first cap the lowest limit applies.
//!
//! `headstack models capping throttle` prints the parameters.
//!
//! # Source
//! Khatib and Bandic, FAST 2016, sections 4 and 7.1: `dm-throttle`, limits for random work in requests and for
//! sequential work in bytes, none from 9.5 W, the drive's power at its highest throughput. The lines: 7.1 W
//! base (5.5 W rotation, 1 W loaded heads, 0.6 W channel) and 0.9 W more at 171 MB/s (Figure 2a); for random
//! work 0.045 W per request per second, the slope of Figure 2b from 10 to 70 requests per second.
//! # Validity
//! Random work below its peak of power (90 requests per second on the paper's drive), and work of the kind for
//! which the line was measured. Other drives and mixtures need other values.

use super::{only, policy, Drives, Input, Need, Policy, Status};
use crate::{Command, Device, RateLimit};
use headstack_schema::{Choice, Plugin, Reader, SpecError};
use headstack_units::{Bandwidth, Frequency, Watts};

/// Registration.
pub fn plugin() -> Plugin<dyn Policy> {
    let summary = "limit on requests or bytes per second, from the cap alone (dm-throttle, FAST 2016)";
    let example = "limit = \"iops\"\nbase = \"7.1 W\"";
    policy(["throttle", summary, example], Drives::One, &[Need::RateLimit], |reader, devices| {
        Ok(Box::new(Throttle::new(reader, only(devices, "throttle")?)?))
    })
}

#[derive(Clone, Copy, PartialEq, Choice)]
enum Limit {
    /// Requests per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
}

struct Throttle {
    limit: Limit,
    base_w: f64,
    /// Watts per request per second, or per 10^6 bytes per second.
    slope: f64,
    unlimited_from_w: f64,
    least: f64,
    open: Command,
    /// The last known cap; `None` for no cap.
    cap_w: Option<f64>,
}

impl Throttle {
    fn new(reader: &mut Reader, device: &Device) -> Result<Throttle, SpecError> {
        let limit = reader.word(("limit", "What the limit counts: requests or bytes per second."), Limit::Iops)?;
        let watts = Watts(0.0)..=Watts(1000.0);
        let base_w = reader.number(("base", "Power at a rate of zero."), Watts(7.1), watts.clone())?.0;
        let (slope, (line, usual), least) = match limit {
            Limit::Iops => (
                ("watts_per_iops", "Power that one more request per second takes, in watts."),
                (0.045, Watts(9.5)),
                ("least_iops", "The lowest limit, in requests per second."),
            ),
            Limit::Bandwidth => (
                ("watts_per_megabyte_per_s", "Power that 10^6 bytes per second more take, in watts."),
                (0.9 / 171.0, Watts(8.0)),
                ("least_megabytes_per_s", "The lowest limit, in 10^6 bytes per second."),
            ),
        };
        Ok(Throttle {
            limit,
            base_w,
            slope: reader.number(slope, line, 1e-6..=1000.0)?,
            unlimited_from_w: reader.number(("unlimited_from", "Caps from this on set no limit."), usual, watts)?.0,
            least: reader.number(least, 1.0, 0.001..=1e6)?,
            open: device.clamp(device.open),
            cap_w: Some(0.0),
        })
    }

    fn rate_limit(&self) -> RateLimit {
        let Some(cap_w) = self.cap_w.filter(|cap_w| *cap_w < self.unlimited_from_w) else {
            return RateLimit::Unlimited;
        };
        let rate = ((cap_w - self.base_w) / self.slope).floor().max(self.least);
        match self.limit {
            Limit::Iops => RateLimit::Requests(Frequency(rate)),
            Limit::Bandwidth => RateLimit::Bytes(Bandwidth(rate * 1e6)),
        }
    }
}

impl Policy for Throttle {
    fn step(&mut self, input: &Input, commands: &mut [Command]) -> Status {
        let status = match input.cap {
            None => {
                self.cap_w = None;
                Status::Uncapped
            }
            Some(Watts(cap_w)) if cap_w.is_finite() && cap_w > 0.0 => {
                self.cap_w = Some(cap_w);
                Status::Regulating
            }
            Some(_) => Status::Holding,
        };
        if let Some(command) = commands.first_mut() {
            *command = Command { rate_limit: self.rate_limit(), ..self.open };
        }
        status
    }
}
