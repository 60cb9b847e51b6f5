//! Types whose values are words: enums with `#[derive(Choice)]`.

use crate::kind::{Kind, Word};
use crate::reading::wrong_kind;
use crate::{did_you_mean, SpecError};
use serde_json::Value;

/// An enum of words.
pub trait Choice: Sized + Copy + 'static {
    /// The words with their meanings, and what each stands for.
    const WORDS: &'static [(&'static str, &'static str, Self)];

    /// The word for it.
    fn word(self) -> &'static str;
}

/// The kind of an enum of words.
pub fn kind<C: Choice>() -> Kind {
    let words = C::WORDS.iter().map(|(name, doc, _)| Word { name, doc });
    Kind::Choice(words.collect())
}

/// Reads a word.
///
/// # Errors
/// The words that there are, and the nearest one.
pub fn read<C: Choice>(value: &Value) -> Result<C, SpecError> {
    let found = C::WORDS.iter().find(|(name, ..)| value == name);
    found.map(|(.., meant)| *meant).ok_or_else(|| no_word(value, kind::<C>()))
}

fn no_word(value: &Value, kind: Kind) -> SpecError {
    let need = kind.need();
    let (Value::String(word), Kind::Choice(words)) = (value, kind) else {
        return wrong_kind(value, need);
    };
    let hint = did_you_mean(word, words.iter().map(|w| w.name));
    SpecError::new("", format!("{word:?}"), format!("{need}{hint}"))
}
