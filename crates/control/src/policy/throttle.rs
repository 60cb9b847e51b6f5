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

use super::{built, only, only_with, Drives, Facts, Input, Need, Policy, PolicyParameters, Status};
use crate::{Command, Device, RateLimit};
use headstack_schema::{Choice, SpecError, Table};
use headstack_units::{Bandwidth, Frequency, Watts};

/// Parameters of `throttle`.
#[derive(Table)]
#[table(
    model = "limit on requests or bytes per second, from the cap alone (dm-throttle, FAST 2016)",
    example = "limit = \"iops\"\nbase = \"7.1 W\"",
    facts = Facts::of::<Self>(Drives::One, &[Need::RateLimit]), build = built
)]
pub(super) struct Parameters {
    /// What the limit counts: requests or bytes per second.
    #[param(default = Limit::Iops)]
    limit: Limit,
    /// Power at a rate of zero.
    #[param(default = Watts(7.1), range = Watts(0.0)..=Watts(1000.0))]
    base: Watts,
    /// Power that one more request per second takes, in watts, with `limit = "iops"`; left out, 0.045.
    #[param(range = 1e-6..=1000.0)]
    watts_per_iops: Option<f64>,
    /// Power that 10^6 bytes per second more take, in watts, with `limit = "bandwidth"`; left out, 0.9 W for 171.
    #[param(range = 1e-6..=1000.0)]
    watts_per_megabyte_per_s: Option<f64>,
    /// Caps from this on set no limit; left out, 9.5 W, for bytes 8 W.
    #[param(range = Watts(0.0)..=Watts(1000.0))]
    unlimited_from: Option<Watts>,
    /// The lowest limit, in requests per second, with `limit = "iops"`; left out, 1.
    #[param(range = 0.001..=1e6)]
    least_iops: Option<f64>,
    /// The lowest limit, in 10^6 bytes per second, with `limit = "bandwidth"`; left out, 1.
    #[param(range = 0.001..=1e6)]
    least_megabytes_per_s: Option<f64>,
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

impl PolicyParameters for Parameters {
    fn build(&mut self, devices: &[Device]) -> Result<Box<dyn Policy>, SpecError> {
        let device = only(devices, "throttle")?;
        let requests = [("watts_per_iops", &mut self.watts_per_iops), ("least_iops", &mut self.least_iops)];
        let bytes = [
            ("watts_per_megabyte_per_s", &mut self.watts_per_megabyte_per_s),
            ("least_megabytes_per_s", &mut self.least_megabytes_per_s),
        ];
        let ([slope, least], other, (usual, from), with) = match self.limit {
            Limit::Iops => (requests, bytes, (0.045, Watts(9.5)), "limit = \"bandwidth\""),
            Limit::Bandwidth => (bytes, requests, (0.9 / 171.0, Watts(8.0)), "limit = \"iops\""),
        };
        only_with(with, &other.map(|(key, value)| (key, &*value)))?;
        Ok(Box::new(Throttle {
            limit: self.limit,
            base_w: self.base.0,
            slope: *slope.1.get_or_insert(usual),
            unlimited_from_w: self.unlimited_from.get_or_insert(from).0,
            least: *least.1.get_or_insert(1.0),
            open: device.clamp(device.open),
            cap_w: Some(0.0),
        }))
    }
}

impl Throttle {
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
