//! Cost models: what a drive costs in dollars.
//!
//! # Contract
//! - Costs are finite and not negative; the low end is at most the high end.
//! - [`build`] rounds them to 1e-9 dollars.
//! - A cost depends on the drive's description only.
//!
//! To add one: write `crates/drive/src/cost/NAME.rs` with a function `plugin`, add `NAME` to the list. A program adds its own
//! in [`Models`](crate::Models).

use crate::plugin::{name_in, plugins, ModelKind, Plugins};
use crate::power::Shape;
use crate::spec::{ArmShare, DriveSpec};
use headstack_schema::{Params, SpecError};
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
    /// The middle of the range in dollars, which the ISCA 2008 paper uses for comparisons.
    pub fn mid(&self) -> f64 {
        (self.low + self.high) / 2.0
    }

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

impl ModelKind for dyn CostModel {
    const NAME: &'static str = "cost model";
    const BESIDE: &'static [&'static str] = &[KEY];
    type For = ();
}

/// The key of a model's name.
const KEY: &str = "model";

plugins! { dyn CostModel: components, price }

/// The cost of a drive from its `cost` table, whose model is one of `models`; `None` without a table.
///
/// # Errors
/// A table without `model`, parameters that do not fit the model, or a cost that breaks the contract.
pub fn build(params: &Params, parts: &Parts, models: &Plugins<dyn CostModel>) -> Result<Option<CostRange>, SpecError> {
    if params.is_empty() {
        return Ok(None);
    }
    let whole = |e: SpecError| e.within("cost");
    let name = name_in(params, KEY, <dyn CostModel>::NAME).map_err(whole)?;
    let plugin = models.find("cost.model", name)?;
    let model = plugin.build(params, &()).map_err(whole)?;
    let cost = model.cost(parts).map_err(whole)?.rounded();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::contract;

    /// A four-platter drive with one head per surface and arm.
    pub(super) fn parts(arms: u32) -> Parts {
        Parts { stacks: 1, platters: 4, arms, heads: 8 * arms, capacity_blocks: None }
    }

    /// Cost from TOML.
    pub(super) fn cost(toml: &str, parts: &Parts) -> Result<CostRange, SpecError> {
        let cost = build(&toml::from_str(toml).expect("TOML"), parts, &PLUGINS)?;
        Ok(cost.expect("a table"))
    }

    #[test]
    fn files_and_list_agree() {
        contract::folder_matches_list("cost", &PLUGINS);
    }

    #[test]
    fn unknown_keys_and_models_are_refused() {
        contract::refuses_unknown_keys(&PLUGINS);
        let error = cost("model = \"component\"", &parts(1)).unwrap_err().to_string();
        assert!(error.contains("did you mean \"components\"?"), "{error}");
        assert_eq!(cost("usd = [1, 2]", &parts(1)).unwrap_err().key, "cost.model");
        assert_eq!(build(&Params::new(), &parts(1), &PLUGINS), Ok(None));
    }

    /// Four platters: all assemblies on all surfaces; each on its own half; two stacks; two heads per arm.
    #[test]
    fn parts_follow_from_the_description() {
        let of = |dash: &str, more: &str| {
            let text = format!(
                "name = \"x\"\ndash = \"{dash}\"\nseek = {{ model = \"constant\", time = \"1 ms\" }}\n{more}\n\
                 [geometry]\nrotation_speed = \"7200 rpm\"\nsurfaces = 8\ncylinders = 10\n\
                 zones = [{{ first_cylinder = 0, last_cylinder = 9, sectors_per_track = 9 }}]"
            );
            let parts = Parts::of(&toml::from_str(&text).expect("a drive")).expect("parts");
            [parts.stacks, parts.platters, parts.arms, parts.heads]
        };
        assert_eq!(of("D1A1S1H1", ""), [1, 4, 1, 8]);
        assert_eq!(of("D1A4S1H1", ""), [1, 4, 4, 32]);
        assert_eq!(of("D1A2S1H1", "parallelism.arm_share = \"own-share\""), [1, 4, 2, 8]);
        assert_eq!(of("D2A2S1H2", ""), [2, 8, 4, 64]);
    }

    #[test]
    fn ranges_are_ordered_for_all_parts() {
        for plugin in PLUGINS.iter() {
            let mut table = contract::example(plugin);
            table.insert("model".into(), plugin.name().into());
            for (stacks, platters, arms, heads) in [(1, 4, 1, 8), (1, 9, 2, 18), (3, 3, 6, 36)] {
                let parts = Parts { stacks, platters, arms, heads, capacity_blocks: Some(1 << 30) };
                let cost = build(&table, &parts, &PLUGINS).unwrap().unwrap_or_else(|| panic!("{}", plugin.name()));
                assert!(0.0 < cost.low && cost.low <= cost.mid() && cost.mid() <= cost.high);
                assert_eq!(build(&table, &parts, &PLUGINS), Ok(Some(cost)));
            }
        }
    }
}
