//! What changes while a host queue works.
//!
//! # Model
//! *Depth, time to the deadline of reads*: at once; requests that wait keep their deadlines.
//!
//! *Number of places*: in legacy queues at once; in blk-mq nothing is admitted until all requests have completed.
//!
//! *Elevator* (blk-mq only): nothing is admitted until all requests have completed. Then the new elevator has nothing
//! learned, and the number of places is the usual one under it.
//! # Source
//! Linux 6.x: `elevator_switch` and `blk_mq_update_nr_requests` freeze the queue, `blk_mq_init_sched` sets `nr_requests`.

use super::parameters::{usual_tags, wake_batch, FEWEST, MOST};
use super::HostQueue;
use crate::layer::{not_supported, Flow, Setting};
use headstack_drive::spec::Params;
use headstack_schema::{OneOf, SpecError};
use headstack_units::Span;

/// A setting of a host queue.
#[derive(Debug, Clone, PartialEq, OneOf)]
#[allow(missing_docs)]
pub enum HostQueueSetting {
    /// Host queue: places; in `legacy` queues at once, in `blk-mq` when all requests have completed.
    // Fewer than 4 count as 4, as in Linux.
    #[param(key = "nr_requests")]
    Requests(u32),
    /// Host queue: most requests below it at once.
    Depth(u32),
    /// Host queue: time to the deadline of reads that arrive from now on.
    ReadExpire(Span),
    /// Host queue with `blk-mq` places: another elevator, once all requests have completed; the number of places is
    /// then the usual one.
    #[param(model)]
    Elevator {
        name: String,
        /// Parameters of the elevator.
        parameters: Params,
    },
}

fn bounded(key: &str, got: u32, least: u32, most: u32) -> Result<(), SpecError> {
    match (least..=most).contains(&got) {
        true => Ok(()),
        false => Err(SpecError::new(key, got, format!("{least} to {most}"))),
    }
}

impl HostQueue {
    pub(super) fn change(&mut self, setting: &Setting, flow: &mut Flow) -> Result<(), SpecError> {
        let Setting::HostQueue(setting) = setting else {
            return Err(not_supported("a host queue", setting, &HostQueueSetting::names()));
        };
        match setting {
            HostQueueSetting::Requests(n) => self.resize(*n, flow),
            HostQueueSetting::Depth(depth) => {
                bounded("setting.depth", *depth, 1, MOST)?;
                for q in 0..self.queues.len() {
                    self.queues[q].depth = *depth;
                    self.dispatch_ready(q, flow);
                }
                Ok(())
            }
            HostQueueSetting::ReadExpire(expire) => self.set_read_expire(*expire),
            HostQueueSetting::Elevator { name, parameters } => self.set_elevator(name, parameters, flow),
        }
    }

    fn resize(&mut self, n: u32, flow: &mut Flow) -> Result<(), SpecError> {
        if n > MOST {
            let need = format!("at most {MOST}");
            return Err(SpecError::new("setting.nr_requests", n, need));
        }
        // Linux treats fewer than four as four.
        let n = n.max(FEWEST);
        for q in 0..self.queues.len() {
            let queue = &mut self.queues[q];
            queue.places.resize(flow.now, n, &mut queue.woken);
            queue.succeed();
            self.dispatch_ready(q, flow);
        }
        Ok(())
    }

    /// Sets the time to the deadline of reads that enter the elevators from now on.
    fn set_read_expire(&mut self, expire: Span) -> Result<(), SpecError> {
        let key = "setting.read_expire";
        if expire < Span::ZERO {
            return Err(SpecError::new(key, expire, "a time that is not negative"));
        }
        for queue in &mut self.queues {
            let elevator = queue.successor.as_mut().unwrap_or(&mut queue.elevator);
            if elevator.read_expire().is_none() {
                let need = "an elevator with deadlines (deadline, mq-deadline, ranges): not supported by others";
                return Err(SpecError::new(key, expire, need));
            }
            elevator.set_read_expire(expire);
        }
        Ok(())
    }

    /// Another elevator, or the same with other parameters. As in Linux, naming the present one changes nothing.
    fn set_elevator(&mut self, name: &str, params: &Params, flow: &mut Flow) -> Result<(), SpecError> {
        self.elevators.find("setting.elevator", name)?;
        if name == self.elevator && params.is_empty() {
            return Ok(());
        }
        if self.queues.iter().any(|q| q.places.has_two_pools()) {
            let need = "places = \"blk-mq\": not supported with legacy ones";
            return Err(SpecError::new("setting.elevator", name, need));
        }
        let build = |blocks: &u64| self.elevators.build_named("setting.elevator", name, params, *blocks);
        let made: Vec<_> = self.members.iter().map(build).collect::<Result<_, SpecError>>()?;
        self.elevator = name.into();
        let n = usual_tags(name, self.tags);
        for (q, elevator) in made.into_iter().enumerate() {
            let queue = &mut self.queues[q];
            queue.successor = Some(elevator);
            (queue.places).replace(n, wake_batch(name), &mut queue.woken);
            queue.succeed();
            self.dispatch_ready(q, flow);
        }
        Ok(())
    }
}

impl super::Queue {
    /// A new elevator takes over once all requests have completed.
    pub(super) fn succeed(&mut self) {
        if !self.places.is_frozen() {
            if let Some(next) = self.successor.take() {
                self.elevator = next;
            }
        }
    }
}
