//! Reads tables: values, defaults, bounds, unknown and missing keys.

use crate::kind::{Bounds, Field, Kind, TableSchema, Usual, Word};
use crate::parameter::{Parameter, Params, Table};
use crate::{did_you_mean, SpecError};
use headstack_units::{Bandwidth, Bytes, Frequency, Joules, Length, Rpm, Span, Turn, Watts};
use serde_json::{Map, Value};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Reads a table of parameters from a value. Keys in errors are relative to it.
///
/// # Errors
/// The dotted key, what was got, what is needed, and the nearest known name as a hint.
pub fn read<T: Parameter>(value: &Value) -> Result<T, SpecError> {
    T::read(value)
}

/// As [`read`], from a table.
///
/// # Errors
/// As [`read`].
pub fn read_table<T: Table>(table: &Params) -> Result<T, SpecError> {
    T::read_beside(&[], table)
}

/// As [`read`], for a table that also has the keys `others`, which somebody else reads.
///
/// # Errors
/// As [`read`].
pub fn read_beside<T: Table>(others: &[&str], table: &Params) -> Result<T, SpecError> {
    T::read_beside(others, table)
}

/// A value of a description as messages show it.
pub fn shown(value: &Value) -> String {
    /// Characters of a value that are shown.
    const MOST: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// A value of the wrong kind as messages show it: with its kind.
pub(crate) fn described(value: &Value) -> String {
    match value {
        Value::Null => "nothing".into(),
        Value::Bool(is) => format!("boolean {is}"),
        Value::Number(n) if n.is_f64() => format!("floating point {n}"),
        Value::Number(n) => format!("integer {n}"),
        Value::String(_) => format!("string {}", shown(value)),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "a table".into(),
    }
}

/// The error for a value that is of another kind than needed.
pub fn wrong_kind(value: &Value, need: impl Into<String>) -> SpecError {
    SpecError::new("", described(value), need)
}

/// Reads a value of several forms. `read` takes the value if its kind (text, number, list, table) is that
/// of a form; else the error says that one of these is needed: `need`.
///
/// # Errors
/// That, or the error of the form that was meant.
pub fn by_kind<T>(
    value: &Value,
    need: &str,
    read: impl FnOnce(&Value) -> Option<Result<T, SpecError>>,
) -> Result<T, SpecError> {
    read(value).unwrap_or_else(|| Err(SpecError::new("", shown(value), need)))
}

/// The error for a table without `key`, relative to the table. If another key, not one of `known`, is nearly
/// spelt like it, the error names that key instead.
pub fn missing(table: &Map<String, Value>, key: &str, need: &str, known: &[&str]) -> SpecError {
    let misspelt = misspelt(table, key, known);
    misspelt.unwrap_or_else(|| SpecError::new(key, "nothing", need))
}

/// The error for a key in the table that may be a misspelling of `key`, which is absent; `known` are the
/// other keys that the table may have. `None` if there is no such key.
pub fn misspelt(table: &Map<String, Value>, key: &str, known: &[&str]) -> Option<SpecError> {
    let near = |k: &&String| !known.contains(&k.as_str()) && !did_you_mean(k, [key]).is_empty();
    let got = table.keys().find(near)?;
    Some(unknown_key(got, &[&[key], known].concat()))
}

fn unknown_key(got: &str, known: &[&str]) -> SpecError {
    let hint = did_you_mean(got, known.iter().copied());
    let need = if known.is_empty() { "no keys here".to_string() } else { format!("one of {}{hint}", known.join(", ")) };
    SpecError::new("", format!("key {got:?}"), need).about_key(got)
}

/// Refuses keys that are neither parameters nor `others`.
///
/// # Errors
/// The key, and those that are known.
pub fn unknown_keys(table: &Params, keys: &[&str], others: &[&str]) -> Result<(), SpecError> {
    let known = |k: &&String| !keys.contains(&k.as_str()) && !others.contains(&k.as_str());
    match table.keys().find(known) {
        Some(got) => Err(unknown_key(got, &[others, keys].concat())),
        None => Ok(()),
    }
}

/// The keys that are neither parameters nor `others`: somebody else's.
pub fn rest_of(table: &Params, keys: &[&str], others: &[&str]) -> Params {
    let other = |(k, _): &(&String, &Value)| !keys.contains(&k.as_str()) && !others.contains(&k.as_str());
    let rest = table.iter().filter(other);
    rest.map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// Adds to a table what it leaves out of `all`, also in the tables inside it. Returns the dotted keys of what was
/// added.
pub fn fill(table: &mut Params, all: &Params) -> Vec<String> {
    let mut added = Vec::new();
    for (key, value) in all.iter().filter(|(_, value)| !value.is_null()) {
        match (table.get_mut(key), value) {
            (Some(Value::Object(inner)), Value::Object(all)) => {
                let inside = fill(inner, all);
                added.extend(inside.iter().map(|k| format!("{key}.{k}")));
            }
            (None | Some(Value::Null), Value::Object(all)) => {
                let mut inner = Params::new();
                let inside = fill(&mut inner, all);
                added.extend(inside.iter().map(|k| format!("{key}.{k}")));
                table.insert(key.clone(), Value::Object(inner));
            }
            (None | Some(Value::Null), value) => {
                table.insert(key.clone(), value.clone());
                added.push(key.clone());
            }
            _ => {}
        }
    }
    added
}

/// Where a parameter stands in a table.
pub struct Key {
    /// Its key.
    pub key: &'static str,
    /// Another key for it.
    pub alias: Option<&'static str>,
    /// What a message says is needed where it is missing.
    pub need: &'static str,
}

impl Key {
    /// The key under which the parameter stands, and its value; none if it is left out.
    ///
    /// # Errors
    /// Both the key and its alias are there.
    fn find<'a>(&self, table: &'a Params) -> Result<(&'static str, Option<&'a Value>), SpecError> {
        let other = self.alias.and_then(|alias| table.get(alias).map(|value| (alias, value)));
        match (table.get(self.key), other) {
            (Some(_), Some((alias, _))) => {
                let need = format!("{} or {alias}, not both", self.key);
                Err(SpecError::new(alias, "the same again", need))
            }
            (None, Some((key, value))) => Ok((key, Some(value))),
            (value, None) => Ok((self.key, value)),
        }
    }

    fn missing(&self, key: &str) -> SpecError {
        SpecError::new(key, "nothing", self.need)
    }
}

/// Reads a parameter of a table with `read`; what is left out has the value of `absent`. Through pointers, so that it
/// is compiled once for each type and not for each parameter.
///
/// # Errors
/// Those of `read`, at the key; a parameter that may not be left out; its key and its alias.
#[inline(never)]
pub fn take<T>(
    table: &Params,
    at: &Key,
    absent: fn() -> Option<T>,
    read: fn(&Value) -> Result<T, SpecError>,
) -> Result<T, SpecError> {
    match at.find(table)? {
        (key, Some(value)) => read(value).map_err(|e| e.within(key)),
        (key, None) => absent().ok_or_else(|| at.missing(key)),
    }
}

/// As [`take`], of a parameter with bounds.
///
/// # Errors
/// Also a value outside its bounds.
#[inline(never)]
pub fn take_within<B: Scalar, T: InRange<B>>(
    table: &Params,
    at: &Key,
    absent: fn() -> Option<T>,
    read: fn(&Value) -> Result<T, SpecError>,
    range: &RangeInclusive<B>,
) -> Result<T, SpecError> {
    let value = take(table, at, absent, read)?;
    check_range(at.find(table)?.0, &value, range)?;
    Ok(value)
}

/// The word under `tag` that says which of several tables is meant.
///
/// # Errors
/// No such key, and what is no word.
pub fn tag_of<'a>(table: &'a Params, tag: &str, words: &[&str]) -> Result<&'a str, SpecError> {
    let one_of = || format!("one of {}", words.join(", "));
    match table.get(tag) {
        Some(Value::String(word)) => Ok(word),
        Some(other) => Err(wrong_kind(other, one_of()).within(tag)),
        None => Err(missing(table, tag, &one_of(), &[])),
    }
}

/// The error for a name at `key` that is none of those that are known, with the nearest one.
pub fn unknown_name(key: &str, got: &str, known: &[&str]) -> SpecError {
    let hint = did_you_mean(got, known.iter().copied());
    let need = format!("one of {}{hint}", known.join(", "));
    SpecError::new(key, format!("{got:?}"), need)
}

/// The place in `names` of the one that is wanted; without a name, of the only one.
///
/// # Errors
/// At `key`: no such name; without a name, several.
pub fn chosen(key: &str, names: &[&str], name: Option<&str>) -> Result<usize, SpecError> {
    match name {
        None if names.len() == 1 => Ok(0),
        None => Err(SpecError::new(key, "none", format!("one of {}", names.join(", ")))),
        Some(name) => names.iter().position(|n| *n == name).ok_or_else(|| unknown_name(key, name, names)),
    }
}

/// A table of several, as data: with the word under `tag` that says which it is.
pub fn tagged(tag: &'static str, word: &'static str, mut table: TableSchema) -> Kind {
    let name = Word { name: word, doc: table.doc };
    let field =
        Field { key: tag, alias: None, doc: "", kind: Kind::Choice(vec![name]), usual: Usual::Required, bounds: None };
    table.fields.insert(0, field);
    Kind::Table(table)
}

/// A table with the word under `tag` before its values.
pub fn write_tagged(tag: &str, word: &str, value: Value) -> Value {
    let mut table = Params::new();
    table.insert(tag.into(), word.into());
    if let Value::Object(values) = value {
        table.extend(values);
    }
    Value::Object(table)
}

/// The keys of a table, for another one in which they stand.
pub fn keys_of<T: Table>() -> Vec<&'static str> {
    let fields = T::fields().into_iter();
    fields.flat_map(|f| [Some(f.key), f.alias]).flatten().collect()
}

/// A type that has an order and is shown in messages.
pub trait Scalar: Parameter + PartialOrd + Display {}

macro_rules! scalars {
    ($($type:ty),+) => { $(impl Scalar for $type {})+ };
}
scalars!(u8, u16, u32, u64, usize, i64, f64);
scalars!(Bandwidth, Bytes, Frequency, Joules, Length, Rpm, Span, Turn, Watts);

/// What bounds of type `B` apply to: a value, one that may be left out, the entries of a list.
pub trait InRange<B> {
    /// The first value outside the bounds: its place inside this one, and how it is shown.
    fn outside(&self, range: &RangeInclusive<B>) -> Option<(String, String)>;
}

impl<B: Scalar> InRange<B> for B {
    fn outside(&self, range: &RangeInclusive<B>) -> Option<(String, String)> {
        (!range.contains(self)).then(|| (String::new(), self.to_string()))
    }
}

impl<B: Scalar, T: InRange<B>> InRange<B> for Option<T> {
    fn outside(&self, range: &RangeInclusive<B>) -> Option<(String, String)> {
        self.as_ref().and_then(|value| value.outside(range))
    }
}

impl<B: Scalar, T: InRange<B>> InRange<B> for Vec<T> {
    fn outside(&self, range: &RangeInclusive<B>) -> Option<(String, String)> {
        entries_outside(self, range)
    }
}

impl<B: Scalar, T: InRange<B>, const N: usize> InRange<B> for [T; N] {
    fn outside(&self, range: &RangeInclusive<B>) -> Option<(String, String)> {
        entries_outside(self, range)
    }
}

fn entries_outside<B, T: InRange<B>>(list: &[T], range: &RangeInclusive<B>) -> Option<(String, String)> {
    list.iter().enumerate().find_map(|(i, value)| {
        let (place, got) = value.outside(range)?;
        Some((format!("[{i}]{place}"), got))
    })
}

/// Bounds as messages show them. The largest number of a type is no bound.
pub(crate) fn span<B: Scalar>(range: &RangeInclusive<B>) -> String {
    span_of(&B::kind(), range.start(), range.end(), &range.end().write())
}

fn span_of(kind: &Kind, least: &dyn Display, most: &dyn Display, bound: &Value) -> String {
    match (kind, bound.as_u64()) {
        (Kind::Whole { most }, Some(bound)) if *most == bound => format!("{least} or more"),
        _ if bound.as_f64() == Some(f64::MAX) => format!("{least} or more"),
        _ => format!("{least} to {most}"),
    }
}

/// Refuses what is outside its bounds, or not a number.
///
/// # Errors
/// The key, the value and the bounds.
pub fn check_range<B: Scalar, T: InRange<B>>(key: &str, value: &T, range: &RangeInclusive<B>) -> Result<(), SpecError> {
    match value.outside(range) {
        None => Ok(()),
        Some((place, got)) => Err(SpecError::new(format!("{key}{place}"), got, span(range))),
    }
}

impl Bounds {
    /// The bounds of a range.
    pub fn of<B: Scalar>(range: &RangeInclusive<B>) -> Bounds {
        Bounds { least: range.start().write(), most: range.end().write(), shown: span(range) }
    }
}

/// What checks itself: a parameter, or its bounds.
pub trait Checked {
    /// # Errors
    /// What is outside its bounds. Keys are relative to it.
    fn checked(&self) -> Result<(), SpecError>;
}

impl<T: Parameter> Checked for T {
    fn checked(&self) -> Result<(), SpecError> {
        self.check()
    }
}

/// A value and its bounds.
pub struct Within<'a, B, T>(pub &'a T, pub RangeInclusive<B>);

impl<B: Scalar, T: InRange<B>> Checked for Within<'_, B, T> {
    fn checked(&self) -> Result<(), SpecError> {
        check_range("", self.0, &self.1)
    }
}

/// Checks the fields of a table, each with its key.
///
/// # Errors
/// The first that is found.
pub fn check_each(fields: &[(&str, &dyn Checked)]) -> Result<(), SpecError> {
    fields.iter().try_for_each(|(key, field)| field.checked().map_err(|e| e.within(key)))
}

/// A field of a table as its struct declares it.
pub enum Described {
    /// A parameter: its key and alias, its sentence, and functions for the rest.
    Field {
        /// Its key and alias.
        key: (&'static str, Option<&'static str>),
        /// What it is.
        doc: &'static str,
        /// What it may be.
        kind: fn() -> Kind,
        /// What it is where its key is left out.
        usual: fn() -> Usual,
        /// Its bounds.
        bounds: Option<fn() -> Bounds>,
    },
    /// A table whose keys stand in this one.
    Inside(fn() -> Vec<Field>),
}

/// The descriptions of the parameters of a table.
pub fn fields_of(described: &[Described]) -> Vec<Field> {
    let mut fields = Vec::new();
    for each in described {
        match each {
            Described::Field { key: (key, alias), doc, kind, usual, bounds } => {
                let bounds = bounds.map(|bounds| bounds());
                fields.push(Field { key, alias: *alias, doc, kind: kind(), usual: usual(), bounds });
            }
            Described::Inside(inner) => fields.extend(inner()),
        }
    }
    fields
}

/// A default as it is shown: `value` as a file would have it.
pub fn usual_of(value: Value) -> Usual {
    match value {
        Value::Null => Usual::Nothing,
        value => Usual::Value(value),
    }
}

/// Adds a value to a table, unless it is one that files leave out.
pub fn put(table: &mut Params, key: &str, value: Value) {
    if !value.is_null() {
        table.insert(key.into(), value);
    }
}

/// The table of a field that stands in its place with all its keys.
pub fn write_field(table: &mut Params, others: &Params) {
    for (key, value) in others {
        put(table, key, value.clone());
    }
}
