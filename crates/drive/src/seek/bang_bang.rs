//! An arm that accelerates, coasts at a speed limit, brakes and settles.
//!
//! # Model
//! With acceleration `g`, speed limit `v` and distance `x = d track_pitch` (or `d / tracks_per_inch` inches):
//! `t(0) = 0`; `t(d) = 2 sqrt(x / g) + settle` while the peak speed `sqrt(x g)` stays below `v`, that is for
//! `x <= v^2 / g`; `t(d) = x / v + v / g + settle` beyond.
//! # Source
//! Kinematics of the four phases in C. Ruemmler and J. Wilkes, "An introduction to disk drive
//! modeling", IEEE Computer 27(3), 1994 (speed-up, coast, slow-down, settle).
//! # Validity
//! Acceleration and braking are equal, constant and without delay. Settling is the same for all distances.
//! Without a settling time short seeks are much too fast.

use super::{quantity, SeekModel, MOST_SEEK, TRACKS_PER_INCH};
use headstack_schema::{SpecError, Table};
use headstack_units::Span;

/// Metres in an inch.
const INCH_M: f64 = 0.0254;

quantity! {
    /// Of a head.
    Acceleration, "m/s2", "an acceleration", "one of m/s2, g", [("m/s2", 1.0), ("m/s^2", 1.0), ("g", 9.80665)]
}
quantity! {
    /// Of a head.
    Velocity, "m/s", "a speed", "one of m/s", [("m/s", 1.0)]
}
quantity! {
    /// Between neighbouring tracks.
    Pitch, "m", "a length", "one of m, mm, um, nm", [("m", 1.0), ("mm", 1e-3), ("um", 1e-6), ("nm", 1e-9)]
}

#[derive(Table)]
#[table(
    model = "physics: accelerate, coast at a speed limit, brake, settle",
    example = "acceleration = \"600 m/s2\"\nvelocity_limit = \"2 m/s\"\ntracks_per_inch = 150000\nsettle = \"0.6 ms\"",
    build = |own, _| Ok(Box::new(own.arm()?))
)]
pub(super) struct BangBang {
    /// Acceleration of the head, in m/s2 or g.
    #[param(range = Acceleration(1e-9)..=Acceleration(1e6))]
    acceleration: Acceleration,
    /// Speed limit of the head, in m/s.
    #[param(range = Velocity(1e-9)..=Velocity(1e4))]
    velocity_limit: Velocity,
    /// Distance between neighbouring tracks (m, mm, um, nm); or give `tracks_per_inch`.
    #[param(range = Pitch(1e-12)..=Pitch(1.0))]
    track_pitch: Option<Pitch>,
    /// Tracks per inch.
    #[param(range = TRACKS_PER_INCH)]
    tracks_per_inch: Option<f64>,
    /// Settling time, added to every seek.
    #[param(range = Span::ZERO..=MOST_SEEK)]
    settle: Span,
}

impl BangBang {
    fn arm(&self) -> Result<Arm, SpecError> {
        let pitch_m = match (self.track_pitch, self.tracks_per_inch) {
            (Some(pitch), None) => pitch.0,
            (None, Some(density)) => INCH_M / density,
            (both, _) => {
                let got = if both.is_some() { "both" } else { "neither" };
                let need = "track_pitch or tracks_per_inch";
                return Err(SpecError::new("track_pitch", got, need));
            }
        };
        Ok(Arm {
            acceleration: self.acceleration.0,
            velocity_limit: self.velocity_limit.0,
            pitch_m,
            settle_s: self.settle.as_secs_f64(),
        })
    }
}

/// The parameters in SI units.
struct Arm {
    acceleration: f64,
    velocity_limit: f64,
    pitch_m: f64,
    settle_s: f64,
}

impl SeekModel for Arm {
    fn seek(&self, distance: u32) -> Span {
        if distance == 0 {
            return Span::ZERO;
        }
        let (x, g, v) = (f64::from(distance) * self.pitch_m, self.acceleration, self.velocity_limit);
        let travel = if x * g <= v * v { 2.0 * (x / g).sqrt() } else { x / v + v / g };
        // A seek over any distance takes at least 1 ns.
        Span(Span::from_secs_f64(travel + self.settle_s).0.max(1))
    }
}
