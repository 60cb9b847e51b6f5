//! Parameters as JSON Schema (draft 2020-12), for editors and other programs.
//!
//! Bounds of quantities, which are text, have no keyword of JSON Schema: they are under `x-minimum` and
//! `x-maximum`, and in the description.

use crate::kind::{name_of, Field, Kind, TableSchema, Usual, Word};
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
    let properties: Params = table.fields.iter().flat_map(|f| properties(f, models)).collect();
    let mut schema = Params::new();
    schema.insert("type".into(), "object".into());
    if !table.doc.is_empty() {
        schema.insert("description".into(), table.doc.into());
    }
    let mut all = required(table, &mut schema);
    for field in &table.fields {
        if let Kind::Name(kind) = field.kind {
            all.extend(by_name(table, field, kind, models));
        }
    }
    schema.insert("properties".into(), Value::Object(properties));
    if !all.is_empty() {
        schema.insert("allOf".into(), Value::Array(all));
    }
    schema.insert("additionalProperties".into(), table.others.is_some().into());
    schema
}

/// Adds the keys that may not be left out; returns what is needed of those that have two names.
fn required(table: &TableSchema, schema: &mut Params) -> Vec<Value> {
    let fields = || table.fields.iter().filter(|f| f.usual == Usual::Required);
    let required: Vec<Value> = fields().filter(|f| f.alias.is_none()).map(|f| f.key.into()).collect();
    if !required.is_empty() {
        schema.insert("required".into(), Value::Array(required));
    }
    fields()
        .filter(|f| f.alias.is_some())
        .map(|f| json!({ "anyOf": [{ "required": [f.key] }, { "required": [f.alias] }] }))
        .collect()
}

/// What the model that a field names adds to its table: a rule for each model of the kind.
fn by_name(table: &TableSchema, field: &Field, kind: &str, models: Models) -> Vec<Value> {
    let under = (table.fields.iter()).find(|f| matches!(f.kind, Kind::Parameters(of) if of == kind));
    if under.is_none() && table.others.is_none() {
        return Vec::new();
    }
    let rule = |(name, parameters): (String, TableSchema)| {
        let usual = matches!(&field.usual, Usual::Value(Value::String(usual)) if *usual == name);
        let own = table_schema(&parameters, models);
        let then = match under {
            Some(under) => json!({ "properties": { under.key: own } }),
            None => beside(&table.fields, own),
        };
        if_named(field.key, &name, usual, then)
    };
    models(kind).into_iter().map(rule).collect()
}

/// `then`, where `key` is `name`; also without the key if that is the `usual` name.
fn if_named(key: &str, name: &str, usual: bool, then: Value) -> Value {
    let mut test = json!({ "properties": { key: { "const": name } } });
    if let (false, Some(test)) = (usual, test.as_object_mut()) {
        test.insert("required".into(), json!([key]));
    }
    json!({ "if": test, "then": then })
}

/// The table of a model whose table also has these fields, which are described elsewhere.
fn beside(fields: &[Field], mut own: Params) -> Value {
    if let Some(properties) = own.get_mut("properties").and_then(Value::as_object_mut) {
        let keys = fields.iter().flat_map(|f| [Some(f.key), f.alias]);
        for key in keys.flatten() {
            properties.entry(key).or_insert(true.into());
        }
    }
    Value::Object(own)
}

/// A parameter under its key, and under its alias.
fn properties(field: &Field, models: Models) -> Vec<(String, Value)> {
    let mut schema = match (&field.kind, &field.usual) {
        (Kind::Model(kind), usual) => model(kind, "model", usual, models),
        (Kind::Keyed { of, key }, usual) => model(of, key, usual, models),
        (kind, _) => kind_schema(kind, models),
    };
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
            let comment = name_of(kind);
            match names.is_empty() {
                true => json!({ "type": "string", "$comment": comment }),
                false => json!({ "enum": names, "$comment": comment }),
            }
        }
        // The rule of the field that names the model says which they are.
        Kind::Parameters(_) => json!({ "type": "object" }),
        Kind::Model(kind) => model(kind, "model", &Usual::Required, models),
        Kind::Keyed { of, key } => model(of, key, &Usual::Required, models),
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

/// A table whose key `key` names a model, with its parameters beside it. The default may be a table that names
/// a model; if the default is nothing, so is an empty table.
fn model(kind: &str, key: &str, usual: &Usual, models: Models) -> Value {
    let by_default = match usual {
        Usual::Value(table) => table[key].as_str(),
        Usual::Required | Usual::Nothing => None,
    };
    let models_of_kind = models(kind);
    let names: Vec<&String> = models_of_kind.iter().map(|(name, _)| name).collect();
    let rule = |(name, table): &(String, TableSchema)| {
        let mut own = table_schema(table, models);
        if let Some(properties) = own.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert(key.into(), true.into());
        }
        if_named(key, name, by_default == Some(name), Value::Object(own))
    };
    let rules: Vec<Value> = models_of_kind.iter().map(rule).collect();
    let name = json!({ "enum": names, "$comment": name_of(kind) });
    let mut schema = json!({ "type": "object", "properties": { key: name }, "allOf": rules });
    if let (None, Some(schema)) = (by_default, schema.as_object_mut()) {
        let named = json!({ "required": [key] });
        let needed = match usual {
            Usual::Nothing => json!([named, { "maxProperties": 0 }]),
            _ => json!([named]),
        };
        schema.insert("anyOf".into(), needed);
    }
    schema
}
