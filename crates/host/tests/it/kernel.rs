//! A drive whose settings behave as the kernel's (block/blk-sysfs.c, drivers/scsi/scsi_sysfs.c): fewer than 4 places become
//! 4, too many are refused, and a change waits until the queue is empty.

use headstack_host::knobs::{Claim, Knob, Knobs};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What happens to the next writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Answer {
    /// They take effect.
    Take,
    /// They fail with this error.
    Fail(Errno),
    /// They take effect after this time.
    Late(Duration),
    /// They seem to succeed, and change nothing.
    Ignore,
}

#[derive(Debug)]
pub struct State {
    pub values: BTreeMap<Knob, String>,
    pub elevator: String,
    pub held: Option<String>,
    pub is_present: bool,
    pub model: String,
    pub serial: Option<String>,
    pub trouble: Option<String>,
    pub answer: Answer,
    pub writes: Vec<(Knob, String)>,
}

fn usual() -> BTreeMap<Knob, String> {
    let values = [(Knob::NrRequests, "64"), (Knob::QueueDepth, "32"), (Knob::ReadExpire, "500")];
    values.map(|(k, v)| (k, v.to_string())).into()
}

/// A drive.
#[derive(Debug, Clone)]
pub struct Kernel(pub Arc<Mutex<State>>);

impl Kernel {
    pub fn new() -> Kernel {
        Kernel(Arc::new(Mutex::new(State {
            values: usual(),
            elevator: "mq-deadline".into(),
            held: None,
            is_present: true,
            model: "MODEL-1".into(),
            serial: None,
            trouble: None,
            answer: Answer::Take,
            writes: Vec::new(),
        })))
    }

    pub fn set<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        change(&mut self.0.lock().expect("no test panics while it holds the lock"))
    }

    /// Takes it away; or brings it back, with the settings of a new device.
    pub fn unplug_or_return(&self) {
        self.set(|s| {
            s.is_present = !s.is_present;
            s.values = usual();
        });
    }

    pub fn value(&self, knob: Knob) -> String {
        self.set(|s| s.values[&knob].clone())
    }
}

impl Knobs for Kernel {
    fn read(&self, knob: Knob) -> io::Result<Option<String>> {
        self.set(|s| if s.is_present { Ok(s.values.get(&knob).cloned()) } else { Err(Errno::NODEV.into()) })
    }

    fn write(&self, knob: Knob, value: &str) -> io::Result<()> {
        let answer = self.set(|s| {
            s.writes.push((knob, value.into()));
            s.answer
        });
        match answer {
            Answer::Fail(e) => return Err(e.into()),
            Answer::Ignore => return Ok(()),
            Answer::Late(time) => std::thread::sleep(time),
            Answer::Take => {}
        }
        let number: u32 = value.parse().map_err(|_| Errno::INVAL)?;
        self.set(|s| {
            let number = match knob {
                Knob::NrRequests if number > 2048 => return Err(Errno::INVAL.into()),
                Knob::NrRequests => number.max(4),
                Knob::QueueDepth if !(1..=32).contains(&number) => return Err(Errno::INVAL.into()),
                _ => number,
            };
            s.values.insert(knob, number.to_string());
            Ok(())
        })
    }

    fn elevator(&self) -> io::Result<String> {
        self.set(|s| Ok(s.elevator.clone()))
    }

    fn held(&self) -> Option<String> {
        self.set(|s| s.held.clone())
    }

    fn is_present(&self) -> bool {
        self.set(|s| s.is_present)
    }

    fn model(&self) -> String {
        self.set(|s| s.model.clone())
    }

    fn serial(&self) -> Option<String> {
        self.set(|s| s.serial.clone())
    }

    fn trouble(&self) -> Option<String> {
        self.set(|s| s.trouble.clone())
    }

    fn claim(&self) -> io::Result<Claim> {
        Ok(Claim::default())
    }

    fn stat(&self) -> io::Result<String> {
        Ok("0 0 0 0 0 0 0 0 0 0 0".into())
    }
}
