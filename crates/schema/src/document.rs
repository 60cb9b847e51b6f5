//! Reads files of TOML into values, with the place of what is wrong.

use crate::{io_error_text, Place, SpecError};
use serde_json::{Map, Number, Value};
use std::io::ErrorKind;
use std::path::Path;

/// The text of a file, which should be `need`.
///
/// # Errors
/// A file that cannot be read, or is not UTF-8.
pub fn read_text(file: &Path, need: &str) -> Result<String, SpecError> {
    std::fs::read_to_string(file).map_err(|e| {
        let got = match e.kind() {
            ErrorKind::NotFound => "no such file".into(),
            ErrorKind::InvalidData => "bytes that are not UTF-8".into(),
            _ => io_error_text(&e),
        };
        let need = match e.kind() {
            ErrorKind::InvalidData => format!("{need}: text in UTF-8"),
            _ => need.into(),
        };
        SpecError::new(file.display().to_string(), got, need)
    })
}

/// What most files are.
pub const TOML: &str = "a file of TOML";

/// The document of a TOML file as a JSON value.
///
/// # Errors
/// A file that cannot be read; for invalid TOML file, line and column.
pub fn read_toml(file: &Path) -> Result<Value, SpecError> {
    toml_value(&read_text(file, TOML)?, file)
}

/// Parses TOML.
///
/// # Errors
/// For invalid TOML file, line and column; the key of a number that is not finite.
pub fn toml_value(text: &str, file: &Path) -> Result<Value, SpecError> {
    let table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
        let bytes = e.span().unwrap_or(0..0);
        let error = not_toml(text, bytes.start.min(text.len()), e.message());
        let place = Place::of(text, bytes, &error.label());
        error.at_place(file.display(), place)
    })?;
    let value = plain_table(table);
    value.map_err(|e| located(e, file, Some(text)))
}

/// The error for text that is not TOML at the byte `at`: what stands there, and what the parser says of it. A value shows
/// by itself what was meant.
fn not_toml(text: &str, at: usize, message: &str) -> SpecError {
    const MOST: usize = 60;
    /// Also those of word processors.
    const QUOTES: &[char] = &['"', '\u{201c}', '\u{201d}', '\u{201e}', '\u{2018}', '\u{2019}', '\u{ab}', '\u{bb}'];
    let cut = |text: &'_ str| -> String { text.chars().take(MOST).collect() };
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let (start, rest) = (before.rsplit('\n').next().unwrap_or(""), after.lines().next().unwrap_or(""));
    let line = [start, rest].concat();
    let (got, need) = match start.trim_end().ends_with('=') {
        true => {
            let value = rest.split([',', ']', '}', '#']).next().unwrap_or("").trim();
            let need = match value.to_lowercase().as_str() {
                "true" | "false" | "yes" | "no" | "on" | "off" => "true or false, in small letters".into(),
                "null" | "none" | "nil" => "a value, or no such line: TOML has no null".into(),
                _ => format!("a number, true or false, or text in quotes: {:?}", cut(value.trim_matches(QUOTES))),
            };
            (value, need)
        }
        false => (
            line.trim(),
            "TOML: KEY = VALUE or [TABLE], each once, [[TABLE]] for each of several, or # with a comment".into(),
        ),
    };
    SpecError::new("", cut(got), format!("{need}; {}", message.trim().replace('`', "\"")))
}

/// An error of the document in a file, with the line that it is about: `text` is the file's, if that is TOML. The value may
/// also stand under one of the keys `others`. An error of another file, which has its own line, keeps that.
pub fn located_at(e: SpecError, file: &Path, text: Option<&str>, others: &[String]) -> SpecError {
    let Some(text) = text.filter(|_| e.excerpt.is_none()) else {
        return e.in_file(file.display());
    };
    let inside = e.inside.as_deref();
    let place = |key: &str| Place::of_key(text, key, inside, &e.label());
    let keys = std::iter::once(e.key.as_str()).chain(others.iter().map(String::as_str));
    match keys.into_iter().find_map(place) {
        Some(place) => e.at_place(file.display(), place),
        None => e.in_file(file.display()),
    }
}

/// As [`located_at`], with no other key.
pub fn located(e: SpecError, file: &Path, text: Option<&str>) -> SpecError {
    located_at(e, file, text, &[])
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
            let entries =
                list.into_iter().enumerate().map(|(i, value)| plain(value).map_err(|e| e.within(&format!("[{i}]"))));
            Value::Array(entries.collect::<Result<_, _>>()?)
        }
        toml::Value::Table(table) => plain_table(table)?,
    })
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
    fn what_is_wrong_has_a_place() {
        for (text, want) in [
            ("a = 1\nb = = 2", "x.toml:2:5: got "),
            ("a = 1\na = 2", "x.toml:2:1: got a = 2, need TOML: KEY = VALUE or [TABLE], each once,"),
            ("a = 1\na.b = 2", "x.toml:2:1: got a.b = 2, need TOML: KEY = VALUE or"),
            ("a = 10000000000000000000000", "x.toml:1:5: got 10000000000000000000000, need a number"),
            ("a = \"x\n", "x.toml:1:7: got a = \"x, need TOML: KEY = VALUE or"),
            ("a = exos-x18 # mine", "x.toml:1:5: got exos-x18, need a number, true or false, or text in quotes: "),
            ("a = { b = 4 KiB }", "x.toml:1:11: got 4 KiB, need a number, true or false, or text in quotes: "),
            ("a = True", "x.toml:1:5: got True, need true or false, in small letters; "),
            ("a = null", "x.toml:1:5: got null, need a value, or no such line: TOML has no null; "),
            ("a = 1\nkey: value\n", "x.toml:2:6: got key: value, need TOML: KEY = VALUE or"),
            ("{\"a\": 1}", "x.toml:1:1: got {\"a\": 1}, need TOML: KEY = VALUE or"),
            ("a = inf", "x.toml:1:5: a: got inf, need a finite number"),
            ("[[a]]\nb = [0, { c = nan }]", "x.toml:2:15: a[0].b[1].c: got nan, need a finite number"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(want), "{error}");
        }
        let error = read_text(Path::new("absent.toml"), TOML).unwrap_err().to_string();
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
                assert!(error.len() < 1000 && error.contains("recurs"), "{error}");
            }
        }
        let digits = format!("a = {}", "9".repeat(5_000));
        let error = read(&digits).unwrap_err();
        assert!(error.starts_with("x.toml:1:5: got 999") && error.len() < 500, "{error}");
    }

    #[test]
    fn any_place_of_any_text_has_words() {
        let text = "a = \u{201c}\u{1f600}x\r\n";
        for at in 0..=text.len() + 1 {
            assert!(!not_toml(text, at, "duplicate key").need.is_empty(), "{at}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_passed_over() {
        assert_eq!(read("\u{feff}a = 1"), Ok(json!({ "a": 1 })));
    }
}
