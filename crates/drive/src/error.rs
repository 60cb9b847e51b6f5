//! What can be wrong with a drive's description.

use thiserror::Error;

/// A value of a drive file that cannot be used: where, what was got, what is needed.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{key}: got {got}, need {need}")]
pub struct SpecError {
    /// Dotted key, e.g. `geometry.zones[2].last_cylinder`.
    pub key: String,
    /// What the file says.
    pub got: String,
    /// What would be right.
    pub need: String,
}

impl SpecError {
    /// A new error; values are shown as people write them.
    pub fn new(key: impl Into<String>, got: impl ToString, need: impl Into<String>) -> Self {
        SpecError {
            key: key.into(),
            got: got.to_string(),
            need: need.into(),
        }
    }
}

/// The hint `; did you mean "x"?`, or nothing when no known name is near.
pub fn did_you_mean<'a>(got: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    known
        .into_iter()
        .map(|k| (strsim::jaro_winkler(got, k), k))
        .filter(|(score, _)| *score > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| format!("; did you mean {k:?}?"))
        .unwrap_or_default()
}
