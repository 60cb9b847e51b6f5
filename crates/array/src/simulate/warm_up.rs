//! What statistics leave out at the beginning.

use headstack_engine::describe::{by_kind, from_value};
use headstack_units::Span;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// What is left out of the statistics at the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum WarmUp {
    /// This many requests.
    Requests(u64),
    /// Requests that arrive within this time after the first.
    Time(Span),
}

impl<'de> Deserialize<'de> for WarmUp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let need = "a number of requests, or a length of time such as \"10 s\"";
        by_kind(deserializer, need, |value| match value {
            Value::Number(ref n) if n.is_u64() => Some(from_value(value).map(WarmUp::Requests)),
            Value::String(_) => Some(from_value(value).map(WarmUp::Time)),
            _ => None,
        })
    }
}
