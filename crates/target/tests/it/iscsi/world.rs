//! Live servers from a seed: a drive, clients of both protocols, wrong ones and such as stall or vanish, ends and losses of
//! power. What is read is what was written, each command is answered once, and what clients make the server hold is bounded.

use crate::iscsi::initiator::{path, sixteen, toml, Answer, Initiator, Unit};
use crate::iscsi::load::{script, HELD, KINDS};
use headstack_testkit::damage::{corpus, damage};
use headstack_testkit::nbd::{self, request, Client, FLUSH, READ, TRIM, WRITE, WRITE_ZEROES};
use headstack_testkit::rig::{soon, Program, Shadow};
use headstack_testkit::world::World;
use headstack_testkit::{cases, first_seed, iscsi, SplitMix, XorShift};
use rustix::net::{recv, RecvFlags};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::ops::Range;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::{NamedTempFile, TempDir};

/// Blocks that are written, of which the last are those of the drive.
const BLOCKS: u64 = 2048;
/// Most bytes of 21 commands of a well-behaved client, and of what is kept for a loss of power.
const OWN: u64 = 8 << 20;

/// Two equal drives, or mirrors of two: one for those who keep to the rules, one for others.
struct Case {
    seed: u64,
    draw: SplitMix,
    shadow: Shadow,
    /// Whether right commands may fail: zones are written in order, and surfaces may be out of use.
    may_fail: bool,
    /// Whether power is lost, and connections with it.
    loses: bool,
    /// The first block that is written.
    first: u64,
    folder: TempDir,
    shelf: NamedTempFile,
    /// Commands that ended well, and losses that were seen.
    done: u64,
    lost: u64,
    /// Sessions of iSCSI since the program was started.
    sessions: u8,
}

/// The program, and where it listens.
struct Running {
    program: Program,
    portal: String,
    targets: [String; 2],
    socket: PathBuf,
    warm: u64,
}

/// A client that keeps to the rules.
enum Good {
    Nbd(Client),
    /// And how many commands it may send at once.
    Iscsi(Initiator, usize),
}

/// What a well-behaved client asks for: blocks, and what is done to them.
#[derive(Debug, Clone)]
enum Asked {
    Read(Range<u64>),
    /// The number of the write, its data, and whether it is forced to the medium.
    Write(Range<u64>, u64, Vec<u8>, bool),
    Zero(Range<u64>),
    Flush,
}

/// How it ended (`None`: TASK SET FULL, where commands of others that may have left hold the drive's places), and what was
/// read.
type Ended = (Option<bool>, Vec<u8>);

impl Good {
    /// A client of the second drive.
    fn new(running: &Running, case: &mut Case) -> Good {
        match case.draw.below(3) {
            0 => {
                case.sessions += 1;
                let mut session = Initiator::start(&running.portal, &running.targets[1], case.sessions, &[]);
                // TEST UNIT READY, until it was told of all that has happened before.
                let window = soon("a drive that is ready", || {
                    let unit = session.command_header(0, 0x81, &[0; 6], 0);
                    session.send(&unit, &[]);
                    let said = session.next().expect("an answer");
                    (said.header[3] == 0).then(|| said.u32(32).wrapping_sub(said.u32(28)) as usize + 1)
                });
                Good::Iscsi(session, window)
            }
            kind => Good::Nbd(Client::of(nbd::greet(nbd::connect(&running.socket)), kind == 1, "1")),
        }
    }

    /// Sends one command; its tag.
    fn send(&mut self, asked: &Asked) -> u64 {
        match self {
            Good::Nbd(client) => {
                let (flags, command, blocks, data): (u16, u16, Range<u64>, &[u8]) = match asked {
                    Asked::Read(blocks) => (0, READ, blocks.clone(), &[]),
                    Asked::Write(blocks, _, data, forced) => (u16::from(*forced), WRITE, blocks.clone(), data),
                    Asked::Zero(blocks) => (0, WRITE_ZEROES, blocks.clone(), &[]),
                    Asked::Flush => (0, FLUSH, 0..0, &[]),
                };
                let length = (blocks.end - blocks.start) * 512;
                client.send(flags, command, blocks.start * 512, length as u32, data)
            }
            Good::Iscsi(session, _) => {
                let of = |blocks: &Range<u64>| (blocks.start, (blocks.end - blocks.start) as u32);
                let (flags, cdb, expected) = match asked {
                    Asked::Read(blocks) => {
                        let (lba, n) = of(blocks);
                        (0xc1, sixteen(0x88, 0, lba, n, 0), n * 512)
                    }
                    Asked::Write(blocks, _, _, forced) => {
                        let (lba, n) = of(blocks);
                        (0xa1, sixteen(0x8a, u8::from(*forced) << 3, lba, n, 0), n * 512)
                    }
                    // WRITE SAME(16) of a block of zeroes.
                    Asked::Zero(blocks) => {
                        let (lba, n) = of(blocks);
                        (0xa1, sixteen(0x93, 0, lba, n, 0), 512)
                    }
                    // SYNCHRONIZE CACHE(16) of everything.
                    Asked::Flush => (0x81, sixteen(0x91, 0, 0, 0, 0), 0),
                };
                let unit = session.command_header(0, flags, &cdb, expected);
                session.send(&unit, &[]);
                u64::from(session.itt)
            }
        }
    }

    /// Takes the answers of these commands, by their tags, until all have come or the connection ends. Each is answered once.
    fn answers(&mut self, mut open: BTreeMap<u64, Asked>) -> Vec<(Asked, Option<Ended>)> {
        let mut ended = Vec::new();
        let mut parts: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        while !open.is_empty() {
            let (tag, how) = match self {
                Good::Nbd(client) => match client.next_reply() {
                    Some((tag, error, data)) => (tag, (Some(error == 0), data)),
                    None => break,
                },
                Good::Iscsi(session, _) => match session.next() {
                    Some(unit) => match part(session, &unit, &open, &mut parts) {
                        Some(answer) => {
                            let how = (answer.status != 0x28).then_some(answer.status == 0);
                            (u64::from(unit.u32(16)), (how, answer.data))
                        }
                        None => continue,
                    },
                    None => break,
                },
            };
            let asked = open.remove(&tag).unwrap_or_else(|| panic!("an answer to {tag}, which is none of {open:?}"));
            ended.push((asked, Some(how)));
        }
        ended.extend(open.into_values().map(|asked| (asked, None)));
        ended
    }
}

/// Takes what comes until a server ends the connection of a client that will send nothing more.
fn left(_: std::io::Result<()>, mut stream: impl Read) {
    let mut answers = vec![0; 1 << 16];
    while matches!(stream.read(&mut answers), Ok(n) if n > 0) {}
}

/// Takes a unit of one of these commands: the answer, once it has ended.
fn part(
    session: &mut Initiator,
    unit: &Unit,
    open: &BTreeMap<u64, Asked>,
    parts: &mut BTreeMap<u64, Vec<u8>>,
) -> Option<Answer> {
    let tag = u64::from(unit.u32(16));
    match unit.opcode() {
        0x31 => {
            match &open[&tag] {
                Asked::Write(_, _, data, _) => session.deliver(unit, data),
                Asked::Zero(_) => session.deliver(unit, &[0; 512]),
                other => panic!("data of {other:?} are asked for"),
            }
            None
        }
        0x25 => {
            let got = parts.entry(tag).or_default();
            assert_eq!(unit.u32(40) as usize, got.len(), "the offset of data");
            got.extend_from_slice(&unit.data);
            (unit.header[1] & 1 != 0).then(|| unit.ends(parts.remove(&tag).unwrap_or_default()))
        }
        0x21 => Some(unit.ends(parts.remove(&tag).unwrap_or_default())),
        other => panic!("unit {other:02x}"),
    }
}

impl Case {
    /// `None`, with the reason, if there is no such drive.
    fn of(seed: u64) -> Option<Case> {
        let world = World::of(seed, "").map_err(|e| println!("seed {seed}: {e}")).ok()?;
        let (spec, blocks) = (world.spec(), world.design.capacity_blocks());
        if blocks < BLOCKS {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("drawn.toml"), toml::to_string(spec).unwrap()).unwrap();
        let mut draw = SplitMix(!seed);
        let zoned = spec.mapping.get("model").is_some_and(|m| m == "zoned");
        let may_fail = zoned || !spec.parallelism.faults.is_empty();
        // Of a volume it is not known what is in the buffers of its drives: only flushes settle.
        let pair = match !may_fail && draw.one_in(2) {
            true => "count = 4\nlayers = [{ name = \"raid1\", of = 2 }]",
            false => "count = 2",
        };
        let shelf = toml(&format!(
            "[workload]\nsynthetic = {{ n_requests = 1, rate = \"1/s\" }}\n[[system]]\nname = \"pair\"\ndrive = \"{}\"\n{pair}\n",
            folder.path().join("drawn.toml").display()
        ));
        let first = draw.of(&[0, (blocks / 2).min(blocks - BLOCKS), blocks - BLOCKS]);
        let (shadow, loses) = (Shadow::default(), draw.one_in(2));
        Some(Case { seed, draw, shadow, may_fail, loses, first, folder, shelf, done: 0, lost: 0, sessions: 0 })
    }

    fn start(&mut self) -> Running {
        let [socket, store] = ["socket", "store"].map(|name| self.folder.path().join(name));
        let _ = std::fs::remove_file(&socket);
        let mut command = Command::new(env!("CARGO_BIN_EXE_headstack-target"));
        command.arg(path(&self.shelf)).args(["--speed", "0", "--iscsi", "127.0.0.1:0", "--iscsi-apart", "--nbd"]);
        command.arg(format!("unix:{}", socket.display())).arg("--store").arg(store);
        if self.loses {
            command.args(["--torn-writes", "--power-loss-seed", &self.seed.to_string()]);
            for _ in 0..3 {
                command.args(["--power-loss-at-write", &(1 + self.draw.below(150)).to_string()]);
            }
        }
        let mut program = Program::start(command.stderr(Stdio::piped()));
        assert!(program.line().starts_with("nbd+unix:"));
        let urls = [(); 2].map(|()| program.line());
        let of = |url: &String| iscsi::parts(url).1.to_string();
        let (portal, targets) = (iscsi::parts(&urls[0]).0.into(), [of(&urls[0]), of(&urls[1])]);
        self.sessions = 0;
        let warm = program.peak_bytes();
        Running { program, portal, targets, socket, warm }
    }

    /// Some blocks: few or many, anywhere in those that are written.
    fn blocks(&mut self) -> Range<u64> {
        let most = self.draw.of(&[1, 8, 64, 700]);
        let n = 1 + self.draw.below(most);
        let first = self.first + self.draw.below(BLOCKS - n);
        first..first + n
    }

    fn asked(&mut self) -> Asked {
        match self.draw.below(16) {
            0 => Asked::Flush,
            1 => Asked::Zero(self.blocks()),
            2..=7 => Asked::Read(self.blocks()),
            _ => {
                let (blocks, forced) = (self.blocks(), self.draw.one_in(8));
                let (number, data) = self.shadow.data(blocks.clone());
                Asked::Write(blocks, number, data, forced)
            }
        }
    }

    /// Commands of one client at once: one of any kind, or several whose blocks are apart.
    fn several(&mut self) -> Vec<Asked> {
        let mut all = vec![self.asked()];
        for _ in 0..[0, 3, 20][self.draw.below(3) as usize] {
            let next = self.asked();
            let place = |asked: &Asked| match asked {
                Asked::Read(blocks) | Asked::Zero(blocks) | Asked::Write(blocks, ..) => blocks.clone(),
                Asked::Flush => 0..u64::MAX,
            };
            let of = place(&next);
            if all.iter().map(place).all(|other| other.end <= of.start || of.end <= other.start) {
                all.push(next);
            }
        }
        all
    }

    /// One client sends all of these; they may happen.
    fn send(&mut self, good: &mut Good, mut all: Vec<Asked>) -> BTreeMap<u64, Asked> {
        if let Good::Iscsi(_, window) = good {
            all.truncate(*window);
        }
        for asked in &all {
            match asked {
                Asked::Write(blocks, number, ..) => self.shadow.may_be(blocks.clone(), *number),
                Asked::Zero(blocks) => self.shadow.may_be(blocks.clone(), 0),
                _ => {}
            }
        }
        all.into_iter().map(|asked| (good.send(&asked), asked)).collect()
    }

    /// Takes the answers; whether all have come.
    fn take(&mut self, good: &mut Good, open: BTreeMap<u64, Asked>) -> bool {
        let mut all_there = true;
        for (asked, how) in good.answers(open) {
            match how {
                Some(how) => self.ended(asked, how),
                None => all_there = false,
            }
        }
        all_there
    }

    /// A command has ended so.
    fn ended(&mut self, asked: Asked, (how, data): Ended) {
        let Some(is_good) = how else { return };
        self.done += u64::from(is_good);
        assert!(is_good || self.may_fail, "{asked:?} fails");
        match asked {
            Asked::Read(blocks) if is_good => {
                assert_eq!(data.len() as u64, (blocks.end - blocks.start) * 512);
                self.shadow.read(blocks.start, &data);
            }
            Asked::Write(blocks, number, _, forced) if is_good => self.shadow.is(blocks, number, forced),
            Asked::Zero(blocks) if is_good => self.shadow.is(blocks, 0, false),
            Asked::Flush if is_good => self.shadow.flushed(),
            _ => {}
        }
    }

    /// One client does this; whether its connection is still there.
    fn exchange(&mut self, good: &mut Good, all: Vec<Asked>) -> bool {
        let open = self.send(good, all);
        self.take(good, open)
    }

    /// Wrong requests are refused, and change nothing.
    fn mistake(&mut self, good: &mut Good) -> bool {
        let far = u64::MAX / 512 - 8;
        match good {
            Good::Nbd(client) => {
                let (command, data): (u16, &[u8]) =
                    self.draw.of(&[(READ, &[][..]), (WRITE, &[1; 512]), (TRIM, &[]), (77, &[])]);
                client.send(0, command, far * 512, 512, data);
                match client.next_reply() {
                    Some((_, error, _)) => assert!(error == 22 || error == 28, "error {error}"),
                    None => return false,
                }
            }
            Good::Iscsi(session, _) => {
                // READ and WRITE beyond the end (21h/00h), and an operation code of nobody (20h/00h).
                let (opcode, code) = self.draw.of(&[(0x88, 0x21), (0x8a, 0x21), (0xd7, 0x20)]);
                let unit = session.command_header(0, 0x81, &sixteen(opcode, 0, far, 1, 0), 0);
                session.send(&unit, &[]);
                match session.may_answer(&[]) {
                    Some(answer) => assert_eq!(answer.sense, Some((5, code, 0)), "{opcode:x}h"),
                    None => return false,
                }
            }
        }
        true
    }

    /// A write whose client leaves before all of its data were sent: it is none. Or after that: it may be one.
    fn vanish(&mut self, running: &Running) {
        let mut good = Good::new(running, self);
        let blocks = self.blocks();
        let (number, data) = self.shadow.data(blocks.clone());
        let is_whole = self.draw.one_in(2);
        if is_whole {
            self.shadow.is_afloat(blocks.clone(), number);
        }
        match &mut good {
            Good::Nbd(client) => {
                let length = data.len() - if is_whole { 0 } else { 1 + self.draw.below(511) as usize };
                let request = request(0, WRITE, 9, blocks.start * 512, data.len() as u32);
                let _ = client.stream.write_all(&[&request, &data[..length]].concat());
            }
            Good::Iscsi(session, _) => {
                // It is asked for its data, and may send them.
                let cdb = sixteen(0x8a, 0, blocks.start, (blocks.end - blocks.start) as u32, 0);
                let unit = session.command_header(0, 0xa1, &cdb, data.len() as u32);
                session.send(&unit, &[]);
                let r2t = session.next().filter(|unit| is_whole && unit.opcode() == 0x31);
                r2t.iter().for_each(|r2t| session.deliver(r2t, &data));
            }
        }
        // A loss of power at this write must not come to a client that connects next.
        if self.loses {
            match good {
                Good::Nbd(client) => left(client.stream.shutdown(Shutdown::Write), client.stream),
                Good::Iscsi(session, _) => left(session.stream.shutdown(Shutdown::Write), session.stream),
            }
        }
    }

    /// Bytes of a session, damaged or not, to the other drive.
    fn hostile(&mut self, running: &Running) {
        let is_nbd = self.draw.one_in(2);
        let all = corpus(if is_nbd { "nbd_session" } else { "iscsi_session" });
        let mut bytes = all[self.draw.below(all.len() as u64) as usize].1.clone();
        let mut rng = XorShift::seeded(self.draw.draw());
        if !self.draw.one_in(4) {
            damage(&mut bytes, 40, &[], &mut rng);
        }
        if is_nbd {
            let mut bad = nbd::connect(&running.socket);
            let _ = bad.write_all(&bytes);
            left(bad.shutdown(Shutdown::Write), bad);
        } else {
            let mut bad = iscsi::connect(&running.portal);
            // Its first unit is a login to a target that is not here.
            let starts = iscsi::units(&bytes);
            let first = starts[1.min(starts.len() - 1)];
            let login = iscsi::login(0x87, &format!("TargetName={}\0SessionType=Normal", running.targets[0]));
            let _ = bad.write_all(&[&login, &bytes[first..]].concat());
            left(bad.shutdown(Shutdown::Write), bad);
        }
    }

    /// A client that asks for much and takes nothing, or that stops in the middle of a request; it stays.
    fn stall(&mut self, running: &Running) -> Box<dyn Write> {
        let kind = self.draw.of(&[0, 0, 1, 4, 5, 6]);
        let (first, then) = script(KINDS[kind].0, &running.targets[0]);
        let bytes = match kind {
            0 if self.draw.one_in(2) => [&first, &request(0, WRITE, 1, 0, 1 << 20)[..]].concat(),
            0 => [first, request(0, READ, 1, 0, 1 << 20).repeat(1000)].concat(),
            // More than sockets hold.
            _ => [first, then.repeat((64_usize << 20).div_ceil(then.len().max(1)))].concat(),
        };
        // It goes on as long as the server takes something.
        let patience = Some(Duration::from_millis(100));
        if kind < 2 {
            let mut stream = nbd::connect(&running.socket);
            stream.set_write_timeout(patience).unwrap();
            let _ = stream.write_all(&bytes);
            Box::new(stream)
        } else {
            let mut stream = iscsi::connect(&running.portal);
            stream.set_write_timeout(patience).unwrap();
            let _ = stream.write_all(&bytes);
            Box::new(stream)
        }
    }

    /// Everything that was ever written is what it may be.
    fn look(&mut self, running: &Running) {
        let mut good = Good::new(running, self);
        let all = self.first..self.first + BLOCKS;
        for first in all.clone().step_by(512) {
            let is_there = self.exchange(&mut good, vec![Asked::Read(first..(first + 512).min(all.end))]);
            if !is_there {
                good = self.after_loss(running);
            }
        }
    }

    /// The connection has ended: power was lost, or the server has a fault.
    fn after_loss(&mut self, running: &Running) -> Good {
        assert!(self.loses, "the server has closed a connection");
        self.lost += 1;
        self.shadow.lost();
        Good::new(running, self)
    }

    /// Reads that the server has taken when it is told to end have their answers before it does: more than sockets hold.
    fn last_reads(&mut self, running: &Running) {
        let mut last = Client::of(nbd::greet(nbd::connect(&running.socket)), false, "1");
        let blocks = self.first..self.first + BLOCKS;
        let (mut open, mut all) = (BTreeMap::new(), Vec::new());
        for _ in 0..8 {
            let (cookie, bytes) = last.begin(0, READ, blocks.start * 512, BLOCKS as u32 * 512);
            open.insert(cookie, Asked::Read(blocks.clone()));
            all.extend(bytes);
        }
        // They come together, so that all were taken before the first answer.
        last.stream.write_all(&all).unwrap();
        recv(&last.stream, &mut [0; 1], RecvFlags::PEEK).unwrap();
        running.program.signal("TERM");
        assert!(self.take(&mut Good::Nbd(last), open), "reads without an answer");
    }

    /// From a start of the program to its end.
    fn life(&mut self, ends: &str) {
        let mut running = self.start();
        self.look(&running);
        let mut good: Vec<Good> = (0..3).map(|_| Good::new(&running, self)).collect();
        let mut stalled = Vec::new();
        for _ in 0..40 {
            let nth = self.draw.below(3) as usize;
            let mut is_there = true;
            match self.draw.below(12) {
                0 => self.vanish(&running),
                1 => self.hostile(&running),
                2 if stalled.len() < 8 => stalled.push(self.stall(&running)),
                3 => is_there = self.mistake(&mut good[nth]),
                _ => {
                    let all = self.several();
                    is_there = self.exchange(&mut good[nth], all);
                }
            }
            if !is_there {
                // All connections have ended with this one.
                let first = self.after_loss(&running);
                good = vec![first, Good::new(&running, self), Good::new(&running, self)];
            }
        }
        // Three that keep to the rules, those that stall, and two that have just left.
        let (held, clients) = (running.program.peak_bytes() - running.warm, 5 + stalled.len() as u64);
        let most = OWN + clients * HELD;
        assert!(held <= most, "got {held} bytes for {clients} clients, need at most {most}");
        // Power may have been lost since the last answer.
        let block = vec![Asked::Read(self.first..self.first + 1)];
        if !self.exchange(&mut good[0], block) {
            good[0] = self.after_loss(&running);
        }
        match ends {
            "TERM" => self.last_reads(&running),
            _ => {
                let all = self.several();
                self.send(&mut good[0], all);
                running.program.signal(ends);
                // Or with these writes.
                if self.loses {
                    self.shadow.lost();
                }
            }
        }
        drop(stalled);
        let ended = running.program.ended();
        assert_eq!(ended.success(), ends == "TERM", "{}", running.program.errors());
        self.shadow.ended();
    }
}

#[test]
fn live_servers_keep_what_they_promise() {
    headstack_target::process::allow_sockets();
    let mut failed = Vec::new();
    for mut case in (first_seed(0)..).filter_map(Case::of).take(cases(6) as usize) {
        let lives = ["KILL", "TERM", "KILL"];
        let checked = catch_unwind(AssertUnwindSafe(|| lives.iter().for_each(|ends| case.life(ends))));
        let (seed, done) = (case.seed, case.done);
        println!("seed {seed}: {done} commands, {} losses of power, fails: {}", case.lost, checked.is_err());
        if checked.is_err() {
            failed.push(seed);
        }
        assert!(done > 50 || case.may_fail || checked.is_err(), "seed {seed} did little");
    }
    assert!(failed.is_empty(), "HEADSTACK_SEED: seeds {failed:?}");
}
