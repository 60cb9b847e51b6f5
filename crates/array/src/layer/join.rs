//! Joins the results of the parts of a request.

use super::{Done, ErrorKind};

/// The combined result of those parts of a request that have completed so far.
///
/// # Model
/// All parts are submitted at one time. So a request ends with its last part, and the shares of that part add
/// up to the request's response time. Of parts that end at the same time, the one on the lowest drive counts
/// as the last. The request is a buffer hit if all parts were, and moved an arm if one part did. It fails if
/// a part failed; of several errors it has that of the lowest drive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Join {
    last: Done,
    cache_hit: bool,
    moved: bool,
    error: Option<(u32, ErrorKind)>,
    /// Parts that have not completed yet.
    remaining: u32,
}

impl Join {
    /// The result after the first of `parts` parts.
    pub fn of(part: &Done, parts: u32) -> Join {
        Join {
            last: *part,
            cache_hit: part.cache_hit,
            moved: part.moved,
            error: part.error.map(|kind| (part.drive, kind)),
            remaining: parts.saturating_sub(1),
        }
    }

    /// Adds another part.
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

    /// The result of the request; `None` while parts are missing.
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

    /// By hand: three parts, announced in every order, give the same result.
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
