//! Several assemblies in one core: which one acts, what the others do meanwhile.

use super::background::{Background, ReadingAhead};
use super::channels::Channels;
use super::Core;
use crate::drive::Completion;
use crate::layout::Place;
use crate::mechanics::Arm;
use crate::parallelism::{Parking, Path, UnitPlan};
use crate::spec::{ArmChoice, Destage, DriveSpec, MediaScanMode};
use headstack_engine::SpecError;
use headstack_units::Turn;

/// What an assembly that is not the acting one has under way.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stand {
    pub background: Background,
    pub ahead: ReadingAhead,
    pub mechanism_free: u64,
    pub destage_free: u64,
    /// The path that it used last.
    pub path: usize,
}

/// State that only assemblies that work at the same time need.
#[derive(Debug)]
pub(crate) struct Together {
    /// By assembly; the acting one's entry is stale.
    pub stands: Vec<Stand>,
    /// Where channels are fewer than commands in service.
    pub channels: Option<Channels>,
}

/// The paths of a unit and where they start.
pub(super) fn paths(spec: &DriveSpec, plan: &UnitPlan) -> Result<(Vec<Path>, Vec<Arm>), SpecError> {
    let (p, g) = (&spec.parallelism, &plan.geometry);
    let offsets = p.head_offsets(spec.dash, g.cylinders);
    let count = plan.arms.len() * offsets.len();
    if count > 64 {
        return Err(SpecError::new(
            "dash",
            format!("{} head sets", count),
            "at most 64 (assemblies times heads per arm)",
        ));
    }
    let conventional = count == 1
        && p.faults.is_empty()
        && p.arm_choice == ArmChoice::Positioning
        && spec.media_scan.mode == MediaScanMode::None;
    if !conventional && g.surfaces > 64 {
        return Err(SpecError::new(
            "geometry.surfaces",
            g.surfaces,
            "at most 64 where several assemblies, a choice of them, faults or a scan are described",
        ));
    }
    let c = &spec.cache;
    if p.arms_in_motion != 1 && !p.faults.is_empty() && c.write_back && c.destage == Destage::Idle {
        return Err(SpecError::new(
            "cache.destage",
            "\"idle\" with faults and several arms in motion",
            "\"immediate\" or arms_in_motion = 1: this combination is not supported",
        ));
    }
    let surfaces = u64::MAX >> (64 - g.surfaces.clamp(1, 64));
    let (mut paths, mut arms) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for (a, arm) in plan.arms.iter().enumerate() {
        if arm.start_cylinder >= g.cylinders {
            return Err(SpecError::new(
                format!("parallelism.arms[{a}].start_cylinder"),
                arm.start_cylinder,
                format!("less than {}", g.cylinders),
            ));
        }
        for (h, (angle, offset)) in offsets.iter().enumerate() {
            let past = match offsets.get(h + 1) {
                Some(next) if next.1 > *offset => next.1,
                _ => g.cylinders,
            };
            let radial = offsets.iter().any(|o| o.1 > 0);
            paths.push(Path {
                assembly: a as u32,
                surfaces,
                cylinders: if radial {
                    (*offset, past)
                } else {
                    (0, g.cylinders)
                },
                offset: *offset,
            });
            arms.push(Arm {
                cylinder: arm.start_cylinder + offset,
                head: 0,
                angle: Turn(arm.angle.0.wrapping_add(angle.0)),
            });
        }
    }
    Ok((paths, arms))
}

/// Whether some path reaches less than another, from the start.
pub(super) fn restricted(paths: &[Path]) -> bool {
    paths.iter().any(|p| p.offset > 0)
}

/// Whether moving one path moves or disturbs others.
pub(super) fn linked(spec: &DriveSpec, paths: &[Path]) -> bool {
    spec.dash.heads > 1 || (spec.parallelism.parking == Parking::Follow && paths.len() > 1)
}

/// What working at the same time needs, for `limit` commands in service.
pub(super) fn together(
    spec: &DriveSpec,
    plan: &UnitPlan,
    paths: &[Path],
    limit: usize,
) -> Option<Together> {
    if limit < 2 {
        return None;
    }
    let channels = match spec.parallelism.channels as usize {
        0 => limit,
        n => n,
    };
    Some(Together {
        stands: (0..plan.arms.len())
            .map(|a| Stand {
                // Its own first head set, not the drive's.
                path: a * paths.len() / plan.arms.len(),
                ..Stand::default()
            })
            .collect(),
        channels: (channels < limit).then(|| Channels::new(channels)),
    })
}

impl Core {
    /// Whether the acting path can read or write a place.
    #[inline]
    pub(super) fn reaches(&self, place: &Place) -> bool {
        !self.restricted || self.paths[self.active].surfaces >> place.head & 1 == 1
    }

    /// Paths that may write buffered data to a place: the acting one, or where not all reach
    /// everything, those that do (of the acting assembly, where assemblies work together).
    pub(super) fn destage_paths(&self, place: &Place) -> impl Iterator<Item = usize> + '_ {
        let (head, cylinder) = (place.head, place.cylinder);
        let acting = self.paths[self.active].assembly;
        let range = if self.restricted {
            0..self.paths.len()
        } else {
            self.active..self.active + 1
        };
        range.filter(move |i| {
            let p = &self.paths[*i];
            !self.restricted
                || (p.reaches(1 << head, cylinder)
                    && (self.together.is_none() || p.assembly == acting))
        })
    }

    /// `path` acts from `at` on. Where assemblies work together each keeps what it had under way;
    /// otherwise what the last one read ahead ends here.
    pub fn take_over(&mut self, path: usize, at: u64) {
        if path == self.active {
            return;
        }
        let (from, to) = (self.paths[self.active].assembly, self.paths[path].assembly);
        if self.together.is_some() && from != to {
            self.exchange(to as usize);
            if let Some(together) = &mut self.together {
                together.stands.swap(from as usize, to as usize);
                if let Some(channels) = &mut together.channels {
                    channels.forget(at);
                }
            }
        }
        // What the assembly's other heads, or the last arm, read ahead ends when these take over.
        if self.active != path {
            self.end_read_ahead(at);
        }
        self.active = path;
    }

    /// All paths look at the same platter: where scaling has turned it on for the acting one, which
    /// stood at `before`, it has for all.
    #[inline]
    pub(super) fn keep_in_phase(&mut self, before: Turn) {
        if self.mechanics.scales_rotation() {
            let turned = self.arms[self.active].angle.since(before);
            for (i, arm) in self.arms.iter_mut().enumerate() {
                if i != self.active {
                    arm.angle = arm.angle.plus(turned);
                }
            }
        }
    }

    /// The acting path has moved: its assembly's other heads moved with it, idle assemblies that
    /// follow come after.
    #[inline]
    pub(super) fn carry(&mut self) {
        if self.linked {
            self.carry_linked();
        }
    }

    fn carry_linked(&mut self) {
        let active = self.paths[self.active];
        let base = self.arms[self.active].cylinder as i64 - active.offset as i64;
        let last = self.mechanics.seek.cylinders() as i64 - 1;
        for (i, path) in self.paths.iter().enumerate() {
            if i == self.active {
                continue;
            }
            let here = (base + path.offset as i64).clamp(0, last) as u32;
            let arm = &mut self.arms[i];
            if path.assembly == active.assembly {
                arm.cylinder = here;
                arm.head = Arm::NO_HEAD;
            } else if self.follow {
                // Its other heads are on the same arm: one movement is paid.
                let leads = self.paths[..i].iter().all(|p| p.assembly != path.assembly);
                if leads {
                    self.busy.seek += self.mechanics.seek.ns(arm.cylinder.abs_diff(here)) as u64;
                }
                arm.cylinder = here;
            }
        }
    }

    /// Exchanges what is under way here with what assembly `a` has: done twice, nothing has changed.
    fn exchange(&mut self, a: usize) {
        if let Some(together) = &mut self.together {
            let stand = &mut together.stands[a];
            std::mem::swap(&mut self.background, &mut stand.background);
            std::mem::swap(&mut self.ahead, &mut stand.ahead);
            std::mem::swap(&mut self.mechanism_free, &mut stand.mechanism_free);
            std::mem::swap(&mut self.destage_free, &mut stand.destage_free);
            std::mem::swap(&mut self.active, &mut stand.path);
        }
    }

    /// Does `act` as assembly `a`, which is not the acting one; assemblies work together.
    fn on_behalf<R>(&mut self, a: usize, act: impl FnOnce(&mut Core) -> R) -> R {
        self.exchange(a);
        let result = act(self);
        self.exchange(a);
        result
    }

    /// The assemblies that do not act, where they work together.
    fn others(&self) -> impl Iterator<Item = usize> {
        let acting = self.paths[self.active].assembly as usize;
        let n = self.together.as_ref().map_or(0, |t| t.stands.len());
        (0..n).filter(move |a| *a != acting)
    }

    /// Brings the background of the assemblies that do not act up to `until`.
    pub(super) fn run_others(&mut self, until: u64) {
        for a in self.others() {
            self.on_behalf(a, |core| core.run_own_background(until));
        }
    }

    /// Ends read-ahead of other assemblies into segment `keep_out` or into sectors
    /// `[start, end)`, which are about to be used otherwise.
    #[inline]
    pub(super) fn stop_others(&mut self, at: u64, keep_out: Option<usize>, start: u64, end: u64) {
        if self.together.is_some() {
            self.stop_others_at_work(at, keep_out, start, end);
        }
    }

    fn stop_others_at_work(&mut self, at: u64, keep_out: Option<usize>, start: u64, end: u64) {
        for a in self.others() {
            self.on_behalf(a, |core| {
                if core.reads_ahead_into(start, end)
                    || (core.is_reading_ahead() && Some(core.ahead.segment) == keep_out)
                {
                    core.end_read_ahead(at);
                }
            });
        }
    }

    /// Whether another assembly is reading ahead into this segment.
    pub(super) fn filled_by_another(&self, segment: usize) -> bool {
        let Some(together) = &self.together else {
            return false;
        };
        self.others().any(|a| {
            let stand = &together.stands[a];
            matches!(stand.background, Background::Reading) && stand.ahead.segment == segment
        })
    }

    /// A flush of everything that any assembly has under way.
    pub fn flush_all(&mut self, at: u64) -> Completion {
        let mut outcome = self.flush(at);
        for a in self.others() {
            let other = self.on_behalf(a, |core| core.flush(at));
            if other.completion > outcome.completion {
                outcome = other;
            }
        }
        outcome
    }

    /// Time in each state up to `until` that assemblies that do not act have not booked yet.
    pub(super) fn unbooked_others(&mut self, until: u64) -> super::Busy {
        let mut sum = super::Busy::default();
        for a in self.others() {
            sum.add(&self.on_behalf(a, |core| core.unbooked(until)));
        }
        sum
    }
}
