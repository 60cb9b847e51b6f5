//! Changes of a unit while it runs.

use super::{faults, ServiceUnit, Way};
use crate::background::media_scan::Scanning;
use crate::command::DriveRequest;
use crate::mechanics::Mechanics;
use crate::queue::Queue;
use crate::scheduler::{self, Scheduler};
use crate::service::assemblies;
use crate::spec::{DriveSpec, QueueSpec};
use crate::unit_plan::UnitPlan;
use headstack_engine::SpecError;
use headstack_schema::Plugins;
use headstack_units::{Rpm, Time};

impl ServiceUnit {
    /// Since when the unit has been idle; `None` if it is not idle at `now`.
    pub fn idle_since(&mut self, now: Time) -> Option<Time> {
        if !self.queue.is_empty() || self.limited.as_ref().is_some_and(|l| !l.held.is_empty()) {
            return None;
        }
        self.bring_to(now);
        let under_way = self.server.arms.assemblies.iter().any(|a| a.jobs.any_under_way());
        if under_way || self.destage_pending() || self.log_work_pending() {
            return None;
        }
        Some(self.busy_end())
    }

    /// When all decided work has ended.
    pub fn busy_end(&self) -> Time {
        let assemblies = self.server.arms.assemblies.iter();
        let ends = assemblies.map(|a| a.serves_until.max(a.mechanism.timeline.free));
        ends.fold(self.free, Time::max)
    }

    /// Whether a scan with an arm of its own reads all the time.
    pub fn always_scans(&self) -> bool {
        self.server.arms.scanning == Scanning::OwnArm
    }

    /// Whether the medium is scanned.
    pub fn scans(&self) -> bool {
        self.server.arms.scanning != Scanning::No
    }

    /// The drive recovers until `ready`: no service starts, the buffer serves no reads, and no data are
    /// written to the medium.
    pub fn recovers_until(&mut self, ready: Time) {
        self.not_before(ready);
        self.closed_until = self.closed_until.max(ready);
        if let Some(write_admission) = &mut self.write_admission {
            write_admission.not_before(ready);
        }
        for assembly in &mut self.server.arms.assemblies {
            assembly.mechanism.timeline.hold_until(ready);
        }
    }

    /// Completion times of the commands in service at `now`.
    pub fn service_ends(&self, now: Time) -> Vec<Time> {
        let ends = match self.rules.way {
            Way::General => self.services().collect(),
            _ => vec![self.free],
        };
        ends.into_iter().filter(|end| *end > now).collect()
    }

    /// Changes the scheduler to one of `schedulers` at `now`. Waiting commands keep their age.
    ///
    /// # Errors
    /// An unknown scheduler, or parameters that it does not have.
    pub fn set_scheduler(
        &mut self,
        now: Time,
        spec: &QueueSpec,
        schedulers: &Plugins<dyn Scheduler>,
    ) -> Result<(), SpecError> {
        self.scheduler = scheduler::build(spec, schedulers)?;
        // The new one may take at once what the old one held back, but not before the change.
        self.bring_to(now);
        let needs = self.scheduler.needs();
        self.rules.follow(needs, &self.server.arms.head_sets);
        let mut queue = Queue::new(needs);
        let order: Vec<usize> = self.queue.by_age().collect();
        for &i in &order {
            let w = &self.queue.items[i];
            queue.push(w.request, w.arrival, (w.sector, w.count), |place| {
                *place = w.place;
            });
        }
        self.queue = queue;
        if let Some(limited) = &mut self.limited {
            limited.limits.renumber(&order);
        }
        self.locate_waiting();
        Ok(())
    }

    /// Most commands that can be in service at once.
    pub fn most_arms_in_motion(&self) -> u32 {
        self.server.arms.at_once as u32
    }

    /// Checks that `limit` commands can be in service at once.
    pub fn check_arms_in_motion(&self, limit: u32) -> Result<(), SpecError> {
        let most = self.server.arms.at_once;
        if (1..=most).contains(&(limit as usize)) {
            return Ok(());
        }
        let need = format!("1 to {most}, which the drive was built for");
        Err(SpecError::new("setting.arms_in_motion", limit, need))
    }

    /// From `now` on no service starts while `limit` commands are in service.
    pub fn set_arms_in_motion(&mut self, now: Time, limit: u32) {
        if limit as usize != self.rules.limit {
            self.rules.limit = limit as usize;
            self.free = self.next_free().max(now).max(self.closed_until);
        }
    }

    /// Checks that the unit can work with the faults of a description.
    pub fn check_faults(&self, spec: &DriveSpec, plan: &UnitPlan) -> Result<(), SpecError> {
        if let Some(roles) = &self.roles {
            roles.check_faults(spec)?;
        }
        if self.server.mapping.moves_writes() {
            self.check_surfaces(spec, plan)?;
        }
        assemblies::check_combination(spec, plan, self.server.arms.head_sets.len())
    }

    /// A mapping that chooses the places of writes uses all surfaces. So another head has to reach those of the part
    /// that fails.
    fn check_surfaces(&self, spec: &DriveSpec, plan: &UnitPlan) -> Result<(), SpecError> {
        let failing = faults::planned(spec, plan, 0);
        let left = |write: bool| {
            let head_sets = self.server.arms.head_sets.iter().enumerate();
            let serving = head_sets.filter(|(_, p)| p.serves(write));
            let surfaces = serving.map(|(i, p)| {
                let own = failing.iter().filter(|f| f.assembly == p.assembly);
                own.fold(p.surfaces & !self.faults.unknown[i], |all, f| all & !f.surfaces)
            });
            surfaces.fold(0, |all, own| all | own)
        };
        let all = u64::MAX >> (64 - plan.geometry.surfaces.clamp(1, 64));
        if failing.is_empty() || (left(false) == all && left(true) == all) {
            return Ok(());
        }
        Err(SpecError::new(
            "fault",
            "the last head of a surface",
            "a part whose surfaces another arm reaches: otherwise this is not supported with a mapping that moves writes",
        ))
    }

    /// Makes a part of the drive fail at `now`, if it belongs to this unit.
    pub fn fail(&mut self, now: Time, spec: &DriveSpec, plan: &UnitPlan) {
        self.server.happens(now);
        for fault in faults::planned(spec, plan, 0) {
            if self.rules.way < Way::General {
                self.rules.ask_at_least(Way::General);
                self.serve_all_until(self.free);
            }
            if self.faults.happen(fault, &self.server.arms.head_sets) {
                self.deconfigure(fault.assembly, now);
            }
        }
    }

    /// Number of waiting commands called `id` of which no data are in the buffer.
    pub fn count_waiting(&self, id: u64) -> usize {
        let write_admission = self.write_admission.as_ref().map_or(0, |e| e.count_waiting(id));
        let held = self.limited.as_ref().map_or(0, |l| l.count_held(id));
        let queue = self.queue.by_age();
        write_admission + held + queue.filter(|i| self.queue.items[*i].request.id == id).count()
    }

    /// Removes the oldest waiting command called `id` at `now`. Returns it with its arrival time.
    pub fn take_waiting(&mut self, now: Time, id: u64) -> Option<(DriveRequest, Time)> {
        self.meet_faults(now);
        self.server.happens(now);
        if let Some(found) = self.write_admission.as_mut().and_then(|e| e.take_waiting(id)) {
            return Some(found);
        }
        if let Some(found) = self.limited.as_mut().and_then(|l| l.take_held(id)) {
            return Some(found);
        }
        let items = &self.queue.items;
        let index = self.queue.by_age().find(|i| items[*i].request.id == id)?;
        let found = (items[index].request, items[index].arrival.at);
        if let Some(limited) = &mut self.limited {
            limited.limits.leaves(index);
        }
        self.queue.remove(index);
        self.note_waiting();
        self.look_ahead();
        Some(found)
    }

    /// Changes the spindle's speed linearly to `speed` during `change`. The unit must be idle. `mechanics`
    /// are those of the new speed.
    pub fn change_speed(&mut self, mechanics: &Mechanics, speed: Rpm, change: (Time, Time)) {
        let old = &self.server.mechanics.rotation;
        let mean = Rpm((60e9 / old.period_ns + speed.0) / 2.0);
        let on_the_way = old.changed_to(mean, change.0);
        let rotation = on_the_way.changed_to(speed, change.1);
        self.server.mechanics = mechanics.with_rotation(rotation);
    }
}
