//! What the parser says of wrong TOML, in words for those who do not know TOML well.

/// The parser's message about `text` at the byte `at`, split into what was got and what is needed.
pub(crate) fn got_and_need(message: &str, text: &str, at: usize) -> (String, String) {
    known(message, text, at).unwrap_or_else(|| plain(message))
}

/// Mistakes that are made often.
fn known(message: &str, text: &str, at: usize) -> Option<(String, String)> {
    let said = |got: String, need: &str| Some((got, need.to_string()));
    let (what, _) = message.split_once(", expected").unwrap_or((message, ""));
    match what {
        "string values must be quoted" | "invalid float" | "invalid integer" | "invalid boolean" => {
            let word = word(text, at);
            match word.to_lowercase().as_str() {
                "true" | "false" | "yes" | "no" | "on" | "off" => said(word.into(), "true or false, in small letters"),
                "null" | "none" | "nil" => said(word.into(), "a value, or no such line: TOML has no null"),
                _ => {
                    let quoted = word.trim_matches(TYPOGRAPHIC);
                    let need = format!("a number, true or false, or text in quotes: {quoted:?}");
                    Some((word.into(), need))
                }
            }
        }
        "invalid basic string" | "invalid literal string" if line(text, at).contains(['"', '\'']) => {
            said("text without its closing quote".into(), "the same quote at its end")
        }
        // The parser also says so of a key that is none.
        "key with no value" | "invalid key-value pair" | "invalid basic string" | "invalid literal string" => {
            let line = line(text, at);
            let (got, hint) = match line.starts_with('{') {
                true => ("{", "; JSON is not TOML"),
                false => (cut(line), ""),
            };
            let need = format!("KEY = VALUE, [TABLE] or # with a comment{hint}");
            Some((format!("{got:?}"), need))
        }
        "extra assignment between key-value pairs" => {
            said("two entries in braces without a comma between them".into(), "\",\"")
        }
        "missing escaped value" => {
            said("a backslash in text in double quotes".into(), "two of them, or the text in single quotes: 'C:\\a'")
        }
        "unexpected leading zero" => said("a number that begins with 0".into(), "it without the 0"),
        "extra comma in inline table" => {
            said("a comma".into(), "KEY = VALUE after it; long numbers are written 1_000_000")
        }
        "duplicate key" => {
            let key = word(text, at);
            let need = match text.get(..at).is_some_and(|before| before.ends_with('[')) {
                true => format!("it once; several such tables are [[{key}]] each"),
                false => "it once".into(),
            };
            Some((format!("key {key:?} a second time"), need))
        }
        _ => None,
    }
}

/// Quotes of word processors.
const TYPOGRAPHIC: [char; 8] = ['\u{201c}', '\u{201d}', '\u{201e}', '\u{2018}', '\u{2019}', '\u{ab}', '\u{bb}', '"'];

/// The key or value that begins at a place, without the spaces after it.
fn word(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or("");
    let end = rest.find(['\n', '\r', ',', ']', '}', '#', '=']);
    cut(rest[..end.unwrap_or(rest.len())].trim())
}

/// The line around a place.
fn line(text: &str, at: usize) -> &str {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let start = before.rfind('\n').map_or(0, |i| i + 1);
    let end = after.find('\n').map_or(text.len(), |i| before.len() + i);
    text[start..end].trim()
}

/// The first characters.
fn cut(text: &str) -> &str {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// Any other message.
fn plain(message: &str) -> (String, String) {
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
            Some(rest) => return (format!("a key inside {}", without_tail(rest)), "a table".into()),
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
    let article = if kind.starts_with(['a', 'i']) { "an" } else { "a" };
    format!("{article} {kind}")
}

#[cfg(test)]
mod tests {
    use crate::document::toml_value;
    use std::path::Path;

    #[test]
    fn common_mistakes_are_told_in_plain_words() {
        for (text, want) in [
            (
                "[[system]]\ndrive = exos-x18 # mine\n",
                "2:9: got exos-x18, need a number, true or false, or text in quotes: \"exos-x18\"",
            ),
            ("a = { b = 4 KiB }", "1:11: got 4 KiB, need a number, true or false, or text in quotes: \"4 KiB\""),
            (
                "a = \u{201c}x\u{201d}",
                "1:5: got \u{201c}x\u{201d}, need a number, true or false, or text in quotes: \"x\"",
            ),
            ("a = True", "1:5: got True, need true or false, in small letters"),
            ("a = yes", "1:5: got yes, need true or false, in small letters"),
            ("a = null", "1:5: got null, need a value, or no such line: TOML has no null"),
            ("a = 1\nkey: value\n", "2:6: got \"key: value\", need KEY = VALUE, [TABLE] or # with a comment"),
            ("{\"a\": 1}", "1:1: got \"{\", need KEY = VALUE, [TABLE] or # with a comment; JSON is not TOML"),
            ("time_us,lba\n1,2\n", "1:8: got \"time_us,lba\", need KEY = VALUE, [TABLE] or # with a comment"),
            ("a = { b = 1 c = 2 }", "1:15: got two entries in braces without a comma between them, need \",\""),
            (
                "a = \"C:\\qa\"",
                "1:9: got a backslash in text in double quotes, need two of them, or the text in single",
            ),
            ("a = 02", "1:5: got a number that begins with 0, need it without the 0"),
            (
                "a = { b = 1,000, c = 2 }",
                "1:16: got a comma, need KEY = VALUE after it; long numbers are written 1_000_000",
            ),
            ("a = 1\na = 2", "2:1: got key \"a\" a second time, need it once"),
            (
                "[a]\nb = 1\n[a]\nb = 2",
                "3:2: got key \"a\" a second time, need it once; several such tables are [[a]] each",
            ),
        ] {
            let error = toml_value(text, Path::new("x.toml")).unwrap_err().to_string();
            assert!(error.starts_with(&format!("x.toml:{want}")), "{text}: {error}");
        }
    }

    #[test]
    fn any_place_of_any_text_has_words() {
        let text = "a = \u{201c}\u{1f600}x\r\n";
        for message in ["duplicate key", "key with no value", "string values must be quoted"] {
            for at in 0..=text.len() + 1 {
                let (got, need) = super::got_and_need(message, text, at);
                assert!(!need.is_empty(), "{got}");
            }
        }
    }
}
