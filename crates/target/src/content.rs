//! What a request writes. It is kept aside until the drive has taken the request: one that is refused changes nothing.

use crate::history::SECTOR;
use bytes::Bytes;
use std::fs::{remove_file, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// What a request writes, from its first byte on.
#[derive(Debug, Clone)]
pub enum Content {
    /// These bytes, and perhaps more of them than it writes.
    Data(Bytes),
    /// This sector in each of its sectors, which are whole.
    Repeated(Bytes),
    /// Zeroes. They take no more room, unless `keep` says that they must.
    Zeroes {
        /// They take room.
        keep: bool,
    },
    /// The bytes of a file from here on.
    File(Arc<File>, u64),
}

impl Content {
    /// Bytes that it has in memory.
    pub fn in_memory(&self) -> u64 {
        match self {
            Content::Data(data) | Content::Repeated(data) => data.len() as u64,
            Content::Zeroes { .. } | Content::File(..) => 0,
        }
    }

    /// What is left of it after the first `n` bytes.
    pub fn beyond(&self, n: u64) -> Content {
        match self {
            Content::Data(data) => Content::Data(data.slice(n as usize..)),
            Content::File(file, at) => Content::File(file.clone(), at + n),
            other => other.clone(),
        }
    }

    /// Its bytes from `at` on.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn fill(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        match self {
            Content::Data(data) => buffer.copy_from_slice(&data[at as usize..][..buffer.len()]),
            Content::Repeated(sector) => {
                let (mut done, mut within) = (0, (at % SECTOR) as usize);
                while done < buffer.len() {
                    let bytes = (sector.len() - within).min(buffer.len() - done);
                    buffer[done..done + bytes].copy_from_slice(&sector[within..within + bytes]);
                    (done, within) = (done + bytes, 0);
                }
            }
            Content::Zeroes { .. } => buffer.fill(0),
            Content::File(file, from) => file.read_exact_at(buffer, from + at)?,
        }
        Ok(())
    }
}

/// Bytes of a write that arrive one after another.
#[derive(Debug)]
pub enum Arriving {
    /// They are kept in memory.
    Memory(Vec<u8>),
    /// There are too many for that: a file without a name, and how many it has.
    File(File, u64),
}

impl Arriving {
    /// Begins with nothing, in memory or in a file in the folder for such files (`$TMPDIR`).
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn begin(in_memory: bool) -> io::Result<Arriving> {
        if in_memory {
            return Ok(Arriving::Memory(Vec::new()));
        }
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("headstack-write-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).open(&path)?;
        remove_file(path)?;
        Ok(Arriving::File(file, 0))
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Arriving::Memory(all) => all.extend_from_slice(bytes),
            Arriving::File(file, at) => {
                file.write_all_at(bytes, *at)?;
                *at += bytes.len() as u64;
            }
        }
        Ok(())
    }

    /// All of them.
    pub fn content(self) -> Content {
        match self {
            Arriving::Memory(all) => Content::Data(all.into()),
            Arriving::File(file, _) => Content::File(Arc::new(file), 0),
        }
    }
}
