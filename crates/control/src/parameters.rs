//! Parameters of policies: read key by key, each with its default and its bounds.

use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt::Display;
use std::ops::RangeInclusive;
use thiserror::Error;

/// The table of a policy's parameters, read from a TOML or JSON file.
pub type Parameters = Map<String, Value>;

/// A parameter that cannot be used: its key, what was got and what is needed.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{key}: got {got}, need {need}")]
pub struct ParameterError {
    /// The key, dotted inside tables, for example `map[3].power`.
    pub key: String,
    /// The value in the table.
    pub got: String,
    /// The bound or the alternatives.
    pub need: String,
}

impl ParameterError {
    /// A new error.
    pub fn new(key: impl Into<String>, got: impl Display, need: impl Into<String>) -> Self {
        ParameterError {
            key: key.into(),
            got: got.to_string(),
            need: need.into(),
        }
    }

    /// The error with `place` before its key.
    #[must_use]
    pub(crate) fn within(mut self, place: &str) -> Self {
        self.key = format!("{place}.{}", self.key);
        self
    }
}

/// `; did you mean "…"?` if one of `known` is near `got`.
pub(crate) fn did_you_mean<'a>(got: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(got, name), name))
        .min_by_key(|(distance, _)| *distance);
    match near {
        Some((distance, name)) if distance <= 1 + got.chars().count() / 4 => {
            format!("; did you mean \"{name}\"?")
        }
        _ => String::new(),
    }
}

/// A parameter that a policy reads from its table.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// The key.
    pub key: &'static str,
    /// The value in force: that of the table, or the default. `None` if there is neither.
    pub value: Option<Value>,
    /// The value if the table lacks the key. `None` if there is none, or if each drive has another one.
    pub default: Option<Value>,
    /// The bounds, or the alternatives.
    pub bounds: String,
}

/// Reads a table of parameters and records what it read. After the policy is built, keys that were not read are
/// refused.
pub struct Reader<'a> {
    table: &'a Parameters,
    read: Vec<Parameter>,
}

impl<'a> Reader<'a> {
    /// A reader of this table.
    pub fn new(table: &'a Parameters) -> Self {
        Reader {
            table,
            read: Vec::new(),
        }
    }

    /// The value as the table has it; `bounds` says what is needed, for documentation.
    pub fn raw(&mut self, key: &'static str, bounds: impl Into<String>) -> Option<&'a Value> {
        self.record(key, None, bounds.into())
    }

    /// Records a key, and returns its value in the table.
    fn record(
        &mut self,
        key: &'static str,
        default: Option<Value>,
        bounds: String,
    ) -> Option<&'a Value> {
        let given = self.table.get(key);
        match self.read.iter_mut().find(|p| p.key == key) {
            // Read for another drive, with another default: no value stands for all drives.
            Some(known) if known.default != default => {
                known.default = None;
                known.value = given.cloned();
            }
            Some(_) => {}
            None => self.read.push(Parameter {
                key,
                value: given.cloned().or_else(|| default.clone()),
                default,
                bounds,
            }),
        }
        given
    }

    /// The value of `key`, or `default` if the table lacks it.
    ///
    /// # Errors
    /// A value of another kind or outside `bounds`.
    pub fn number<T>(
        &mut self,
        key: &'static str,
        default: T,
        bounds: RangeInclusive<T>,
    ) -> Result<T, ParameterError>
    where
        T: DeserializeOwned + Serialize + PartialOrd + Display + Copy,
    {
        let usual = serde_json::to_value(default).ok();
        match self.record(key, usual, span(&bounds)) {
            None => Ok(default),
            Some(value) => one(key, value, &bounds),
        }
    }

    /// The value of `key`, if the table has it.
    ///
    /// # Errors
    /// A value of another kind or outside `bounds`.
    pub fn optional<T>(
        &mut self,
        key: &'static str,
        bounds: RangeInclusive<T>,
    ) -> Result<Option<T>, ParameterError>
    where
        T: DeserializeOwned + PartialOrd + Display + Copy,
    {
        match self.record(key, None, span(&bounds)) {
            None => Ok(None),
            Some(value) => one(key, value, &bounds).map(Some),
        }
    }

    /// A pair `[low, high]` with `low <= high`, both inside `bounds`.
    ///
    /// # Errors
    /// A value of another kind, outside `bounds`, or in descending order.
    pub fn range(
        &mut self,
        key: &'static str,
        default: (u32, u32),
        bounds: RangeInclusive<u32>,
    ) -> Result<(u32, u32), ParameterError> {
        let (low, high) = (bounds.start(), bounds.end());
        let need = format!("two numbers in ascending order, from {low} to {high}");
        let usual = Value::from(vec![default.0, default.1]);
        let Some(value) = self.record(key, Some(usual), need.clone()) else {
            return Ok(default);
        };
        let fail = || ParameterError::new(key, value, need);
        match serde_json::from_value::<(u32, u32)>(value.clone()) {
            Ok((low, high)) if low <= high && bounds.contains(&low) && bounds.contains(&high) => {
                Ok((low, high))
            }
            _ => Err(fail()),
        }
    }

    /// A list of numbers inside `bounds`: the table's, or else `default`.
    ///
    /// # Errors
    /// No list, an empty one, and a number of another kind or outside `bounds`.
    pub fn list<T>(
        &mut self,
        key: &'static str,
        default: Option<Vec<T>>,
        bounds: RangeInclusive<T>,
    ) -> Result<Option<Vec<T>>, ParameterError>
    where
        T: DeserializeOwned + Serialize + PartialOrd + Display + Copy,
    {
        let usual = default.as_ref().and_then(|d| serde_json::to_value(d).ok());
        let need = format!("a list of numbers, each {}", span(&bounds));
        match self.record(key, usual, need) {
            None => Ok(default),
            Some(Value::Array(values)) if !values.is_empty() => {
                let item = |(i, value)| one(&format!("{key}[{i}]"), value, &bounds);
                values
                    .iter()
                    .enumerate()
                    .map(item)
                    .collect::<Result<_, _>>()
                    .map(Some)
            }
            Some(other) => Err(ParameterError::new(key, other, "a list of numbers")),
        }
    }

    /// One of several words.
    ///
    /// # Errors
    /// Any other value.
    pub fn word<T: Copy + PartialEq>(
        &mut self,
        key: &'static str,
        default: T,
        words: &[(&'static str, T)],
    ) -> Result<T, ParameterError> {
        let names: Vec<&str> = words.iter().map(|w| w.0).collect();
        let usual = words.iter().find(|w| w.1 == default);
        let usual = usual.map(|w| Value::from(w.0));
        let Some(value) = self.record(key, usual, names.join(", ")) else {
            return Ok(default);
        };
        let text = value.as_str().unwrap_or_default();
        words
            .iter()
            .find(|(word, _)| *word == text)
            .map(|(_, meaning)| *meaning)
            .ok_or_else(|| {
                let hint = did_you_mean(text, names.iter().copied());
                ParameterError::new(key, value, format!("one of {}{hint}", names.join(", ")))
            })
    }

    /// What was read, in this order.
    ///
    /// # Errors
    /// The first key of the table that was not read, with those that were.
    pub(crate) fn finish(self) -> Result<Vec<Parameter>, ParameterError> {
        let known: Vec<&str> = self.read.iter().map(|p| p.key).collect();
        match self
            .table
            .iter()
            .find(|(key, _)| !known.contains(&key.as_str()))
        {
            None => Ok(self.read),
            Some((key, value)) => {
                let hint = did_you_mean(key, known.iter().copied());
                let need = match known.as_slice() {
                    [] => "no keys".to_string(),
                    known => format!("one of the keys {}{hint}", known.join(", ")),
                };
                Err(ParameterError::new(key, value, need))
            }
        }
    }
}

fn one<T>(key: &str, value: &Value, bounds: &RangeInclusive<T>) -> Result<T, ParameterError>
where
    T: DeserializeOwned + PartialOrd + Display,
{
    match serde_json::from_value::<T>(value.clone()) {
        Ok(number) if bounds.contains(&number) => Ok(number),
        _ => Err(ParameterError::new(key, value, span(bounds))),
    }
}

/// Bounds as text.
fn span<T: Display>(bounds: &RangeInclusive<T>) -> String {
    format!("{} to {}", bounds.start(), bounds.end())
}
