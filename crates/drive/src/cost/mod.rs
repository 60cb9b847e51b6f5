//! Cost models: what a drive costs in dollars.
//!
//! # Contract
//! - Costs are finite and not negative; the low end is at most the high end.
//! - [`build`] rounds them to 1e-9 dollars.
//! - A cost depends on the drive's description only.
//!
//! To add one: write `crates/drive/src/cost/NAME.rs`, add it to the list as [`plugins!`] says. A program adds its own
//! in [`Models`](crate::Models).

use crate::power::Shape;
use crate::spec::{ArmShare, DriveSpec};
use headstack_schema::{plugins, Params, Plugins, SpecError};
use serde::Serialize;

/// A range of costs in dollars.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CostRange {
    /// Lower end, in dollars.
    pub low: f64,
    /// Upper end, in dollars.
    pub high: f64,
}

impl CostRange {
    /// The cost of `n` drives or pieces.
    pub fn times(&self, n: f64) -> CostRange {
        CostRange { low: self.low * n, high: self.high * n }.rounded()
    }

    /// Rounded to 1e-9 dollars, so that sums of cents are shown exactly.
    fn rounded(&self) -> CostRange {
        let round = |usd: f64| (usd * 1e9).round() / 1e9;
        CostRange { low: round(self.low), high: round(self.high) }
    }
}

/// The parts of a drive that cost models count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// Disk stacks, each with a spindle motor.
    pub stacks: u32,
    /// Platters of all stacks.
    pub platters: u32,
    /// Arm assemblies of the whole drive, each with a voice coil motor.
    pub arms: u32,
    /// Read/write heads of all assemblies.
    pub heads: u32,
    /// Capacity in 512-byte blocks, if the description states it.
    pub capacity_blocks: Option<u64>,
}

impl Parts {
    /// The parts of the described drive. Every assembly has heads on each surface that it serves.
    ///
    /// # Errors
    /// A number outside its bounds.
    pub fn of(spec: &DriveSpec) -> Result<Parts, SpecError> {
        spec.check()?;
        let shape = Shape::of(spec);
        let heads_of_surface = match spec.parallelism.arm_share {
            ArmShare::All => spec.dash.arms,
            ArmShare::OwnShare => 1,
        } * spec.dash.heads;
        Ok(Parts {
            stacks: shape.stacks,
            platters: shape.stacks * shape.platters,
            arms: shape.arms,
            heads: shape.stacks * spec.geometry.surfaces * heads_of_surface,
            capacity_blocks: spec.geometry.capacity_blocks.map(|blocks| blocks * u64::from(shape.stacks)),
        })
    }
}

/// A cost model; the contract is in this module's description.
pub trait CostModel: Send + Sync {
    /// Cost of a drive of these parts.
    ///
    /// # Errors
    /// The model needs parts that the description does not state.
    fn cost(&self, parts: &Parts) -> Result<CostRange, SpecError>;
}

/// The key of a model's name.
const KEY: &str = "model";

plugins! { dyn CostModel = "cost model", beside &[KEY]; components: Prices, price: Price }

/// The cost of a drive from its `cost` table, whose model is one of `models`; `None` without a table.
///
/// # Errors
/// A table without `model`, parameters that do not fit the model, or a cost that breaks the contract.
pub fn build(params: &Params, parts: &Parts, models: &Plugins<dyn CostModel>) -> Result<Option<CostRange>, SpecError> {
    if params.is_empty() {
        return Ok(None);
    }
    let whole = |e: SpecError| e.within("cost");
    let cost = models.build("cost", KEY, params, ())?.cost(parts).map_err(whole)?.rounded();
    if !(cost.low >= 0.0 && cost.low <= cost.high && cost.high.is_finite()) {
        return Err(SpecError::new(
            "cost",
            format!("{} to {} USD", cost.low, cost.high),
            "a finite range, zero or more, low end first",
        ));
    }
    Ok(Some(cost))
}

/// Largest cost of a drive, a component or a megabyte, in dollars.
const MOST_USD: f64 = 1e9;

/// Refuses a `[low, high]` that is not a range of dollars.
fn check_range(key: &str, range: [f64; 2]) -> Result<(), SpecError> {
    if range[0] >= 0.0 && range[0] <= range[1] && range[1] <= MOST_USD {
        Ok(())
    } else {
        let got = format!("[{}, {}]", range[0], range[1]);
        Err(SpecError::new(key, got, format!("[low, high] in USD, 0 to {MOST_USD}, low end first")))
    }
}
