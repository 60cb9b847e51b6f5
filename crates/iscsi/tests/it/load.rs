//! Clients that want as much as they can get, of both protocols at once: what the server holds for them, and how long a
//! well-behaved client waits meanwhile.
//!
//! In `make test` some seconds with few clients. In a thorough run 1,000 clients for ten minutes, or for
//! `HEADSTACK_LOAD_SECONDS`; each side needs 1,100 open files (`ulimit -Hn`).

use crate::initiator::{header, sixteen, ten, Initiator, NAME};
use crate::zones::zoned_file;
use headstack_live::socket::Socket;
use headstack_testkit::cases;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;
/// Most bytes for a client: what it has not taken and what is not understood, in buffers of up to twice their bytes.
const HELD: u64 = 2 * ((512 << 10) + (66 << 10));
/// Most memory of a server with 1,000 such clients.
const ALL_HELD: u64 = 256 * MIB;
/// Longest time of 99 of 100 requests of a well-behaved client.
const MOST_WAIT: Duration = Duration::from_millis(5);

/// The program with a drive of 67,056 zones; it ends with the test.
struct Program {
    child: Child,
    portal: String,
    target: String,
    socket: PathBuf,
}

impl Program {
    fn start() -> Program {
        let file = zoned_file("exos-x18", "256 MiB", 35_156_656_128);
        let socket = file.with_extension("socket");
        // One that takes a gigabyte ends, and the test with it, not the machine.
        let limited = "ulimit -v 1000000; exec \"$@\"";
        let mut child = Command::new("sh")
            .args(["-c", limited, "sh", env!("CARGO_BIN_EXE_headstack-iscsi")])
            .arg(&file)
            .args(["--speed", "0", "--iscsi", "127.0.0.1:0", "--nbd"])
            .arg(format!("unix:{}", socket.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (mut out, mut url) = (BufReader::new(child.stdout.take().unwrap()), String::new());
        while !url.starts_with("iscsi://") {
            url.clear();
            assert!(out.read_line(&mut url).unwrap() > 0);
        }
        std::fs::remove_file(file).unwrap();
        let parts: Vec<&str> = url.trim().split('/').collect();
        Program {
            child,
            portal: parts[2].into(),
            target: format!("TargetName={}", parts[3]),
            socket,
        }
    }

    /// The most memory that it had, in bytes.
    fn peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|l| l.starts_with("VmHWM:"));
        let number = line.expect("a server that lives").split_whitespace().nth(1);
        number.unwrap().parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// What a kind of clients does. None of them ever reads.
struct Kind {
    does: &'static str,
    /// What was held before there were bounds.
    before: &'static str,
    is_nbd: bool,
    /// Sent first.
    first: Vec<u8>,
    /// Sent after it, again and again.
    then: Vec<u8>,
    /// Bytes that it sends at once.
    piece: usize,
    /// It leaves then.
    vanishes: bool,
}

struct Hostile<'a> {
    kind: &'a Kind,
    socket: Option<Socket>,
    sent: usize,
}

impl Hostile<'_> {
    /// Sends as much as the socket takes, or what it sends at once.
    fn act(&mut self, program: &Program) {
        let kind = self.kind;
        if self.socket.is_none() {
            self.sent = 0;
            self.socket = match kind.is_nbd {
                true => UnixStream::connect(&program.socket).ok().map(Socket::Unix),
                false => TcpStream::connect(&program.portal).ok().map(Socket::Tcp),
            };
            match &self.socket {
                Some(Socket::Tcp(s)) => s.set_nonblocking(true).unwrap(),
                Some(Socket::Unix(s)) => s.set_nonblocking(true).unwrap(),
                None => return,
            }
        }
        let mut left = kind.piece;
        while left > 0 {
            let rest = match self.sent.checked_sub(kind.first.len()) {
                None => &kind.first[self.sent..],
                Some(_) if kind.then.is_empty() => break,
                Some(n) => &kind.then[n % kind.then.len()..],
            };
            let Some(socket) = &mut self.socket else {
                return;
            };
            match socket.write(&rest[..rest.len().min(left)]) {
                Ok(n) => (self.sent, left) = (self.sent + n, left - n),
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(_) => self.socket = None,
            }
        }
        if kind.vanishes {
            self.socket = None;
        }
    }
}

/// Fields of a unit, by their places, with its data.
fn unit(opcode: u8, flags: u8, data: &[u8], fields: &[(usize, u32)]) -> Vec<u8> {
    let mut header = header(opcode, flags, data.len(), 7);
    for (at, value) in fields {
        header[*at..at + 4].copy_from_slice(&value.to_be_bytes());
    }
    [&header, data].concat()
}

fn login(keys: &str) -> Vec<u8> {
    let mut keys = format!("InitiatorName={NAME}\0{keys}\0").into_bytes();
    keys.resize(keys.len().next_multiple_of(4), 0);
    unit(0x43, 0x87, &keys, &[(24, 100)])
}

fn option(code: u32, data: &[u8]) -> Vec<u8> {
    let numbers = [code, data.len() as u32].map(u32::to_be_bytes);
    [b"IHAVEOPT", numbers.as_flattened(), data].concat()
}

fn request(command: u8, length: u32) -> Vec<u8> {
    let mut all = 0x2560_9513u32.to_be_bytes().to_vec();
    all.extend_from_slice(&[0, 0, 0, command]);
    all.extend_from_slice(&[0; 16]);
    all.extend_from_slice(&length.to_be_bytes());
    all
}

fn kinds(target: &str) -> [Kind; 8] {
    let kind = |does, before, is_nbd, first: &[Vec<u8>], then: Vec<u8>| Kind {
        does,
        before,
        is_nbd,
        first: first.concat(),
        then,
        piece: 256 << 10,
        vanishes: false,
    };
    let (flags, go) = (3u32.to_be_bytes().to_vec(), option(7, &[0; 6]));
    // An empty name, and 30,000 times the description (3).
    let mut infos = vec![0, 0, 0, 0, 0x75, 0x30];
    infos.extend([0, 3].repeat(30_000));
    let infos = option(6, &infos).repeat(63);
    let normal = login(&format!("{target}\0SessionType=Normal"));
    let discovery = login("SessionType=Discovery");
    // Immediate, so that the command number stays. The first one is told of a unit attention.
    let command = |cdb: &[u8], flags: u8, expected: u32, n: u32| {
        let word = |i: usize| u32::from_be_bytes(std::array::from_fn(|j| cdb[i + j]));
        let fields = [
            (16, n),
            (20, expected),
            (24, 100),
            (32, word(0)),
            (36, word(4)),
            (40, word(8)),
        ];
        unit(0x41, flags, &[], &fields)
    };
    let ready = command(&[0; 12], 0x80, 0, 1);
    let zones = command(&sixteen(0x95, 0, 0, u32::MAX, 0), 0xc1, u32::MAX, 2);
    let write = [&ten(0x2a, 0, 0, 0xffff)[..], &[0; 2]].concat();
    let write = command(&write, 0xa1, 0xffff * 512, 3);
    let data = |i: u32| {
        unit(
            0x05,
            0,
            &[5; 512],
            &[(16, 3), (20, 1), (36, i), (40, 512 * i)],
        )
    };
    let all = b"SendTargets=All\0".repeat(3000);
    let keys = |i: u32| format!("X-org.example.{i}=1\0\0").into_bytes();
    let login_unit = |i| unit(0x43, 0x04, &keys(i)[..keys(i).len() / 4 * 4], &[(24, 100)]);
    let begun = format!("InitiatorName={NAME}\0SessionType=Discovery\0\0\0\0");
    let begun = unit(
        0x43,
        0x04,
        &begun.as_bytes()[..begun.len() / 4 * 4],
        &[(24, 100)],
    );
    [
        kind(
            "NBD: reads of 32 MiB, never taken",
            "0.5 MB",
            true,
            &[flags.clone(), go.clone()],
            request(0, 32 << 20),
        ),
        kind(
            "NBD: 63 INFO options that ask 30,000 times for a description",
            "57 MB",
            true,
            &[flags.clone(), infos, go.clone()],
            Vec::new(),
        ),
        Kind {
            vanishes: true,
            ..kind(
                "NBD: leaves in the middle of a write of 32 MiB, again and again",
                "0",
                true,
                &[flags, go, request(1, 32 << 20), vec![0; 1000]],
                Vec::new(),
            )
        },
        kind(
            "iSCSI: REPORT ZONES, never taken",
            "12 GB",
            false,
            &[normal.clone(), ready.clone()],
            zones,
        ),
        kind(
            "iSCSI: `SendTargets=All` 3,000 times in a request, never taken",
            "3.4 GB",
            false,
            std::slice::from_ref(&discovery),
            unit(0x44, 0x80, &all, &[(20, u32::MAX), (24, 100)]),
        ),
        kind(
            "iSCSI: pings with 60 KiB of data, never taken",
            "15 MB",
            false,
            &[discovery],
            unit(0x40, 0x80, &vec![1; 60 << 10], &[(20, u32::MAX), (24, 100)]),
        ),
        kind(
            "iSCSI: units of a login without end",
            "1.8 GB in 8 s",
            false,
            &[begun],
            (0..5000).flat_map(login_unit).collect(),
        ),
        Kind {
            piece: 560,
            ..kind(
                "iSCSI: writes of 32 MiB at 512 bytes a second",
                "32 MB, and others wait for ever",
                false,
                &[normal, ready, write],
                (0..9999).flat_map(data).collect(),
            )
        },
    ]
}

/// A well-behaved client of each protocol.
struct Good {
    nbd: UnixStream,
    iscsi: Initiator,
    waits: Vec<Duration>,
}

impl Good {
    fn new(program: &Program) -> Good {
        let mut nbd = UnixStream::connect(&program.socket).unwrap();
        let limit = Some(Duration::from_secs(60));
        nbd.set_read_timeout(limit).unwrap();
        nbd.write_all(&[&[0, 0, 0, 3], &option(1, b"")[..]].concat())
            .unwrap();
        nbd.read_exact(&mut [0; 18 + 10]).unwrap();
        let stream = TcpStream::connect(&program.portal).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(limit).unwrap();
        let mut iscsi = Initiator::new(stream, 1);
        assert_eq!(iscsi.login(&[&program.target, "SessionType=Normal"]).0, 0);
        iscsi.settle(0);
        Good {
            nbd,
            iscsi,
            waits: Vec::new(),
        }
    }

    /// A read over NBD, then a read and a write over iSCSI that is asked for its data.
    fn act(&mut self) {
        let mut timed = |done: &mut dyn FnMut()| {
            let start = Instant::now();
            done();
            self.waits.push(start.elapsed());
        };
        timed(&mut || {
            self.nbd.write_all(&request(0, 4096)).unwrap();
            self.nbd.read_exact(&mut [0; 16 + 4096]).unwrap();
        });
        timed(&mut || assert_eq!(self.iscsi.ask(0, &ten(0x28, 0, 0, 8), 4096).status, 0));
        timed(&mut || {
            let write = self.iscsi.put(0, &ten(0x2a, 0, 0, 8), &[6; 4096], 0);
            assert_eq!(write.status, 0);
        });
    }
}

/// Lets so many clients of each kind do what they do for some time. Memory that the server has more at its worst, and the time
/// in which 99 of 100 requests of others end, of the median of ten parts of the time.
fn run(kinds: &[usize], each: usize, time: Duration) -> (u64, u64, Duration) {
    let program = Program::start();
    let all = self::kinds(&program.target);
    let mut good = Good::new(&program);
    for _ in 0..100 {
        good.act();
    }
    let before = program.peak();
    let new = |kind| {
        (0..each).map(move |_| Hostile {
            kind,
            socket: None,
            sent: 0,
        })
    };
    let mut crowd: Vec<Hostile> = kinds.iter().flat_map(|i| new(&all[*i])).collect();
    let parts = (0..10).map(|_| {
        good.waits.clear();
        let end = Instant::now() + time / 10;
        while Instant::now() < end {
            // Each acts once in a second, in small groups.
            let size = crowd.len().div_ceil(100);
            for group in crowd.chunks_mut(size) {
                let next = Instant::now() + Duration::from_millis(10);
                group.iter_mut().for_each(|client| client.act(&program));
                good.act();
                while Instant::now() < next {
                    std::thread::sleep(Duration::from_millis(1));
                    good.act();
                }
            }
        }
        good.waits.sort_unstable();
        good.waits[good.waits.len() * 99 / 100]
    });
    let mut parts: Vec<Duration> = parts.collect();
    parts.sort_unstable();
    (before, program.peak() - before, parts[5])
}

#[test]
fn what_is_held_for_clients_is_bounded() {
    headstack_live::process::allow_sockets();
    let is_long = cases(1) > 1;
    let seconds = std::env::var("HEADSTACK_LOAD_SECONDS").map(|s| s.parse().unwrap());
    let (each, seconds) = match is_long {
        true => (125, seconds.unwrap_or(600)),
        false => (4, 1),
    };
    println!("| client | held before | held now, at most | others wait, 99 % |\n|---|---|---|---|");
    for (i, kind) in kinds("").iter().enumerate() {
        let time = Duration::from_secs(seconds).div_f64(if is_long { 20.0 } else { 2.0 });
        let (_, held, wait) = run(&[i], each, time);
        let of_each = held / each as u64;
        println!(
            "| {} | {} | {} kB | {:.1} ms |",
            kind.does,
            kind.before,
            of_each / 1000,
            wait.as_secs_f64() * 1e3
        );
        assert!(
            of_each <= HELD,
            "{}: {of_each} bytes for a client, need at most {HELD}",
            kind.does
        );
    }
    let everyone: Vec<usize> = (0..8).collect();
    let (before, held, wait) = run(&everyone, each, Duration::from_secs(seconds));
    println!(
        "| all, {} clients | | {} MiB in all, {} MiB before | {:.1} ms |",
        8 * each,
        held / MIB,
        before / MIB,
        wait.as_secs_f64() * 1e3
    );
    assert!(before + held <= ALL_HELD, "{} MiB", (before + held) / MIB);
    assert!(!is_long || wait <= MOST_WAIT, "others wait for {wait:?}");
}
