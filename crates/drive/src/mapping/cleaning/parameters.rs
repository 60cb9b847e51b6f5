//! The table `[mapping.cleaning]` of a drive file.

use super::Cleaner;
use crate::bounds::bounded;
use crate::plugin::{find, Plugin};
use crate::spec::Params;
use headstack_engine::SpecError;
use headstack_units::Span;
use serde::Deserialize;

/// When and how a log is cleaned.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Cleaning {
    /// Which cylinder is emptied, and where its blocks go: the name of a file in `mapping/cleaning`; `none`: no
    /// cleaning.
    pub policy: String,
    /// Parameters of the policy, as its file documents.
    pub policy_parameters: Params,
    /// Cleaning starts when less than this share of the cylinders is empty. 0 to 1.
    pub low: f64,
    /// Cleaning stops when this share of the cylinders is empty. `low` to 1.
    pub high: f64,
    /// When less than this share of the cylinders is empty, cleaning does not wait for idle time. 0 to `low`.
    pub pressed: f64,
    /// When less than `pressed` is empty: reads and writes of cleaning after each pass that writes. 1 to 10,000.
    pub moves: u32,
    /// How long the mechanism must have been idle before a block is moved. 0 to 24 h.
    pub idle_after: Span,
    /// The arm of each unit that cleans; if absent, the first one that always writes.
    pub arm: Option<u32>,
}

impl Default for Cleaning {
    fn default() -> Self {
        Cleaning {
            policy: "none".into(),
            policy_parameters: Params::new(),
            low: 0.1,
            high: 0.2,
            pressed: 0.0,
            moves: 4,
            idle_after: Span::from_ms(10.0),
            arm: None,
        }
    }
}

impl Cleaning {
    /// Whether anything is cleaned.
    pub fn is_on(&self) -> bool {
        self.policy != "none"
    }
}

/// Reads the table; `table` may be empty.
///
/// # Errors
/// Unknown keys, and numbers outside their bounds, by key of `[mapping]`.
pub(crate) fn read(cleaning: &Cleaning) -> Result<(), SpecError> {
    let c = cleaning;
    let within = |e: SpecError| e.within("cleaning");
    bounded("low", c.low, 0.0..=1.0).map_err(within)?;
    bounded("high", c.high, c.low..=1.0).map_err(within)?;
    bounded("pressed", c.pressed, 0.0..=c.low).map_err(within)?;
    bounded("moves", c.moves, 1..=10_000).map_err(within)?;
    let most = Span(24 * 3600 * 1_000_000_000);
    bounded("idle_after", c.idle_after, Span::ZERO..=most).map_err(within)?;
    Ok(())
}

impl Cleaning {
    /// The policy.
    ///
    /// # Errors
    /// An unknown name, and parameters that do not fit, by dotted key.
    pub fn build(&self, cleaners: &[Plugin<dyn Cleaner>]) -> Result<Box<dyn Cleaner>, SpecError> {
        let plugin = find(cleaners, "mapping.cleaning.policy", &self.policy)?;
        let built = (plugin.build)(&self.policy_parameters);
        built.map_err(|e| e.within("mapping.cleaning.policy_parameters"))
    }

    /// The assembly of a unit that cleans. `writers` says for each assembly whether it always writes.
    ///
    /// # Errors
    /// An arm that the unit does not have or that does not always write.
    pub fn assembly(&self, writers: &[bool]) -> Result<usize, SpecError> {
        let Some(arm) = self.arm else {
            return Ok(first_writer(writers));
        };
        match writers.get(arm as usize) {
            Some(true) => Ok(arm as usize),
            _ => Err(SpecError::new(
                "mapping.cleaning.arm",
                arm,
                format!(
                    "an arm that always writes, of {} arms, counted from 0",
                    writers.len()
                ),
            )),
        }
    }
}

/// The first assembly that always writes, or else the first one.
pub(crate) fn first_writer(writers: &[bool]) -> usize {
    writers.iter().position(|w| *w).unwrap_or(0)
}
