//! Changes of the arms' roles while a unit runs.
//!
//! # Model
//! Before a service the unit asks the role policy which mode it wants. If this is another mode, each assembly whose
//! roles change finishes its work: a command in service, a pass that writes buffered data, or read-ahead up to where it
//! may stop. Then it serves nothing for the policy's switch time. During this time it counts as a command in service.
//! Commands that were taken before keep their arm.
//!
//! When a part fails, some modes may leave a surface without an arm that reads it or an arm that writes it, although a
//! head for it works. These modes are excluded. If the mode in force is excluded, the first mode that is not is entered
//! at once.

use super::ServiceUnit;
use crate::models::Models;
use crate::roles::{self, Mode, ModeUse, RolePolicy, RoleUse};
use crate::spec::DriveSpec;
use headstack_engine::SpecError;
use headstack_units::{Span, Time};

/// The policy of a unit whose roles can change, its state, and what it has done.
#[derive(Debug)]
pub(super) struct Roles {
    policy: Box<dyn RolePolicy>,
    modes: Vec<Mode>,
    current: usize,
    /// When the present mode was entered.
    since: Time,
    /// Time in each mode before `since`.
    time: Vec<Span>,
    switches: u64,
    forced: u64,
    /// Time in which arms served nothing because of a change.
    switching: Span,
    switch_time: Span,
    /// Whether a command was noted since the policy was asked.
    fresh: bool,
    /// The modes that failed parts exclude, as bits.
    excluded: u64,
    /// Number of the unit's first assembly in its stack.
    first_arm: u32,
}

impl Roles {
    /// The roles of a drive at the start, and their policy if they can change.
    ///
    /// # Errors
    /// As for [`roles::build`].
    pub fn new(
        spec: &DriveSpec,
        models: &Models,
        first_arm: u32,
    ) -> Result<(roles::RoleTable, Option<Box<Roles>>), SpecError> {
        let Some((policy, modes)) = roles::build(spec, &models.roles)? else { return Ok((Vec::new(), None)) };
        let first = modes[0].roles.clone();
        if modes.len() == 1 {
            return Ok((first, None));
        }
        let roles = Roles {
            current: 0,
            since: Time::ZERO,
            time: vec![Span::ZERO; modes.len()],
            switches: 0,
            forced: 0,
            switching: Span::ZERO,
            switch_time: policy.switch_time(),
            fresh: false,
            excluded: 0,
            first_arm,
            policy,
            modes,
        };
        roles.check_faults(spec)?;
        Ok((first, Some(Box::new(roles))))
    }

    /// Refuses planned faults unless in some mode all arms read and write, so that other arms can replace a failed one.
    pub fn check_faults(&self, spec: &DriveSpec) -> Result<(), SpecError> {
        let whole = |m: &Mode| m.roles.iter().all(|r| r.len() > 1);
        if spec.parallelism.faults.is_empty() || self.modes.iter().any(whole) {
            return Ok(());
        }
        let need = "a mode in which all arms read and write: faults without one are not supported";
        Err(SpecError::new("parallelism.roles", "modes with arms that only read or only write", need))
    }

    /// A command was taken that an arm has to serve.
    #[inline]
    pub fn note(&mut self, now: Time, write: bool) {
        self.policy.note(now, write);
        self.fresh = true;
    }

    /// The mode to enter at `now`; `None` if the present one stays.
    fn decide(&mut self, now: Time) -> Option<usize> {
        if !std::mem::take(&mut self.fresh) {
            return None;
        }
        let wanted = self.policy.wanted(now, self.current);
        let known = wanted < self.modes.len() && self.excluded >> wanted & 1 == 0;
        (known && wanted != self.current).then_some(wanted)
    }

    /// Counts a change at `now`.
    fn enter(&mut self, now: Time, mode: usize) {
        self.time[self.current] += now.since(self.since);
        self.since = now;
        self.current = mode;
        self.switches += 1;
    }

    /// Adds what was done up to `until` to `sum`, as one of `units` units.
    fn add_use(&self, until: Time, units: usize, sum: &mut RoleUse) {
        sum.n_switches += self.switches;
        sum.n_forced += self.forced;
        sum.switching_s += self.switching.as_secs_f64();
        for (i, mode) in self.modes.iter().enumerate() {
            let present = if i == self.current { until.since(self.since) } else { Span::ZERO };
            let time_s = (self.time[i] + present).as_secs_f64() / units as f64;
            match sum.modes.iter_mut().find(|m| m.name == mode.name) {
                Some(known) => known.time_s += time_s,
                None => sum.modes.push(ModeUse { name: mode.name, time_s }),
            }
        }
    }
}

impl ServiceUnit {
    /// Adds what was done with the roles up to `until`, as one of `units` units, if roles can change.
    pub fn add_role_use(&self, until: Time, units: usize, sum: &mut Option<RoleUse>) {
        if let Some(roles) = &self.roles {
            roles.add_use(until, units, sum.get_or_insert_default());
        }
    }

    /// Changes the roles at `start`, up to which the unit was advanced, if the policy wants it. True if they changed.
    #[inline(never)]
    pub(super) fn change_roles(&mut self, start: Time) -> bool {
        let Some(mode) = self.roles.as_mut().and_then(|r| r.decide(start)) else { return false };
        self.server.happens(start);
        self.enter_mode(start, mode);
        true
    }

    #[inline(never)]
    fn enter_mode(&mut self, at: Time, mode: usize) {
        let Some(mut roles) = self.roles.take() else { return };
        roles.enter(at, mode);
        // At rest they change without work: a rest goes on.
        let rests = self.rests_at(at);
        let first = roles.first_arm;
        for a in 0..self.server.arms.assemblies.len() {
            let new = roles::of(&roles.modes[mode].roles, first + a as u32);
            let sets = a * self.server.arms.sets..(a + 1) * self.server.arms.sets;
            let changed = self.server.arms.head_sets[sets.clone()].iter().any(|p| [p.reads, p.writes] != new);
            if !changed {
                continue;
            }
            for head_set in &mut self.server.arms.head_sets[sets] {
                [head_set.reads, head_set.writes] = new;
            }
            let stopped = self.server.end_work_of(a, at);
            if rests {
                continue;
            }
            let assembly = &mut self.server.arms.assemblies[a];
            let timeline = &mut assembly.mechanism.timeline;
            let free = stopped.max(assembly.serves_until).max(timeline.free);
            assembly.serves_until = at.max(free).after(roles.switch_time);
            timeline.hold_until(assembly.serves_until);
            roles.switching += roles.switch_time;
        }
        if !rests {
            self.free = self.free.max(self.next_free()).max(at);
        }
        self.roles = Some(roles);
    }

    /// Whether the unit, whose background was brought up to `at`, has nothing to do then. Commands that it knows may have
    /// arrived later.
    fn rests_at(&self, at: Time) -> bool {
        let under_way = self.server.arms.assemblies.iter().any(|a| a.jobs.any_under_way());
        let later = self.queue.is_empty() || self.queue.items[self.queue.oldest()].arrival.at > at;
        let admitted = self.write_admission.as_ref().is_some_and(|w| w.has_arrived(at));
        later && !under_way && !admitted && !self.server.destage_pending() && self.busy_end() <= at
    }

    /// Excludes modes that leave places without an arm, after a part was taken out of use at `at`.
    pub(super) fn roles_after_fault(&mut self, at: Time) {
        let Some(roles) = &mut self.roles else { return };
        let (head_sets, sets) = (&self.server.arms.head_sets, self.server.arms.sets);
        let first = roles.first_arm;
        // Head sets of the same number reach the same cylinders, whatever the assembly.
        let reached = |set: usize, op: Option<(&Mode, usize)>| {
            let of_set = head_sets.iter().skip(set).step_by(sets);
            let serving = of_set.filter(|p| op.is_none_or(|(mode, op)| roles::of(&mode.roles, first + p.assembly)[op]));
            serving.fold(0, |all, p| all | p.surfaces)
        };
        for (i, mode) in roles.modes.iter().enumerate() {
            let whole = (0..sets).all(|s| (0..2).all(|op| reached(s, Some((mode, op))) == reached(s, None)));
            if !whole {
                roles.excluded |= 1 << i;
            }
        }
        if roles.excluded >> roles.current & 1 == 0 {
            return;
        }
        let first = (0..roles.modes.len()).find(|i| roles.excluded >> i & 1 == 0);
        if let Some(mode) = first {
            roles.forced += 1;
            self.enter_mode(at, mode);
        }
    }
}
