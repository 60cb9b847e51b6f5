//! Reads descriptions into types, with errors that say where, what was got and what is needed.
//!
//! Only this file knows how serde words its errors. A type whose alternatives serde cannot name states its
//! own need, as `got <value>, need <bound>`, in a custom error. Where the value is a table, a custom error may
//! begin with the key inside it: `<key>: got <value>, need <bound>`, as a [`SpecError`] is displayed. A type
//! of several forms is read by [`by_kind`]: serde's untagged enums cannot say what is wrong with the form
//! that was meant.

use crate::{did_you_mean, SpecError};
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde_json::{Map, Value};

/// Reads a description. Keys in errors are relative to it; the empty key means the whole description.
///
/// # Errors
/// The dotted key, what was got, what is needed, and the nearest known name as a hint.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, SpecError> {
    from_rest(value, &[])
}

/// Reads the rest of a table from which the keys `others` have been removed. Errors list those keys among the
/// known names.
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

/// Reads a value of several forms. `read` takes the value if its kind (text, number, list, table) is that
/// of a form; else the error says that one of these is needed: `need`.
///
/// # Errors
/// As [`from_value`] has it for the form that was meant.
pub fn by_kind<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    need: &str,
    read: impl FnOnce(Value) -> Option<Result<T, SpecError>>,
) -> Result<T, D::Error> {
    let value: Value = serde::Deserialize::deserialize(deserializer)?;
    let got = shown(&value);
    let found = read(value).unwrap_or_else(|| Err(SpecError::new("", got, need)));
    found.map_err(D::Error::custom)
}

/// The keys of a table of type `T`, which must refuse unknown ones.
pub fn keys_of<T: DeserializeOwned>() -> Vec<String> {
    // Serde names them where it refuses a key that none can have.
    let refused = serde_json::json!({ "\u{0}": null });
    let Err(e) = serde_json::from_value::<T>(refused) else {
        return Vec::new();
    };
    let message = e.to_string();
    let quoted = message.split('`').skip(1).step_by(2);
    quoted.skip(1).map(str::to_string).collect()
}

/// A value of a description as messages show it.
pub fn shown(value: &Value) -> String {
    /// Characters of a value that are shown.
    const MOST: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// The error for a table without `key`, relative to the table. If another key, not one of `known`, is nearly
/// spelt like it, the error names that key instead.
pub fn missing(table: &Map<String, Value>, key: &str, need: &str, known: &[&str]) -> SpecError {
    let misspelt = misspelt(table, key, known);
    misspelt.unwrap_or_else(|| SpecError::new(key, "nothing", need))
}

/// The error for a key in the table that may be a misspelling of `key`, which is absent; `known` are the
/// other keys that the table may have. `None` if there is no such key.
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

/// One of serde's error messages, and the place of the value.
struct Sentence<'a> {
    path: &'a str,
    message: &'a str,
    /// The parts between backquotes.
    quoted: Vec<&'a str>,
}

/// Converts serde's message into key, got and need; `others` are further known keys of the whole description.
fn explain(path: &str, message: &str, others: &[&str]) -> SpecError {
    let sentence = Sentence {
        path,
        message,
        quoted: message.split('`').skip(1).step_by(2).collect(),
    };
    unknown_field(&sentence, others)
        .or_else(|| unknown_variant(&sentence))
        .or_else(|| missing_field(&sentence))
        .or_else(|| own_words(&sentence))
        .or_else(|| within_table(&sentence))
        .or_else(|| other_type(&sentence))
        .unwrap_or_else(|| SpecError::new(path, "a value that does not fit", message))
}

fn unknown_field(s: &Sentence, others: &[&str]) -> Option<SpecError> {
    s.message.strip_prefix("unknown field")?;
    let (got, known) = s.quoted.split_first()?;
    // The path already includes the unknown key.
    let parent = match s.path.strip_suffix(got) {
        Some(parent) => parent.strip_suffix('.').unwrap_or(parent),
        None => s.path,
    };
    let others = if parent.is_empty() { others } else { &[] };
    Some(unknown_key(got, &[others, known].concat()).within(parent))
}

fn unknown_variant(s: &Sentence) -> Option<SpecError> {
    s.message.strip_prefix("unknown variant")?;
    let (got, known) = s.quoted.split_first()?;
    let hint = did_you_mean(got, known.iter().copied());
    let need = format!("one of {}{hint}", known.join(", "));
    Some(SpecError::new(s.path, format!("{got:?}"), need))
}

fn missing_field(s: &Sentence) -> Option<SpecError> {
    s.message.strip_prefix("missing field")?;
    let field = s.quoted.first()?;
    Some(SpecError::new(*field, "nothing", "a value").within(s.path))
}

/// The message of a type that states its own need.
fn own_words(s: &Sentence) -> Option<SpecError> {
    let (got, need) = s.message.strip_prefix("got ")?.split_once(", need ")?;
    Some(SpecError::new(s.path, got, need))
}

fn other_type(s: &Sentence) -> Option<SpecError> {
    let (got, need) = s.message.split_once(", expected ")?;
    let got = got
        .trim_start_matches("invalid type: ")
        .trim_start_matches("invalid value: ")
        .trim_start_matches("invalid length ")
        .replace('`', "");
    let got = match got.as_str() {
        "map" => "a table",
        "sequence" => "a list",
        "null" => "nothing",
        other => other,
    };
    let number = (got.rsplit(' ').next()).and_then(|n| n.parse::<f64>().ok());
    let whole = |most: u64| match number {
        // What is whole and not negative may still be too much, or written as if it were not whole.
        Some(n) if n > most as f64 => format!("a whole number, 0 or more, at most {most}"),
        Some(n) if got.starts_with("floating") && n >= 0.0 && n.fract() == 0.0 => {
            format!("a whole number, 0 or more, without point and exponent: {n}")
        }
        _ => "a whole number, 0 or more".into(),
    };
    let need = match need {
        "u8" => whole(u8::MAX.into()),
        "u16" => whole(u16::MAX.into()),
        "u32" => whole(u32::MAX.into()),
        "u64" | "usize" => whole(u64::MAX),
        "i64" => "a whole number".into(),
        "f64" => "a number".into(),
        "a boolean" => "true or false, without quotes".into(),
        "a string" => "text in quotes".into(),
        "unit" => "its name alone".into(),
        "a map" => "a table".into(),
        "a sequence" => "a list".into(),
        "string or map" => "one of its words, as text".into(),
        other if other.starts_with("struct ") => "a table".into(),
        other => match other.split_once(" of size ") {
            Some((_, size)) => format!("a list of {size} entries"),
            None => other.into(),
        },
    };
    Some(SpecError::new(s.path, got, need))
}

/// The message of a type that states the key inside it: `<key>: got <value>, need <bound>`.
fn within_table(s: &Sentence) -> Option<SpecError> {
    let (key, rest) = s.message.split_once(": got ")?;
    let (got, need) = rest.split_once(", need ")?;
    let dotted = |c: char| c.is_ascii_alphanumeric() || "_-.[]".contains(c);
    let error = || SpecError::new(key, got, need).within(s.path);
    key.chars().all(dotted).then(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    /// A table that reads itself, with an error like a [`SpecError`].
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

    #[derive(Debug)]
    #[allow(dead_code)]
    enum Either {
        Count(u32),
        Table(Inner),
    }

    impl<'de> Deserialize<'de> for Either {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Either, D::Error> {
            by_kind(deserializer, "a count or a table", |value| match value {
                Value::Number(_) => Some(from_value(value).map(Either::Count)),
                Value::Object(_) => Some(from_value(value).map(Either::Table)),
                _ => None,
            })
        }
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
    fn the_keys_of_a_table_are_known() {
        assert_eq!(keys_of::<Inner>(), ["depth", "share"]);
        assert_eq!(keys_of::<Outer>(), ["name", "queue", "order", "either"]);
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
                "order.open: got a table, need its name alone",
            ),
            (
                json!({"name": "x", "order": 3}),
                "order: got integer 3, need one of its words, as text",
            ),
            (
                json!({"name": "x", "either": ["\u{1b}"]}),
                "either: got [\"\\u001b\"], need a count or a table",
            ),
            (
                json!({"name": "x", "either": {"depth": -1}}),
                "either.depth: got integer -1, need a whole number, 0 or more",
            ),
            (
                json!({"name": "x", "either": 5e9}),
                "either: got floating point 5000000000.0, need a whole number, 0 or more, at most 4294967295",
            ),
            (
                json!({"name": "x", "either": 1e6}),
                "either: got floating point 1000000.0, need a whole number, 0 or more, without point and \
                 exponent: 1000000",
            ),
            (json!({"name": 3}), "name: got integer 3, need text in quotes"),
            (
                json!({"name": "x", "either": {"detph": 1}}),
                "either: got key \"detph\", need one of depth, share; did you mean \"depth\"?",
            ),
            (json!(7), "got integer 7, need a table"),
        ] {
            let shown = value.to_string();
            let error = from_value::<Outer>(value).expect_err(&shown);
            assert!(error.to_string().starts_with(want), "{shown}: {error}");
        }
    }
}
