//! The phases of a drive for a listener: work of the mechanism, rest, and power conditions, for each assembly
//! without gap or overlap. Also what watches a drive: it looks at the drive at times of its own, without effect on it.

use super::Drive;
use crate::command::{Completion, DriveRequest};
use crate::phase::{Phase, PhaseKind};
use crate::power::conditions::{Condition, ConditionPhase, Passage};
use headstack_units::Time;

/// Looks at a drive at times of its own, and hears of its commands.
pub trait Watch: Send {
    /// Looks at the drive at `at`, up to which it was advanced. Returns a later time at which to look next; after `None` it
    /// is dropped.
    fn look(&mut self, at: Time, drive: &mut Drive) -> Option<Time>;
    /// A command reaches the drive.
    fn submitted(&mut self, now: Time, request: &DriveRequest, drive: &Drive);
    /// A command has completed, or will.
    fn completed(&mut self, completion: &Completion);
    /// The drive's count of energy begins anew at `now`.
    fn restarted(&mut self, now: Time, drive: &mut Drive);
}

/// What watches a drive, and when it looks next.
pub(super) struct Watched {
    watch: Box<dyn Watch>,
    due: Time,
}

/// How far the listener of a drive has been told.
pub(super) struct Listener {
    /// For each assembly, the time up to which its phases were told.
    told: Vec<Time>,
}

/// One call of [`Drive::tell_phases`]: the power conditions decided since the last call, and how far each
/// assembly has been told.
struct Telling<'a> {
    conditions: &'a [ConditionPhase],
    told: &'a mut [Time],
    /// For each assembly, the index of the next condition to tell.
    next: Vec<usize>,
    sink: &'a mut dyn FnMut(&Phase),
}

impl Telling<'_> {
    /// Tells a phase of work, and the rest of the assembly before it.
    fn works(&mut self, phase: &Phase) {
        self.rests(phase.assembly, phase.from);
        self.told[phase.assembly as usize] = phase.to;
        (self.sink)(phase);
    }

    /// Tells the rest of an assembly until `until`, with its power conditions. A condition that is already
    /// decided may end later.
    fn rests(&mut self, assembly: u32, until: Time) {
        let a = assembly as usize;
        while let Some(c) = self.conditions.get(self.next[a]) {
            if c.from >= until {
                break;
            }
            self.next[a] += 1;
            self.is_ready(assembly, c.from);
            self.told[a] = c.to;
            (self.sink)(&at_rest(assembly, (c.from, c.to), Some(*c)));
        }
        self.is_ready(assembly, until);
    }

    /// Tells that an assembly is idle and ready for commands until `until`.
    fn is_ready(&mut self, assembly: u32, until: Time) {
        let told = &mut self.told[assembly as usize];
        if *told < until {
            let from = std::mem::replace(told, until);
            (self.sink)(&at_rest(assembly, (from, until), None));
        }
    }
}

/// A phase without work.
fn at_rest(assembly: u32, (from, to): (Time, Time), condition: Option<ConditionPhase>) -> Phase {
    let kind = condition.map_or(PhaseKind::Idle, |c| match (c.condition, c.passage) {
        (Condition::Active | Condition::IdleA, _) => PhaseKind::Idle,
        (Condition::IdleB | Condition::IdleC, _) => PhaseKind::Parked,
        (Condition::Standby, Passage::Leaving) => PhaseKind::SpinUp,
        (Condition::Standby, _) => PhaseKind::Standby,
    });
    Phase { kind, work: None, assembly, from, to, distance: 0, track: None, condition }
}

impl Drive {
    /// From `now` on the drive keeps its phases until [`Drive::tell_phases`] is called. The drive must have
    /// been advanced to `now`. What was decided earlier is not told.
    pub fn listen(&mut self, now: Time) {
        if self.listener.is_some() {
            return;
        }
        let active_until = self.units.iter_mut().map(|u| u.listen(now));
        let told = active_until.flatten().collect();
        self.rest_at(now);
        if let Some(control) = &mut self.control {
            control.low_power.listen();
        }
        self.listener = Some(Listener { told });
    }

    /// Tells the phases since the last call: assembly by assembly, in order of time. The phases of an
    /// assembly follow each other without gap or overlap, at least up to `until`, to which the drive must
    /// have been advanced. A phase may end after `until`, because a service is computed when it begins; no
    /// phase is revoked. Read-ahead in progress is told when it ends. A period without work may be told in
    /// several pieces. Power conditions belong to the whole drive, so each assembly gets them.
    pub fn tell_phases(&mut self, until: Time, sink: &mut dyn FnMut(&Phase)) {
        let Some(mut listener) = self.listener.take() else { return };
        // Brings background work and power conditions up to date.
        self.active_until(until);
        self.rest_at(until);
        let mut conditions = Vec::new();
        if let Some(control) = &mut self.control {
            control.low_power.tell(&mut |c| conditions.push(*c));
        }
        let decided = conditions.last().map_or(Time::ZERO, |c| c.to);
        let mut telling =
            Telling { conditions: &conditions, next: vec![0; listener.told.len()], told: &mut listener.told, sink };
        for unit in &mut self.units {
            unit.tell(&mut |phase| telling.works(phase));
        }
        let begun = self.units.iter().flat_map(|u| u.begun());
        for (assembly, begun) in (0..).zip(begun) {
            telling.rests(assembly, decided.max(until).min(begun));
        }
        self.listener = Some(listener);
    }

    /// Has a new drive watched, and [listened](Drive::listen) to, from time zero on. When the drive is dropped, it goes on
    /// without commands as long as the watcher wants to look.
    pub fn watch(&mut self, watch: Box<dyn Watch>) {
        self.listen(Time::ZERO);
        self.set_watched(Some(Watched { watch, due: Time::ZERO }));
    }

    /// Has the drive watched so from now on. Returns how it was watched before.
    fn set_watched(&mut self, watched: Option<Watched>) -> Option<Watched> {
        let before = std::mem::replace(&mut self.watched, watched);
        self.way = self.find_way();
        before
    }

    /// Has the drive looked at at all times before `until` at which that is due. Nobody watches meanwhile. What completes
    /// is kept for the host.
    #[inline]
    pub(super) fn look(&mut self, until: Time) {
        if self.watched.as_ref().is_some_and(|w| w.due < until) {
            self.look_now(until);
        }
    }

    #[cold]
    fn look_now(&mut self, until: Time) {
        let mut watched = self.set_watched(None);
        while let Some(Watched { watch, due }) = watched.as_mut().filter(|w| w.due < until) {
            let mut done = std::mem::take(&mut self.done);
            self.advance(*due, &mut |c| {
                watch.completed(c);
                done.push(*c);
            });
            self.done = done;
            match watch.look(*due, self) {
                Some(next) => *due = next,
                None => watched = None,
            }
        }
        self.set_watched(watched);
    }

    /// [`Drive::submit`] of a drive that is watched.
    #[cold]
    pub(super) fn submit_watched(&mut self, now: Time, request: DriveRequest) {
        self.look(now);
        if let Some(mut watched) = self.set_watched(None) {
            watched.watch.submitted(now, &request, self);
            self.set_watched(Some(watched));
        }
        let n_told = self.done.len();
        self.submit_controlled(now, request);
        self.tell_done(n_told);
    }

    /// Tells of the completions that the host does not know yet, after the first `n_told`.
    pub(super) fn tell_done(&mut self, n_told: usize) {
        if let Some(Watched { watch, .. }) = &mut self.watched {
            self.done[n_told..].iter().for_each(|c| watch.completed(c));
        }
    }

    /// [`Drive::advance`] of a drive that is watched.
    #[cold]
    pub(super) fn advance_watched(&mut self, until: Time, sink: &mut dyn FnMut(&Completion)) {
        self.look(until);
        std::mem::take(&mut self.done).iter().for_each(&mut *sink);
        let mut watched = self.set_watched(None);
        self.advance(until, &mut |c| {
            watched.iter_mut().for_each(|w| w.watch.completed(c));
            sink(c);
        });
        self.set_watched(watched);
    }

    /// The count of energy begins anew at `now`.
    pub(super) fn note_restart(&mut self, now: Time) {
        self.look(now);
        if let Some(mut watched) = self.set_watched(None) {
            watched.watch.restarted(now, self);
            self.set_watched(Some(watched));
        }
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.look(Time::NEVER);
        }
    }
}
