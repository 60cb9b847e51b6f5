//! Heads and assemblies that fail while the drive runs.
//!
//! # Model
//! An announced fault is deconfigured before it happens. An unannounced one stays unknown until a
//! command meets it: that command loses `fault_recovery`, then all that has failed on its assembly is
//! taken out of use.

use crate::command::Fault;
use crate::parallelism::{Path, UnitPlan};
use crate::spec::DriveSpec;
use headstack_engine::random;
use headstack_units::Time;
use rand::RngCore;

/// A fault of the description that is still to come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlannedFault {
    pub at: u64,
    pub assembly: u32,
    /// Surfaces that it takes away.
    pub surfaces: u64,
    pub warning: bool,
    pub report: Fault,
}

/// What has failed, what will, and what the drive knows of it.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// Faults to come, the next one last.
    planned: Vec<PlannedFault>,
    /// Of each head set: surfaces whose heads have failed without the drive knowing it yet.
    unknown: Vec<u64>,
    unknown_reports: Vec<PlannedFault>,
    /// Whether some head set no longer reaches all its surfaces.
    pub degraded: bool,
    /// What was deconfigured so far.
    pub known: Vec<Fault>,
}

impl Faults {
    /// Nothing has failed yet; `head_sets` of the unit may.
    pub fn new(planned: Vec<PlannedFault>, head_sets: usize) -> Faults {
        Faults {
            planned,
            unknown: vec![0; head_sets],
            ..Faults::default()
        }
    }

    /// Whether every head works, as far as the drive knows and in truth.
    pub fn all_well(&self) -> bool {
        !self.degraded && self.unknown.iter().all(|l| *l == 0)
    }

    /// The next fault that happens by `now`.
    pub fn next(&mut self, now: u64) -> Option<PlannedFault> {
        match self.planned.last() {
            Some(f) if f.at <= now => self.planned.pop(),
            _ => None,
        }
    }

    /// A fault happens; true if the drive was warned, and deconfigures it at once.
    pub fn happen(&mut self, fault: PlannedFault, paths: &[Path]) -> bool {
        for (unknown, path) in self.unknown.iter_mut().zip(paths) {
            if path.assembly == fault.assembly {
                *unknown |= fault.surfaces & path.surfaces;
            }
        }
        self.unknown_reports.push(fault);
        fault.warning
    }

    /// Whether a head set would meet an unknown fault on one of these surfaces.
    pub fn meets(&self, head_set: usize, surfaces: u64) -> bool {
        self.unknown[head_set] & surfaces != 0
    }

    /// Deconfigures all that has failed on an assembly.
    pub fn deconfigure(&mut self, assembly: u32, at: u64, paths: &mut [Path]) {
        for (unknown, path) in self.unknown.iter_mut().zip(paths) {
            if path.assembly == assembly {
                path.surfaces &= !*unknown;
                *unknown = 0;
            }
        }
        self.degraded = true;
        let reports = std::mem::take(&mut self.unknown_reports);
        let (found, later): (Vec<_>, Vec<_>) =
            reports.into_iter().partition(|f| f.assembly == assembly);
        self.unknown_reports = later;
        self.known.extend(found.into_iter().map(|f| Fault {
            deconfigured: Time(at),
            ..f.report
        }));
    }
}

/// The faults of a unit, the first one last.
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
            // A head of the assembly that this unit has no surface for takes nothing away.
            Some(s) if s < plan.first_surface || s >= plan.first_surface + own => continue,
            Some(s) => 1 << ((s - plan.first_surface) / gang),
        };
        let at = match (f.at, f.mean_time_to_failure) {
            (Some(t), _) => t.non_negative(),
            (None, Some(mean)) => {
                let bits = random::stream(seed, &format!("fault-{i}")).next_u64();
                let uniform = ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
                (-uniform.ln() * mean.0 as f64) as u64
            }
            (None, None) => continue,
        };
        list.push(PlannedFault {
            at,
            assembly: f.arm - plan.first_arm,
            surfaces,
            warning: f.warning,
            report: Fault {
                failed: Time(at),
                deconfigured: Time(at),
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
