//! Clients that want as much as they can get, of both protocols at once: what the server holds for them, and how long a
//! well-behaved client waits meanwhile.
//!
//! In `make test` some seconds with few clients. In a thorough run 1,000 clients for ten minutes, or for
//! `HEADSTACK_LOAD_SECONDS`; server and test each need 1,100 open files (`ulimit -Hn`).

use crate::iscsi::initiator::{login, parts, sixteen, ten, unit, Initiator};
use crate::iscsi::zones::zoned_file;
use headstack_testkit::cases;
use headstack_testkit::nbd::{option, request, READ, WRITE};
use headstack_testkit::rig::Program;
use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Most bytes for a client: what it has not taken and what is not understood, in buffers of up to twice their bytes, and
/// 4,096 requests with what the simulated drive knows of them.
pub const HELD: u64 = 2 * ((512 + 66) << 10) + 4096 * 768;
/// Most memory of a server with 1,000 such clients.
const ALL_HELD: u64 = 256 << 20;
/// Longest time of 99 of 100 requests of a well-behaved client.
const MOST_WAIT: Duration = Duration::from_millis(5);
/// What clients do, and what was held before there were bounds. None of them ever reads; the first three speak NBD.
pub const KINDS: [(&str, &str); 8] = [
    ("NBD: reads of 32 MiB", "1.2 MB each"),
    ("NBD: asks for 1.9 million descriptions", "57 MB each"),
    (LEAVES, "0"),
    ("iSCSI: REPORT ZONES of 67,056 zones", "12 GB"),
    ("iSCSI: asks for all targets, 3,000 times", "3.4 GB"),
    ("iSCSI: pings with 60 KiB of data", "15 MB each"),
    ("iSCSI: a login that does not end", "1.8 GB in 8 s"),
    (SLOW, "all room for writes"),
];
const LEAVES: &str = "NBD: leaves in a write, again and again";
const SLOW: &str = "iSCSI: writes of 32 MiB at 512 B/s";

/// The program with a drive of 67,056 zones; it ends with the test.
struct Loaded {
    program: Program,
    iscsi: String,
    nbd: String,
    target: String,
}

impl Loaded {
    fn start() -> Loaded {
        let file = zoned_file("exos-x18", "256 MiB", 35_156_656_128);
        // One that takes a gigabyte ends, and the test with it, not the machine.
        let limited = "ulimit -v 1000000; exec \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", limited, "sh", env!("CARGO_BIN_EXE_headstack-target")]).arg(file.path());
        command.args(["--speed", "0", "--iscsi", "127.0.0.1:0", "--nbd", "127.0.0.1:0"]);
        let mut program = Program::start(command.stderr(Stdio::null()));
        let [nbd, iscsi] = [(); 2].map(|()| program.line());
        let (portal, target) = parts(&iscsi);
        let nbd = nbd.split('/').nth(2).unwrap().into();
        Loaded { nbd, iscsi: portal.into(), target: target.into(), program }
    }
}

/// An immediate command, so that the number of the next one stays.
fn command(flags: u8, cdb: [u8; 16], expected: u32, tag: u32) -> Vec<u8> {
    let fields = [(16, tag), (20, expected), (24, 100)];
    let mut unit = unit(0x41, flags, &[], &fields);
    unit[32..48].copy_from_slice(&cdb);
    unit
}

/// What a kind of clients sends first, and then again and again.
pub fn script(kind: &str, target: &str) -> (Vec<u8>, Vec<u8>) {
    let begun = |options: &[u8]| [&[0, 0, 0, 3], options, &option(7, &[0; 6])].concat();
    let normal = [
        login(0x87, &format!("TargetName={target}\0SessionType=Normal")),
        // It is told of a unit attention.
        command(0x80, [0; 16], 0, 1),
    ];
    let (normal, discovery) = (normal.concat(), login(0x87, "SessionType=Discovery"));
    let ping = [(20, u32::MAX), (24, 100)];
    match KINDS.iter().position(|(does, _)| *does == kind).unwrap() {
        0 => (begun(&[]), request(0, READ, 0, 0, 32 << 20)),
        1 => {
            let kinds = [0, 2].repeat(30_000);
            let info = option(6, &[&[0, 0, 0, 0, 0x75, 0x30], &kinds[..]].concat());
            (begun(&info.repeat(63)), Vec::new())
        }
        2 => ([begun(&[]), request(0, WRITE, 0, 0, 32 << 20), vec![0; 999]].concat(), Vec::new()),
        3 => {
            let report = sixteen(0x95, 0, 0, u32::MAX, 0);
            (normal, command(0xc1, report, u32::MAX, 2))
        }
        4 => (discovery, unit(0x44, 0x80, &b"SendTargets=All\0".repeat(3000), &ping)),
        5 => (discovery, unit(0x40, 0x80, &vec![1; 60 << 10], &ping)),
        6 => {
            let keys = |i: u32| (0..100).map(move |j| format!("X-{i}-{j}=1\0"));
            let more = |i| unit(0x43, 4, keys(i).collect::<String>().as_bytes(), &[(24, 100)]);
            (login(4, "SessionType=Discovery"), (0..9999).flat_map(more).collect())
        }
        _ => {
            let write = sixteen(0x8a, 0, 0, 0xffff, 0);
            let write = command(0xa1, write, 0xffff * 512, 3);
            let place = |i: u32| [(16, 3), (20, 1), (36, i), (40, 512 * i)];
            let data = (0..9999).flat_map(|i| unit(0x05, 0, &[5; 512], &place(i)));
            ([normal, write].concat(), data.collect())
        }
    }
}

struct Hostile<'a> {
    kind: &'static str,
    script: &'a (Vec<u8>, Vec<u8>),
    socket: Option<TcpStream>,
    sent: usize,
}

impl Hostile<'_> {
    /// Sends what the socket takes, and no more than this kind sends at once.
    fn act(&mut self, program: &Loaded) {
        let (first, then) = self.script;
        let socket = self.socket.get_or_insert_with(|| {
            self.sent = 0;
            let is_nbd = self.kind.starts_with("NBD");
            let address = if is_nbd { &program.nbd } else { &program.iscsi };
            let socket = TcpStream::connect(address).unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        });
        let mut left = if self.kind == SLOW { 560 } else { 256 << 10 };
        while left > 0 && (self.sent < first.len() || !then.is_empty()) {
            let rest = match self.sent.checked_sub(first.len()) {
                None => &first[self.sent..],
                Some(n) => &then[n % then.len()..],
            };
            match socket.write(&rest[..rest.len().min(left)]) {
                Ok(n) => (self.sent, left) = (self.sent + n, left - n),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return self.socket = None,
            }
        }
        if self.kind == LEAVES {
            self.socket = None;
        }
    }
}

/// One who reads and writes.
struct Good {
    session: Initiator,
    waits: Vec<Duration>,
}

impl Good {
    fn new(program: &Loaded) -> Good {
        let mut session = Initiator::start(&program.iscsi, &program.target, 1, &[]);
        session.settle(0);
        Good { session, waits: Vec::new() }
    }

    /// A read, and a write that is asked for its data.
    fn act(&mut self) {
        let begin = Instant::now();
        assert_eq!(self.session.ask(0, &ten(0x28, 0, 0, 8), 4096).status, 0);
        self.waits.push(begin.elapsed());
        let begin = Instant::now();
        let write = self.session.put(0, &ten(0x2a, 0, 0, 8), &[6; 4096], 0);
        assert_eq!(write.status, 0);
        self.waits.push(begin.elapsed());
    }
}

/// So many clients of each of these kinds do what they do for some time. Returns the most memory of the server, what of it
/// came with them, and the time in which 99 of 100 requests of others end: the median of ten parts of the time.
fn run(kinds: &[(&'static str, &str)], each: usize, time: Duration) -> (u64, u64, Duration) {
    let program = Loaded::start();
    let mut good = Good::new(&program);
    (0..100).for_each(|_| good.act());
    let before = program.program.peak_bytes();
    let script = |kind: &(&'static str, &str)| (kind.0, script(kind.0, &program.target));
    let scripts: Vec<_> = kinds.iter().map(script).collect();
    let new = |i: usize| Hostile {
        kind: scripts[i % kinds.len()].0,
        script: &scripts[i % kinds.len()].1,
        socket: None,
        sent: 0,
    };
    let mut crowd: Vec<Hostile> = (0..each * kinds.len()).map(new).collect();
    let part = |_| {
        good.waits.clear();
        let end = Instant::now() + time / 10;
        while Instant::now() < end {
            // A thousand clients act once in a second.
            for group in crowd.chunks_mut(10) {
                let next = Instant::now() + Duration::from_millis(10);
                group.iter_mut().for_each(|client| client.act(&program));
                while good.waits.is_empty() || Instant::now() < next {
                    good.act();
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
        good.waits.sort_unstable();
        good.waits[good.waits.len() * 99 / 100]
    };
    let mut parts: Vec<Duration> = (0..10).map(part).collect();
    parts.sort_unstable();
    (program.program.peak_bytes(), program.program.peak_bytes() - before, parts[5])
}

#[test]
fn what_is_held_for_clients_is_bounded() {
    headstack_target::process::allow_sockets();
    let is_long = cases(1) > 1;
    let seconds = std::env::var("HEADSTACK_LOAD_SECONDS").map_or(600, |s| s.parse().unwrap());
    let (each, all_time) = if is_long { (125, Duration::from_secs(seconds)) } else { (4, Duration::from_secs(1)) };
    println!("| client, never reads | held before | held now | others' p99 |\n|---|---|---|---|");
    for kind in KINDS {
        let (_, held, wait) = run(&[kind], each, all_time / if is_long { 20 } else { 2 });
        let held = held / each as u64;
        println!("| {} | {} | {} kB each | {wait:.1?} |", kind.0, kind.1, held / 1000);
        assert!(held <= HELD, "{}: got {held} bytes, need {HELD} or less", kind.0);
    }
    let (held, _, wait) = run(&KINDS, each, all_time);
    let (clients, mebibytes) = (8 * each, held >> 20);
    println!("| {clients} of all kinds | | {mebibytes} MiB, the whole server | {wait:.1?} |");
    assert!(held <= ALL_HELD, "got {mebibytes} MiB");
    assert!(!is_long || wait <= MOST_WAIT, "others wait for {wait:?}");
}
