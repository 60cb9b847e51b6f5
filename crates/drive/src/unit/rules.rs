//! How a unit takes and chooses commands.

use crate::parallelism::{ArmChoice, HeadSet};
use crate::queue::Needs;
use crate::spec::{DriveSpec, HitCheck};

/// How a unit takes and chooses commands. Times are in nanoseconds.
pub(super) struct Rules {
    /// Whether it always takes the oldest command.
    pub fcfs: bool,
    /// Whether commands are served in order of arrival by a single arm, so that there is nothing to choose.
    pub in_order: bool,
    /// Whether one assembly works at a time, without faults, and every arm reaches all places.
    pub plain: bool,
    /// Most commands in service at once.
    pub limit: usize,
    pub arm_choice: ArmChoice,
    /// A command that has waited longer goes first.
    pub age_limit: u64,
    /// Processing of every command.
    pub per_request: u64,
    /// Whether the buffer serves reads when they arrive.
    pub check_arrivals: bool,
    /// How long the drive tries to recover from a fault that a command meets.
    pub recovery: u64,
}

impl Rules {
    /// The rules of a description, without a scheduler.
    pub fn new(spec: &DriveSpec, limit: usize, plain: bool) -> Rules {
        Rules {
            fcfs: false,
            in_order: false,
            plain,
            limit,
            arm_choice: spec.parallelism.arm_choice,
            age_limit: match spec.queue.age_limit.non_negative() {
                0 => u64::MAX,
                t => t,
            },
            per_request: spec.overhead.per_request.non_negative(),
            check_arrivals: spec.cache.enabled && spec.cache.hit_check == HitCheck::Arrival,
            recovery: spec.parallelism.fault_recovery.non_negative(),
        }
    }

    /// From now on a scheduler with these needs chooses.
    pub fn follow(&mut self, needs: Needs, head_sets: &[HeadSet]) {
        self.fcfs = needs.only_oldest;
        self.in_order = needs.only_oldest && head_sets.len() == 1;
    }
}
