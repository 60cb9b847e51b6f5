//! A client's connection to one drive: NBD over a Unix socket, or iSCSI over the loopback interface.

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
const LOGIN_RESPONSE: u8 = 0x23;
const SCSI_RESPONSE: u8 = 0x21;
const DATA_IN: u8 = 0x25;

/// A session with one logical unit.
struct Session {
    stream: TcpStream,
    lun: u8,
    /// The number of the next command.
    commands: u32,
}

enum Wire {
    Nbd(UnixStream),
    Iscsi(Session),
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
            Wire::Iscsi(session) => session.stream.as_fd(),
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

    /// Opens a session with the logical unit at `iscsi://HOST:PORT/TARGET/LUN`.
    pub fn iscsi(url: &str) -> io::Result<Drive> {
        let rest = url.strip_prefix("iscsi://").and_then(|u| u.split_once('/'));
        let parts = rest.and_then(|(portal, rest)| Some((portal, rest.rsplit_once('/')?)));
        let (portal, (target, lun)) = parts.ok_or_else(|| io::Error::other(url.to_owned()))?;
        let mut session = Session {
            stream: TcpStream::connect(portal)?,
            lun: lun.parse().map_err(io::Error::other)?,
            commands: 1,
        };
        session.stream.set_nodelay(true)?;
        session.log_in(target)?;
        let bytes = session.capacity()?;
        session.stream.set_nonblocking(true)?;
        Ok(Drive {
            wire: Wire::Iscsi(session),
            input: Vec::new(),
            bytes,
        })
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
            Wire::Iscsi(session) => {
                let mut read = [0; 16];
                read[0] = 0x88;
                read[2..10].copy_from_slice(&(block * READ / BLOCK).to_be_bytes());
                read[10..14].copy_from_slice(&((READ / BLOCK) as u32).to_be_bytes());
                session.command(cookie, &read, READ as u32)
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
            Wire::Iscsi(session) => &mut session.stream,
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
        Wire::Iscsi(_) => (HEADER, 16),
    };
    let Some(head) = input.get(..header) else {
        return Ok(None);
    };
    let (length, has_failed) = match wire {
        Wire::Nbd(_) => (header + READ as usize, word(head, 4) != 0),
        Wire::Iscsi(_) => (unit_length(head), head[0] != DATA_IN || head[3] != 0),
    };
    if has_failed {
        return Err(io::Error::other(format!(
            "reply: got {head:02x?}, need the data"
        )));
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

impl Session {
    /// A login in one step, without authentication.
    fn log_in(&mut self, target: &str) -> io::Result<()> {
        let text = format!(
            "InitiatorName=iqn.2024-01.test:accuracy\0TargetName={target}\0SessionType=Normal\0"
        );
        let mut unit = [0; HEADER];
        // The session's identifier has the unit's number, so that there can be a session for each.
        (unit[0], unit[1], unit[8], unit[13]) = (0x43, 0x87, 0x80, self.lun);
        unit[4..8].copy_from_slice(&(text.len() as u32).to_be_bytes());
        unit[24..28].copy_from_slice(&self.commands.to_be_bytes());
        let mut all = unit.to_vec();
        all.extend_from_slice(text.as_bytes());
        all.resize(HEADER + text.len().next_multiple_of(4), 0);
        self.stream.write_all(&all)?;
        let answer = self.unit()?;
        match (answer[0], word(&answer, 36) >> 16) {
            (LOGIN_RESPONSE, 0) => Ok(()),
            (opcode, status) => Err(io::Error::other(format!(
                "login: got unit {opcode:#04x} with status {status:#06x}, need {LOGIN_RESPONSE:#04x} with 0"
            ))),
        }
    }

    /// Sends a command that reads `expected` bytes.
    fn command(&mut self, cookie: u32, cdb: &[u8; 16], expected: u32) -> io::Result<()> {
        let mut unit = [0; HEADER];
        (unit[0], unit[1], unit[9]) = (0x01, 0xc1, self.lun);
        unit[16..20].copy_from_slice(&cookie.to_be_bytes());
        unit[20..24].copy_from_slice(&expected.to_be_bytes());
        unit[24..28].copy_from_slice(&self.commands.to_be_bytes());
        unit[32..48].copy_from_slice(cdb);
        self.commands = self.commands.wrapping_add(1);
        self.stream.write_all(&unit)
    }

    /// The next unit, header and data.
    fn unit(&mut self) -> io::Result<Vec<u8>> {
        let mut unit = vec![0; HEADER];
        self.stream.read_exact(&mut unit)?;
        let length = unit_length(&unit);
        unit.resize(length, 0);
        self.stream.read_exact(&mut unit[HEADER..])?;
        Ok(unit)
    }

    /// The drive's bytes. The first command of a session is told that the drive was switched on, so it is given twice.
    fn capacity(&mut self) -> io::Result<u64> {
        let mut read_capacity = [0; 16];
        (read_capacity[0], read_capacity[1], read_capacity[13]) = (0x9e, 0x10, 32);
        for _ in 0..2 {
            self.command(0, &read_capacity, 32)?;
            let answer = self.unit()?;
            if answer[0] == DATA_IN {
                let last =
                    u64::from(word(&answer, HEADER)) << 32 | u64::from(word(&answer, HEADER + 4));
                assert_eq!(u64::from(word(&answer, HEADER + 8)), BLOCK);
                return Ok((last + 1) * BLOCK);
            }
            assert_eq!(answer[0], SCSI_RESPONSE);
        }
        Err(io::Error::other(
            "capacity: got two refusals, need an answer",
        ))
    }
}
