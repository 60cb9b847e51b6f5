//! Distributions of sizes and times, as TOML tables.

use headstack_schema::{by_kind, Kind, Parameter, SpecError};
use headstack_units::{Bytes, Span};
use rand::Rng;
use rand_distr::{Distribution as _, Exp1, StandardNormal};
use serde_json::Value;

/// The quantity of a distribution, a type with a unit.
pub trait Quantity: Copy + Parameter {
    /// Its value in bytes or nanoseconds.
    fn value(self) -> f64;
}
impl Quantity for Bytes {
    fn value(self) -> f64 {
        self.0 as f64
    }
}
impl Quantity for Span {
    fn value(self) -> f64 {
        self.0 as f64
    }
}

/// One value, or a table that names a distribution.
#[derive(Debug, Clone, PartialEq)]
pub enum Distribution<Q: Quantity> {
    /// A constant.
    Value(Q),
    /// A distribution.
    Table(Table<Q>),
}

impl<Q: Quantity> Parameter for Distribution<Q> {
    fn kind() -> Kind {
        Kind::OneOf(vec![Q::kind(), Table::<Q>::kind()])
    }

    fn read(value: &Value) -> Result<Self, SpecError> {
        let need = "one value with its unit, such as \"4 KiB\" or \"2 ms\", or a table with its \
                    distribution";
        by_kind(value, need, |value| match value {
            Value::String(_) => Some(Q::read(value).map(Distribution::Value)),
            Value::Object(_) => Some(Table::read(value).map(Distribution::Table)),
            _ => None,
        })
    }

    fn write(&self) -> Value {
        match self {
            Distribution::Value(value) => value.write(),
            Distribution::Table(table) => table.write(),
        }
    }

    fn check(&self) -> Result<(), SpecError> {
        match self {
            Distribution::Value(_) => Ok(()),
            Distribution::Table(table) => table.check(),
        }
    }
}

/// The distributions of DiskSim.
#[derive(Debug, Clone, PartialEq, headstack_schema::Table)]
#[table(tag = "distribution")]
pub enum Table<Q: Quantity> {
    /// Always `value`.
    Fixed {
        /// The value.
        value: Q,
    },
    /// `base` plus an exponentially distributed part of mean `mean`.
    Exponential {
        /// Mean of the exponential part.
        mean: Q,
        /// The constant part.
        base: Option<Q>,
    },
    /// Evenly from `min` to `max`.
    Uniform {
        /// The least.
        min: Q,
        /// The most.
        max: Q,
    },
    /// Gaussian; `deviation` is the standard deviation, as in DiskSim 4.0's code.
    Normal {
        /// The mean.
        mean: Q,
        /// The standard deviation.
        deviation: Q,
    },
    /// `second` with probability `probability`, else `value`.
    TwoValue {
        /// The usual value.
        value: Q,
        /// The other value.
        second: Q,
        /// The probability of the other value.
        #[param(range = 0.0..=1.0)]
        probability: f64,
    },
}

/// A checked distribution, from which values are drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sampler {
    Fixed(f64),
    Exponential(f64, f64),
    Uniform(f64, f64),
    Normal(f64, f64),
    TwoValue(f64, f64, f64),
}

impl<Q: Quantity> Distribution<Q> {
    /// Checks the parameters.
    pub(crate) fn sampler(&self) -> Result<Sampler, String> {
        let table = match self {
            Distribution::Value(value) => return Ok(Sampler::Fixed(value.value())),
            Distribution::Table(table) => table,
        };
        Ok(match table {
            Table::Fixed { value } => Sampler::Fixed(value.value()),
            Table::Exponential { mean, base } => {
                if mean.value() < 0.0 {
                    return Err("a mean that is not negative".to_string());
                }
                Sampler::Exponential(base.map_or(0.0, Q::value), mean.value())
            }
            Table::Uniform { min, max } => {
                if max.value() < min.value() {
                    return Err("max not below min".to_string());
                }
                Sampler::Uniform(min.value(), max.value() - min.value())
            }
            Table::Normal { mean, deviation } => {
                if deviation.value() < 0.0 {
                    return Err("a deviation that is not negative".to_string());
                }
                Sampler::Normal(mean.value(), deviation.value())
            }
            Table::TwoValue {
                value,
                second,
                probability,
            } => Sampler::TwoValue(value.value(), second.value(), *probability),
        })
    }
}

impl Sampler {
    #[inline]
    pub(crate) fn draw<R: Rng>(&self, random: &mut R) -> f64 {
        match *self {
            Sampler::Fixed(value) => value,
            Sampler::Exponential(base, mean) => {
                let unit: f64 = Exp1.sample(random);
                base + mean * unit
            }
            Sampler::Uniform(min, width) => min + width * random.random::<f64>(),
            Sampler::Normal(mean, deviation) => {
                let unit: f64 = StandardNormal.sample(random);
                mean + deviation * unit
            }
            Sampler::TwoValue(value, second, probability) => {
                if random.random::<f64>() < probability {
                    second
                } else {
                    value
                }
            }
        }
    }
    /// An upper bound of likely values, for checks.
    pub(crate) fn reach(&self) -> f64 {
        match *self {
            Sampler::Fixed(value) => value,
            Sampler::Exponential(base, mean) => base + mean,
            Sampler::Uniform(min, width) => min + width,
            Sampler::Normal(mean, deviation) => mean + deviation,
            Sampler::TwoValue(value, second, _) => value.max(second),
        }
    }
    /// The least value of [`Sampler::draw_positive`].
    pub(crate) fn least_positive(&self) -> f64 {
        let least = match *self {
            Sampler::Fixed(value) => value,
            Sampler::Exponential(base, _) => base,
            Sampler::Uniform(min, _) => min,
            Sampler::Normal(..) => 0.0,
            Sampler::TwoValue(value, second, _) => value.min(second),
        };
        least.max(0.0)
    }
    /// Draws again while the value is negative (DiskSim's rule for times).
    #[inline]
    pub(crate) fn draw_positive<R: Rng>(&self, random: &mut R) -> f64 {
        for _ in 0..1000 {
            let value = self.draw(random);
            if value >= 0.0 {
                return value;
            }
        }
        0.0
    }
}
