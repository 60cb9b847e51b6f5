//! An initiator of iSCSI, written from RFC 7143: it shares no code with the server.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The name of all initiators.
pub const NAME: &str = "iqn.2026-11.org.example:initiator";

/// A connection to a portal; answers come within two minutes.
pub fn connect(portal: &str) -> TcpStream {
    let stream = TcpStream::connect(portal).expect("a portal that listens");
    stream.set_nodelay(true).expect("a socket");
    stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a limit");
    stream
}

/// Portal and name of the target of a URL, `iscsi://PORTAL/TARGET/LUN`.
pub fn parts(url: &str) -> (&str, &str) {
    let (portal, rest) = url.strip_prefix("iscsi://").and_then(|u| u.split_once('/')).expect("a URL");
    (portal, rest.rsplit_once('/').expect("a unit").0)
}

/// Where each unit of a session begins, and its end.
pub fn units(bytes: &[u8]) -> Vec<usize> {
    let (mut all, mut at) = (vec![0], 0);
    while at + 48 <= bytes.len() {
        let length = u32::from_be_bytes([0, bytes[at + 5], bytes[at + 6], bytes[at + 7]]) as usize;
        at = (at + 48 + length.next_multiple_of(4)).min(bytes.len());
        all.push(at);
    }
    all
}

/// A unit with these fields, by their places, and the tag 7.
pub fn unit(opcode: u8, flags: u8, data: &[u8], fields: &[(usize, u32)]) -> Vec<u8> {
    let data = [data, &[0; 3][..data.len().wrapping_neg() % 4]].concat();
    let mut header = header(opcode, flags, data.len(), 7);
    for (at, value) in fields {
        header[*at..at + 4].copy_from_slice(&value.to_be_bytes());
    }
    [&header, &data[..]].concat()
}

/// The first unit of a login.
pub fn login(flags: u8, keys: &str) -> Vec<u8> {
    let keys = format!("InitiatorName={NAME}\0MaxRecvDataSegmentLength=1048576\0{keys}\0");
    unit(0x43, flags, keys.as_bytes(), &[(24, 100)])
}

/// A unit that has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// Its header.
    pub header: [u8; 48],
    /// Its data.
    pub data: Vec<u8>,
}

impl Unit {
    /// Its operation code.
    pub fn opcode(&self) -> u8 {
        self.header[0] & 0x3f
    }

    /// A number of its header.
    pub fn u32(&self, at: usize) -> u32 {
        u32::from_be_bytes(self.header[at..at + 4].try_into().expect("it"))
    }

    /// How it ends a command that has read `data`.
    pub fn ends(&self, data: Vec<u8>) -> Answer {
        let sense = if self.opcode() == 0x21 { self.data.get(2..) } else { None };
        let sense = sense.map(|s| (s[2] & 0xf, s[12], s[13]));
        Answer { status: self.header[3], sense, data, residual: (self.header[1] & 0x06, self.u32(44)) }
    }
}

/// The end of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Of SAM-5.
    pub status: u8,
    /// Key, code and qualifier of sense data in fixed format.
    pub sense: Option<(u8, u8, u8)>,
    /// What was read.
    pub data: Vec<u8>,
    /// Flags O and U, and the residual count.
    pub residual: (u8, u32),
}

/// A session of one connection.
#[derive(Debug)]
pub struct Initiator {
    /// The connection.
    pub stream: TcpStream,
    /// What its port differs by.
    pub isid: u8,
    /// The tag of the last task.
    pub itt: u32,
    /// The number of the next command.
    pub cmd_sn: u32,
    /// Whether units have digests.
    pub digests: bool,
}

/// A header: operation code, flags, bytes of data, tag.
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
    /// A session with a target; `isid` makes its port different from others.
    ///
    /// # Panics
    /// The target refuses it.
    pub fn start(portal: &str, target: &str, isid: u8, more: &[&str]) -> Initiator {
        let mut session = Initiator::new(connect(portal), isid);
        let target = format!("TargetName={target}");
        let (status, _) = session.login(&[&[&target[..], "SessionType=Normal"], more].concat());
        assert_eq!(status, 0);
        session
    }

    /// A connection before its login.
    pub fn new(stream: TcpStream, isid: u8) -> Initiator {
        Initiator { stream, isid, itt: 0, cmd_sn: 100, digests: false }
    }

    /// Sends a unit. That the target has closed is seen by who waits for an answer.
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
        let _ = self.stream.write_all(&all);
    }

    /// The next unit; `None` if the server has closed the connection.
    #[allow(clippy::should_implement_trait)]
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

    /// The header of a unit of a login.
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
        let Some(unit) = self.next() else { return (0xffff, Vec::new()) };
        assert_eq!(unit.opcode(), 0x23);
        let status = u16::from_be_bytes([unit.header[36], unit.header[37]]);
        let text = String::from_utf8(unit.data).expect("it");
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

    /// The header of the next command.
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
        self.may_answer(data).expect("an answer")
    }

    /// The same; `None` if the connection has ended.
    pub fn may_answer(&mut self, data: &[u8]) -> Option<Answer> {
        let mut got = Vec::new();
        loop {
            let unit = self.next()?;
            assert_eq!(unit.u32(16), self.itt);
            match unit.opcode() {
                0x31 => self.deliver(&unit, data),
                0x25 => {
                    assert_eq!(unit.u32(40) as usize, got.len());
                    got.extend_from_slice(&unit.data);
                    if unit.header[1] & 1 != 0 {
                        return Some(unit.ends(got));
                    }
                }
                0x21 => return Some(unit.ends(got)),
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
