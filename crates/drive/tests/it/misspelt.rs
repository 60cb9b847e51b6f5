//! A misspelt key is what the error names, with the key that was meant, also where that one is required
//! and thus missing.
//!
//! Every key of every shipped drive, and of every plug-in's example, loses a letter in turn.

use headstack_drive::cost::{self, Parts};
use headstack_drive::spec::Params;
use headstack_drive::{layout, power, scheduler, seek, Drive, DriveOptions, DriveSpec, Models};
use headstack_engine::SpecError;
use headstack_schema::{ModelKind, Plugin, Plugins};
use serde_json::{json, Value};

/// The shipped drives, as parsed.
fn shipped() -> Vec<(String, Value)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../drives");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("drives/ exists")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    paths.sort();
    let read = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let value: Value = toml::from_str(&text).expect("TOML");
        (path.display().to_string(), value)
    };
    paths.into_iter().map(read).collect()
}

/// A drive with the example of each plug-in that has one, in the table `key`.
fn with_examples<T: ?Sized + ModelKind>(key: &str, plugins: &Plugins<T>) -> Vec<(String, Value)> {
    let of = |plugin: &Plugin<T>| {
        let mut value = json!({
            "name": "d",
            "geometry": {
                "rotation_speed": "7200 rpm", "surfaces": 2, "cylinders": 40,
                "zones": [{"first_cylinder": 0, "last_cylinder": 39, "sectors_per_track": 20}],
            },
            "seek": {"model": "constant", "time": "5 ms"},
        });
        let table: Params = toml::from_str(plugin.example()).expect("an example");
        match key {
            "geometry" => {
                let geometry = value["geometry"].as_object_mut().expect("a table");
                geometry.extend(table);
                geometry.insert("layout".into(), plugin.name().into());
            }
            "queue" => {
                value["queue"] = json!({"scheduler": plugin.name(), "scheduler_parameters": table});
            }
            _ => {
                let mut table = table;
                table.insert("model".into(), plugin.name().into());
                value[key] = Value::Object(table);
            }
        }
        (format!("{key} {}", plugin.name()), value)
    };
    plugins.iter().map(of).collect()
}

/// What reading and building say.
fn outcome(value: &Value) -> Result<(), SpecError> {
    let spec = DriveSpec::from_value(value.clone(), &Models::builtin())?;
    Drive::builtin(&spec, &DriveOptions::default())?;
    cost::build(&spec.cost, &Parts::of(&spec)?, &cost::PLUGINS)?;
    Ok(())
}

/// A key without the letter in its middle.
fn shortened(key: &str) -> String {
    let middle = key.len() / 2;
    format!("{}{}", &key[..middle], &key[middle + 1..])
}

/// The dotted paths of all tables whose keys a description knows: those of `sources` are free.
fn tables(value: &Value, path: &str, all: &mut Vec<(String, Vec<String>)>) {
    match value {
        Value::Object(table) if path != "sources" => {
            all.push((path.to_string(), table.keys().cloned().collect()));
            for (key, inner) in table {
                let dot = if path.is_empty() { "" } else { "." };
                tables(inner, &format!("{path}{dot}{key}"), all);
            }
        }
        Value::Array(list) => {
            // Zones and the like are all read alike.
            for (i, inner) in list.iter().enumerate().take(2) {
                tables(inner, &format!("{path}[{i}]"), all);
            }
        }
        _ => {}
    }
}

/// The table at a dotted path.
fn table_at<'a>(value: &'a mut Value, path: &str) -> &'a mut Params {
    let pointer = path.replace(['.', '['], "/").replace(']', "");
    let pointer = if path.is_empty() { pointer } else { format!("/{pointer}") };
    let table = value.pointer_mut(&pointer).and_then(Value::as_object_mut);
    table.unwrap_or_else(|| panic!("{path}: no table"))
}

/// Misspells every key in turn; returns how many there were.
fn misspell_all(name: &str, whole: &Value) -> usize {
    let mut places = Vec::new();
    tables(whole, "", &mut places);
    let mut n = 0;
    for (path, keys) in places {
        // What is left of a shorter one is near to nothing.
        for key in keys.into_iter().filter(|k| k.len() > 3) {
            let wrong = shortened(&key);
            let mut value = whole.clone();
            let table = table_at(&mut value, &path);
            // In its place, so that whatever comes before it is still read before it.
            *table =
                std::mem::take(table).into_iter().map(|(k, v)| (if k == key { wrong.clone() } else { k }, v)).collect();
            let error = outcome(&value).expect_err(&format!("{name}: {path}.{wrong}"));
            let hint = format!("; did you mean {key:?}?");
            // Keys that are words of a list are named as such.
            let named = [(path.clone(), format!("key {wrong:?}")), (format!("{path}.{wrong}"), format!("{wrong:?}"))];
            assert!(
                named.contains(&(error.key.clone(), error.got.clone())) && error.need.ends_with(&hint),
                "{name}: {path}.{key} as {wrong}: {error}"
            );
            n += 1;
        }
    }
    n
}

#[test]
fn in_shipped_drives() {
    for (name, whole) in shipped() {
        outcome(&whole).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(misspell_all(&name, &whole) > 20, "{name}");
    }
}

#[test]
fn in_tables_of_plug_ins() {
    let examples = [
        with_examples("seek", &seek::PLUGINS),
        with_examples("geometry", &layout::PLUGINS),
        with_examples("power", &power::PLUGINS),
        with_examples("cost", &cost::PLUGINS),
        with_examples("queue", &scheduler::PLUGINS),
    ];
    for (name, whole) in examples.iter().flatten() {
        assert!(misspell_all(name, whole) > 9, "{name}");
    }
}

/// A key that may be there is not taken for a misspelt one, however near it is.
#[test]
fn what_is_missing_is_named_where_nothing_is_misspelt() {
    let mut banded = with_examples("geometry", &layout::PLUGINS)
        .into_iter()
        .find(|(name, _)| name == "geometry banded")
        .expect("a banded layout")
        .1;
    // Near to `band_cylinders`.
    table_at(&mut banded, "geometry").remove("cylinders");
    let error = outcome(&banded).expect_err("no cylinders");
    assert_eq!(error.to_string(), "geometry.cylinders: got nothing, need a value");
    table_at(&mut banded, "seek").remove("model");
    table_at(&mut banded, "geometry").insert("cylinders".into(), 40.into());
    let error = outcome(&banded).expect_err("no model");
    assert_eq!(error.to_string(), "seek.model: got nothing, need the name of a seek model as text");
}
