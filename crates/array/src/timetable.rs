//! The next event of each of many drives, and the earliest of all.

use headstack_units::Time;

/// Up to this number, times are kept in a plain list.
const FEW: usize = 4;

/// Times by index. The earliest is always known; of equal times it is the one with the lowest index.
///
/// A tournament tree: a change takes at most as many steps as the number of times has binary digits. Up to [`FEW`]
/// times are a plain list instead, which is searched only when the earliest time becomes later.
#[derive(Debug, Clone)]
pub(crate) struct Timetable {
    /// Leaves, a power of two; 0 for a plain list.
    width: usize,
    /// Node `i` has the children `2i` and `2i + 1`; the leaves are the last `width` nodes. Each holds the
    /// earliest time below it and its index, so that a change looks at one other node in each step.
    nodes: Vec<(Time, u32)>,
    /// The plain list; empty for a tournament.
    list: Vec<Time>,
    first: (Time, u32),
}

impl Timetable {
    /// `n` times, all [`Time::NEVER`].
    pub fn new(n: usize) -> Timetable {
        let first = (Time::NEVER, 0);
        if n <= FEW {
            return Timetable {
                width: 0,
                nodes: Vec::new(),
                list: vec![Time::NEVER; n],
                first,
            };
        }
        let width = n.next_power_of_two();
        let mut nodes = vec![first; 2 * width];
        for (i, leaf) in nodes[width..].iter_mut().enumerate() {
            leaf.1 = i as u32;
        }
        for node in (1..width).rev() {
            nodes[node] = nodes[2 * node];
        }
        Timetable {
            width,
            nodes,
            list: Vec::new(),
            first,
        }
    }

    /// The earliest time and its index; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn first(&self) -> (Time, usize) {
        (self.first.0, self.first.1 as usize)
    }

    /// The earliest of all times but the first.
    pub fn second(&self) -> Time {
        if self.width == 0 {
            let others = self.list.iter().enumerate();
            let others = others.filter(|(i, _)| *i != self.first.1 as usize);
            return others.map(|(_, time)| *time).min().unwrap_or(Time::NEVER);
        }
        let mut node = self.width + self.first.1 as usize;
        let mut second = Time::NEVER;
        while node > 1 {
            second = second.min(self.nodes[node ^ 1].0);
            node /= 2;
        }
        second
    }

    /// Sets time `i`.
    #[inline]
    pub fn set(&mut self, i: usize, time: Time) {
        // Most layers stand on a single one.
        if self.list.len() == 1 {
            self.first.0 = time;
        } else {
            self.set_among_many(i, time);
        }
    }

    // Not inlined: open arrivals have no timetable, and their path is shorter without its code.
    #[inline(never)]
    fn set_among_many(&mut self, i: usize, time: Time) {
        match self.width {
            0 => self.set_in_list(i, time),
            _ => self.set_in_tree(i, time),
        }
    }

    #[inline]
    fn set_in_list(&mut self, i: usize, time: Time) {
        self.list[i] = time;
        let own = (time, i as u32);
        if own <= self.first {
            self.first = own;
        } else if self.first.1 == i as u32 {
            let mut first = (self.list[0], 0);
            for (j, other) in self.list.iter().enumerate() {
                // Of equal times the lower index is first.
                if *other < first.0 {
                    first = (*other, j as u32);
                }
            }
            self.first = first;
        }
    }

    /// Sets time `i` of the tree and updates the nodes above it.
    fn set_in_tree(&mut self, i: usize, time: Time) {
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
        self.first = first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_a_search_through_all() {
        let mut x = 88_172_645_463_325_252u64;
        for n in [1, 2, 3, 7, FEW, FEW + 1, 32, 1000] {
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
                let others = (0..n).filter(|i| *i != want.1).map(|i| list[i]);
                let second = others.min().unwrap_or(Time::NEVER);
                assert_eq!(table.second(), second, "{n} times, step {step}");
            }
        }
    }
}
