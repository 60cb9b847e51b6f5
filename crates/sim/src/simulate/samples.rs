//! Samples of energy that the parts of a system take by themselves.
//!
//! # Model
//! Energy is sampled at the boundaries of the time series. The parts of a system need not come together for that: each
//! goes on to a mark at which the whole acts, and on its way notes the energy of its members at each boundary. Then the
//! whole adds up what all have noted, member by member in their order, so that the sums are the same to the last digit.
//!
//! The whole series becomes coarser when a request of any part ends beyond its last bucket. A part does not see that of
//! the others, so it may take samples that are not asked for; these are left out. It notes with each sample how coarse its
//! own series is, from which the whole knows since when.

use super::Run;
use headstack_block::member::Member;
use headstack_engine::ByMode;
use headstack_units::Time;

/// Most samples that a part takes before the parts are brought together.
const MOST: u64 = 256;

/// Samples of one part since the parts were last together.
pub(super) struct Samples {
    /// The time of the next one; [`Time::NEVER`] if the part takes none.
    pub next: Time,
    /// From one to the next, nanoseconds.
    width_ns: u64,
    /// With each: the width of a bucket of the part's own series.
    widths_ns: Vec<u64>,
    /// Energy of each member since the measurement began, sample after sample.
    joules: Vec<ByMode>,
}

impl Samples {
    pub fn none() -> Samples {
        Samples { next: Time::NEVER, width_ns: 0, widths_ns: Vec::new(), joules: Vec::new() }
    }

    /// Begins anew: the next one is to be taken at `next`.
    fn begin(&mut self, next: Time, width_ns: u64) {
        (self.next, self.width_ns) = (next, width_ns);
        self.widths_ns.clear();
        self.joules.clear();
    }
}

impl<M: Member> Run<'_, '_, M> {
    /// A part that has come to the time of its next sample takes it.
    #[inline(never)]
    pub(super) fn take_sample(&mut self) {
        let at = self.samples.next;
        self.advance_all(at);
        let joules = self.members.iter_mut().map(|m| m.joules(at));
        self.samples.joules.extend(joules);
        self.renew();
        let width_ns = self.tracker.observers.outcome.series.width_ns;
        self.samples.widths_ns.push(width_ns);
        self.samples.next = Time(at.0 + self.samples.width_ns);
    }

    /// Has the parts take samples on their way; returns the time up to which they may go.
    pub(super) fn begin_samples(&mut self) -> Time {
        let next = self.marks.next_sample;
        if next == Time::NEVER {
            return next;
        }
        let width_ns = self.tracker.observers.outcome.series.width_ns;
        let parts = self.parts.iter_mut();
        parts.for_each(|part| part.samples.begin(next, width_ns));
        Time(next.0.saturating_add(width_ns.saturating_mul(MOST)))
    }

    /// Counts the samples that the parts have taken. A part whose requests have all ended takes those of the others now.
    pub(super) fn join_samples(&mut self) {
        let taken = |part: &Run<M>| part.samples.widths_ns.len();
        let n = self.parts.iter().map(taken).max().unwrap_or(0);
        for part in &mut self.parts {
            while taken(part) < n {
                part.take_sample();
            }
        }
        for i in 0..n {
            let Some(samples) = self.parts.first().map(|part| &part.samples) else {
                break;
            };
            let at = Time(samples.next.0 - (n - i) as u64 * samples.width_ns);
            if at < self.marks.next_sample {
                continue;
            }
            let mut sum = ByMode::default();
            for part in &self.parts {
                let series = &mut self.tracker.observers.outcome.series;
                series.widen(part.samples.widths_ns[i]);
                let own = part.members.len();
                let joules = &part.samples.joules[i * own..(i + 1) * own];
                joules.iter().for_each(|j| sum.add(j));
            }
            self.tracker.observers.sample(at, sum);
            self.marks.passed = at;
            self.marks.next_sample = self.tracker.observers.outcome.series.next_boundary(at);
        }
        let parts = self.parts.iter_mut();
        parts.for_each(|part| part.samples.begin(Time::NEVER, 0));
    }
}
