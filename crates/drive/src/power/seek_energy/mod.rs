//! Energy of a seek by its distance: acceleration, coast, deceleration.
//!
//! # Model
//! With `x` the distance as a share of the stroke, `X = coast_from` the distance from which the arm reaches its
//! full speed, and `T = acceleration_time` the time to accelerate to full speed and to brake again, at constant
//! acceleration:
//!
//! ```text
//! accelerating and braking   t_a = T min(sqrt(x / X), 1)
//! coasting                   t_c = T max(x - X, 0) / (2 X)
//! energy                     E   = acceleration_power t_a + speed_energy min(x / X, 1) + coast_power t_c
//! ```
//!
//! `acceleration_power` is the loss in the coil while it pushes, `speed_energy` what the arm takes to reach full
//! speed (the energy of motion is proportional to the distance while the arm only accelerates), and `coast_power`
//! what drag and the driver take at full speed. The energy of a movement is drawn evenly over its time. It comes
//! on top of the power of the state `seek`, in which the coil must not be counted again. A movement over no
//! cylinder (a head switch) takes none.
//!
//! # Source
//! The four phases of a seek: C. Ruemmler and J. Wilkes, "An introduction to disk drive modeling", IEEE Computer
//! 27(3), 1994. That the energy of a random load falls where scheduling shortens its seeks: M. G. Khatib and Z.
//! Bandic, "PCAP: Performance-aware Power Capping for the Disk Drive in the Cloud", FAST 2016, section 5.1. The
//! equation is ours; constants that fit the numbers of that paper are in `drives/ultrastar-7k4000-pcap.toml`.
//! # Validity
//! Phenomenological: the three terms are the least that falls with distance as the paper's power does. Reads and
//! writes draw the same.

use super::POWERS;
use headstack_schema::{Params, SpecError, Table};
use headstack_units::{nearest, Joules, Span, Watts};

/// The key in a drive's `power` table.
pub(crate) const KEY: &str = "seek_energy";

/// The table `power.seek_energy` of a drive file.
#[derive(Table)]
pub(super) struct Constants {
    /// Power while accelerating or braking.
    #[param(range = POWERS)]
    acceleration_power: Watts,
    /// Energy that the arm takes to reach full speed.
    #[param(range = Joules(0.0)..=Joules(1e5))]
    speed_energy: Joules,
    /// Power at full speed.
    #[param(range = POWERS)]
    coast_power: Watts,
    /// Time to full speed and back.
    #[param(range = Span(1_000)..=Span(10_000_000_000))]
    acceleration_time: Span,
    /// Share of the stroke from which the arm reaches its full speed; 1: it never coasts.
    #[param(range = 1e-3..=1.0)]
    coast_from: f64,
}

/// The law for one drive; see this module's description.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeekEnergy {
    acceleration_w: f64,
    speed_j: f64,
    coast_w: f64,
    acceleration_s: f64,
    coast_from: f64,
    /// Longest seek in cylinders.
    stroke: f64,
}

impl SeekEnergy {
    /// Reads `power.seek_energy` of a drive's `power` table; `None` if there is no such table. The drive has
    /// `cylinders`.
    ///
    /// # Errors
    /// Values out of bounds, by dotted key.
    pub fn read(power: &Params, cylinders: u32) -> Result<Option<SeekEnergy>, SpecError> {
        let table = match power.get(KEY) {
            None => return Ok(None),
            Some(serde_json::Value::Object(table)) => table,
            Some(other) => {
                let need = "a table of constants";
                return Err(SpecError::new("power.seek_energy", other, need));
            }
        };
        let read = headstack_schema::read_table(table);
        let constants: Constants = read.map_err(|e: SpecError| e.within("power.seek_energy"))?;
        Ok(Some(SeekEnergy {
            acceleration_w: constants.acceleration_power.0,
            speed_j: constants.speed_energy.0,
            coast_w: constants.coast_power.0,
            acceleration_s: constants.acceleration_time.as_secs_f64(),
            coast_from: constants.coast_from,
            stroke: f64::from(cylinders.saturating_sub(1).max(1)),
        }))
    }

    /// The same law for a unit of so many cylinders.
    pub(crate) fn over(self, cylinders: u32) -> SeekEnergy {
        SeekEnergy { stroke: f64::from(cylinders.saturating_sub(1).max(1)), ..self }
    }

    /// Joules of a seek over `distance` cylinders.
    pub fn joules(&self, distance: u32) -> f64 {
        let share = (f64::from(distance) / self.stroke).min(1.0);
        let part = share / self.coast_from;
        if part <= 1.0 {
            self.acceleration_w * self.acceleration_s * part.sqrt() + self.speed_j * part
        } else {
            let coast_s = self.acceleration_s * (part - 1.0) / 2.0;
            self.acceleration_w * self.acceleration_s + self.speed_j + self.coast_w * coast_s
        }
    }

    /// The same in whole nanojoules, so that sums do not depend on their order.
    #[inline]
    pub(crate) fn nanojoules(&self, distance: u32) -> u64 {
        nearest(self.joules(distance) * 1e9) as u64
    }
}
