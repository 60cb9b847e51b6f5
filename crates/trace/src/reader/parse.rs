//! Parses numbers from bytes, without allocation and without conversion through `f64`.

use crate::ioprio::Ioprio;
use crate::request::{Command, Process, Request};
use headstack_units::{Lba, Time};

/// An error in a record; the calling loop adds the file and the line.
#[derive(Debug)]
pub enum Wrong {
    /// One column is wrong.
    Field { column: usize, name: &'static str, got: String, need: String },
    /// The record as a whole is wrong.
    Record { got: String, need: String },
}

/// The error is boxed because it is rare, so that the result on the hot path stays small.
pub(crate) type Parsed<T> = Result<T, Box<Wrong>>;

/// Most bytes of a wrong field that are quoted.
const QUOTED: usize = 40;

/// A field as it is displayed in an error.
pub(crate) fn quote(field: &[u8]) -> String {
    let cut = &field[..field.len().min(QUOTED)];
    let mut text = String::from_utf8_lossy(cut).into_owned();
    if cut.len() < field.len() {
        text.push('…');
    }
    text
}

#[cold]
#[inline(never)]
pub(crate) fn field(column: usize, name: &'static str, got: &[u8], need: &str) -> Box<Wrong> {
    Box::new(Wrong::Field { column, name, got: quote(got), need: need.to_string() })
}

#[cold]
#[inline(never)]
pub(crate) fn record(got: impl Into<String>, need: impl Into<String>) -> Box<Wrong> {
    Box::new(Wrong::Record { got: got.into(), need: need.into() })
}

/// A decimal integer without sign.
#[inline]
pub fn integer(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    let mut value = 0u64;
    if text.len() <= 19 {
        // 19 digits cannot overflow.
        for &byte in text {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            value = value * 10 + u64::from(digit);
        }
        return Some(value);
    }
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

/// A hexadecimal integer, with or without `0x`.
pub(crate) fn hexadecimal(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    if digits.first().is_none_or(|&b| b == b'+' || b == b'-') {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// A decimal number times `10^places`, rounded to the nearest integer: with 9 places, seconds become
/// nanoseconds exactly. Not negative. A number with an exponent is converted through `f64`.
#[inline]
pub fn decimal(text: &[u8], places: u32) -> Option<u64> {
    let mut value = 0u64;
    let mut i = 0;
    while i < text.len() {
        let digit = text[i].wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
        i += 1;
    }
    let whole = i;
    let mut left = places;
    let mut fraction = 0;
    if i < text.len() && text[i] == b'.' {
        i += 1;
        while i < text.len() {
            let digit = text[i].wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            if left > 0 {
                value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
                left -= 1;
            } else if fraction == places && digit >= 5 {
                value = value.checked_add(1)?;
            }
            fraction += 1;
            i += 1;
        }
    }
    if i < text.len() {
        return decimal_with_exponent(text, places);
    }
    if whole == 0 && fraction == 0 {
        return None;
    }
    value.checked_mul(10u64.pow(left))
}

#[cold]
fn decimal_with_exponent(text: &[u8], places: u32) -> Option<u64> {
    // `parse` also takes "inf" and "nan", which are not times.
    if !text.first()?.is_ascii_digit() {
        return None;
    }
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let scaled = (value * 10f64.powi(places as i32)).round();
    (scaled >= 0.0 && scaled < u64::MAX as f64).then_some(scaled as u64)
}

/// Removes blanks at both ends.
#[inline]
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}

/// The number of a process.
pub(crate) fn need_process(number: u64) -> Parsed<Process> {
    let process = u32::try_from(number).ok().map(Process);
    let known = process.filter(|p| *p != Process::UNKNOWN);
    known.ok_or_else(|| record(format!("process {number}"), "a number below 2^32 - 1"))
}

/// An I/O priority as Linux encodes it.
pub(crate) fn need_ioprio(number: u64) -> Parsed<Ioprio> {
    let priority = u16::try_from(number).ok().map(Ioprio);
    priority.ok_or_else(|| record(format!("ioprio {number}"), "a number below 65536"))
}

/// Column `index` (from 0) as an integer.
#[inline]
pub(crate) fn need_integer(text: &[u8], index: usize, name: &'static str) -> Parsed<u64> {
    integer(text).ok_or_else(|| no_integer(text, index, name))
}

/// A letter after a number is fio's notation for units. It is refused, because a trace has plain numbers and
/// the intended unit is unknown.
#[cold]
#[inline(never)]
fn no_integer(text: &[u8], index: usize, name: &'static str) -> Box<Wrong> {
    let need = "an integer that is not negative";
    let letter = text.split_last().filter(|(l, _)| b"kKmMgGtT".contains(l));
    match letter.and_then(|(_, number)| integer(number)) {
        Some(_) => {
            let need = format!("{need}, without a letter for its unit");
            field(index + 1, name, text, &need)
        }
        None => field(index + 1, name, text, need),
    }
}

/// Column `index` (from 0) as a device number.
#[inline]
pub(crate) fn need_device(text: &[u8], index: usize, name: &'static str) -> Parsed<u32> {
    integer(text)
        .and_then(|v| u32::try_from(v).ok())
        .ok_or_else(|| field(index + 1, name, text, "an integer from 0 to 4294967295"))
}

/// Column `index` (from 0) as a count of blocks.
#[inline]
pub(crate) fn need_blocks(text: &[u8], index: usize, name: &'static str) -> Parsed<u32> {
    integer(text)
        .and_then(|v| u32::try_from(v).ok())
        .ok_or_else(|| field(index + 1, name, text, "an integer from 0 to 4294967295"))
}

/// Column `index` (from 0) as a decimal number times `10^places`.
#[inline]
pub(crate) fn need_time(text: &[u8], index: usize, name: &'static str, places: u32) -> Parsed<Time> {
    decimal(text, places).map(Time).ok_or_else(|| field(index + 1, name, text, "a time that is not negative"))
}

/// Block addresses are at most this, so that byte addresses fit 64 bits.
pub(crate) const MAX_BLOCK: u64 = 1 << 55;

/// The 512-byte blocks that `size` bytes from `offset` touch: an address that is not a multiple of 512 begins
/// in the block that contains it, and the last block counts whole.
#[inline]
pub fn cover(offset: u64, size: u64) -> Option<(Lba, u32)> {
    if size == 0 {
        return Some((Lba(offset / 512), 0));
    }
    let first = offset / 512;
    let end = offset.checked_add(size)?.div_ceil(512);
    Some((Lba(first), u32::try_from(end - first).ok()?))
}

/// As `cover`; the error names the wrong column.
#[inline]
pub(crate) fn need_cover(offset: u64, size: u64) -> Parsed<(Lba, u32)> {
    cover(offset, size).ok_or_else(|| {
        record(format!("{size} bytes at byte {offset}"), "a range below 2^64 bytes of fewer than 2^32 blocks")
    })
}

/// The words that [`operation`] accepts.
pub(crate) const OPERATIONS: &str = "one of R, W, F, read, write, write-through, flush";

/// `R`, `read`, `W`, `write`, `write-through`, `F`, `flush` in any case.
#[inline]
pub(crate) fn operation(text: &[u8]) -> Option<Command> {
    match text {
        b"R" | b"r" => Some(Command::Read),
        b"W" | b"w" => Some(Command::Write),
        b"F" | b"f" => Some(Command::Flush),
        _ if text.eq_ignore_ascii_case(b"read") => Some(Command::Read),
        _ if text.eq_ignore_ascii_case(b"write") => Some(Command::Write),
        _ if text.eq_ignore_ascii_case(b"write-through") => Some(Command::WriteThrough),
        _ if text.eq_ignore_ascii_case(b"flush") => Some(Command::Flush),
        _ => None,
    }
}

/// Reads or writes only.
#[inline]
pub(crate) fn need_read_or_write(text: &[u8], index: usize, name: &'static str) -> Parsed<Command> {
    match operation(text) {
        Some(op @ (Command::Read | Command::Write)) => Ok(op),
        _ => Err(field(index + 1, name, text, "one of R, W, read, write in any case")),
    }
}

/// Splits at commas (or another byte) into at most `N` fields; more are ignored.
#[inline]
pub(crate) fn split<const N: usize>(line: &[u8], separator: u8) -> ([&[u8]; N], usize) {
    let mut fields: [&[u8]; N] = [&[]; N];
    let mut count = 0;
    let mut rest = line;
    while count < N {
        // Fields are a few bytes long, so a plain loop is faster than a vectorised search.
        let mut end = 0;
        while end < rest.len() && rest[end] != separator {
            end += 1;
        }
        fields[count] = &rest[..end];
        count += 1;
        if end == rest.len() {
            break;
        }
        rest = &rest[end + 1..];
    }
    (fields, count)
}

/// Splits at runs of blanks into at most `N` fields; more are ignored.
#[inline]
pub(crate) fn words<const N: usize>(line: &[u8]) -> ([&[u8]; N], usize) {
    let mut fields: [&[u8]; N] = [&[]; N];
    let mut count = 0;
    let mut i = 0;
    while count < N {
        while i < line.len() && line[i].is_ascii_whitespace() {
            i += 1;
        }
        if i == line.len() {
            break;
        }
        let start = i;
        while i < line.len() && !line[i].is_ascii_whitespace() {
            i += 1;
        }
        fields[count] = &line[start..i];
        count += 1;
    }
    (fields, count)
}

/// Refuses a line with fewer columns than `need`.
#[inline]
pub(crate) fn need_columns(count: usize, need: usize, names: &'static str) -> Parsed<()> {
    if count >= need {
        Ok(())
    } else {
        Err(record(format!("{count} columns"), format!("{need} columns: {names}")))
    }
}

/// A request from byte address and byte size.
#[inline]
pub(crate) fn by_bytes(time: Time, device: u32, op: Command, offset: u64, size: u64) -> Parsed<Option<Request>> {
    let (lba, blocks) = need_cover(offset, size)?;
    Ok(Some(Request { time, device, lba, blocks, op, ..Request::default() }))
}
