//! How much later than a simulated drive a host knows that a command is done.
//!
//! # Model
//! A constant, an exponential part with the same mean, and for 1 % of the commands a millisecond more: an interrupt, the
//! way through the kernel, and now and then another program. With 15 us it is like the host that a probe's methods were
//! tried with. A disturbed command is late by one or two turns, half each, as after a retry.

use crate::batch::Status;
use headstack_engine::random::stream;
use rand_xoshiro::rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The constant part unless said, ns.
pub const USUAL_NS: f64 = 15_000.0;
/// Share of the commands that are late by [`LONG_NS`] more.
const LONG_SHARE: f64 = 0.01;
const LONG_NS: f64 = 1e6;

/// Draws how late each command is.
#[derive(Debug)]
pub(crate) struct Lateness {
    mean_ns: f64,
    disturbed: f64,
    turn_ns: f64,
    random: Xoshiro256PlusPlus,
    turns: Xoshiro256PlusPlus,
}

/// A number from 0 up to and without 1.
pub(crate) fn unit(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A number of the exponential distribution with mean 1.
pub(crate) fn exponential(random: &mut Xoshiro256PlusPlus) -> f64 {
    -(1.0 - unit(random)).ln()
}

impl Lateness {
    pub fn new(mean_ns: f64, disturbed: f64, turn_ns: f64, seed: u64) -> Lateness {
        let named = |name| stream(seed, name);
        Lateness { mean_ns, disturbed, turn_ns, random: named("probe lateness"), turns: named("probe disturbed") }
    }

    /// How late the next command is, ns.
    pub fn draw(&mut self, status: Status) -> u64 {
        let mut late = 0.0;
        if self.mean_ns > 0.0 {
            late = self.mean_ns * (1.0 + exponential(&mut self.random));
            late += if unit(&mut self.random) < LONG_SHARE { LONG_NS } else { 0.0 };
        }
        // Nobody retries what is refused.
        if self.disturbed > 0.0 && unit(&mut self.turns) < self.disturbed && status != Status::Other {
            late += self.turn_ns * if self.turns.next_u64() >> 63 == 0 { 1.0 } else { 2.0 };
        }
        late.round() as u64
    }
}
