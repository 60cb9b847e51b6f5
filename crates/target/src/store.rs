//! Where the data of a device are kept: exact, whatever the drive's time.

use crate::content::Content;
use crate::devices::Bytes;
use crate::extents::{Extents, There};
use crate::history::{Dice, History, Torn, Writes, Written, SECTOR};
use rustix::fs::{fallocate, flock, seek, FallocateFlags, FlockOperation, SeekFrom};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Bytes that are written at once.
const PIECE: usize = 64 << 10;
/// Steps of a search for extents.
const MOST_STEPS: usize = 512;
/// Bytes of a page of a store in memory.
pub const PAGE: u64 = 64 << 10;

/// The bytes of a device. What was never written is zero.
#[derive(Debug)]
pub struct Store {
    #[doc(hidden)]
    pub kept: Kept,
    /// What was written and a loss of power may undo: it is not in `kept` yet. `None` where no power is lost.
    #[doc(hidden)]
    pub history: Option<History>,
}

#[doc(hidden)]
#[derive(Debug)]
pub enum Kept {
    /// Pages that were written, and where there are some.
    Memory(BTreeMap<u64, Box<[u8]>>, Extents<There>),
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
        Store::of(Kept::Memory(BTreeMap::new(), Extents::default()))
    }

    fn of(kept: Kept) -> Store {
        Store { kept, history: None }
    }

    /// A file of `bytes`, which is made or, if it is shorter, made longer; new room is a hole.
    ///
    /// # Errors
    /// A file that cannot be opened, that another server uses, or is longer than that.
    pub fn file(path: &Path, bytes: u64) -> io::Result<Store> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(path)?;
        lock(&file)?;
        let length = file.metadata()?.len();
        if length > bytes {
            let text = format!("got a file of {length} bytes, need at most the {bytes} of the drive");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        file.set_len(bytes).map_err(|e| too_long(e, bytes))?;
        Ok(Store::of(Kept::File(file)))
    }

    /// From now on writes can be undone until they are settled.
    pub fn keep_history(&mut self) {
        self.history.get_or_insert_with(History::default);
    }

    /// Power is lost: what is not settled, or still [at the drive](Store::sectors_of), is there, or not, or in part, as `dice`
    /// says. Nothing can be undone afterwards. Returns the sectors, in order, that have lost something.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn tear(&mut self, at_drive: Writes, dice: &mut Dice) -> io::Result<(Torn, Vec<u64>)> {
        let torn = self.history.as_mut().map(|h| h.tear(at_drive, dice));
        let (kept, torn, lost) = torn.unwrap_or_default();
        self.keep(kept)?;
        Ok((torn, lost))
    }

    /// These sectors hold zeroes, as if they had never been written, and that cannot be undone.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn blank(&mut self, ranges: &[Range<u64>]) -> io::Result<()> {
        let mut all = ranges.iter();
        all.try_for_each(|r| self.discard(r.start * SECTOR, (r.end - r.start) * SECTOR))
    }

    /// These bytes are zero and take no room, and that cannot be undone.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn discard(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        self.settle(|h| h.settle(sectors(offset, bytes)))?;
        self.kept.zero(offset, bytes, false)
    }

    /// Reads bytes; the place must be inside the device.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.kept.read(offset, buffer)?;
        let end = offset + buffer.len() as u64;
        let of = sectors(offset, end - offset);
        let versions = self.history.iter().flat_map(History::versions);
        for (range, written) in versions.flat_map(|v| v.over(of.clone())) {
            let first = range.start * SECTOR;
            let (from, to) = (first.max(offset), end.min(range.end * SECTOR));
            let piece = &mut buffer[(from - offset) as usize..(to - offset) as usize];
            written.content.fill(from - first, piece)?;
        }
        Ok(())
    }

    /// The drive has taken the write of request `number`; its place must be inside the device.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, number: u64, place: Bytes, content: &Content) -> io::Result<()> {
        if self.history.is_none() {
            return self.kept.put(place.offset, place.length, content);
        }
        let writes = self.sectors_of(number, place, content)?;
        if let Some(history) = &mut self.history {
            writes.into_iter().for_each(|(at, w)| history.ended(at, w));
        }
        Ok(())
    }

    /// A write by whole sectors: what it leaves of the first and the last one is as it is now.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn sectors_of(&self, by: u64, place: Bytes, content: &Content) -> io::Result<Writes> {
        let (start, end) = (place.offset, place.offset + place.length);
        let first = start.next_multiple_of(SECTOR).min(end);
        let last = (end - end % SECTOR).max(first);
        let mut all = Writes::new();
        for (from, to) in [(start, first), (first, last), (last, end)] {
            if from == to {
                continue;
            }
            let (of, mut content) = (sectors(from, to - from), content.beyond(from - start));
            if (to - from) % SECTOR > 0 {
                let mut sector = vec![0; SECTOR as usize];
                self.read(of.start * SECTOR, &mut sector)?;
                let within = (from % SECTOR) as usize;
                content.fill(0, &mut sector[within..within + (to - from) as usize])?;
                content = Content::Data(sector.into());
            }
            all.push((of, Written { by, content }));
        }
        Ok(all)
    }

    /// What this takes out of the history is on the medium; without a history everything is.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn settle(&mut self, what: impl FnOnce(&mut History) -> Writes) -> io::Result<()> {
        let settled = self.history.as_mut().map(what);
        self.keep(settled.unwrap_or_default())
    }

    /// Writes what is settled.
    ///
    /// # Errors
    /// The file cannot be written. What is not in it then is not settled.
    fn keep(&mut self, settled: Writes) -> io::Result<()> {
        let mut rest = settled.into_iter();
        while let Some((at, written)) = rest.next() {
            let (offset, length) = (at.start * SECTOR, (at.end - at.start) * SECTOR);
            if let Err(e) = self.kept.put(offset, length, &written.content) {
                let history = self.history.iter_mut();
                let mut left = std::iter::once((at, written)).chain(rest);
                history.for_each(|h| h.put_back(left.by_ref()));
                return Err(e);
            }
        }
        Ok(())
    }

    /// Extents from `offset` on, at most `most` of them: `bytes` in all, or fewer if the search takes many steps.
    ///
    /// # Errors
    /// The file cannot be searched.
    pub fn extents(&self, offset: u64, bytes: u64, most: usize) -> io::Result<Vec<Extent>> {
        let (mut found, mut at, end) = (Vec::<Extent>::new(), offset, offset + bytes);
        for _ in 0..MOST_STEPS {
            if at == end {
                break;
            }
            let (hole, until) = self.change_after(at, end)?;
            let full = found.len() == most;
            match found.last_mut() {
                Some(last) if last.hole == hole => last.bytes += until - at,
                _ if full => break,
                _ => found.push(Extent { bytes: until - at, hole }),
            }
            at = until;
        }
        Ok(found)
    }

    /// Whether a hole is at `at`, and until where that is known, at most until `end`.
    fn change_after(&self, at: u64, mut end: u64) -> io::Result<(bool, u64)> {
        let of = at / SECTOR..end.div_ceil(SECTOR);
        let versions = self.history.iter().flat_map(History::versions);
        // The newest version counts.
        for version in versions.rev() {
            if let Some((range, written)) = version.over(of.clone()).next() {
                if range.contains(&of.start) {
                    let hole = matches!(written.content, Content::Zeroes { keep: false });
                    return Ok((hole, end.min(range.end * SECTOR)));
                }
                end = end.min(range.start * SECTOR);
            }
        }
        match &self.kept {
            Kept::File(file) => next_change(file, at, end),
            Kept::Memory(_, runs) => Ok(match runs.over(at / PAGE..end.div_ceil(PAGE)).next() {
                Some((run, There)) if run.contains(&(at / PAGE)) => (false, end.min(run.end * PAGE)),
                Some((run, There)) => (true, end.min(run.start * PAGE)),
                None => (true, end),
            }),
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Power was not lost. Nobody is left who could be told of an error.
        let _ = self.settle(|h| h.settle(0..u64::MAX));
    }
}

impl Kept {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let pages = match self {
            Kept::File(file) => return file.read_exact_at(buffer, offset),
            Kept::Memory(pages, _) => pages,
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
        let (pages, runs) = match self {
            Kept::File(file) => return file.write_all_at(data, offset),
            Kept::Memory(pages, runs) => (pages, runs),
        };
        for (page, within, range) in pieces(offset, data.len()) {
            let data = &data[range];
            let new = || {
                runs.join(page..page + 1);
                vec![0; PAGE as usize].into_boxed_slice()
            };
            let page = pages.entry(page).or_insert_with(new);
            page[within..within + data.len()].copy_from_slice(data);
        }
        Ok(())
    }

    fn zero(&mut self, offset: u64, bytes: u64, keep: bool) -> io::Result<()> {
        match self {
            Kept::File(file) => zero_file(file, offset, bytes, keep),
            Kept::Memory(pages, runs) => {
                zero_pages(pages, runs, offset, bytes);
                Ok(())
            }
        }
    }

    fn put(&mut self, offset: u64, length: u64, content: &Content) -> io::Result<()> {
        match content {
            Content::Zeroes { keep } => return self.zero(offset, length, *keep),
            Content::Data(data) => return self.write(offset, &data[..length as usize]),
            _ => {}
        }
        let mut piece = vec![0; PIECE.min(length as usize)];
        for at in (0..length).step_by(PIECE) {
            let piece = &mut piece[..PIECE.min((length - at) as usize)];
            content.fill(at, piece)?;
            self.write(offset + at, piece)?;
        }
        Ok(())
    }
}

/// A file is for one server alone, as long as that has it open.
fn lock(file: &File) -> io::Result<()> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => {
            let by = holder(file).unwrap_or_else(|| "another server".into());
            Err(io::Error::other(format!("a file that {by} uses")))
        }
        // Or a file system without locks.
        _ => Ok(()),
    }
}

/// The process that has locked a file, if the system tells; see proc_locks(5).
fn holder(file: &File) -> Option<String> {
    let inode = format!(":{}", file.metadata().ok()?.ino());
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let fields = |line: &str| line.split_whitespace().map(String::from).collect();
    let mut locks = locks.lines().map(fields);
    let is_it = |l: &Vec<String>| l.len() > 5 && l[1] == "FLOCK" && l[5].ends_with(&inode);
    let pid = locks.find(is_it)?.swap_remove(4);
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(format!("process {pid} ({})", name.trim_end()))
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

fn zero_pages(pages: &mut BTreeMap<u64, Box<[u8]>>, runs: &mut Extents<There>, offset: u64, bytes: u64) {
    let end = offset + bytes;
    runs.take(offset.div_ceil(PAGE)..(end / PAGE).max(offset.div_ceil(PAGE)));
    let touched: Vec<u64> = pages.range(offset / PAGE..end.div_ceil(PAGE)).map(|(page, _)| *page).collect();
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
