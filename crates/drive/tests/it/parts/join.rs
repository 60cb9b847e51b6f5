use headstack_drive::join::*;
use headstack_units::Time;

/// When it ended, whether it was a hit, whether an arm moved, why it failed, and a name.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Done(u64, bool, bool, Option<char>, u32);

impl Part for Done {
    type Error = char;
    fn ends(&self) -> Time {
        Time(self.0)
    }
    fn own(&self) -> All<char> {
        All { hit: self.1, moved: self.2, missed: false, failure: self.3 }
    }
    fn whole(self, all: &All<char>) -> Done {
        Done(self.0, all.hit, all.moved, all.failure, self.4)
    }
}

/// By hand: three parts in every order of announcement give the same whole.
#[test]
fn the_last_part_decides_and_ties_go_to_the_lowest_rank() {
    let parts = [(5, 2), (9, 1), (9, 0)].map(|(end, rank)| Done(end, true, false, None, rank));
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let [first, second, third] = order.map(|i| parts[i]);
        let mut join = Join::of(&first, first.4, 3);
        assert!(join.whole().is_none());
        join.add(&second, second.4);
        assert!(join.whole().is_none());
        join.add(&third, third.4);
        assert_eq!(join.whole(), Some(Done(9, true, false, None, 0)));
    }
}

#[test]
fn one_miss_one_movement_and_one_error_are_those_of_the_whole() {
    let lost = (Done(1, true, false, Some('l'), 7), 3);
    let unreachable = (Done(2, false, true, Some('u'), 8), 1);
    for (first, second) in [(lost, unreachable), (unreachable, lost)] {
        let mut join = Join::of(&first.0, first.1, 2);
        join.add(&second.0, second.1);
        assert_eq!(join.whole(), Some(Done(2, false, true, Some('u'), 8)));
    }
}
