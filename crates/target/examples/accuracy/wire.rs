//! A client's connection to one drive: NBD over a Unix socket, or iSCSI over the loopback interface.

use crate::initiator::{sixteen, Initiator};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Bytes that each request reads.
const READ: u64 = 4096;
/// Bytes of the header of each unit of iSCSI (RFC 7143, section 11.2).
const HEADER: usize = 48;
/// Logical blocks of SCSI drives, in bytes.
const BLOCK: u64 = 512;
const DATA_IN: u8 = 0x25;

enum Wire {
    Nbd(UnixStream),
    /// A session with one logical unit.
    Iscsi {
        session: Initiator,
        lun: u8,
    },
}

/// A connection to a drive.
pub struct Drive {
    wire: Wire,
    input: Vec<u8>,
    /// Capacity.
    pub bytes: u64,
}

impl AsFd for Drive {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.wire {
            Wire::Nbd(stream) => stream.as_fd(),
            Wire::Iscsi { session, .. } => session.stream.as_fd(),
        }
    }
}

impl Drive {
    /// Connects to the export of that number, whose socket is in the folder.
    pub fn nbd(folder: &Path, number: u64) -> io::Result<Drive> {
        let mut stream = UnixStream::connect(folder.join("socket"))?;
        stream.read_exact(&mut [0; 18])?;
        let name = number.to_string();
        let mut hello = 3u32.to_be_bytes().to_vec();
        hello.extend_from_slice(b"IHAVEOPT\0\0\0\x01");
        hello.extend_from_slice(&(name.len() as u32).to_be_bytes());
        hello.extend_from_slice(name.as_bytes());
        stream.write_all(&hello)?;
        let mut size = [0; 10];
        stream.read_exact(&mut size)?;
        stream.set_nonblocking(true)?;
        Ok(Drive {
            wire: Wire::Nbd(stream),
            input: Vec::new(),
            bytes: u64::from_be_bytes(size[..8].try_into().map_err(io::Error::other)?),
        })
    }

    /// Opens a session with the logical unit at `iscsi://HOST:PORT/TARGET/LUN`, on a port of its own.
    pub fn iscsi(url: &str) -> io::Result<Drive> {
        let rest = url.strip_prefix("iscsi://").and_then(|u| u.split_once('/'));
        let parts = rest.and_then(|(portal, rest)| Some((portal, rest.rsplit_once('/')?)));
        let (portal, (target, lun)) = parts.ok_or_else(|| io::Error::other(url.to_owned()))?;
        let lun = lun.parse().map_err(io::Error::other)?;
        let stream = TcpStream::connect(portal)?;
        stream.set_nodelay(true)?;
        let mut session = Initiator::new(stream, lun);
        let (status, _) = session.login(&[&format!("TargetName={target}"), "SessionType=Normal"]);
        if status != 0 {
            return Err(io::Error::other(format!("login: got status {status:#06x}, need 0")));
        }
        session.settle(lun);
        let capacity = session.ask(lun, &sixteen(0x9e, 0x10, 0, 32, 0), 32).data;
        session.stream.set_nonblocking(true)?;
        let last = u64::from(word(&capacity, 0)) << 32 | u64::from(word(&capacity, 4));
        assert_eq!(u64::from(word(&capacity, 8)), BLOCK);
        Ok(Drive { wire: Wire::Iscsi { session, lun }, input: Vec::new(), bytes: (last + 1) * BLOCK })
    }

    /// Sends a read of [`READ`] bytes; `block` counts such reads from the start of the drive.
    pub fn send(&mut self, cookie: u32, block: u64) -> io::Result<()> {
        match &mut self.wire {
            Wire::Nbd(stream) => {
                let mut head = 0x2560_9513u32.to_be_bytes().to_vec();
                head.extend_from_slice(&[0; 4]);
                head.extend_from_slice(&u64::from(cookie).to_be_bytes());
                head.extend_from_slice(&(block * READ).to_be_bytes());
                head.extend_from_slice(&(READ as u32).to_be_bytes());
                stream.write_all(&head)
            }
            Wire::Iscsi { session, lun } => {
                let blocks = (READ / BLOCK) as u32;
                let read = sixteen(0x88, 0, block * u64::from(blocks), blocks, 0);
                let mut unit = session.command_header(*lun, 0xc1, &read, READ as u32);
                unit[16..20].copy_from_slice(&cookie.to_be_bytes());
                session.stream.write_all(&unit)
            }
        }
    }

    /// The cookies of the replies that are complete.
    ///
    /// # Errors
    /// A reply that says that a command failed, and what the socket reports.
    pub fn replies(&mut self) -> io::Result<Vec<u32>> {
        let mut buffer = [0; 1 << 16];
        let stream: &mut dyn Read = match &mut self.wire {
            Wire::Nbd(stream) => stream,
            Wire::Iscsi { session, .. } => &mut session.stream,
        };
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => self.input.extend_from_slice(&buffer[..n]),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) => return Err(e),
            }
        }
        let (mut at, mut cookies) = (0, Vec::new());
        while let Some((length, cookie)) = reply(&self.wire, &self.input[at..])? {
            at += length;
            cookies.push(cookie);
        }
        self.input.drain(..at);
        Ok(cookies)
    }
}

/// Length and cookie of the reply at the start of `input`, once it is complete.
fn reply(wire: &Wire, input: &[u8]) -> io::Result<Option<(usize, u32)>> {
    let (header, cookie_at) = match wire {
        Wire::Nbd(_) => (16, 12),
        Wire::Iscsi { .. } => (HEADER, 16),
    };
    let Some(head) = input.get(..header) else { return Ok(None) };
    let (length, has_failed) = match wire {
        Wire::Nbd(_) => (header + READ as usize, word(head, 4) != 0),
        Wire::Iscsi { .. } => (unit_length(head), head[0] != DATA_IN || head[3] != 0),
    };
    if has_failed {
        return Err(io::Error::other(format!("reply: got {head:02x?}, need the data")));
    }
    Ok((input.len() >= length).then(|| (length, word(head, cookie_at))))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(std::array::from_fn(|i| bytes[at + i]))
}

/// Bytes of a unit with its data, by its header.
fn unit_length(header: &[u8]) -> usize {
    HEADER + (word(header, 4) as usize & 0xff_ffff).next_multiple_of(4)
}
