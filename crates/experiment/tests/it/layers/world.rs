//! Members with real contents, which execute the plans that a volume reports.

use super::mock::{Behaviour, Waiting};
use headstack_block::layer::volume::plan::{Content, Piece, Step};
use headstack_block::layer::{ErrorKind, Request};
use headstack_drive::Command;
use headstack_testkit::SplitMix;
use headstack_units::Time;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

/// Blocks of a unit of parity, and units of a chunk.
pub const UNIT: u64 = 2;
pub const CHUNK: u64 = 3 * UNIT;

/// Places of blocks, independently taken from the tables of md's layouts.
#[derive(Clone, Copy, Debug)]
pub enum Level {
    Raid1,
    Raid10 { near: u64, far: u64, offset: bool },
    Raid5 { left: bool, symmetric: bool },
}

pub struct Shape {
    pub level: Level,
    pub n: u64,
    pub member_blocks: u64,
    /// Copies of each volume block; with parity, its only place.
    pub places: Vec<Vec<(u32, u64)>>,
    /// The volume block that a member's block holds.
    pub holds: HashMap<(u32, u64), u64>,
}

impl Shape {
    pub fn new(level: Level, n: u64, member_blocks: u64, blocks: u64) -> Shape {
        let mut shape = Shape { level, n, member_blocks, places: Vec::new(), holds: HashMap::new() };
        for v in 0..blocks {
            let places = shape.copies(v);
            for place in &places {
                assert!(place.1 < member_blocks, "{level:?} {v} {place:?}");
                assert_eq!(shape.holds.insert(*place, v), None, "{level:?} {v}");
            }
            shape.places.push(places);
        }
        shape
    }

    fn copies(&self, v: u64) -> Vec<(u32, u64)> {
        let n = self.n;
        let (c, inside) = (v / CHUNK, v % CHUNK);
        match self.level {
            Level::Raid1 => (0..n as u32).map(|m| (m, v)).collect(),
            Level::Raid10 { near, far, offset } => {
                let section = self.member_blocks / CHUNK / far;
                let mut list = Vec::new();
                for f in 0..far {
                    for copy in 0..near {
                        let x = c * near + copy;
                        let (disk, row) = (x % n, x / n);
                        let disk = (disk + f * near) % n;
                        let row = if offset { row * far + f } else { row + f * section };
                        list.push((disk as u32, row * CHUNK + inside));
                    }
                }
                list
            }
            Level::Raid5 { .. } => {
                let (s, i) = (c / (n - 1), c % (n - 1));
                vec![(self.data_disk(s, i) as u32, s * CHUNK + inside)]
            }
        }
    }

    fn parity_disk(&self, s: u64) -> u64 {
        match self.level {
            Level::Raid5 { left: true, .. } => (self.n - 1) - s % self.n,
            _ => s % self.n,
        }
    }

    fn data_disk(&self, s: u64, i: u64) -> u64 {
        let p = self.parity_disk(s);
        match self.level {
            Level::Raid5 { symmetric: true, .. } => (p + 1 + i) % self.n,
            _ => i + u64::from(i >= p),
        }
    }

    pub fn has_parity(&self) -> bool {
        matches!(self.level, Level::Raid5 { .. })
    }
}

/// The number of an operation that serves no request.
pub const NOBODY: u64 = u64::MAX;

/// The number of all that is done for rows that writes have joined; operations have others.
const ROWS: u64 = 0;

pub type Words = HashMap<(u32, u64), u64>;

/// The effect of a service on a member's contents.
pub enum Effect {
    Read {
        operation: u64,
        lba: u64,
        blocks: u32,
    },
    Write {
        operation: u64,
        lba: u64,
        words: Vec<u64>,
        /// New data of the same rows, also those of a member that is gone.
        known: Known,
    },
}

/// Words of members: member, block, word.
pub type Known = Vec<(u32, u64, u64)>;

pub struct World {
    pub shape: Shape,
    pub contents: Vec<HashMap<u64, u64>>,
    /// Blocks that cannot be read until they are written.
    pub bad: Vec<HashMap<u64, ()>>,
    pub effects: BTreeMap<(u64, u32, u64), Effect>,
    /// Words read by each operation, by a number that is never reused.
    pub seen: HashMap<u64, Words>,
    /// Number of each operation in progress, and the request that it serves.
    pub numbers: HashMap<u32, (u64, Option<u64>)>,
    pub last_number: u64,
    /// Steps reported and not yet begun, by member and id.
    pub steps: HashMap<(u32, u64), (u64, Step)>,
    /// The operation that serves each request.
    pub operation_of: HashMap<u64, u64>,
    /// Blocks of each write request: first block, number.
    pub writes: HashMap<u64, (u64, u64)>,
    pub noise: SplitMix,
}

/// The word that a request writes to a block.
pub fn word(request: u64, v: u64) -> u64 {
    SplitMix(request.wrapping_mul(1_000_003).wrapping_add(v)).draw()
}

impl World {
    pub fn apply(&mut self, until: Time) {
        while let Some(entry) = self.effects.first_entry() {
            if entry.key().0 > until.0 {
                return;
            }
            let ((_, member, _), effect) = entry.remove_entry();
            match effect {
                Effect::Read { operation, lba, blocks } => {
                    let seen = self.seen.entry(operation).or_default();
                    for lba in lba..lba + u64::from(blocks) {
                        let word = self.contents[member as usize].get(&lba).copied();
                        seen.insert((member, lba), word.unwrap_or(0));
                    }
                }
                Effect::Write { operation, lba, words, known } => {
                    // What joined rows have read or written is not read again, unless others write the row.
                    let seen = self.seen.entry(ROWS).or_default();
                    if operation == ROWS {
                        seen.extend(known.into_iter().map(|(m, lba, word)| ((m, lba), word)));
                    } else if operation != NOBODY {
                        let rows = lba..lba + words.len() as u64;
                        seen.retain(|place, _| !rows.contains(&place.1));
                    }
                    for (i, word) in words.into_iter().enumerate() {
                        let lba = lba + i as u64;
                        if operation == ROWS {
                            let seen = self.seen.entry(ROWS).or_default();
                            seen.insert((member, lba), word);
                        }
                        self.contents[member as usize].insert(lba, word);
                        self.bad[member as usize].remove(&lba);
                    }
                }
            }
        }
    }

    /// The number of a step's operation. The volume reuses its operations' ids.
    pub fn number(&mut self, step: &Step) -> u64 {
        if step.operation == u32::MAX {
            self.numbers.insert(u32::MAX, (ROWS, None));
            return ROWS;
        }
        let repairs = step.request.is_none() && step.command == Command::Read;
        match self.numbers.get(&step.operation) {
            Some((number, request)) if *request == step.request && !repairs => *number,
            Some((number, None)) if repairs && !self.seen.contains_key(number) => *number,
            _ => {
                self.last_number += 1;
                let number = self.last_number;
                self.numbers.insert(step.operation, (number, step.request));
                number
            }
        }
    }

    pub fn others(&self, seen: &Words, member: u32, lba: u64) -> u64 {
        let others = (0..self.shape.n as u32).filter(|m| *m != member);
        others.fold(0, |sum, m| sum ^ self.need(seen, m, lba))
    }

    fn need(&self, seen: &Words, member: u32, lba: u64) -> u64 {
        *seen.get(&(member, lba)).unwrap_or_else(|| panic!("block {lba} of member {member} was needed and not read"))
    }

    /// The old word of a data block, computed from what the request has read.
    fn old(&self, seen: &Words, content: Content, member: u32, lba: u64) -> u64 {
        match seen.get(&(member, lba)) {
            Some(word) => *word,
            None => {
                assert!(content == Content::RebuildAndWrite, "{member} {lba} was not read");
                self.others(seen, member, lba)
            }
        }
    }

    /// The new word of a block of the volume, if one of the requests that a step writes for has it in its row.
    fn new_word(&self, step: &Step, v: u64, lba: u64) -> Option<u64> {
        let joined = step.writers.iter().filter(|w| w.0.contains(&lba));
        let mut writers = joined.map(|w| w.1).chain(step.request);
        let id = writers.find(|id| {
            let (from, blocks) = self.writes[id];
            (from..from + blocks).contains(&v)
        })?;
        Some(word(id, v))
    }

    /// New data in the rows of a step for joined rows: member, block, word.
    fn known(&self, step: &Step) -> Known {
        let rows = step.io.lba..step.io.lba + u64::from(step.io.blocks);
        let joined = rows.filter(|_| step.operation == u32::MAX);
        let places = joined.flat_map(|lba| (0..self.shape.n as u32).map(move |m| (m, lba)));
        let new = places.filter_map(|(m, lba)| {
            let v = *self.shape.holds.get(&(m, lba))?;
            Some((m, lba, self.new_word(step, v, lba)?))
        });
        new.collect()
    }

    /// The word that a step writes to a block of a member.
    fn written(&self, step: &Step, piece: &Piece, lba: u64, row: Content) -> u64 {
        let empty = Words::new();
        let number = self.numbers[&step.operation].0;
        let seen = self.seen.get(&number).unwrap_or(&empty);
        let new = |v: u64| self.new_word(step, v, lba);
        let member = piece.member;
        match piece.content {
            Content::Repair if self.shape.has_parity() => self.others(seen, member, lba),
            Content::Repair => {
                let v = self.shape.holds[&(member, lba)];
                let copy = self.shape.places[v as usize].iter().find_map(|p| seen.get(p));
                *copy.expect("a repair reads a copy")
            }
            Content::Data => {
                let v = self.shape.holds[&(member, lba)];
                new(v).unwrap_or_else(|| self.old(seen, row, member, lba))
            }
            Content::Old => panic!("old content is never written"),
            way => {
                let data: Vec<(u64, u32)> = (0..self.shape.n as u32)
                    .filter(|m| *m != member)
                    .map(|m| (self.shape.holds[&(m, lba)], m))
                    .collect();
                if way == Content::ReadModifyWrite {
                    let old = self.need(seen, member, lba);
                    data.iter().fold(old, |sum, (v, m)| match new(*v) {
                        Some(word) => sum ^ word ^ self.need(seen, *m, lba),
                        None => sum,
                    })
                } else {
                    data.iter().fold(0, |sum, (v, m)| sum ^ new(*v).unwrap_or_else(|| self.old(seen, way, *m, lba)))
                }
            }
        }
    }

    fn words(&self, step: &Step) -> Vec<u64> {
        let range = step.io.lba..step.io.lba + u64::from(step.io.blocks);
        range
            .map(|lba| {
                let covers = |p: &&Piece| (p.lba..p.lba + u64::from(p.blocks)).contains(&lba);
                let pieces: Vec<&Piece> = step.pieces.iter().filter(covers).collect();
                assert_eq!(pieces.len(), 1, "block {lba} of {step:?}");
                self.written(step, pieces[0], lba, Content::RebuildAndWrite)
            })
            .collect()
    }
}

/// A member with contents.
pub struct Disk {
    pub member: u32,
    pub world: Arc<Mutex<World>>,
    /// The words that its writes will write, by id.
    pub words: HashMap<u64, (Vec<u64>, Known)>,
}

impl Behaviour for Disk {
    fn arrives(&mut self, now: Time, request: &Request) {
        let mut world = self.world.lock().expect("the world");
        world.apply(now);
        let key = (self.member, request.id);
        let (_, step) = world.steps.get(&key).cloned().expect("a step was told");
        assert_eq!((step.io.lba, step.io.blocks), (request.lba, request.blocks));
        if request.command.writes() {
            let words = (world.words(&step), world.known(&step));
            self.words.insert(request.id, words);
        }
    }

    fn pick(&mut self, waiting: &[Waiting]) -> usize {
        let mut world = self.world.lock().expect("the world");
        world.noise.below(waiting.len() as u64) as usize
    }

    fn serve(&mut self, start: Time, request: &Request) -> (Time, Option<ErrorKind>) {
        let mut world = self.world.lock().expect("the world");
        let end = Time(start.0 + world.noise.below(1000));
        let key = (self.member, request.id);
        let (operation, _) = world.steps.remove(&key).expect("a step");
        let (lba, blocks) = (request.lba, request.blocks);
        let effect = match request.command {
            Command::Flush => return (end, None),
            Command::Read => {
                let range = lba..lba + u64::from(blocks);
                let bad = &world.bad[self.member as usize];
                if range.clone().any(|b| bad.contains_key(&b)) {
                    return (end, Some(ErrorKind::Unreachable));
                }
                Effect::Read { operation, lba, blocks }
            }
            _ => {
                let (words, known) = self.words.remove(&request.id).expect("its words");
                Effect::Write { operation, lba, words, known }
            }
        };
        world.effects.insert((end.0, self.member, request.id), effect);
        (end, None)
    }

    /// Half of the members' waiting requests can be aborted; the others continue, and their results are
    /// ignored.
    fn abort(&mut self, request: &Request) -> bool {
        let mut world = self.world.lock().expect("the world");
        let aborts = world.noise.below(2) == 0;
        let key = (self.member, request.id);
        if aborts {
            world.steps.remove(&key);
            self.words.remove(&request.id);
        } else if let Some((number, _)) = world.steps.get_mut(&key) {
            *number = NOBODY;
        }
        aborts
    }
}
