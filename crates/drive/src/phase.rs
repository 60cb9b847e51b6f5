//! What the mechanism does, as phases, and the time of phases by kind of work.
//!
//! # Model
//! An assembly does one thing at a time: it moves (with settling), waits for a sector, or transfers;
//! otherwise it is idle. A `Timeline` holds what an assembly has done and what is already decided of its
//! future. A service is computed when it begins, so its phases reach beyond the clock. Times up to any moment
//! are exact: a phase in progress counts with the part that has passed.

use crate::power::conditions::ConditionPhase;
use crate::power::seek_energy::SeekEnergy;
use headstack_units::{Span, Time};

/// What an assembly does during a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PhaseKind {
    /// The arm moves to another cylinder; settling before a read is included.
    Seek,
    /// Settling before a write, or a head switch on the same cylinder.
    Settle,
    /// Rotational latency.
    RotationalWait,
    /// Sectors pass under the head.
    Transfer,
    /// No work, heads over the spinning platters: ready for a command, or in `idle_a`.
    Idle,
    /// The heads are unloaded: `idle_b` and `idle_c`, with entering and leaving them.
    Parked,
    /// The platters stand still or are spinning down.
    Standby,
    /// The platters are spinning up.
    SpinUp,
}

/// What a phase is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Work {
    /// A command of the host.
    Request = 0,
    /// Read-ahead.
    ReadAhead = 1,
    /// Writing buffered data to the medium.
    Destage = 2,
    /// The media scan.
    MediaScan = 3,
    /// An idle assembly that follows another one.
    Follow = 4,
    /// Cleaning of a log, or of a cache on the medium.
    Cleaning = 5,
    /// Checkpoints of a log.
    Checkpoint = 6,
}

impl Work {
    /// All kinds of work, in the order of their numbers.
    pub const ALL: [Work; 7] = [
        Work::Request,
        Work::ReadAhead,
        Work::Destage,
        Work::MediaScan,
        Work::Follow,
        Work::Cleaning,
        Work::Checkpoint,
    ];
}

/// A track, and the heads that are on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Track {
    /// Radial position, as in [`Place::cylinder`](crate::layout::Place::cylinder).
    pub cylinder: u32,
    /// Head (surface).
    pub head: u16,
    /// Head set of the assembly, counted from 0.
    pub head_set: u16,
}

/// One phase of one assembly. Phases of an assembly follow each other without gap or overlap.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub struct Phase {
    /// What is done.
    pub kind: PhaseKind,
    /// What it is done for; `None` if the assembly does no work.
    pub work: Option<Work>,
    /// Arm assembly of the drive, counted from 0 through all stacks.
    pub assembly: u32,
    pub from: Time,
    pub to: Time,
    /// Seek distance in cylinders, or the layout's radial steps; zero for other kinds.
    pub distance: u32,
    /// The track on which the work is done; a seek or a settling ends there. `None` if the assembly does no
    /// work: its heads stay over the track of its latest work, unless they are unloaded.
    pub track: Option<Track>,
    /// The drive's low-power condition; `None` if the drive is ready for commands.
    pub condition: Option<ConditionPhase>,
}

/// Time in each active state, and the energy of seeks by distance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ActiveTime {
    pub seek: Span,
    pub rotation: Span,
    pub transfer: Span,
    /// Nanojoules; zero for drives whose description does not say how a seek's energy depends on distance.
    pub seek_nj: u64,
}

impl ActiveTime {
    #[inline]
    pub fn add(&mut self, other: &ActiveTime) {
        self.seek += other.seek;
        self.rotation += other.rotation;
        self.transfer += other.transfer;
        self.seek_nj += other.seek_nj;
    }

    /// The difference to an earlier value.
    pub fn since(&self, before: &ActiveTime) -> ActiveTime {
        ActiveTime {
            seek: self.seek - before.seek,
            rotation: self.rotation - before.rotation,
            transfer: self.transfer - before.transfer,
            seek_nj: self.seek_nj - before.seek_nj,
        }
    }
}

/// Active time by kind of work; the index is the number of a [`Work`].
pub(crate) type ActiveByWork = [ActiveTime; Work::ALL.len()];

/// A movement, a rotational wait and a transfer without a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MechanicalAccess {
    pub work: Work,
    /// Whether the movement ends with write settling.
    pub write: bool,
    pub start: Time,
    /// Seek distance in cylinders, or the layout's radial steps.
    pub distance: u32,
    /// End of the movement.
    pub there: Time,
    /// End of the wait, start of the transfer.
    pub first: Time,
    /// End of the transfer.
    pub end: Time,
    /// Where the movement ends.
    pub track: Track,
}

impl MechanicalAccess {
    /// An empty access at time zero.
    const NONE: MechanicalAccess = MechanicalAccess {
        work: Work::Request,
        write: false,
        start: Time::ZERO,
        distance: 0,
        there: Time::ZERO,
        first: Time::ZERO,
        end: Time::ZERO,
        track: Track { cylinder: 0, head: 0, head_set: 0 },
    };

    /// Time in each state. The energy of seeks is kept in [`PhaseRecorder`].
    #[inline]
    fn whole(&self) -> ActiveTime {
        ActiveTime {
            seek: self.there.span_from(self.start),
            rotation: self.first.span_from(self.there),
            transfer: self.end.span_from(self.first),
            seek_nj: 0,
        }
    }

    /// Time in each state before `until`.
    #[inline]
    pub fn part(&self, until: Time) -> ActiveTime {
        let within = |from: Time, to: Time| to.min(until).since(from);
        ActiveTime {
            seek: within(self.start, self.there),
            rotation: within(self.there, self.first),
            transfer: within(self.first, self.end),
            seek_nj: 0,
        }
    }

    /// What is left at `until` of the energy of the movement, in nanojoules.
    fn seek_energy_after(&self, until: Time, law: &SeekEnergy) -> u64 {
        if self.distance == 0 || self.there <= until {
            return 0;
        }
        let whole = law.nanojoules(self.distance);
        if until <= self.start {
            // Also a movement that takes no time.
            return whole;
        }
        let passed = until.span_from(self.start).0 as u128;
        let spent = u128::from(whole) * passed / self.there.span_from(self.start).0 as u128;
        whole - spent as u64
    }

    /// Tells the phases. Of a seek before a write, the last `write_settle` is told as settling.
    fn tell(&self, assembly: u32, write_settle: Span, sink: &mut dyn FnMut(&Phase)) {
        let settled_from = match (self.distance > 0, self.write) {
            (false, _) => self.start,
            (true, false) => self.there,
            (true, true) => self.there.before(write_settle).max(self.start),
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
                    track: Some(self.track),
                    condition: None,
                    assembly,
                    from,
                    to,
                    distance: if kind == PhaseKind::Seek { self.distance } else { 0 },
                });
            }
        }
    }
}

/// What one assembly has done, and what is decided of its future.
#[derive(Debug)]
pub(crate) struct Timeline {
    /// Time of all accesses.
    all: ActiveByWork,
    /// Older accesses that may end after the clock, in order of time. The latest two are kept apart because
    /// there are rarely more.
    pending: Vec<MechanicalAccess>,
    /// The latest two accesses, and the index of the later one.
    last: [MechanicalAccess; 2],
    newest: bool,
    /// From when on the assembly can do something else, as far as is decided.
    pub free: Time,
    /// What most drives do without.
    recorder: Option<Box<PhaseRecorder>>,
}

/// What is kept of each access when it is added.
#[derive(Debug, Default)]
struct PhaseRecorder {
    /// Stretches that were not told yet; `None` without a listener.
    untold: Option<Vec<MechanicalAccess>>,
    /// How the energy of seeks depends on distance.
    law: Option<SeekEnergy>,
    /// Energy of all seeks that were added, by kind of work, in nanojoules.
    seek_nj: [u64; Work::ALL.len()],
}

impl PhaseRecorder {
    /// Energy of the access's movement, in nanojoules.
    fn energy(&self, access: &MechanicalAccess) -> u64 {
        let law = self.law.filter(|_| access.distance > 0);
        law.map_or(0, |law| law.nanojoules(access.distance))
    }
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline {
            all: ActiveByWork::default(),
            pending: Vec::new(),
            last: [MechanicalAccess::NONE; 2],
            newest: false,
            free: Time::ZERO,
            recorder: None,
        }
    }
}

impl Timeline {
    /// The assembly does nothing else before `at`.
    #[inline]
    pub fn hold_until(&mut self, at: Time) {
        self.free = self.free.max(at);
    }

    /// Adds the next access. `now` is the clock, which never goes back.
    #[inline(always)]
    pub fn add(&mut self, now: Time, access: MechanicalAccess) {
        debug_assert!(
            self.free <= access.start
                && access.start <= access.there
                && access.there <= access.first
                && access.first <= access.end,
            "{:?}, free at {:?}, then {access:?}",
            self.latest(),
            self.free
        );
        self.all[access.work as usize].add(&access.whole());
        let older = usize::from(!self.newest);
        if self.last[older].end > now {
            self.keep_pending(now);
        }
        self.last[older] = access;
        self.newest = !self.newest;
        self.free = access.end;
        if self.recorder.is_some() {
            self.remember();
        }
    }

    /// Keeps the last but one access, which ends after the clock.
    #[inline(never)]
    fn keep_pending(&mut self, now: Time) {
        if self.pending.first().is_some_and(|s| s.end <= now) {
            let over = self.pending.partition_point(|s| s.end <= now);
            self.pending.drain(..over);
        }
        let last_but_one = self.last[usize::from(!self.newest)];
        self.pending.push(last_but_one);
    }

    #[cold]
    fn remember(&mut self) {
        let access = *self.latest();
        if let Some(recorder) = &mut self.recorder {
            recorder.seek_nj[access.work as usize] += recorder.energy(&access);
            if let Some(untold) = &mut recorder.untold {
                untold.push(access);
            }
        }
    }

    /// From now on the energy of seeks is counted by distance.
    pub fn weigh_seeks(&mut self, law: SeekEnergy) {
        self.recorder.get_or_insert_default().law = Some(law);
    }

    /// Replaces the latest access by `parts`, which fill the same time.
    pub fn replace_latest(&mut self, now: Time, parts: &[MechanicalAccess]) {
        let latest = *self.latest();
        let sum = &mut self.all[latest.work as usize];
        *sum = sum.since(&latest.whole());
        if let Some(recorder) = &mut self.recorder {
            recorder.seek_nj[latest.work as usize] -= recorder.energy(&latest);
            if let Some(untold) = &mut recorder.untold {
                untold.pop();
            }
        }
        self.last[usize::from(self.newest)] = self.pending.pop().unwrap_or(MechanicalAccess::NONE);
        self.newest = !self.newest;
        self.free = latest.start;
        for part in parts {
            self.add(now, *part);
        }
    }

    /// The latest access.
    #[inline]
    pub fn latest(&self) -> &MechanicalAccess {
        &self.last[usize::from(self.newest)]
    }

    /// Adds the time in each active state before `until`.
    pub fn add_active(&self, until: Time, sum: &mut ActiveByWork) {
        for (sum, all) in sum.iter_mut().zip(&self.all) {
            sum.add(all);
        }
        for s in self.pending.iter().chain(&self.last) {
            let to_come = s.whole().since(&s.part(until));
            let sum = &mut sum[s.work as usize];
            *sum = sum.since(&to_come);
        }
        if let Some(recorder) = &self.recorder {
            self.add_seek_energy(recorder, until, sum);
        }
    }

    /// The same, over all kinds of work.
    #[inline]
    pub fn add_active_time(&self, until: Time, sum: &mut ActiveTime) {
        if self.recorder.is_some() {
            let mut by_work = ActiveByWork::default();
            self.add_active(until, &mut by_work);
            return by_work.iter().for_each(|time| sum.add(time));
        }
        self.all.iter().for_each(|time| sum.add(time));
        for s in self.pending.iter().chain(&self.last) {
            if s.end > until {
                *sum = sum.since(&s.whole().since(&s.part(until)));
            }
        }
    }

    /// Adds the energy of seeks before `until`: of all of them, less what is still to come.
    fn add_seek_energy(&self, recorder: &PhaseRecorder, until: Time, sum: &mut ActiveByWork) {
        let Some(law) = &recorder.law else { return };
        for (sum, all) in sum.iter_mut().zip(recorder.seek_nj) {
            sum.seek_nj += all;
        }
        for s in self.pending.iter().chain(&self.last) {
            sum[s.work as usize].seek_nj -= s.seek_energy_after(until, law);
        }
    }

    /// From now on, accesses are kept for [`Timeline::tell`].
    pub fn listen(&mut self) {
        let recorder = self.recorder.get_or_insert_default();
        recorder.untold.get_or_insert_default();
    }

    /// Gives all phases that were not told yet to `sink`.
    pub fn tell(&mut self, assembly: u32, write_settle: Span, sink: &mut dyn FnMut(&Phase)) {
        if let Some(untold) = self.recorder.as_mut().and_then(|w| w.untold.as_mut()) {
            untold.drain(..).for_each(|s| s.tell(assembly, write_settle, sink));
        }
    }
}
