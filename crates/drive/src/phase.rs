//! What the mechanism does, told as phases, and the times of phases by kind of work.
//!
//! # Model
//! An assembly does one thing at a time: it moves (with settling), waits for a sector, or transfers;
//! else it is idle. [`Timeline`] holds what an assembly has done and what is already decided of its
//! future: a service is computed when it begins, so its phases reach ahead of the clock. Times up to
//! any instant are exact: a phase that is under way counts for the part that has passed.

use crate::power::conditions::ConditionPhase;
use headstack_units::Time;

/// What an assembly does during a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PhaseKind {
    /// The arm moves to another cylinder; settling before a read is part of it.
    Seek,
    /// Settling before a write, or a head switch on the same cylinder.
    Settle,
    /// Waiting for a sector.
    RotationalWait,
    /// Sectors pass under the head.
    Transfer,
    /// Nothing, heads over the spinning platters: ready for a command, or in `idle_a`.
    Idle,
    /// The heads are unloaded: `idle_b` and `idle_c`, with the ways into them and out of them.
    Parked,
    /// The platters stand still, or come to rest.
    Standby,
    /// The platters get up to speed again.
    SpinUp,
}

/// What a phase is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Work {
    /// A command of the host.
    Request = 0,
    /// Reading on behind a command.
    ReadAhead = 1,
    /// Buffered data on their way to the medium.
    Destage = 2,
    /// The scan of the medium.
    MediaScan = 3,
    /// An idle assembly that follows another one.
    Follow = 4,
}

impl Work {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Work; 5] = [
        Work::Request,
        Work::ReadAhead,
        Work::Destage,
        Work::MediaScan,
        Work::Follow,
    ];
}

/// One phase of one assembly. Phases of an assembly follow each other without gap or overlap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Phase {
    /// What is done.
    pub kind: PhaseKind,
    /// What for; `None`: for nothing, the assembly is at rest.
    pub work: Option<Work>,
    /// Arm assembly of the drive, counted from 0 through all stacks.
    pub assembly: u32,
    /// From when.
    pub from: Time,
    /// Until when.
    pub to: Time,
    /// Cylinders that the arm moves; zero unless it is a seek.
    pub distance: u32,
    /// The drive's power condition, with its name, its power and the way into it or out of it; `None`
    /// where the drive is ready for commands.
    pub condition: Option<ConditionPhase>,
}

/// Nanoseconds in each active state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ActiveTime {
    pub seek: u64,
    pub rotation: u64,
    pub transfer: u64,
}

impl ActiveTime {
    #[inline]
    pub fn add(&mut self, other: &ActiveTime) {
        self.seek += other.seek;
        self.rotation += other.rotation;
        self.transfer += other.transfer;
    }

    /// What has come since `before`.
    pub fn since(&self, before: &ActiveTime) -> ActiveTime {
        ActiveTime {
            seek: self.seek - before.seek,
            rotation: self.rotation - before.rotation,
            transfer: self.transfer - before.transfer,
        }
    }
}

/// Active time by what it was for; the index is the number of a [`Work`].
pub(crate) type ActiveByWork = [ActiveTime; Work::ALL.len()];

/// A movement, a wait and a transfer that follow each other without a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub work: Work,
    /// Whether the movement ends with settling for a write.
    pub write: bool,
    pub start: u64,
    /// Cylinders of the movement.
    pub distance: u32,
    /// End of the movement.
    pub there: u64,
    /// End of the wait.
    pub first: u64,
    /// End of the transfer.
    pub end: u64,
}

impl Stretch {
    /// Nothing, at time zero.
    const NONE: Stretch = Stretch {
        work: Work::Request,
        write: false,
        start: 0,
        distance: 0,
        there: 0,
        first: 0,
        end: 0,
    };

    /// The time in each state.
    #[inline]
    fn whole(&self) -> ActiveTime {
        ActiveTime {
            seek: self.there - self.start,
            rotation: self.first - self.there,
            transfer: self.end - self.first,
        }
    }

    /// The time in each state up to `until`.
    #[inline]
    pub fn part(&self, until: u64) -> ActiveTime {
        let within = |from: u64, to: u64| to.min(until).saturating_sub(from);
        ActiveTime {
            seek: within(self.start, self.there),
            rotation: within(self.there, self.first),
            transfer: within(self.first, self.end),
        }
    }

    /// Tells its phases; the last `write_settle_ns` of a movement before a write are settling.
    fn tell(&self, assembly: u32, write_settle_ns: u64, sink: &mut dyn FnMut(&Phase)) {
        let settled_from = match (self.distance > 0, self.write) {
            (false, _) => self.start,
            (true, false) => self.there,
            (true, true) => self.there.saturating_sub(write_settle_ns).max(self.start),
        };
        for (kind, from, to) in [
            (PhaseKind::Seek, self.start, settled_from),
            (PhaseKind::Settle, settled_from, self.there),
            (PhaseKind::RotationalWait, self.there, self.first),
            (PhaseKind::Transfer, self.first, self.end),
        ] {
            if from < to {
                sink(&Phase {
                    kind,
                    work: Some(self.work),
                    condition: None,
                    assembly,
                    from: Time(from),
                    to: Time(to),
                    distance: if kind == PhaseKind::Seek {
                        self.distance
                    } else {
                        0
                    },
                });
            }
        }
    }
}

/// What one assembly has done and what is decided of its future.
#[derive(Debug)]
pub(crate) struct Timeline {
    /// Time of everything that ended before the clock.
    settled: ActiveByWork,
    /// Stretches that may reach beyond the clock, in order of time; the latest two apart, because
    /// there are hardly ever more.
    pending: Vec<Stretch>,
    /// The latest two, and which of them is the latest.
    last: [Stretch; 2],
    newest: bool,
    /// What a listener has not been told yet, where there is one.
    untold: Option<Vec<Stretch>>,
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline {
            settled: ActiveByWork::default(),
            pending: Vec::new(),
            last: [Stretch::NONE; 2],
            newest: false,
            untold: None,
        }
    }
}

/// So many stretches may be pending before those that are over are looked for.
const MANY: usize = 64;

impl Timeline {
    /// When the assembly is at rest, as far as is decided.
    #[inline]
    pub fn end(&self) -> u64 {
        self.latest().end
    }

    /// Adds what the assembly does next. The clock stands at `now`; it never goes back.
    #[inline(always)]
    pub fn add(&mut self, now: u64, stretch: Stretch) {
        debug_assert!(
            self.latest().end <= stretch.start
                && stretch.start <= stretch.there
                && stretch.there <= stretch.first
                && stretch.first <= stretch.end,
            "{:?} then {stretch:?}",
            self.latest()
        );
        let older = usize::from(!self.newest);
        let last_but_one = &self.last[older];
        if self.pending.is_empty() && last_but_one.end <= now {
            self.settled[last_but_one.work as usize].add(&last_but_one.whole());
        } else {
            self.keep_pending(now);
        }
        self.last[older] = stretch;
        self.newest = !self.newest;
        if self.untold.is_some() {
            self.remember(stretch);
        }
    }

    /// The last but one stretch, or others before it, may reach beyond the clock.
    #[inline(never)]
    fn keep_pending(&mut self, now: u64) {
        let last_but_one = self.last[usize::from(!self.newest)];
        self.pending.push(last_but_one);
        if last_but_one.end <= now || self.pending.len() % MANY == 0 {
            let over = self.pending.partition_point(|s| s.end <= now);
            for s in self.pending.drain(..over) {
                self.settled[s.work as usize].add(&s.whole());
            }
        }
    }

    #[cold]
    fn remember(&mut self, stretch: Stretch) {
        if let Some(untold) = &mut self.untold {
            untold.push(stretch);
        }
    }

    /// Puts `parts` in the place of the latest stretch, which they fill together.
    pub fn replace_latest(&mut self, now: u64, parts: &[Stretch]) {
        if let Some(untold) = &mut self.untold {
            untold.pop();
        }
        self.last[usize::from(self.newest)] = self.pending.pop().unwrap_or(Stretch::NONE);
        self.newest = !self.newest;
        for part in parts {
            self.add(now, *part);
        }
    }

    /// The latest stretch.
    #[inline]
    pub fn latest(&self) -> &Stretch {
        &self.last[usize::from(self.newest)]
    }

    /// Adds the time in each active state up to `until`.
    pub fn add_active(&self, until: u64, sum: &mut ActiveByWork) {
        for (sum, settled) in sum.iter_mut().zip(&self.settled) {
            sum.add(settled);
        }
        for s in self.pending.iter().chain(&self.last) {
            sum[s.work as usize].add(&s.part(until));
        }
    }

    /// From now on what is done is kept for [`Timeline::tell`].
    pub fn listen(&mut self) {
        self.untold.get_or_insert_with(Vec::new);
    }

    /// Tells every phase that has not been told yet.
    pub fn tell(&mut self, assembly: u32, write_settle_ns: u64, sink: &mut dyn FnMut(&Phase)) {
        if let Some(untold) = &mut self.untold {
            untold
                .drain(..)
                .for_each(|s| s.tell(assembly, write_settle_ns, sink));
        }
    }
}
