//! Power models: what a drive draws in each state.
//!
//! # Contract
//! - Every figure is finite and not negative; no active state draws less than idle, standby no
//!   more than idle.
//! - Figures depend on the drive's description only, so energy is the sum of time in a state times
//!   its power.
//!
//! To add one: write `crates/drive/src/power/NAME.rs` with a `PLUGIN`, add `NAME` to the list.

use crate::error::SpecError;
use crate::plugin::{find, plugins};
use crate::spec::Params;
use headstack_units::{Rpm, Watts};

/// Total power of a drive by state, in watts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StateWatts {
    /// Spinning, heads on track, no command.
    pub idle: f64,
    /// One arm moves. Each further arm in motion adds `seek - idle`.
    pub seek: f64,
    /// One arm waits for its sector.
    pub rotation: f64,
    /// One arm reads or writes.
    pub transfer: f64,
    /// Spun down.
    pub standby: f64,
}

impl StateWatts {
    /// The power of a mix of modes: shares of time in seek, rotation and transfer, the rest idle.
    pub fn mix(&self, seek: f64, rotation: f64, transfer: f64) -> f64 {
        self.idle
            + seek * (self.seek - self.idle)
            + rotation * (self.rotation - self.idle)
            + transfer * (self.transfer - self.idle)
    }

    /// The power with `arms` arms in motion at once.
    pub fn with_arms_moving(&self, arms: u32) -> f64 {
        self.idle + f64::from(arms) * (self.seek - self.idle)
    }
}

/// What a drive draws in each state.
pub trait PowerModel: Send + Sync {
    /// Power by state of a drive that turns at `rotation_speed` and has `arms` arm assemblies.
    fn watts(&self, rotation_speed: Rpm, arms: u32) -> StateWatts;
}

plugins! { dyn PowerModel: modes, rails }

/// Power by state from a drive's `power` table; without `model` it is `modes`.
///
/// # Errors
/// Parameters that do not fit the model, and figures that break the contract above.
pub fn build(params: &Params, rotation_speed: Rpm, arms: u32) -> Result<StateWatts, SpecError> {
    let name = match params.get("model") {
        None => "modes",
        Some(value) => value.as_str().ok_or_else(|| {
            SpecError::new("power.model", value, "the name of a power model as text")
        })?,
    };
    let model = (find(PLUGINS, "power.model", name)?.build)(params).map_err(|mut e| {
        e.key = format!("power.{}", e.key);
        e
    })?;
    let watts = model.watts(rotation_speed, arms);
    let bounds = [
        ("idle", watts.idle, 0.0),
        ("seek", watts.seek, watts.idle),
        ("rotation", watts.rotation, watts.idle),
        ("transfer", watts.transfer, watts.idle),
        ("standby", watts.standby, 0.0),
    ];
    for (state, w, least) in bounds {
        // Rounding may put an adder of zero a hair below it.
        if !w.is_finite() || w < least - 1e-9 {
            return Err(SpecError::new(
                "power",
                format!("{w} W for {state}"),
                format!("a finite power of at least {least} W"),
            ));
        }
    }
    if watts.standby > watts.idle {
        return Err(SpecError::new(
            "power",
            format!("{} W for standby", watts.standby),
            format!("at most the {} W of idle", watts.idle),
        ));
    }
    Ok(watts)
}

/// Share of the spindle's power at `reference` speed that it draws at `speed`.
///
/// Air drag grows a little slower than the cube of speed; 2.8 is the usual exponent of the thermal
/// models of disk drives (with 4.6 for the diameter of the platters).
fn spindle_ratio(speed: Rpm, reference: Rpm) -> f64 {
    (speed.0 / reference.0).powf(2.8)
}

/// The reference speed of power figures, where none is given.
fn reference_speed() -> Rpm {
    Rpm(7200.0)
}

/// Refuses a speed that nothing can be scaled from.
fn check_speed(speed: Rpm) -> Result<(), SpecError> {
    if speed.0 > 0.0 && speed.0.is_finite() {
        Ok(())
    } else {
        Err(SpecError::new("rotation_speed", speed, "a positive speed"))
    }
}

/// The watts of an optional key.
fn or_zero(w: Option<Watts>) -> f64 {
    w.map_or(0.0, |w| w.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::contract;

    /// Power by state from TOML.
    pub(super) fn watts(toml: &str, rpm: f64, arms: u32) -> Result<StateWatts, SpecError> {
        build(&toml::from_str(toml).expect("TOML"), Rpm(rpm), arms)
    }

    #[test]
    fn files_and_list_agree() {
        contract::folder_matches_list("power", PLUGINS);
    }

    #[test]
    fn unknown_keys_are_refused() {
        contract::refuses_unknown_keys(PLUGINS);
        let error = watts("modell = 1", 7200.0, 1).unwrap_err();
        assert!(error.to_string().contains("modell"), "{error}");
    }

    #[test]
    fn ordered_and_finite_at_all_speeds() {
        for plugin in PLUGINS {
            let mut table = contract::example(plugin);
            table.insert("model".into(), plugin.name.into());
            for rpm in [4200.0, 5400.0, 7200.0, 15000.0] {
                for arms in 1..=4 {
                    let w = build(&table, Rpm(rpm), arms).expect(plugin.name);
                    assert!(0.0 <= w.standby && w.standby <= w.idle && w.idle.is_finite());
                    for active in [w.seek, w.rotation, w.transfer] {
                        assert!(active >= w.idle && active.is_finite(), "{}", plugin.name);
                    }
                }
            }
        }
    }
}
