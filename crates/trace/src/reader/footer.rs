//! Checks the footer of a Parquet file before the library reads it: the library takes memory for as many elements as
//! a list states, and the program ends if there is not so much.

use super::groups::Stored;
use parquet::file::reader::{ChunkReader, Length};

/// Deepest nesting that is read; the format itself needs less than ten.
const DEPTH: u32 = 32;

/// Bytes after the footer: its length and `PAR1`.
const TAIL: u64 = 8;

/// Types of values.
const I32: u8 = 5;
const STRUCTURE: u8 = 12;

/// Structures in the compact protocol of Thrift, of which nothing is kept.
pub(super) struct Thrift<'a>(pub &'a [u8]);

impl Thrift<'_> {
    pub(super) fn skip(&mut self, bytes: u64) -> Option<()> {
        self.0 = self.0.get(usize::try_from(bytes).ok()?..)?;
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// A number of seven bits per byte, the lowest ones first.
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// A number with a sign, in its lowest bit.
    fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Each field has a byte with its type and the step to its number, or 0 and then the number. `each` gets both, and takes
    /// the value.
    fn fields(&mut self, mut each: impl FnMut(&mut Self, i16, u8) -> Option<()>) -> Option<()> {
        let mut field = 0i16;
        loop {
            let head = self.byte()?;
            field = match (head & 0x0f, head >> 4) {
                (0, _) => return Some(()),
                (_, 0) => self.signed()? as i16,
                (_, step) => field.checked_add(step.into())?,
            };
            match head & 0x0f {
                // The type is the truth value. No field whose value is looked at has one.
                1 | 2 => {}
                kind => each(self, field, kind)?,
            }
        }
    }

    fn structure(&mut self, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        self.fields(|rest, _, kind| rest.value(kind, depth))
    }

    /// Of the header of a page: its type, its bytes unpacked and packed, and the values of its dictionary.
    pub(super) fn page_header(&mut self) -> Option<[i32; 4]> {
        let mut found = [0; 4];
        let mut take = |rest: &mut Self, place: i16| {
            found[place as usize] = rest.signed()? as i32;
            Some(())
        };
        self.fields(|rest, field, kind| match (field, kind) {
            (1..=3, I32) => take(rest, field - 1),
            (7, STRUCTURE) => rest.fields(|rest, field, kind| match (field, kind) {
                (1, I32) => take(rest, 3),
                (1, _) => None,
                _ => rest.value(kind, DEPTH),
            }),
            (1..=3 | 7, _) => None,
            _ => rest.value(kind, DEPTH),
        })?;
        Some(found)
    }

    fn value(&mut self, kind: u8, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            1..=3 => self.skip(1),
            4..=6 => self.number().map(|_| ()),
            7 => self.skip(8),
            8 => {
                let bytes = self.number()?;
                self.skip(bytes)
            }
            9 | 10 => self.list(depth),
            12 => self.structure(depth),
            // Parquet has no maps.
            _ => None,
        }
    }

    fn list(&mut self, depth: u32) -> Option<()> {
        let head = self.byte()?;
        let elements = match head >> 4 {
            15 => self.number()?,
            few => u64::from(few),
        };
        // Each takes a byte at least.
        if elements > self.0.len() as u64 {
            return None;
        }
        (0..elements).try_for_each(|_| self.value(head & 0x0f, depth))
    }
}

/// Whether no list of the footer is longer than the footer. Files that do not end like Parquet are left to the library.
pub fn lists_fit(file: &Stored) -> bool {
    let length = file.len();
    let Some(tail_at) = length.checked_sub(TAIL) else { return true };
    let Ok(tail) = file.get_bytes(tail_at, TAIL as usize) else { return true };
    let Some((bytes, b"PAR1")) = tail.split_first_chunk::<4>() else { return true };
    let bytes = u32::from_le_bytes(*bytes);
    let Some(start) = tail_at.checked_sub(bytes.into()) else { return true };
    match file.get_bytes(start, bytes as usize) {
        Ok(footer) => Thrift(&footer).structure(DEPTH).is_some(),
        Err(_) => true,
    }
}
