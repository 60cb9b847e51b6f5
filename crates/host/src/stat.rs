//! What Linux counts for each drive: `/sys/block/DEVICE/stat`, fields as in Documentation/block/stat.rst.

use crate::clock;
use crate::knobs::Knobs;
use headstack_units::{Span, Time};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Counts are old after so many intervals, but not before so many seconds.
const INTERVALS: i64 = 3;
const OLD_S: i64 = 5;

/// Counts since the drive appeared. Times are in milliseconds, summed over requests but for `busy_ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Reads that ended.
    pub reads: u64,
    /// From their arrival in the host's queue to their end.
    pub read_ms: u64,
    /// Writes that ended.
    pub writes: u64,
    /// From their arrival to their end.
    pub write_ms: u64,
    /// Time with a request outstanding.
    pub busy_ms: u64,
}

impl Counts {
    /// Of the text of a `stat` file; `None` if it is not one.
    pub fn parse(text: &str) -> Option<Counts> {
        let fields: Result<Vec<u64>, _> = text.split_whitespace().map(str::parse).collect();
        let fields = fields.ok().filter(|f| f.len() >= 11)?;
        Some(Counts {
            reads: fields[0],
            read_ms: fields[3],
            writes: fields[4],
            write_ms: fields[7],
            busy_ms: fields[9],
        })
    }

    /// Requests that ended since, and the mean time of them in seconds; `None` without one.
    pub fn since(&self, before: &Counts) -> Option<(u64, f64)> {
        let n = (self.reads.wrapping_sub(before.reads)).wrapping_add(self.writes.wrapping_sub(before.writes));
        let ms = (self.read_ms.wrapping_sub(before.read_ms)).wrapping_add(self.write_ms.wrapping_sub(before.write_ms));
        let is_sane = n > 0 && self.follow(before) && ms < 1 << 50;
        is_sane.then(|| (n, ms as f64 * 1e-3 / n as f64))
    }

    /// Whether they are later ones of the same drive. Counts that went back are those of another device of this name.
    fn follow(&self, before: &Counts) -> bool {
        let goes_on = |old: u64, new: u64| new.wrapping_sub(old) < 1 << 40;
        goes_on(before.reads, self.reads)
            && goes_on(before.writes, self.writes)
            && goes_on(before.busy_ms, self.busy_ms)
    }
}

/// Counts of one drive, and when they were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// When the reading was begun.
    pub time: Time,
    /// `None`: the drive is not there.
    pub counts: Option<Counts>,
}

impl Seen {
    /// Both counts and the time between them. `None` where they are the same reading, where the drive was not there at one of
    /// the two, and where it is another drive now.
    pub fn since(&self, before: &Seen) -> Option<(Counts, Counts, Span)> {
        let (old, new) = (before.counts?, self.counts?);
        let span = self.time.since(before.time);
        (span.0 > 0 && new.follow(&old)).then_some((old, new, span))
    }
}

/// The last two readings of all drives. A reading counts when all drives have it: sums over half of them would be wrong.
#[derive(Debug, Clone, Default)]
pub struct Pairs {
    before: Vec<Option<Seen>>,
    after: Vec<Option<Seen>>,
}

impl Pairs {
    /// Takes what [`Stat::last`] says, if all drives have been read since the reading before. Returns whether it was taken.
    pub fn take(&mut self, seen: Vec<Option<Seen>>) -> bool {
        let time = |seen: &Option<Seen>| seen.map(|s| s.time);
        let is_newer = self.after.len() != seen.len() || seen.iter().zip(&self.after).all(|(n, o)| time(n) > time(o));
        if is_newer {
            self.before = std::mem::replace(&mut self.after, seen);
        }
        is_newer
    }

    /// The reading before and the last one of each drive; `None` before the first.
    pub fn each(&self) -> impl Iterator<Item = (Option<Seen>, Option<Seen>)> + '_ {
        let before = |i: usize| self.before.get(i).copied().flatten();
        self.after.iter().enumerate().map(move |(i, after)| (before(i), *after))
    }

    /// The oldest of the last readings.
    pub fn oldest(&self) -> Option<Time> {
        self.after.iter().flatten().map(|s| s.time).min()
    }
}

/// The counts of several drives, read by a thread: a drive that hangs holds up nobody else.
#[derive(Debug, Clone, Default)]
pub struct Stat {
    last: Arc<Mutex<Vec<Option<Seen>>>>,
    every: Duration,
    stop: Arc<AtomicBool>,
}

impl Stat {
    /// Reads the counts of these drives after each `every`.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(drives: Vec<Arc<dyn Knobs>>, every: Duration) -> std::io::Result<Stat> {
        let stat = Stat { last: Arc::new(Mutex::new(vec![None; drives.len()])), every, stop: Arc::default() };
        let (last, stop) = (stat.last.clone(), stat.stop.clone());
        std::thread::Builder::new().name("stat".into()).spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                for (i, drive) in drives.iter().enumerate() {
                    let time = clock::now();
                    let counts = drive.stat().ok().and_then(|text| Counts::parse(&text));
                    let seen = Some(Seen { time, counts });
                    last.lock().unwrap_or_else(PoisonError::into_inner)[i] = seen;
                }
                std::thread::sleep(every);
            }
        })?;
        Ok(stat)
    }

    /// The last counts of each drive; `None` before the first reading.
    pub fn last(&self) -> Vec<Option<Seen>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts that were read longer ago are old: a drive hangs, and readings of others wait behind it.
    pub fn old_after(&self) -> Span {
        Span(self.every.as_nanos().min(1 << 60) as i64 * INTERVALS).max(Span(OLD_S * 1_000_000_000))
    }

    /// Ends the thread.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
