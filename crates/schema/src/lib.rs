//! Parameters, each declared once: its type, unit, default, bounds and one sentence.
//!
//! A table of parameters is a struct with `#[derive(Table)]`. The declaration is its fields:
//!
//! ```
//! use headstack_schema::{read, Table};
//! use headstack_units::Span;
//!
//! /// The elevator `deadline`.
//! #[derive(Debug, Table)]
//! struct Deadline {
//!     /// How long a read may wait before it is served first.
//!     #[param(default = Span(500_000_000), range = Span(0)..=Span(86_400_000_000_000))]
//!     read_expire: Span,
//!     /// Requests in a batch.
//!     #[param(default = 16, range = 1..=65_536)]
//!     fifo_batch: u32,
//! }
//!
//! let table = serde_json::json!({ "fifo_batch": 0 });
//! let error = read::<Deadline>(&table).unwrap_err();
//! assert_eq!(error.to_string(), "fifo_batch: got 0, need 1 to 65536");
//! ```
//!
//! From it come reading and checking ([`read`]), the values in force with defaults filled in
//! ([`Parameter::write`]), the list of parameters with defaults and bounds ([`Table::fields`]) and the JSON
//! Schema ([`json_schema`]).

extern crate self as headstack_schema;

mod choice;
mod column;
pub mod document;
mod error;
mod kind;
mod one_of;
mod parameter;
mod place;
mod plugin;
mod reading;

pub mod json_schema;

pub use choice::Choice;
pub use column::{Column, ColumnEntry, ColumnKind};
pub use error::{did_you_mean, io_error_text, needed_to_write, printable, system_error, SpecError};
pub use headstack_schema_derive::{Choice, Columns, OneOf, Table};
pub use kind::{Bounds, Field, Kind, TableSchema, Usual, Word};
pub use one_of::{Case, OneOf};
pub use parameter::{Adapter, Parameter, Params, Table};
pub use place::{Place, Step};
pub use plugin::{name_in, ModelKind, NoParameters, Plugin, Plugins};
pub use reading::{
    by_kind, check_range, chosen, fill, missing, misspelt, read, read_beside, read_table, shown, unknown_keys,
    unknown_name, wrong_kind, InRange, Scalar,
};

/// What the derived code calls. Not for other use.
#[doc(hidden)]
pub mod derived {
    pub use crate::choice::{kind as choice_kind, read as choice_read};
    pub use crate::one_of::{case, inside, named_model};
    pub use crate::reading::{
        check_each, fields_of, keys_of, put, rest_of, tag_of, tagged, take, take_within, unknown_keys, unknown_name,
        usual_of, write_field, write_tagged, Described, Key, Within,
    };
    pub use serde;
    pub use serde_json::{self, Value::Null};
}
