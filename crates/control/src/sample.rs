//! The input of a policy: one reading of a meter and, if known, the drives' performance.

use headstack_units::{Frequency, Span, Time, Watts};

/// The drives' performance in the time of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Work {
    /// The response time that is compared with a target. The sensor chooses whether it is a percentile or the
    /// mean.
    pub response_time: Span,
    /// Requests of all drives that ended, per second.
    pub rate: Option<Frequency>,
}

/// One reading.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sample {
    /// Time of the reading. A sample is new if this is later than the time of the last valid one.
    pub time: Time,
    /// Power at the meter, of all the policy's drives together; `None` without a value.
    pub power: Option<Watts>,
    /// The drives' performance, if known.
    pub work: Option<Work>,
}

impl Sample {
    /// A reading of the meter alone.
    pub fn new(time: Time, power: Watts) -> Sample {
        Sample { time, power: Some(power), work: None }
    }

    /// No reading.
    pub fn missing(time: Time) -> Sample {
        Sample { time, ..Sample::default() }
    }
}

/// A meter.
pub trait Sensor {
    /// The latest reading at `now`. It must not block: a slow meter is read elsewhere, and this returns its
    /// last reading with the time of that reading. If the meter has no value, the sample has no power; it is
    /// never zero watts.
    fn read(&mut self, now: Time) -> Sample;
}
