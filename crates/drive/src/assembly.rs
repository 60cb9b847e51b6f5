//! One arm assembly: the position of its heads, what it is doing, and its background jobs.

use crate::background::Jobs;
use crate::mechanics::{Arm, Mechanics};
use crate::parallelism::HeadSet;
use crate::phase::{MechanicalAccess, Timeline, Track, Work};
use crate::service::pass::{AccessRequest, Pass, Scratch};
use headstack_units::{Time, Turn};

/// One arm assembly.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    /// The moving parts.
    pub mechanism: Mechanism,
    /// What it does while no command uses it.
    pub jobs: Jobs,
    /// When its command in service completes, or its roles have changed: until then it takes no command.
    pub serves_until: Time,
}

/// The moving parts of an assembly.
#[derive(Debug, Default)]
pub(crate) struct Mechanism {
    /// The head sets, usually one. They move together.
    pub arms: Vec<Arm>,
    /// Index of the head set that was used last.
    pub active_set: usize,
    /// What the mechanism has done, what is already decided of its future, and when it is free.
    pub timeline: Timeline,
    /// Its movements, kept where other assemblies or the scaled rotation depend on them.
    pub coupling: Option<Box<Coupling>>,
}

/// What other assemblies of a unit have to know of one of them.
#[derive(Debug, Default)]
pub(crate) struct Coupling {
    /// How far the platter was turned on by waits that a limit study shortens.
    pub turned: Turn,
    /// Movements of the first head set: start, and target cylinder.
    pub moves: Vec<(Time, u32)>,
}

impl Mechanism {
    /// The head set that was used last.
    #[inline]
    pub fn arm(&self) -> &Arm {
        &self.arms[self.active_set]
    }

    /// The track of the head that was used last.
    #[inline]
    pub fn track(&self) -> Track {
        let arm = self.arm();
        Track { cylinder: arm.cylinder, head: arm.head, head_set: self.active_set as u16 }
    }

    /// To be called when the active head set has moved from `before`, starting at `at`: moves the other head
    /// sets of the assembly along, and records the movement where it matters to other assemblies.
    #[inline]
    pub fn carry(&mut self, head_sets: &[HeadSet], cylinders: u32, before: &Arm, at: Time) {
        if self.arms.len() > 1 || self.coupling.is_some() {
            self.carry_others(head_sets, cylinders, before, at);
        }
    }

    #[inline(never)]
    fn carry_others(&mut self, head_sets: &[HeadSet], cylinders: u32, before: &Arm, at: Time) {
        let here = self.arms[self.active_set];
        let turned = here.angle.since(before.angle);
        let base = i64::from(here.cylinder) - i64::from(head_sets[self.active_set].offset);
        for (i, arm) in self.arms.iter_mut().enumerate() {
            if i != self.active_set {
                let cylinder = base + i64::from(head_sets[i].offset);
                arm.cylinder = cylinder.clamp(0, i64::from(cylinders) - 1) as u32;
                arm.head = Arm::NO_HEAD;
                arm.angle = arm.angle.plus(turned);
            }
        }
        if let Some(coupling) = &mut self.coupling {
            coupling.turned = coupling.turned.plus(turned);
            coupling.moves.push((at, self.arms[0].cylinder));
        }
    }

    /// Adds a pass that the active head set carries out to the timeline. `now` is the clock.
    #[inline(always)]
    pub fn add_pass(&mut self, now: Time, order: &AccessRequest, work: Work, pass: &Pass, scratch: &mut Scratch) {
        if scratch.accesses.is_empty() {
            return self.add_plain_pass(now, order, work, pass, self.track());
        }
        let head_set = self.active_set as u16;
        for access in scratch.accesses.drain(..) {
            let access = MechanicalAccess { work, track: Track { head_set, ..access.track }, ..access };
            self.timeline.add(now, access);
        }
    }

    /// As [`Mechanism::add_pass`], for a pass over one run of the track `track`.
    #[inline(always)]
    pub fn add_plain_pass(&mut self, now: Time, order: &AccessRequest, work: Work, pass: &Pass, track: Track) {
        let there = order.start.after(pass.seek);
        let access = MechanicalAccess {
            work,
            write: order.write,
            start: order.start,
            distance: pass.distance,
            there,
            first: there.after(pass.rotation),
            end: pass.end,
            track,
        };
        self.timeline.add(now, access);
    }

    /// If idle, follows another assembly whose first head set starts to move to `cylinder` at `at`.
    pub fn follow(&mut self, now: Time, m: &Mechanics, head_sets: &[HeadSet], at: Time, cylinder: u32) {
        if self.timeline.free > at {
            return;
        }
        let base = i64::from(cylinder) - i64::from(head_sets[0].offset);
        let last = i64::from(m.seek.positions()) - 1;
        let target = |p: &HeadSet| (base + i64::from(p.offset)).clamp(0, last) as u32;
        let distance = self.arms[0].cylinder.abs_diff(target(&head_sets[0]));
        let there = at.after(m.seek.time(distance));
        for (arm, head_set) in self.arms.iter_mut().zip(head_sets) {
            arm.cylinder = target(head_set);
        }
        if distance > 0 {
            let access = MechanicalAccess {
                work: Work::Follow,
                write: false,
                start: at,
                distance,
                there,
                first: there,
                end: there,
                track: Track { cylinder: self.arms[0].cylinder, head: self.arms[0].head, head_set: 0 },
            };
            self.timeline.add(now, access);
        }
    }
}
