//! The one joiner of parts: what came of a request that was served in several.

use super::{Done, ErrorKind};

/// What came of the parts of a request that are done so far.
///
/// # Model
/// A request ends with its last part and has that part's shares, which add up to its response time because
/// all parts were given away at once. Of parts that end together, the one on the first drive counts as
/// the last. It is a buffer hit if all parts were, moved an arm if one did, and fails if one did, as the
/// one on the first drive failed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Join {
    last: Done,
    cache_hit: bool,
    moved: bool,
    error: Option<(u32, ErrorKind)>,
    /// Parts that are not done yet.
    remaining: u32,
}

impl Join {
    /// The first of so many parts is done.
    pub fn of(part: &Done, parts: u32) -> Join {
        Join {
            last: *part,
            cache_hit: part.cache_hit,
            moved: part.moved,
            error: part.error.map(|kind| (part.drive, kind)),
            remaining: parts.saturating_sub(1),
        }
    }

    /// One more part is done.
    pub fn add(&mut self, part: &Done) {
        self.remaining = self.remaining.saturating_sub(1);
        self.cache_hit &= part.cache_hit;
        self.moved |= part.moved;
        if let Some(kind) = part.error {
            let first = self.error.is_none_or(|(drive, _)| part.drive < drive);
            if first {
                self.error = Some((part.drive, kind));
            }
        }
        if (part.completion, self.last.drive) > (self.last.completion, part.drive) {
            self.last = *part;
        }
    }

    /// The whole, if no part is missing.
    pub fn whole(&self) -> Option<Done> {
        (self.remaining == 0).then_some(Done {
            cache_hit: self.cache_hit,
            moved: self.moved,
            error: self.error.map(|(_, kind)| kind),
            ..self.last
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headstack_units::Time;

    fn part(end: u64, drive: u32) -> Done {
        Done {
            completion: Time(end),
            drive,
            cache_hit: true,
            ..Done::default()
        }
    }

    /// By hand: three parts in every order of announcement give the same whole.
    #[test]
    fn the_last_part_decides_and_ties_go_to_the_first_drive() {
        let parts = [part(5, 2), part(9, 1), part(9, 0)];
        for order in [
            [0, 1, 2],
            [0, 2, 1],
            [1, 0, 2],
            [1, 2, 0],
            [2, 0, 1],
            [2, 1, 0],
        ] {
            let mut join = Join::of(&parts[order[0]], 3);
            assert!(join.whole().is_none());
            join.add(&parts[order[1]]);
            assert!(join.whole().is_none());
            join.add(&parts[order[2]]);
            let whole = join.whole().expect("all parts");
            assert_eq!((whole.completion, whole.drive), (Time(9), 0));
            assert!(whole.cache_hit && !whole.moved && whole.error.is_none());
        }
    }

    #[test]
    fn one_miss_one_movement_and_one_error_are_those_of_the_whole() {
        let lost = Done {
            error: Some(ErrorKind::MemberLost),
            ..part(1, 3)
        };
        let unreachable = Done {
            error: Some(ErrorKind::Unreachable),
            moved: true,
            cache_hit: false,
            ..part(2, 1)
        };
        for (first, second) in [(lost, unreachable), (unreachable, lost)] {
            let mut join = Join::of(&first, 2);
            join.add(&second);
            let whole = join.whole().expect("both parts");
            assert_eq!(whole.error, Some(ErrorKind::Unreachable));
            assert!(whole.moved && !whole.cache_hit);
        }
    }
}
