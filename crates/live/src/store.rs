//! Where the data of a device are kept: exact, whatever the drive's time.

use crate::content::Content;
use crate::extents::Extents;
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
const MOST_STEPS: usize = 4096;
/// Bytes of a page of a store in memory.
const PAGE: u64 = 64 << 10;

/// The bytes of a device. What was never written is zero.
#[derive(Debug)]
pub struct Store {
    kept: Kept,
    /// What was written and a loss of power may undo: it is not in `kept` yet. `None` where no power is lost.
    history: Option<History>,
}

/// A write that is still at the drive.
#[derive(Debug, Clone)]
pub struct AtDrive {
    /// The request's number.
    pub number: u64,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
    /// What is written.
    pub content: Content,
}

#[derive(Debug)]
enum Kept {
    /// Pages that were written, and where there are some.
    Memory(BTreeMap<u64, Box<[u8]>>, Extents<()>),
    /// A file with holes.
    File(File),
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
        Store {
            kept,
            history: None,
        }
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
            let text =
                format!("got a file of {length} bytes, need at most the {bytes} of the drive");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        file.set_len(bytes)?;
        Ok(Store::of(Kept::File(file)))
    }

    /// From now on writes can be undone until they are settled.
    pub fn keep_history(&mut self) {
        self.history.get_or_insert_with(History::default);
    }

    /// What can be undone, if power may be lost.
    pub fn history(&mut self) -> Option<&mut History> {
        self.history.as_mut()
    }

    /// Power is lost: what is not settled, or still at the drive, is there, or not, or in part, as `dice` says. Nothing can be
    /// undone afterwards. Returns the sectors, in order, that have lost something.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn tear(&mut self, at_drive: &[AtDrive], dice: &mut Dice) -> io::Result<(Torn, Vec<u64>)> {
        let mut writes = Writes::new();
        for w in at_drive {
            writes.extend(self.sectors_of(w)?);
        }
        let Some(history) = &mut self.history else {
            return Ok((Torn::default(), Vec::new()));
        };
        let (kept, torn, lost) = history.tear(writes, dice);
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
        self.settle(sectors(offset, bytes))?;
        self.kept.zero(offset, bytes, false)
    }

    /// Reads bytes; the place must be inside the device.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.kept.read(offset, buffer)?;
        let (end, of) = (
            offset + buffer.len() as u64,
            sectors(offset, buffer.len() as u64),
        );
        let versions = self.history.iter().flat_map(History::versions);
        for (range, written) in versions.flat_map(|v| v.over(of.clone())) {
            let first = range.start * SECTOR;
            let (from, to) = (first.max(offset), end.min(range.end * SECTOR));
            let piece = &mut buffer[(from - offset) as usize..(to - offset) as usize];
            written.content.fill(from - first, piece)?;
        }
        Ok(())
    }

    /// The drive has taken a write; its place must be inside the device.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, write: &AtDrive) -> io::Result<()> {
        if self.history.is_none() {
            return self.kept.put(write.offset, write.length, &write.content);
        }
        let writes = self.sectors_of(write)?;
        let history = self.history.iter_mut();
        history.for_each(|h| {
            writes
                .iter()
                .for_each(|(at, w)| h.ended(at.clone(), w.clone()))
        });
        Ok(())
    }

    /// A write by whole sectors: what it leaves of the first and the last one is as it is now.
    fn sectors_of(&self, write: &AtDrive) -> io::Result<Writes> {
        let (start, end) = (write.offset, write.offset + write.length);
        let written = |content| Written {
            by: write.number,
            content,
        };
        let inside = start.div_ceil(SECTOR)..end / SECTOR;
        let mut edges = vec![start / SECTOR, end / SECTOR];
        edges.dedup();
        let (mut all, is_partial) = (Writes::new(), |s: &u64| {
            !inside.contains(s) && s * SECTOR < end
        });
        if !inside.is_empty() {
            let content = write.content.beyond(inside.start * SECTOR - start);
            all.push((inside.clone(), written(content)));
        }
        for sector in edges.into_iter().filter(is_partial) {
            let (first, mut bytes) = (sector * SECTOR, vec![0; SECTOR as usize]);
            self.read(first, &mut bytes)?;
            let (from, to) = (start.max(first), end.min(first + SECTOR));
            let own = &mut bytes[(from - first) as usize..(to - first) as usize];
            write.content.fill(from - start, own)?;
            all.push((sector..sector + 1, written(Content::Data(bytes.into()))));
        }
        Ok(all)
    }

    /// What has ended in these sectors is on the medium.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn settle(&mut self, sectors: Range<u64>) -> io::Result<()> {
        match &mut self.history {
            Some(history) => {
                let settled = history.settle(sectors);
                self.keep(settled)
            }
            None => Ok(()),
        }
    }

    /// Flush `number` has ended; see [`History::flush_ends`].
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn flush_ends(&mut self, number: u64, good: bool) -> io::Result<()> {
        match &mut self.history {
            Some(history) => {
                let settled = history.flush_ends(number, good);
                self.keep(settled)
            }
            None => Ok(()),
        }
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
                _ => found.push(Extent {
                    bytes: until - at,
                    hole,
                }),
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
                Some((run, ())) if run.contains(&(at / PAGE)) => (false, end.min(run.end * PAGE)),
                Some((run, ())) => (true, end.min(run.start * PAGE)),
                None => (true, end),
            }),
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Power was not lost. Nobody is left who could be told of an error.
        let _ = self.settle(0..u64::MAX);
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

fn zero_pages(
    pages: &mut BTreeMap<u64, Box<[u8]>>,
    runs: &mut Extents<()>,
    offset: u64,
    bytes: u64,
) {
    let end = offset + bytes;
    runs.take(offset.div_ceil(PAGE)..(end / PAGE).max(offset.div_ceil(PAGE)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use headstack_testkit::XorShift;

    fn write(store: &mut Store, number: u64, offset: u64, length: u64, content: Content) {
        let write = AtDrive {
            number,
            offset,
            length,
            content,
        };
        store.write(&write).unwrap();
    }

    /// A search costs extents, not pages, and what is not settled costs its writes, not its bytes.
    #[test]
    fn extents_are_known() {
        let (mut store, pages) = (Store::memory(), 4096);
        // In an order in which each is beside none before.
        for i in 0..pages {
            let data = Content::Data(vec![1].into());
            write(&mut store, i, i * 2731 % pages * PAGE, 1, data);
        }
        let extent = |pages, hole| Extent {
            bytes: pages * PAGE,
            hole,
        };
        let Kept::Memory(_, runs) = &store.kept else {
            unreachable!("it is in memory")
        };
        assert_eq!(runs.len(), 1);
        let found = store.extents(0, 2 * pages * PAGE, 9).unwrap();
        assert_eq!(found, [extent(pages, false), extent(pages, true)]);
        store.keep_history();
        // Trims leave nothing behind, whatever their number and length; zeroes that are written leave one extent each.
        for i in 0..1_000_000 {
            store.discard(i % 7 * PAGE, 4 << 30).unwrap();
        }
        assert!(store.history().unwrap().is_empty());
        for i in 0..100 {
            write(
                &mut store,
                i,
                i << 32,
                1 << 32,
                Content::Zeroes { keep: false },
            );
        }
        let versions = store.history.iter().flat_map(History::versions);
        assert_eq!(versions.map(Extents::len).sum::<usize>(), 100);
        assert_eq!(
            store.extents(0, 100 << 32, 9).unwrap(),
            [extent(100 << 16, true)]
        );
    }

    /// Against a plain array: what is read, and that holes are zero, whatever is settled.
    #[test]
    fn it_is_an_array_of_bytes_whatever_is_settled() {
        let (seed, size) = (5, 8 * PAGE);
        println!("seed {seed}");
        let (mut rng, mut array) = (XorShift::seeded(seed), vec![0u8; size as usize]);
        let mut store = Store::memory();
        store.keep_history();
        for step in 0..2_000 {
            let offset = rng.below(size);
            let length = 1 + rng.below((size - offset).min(9_000));
            let range = offset as usize..(offset + length) as usize;
            let byte = step as u8;
            match rng.below(6) {
                0 | 1 => {
                    let data = Content::Data(vec![byte; length as usize].into());
                    write(&mut store, step, offset, length, data);
                    array[range].fill(byte);
                }
                2 => {
                    write(
                        &mut store,
                        step,
                        offset,
                        length,
                        Content::Zeroes { keep: false },
                    );
                    array[range].fill(0);
                }
                3 => {
                    store.discard(offset, length).unwrap();
                    array[range].fill(0);
                }
                4 => store.settle(sectors(offset, length)).unwrap(),
                _ => {
                    store.history().unwrap().flush_begins(step);
                    store
                        .flush_ends(step - rng.below(3).min(step), rng.below(2) == 0)
                        .unwrap();
                }
            }
            let mut all = vec![9; size as usize];
            store.read(0, &mut all).unwrap();
            assert!(all == array, "step {step}");
            let mut at = 0;
            for extent in store.extents(0, size, usize::MAX).unwrap() {
                let part = &array[at as usize..(at + extent.bytes) as usize];
                assert!(!extent.hole || part.iter().all(|b| *b == 0), "step {step}");
                at += extent.bytes;
            }
        }
    }
}
