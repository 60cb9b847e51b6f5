//! A block device of this machine, read directly.
//!
//! # Scope
//! `O_RDONLY | O_DIRECT`, or `O_RDWR | O_DIRECT | O_EXCL` if blocks may be written; commands that by-pass the drive's buffer
//! through `/dev/sgN`, where that takes them; commands beside each other by a thread each.

use crate::batch::{Batch, Pace, Scratch, Status};
use crate::generic::{self, Generic};
use crate::pace::{Link, Real};
use crate::scsi::{self, Commands, Reply};
use crate::{hashed, lost, no_target, Described, Kind, ProbeError};
use rustix::fs::{fstatfs, seek, Mode, OFlags, SeekFrom};
use rustix::io::{pread, pwritev2, Errno, ReadWriteFlags};
use std::fs::{read_dir, read_to_string};
use std::io::IoSlice;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::linux::fs::MetadataExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};

/// Most reads beside each other.
const MOST_THREADS: usize = 64;
/// Memory of a read begins at a multiple of it: no device wants more.
const ALIGNMENT: usize = 4096;
/// Number of the file system tmpfs (`linux/magic.h`).
const TMPFS: u64 = 0x0102_1994;

/// Opens a block device.
///
/// # Errors
/// A file that is none, with the reason why it cannot be probed; one that may not be read.
pub(crate) fn open(path: &Path, writes: bool) -> Result<Real<Reads>, ProbeError> {
    let refused = |got: String| {
        let need = "a block device, such as /dev/sda";
        no_target(format!("{}: {got}", path.display()), need)
    };
    let facts = path.metadata().map_err(|e| refused(e.to_string().to_lowercase()))?;
    if !facts.file_type().is_block_device() {
        return Err(refused(kind_of_file(path, &facts)));
    }
    let number = facts.st_rdev();
    let number = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
    let folder = Path::new("/sys/dev/block").join(&number);
    if folder.join("partition").exists() {
        return Err(refused("a partition: its addresses are not the drive's".into()));
    }
    if writes && (is_held(&folder, &number) || !entries(&folder.join("slaves")).is_empty()) {
        return Err(refused(
            "mounted, used for swapping, or a part of another device: its blocks are not written".into(),
        ));
    }
    // Exclusively: the kernel refuses that, and later mounts.
    let access = if writes { OFlags::RDWR | OFlags::EXCL } else { OFlags::RDONLY };
    let flags = access | OFlags::DIRECT | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty())
        .map_err(|e| refused(std::io::Error::from(e).to_string().to_lowercase()))?;
    let described = describe(&folder, &number).ok_or_else(|| refused("one without a size in /sys".into()))?;
    let path = generic::path_of(&folder);
    let mut reader = Reader { file: file.into(), generic: None, memory: Memory::default() };
    let described = match path.as_deref().and_then(|path| Generic::open(path).ok()) {
        Some(mut disk) => {
            let described = described_by(described, &mut disk);
            reader.generic = Some(disk).filter(|_| described.fua);
            described
        }
        None => described,
    };
    let described = if described.fua { described } else { warned(described, &folder) };
    let link = Reads::new(reader, path, described.block_bytes);
    Ok(Real::new(link, described))
}

/// What a disk says of itself, with what `/sys` says of the device. It says nothing more if a read with FUA fails.
fn described_by(device: Described, disk: &mut Generic) -> Described {
    let Ok(said) = scsi::describe(disk, Kind::Block) else { return device };
    let first = said.fua
        && disk.ask(&scsi::access16(false, 0, 1, true), &[], said.block_bytes as usize).is_ok_and(|r| r.0 == 0);
    if !first || said.blocks != device.blocks || said.block_bytes != device.block_bytes {
        return device;
    }
    let ranges = if said.ranges.is_empty() { device.ranges } else { said.ranges };
    Described {
        queue_depth: device.queue_depth,
        mounted: device.mounted,
        caveats: device.caveats,
        rotational: said.rotational.or(device.rotational),
        ranges,
        ..said
    }
}

/// What is uncertain of reads that go through the block layer.
fn warned(mut described: Described, folder: &Path) -> Described {
    let why = "reads cannot by-pass the drive's buffer (no /dev/sgN that takes them with FUA): addresses are used once";
    described.caveats.push(why.into());
    // The one in brackets is in use.
    let scheduler = said(folder, "queue/scheduler").unwrap_or_default();
    if !scheduler.contains("[none]") && scheduler != "none" && !scheduler.is_empty() {
        let why = format!("the host orders requests too (scheduler {scheduler}): none changes no order");
        described.caveats.push(why);
    }
    described
}

/// Why what is no block device cannot be probed.
fn kind_of_file(path: &Path, facts: &std::fs::Metadata) -> String {
    if !facts.is_file() {
        return "neither a file nor a block device".into();
    }
    let Ok(file) = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else {
        return "a file that cannot be read".into();
    };
    if fstatfs(&file).is_ok_and(|fs| fs.f_type as u64 == TMPFS) {
        return "a file of tmpfs, which is memory and no disk".into();
    }
    if seek(&file, SeekFrom::Hole(0)).is_ok_and(|hole| hole < facts.len()) {
        return "a sparse file: its holes are on no disk".into();
    }
    "a file: its times are those of the file system and the page cache".into()
}

/// A file of `/sys`, if it says something.
fn said(folder: &Path, name: &str) -> Option<String> {
    let text = read_to_string(folder.join(name)).ok()?;
    Some(text.trim().to_string()).filter(|t| !t.is_empty())
}

fn counted(folder: &Path, name: &str) -> Option<u64> {
    said(folder, name)?.parse().ok()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = read_dir(folder).into_iter().flatten().filter_map(|e| Some(e.ok()?.path())).collect();
    found.sort();
    found
}

/// What `/sys` says of a device; `None` if it has no size.
fn describe(folder: &Path, number: &str) -> Option<Described> {
    let block_bytes = counted(folder, "queue/logical_block_size").unwrap_or(512).clamp(512, 65536) as u32;
    let blocks = counted(folder, "size")? * 512 / u64::from(block_bytes);
    let physical = counted(folder, "queue/physical_block_size").unwrap_or(0) as u32;
    let mut caveats = Vec::new();
    let below = entries(&folder.join("slaves"));
    if !below.is_empty() {
        let names: Vec<_> = below.iter().filter_map(|p| p.file_name()?.to_str()).collect();
        caveats.push(format!("it is made of other devices ({})", names.join(", ")));
    }
    if let Some(file) = said(folder, "loop/backing_file") {
        caveats.push(format!("it is the file {file}"));
    }
    let serial = said(folder, "device/serial").or_else(|| said(folder, "serial"));
    let serial = serial.or_else(|| said(folder, "device/wwid").or_else(|| said(folder, "wwid")));
    (blocks > 0).then(|| Described {
        kind: Kind::Block,
        blocks,
        block_bytes,
        physical_bytes: physical.max(block_bytes),
        model: said(folder, "device/model").unwrap_or_default(),
        firmware: said(folder, "device/rev").or_else(|| said(folder, "device/firmware_rev")).unwrap_or_default(),
        serial_sha256: serial.map_or(String::new(), |serial| hashed(&serial)),
        rotational: counted(folder, "queue/rotational").map(|n| n == 1),
        fua: false,
        queue_depth: counted(folder, "device/queue_depth").map(|n| n as u32),
        ranges: ranges(folder, block_bytes),
        zoned: said(folder, "queue/zoned").filter(|kind| kind != "none"),
        mounted: is_held(folder, number),
        caveats,
    })
}

/// The parts of several actuators.
fn ranges(folder: &Path, block_bytes: u32) -> Vec<Range<u64>> {
    let sectors = u64::from(block_bytes / 512);
    let range = |folder: &PathBuf| {
        let (first, n) = (counted(folder, "sector")?, counted(folder, "nr_sectors")?);
        Some(first / sectors..first.checked_add(n)? / sectors)
    };
    let mut found: Vec<Range<u64>> =
        entries(&folder.join("queue/independent_access_ranges")).iter().filter_map(range).collect();
    found.sort_by_key(|r| r.start);
    found
}

/// Whether a device or one of its partitions is mounted, used for swapping, or part of another device.
fn is_held(folder: &Path, number: &str) -> bool {
    let parts = entries(folder).into_iter().filter(|p| p.join("partition").exists());
    let parts: Vec<PathBuf> = parts.chain([folder.to_path_buf()]).collect();
    let held = |part: &PathBuf| !entries(&part.join("holders")).is_empty();
    let numbers: Vec<String> = parts.iter().filter_map(|p| said(p, "dev")).chain([number.into()]).collect();
    let mounts = read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let is_mounted = mounts.lines().any(|l| l.split(' ').nth(2).is_some_and(|n| numbers.iter().any(|m| m == n)));
    let swaps = read_to_string("/proc/swaps").unwrap_or_default();
    let swaps = |part: &PathBuf| {
        let name = part.canonicalize().ok();
        let name = name.as_ref().and_then(|p| p.file_name()?.to_str());
        name.is_some_and(|name| swaps.lines().any(|l| l.split_whitespace().next() == Some(&format!("/dev/{name}"))))
    };
    is_mounted || parts.iter().any(held) || parts.iter().any(swaps)
}

/// A command of so many blocks of `block` bytes.
#[derive(Clone)]
struct Job {
    /// Its place in the batch.
    i: usize,
    lba: u64,
    blocks: u32,
    block: u32,
    fua: bool,
    /// What it writes; `None` of a read.
    writes: Option<Arc<Scratch>>,
}

/// How it ended; an error if the device is gone.
type Ended = (usize, Result<Status, Errno>);

/// Memory for direct reads.
#[derive(Default)]
struct Memory(Vec<u8>);

impl Memory {
    fn reserve(&mut self, bytes: usize) {
        if self.0.len() < bytes + ALIGNMENT {
            self.0.resize(bytes + ALIGNMENT, 0);
        }
    }

    fn read(&mut self, file: &OwnedFd, offset: u64, bytes: usize) -> Result<Status, Errno> {
        self.reserve(bytes);
        let start = self.0.as_ptr().align_offset(ALIGNMENT);
        let n = pread(file, &mut self.0[start..start + bytes], offset)?;
        Ok(if n == bytes { Status::Good } else { Status::Other })
    }

    /// What was read last.
    fn data(&self, bytes: usize) -> &[u8] {
        let start = self.0.as_ptr().align_offset(ALIGNMENT);
        &self.0[start..start + bytes]
    }

    fn write(&mut self, file: &OwnedFd, offset: u64, data: &[u8], forced: bool) -> Result<Status, Errno> {
        self.reserve(data.len());
        let start = self.0.as_ptr().align_offset(ALIGNMENT);
        let place = &mut self.0[start..start + data.len()];
        place.copy_from_slice(data);
        let flags = if forced { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() };
        let n = pwritev2(file, &[IoSlice::new(place)], offset, flags)?;
        Ok(if n == data.len() { Status::Good } else { Status::Other })
    }
}

/// Reads one after another.
struct Reader {
    file: Arc<OwnedFd>,
    generic: Option<Generic>,
    memory: Memory,
}

impl Reader {
    fn carry_out(&mut self, job: Job) -> Ended {
        let bytes = job.blocks as usize * job.block as usize;
        let data = job.writes.as_ref().map(|s| s.data(job.lba, job.blocks).unwrap_or_default());
        let offset = job.lba * u64::from(job.block);
        let result = match (self.generic.as_mut().filter(|_| job.fua), data) {
            (Some(disk), data) => {
                let cdb = scsi::access16(data.is_some(), job.lba, job.blocks, true);
                let found = disk.ask(&cdb, data.unwrap_or_default(), if data.is_some() { 0 } else { bytes });
                found.map(|(status, sense, _)| scsi::ended(status, sense))
            }
            (None, Some(data)) => self.memory.write(&self.file, offset, data, job.fua),
            (None, None) => self.memory.read(&self.file, offset, bytes),
        };
        let result = match result {
            Err(Errno::IO | Errno::NODATA) => Ok(Status::Medium),
            Err(e @ (Errno::NODEV | Errno::NXIO | Errno::NOMEDIUM | Errno::BADF)) => Err(e),
            Err(_) => Ok(Status::Other),
            good => good,
        };
        (job.i, result)
    }
}

/// Reads of a device.
pub(crate) struct Reads {
    reader: Reader,
    /// File of the generic driver: each thread has it open.
    generic: Option<PathBuf>,
    block_bytes: u32,
    /// Whether a read is carried out by the thread that asks for it.
    at_once: bool,
    ended: Option<Ended>,
    in_flight: usize,
    threads: usize,
    jobs: Sender<Job>,
    taken: Arc<Mutex<Receiver<Job>>>,
    done: (Sender<Ended>, Receiver<Ended>),
}

impl Reads {
    fn new(reader: Reader, generic: Option<PathBuf>, block_bytes: u32) -> Reads {
        let (jobs, taken) = channel();
        Reads {
            generic: generic.filter(|_| reader.generic.is_some()),
            reader,
            block_bytes,
            at_once: true,
            ended: None,
            in_flight: 0,
            threads: 0,
            jobs,
            taken: Arc::new(Mutex::new(taken)),
            done: channel(),
        }
    }

    /// One thread more. It ends with the sender of jobs.
    fn add_thread(&mut self) {
        let (taken, done) = (self.taken.clone(), self.done.0.clone());
        let generic = self.generic.as_ref().and_then(|path| Generic::open(path).ok());
        let mut reader = Reader { file: self.reader.file.clone(), generic, memory: Memory::default() };
        let work = move || loop {
            let job = match taken.lock() {
                Ok(taken) => taken.recv(),
                Err(_) => return,
            };
            match job.map(|job| done.send(reader.carry_out(job))) {
                Ok(Ok(())) => {}
                _ => return,
            }
        };
        self.threads += usize::from(std::thread::Builder::new().spawn(work).is_ok());
    }
}

impl Link for Reads {
    fn begin(&mut self, batch: &Batch) {
        let beside = match &batch.pace {
            Pace::Waits(_) => 1,
            Pace::Closed(depth) => *depth,
            Pace::Together | Pace::At(_) => batch.len(),
        };
        self.at_once = beside <= 1;
        let most = batch.blocks.iter().max().copied().unwrap_or(0);
        let bytes = most as usize * self.block_bytes as usize;
        match &mut self.reader.generic {
            Some(disk) if batch.fua => disk.reserve(bytes),
            _ => self.reader.memory.reserve(bytes),
        }
        for _ in self.threads..if self.at_once { 0 } else { beside.min(MOST_THREADS) } {
            self.add_thread();
        }
    }

    fn has_room(&self) -> bool {
        match self.at_once {
            true => self.ended.is_none(),
            false => self.in_flight < self.threads,
        }
    }

    fn send(&mut self, batch: &Batch, i: usize) -> Result<(), ProbeError> {
        let (lba, blocks, writes) = (batch.lba[i], batch.blocks[i], batch.writes.clone());
        let job = Job { i, lba, blocks, block: self.block_bytes, fua: batch.fua, writes };
        if self.at_once {
            self.ended = Some(self.reader.carry_out(job));
            return Ok(());
        }
        self.in_flight += 1;
        self.jobs.send(job).map_err(|_| lost("threads that have ended", "threads"))
    }

    fn take(&mut self) -> Result<Option<(usize, Status)>, ProbeError> {
        let ended = if self.at_once { self.ended.take() } else { self.done.1.try_recv().ok() };
        let Some((i, status)) = ended else { return Ok(None) };
        self.in_flight -= usize::from(!self.at_once);
        let status =
            status.map_err(|e| lost(std::io::Error::from(e).to_string().to_lowercase(), "a drive that is there"))?;
        Ok(Some((i, status)))
    }

    fn wait(&mut self, ns: u64) -> Result<(), ProbeError> {
        // An answer of a thread is not waited for longer than it would take to be woken.
        let ns = if self.in_flight > 0 { ns.min(20_000) } else { ns };
        std::thread::sleep(std::time::Duration::from_nanos(ns));
        Ok(())
    }

    fn fetch(&mut self, lba: u64, blocks: u32) -> Result<Option<Vec<u8>>, ProbeError> {
        let bytes = blocks as usize * self.block_bytes as usize;
        let read = self.reader.memory.read(&self.reader.file, lba * u64::from(self.block_bytes), bytes);
        Ok((read == Ok(Status::Good)).then(|| self.reader.memory.data(bytes).to_vec()))
    }

    fn command(&mut self, cdb: [u8; 16], data: &[u8], bytes: u32) -> Result<Option<Reply>, ProbeError> {
        self.reader.generic.as_mut().map(|disk| disk.command(cdb, data, bytes)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files as in `Documentation/ABI/stable/sysfs-block`.
    #[test]
    fn what_sys_says_is_described() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let files = [
            ("size", "16384"),
            ("queue/logical_block_size", "4096"),
            ("queue/physical_block_size", "4096"),
            ("queue/rotational", "1"),
            ("queue/scheduler", "none [mq-deadline] bfq"),
            ("queue/zoned", "host-aware"),
            ("queue/independent_access_ranges/1/sector", "8192"),
            ("queue/independent_access_ranges/1/nr_sectors", "8192"),
            ("queue/independent_access_ranges/0/sector", "0"),
            ("queue/independent_access_ranges/0/nr_sectors", "8192"),
            ("device/model", "MODEL X      "),
            ("device/rev", "0001"),
            ("device/queue_depth", "32"),
            ("sda1/partition", "1"),
            ("sda1/holders/dm-0", ""),
        ];
        for (name, text) in files {
            let file = folder.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, format!("{text}\n")).unwrap();
        }
        let d = warned(describe(folder, "0:0").unwrap(), folder);
        // `size` and the ranges are in sectors of 512 bytes whatever the blocks.
        assert_eq!((d.blocks, d.block_bytes, d.physical_bytes), (2048, 4096, 4096));
        assert_eq!(d.ranges, [0..1024, 1024..2048]);
        assert_eq!((d.model.as_str(), d.firmware.as_str(), d.queue_depth), ("MODEL X", "0001", Some(32)));
        assert_eq!((d.rotational, d.zoned.as_deref(), d.mounted), (Some(true), Some("host-aware"), true));
        assert!(d.caveats.iter().any(|c| c.contains("mq-deadline")), "{:?}", d.caveats);
    }

    /// The memory of a direct read begins where the kernel wants it, and what was read is counted.
    #[test]
    fn reads_are_aligned_and_short_ones_are_noticed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, vec![1; 10_000]).unwrap();
        let file = OwnedFd::from(file.into_file());
        let mut memory = Memory::default();
        assert_eq!(memory.read(&file, 4096, 4096), Ok(Status::Good));
        assert_eq!(memory.read(&file, 8192, 4096), Ok(Status::Other));
        let writable = OwnedFd::from(tempfile::tempfile().unwrap());
        for (offset, forced) in [(4096, true), (512, false)] {
            assert_eq!(memory.write(&writable, offset, &[7; 512], forced), Ok(Status::Good));
        }
        assert_eq!(memory.read(&writable, 0, 4608), Ok(Status::Good));
        let ours = memory.data(4608).iter().enumerate().filter(|(_, b)| **b == 7).map(|(i, _)| i);
        assert!(ours.eq((512..1024).chain(4096..4608)));
        let folder = OwnedFd::from(std::fs::File::open("/").unwrap());
        assert_eq!(memory.read(&folder, 0, 4096), Err(Errno::ISDIR));
    }
}
