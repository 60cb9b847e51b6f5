//! How a unit takes and chooses commands.

use crate::parallelism::{ArmChoice, HeadSet};
use crate::queue::Needs;
use crate::service::{CommandServer, GENERAL};
use crate::spec::{DriveSpec, HitCheck};
use headstack_units::Span;

/// How a unit serves commands. Each way asks for every command what the ways before it need not ask.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    /// One arm takes the oldest command, so that it can be served when it arrives (`simple.rs`).
    InSequence,
    /// No command has a limit or a priority, writes do not wait in the buffer, and no step of cleaning holds back a
    /// service (`simple.rs`).
    Simple,
    /// One assembly works at a time, all parts reach all places and none fails.
    OneAtATime,
    General,
}

/// How a unit takes and chooses commands.
pub(super) struct Rules {
    pub way: Way,
    /// The first way that its parts allow, whatever the scheduler and the limits.
    least: Way,
    limited: bool,
    /// Whether it always takes the oldest command.
    pub fcfs: bool,
    /// Whether commands are served in order of arrival by a single arm, so that there is nothing to choose.
    pub in_order: bool,
    /// Most commands in service at once.
    pub limit: usize,
    pub arm_choice: ArmChoice,
    /// A command that has waited longer goes first.
    pub age_limit: Span,
    /// Processing of every command.
    pub per_request: Span,
    /// Whether the buffer serves reads when they arrive.
    pub check_arrivals: bool,
    /// How long the drive tries to recover from a fault that a command meets.
    pub recovery: Span,
}

impl Rules {
    /// The rules of a description, without a scheduler and limits. `one_at_a_time`: as [`Way::OneAtATime`] says.
    pub fn new(spec: &DriveSpec, server: &CommandServer, limit: usize, one_at_a_time: bool) -> Rules {
        let check_arrivals = spec.cache.enabled && spec.cache.hit_check == HitCheck::Arrival;
        let least = if !one_at_a_time {
            Way::General
        } else if server.deferred_writes() || server.cleans_bands() {
            Way::OneAtATime
        } else if check_arrivals || server.kind == GENERAL {
            Way::Simple
        } else {
            Way::InSequence
        };
        Rules {
            way: least,
            least,
            limited: false,
            fcfs: false,
            in_order: false,
            limit,
            arm_choice: spec.parallelism.arm_choice,
            age_limit: match spec.queue.age_limit {
                Span::ZERO => Span::FOREVER,
                t => t,
            },
            per_request: spec.overhead.per_request,
            check_arrivals,
            recovery: spec.parallelism.fault_recovery,
        }
    }

    /// From now on a scheduler with these needs chooses.
    pub fn follow(&mut self, needs: Needs, head_sets: &[HeadSet]) {
        self.fcfs = needs.only_oldest;
        self.in_order = needs.only_oldest && head_sets.len() == 1;
        self.find_way();
    }

    /// From now on commands have limits or priorities, or none has.
    pub fn heed_limits(&mut self, limited: bool) {
        self.limited = limited;
        self.find_way();
    }

    /// From now on the unit serves as those that ask so much.
    pub fn ask_at_least(&mut self, way: Way) {
        self.least = self.least.max(way);
        self.find_way();
    }

    fn find_way(&mut self) {
        let by_order = if self.in_order { Way::InSequence } else { Way::Simple };
        let by_limits = if self.limited { Way::OneAtATime } else { Way::InSequence };
        self.way = self.least.max(by_order).max(by_limits);
    }
}
