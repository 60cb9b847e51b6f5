//! The mechanics: how long an arm takes to reach a sector, and when sectors pass under its heads.
//!
//! Everything here is a function of state and time. Scheduler, service and formulas all call
//! [`Mechanics::position`].

use crate::layout::{self, Layout, Place};
use crate::seek::{SeekModel, SeekTable};
use crate::spec::{DriveSpec, GeometrySpec};
use headstack_engine::SpecError;
use headstack_schema::Plugins;
use headstack_units::{nearest, Rotation, Span, Time, Turn};
use std::any::Any;
use std::sync::{Arc, OnceLock};

/// The state of a head set: one head for each surface, carried by an arm assembly. Most assemblies have one
/// set; several sets of an assembly move together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Arm {
    /// Radial position of the heads, as in [`Place::cylinder`].
    pub cylinder: u32,
    /// The head used last; [`Arm::NO_HEAD`] after another set of the assembly was used.
    pub head: u16,
    /// Angle of the set around the platter.
    pub angle: Turn,
}

impl Arm {
    /// Stands for no head: the next access needs a head switch.
    pub const NO_HEAD: u16 = u16::MAX;
}

/// Positioning time of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Positioning {
    /// Seek or head switch, with settling.
    pub seek: Span,
    /// Rotational latency: the wait until the sector's leading edge.
    pub rotation: Span,
}

impl Positioning {
    /// Seek and rotational latency together.
    pub fn total(self) -> Span {
        self.seek + self.rotation
    }
}

/// An angle so little behind the head counts as reached, so that rounding to nanoseconds does not cost
/// sequential accesses a turn. The tolerance is 2e-6 turn.
pub(crate) const REACHED: u64 = u64::MAX - 36_893_488_147_419;

/// `span` if `condition` holds, else zero; computed without a jump.
#[inline(always)]
fn only_if(condition: bool, span: Span) -> Span {
    Span(span.0 & -i64::from(condition))
}

/// The mechanics of one unit. Clones share the layout and the seek table.
#[derive(Clone)]
pub struct Mechanics {
    /// The mapping of addresses to places.
    pub layout: Arc<dyn Layout>,
    /// Seek time by distance.
    pub seek: SeekTable,
    /// The spindle.
    pub rotation: Rotation,
    /// Time of a head switch.
    pub head_switch: Span,
    /// Time added to seeks before a write; may be negative.
    pub write_settle: Span,
    settle_after_head_switch: bool,
    settle_before_every_write: bool,
    rotation_scale: f64,
    /// Table for [`Mechanics::derived`].
    derived: Arc<OnceLock<Box<dyn Any + Send + Sync>>>,
}

impl Mechanics {
    /// Builds layout, seek table and spindle at phase zero for a geometry: the drive's own, or a part of it; see
    /// [`Models::mechanics`](crate::Models::mechanics).
    ///
    /// # Errors
    /// Values that do not fit together, by dotted key. All numbers must be within their bounds
    /// ([`DriveSpec::check`]).
    pub(crate) fn new(
        spec: &DriveSpec,
        geometry: &GeometrySpec,
        (layouts, seeks): (&Plugins<dyn Layout>, &Plugins<dyn SeekModel>),
    ) -> Result<Mechanics, SpecError> {
        let layout: Arc<dyn Layout> = Arc::from(layout::build(geometry, layouts)?);
        let p = &spec.positioning;
        let scaled = |span: Span| Span((span.0 as f64 * p.seek_scale).round() as i64);
        Ok(Mechanics {
            seek: SeekTable::build(&spec.seek, geometry.cylinders, p.seek_constant, seeks)?
                .scaled(p.seek_scale)
                .in_steps(layout.steps_per_cylinder()),
            layout,
            rotation: Rotation::new(geometry.rotation_speed),
            head_switch: scaled(p.head_switch),
            write_settle: scaled(p.write_settle),
            rotation_scale: p.rotation_scale,
            settle_after_head_switch: p.settle_after_head_switch,
            settle_before_every_write: p.settle_before_every_write,
            derived: Arc::default(),
        })
    }

    /// A table that a caller derives from the mechanics and that does not depend on the platter's phase. It is
    /// computed once for all clones. All callers must ask for the same type, because only one table is kept.
    pub(crate) fn derived<T: Any + Send + Sync>(&self, make: impl FnOnce(&Mechanics) -> T) -> &T {
        let kept = self.derived.get_or_init(|| Box::new(make(self)));
        match kept.downcast_ref() {
            Some(tables) => tables,
            None => unreachable!("one type of table"),
        }
    }

    /// The same mechanics, with `phase` under the heads at time zero.
    pub fn with_phase(&self, phase: Turn) -> Mechanics {
        self.with_rotation(self.rotation.with_phase(phase))
    }

    /// The same mechanics with another spindle.
    pub fn with_rotation(&self, rotation: Rotation) -> Mechanics {
        Mechanics { rotation, ..self.clone() }
    }

    /// The same mechanics with another layout of the same steps per cylinder.
    pub(crate) fn with_layout(&self, layout: Box<dyn Layout>) -> Mechanics {
        debug_assert_eq!(layout.steps_per_cylinder(), self.layout.steps_per_cylinder());
        Mechanics { layout: Arc::from(layout), ..self.clone() }
    }

    /// The radial position in the middle of a cylinder, as in [`Place::cylinder`].
    pub(crate) fn position_of(&self, cylinder: u32) -> u32 {
        let steps = self.layout.steps_per_cylinder();
        cylinder * steps + steps / 2
    }

    /// Time to bring `arm` onto the track of a place: the longer of seek and head switch, and
    /// write settling before a write (without a seek only if the drive does so). Zero on the same track.
    #[inline]
    pub fn move_time(&self, arm: &Arm, cylinder: u32, head: u16, write: bool) -> Span {
        let seek = self.seek.time(arm.cylinder.abs_diff(cylinder));
        // Computed without jumps: the processor cannot predict whether heads differ or a command writes.
        let switch = only_if(arm.head != head, self.head_switch);
        let t = seek.max(switch);
        let settles = (self.settle_after_head_switch & (t > Span::ZERO))
            | self.settle_before_every_write
            | (arm.cylinder != cylinder);
        let settle = only_if(write & settles, self.write_settle);
        (t + settle).max(Span::ZERO)
    }

    /// Rotational latency from `at` until `angle` is under the heads of `arm`.
    #[inline]
    pub fn wait_time(&self, arm: &Arm, angle: Turn, at: Time) -> Span {
        self.wait_for(self.ahead(arm, angle, at))
    }

    /// Rotational latency while the platter turns by `ahead`.
    #[inline]
    pub(crate) fn wait_for(&self, ahead: Turn) -> Span {
        let wait = self.rotation.time_for(ahead);
        if self.rotation_scale == 1.0 {
            wait
        } else {
            Span((wait.0 as f64 * self.rotation_scale).round() as i64)
        }
    }

    /// How late the head is for a sector that it reaches without a wait. Over many commands
    /// the rounding of times to nanoseconds would add up and cost a turn. So a transfer that starts a few
    /// nanoseconds late still ends on time.
    #[inline]
    pub fn late_by(&self, arm: &Arm, angle: Turn, at: Time) -> Span {
        let under = self.rotation.angle_at(at);
        let late = under.since(angle.plus(arm.angle));
        if late.0 < (u64::MAX - REACHED) / 4 || late.0 > u64::MAX - REACHED {
            Span::ZERO
        } else {
            self.rotation.time_for(late)
        }
    }

    /// For limit studies that scale the rotational latency: turns the platter on by the part of the wait for
    /// `angle` that is left out. So the sector is under the head after the scaled wait, and the following
    /// ones pass as usual. The phase is kept in `arm`.
    #[inline]
    pub fn skip_rest(&self, arm: &mut Arm, angle: Turn, at: Time) {
        if self.rotation_scale != 1.0 {
            let left_out = self.ahead(arm, angle, at).as_turns() * (1.0 - self.rotation_scale);
            arm.angle = arm.angle.since(Turn::from_turns(left_out));
        }
    }

    /// Whether rotational latencies are scaled.
    #[inline]
    pub fn scales_rotation(&self) -> bool {
        self.rotation_scale != 1.0
    }

    /// The angle by which the platter turns from `at` until `angle` is under the heads of `arm`.
    #[inline]
    pub(crate) fn ahead(&self, arm: &Arm, angle: Turn, at: Time) -> Turn {
        let under = self.rotation.angle_at(at);
        let ahead = angle.plus(arm.angle).since(under);
        Turn(if ahead.0 > REACHED { 0 } else { ahead.0 })
    }

    /// Positioning time of an access whose movement may start at `at`.
    #[inline]
    pub fn position(&self, arm: &Arm, place: &Place, write: bool, at: Time) -> Positioning {
        let seek = self.move_time(arm, place.cylinder, place.head, write);
        Positioning { seek, rotation: self.wait_time(arm, place.angle, at.after(seek)) }
    }

    /// Physical sectors per second that a long read from the sector `first` on gets, over so many runs
    /// of addresses without a gap (tracks, where there are no defects); with as many as there are
    /// surfaces each head has its turn. `None` past the end.
    ///
    /// # Model
    /// Runs pass under the head one after another; between two stand the head switch or seek and the
    /// wait for the next run's first sector.
    pub fn sustained_sectors_per_s(&self, first: u64, runs: u32) -> Option<f64> {
        let mut place = self.layout.locate(first)?;
        let mut arm = Arm { cylinder: place.cylinder, head: place.head, ..Arm::default() };
        let begin = Time::ZERO.after(self.wait_time(&arm, place.angle, Time::ZERO));
        let (mut sector, mut at) = (first, begin);
        for _ in 0..runs {
            at = at.after(Mechanics::pass_time(place.run, place.sector_ns));
            sector += u64::from(place.run);
            if !self.layout.locate_into(sector, &mut place) {
                break;
            }
            at = at.after(self.position(&arm, &place, false, at).total());
            (arm.cylinder, arm.head) = (place.cylinder, place.head);
        }
        Some((sector - first) as f64 / at.span_from(begin).as_secs_f64())
    }

    /// Time that `count` sectors take to pass under a head or over a link, rounded to the nearest nanosecond.
    #[inline]
    pub fn pass_time(count: u32, sector_ns: f64) -> Span {
        Span(nearest(f64::from(count) * sector_ns))
    }
}
