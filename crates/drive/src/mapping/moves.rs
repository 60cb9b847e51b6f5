//! Which addresses a mapping has moved, for the queue, which keeps the places of waiting commands.

/// Ranges of addresses that have moved since they were last asked for: the first one, and the one after the last.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    /// Whether somebody asks.
    watched: bool,
    pub list: Vec<(u64, u64)>,
}

impl Moves {
    /// Forgets what has moved so far. From now on, moves are kept if `watched` is true.
    pub fn watch(&mut self, watched: bool) {
        self.watched = watched;
        self.list.clear();
    }

    /// The addresses from `from` on, up to the one before `past`, have moved.
    #[inline]
    pub fn note(&mut self, from: u64, past: u64) {
        if self.watched {
            self.list.push((from, past));
        }
    }
}
