//! Meters: each is read in a thread of its own, and their last readings are added.

#[doc(hidden)]
pub mod command;
#[doc(hidden)]
pub mod fuse;
pub mod model;

use crate::clock;
use crate::config::{Group, Meter};
use crate::stat::Stat;
use crate::text_file;
use fuse::Fused;
use headstack_schema::{read, SpecError};
use headstack_units::{Span, Time, Watts};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// A reading, or why there is none.
pub type Reading = Result<f64, String>;

/// Reads watts; it may take long.
pub trait Source: Send {
    /// Reads.
    fn read(&mut self) -> Reading;

    /// When that came to be what it is; `None` if when it was read.
    fn made(&self) -> Option<Time> {
        None
    }
}

/// The last of a meter.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct Last {
    /// When the last good reading was begun, and its watts.
    pub good: Option<(Time, f64)>,
    /// Why the last reading failed.
    pub failure: Option<String>,
}

/// The meters of a group.
pub struct Meters {
    last: Vec<Arc<Mutex<Last>>>,
    /// What each is called, and the age at which a reading is old.
    names: Vec<(String, Span)>,
    stop: Arc<AtomicBool>,
    base: Watts,
    least: Watts,
    /// The last three sums, of which the median counts.
    recent: Vec<f64>,
    /// The time of the last sum that counted.
    counted: Option<Time>,
}

/// What the meters show.
#[derive(Debug, Clone, PartialEq)]
pub struct Sum {
    /// The oldest of the readings that were added.
    pub time: Time,
    /// Of the drives: without what the meters count besides.
    pub watts: Watts,
}

impl Meters {
    /// Starts the meters of a group; `stats` has what Linux counts for each of its drives.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(group: &Group, stats: &Stat) -> std::io::Result<Meters> {
        let mut meters = Meters {
            last: Vec::new(),
            names: Vec::new(),
            stop: Arc::new(AtomicBool::new(false)),
            base: group.base,
            least: group.least,
            recent: Vec::new(),
            counted: None,
        };
        for (i, meter) in group.meter.iter().enumerate() {
            let mut last = meters.begin(source_of(meter, stats), meter.interval)?;
            if let Some(fuse) = meter.fuse {
                let model = Box::new(model::Modelled::new(fuse.model, stats.clone()));
                let fused = Fused::new(model, last, fuse.over, meter.interval, clock::now);
                last = meters.begin(Box::new(fused), fuse.every)?;
            }
            meters.last.push(last);
            let old_after = Span(meter.interval.0.saturating_mul(3)).max(Span(5_000_000_000));
            meters.names.push((format!("meter[{i}]"), old_after));
        }
        Ok(meters)
    }

    /// Reads in a thread of its own, again and again.
    fn begin(&self, mut source: Box<dyn Source>, every: Span) -> std::io::Result<Arc<Mutex<Last>>> {
        let last = Arc::new(Mutex::new(Last { good: None, failure: None }));
        let (stop, read) = (self.stop.clone(), last.clone());
        let thread = std::thread::Builder::new().name("meter".into());
        // It is not waited for: a file may hang for as long as its device does.
        thread.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let began = clock::now();
                let reading = source.read();
                note(&read, source.made().unwrap_or(began), reading);
                std::thread::sleep(Duration::from_nanos(every.non_negative()));
            }
        })?;
        Ok(last)
    }

    /// The sum of the last readings; `None` before each meter has been read. A single reading far from its neighbours
    /// does not count: it is the median of the last three.
    pub fn sum(&mut self) -> Option<Sum> {
        let mut sum = Sum { time: Time::NEVER, watts: Watts(-self.base.0) };
        for last in &self.last {
            let (time, watts) = last.lock().unwrap_or_else(PoisonError::into_inner).good?;
            sum.time = sum.time.min(time);
            sum.watts.0 += watts;
        }
        if sum.watts.0 < self.least.0 {
            return None;
        }
        if self.counted.is_none_or(|t| sum.time > t) {
            self.counted = Some(sum.time);
            self.recent.push(sum.watts.0);
            if self.recent.len() > 3 {
                self.recent.remove(0);
            }
        }
        let mut sorted = self.recent.clone();
        sorted.sort_by(f64::total_cmp);
        sum.watts.0 = *sorted.get(sorted.len() / 2)?;
        Some(sum)
    }

    /// The meters that fail or say nothing new, each with the reason.
    pub fn failures(&self, now: Time) -> Vec<String> {
        let failure = |((name, old_after), last): (&(String, Span), &Arc<Mutex<Last>>)| {
            let last = last.lock().unwrap_or_else(PoisonError::into_inner);
            let age = last.good.map(|(time, _)| now.since(time));
            let why = match (&last.failure, age) {
                (Some(why), _) => why.clone(),
                (None, None) => "no reading yet".into(),
                (None, Some(age)) if age > *old_after => {
                    format!("the last reading is {:.0} s old", age.as_secs_f64())
                }
                _ => return None,
            };
            Some(format!("{name}: {why}"))
        };
        let named = self.names.iter().zip(&self.last);
        named.filter_map(failure).collect()
    }

    /// The last reading of each meter that has one, in watts.
    pub fn readings(&self) -> Vec<(String, f64)> {
        let named = self.names.iter().zip(&self.last);
        let reading = |((name, _), last): (&(String, Span), &Arc<Mutex<Last>>)| {
            let last = last.lock().unwrap_or_else(PoisonError::into_inner);
            Some((name.clone(), last.good?.1))
        };
        named.filter_map(reading).collect()
    }

    /// The age of the oldest of the last readings.
    pub fn age(&self, now: Time) -> Option<Span> {
        let times = self.last.iter().map(|last| {
            let last = last.lock().unwrap_or_else(PoisonError::into_inner);
            last.good.map(|(time, _)| time)
        });
        let times: Option<Vec<Time>> = times.collect();
        Some(now.since(times?.into_iter().min()?))
    }
}

impl Drop for Meters {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn note(last: &Mutex<Last>, began: Time, reading: Reading) {
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    match reading {
        Ok(watts) if watts.is_finite() && watts >= 0.0 => {
            last.good = Some((began, watts));
            last.failure = None;
        }
        Ok(watts) => last.failure = Some(format!("got {watts} W, need 0 W or more")),
        Err(why) => last.failure = Some(why),
    }
}

fn source_of(meter: &Meter, stats: &Stat) -> Box<dyn Source> {
    match meter.model {
        Some(model) => Box::new(model::Modelled::new(model, stats.clone())),
        None => shown_by(meter),
    }
}

/// A meter that is none that computes.
fn shown_by(meter: &Meter) -> Box<dyn Source> {
    match (&meter.hwmon, &meter.file) {
        (Some(path), _) => Box::new(File::new(path, 1e-6, false)),
        (None, Some(path)) => Box::new(File::new(path, 1.0, true)),
        (None, None) => Box::new(command::Program::new(meter)),
    }
}

/// A meter of its own, in the form of a group's `meter`, and the time between two of its readings.
///
/// # Errors
/// A table that is none of a meter, or of one that computes.
pub fn open(table: &Value) -> Result<(Box<dyn Source>, Span), SpecError> {
    let meter: Meter = read(table)?;
    meter.check_all()?;
    for (key, given) in [("model", meter.model.is_some()), ("fuse", meter.fuse.is_some())] {
        if given {
            return Err(SpecError::new(key, "it", "a meter: what is computed is not measured"));
        }
    }
    Ok((shown_by(&meter), meter.interval))
}

/// A file with a number.
struct File {
    path: PathBuf,
    unit_w: f64,
    /// Of a file that somebody writes: when it was written by its own time, and by the clock. `None` in `/sys`, where each
    /// reading is of that moment.
    written: Option<(SystemTime, Time)>,
    is_written: bool,
}

impl File {
    fn new(path: &str, unit_w: f64, is_written: bool) -> File {
        File { path: Path::new(path).into(), unit_w, written: None, is_written }
    }

    /// A change of the file's time is a new reading; only the age of the first is by the date, which may jump.
    fn see(&mut self, written: SystemTime, now: Time) {
        let age = match self.written {
            Some((before, _)) if before == written => return,
            Some(_) => Duration::ZERO,
            None => SystemTime::now().duration_since(written).unwrap_or_default(),
        };
        let age_ns = age.as_nanos().min(u128::from(now.0)) as u64;
        self.written = Some((written, Time(now.0 - age_ns)));
    }
}

impl Source for File {
    fn read(&mut self) -> Reading {
        let path = self.path.display().to_string();
        let (text, written) = text_file::read(&self.path).map_err(|e| format!("{path}: {e}"))?;
        if self.is_written {
            self.see(written, clock::now());
        }
        let number: Result<f64, _> = text.trim().parse();
        let number = number.map_err(|_| format!("{path}: got {text:?}, need a number"))?;
        Ok(number * self.unit_w)
    }

    fn made(&self) -> Option<Time> {
        self.written.map(|(_, time)| time)
    }
}
