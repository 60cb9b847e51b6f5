//! The mechanics: where an arm is, how long it takes to reach a sector, and what passes under it.
//!
//! Everything here is a function of state and time. Scheduler, service and formulas call the same
//! [`Mechanics::position`].

use crate::error::SpecError;
use crate::layout::{self, Layout, Place};
use crate::seek::SeekTable;
use crate::spec::DriveSpec;
use headstack_units::{Rotation, Time, Turn};

/// One arm assembly: where it stands now.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Arm {
    /// Cylinder under the heads.
    pub cylinder: u32,
    /// Head last used.
    pub head: u16,
    /// Angle of the assembly round the platter.
    pub angle: Turn,
}

/// Time to reach a sector, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Positioning {
    /// Arm movement or head switch, settling included.
    pub seek: u64,
    /// Waiting for the sector's leading edge after that.
    pub rotation: u64,
}

impl Positioning {
    /// Both together.
    pub fn total(self) -> u64 {
        self.seek + self.rotation
    }
}

/// An angle this close before a full turn counts as reached: rounding to nanoseconds must not
/// cost sequential sectors a turn. 2e-6 turn, as fraction of 2^64.
const REACHED: u64 = u64::MAX - 36_893_488_147_419;

/// The moving parts of one drive.
pub struct Mechanics {
    /// Which address lies where.
    pub layout: Box<dyn Layout>,
    /// Seek time per distance.
    pub seek: SeekTable,
    /// The spindle.
    pub rotation: Rotation,
    head_switch_ns: u32,
    /// Added to movements for reads and for writes.
    settle_ns: [i64; 2],
}

impl Mechanics {
    /// Builds layout, seek table and spindle.
    ///
    /// # Errors
    /// Whatever in the description does not fit together, by dotted key.
    pub fn new(spec: &DriveSpec, start_phase: Turn) -> Result<Mechanics, SpecError> {
        let layout = layout::build(&spec.geometry)?;
        let p = &spec.positioning;
        let head_switch = p.head_switch.0;
        if !(0..=1_000_000_000).contains(&head_switch) {
            return Err(SpecError::new(
                "positioning.head_switch",
                p.head_switch,
                "0 to 1 s",
            ));
        }
        if p.write_settle.0.abs() > 1_000_000_000 {
            return Err(SpecError::new(
                "positioning.write_settle",
                p.write_settle,
                "-1 to 1 s",
            ));
        }
        Ok(Mechanics {
            layout,
            seek: SeekTable::build(&spec.seek, spec.geometry.cylinders, p.seek_constant)?,
            rotation: Rotation::new(spec.geometry.rotation_speed).with_phase(start_phase),
            head_switch_ns: head_switch as u32,
            settle_ns: [0, p.write_settle.0],
        })
    }

    /// Time to bring `arm` onto the track of a place: the longer of seek and head switch, and
    /// settling before a write; nothing on the same track.
    #[inline]
    pub fn move_ns(&self, arm: &Arm, cylinder: u32, head: u16, write: bool) -> u64 {
        let seek = self.seek.ns(arm.cylinder.abs_diff(cylinder));
        // Without branches: whether heads differ and which command writes is hard to foresee.
        let switch = [0, self.head_switch_ns][(arm.head != head) as usize];
        let t = seek.max(switch) as i64;
        let settle = self.settle_ns[(write && t > 0) as usize];
        (t + settle).max(0) as u64
    }

    /// Time from `at` until `angle` is under the heads of `arm`.
    #[inline]
    pub fn wait_ns(&self, arm: &Arm, angle: Turn, at: u64) -> u64 {
        self.rotation.time_for(self.ahead(arm, angle, at))
    }

    /// At most [`Mechanics::wait_ns`], and not more than 2 ns below it; cheaper.
    #[inline]
    pub fn wait_at_least_ns(&self, arm: &Arm, angle: Turn, at: u64) -> u64 {
        self.rotation.least_time_for(self.ahead(arm, angle, at))
    }

    /// How far the platter has to turn from `at` until `angle` is under the heads of `arm`.
    #[inline]
    fn ahead(&self, arm: &Arm, angle: Turn, at: u64) -> Turn {
        let under = self.rotation.angle_at(Time(at));
        let ahead = angle.plus(arm.angle).since(under);
        Turn(if ahead.0 > REACHED { 0 } else { ahead.0 })
    }

    /// Positioning time of an access that may begin to move at `at`.
    #[inline]
    pub fn position(&self, arm: &Arm, place: &Place, write: bool, at: u64) -> Positioning {
        let seek = self.move_ns(arm, place.cylinder, place.head, write);
        Positioning {
            seek,
            rotation: self.wait_ns(arm, place.angle, at + seek),
        }
    }

    /// Time that `count` sectors take to pass under a head (or over a link), to the nearest.
    #[inline]
    pub fn pass_ns(count: u32, sector_ns: f64) -> u64 {
        (count as f64 * sector_ns + 0.5) as i64 as u64
    }
}
