//! Errors in descriptions, and how they are worded.

use crate::place::Place;
use std::borrow::Cow;
use std::io;
use thiserror::Error;

/// Text that came from a file as a terminal may show it: characters that steer a terminal, end a line or turn
/// the direction of writing are escaped as in Rust's strings.
pub fn printable(text: &str) -> Cow<'_, str> {
    let steers = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    if !text.contains(steers) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match steers(c) {
            true => escaped.extend(c.escape_default()),
            false => escaped.push(c),
        }
    }
    escaped.into()
}

/// What the operating system says of a file, in the words of all messages: without the error's number.
pub fn io_error_text(error: &io::Error) -> String {
    let text = error.to_string();
    match (error.raw_os_error(), error.kind()) {
        (Some(_), io::ErrorKind::IsADirectory) => "a directory".into(),
        (Some(_), io::ErrorKind::NotADirectory) => "a file in place of a directory".into(),
        (Some(_), _) => {
            let words = text.split(" (os error").next().unwrap_or(&text);
            words.to_lowercase()
        }
        (None, _) => text,
    }
}

/// What the operating system said, if that is what lies inside an error of a library for files.
pub fn system_error(error: &(dyn std::error::Error + 'static)) -> Option<io::Error> {
    let mut cause = Some(error);
    while let Some(e) = cause {
        let number = (e.downcast_ref::<io::Error>()).and_then(io::Error::raw_os_error);
        // Some pass on the text alone.
        let number = number.or_else(|| in_words(&e.to_string()));
        if let Some(number) = number {
            return Some(io::Error::from_raw_os_error(number));
        }
        cause = e.source();
    }
    None
}

/// The number of the operating system's error that a text ends with.
fn in_words(text: &str) -> Option<i32> {
    let (_, number) = text.rsplit_once("(os error ")?;
    number.trim_end_matches([')', '.', '"']).parse().ok()
}

/// What is needed where a file cannot be written.
pub fn needed_to_write(error: &io::Error) -> &'static str {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    match error.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => "room for what is written",
        _ => "a file that can be written",
    }
}

/// A value of a description that cannot be used: its place, what was got, what is needed.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{}", printable(&format!("{}got {}, need {need}", shown(.key), something(.got))))]
pub struct SpecError {
    /// Dotted key, for example `geometry.zones[2].last_cylinder`; empty for the whole description.
    pub key: String,
    /// The value in the description.
    pub got: String,
    /// The bound or the alternatives.
    pub need: String,
    /// The key inside the table at `key` that the error is about, if it is not about a value.
    pub inside: Option<Box<str>>,
    /// Line and column in its file, counted from 1, if they are known.
    pub at: Option<(u32, u32)>,
    /// The lines of the file that it is about, with a mark, if they are known.
    pub excerpt: Option<Box<str>>,
}

fn shown(key: &str) -> String {
    match key {
        "" => String::new(),
        key => format!("{key}: "),
    }
}

/// What was got, also where that is empty.
fn something(got: &str) -> &str {
    match got {
        "" => "nothing",
        "\"\"" => "empty text",
        got => got,
    }
}

impl SpecError {
    /// A new error. Values are shown as users write them.
    pub fn new(key: impl Into<String>, got: impl ToString, need: impl Into<String>) -> Self {
        SpecError::of(key.into(), got.to_string(), need.into())
    }

    fn of(key: String, got: String, need: String) -> Self {
        SpecError { key, got, need, inside: None, at: None, excerpt: None }
    }

    /// The error about a key of the table, and not about the whole table.
    #[must_use]
    pub fn about_key(mut self, key: impl Into<String>) -> Self {
        self.inside = Some(key.into().into());
        self
    }

    /// The error with this place of a file before its key, and the excerpt.
    #[must_use]
    pub fn at_place(mut self, file: impl std::fmt::Display, place: Place) -> Self {
        self.excerpt = Some(place.excerpt.into());
        self.at = Some((place.line as u32, place.column as u32));
        self.in_file(format_args!("{file}:{}:{}", place.line, place.column))
    }

    /// What is said beside the mark of an excerpt: what is needed, but only the hint where that is long.
    pub fn label(&self) -> String {
        const MOST: usize = 72;
        match self.need.split_once("; ") {
            Some((need, hint)) if need.len() > MOST => hint.into(),
            None if self.need.len() > MOST => String::new(),
            _ => format!("need {}", self.need),
        }
    }

    /// The error with its key seen from outside the table `place`.
    #[must_use]
    pub fn within(mut self, place: &str) -> Self {
        self.key = match self.key.as_str() {
            "" => place.to_string(),
            key if place.is_empty() => key.to_string(),
            key if key.starts_with('[') => format!("{place}{key}"),
            key => format!("{place}.{key}"),
        };
        self
    }

    /// The error with its key preceded by the file name.
    #[must_use]
    pub fn in_file(mut self, file: impl std::fmt::Display) -> Self {
        self.key = match self.key.as_str() {
            "" => file.to_string(),
            key => format!("{file}: {key}"),
        };
        self
    }

    /// The error at `name` if it concerns the whole description; else unchanged.
    #[must_use]
    pub fn or_at(mut self, name: &str) -> Self {
        if self.key.is_empty() {
            self.key = name.to_string();
        }
        self
    }
}

/// The hint `; did you mean "x"?`, or an empty text if no known name is near.
pub fn did_you_mean<'a>(got: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(got, &mut known.into_iter())
}

fn nearest(got: &str, known: &mut dyn Iterator<Item = &str>) -> String {
    let got = got.to_lowercase();
    known
        .map(|k| (strsim::jaro_winkler(&got, &k.to_lowercase()), k))
        .filter(|(score, _)| *score > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| format!("; did you mean {k:?}?"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_seen_from_outside() {
        let at = |key: &str| SpecError::new(key, 1, "2");
        for (key, want) in
            [("", "seek: got 1, need 2"), ("points", "seek.points: got 1, need 2"), ("[3]", "seek[3]: got 1, need 2")]
        {
            assert_eq!(at(key).within("seek").to_string(), want);
        }
        assert_eq!(at("").to_string(), "got 1, need 2");
        let empty = SpecError::new("a", "\"\"", "b").to_string();
        assert_eq!(empty, "a: got empty text, need b");
        assert_eq!(at("a").within("").key, "a");
        assert_eq!(at("a").in_file("x.toml").key, "x.toml: a");
        assert_eq!(at("").in_file("x.toml").key, "x.toml");
        assert_eq!(at("").or_at("drive").key, "drive");
        assert_eq!(at("a").or_at("drive").key, "a");
    }

    #[test]
    fn nothing_of_a_file_reaches_the_terminal_raw() {
        let error = SpecError::new("a\u{1b}[2J", "b\u{7}\u{202e}\u{9b}", "c\nd").within("\u{2028}");
        let shown = error.to_string();
        assert_eq!(shown, r"\u{2028}.a\u{1b}[2J: got b\u{7}\u{202e}\u{9b}, need c\nd");
        assert_eq!(printable(&shown), shown, "escaped once");
        assert_eq!(printable("Größe 3 µs \"x\\\""), "Größe 3 µs \"x\\\"");
    }

    #[test]
    fn the_system_is_heard_through_libraries() {
        const FULL: i32 = 28;
        let full = || io::Error::from_raw_os_error(FULL);
        let inside = io::Error::other(full());
        for (error, number) in [
            (full(), Some(FULL)),
            (inside, Some(FULL)),
            (io::Error::other(format!("External: {}", full())), Some(FULL)),
            (io::Error::other("a bad page"), None),
        ] {
            let found = system_error(&error).and_then(|e| e.raw_os_error());
            assert_eq!(found, number, "{error}");
        }
        assert_eq!(needed_to_write(&full()), "room for what is written");
        assert_eq!(io_error_text(&full()), "no space left on device");
    }

    #[test]
    fn the_nearest_name_is_the_hint() {
        let known = ["fcfs", "sptf", "look"];
        assert_eq!(did_you_mean("stpf", known), "; did you mean \"sptf\"?");
        assert_eq!(did_you_mean("SPTF", known), "; did you mean \"sptf\"?");
        assert_eq!(did_you_mean("quark", known), "");
    }
}
