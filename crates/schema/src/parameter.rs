//! The traits that every parameter and every table of parameters has.

use crate::kind::{Field, Kind, TableSchema, Usual};
use crate::reading::{described, shown, wrong_kind};
use crate::SpecError;
use headstack_units::{Bandwidth, Bytes, Frequency, Joules, Length, Quantity, Rpm, Span, Turn, Watts};
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;

/// A table as it was read from a file.
pub type Params = Map<String, Value>;

/// What can be read from a description.
pub trait Parameter: Sized {
    /// What it may be.
    fn kind() -> Kind;

    /// Reads it. Keys in errors are relative to it; the empty key means the value itself.
    ///
    /// # Errors
    /// What was got and what is needed, with the key inside it if it is a table or a list.
    fn read(value: &Value) -> Result<Self, SpecError>;

    /// As a file would have it, with all defaults; `Null` if a file would leave it out.
    fn write(&self) -> Value;

    /// Checks the bounds and what tables check, also inside it, of a value that was not read but made. Keys in
    /// errors are relative to it.
    ///
    /// # Errors
    /// A value outside its bounds.
    fn check(&self) -> Result<(), SpecError> {
        Ok(())
    }

    /// What it is where its key is left out.
    fn usual() -> Usual {
        Usual::Required
    }

    /// The value where the key is left out; `None` if it may not be left out.
    fn if_absent() -> Option<Self> {
        None
    }
}

/// A table of parameters: a struct with `#[derive(Table)]`.
pub trait Table: Parameter {
    /// Its parameters.
    fn fields() -> Vec<Field>;

    /// Its parameters, with what the table is.
    fn schema() -> TableSchema;

    /// Reads it from a table that also has the keys `others`, which somebody else reads: errors list them
    /// among the known ones.
    ///
    /// # Errors
    /// As [`Parameter::read`].
    fn read_beside(others: &[&str], table: &Params) -> Result<Self, SpecError>;
}

/// Another way in which files write a type: `#[param(with = ...)]`.
pub trait Adapter<T> {
    /// What it may be.
    fn kind() -> Kind;

    /// Reads it.
    ///
    /// # Errors
    /// As [`Parameter::read`].
    fn read(value: &Value) -> Result<T, SpecError>;

    /// As a file would have it; `Null` if it cannot be written.
    fn write(value: &T) -> Value;
}

impl Parameter for bool {
    fn kind() -> Kind {
        Kind::Flag
    }
    fn read(value: &Value) -> Result<Self, SpecError> {
        value.as_bool().ok_or_else(|| wrong_kind(value, "true or false, without quotes"))
    }
    fn write(&self) -> Value {
        Value::Bool(*self)
    }
}

impl Parameter for String {
    fn kind() -> Kind {
        Kind::Text
    }
    fn read(value: &Value) -> Result<Self, SpecError> {
        let text = value.as_str().map(str::to_string);
        text.ok_or_else(|| wrong_kind(value, "text in quotes"))
    }
    fn write(&self) -> Value {
        Value::String(self.clone())
    }
}

impl Parameter for f64 {
    fn kind() -> Kind {
        Kind::Number
    }
    fn read(value: &Value) -> Result<Self, SpecError> {
        value.as_f64().ok_or_else(|| wrong_kind(value, "a number"))
    }
    fn write(&self) -> Value {
        Number::from_f64(*self).map_or(Value::Null, Value::Number)
    }
}

impl Parameter for i64 {
    fn kind() -> Kind {
        Kind::Signed
    }
    fn read(value: &Value) -> Result<Self, SpecError> {
        value.as_i64().ok_or_else(|| wrong_kind(value, "a whole number"))
    }
    fn write(&self) -> Value {
        (*self).into()
    }
}

/// What is needed in place of a value that is no whole number up to `most`. What is whole and not negative may
/// still be too much, or written as if it were not whole.
fn need_of_whole(value: &Value, most: u64) -> String {
    match value.as_f64() {
        Some(n) if n > most as f64 => format!("a whole number, 0 or more, at most {most}"),
        Some(n) if value.is_f64() && n >= 0.0 && n.fract() == 0.0 => {
            format!("a whole number, 0 or more, without point and exponent: {n}")
        }
        _ => "a whole number, 0 or more".into(),
    }
}

macro_rules! whole {
    ($($type:ty),+) => { $(
        impl Parameter for $type {
            fn kind() -> Kind {
                Kind::Whole { most: <$type>::MAX as u64 }
            }
            fn read(value: &Value) -> Result<Self, SpecError> {
                let number = value.as_u64().and_then(|n| n.try_into().ok());
                number.ok_or_else(|| {
                    SpecError::new("", described(value), need_of_whole(value, <$type>::MAX as u64))
                })
            }
            fn write(&self) -> Value {
                (*self).into()
            }
        }
    )+ };
}
whole!(u8, u16, u32, u64, usize);

macro_rules! quantities {
    ($($type:ty),+) => { $(
        impl Parameter for $type {
            fn kind() -> Kind {
                Kind::Quantity { what: <$type as Quantity>::WHAT, units: <$type as Quantity>::UNITS }
            }
            fn read(value: &Value) -> Result<Self, SpecError> {
                let Value::String(text) = value else {
                    return Err(wrong_kind(value, Self::kind().need()));
                };
                text.parse().map_err(|e: headstack_units::UnitError| {
                    SpecError::new("", format!("{:?}", e.got), e.need)
                })
            }
            fn write(&self) -> Value {
                Value::String(self.to_string())
            }
        }
    )+ };
}
quantities!(Bandwidth, Bytes, Frequency, Joules, Length, Rpm, Span, Turn, Watts);

impl<T: Parameter> Parameter for Option<T> {
    fn kind() -> Kind {
        T::kind()
    }
    fn read(value: &Value) -> Result<Self, SpecError> {
        match value {
            Value::Null => Ok(None),
            value => T::read(value).map(Some),
        }
    }
    fn write(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::write)
    }
    fn check(&self) -> Result<(), SpecError> {
        self.as_ref().map_or(Ok(()), T::check)
    }
    fn usual() -> Usual {
        Usual::Nothing
    }
    fn if_absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Parameter> Parameter for Vec<T> {
    fn kind() -> Kind {
        Kind::List { of: Box::new(T::kind()), length: None }
    }
    fn read(value: &Value) -> Result<Self, SpecError> {
        let list = value.as_array().ok_or_else(|| wrong_kind(value, "a list"))?;
        let mut entries = Vec::with_capacity(list.len());
        for (i, value) in list.iter().enumerate() {
            entries.push(T::read(value).map_err(|e| at_entry(e, i))?);
        }
        Ok(entries)
    }
    fn write(&self) -> Value {
        Value::Array(self.iter().map(T::write).collect())
    }
    fn check(&self) -> Result<(), SpecError> {
        check_entries(self)
    }
}

fn check_entries<T: Parameter>(list: &[T]) -> Result<(), SpecError> {
    for (i, entry) in list.iter().enumerate() {
        entry.check().map_err(|e| at_entry(e, i))?;
    }
    Ok(())
}

fn at_entry(error: SpecError, i: usize) -> SpecError {
    error.within(&format!("[{i}]"))
}

impl<T: Parameter, const N: usize> Parameter for [T; N] {
    fn kind() -> Kind {
        Kind::List { of: Box::new(T::kind()), length: Some(N) }
    }
    fn read(value: &Value) -> Result<Self, SpecError> {
        let need = || format!("a list of {N} entries");
        let entries = match value {
            Value::Array(list) if list.len() == N => Vec::<T>::read(value)?,
            Value::Array(_) => return Err(SpecError::new("", shown(value), need())),
            other => return Err(wrong_kind(other, need())),
        };
        let got = entries.len();
        entries.try_into().map_err(|_| SpecError::new("", got, need()))
    }
    fn write(&self) -> Value {
        Value::Array(self.iter().map(T::write).collect())
    }
    fn check(&self) -> Result<(), SpecError> {
        check_entries(self)
    }
}

/// A list of two entries of different kinds.
impl<A: Parameter, B: Parameter> Parameter for (A, B) {
    fn kind() -> Kind {
        Kind::List { of: Box::new(Kind::OneOf(vec![A::kind(), B::kind()])), length: Some(2) }
    }
    fn read(value: &Value) -> Result<Self, SpecError> {
        let need = "a list of 2 entries";
        match value.as_array().map(Vec::as_slice) {
            Some([a, b]) => {
                let a = A::read(a).map_err(|e| e.within("[0]"))?;
                let b = B::read(b).map_err(|e| e.within("[1]"))?;
                Ok((a, b))
            }
            Some(_) => Err(SpecError::new("", shown(value), need)),
            None => Err(wrong_kind(value, need)),
        }
    }
    fn write(&self) -> Value {
        Value::Array(vec![self.0.write(), self.1.write()])
    }
    fn check(&self) -> Result<(), SpecError> {
        self.0.check().map_err(|e| e.within("[0]"))?;
        self.1.check().map_err(|e| e.within("[1]"))
    }
}

impl<T: Parameter> Parameter for BTreeMap<String, T> {
    fn kind() -> Kind {
        Kind::Map(Box::new(T::kind()))
    }
    fn read(value: &Value) -> Result<Self, SpecError> {
        let table = value.as_object().ok_or_else(|| wrong_kind(value, "a table"))?;
        let entry = |(k, v): (&String, &Value)| {
            let read = T::read(v).map_err(|e| e.within(k))?;
            Ok((k.clone(), read))
        };
        table.iter().map(entry).collect()
    }
    fn write(&self) -> Value {
        Value::Object(self.iter().map(|(k, v)| (k.clone(), v.write())).collect())
    }
    fn check(&self) -> Result<(), SpecError> {
        let check = |(k, v): (&String, &T)| v.check().map_err(|e| e.within(k));
        self.iter().try_for_each(check)
    }
}

/// A table that somebody else reads.
impl Parameter for Params {
    fn kind() -> Kind {
        Kind::Map(Box::new(Kind::Any))
    }
    fn read(value: &Value) -> Result<Self, SpecError> {
        let table = value.as_object().cloned();
        table.ok_or_else(|| wrong_kind(value, "a table"))
    }
    fn write(&self) -> Value {
        Value::Object(self.clone())
    }
}

/// A value that somebody else reads.
impl Parameter for Value {
    fn kind() -> Kind {
        Kind::Any
    }
    fn read(value: &Value) -> Result<Self, SpecError> {
        Ok(value.clone())
    }
    fn write(&self) -> Value {
        self.clone()
    }
}
