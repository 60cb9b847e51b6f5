//! Reads files of TOML into values, with the place of what is wrong.

use crate::toml_words;
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
        let at = bytes.start.min(text.len());
        let (got, need) = toml_words::got_and_need(e.message().trim(), text, at);
        let error = SpecError::new("", got, need);
        let place = Place::of(text, bytes, &error.label());
        error.at_place(file.display(), place)
    })?;
    let value = plain_table(table);
    value.map_err(|e| located(e, file, Some(text)))
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
            ("a = 1\na = 2", "x.toml:2:1: got key \"a\" a second time, need it once"),
            ("a = 1\na.b = 2", "x.toml:2:1: got a key inside an integer, need a table"),
            (
                "a = 10000000000000000000000",
                "x.toml:1:5: got integer 10000000000000000000000, need a whole number from -2^63 to",
            ),
            ("a = \"x\n", "x.toml:1:7: got text without its closing quote, need the same quote at its end"),
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
                assert!(error.contains("got more levels, need fewer"), "{error}");
            }
        }
        let digits = format!("a = {}", "9".repeat(5_000));
        let error = read(&digits).unwrap_err();
        assert!(error.starts_with("x.toml:1:5: got a larger number, need a whole"), "{error}");
    }

    #[test]
    fn a_byte_order_mark_is_passed_over() {
        assert_eq!(read("\u{feff}a = 1"), Ok(json!({ "a": 1 })));
    }
}
