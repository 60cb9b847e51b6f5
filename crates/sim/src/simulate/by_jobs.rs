//! Requests of jobs: each comes from the thread that is due.

use super::feed::BATCH;
use super::Run;
use headstack_block::member::Member;
use headstack_trace::Request;
use headstack_units::Time;

impl<M: Member> Run<'_, '_, M> {
    /// The thread that is due issues its request, if it has one; false as [`Run::arrive`].
    pub(super) fn arrive_of_jobs(&mut self, now: Time) -> bool {
        let Some(request) = self.tracker.issuer.take_of_jobs() else {
            return true;
        };
        if self.taken % BATCH as u64 == 0 {
            self.report();
            self.tracker.observers.settle();
            if self.options.progress.is_cancelled() {
                self.tracker.observers.outcome.partial = true;
                return false;
            }
        }
        self.arrive_of_thread(now, &request)
    }

    /// The request of a thread reaches the array; false as [`Run::arrive`].
    pub(super) fn arrive_of_thread(&mut self, now: Time, request: &Request) -> bool {
        self.tracker.observers.outcome.seen.alignment.add(request);
        self.arrive(now, request)
    }
}
