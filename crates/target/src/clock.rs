//! Simulated time against the time of the machine.

use headstack_units::Time;
use std::time::{Duration, Instant};

/// How simulated time passes.
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    /// So many simulated seconds pass in a second.
    Real {
        /// When simulated time was zero.
        start: Instant,
        /// Simulated seconds in a second.
        speed: f64,
    },
    /// Nothing waits: time jumps to the next event.
    Jumping(Time),
}

impl Clock {
    /// A clock that starts now; a `speed` of 0 never waits.
    pub fn new(speed: f64) -> Clock {
        match speed > 0.0 {
            true => Clock::Real { start: Instant::now(), speed },
            false => Clock::Jumping(Time::ZERO),
        }
    }

    /// The simulated time.
    pub fn now(&self) -> Time {
        match self {
            Clock::Real { start, speed } => Time((start.elapsed().as_nanos() as f64 * speed) as u64),
            Clock::Jumping(now) => *now,
        }
    }

    /// How long to wait for a simulated time.
    pub fn until(&self, time: Time) -> Duration {
        match self {
            Clock::Real { start, speed } => {
                let due = Duration::from_nanos((time.0 as f64 / speed) as u64);
                due.saturating_sub(start.elapsed())
            }
            Clock::Jumping(_) => Duration::ZERO,
        }
    }

    /// Nothing happens before `time`: a clock that does not wait jumps there.
    pub fn jump(&mut self, time: Time) {
        if let Clock::Jumping(now) = self {
            *now = time.max(*now);
        }
    }

    /// Time of the machine between two simulated times; zero if nothing waits.
    pub fn lateness(&self, due: Time, now: Time) -> Duration {
        match self {
            Clock::Real { speed, .. } => Duration::from_nanos((now.0.saturating_sub(due.0) as f64 / speed) as u64),
            Clock::Jumping(_) => Duration::ZERO,
        }
    }
}
