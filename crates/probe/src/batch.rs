//! A batch of commands, when each is issued, and what came of them.

use crate::{Described, ProbeError};
use headstack_schema::SpecError;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Most commands of a batch.
pub const MOST_COMMANDS: usize = 1 << 24;
/// Most blocks of a command.
pub const MOST_BLOCKS: u32 = 65_535;
/// Most commands of a closed loop that are outstanding.
pub const MOST_DEPTH: usize = 1024;
/// Longest wait, ns: a day.
pub const LONGEST_WAIT_NS: u64 = 86_400_000_000_000;

/// When the commands of a batch are issued.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Pace {
    /// Each so many nanoseconds after the one before is done; the first one after the call.
    Waits(Vec<u64>),
    /// So many are outstanding.
    Closed(usize),
    /// All at once.
    #[default]
    Together,
    /// Each so many nanoseconds after the call, whatever is outstanding; in order of time.
    At(Vec<u64>),
}

/// Commands in the order in which they are issued.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    pub(crate) lba: Vec<u64>,
    pub(crate) blocks: Vec<u32>,
    pub(crate) pace: Pace,
    pub(crate) fua: bool,
    /// What is written; `None`: the commands are reads.
    pub(crate) writes: Option<Arc<Scratch>>,
}

/// Blocks that may be written, and what they contain: only that is written into them.
#[derive(Debug, PartialEq, Eq)]
pub struct Scratch {
    /// Its first block.
    pub first: u64,
    /// What it contains.
    pub bytes: Vec<u8>,
    /// Bytes of a block.
    pub block_bytes: u32,
}

impl Scratch {
    /// Its blocks.
    pub fn blocks(&self) -> u64 {
        (self.bytes.len() / self.block_bytes as usize) as u64
    }

    /// What some blocks contain; `None` if one is not of the range.
    pub fn data(&self, lba: u64, blocks: u32) -> Option<&[u8]> {
        let block = u64::from(self.block_bytes);
        let from = usize::try_from(lba.checked_sub(self.first)?.checked_mul(block)?).ok()?;
        self.bytes.get(from..from.checked_add(blocks as usize * block as usize)?)
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum Status {
    /// Well.
    #[default]
    Good = 0,
    /// The medium could not be read.
    Medium = 1,
    /// In another way.
    Other = 2,
}

/// When each command was issued and done, in the order of the batch. Nanoseconds since the target was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answers {
    /// When it was issued.
    pub issued_ns: Vec<u64>,
    /// When the host knew that it was done.
    pub done_ns: Vec<u64>,
    /// How it ended.
    pub status: Vec<Status>,
}

fn wrong(key: &str, got: impl ToString, need: impl ToString) -> ProbeError {
    SpecError::new(key, got.to_string(), need.to_string()).into()
}

impl Batch {
    /// Reads of `blocks` logical blocks each, from the addresses `lba` on.
    ///
    /// # Errors
    /// Lists of different lengths, sizes or waits that are too large, addresses past the last block.
    pub fn reads(of: &Described, lba: Vec<u64>, blocks: Vec<u32>, pace: Pace, fua: bool) -> Result<Batch, ProbeError> {
        let n = lba.len();
        if n > MOST_COMMANDS || blocks.len() != n {
            let got = format!("{n} addresses and {} sizes", blocks.len());
            return Err(wrong("read", got, format!("as many of both, at most {MOST_COMMANDS}")));
        }
        for (lba, blocks) in lba.iter().zip(&blocks) {
            if !(1..=MOST_BLOCKS).contains(blocks) {
                return Err(wrong("read.blocks", blocks, format!("1 to {MOST_BLOCKS}")));
            }
            if lba.checked_add(u64::from(*blocks)).is_none_or(|end| end > of.blocks) {
                let need = format!("blocks below {}", of.blocks);
                return Err(wrong("read.lba", format!("{lba} and {blocks} blocks"), need));
            }
        }
        match &pace {
            Pace::Waits(waits) | Pace::At(waits) => {
                if waits.len() != n || waits.iter().any(|w| *w > LONGEST_WAIT_NS) {
                    let need = format!("{n}, each at most a day");
                    return Err(wrong("read.times", format!("{} times", waits.len()), need));
                }
            }
            Pace::Closed(depth) if !(1..=MOST_DEPTH).contains(depth) => {
                return Err(wrong("read.depth", depth, format!("1 to {MOST_DEPTH}")));
            }
            Pace::Closed(_) | Pace::Together => {}
        }
        if let Pace::At(times) = &pace {
            if !times.is_sorted() {
                return Err(wrong("read.at_s", "times out of order", "times that grow"));
            }
        }
        Ok(Batch { lba, blocks, pace, fua, writes: None })
    }

    /// The same commands as writes of what the blocks contain.
    ///
    /// # Errors
    /// A block outside the scratch range.
    pub fn writing(self, scratch: Arc<Scratch>) -> Result<Batch, ProbeError> {
        for (lba, blocks) in self.lba.iter().zip(&self.blocks) {
            if scratch.data(*lba, *blocks).is_none() {
                let need = format!("the scratch range, {} blocks from {} on", scratch.blocks(), scratch.first);
                return Err(wrong("write.lba", format!("{lba} and {blocks} blocks"), need));
            }
        }
        Ok(Batch { writes: Some(scratch), ..self })
    }

    /// What the command at this place writes; nothing if it reads.
    pub(crate) fn data(&self, i: usize) -> &[u8] {
        let scratch = self.writes.as_ref();
        scratch.and_then(|s| s.data(self.lba[i], self.blocks[i])).unwrap_or_default()
    }

    /// Number of commands.
    pub fn len(&self) -> usize {
        self.lba.len()
    }

    /// Whether there are no commands.
    pub fn is_empty(&self) -> bool {
        self.lba.is_empty()
    }
}

/// Gives out the commands of a batch when they are due. It takes no memory after it was made.
pub(crate) struct Issuer<'a> {
    pub batch: &'a Batch,
    /// When the next commands may be issued, earliest first.
    slots: BinaryHeap<Reverse<u64>>,
    next: usize,
    /// Commands that were issued and are not done.
    pub outstanding: usize,
    answers: Answers,
}

impl<'a> Issuer<'a> {
    /// Of a batch that begins at `start`.
    pub fn new(batch: &'a Batch, start: u64) -> Issuer<'a> {
        let n = batch.len();
        let mut slots = BinaryHeap::with_capacity(n + 1);
        match &batch.pace {
            Pace::Waits(waits) => slots.extend(waits.first().map(|w| Reverse(start + w))),
            Pace::Closed(depth) => slots.extend((0..n.min(*depth)).map(|_| Reverse(start))),
            Pace::Together => slots.extend((0..n).map(|_| Reverse(start))),
            Pace::At(times) => slots.extend(times.iter().map(|t| Reverse(start + t))),
        }
        let answers = Answers { issued_ns: vec![0; n], done_ns: vec![0; n], status: vec![Status::Good; n] };
        Issuer { batch, slots, next: 0, outstanding: 0, answers }
    }

    /// When the next command is due; `None` if that depends on an answer, or there is none.
    #[inline]
    pub fn due(&self) -> Option<u64> {
        match self.next < self.batch.len() {
            true => self.slots.peek().map(|slot| slot.0),
            false => None,
        }
    }

    /// Issues the next command, which is due, at `at`. Returns its place in the batch.
    #[inline]
    pub fn issue(&mut self, at: u64) -> usize {
        self.slots.pop();
        let i = self.next;
        self.next += 1;
        self.outstanding += 1;
        self.answers.issued_ns[i] = at;
        i
    }

    /// A command is done.
    #[inline]
    pub fn done(&mut self, i: usize, at: u64, status: Status) {
        self.outstanding -= 1;
        self.answers.done_ns[i] = at;
        self.answers.status[i] = status;
        match &self.batch.pace {
            Pace::Waits(waits) => self.slots.extend(waits.get(self.next).map(|w| Reverse(at + w))),
            Pace::Closed(_) => self.slots.push(Reverse(at)),
            Pace::Together | Pace::At(_) => {}
        }
    }

    /// Whether all commands are done.
    pub fn is_over(&self) -> bool {
        self.outstanding == 0 && self.next == self.batch.len()
    }

    /// What came of the commands.
    pub fn answers(self) -> Answers {
        self.answers
    }
}
