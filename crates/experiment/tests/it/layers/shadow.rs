//! The data-shadowing oracle: members with real contents execute a volume's plans, and every read must return
//! what was written last.
//!
//! Blocks are 64-bit words. The oracle uses nothing of the volume but the reported steps: the reads, and the
//! kind of each written block (data of the request, parity by read-modify-write or reconstruct-write, a
//! repair). It computes every written block from what the same request has read, with its own table of the
//! layout. A word that is needed and was not read fails the test.

use super::mock::{request, Mock};
use super::world::{word, Disk, Level, Shape, Words, World, CHUNK, UNIT};
use headstack_block::layer::volume::plan::Step;
use headstack_block::layer::{raid1, raid10, raid5, Branch, Setting, Tree, VolumeSetting};
use headstack_block::{Clock, Member};
use headstack_drive::Command;
use headstack_schema::read_table;
use headstack_testkit::commands::sum;
use headstack_testkit::SplitMix;
use headstack_units::{Bandwidth, Time};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

/// One write as the host saw it: its place in the order of submissions and completions.
struct Written {
    id: u64,
    from: u64,
    blocks: u64,
    start: u64,
    end: Option<u64>,
    failed: bool,
}

struct Reading {
    from: u64,
    blocks: u64,
    start: u64,
}

struct Trial {
    seed: u64,
    volume: Tree,
    world: Arc<Mutex<World>>,
    noise: SplitMix,
    now: Time,
    /// Number of submissions and completions so far.
    turn: u64,
    next_id: u64,
    writes: Vec<Written>,
    reads: HashMap<u64, Reading>,
    flushes: HashMap<u64, ()>,
    /// Failed requests are allowed, because more members failed than the level tolerates.
    wild: bool,
    errors: u64,
    checked: u64,
}

impl Trial {
    fn new(seed: u64, level: Level, n: u64, rmw_level: u64, wild: bool) -> Trial {
        let mut noise = SplitMix(seed);
        // Some members have several windows of the rebuild.
        let chunks = [10, 10, 10, 100][noise.below(4) as usize];
        let member_blocks = chunks * CHUNK + 1;
        let chunk = format!("{} B", CHUNK * 512);
        let parameters = match level {
            Level::Raid1 => serde_json::json!({}),
            Level::Raid10 { near, far, offset } => {
                serde_json::json!({ "near": near, "far": far, "offset": offset, "chunk": chunk })
            }
            Level::Raid5 { left, symmetric } => serde_json::json!({
                "layout": format!("{}-{}", if left { "left" } else { "right" },
                    if symmetric { "symmetric" } else { "asymmetric" }),
                "chunk": chunk, "unit": format!("{} B", UNIT * 512), "rmw_level": rmw_level, "stripe_cache": seed % 4 > 0,
            }),
        };
        let serde_json::Value::Object(mut params) = parameters else { panic!("a table") };
        let policies = ["first", "round-robin", "nearest", "fewest-pending", "md-raid1"];
        if !matches!(level, Level::Raid5 { .. }) {
            let policy = policies[noise.below(policies.len() as u64) as usize];
            params.insert("read_policy".into(), policy.into());
        }
        for key in ["rebuild_at_once", "rebuild_request"] {
            let windows = 1 + noise.below(3);
            params.insert(key.into(), format!("{} KiB", 64 * windows).into());
        }
        let world = Arc::new(Mutex::new(World {
            shape: Shape::new(level, n, member_blocks, 0),
            contents: vec![HashMap::new(); n as usize],
            bad: vec![HashMap::new(); n as usize],
            effects: BTreeMap::new(),
            seen: HashMap::new(),
            numbers: HashMap::new(),
            last_number: 0,
            steps: HashMap::new(),
            operation_of: HashMap::new(),
            writes: HashMap::new(),
            noise: SplitMix(noise.draw()),
        }));
        let disks = (0..n as u32).map(|member| {
            let disk = Disk { member, world: world.clone(), words: HashMap::new() };
            let servers = 1 + noise.below(3) as usize;
            Mock::new(member_blocks, servers, member, disk).branch()
        });
        let below: Vec<Branch> = disks.collect();
        let sizes = vec![member_blocks; n as usize];
        let built = match level {
            Level::Raid1 => read_table(&params).and_then(|p| raid1::volume(sizes, &p)),
            Level::Raid10 { .. } => read_table(&params).and_then(|p| raid10::volume(sizes, &p)),
            Level::Raid5 { .. } => read_table(&params).and_then(|p| raid5::volume(sizes, &p)),
        };
        let mut volume = built.unwrap_or_else(|e| panic!("{level:?} of {n}: {e}"));
        let told = world.clone();
        volume.listen(Box::new(move |step: &Step| {
            let mut world = told.lock().expect("the world");
            let number = world.number(step);
            if let Some(request) = step.request {
                world.operation_of.insert(request, number);
            }
            let key = (step.io.member, step.id);
            world.steps.insert(key, (number, step.clone()));
        }));
        let volume = Tree::over(vec![Branch::new(Box::new(volume), below)]);
        let blocks = volume.logical_units()[0];
        world.lock().unwrap().shape = Shape::new(level, n, member_blocks, blocks);
        Trial {
            seed,
            volume,
            world,
            noise,
            now: Time::ZERO,
            turn: 0,
            next_id: 1,
            writes: Vec::new(),
            reads: HashMap::new(),
            flushes: HashMap::new(),
            wild,
            errors: 0,
            checked: 0,
        }
    }

    fn submit(&mut self, command: Command, from: u64, blocks: u64) {
        let id = self.next_id;
        self.next_id += 1;
        self.turn += 1;
        match command {
            Command::Flush => {
                self.flushes.insert(id, ());
            }
            Command::Read => {
                let start = self.turn;
                self.reads.insert(id, Reading { from, blocks, start });
            }
            _ => {
                self.world.lock().unwrap().writes.insert(id, (from, blocks));
                let start = self.turn;
                let written = Written { id, from, blocks, start, end: None, failed: false };
                self.writes.push(written);
            }
        }
        self.volume.submit_to(self.now, request(id, command, from, blocks as u32));
    }

    fn random_request(&mut self) {
        let size = self.volume.logical_units()[0];
        let from = self.noise.below(size);
        let most = [1, 2 * UNIT, CHUNK, 4 * CHUNK][self.noise.below(4) as usize];
        let blocks = 1 + self.noise.below(most.min(size - from));
        // Half of all requests are to few addresses, so that they overlap.
        let from = match self.noise.below(2) {
            0 => from % (2 * CHUNK).min(size - blocks + 1),
            _ => from,
        };
        match self.noise.below(20) {
            0 => self.submit(Command::Flush, 0, 0),
            1..=8 => self.submit(Command::Read, from, blocks),
            9 => self.submit(Command::WriteThrough, from, blocks),
            _ => self.submit(Command::Write, from, blocks),
        }
    }

    fn under_way(&self) -> usize {
        let writes = self.writes.iter().filter(|w| w.end.is_none()).count();
        writes + self.reads.len() + self.flushes.len()
    }

    /// Advances the volume by one event and checks the reported steps.
    fn step(&mut self) {
        let next = self.volume.next_event();
        assert!(next != Time::NEVER && next >= self.now, "{next:?} {:?}", self.now);
        self.now = next;
        let mut all = Vec::new();
        self.volume.advance(Time(next.0 + 1), &mut |done| all.push(*done));
        for done in all {
            assert_eq!(sum(&done.components), done.completion.0 - done.arrival.0, "shares of {done:?}");
            assert!(done.completion <= self.now);
            self.turn += 1;
            self.errors += u64::from(done.error.is_some());
            assert!(self.wild || done.error.is_none(), "{done:?}");
            if self.flushes.remove(&done.id).is_some() {
                continue;
            }
            match self.reads.remove(&done.id) {
                Some(reading) if done.error.is_none() => self.check(done.id, &reading),
                Some(_) => {}
                None => {
                    let turn = self.turn;
                    let write = self.writes.iter_mut().find(|w| w.id == done.id);
                    let write = write.expect("a write");
                    assert_eq!(write.end, None, "ends twice");
                    write.end = Some(turn);
                    write.failed = done.error.is_some();
                }
            }
            let mut world = self.world.lock().unwrap();
            if let Some(operation) = world.operation_of.remove(&done.id) {
                world.seen.remove(&operation);
            }
        }
    }

    /// Whether a read that began at `start` may return this word for block `v`.
    fn is_allowed(&self, start: u64, v: u64, found: u64) -> bool {
        let of_v = || self.writes.iter().filter(|w| (w.from..w.from + w.blocks).contains(&v));
        // A write hides those that ended before it began, if it succeeded before the read began.
        let hides = |w: &Written, other_end: u64| !w.failed && w.end.is_some_and(|e| e < start) && other_end < w.start;
        let hidden = |end: u64| of_v().any(|w| hides(w, end));
        let initial = found == 0 && !hidden(0);
        initial
            || of_v().any(|w| {
                let end = if w.failed { u64::MAX } else { w.end.unwrap_or(u64::MAX) };
                word(w.id, v) == found && !hidden(end)
            })
    }

    fn check(&mut self, id: u64, reading: &Reading) {
        let mut world = self.world.lock().unwrap();
        world.apply(self.now);
        let empty = Words::new();
        let seen = world.operation_of.get(&id).and_then(|o| world.seen.get(o));
        let seen = seen.unwrap_or(&empty);
        for v in reading.from..reading.from + reading.blocks {
            let places = &world.shape.places[v as usize];
            let found = match places.iter().find_map(|p| seen.get(p)) {
                Some(word) => *word,
                None => {
                    assert!(world.shape.has_parity(), "block {v} was not read");
                    world.others(seen, places[0].0, places[0].1)
                }
            };
            assert!(
                self.is_allowed(reading.start, v, found),
                "seed {}: block {v} of request {id} holds something else",
                self.seed
            );
            self.checked += 1;
        }
    }

    /// Completes everything in flight.
    fn settle(&mut self) {
        while self.under_way() > 0 {
            self.step();
        }
    }

    /// Waits until nothing is in flight at the members and the rebuild, if there is one, is done.
    fn settle_members(&mut self) {
        while self.volume.next_event() != Time::NEVER {
            self.step();
        }
        let mut world = self.world.lock().unwrap();
        world.apply(Time::NEVER);
    }

    fn set(&mut self, setting: Setting) {
        let now = self.now;
        let result = self.volume.set(now, &[0], &setting);
        result.unwrap_or_else(|e| panic!("seed {}: {setting:?}: {e}", self.seed));
    }

    fn random_requests(&mut self, n: u64) {
        for _ in 0..n {
            while self.under_way() as u64 > self.noise.below(12) {
                self.step();
            }
            self.random_request();
        }
    }

    fn read_all(&mut self) {
        let size = self.volume.logical_units()[0];
        let mut from = 0;
        while from < size {
            let blocks = (1 + self.noise.below(3 * CHUNK)).min(size - from);
            self.submit(Command::Read, from, blocks);
            from += blocks;
        }
        self.settle();
    }

    /// Copies agree, and parity is right, for all blocks that are not stale.
    fn check_members(&mut self) {
        self.settle_members();
        let stale = self.volume.results()[0].counts["stale_bytes"];
        assert_eq!(stale, 0, "seed {}", self.seed);
        let world = self.world.lock().unwrap();
        let at = |m: u32, lba: u64| world.contents[m as usize].get(&lba).copied().unwrap_or(0);
        if world.shape.has_parity() {
            for lba in 0..world.shape.member_blocks / CHUNK * CHUNK {
                let sum = (0..world.shape.n as u32).fold(0, |sum, m| sum ^ at(m, lba));
                assert_eq!(sum, 0, "seed {}: parity of row {lba}", self.seed);
            }
        }
        for places in &world.shape.places {
            let words: Vec<u64> = places.iter().map(|(m, lba)| at(*m, *lba)).collect();
            assert!(words.windows(2).all(|w| w[0] == w[1]), "seed {}: {places:?}", self.seed);
        }
    }

    /// Overwrites the contents of a member that has nothing in flight.
    fn garble(&mut self, member: u32) {
        let mut world = self.world.lock().unwrap();
        for lba in 0..world.shape.member_blocks {
            let word = world.noise.draw();
            world.contents[member as usize].insert(lba, word);
        }
    }
}

fn levels() -> Vec<(Level, u64, u64)> {
    let mut list = vec![(Level::Raid1, 2, 1), (Level::Raid1, 3, 1)];
    for (near, far, offset, n) in
        [(2, 1, false, 4), (2, 1, false, 3), (1, 2, false, 3), (1, 2, true, 4), (2, 2, false, 5)]
    {
        list.push((Level::Raid10 { near, far, offset }, n, 1));
    }
    for (i, (left, symmetric)) in [(true, true), (true, false), (false, true), (false, false)].into_iter().enumerate() {
        for n in [3, 4, 6] {
            list.push((Level::Raid5 { left, symmetric }, n, (i as u64 + n) % 3));
        }
    }
    list
}

fn seeds(few: u64) -> std::ops::Range<u64> {
    let wanted = std::env::var("SHADOW_SEEDS").ok().and_then(|n| n.parse().ok());
    0..wanted.unwrap_or(few)
}

/// Under load, one member at a time leaves, comes back with its data or empty, and is rebuilt: no request
/// fails, and every read returns what was written last.
#[test]
fn volumes_keep_what_was_written_while_members_come_and_go() {
    for seed in seeds(12) {
        for (i, (level, n, rmw)) in levels().into_iter().enumerate() {
            println!("seed {seed}, {level:?} of {n} members, rmw_level {rmw}");
            let mut t = Trial::new(seed * 1000 + i as u64, level, n, rmw, false);
            t.random_requests(60);
            for round in 0..4 {
                let member = t.noise.below(n) as u32;
                t.set(Setting::Volume(VolumeSetting::MemberGone(member)));
                // Sometimes it comes back before its requests have ended.
                t.random_requests(if round == 2 { 0 } else { 40 });
                t.set(Setting::Volume(VolumeSetting::RebuildRate(Bandwidth(0.0))));
                if round % 2 == 0 {
                    t.set(Setting::Volume(VolumeSetting::MemberBack(member)));
                } else {
                    t.settle_members();
                    t.garble(member);
                    t.set(Setting::Volume(VolumeSetting::MemberReplaced(member)));
                }
                t.random_requests(40);
                t.set(Setting::Volume(VolumeSetting::RebuildRate(Bandwidth(1e9))));
                t.random_requests(40);
                t.settle();
                t.check_members();
            }
            t.settle();
            t.read_all();
            for member in 0..n as u32 {
                t.set(Setting::Volume(VolumeSetting::MemberGone(member)));
                t.read_all();
                t.settle_members();
                t.set(Setting::Volume(VolumeSetting::MemberBack(member)));
            }
            assert_eq!(t.errors, 0);
            assert!(t.checked > 500, "{}", t.checked);
        }
    }
}

/// More members fail than the level tolerates, and blocks become unreadable: requests may fail, but every
/// successful read returns what was written.
#[test]
fn volumes_never_give_anything_else_than_what_was_written() {
    let (mut errors, mut checked) = (0, 0);
    for seed in seeds(12) {
        for (i, (level, n, rmw)) in levels().into_iter().enumerate() {
            println!("seed {seed}, {level:?} of {n} members, rmw_level {rmw}");
            let mut t = Trial::new(seed * 1000 + 500 + i as u64, level, n, rmw, true);
            let mut gone = vec![false; n as usize];
            for _ in 0..30 {
                t.random_requests(12);
                let member = t.noise.below(n) as u32;
                match t.noise.below(8) {
                    0..=2 if !gone[member as usize] => {
                        t.set(Setting::Volume(VolumeSetting::MemberGone(member)));
                        gone[member as usize] = true;
                    }
                    0..=4 => {
                        // It may have left because of an error, or be about to come back.
                        let _ = t.volume.set(t.now, &[0], &Setting::Volume(VolumeSetting::MemberBack(member)));
                        gone[member as usize] = false;
                    }
                    5 => {
                        let rate = [Bandwidth(0.0), Bandwidth(1e8)][t.noise.below(2) as usize];
                        t.set(Setting::Volume(VolumeSetting::RebuildRate(rate)));
                    }
                    _ => {
                        let mut world = t.world.lock().unwrap();
                        for _ in 0..3 {
                            let size = world.shape.member_blocks;
                            let lba = world.noise.below(size);
                            world.bad[member as usize].insert(lba, ());
                        }
                    }
                }
            }
            t.settle();
            t.read_all();
            errors += t.errors;
            checked += t.checked;
        }
    }
    assert!(errors > 0, "nothing ever failed: the trial is too tame");
    assert!(checked > 10_000, "{checked}");
}
