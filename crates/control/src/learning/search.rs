//! The search for a setting that keeps a cap: what was tried, and when more may be.

/// Longest time until a faster setting is guessed again, in seconds.
const LONGEST_S: f64 = 1800.0;

/// How the search stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Search {
    /// Guesses since the cap was kept last.
    pub(crate) tries: u32,
    /// Time above the cap since then, in seconds.
    pub(crate) over_s: f64,
    /// Whether no setting is known that keeps the cap, and no guess is left.
    pub(crate) is_stuck: bool,
    /// Whether the setting in use is a guess that was made while the cap was kept.
    pub(crate) is_exploring: bool,
    /// Time until a faster setting may be guessed again, and how long that is after the next failure.
    pub(crate) explore_in_s: f64,
    pub(crate) explore_next_s: f64,
}

impl Search {
    /// Nothing was tried; after a failure a faster setting may be guessed again after this time.
    pub(crate) fn new(explore_after_s: f64) -> Search {
        Search {
            tries: 0,
            over_s: 0.0,
            is_stuck: false,
            is_exploring: false,
            explore_in_s: 0.0,
            explore_next_s: explore_after_s,
        }
    }

    /// The cap is another one.
    pub(crate) fn begin(&mut self, explore_after_s: f64) {
        (self.tries, self.over_s, self.explore_in_s) = (0, 0.0, 0.0);
        self.explore_next_s = explore_after_s;
    }

    /// Time passes.
    pub(crate) fn pass(&mut self, seconds: f64) {
        self.explore_in_s = (self.explore_in_s - seconds).max(0.0);
    }

    /// The cap is kept.
    pub(crate) fn is_kept(&mut self) {
        (self.over_s, self.tries, self.is_stuck) = (0.0, 0, false);
    }

    /// Whether a faster setting may be guessed.
    pub(crate) fn may_explore(&self) -> bool {
        self.explore_in_s <= 0.0
    }

    /// A guess was wrong: the next one is made later, after twice as long each time.
    pub(crate) fn postpone(&mut self) {
        self.explore_in_s = self.explore_next_s;
        self.explore_next_s = (2.0 * self.explore_next_s).min(LONGEST_S);
    }

    /// No setting is left. One more may be tried after a while.
    pub(crate) fn is_at_an_end(&mut self) {
        self.is_stuck = true;
        if self.may_explore() && self.tries > 0 {
            self.tries -= 1;
            self.postpone();
        }
    }
}
