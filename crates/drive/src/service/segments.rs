//! The buffer's segments: contiguous intervals of addresses, least recently used goes first.

/// One segment holding `[start, end)`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Segment {
    pub start: u64,
    pub end: u64,
    /// Order of last use; larger is later.
    pub used: u64,
    /// Data visible to arrivals before `visible_at`: a command in service fills it until then.
    pub before: (u64, u64),
    pub visible_at: u64,
    /// The start drops to `.1` at time `.0`, when the whole track has passed.
    pub whole_track: Option<(u64, u64)>,
}

impl Segment {
    pub fn is_empty(&self) -> bool {
        self.start >= self.end
    }
    pub fn holds(&self, sector: u64) -> bool {
        self.start <= sector && sector < self.end
    }
    pub fn clear(&mut self) {
        self.start = 0;
        self.end = 0;
        self.whole_track = None;
        self.visible_at = 0;
    }
    /// Keeps the newest `size` sectors.
    pub fn bound(&mut self, size: u64) {
        self.start = self.start.max(self.end.saturating_sub(size));
    }
}

/// All segments of a buffer.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    pub list: Vec<Segment>,
    pub size: u64,
    /// Segment 0 takes writes only and never serves reads.
    pub separate_write: bool,
    clock: u64,
}

impl Segments {
    pub fn new(count: usize, size: u64, separate_write: bool) -> Segments {
        Segments {
            list: vec![Segment::default(); count],
            size,
            separate_write,
            clock: 0,
        }
    }

    pub fn touch(&mut self, i: usize) {
        self.clock += 1;
        self.list[i].used = self.clock;
    }

    fn first_for_reads(&self) -> usize {
        self.separate_write as usize
    }

    /// The segment that holds `sector`, where reads may look; of several the last used, because it
    /// is the one that read-ahead goes on in.
    pub fn find(&self, sector: u64) -> Option<usize> {
        self.last_used(|s| s.holds(sector))
    }

    fn last_used(&self, holds: impl Fn(&Segment) -> bool) -> Option<usize> {
        (self.first_for_reads()..self.list.len())
            .filter(|i| holds(&self.list[*i]))
            .max_by_key(|i| self.list[*i].used)
    }

    /// Whether a read that arrives at `now` is wholly in a segment by then.
    pub fn holds_at(&self, now: u64, start: u64, end: u64) -> Option<usize> {
        self.last_used(|s| {
            let (a, b) = if now < s.visible_at {
                s.before
            } else {
                (s.start, s.end)
            };
            a <= start && end <= b
        })
    }

    /// An empty segment, else the least recently used; `busy` is left alone where another exists.
    pub fn victim(&self, busy: Option<usize>) -> Option<usize> {
        let from = self.first_for_reads();
        let mut best = None;
        // An empty one counts as never used.
        let mut least = u64::MAX;
        for (i, s) in self.list.iter().enumerate().skip(from) {
            let used = if s.is_empty() { 0 } else { s.used };
            if used < least && Some(i) != busy {
                (best, least) = (Some(i), used);
            }
        }
        best.or((from < self.list.len()).then_some(from))
    }

    /// Empties every segment but `keep` that overlaps `[start, end)`.
    pub fn invalidate(&mut self, start: u64, end: u64, keep: Option<usize>) {
        for (i, s) in self.list.iter_mut().enumerate() {
            if Some(i) != keep && s.start < end && start < s.end {
                s.clear();
            }
        }
    }
}
