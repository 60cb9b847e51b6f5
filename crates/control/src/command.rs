//! Settings that a policy may command, and the bounds that Linux sets for them.

use headstack_units::{Bandwidth, Frequency};
use thiserror::Error;

/// Linux raises smaller values of `nr_requests` to this one (`BLKDEV_MIN_RQ`).
pub const LEAST_NR_REQUESTS: u32 = 4;

/// Linux refuses larger values of `nr_requests` (`MAX_SCHED_RQ`, 16 times the deepest queue of 128).
const MOST_NR_REQUESTS: u32 = 2048;

/// Native command queueing has 32 tags.
const MOST_QUEUE_DEPTH: u32 = 32;

/// A limit on the requests that reach the host queue.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum RateLimit {
    /// No limit.
    #[default]
    Unlimited,
    /// At most this many requests per second, one at a time at equal intervals.
    Requests(Frequency),
    /// At most this many bytes per second.
    Bytes(Bandwidth),
}

/// The complete setting of one drive. A command is not a change, so applying it twice has no further effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Command {
    /// Places of the host's queue (`/sys/block/DEVICE/queue/nr_requests`).
    pub nr_requests: u32,
    /// Commands that the drive may hold (`/sys/block/DEVICE/device/queue_depth`). On SATA, 1 turns off native command
    /// queueing.
    pub queue_depth: u32,
    /// Arm assemblies that may move at once.
    pub arms: u32,
    /// Limit on the rate of requests or bytes.
    pub rate_limit: RateLimit,
}

impl Default for Command {
    /// The setting of Linux 3.0 for a SATA drive, as in the PCAP paper: 128 places, 32 commands, one arm.
    fn default() -> Command {
        Command {
            nr_requests: 128,
            queue_depth: MOST_QUEUE_DEPTH,
            arms: 1,
            rate_limit: RateLimit::Unlimited,
        }
    }
}

/// The settings of a drive without capping, and the bounds of the settings that it accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Device {
    /// The setting without power capping: that of the drive when control began.
    pub open: Command,
    /// The largest number of places of the host's queue: 2048 with an I/O scheduler, the number of the drive's tags
    /// with `none`.
    pub most_nr_requests: u32,
    /// The least accepted queue depth of the drive: 1, or 2 if command queueing must stay on.
    pub least_queue_depth: u32,
    /// The greatest queue depth of the drive.
    pub most_queue_depth: u32,
    /// Arm assemblies that the drive can move at once.
    pub arms: u32,
}

impl Default for Device {
    fn default() -> Device {
        Device {
            open: Command::default(),
            most_nr_requests: MOST_NR_REQUESTS,
            least_queue_depth: 1,
            most_queue_depth: MOST_QUEUE_DEPTH,
            arms: 1,
        }
    }
}

impl Device {
    /// The nearest setting that this drive accepts. A limit that is not finite and positive is removed.
    pub fn clamp(&self, command: Command) -> Command {
        let within = |value: u32, low: u32, high: u32| value.max(low).min(high.max(low));
        let valid = match command.rate_limit {
            RateLimit::Unlimited => true,
            RateLimit::Requests(Frequency(rate)) | RateLimit::Bytes(Bandwidth(rate)) => {
                rate.is_finite() && rate > 0.0
            }
        };
        Command {
            nr_requests: within(
                command.nr_requests,
                LEAST_NR_REQUESTS,
                self.most_nr_requests,
            ),
            queue_depth: within(
                command.queue_depth,
                self.least_queue_depth.max(1),
                self.most_queue_depth,
            ),
            arms: within(command.arms, 1, self.arms),
            rate_limit: if valid {
                command.rate_limit
            } else {
                RateLimit::Unlimited
            },
        }
    }

    /// Whether the drive accepts `command` as it is.
    pub fn accepts(&self, command: &Command) -> bool {
        self.clamp(*command) == *command
    }
}

/// A drive refused a command; the controller applies it again at the next step.
///
/// Linux answers `EBUSY` while another change of the queue is in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the drive did not take the command")]
pub struct Refused;

/// Carries out commands.
pub trait Actuator {
    /// Sets drive number `drive` to `command`. It must not block; a command that takes long (changing the host's
    /// queue waits until the queue is empty) is carried out elsewhere.
    ///
    /// # Errors
    /// [`Refused`] if the setting is not in force and will not come into force.
    fn apply(&mut self, drive: usize, command: &Command) -> Result<(), Refused>;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In Linux `nr_requests` below 4 becomes 4 and above 2048 is an error; 32 tags bound the depth.
    #[test]
    fn clamped_as_linux_does() {
        let device = Device::default();
        for (asked, got) in [(0, 4), (3, 4), (4, 4), (2048, 2048), (2049, 2048)] {
            let command = Command {
                nr_requests: asked,
                ..Command::default()
            };
            assert_eq!(device.clamp(command).nr_requests, got);
            assert_eq!(device.accepts(&command), asked == got);
        }
        for (asked, got) in [(0, 1), (1, 1), (32, 32), (u32::MAX, 32)] {
            let command = Command {
                queue_depth: asked,
                arms: asked,
                ..Command::default()
            };
            assert_eq!(device.clamp(command).queue_depth, got);
            assert_eq!(device.clamp(command).arms, 1);
        }
    }

    #[test]
    fn a_rate_that_is_no_rate_is_no_limit() {
        let device = Device::default();
        for rate in [f64::NAN, f64::INFINITY, 0.0, -3.0] {
            for limit in [
                RateLimit::Requests(Frequency(rate)),
                RateLimit::Bytes(Bandwidth(rate)),
            ] {
                let command = Command {
                    rate_limit: limit,
                    ..Command::default()
                };
                assert_eq!(device.clamp(command).rate_limit, RateLimit::Unlimited);
            }
        }
    }
}
