//! The JSON Schema of drive files: what it allows is what the shipped drives are, and what it refuses is what reading
//! refuses.
//!
//! `is_valid` is a small validator of the keywords that the schema uses, written from the specification (JSON Schema
//! draft 2020-12, core and validation) and not from the code that makes the schema. A keyword that it does not know
//! fails the test.

use headstack_drive::cost::{self, Parts};
use headstack_drive::{Drive, DriveOptions, DriveSpec, Models};
use headstack_schema::SpecError;
use headstack_testkit::shipped;
use serde_json::{json, Map, Value};

/// Whether `value` fits `schema`.
fn is_valid(schema: &Value, value: &Value) -> bool {
    let rules = match schema {
        Value::Bool(any) => return *any,
        Value::Object(rules) => rules,
        other => panic!("a schema: {other}"),
    };
    rules.iter().all(|(keyword, rule)| fits(rules, keyword, rule, value))
}

fn fits(rules: &Map<String, Value>, keyword: &str, rule: &Value, value: &Value) -> bool {
    let schemas = |rule: &Value| rule.as_array().expect("schemas").clone();
    match keyword {
        "$schema" | "$comment" | "title" | "description" | "default" | "examples" => true,
        "x-minimum" | "x-maximum" | "then" => true,
        "type" => is_of_type(rule.as_str().expect("a type"), value),
        "const" => rule == value,
        "enum" => rule.as_array().expect("words").contains(value),
        "minimum" => value.as_f64().is_none_or(|n| Some(n) >= rule.as_f64()),
        "maximum" => value.as_f64().is_none_or(|n| Some(n) <= rule.as_f64()),
        "minItems" => value.as_array().is_none_or(|l| Some(l.len() as u64) >= rule.as_u64()),
        "maxItems" => value.as_array().is_none_or(|l| Some(l.len() as u64) <= rule.as_u64()),
        "maxProperties" => value.as_object().is_none_or(|t| Some(t.len() as u64) <= rule.as_u64()),
        "items" => value.as_array().is_none_or(|l| l.iter().all(|v| is_valid(rule, v))),
        // Quantities: a digit and a unit at least.
        "pattern" => value
            .as_str()
            .is_none_or(|t| t.contains(|c: char| c.is_ascii_digit()) && t.ends_with(|c: char| c.is_alphabetic())),
        "required" => value.as_object().is_none_or(|t| {
            let keys = rule.as_array().expect("keys").iter();
            keys.map(|k| k.as_str().expect("a key")).all(|k| t.contains_key(k))
        }),
        "properties" => value.as_object().is_none_or(|t| {
            let own = |(k, v): (&String, &Value)| rule.get(k).is_none_or(|s| is_valid(s, v));
            t.iter().all(own)
        }),
        "additionalProperties" => value.as_object().is_none_or(|t| {
            let named = |k: &str| rules.get("properties").is_some_and(|p| p.get(k).is_some());
            t.iter().all(|(k, v)| named(k) || is_valid(rule, v))
        }),
        "allOf" => schemas(rule).iter().all(|s| is_valid(s, value)),
        "anyOf" => schemas(rule).iter().any(|s| is_valid(s, value)),
        "if" => !is_valid(rule, value) || is_valid(&rules["then"], value),
        other => panic!("keyword {other}"),
    }
}

fn is_of_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|n| n.fract() == 0.0),
        other => panic!("type {other}"),
    }
}

fn schema() -> Value {
    Models::builtin().drive_schema()
}

/// A drive that uses the layouts, models and policies that no shipped drive has.
fn with_everything() -> Value {
    json!({
        "name": "d", "dash": "D1A2S1H1",
        "parallelism": { "roles": { "policy": "adaptive", "window": 100.0 } },
        "geometry": {
            "rotation_speed": "7200 rpm", "surfaces": 2, "cylinders": 40,
            "layout": "banded", "band_cylinders": 4,
            "zones": [{ "first_cylinder": 0, "last_cylinder": 39, "sectors_per_track": [20, 21] }],
        },
        "seek": { "model": "hpl", "short_limit": 300, "short_base": "3.81 ms", "short_sqrt": "0.33 ms",
            "long_base": "7.75 ms", "long_slope": "0.0059 ms" },
        "mapping": { "model": "log", "policy": "eager", "policy_parameters": { "ties": "any" },
            "cleaning": { "policy": "greedy", "low": 0.1 }, "recovery": { "model": "checkpoint" } },
        "queue": { "scheduler": "vscan", "scheduler_parameters": { "r": 0.5 } },
        "power": { "profile": "main", "idle_a": "8 W",
            "conditions": { "idle_a": { "timer": "2 s", "recovery_time": "1 s" } } },
        "cost": { "model": "price", "usd": [1, 2] },
    })
}

/// What reading and building say.
fn outcome(value: &Value) -> Result<(), SpecError> {
    let spec = DriveSpec::from_value(value.clone(), &Models::builtin())?;
    Drive::builtin(&spec, &DriveOptions::default())?;
    cost::build(&spec.cost, &Parts::of(&spec)?, &cost::PLUGINS)?;
    Ok(())
}

#[test]
fn every_shipped_drive_is_valid() {
    let schema = schema();
    let mut n = 0;
    for (path, text, _) in shipped::files() {
        let value: Value = toml::from_str(&text).expect("TOML");
        assert!(is_valid(&schema, &value), "{}", path.display());
        n += 1;
    }
    assert!(n >= 24, "{n} drives");
    assert!(is_valid(&schema, &with_everything()));
}

/// Each change is refused by the schema, and by reading and building.
#[test]
fn misspelt_keys_and_values_out_of_bounds_are_not() {
    let schema = schema();
    let whole = with_everything();
    outcome(&whole).unwrap_or_else(|e| panic!("{e}"));
    for (place, key, value) in [
        ("", "quue", json!({})),
        ("", "year", json!(1900)),
        ("/geometry", "surfaces", json!(0)),
        ("/geometry", "cylindrs", json!(40)),
        ("/geometry", "layout", json!("no-such-layout")),
        // Of another layout.
        ("/geometry", "head_order", json!("same")),
        ("/geometry/zones/0", "sectors_per_track", json!("20")),
        ("/geometry/zones/0", "skew", json!(1.0)),
        ("/seek", "model", json!("linear")),
        ("/seek", "short_bas", json!("1 ms")),
        ("/parallelism/roles", "windw", json!(3.0)),
        ("/mapping", "reserve", json!(1.5)),
        ("/mapping", "model", json!("identity")),
        ("/mapping/policy_parameters", "ties", json!("some")),
        ("/mapping/cleaning", "moves", json!(0)),
        ("/mapping/recovery", "model", json!("prayer")),
        ("/queue", "depth", json!(-1)),
        ("/queue", "scheduler", json!("fcfs")),
        ("/queue/scheduler_parameters", "r", json!(2.0)),
        ("/power", "spindel", json!("6 W")),
        ("/power", "spindle", json!(6)),
        ("/power/conditions", "timers", json!("all")),
        ("/power/conditions/idle_a", "time", json!("1 s")),
        ("/cost", "usd", json!([1])),
    ] {
        let mut changed = whole.clone();
        let table = changed.pointer_mut(place).and_then(Value::as_object_mut);
        table.expect(place).insert(key.into(), value.clone());
        assert!(!is_valid(&schema, &changed), "{place}/{key} = {value}");
        assert!(outcome(&changed).is_err(), "{place}/{key} = {value}");
    }
    for (place, key) in [("", "seek"), ("/geometry", "zones"), ("/geometry", "band_cylinders"), ("/seek", "model")] {
        let mut changed = whole.clone();
        let table = changed.pointer_mut(place).and_then(Value::as_object_mut);
        table.expect(place).remove(key);
        assert!(!is_valid(&schema, &changed), "{place}/{key} left out");
        assert!(outcome(&changed).is_err(), "{place}/{key} left out");
    }
}

/// Defaults, bounds and sentences of each parameter are in the schema.
#[test]
fn parameters_have_sentences() {
    fn walk(schema: &Value, place: &str, n: &mut usize) {
        let Some(rules) = schema.as_object() else { return };
        if let Some(properties) = rules.get("properties").and_then(Value::as_object) {
            for (key, property) in properties {
                let place = format!("{place}.{key}");
                // The rules of models repeat names and keys that are described elsewhere.
                let repeated = property.is_boolean() || property.get("const").is_some();
                let of_rule = property.get("enum").is_some() && property.get("$comment").is_some();
                let described = property["description"].as_str().is_some_and(|d| d.contains('.'));
                let under_rule = property.get("type").is_some() && place.contains("parameters");
                assert!(repeated || of_rule || described || under_rule, "{place}: {property}");
                *n += 1;
                walk(property, &place, n);
            }
        }
        for key in ["allOf", "anyOf"] {
            for schema in rules.get(key).and_then(Value::as_array).into_iter().flatten() {
                walk(schema, place, n);
            }
        }
        for key in ["then", "items"] {
            walk(&rules.get(key).cloned().unwrap_or_default(), place, n);
        }
    }
    let mut n = 0;
    walk(&schema(), "", &mut n);
    assert!(n > 200, "{n} parameters");
    let depth = &schema()["properties"]["queue"]["properties"]["depth"];
    assert_eq!(depth["default"], 0);
    assert_eq!(depth["maximum"], 1 << 20);
}
