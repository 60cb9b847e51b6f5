//! Data channels between heads and electronics, if there are fewer than arms that work at the same time.

/// The transfers for which the channels of a stack are reserved.
#[derive(Debug)]
pub(crate) struct Channels {
    limit: usize,
    /// Start and end of each transfer in nanoseconds, in no order.
    busy: Vec<(u64, u64)>,
}

impl Channels {
    pub fn new(limit: usize) -> Channels {
        Channels { limit, busy: Vec::new() }
    }

    /// Removes the transfers that ended by `now`. Later ones must not start before `now`.
    pub fn forget(&mut self, now: u64) {
        self.busy.retain(|b| b.1 > now);
    }

    /// Reserves a channel for `length` nanoseconds from `at` on, or a whole number of turns later if none is
    /// free all that time. Returns the start.
    pub fn reserve(&mut self, at: u64, length: u64, period_ns: f64) -> u64 {
        let mut turns = 0u32;
        loop {
            let start = at + (f64::from(turns) * period_ns).round() as u64;
            if !self.full(start, start + length) {
                self.busy.push((start, start + length));
                return start;
            }
            turns += 1;
        }
    }

    /// Whether all channels are reserved at some moment of `[from, to)`.
    fn full(&self, from: u64, to: u64) -> bool {
        let taken = |t: u64| self.busy.iter().filter(|b| b.0 <= t && t < b.1).count();
        let starts = self.busy.iter().map(|b| b.0).filter(|t| from < *t && *t < to);
        std::iter::once(from).chain(starts).any(|t| taken(t) >= self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_channel_costs_whole_turns() {
        let mut one = Channels::new(1);
        assert_eq!(one.reserve(100, 50, 1000.0), 100);
        assert_eq!(one.reserve(150, 50, 1000.0), 150);
        // Overlaps both transfers; in the next turn the channel is free.
        assert_eq!(one.reserve(120, 50, 1000.0), 1120);
        // The channel is free from 200 to 1120.
        assert_eq!(one.reserve(200, 920, 1000.0), 200);
        // A transfer that would contain a later one has to wait as well.
        assert_eq!(one.reserve(90, 20, 1000.0), 2090);
        one.forget(1130);
        assert_eq!(one.reserve(1170, 5, 1000.0), 1170);
    }

    #[test]
    fn as_many_at_once_as_there_are_channels() {
        let mut two = Channels::new(2);
        assert_eq!(two.reserve(0, 100, 500.0), 0);
        assert_eq!(two.reserve(50, 100, 500.0), 50);
        // From 50 to 100 both channels are reserved.
        assert_eq!(two.reserve(99, 10, 500.0), 599);
        assert_eq!(two.reserve(100, 10, 500.0), 100);
    }
}
