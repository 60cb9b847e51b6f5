//! An initiator for tests, written from RFC 7143 alone: it shares no code with the server.

use headstack_iscsi::emulate::{Emulation, Options, Served};
use headstack_iscsi::server;
use headstack_live::control::Handle;
use headstack_live::emulate;
use headstack_live::open::{self, Kept};
use headstack_live::power::PowerLosses;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub const SMALL: &str = "ibm-18es";
pub const NAME: &str = "iqn.2026-11.org.example:initiator";

/// A server in a thread.
pub struct Server {
    pub urls: Vec<String>,
    pub handle: Handle,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Served>>,
}

pub fn options(target: &str, iscsi: server::Options) -> Options {
    let drives = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../drives");
    Options {
        system: emulate::Options {
            live: open::Options {
                target: target.into(),
                system: None,
                drive_dirs: vec![drives],
                seed: Some(1),
                store: Kept::Memory,
                speed: 0.0,
                busy: false,
                record: None,
                losses: PowerLosses::default(),
            },
            control: None,
            metrics: None,
        },
        nbd: None,
        iscsi: Some(server::Options { address: Some("127.0.0.1:0".into()), ..iscsi }),
    }
}

/// An experiment of several drives, in a file of its own.
pub fn shelf(count: u32) -> PathBuf {
    let name = format!("headstack-iscsi-{}-{count}.toml", std::process::id());
    let file = std::env::temp_dir().join(name);
    let text = format!(
        "[workload]\nsynthetic = {{ n_requests = 1, rate = \"1/s\" }}\n\
         [[system]]\nname = \"shelf\"\ndrive = \"{SMALL}\"\ncount = {count}\n"
    );
    std::fs::write(&file, text).unwrap();
    file
}

impl Server {
    pub fn start() -> Server {
        Server::with(&options(SMALL, server::Options::default()))
    }

    pub fn with(options: &Options) -> Server {
        let stop = Arc::new(AtomicBool::new(false));
        let emulation = Emulation::start(options, stop.clone()).unwrap();
        let (urls, handle) = (emulation.urls(), emulation.handle());
        let thread = std::thread::spawn(move || emulation.serve().unwrap());
        Server { urls, handle, stop, thread: Some(thread) }
    }

    /// Host and port, and the name of the first target.
    pub fn portal(&self) -> (&str, &str) {
        let (portal, rest) = self.urls[0].strip_prefix("iscsi://").unwrap().split_once('/').unwrap();
        (portal, rest.rsplit_once('/').unwrap().0)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.portal().0).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// A session with the first target; `isid` makes its port different from others.
    pub fn session(&self, isid: u8, more: &[&str]) -> Initiator {
        let target = format!("TargetName={}", self.portal().1);
        let keys = [&[&target[..], "SessionType=Normal"], more].concat();
        let mut session = Initiator::new(self.connect(), isid);
        let (status, _) = session.login(&keys);
        assert_eq!(status, 0);
        session
    }

    /// Requests that drives have not ended.
    pub fn outstanding(&self) -> usize {
        self.handle.ask(|live| live.outstanding()).unwrap()
    }

    /// Waits until drives have so many requests.
    pub fn until_outstanding(&self, n: usize) {
        let end = Instant::now() + Duration::from_secs(60);
        while self.outstanding() != n {
            assert!(Instant::now() < end, "{} requests are left", self.outstanding());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends the server, and returns what it did.
    pub fn end(mut self) -> Served {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A unit that has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    pub header: [u8; 48],
    pub data: Vec<u8>,
}

impl Unit {
    pub fn opcode(&self) -> u8 {
        self.header[0] & 0x3f
    }

    pub fn u32(&self, at: usize) -> u32 {
        u32::from_be_bytes(self.header[at..at + 4].try_into().unwrap())
    }
}

/// The end of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub status: u8,
    /// Key, code and qualifier of sense data in fixed format.
    pub sense: Option<(u8, u8, u8)>,
    pub data: Vec<u8>,
    /// Flags O and U, and the residual count.
    pub residual: (u8, u32),
}

pub struct Initiator {
    pub stream: TcpStream,
    pub isid: u8,
    pub itt: u32,
    pub cmd_sn: u32,
    pub digests: bool,
}

pub fn header(opcode: u8, flags: u8, data: usize, itt: u32) -> [u8; 48] {
    let mut header = [0; 48];
    header[0] = opcode;
    header[1] = flags;
    header[5..8].copy_from_slice(&(data as u32).to_be_bytes()[1..]);
    header[16..20].copy_from_slice(&itt.to_be_bytes());
    header
}

/// CRC-32C, bit by bit.
pub fn crc(bytes: &[u8]) -> [u8; 4] {
    let mut all = !0u32;
    for byte in bytes {
        all ^= u32::from(*byte);
        for _ in 0..8 {
            all = all >> 1 ^ if all & 1 == 1 { 0x82f6_3b78 } else { 0 };
        }
    }
    (!all).to_le_bytes()
}

impl Initiator {
    pub fn new(stream: TcpStream, isid: u8) -> Initiator {
        Initiator { stream, isid, itt: 0, cmd_sn: 100, digests: false }
    }

    pub fn send(&mut self, header: &[u8; 48], data: &[u8]) {
        let mut all = header.to_vec();
        if self.digests {
            all.extend_from_slice(&crc(header));
        }
        if !data.is_empty() {
            let mut padded = data.to_vec();
            padded.resize(data.len().next_multiple_of(4), 0);
            all.extend_from_slice(&padded);
            if self.digests {
                all.extend_from_slice(&crc(&padded));
            }
        }
        self.stream.write_all(&all).unwrap();
    }

    /// The next unit; `None` if the server has closed the connection.
    pub fn next(&mut self) -> Option<Unit> {
        let mut header = [0; 48];
        self.stream.read_exact(&mut header).ok()?;
        let mut digest = [0; 4];
        if self.digests {
            self.stream.read_exact(&mut digest).ok()?;
            assert_eq!(digest, crc(&header));
        }
        let length = u32::from_be_bytes([0, header[5], header[6], header[7]]) as usize;
        let mut data = vec![0; length.next_multiple_of(4)];
        self.stream.read_exact(&mut data).ok()?;
        if self.digests && length > 0 {
            self.stream.read_exact(&mut digest).ok()?;
            assert_eq!(digest, crc(&data));
        }
        data.truncate(length);
        Some(Unit { header, data })
    }

    pub fn login_header(&self, flags: u8, data: usize) -> [u8; 48] {
        let mut unit = header(0x43, flags, data, 1);
        unit[8] = 0x80;
        unit[13] = self.isid;
        unit[24..28].copy_from_slice(&self.cmd_sn.to_be_bytes());
        unit
    }

    /// One unit of a login; status, and keys with their values.
    pub fn login_step(&mut self, flags: u8, keys: &[&str]) -> (u16, Vec<String>) {
        let text: Vec<u8> = keys.iter().flat_map(|k| [k.as_bytes(), &[0]].concat()).collect();
        let unit = self.login_header(flags, text.len());
        self.send(&unit, &text);
        let Some(unit) = self.next() else {
            return (0xffff, Vec::new());
        };
        assert_eq!(unit.opcode(), 0x23);
        let status = u16::from_be_bytes([unit.header[36], unit.header[37]]);
        let text = String::from_utf8(unit.data).unwrap();
        let keys = text.split_terminator('\0').map(String::from);
        (status, keys.collect())
    }

    /// A login in one step, without authentication.
    pub fn login(&mut self, keys: &[&str]) -> (u16, Vec<String>) {
        let name = format!("InitiatorName={NAME}");
        let digests = keys.contains(&"HeaderDigest=CRC32C") && keys.contains(&"DataDigest=CRC32C");
        let answer = self.login_step(0x87, &[&[&name[..]], keys].concat());
        self.digests = digests;
        answer
    }

    pub fn command_header(&mut self, lun: u8, flags: u8, cdb: &[u8], expected: u32) -> [u8; 48] {
        self.itt += 1;
        let mut unit = header(0x01, flags, 0, self.itt);
        unit[9] = lun;
        unit[20..24].copy_from_slice(&expected.to_be_bytes());
        unit[24..28].copy_from_slice(&self.cmd_sn.to_be_bytes());
        unit[32..32 + cdb.len().min(16)].copy_from_slice(&cdb[..cdb.len().min(16)]);
        self.cmd_sn = self.cmd_sn.wrapping_add(1);
        unit
    }

    /// A command that has no data, or whose data are the answer.
    pub fn ask(&mut self, lun: u8, cdb: &[u8], expected: u32) -> Answer {
        let unit = self.command_header(lun, 0xc1, cdb, expected);
        self.send(&unit, &[]);
        self.answer(&[])
    }

    /// A command with data; `immediate` bytes come with it, the others when they are asked for.
    pub fn put(&mut self, lun: u8, cdb: &[u8], data: &[u8], immediate: usize) -> Answer {
        let mut unit = self.command_header(lun, 0xa1, cdb, data.len() as u32);
        unit[5..8].copy_from_slice(&(immediate as u32).to_be_bytes()[1..]);
        self.send(&unit, &data[..immediate]);
        self.answer(data)
    }

    /// Sends what an R2T asks for, in units of at most 4,096 bytes.
    pub fn deliver(&mut self, r2t: &Unit, data: &[u8]) {
        let (mut at, mut left) = (r2t.u32(40) as usize, r2t.u32(44) as usize);
        let mut data_sn = 0u32;
        while left > 0 {
            let bytes = left.min(4096);
            let flags = if bytes == left { 0x80 } else { 0 };
            let mut unit = header(0x05, flags, bytes, r2t.u32(16));
            unit[20..24].copy_from_slice(&r2t.header[20..24]);
            unit[36..40].copy_from_slice(&data_sn.to_be_bytes());
            unit[40..44].copy_from_slice(&(at as u32).to_be_bytes());
            self.send(&unit, &data[at..at + bytes]);
            (at, left, data_sn) = (at + bytes, left - bytes, data_sn + 1);
        }
    }

    /// The answer to the only command.
    pub fn answer(&mut self, data: &[u8]) -> Answer {
        let mut got = Vec::new();
        loop {
            let unit = self.next().expect("an answer");
            assert_eq!(unit.u32(16), self.itt);
            let residual = (unit.header[1] & 0x06, unit.u32(44));
            match unit.opcode() {
                0x31 => self.deliver(&unit, data),
                0x25 => {
                    assert_eq!(unit.u32(40) as usize, got.len());
                    got.extend_from_slice(&unit.data);
                    if unit.header[1] & 1 != 0 {
                        return Answer { status: unit.header[3], sense: None, data: got, residual };
                    }
                }
                0x21 => {
                    let sense = unit.data.get(2..);
                    return Answer {
                        status: unit.header[3],
                        sense: sense.map(|s| (s[2] & 0xf, s[12], s[13])),
                        data: got,
                        residual,
                    };
                }
                other => panic!("unit {other:02x}"),
            }
        }
    }

    /// Takes what a new initiator is told first.
    pub fn settle(&mut self, lun: u8) {
        let first = self.ask(lun, &[0; 6], 0);
        assert_eq!(first.sense, Some((6, 0x29, 0x00)));
    }
}

/// READ(10) or WRITE(10), or another command of this form.
pub fn ten(opcode: u8, flags: u8, lba: u32, blocks: u16) -> [u8; 10] {
    let mut cdb = [0; 10];
    (cdb[0], cdb[1]) = (opcode, flags);
    cdb[2..6].copy_from_slice(&lba.to_be_bytes());
    cdb[7..9].copy_from_slice(&blocks.to_be_bytes());
    cdb
}

/// A command of 16 bytes: operation code, service action or flags, block, length, options.
pub fn sixteen(opcode: u8, action: u8, lba: u64, length: u32, options: u8) -> [u8; 16] {
    let mut cdb = [0; 16];
    (cdb[0], cdb[1], cdb[14]) = (opcode, action, options);
    cdb[2..10].copy_from_slice(&lba.to_be_bytes());
    cdb[10..14].copy_from_slice(&length.to_be_bytes());
    cdb
}
