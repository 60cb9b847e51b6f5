//! Errors of a document that describes an experiment.

use headstack_schema::document::located_at;
pub(crate) use headstack_schema::document::{read_text, toml_value, TOML};
use headstack_schema::SpecError;
use serde_json::Value;
use std::path::Path;

/// Keys of an experiment that hold a table or a list of tables, and their other names.
pub(crate) const LISTS: [[&str; 2]; 2] = [["workload", "workloads"], ["system", "systems"]];

/// Whether a document has one of them.
pub(crate) fn has_lists(document: &Value) -> bool {
    LISTS.iter().flatten().any(|key| document.get(key).is_some())
}

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
    let named = |[name, alias]: &[&str; 2]| Some(format!("{alias}{}", e.key.strip_prefix(name)?));
    let others: Vec<String> = LISTS.iter().filter_map(named).collect();
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
    if has_lists(document) || !(has("geometry") && has("seek")) {
        return Ok(());
    }
    let need = "an experiment; a drive is named in one, as drive = \"PATH\" of a [[system]]";
    Err(SpecError::new("", "the description of a drive", need))
}
