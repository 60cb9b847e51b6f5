//! Readers: one file per format, found by name or by the beginning of the file.
//!
//! # Contract
//! A reader returns requests in time order, with whole blocks that cover every byte requested. It never panics,
//! hangs or takes memory that grows with a length field. Wrong or special records are handled as follows:
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
//! Compressed files (gzip, zstd, bzip2, xz) are read as they are; a byte-order mark before text is passed over.
//! To add a format: write its file with a function `plugin` and add its word to the list below. Its own
//! parameters are a type in that file, which `open` takes out of the options; parameters that are not taken are
//! refused.

#[doc(hidden)]
pub mod columns;
#[doc(hidden)]
pub mod footer;
#[doc(hidden)]
pub mod groups;
#[doc(hidden)]
pub mod measured;
mod pages;
#[doc(hidden)]
pub mod parse;
#[doc(hidden)]
pub mod stream;
mod xz;

use crate::error::TraceError;
use crate::options::{Counters, ReadOptions};
use crate::{Requests, Source};
use headstack_schema::Table;
use headstack_schema::{plugins, Plugin, Plugins};
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::Path;
use stream::{Binary, BinaryFormat, Checked, Found, LineFormat, Lines, Times};

pub use measured::read_measured;
pub use spc::{spc_reader, SpcReader};
pub use validate::{read_validate, ValidateRecord};

/// A trace to be read.
pub struct Input {
    /// The bytes, decompressed.
    pub reader: Box<dyn BufRead + Send>,
    /// The name for error messages.
    pub path: String,
    /// The file itself, if it is one and not compressed.
    pub file: Option<File>,
}

impl Input {
    /// From bytes in memory; they are decompressed if they begin like a compressed file.
    ///
    /// # Errors
    /// A compressed file whose first bytes are wrong.
    pub fn from_packed(bytes: Vec<u8>, path: &str) -> Result<Input, TraceError> {
        let (reader, _) = decompressed(Box::new(Cursor::new(bytes)), path, &Counters::default())?;
        Ok(Input { reader, path: path.to_string(), file: None })
    }

    /// From bytes in memory, without decompression.
    pub fn from_bytes(bytes: Vec<u8>, path: &str) -> Input {
        Input { reader: Box::new(Cursor::new(bytes)), path: path.to_string(), file: None }
    }
}

/// What is known of a format: its units and detection.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// Unit of its times.
    pub time_unit: &'static str,
    /// Unit of its addresses and sizes.
    pub size_unit: &'static str,
    /// Score of the first bytes and the file's name, from 0 (no fit) to 100.
    pub sniff: fn(&[u8], &str) -> u8,
    /// A small valid trace, for contract tests and fuzzing.
    pub sample: fn() -> Vec<u8>,
}

/// A format with its parameters; what is built is an open trace.
pub type Format = Plugin<dyn Requests + Send>;

/// Several formats.
pub type Formats = Plugins<dyn Requests + Send>;

plugins! {
    dyn Requests + Send = "trace format", place "format_parameters", for<'a> (Input, &'a ReadOptions), facts Facts,
    error TraceError;
    alibaba: Alibaba, blkparse: Parameters, blktrace: Parameters, csv: Csv, disksim: Disksim, fio_iolog: Parameters,
    mqsim: Mqsim, msr: Msr, oracle_general: Oracle, parquet: Parquet, spc: Spc, srt: Srt, systor17: Systor,
    tencent: Tencent, thesios: Parameters, validate: Validate, vscsi: Vscsi
}

/// The parameter of formats whose times are whole seconds.
#[derive(Default, Table)]
#[table(default)]
pub(crate) struct Spreading {
    /// Whether requests with equal times are spread evenly over the second.
    spread_seconds: bool,
}

impl Spreading {
    /// Properties of the times of a format with this parameter.
    fn of(&self, times: Times) -> Times {
        Times { spread: self.spread_seconds, ..times }
    }
}

/// The byte-order mark that some programs write before UTF-8 text.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub(crate) fn text<F: LineFormat + 'static>(
    format: F,
    mut input: Input,
    times: Times,
    options: &ReadOptions,
) -> Result<Source, TraceError> {
    // The first bytes are in the buffer: they were read to detect compression.
    let first = input.reader.fill_buf();
    // A damaged compressed file reports its error once, and then seems empty.
    let first = first.map_err(|e| io_error(&input.path, e))?;
    if first.starts_with(BYTE_ORDER_MARK) {
        input.reader.consume(BYTE_ORDER_MARK.len());
    }
    let lines = Lines::new(format, input.reader, &input.path);
    Ok(Box::new(Checked::new(lines, times, options)))
}

pub(crate) fn binary<F: BinaryFormat + 'static>(
    format: F,
    input: Input,
    times: Times,
    options: &ReadOptions,
) -> Result<Source, TraceError> {
    let records = Binary::new(format, input.reader, &input.path);
    Ok(Box::new(Checked::new(records, times, options)))
}

/// `confidence` if all of the first whole lines (at most [`SNIFFED_LINES`]) are well formed.
pub(crate) fn sniff_lines<F: LineFormat>(mut format: F, bytes: &[u8], confidence: u8) -> u8 {
    let whole = match memchr::memrchr(b'\n', bytes) {
        Some(end) => &bytes[..end],
        None => bytes,
    };
    let mut requests = 0;
    for line in whole.split(|&b| b == b'\n').take(SNIFFED_LINES) {
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
/// Number of bytes at the start of a file that detection reads.
const SNIFFED: usize = 16 * 1024;
/// Number of lines of a text that detection reads.
const SNIFFED_LINES: usize = 8;

fn io_error(path: &str, source: std::io::Error) -> TraceError {
    TraceError::Io { path: path.to_string(), source }
}

/// Up to `count` bytes from the beginning.
fn beginning(reader: &mut dyn Read, count: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(count as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Wraps `reader` in a decompressor if it begins with the magic number of one.
fn decompressed(
    mut reader: Box<dyn BufRead + Send>,
    path: &str,
    counters: &Counters,
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
    let unpacker: Box<dyn Read + Send> = match kind {
        0 => return Ok((Box::new(whole), false)),
        1 => Box::new(flate2::bufread::MultiGzDecoder::new(whole)),
        2 => {
            let mut decoder = zstd::Decoder::with_buffer(whole).map_err(|e| io_error(path, e))?;
            // 128 MiB of window, the most that `zstd` itself accepts by default.
            decoder.window_log_max(27).map_err(|e| io_error(path, e))?;
            Box::new(decoder)
        }
        3 => Box::new(bzip2::bufread::MultiBzDecoder::new(whole)),
        _ => Box::new(lzma_rust2::XzReader::new(xz::Blocks::new(whole), true)),
    };
    // A few bytes may decompress to an almost endless stream.
    let unpacker = Stoppable::new(unpacker, counters);
    Ok((Box::new(BufReader::with_capacity(BUFFER, unpacker)), true))
}

/// An input that another thread can end.
struct Stoppable<R> {
    input: R,
    counters: Counters,
}

impl<R> Stoppable<R> {
    fn new(input: R, counters: &Counters) -> Stoppable<R> {
        let counters = counters.clone();
        Stoppable { input, counters }
    }
}

impl<R: Read> Read for Stoppable<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.counters.is_stopped() {
            return Err(std::io::Error::other("the reading was ended"));
        }
        self.input.read(buffer)
    }
}

/// A file that counts the bytes read.
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
        let stdin = Stoppable::new(std::io::stdin(), counters);
        let stdin = Box::new(BufReader::with_capacity(BUFFER, stdin));
        let (reader, _) = decompressed(stdin, "standard input", counters)?;
        return Ok(Input { reader, path: "standard input".to_string(), file: None });
    }
    let open = || File::open(path).map_err(|e| io_error(&name, e));
    let file = open()?;
    let metadata = file.metadata().ok().filter(|m| m.is_file());
    let is_file = metadata.is_some();
    counters.begin(metadata.map_or(0, |m| m.len()));
    let file = Counted { file, counters: counters.clone() };
    let file = Stoppable::new(file, counters);
    let buffered = Box::new(BufReader::with_capacity(BUFFER, file));
    let (reader, compressed) = decompressed(buffered, &name, counters)?;
    Ok(Input { reader, file: if is_file && !compressed { Some(open()?) } else { None }, path: name })
}

/// The format that fits best, if any: first by the whole beginning, then by most of its lines, so that the
/// reader can report a single wrong line.
pub fn detect<'a>(first_bytes: &[u8], file_name: &str, formats: &'a Formats) -> Option<&'a Format> {
    let best = |bytes: &[u8]| {
        let fits = formats.iter().map(|f| ((f.facts.sniff)(bytes, file_name), f));
        let best = fits.max_by_key(|(confidence, _)| *confidence)?;
        (best.0 > 0).then_some(best.1)
    };
    let text = first_bytes.strip_prefix(BYTE_ORDER_MARK);
    best(first_bytes)
        .or_else(|| best(text?))
        .or_else(|| detect_by_lines(text.unwrap_or(first_bytes), file_name, formats))
}

/// The format that fits at least half of the first lines (at most [`SNIFFED_LINES`]), each line by itself; if
/// several do, the one that fits most lines.
fn detect_by_lines<'a>(text: &[u8], file_name: &str, formats: &'a Formats) -> Option<&'a Format> {
    let whole = &text[..memchr::memrchr(b'\n', text)?];
    let lines: Vec<&[u8]> =
        (whole.split(|&b| b == b'\n')).filter(|line| !line.trim_ascii().is_empty()).take(SNIFFED_LINES).collect();
    let fits = |f: &Format| -> (usize, u8) {
        let each = lines.iter().map(|line| (f.facts.sniff)(line, file_name));
        let fitting = each.filter(|confidence| *confidence > 0);
        fitting.fold((0, 0), |(n, most), c| (n + 1, most.max(c)))
    };
    let best = formats.iter().map(|f| (fits(f), f));
    let ((n, _), format) = best.max_by_key(|(fit, _)| *fit)?;
    (n > 0 && 2 * n >= lines.len()).then_some(format)
}

/// The error for a file that begins with these bytes and fits none of the `formats`.
fn undetected(first: &[u8], path: &str, formats: &Formats) -> TraceError {
    if let Some(wrong) = csv::lacking(first.strip_prefix(BYTE_ORDER_MARK).unwrap_or(first)) {
        return stream::located(*wrong, path, 1);
    }
    let names: Vec<&str> = formats.names().collect();
    let (got, hint) = match first {
        [] => ("an empty file".to_string(), ""),
        blank if blank.trim_ascii().is_empty() => ("blank lines only".to_string(), ""),
        first if !is_text(first) => ("a binary file of an unknown kind".to_string(), NAME_IT),
        first if is_page(first) => ("a page of HTML".to_string(), ""),
        first => (format!("{:?}", parse::quote(first)), NAME_IT),
    };
    TraceError::Input { path: path.to_string(), got, need: format!("a trace in one of {}{hint}", names.join(", ")) }
}

/// What helps if the format is known, but not seen.
const NAME_IT: &str = "; format = \"NAME\" (--from NAME) says which";

/// Whether a beginning is text: without zero bytes, and in UTF-8 but for a character that is cut off.
fn is_text(first: &[u8]) -> bool {
    let is_utf8 = match std::str::from_utf8(first) {
        Ok(_) => true,
        Err(e) => e.error_len().is_none(),
    };
    is_utf8 && !first.contains(&0)
}

/// Whether it is a page, as servers send it in place of a file.
fn is_page(first: &[u8]) -> bool {
    let start = first.trim_ascii_start().to_ascii_lowercase();
    [&b"<!doctype html"[..], b"<html"].iter().any(|tag| start.starts_with(tag))
}

/// The name of the format that is detected for a file, as by [`open`]; none if no format fits, or if it is not
/// a regular file: reading from a pipe would consume its data.
///
/// # Errors
/// A file that cannot be read.
pub fn detected(path: &Path, formats: &Formats) -> Result<Option<String>, TraceError> {
    if !path.is_file() {
        return Ok(None);
    }
    let mut input = open_input(path, &Counters::default())?;
    let first = beginning(&mut input.reader, SNIFFED).map_err(|e| io_error(&input.path, e))?;
    let name = input.path.rsplit('/').next().unwrap_or("");
    Ok(detect(&first, name, formats).map(|format| format.name().to_string()))
}

/// The `formats` that fit a beginning, each with its score (1 to 100), the best first.
pub fn fits(first_bytes: &[u8], file_name: &str, formats: &Formats) -> Vec<(String, u8)> {
    let mut fits: Vec<_> = (formats.iter())
        .map(|f| (f.name().to_string(), (f.facts.sniff)(first_bytes, file_name)))
        .filter(|(_, confidence)| *confidence > 0)
        .collect();
    fits.sort_by_key(|(_, confidence)| std::cmp::Reverse(*confidence));
    fits
}

/// Opens a trace: `format` by name, or detected by the beginning of the file and its name. `-` is standard
/// input. Compressed files are decompressed.
///
/// # Errors
/// A file that cannot be read; an unknown format; a file that fits none.
pub fn open(path: &Path, format: Option<&str>, options: &ReadOptions) -> Result<Source, TraceError> {
    let named = |name| options.formats.find("format", name);
    let chosen = format.map(named).transpose()?;
    open_with(open_input(path, &options.counters)?, chosen, options)
}

/// As [`open`], from bytes or any other input.
///
/// # Errors
/// As for [`open`].
pub fn open_with(mut input: Input, format: Option<&Format>, options: &ReadOptions) -> Result<Source, TraceError> {
    let format = match format {
        Some(format) => format,
        None => {
            let first = beginning(&mut input.reader, SNIFFED).map_err(|e| io_error(&input.path, e))?;
            let name = input.path.rsplit('/').next().unwrap_or("").to_string();
            let found = detect(&first, &name, &options.formats)
                .ok_or_else(|| undetected(&first, &input.path, &options.formats))?;
            let rest = std::mem::replace(&mut input.reader, Box::new(std::io::empty()));
            options.counters.detected(fits(&first, &name, &options.formats));
            input.reader = Box::new(Cursor::new(first).chain(rest));
            found
        }
    };
    options.counters.opened(format);
    format.build(&options.parameters, (input, options)).map_err(|e| match e {
        TraceError::Input { path, got, need } if path.starts_with("format_parameters") => {
            let got = format!("{got} for {}", format.name());
            TraceError::Input { path, got, need }
        }
        e => e,
    })
}
