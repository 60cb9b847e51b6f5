//! Heads and assemblies that fail while the drive runs.
//!
//! # Model
//! A fault with a warning leads to deconfiguration before a command meets it. A fault without warning stays
//! unknown until a command meets it. That command loses `fault_recovery`; then everything that has failed on
//! its assembly is deconfigured.

use super::{is_held, ServiceUnit, Step};
use crate::command::{Command, Completion, Fault};
use crate::parallelism::HeadSet;
use crate::spec::DriveSpec;
use crate::unit_plan::UnitPlan;
use headstack_engine::random;
use headstack_units::Time;
use rand::RngCore;

/// A future fault, from the description.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlannedFault {
    pub at: Time,
    pub assembly: u32,
    /// Surfaces that it makes unreachable, as bits.
    pub surfaces: u64,
    pub warning: bool,
    pub report: Fault,
}

/// Faults that have occurred, future faults, and which of them the drive knows.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// Future faults, the next one last.
    planned: Vec<PlannedFault>,
    /// For each head set, the surfaces whose heads have failed without the drive's knowledge, as bits.
    pub unknown: Vec<u64>,
    unknown_reports: Vec<PlannedFault>,
    /// Whether a head set no longer reaches all its surfaces.
    pub degraded: bool,
    /// Everything deconfigured so far.
    pub known: Vec<Fault>,
}

impl Faults {
    /// No fault so far; `head_sets` is the number of head sets of the unit.
    pub fn new(planned: Vec<PlannedFault>, head_sets: usize) -> Faults {
        Faults { planned, unknown: vec![0; head_sets], ..Faults::default() }
    }

    /// Whether no fault has occurred, known or unknown.
    pub fn all_well(&self) -> bool {
        !self.degraded && self.unknown.iter().all(|l| *l == 0)
    }

    /// Removes and returns the next fault that occurs by `now`.
    pub fn next(&mut self, now: Time) -> Option<PlannedFault> {
        match self.planned.last() {
            Some(f) if f.at <= now => self.planned.pop(),
            _ => None,
        }
    }

    /// Records a fault. True if the drive was warned, so that it deconfigures the part at once.
    pub fn happen(&mut self, fault: PlannedFault, head_sets: &[HeadSet]) -> bool {
        for (unknown, head_set) in self.unknown.iter_mut().zip(head_sets) {
            if head_set.assembly == fault.assembly {
                *unknown |= fault.surfaces & head_set.surfaces;
            }
        }
        self.unknown_reports.push(fault);
        fault.warning
    }

    /// Whether an access of a head set to one of these surfaces meets an unknown fault.
    pub fn meets(&self, head_set: usize, surfaces: u64) -> bool {
        self.unknown[head_set] & surfaces != 0
    }

    /// Deconfigures everything that has failed on an assembly.
    pub fn deconfigure(&mut self, assembly: u32, at: Time, head_sets: &mut [HeadSet]) {
        for (unknown, head_set) in self.unknown.iter_mut().zip(head_sets) {
            if head_set.assembly == assembly {
                head_set.surfaces &= !*unknown;
                *unknown = 0;
            }
        }
        self.degraded = true;
        let reports = std::mem::take(&mut self.unknown_reports);
        let (found, later): (Vec<_>, Vec<_>) = reports.into_iter().partition(|f| f.assembly == assembly);
        self.unknown_reports = later;
        self.known.extend(found.into_iter().map(|f| Fault { deconfigured: at, ..f.report }));
    }
}

/// The faults of a unit, the first one last. Random ones are drawn from `seed`.
pub(crate) fn planned(spec: &DriveSpec, plan: &UnitPlan, seed: u64) -> Vec<PlannedFault> {
    let gang = spec.dash.surfaces;
    let mut list = Vec::new();
    for (i, f) in spec.parallelism.faults.iter().enumerate() {
        let arms = plan.first_arm..plan.first_arm + plan.arms.len() as u32;
        if f.stack != plan.stack || !arms.contains(&f.arm) {
            continue;
        }
        let own = plan.geometry.surfaces * gang;
        let surfaces = match f.surface {
            None => u64::MAX,
            // A head on a surface of another unit makes nothing unreachable here.
            Some(s) if s < plan.first_surface || s >= plan.first_surface + own => continue,
            Some(s) => 1 << ((s - plan.first_surface) / gang),
        };
        let at = match (f.at, f.mean_time_to_failure) {
            (Some(t), _) => Time::ZERO + t,
            (None, Some(mean)) => {
                let bits = random::stream(seed, &format!("fault-{i}")).next_u64();
                let uniform = ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
                Time((-uniform.ln() * mean.0 as f64) as u64)
            }
            (None, None) => continue,
        };
        list.push(PlannedFault {
            at,
            assembly: f.arm - plan.first_arm,
            surfaces,
            warning: f.warning,
            report: Fault {
                failed: at,
                deconfigured: at,
                stack: f.stack,
                arm: f.arm,
                surface: f.surface,
                warning: f.warning,
            },
        });
    }
    list.sort_by_key(|f| std::cmp::Reverse(f.at));
    list
}

impl ServiceUnit {
    /// Whether no head reaches the places of a waiting command, and the buffer does not have its data.
    pub(super) fn is_out_of_reach(&self, index: usize, start: Time) -> bool {
        let item = &self.queue.items[index];
        if item.request.command == Command::Flush {
            return false;
        }
        let needed = self.surfaces_of(item);
        let mut head_sets = self.server.serving_head_sets().iter();
        !is_held(&self.server, item, start)
            && !head_sets.any(|p| p.reaches(needed, item.place.cylinder, item.request.command.writes()))
    }

    /// Completes a waiting command with an error.
    pub(super) fn give_up(&mut self, index: usize, start: Time) -> Step {
        self.server.happens(start);
        let waiting = &self.queue.items[index];
        self.server.done = Completion::ended(&waiting.request, waiting.arrival.at, start);
        if let Some(limited) = &mut self.limited {
            limited.limits.leaves(index);
        }
        self.queue.remove(index);
        Step::Done
    }
}
