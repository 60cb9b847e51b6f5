//! A thread for each drive that writes its settings: Linux empties the queue before it changes `nr_requests`, and a drive
//! that hangs would hold up all others.

use crate::knobs::{Knob, Knobs};
use crate::settings::{is_same, Values};
use headstack_control::Progress;
use headstack_units::Span;
use rustix::io::Errno;
use std::io;
use std::sync::mpsc::{channel, Receiver, Sender, TryRecvError};
use std::sync::Arc;

/// What a worker is asked to do.
enum Job {
    /// Write these values.
    Write(Values),
    /// Look whether the files have these values.
    Check(Values),
}

/// What came of it.
#[derive(Debug)]
pub enum Outcome {
    /// All values are in force, as read back. The number of files that were written.
    Written(usize),
    /// A value is not in force.
    Failed(Failure),
    /// The values that somebody else has changed: the setting, and what is there now.
    Checked(Vec<(Knob, String)>),
}

/// Why a value is not in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// For messages: the setting, what was written, and the system's reason.
    pub text: String,
    /// Time after which it may be tried again.
    pub retry_after: Span,
}

impl Failure {
    /// As a policy's controller sees it.
    pub fn progress(&self) -> Progress {
        Progress::Failed { retry_after: self.retry_after }
    }
}

const SECOND: i64 = 1_000_000_000;

/// As `queue/scheduler` has it.
pub const NO_ELEVATOR: &str = "none";

/// Why `nr_requests` is left alone without an elevator: places are then tags of the adapter, and stay so few when an elevator is
/// back.
pub const WHY_ALONE: &str = "a change would resize the queues of every drive of its adapter";

/// The worker of one drive. It does its jobs one after another.
pub struct Worker {
    jobs: Sender<Job>,
    outcomes: Receiver<Outcome>,
    under_way: usize,
}

impl Worker {
    /// Starts it.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(knobs: Arc<dyn Knobs>) -> io::Result<Worker> {
        let (jobs, queue) = channel();
        let (results, outcomes) = channel();
        let thread = std::thread::Builder::new().name("drive".into());
        // It is not waited for: it may hang in the kernel for as long as the drive does.
        thread.spawn(move || {
            for job in queue {
                let outcome = match job {
                    Job::Write(values) => write(&*knobs, &values),
                    Job::Check(values) => check(&*knobs, &values),
                };
                if results.send(outcome).is_err() {
                    return;
                }
            }
        })?;
        Ok(Worker { jobs, outcomes, under_way: 0 })
    }

    /// Whether it has nothing to do.
    pub fn is_idle(&self) -> bool {
        self.under_way == 0
    }

    /// Begins to write values.
    pub fn write(&mut self, values: Values) {
        self.begin(Job::Write(values));
    }

    /// Begins to look at values.
    pub fn check(&mut self, values: Values) {
        self.begin(Job::Check(values));
    }

    fn begin(&mut self, job: Job) {
        // A worker that ended says so at the next look.
        let _ = self.jobs.send(job);
        self.under_way += 1;
    }

    /// What came of the oldest job, once it is done.
    pub fn outcome(&mut self) -> Option<Outcome> {
        if self.is_idle() {
            return None;
        }
        let outcome = match self.outcomes.try_recv() {
            Ok(outcome) => outcome,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => Outcome::Failed(Failure {
                text: "the thread that writes settings has ended".into(),
                retry_after: Span(30 * SECOND),
            }),
        };
        self.under_way -= 1;
        Some(outcome)
    }
}

/// Writes what differs, and reads it back.
pub fn write(knobs: &dyn Knobs, values: &Values) -> Outcome {
    if let Some(why) = knobs.held() {
        return Outcome::Failed(Failure { text: format!("left alone: {why}"), retry_after: Span(10 * SECOND) });
    }
    let (written, failures) = write_each(knobs, values);
    match failures.into_iter().next() {
        Some((_, failure)) => Outcome::Failed(failure),
        None => Outcome::Written(written),
    }
}

/// Writes each value by itself: one that is refused keeps no other from being written. The number of files written, and what failed, in
/// the order of writing.
pub fn write_each(knobs: &dyn Knobs, values: &Values) -> (usize, Vec<(Knob, Failure)>) {
    let (mut written, mut failures) = (0, Vec::new());
    for knob in Knob::ALL {
        let Some(value) = values.get(&knob) else { continue };
        match set(knobs, knob, value) {
            Ok(n) => written += n,
            Err(failure) => failures.push((knob, failure)),
        }
    }
    (written, failures)
}

/// Number of files written.
fn set(knobs: &dyn Knobs, knob: Knob, value: &str) -> Result<usize, Failure> {
    let failed = |e: io::Error| failure(knob, value, &e);
    let is = |text: Option<String>| text.is_some_and(|is| is_same(knob, &is, value));
    if is(knobs.read(knob).map_err(failed)?) {
        return Ok(0);
    }
    if knob == Knob::NrRequests && knobs.elevator().map_err(failed)? == NO_ELEVATOR {
        return Err(Failure {
            text: format!("{}: left alone without an elevator: {WHY_ALONE}", knob.name()),
            retry_after: Span(10 * SECOND),
        });
    }
    knobs.write(knob, value).map_err(failed)?;
    let now = knobs.read(knob).map_err(failed)?;
    if is(now.clone()) {
        return Ok(1);
    }
    let now = now.unwrap_or_else(|| "nothing".into());
    Err(Failure { text: format!("{}: wrote {value}, read back {now}", knob.name()), retry_after: Span(10 * SECOND) })
}

fn failure(knob: Knob, value: &str, e: &io::Error) -> Failure {
    let seconds = match Errno::from_io_error(e) {
        // Another change is in progress.
        Some(Errno::BUSY | Errno::AGAIN | Errno::INTR) => 1,
        Some(Errno::NODEV | Errno::NXIO | Errno::NOENT | Errno::NOTCONN | Errno::IO) => 5,
        _ => 30,
    };
    Failure { text: format!("{}: writing {value}: {e}", knob.name()), retry_after: Span(seconds * SECOND) }
}

fn check(knobs: &dyn Knobs, values: &Values) -> Outcome {
    let mut changed = Vec::new();
    for (knob, want) in values {
        // A file that cannot be read now says nothing.
        if let Ok(Some(is)) = knobs.read(*knob) {
            if !is_same(*knob, &is, want) {
                changed.push((*knob, is));
            }
        }
    }
    Outcome::Checked(changed)
}
