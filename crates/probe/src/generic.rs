//! SCSI commands through Linux's generic driver, `/dev/sgN`.
//!
//! # Source
//! `include/scsi/sg.h`, the interface whose data follow a header of 36 bytes (`struct sg_header`). It needs no pointers, and
//! one command at a time is outstanding for each open file.

use crate::scsi::{Commands, Reply};
use crate::{lost, ProbeError};
use rustix::fs::{open, Mode, OFlags};
use rustix::io::{read, write, Errno};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Bytes of a header.
const HEADER: usize = 36;
/// Where its sense data are.
const SENSE: std::ops::Range<usize> = 20..36;
/// Bytes of a descriptor block of 16 bytes; the driver takes the length from the group of the operation code.
const GROUPS: [usize; 8] = [6, 10, 10, 12, 16, 12, 10, 10];
/// The only status that has sense data; the driver gives it without its lowest bit.
const CHECK_CONDITION: u8 = 0x02;

/// An open file of the driver.
pub(crate) struct Generic {
    file: OwnedFd,
    memory: Vec<u8>,
}

/// The file of the generic driver for a block device, whose folder in `/sys` this is.
pub(crate) fn path_of(folder: &Path) -> Option<PathBuf> {
    let entry = std::fs::read_dir(folder.join("device/scsi_generic")).ok()?.next()?.ok()?;
    Some(Path::new("/dev").join(entry.file_name()))
}

impl Generic {
    /// Opens it. The driver takes commands only from those who may write; what we send changes nothing unless it is asked for.
    pub fn open(path: &Path) -> Result<Generic, Errno> {
        let file = open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Generic { file, memory: Vec::new() })
    }

    /// From now on replies of so many bytes take no more memory.
    pub fn reserve(&mut self, bytes: usize) {
        if self.memory.len() < HEADER + bytes {
            self.memory.resize(HEADER + bytes, 0);
        }
    }

    /// Carries out a command that sends data or asks for so many bytes. Returns its status, sense data and data.
    pub fn ask(&mut self, cdb: &[u8; 16], data: &[u8], bytes: usize) -> Result<(u8, &[u8], &[u8]), Errno> {
        let past = HEADER + GROUPS[usize::from(cdb[0] >> 5)];
        self.reserve(bytes.max(16 + data.len()));
        let request = &mut self.memory[..past + data.len()];
        request[..HEADER].fill(0);
        request[4..8].copy_from_slice(&((HEADER + bytes) as i32).to_ne_bytes());
        request[HEADER..past].copy_from_slice(&cdb[..past - HEADER]);
        request[past..].copy_from_slice(data);
        write(&self.file, request)?;
        // The driver counts bytes that the disk did not send, too.
        let n = read(&self.file, &mut self.memory[..HEADER + bytes])?;
        let (header, data) = self.memory[..n].split_at_checked(HEADER).ok_or(Errno::IO)?;
        let flags = u32::from_ne_bytes([header[16], header[17], header[18], header[19]]);
        // Bits of status, of the adapter, of the driver; the last ones only say that there are sense data.
        let (status, adapter) = ((flags >> 1 & 0x1f) as u8 * 2, flags >> 6 & 0xff);
        match adapter {
            0 => Ok((status, if status == CHECK_CONDITION { &header[SENSE] } else { &[] }, data)),
            _ => Err(Errno::IO),
        }
    }
}

impl Commands for Generic {
    fn command(&mut self, cdb: [u8; 16], data: &[u8], bytes: u32) -> Result<Reply, ProbeError> {
        let failed =
            |e: Errno| lost(std::io::Error::from(e).to_string().to_lowercase(), "/dev/sgN that takes commands");
        let (status, sense, data) = self.ask(&cdb, data, bytes as usize).map_err(failed)?;
        Ok(Reply { status, sense: sense.to_vec(), data: data.to_vec() })
    }
}
