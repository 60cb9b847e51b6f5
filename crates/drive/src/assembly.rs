//! One arm assembly: where its heads are, what it has under way, what it does in the background.

use crate::background::Jobs;
use crate::mechanics::{Arm, Mechanics};
use crate::parallelism::Path;
use crate::phase::{Stretch, Timeline, Work};
use headstack_units::Turn;

/// One arm assembly.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    /// What moves, and when.
    pub mechanism: Mechanism,
    /// What it does when no command wants it.
    pub jobs: Jobs,
}

/// The moving parts of an assembly.
#[derive(Debug, Default)]
pub(crate) struct Mechanism {
    /// Where its head sets stand: usually one. They move together.
    pub arms: Vec<Arm>,
    /// The head set that it used last.
    pub acting: usize,
    /// What it has done and will do as far as that is decided.
    pub timeline: Timeline,
    /// When it may be commanded again.
    pub free: u64,
    /// What others must know of its movements, where they depend on them.
    pub coupling: Option<Box<Coupling>>,
}

/// What an assembly has done that moves others as well.
#[derive(Debug, Default)]
pub(crate) struct Coupling {
    /// How far scaled waits (limit studies) have turned the platter on.
    pub turned: Turn,
    /// Movements of the first head set: when they began, and to which cylinder.
    pub moves: Vec<(u64, u32)>,
}

impl Mechanism {
    /// Where the acting head set stands.
    #[inline]
    pub fn arm(&self) -> &Arm {
        &self.arms[self.acting]
    }

    /// The acting head set has moved since it stood at `before`: the others of the assembly moved with
    /// it, and other assemblies may have to know.
    #[inline]
    pub fn carry(&mut self, paths: &[Path], cylinders: u32, before: &Arm, at: u64) {
        if self.arms.len() > 1 || self.coupling.is_some() {
            self.carry_others(paths, cylinders, before, at);
        }
    }

    #[inline(never)]
    fn carry_others(&mut self, paths: &[Path], cylinders: u32, before: &Arm, at: u64) {
        let here = self.arms[self.acting];
        let turned = here.angle.since(before.angle);
        let base = i64::from(here.cylinder) - i64::from(paths[self.acting].offset);
        for (i, arm) in self.arms.iter_mut().enumerate() {
            if i != self.acting {
                let cylinder = base + i64::from(paths[i].offset);
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

    /// Follows an assembly whose first head set begins to move to `cylinder` at `at`, if it is idle.
    pub fn follow(&mut self, now: u64, m: &Mechanics, paths: &[Path], at: u64, cylinder: u32) {
        let start = at.max(self.timeline.end()).max(self.free);
        if start > at {
            return;
        }
        let base = i64::from(cylinder) - i64::from(paths[0].offset);
        let last = i64::from(m.seek.cylinders()) - 1;
        let target = |p: &Path| (base + i64::from(p.offset)).clamp(0, last) as u32;
        let distance = self.arms[0].cylinder.abs_diff(target(&paths[0]));
        let there = start + u64::from(m.seek.ns(distance));
        for (arm, path) in self.arms.iter_mut().zip(paths) {
            arm.cylinder = target(path);
        }
        if distance > 0 {
            self.free = there;
            let stretch = Stretch {
                work: Work::Follow,
                write: false,
                start,
                distance,
                there,
                first: there,
                end: there,
            };
            self.timeline.add(now, stretch);
        }
    }
}
