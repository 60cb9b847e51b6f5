//! What the entries of all lists of this crate have: a name, a line for help, parameters.

use headstack_drive::spec::Params;
use headstack_schema::{read_table, SpecError, Table, TableSchema};
use serde_json::Value;

/// Name, help and parameters of an entry.
pub struct About {
    /// The name in experiments.
    pub name: String,
    /// One line for help texts.
    pub summary: String,
    /// A parameter table that works, as TOML, for documentation and contract tests.
    pub example: String,
    /// The parameters that it takes.
    pub parameters: TableSchema,
}

impl About {
    /// An entry with the parameters of the table `P`.
    pub fn new<P: Table>(name: impl Into<String>, summary: impl Into<String>) -> About {
        About { name: name.into(), summary: summary.into(), example: String::new(), parameters: P::schema() }
    }
}

/// No parameters.
#[derive(Debug, Clone, Copy, Table)]
pub struct NoParameters {}

/// All parameters that a `P` takes from a table, also those that the table leaves out.
///
/// # Errors
/// A table that is no `P`.
pub fn effective<P: Table>(table: &Params) -> Result<Params, SpecError> {
    match read_table::<P>(table)?.write() {
        Value::Object(all) => Ok(all),
        _ => Ok(Params::new()),
    }
}

/// Implements `Registered` for a type with a field `about`.
macro_rules! registered {
    ($entry:ty) => {
        impl headstack_schema::Registered for $entry {
            fn name(&self) -> &str {
                &self.about.name
            }
            fn summary(&self) -> &str {
                &self.about.summary
            }
            fn example(&self) -> &str {
                &self.about.example
            }
            fn parameters(&self) -> headstack_schema::TableSchema {
                self.about.parameters.clone()
            }
        }
    };
}
pub(crate) use registered;
