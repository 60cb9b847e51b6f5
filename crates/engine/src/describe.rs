//! Reading descriptions: values into types, with errors that people can act on.
//!
//! This is the one place that knows how serde words its errors. A type whose alternatives serde
//! cannot name says itself what it needs, as `got <value>, need <bound>`: by a custom error, or by
//! `#[serde(expecting = "...")]` where it is untagged. Where the value is a table, a custom error may begin with
//! the key inside it: `<key>: got <value>, need <bound>`, which is how a [`SpecError`] shows itself.

use crate::error::{did_you_mean, SpecError};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Reads a description. Keys of errors are seen from inside it: the whole is the empty key.
///
/// # Errors
/// The dotted key, what was got, what is needed, and the nearest known name.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, SpecError> {
    from_rest(value, &[])
}

/// Reads what is left of a table after the keys `others` have been taken out of it. They are among
/// the known names of an error.
///
/// # Errors
/// As [`from_value`].
pub fn from_rest<T: DeserializeOwned>(rest: Value, others: &[&str]) -> Result<T, SpecError> {
    serde_path_to_error::deserialize(rest).map_err(|e| {
        let path = e.path().to_string();
        let path = if path == "." { "" } else { &path };
        explain(path, &e.into_inner().to_string(), others)
    })
}

/// The error of a table that lacks the key it needs, seen from inside the table. Where a key is spelt nearly
/// so, and is not one of the `known` others that the table may have, that key is what is wrong.
pub fn missing(table: &Map<String, Value>, key: &str, need: &str, known: &[&str]) -> SpecError {
    let misspelt = misspelt(table, key, known);
    misspelt.unwrap_or_else(|| SpecError::new(key, "nothing", need))
}

/// The error of a table in which `key`, which is absent, may have been misspelt; `known` are the other
/// keys that the table may have.
pub fn misspelt(table: &Map<String, Value>, key: &str, known: &[&str]) -> Option<SpecError> {
    let near = |k: &&String| !known.contains(&k.as_str()) && !did_you_mean(k, [key]).is_empty();
    let got = table.keys().find(near)?;
    Some(unknown_key(got, &[&[key], known].concat()))
}

fn unknown_key(got: &str, known: &[&str]) -> SpecError {
    let hint = did_you_mean(got, known.iter().copied());
    let need = if known.is_empty() {
        "no keys here".to_string()
    } else {
        format!("one of {}{hint}", known.join(", "))
    };
    SpecError::new("", format!("key {got:?}"), need)
}

/// Turns serde's sentences into key, got and need; `others` are further keys of the whole.
fn explain(path: &str, message: &str, others: &[&str]) -> SpecError {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if let (true, Some((got, known))) = (message.starts_with("unknown field"), quoted.split_first())
    {
        // The path already ends with the unknown key itself.
        let parent = match path.strip_suffix(got) {
            Some(parent) => parent.strip_suffix('.').unwrap_or(parent),
            None => path,
        };
        let others = if parent.is_empty() { others } else { &[] };
        return unknown_key(got, &[others, known].concat()).within(parent);
    }
    if let (true, Some((got, known))) =
        (message.starts_with("unknown variant"), quoted.split_first())
    {
        let hint = did_you_mean(got, known.iter().copied());
        let need = format!("one of {}{hint}", known.join(", "));
        return SpecError::new(path, format!("{got:?}"), need);
    }
    if let (true, Some(field)) = (message.starts_with("missing field"), quoted.first()) {
        return SpecError::new(*field, "nothing", "a value").within(path);
    }
    if let Some((got, need)) = message
        .strip_prefix("got ")
        .and_then(|m| m.split_once(", need "))
    {
        return SpecError::new(path, got, need);
    }
    if let Some((key, got, need)) = within_table(message) {
        return SpecError::new(key, got, need).within(path);
    }
    if let Some((got, need)) = message.split_once(", expected ") {
        let got = got
            .trim_start_matches("invalid type: ")
            .trim_start_matches("invalid value: ")
            .replace('`', "");
        let need = match need {
            "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more",
            "i64" => "a whole number",
            "f64" => "a number",
            "unit" => "its name alone",
            other if other.starts_with("struct ") => "a table",
            other => other,
        };
        return SpecError::new(path, got, need);
    }
    SpecError::new(path, "a value that does not fit", message)
}

/// The parts of `<key>: got <value>, need <bound>`.
fn within_table(message: &str) -> Option<(&str, &str, &str)> {
    let (key, rest) = message.split_once(": got ")?;
    let (got, need) = rest.split_once(", need ")?;
    let dotted = |c: char| c.is_ascii_alphanumeric() || "_-.[]".contains(c);
    key.chars().all(dotted).then_some((key, got, need))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::{Deserializer, Error};
    use serde::Deserialize;
    use serde_json::json;

    /// A table that reads itself, and says what is wrong in it as a [`SpecError`] does.
    #[derive(Debug)]
    struct Own;

    impl<'de> Deserialize<'de> for Own {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Own, D::Error> {
            let table = Map::<String, Value>::deserialize(deserializer)?;
            match table.get("zones").and_then(Value::as_array) {
                Some(_) => Err(D::Error::custom(SpecError::new("zones[1].last", 7, "8"))),
                None => Err(D::Error::custom(missing(
                    &table,
                    "zones",
                    "a list",
                    &["stones"],
                ))),
            }
        }
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Outer {
        name: String,
        #[serde(default)]
        queue: Inner,
        #[serde(default)]
        order: Order,
        #[serde(default)]
        either: Option<Either>,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    #[allow(dead_code)]
    struct Inner {
        depth: u32,
        share: f64,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Order {
        #[default]
        Open,
        Sorted,
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged, expecting = "got something else, need a count or a word")]
    #[allow(dead_code)]
    enum Either {
        Count(u32),
        Word(String),
    }

    #[test]
    fn keys_that_were_taken_out_are_known() {
        let read =
            |rest| from_rest::<Inner>(rest, &["surfaces", "zones"]).map_err(|e| e.to_string());
        assert!(read(json!({"depth": 3})).is_ok());
        assert_eq!(
            read(json!({"surfces": 3})).unwrap_err(),
            "got key \"surfces\", need one of surfaces, zones, depth, share; did you mean \"surfaces\"?"
        );
    }

    #[test]
    fn a_misspelt_key_is_named_instead_of_the_one_that_it_leaves_missing() {
        #[derive(Debug, Deserialize)]
        #[allow(dead_code)]
        struct Whole {
            disk: Own,
        }
        for (table, want) in [
            (json!({"zones": []}), "disk.zones[1].last: got 7, need 8"),
            (
                json!({"zonse": []}),
                "disk: got key \"zonse\", need one of zones, stones; did you mean \"zones\"?",
            ),
            (
                json!({"stones": []}),
                "disk.zones: got nothing, need a list",
            ),
            (json!({"quark": []}), "disk.zones: got nothing, need a list"),
            (json!({}), "disk.zones: got nothing, need a list"),
        ] {
            let error = from_value::<Whole>(json!({"disk": table.clone()})).expect_err("an error");
            assert_eq!(error.to_string(), want, "{table}");
        }
    }

    #[test]
    fn errors_name_the_key_what_was_got_and_what_is_needed() {
        for (value, want) in [
            (
                json!({"name": "x", "queue": {"depth": "32"}}),
                "queue.depth: got string \"32\", need a whole number, 0 or more",
            ),
            (
                json!({"name": "x", "queue": {"depth": -1}}),
                "queue.depth: got integer -1, need a whole number, 0 or more",
            ),
            (
                json!({"name": "x", "queue": {"share": "half"}}),
                "queue.share: got string \"half\", need a number",
            ),
            (
                json!({"name": "x", "queue": {"detph": 1}}),
                "queue: got key \"detph\", need one of depth, share; did you mean \"depth\"?",
            ),
            (
                json!({"name": "x", "quark": 1}),
                "got key \"quark\", need one of name, queue, order, either",
            ),
            (json!({"queue": {}}), "name: got nothing, need a value"),
            (
                json!({"name": "x", "order": "sortd"}),
                "order: got \"sortd\", need one of open, sorted; did you mean \"sorted\"?",
            ),
            (
                json!({"name": "x", "order": {"open": {}}}),
                "order.open: got map, need its name alone",
            ),
            (
                json!({"name": "x", "either": []}),
                "either: got something else, need a count or a word",
            ),
            (json!(7), "got integer 7, need a table"),
        ] {
            let shown = value.to_string();
            let error = from_value::<Outer>(value).expect_err(&shown);
            assert!(error.to_string().starts_with(want), "{shown}: {error}");
        }
    }
}
