//! Seek models: seek time as a function of the distance in cylinders.
//!
//! # Contract
//! - `seek(0)` is zero; for every other distance the time is finite and positive.
//! - Seek times need *not* grow with distance: 9 of 11 measured tables decrease somewhere.
//! - The same distance always takes the same time.
//!
//! A model is evaluated once per distance when a drive is built ([`SeekTable`]), so its evaluation may be
//! slow.
//!
//! To add one: write `crates/drive/src/seek/NAME.rs`, add it to the list as [`plugins!`] says. A program adds its own
//! in [`Models`](crate::Models).

use crate::compressed_seek_table::CompressedSeekTable;
use headstack_schema::{plugins, wrong_kind, Params, Plugins, SpecError};
use headstack_units::{parse_with_units, Span};
use serde_json::Value;
use std::ops::RangeInclusive;

/// A seek model; the contract is in this module's description.
pub trait SeekModel: Send + Sync {
    /// Seek time over `distance` cylinders, with settling for a read.
    fn seek(&self, distance: u32) -> Span;
}

/// The key of a model's name.
pub(crate) const KEY: &str = "model";

plugins! {
    dyn SeekModel = "seek model", beside &[KEY];
    bang_bang: BangBang, constant: Constant, hpl: Hpl, linear: Linear, ng: Ng, table: Points, three_point: ThreePoint
}

/// A seek model evaluated for every distance of a drive.
#[derive(Debug, Clone)]
pub struct SeekTable {
    ns: CompressedSeekTable,
}

impl SeekTable {
    /// Evaluates the model in `params`, one of `models`, for all distances below `cylinders`, and adds
    /// `constant` to every seek of one cylinder or more.
    ///
    /// # Errors
    /// Parameters that do not fit the model, and times that are not positive or exceed 4 s.
    pub fn build(
        params: &Params,
        cylinders: u32,
        constant: Span,
        models: &Plugins<dyn SeekModel>,
    ) -> Result<SeekTable, SpecError> {
        let model = models.build("seek", KEY, params, ())?;
        let mut ns = Vec::with_capacity(cylinders.max(1) as usize);
        ns.push(0);
        for distance in 1..cylinders.max(1) {
            let span = Span(model.seek(distance).0.saturating_add(constant.0));
            // A fitted constant may make the shortest seeks negative: these become zero.
            let t = if constant.0 < 0 { span.0.max(1) } else { span.0 };
            if t <= 0 || t > u32::MAX as i64 {
                return Err(SpecError::new(
                    "seek",
                    format!("{span} for {distance} cylinders"),
                    "a positive time of at most 4 s",
                ));
            }
            ns.push(t as u32);
        }
        Ok(SeekTable::of(&ns))
    }

    fn of(ns: &[u32]) -> SeekTable {
        SeekTable { ns: CompressedSeekTable::new(ns) }
    }

    /// The table with every time multiplied by `factor`, from 0 to 4; times are limited to 4 s.
    pub fn scaled(self, factor: f64) -> SeekTable {
        if factor == 1.0 {
            return self;
        }
        let scale = |t: u32| (f64::from(t) * factor).round() as u32;
        SeekTable::of(&self.ns.iter().map(scale).collect::<Vec<_>>())
    }

    /// The table by distance in radial steps, so many per cylinder: each distance takes the time of the nearest
    /// whole number of cylinders, of two equally near ones the shorter, but of one at least.
    pub(crate) fn in_steps(self, per_cylinder: u32) -> SeekTable {
        if per_cylinder <= 1 {
            return self;
        }
        let steps = per_cylinder as usize;
        let last = self.ns.len() - 1;
        let time = |step: usize| match step {
            0 => 0,
            step => self.ns.at(((step + (steps - 1) / 2) / steps).max(1).min(last)),
        };
        SeekTable::of(&(0..self.ns.len() * steps).map(time).collect::<Vec<_>>())
    }

    /// Number of radial positions: cylinders, or the layout's steps.
    pub fn positions(&self) -> u32 {
        self.ns.len() as u32
    }

    /// Seek time over a distance between radial positions. Larger distances than the longest have its time.
    #[inline]
    pub fn time(&self, distance: u32) -> Span {
        Span(i64::from(self.ns.at(distance as usize)))
    }
}

/// Declares a type of numbers with a unit that only models of this folder have. They stay floats where whole
/// nanoseconds would be too coarse, as for slopes that are multiplied by many cylinders.
macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $unit:literal, $what:literal, $units:literal, $factors:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
        pub struct $name(pub f64);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                write!(f, "{} {}", self.0, $unit)
            }
        }

        impl headstack_schema::Parameter for $name {
            fn kind() -> headstack_schema::Kind {
                headstack_schema::Kind::Form {
                    need: concat!($what, " as text with its unit: ", $units),
                    example: concat!("1 ", $unit),
                }
            }
            fn read(value: &serde_json::Value) -> Result<Self, headstack_schema::SpecError> {
                $crate::seek::with_unit(value, &Self::kind().need(), &$factors).map($name)
            }
            fn write(&self) -> serde_json::Value {
                self.to_string().into()
            }
        }

        impl headstack_schema::Scalar for $name {}
    };
}
pub(crate) use quantity;

/// A number with a unit, converted to SI units.
fn with_unit(value: &Value, need: &str, units: &[(&str, f64)]) -> Result<f64, SpecError> {
    let Value::String(text) = value else { return Err(wrong_kind(value, need)) };
    let listed = need.rsplit(": ").next().unwrap_or(need);
    parse_with_units(text, units, listed).map_err(|e| SpecError::new("", format!("{:?}", e.got), e.need))
}

quantity! {
    /// A coefficient of a time.
    Milliseconds, "ms", "a length of time", "one of s, ms, us, ns",
    [("s", 1e3), ("ms", 1.0), ("us", 1e-3), ("ns", 1e-6)]
}

/// The shortest and the longest seek time allowed; the longest fits the 32 bits of the table.
const LEAST_SEEK: Span = Span(1);
const MOST_SEEK: Span = Span(4_000_000_000);

/// The largest coefficient of a time: the longest seek.
const MOST_COEFFICIENT: Milliseconds = Milliseconds(4e3);

/// Bounds of a density, wider than any disk needs.
const TRACKS_PER_INCH: RangeInclusive<f64> = 1e-6..=1e9;
