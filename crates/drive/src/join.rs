//! Joins the results of the parts of a request, for the units of a drive and for the drives of an array.

use headstack_units::Time;

/// The result of a part of a request, or of a whole request.
pub trait Part: Copy {
    /// Reason of a failure.
    type Error: Copy + std::fmt::Debug;
    /// When it was complete.
    fn ends(&self) -> Time;
    /// What it says of the whole.
    fn own(&self) -> All<Self::Error>;
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
    all: All<P::Error>,
    /// Rank of the part whose failure counts.
    failed: u32,
    /// Parts that have not completed yet.
    remaining: u32,
}

impl<P: Part> Join<P> {
    /// The result after the first of `parts` parts.
    pub fn of(part: &P, rank: u32, parts: u32) -> Join<P> {
        Join { last: *part, rank, all: part.own(), failed: rank, remaining: parts.saturating_sub(1) }
    }

    /// Adds another part.
    pub fn add(&mut self, part: &P, rank: u32) {
        self.remaining = self.remaining.saturating_sub(1);
        let own = part.own();
        self.all.hit &= own.hit;
        self.all.moved |= own.moved;
        self.all.missed |= own.missed;
        if own.failure.is_some() && (self.all.failure.is_none() || rank < self.failed) {
            (self.all.failure, self.failed) = (own.failure, rank);
        }
        if (part.ends(), self.rank) > (self.last.ends(), rank) {
            (self.last, self.rank) = (*part, rank);
        }
    }

    /// The result of the request; `None` while parts are missing.
    pub fn whole(&self) -> Option<P> {
        (self.remaining == 0).then(|| self.last.whole(&self.all))
    }
}
