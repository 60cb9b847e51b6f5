//! The time to the deadline of reads, changed while a host queue works.

use super::HostQueue;
use headstack_engine::SpecError;
use headstack_units::Span;

impl HostQueue {
    /// Sets the time to the deadline of reads that enter the elevators from now on.
    pub(super) fn set_read_expire(&mut self, expire: Span) -> Result<(), SpecError> {
        let key = "setting.read_expire";
        if expire < Span::ZERO {
            return Err(SpecError::new(key, expire, "a time that is not negative"));
        }
        for queue in &mut self.queues {
            if queue.elevator.read_expire().is_none() {
                let need = "an elevator with deadlines (deadline, mq-deadline, ranges): not supported by others";
                return Err(SpecError::new(key, expire, need));
            }
            queue.elevator.set_read_expire(expire);
        }
        Ok(())
    }
}
