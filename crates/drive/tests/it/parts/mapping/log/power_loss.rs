//! Logs with cleaning and checkpoints are compared with a shadow of the medium. A read finds the last write, counts
//! agree, and after a loss of power at any moment the map can be restored.

use super::{free_in, uneven_disks};
use headstack_drive::layout::Place;
use headstack_drive::mapping::cleaning;
use headstack_drive::mapping::cleaning::Cleaning;
use headstack_drive::mapping::log::recovery::checkpoint_sectors;
use headstack_drive::mapping::log::write::Writer;
use headstack_drive::mapping::log::{Log, Move, Mover};
use headstack_drive::mapping::parameters::{build_policy, LogParameters, Recovery, RecoveryModel};
use headstack_drive::mechanics::{Arm, Mechanics};
use headstack_drive::models::Models;
use headstack_drive::service::pass::{AccessRequest, LayoutPlaces, Places};
use headstack_drive::spec::DriveSpec;
use headstack_testkit::XorShift;
use headstack_units::{Span, Time, Turn};
use std::collections::{BTreeMap, BTreeSet};

/// The content of a slot: the block, the sequence number of its header, and the number of the host's write (0: before
/// the run).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Content {
    block: u64,
    sequence: u64,
    version: u64,
}

/// A write into a slot.
#[derive(Debug, Clone, Copy)]
struct Written {
    track: (u32, u16),
    start: u64,
    end: u64,
    content: Content,
    /// Whether it overwrites the block's only copy.
    in_place: bool,
    /// Whether it is a write of the host.
    host: bool,
}

/// A checkpoint: when it was complete, the highest sequence number when its map was fixed, and the map.
#[derive(Debug, Clone)]
struct Saved {
    complete: u64,
    sequence: u64,
    map: BTreeMap<u64, u64>,
}

/// A log, its drive, and what is on the medium.
struct World {
    m: Mechanics,
    log: Log,
    /// The writes to each slot, in order.
    slots: Vec<Vec<Written>>,
    all: Vec<Written>,
    in_place: u64,
    initial: u64,
    sequence: u64,
    saved: Vec<Saved>,
    /// Data that cleaning has read, by block.
    held: BTreeMap<u64, u64>,
    /// The map of the checkpoint in progress.
    fixed: Option<(u64, BTreeMap<u64, u64>)>,
}

impl World {
    fn new(spec: &DriveSpec, policy: &str, model: RecoveryModel, together: bool) -> World {
        let m = Models::builtin().mechanics(spec, &spec.geometry, Turn(1 << 61));
        let m = m.expect("mechanics");
        let initial = 40;
        let p = LogParameters {
            initial_blocks: initial,
            cleaning: Cleaning { policy: policy.into(), low: 0.9, high: 1.0, ..Cleaning::default() },
            recovery: Recovery { model, every: 25 },
            ..LogParameters::default()
        };
        let write = build_policy(&p, &headstack_drive::mapping::policy::PLUGINS).expect("a policy");
        let mut log = Log::new(&p, &m, &spec.geometry, write, Span::ZERO, together).expect("a log");
        let cleaner = p.cleaning.build(&cleaning::PLUGINS).expect("a cleaner");
        log.clean_with(&p.cleaning, cleaner, &m);
        let first = Saved { complete: 0, sequence: 0, map: (0..initial).map(|b| (b, b)).collect() };
        World {
            slots: vec![Vec::new(); log.slots.slots as usize],
            all: Vec::new(),
            in_place: 0,
            m,
            log,
            initial,
            sequence: 0,
            saved: vec![first],
            held: BTreeMap::new(),
            fixed: None,
        }
    }

    /// The whole content of a slot at a time; `None` if nothing or only a part has been written.
    fn content(&self, slot: u64, at: u64) -> Option<Content> {
        let last = self.slots[slot as usize].iter().rfind(|w| w.start <= at);
        match last {
            Some(w) => (w.end <= at).then_some(w.content),
            None => (slot < self.initial).then_some(Content { block: slot, sequence: 0, version: 0 }),
        }
    }

    /// The block is written to a place from `start` to `end`. For a moved block, `moved` is its version.
    fn put(&mut self, place: &Place, (start, end): (u64, u64), block: u64, moved: Option<u64>) {
        let layout = &self.m.layout;
        let address = layout.address_at(place.cylinder, u32::from(place.head), place.sector);
        let slot = address.expect("an address") >> 3;
        self.sequence += 1;
        let content = Content { block, sequence: self.sequence, version: moved.unwrap_or(self.sequence) };
        let in_place = self.log.counted.n_in_place_writes > self.in_place;
        self.in_place = self.log.counted.n_in_place_writes;
        let written =
            Written { track: (place.cylinder, place.head), start, end, content, in_place, host: moved.is_none() };
        self.slots[slot as usize].push(written);
        self.all.push(written);
    }

    /// The host writes a block with this arm.
    fn write(&mut self, arm: &mut Arm, block: u64, (now, end): (u64, u64)) {
        let order = AccessRequest::plain(block << 3, 8, Time(now));
        let place = Writer(&mut self.log).place(&self.m, &order, 0, arm, Time(now));
        let place = place.expect("a place");
        self.log.pass_ends(Time(end));
        self.put(&place, (now, end), block, None);
        (arm.cylinder, arm.head) = (place.cylinder, place.head);
    }

    /// Cleaning reads or writes a block with this arm. False if it has nothing to do.
    fn clean(&mut self, arm: &mut Arm, (now, end): (u64, u64)) -> bool {
        let Some(next) = self.log.next_move(&self.m, arm, Time(now)) else { return false };
        match next {
            Move::Read(block) => {
                let slot = self.log.map.get(block).expect("a slot");
                let content = self.content(slot, now).expect("a whole copy");
                assert_eq!(content.block, block, "what is moved is the block");
                self.held.insert(block, content.version);
                self.log.read_ends(Time(end));
            }
            Move::Write { block, cylinder, ready } => {
                let order = self.log.order_of(&next, Time(now));
                let mut places = Mover { log: &mut self.log, cylinder, ready };
                let place = places.place(&self.m, &order, 0, arm, Time(now));
                let place = place.expect("a slot of the target");
                assert_eq!(place.cylinder, cylinder);
                let times = (now.max(ready.0), end + ready.since(Time(now)).non_negative());
                self.log.pass_ends(Time(times.1));
                let version = self.held.remove(&block);
                self.put(&place, times, block, version);
                (arm.cylinder, arm.head) = (place.cylinder, place.head);
            }
        }
        true
    }

    /// A part of a checkpoint is written, if one is due.
    fn save(&mut self, arm: &mut Arm, (now, end): (u64, u64)) {
        let complete = self.log.counted.n_checkpoints;
        let begins = self.fixed.is_none();
        let Some(order) = self.log.next_part(&self.m, Time(now)) else { return };
        if begins {
            let blocks = 0..self.log.blocks;
            let map = blocks.filter_map(|b| Some((b, self.log.map.get(b)?)));
            self.fixed = Some((self.sequence, map.collect()));
        }
        let place = LayoutPlaces.place(&self.m, &order, 0, arm, Time(now)).expect("a place");
        assert!(order.sector >= self.log.blocks << 3, "behind all blocks");
        (arm.cylinder, arm.head) = (place.cylinder, place.head);
        self.log.part_ends();
        if self.log.counted.n_checkpoints > complete {
            let (sequence, map) = self.fixed.take().expect("a map");
            self.saved.push(Saved { complete: end, sequence, map });
        }
    }

    /// The tracks that are listed at a time, with the writes since a checkpoint.
    fn listed(&self, saved: &Saved, at: u64) -> BTreeSet<(u32, u16)> {
        let since = self.all.iter().filter(|w| w.start <= at && !w.in_place);
        let since = since.filter(|w| w.content.sequence > saved.sequence);
        since.map(|w| w.track).collect()
    }

    /// The contents of the blocks that are found after a loss of power, from what is on the medium alone.
    fn recovered(&self, model: RecoveryModel, at: u64) -> BTreeMap<u64, Content> {
        let mut found: BTreeMap<u64, Content> = BTreeMap::new();
        let mut claim = |c: Content| {
            let best = found.entry(c.block).or_insert(c);
            if best.sequence < c.sequence {
                *best = c;
            }
        };
        let headers = (0..self.slots.len() as u64).map(|slot| (slot, self.content(slot, at)));
        if model == RecoveryModel::Headers {
            headers.filter_map(|(_, c)| c).for_each(claim);
            return found;
        }
        let saved = self.saved.iter().rfind(|s| s.complete <= at);
        let saved = saved.expect("the first one");
        let listed = self.listed(saved, at);
        for (slot, content) in headers {
            let place = self.m.layout.locate(slot << 3).expect("a place");
            if let (true, Some(c)) = (listed.contains(&(place.cylinder, place.head)), content) {
                if c.sequence > saved.sequence || saved.map.get(&c.block) == Some(&slot) {
                    claim(c);
                }
            }
        }
        for (block, slot) in &saved.map {
            let place = self.m.layout.locate(slot << 3).expect("a place");
            if !listed.contains(&(place.cylinder, place.head)) {
                // The scan does not read the header, but the host will read the data.
                let content = self.content(*slot, at);
                let broken = self.breaks(*block, at);
                if let (Some(c), false) = (content, broken) {
                    assert_eq!(c.block, *block, "slot {slot} at {at}");
                    claim(Content { sequence: 0, ..c });
                }
            }
        }
        found
    }

    /// Whether a loss of power destroys the only copy of a block.
    fn breaks(&self, block: u64, at: u64) -> bool {
        let mut of = self.all.iter().filter(|w| w.content.block == block);
        of.any(|w| w.in_place && w.start <= at && at < w.end)
    }

    /// Whether a version of a block may be found at a time: its write has ended, and no later one that began
    /// then. `None`: nothing is found.
    fn allowed(&self, block: u64, version: Option<u64>, at: u64) -> bool {
        let mut of = self.all.iter().filter(|w| w.host && w.content.block == block);
        let ended = match version {
            None if block < self.initial => return false,
            None | Some(0) => 0,
            Some(v) => match of.clone().find(|w| w.content.version == v) {
                Some(w) if w.end <= at => w.end,
                _ => return false,
            },
        };
        !of.any(|w| w.start >= ended && w.end <= at)
    }

    /// A loss of power at `at`: each block is old or new, and nothing that was acknowledged is lost.
    fn loses_power(&self, model: RecoveryModel, at: u64) {
        let found = self.recovered(model, at);
        for block in 0..self.log.blocks {
            let version = found.get(&block).map(|c| c.version);
            let right = self.allowed(block, version, at) || self.breaks(block, at);
            assert!(right, "block {block} at {at}: version {version:?} is found");
        }
    }

    /// The counts of cleaning, the free slots and the map agree.
    fn agrees(&mut self) {
        let clean = self.log.clean.as_ref().expect("cleaning");
        let segments = &clean.segments;
        let mut used = BTreeSet::new();
        for block in 0..self.log.blocks {
            if let Some(slot) = self.log.map.get(block) {
                assert!(used.insert(slot), "slot {slot} holds two blocks");
                assert_eq!(segments.blocks.get(slot), Some(block));
            }
        }
        let slots = self.slots.len() as u64;
        let blocks = (0..slots).filter(|s| segments.blocks.get(*s).is_some());
        assert_eq!(blocks.count(), used.len(), "slots with a block");
        let on_the_way = self.log.under_way.written.len() + self.log.under_way.released.len();
        let taken: u32 = segments.all().map(|(_, c)| c.used).sum();
        assert_eq!(taken as usize, used.len() + on_the_way);
        let counts: Vec<_> = segments.all().map(|(n, c)| (n, *c)).collect();
        let empty = counts.iter().filter(|(_, c)| c.used == 0).count();
        assert_eq!(segments.empty as usize, empty);
        for (n, c) in counts {
            let free = free_in(&mut self.log, &self.m, n);
            assert_eq!(free, c.slots - c.used, "cylinder {n}");
        }
    }
}

/// The events of a run.
#[derive(Debug, Default)]
struct Did {
    moved: u64,
    in_place: u64,
    saved: usize,
    reads: u64,
}

/// Random writes, reads, moves and parts of checkpoints, with one arm or two at the same time; then losses of
/// power.
fn run(policy: &str, model: RecoveryModel, together: bool, seed: u64) -> Did {
    let mut noise = XorShift::default();
    (0..seed).for_each(|_| {
        noise.below(2);
    });
    let disks = uneven_disks();
    let disk = &disks[(seed / 2) as usize % disks.len()];
    let mut world = World::new(disk, policy, model, together);
    let blocks = world.log.blocks - if together { 20 } else { 0 };
    // Every third disk is filled, so that no slot is free from then on. Others keep some room.
    let full = seed % 3 == 0 && !together;
    let blocks = if full { blocks } else { blocks * 3 / 4 };
    let mut arms = [Arm::default(), Arm::default()];
    arms[1].angle = Turn(1 << 63);
    let (mut free, mut clock, mut did) = ([0u64; 2], 0, Did::default());
    for step in 0..3000u64 {
        let a = usize::from(together && free[1] < free[0]);
        let now = clock.max(free[a]) + noise.below(3) * noise.below(4_000_000);
        clock = now;
        let busy = free.iter().copied().fold(0, u64::max);
        world.log.settle(&world.m, Time(now), Time(busy));
        let end = now + 1_000_000 + noise.below(15_000_000);
        let block = match noise.below(3) {
            _ if full && step < blocks => step,
            0 => noise.below(blocks),
            1 => step % blocks,
            _ => noise.below(blocks / 8),
        };
        match noise.below(20) {
            _ if full && step < blocks => world.write(&mut arms[a], block, (now, end)),
            0..=8 => world.write(&mut arms[a], block, (now, end)),
            9..=12 => {
                if let Some(slot) = world.log.map.get(block) {
                    let content = world.content(slot, now).expect("a whole copy");
                    assert_eq!(content.block, block);
                    assert!(world.allowed(block, Some(content.version), now), "step {step}");
                    did.reads += 1;
                }
            }
            13..=17 => drop(world.clean(&mut arms[a], (now, end))),
            _ => world.save(&mut arms[a], (now, end)),
        }
        free[a] = end;
        if step % 100 == 0 {
            world.agrees();
        }
    }
    world.agrees();
    for _ in 0..15 {
        // At any moment, and next to the start or end of a write.
        let write = world.all[noise.below(world.all.len() as u64) as usize];
        let moments = [write.start, write.end - 1, write.end, noise.below(clock)];
        moments.iter().for_each(|at| world.loses_power(model, *at));
    }
    did.moved = world.log.counted.n_moved_blocks;
    did.in_place = world.log.counted.n_in_place_writes;
    did.saved = world.saved.len() - 1;
    did
}

/// All policies and both models, one arm and two. Seeds 0 to 5.
#[test]
fn nothing_is_lost_when_power_is() {
    for policy in ["greedy", "cost-benefit", "hole-plugging"] {
        for model in [RecoveryModel::Headers, RecoveryModel::Checkpoint] {
            let mut all = Did::default();
            for seed in 0..6 {
                let did = run(policy, model, seed % 2 == 1, seed);
                all.moved += did.moved;
                all.in_place += did.in_place;
                all.saved += did.saved;
                all.reads += did.reads;
            }
            let saves = model == RecoveryModel::Checkpoint;
            assert!(all.moved > 500 && all.reads > 500, "{policy} {model:?}: {all:?}");
            assert!(all.in_place > 0, "{policy} {model:?}: no disk was full: {all:?}");
            assert_eq!(all.saved > 20, saves, "{policy} {model:?}: {all:?}");
        }
    }
}

/// The scan by its closed forms: every track up to the frontier, one turn each with head switches and seeks
/// of one cylinder between them; and the tracks of a checkpoint with those written since.
#[test]
fn scans_take_their_closed_forms() {
    for (spec, model) in
        uneven_disks().iter().flat_map(|s| [(s, RecoveryModel::Headers), (s, RecoveryModel::Checkpoint)])
    {
        let mut world = World::new(spec, "greedy", model, false);
        let (turn, switch) = (world.m.rotation.period_ns.round() as u64, world.m.head_switch.non_negative());
        let mut arm = Arm::default();
        for step in 0..20 {
            world.write(&mut arm, step, (step * 100_000_000, step * 100_000_000 + 1));
        }
        let got = world.log.scan_time(&world.m).expect("a scan").non_negative();
        let seek = |d: u32| match d {
            0 => 0,
            d => world.m.seek.time(d).non_negative(),
        };
        let walk = |tracks: Vec<(u32, u16)>| {
            let (mut at, mut sum) = ((0, 0), 0);
            for t in tracks {
                let moves = match t.0.abs_diff(at.0) {
                    0 if t.1 == at.1 => 0,
                    0 => switch,
                    d => seek(d).max(if t.1 == at.1 { 0 } else { switch }),
                };
                sum += moves + turn;
                at = t;
            }
            sum
        };
        let want = match model {
            // All tracks of this layout hold addresses.
            RecoveryModel::Headers if spec.geometry.layout == "adaptive" => {
                let layout = &world.m.layout;
                let places = (0..layout.capacity()).filter_map(|s| layout.locate(s));
                let tracks: BTreeSet<_> = places.map(|p| (p.cylinder, p.head)).collect();
                let read = |t: &(u32, u16)| t.0 <= world.log.frontier;
                walk(tracks.into_iter().filter(read).collect())
            }
            RecoveryModel::Headers => {
                let c = u64::from(world.log.frontier) + 1;
                c * 3 * turn + c * 2 * switch + (c - 1) * seek(1)
            }
            _ => {
                // Both regions lie behind the blocks; what was written since, on other tracks.
                let sectors = checkpoint_sectors(world.slots.len() as u64, 16, 512);
                let first = (world.slots.len() as u64 - (2 * sectors).div_ceil(8)) * 8;
                let track = |s: u64| {
                    let p = world.m.layout.locate(s).expect("a place");
                    (p.cylinder, p.head)
                };
                let newer: BTreeSet<_> = (first..first + sectors).map(track).collect();
                let mut tracks = vec![track(first + sectors)];
                tracks.extend(newer);
                let since: BTreeSet<_> = world.all.iter().map(|w| w.track).collect();
                tracks.extend(since);
                walk(tracks)
            }
        };
        assert_eq!(got, want, "{model:?} {}", spec.geometry.layout);
    }
}

/// The listed tracks of a log are those in which something was written since its checkpoint.
#[test]
fn the_list_of_tracks_is_complete() {
    for spec in uneven_disks() {
        lists_all_tracks(&spec);
    }
}

fn lists_all_tracks(spec: &DriveSpec) {
    let mut world = World::new(spec, "greedy", RecoveryModel::Checkpoint, false);
    let mut noise = XorShift::default();
    let (mut arm, mut now) = (Arm::default(), 0);
    for _ in 0..2000 {
        let times = (now, now + 5_000_000);
        match noise.below(3) {
            0 => world.save(&mut arm, times),
            _ => world.write(&mut arm, noise.below(200), times),
        }
        now += 6_000_000;
        let saved = world.saved.last().expect("the first one");
        let log = world.log.checkpoints.as_ref().expect("checkpoints");
        assert_eq!(log.since, world.listed(saved, now));
    }
    assert!(world.saved.len() > 10);
}
