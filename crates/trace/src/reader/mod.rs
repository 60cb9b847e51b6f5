//! Readers: one file per format, found by name or by what the file begins with.
//!
//! # Contract
//! A reader gives requests in time order, whole blocks that cover every byte asked for, and never
//! panics, hangs or takes memory that grows with a length field. What is wrong with a trace:
//!
//! | what | answer |
//! |---|---|
//! | a wrong line or record | an error with file, line, column, got, need; left out and counted with [`OnError::Skip`](crate::OnError) |
//! | a binary record cut short, or of which the end is not known | an error, always: there is no next record |
//! | time running backwards | a wrong record, in formats that promise order; sorted within the format's window in the others, and moved forward and counted as clamped beyond it ([`Order`](crate::Order)) |
//! | a read or write of no bytes | left out, counted as zero-sized |
//! | an address of 2^55 blocks or more | a wrong record |
//! | a time past what can be simulated ([`Time::LATEST`](headstack_units::Time::LATEST)) | a wrong record |
//! | an address past the end of the device | passed on: only the system knows the device's size |
//! | a record that is no read, write or flush | left out, counted as filtered |
//! | after an error | nothing more |
//!
//! Compressed files (gzip, zstd, bzip2, xz) are read as they are.
//! To add a format: write its file with a `FORMAT` constant, add its word to the list below. Parameters of
//! its own are a type in that file, which `open` takes out of the options; what is left there is refused.

mod columns;
pub(crate) mod parse;
pub(crate) mod stream;

use crate::error::TraceError;
use crate::options::{Counters, ReadOptions};
use crate::Source;
use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::Path;
use stream::{Binary, BinaryFormat, Checked, Found, LineFormat, Lines, Times};

pub use spc::{spc_reader, SpcReader};
pub use validate::{read_validate, ValidateRecord};

/// A trace to be read.
pub struct Input {
    /// The bytes, decompressed.
    pub reader: Box<dyn BufRead + Send>,
    /// The name for messages.
    pub path: String,
    /// The file itself, if it is one and not compressed.
    pub file: Option<File>,
}

impl Input {
    /// From bytes in memory, decompressed if they begin as a packed file does.
    ///
    /// # Errors
    /// A packed file whose first bytes are wrong.
    pub fn from_packed(bytes: Vec<u8>, path: &str) -> Result<Input, TraceError> {
        let (reader, _) = decompressed(Box::new(Cursor::new(bytes)), path)?;
        Ok(Input {
            reader,
            path: path.to_string(),
            file: None,
        })
    }

    /// From bytes in memory, as they are.
    pub fn from_bytes(bytes: Vec<u8>, path: &str) -> Input {
        Input {
            reader: Box::new(Cursor::new(bytes)),
            path: path.to_string(),
            file: None,
        }
    }
}

/// One format: how it is called, known and read.
#[derive(Debug)]
pub struct Format {
    /// The name on the command line and in experiments.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    /// The parameters of its reader, as an example in TOML; empty where it takes none.
    pub parameters: &'static str,
    /// What is known of its times.
    pub times: Times,
    /// How well the first bytes and the file's name fit, from 0 (not at all) to 100.
    pub sniff: fn(&[u8], &str) -> u8,
    /// Makes the stream.
    pub open: fn(Input, &ReadOptions) -> Result<Source, TraceError>,
    /// A small valid trace, for contract tests and fuzzing.
    pub example: fn() -> Vec<u8>,
}

/// Makes `mod`s and `FORMATS` from one list of file names.
macro_rules! formats {
    ($($file:ident),+ $(,)?) => {
        $(pub mod $file;)+
        /// Every format.
        pub const FORMATS: &[Format] = &[$($file::FORMAT),+];
    };
}

formats! {
    alibaba,
    blkparse,
    blktrace,
    csv,
    disksim,
    fio_iolog,
    mqsim,
    msr,
    oracle_general,
    parquet,
    spc,
    srt,
    systor17,
    tencent,
    thesios,
    validate,
    vscsi,
}

/// Every format that comes with this crate.
pub fn formats() -> &'static [Format] {
    FORMATS
}

/// The parameter of formats that give whole seconds.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Spreading {
    /// Whether requests with equal times are spread evenly over the second.
    spread_seconds: bool,
}

impl Spreading {
    /// Times of a format with this parameter.
    fn of(&self, times: Times) -> Times {
        Times {
            spread: self.spread_seconds,
            ..times
        }
    }
}

pub(crate) fn text<F: LineFormat + 'static>(
    format: F,
    input: Input,
    times: Times,
    options: &ReadOptions,
) -> Result<Source, TraceError> {
    options.none_left()?;
    let lines = Lines::new(format, input.reader, &input.path);
    Ok(Box::new(Checked::new(lines, times, options)))
}

pub(crate) fn binary<F: BinaryFormat + 'static>(
    format: F,
    input: Input,
    times: Times,
    options: &ReadOptions,
) -> Result<Source, TraceError> {
    options.none_left()?;
    let records = Binary::new(format, input.reader, &input.path);
    Ok(Box::new(Checked::new(records, times, options)))
}

/// `confidence` when the first whole lines (at most eight) are all well formed.
pub(crate) fn sniff_lines<F: LineFormat>(mut format: F, bytes: &[u8], confidence: u8) -> u8 {
    let whole = match memchr::memrchr(b'\n', bytes) {
        Some(end) => &bytes[..end],
        None => bytes,
    };
    let mut requests = 0;
    for line in whole.split(|&b| b == b'\n').take(8) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.trim_ascii().is_empty() {
            continue;
        }
        match format.line(line) {
            Ok(Found::Request(_)) => requests += 1,
            Ok(_) => {}
            Err(_) => return 0,
        }
    }
    if requests > 0 {
        confidence
    } else {
        0
    }
}

const BUFFER: usize = 256 * 1024;
/// The part of a file that detection sees.
const SNIFFED: usize = 16 * 1024;

fn io_error(path: &str, source: std::io::Error) -> TraceError {
    TraceError::Io {
        path: path.to_string(),
        source,
    }
}

/// Up to `count` bytes from the beginning.
fn beginning(reader: &mut dyn Read, count: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(count as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Puts a decompressor before `reader` if it begins with the mark of one.
fn decompressed(
    mut reader: Box<dyn BufRead + Send>,
    path: &str,
) -> Result<(Box<dyn BufRead + Send>, bool), TraceError> {
    let mark = beginning(&mut reader, 6).map_err(|e| io_error(path, e))?;
    let kind = match mark.as_slice() {
        [0x1f, 0x8b, ..] => 1,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => 2,
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => 3,
        [0xfd, b'7', b'z', b'X', b'Z', 0] => 4,
        _ => 0,
    };
    let whole = Cursor::new(mark).chain(reader);
    Ok((
        match kind {
            0 => Box::new(whole),
            1 => Box::new(BufReader::with_capacity(
                BUFFER,
                flate2::bufread::MultiGzDecoder::new(whole),
            )),
            2 => {
                let mut decoder =
                    zstd::Decoder::with_buffer(whole).map_err(|e| io_error(path, e))?;
                // 128 MiB of window, the most that `zstd` itself takes without being asked.
                decoder.window_log_max(27).map_err(|e| io_error(path, e))?;
                Box::new(BufReader::with_capacity(BUFFER, decoder))
            }
            3 => Box::new(BufReader::with_capacity(
                BUFFER,
                bzip2::bufread::MultiBzDecoder::new(whole),
            )),
            _ => Box::new(BufReader::with_capacity(
                BUFFER,
                lzma_rust2::XzReader::new(whole, true),
            )),
        },
        kind > 0,
    ))
}

/// A file that counts what is read of it.
struct Counted {
    file: File,
    counters: Counters,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.counters.pass(count as u64);
        Ok(count)
    }
}

/// Opens a file, or standard input for `-`, with decompression.
pub(crate) fn open_input(path: &Path, counters: &Counters) -> Result<Input, TraceError> {
    let name = path.display().to_string();
    if name == "-" {
        let stdin: Box<dyn BufRead + Send> =
            Box::new(BufReader::with_capacity(BUFFER, std::io::stdin()));
        let (reader, _) = decompressed(stdin, "standard input")?;
        return Ok(Input {
            reader,
            path: "standard input".to_string(),
            file: None,
        });
    }
    let open = || File::open(path).map_err(|e| io_error(&name, e));
    let file = open()?;
    let metadata = file.metadata().ok().filter(|m| m.is_file());
    let is_file = metadata.is_some();
    counters.begin(metadata.map_or(0, |m| m.len()));
    let file = Counted {
        file,
        counters: counters.clone(),
    };
    let buffered: Box<dyn BufRead + Send> = Box::new(BufReader::with_capacity(BUFFER, file));
    let (reader, compressed) = decompressed(buffered, &name)?;
    Ok(Input {
        reader,
        file: if is_file && !compressed {
            Some(open()?)
        } else {
            None
        },
        path: name,
    })
}

/// Finds one of `formats` by name.
///
/// # Errors
/// Lists the names.
pub fn format_named(name: &str, formats: &'static [Format]) -> Result<&'static Format, TraceError> {
    formats.iter().find(|f| f.name == name).ok_or_else(|| {
        let names: Vec<&str> = formats.iter().map(|f| f.name).collect();
        TraceError::Input {
            path: "format".to_string(),
            got: format!("{name:?}"),
            need: format!("one of {}", names.join(", ")),
        }
    })
}

/// The one of `formats` that fits best, if any does.
pub fn detect(
    first_bytes: &[u8],
    file_name: &str,
    formats: &'static [Format],
) -> Option<&'static Format> {
    let fits = formats
        .iter()
        .map(|f| ((f.sniff)(first_bytes, file_name), f));
    let best = fits.max_by_key(|(confidence, _)| *confidence)?;
    (best.0 > 0).then_some(best.1)
}

/// The name of the format that a file is detected to have, as [`open`] does it; none of what fits none, and
/// of what is no regular file, such as a pipe: looking into it would take from it.
///
/// # Errors
/// A file that cannot be read.
pub fn detected(
    path: &Path,
    formats: &'static [Format],
) -> Result<Option<&'static str>, TraceError> {
    if !path.is_file() {
        return Ok(None);
    }
    let mut input = open_input(path, &Counters::default())?;
    let first = beginning(&mut input.reader, SNIFFED).map_err(|e| io_error(&input.path, e))?;
    let name = input.path.rsplit('/').next().unwrap_or("");
    Ok(detect(&first, name, formats).map(|format| format.name))
}

/// Opens a trace: `format` by name, or detected from what the file begins with and its name.
/// `-` is standard input. Compressed files are read as they are.
///
/// # Errors
/// A file that cannot be read; an unknown format; a file that fits none.
pub fn open(
    path: &Path,
    format: Option<&str>,
    options: &ReadOptions,
) -> Result<Source, TraceError> {
    let named = |name| format_named(name, options.formats);
    let chosen = format.map(named).transpose()?;
    open_with(open_input(path, &options.counters)?, chosen, options)
}

/// The same from bytes or any other input.
///
/// # Errors
/// As for [`open`].
pub fn open_with(
    mut input: Input,
    format: Option<&'static Format>,
    options: &ReadOptions,
) -> Result<Source, TraceError> {
    let format = match format {
        Some(format) => format,
        None => {
            let first =
                beginning(&mut input.reader, SNIFFED).map_err(|e| io_error(&input.path, e))?;
            let name = input.path.rsplit('/').next().unwrap_or("").to_string();
            let found =
                detect(&first, &name, options.formats).ok_or_else(|| TraceError::Input {
                    path: input.path.clone(),
                    got: if first.is_empty() {
                        "an empty file".to_string()
                    } else {
                        format!("{:?}", parse::quote(&first))
                    },
                    need: format!(
                        "a trace in one of {}; hint: name the format",
                        options
                            .formats
                            .iter()
                            .map(|f| f.name)
                            .collect::<Vec<_>>()
                            .join(", ")
                    ),
                })?;
            let rest = std::mem::replace(&mut input.reader, Box::new(std::io::empty()));
            input.reader = Box::new(Cursor::new(first).chain(rest));
            found
        }
    };
    (format.open)(input, options).map_err(|e| match e {
        TraceError::Input { path, got, need } if path.starts_with("format_parameters") => {
            let got = format!("{got} for {}", format.name);
            TraceError::Input { path, got, need }
        }
        e => e,
    })
}

#[cfg(test)]
mod tests;
