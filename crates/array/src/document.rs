//! Reads files of text into values.

use headstack_engine::{told, SpecError};
use serde_json::{Map, Number, Value};
use std::io::ErrorKind;
use std::path::Path;

/// The text of a file.
pub(crate) fn read_text(file: &Path) -> Result<String, SpecError> {
    std::fs::read_to_string(file).map_err(|e| {
        let got = match e.kind() {
            ErrorKind::NotFound => "no such file".into(),
            ErrorKind::InvalidData => "bytes that are not UTF-8".into(),
            _ => told(&e),
        };
        SpecError::new(file.display().to_string(), got, "a file of TOML")
    })
}

/// The document of a TOML file as a JSON value.
///
/// # Errors
/// A file that cannot be read; for invalid TOML file, line and column.
pub fn read_toml(file: &Path) -> Result<Value, SpecError> {
    toml_value(&read_text(file)?, file)
}

/// Parses TOML.
///
/// # Errors
/// For invalid TOML file, line and column; the key of a number that is not finite.
pub(crate) fn toml_value(text: &str, file: &Path) -> Result<Value, SpecError> {
    let table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
        let before = e.span().and_then(|s| text.get(..s.start)).unwrap_or("");
        let line = 1 + before.matches('\n').count();
        let column = 1 + before.chars().rev().take_while(|c| *c != '\n').count();
        let (got, need) = got_and_need(e.message().trim());
        let place = format!("{}:{line}:{column}", file.display());
        SpecError::new(place, got, need)
    })?;
    let value = plain_table(table);
    value.map_err(|e| e.in_file(file.display()))
}

/// The parser's message, split into what was got and what is needed.
fn got_and_need(message: &str) -> (String, String) {
    const WHOLE: &str = "a whole number from -2^63 to 2^63 - 1";
    const LEVELS: &str = "fewer levels of lists and tables in each other";
    let (got, need) = match message.split_once(", expected ") {
        Some((got, "nothing")) => (got, "nothing there"),
        Some((got, "any valid TOML value")) => (got, WHOLE),
        Some((got, need)) => (got, need),
        None if message.starts_with("integer number overflowed") => ("a larger number", WHOLE),
        None if message.starts_with("floating-point number overflowed") => {
            ("a larger number", "a number that 64 bits hold")
        }
        None if message.contains("recurs") => ("more levels", LEVELS),
        None => match message.strip_prefix("cannot extend value of type ") {
            Some(rest) => {
                return (
                    format!("a key inside {}", without_tail(rest)),
                    "a table".into(),
                )
            }
            None => (message, "valid TOML"),
        },
    };
    let got = got.trim_start_matches("invalid type: ");
    let got = got.strip_suffix(" as i128").unwrap_or(got);
    (got.replace('`', ""), need.replace('`', "\""))
}

/// The type in "integer with a dotted key".
fn without_tail(rest: &str) -> String {
    let kind = rest.strip_suffix(" with a dotted key").unwrap_or(rest);
    let article = if kind.starts_with(['a', 'i']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {kind}")
}

fn plain_table(table: toml::Table) -> Result<Value, SpecError> {
    let entries = table.into_iter().map(|(key, value)| {
        let value = plain(value).map_err(|e| e.within(&key))?;
        Ok((key, value))
    });
    Ok(Value::Object(entries.collect::<Result<Map<_, _>, _>>()?))
}

/// Converts to JSON; dates become text.
fn plain(value: toml::Value) -> Result<Value, SpecError> {
    Ok(match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => match Number::from_f64(number) {
            Some(number) => Value::Number(number),
            None => {
                let got = number.to_string().to_lowercase();
                return Err(SpecError::new("", got, "a finite number"));
            }
        },
        toml::Value::Boolean(is) => Value::Bool(is),
        toml::Value::Datetime(date) => Value::String(date.to_string()),
        toml::Value::Array(list) => {
            let entries = list
                .into_iter()
                .enumerate()
                .map(|(i, value)| plain(value).map_err(|e| e.within(&format!("[{i}]"))));
            Value::Array(entries.collect::<Result<_, _>>()?)
        }
        toml::Value::Table(table) => plain_table(table)?,
    })
}

/// Refuses lists in place of the tables of an experiment: their entries would be read as fields in order.
///
/// # Errors
/// The key of the list.
pub(crate) fn only_tables(document: &Value) -> Result<(), SpecError> {
    let refused = |key: String| Err(SpecError::new(key, "a list", "a table"));
    for key in ["run", "cost"] {
        if document.get(key).is_some_and(Value::is_array) {
            return refused(key.into());
        }
    }
    for key in ["workload", "workloads", "system", "systems"] {
        let entries = document.get(key).and_then(Value::as_array);
        let list = entries.and_then(|e| e.iter().position(Value::is_array));
        if let Some(i) = list {
            return refused(format!("{key}[{i}]"));
        }
    }
    match document.is_array() {
        true => refused("experiment".into()),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> Result<Value, String> {
        toml_value(text, Path::new("x.toml")).map_err(|e| e.to_string())
    }

    #[test]
    fn values_are_those_of_json() {
        let text = "a = 1\nb = [1.5, \"x\", true]\n[c.d]\ne = 1979-05-27\n[[f]]\ng = {}";
        let want = json!({
            "a": 1, "b": [1.5, "x", true], "c": { "d": { "e": "1979-05-27" } }, "f": [{ "g": {} }]
        });
        assert_eq!(read(text), Ok(want));
    }

    #[test]
    fn lists_are_no_tables() {
        for (document, want) in [
            (json!([]), "experiment: got a list, need a table"),
            (json!({ "run": [1] }), "run: got a list, need a table"),
            (json!({ "cost": [0.1] }), "cost: got a list, need a table"),
            (
                json!({ "systems": [{}, ["x"]] }),
                "systems[1]: got a list, need a table",
            ),
            (
                json!({ "workload": [["x"]] }),
                "workload[0]: got a list, need a table",
            ),
        ] {
            let error = only_tables(&document).unwrap_err().to_string();
            assert_eq!(error, want);
            let opened = crate::Experiment::from_value(document, Path::new(""));
            assert_eq!(opened.unwrap_err().to_string(), want);
        }
        let tables = json!({ "run": {}, "cost": {}, "workload": {}, "system": [{}] });
        assert_eq!(only_tables(&tables), Ok(()));
    }

    #[test]
    fn what_is_wrong_has_a_place() {
        for (text, want) in [
            ("a = 1\nb = = 2", "x.toml:2:5: got "),
            (
                "a = 1\na = 2",
                "x.toml:2:1: got duplicate key, need valid TOML",
            ),
            (
                "a = 1\na.b = 2",
                "x.toml:2:1: got a key inside an integer, need a table",
            ),
            (
                "a = 10000000000000000000000",
                "x.toml:1:5: got integer 10000000000000000000000, need a whole number from -2^63 to",
            ),
            ("a = \"x\n", "x.toml:1:7: got invalid basic string, need \"\"\""),
            ("a = inf", "x.toml: a: got inf, need a finite number"),
            (
                "[[a]]\nb = [0, { c = nan }]",
                "x.toml: a[0].b[1].c: got nan, need a finite number",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(want), "{error}");
        }
        let error = read_text(Path::new("absent.toml")).unwrap_err().to_string();
        assert_eq!(error, "absent.toml: got no such file, need a file of TOML");
    }

    /// A document nested this deeply is refused by the parser.
    #[test]
    fn very_deep_tables_are_refused() {
        for levels in [1_400, 100_000] {
            let dotted = format!("{} = 1", vec!["a"; levels].join("."));
            let lists = format!("a = {}{}", "[".repeat(levels), "]".repeat(levels));
            let tables = format!("[{}]", vec!["a"; levels].join("."));
            for text in [dotted, lists, tables] {
                let error = read(&text).unwrap_err();
                assert!(error.starts_with("x.toml:1:"), "{error}");
                assert!(error.contains("got more levels, need fewer"), "{error}");
            }
        }
        let digits = format!("a = {}", "9".repeat(5_000));
        let error = read(&digits).unwrap_err();
        assert!(
            error.starts_with("x.toml:1:5: got a larger number, need a whole"),
            "{error}"
        );
    }

    #[test]
    fn a_byte_order_mark_is_passed_over() {
        assert_eq!(read("\u{feff}a = 1"), Ok(json!({ "a": 1 })));
    }
}
