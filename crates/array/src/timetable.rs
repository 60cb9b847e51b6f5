//! The next event of each of many drives, and the earliest of all.

use headstack_units::Time;

/// Times by index. The earliest is always known; of equal times it is the one with the lowest index.
///
/// A tournament tree: a change takes as many steps as the number of times has binary digits.
#[derive(Debug, Clone)]
pub(crate) struct Timetable {
    /// Leaves, a power of two.
    width: usize,
    /// Node `i` has the children `2i` and `2i + 1`; the leaves are the last `width` nodes. Each holds the
    /// index of the earliest leaf below it.
    winners: Vec<u32>,
    times: Vec<Time>,
}

impl Timetable {
    /// `n` times, all [`Time::NEVER`].
    pub fn new(n: usize) -> Timetable {
        let width = n.next_power_of_two();
        let mut winners = vec![0; 2 * width];
        for (i, leaf) in winners[width..].iter_mut().enumerate() {
            *leaf = i as u32;
        }
        for node in (1..width).rev() {
            winners[node] = winners[2 * node];
        }
        Timetable {
            width,
            winners,
            times: vec![Time::NEVER; width],
        }
    }

    /// The earliest time and its index; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn first(&self) -> (Time, usize) {
        let i = self.winners[1] as usize;
        (self.times[i], i)
    }

    /// Sets time `i`.
    pub fn set(&mut self, i: usize, time: Time) {
        if self.times[i] == time {
            return;
        }
        self.times[i] = time;
        let mut node = (self.width + i) / 2;
        while node >= 1 {
            let (left, right) = (self.winners[2 * node], self.winners[2 * node + 1]);
            let earlier = self.times[right as usize] < self.times[left as usize];
            let winner = if earlier { right } else { left };
            let same = self.winners[node] == winner;
            self.winners[node] = winner;
            // The nodes above do not change if another index is still the winner here.
            if same && winner as usize != i {
                return;
            }
            node /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_a_search_through_all() {
        let mut x = 88_172_645_463_325_252u64;
        for n in [1, 2, 3, 7, 8, 1000] {
            let mut table = Timetable::new(n);
            let mut list = vec![Time::NEVER; n];
            assert_eq!(table.first(), (Time::NEVER, 0));
            for step in 0..5000 {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                let i = (x >> 20) as usize % n;
                let time = match x % 7 {
                    0 => Time::NEVER,
                    _ => Time(x >> 40 & 15),
                };
                table.set(i, time);
                list[i] = time;
                let want = (0..n).map(|i| (list[i], i)).min().expect("a time");
                assert_eq!(table.first(), want, "{n} times, step {step}");
            }
        }
    }
}
