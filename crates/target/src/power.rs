//! Losses of power on purpose: when, and what follows.

use crate::TargetError;
use headstack_units::{Span, Time};

/// What clients notice of a loss of power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Afterwards {
    /// Their connections end; they may connect again at once, and find what has survived.
    #[default]
    Disconnect,
    /// What is outstanding fails; they go on with what has survived.
    Continue,
}

/// When power is lost, and what is drawn then.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PowerLosses {
    /// Simulated times.
    pub at: Vec<Time>,
    /// Numbers of writes and flushes, counted as they arrive: power is lost when this one is at the drive.
    pub at_write: Vec<u64>,
    /// Chooses what survives.
    pub seed: u64,
    /// What clients notice.
    pub afterwards: Afterwards,
    /// Whether power may be lost at all, also at another time that somebody asks for. Without it no history is kept.
    pub is_possible: bool,
}

impl PowerLosses {
    /// Reads the arguments of programs; with any of the times, power may be lost.
    ///
    /// # Errors
    /// A text that is no time, or a negative one.
    pub fn read(
        torn_writes: bool,
        at: &[String],
        at_write: &[u64],
        seed: u64,
        afterwards: Option<&str>,
    ) -> Result<PowerLosses, TargetError> {
        let time = |text: &String| match text.parse::<Span>() {
            Ok(span) if span >= Span::ZERO => Ok(Time::ZERO + span),
            Ok(_) => Err(format!("power loss: got {text:?}, need 0 s or more")),
            Err(e) => Err(format!("power loss: {e}")),
        };
        let at: Result<Vec<Time>, String> = at.iter().map(time).collect();
        let at = at.map_err(TargetError::Argument)?;
        let afterwards = match afterwards {
            None | Some("disconnect") => Afterwards::Disconnect,
            Some("continue") => Afterwards::Continue,
            Some(other) => {
                let text = format!("after power loss: got {other:?}, need disconnect or continue");
                return Err(TargetError::Argument(text));
            }
        };
        Ok(PowerLosses {
            is_possible: torn_writes || !at.is_empty() || !at_write.is_empty(),
            at,
            at_write: at_write.to_vec(),
            seed,
            afterwards,
        })
    }

    /// The next time of the list, in which times are removed as they pass.
    pub fn due(&self) -> Time {
        self.at.iter().copied().min().unwrap_or(Time::NEVER)
    }

    /// Removes the times until `now`; whether there was one.
    pub fn take(&mut self, now: Time) -> bool {
        let before = self.at.len();
        self.at.retain(|at| *at > now);
        self.at.len() < before
    }
}
