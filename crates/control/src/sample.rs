//! What a policy is told: one reading of a meter and, where known, what the drives did.

use headstack_units::{Span, Time, Watts};

/// What the drives did in the time that a sample covers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Work {
    /// The response time that a target is compared with. Which percentile it is, or whether it is the mean, is
    /// the sensor's choice.
    pub response_time: Span,
}

/// One reading.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sample {
    /// When it was taken. A sample is new if this is later than that of the last good one.
    pub time: Time,
    /// Power at the meter, of all the policy's drives together; `None` if the meter gave nothing.
    pub power: Option<Watts>,
    /// What the drives did, if that is known.
    pub work: Option<Work>,
}

impl Sample {
    /// A reading of the meter alone.
    pub fn new(time: Time, power: Watts) -> Sample {
        Sample {
            time,
            power: Some(power),
            work: None,
        }
    }

    /// No reading.
    pub fn missing(time: Time) -> Sample {
        Sample {
            time,
            ..Sample::default()
        }
    }
}

/// A meter.
pub trait Sensor {
    /// The latest reading at `now`. It must not block: a slow meter is read elsewhere, and this gives its last
    /// reading with the time at which it was taken. A meter that gives nothing is a sample without power, never
    /// one of zero watts.
    fn read(&mut self, now: Time) -> Sample;
}
