//! Changes values of a description by dotted keys and nested tables.

use headstack_drive::spec::Params;
use headstack_schema::{SpecError, Step};
use serde_json::Value;

/// No description is nested this deeply; deeper values could overflow the stack of recursive code.
pub const MOST_LEVELS: usize = 32;

/// Changes `target` by each entry of `changes`, a dotted key with its value.
///
/// Tables are merged, anything else is replaced; null removes.
///
/// # Errors
/// The key as `changes` has it: one that cannot be read, that does not exist in `target`, or has too many
/// parts.
pub fn change_all(target: &mut Value, changes: &Params) -> Result<(), SpecError> {
    for (key, change) in changes {
        let path = parse_key(key)?;
        change_value(target, &path, change).map_err(|e| e.within(key))?;
    }
    Ok(())
}

/// The parts of a dotted key.
///
/// # Errors
/// The key (its beginning if it is long), if it cannot be read or has too many parts.
pub fn parse_key(key: &str) -> Result<Vec<Step>, SpecError> {
    let levels = 1 + key.matches(['.', '[']).count();
    if levels > MOST_LEVELS {
        let beginning: String = key.chars().take(40).collect();
        let need = format!("a key of at most {MOST_LEVELS} parts");
        return Err(SpecError::new(format!("{beginning}..."), format!("{levels} parts"), need));
    }
    let steps: Option<Vec<Step>> = Step::each(key).collect();
    steps.ok_or_else(|| SpecError::new(key, "a bad key", "a dotted key, indices in brackets"))
}

/// Changes the value at `path`. Tables are merged, anything else is replaced; null removes.
///
/// # Errors
/// A step that does not exist; the error's key is empty.
pub(crate) fn change_value(target: &mut Value, path: &[Step], change: &Value) -> Result<(), SpecError> {
    match path {
        [] => match (target, change) {
            (Value::Object(target), Value::Object(change)) => {
                // The parameters of one model do not apply to another.
                if change.get("model").is_some_and(|m| target.get("model") != Some(m)) {
                    target.clear();
                }
                for (key, change) in change {
                    if change.is_null() {
                        target.remove(key);
                    } else {
                        let entry = target.entry(key.clone()).or_insert(Value::Null);
                        change_value(entry, &[], change)?;
                    }
                }
                Ok(())
            }
            (target, change) => {
                *target = change.clone();
                Ok(())
            }
        },
        [step, rest @ ..] if target.is_array() => {
            let entry = list_entry(target, step)?;
            change_value(entry, rest, change)
        }
        [Step::Key(key), rest @ ..] => {
            if target.is_null() {
                *target = Value::Object(Params::new());
            }
            let table = target
                .as_object_mut()
                .ok_or_else(|| SpecError::new("", format!("the key {key:?} in a plain value"), "a table"))?;
            if rest.is_empty() && change.is_null() {
                table.remove(key);
                return Ok(());
            }
            change_value(table.entry(key.clone()).or_insert(Value::Null), rest, change)
        }
        [Step::Index(i), ..] => Err(SpecError::new("", format!("index {i} outside a list"), "a key")),
    }
}

fn list_entry<'a>(list: &'a mut Value, step: &Step) -> Result<&'a mut Value, SpecError> {
    let n = list.as_array().map_or(0, Vec::len);
    let got = match (step.index(), step) {
        (None, Step::Key(key)) => format!("the key {key:?} in a list"),
        (index, _) => format!("index {}", index.unwrap_or_default()),
    };
    let entry = step.index().and_then(|i| list.get_mut(i));
    entry.ok_or_else(|| SpecError::new("", got, format!("an index below {n}")))
}
