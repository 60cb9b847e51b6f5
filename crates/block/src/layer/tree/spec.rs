//! Layers as an experiment names them: the entries of a system's list, and its organisation.

use crate::layer::{Layer, LowerCount};
use headstack_drive::spec::Params;
use headstack_schema::{missing, Adapter, Kind, Parameter, Plugin, Plugins, SpecError};
use serde_json::Value;

/// One entry of a system's list of layers: a name, or a table with `name`, `of` and parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerSpec {
    /// The layer's name.
    pub name: String,
    /// How many lower layers each layer of this entry takes; all if absent.
    pub of: Option<u32>,
    /// The layer's parameters.
    pub params: Params,
    /// Whether it is the system's organisation, and not an entry of its list of layers.
    pub is_organisation: bool,
}

/// Text, or a table with `name` and parameters: the name and the parameters.
fn named(value: &Value, known: &[&str]) -> Result<(String, Params), SpecError> {
    let mut table = match value {
        Value::String(name) => return Ok((name.clone(), Params::new())),
        Value::Object(table) => table.clone(),
        other => return Err(SpecError::new("", other, "a name or a table")),
    };
    match table.remove("name") {
        Some(Value::String(name)) => Ok((name, table)),
        Some(other) => Err(SpecError::new("name", other, "a name")),
        None => Err(missing(&table, "name", "a name", known)),
    }
}

fn kind_of(of: &'static str) -> Kind {
    Kind::OneOf(vec![Kind::Name(of), Kind::Keyed { of, key: "name" }])
}

impl Parameter for LayerSpec {
    fn kind() -> Kind {
        kind_of("layer")
    }

    fn read(value: &Value) -> Result<LayerSpec, SpecError> {
        let (name, mut params) = named(value, &["of"])?;
        let of = match params.remove("of") {
            None => None,
            Some(of) => {
                let n = of.as_u64().and_then(|n| u32::try_from(n).ok());
                let n = n.filter(|n| *n > 0);
                Some(n.ok_or_else(|| SpecError::new("of", of, "a whole number, 1 or more"))?)
            }
        };
        Ok(LayerSpec { name, of, params, is_organisation: false })
    }

    fn write(&self) -> Value {
        if self.params.is_empty() && self.of.is_none() {
            return self.name.clone().into();
        }
        let mut table = self.params.clone();
        table.insert("name".into(), self.name.clone().into());
        table.extend(self.of.map(|of| ("of".into(), of.into())));
        Value::Object(table)
    }
}

/// The form of a system's organisation: as an entry of its layers, without `of`.
pub struct AsOrganisation;

impl Adapter<LayerSpec> for AsOrganisation {
    fn kind() -> Kind {
        kind_of("organisation")
    }

    fn read(value: &Value) -> Result<LayerSpec, SpecError> {
        let (name, params) = named(value, &[])?;
        Ok(LayerSpec { params, ..LayerSpec::organisation(&name) })
    }

    fn write(spec: &LayerSpec) -> Value {
        spec.write()
    }
}

impl LayerSpec {
    /// An organisation without parameters.
    pub fn organisation(name: &str) -> LayerSpec {
        LayerSpec { name: name.into(), of: None, params: Params::new(), is_organisation: true }
    }

    /// The registry's entry of this name.
    pub(super) fn entry<'a>(&self, entries: &'a Plugins<dyn Layer>) -> Result<&'a Plugin<dyn Layer>, SpecError> {
        let entry = entries.find("name", &self.name)?;
        match (entry.facts, self.of) {
            (LowerCount::One, Some(of)) if of != 1 => {
                let need = format!("1: a {} stands on one layer", self.name);
                Err(SpecError::new("of", of, need))
            }
            _ => Ok(entry),
        }
    }
}

/// The key of layer `i` in the table of its system: `organisation`, or its entry of `layers`.
pub(crate) fn key_of(specs: &[LayerSpec], i: usize) -> String {
    match specs[i].is_organisation {
        true => "organisation".into(),
        false => format!("layers[{}]", i - listed_from(specs)),
    }
}

/// The first of the layers that the system lists: the organisation is before them, if it is a layer.
pub fn listed_from(specs: &[LayerSpec]) -> usize {
    specs.iter().take_while(|s| s.is_organisation).count()
}

/// Checks that every named layer is one of `entries`.
///
/// # Errors
/// The first unknown name, at `layers[i]`.
pub fn check(specs: &[LayerSpec], entries: &Plugins<dyn Layer>) -> Result<(), SpecError> {
    let mut all = specs.iter().enumerate();
    all.try_for_each(|(i, spec)| {
        let found = spec.entry(entries).map(drop);
        found.map_err(|e| e.within(&key_of(specs, i)))
    })
}
