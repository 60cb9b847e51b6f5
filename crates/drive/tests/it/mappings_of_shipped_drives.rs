//! Every shipped drive with each mapping that can be put on it: commands at the ends of the disk and of its zones
//! complete within the time that their movements can take.

use headstack_drive::mapping::{cleaning, policy, MODELS};
use headstack_drive::mechanics::Arm;
use headstack_drive::spec::Destage;
use headstack_drive::{Command, Completion, Drive, DriveOptions, DriveRequest, DriveSpec};
use headstack_testkit::commands::{command, shares};
use headstack_testkit::{shipped, SplitMix};
use headstack_units::{Bytes, Span, Time};
use std::collections::BTreeSet;

const S: u64 = 1_000_000_000;
/// Blocks of 512 bytes in a block of the log.
const LOG_BLOCK: u64 = 8;
/// Processing of a command and its flush, the link, and the end of a read-ahead: less than this, in nanoseconds.
const OVERHEADS_NS: u64 = 10_000_000;

/// A mapping by name, and its table. The sizes fit a disk of this many bytes. Only a drive of one unit takes initial
/// blocks.
fn mappings(bytes: u64, number: usize, initial: u64) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for (name, _) in MODELS {
        let model = format!("model = {name:?}\n");
        match *name {
            "log" => {
                let policy = policy::PLUGINS[number % policy::PLUGINS.len()].name();
                let cleaner = cleaning::PLUGINS[number % cleaning::PLUGINS.len()].name();
                let policy = format!("policy = {policy:?}\n");
                all.push(("log", format!("{model}{policy}")));
                all.push((
                    "cleaned log",
                    format!(
                        "{model}{policy}initial_blocks = {initial}\nreserve = 0.1\n\
                         cleaning = {{ policy = {cleaner:?}, low = 1.0, high = 1.0, idle_after = \"5 ms\" }}\n\
                         recovery = {{ model = \"checkpoint\", every = 4 }}\n"
                    ),
                ));
            }
            "media-cache" => {
                let cache = (bytes / 8).min(1 << 40);
                let sizes = format!("cache_size = \"{cache} B\"\nband_size = \"1 MiB\"\n");
                all.push(("media-cache", format!("{model}{sizes}cleaning = \"lazy\"\n")));
                all.push(("cleaned cache", format!("{model}{sizes}clean_after = \"50 ms\"\n")));
            }
            "zoned" => {
                let zone = (bytes / 64).next_power_of_two();
                all.push((
                    "zoned",
                    format!("{model}zone_size = \"{zone} B\"\nconventional_zones = 1\nunrestricted_reads = true\n"),
                ));
            }
            name => all.push((name, model)),
        }
    }
    all
}

/// The drive with a buffer for writes, as `destage` says.
fn buffered(spec: &DriveSpec, destage: Destage) -> DriveSpec {
    let mut spec = spec.clone();
    spec.cache.write_back = true;
    spec.cache.write_on_arrival = false;
    spec.cache.destage = destage;
    spec.cache.destage_after = Span::from_ms(100_000.0);
    spec.cache.partial_wait = Span::ZERO;
    spec.cache.destage_age = Span::ZERO;
    spec.cache.dirty_limit = Some(Bytes(256 * 1024));
    // A drive that has gone to sleep takes seconds to come back.
    spec.power.remove("conditions");
    spec
}

struct World<'a> {
    what: &'a str,
    mapping: &'a str,
    drive: Drive,
    sector_blocks: u64,
    /// The blocks of the log that were written.
    written: BTreeSet<u64>,
    now: u64,
    id: u64,
}

impl World<'_> {
    /// Longest time of a movement with the wait behind it.
    fn move_time(&self) -> u64 {
        let m = self.drive.mechanics();
        let far = m.seek.positions() - 1;
        let write = m.move_time(&Arm::default(), far, 1, true);
        write.max(m.move_time(&Arm::default(), far, 1, false)).non_negative() + m.rotation.period_ns as u64 + 1
    }

    /// The most that a command, with a flush if it writes, can take: a movement for each part that is read before, a
    /// movement for each part that is written, and a turn for each sector written in part, and one for the transfer.
    fn bound(&mut self, command: Command, lba: u64, blocks: u64) -> u64 {
        let turn = self.drive.mechanics().rotation.period_ns as u64;
        let edges = |size: u64| {
            let inside = |at: &u64| at % size != 0;
            let edges = [lba, lba + blocks].into_iter().filter(inside);
            edges.map(|at| at / size).collect::<BTreeSet<u64>>()
        };
        let partial = edges(self.sector_blocks).len() as u64;
        let pieces = match (self.mapping, command.writes()) {
            ("log" | "cleaned log", true) => {
                let size = LOG_BLOCK.max(self.sector_blocks);
                let read = edges(size).intersection(&self.written).count() as u64;
                let blocks = lba / size..(lba + blocks).div_ceil(size);
                let pieces = read + blocks.clone().count() as u64;
                self.written.extend(blocks);
                pieces
            }
            ("media-cache" | "cleaned cache", true) => partial + 3,
            ("log" | "cleaned log", false) => 2 + blocks / LOG_BLOCK,
            (_, false) => 3,
            (_, true) => 2,
        };
        let in_background = match self.mapping {
            "cleaned log" | "cleaned cache" => 2,
            _ => 0,
        };
        (pieces + in_background) * self.move_time() + (partial + 1) * turn + OVERHEADS_NS
    }

    fn ask(&mut self, kind: Command, lba: u64, blocks: u64) {
        let what = format!("{kind:?} {lba} {blocks}: {}", self.what);
        let bound = self.bound(kind, lba, blocks);
        let mut done: Vec<Completion> = Vec::new();
        let start = self.now;
        let first: DriveRequest = command(self.id, kind, lba, blocks as u32);
        self.drive.advance(Time(start), &mut |c| done.push(*c));
        self.drive.submit(Time(start), first);
        if kind.writes() {
            let flush = command(self.id + 1, Command::Flush, 0, 0);
            self.drive.advance(Time(start + 1), &mut |c| done.push(*c));
            self.drive.submit(Time(start + 1), flush);
        }
        self.id += 2;
        self.drive.advance(Time(start + 5 * S), &mut |c| done.push(*c));
        assert_eq!(done.len(), 1 + usize::from(kind.writes()), "{what}");
        for c in &done {
            assert!(!c.error, "{what}: {c:?}");
            assert_eq!(shares(c), c.completion.0 - c.arrival.0, "{what}: {c:?}");
            let took = c.completion.0 - start;
            assert!(took <= bound, "{what}: {took} ns of at most {bound}");
        }
        assert!(!self.drive.destage_pending(), "{what}");
        self.now = start + 6 * S;
    }

    /// The seconds of the states add up to the time, and nothing is negative.
    fn check_energy(&mut self) {
        let e = self.drive.energy(Time(self.now));
        let what = format!("{}: {e:?}", self.what);
        let s = self.now as f64 * 1e-9;
        assert!((e.total_s() - s).abs() <= 1e-9 * s, "{what}");
        for x in [e.idle_s, e.seek_s, e.rotation_s, e.transfer_s, e.standby_s] {
            assert!(x >= 0.0, "{what}");
        }
        for x in [e.idle_j, e.seek_j, e.rotation_j, e.transfer_j, e.standby_j] {
            assert!(x >= 0.0, "{what}");
        }
    }
}

/// The first blocks of the layout's zones behind the first one, and of the disk, and its end.
fn ends(drive: &Drive, sector_blocks: u64) -> Vec<u64> {
    let layout = &drive.mechanics().layout;
    let capacity = drive.design.capacity_blocks();
    let zone = |sector| layout.locate(sector).map_or(u16::MAX, |p| p.zone);
    let mut all = vec![0, capacity];
    let (mut from, past) = (0, layout.capacity());
    // The zones are in order of address.
    while let Some(place) = layout.locate(from) {
        let (mut low, mut high) = (from, past);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if zone(middle) == place.zone {
                low = middle;
            } else {
                high = middle;
            }
        }
        from = high;
        all.push((from * sector_blocks).min(capacity));
    }
    // A few of them are enough.
    let step = all.len().div_ceil(6);
    all.into_iter().step_by(step).chain([capacity]).collect()
}

fn check(drive: Drive, mapping: &str, initial: u64, what: &str, seed: u64) {
    let mut draw = SplitMix(seed);
    let spec = drive.design.spec();
    let sector_blocks = spec.geometry.sector_size.0 / 512;
    let ends = ends(&drive, sector_blocks);
    let capacity = drive.design.capacity_blocks();
    let written = match mapping {
        "cleaned log" => (0..initial).collect(),
        _ => BTreeSet::new(),
    };
    let mut world = World { what, mapping, drive, sector_blocks, written, now: S, id: 0 };
    let far = 4_000_000_000.min(capacity - 1);
    for at in ends.into_iter().chain([far, capacity / 2 + 1]) {
        for command in [Command::Write, Command::Read, Command::WriteThrough, Command::Read] {
            let blocks = 1 + draw.below(16);
            let mut lba = at.saturating_sub(draw.below(blocks + 1)).min(capacity - blocks);
            if mapping == "zoned" && command.writes() {
                // In the conventional zone.
                lba %= capacity / 128;
            }
            world.ask(command, lba, blocks);
        }
    }
    world.check_energy();
}

/// Seeds are the numbers of the cases. Outside thorough runs each drive has a third of the mappings, and each mapping is
/// on a third of the drives.
#[test]
fn every_drive_with_every_mapping() {
    let (mut seed, mut names) = (0, BTreeSet::new());
    for (number, (path, _, shipped)) in shipped::files().into_iter().enumerate() {
        let mut spec = shipped;
        spec.mapping.clear();
        let plain = Drive::builtin(&spec, &DriveOptions::default()).expect("a drive");
        let bytes = plain.design.capacity_blocks() * 512;
        drop(plain);
        let conventional = spec.dash.to_string() == "D1A1S1H1";
        let initial = if conventional { 2000 } else { 0 };
        for (i, (name, table)) in mappings(bytes, number, initial).into_iter().enumerate() {
            seed += 1;
            if headstack_testkit::cases(1) == 1 && (number + i) % 3 != 0 {
                continue;
            }
            let destage = Destage::ALL[(number + i) % Destage::ALL.len()];
            let mut spec = buffered(&spec, destage);
            spec.mapping = toml::from_str(&table).expect("a table");
            let what = format!("seed {seed}, {}, {destage:?}:\n{table}", path.display());
            println!("{what}");
            match Drive::builtin(&spec, &DriveOptions::default()) {
                Ok(drive) => {
                    check(drive, name, initial, &what, seed);
                    names.insert(name);
                }
                // A media cache is described for one arm assembly only, and zones for one logical unit.
                Err(e) => {
                    let key = if name == "zoned" { "parallelism.logical_units" } else { "dash" };
                    assert!(e.key == key && !conventional, "{e}: {what}");
                }
            }
        }
    }
    assert!(names.len() >= MODELS.len() && seed > 100, "{seed} {names:?}");
}

/// The flush of one block that was never written before: at most one movement over the whole disk, its wait, and the
/// transfer of a block of the log.
#[test]
fn the_flush_of_one_block_takes_one_movement() {
    for spec in shipped::drives() {
        let mut spec = buffered(&spec, Destage::Idle);
        spec.mapping = toml::from_str("model = \"log\"").expect("a table");
        let what = spec.name.clone();
        let drive = Drive::builtin(&spec, &DriveOptions::default()).expect("a drive");
        let at = 4_000_000_000.min(drive.design.capacity_blocks() - 1);
        let mut world = World {
            what: &what,
            mapping: "log",
            drive,
            sector_blocks: spec.geometry.sector_size.0 / 512,
            written: BTreeSet::new(),
            now: S,
            id: 0,
        };
        world.ask(Command::Write, at, 1);
        assert_eq!(world.drive.counters().n_read_modify_writes, 0, "{what}");
    }
}
