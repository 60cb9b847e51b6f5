//! A client of NBD, written from the protocol's text: it shares no code with the server.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// NBD_CMD_READ.
pub const READ: u16 = 0;
/// NBD_CMD_WRITE.
pub const WRITE: u16 = 1;
/// NBD_CMD_FLUSH.
pub const FLUSH: u16 = 3;
/// NBD_CMD_TRIM.
pub const TRIM: u16 = 4;
/// NBD_CMD_CACHE.
pub const CACHE: u16 = 5;
/// NBD_CMD_WRITE_ZEROES.
pub const WRITE_ZEROES: u16 = 6;
/// NBD_CMD_BLOCK_STATUS.
pub const BLOCK_STATUS: u16 = 7;

/// A connection to a server; answers come within two minutes.
pub fn connect(socket: &Path) -> UnixStream {
    let stream = UnixStream::connect(socket).expect("a server that listens");
    stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a limit");
    stream
}

/// Takes the greeting and sends flags.
pub fn greet<S: Read + Write>(mut stream: S) -> S {
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting).expect("a greeting");
    assert_eq!(&greeting[..], b"NBDMAGICIHAVEOPT\0\x03");
    stream.write_all(&3u32.to_be_bytes()).expect("sent");
    stream
}

/// An option as bytes.
pub fn option(code: u32, data: &[u8]) -> Vec<u8> {
    let numbers = [code, data.len() as u32].map(u32::to_be_bytes);
    [b"IHAVEOPT", numbers.as_flattened(), data].concat()
}

/// A request as bytes, without data.
pub fn request(flags: u16, command: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let kinds = [flags, command].map(u16::to_be_bytes);
    let places = [cookie, offset].map(u64::to_be_bytes);
    [&0x2560_9513u32.to_be_bytes(), kinds.as_flattened(), places.as_flattened(), &length.to_be_bytes()].concat()
}

/// Sends an option.
pub fn send_option(stream: &mut impl Write, code: u32, data: &[u8]) {
    stream.write_all(&option(code, data)).expect("sent");
}

/// Four bytes.
pub fn read_u32(stream: &mut impl Read) -> u32 {
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes).expect("four bytes");
    u32::from_be_bytes(bytes)
}

/// Eight bytes.
pub fn read_u64(stream: &mut impl Read) -> u64 {
    u64::from(read_u32(stream)) << 32 | u64::from(read_u32(stream))
}

/// Option, type and data of a reply to an option.
pub fn read_reply(stream: &mut impl Read) -> (u32, u32, Vec<u8>) {
    assert_eq!(read_u64(stream), 0x3_e889_0455_65a9);
    let (code, kind) = (read_u32(stream), read_u32(stream));
    let mut data = vec![0; read_u32(stream) as usize];
    stream.read_exact(&mut data).expect("data");
    (code, kind, data)
}

/// What a request that has not ended has got so far, and the offset of the next data.
#[derive(Debug, Default)]
struct Open {
    command: u16,
    length: u32,
    error: u32,
    data: Vec<u8>,
    next: Option<u64>,
}

/// A client of one export.
#[derive(Debug)]
pub struct Client<S = UnixStream> {
    /// The connection.
    pub stream: S,
    structured: bool,
    cookie: u64,
    open: BTreeMap<u64, Open>,
    /// Types and lengths of the chunks since the last request was sent.
    pub chunks: Vec<(u32, usize)>,
}

impl<S: Read + Write> Client<S> {
    /// Chooses the default export, after the greeting.
    pub fn new(stream: S, structured: bool) -> Client<S> {
        Client::of(stream, structured, "")
    }

    /// Chooses an export, after the greeting.
    pub fn of(mut stream: S, structured: bool, export: &str) -> Client<S> {
        let name = [&(export.len() as u32).to_be_bytes()[..], export.as_bytes()].concat();
        if structured {
            send_option(&mut stream, 8, b"");
            assert_eq!(read_reply(&mut stream).1, 1);
            let query = [&name[..], &[0, 0, 0, 1, 0, 0, 0, 15], b"base:allocation"].concat();
            send_option(&mut stream, 10, &query);
            assert_eq!(read_reply(&mut stream).1, 4);
            assert_eq!(read_reply(&mut stream).1, 1);
        }
        send_option(&mut stream, 7, &[&name[..], &[0; 2]].concat());
        loop {
            match read_reply(&mut stream).1 {
                1 => break,
                3 => {}
                other => panic!("{export:?}: {other:x}"),
            }
        }
        Client { stream, structured, cookie: 0, open: BTreeMap::new(), chunks: Vec::new() }
    }

    /// A request without data, as bytes that will be sent, and its cookie.
    pub fn begin(&mut self, flags: u16, command: u16, offset: u64, length: u32) -> (u64, Vec<u8>) {
        self.cookie += 1;
        self.chunks.clear();
        self.open.insert(self.cookie, Open { command, length, ..Open::default() });
        (self.cookie, request(flags, command, self.cookie, offset, length))
    }

    /// Sends a request and returns its cookie. That the server has closed is seen by who waits for the reply.
    pub fn send(&mut self, flags: u16, command: u16, offset: u64, length: u32, data: &[u8]) -> u64 {
        let (cookie, request) = self.begin(flags, command, offset, length);
        let _ = self.stream.write_all(&[&request, data].concat());
        cookie
    }

    /// Requests that have had no reply.
    pub fn outstanding(&self) -> usize {
        self.open.len()
    }

    /// Cookie, error and data of the next reply; `None` if the connection has ended.
    ///
    /// # Panics
    /// The reply is that of no request, or of one that has had a reply.
    pub fn next_reply(&mut self) -> Option<(u64, u32, Vec<u8>)> {
        loop {
            let mut magic = [0; 4];
            self.stream.read_exact(&mut magic).ok()?;
            let kinds = match u32::from_be_bytes(magic) {
                0x6744_6698 => None,
                0x668e_33ef => Some(self.u32()?),
                other => panic!("magic {other:x}"),
            };
            let error = if kinds.is_none() { self.u32()? } else { 0 };
            let cookie = u64::from(self.u32()?) << 32 | u64::from(self.u32()?);
            let mut open = self.open.remove(&cookie).unwrap_or_else(|| panic!("{cookie} of {:?}", self.open));
            let Some(kinds) = kinds else {
                assert!(!self.structured || !matches!(open.command, READ | BLOCK_STATUS), "need chunks");
                let has_data = open.command == READ && error == 0;
                let data = self.bytes(if has_data { open.length as usize } else { 0 })?;
                return Some((cookie, error, data));
            };
            assert!(self.structured, "chunks that nobody has asked for");
            let length = self.u32()? as usize;
            let data = self.bytes(length)?;
            self.chunks.push((kinds & 0xffff, length));
            open.take(kinds & 0xffff, data);
            if kinds >> 16 == 1 {
                return Some((cookie, open.error, open.data));
            }
            self.open.insert(cookie, open);
        }
    }

    fn u32(&mut self) -> Option<u32> {
        self.bytes(4).map(|b| u32::from_be_bytes(b.try_into().expect("four bytes")))
    }

    fn bytes(&mut self, length: usize) -> Option<Vec<u8>> {
        let mut data = vec![0; length];
        self.stream.read_exact(&mut data).ok()?;
        Some(data)
    }

    /// Error and data of the reply to the request that was sent last, which no other comes before.
    pub fn reply(&mut self) -> (u32, Vec<u8>) {
        let (cookie, error, data) = self.next_reply().expect("a reply");
        assert_eq!(cookie, self.cookie);
        (error, data)
    }

    /// Sends a request and waits for its reply.
    pub fn ask(&mut self, command: u16, offset: u64, length: u32, data: &[u8]) -> (u32, Vec<u8>) {
        self.send(0, command, offset, length, data);
        self.reply()
    }

    /// Data that can be read.
    pub fn read(&mut self, offset: u64, length: u32) -> Vec<u8> {
        let (error, data) = self.ask(READ, offset, length, b"");
        assert_eq!(error, 0);
        data
    }

    /// Writes what can be written.
    pub fn write(&mut self, offset: u64, data: &[u8]) {
        let (error, _) = self.ask(WRITE, offset, data.len() as u32, data);
        assert_eq!(error, 0);
    }
}

impl Open {
    /// Takes a chunk; those of data are in order and leave nothing out.
    fn take(&mut self, kind: u32, mut data: Vec<u8>) {
        let u32_at = |at: usize| u32::from_be_bytes(data[at..at + 4].try_into().expect("four bytes"));
        if let 1 | 2 = kind {
            let offset = u64::from(u32_at(0)) << 32 | u64::from(u32_at(4));
            assert!(self.next.is_none_or(|next| offset == next), "data at {offset}");
            self.next = Some(offset);
        }
        let content = match kind {
            0 => Vec::new(),
            1 => data.split_off(8),
            2 => vec![0; u32_at(8) as usize],
            5 => data.split_off(4),
            0x8001 | 0x8002 => {
                self.error = u32_at(0);
                Vec::new()
            }
            other => panic!("chunk {other}"),
        };
        self.next = self.next.map(|next| next + content.len() as u64);
        self.data.extend(content);
    }
}
