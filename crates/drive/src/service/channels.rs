//! Data channels between heads and electronics, if there are fewer than arms that work at the same time.

use headstack_units::{Span, Time};

/// The transfers for which the channels of a stack are reserved.
#[derive(Debug)]
pub struct Channels {
    limit: usize,
    /// Start and end of each transfer, in no order.
    busy: Vec<(Time, Time)>,
}

impl Channels {
    pub fn new(limit: usize) -> Channels {
        Channels { limit, busy: Vec::new() }
    }

    /// Removes the transfers that ended by `now`. Later ones must not start before `now`.
    pub fn forget(&mut self, now: Time) {
        self.busy.retain(|b| b.1 > now);
    }

    /// Reserves a channel for a time of `length` from `at` on, or a whole number of turns later if none is
    /// free all that time. Returns the start.
    #[inline]
    pub fn reserve(&mut self, at: Time, length: Span, period_ns: f64) -> Time {
        let mut turns = 0u32;
        loop {
            let start = at.after(Span((f64::from(turns) * period_ns).round() as i64));
            if !self.full(start, start.after(length)) {
                self.busy.push((start, start.after(length)));
                return start;
            }
            turns += 1;
        }
    }

    /// Whether all channels are reserved at some moment of `[from, to)`.
    fn full(&self, from: Time, to: Time) -> bool {
        let taken = |t: Time| self.busy.iter().filter(|b| b.0 <= t && t < b.1).count();
        let starts = self.busy.iter().map(|b| b.0).filter(|t| from < *t && *t < to);
        std::iter::once(from).chain(starts).any(|t| taken(t) >= self.limit)
    }
}
