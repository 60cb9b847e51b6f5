//! Power capping of disk drives: policies that compute sizes of queues and other settings from readings of a meter.
//!
//! A [`Policy`] depends only on its state and its input: the time, the cap and one [`Sample`]. It reads no clock and no
//! file, draws no random numbers, allocates nothing and never waits. So a simulator and a program on a live system run
//! the same policy. Each has a [`Sensor`] and an [`Actuator`]. A [`Controller`] passes readings to the policy and
//! commands to the drives.
//!
//! ```
//! use headstack_control::{policy, Command, Device, Input, Params, Sample};
//! use headstack_units::{Time, Watts};
//!
//! let plugin = policy::PLUGINS.find("policy", "pcap-agile")?;
//! let mut policy = plugin.build(&Params::new(), &[Device::default()])?;
//! let mut commands = [Command::default()];
//! for second in 0..=10 {
//!     let now = Time::from_secs_f64(f64::from(second));
//!     let sample = Sample::new(now, Watts(10.6));
//!     policy.step(&Input { now, cap: Some(Watts(9.0)), sample }, &mut commands);
//! }
//! // Two periods of 5 s, each 1.6 W too high: int(1.6 / 2 * 2 * 8) = 12 places more each time, from 4.
//! assert_eq!((commands[0].nr_requests, commands[0].queue_depth), (28, 1));
//! # Ok::<(), headstack_control::SpecError>(())
//! ```

mod command;
mod controller;
#[doc(hidden)]
pub mod guard;
#[doc(hidden)]
pub mod learning;
#[doc(hidden)]
pub mod map;
mod pcap;
pub mod policy;
pub mod rack;
mod sample;
mod single;
pub mod ultrastar_7k4000;

pub use command::{
    Actuator, Command, Device, Held, Progress, RateLimit, Rest, LEAST_NR_REQUESTS, MOST_READ_EXPIRE, REST_AFTER,
};
pub use controller::Controller;
pub use guard::{Guard, GuardSettings, OnLoss, Reading, Turn};
pub use headstack_schema::{Params, SpecError};
pub use pcap::{Gains, Mode, Pcap, Queues, Rounding, SnapBack};
pub use policy::{Input, Policy, Status};
pub use sample::{Sample, Sensor, Work};
