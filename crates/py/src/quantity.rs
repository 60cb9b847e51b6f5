//! Numbers with units, as the core reads them everywhere.

use crate::errors::raise;
use headstack_units::{number_and_unit, Bandwidth, Bytes, Frequency, Length, Rpm, Span, UnitError, Watts};
use pyo3::prelude::*;

/// The number of a quantity in SI units; `kind` is `size`, `rate`, `time`, `frequency`, `speed`, `length` or `power`.
#[pyfunction]
pub fn quantity(kind: &str, text: &str) -> PyResult<f64> {
    let value: Result<f64, UnitError> = match kind {
        "size" => text.parse().map(|Bytes(n)| n as f64),
        "rate" => text.parse().map(|Bandwidth(r)| r),
        "time" => text.parse().map(|t: Span| t.as_secs_f64()),
        "frequency" => text.parse().map(|Frequency(f)| f),
        "speed" => text.parse().map(|Rpm(s)| s),
        "length" => text.parse().map(|Length(l)| l),
        "power" => text.parse().map(|Watts(w)| w),
        _ => {
            let need = "need size, rate, time, frequency, speed, length or power";
            return Err(raise("ConfigError", format!("kind: got {kind:?}, {need}")));
        }
    };
    value.map_err(|e| raise("ConfigError", e))
}

/// The number at the begin of a text, and what follows it, its unit; none if there is no number.
#[pyfunction]
pub fn split_quantity(text: &str) -> Option<(f64, &str)> {
    number_and_unit(text)
}
