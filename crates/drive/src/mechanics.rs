//! The mechanics: where an arm is, how long it takes to reach a sector, and what passes under it.
//!
//! Everything here is a function of state and time. Scheduler, service and formulas call the same
//! [`Mechanics::position`].

use crate::error::SpecError;
use crate::layout::{self, Layout, Place};
use crate::seek::SeekTable;
use crate::spec::{DriveSpec, GeometrySpec};
use headstack_units::{nearest, Rotation, Time, Turn};
use std::sync::Arc;

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

/// An arm at one moment, ready to be compared with many commands.
pub struct Approach<'a> {
    seek: &'a SeekTable,
    cylinder: u32,
    write_settle_ns: i64,
    /// What is under the heads then, for a read, and how much further the platter has turned for a
    /// write; with [`SLACK`].
    under: u64,
    further: u64,
    per_ns: u64,
    /// Whole nanoseconds of a turn; 0 where waits are scaled, of which nothing is promised.
    period_ns: u64,
}

/// What the platter may have turned further at the end of a movement of at most 8 s than [`Approach`]
/// reckons; fraction of 2^64.
const SLACK: u64 = 1 << 33;

impl Approach<'_> {
    /// At most what [`Mechanics::position`] takes, and rarely more than 3 ns below it for another
    /// cylinder; cheaper, because head switches are left out and the platter's angle is taken on
    /// from that of the start. Who comes sooner never waits until later.
    #[inline(always)]
    pub fn at_least_ns(&self, angle: Turn, cylinder: u32, write: bool) -> u64 {
        let distance = self.cylinder.abs_diff(cylinder);
        let settle = only_if(write & (distance != 0), self.write_settle_ns as u64);
        let seek = u64::from(self.seek.ns(distance)).wrapping_add(settle);
        let seek = (seek as i64).max(0) as u64;
        let ahead = angle
            .0
            .wrapping_sub(self.under)
            .wrapping_sub(only_if(write, self.further))
            .wrapping_sub(self.per_ns.wrapping_mul(seek));
        // So little before a full turn may in truth be just past it.
        let ahead = only_if(ahead <= REACHED - 2 * SLACK, ahead);
        seek + ((ahead as u128 * self.period_ns as u128) >> 64) as u64
    }
}

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
}

impl Mechanics {
    /// Builds layout, seek table and spindle for a geometry, which is the drive's own or a part of it.
    ///
    /// # Errors
    /// Whatever in the description does not fit together, by dotted key.
    pub fn new(
        spec: &DriveSpec,
        geometry: &GeometrySpec,
        start_phase: Turn,
    ) -> Result<Mechanics, SpecError> {
        let layout = Arc::from(layout::build(geometry)?);
        let p = &spec.positioning;
        for (key, scale) in [
            ("seek_scale", p.seek_scale),
            ("rotation_scale", p.rotation_scale),
        ] {
            if !(0.0..=4.0).contains(&scale) {
                return Err(SpecError::new(
                    format!("positioning.{key}"),
                    scale,
                    "a factor from 0 to 4",
                ));
            }
        }
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
        let scaled = |ns: i64| (ns as f64 * p.seek_scale).round() as i64;
        Ok(Mechanics {
            layout,
            seek: SeekTable::build(&spec.seek, geometry.cylinders, p.seek_constant)?
                .scaled(p.seek_scale),
            rotation: Rotation::new(geometry.rotation_speed).with_phase(start_phase),
            head_switch_ns: scaled(head_switch) as u64,
            write_settle_ns: scaled(p.write_settle.0),
            rotation_scale: p.rotation_scale,
            settle_after_head_switch: p.settle_after_head_switch,
        })
    }

    /// The same parts, with `phase` under the heads at time zero.
    pub fn with_phase(&self, phase: Turn) -> Mechanics {
        Mechanics {
            rotation: self.rotation.with_phase(phase),
            ..self.clone()
        }
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

    /// Gets an arm ready for many [`Approach::at_least_ns`], from the instants `start` on for reads and
    /// for writes.
    pub fn approach(&self, arm: &Arm, start: [u64; 2]) -> Approach<'_> {
        let [read, write] = start.map(|at| self.rotation.angle_at(Time(at)));
        Approach {
            seek: &self.seek,
            cylinder: arm.cylinder,
            write_settle_ns: self.write_settle_ns,
            under: read.since(arm.angle).0.wrapping_add(SLACK),
            further: write.since(read).0,
            per_ns: self.rotation.per_ns().0,
            period_ns: if self.scales_rotation() {
                0
            } else {
                self.rotation.period_ns() as u64
            },
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{small_drive, Noise};

    /// Never above what positioning takes, and close below it where the arm moves.
    #[test]
    fn bounds_are_bounds() {
        for positioning in [
            "head_switch = \"0.7 ms\"\nwrite_settle = \"0.3 ms\"",
            "head_switch = \"0.7 ms\"\nwrite_settle = \"0.3 ms\"\nsettle_after_head_switch = false",
            "head_switch = \"0.2 ms\"\nwrite_settle = \"-0.4 ms\"",
            "head_switch = \"0.7 ms\"\nrotation_scale = 0.5",
        ] {
            let spec = small_drive(positioning);
            let m = Mechanics::new(&spec, &spec.geometry, Turn(1 << 61)).expect("mechanics");
            let mut noise = Noise::new();
            let mut draw = |limit| noise.below(limit);
            let mut close = 0;
            for i in 0..20_000 {
                let arm = Arm {
                    cylinder: draw(300) as u32,
                    head: draw(2) as u16,
                    angle: Turn(draw(u64::MAX)),
                };
                let at = draw(1 << 60);
                let start = [at, at + draw(3) * 100_000];
                let write = draw(2) == 0;
                let mut place = m.layout.locate(draw(m.layout.capacity())).expect("a place");
                if i % 4 == 0 {
                    // Just about where the head comes down, where a hair decides on a turn.
                    let seek = m.move_ns(&arm, place.cylinder, place.head, write);
                    let under = m.rotation.angle_at(Time(start[write as usize] + seek));
                    let near = Turn(draw(1 << 40)).since(Turn(1 << 39));
                    place.angle = under.since(arm.angle).plus(near);
                }
                let exact = m
                    .position(&arm, &place, write, start[write as usize])
                    .total();
                let bound = m
                    .approach(&arm, start)
                    .at_least_ns(place.angle, place.cylinder, write);
                assert!(bound <= exact, "{bound} {exact} {arm:?} {place:?} {write}");
                close += (exact - bound <= 3) as u32;
            }
            // Of each thousand, 3 stay on their cylinder; of each fourth one the wait is in doubt.
            let least = if m.scales_rotation() { 0 } else { 14_000 };
            assert!(close >= least, "{positioning}: {close}");
        }
    }
}
