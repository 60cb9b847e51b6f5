//! Arguments that the programs of all front ends have.

use crate::counters::Counters;
use crate::emulate::Options;
use crate::open::{self, Kept};
use crate::power::PowerLosses;
use lexopt::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// Help for them.
pub const HELP: &str = "  \
  --allow-remote     lets other machines connect
  --store FILE       keeps the data in a sparse file; several devices in FILE-0, FILE-1 (default: in memory)
  --speed X          simulated seconds in a second (default 1; 0: as fast as possible)
  --busy             watches clock and sockets without sleeping while there is work: more exact, takes a processor
  --system NAME      the system of an experiment
  --seed N           replaces the experiment's seed
  --record FILE.csv  writes the requests as a trace, with their response times
  --control DIR      shows files as of /sys/block/DEVICE there (FUSE); changes and faults are written to them
  --metrics ADDRESS  serves metrics for Prometheus there: HOST:PORT, or unix:PATH
  --torn-writes      a loss of power loses what is not on the medium; see the file power_loss of the control directory
  --power-loss-at TIME       loses power at this simulated time, such as 2s; may be repeated
  --power-loss-at-write N    loses power when the N-th write or flush is at the drive; may be repeated
  --power-loss-seed N        chooses what survives (default 0)
  --after-power-loss WORD    disconnect clients (the default), or continue: what is outstanding fails
  --drives DIR       a folder of drive files, searched first; also those of $HEADSTACK_DRIVES
  --exit-with-parent ends with the process that started it
  -h, --help         prints this
  -V, --version      prints the version
";

/// The arguments so far.
#[derive(Debug)]
pub struct Arguments {
    /// Other machines may connect.
    pub remote: bool,
    /// Ends with the process that started it.
    pub exits_with_parent: bool,
    target: Option<String>,
    system: Option<String>,
    seed: Option<u64>,
    record: Option<PathBuf>,
    store: Kept,
    speed: f64,
    busy: bool,
    control: Option<PathBuf>,
    metrics: Option<String>,
    torn: bool,
    at: Vec<String>,
    at_write: Vec<u64>,
    loss_seed: u64,
    afterwards: String,
    drive_dirs: Vec<PathBuf>,
}

/// The value of an option.
///
/// # Errors
/// There is none.
pub fn value(arguments: &mut lexopt::Parser) -> Result<OsString, String> {
    arguments.value().map_err(said)
}

/// The value of an option, as text.
///
/// # Errors
/// There is none, or it is no text.
pub fn text(arguments: &mut lexopt::Parser) -> Result<String, String> {
    value(arguments)?.string().map_err(said)
}

fn said(e: lexopt::Error) -> String {
    e.to_string()
}

impl Arguments {
    /// Without arguments.
    pub fn new() -> Arguments {
        Arguments {
            remote: false,
            exits_with_parent: false,
            target: None,
            system: None,
            seed: None,
            record: None,
            store: Kept::Memory,
            speed: 1.0,
            busy: false,
            control: None,
            metrics: None,
            torn: false,
            at: Vec::new(),
            at_write: Vec::new(),
            loss_seed: 0,
            afterwards: "disconnect".into(),
            drive_dirs: Vec::new(),
        }
    }

    /// Takes an argument that is for all; `name` is that of an option with two dashes.
    ///
    /// # Errors
    /// An option that nobody knows, or a value that does not fit.
    pub fn take(&mut self, name: &str, from: &mut lexopt::Parser) -> Result<(), String> {
        match name {
            "exit-with-parent" => self.exits_with_parent = true,
            "allow-remote" => self.remote = true,
            "store" => self.store = Kept::File(value(from)?.into()),
            "speed" => self.speed = value(from)?.parse().map_err(said)?,
            "busy" => self.busy = true,
            "system" => self.system = Some(text(from)?),
            "seed" => self.seed = Some(value(from)?.parse().map_err(said)?),
            "record" => self.record = Some(value(from)?.into()),
            "control" => self.control = Some(value(from)?.into()),
            "metrics" => self.metrics = Some(text(from)?),
            "torn-writes" => self.torn = true,
            "power-loss-at" => self.at.push(text(from)?),
            "power-loss-at-write" => self.at_write.push(value(from)?.parse().map_err(said)?),
            "power-loss-seed" => self.loss_seed = value(from)?.parse().map_err(said)?,
            "after-power-loss" => self.afterwards = text(from)?,
            "drives" => self.drive_dirs.push(value(from)?.into()),
            other => return Err(said(Long(other).unexpected())),
        }
        Ok(())
    }

    /// Takes the argument that has no option: what is emulated.
    ///
    /// # Errors
    /// There is one already, or it is no text.
    pub fn take_target(&mut self, given: OsString) -> Result<(), String> {
        match self.target {
            None => self.target = Some(given.string().map_err(said)?),
            Some(_) => return Err(said(Value(given).unexpected())),
        }
        Ok(())
    }

    /// What they ask for.
    ///
    /// # Errors
    /// No drive, or losses of power that cannot be.
    pub fn finish(mut self) -> Result<Options, String> {
        let more = std::env::var_os("HEADSTACK_DRIVES").unwrap_or_default();
        self.drive_dirs.extend(std::env::split_paths(&more));
        let losses = PowerLosses::read(self.torn, &self.at, &self.at_write, self.loss_seed, &self.afterwards);
        let remote = self.remote;
        let missing = "got no drive, need DRIVE or EXPERIMENT; see --help";
        Ok(Options {
            live: open::Options {
                target: self.target.ok_or(missing)?,
                system: self.system,
                drive_dirs: self.drive_dirs,
                seed: self.seed,
                store: self.store,
                speed: self.speed,
                busy: self.busy,
                record: self.record,
                losses: losses.map_err(|e| e.to_string())?,
            },
            control: self.control,
            metrics: self.metrics.map(|at| (at, remote)),
        })
    }
}

impl Default for Arguments {
    fn default() -> Arguments {
        Arguments::new()
    }
}

/// What was done, in one line, and a second one if the machine was too slow.
pub fn summary(counters: &Counters, clients: u64) -> String {
    let us = |ns: u64| ns as f64 / 1e3;
    let late = |q: f64| us(counters.lateness_ns.value_at_quantile(q));
    let mut text = format!(
        "{} requests of {clients} clients; replies late by {:.0} us (half of them), {:.0} us (99.9 %), {:.0} us at most",
        counters.requests(),
        late(0.5),
        late(0.999),
        us(counters.lateness_ns.max())
    );
    if let Some(warning) = counters.warning() {
        text.push_str(&format!("\nwarning: {warning}"));
    }
    text
}
