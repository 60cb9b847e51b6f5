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
    let Value::String(word) = value else {
        return Err(wrong_kind(value, kind::<C>().need()));
    };
    let found = C::WORDS.iter().find(|(name, ..)| name == word);
    found.map(|(.., meant)| *meant).ok_or_else(|| {
        let hint = did_you_mean(word, C::WORDS.iter().map(|(name, ..)| *name));
        let need = format!("{}{hint}", kind::<C>().need());
        SpecError::new("", format!("{word:?}"), need)
    })
}
