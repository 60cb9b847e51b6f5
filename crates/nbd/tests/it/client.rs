//! A small client, and a server for each test. Numbers are those of the protocol's text, not of the server.

use headstack_live::control::Handle;
use headstack_live::emulate;
use headstack_live::open::{self, Kept};
use headstack_live::power::PowerLosses;
use headstack_nbd::address::Address;
use headstack_nbd::emulate::{Emulation, Options};
use headstack_nbd::server::Served;
use headstack_nbd::tls::TlsOptions;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const FLUSH: u16 = 3;
pub const TRIM: u16 = 4;
pub const CACHE: u16 = 5;
pub const WRITE_ZEROES: u16 = 6;
pub const BLOCK_STATUS: u16 = 7;

/// The folder of the drives.
pub const DRIVES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../drives");

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A server in a thread; it ends with the test.
pub struct Server {
    pub folder: PathBuf,
    pub bytes: u64,
    handle: Handle,
    metrics: Option<String>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Served>>,
}

/// A folder of its own for a test.
pub fn folder() -> PathBuf {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("headstack-nbd-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

pub fn options(folder: &Path, target: &str, speed: f64) -> Options {
    Options {
        system: emulate::Options {
            live: open::Options {
                target: target.into(),
                system: None,
                drive_dirs: vec![DRIVES.into()],
                seed: Some(1),
                store: Kept::Memory,
                speed,
                busy: false,
                record: Some(folder.join("record.csv")),
                losses: PowerLosses::default(),
            },
            control: None,
            metrics: None,
        },
        address: Address::Unix(folder.join("socket")),
        tls: TlsOptions::default(),
    }
}

impl Server {
    pub fn start(target: &str, speed: f64) -> Server {
        let folder = folder();
        let options = options(&folder, target, speed);
        Server::with(folder, &options)
    }

    pub fn with(folder: PathBuf, options: &Options) -> Server {
        let stop = Arc::new(AtomicBool::new(false));
        let emulation = Emulation::start(options, stop.clone()).unwrap();
        let (bytes, handle) = (emulation.devices()[0].bytes, emulation.handle());
        let metrics = emulation.metrics().map(String::from);
        let thread = std::thread::spawn(move || emulation.serve().unwrap());
        Server { folder, bytes, handle, metrics, stop, thread: Some(thread) }
    }

    /// What asks the server for changes.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Where metrics are served.
    pub fn metrics(&self) -> Option<&str> {
        self.metrics.as_deref()
    }

    pub fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(self.folder.join("socket")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// A client of the first export.
    pub fn client(&self, structured: bool) -> Client {
        Client::new(self.greeted(), structured)
    }

    /// A client that has sent its flags.
    pub fn greeted(&self) -> UnixStream {
        let mut stream = self.connect();
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).unwrap();
        assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
        assert_eq!(greeting[16..], [0, 3]);
        stream.write_all(&3u32.to_be_bytes()).unwrap();
        stream
    }

    /// Ends the server, and returns what it did.
    pub fn end(self) -> Served {
        self.end_and(|| ())
    }

    /// The same; `look` may look at its folder before that is removed.
    pub fn end_and(mut self, look: impl FnOnce()) -> Served {
        self.stop.store(true, Ordering::Relaxed);
        let served = self.thread.take().unwrap().join().unwrap();
        look();
        served
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

pub fn send_option(stream: &mut impl Write, code: u32, data: &[u8]) {
    let mut all = b"IHAVEOPT".to_vec();
    all.extend_from_slice(&code.to_be_bytes());
    all.extend_from_slice(&(data.len() as u32).to_be_bytes());
    all.extend_from_slice(data);
    stream.write_all(&all).unwrap();
}

pub fn read_u32(stream: &mut impl Read) -> u32 {
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes).unwrap();
    u32::from_be_bytes(bytes)
}

pub fn read_u64(stream: &mut impl Read) -> u64 {
    u64::from(read_u32(stream)) << 32 | u64::from(read_u32(stream))
}

/// Option, type and data of a reply to an option.
pub fn read_reply(stream: &mut impl Read) -> (u32, u32, Vec<u8>) {
    assert_eq!(read_u64(stream), 0x3e889045565a9);
    let (code, kind) = (read_u32(stream), read_u32(stream));
    let mut data = vec![0; read_u32(stream) as usize];
    stream.read_exact(&mut data).unwrap();
    (code, kind, data)
}

pub struct Client<S = UnixStream> {
    pub stream: S,
    structured: bool,
    cookie: u64,
    /// Types and lengths of the chunks of the last reply.
    pub chunks: Vec<(u32, usize)>,
}

impl<S: Read + Write> Client<S> {
    /// Chooses the default export.
    pub fn new(mut stream: S, structured: bool) -> Client<S> {
        if structured {
            send_option(&mut stream, 8, b"");
            assert_eq!(read_reply(&mut stream).1, 1);
            let mut query = vec![0; 4];
            query.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 15]);
            query.extend_from_slice(b"base:allocation");
            send_option(&mut stream, 10, &query);
            assert_eq!(read_reply(&mut stream).1, 4);
            assert_eq!(read_reply(&mut stream).1, 1);
        }
        send_option(&mut stream, 7, &[0; 6]);
        while read_reply(&mut stream).1 != 1 {}
        Client { stream, structured, cookie: 0, chunks: Vec::new() }
    }

    pub fn send(&mut self, flags: u16, command: u16, offset: u64, length: u32, data: &[u8]) {
        self.cookie += 1;
        let mut all = 0x25609513u32.to_be_bytes().to_vec();
        all.extend_from_slice(&flags.to_be_bytes());
        all.extend_from_slice(&command.to_be_bytes());
        all.extend_from_slice(&self.cookie.to_be_bytes());
        all.extend_from_slice(&offset.to_be_bytes());
        all.extend_from_slice(&length.to_be_bytes());
        all.extend_from_slice(data);
        self.stream.write_all(&all).unwrap();
    }

    /// Error and data of the reply to the only request.
    pub fn reply(&mut self, command: u16, length: u32) -> (u32, Vec<u8>) {
        if self.structured && matches!(command, READ | BLOCK_STATUS) {
            return self.reply_in_chunks();
        }
        let magic = read_u32(&mut self.stream);
        assert_eq!(magic, 0x67446698);
        let error = read_u32(&mut self.stream);
        assert_eq!(read_u64(&mut self.stream), self.cookie);
        let mut data = vec![0; if command == READ && error == 0 { length as usize } else { 0 }];
        self.stream.read_exact(&mut data).unwrap();
        (error, data)
    }

    /// Puts the chunks of a reply together; those of data are in order and leave nothing out.
    fn reply_in_chunks(&mut self) -> (u32, Vec<u8>) {
        let (mut error, mut all, mut next) = (0, Vec::new(), None);
        self.chunks.clear();
        loop {
            assert_eq!(read_u32(&mut self.stream), 0x668e33ef);
            let kinds = read_u32(&mut self.stream);
            assert_eq!(read_u64(&mut self.stream), self.cookie);
            let mut data = vec![0; read_u32(&mut self.stream) as usize];
            self.stream.read_exact(&mut data).unwrap();
            self.chunks.push((kinds & 0xffff, data.len()));
            let u32_at = |at: usize| u32::from_be_bytes(data[at..at + 4].try_into().unwrap());
            if let 1 | 2 = kinds & 0xffff {
                let offset = u64::from(u32_at(0)) << 32 | u64::from(u32_at(4));
                assert!(next.is_none_or(|next| offset == next), "data at {offset}");
                next = Some(offset);
            }
            let content = match kinds & 0xffff {
                0 => Vec::new(),
                1 => data.split_off(8),
                2 => vec![0; u32_at(8) as usize],
                5 => data.split_off(4),
                0x8001 | 0x8002 => {
                    error = u32_at(0);
                    Vec::new()
                }
                other => panic!("chunk {other}"),
            };
            next = next.map(|next| next + content.len() as u64);
            all.extend_from_slice(&content);
            if kinds >> 16 == 1 {
                return (error, all);
            }
        }
    }

    pub fn ask(&mut self, command: u16, offset: u64, length: u32, data: &[u8]) -> (u32, Vec<u8>) {
        self.send(0, command, offset, length, data);
        self.reply(command, length)
    }

    pub fn read(&mut self, offset: u64, length: u32) -> Vec<u8> {
        let (error, data) = self.ask(READ, offset, length, b"");
        assert_eq!(error, 0);
        data
    }

    pub fn write(&mut self, offset: u64, data: &[u8]) {
        let (error, _) = self.ask(WRITE, offset, data.len() as u32, data);
        assert_eq!(error, 0);
    }
}
