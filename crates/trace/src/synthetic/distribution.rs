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
    /// One of `values`, each as often as its entry of `weights` says: fio's `bssplit`.
    Choice {
        /// The values, at most 16.
        values: Vec<Q>,
        /// How often each is drawn, in any unit; equally often if absent.
        #[param(default)]
        weights: Vec<f64>,
    },
}

/// Most values of a choice. They are kept in the sampler itself, which is copied where a phase begins.
const MOST_CHOICES: usize = 16;

/// Values with the share of draws up to each one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choices {
    number: usize,
    values: [f64; MOST_CHOICES],
    up_to: [f64; MOST_CHOICES],
}

impl Choices {
    fn new(values: &[f64], weights: &[f64]) -> Result<Choices, String> {
        let number = values.len();
        if !(1..=MOST_CHOICES).contains(&number) {
            return Err(format!("1 to {MOST_CHOICES} values"));
        }
        if !weights.is_empty() && weights.len() != number {
            return Err(format!("one weight for each of the {number} values"));
        }
        let total: f64 = if weights.is_empty() { number as f64 } else { weights.iter().sum() };
        if weights.iter().any(|w| *w < 0.0) || !total.is_finite() || total <= 0.0 {
            return Err("weights that are not negative, one of them above 0".to_string());
        }
        let mut made = Choices { number, values: [0.0; MOST_CHOICES], up_to: [1.0; MOST_CHOICES] };
        made.values[..number].copy_from_slice(values);
        let mut sum = 0.0;
        // The last one keeps 1: a sum of shares may fall short of it.
        for i in 0..number - 1 {
            sum += weights.get(i).copied().unwrap_or(1.0) / total;
            made.up_to[i] = sum;
        }
        Ok(made)
    }

    fn values(&self) -> &[f64] {
        &self.values[..self.number]
    }

    #[inline]
    fn draw<R: Rng>(&self, random: &mut R) -> f64 {
        let at: f64 = random.random();
        let found = self.up_to[..self.number].iter().position(|up| at < *up);
        self.values[found.unwrap_or(self.number - 1)]
    }
}

/// A checked distribution, from which values are drawn.
// It is copied when a phase begins, and read for each request: an indirection would cost more.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sampler {
    Fixed(f64),
    Exponential(f64, f64),
    Uniform(f64, f64),
    Normal(f64, f64),
    TwoValue(f64, f64, f64),
    Choice(Choices),
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
            Table::TwoValue { value, second, probability } => {
                Sampler::TwoValue(value.value(), second.value(), *probability)
            }
            Table::Choice { values, weights } => {
                let values: Vec<f64> = values.iter().map(|v| v.value()).collect();
                Sampler::Choice(Choices::new(&values, weights)?)
            }
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
            Sampler::Choice(ref choices) => choices.draw(random),
        }
    }

    /// A sampler for [`Sampler::draw_blocks`], whose blocks have the mean and the shares of this distribution of bytes.
    ///
    /// # Model
    /// Values and bounds are multiples of `block`; those from `min` to `max` are equally frequent. The exponential part
    /// above the least size (`base`, or one block) is geometric with the same mean: an exponential variable rounded down
    /// (Johnson, Kemp and Kotz, "Univariate Discrete Distributions", 3rd edition 2005, section 5.2).
    ///
    /// # Errors
    /// What is needed, if no sizes of whole blocks up to `most` bytes have that mean or those shares.
    pub(crate) fn in_blocks(self, block: f64, most: f64) -> Result<Sampler, String> {
        let hint = "hint: a smaller block, or rounding = \"up\"";
        let is_whole = |bytes: f64| bytes >= block && bytes % block == 0.0;
        let multiples = || format!("multiples of the block of {block} B, not 0; {hint}");
        // Beyond these, sizes that cannot be are so rare that the mean keeps within 0.2 %.
        let (made, longest) = match self {
            Sampler::Uniform(min, width) if is_whole(min) && width % block == 0.0 => {
                (Sampler::Uniform(min, width + block), min + width)
            }
            Sampler::Exponential(base, mean) if base == 0.0 || is_whole(base) => {
                let least = base.max(block);
                let rest = base + mean - least;
                if rest <= 0.0 {
                    return Err(format!("a mean above the block of {block} B; {hint}"));
                }
                let scale = block / (block / rest).ln_1p();
                (Sampler::Exponential(least, scale), least + 8.0 * mean)
            }
            Sampler::Normal(mean, deviation) => {
                if mean - block < 3.0 * deviation {
                    let need = "a mean three deviations above the block";
                    return Err(format!("{need} of {block} B; {hint}"));
                }
                (self, mean + 3.0 * deviation)
            }
            Sampler::Fixed(value) if is_whole(value) => (self, value),
            Sampler::TwoValue(value, second, _) if is_whole(value) && is_whole(second) => (self, value.max(second)),
            Sampler::Choice(ref c) if c.values().iter().copied().all(is_whole) => (self, self.reach()),
            _ => return Err(multiples()),
        };
        match longest <= most {
            true => Ok(made),
            false => Err(format!("sizes of up to {longest} B within the footprint")),
        }
    }

    /// A number of blocks, from a sampler that [`Sampler::in_blocks`] made: rounded down, but to one of both neighbours with
    /// the mean of the value for a normal distribution.
    #[inline]
    pub(crate) fn draw_blocks<R: Rng>(&self, block: f64, random: &mut R) -> u64 {
        let blocks = self.draw(random) / block;
        match self {
            Sampler::Normal(..) => (blocks + random.random::<f64>()) as u64,
            _ => blocks as u64,
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
            Sampler::Choice(ref c) => c.values().iter().copied().fold(f64::MIN, f64::max),
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
            Sampler::Choice(ref c) => c.values().iter().copied().fold(f64::MAX, f64::min),
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
