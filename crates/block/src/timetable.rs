//! The next event of each of many drives, and the earliest of all.

use headstack_units::Time;
use std::cmp::Ordering;
use std::ops::Range;

/// Times in one node of the tree.
const WIDTH: usize = 4;

/// Times by index. The earliest is always known; of equal times it is the one with the lowest index.
///
/// A tree of nodes with four times each: those of the last level are the table, each of the others is the earliest of the
/// node below it. A change goes up from the last level and looks at one node in each. Which index is first is only looked
/// for when somebody asks.
#[derive(Debug, Clone)]
pub struct Timetable {
    /// The nodes from the top: below time `i` of node `n` is node `4n + i + 1`.
    nodes: Vec<[Time; WIDTH]>,
    /// The first node of the last level.
    last: usize,
    /// Most layers stand on a single one.
    is_single: bool,
    /// The earliest time; [`Time::NEVER`] if there is none.
    pub earliest: Time,
}

impl Timetable {
    /// `n` times, all [`Time::NEVER`].
    pub fn new(n: usize) -> Timetable {
        let (mut last, mut width) = (0, 1);
        while width * WIDTH < n {
            last += width;
            width *= WIDTH;
        }
        Timetable { nodes: vec![[Time::NEVER; WIDTH]; last + width], last, is_single: n == 1, earliest: Time::NEVER }
    }

    /// The earliest time and its index; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn first(&self) -> (Time, usize) {
        (self.earliest, self.first_index())
    }

    /// The index of the earliest time.
    #[inline]
    pub fn first_index(&self) -> usize {
        if self.is_single {
            return 0;
        }
        let mut node = 0;
        loop {
            let at = self.nodes[node].iter().position(|t| *t == self.earliest);
            let at = at.unwrap_or(WIDTH - 1);
            if node >= self.last {
                return (node - self.last) * WIDTH + at;
            }
            node = WIDTH * node + at + 1;
        }
    }

    /// The earliest of all times but the first.
    #[inline]
    pub fn second(&self) -> Time {
        self.first_and_second().1
    }

    /// The index of the earliest time, and the earliest of the others.
    #[inline]
    pub fn first_and_second(&self) -> (usize, Time) {
        match self.is_single {
            true => (0, Time::NEVER),
            false => self.descend(),
        }
    }

    fn descend(&self) -> (usize, Time) {
        let (mut node, mut second) = (0, Time::NEVER);
        loop {
            let mut times = self.nodes[node];
            // Of equal times the left one is first.
            let at = (0..WIDTH - 1).find(|i| times[*i] == self.earliest);
            let at = at.unwrap_or(WIDTH - 1);
            times[at] = Time::NEVER;
            second = second.min(least(&times));
            if node >= self.last {
                return ((node - self.last) * WIDTH + at, second);
            }
            node = WIDTH * node + at + 1;
        }
    }

    /// Time `i`.
    #[inline]
    pub fn get(&self, i: usize) -> Time {
        match self.is_single {
            true => self.earliest,
            false => self.nodes[self.last + i / WIDTH][i % WIDTH],
        }
    }

    /// Sets time `i`.
    #[inline]
    pub fn set(&mut self, i: usize, time: Time) {
        if self.is_single {
            self.earliest = time;
        } else {
            self.set_in_tree(i, time);
        }
    }

    // Not inlined: open arrivals have no timetable, and their path is shorter without its code.
    #[inline(never)]
    fn set_in_tree(&mut self, i: usize, mut time: Time) {
        let (mut node, mut at) = (self.last + i / WIDTH, i % WIDTH);
        loop {
            let times = &mut self.nodes[node];
            if times[at] == time {
                return;
            }
            times[at] = time;
            time = least(times);
            if node == 0 {
                self.earliest = time;
                return;
            }
            (node, at) = ((node - 1) / WIDTH, (node - 1) % WIDTH);
        }
    }
}

/// When each node of a tree of layers is due. Of equal times that of the node with the lowest number is first.
///
/// Drives have a table of their own: in most trees there are few other nodes, or one.
pub struct Order {
    /// Of the nodes that are no drives, and of the drives.
    tables: [Timetable; 2],
    /// For each node: which table, and where in it.
    places: Vec<(bool, u32)>,
    /// The nodes in each table.
    nodes: [Vec<u32>; 2],
}

impl Order {
    /// Of nodes that are drives or not.
    pub fn new(drives: impl Iterator<Item = bool>) -> Order {
        let mut nodes = [Vec::new(), Vec::new()];
        let mut places = Vec::new();
        for (node, is_drive) in drives.enumerate() {
            let own: &mut Vec<u32> = &mut nodes[usize::from(is_drive)];
            places.push((is_drive, own.len() as u32));
            own.push(node as u32);
        }
        Order { tables: [0, 1].map(|i| Timetable::new(nodes[i].len().max(1))), places, nodes }
    }

    /// The earliest time; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn earliest(&self) -> Time {
        let [others, drives] = &self.tables;
        others.earliest.min(drives.earliest)
    }

    /// The node with the earliest time.
    #[inline]
    pub fn first(&self) -> u32 {
        let [others, drives] = &self.tables;
        let node = |of: usize| self.nodes[of][self.tables[of].first_index()];
        match others.earliest.cmp(&drives.earliest) {
            Ordering::Less => node(0),
            Ordering::Greater => node(1),
            Ordering::Equal => node(0).min(node(1)),
        }
    }

    /// The first of some nodes whose time is that of the earliest of all.
    pub fn first_in(&self, mut some: Range<u32>) -> Option<u32> {
        let first = self.earliest();
        some.find(|node| self.get(*node) == first)
    }

    /// The time of a node.
    #[inline]
    pub fn get(&self, node: u32) -> Time {
        let (is_drive, at) = self.places[node as usize];
        self.tables[usize::from(is_drive)].get(at as usize)
    }

    /// Sets the time of a node.
    #[inline]
    pub fn set(&mut self, node: u32, time: Time) {
        let (is_drive, at) = self.places[node as usize];
        self.tables[usize::from(is_drive)].set(at as usize, time);
    }
}

/// The earliest of a node's times.
#[inline]
fn least(times: &[Time; WIDTH]) -> Time {
    let [a, b, c, d] = *times;
    a.min(b).min(c.min(d))
}
