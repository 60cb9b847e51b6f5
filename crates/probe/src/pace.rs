//! The loop that issues commands to a real target in time, and notes when they are done.
//!
//! # Model
//! Between commands the thread sleeps until shortly before the next one is due. While it waits for an answer it looks
//! again and again, and lets others run in between: to be woken takes longer. A thread in real time sleeps instead,
//! because it is woken at once, and because Linux stops one that never sleeps.

use crate::batch::{Answers, Batch, Issuer, Status};
use crate::clock::{is_real_time, Clock};
use crate::scsi::Reply;
use crate::{lost, Described, ProbeError, Target};
use std::fs::File;
use std::io::Write as _;

/// What commands go to.
pub(crate) trait Link {
    /// Gets ready for a batch.
    fn begin(&mut self, batch: &Batch);
    /// Whether one more command can be sent now.
    fn has_room(&self) -> bool;
    /// Sends a command of the batch.
    fn send(&mut self, batch: &Batch, i: usize) -> Result<(), ProbeError>;
    /// The place of a command that has ended, and how; `None` if none has by now.
    fn take(&mut self) -> Result<Option<(usize, Status)>, ProbeError>;
    /// Sleeps until something may have arrived, at most so long.
    fn wait(&mut self, ns: u64) -> Result<(), ProbeError>;
    /// As [`Target::fetch`].
    fn fetch(&mut self, lba: u64, blocks: u32) -> Result<Option<Vec<u8>>, ProbeError>;
    /// As [`Target::command`].
    fn command(&mut self, _: [u8; 16], _: &[u8], _: u32) -> Result<Option<Reply>, ProbeError> {
        Ok(None)
    }
}

/// A real target.
pub(crate) struct Real<L> {
    link: L,
    clock: Clock,
    described: Described,
    /// While it is open.
    _awake: Option<File>,
}

/// Linux's file that keeps processors from sleeping so deep that it takes longer than 0 us to wake them
/// (`Documentation/power/pm_qos_interface.rst`); none without the right to.
fn awake() -> Option<File> {
    let mut file = File::options().write(true).open("/dev/cpu_dma_latency").ok()?;
    file.write_all(&0i32.to_ne_bytes()).ok()?;
    Some(file)
}

impl<L> Real<L> {
    /// A target that was opened now.
    pub fn new(link: L, described: Described) -> Real<L> {
        let mut described = described;
        if !is_real_time() {
            let caveat = "the host may be late: this program is not scheduled in real time (chrt -f 10)";
            described.caveats.push(caveat.into());
        }
        Real { link, clock: Clock::new(), described, _awake: awake() }
    }
}

impl<L: Link + Send> Target for Real<L> {
    fn described(&self) -> &Described {
        &self.described
    }

    fn now_ns(&self) -> u64 {
        self.clock.now()
    }

    fn sleep(&mut self, ns: u64, goes_on: &mut dyn FnMut() -> bool) -> Result<(), ProbeError> {
        sleep(ns, goes_on)
    }

    fn run(&mut self, batch: &Batch, goes_on: &mut dyn FnMut() -> bool) -> Result<Answers, ProbeError> {
        run(&mut self.link, &self.clock, batch, goes_on)
    }

    fn fetch(&mut self, lba: u64, blocks: u32) -> Result<Option<Vec<u8>>, ProbeError> {
        self.link.fetch(lba, blocks)
    }

    fn command(&mut self, cdb: [u8; 16], data: &[u8], bytes: u32) -> Result<Option<Reply>, ProbeError> {
        self.link.command(cdb, data, bytes)
    }
}

/// Longest sleep, ns: somebody may want the end.
const TICK: u64 = 50_000_000;
/// So long before a command is due, nobody sleeps any more, ns.
const AWAKE: u64 = 150_000;
/// Without an answer for so long, the target is gone, ns.
const GONE: u64 = 60_000_000_000;

/// Issues a batch, and waits for all of it.
///
/// # Errors
/// The target is gone, or `goes_on` said no.
fn run(
    link: &mut dyn Link,
    clock: &Clock,
    batch: &Batch,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<Answers, ProbeError> {
    let sleeps = is_real_time() || std::thread::available_parallelism().is_ok_and(|n| n.get() == 1);
    link.begin(batch);
    let mut issuer = Issuer::new(batch, clock.now());
    let (mut asked, mut answered) = (clock.now(), clock.now());
    while !issuer.is_over() {
        while issuer.due().is_some_and(|due| due <= clock.now()) && link.has_room() {
            let i = issuer.issue(clock.now());
            link.send(batch, i)?;
        }
        if let Some((i, status)) = link.take()? {
            answered = clock.now();
            issuer.done(i, answered, status);
            continue;
        }
        let now = clock.now();
        if now > asked + TICK {
            asked = now;
            if !goes_on() {
                return Err(ProbeError::Stopped);
            }
        }
        let due = issuer.due().unwrap_or(u64::MAX);
        if issuer.outstanding == 0 && due > now {
            answered = now;
        } else if now > answered.saturating_add(GONE) {
            return Err(lost("no answer for 60 s", "one that answers"));
        }
        let left = due.saturating_sub(now).min(TICK);
        if left > AWAKE && (sleeps || issuer.outstanding == 0) {
            link.wait(left - AWAKE)?;
        } else {
            std::thread::yield_now();
        }
    }
    Ok(issuer.answers())
}

/// Waits for a real target.
///
/// # Errors
/// `goes_on` said no.
fn sleep(ns: u64, goes_on: &mut dyn FnMut() -> bool) -> Result<(), ProbeError> {
    let clock = Clock::new();
    loop {
        let left = ns.saturating_sub(clock.now());
        if left == 0 {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_nanos(left.min(TICK)));
        if !goes_on() {
            return Err(ProbeError::Stopped);
        }
    }
}
