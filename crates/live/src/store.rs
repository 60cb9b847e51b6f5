//! Where the data of a device are kept: exact, whatever the drive's time.

use crate::history::{Dice, History, Torn, SECTOR};
use rustix::fs::{fallocate, seek, FallocateFlags, SeekFrom};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Zeroes of more bytes at once than this are not undone by a loss of power.
pub const MOST_TORN: u64 = 32 << 20;
/// Bytes of a page of a store in memory.
const PAGE: u64 = 64 << 10;

/// The bytes of a device. What was never written is zero.
#[derive(Debug)]
pub struct Store {
    kept: Kept,
    /// What writes replaced that a loss of power may undo; `None` where no power is lost.
    history: Option<History>,
}

#[derive(Debug)]
enum Kept {
    /// Pages that were written.
    Memory(BTreeMap<u64, Box<[u8]>>),
    /// A file with holes.
    File(File),
}

/// Says what to do where a file system has no files as long as a drive.
fn too_long(error: io::Error, bytes: u64) -> io::Error {
    match error.raw_os_error() == Some(Errno::FBIG.raw_os_error()) {
        true => io::Error::other(format!(
            "{bytes} bytes, more than its file system has in a file (ext4: 16 TiB; XFS has more)"
        )),
        false => error,
    }
}

/// Bytes that are all data, or all a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Their number.
    pub bytes: u64,
    /// Whether nothing was written there.
    pub hole: bool,
}

impl Store {
    /// A store in memory, with nothing in it.
    pub fn memory() -> Store {
        Store::of(Kept::Memory(BTreeMap::new()))
    }

    fn of(kept: Kept) -> Store {
        Store {
            kept,
            history: None,
        }
    }

    /// A file of `bytes`, which is made or, if it is shorter, made longer; new room is a hole.
    ///
    /// # Errors
    /// A file that cannot be opened, or is longer than that.
    pub fn file(path: &Path, bytes: u64) -> io::Result<Store> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(path)?;
        let length = file.metadata()?.len();
        if length > bytes {
            let text =
                format!("got a file of {length} bytes, need at most the {bytes} of the drive");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        file.set_len(bytes).map_err(|e| too_long(e, bytes))?;
        Ok(Store::of(Kept::File(file)))
    }

    /// From now on writes can be undone until they are settled.
    pub fn keep_history(&mut self) {
        self.history.get_or_insert_with(History::default);
    }

    /// What writes replaced, if that is kept.
    pub fn history(&mut self) -> Option<&mut History> {
        self.history.as_mut()
    }

    /// Power is lost: what is not settled is there, or not, or in part, as `dice` says. Nothing can be undone afterwards.
    /// Returns the sectors, in order, that have lost something.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn tear(&mut self, dice: &mut Dice) -> io::Result<(Torn, Vec<u64>)> {
        let Some(history) = &mut self.history else {
            return Ok((Torn::default(), Vec::new()));
        };
        let (undone, torn) = history.tear(dice);
        for (sector, before) in &undone {
            self.kept.write(sector * SECTOR, &**before)?;
        }
        Ok((torn, undone.into_iter().map(|(sector, _)| sector).collect()))
    }

    /// These sectors hold zeroes, as if they had never been written.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn blank(&mut self, ranges: &[Range<u64>]) -> io::Result<()> {
        let mut all = ranges.iter();
        all.try_for_each(|range| {
            let (offset, bytes) = (range.start * SECTOR, (range.end - range.start) * SECTOR);
            match &mut self.kept {
                Kept::File(file) => zero_file(file, offset, bytes, false),
                Kept::Memory(pages) => {
                    zero_pages(pages, offset, bytes);
                    Ok(())
                }
            }
        })
    }

    /// Reads bytes; the place must be inside the device.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.kept.read(offset, buffer)
    }

    /// Writes bytes; the place must be inside the device.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.remember(offset, data.len() as u64)?;
        self.kept.write(offset, data)
    }

    /// Makes bytes zero. They take no more room, unless `keep` says that they must. Zeroes of more than
    /// [`MOST_TORN`] at once are not undone by a loss of power.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn zero(&mut self, offset: u64, bytes: u64, keep: bool) -> io::Result<()> {
        match bytes <= MOST_TORN {
            true => self.remember(offset, bytes)?,
            false => {
                if let Some(history) = &mut self.history {
                    history.forget(sectors(offset, bytes));
                }
            }
        }
        match &mut self.kept {
            Kept::File(file) => zero_file(file, offset, bytes, keep),
            Kept::Memory(pages) => {
                zero_pages(pages, offset, bytes);
                Ok(())
            }
        }
    }

    /// Keeps what a write replaces.
    fn remember(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        let Some(history) = &mut self.history else {
            return Ok(());
        };
        for sector in sectors(offset, bytes) {
            let mut before = [0; SECTOR as usize];
            self.kept.read(sector * SECTOR, &mut before)?;
            history.replaced(sector, before);
        }
        Ok(())
    }

    /// Extents from `offset` on, `bytes` in all, at most `most` of them.
    ///
    /// # Errors
    /// The file cannot be searched.
    pub fn extents(&self, offset: u64, bytes: u64, most: usize) -> io::Result<Vec<Extent>> {
        let (mut found, mut at, end) = (Vec::<Extent>::new(), offset, offset + bytes);
        while at < end {
            let (hole, until) = match &self.kept {
                Kept::File(file) => next_change(file, at, end)?,
                Kept::Memory(pages) => {
                    let page = at / PAGE;
                    match pages.range(page..).next() {
                        Some((next, _)) if *next == page => (false, end.min((page + 1) * PAGE)),
                        Some((next, _)) => (true, end.min(next * PAGE)),
                        None => (true, end),
                    }
                }
            };
            let full = found.len() == most;
            match found.last_mut() {
                Some(last) if last.hole == hole => last.bytes += until - at,
                _ if full => break,
                _ => found.push(Extent {
                    bytes: until - at,
                    hole,
                }),
            }
            at = until;
        }
        Ok(found)
    }
}

impl Kept {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let pages = match self {
            Kept::File(file) => return file.read_exact_at(buffer, offset),
            Kept::Memory(pages) => pages,
        };
        for (page, within, range) in pieces(offset, buffer.len()) {
            let buffer = &mut buffer[range];
            match pages.get(&page) {
                Some(data) => buffer.copy_from_slice(&data[within..within + buffer.len()]),
                None => buffer.fill(0),
            }
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        let pages = match self {
            Kept::File(file) => return file.write_all_at(data, offset),
            Kept::Memory(pages) => pages,
        };
        for (page, within, range) in pieces(offset, data.len()) {
            let data = &data[range];
            let new = || vec![0; PAGE as usize].into_boxed_slice();
            let page = pages.entry(page).or_insert_with(new);
            page[within..within + data.len()].copy_from_slice(data);
        }
        Ok(())
    }
}

/// The sectors in which bytes lie.
pub fn sectors(offset: u64, bytes: u64) -> std::ops::Range<u64> {
    offset / SECTOR..(offset + bytes).div_ceil(SECTOR)
}

/// The pages of a range of bytes: page, first byte in it, bytes of the buffer.
fn pieces(offset: u64, bytes: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at == bytes {
            return None;
        }
        let place = offset + at as u64;
        let within = (place % PAGE) as usize;
        let end = bytes.min(at + PAGE as usize - within);
        let range = at..end;
        at = end;
        Some((place / PAGE, within, range))
    })
}

fn zero_pages(pages: &mut BTreeMap<u64, Box<[u8]>>, offset: u64, bytes: u64) {
    let end = offset + bytes;
    let touched: Vec<u64> = pages
        .range(offset / PAGE..end.div_ceil(PAGE))
        .map(|(page, _)| *page)
        .collect();
    for page in touched {
        let (first, last) = (offset.max(page * PAGE), end.min((page + 1) * PAGE));
        if last - first == PAGE {
            pages.remove(&page);
        } else if let Some(data) = pages.get_mut(&page) {
            data[(first % PAGE) as usize..][..(last - first) as usize].fill(0);
        }
    }
}

fn zero_file(file: &File, offset: u64, bytes: u64, keep: bool) -> io::Result<()> {
    let mode = match keep {
        true => FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE,
        false => FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
    };
    match fallocate(file, mode, offset, bytes) {
        // The file system cannot do it: zeroes are written, but not for hours.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) if bytes <= u64::from(u32::MAX) => {
            let zeroes = [0; 1 << 16];
            let mut at = 0;
            while at < bytes {
                let now = (bytes - at).min(zeroes.len() as u64);
                file.write_all_at(&zeroes[..now as usize], offset + at)?;
                at += now;
            }
            Ok(())
        }
        done => Ok(done?),
    }
}

/// Whether a hole is at `at`, and where that ends, at most at `end`.
fn next_change(file: &File, at: u64, end: u64) -> io::Result<(bool, u64)> {
    match seek(file, SeekFrom::Data(at)) {
        // Only a hole follows.
        Err(Errno::NXIO) => Ok((true, end)),
        Ok(data) if data > at => Ok((true, data.min(end))),
        Ok(_) => Ok((false, seek(file, SeekFrom::Hole(at))?.min(end))),
        // The file system does not know.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok((false, end)),
        Err(e) => Err(e.into()),
    }
}
