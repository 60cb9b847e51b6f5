//! Errors of a document that describes an experiment.

use headstack_schema::document::located_at;
pub(crate) use headstack_schema::document::{read_text, toml_value, TOML};
use headstack_schema::SpecError;
use serde_json::Value;
use std::path::Path;

/// An error of the document in a file, with the line that it is about: `text` is the file's, if that is TOML.
/// An error of another file, which has its own line, keeps that.
pub(crate) fn located(mut e: SpecError, file: &Path, text: Option<&str>) -> SpecError {
    if text.is_none() || e.excerpt.is_some() {
        return e.in_file(file.display());
    }
    // The whole experiment has no key in its file.
    let whole = e.key == "experiment";
    if whole {
        e.key.clear();
    }
    let named = |name: &str, alias: &str| {
        let rest = e.key.strip_prefix(name)?;
        Some(format!("{alias}{rest}"))
    };
    let others = [named("workload", "workloads"), named("system", "systems")];
    let others: Vec<String> = others.into_iter().flatten().collect();
    let mut e = located_at(e, file, text, &others);
    if whole {
        e.key.push_str(": experiment");
    }
    e
}

/// Refuses the description of a drive in place of an experiment.
///
/// # Errors
/// For the whole document.
pub(crate) fn check_kind(document: &Value) -> Result<(), SpecError> {
    let has = |key: &str| document.get(key).is_some();
    let lists = ["workload", "workloads", "system", "systems"];
    if lists.into_iter().any(has) || !(has("geometry") && has("seek")) {
        return Ok(());
    }
    let need = "an experiment; a drive is named in one, as drive = \"PATH\" of a [[system]]";
    Err(SpecError::new("", "the description of a drive", need))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_are_no_tables() {
        for (document, want) in [
            (json!([]), "experiment: got a list, need a table"),
            (json!({ "workload": [], "system": [], "run": [1] }), "run: got a list, need a table"),
            (json!({ "workload": [], "system": [], "cost": [0.1] }), "cost: got a list, need a table"),
            (
                json!({ "workload": [], "systems": [{}, ["x"]] }),
                "systems[1]: got a list, need a table, such as { drive = \"exos-x18\" }",
            ),
            (json!({ "workload": [["x"]] }), "workload[0]: got a list, need a table"),
        ] {
            let opened = crate::Experiment::from_value(document, Path::new(""));
            assert_eq!(opened.unwrap_err().to_string(), want);
        }
    }

    #[test]
    fn what_is_absent_is_named_with_what_to_write() {
        let opened = |text: &str| {
            let document = toml_value(text, Path::new("x.toml")).unwrap();
            let error = crate::Experiment::from_value(document, Path::new("")).unwrap_err();
            error.to_string()
        };
        const SYSTEM: &str = "[[system]]\ndrive = \"x\"\n";
        const LOAD: &str = "[workload]\nsynthetic = { rate = \"5/s\" }\n";
        for (text, want) in [
            ("".to_string(), "workload: got nothing, need a table [workload] with trace, synthetic or jobs"),
            (LOAD.into(), "system: got nothing, need one or several [[system]] with a drive"),
            (format!("system = \"x\"\n{LOAD}"), "system: got string \"x\", need one or several [[system]]"),
            (format!("system = [\"x\"]\n{LOAD}"), "system[0]: got string \"x\", need a table, such as {"),
            (
                "[geometry]\n[seek]\n".into(),
                "got the description of a drive, need an experiment; a drive is named in one",
            ),
            (
                format!("{LOAD}warmup = \"1 s\"\n{SYSTEM}"),
                "workload: got key \"warmup\", need one of name, trace, format, format_parameters, on_error,",
            ),
            (
                format!("[workload]\nrate = \"5/s\"\n{SYSTEM}"),
                "workload: got key \"rate\", need it inside synthetic = { rate = ... }",
            ),
        ] {
            let error = opened(&text);
            assert!(error.starts_with(want), "{text}: {error}");
        }
        let error = opened(&format!("{LOAD}warmup = \"1 s\"\n{SYSTEM}"));
        for key in ["name", "trace", "format", "warm_up", "time_scale", "concatenate"] {
            assert!(error.contains(&format!(" {key}")), "{key}: {error}");
        }
        assert!(error.ends_with("did you mean \"warm_up\"?"), "{error}");
    }
}
