//! Power models: the power of a drive in each state.
//!
//! # Contract
//! - Every value is finite and not negative. No active state draws less than idle, and standby no more than
//!   idle. A deeper low-power condition draws no more than the previous one.
//! - Values depend only on the drive's description and its [`Shape`]. So energy is the sum over states of
//!   time times power.
//!
//! A drive may also say how the energy of a seek depends on its distance: see [`seek_energy`].
//!
//! How an idle drive enters and leaves low-power conditions is described in [`conditions`].
//!
//! To add one: write `crates/drive/src/power/NAME.rs`, add it to the list as [`plugins!`] says. A program adds its own
//! in [`Models`](crate::Models).

pub mod conditions;
pub mod seek_energy;

use crate::bounds::{MOST_PAUSE, MOST_SURFACES};
use crate::spec::{DriveSpec, DEFAULT_POWER_MODEL};
use headstack_schema::{fill, misspelt, plugins, Params, Plugins, SpecError, Table, TableSchema};
use headstack_units::{Length, Rpm, Span, Watts};
use serde::Serialize;
use serde_json::Value;
use std::ops::RangeInclusive;

/// The size of a drive, on which power and cost depend besides their own tables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// Speed of every stack.
    pub rotation_speed: Rpm,
    /// Arm assemblies of the whole drive.
    pub arms: u32,
    /// Disk stacks, each with a spindle of its own.
    pub stacks: u32,
    /// Platters of one stack.
    pub platters: u32,
}

impl Shape {
    /// The shape of the described drive.
    pub fn of(spec: &DriveSpec) -> Shape {
        Shape {
            rotation_speed: spec.geometry.rotation_speed,
            arms: spec.dash.stacks * spec.dash.arms,
            stacks: spec.dash.stacks,
            platters: spec.geometry.surfaces.div_ceil(2),
        }
    }
}

/// Total power of a drive by state, in watts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StateWatts {
    /// Spinning, heads on track, no command.
    pub idle: f64,
    /// One arm moves; without the energy by distance, where a drive has one. Each further arm in motion adds
    /// `seek - idle`.
    pub seek: f64,
    /// One arm waits for its sector.
    pub rotation: f64,
    /// One arm transfers.
    pub transfer: f64,
    /// Spun down.
    pub standby: f64,
    /// Power of the low-power conditions and of the spin-up, if given.
    #[serde(flatten)]
    pub low_power: LowPower,
}

/// Power of low-power conditions, and the spin-up, if the description gives them.
///
/// The names are those of the T10 and T13 power conditions: A is the shallowest idle.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct LowPower {
    /// Idle with part of the electronics off, in watts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_a: Option<f64>,
    /// Heads unloaded as well, in watts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_b: Option<f64>,
    /// Lower spindle speed as well, in watts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_c: Option<f64>,
    /// Spun down, with only the link active, in watts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sleep: Option<f64>,
    /// Peak power while the spindle starts, in watts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spin_up: Option<f64>,
    /// Time from a command to ready, out of standby, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spin_up_s: Option<f64>,
}

impl StateWatts {
    /// Mean power in watts for these shares of time in seek, rotation and transfer; the rest is idle. Arms that
    /// move at once add up: 4 with four of them.
    pub fn mix(&self, seek: f64, rotation: f64, transfer: f64) -> f64 {
        self.idle
            + seek * (self.seek - self.idle)
            + rotation * (self.rotation - self.idle)
            + transfer * (self.transfer - self.idle)
    }
}

/// A power model; the contract is in this module's description.
pub trait PowerModel: Send + Sync {
    /// Power by state of a drive of this shape.
    fn watts(&self, shape: &Shape) -> StateWatts;
}

/// The key of a model's name.
const KEY: &str = "model";

// `Conditions::new` and `SeekEnergy::read` read the keys beside the parameters.
plugins! { dyn PowerModel = "power model", beside &[KEY, conditions::KEY, seek_energy::KEY]; modes: Parameters, rails: Currents }

/// The tables that stand in `[power]` beside the parameters of every model.
#[derive(Table)]
#[allow(dead_code)]
struct Beside {
    /// The low-power conditions of an idle drive: when they are entered, and what they take.
    conditions: Option<conditions::Tables>,
    /// The energy of a seek by its distance.
    seek_energy: Option<seek_energy::Constants>,
}

/// The models with all keys of `[power]`.
pub(crate) fn tables(models: &Plugins<dyn PowerModel>) -> Vec<(String, TableSchema)> {
    let mut tables = models.schemas();
    for (_, table) in &mut tables {
        table.fields.extend(Beside::fields());
    }
    tables
}

/// A drive's `power` table with all that it leaves out.
pub(crate) fn filled(params: &Params, models: &Plugins<dyn PowerModel>) -> Params {
    let name = params.get(KEY).and_then(Value::as_str);
    let name = name.unwrap_or(DEFAULT_POWER_MODEL);
    let mut filled = models.filled(name, params);
    filled.entry(KEY).or_insert_with(|| name.into());
    if let Some(Value::Object(table)) = filled.get_mut(conditions::KEY) {
        let all = conditions::parameters(table);
        fill(table, &all);
    }
    filled
}

/// Power by state from a drive's `power` table, whose model is one of `models`: `modes` if none is named.
///
/// # Errors
/// Parameters that do not fit the model, and values that break the contract.
pub fn build(params: &Params, shape: &Shape, models: &Plugins<dyn PowerModel>) -> Result<StateWatts, SpecError> {
    let watts = of_model(params, shape, models)?;
    check(&watts)?;
    Ok(watts)
}

/// As [`build`], for another shape than that of the description. Given powers of low-power conditions hold
/// for the description's shape; here each is limited to that of the previous condition.
///
/// # Errors
/// As [`build`].
pub fn build_bounded(
    params: &Params,
    shape: &Shape,
    models: &Plugins<dyn PowerModel>,
) -> Result<StateWatts, SpecError> {
    let mut watts = of_model(params, shape, models)?;
    let mut most = watts.idle;
    let low = &mut watts.low_power;
    let steps = [&mut low.idle_a, &mut low.idle_b, &mut low.idle_c];
    let steps = steps.into_iter().filter_map(Option::as_mut);
    for step in steps.chain([&mut watts.standby]).chain(low.sleep.as_mut()) {
        *step = step.min(most);
        most = *step;
    }
    low.spin_up = low.spin_up.map(|w| w.max(watts.idle));
    check(&watts)?;
    Ok(watts)
}

fn of_model(params: &Params, shape: &Shape, models: &Plugins<dyn PowerModel>) -> Result<StateWatts, SpecError> {
    let usual = !params.contains_key(KEY) && misspelt(params, KEY, &[]).is_none();
    let model = match usual {
        true => models.find("power.model", DEFAULT_POWER_MODEL)?.build(params, ()).map_err(|e| e.within("power"))?,
        false => models.build("power", KEY, params, ())?,
    };
    Ok(model.watts(shape))
}

/// Checks the contract.
fn check(watts: &StateWatts) -> Result<(), SpecError> {
    // Rounding may make an adder of zero slightly negative.
    const HAIR: f64 = 1e-9;
    let outside =
        |state: &str, w: f64, bound: String| Err(SpecError::new("power", format!("{w} W for {state}"), bound));
    for (state, w, least) in [
        ("idle", watts.idle, 0.0),
        ("seek", watts.seek, watts.idle),
        ("rotation", watts.rotation, watts.idle),
        ("transfer", watts.transfer, watts.idle),
        ("standby", watts.standby, 0.0),
        ("sleep", watts.low_power.sleep.unwrap_or_default(), 0.0),
        ("spin_up", watts.low_power.spin_up.unwrap_or(watts.idle), watts.idle),
    ] {
        if !(w >= least - HAIR && w <= MOST_WATTS) {
            return outside(state, w, format!("{least} to {MOST_WATTS} W"));
        }
    }
    let low = &watts.low_power;
    let steps = [
        ("idle_a", low.idle_a),
        ("idle_b", low.idle_b),
        ("idle_c", low.idle_c),
        ("standby", Some(watts.standby)),
        ("sleep", low.sleep),
    ];
    let mut above = ("idle", watts.idle);
    for (state, w) in steps.into_iter().filter_map(|(s, w)| Some((s, w?))) {
        if w.is_nan() || w > above.1 + HAIR {
            return outside(state, w, format!("at most the {} W of {}", above.1, above.0));
        }
        above = (state, w);
    }
    Ok(())
}

/// Powers of the states, as their models find them. All are in watts.
struct Adders {
    /// Of the spindles, at the size for which powers hold.
    spindle: f64,
    scale: Spindle,
    /// Of the rest while idle.
    electronics: f64,
    /// Of each arm assembly after the first `arms`.
    per_extra_arm: f64,
    arms: u32,
    /// Added to idle, first one and then the other.
    seek: [f64; 2],
    rotation: f64,
    transfer: f64,
    standby: f64,
    low_power: LowPower,
}

impl PowerModel for Adders {
    fn watts(&self, shape: &Shape) -> StateWatts {
        let idle = self.spindle * self.scale.ratio(shape)
            + self.electronics
            + self.per_extra_arm * f64::from(shape.arms.saturating_sub(self.arms));
        StateWatts {
            idle,
            seek: idle + self.seek[0] + self.seek[1],
            rotation: idle + self.rotation,
            transfer: idle + self.transfer,
            standby: self.standby,
            low_power: self.low_power,
        }
    }
}

/// How the power of a spindle depends on speed, diameter and platters.
///
/// Air drag grows a little more slowly than the cube of speed. 2.8 is the usual exponent in thermal models of
/// disk drives, with 4.6 for the diameter of the platters (Sato et al., IEEE Trans. CHMT 13(4), 1990). Power
/// is proportional to the number of platters and of stacks.
#[derive(Clone, Copy, Table)]
struct Spindle {
    /// Speed for which the given powers hold.
    #[param(default = REFERENCE_SPEED, range = SPEEDS)]
    rotation_speed: Rpm,
    /// Diameter of the drive's platters; absent: the diameter for which the given powers hold.
    #[param(range = DIAMETERS)]
    platter_diameter: Option<Length>,
    /// Diameter for which the given powers hold; 3.7 in for the profiles of `modes`.
    #[param(range = DIAMETERS)]
    reference_diameter: Option<Length>,
    /// Number of platters for which the given powers hold; absent: the drive's own number.
    #[param(range = 1..=MOST_SURFACES)]
    platters: Option<u32>,
}

impl Spindle {
    /// The same, if each diameter has one to compare with.
    fn checked(self) -> Result<Spindle, SpecError> {
        if self.platter_diameter.is_some() && self.reference_diameter.is_none() {
            let need = "the diameter for which the spindle's power holds";
            return Err(SpecError::new("reference_diameter", "nothing", need));
        }
        Ok(self)
    }

    /// Power of all spindles of a drive of this shape, divided by the given power.
    fn ratio(&self, shape: &Shape) -> f64 {
        let diameters = self.platter_diameter.zip(self.reference_diameter);
        (shape.rotation_speed.0 / self.rotation_speed.0).powf(2.8)
            * diameters.map_or(1.0, |(own, given)| own.0 / given.0).powf(4.6)
            * self.platters.map_or(1.0, |n| f64::from(shape.platters) / f64::from(n))
            * f64::from(shape.stacks)
    }
}

/// The speed for which powers hold if none is given.
const REFERENCE_SPEED: Rpm = Rpm(7200.0);

/// Bounds of speeds and diameters for which powers hold.
const SPEEDS: RangeInclusive<Rpm> = Rpm(1.0)..=Rpm(1e6);
const DIAMETERS: RangeInclusive<Length> = Length(1e-3)..=Length(2.0);

/// Largest power of a state, a part or a rail, in watts.
const MOST_WATTS: f64 = 1e5;
const POWERS: RangeInclusive<Watts> = Watts(0.0)..=Watts(MOST_WATTS);

/// Bounds of pauses.
const PAUSES: RangeInclusive<Span> = Span::ZERO..=MOST_PAUSE;

/// The power of an optional key in watts.
fn power(watts: Option<Watts>) -> Option<f64> {
    watts.map(|w| w.0)
}

/// The time of an optional key in seconds.
fn seconds(span: Option<Span>) -> Option<f64> {
    span.map(Span::as_secs_f64)
}
