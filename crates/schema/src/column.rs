//! Columns of results, each declared once: the name, the kind and one sentence.
//!
//! A table of a result is a struct with `#[derive(Serialize, Columns)]`: its fields are the columns, with serde's
//! attributes. From them come the types of results in Python.

use serde::Serialize;
use std::collections::BTreeMap;

/// What a column of a result holds, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnKind {
    /// A whole number.
    Whole,
    /// Any number.
    Number,
    /// `true` or `false`.
    Flag,
    /// Text.
    Text,
    /// A table whose keys depend on names and models.
    Free,
    /// The value, or `null`.
    Maybe(Box<ColumnKind>),
    /// A list.
    List(Box<ColumnKind>),
    /// A table: its name, a sentence, its columns.
    Table(&'static str, &'static str, Vec<ColumnEntry>),
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ColumnEntry {
    /// Its key.
    pub name: &'static str,
    /// What it says; may be empty.
    pub sentence: &'static str,
    /// What it holds.
    pub kind: ColumnKind,
}

impl ColumnKind {
    /// Of numbers that may not exist: `null` in place of not-a-number, in a list for any entry.
    pub fn or_null(self) -> ColumnKind {
        match self {
            ColumnKind::List(of) => ColumnKind::List(Box::new(of.or_null())),
            one => ColumnKind::Maybe(Box::new(one)),
        }
    }

    /// Of a column that is absent where it would be `null`.
    pub fn or_absent(self) -> ColumnKind {
        match self {
            ColumnKind::Maybe(of) => *of,
            one => one,
        }
    }

    /// The columns of a table; those of nothing else.
    pub fn columns(self) -> Vec<ColumnEntry> {
        match self {
            ColumnKind::Table(_, _, columns) => columns,
            _ => Vec::new(),
        }
    }
}

/// A value of results.
pub trait Column {
    /// What it is.
    fn kind() -> ColumnKind;
}

macro_rules! columns {
    ($($kind:ident: $($of:ty)+;)+) => {
        $($(impl Column for $of {
            fn kind() -> ColumnKind {
                ColumnKind::$kind
            }
        })+)+
    };
}

columns! {
    Whole: u8 u32 u64 usize;
    Number: f64;
    Flag: bool;
    Text: String &'static str;
    Free: serde_json::Value crate::Params;
}

impl<T: Column> Column for Option<T> {
    fn kind() -> ColumnKind {
        T::kind().or_null()
    }
}

impl<T: Column> Column for Vec<T> {
    fn kind() -> ColumnKind {
        ColumnKind::List(Box::new(T::kind()))
    }
}

impl<T: Column, const N: usize> Column for [T; N] {
    fn kind() -> ColumnKind {
        Vec::<T>::kind()
    }
}

impl<K, V> Column for BTreeMap<K, V> {
    fn kind() -> ColumnKind {
        ColumnKind::Free
    }
}
