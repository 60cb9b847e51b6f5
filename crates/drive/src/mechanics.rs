//! The mechanics: where an arm is, how long it takes to reach a sector, and what passes under it.
//!
//! Everything here is a function of state and time. Scheduler, service and formulas call the same
//! [`Mechanics::position`].

use crate::layout::{self, Layout, Place};
use crate::seek::SeekTable;
use crate::spec::{DriveSpec, GeometrySpec};
use headstack_engine::SpecError;
use headstack_units::{nearest, Rotation, Time, Turn};
use std::any::Any;
use std::sync::{Arc, OnceLock};

/// One set of heads that an arm assembly carries, one head for each surface: where it stands now.
/// Most assemblies have one set; the sets of one assembly move together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Arm {
    /// Cylinder under the heads.
    pub cylinder: u32,
    /// Head last used; [`Arm::NO_HEAD`] after another set of the assembly was used.
    pub head: u16,
    /// Angle of the set round the platter.
    pub angle: Turn,
}

impl Arm {
    /// A head that no drive has: whichever is used next has to be switched to.
    pub const NO_HEAD: u16 = u16::MAX;
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

/// The value or 0, without a branch.
#[inline(always)]
fn only_if(condition: bool, value: u64) -> u64 {
    value & (condition as u64).wrapping_neg()
}

/// The moving parts of one drive. A clone shares layout and seek table.
#[derive(Clone)]
pub struct Mechanics {
    /// Which address lies where.
    pub layout: Arc<dyn Layout>,
    /// Seek time per distance.
    pub seek: SeekTable,
    /// The spindle.
    pub rotation: Rotation,
    head_switch_ns: u64,
    /// Added to movements for writes.
    write_settle_ns: i64,
    settle_after_head_switch: bool,
    rotation_scale: f64,
    /// See [`Mechanics::derived`].
    derived: Arc<OnceLock<Box<dyn Any + Send + Sync>>>,
}

impl Mechanics {
    /// Builds layout, seek table and spindle for a geometry, which is the drive's own or a part of it.
    ///
    /// # Errors
    /// Whatever in the description does not fit together, by dotted key. Its numbers must be within
    /// their bounds ([`DriveSpec::check`]).
    pub fn new(
        spec: &DriveSpec,
        geometry: &GeometrySpec,
        start_phase: Turn,
    ) -> Result<Mechanics, SpecError> {
        let layout = Arc::from(layout::build(geometry)?);
        let p = &spec.positioning;
        let scaled = |ns: i64| (ns as f64 * p.seek_scale).round() as i64;
        Ok(Mechanics {
            layout,
            seek: SeekTable::build(&spec.seek, geometry.cylinders, p.seek_constant)?
                .scaled(p.seek_scale),
            rotation: Rotation::new(geometry.rotation_speed).with_phase(start_phase),
            head_switch_ns: scaled(p.head_switch.0) as u64,
            write_settle_ns: scaled(p.write_settle.0),
            rotation_scale: p.rotation_scale,
            settle_after_head_switch: p.settle_after_head_switch,
            derived: Arc::default(),
        })
    }

    /// Tables that somebody derives from all but the phase, made once for all clones. Only one type of
    /// table is kept; another one would be made anew each time, so there must not be one.
    pub(crate) fn derived<T: Any + Send + Sync>(&self, make: impl FnOnce(&Mechanics) -> T) -> &T {
        let kept = self.derived.get_or_init(|| Box::new(make(self)));
        match kept.downcast_ref() {
            Some(tables) => tables,
            None => unreachable!("one type of table"),
        }
    }

    /// The same parts, with `phase` under the heads at time zero.
    pub fn with_phase(&self, phase: Turn) -> Mechanics {
        self.with_rotation(self.rotation.with_phase(phase))
    }

    /// The same with a spindle of its own.
    pub fn with_rotation(&self, rotation: Rotation) -> Mechanics {
        Mechanics {
            rotation,
            ..self.clone()
        }
    }

    /// Time of a head switch, nanoseconds.
    pub fn head_switch_ns(&self) -> u64 {
        self.head_switch_ns
    }

    /// Added to movements before a write, nanoseconds; may be negative.
    pub fn write_settle_ns(&self) -> i64 {
        self.write_settle_ns
    }

    /// Time to bring `arm` onto the track of a place: the longer of seek and head switch, and
    /// settling before a write (after a head switch alone only if the drive does so); nothing on the
    /// same track.
    #[inline]
    pub fn move_ns(&self, arm: &Arm, cylinder: u32, head: u16, write: bool) -> u64 {
        let seek = self.seek.ns(arm.cylinder.abs_diff(cylinder));
        // Without branches: whether heads differ and which command writes is hard to foresee.
        let switch = only_if(arm.head != head, self.head_switch_ns);
        let t = u64::from(seek).max(switch);
        let settles = (self.settle_after_head_switch & (t > 0)) | (arm.cylinder != cylinder);
        let settle = only_if(write & settles, self.write_settle_ns as u64);
        (t.wrapping_add(settle) as i64).max(0) as u64
    }

    /// Time from `at` until `angle` is under the heads of `arm`.
    #[inline]
    pub fn wait_ns(&self, arm: &Arm, angle: Turn, at: u64) -> u64 {
        let wait = self.rotation.time_for(self.ahead(arm, angle, at));
        if self.rotation_scale == 1.0 {
            wait
        } else {
            (wait as f64 * self.rotation_scale).round() as u64
        }
    }

    /// How late the head is for a sector for which it does not wait. Where commands follow each other,
    /// times rounded to nanoseconds add up; what begins late by more than a few ends on time, or else
    /// one of them would lose a turn some day.
    #[inline]
    pub fn late_ns(&self, arm: &Arm, angle: Turn, at: u64) -> u64 {
        let under = self.rotation.angle_at(Time(at));
        let late = under.since(angle.plus(arm.angle));
        if late.0 < (u64::MAX - REACHED) / 4 || late.0 > u64::MAX - REACHED {
            0
        } else {
            self.rotation.time_for(late)
        }
    }

    /// Turns the platter on by the part of a wait for `angle` that scaling leaves out, for a limit
    /// study: the sector is under the head after the scaled wait, and what follows it passes as usual.
    /// Phases are kept with the arms.
    #[inline]
    pub fn skip_rest(&self, arm: &mut Arm, angle: Turn, at: u64) {
        if self.rotation_scale != 1.0 {
            let left_out = self.ahead(arm, angle, at).as_turns() * (1.0 - self.rotation_scale);
            arm.angle = arm.angle.since(Turn::from_turns(left_out));
        }
    }

    /// Whether waits are scaled.
    #[inline]
    pub fn scales_rotation(&self) -> bool {
        self.rotation_scale != 1.0
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
        nearest(f64::from(count) * sector_ns)
    }
}
