//! Changes of addresses: by a shift, and to the beginnings of sectors.

use crate::reader::parse::MAX_BLOCK;
use headstack_schema::{by_kind, Kind, Parameter, SpecError};
use headstack_units::Bytes;
use serde_json::Value;

/// A distance by which addresses move, in blocks of 512 bytes: a number of blocks, or a size with its sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shift(pub i64);

impl Parameter for Shift {
    fn kind() -> Kind {
        Kind::Form { need: "a whole number of blocks, or a size such as \"-4 KiB\"", example: "-4 KiB" }
    }

    fn read(value: &Value) -> Result<Self, SpecError> {
        by_kind(value, &Self::kind().need(), |value| match value {
            Value::Number(n) => n.as_i64().map(|blocks| Shift::new(blocks, value)),
            Value::String(text) => Some(Shift::of_bytes(text, value)),
            _ => None,
        })
    }

    fn write(&self) -> Value {
        self.0.into()
    }
}

impl Shift {
    fn new(blocks: i64, given: &Value) -> Result<Shift, SpecError> {
        match blocks.unsigned_abs() <= MAX_BLOCK {
            true => Ok(Shift(blocks)),
            false => Err(SpecError::new("", given, "less than 2^55 blocks")),
        }
    }

    fn of_bytes(text: &str, given: &Value) -> Result<Shift, SpecError> {
        let text = text.trim();
        let (sign, size) = match text.strip_prefix('-') {
            Some(size) => (-1, size),
            None => (1, text),
        };
        let size: Bytes = size.parse().map_err(|_| SpecError::new("", given, "a size such as \"-4 KiB\""))?;
        match size.0 % 512 {
            0 => Shift::new(sign * (size.0 / 512) as i64, given),
            _ => Err(SpecError::new("", given, "a multiple of 512 bytes")),
        }
    }
}

/// The multiple of blocks to which requests are aligned.
///
/// # Errors
/// No whole number of blocks.
pub(super) fn alignment(align: Option<Bytes>) -> Result<Option<i64>, SpecError> {
    /// One gibibyte: a request that covers one is still far below 2^32 blocks.
    const MOST: u64 = 1 << 30;
    match align {
        None => Ok(None),
        Some(Bytes(size)) if size > 0 && size % 512 == 0 && size <= MOST => Ok(Some((size / 512) as i64)),
        Some(size) => Err(SpecError::new("align", size, "a multiple of 512 bytes, at most 1 GiB")),
    }
}

/// A request of whole multiples of `unit` blocks: the start goes down to one, the length up.
pub(super) fn aligned(start: i64, blocks: u32, unit: i64) -> (i64, u64) {
    let length = u64::from(blocks).next_multiple_of(unit as u64);
    (start.div_euclid(unit) * unit, length)
}
