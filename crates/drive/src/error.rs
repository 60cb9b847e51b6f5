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

/// Turns serde's sentences into key, got and need; `path` is where serde was, `.` for the root.
pub fn explain(path: &str, message: &str) -> SpecError {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let key = if path == "." { "experiment" } else { path };
    if message.starts_with("unknown field") || message.starts_with("unknown variant") {
        if let Some((got, known)) = quoted.split_first() {
            let hint = did_you_mean(got, known.iter().copied());
            let what = if message.starts_with("unknown field") {
                "key "
            } else {
                ""
            };
            // The path already ends with the unknown key itself.
            let suffix = format!(".{got}");
            let key = match key.strip_suffix(&suffix) {
                Some(parent) => parent,
                None if key == *got => "experiment",
                None => key,
            };
            let need = if known.is_empty() {
                "no keys here".to_string()
            } else {
                format!("one of {}{hint}", known.join(", "))
            };
            return SpecError::new(key, format!("{what}{got:?}"), need);
        }
    }
    if message.starts_with("missing field") {
        if let Some(field) = quoted.first() {
            let key = if path == "." {
                field.to_string()
            } else {
                format!("{path}.{field}")
            };
            return SpecError::new(key, "nothing", "a value");
        }
    }
    if let Some((got, need)) = message
        .strip_prefix("got ")
        .and_then(|m| m.split_once(", need "))
    {
        return SpecError::new(key, got, need);
    }
    // A choice that needs parameters, without them or with something else in their place.
    if let (Some(got), Some(parent)) = (
        message.strip_suffix(", expected struct variant"),
        key.strip_suffix(".closed"),
    ) {
        let got = match got.trim_start_matches("invalid type: ") {
            "unit variant" => "\"closed\" alone".to_string(),
            other => other.replace('`', ""),
        };
        return SpecError::new(parent, got, "{ closed = { outstanding = N } }");
    }
    if let Some((got, need)) = message.split_once(", expected ") {
        let got = got
            .trim_start_matches("invalid type: ")
            .trim_start_matches("invalid value: ")
            .replace('`', "");
        let need = match need {
            "u32" | "u64" | "usize" => "a whole number, 0 or more",
            "f64" => "a number",
            "unit" => "its name alone",
            other => other,
        };
        return SpecError::new(key, got, need);
    }
    for (choice, need) in [
        (
            "WarmUp",
            "a number of requests, or a length of time such as \"10 s\"",
        ),
        (
            "Distribution",
            "one value with its unit, such as \"4 KiB\" or \"2 ms\", or a table with its distribution",
        ),
    ] {
        if message.contains(&format!("untagged enum {choice}")) {
            return SpecError::new(key, "something else", need);
        }
    }
    SpecError::new(key, "a value that does not fit", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_of_serde_become_key_got_and_need() {
        for (path, message, want) in [
            (
                "queue.depth",
                "invalid type: string \"32\", expected u32",
                "queue.depth: got string \"32\", need a whole number, 0 or more",
            ),
            (
                "count",
                "invalid value: integer `-1`, expected u32",
                "count: got integer -1, need a whole number, 0 or more",
            ),
            (
                "seek.averge",
                "unknown field `averge`, expected `single` or `average`",
                "seek: got key \"averge\", need one of single, average; did you mean \"average\"?",
            ),
            (
                ".",
                "missing field `name`",
                "name: got nothing, need a value",
            ),
            (
                "size",
                "got \"4\", need a number and a unit: one of B",
                "size: got \"4\", need a number and a unit: one of B",
            ),
            (
                "workload.arrivals.closed",
                "invalid type: unit variant, expected struct variant",
                "workload.arrivals: got \"closed\" alone, need { closed = { outstanding = N } }",
            ),
            (
                "workload.arrivals.open",
                "invalid type: map, expected unit",
                "workload.arrivals.open: got map, need its name alone",
            ),
        ] {
            assert_eq!(explain(path, message).to_string(), want);
        }
    }
}
