//! Parameters as JSON Schema (draft 2020-12), for editors and other programs.
//!
//! Bounds of quantities, which are text, have no keyword of JSON Schema: they are under `x-minimum` and
//! `x-maximum`, and in the description.

use crate::kind::{Field, Kind, TableSchema, Usual, Word};
use crate::Params;
use serde_json::{json, Value};

/// The models of a kind, by name: their names, and their parameters with what each is.
pub type Models<'a> = &'a dyn Fn(&str) -> Vec<(String, TableSchema)>;

/// The schema of a table as a whole document.
pub fn document(table: &TableSchema, title: &str, models: Models) -> Value {
    let mut schema = table_schema(table, models);
    schema.insert("title".into(), title.into());
    let mut whole = Params::new();
    let draft = "https://json-schema.org/draft/2020-12/schema";
    whole.insert("$schema".into(), draft.into());
    whole.extend(schema);
    Value::Object(whole)
}

fn table_schema(table: &TableSchema, models: Models) -> Params {
    let properties: Params = table
        .fields
        .iter()
        .flat_map(|f| properties(f, models))
        .collect();
    let required: Vec<Value> = (table.fields.iter())
        .filter(|f| f.usual == Usual::Required && f.alias.is_none())
        .map(|f| f.key.into())
        .collect();
    let either = (table.fields.iter()).filter(|f| f.usual == Usual::Required && f.alias.is_some());
    let either: Vec<Value> = either
        .map(|f| json!({ "anyOf": [{ "required": [f.key] }, { "required": [f.alias] }] }))
        .collect();
    let mut schema = Params::new();
    schema.insert("type".into(), "object".into());
    if !table.doc.is_empty() {
        schema.insert("description".into(), table.doc.into());
    }
    schema.insert("properties".into(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".into(), Value::Array(required));
    }
    if !either.is_empty() {
        schema.insert("allOf".into(), Value::Array(either));
    }
    schema.insert("additionalProperties".into(), table.others.is_some().into());
    schema
}

/// A parameter under its key, and under its alias.
fn properties(field: &Field, models: Models) -> Vec<(String, Value)> {
    let mut schema = kind_schema(&field.kind, models);
    if let Value::Object(schema) = &mut schema {
        describe(schema, field);
    }
    let keys = [Some(field.key), field.alias];
    let keys = keys.into_iter().flatten();
    keys.map(|k| (k.to_string(), schema.clone())).collect()
}

/// Adds the sentence, the default and the bounds.
fn describe(schema: &mut Params, field: &Field) {
    let mut doc = field.doc.to_string();
    if let Some(bounds) = &field.bounds {
        let numbers = bounds.least.is_number();
        let [least, most] = match numbers {
            true => ["minimum", "maximum"],
            false => ["x-minimum", "x-maximum"],
        };
        // The bounds of a list are those of its entries.
        let inner = schema.get_mut("items").and_then(Value::as_object_mut);
        let of = match inner {
            Some(inner) => inner,
            None => &mut *schema,
        };
        of.insert(least.into(), bounds.least.clone());
        of.insert(most.into(), bounds.most.clone());
        doc = format!("{doc} {}.", bounds.shown).trim().to_string();
    }
    if let Usual::Value(value) = &field.usual {
        schema.insert("default".into(), value.clone());
    }
    if !doc.is_empty() {
        schema.insert("description".into(), doc.into());
    }
}

fn kind_schema(kind: &Kind, models: Models) -> Value {
    match kind {
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Whole { most } => json!({ "type": "integer", "minimum": 0, "maximum": most }),
        Kind::Signed => json!({ "type": "integer" }),
        Kind::Number => json!({ "type": "number" }),
        Kind::Text => json!({ "type": "string" }),
        Kind::Quantity { what, units } => {
            let comment = format!("{what} as text with its unit: {units}");
            let pattern = r"^\s*[-+]?[0-9._]+([eE][-+]?[0-9]+)?\s*[A-Za-z/%µ]+\s*$";
            json!({ "type": "string", "pattern": pattern, "$comment": comment })
        }
        Kind::Choice(words) => choice(words),
        Kind::List { of, length } => {
            let mut schema = json!({ "type": "array", "items": kind_schema(of, models) });
            if let (Some(length), Some(table)) = (length, schema.as_object_mut()) {
                table.insert("minItems".into(), (*length).into());
                table.insert("maxItems".into(), (*length).into());
            }
            schema
        }
        Kind::Map(of) => {
            json!({ "type": "object", "additionalProperties": kind_schema(of, models) })
        }
        Kind::Table(table) => Value::Object(table_schema(table, models)),
        Kind::OneOf(kinds) => {
            let forms: Vec<Value> = kinds.iter().map(|k| kind_schema(k, models)).collect();
            json!({ "anyOf": forms })
        }
        Kind::Name(kind) => {
            let names: Vec<String> = models(kind).into_iter().map(|(name, _)| name).collect();
            json!({ "type": "string", "examples": names, "$comment": format!("the name of a {kind}") })
        }
        Kind::Model(kind) => model(kind, models),
        Kind::Form { need, example } => {
            json!({ "examples": [example], "$comment": need })
        }
        Kind::Any => json!({}),
    }
}

fn choice(words: &[Word]) -> Value {
    let names: Vec<&str> = words.iter().map(|w| w.name).collect();
    let meanings = words.iter().filter(|w| !w.doc.is_empty());
    let meanings: Vec<String> = meanings.map(|w| format!("{}: {}", w.name, w.doc)).collect();
    match meanings.is_empty() {
        true => json!({ "enum": names }),
        false => json!({ "enum": names, "$comment": meanings.join(" ") }),
    }
}

/// A table whose key `model` names its parameters.
fn model(kind: &str, models: Models) -> Value {
    let forms: Vec<Value> = models(kind)
        .into_iter()
        .map(|(name, table)| {
            let mut schema = table_schema(&table, models);
            let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
            if let Some(properties) = properties {
                properties.insert("model".into(), json!({ "const": name }));
            }
            let required = schema.entry("required").or_insert(json!([]));
            if let Some(required) = required.as_array_mut() {
                required.push("model".into());
            }
            Value::Object(schema)
        })
        .collect();
    json!({ "oneOf": forms })
}
