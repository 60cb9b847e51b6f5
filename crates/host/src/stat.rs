//! What Linux counts for each drive: `/sys/block/DEVICE/stat`, fields as in Documentation/block/stat.rst.

use crate::knobs::Knobs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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
        let n = (self.reads.wrapping_sub(before.reads))
            .wrapping_add(self.writes.wrapping_sub(before.writes));
        let ms = (self.read_ms.wrapping_sub(before.read_ms))
            .wrapping_add(self.write_ms.wrapping_sub(before.write_ms));
        // Counters that went back are those of another device of this name.
        let is_sane = n > 0 && n < 1 << 40 && ms < 1 << 50;
        is_sane.then(|| (n, ms as f64 * 1e-3 / n as f64))
    }
}

/// The counts of several drives, read by a thread: a drive that hangs holds up nobody else.
#[derive(Debug, Clone, Default)]
pub struct Stat {
    last: Arc<Mutex<Vec<Option<Counts>>>>,
    stop: Arc<AtomicBool>,
}

impl Stat {
    /// Reads the counts of these drives after each `every`.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(drives: Vec<Arc<dyn Knobs>>, every: Duration) -> std::io::Result<Stat> {
        let stat = Stat {
            last: Arc::new(Mutex::new(vec![None; drives.len()])),
            stop: Arc::default(),
        };
        let (last, stop) = (stat.last.clone(), stat.stop.clone());
        std::thread::Builder::new()
            .name("stat".into())
            .spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    for (i, drive) in drives.iter().enumerate() {
                        let counts = drive.stat().ok().and_then(|text| Counts::parse(&text));
                        last.lock().unwrap_or_else(PoisonError::into_inner)[i] = counts;
                    }
                    std::thread::sleep(every);
                }
            })?;
        Ok(stat)
    }

    /// The last counts of each drive; `None` for one that is not there.
    pub fn counts(&self) -> Vec<Option<Counts>> {
        self.last
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Ends the thread.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields as Documentation/block/stat.rst numbers them: 1 and 5 requests, 4 and 8 milliseconds, 10 `io_ticks`.
    #[test]
    fn fields_are_those_of_the_kernel() {
        let text = "  11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27\n";
        let counts = Counts::parse(text).expect("counts");
        let want = Counts {
            reads: 11,
            read_ms: 14,
            writes: 15,
            write_ms: 18,
            busy_ms: 20,
        };
        assert_eq!(counts, want);
        assert_eq!(Counts::parse("1 2 3"), None);
        assert_eq!(Counts::parse("1 2 3 4 5 6 7 8 9 10 x"), None);
        let later = Counts {
            reads: 13,
            read_ms: 34,
            writes: 17,
            write_ms: 38,
            busy_ms: 30,
        };
        assert_eq!(later.since(&counts), Some((4, 0.01)));
        assert_eq!(counts.since(&counts), None);
        assert_eq!(counts.since(&later), None);
    }
}
