//! One drive of a group: its settings before, what was written, and who else writes.

use crate::config::{self, OnConflict};
use crate::knobs::{Claim, Knob, Knobs};
use crate::originals::Originals;
use crate::settings::{device_of, read_all, values_of, Bounds, Values};
use crate::worker::{Failure, Outcome, Worker, NO_ELEVATOR, WHY_ALONE};
use headstack_control::{Command, Device, Held, Progress};
use headstack_units::Span;
use std::io;
use std::sync::Arc;
use tracing::{debug, info, warn};

/// A drive that is there.
pub struct Drive {
    /// As in the configuration.
    pub name: String,
    /// Its tier.
    pub tier: u32,
    /// As policies see it.
    pub device: Device,
    /// Its settings.
    pub knobs: Arc<dyn Knobs>,
    /// Who reads and writes them.
    pub worker: Worker,
    /// Its values before anything was written.
    pub originals: Values,
    /// The values that it was told to have.
    target: Option<Values>,
    /// What became of its last command.
    pub progress: Progress,
    /// Values that are being compared.
    comparing: Option<Values>,
    /// What that has shown.
    held: Held,
    on_conflict: OnConflict,
    /// Whether somebody else has it.
    pub is_yielded: bool,
    /// Files written.
    pub writes: u64,
    /// Settings that somebody else had changed.
    pub conflicts: u64,
    /// Commands that it did not take.
    pub failures: u64,
    /// Why it did not take its last command.
    pub failure: Option<String>,
    /// The state of its device, unless it works.
    trouble: Option<String>,
    serial: Option<String>,
    /// None in a dry run.
    _claim: Option<Claim>,
}

impl Drive {
    /// The drive with these settings, whose values of the time before may be known already. With `apply` it is this process's
    /// alone.
    ///
    /// # Errors
    /// Text that says what cannot be read.
    pub fn open(
        config: &config::Drive,
        on_conflict: OnConflict,
        knobs: Arc<dyn Knobs>,
        originals: &Originals,
        apply: bool,
    ) -> Result<Drive, String> {
        let of_system = |e: io::Error| e.to_string();
        let claim = apply.then(|| knobs.claim()).transpose();
        let claim = claim.map_err(of_system)?;
        let elevator = knobs.elevator().map_err(of_system)?;
        let mut values = read_all(&*knobs).map_err(of_system)?;
        // Settings that the daemon itself has left behind are not those of the time before.
        let serial = knobs.serial();
        let kept = originals.of_same(config.name(), serial.as_ref());
        values.extend(kept.cloned().unwrap_or_default());
        let pair = |range: &Option<Vec<u32>>| range.as_ref().map(|r| (r[0], r[1]));
        let bounds = Bounds { nr_requests: pair(&config.nr_requests), queue_depth: pair(&config.queue_depth) };
        let device = device_of(&values, &elevator, bounds)?;
        if elevator == NO_ELEVATOR {
            warn!(drive = config.name(), "nr_requests stays as it is without an elevator: {WHY_ALONE}");
        }
        let worker = Worker::start(knobs.clone()).map_err(of_system)?;
        Ok(Drive {
            name: config.name().into(),
            tier: config.tier,
            device,
            knobs,
            worker,
            originals: values,
            target: None,
            progress: Progress::Done,
            comparing: None,
            held: Held::Unknown,
            on_conflict,
            is_yielded: false,
            writes: 0,
            conflicts: 0,
            failures: 0,
            failure: None,
            trouble: None,
            serial,
            _claim: claim,
        })
    }

    /// Why its device does not work, in words.
    pub fn trouble(&self) -> Option<String> {
        Some(format!("its device is {}", self.trouble.as_ref()?))
    }

    /// Looks in which state its device is.
    pub fn look(&mut self) {
        let trouble = self.knobs.trouble();
        if let Some(state) = trouble.as_ref().filter(|_| self.trouble != trouble) {
            warn!(drive = self.name, state, "its device does not work");
        }
        self.trouble = trouble;
    }

    /// Whether a write is under way.
    pub fn is_pending(&self) -> bool {
        self.progress == Progress::Pending
    }

    /// The access to its files.
    pub fn knobs(&self) -> Arc<dyn Knobs> {
        self.knobs.clone()
    }

    /// Gives it a command. Without `apply` nothing is written.
    pub fn command(&mut self, command: &Command, originals: &mut Originals, apply: bool) -> Progress {
        let values = values_of(command, &self.originals);
        if self.target.as_ref() != Some(&values) {
            let (drive, to) = (&self.name, shown(&values));
            debug!(drive, to, "told");
        }
        if self.is_yielded {
            return self.failed(Failure {
                text: "left alone: somebody else sets it".into(),
                retry_after: Span(60_000_000_000),
            });
        }
        self.target = Some(values.clone());
        if !apply {
            return Progress::Done;
        }
        if let Err(e) = originals.keep(&self.name, self.serial.as_ref(), &self.originals) {
            return self.failed(Failure {
                text: format!("its settings could not be saved: {e}"),
                retry_after: Span(5_000_000_000),
            });
        }
        self.worker.write(values);
        self.held = Held::Unknown;
        self.progress = Progress::Pending;
        Progress::Pending
    }

    /// Looks what became of its command, and what was read back.
    pub fn collect(&mut self) {
        while let Some(outcome) = self.worker.outcome() {
            match outcome {
                Outcome::Written(n) => {
                    self.writes += n as u64;
                    self.progress = Progress::Done;
                    if self.failure.take().is_some() {
                        info!(drive = self.name, "settings are in force again");
                    }
                }
                Outcome::Failed(failure) => {
                    self.failed(failure);
                }
                Outcome::Checked(changed) => self.compared(changed),
            }
        }
    }

    fn failed(&mut self, failure: Failure) -> Progress {
        self.failures += 1;
        // The same reason again and again is said once.
        if self.failure.as_ref() != Some(&failure.text) {
            warn!(drive = self.name, "not in force: {}", failure.text);
        }
        self.progress = failure.progress();
        self.failure = Some(failure.text);
        self.progress
    }

    fn compared(&mut self, changed: Vec<(Knob, String)>) {
        if self.comparing.take() != self.target || self.is_pending() {
            // It was told something else meanwhile.
            return;
        }
        self.held = if changed.is_empty() { Held::Same } else { Held::Other };
        self.conflicts += changed.len() as u64;
        for (knob, is) in &changed {
            let (drive, setting) = (&self.name, knob.name());
            warn!(drive, setting, is, "somebody else has changed it");
        }
        self.is_yielded = !changed.is_empty() && self.on_conflict == OnConflict::Yield;
    }

    /// Whether it still has its last command, as far as it was read back since the last call. Begins to read it back if nobody
    /// does.
    pub fn read(&mut self) -> Held {
        if self.is_yielded {
            return Held::Other;
        }
        let held = std::mem::replace(&mut self.held, Held::Unknown);
        if held == Held::Unknown && self.comparing.is_none() && self.worker.is_idle() {
            if let Some(target) = self.target.clone() {
                self.comparing = Some(target.clone());
                self.worker.check(target);
            }
        }
        held
    }
}

/// Values for people.
pub(crate) fn shown(values: &Values) -> String {
    let each = values.iter().map(|(k, v)| format!("{}={v}", k.name()));
    each.collect::<Vec<_>>().join(" ")
}
