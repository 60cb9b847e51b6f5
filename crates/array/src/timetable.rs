//! The next event of each of many drives, and which is first.

use headstack_units::Time;

/// Times by index; the earliest is known at any time, of equal times the one with the lowest index.
///
/// A tournament tree: a change costs at most as many steps as the number of times has binary digits.
#[derive(Debug, Clone)]
pub(crate) struct Timetable {
    /// Leaves, a power of two.
    width: usize,
    /// Node `i` has the children `2i` and `2i + 1`; the leaves are the last `width` nodes. Each holds the
    /// earliest time below it and its index, so that a change looks at one other node in each step.
    nodes: Vec<(Time, u32)>,
}

impl Timetable {
    /// So many times, none of which comes.
    pub fn new(n: usize) -> Timetable {
        let width = n.next_power_of_two();
        let mut nodes = vec![(Time::NEVER, 0); 2 * width];
        for (i, leaf) in nodes[width..].iter_mut().enumerate() {
            leaf.1 = i as u32;
        }
        for node in (1..width).rev() {
            nodes[node] = nodes[2 * node];
        }
        Timetable { width, nodes }
    }

    /// The earliest time, [`Time::NEVER`] if none comes, and whose it is.
    #[inline]
    pub fn first(&self) -> (Time, usize) {
        let (time, i) = self.nodes[1];
        (time, i as usize)
    }

    /// Time `i` is now `time`.
    pub fn set(&mut self, i: usize, time: Time) {
        let mut node = self.width + i;
        if self.nodes[node].0 == time {
            return;
        }
        let mut first = (time, i as u32);
        self.nodes[node] = first;
        while node > 1 {
            let other = self.nodes[node ^ 1];
            // Of equal times the left one is first.
            let left = node & 1 == 0;
            if other.0 < first.0 || (other.0 == first.0 && !left) {
                first = other;
            }
            node /= 2;
            if self.nodes[node] == first {
                return;
            }
            self.nodes[node] = first;
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
