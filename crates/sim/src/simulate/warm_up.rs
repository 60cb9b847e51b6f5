//! What statistics leave out at the beginning.

use headstack_schema::{by_kind, Kind, Parameter, SpecError};
use headstack_units::Span;
use serde_json::Value;

/// What is left out of the statistics at the beginning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WarmUp {
    /// This many requests.
    Requests(u64),
    /// Requests that arrive within this time after the first.
    Time(Span),
}

impl Parameter for WarmUp {
    fn kind() -> Kind {
        Kind::OneOf(vec![u64::kind(), Span::kind()])
    }

    fn read(value: &Value) -> Result<Self, SpecError> {
        let need = "a number of requests, or a length of time such as \"10 s\"";
        by_kind(value, need, |value| match value {
            Value::Number(n) if n.is_u64() => Some(u64::read(value).map(WarmUp::Requests)),
            Value::String(_) => Some(Span::read(value).map(WarmUp::Time)),
            _ => None,
        })
    }

    fn write(&self) -> Value {
        match self {
            WarmUp::Requests(n) => n.write(),
            WarmUp::Time(span) => span.write(),
        }
    }
}
