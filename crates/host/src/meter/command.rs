//! A program that prints watts: `ipmitool dcmi power reading`, `curl` at a Redfish service, `smartctl`, `sg_ses`.

use super::{Reading, Source};
use crate::config::Meter;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::process::{kill_process_group, Pid, Signal};
use serde_json::Value;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Longest output that is read.
const MOST_BYTES: usize = 1 << 20;

/// A program that is started for each reading.
pub struct Program {
    command: Vec<String>,
    after: Option<String>,
    json: Option<String>,
    timeout: Duration,
}

impl Program {
    /// As configured.
    pub fn new(meter: &Meter) -> Program {
        Program {
            command: meter.command.clone().unwrap_or_default(),
            after: meter.after.clone(),
            json: meter.json.clone(),
            timeout: Duration::from_nanos(meter.timeout.non_negative()),
        }
    }

    pub fn number(&self, text: &str) -> Reading {
        if let Some(pointer) = &self.json {
            let document: Value = serde_json::from_str(text).map_err(|e| format!("no JSON: {e}"))?;
            let value = document.pointer(pointer);
            let number = value.and_then(Value::as_f64);
            return number.ok_or_else(|| format!("{pointer}: got no number in {}", shown(text)));
        }
        let rest = match &self.after {
            None => text,
            Some(after) => text
                .split_once(after.as_str())
                .map(|(_, rest)| rest)
                .ok_or_else(|| format!("got no {after:?} in {}", shown(text)))?,
        };
        first_number(rest).ok_or_else(|| format!("got no number in {}", shown(text)))
    }
}

/// What a program prints, with these variables in its environment. At the time limit it ends, with all that it has started.
///
/// # Errors
/// A program that fails, or that takes too long, in words.
pub fn output(command: &[String], timeout: Duration, told: &[(&str, String)]) -> Result<String, String> {
    let (program, arguments) = command.split_first().ok_or("need a program")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .envs(told.iter().map(|(key, value)| (key, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    // A group of its own: what the program has started ends with it.
    command.process_group(0);
    let mut child = command.spawn().map_err(|e| format!("{program}: {e}"))?;
    let out = child.stdout.take().ok_or("it has no output")?;
    let end = Instant::now() + timeout;
    let done = read_until(out, end).and_then(|text| Ok((text, wait_until(&mut child, end)?)));
    match done {
        Ok((text, status)) if status.success() => Ok(text),
        Ok((_, status)) => Err(format!("{program}: {status}")),
        Err(e) => {
            // It has not been waited for, so its number is still its own.
            if let Some(group) = Pid::from_raw(child.id() as i32) {
                // It may have ended just now.
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = child.wait();
            match e.kind() {
                io::ErrorKind::TimedOut => Err(format!("{program}: took longer than {:?}", timeout)),
                _ => Err(format!("{program}: {e}")),
            }
        }
    }
}

/// All that comes until the output is closed, by the program and by what it has started.
///
/// # Errors
/// `TimedOut` at `end`; too much, or no text.
fn read_until(mut out: ChildStdout, end: Instant) -> io::Result<String> {
    rustix::io::ioctl_fionbio(&out, true)?;
    let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
    while text.len() < MOST_BYTES {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        let mut wanted = [PollFd::new(&out, PollFlags::IN)];
        match poll(&mut wanted, Some(&left)) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Err(rustix::io::Errno::INTR) => continue,
            ready => ready?,
        };
        match out.read(&mut buffer)? {
            0 => return String::from_utf8(text).map_err(io::Error::other),
            n => text.extend_from_slice(&buffer[..n]),
        }
    }
    Err(io::Error::other(format!("need at most {MOST_BYTES} bytes")))
}

/// # Errors
/// `TimedOut` at `end`; then it has not been waited for.
fn wait_until(child: &mut Child, end: Instant) -> io::Result<ExitStatus> {
    loop {
        match child.try_wait()? {
            Some(status) => return Ok(status),
            None if Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
            None => return Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

fn shown(text: &str) -> String {
    let short: String = text.trim().chars().take(60).collect();
    format!("{short:?}")
}

/// The first number of a text.
fn first_number(text: &str) -> Option<f64> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    let rest = &text[start..];
    let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    let number: f64 = rest[..end].trim_end_matches('.').parse().ok()?;
    let is_negative = text[..start].ends_with('-');
    Some(if is_negative { -number } else { number })
}

impl Source for Program {
    fn read(&mut self) -> Reading {
        self.number(&output(&self.command, self.timeout, &[])?)
    }
}
