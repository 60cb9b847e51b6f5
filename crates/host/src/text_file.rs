//! Small files of others, which may be anything.

use rustix::fs::OFlags;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::SystemTime;

/// Longest text that is read.
const MOST_BYTES: u64 = 1 << 16;

/// The text of a file, and when it was written. It waits for no writer, as a pipe would.
///
/// # Errors
/// The system's; no regular file; no text.
pub fn read(path: &Path) -> io::Result<(String, SystemTime)> {
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let of = file.metadata()?;
    if !of.is_file() {
        return Err(io::Error::other("got no regular file, need one"));
    }
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text)?;
    Ok((text, of.modified()?))
}
