//! Errors in descriptions, and how they are worded.

use thiserror::Error;

/// A value of a description that cannot be used: its place, what was got, what is needed.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{}got {got}, need {need}", shown(.key))]
pub struct SpecError {
    /// Dotted key, for example `geometry.zones[2].last_cylinder`; empty for the whole description.
    pub key: String,
    /// The value in the description.
    pub got: String,
    /// The bound or the alternatives.
    pub need: String,
}

fn shown(key: &str) -> String {
    match key {
        "" => String::new(),
        key => format!("{key}: "),
    }
}

impl SpecError {
    /// A new error. Values are shown as users write them.
    pub fn new(key: impl Into<String>, got: impl ToString, need: impl Into<String>) -> Self {
        SpecError {
            key: key.into(),
            got: got.to_string(),
            need: need.into(),
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
    known
        .into_iter()
        .map(|k| (strsim::jaro_winkler(got, k), k))
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
        for (key, want) in [
            ("", "seek: got 1, need 2"),
            ("points", "seek.points: got 1, need 2"),
            ("[3]", "seek[3]: got 1, need 2"),
        ] {
            assert_eq!(at(key).within("seek").to_string(), want);
        }
        assert_eq!(at("").to_string(), "got 1, need 2");
        assert_eq!(at("a").within("").key, "a");
        assert_eq!(at("a").in_file("x.toml").key, "x.toml: a");
        assert_eq!(at("").in_file("x.toml").key, "x.toml");
        assert_eq!(at("").or_at("drive").key, "drive");
        assert_eq!(at("a").or_at("drive").key, "a");
    }

    #[test]
    fn the_nearest_name_is_the_hint() {
        let known = ["fcfs", "sptf", "look"];
        assert_eq!(did_you_mean("stpf", known), "; did you mean \"sptf\"?");
        assert_eq!(did_you_mean("quark", known), "");
    }
}
