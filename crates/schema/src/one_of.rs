//! Enums of which a table has exactly one: each variant is a key with its value.

use crate::derived::{keys_of, put};
use crate::kind::{Field, Kind, TableSchema, Usual};
use crate::parameter::{Parameter, Params, Table};
use crate::{unknown_keys, SpecError};
use serde_json::Value;

/// One of several values, each under a key of its own: an enum with `#[derive(OneOf)]`.
pub trait OneOf: Sized + 'static {
    /// Its name, what it is, and what a table without any of the keys has got.
    const ABOUT: [&'static str; 3];

    /// What it may be, in order.
    fn cases() -> Vec<Case<Self>>;

    /// Its key and value, and those of what stands beside it.
    fn pairs(&self) -> Vec<(&'static str, Value)>;

    /// The keys, of which a table has exactly one.
    fn names() -> Vec<&'static str> {
        Self::cases().iter().map(Case::name).collect()
    }

    /// Its key.
    fn name(&self) -> &'static str {
        self.pairs()[0].0
    }
}

type Read<T> = Box<dyn Fn(&Params) -> Result<T, SpecError>>;

/// A variant of a [`OneOf`]: its key with that of what may stand beside it, and how it is read.
pub struct Case<T>(Vec<Field>, Read<T>);

impl<T> Case<T> {
    fn name(&self) -> &'static str {
        self.0[0].key
    }
}

fn field(key: &'static str, doc: &'static str, kind: Kind) -> Field {
    Field { key, alias: None, doc, kind, usual: Usual::Nothing, bounds: None }
}

fn value<V: Parameter>(table: &Params, key: &str) -> Result<V, SpecError> {
    V::read(table.get(key).unwrap_or(&Value::Null)).map_err(|e| e.within(key))
}

/// A variant with a value.
pub fn case<V: Parameter + 'static, T: 'static>(key: &'static str, doc: &'static str, make: fn(V) -> T) -> Case<T> {
    Case(vec![field(key, doc, V::kind())], Box::new(move |table| value(table, key).map(make)))
}

/// A variant with the name of a model of this kind, and the model's parameters beside it.
pub fn named_model<T: 'static>(
    [kind, beside]: [&'static str; 2],
    [doc, doc_beside]: [&'static str; 2],
    make: fn(String, Params) -> T,
) -> Case<T> {
    let fields = vec![field(kind, doc, Kind::Name(kind)), field(beside, doc_beside, Kind::Parameters(kind))];
    let read = move |table: &Params| {
        let parameters: Option<Params> = value(table, beside)?;
        Ok(make(value(table, kind)?, parameters.unwrap_or_default()))
    };
    Case(fields, Box::new(read))
}

/// The variants of an enum that is a variant itself.
pub fn inside<V: OneOf, T: 'static>(make: fn(V) -> T) -> Vec<Case<T>> {
    let outer =
        |Case(fields, read): Case<V>| Case(fields, Box::new(move |table: &Params| read(table).map(make)) as Read<T>);
    V::cases().into_iter().map(outer).collect()
}

impl<T: OneOf> Table for T {
    fn fields() -> Vec<Field> {
        T::cases().into_iter().flat_map(|case| case.0).collect()
    }

    fn schema() -> TableSchema {
        let [name, doc, _] = T::ABOUT;
        TableSchema { name, doc, fields: T::fields(), others: None }
    }

    fn read_beside(others: &[&str], table: &Params) -> Result<Self, SpecError> {
        unknown_keys(table, &keys_of::<T>(), others)?;
        let is_given = |key: &str| table.get(key).is_some_and(|value| !value.is_null());
        let (given, left): (Vec<_>, Vec<_>) = T::cases().into_iter().partition(|case| is_given(case.name()));
        let [only] = &given[..] else {
            let names: Vec<&str> = given.iter().map(Case::name).collect();
            let got = if names.is_empty() { T::ABOUT[2].to_string() } else { names.join(" and ") };
            return Err(SpecError::new("", got, format!("one of {}", T::names().join(", "))));
        };
        for other in left {
            if let Some(field) = other.0[1..].iter().find(|field| is_given(field.key)) {
                return Err(SpecError::new(field.key, only.name(), format!("{} beside them", other.name())));
            }
        }
        (only.1)(table)
    }
}

impl<T: OneOf> Parameter for T {
    fn kind() -> Kind {
        Kind::Table(T::schema())
    }

    fn read(value: &Value) -> Result<Self, SpecError> {
        T::read_beside(&[], &Params::read(value)?)
    }

    fn write(&self) -> Value {
        let mut table = Params::new();
        self.pairs().into_iter().for_each(|(key, value)| put(&mut table, key, value));
        Value::Object(table)
    }

    /// Checks what was made as if it had been read.
    fn check(&self) -> Result<(), SpecError> {
        T::read(&self.write()).map(|_| ())
    }
}
