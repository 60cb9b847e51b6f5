//! How fast md rebuilds: its rates are kept as means, by pauses of half a second.

use headstack_units::{Bandwidth, Time};

/// Blocks of 512 bytes after which md looks at the rate again: 128 KiB.
pub(super) const CHECKED: u64 = 256;
/// md's pause when the rebuild is too fast.
const PAUSE: u64 = 500_000_000;
/// Least time between two marks, and their number.
const STEP: u64 = 3_000_000_000;
const MARKS: usize = 10;
/// A member is busy if others moved more blocks than this since it was last found busy.
const BUSY: i64 = 64;

/// What the rebuild may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leave {
    /// Begin whatever there is room for.
    Go,
    /// Begin at most this many blocks, then pause until [`Pace::due`].
    Pause(u64),
    /// Begin at most this many blocks, then wait until all that is under way has ended.
    Drain(u64),
}

/// The rate of a rebuild.
///
/// # Model
/// After each 128 KiB the rate is compared with the limits. The rate is what was rebuilt since a mark, by the whole seconds
/// since then, the one that has begun included. Marks are made at most every 3 s, and the oldest of ten counts, so the rate
/// is a mean over up to 30 s: a rebuild that was held up makes up for it. It may be up to a 27th above the limit, because
/// begun seconds count. While the rate is above the upper limit, the
/// rebuild pauses, 500 ms at a time. While it is above the lower limit and requests of others have moved more than 32 KiB on
/// a member since it was last found busy, what is under way is ended before more is begun.
/// # Source
/// Linux md, `md_do_sync` and `is_mddev_idle` of `md.c` (6.12).
/// # Validity
/// Times are exact; md counts them in ticks of 1 to 10 ms, and rates in whole KiB/s.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Limits in bytes per second: `None` above is no rebuild, `None` below is the upper one.
    pub most: Option<f64>,
    pub least: Option<f64>,
    running: bool,
    /// Whether it pauses, and until when.
    pauses: bool,
    /// End of the pause; in the past if there is none.
    pub due: Time,
    marks: Marks,
    /// Blocks begun, and those of them that ended.
    begun: u64,
    ended: u64,
    checked: u64,
    /// Of each member: blocks moved for others, less those of the rebuild that are under way.
    moved: Vec<i64>,
    /// The same when the member was last found busy.
    seen: Vec<i64>,
}

/// Times, and blocks rebuilt by then; a ring.
#[derive(Debug, Default)]
struct Marks {
    all: [(Time, u64); MARKS],
    last: usize,
    /// The one that counts.
    oldest: (Time, u64),
}

impl Pace {
    /// Sets the upper limit; `None`: no rebuild.
    pub fn set_most(&mut self, rate: Option<Bandwidth>) {
        self.most = rate.map(|r| r.0);
        if rate.is_none() {
            self.stop();
        }
    }

    /// The rebuild is done, or begins anew: what it did before does not count any more.
    pub fn stop(&mut self) {
        (self.running, self.pauses) = (false, false);
        self.due = Time::ZERO;
    }

    /// Says what may be begun now, where there is room for `room` blocks.
    pub fn ask(&mut self, now: Time, room: u64) -> Leave {
        if !self.running {
            self.start(now);
        }
        if self.pauses {
            if self.is_ahead(now) {
                self.due = Time(now.0.saturating_add(PAUSE));
                return Leave::Pause(0);
            }
            self.pauses = false;
        }
        let left = CHECKED - (self.begun - self.checked).min(CHECKED - 1);
        if room < left {
            return Leave::Go;
        }
        if self.is_ahead(now) {
            self.pauses = true;
            self.due = Time(now.0.saturating_add(PAUSE));
            return Leave::Pause(left);
        }
        match self.is_above_least(now) && self.others_are_busy() {
            true => Leave::Drain(left),
            false => Leave::Go,
        }
    }

    /// So many blocks of the volume's member are being rebuilt.
    pub fn begin(&mut self, blocks: u64) {
        self.begun += blocks;
        self.checked += (self.begun - self.checked) / CHECKED * CHECKED;
    }

    /// They have been, or were given up.
    pub fn end(&mut self, blocks: u64) {
        self.ended += blocks;
    }

    /// A request of the rebuild is given to a member.
    pub fn submit(&mut self, member: u32, blocks: u32) {
        *self.of(member) -= i64::from(blocks);
    }

    /// A request of a member has completed, of the rebuild or of others.
    #[inline]
    pub fn complete(&mut self, member: u32, blocks: u64) {
        if self.running {
            *self.of(member) += blocks as i64;
        }
    }

    fn of(&mut self, member: u32) -> &mut i64 {
        let m = member as usize;
        if m >= self.moved.len() {
            self.moved.resize(m + 1, 0);
        }
        &mut self.moved[m]
    }

    fn start(&mut self, now: Time) {
        self.running = true;
        let mark = (now, self.ended);
        self.marks = Marks { all: [mark; MARKS], last: 0, oldest: mark };
        self.checked = self.begun;
        self.seen.clone_from(&self.moved);
    }

    /// Bytes per second since the mark.
    fn rate(&self, now: Time) -> f64 {
        let (since, blocks) = self.marks.oldest;
        let seconds = (now.0 - since.0) / 1_000_000_000 + 1;
        (self.ended - blocks) as f64 * 512.0 / seconds as f64
    }

    /// Whether the rebuild is above the upper limit. Makes a mark where it is time to.
    fn is_ahead(&mut self, now: Time) -> bool {
        let Marks { all, last, oldest } = &mut self.marks;
        if now.0 >= all[*last].0 .0 + STEP {
            *last = (*last + 1) % MARKS;
            *oldest = std::mem::replace(&mut all[*last], (now, self.ended));
        }
        self.most.is_some_and(|most| self.rate(now) > most)
    }

    fn is_above_least(&self, now: Time) -> bool {
        let least = self.least.or(self.most);
        least.is_some_and(|least| self.rate(now) > least)
    }

    /// Whether others use a member. Each member is then looked at from its present state on.
    fn others_are_busy(&mut self) -> bool {
        self.seen.resize(self.moved.len(), 0);
        let mut busy = false;
        for (moved, seen) in self.moved.iter().zip(&mut self.seen) {
            if moved - *seen > BUSY {
                *seen = *moved;
                busy = true;
            }
        }
        busy
    }
}
