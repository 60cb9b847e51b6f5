//! Experiments as JSON Schema, and the models that they can name.

use crate::experiment::Experiment;
use crate::inputs::Inputs;
use headstack_schema::{json_schema, Field, Parameter, Table, TableSchema, Usual};
use serde_json::Value;

impl Inputs<'_> {
    /// The models of a kind, as [`headstack_schema::Kind`] names it: their names and their parameters.
    pub fn tables(&self, kind: &str) -> Vec<(String, TableSchema)> {
        match kind {
            "organisation" => self.organisations.schemas(),
            "layer" => {
                let layers = self.layers.schemas().into_iter();
                layers.map(|(name, table)| (name, with_of(table))).collect()
            }
            "elevator" => self.elevators.schemas(),
            "trace format" => self.formats.schemas(),
            "capping policy" => self.policies.schemas(),
            kind => self.models.tables(kind),
        }
    }

    /// The JSON Schema of experiments that name these models.
    pub fn experiment_schema(&self) -> Value {
        json_schema::document(&Experiment::schema(), "experiment", &|kind| self.tables(kind))
    }
}

/// The table of a layer with the key that every entry of `layers` may have.
fn with_of(mut table: TableSchema) -> TableSchema {
    table.fields.push(Field {
        key: "of",
        alias: None,
        doc: "How many lower layers each layer of this entry takes; all if absent.",
        kind: u32::kind(),
        usual: Usual::Nothing,
        bounds: None,
    });
    table
}
