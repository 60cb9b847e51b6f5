//! Tables whose defaults and bounds depend on other things: read key by key.
//!
//! Where a default depends on the drive, or a bound on another parameter, no declaration can stand in a struct.
//! Then the code that reads the table declares each parameter where it reads it, and a [`Reader`] keeps the list.

use crate::choice::Choice;
use crate::kind::{Bounds, Field, Kind, Usual};
use crate::parameter::{Parameter, Params};
use crate::reading::{shown, span, unknown_keys, Scalar};
use crate::SpecError;
use serde_json::Value;
use std::ops::RangeInclusive;

/// A parameter that was read, and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectiveParameter {
    /// The parameter. Its default is [`Usual::Nothing`] if each drive has another one.
    pub field: Field,
    /// The value in force: that of the table, or the default. `None` if there is neither.
    pub value: Option<Value>,
}

/// Key and sentence of a parameter.
pub type Named = (&'static str, &'static str);

/// Reads a table of parameters and records what it read. At the end, keys that were not read are refused.
pub struct Reader<'a> {
    table: &'a Params,
    read: Vec<EffectiveParameter>,
}

impl<'a> Reader<'a> {
    /// A reader of this table.
    pub fn new(table: &'a Params) -> Self {
        Reader { table, read: Vec::new() }
    }

    /// The value as the table has it; the caller checks it.
    pub fn raw(&mut self, named: Named, kind: Kind) -> Option<&'a Value> {
        self.record(named, kind, Usual::Nothing, None)
    }

    /// Records a parameter, and returns its value in the table.
    fn record(&mut self, (key, doc): Named, kind: Kind, usual: Usual, bounds: Option<Bounds>) -> Option<&'a Value> {
        let given = self.table.get(key);
        match self.read.iter_mut().find(|p| p.field.key == key) {
            // Read for another drive, with another default: no value stands for all drives.
            Some(known) if known.field.usual != usual => {
                known.field.usual = Usual::Nothing;
                known.value = given.cloned();
            }
            Some(_) => {}
            None => {
                let default = match &usual {
                    Usual::Value(value) => Some(value.clone()),
                    _ => None,
                };
                let field = Field { key, alias: None, doc, kind, usual, bounds };
                let value = given.cloned().or(default);
                self.read.push(EffectiveParameter { field, value });
            }
        }
        given
    }

    /// Reads a parameter with `read`, if the table has it; else it is `usual`.
    fn take<T: Parameter>(
        &mut self,
        named: Named,
        usual: Option<T>,
        bounds: Option<Bounds>,
        read: impl FnOnce(&Value) -> Result<T, SpecError>,
    ) -> Result<Option<T>, SpecError> {
        let shown = usual.as_ref().map_or(Usual::Nothing, |usual| Usual::Value(usual.write()));
        match self.record(named, T::kind(), shown, bounds) {
            None => Ok(usual),
            Some(value) => read(value).map(Some).map_err(|e| e.within(named.0)),
        }
    }

    /// The value of a parameter, or `default` if the table lacks it.
    ///
    /// # Errors
    /// A value of another kind or outside `bounds`.
    pub fn number<T: Scalar + Clone>(
        &mut self,
        named: Named,
        default: T,
        bounds: RangeInclusive<T>,
    ) -> Result<T, SpecError> {
        let usual = Some(default.clone());
        let read = self.take(named, usual, Some(Bounds::of(&bounds)), |value| one(value, &bounds))?;
        Ok(read.unwrap_or(default))
    }

    /// The value of a parameter, if the table has it.
    ///
    /// # Errors
    /// A value of another kind or outside `bounds`.
    pub fn optional<T: Scalar>(&mut self, named: Named, bounds: RangeInclusive<T>) -> Result<Option<T>, SpecError> {
        self.take(named, None, Some(Bounds::of(&bounds)), |value| one(value, &bounds))
    }

    /// A pair `[low, high]` with `low <= high`, both inside `bounds`.
    ///
    /// # Errors
    /// A value of another kind, outside `bounds`, or in descending order.
    pub fn range(
        &mut self,
        named: Named,
        default: [u32; 2],
        bounds: RangeInclusive<u32>,
    ) -> Result<[u32; 2], SpecError> {
        let read = |value: &Value| match <[u32; 2]>::read(value) {
            Ok([a, b]) if a <= b && bounds.contains(&a) && bounds.contains(&b) => Ok([a, b]),
            _ => {
                let need = format!("two numbers in ascending order, from {} to {}", bounds.start(), bounds.end());
                Err(SpecError::new("", shown(value), need))
            }
        };
        Ok(self.take(named, Some(default), Some(Bounds::of(&bounds)), read)?.unwrap_or(default))
    }

    /// A list of numbers inside `bounds`: the table's, or else `default`.
    ///
    /// # Errors
    /// No list, an empty one, and a number of another kind or outside `bounds`.
    pub fn list<T: Scalar>(
        &mut self,
        named: Named,
        default: Option<Vec<T>>,
        bounds: RangeInclusive<T>,
    ) -> Result<Option<Vec<T>>, SpecError> {
        let entry = |(i, value): (usize, &Value)| one(value, &bounds).map_err(|e| e.within(&format!("[{i}]")));
        self.take(named, default, Some(Bounds::of(&bounds)), |value| match value {
            Value::Array(values) if !values.is_empty() => values.iter().enumerate().map(entry).collect(),
            other => Err(SpecError::new("", shown(other), "a list of numbers")),
        })
    }

    /// One of the words of a type.
    ///
    /// # Errors
    /// Any other value.
    pub fn word<C: Choice + Parameter>(&mut self, named: Named, default: C) -> Result<C, SpecError> {
        Ok(self.take(named, Some(default), None, C::read)?.unwrap_or(default))
    }

    /// What was read, in this order.
    ///
    /// # Errors
    /// The first key of the table that was not read, with those that were.
    pub fn finish(self) -> Result<Vec<EffectiveParameter>, SpecError> {
        let known: Vec<&str> = self.read.iter().map(|p| p.field.key).collect();
        unknown_keys(self.table, &known, &[])?;
        Ok(self.read)
    }
}

/// A number inside its bounds; the error names them, whatever is wrong with the value.
fn one<T: Scalar>(value: &Value, bounds: &RangeInclusive<T>) -> Result<T, SpecError> {
    match T::read(value) {
        Ok(number) if bounds.contains(&number) => Ok(number),
        _ => Err(SpecError::new("", shown(value), span(bounds))),
    }
}
