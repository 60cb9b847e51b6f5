//! Servers under test: in a thread of the test or as a program, and what of their data must be there.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Waits for something that happens soon, for a minute at most.
///
/// # Panics
/// It has not happened.
pub fn soon<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A server in a thread; it ends with the test.
#[derive(Debug)]
pub struct Served<T> {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<T>>,
}

impl<T: Send + 'static> Served<T> {
    /// Runs `serve`, which ends once `stop` is set.
    pub fn start(stop: Arc<AtomicBool>, serve: impl FnOnce() -> T + Send + 'static) -> Served<T> {
        Served { stop, thread: Some(std::thread::spawn(serve)) }
    }

    /// Ends the server, and returns what it did.
    ///
    /// # Panics
    /// It has panicked.
    pub fn end(mut self) -> T {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().expect("it ends once").join().expect("a server without panic")
    }
}

impl<T> Drop for Served<T> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A program that does not outlive its test.
#[derive(Debug)]
pub struct Program {
    /// The process.
    pub child: Child,
    out: Option<BufReader<ChildStdout>>,
}

impl Program {
    /// Starts it without standard input; what it prints is kept for [`Program::line`].
    ///
    /// # Panics
    /// It cannot be started.
    pub fn start(command: &mut Command) -> Program {
        let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = started.unwrap_or_else(|e| panic!("{command:?}: {e}"));
        let out = child.stdout.take().map(BufReader::new);
        Program { child, out }
    }

    /// The next line that it prints, without its end; empty if there is none.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.as_mut().expect("its output").read_line(&mut line).expect("text");
        line.trim_end().into()
    }

    /// What it prints until its output is closed.
    pub fn rest(&mut self) -> String {
        let mut rest = String::new();
        self.out.as_mut().expect("its output").read_to_string(&mut rest).expect("text");
        rest
    }

    /// What is in its standard error, which must be piped.
    pub fn errors(&mut self) -> String {
        let mut all = String::new();
        let mut pipe = self.child.stderr.take().expect("a pipe");
        pipe.read_to_string(&mut all).expect("text");
        all
    }

    /// Sends it a signal, such as `TERM`.
    ///
    /// # Panics
    /// There is no such process.
    pub fn signal(&self, name: &str) {
        let number = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &number]).status();
        assert!(sent.expect("kill").success(), "{name} to {number}");
    }

    /// Sends it a signal and waits for its end.
    pub fn end(&mut self, signal: &str) -> ExitStatus {
        self.signal(signal);
        self.ended()
    }

    /// Waits for its end.
    pub fn ended(&mut self) -> ExitStatus {
        soon("the program ends", || self.child.try_wait().expect("a child"))
    }

    /// Hundredths of a second of processor time that it has taken.
    pub fn processor_time(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("it lives");
        let fields: Vec<&str> = text.rsplit(')').next().expect("fields").split(' ').collect();
        [12, 13].iter().map(|i| fields[*i].parse::<u64>().expect("a number")).sum()
    }

    /// Its peak memory in bytes.
    pub fn peak_bytes(&self) -> u64 {
        crate::memory::peak_bytes_of(&self.child.id().to_string()).expect("a program that lives")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What blocks of 512 bytes may hold: each write has a number of its own, which is in each of its blocks with the block's.
#[derive(Debug, Default)]
pub struct Shadow {
    blocks: BTreeMap<u64, Held>,
    last: u64,
}

/// Numbers of writes, 0 for zeroes.
#[derive(Debug, Clone, Default)]
struct Held {
    /// One of these is what is read.
    seen: BTreeSet<u64>,
    /// One of these is there after a loss of power.
    kept: BTreeSet<u64>,
    /// Of clients that have left: these may come at any time.
    afloat: BTreeSet<u64>,
}

impl Shadow {
    /// The data of a new write to these blocks, and its number.
    pub fn data(&mut self, blocks: Range<u64>) -> (u64, Vec<u8>) {
        self.last += 1;
        let block = |lba| [self.last, lba, !self.last].map(u64::to_le_bytes).concat().into_iter().cycle().take(512);
        (self.last, blocks.flat_map(block).collect())
    }

    fn each(&mut self, blocks: Range<u64>) -> impl Iterator<Item = &mut Held> {
        for lba in blocks.clone() {
            self.blocks.entry(lba).or_insert_with(|| Held {
                seen: [0].into(),
                kept: [0].into(),
                afloat: BTreeSet::new(),
            });
        }
        self.blocks.range_mut(blocks).map(|(_, held)| held)
    }

    /// A write of this number, or zeroes, was sent: it may happen.
    pub fn may_be(&mut self, blocks: Range<u64>, number: u64) {
        self.each(blocks).for_each(|held| {
            held.seen.insert(number);
            held.kept.insert(number);
        });
    }

    /// The same of a client that has left.
    pub fn is_afloat(&mut self, blocks: Range<u64>, number: u64) {
        self.each(blocks).for_each(|held| held.afloat.extend([number]));
    }

    /// The server has ended: nothing is under way.
    pub fn ended(&mut self) {
        for held in self.blocks.values_mut() {
            held.seen.extend(&held.afloat);
            held.kept.extend(&std::mem::take(&mut held.afloat));
        }
    }

    /// It was acknowledged: it has happened, and if `forced` it survives everything.
    pub fn is(&mut self, blocks: Range<u64>, number: u64, forced: bool) {
        self.each(blocks).for_each(|held| {
            held.seen = [number].into();
            held.kept.insert(number);
            if forced {
                held.kept = [number].into();
            }
        });
    }

    /// A flush that began after everything else had ended has ended.
    pub fn flushed(&mut self) {
        self.blocks.values_mut().for_each(|held| held.kept.clone_from(&held.seen));
    }

    /// Power was lost: any of what was not flushed may be there.
    pub fn lost(&mut self) {
        self.blocks.values_mut().for_each(|held| held.seen.clone_from(&held.kept));
    }

    /// Data that were read while nothing was written there: they are what may be there, and from now on nothing else is.
    ///
    /// # Panics
    /// They are other data.
    pub fn read(&mut self, first: u64, data: &[u8]) {
        for (lba, block) in (first..).zip(data.chunks(512)) {
            let word = |i: usize| u64::from_le_bytes(block[8 * i..8 * i + 8].try_into().expect("8 bytes"));
            let number = word(0);
            let is_whole = block.chunks(24).all(|c| *c == block[..c.len()]);
            let is_its = if number == 0 { block.iter().all(|b| *b == 0) } else { (word(1), word(2)) == (lba, !number) };
            assert!(is_whole && is_its, "block {lba}: got {block:?}, need data of one write to it");
            for held in self.each(lba..lba + 1) {
                let is_known = held.seen.contains(&number) || held.afloat.contains(&number);
                assert!(is_known, "block {lba}: got write {number}, need one of {held:?}");
                held.seen = [number].into();
            }
        }
    }
}
