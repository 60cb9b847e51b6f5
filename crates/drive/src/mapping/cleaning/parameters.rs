//! The table `[mapping.cleaning]` of a drive file.

use super::Cleaner;
use crate::bounds::{bounded, MOST_WAIT};
use headstack_schema::{Kind, Params, Plugins, SpecError, Table, TableSchema};
use headstack_units::Span;

/// The name that stands for no cleaning.
const NONE: &str = "none";

/// When and how a log is cleaned.
#[derive(Debug, Clone, PartialEq, Table)]
#[table(defaults, check = Cleaning::check_order)]
#[doc(hidden)]
pub struct Cleaning {
    /// Which cylinder is emptied, and where its blocks go; `none`: no cleaning.
    #[param(default = NONE.into(), kind = Kind::Name("cleaning policy"))]
    pub policy: String,
    /// Parameters of the policy.
    #[param(kind = Kind::Parameters("cleaning policy"))]
    pub policy_parameters: Params,
    /// Cleaning starts when less than this share of the cylinders is empty.
    #[param(default = 0.1, range = 0.0..=1.0)]
    pub low: f64,
    /// Cleaning stops when this share of the cylinders is empty, `low` or more.
    #[param(default = 0.2, range = 0.0..=1.0)]
    pub high: f64,
    /// Cleaning is *pressed* when less than this share of the cylinders is empty, `low` or less: it no longer waits for
    /// idle time.
    #[param(range = 0.0..=1.0)]
    pub pressed: f64,
    /// When pressed: reads and writes of cleaning after each pass that writes.
    #[param(default = 4, range = 1..=10_000)]
    pub moves: u32,
    /// How long the mechanism must have been idle before a block is moved.
    #[param(default = Span::from_ms(10.0), range = Span::ZERO..=MOST_WAIT)]
    pub idle_after: Span,
    /// The arm of each unit that cleans, one that always writes; the first such arm if absent.
    pub arm: Option<u32>,
}

/// The policies that `policy` can name, with their parameters.
pub(crate) fn tables(policies: &Plugins<dyn Cleaner>) -> Vec<(String, TableSchema)> {
    let none = (NONE.to_string(), TableSchema::default());
    [vec![none], policies.schemas()].concat()
}

impl Cleaning {
    /// Whether anything is cleaned.
    pub fn is_on(&self) -> bool {
        self.policy != NONE
    }
}

impl Cleaning {
    fn check_order(&self) -> Result<(), SpecError> {
        bounded("high", self.high, self.low..=1.0)?;
        bounded("pressed", self.pressed, 0.0..=self.low)?;
        Ok(())
    }

    /// The policy.
    ///
    /// # Errors
    /// An unknown name, and parameters that do not fit, by dotted key.
    pub fn build(&self, cleaners: &Plugins<dyn Cleaner>) -> Result<Box<dyn Cleaner>, SpecError> {
        cleaners.build_named("mapping.cleaning.policy", &self.policy, &self.policy_parameters, ())
    }

    /// The assembly of a unit that cleans. `writers` says for each assembly whether it always writes.
    ///
    /// # Errors
    /// An arm that the unit does not have or that does not always write.
    pub fn assembly(&self, writers: &[bool]) -> Result<usize, SpecError> {
        let Some(arm) = self.arm else { return Ok(first_writer(writers)) };
        match writers.get(arm as usize) {
            Some(true) => Ok(arm as usize),
            _ => Err(SpecError::new(
                "mapping.cleaning.arm",
                arm,
                format!("an arm that always writes, of {} arms, counted from 0", writers.len()),
            )),
        }
    }
}

/// The first assembly that always writes, or else the first one.
pub(crate) fn first_writer(writers: &[bool]) -> usize {
    writers.iter().position(|w| *w).unwrap_or(0)
}
