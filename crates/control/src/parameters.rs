//! Parameters of policies: read key by key, each with its default and its bounds.

use serde::de::DeserializeOwned;
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

/// Reads a table and remembers which keys were read; [`Reader::finish`] refuses all others.
pub(crate) struct Reader<'a> {
    table: &'a Parameters,
    known: Vec<&'static str>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(table: &'a Parameters) -> Self {
        Reader {
            table,
            known: Vec::new(),
        }
    }

    /// The value as the table has it.
    pub(crate) fn raw(&mut self, key: &'static str) -> Option<&'a Value> {
        self.known.push(key);
        self.table.get(key)
    }

    /// The value of `key`, or `default` if the table lacks it.
    ///
    /// # Errors
    /// A value of another kind or outside `bounds`.
    pub(crate) fn number<T>(
        &mut self,
        key: &'static str,
        default: T,
        bounds: RangeInclusive<T>,
    ) -> Result<T, ParameterError>
    where
        T: DeserializeOwned + PartialOrd + Display + Copy,
    {
        Ok(self.optional(key, bounds)?.unwrap_or(default))
    }

    /// The value of `key`, if the table has it.
    ///
    /// # Errors
    /// A value of another kind or outside `bounds`.
    pub(crate) fn optional<T>(
        &mut self,
        key: &'static str,
        bounds: RangeInclusive<T>,
    ) -> Result<Option<T>, ParameterError>
    where
        T: DeserializeOwned + PartialOrd + Display + Copy,
    {
        match self.raw(key) {
            None => Ok(None),
            Some(value) => one(key, value, &bounds).map(Some),
        }
    }

    /// A pair `[low, high]` with `low <= high`, both inside `bounds`.
    ///
    /// # Errors
    /// A value of another kind, outside `bounds`, or in descending order.
    pub(crate) fn range(
        &mut self,
        key: &'static str,
        default: (u32, u32),
        bounds: RangeInclusive<u32>,
    ) -> Result<(u32, u32), ParameterError> {
        let Some(value) = self.raw(key) else {
            return Ok(default);
        };
        let fail = || {
            let (low, high) = (bounds.start(), bounds.end());
            let need = format!("two numbers in ascending order, from {low} to {high}");
            ParameterError::new(key, value, need)
        };
        match serde_json::from_value::<(u32, u32)>(value.clone()) {
            Ok((low, high)) if low <= high && bounds.contains(&low) && bounds.contains(&high) => {
                Ok((low, high))
            }
            _ => Err(fail()),
        }
    }

    /// A list of numbers inside `bounds`, if the table has it.
    ///
    /// # Errors
    /// No list, an empty one, and a number of another kind or outside `bounds`.
    pub(crate) fn list<T>(
        &mut self,
        key: &'static str,
        bounds: RangeInclusive<T>,
    ) -> Result<Option<Vec<T>>, ParameterError>
    where
        T: DeserializeOwned + PartialOrd + Display + Copy,
    {
        match self.raw(key) {
            None => Ok(None),
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
    pub(crate) fn word<T: Copy>(
        &mut self,
        key: &'static str,
        default: T,
        words: &[(&'static str, T)],
    ) -> Result<T, ParameterError> {
        let Some(value) = self.raw(key) else {
            return Ok(default);
        };
        let text = value.as_str().unwrap_or_default();
        words
            .iter()
            .find(|(word, _)| *word == text)
            .map(|(_, meaning)| *meaning)
            .ok_or_else(|| {
                let names: Vec<&str> = words.iter().map(|w| w.0).collect();
                let hint = did_you_mean(text, names.iter().copied());
                ParameterError::new(key, value, format!("one of {}{hint}", names.join(", ")))
            })
    }

    /// Refuses keys that were not read.
    ///
    /// # Errors
    /// The first unknown key, with the known ones.
    pub(crate) fn finish(self) -> Result<(), ParameterError> {
        match self
            .table
            .iter()
            .find(|(key, _)| !self.known.contains(&key.as_str()))
        {
            None => Ok(()),
            Some((key, value)) => {
                let hint = did_you_mean(key, self.known.iter().copied());
                let need = match self.known.as_slice() {
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
        _ => {
            let need = format!("{} to {}", bounds.start(), bounds.end());
            Err(ParameterError::new(key, value, need))
        }
    }
}
