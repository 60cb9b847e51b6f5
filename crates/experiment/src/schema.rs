//! Experiments as JSON Schema, and the models that they can name.

use crate::experiment::{Experiment, System};
use crate::inputs::Inputs;
use crate::system::PER_ENTRY;
use headstack_schema::{json_schema, Field, Kind, Parameter, Table, TableSchema, Usual};
use serde_json::Value;

impl Inputs<'_> {
    /// The models of a kind, as [`Kind`] names it: their names and their parameters.
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
        let mut table = Experiment::schema();
        let systems = System::schema();
        for field in &mut table.fields {
            if field.key == "system" {
                field.kind = one_or_several(with_drives(systems.clone()));
            }
        }
        json_schema::document(&table, "experiment", &|kind| self.tables(kind))
    }
}

fn one_or_several(table: TableSchema) -> Kind {
    let table = Kind::Table(table);
    let list = Kind::List { of: Box::new(table.clone()), length: None };
    Kind::OneOf(vec![table, list])
}

/// The table of a system in which entries of `drives` have the keys of the system that say which drives it has.
fn with_drives(mut system: TableSchema) -> TableSchema {
    let own = |field: &&Field| PER_ENTRY.contains(&field.key);
    let entry = TableSchema {
        doc: "Drives of one kind.",
        fields: system.fields.iter().filter(own).cloned().collect(),
        ..TableSchema::default()
    };
    if let Some(drives) = system.fields.iter_mut().find(|f| f.key == "drives") {
        drives.kind = Kind::List { of: Box::new(Kind::Table(entry)), length: None };
    }
    system
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
