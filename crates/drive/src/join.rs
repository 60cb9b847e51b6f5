//! Joins the results of the parts of a request, for the units of a drive and for the drives of an array.

use headstack_units::Time;

/// The result of a part of a request, or of a whole request.
pub trait Part: Copy {
    /// Reason of a failure.
    type Error: Copy + std::fmt::Debug;
    /// When it was complete.
    fn ends(&self) -> Time;
    /// Whether it was a buffer hit.
    fn is_hit(&self) -> bool;
    /// Whether an arm moved for it.
    fn has_moved(&self) -> bool;
    /// Whether it missed a duration limit.
    fn has_missed(&self) -> bool {
        false
    }
    /// The reason if it failed.
    fn failure(&self) -> Option<Self::Error>;
    /// The result of the request whose last part this is.
    fn whole(self, all: &All<Self::Error>) -> Self;
}

/// Results that belong to all parts of a request.
#[derive(Debug, Clone, Copy)]
pub struct All<E> {
    /// Whether all parts were buffer hits.
    pub hit: bool,
    /// Whether an arm moved for one of them.
    pub moved: bool,
    /// Whether one of them missed a duration limit.
    pub missed: bool,
    /// Of the parts that failed, the reason of the one with the lowest rank.
    pub failure: Option<E>,
}

/// The combined result of those parts of a request that have completed so far.
///
/// # Model
/// All parts are submitted at one time. So a request ends with its last part, and the shares of that part add
/// up to the request's response time. The rank of a part is the number of the unit or drive that served it. Of parts
/// that end at the same time, the one with the lowest rank counts as the last. The request is a buffer hit if all
/// parts were. It fails if a part failed; of several reasons it has that of the lowest rank.
#[derive(Debug, Clone, Copy)]
pub struct Join<P: Part> {
    last: P,
    rank: u32,
    hit: bool,
    moved: bool,
    missed: bool,
    failure: Option<(u32, P::Error)>,
    /// Parts that have not completed yet.
    remaining: u32,
}

impl<P: Part> Join<P> {
    /// The result after the first of `parts` parts.
    pub fn of(part: &P, rank: u32, parts: u32) -> Join<P> {
        Join {
            last: *part,
            rank,
            hit: part.is_hit(),
            moved: part.has_moved(),
            missed: part.has_missed(),
            failure: part.failure().map(|why| (rank, why)),
            remaining: parts.saturating_sub(1),
        }
    }

    /// Adds another part.
    pub fn add(&mut self, part: &P, rank: u32) {
        self.remaining = self.remaining.saturating_sub(1);
        self.hit &= part.is_hit();
        self.moved |= part.has_moved();
        self.missed |= part.has_missed();
        if let Some(why) = part.failure() {
            if self.failure.is_none_or(|(first, _)| rank < first) {
                self.failure = Some((rank, why));
            }
        }
        if (part.ends(), self.rank) > (self.last.ends(), rank) {
            (self.last, self.rank) = (*part, rank);
        }
    }

    /// The result of the request; `None` while parts are missing.
    pub fn whole(&self) -> Option<P> {
        let all =
            All { hit: self.hit, moved: self.moved, missed: self.missed, failure: self.failure.map(|(_, why)| why) };
        (self.remaining == 0).then(|| self.last.whole(&all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When it ended, whether it was a hit, whether an arm moved, why it failed, and a name.
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Done(u64, bool, bool, Option<char>, u32);

    impl Part for Done {
        type Error = char;
        fn ends(&self) -> Time {
            Time(self.0)
        }
        fn is_hit(&self) -> bool {
            self.1
        }
        fn has_moved(&self) -> bool {
            self.2
        }
        fn failure(&self) -> Option<char> {
            self.3
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
}
