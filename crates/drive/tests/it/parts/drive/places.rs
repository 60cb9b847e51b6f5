//! Where data are read and written, on each layout with each mapping, each way of destaging and both sizes of sectors.
//!
//! The lists of models are gone through, so a new layout, mapping, policy or way of destaging is tested without a
//! change here. A command, and the flush behind it, moves the arm over the tracks that hold the data: where they lay
//! before for what is read, and where they lie afterwards for what was written. Which parts have to be read is known
//! from the blocks written so far. So the seeks that the drive tells are known exactly, and its times have bounds.

use headstack_drive::command::{Command, DriveRequest};
use headstack_drive::drive::*;
use headstack_drive::layout::Place;
use headstack_drive::mapping::policy;
use headstack_drive::mapping::zoned::{ReportingOptions, ZoneDescriptor, ZoneType};
use headstack_drive::phase::{Phase, PhaseKind};
use headstack_drive::spec::{Destage, DriveSpec};
use headstack_drive::{layout, mapping, DriveOptions};
use headstack_testkit::{commands, SplitMix};
use headstack_units::{Bytes, Lba, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Cylinders of the disk, and sectors of its tracks in the outer and in the inner zone.
const CYLINDERS: u32 = 100;
const SECTORS: [u32; 2] = [61, 47];
const FULL_SEEK_NS: u64 = 8_000_000;
const TURN_NS: f64 = 60e9 / 7200.0;

/// Blocks that a log holds at first.
const INITIAL: u64 = 60;

/// The longest write, in sectors: shorter than all tracks, so that a pass writes it.
const LONGEST: u64 = 30;

/// The keys of `[geometry]` of each layout. Those of `adaptive` have surfaces below, at and above the nominal density.
fn layouts() -> Vec<String> {
    let mut all = Vec::new();
    for plugin in layout::PLUGINS.iter() {
        let name = format!("layout = {:?}\n", plugin.name());
        let own: Vec<String> = match plugin.name() {
            "extents" => vec![format!("extents = {:?}\n", extents())],
            "adaptive" => [
                [(1.0, 1.0), (1.0, 1.0)],
                [(0.7, 0.8), (0.9, 0.6)],
                [(1.25, 1.4), (1.5, 2.5)],
                [(0.75, 1.3), (1.2, 0.7)],
            ]
            .iter()
            .flat_map(|density| {
                let list: Vec<String> =
                    density.iter().map(|(bpi, tpi)| format!("{{ bpi = {bpi:?}, tpi = {tpi:?} }}")).collect();
                let keys = format!("band_cylinders = 7\ndensity = [{}]\n", list.join(", "));
                let turned = "head_order = \"alternate\"\ndirection = \"serpentine\"\n";
                [keys.clone(), format!("{keys}{turned}")]
            })
            .collect(),
            _ => vec![format!("{}\n", plugin.example())],
        };
        all.extend(own.into_iter().map(|keys| name.clone() + &keys));
    }
    all
}

/// The tracks of the disk, surface by surface in each zone, each without its first sector.
fn extents() -> Vec<[u64; 5]> {
    let (mut first, mut all) = (0, Vec::new());
    for (zone, sectors) in SECTORS.iter().enumerate() {
        let half = CYLINDERS / 2;
        for head in 0..2 {
            for c in half * zone as u32..half * (zone as u32 + 1) {
                let count = u64::from(sectors - 1);
                all.push([first, count, u64::from(c), head, 1]);
                first += count;
            }
        }
    }
    all
}

/// The tables of each mapping. A mapping that is not known here has its defaults.
fn mappings(sector: u64) -> Vec<String> {
    let mut all = Vec::new();
    for (name, _) in mapping::MODELS {
        let model = format!("[mapping]\nmodel = {name:?}\n");
        match *name {
            "log" => {
                for (i, p) in policy::PLUGINS.iter().enumerate() {
                    let block = [4096, 16_384][i % 2];
                    let initial = ["in-order", "spread"][i / 2 % 2];
                    let recovery = ["none", "headers", "checkpoint"][i % 3];
                    all.push(format!(
                        "{model}policy = {:?}\nblock = \"{block} B\"\ninitial_blocks = {INITIAL}\ninitial = {initial:?}\n\
                         recovery = {{ model = {recovery:?}, every = 1000 }}\n",
                        p.name()
                    ));
                }
            }
            "media-cache" => all.extend(["empty", "full"].map(|initial| {
                format!(
                    "{model}cache_size = \"{} B\"\nband_size = \"{} B\"\ncleaning = \"lazy\"\ninitial = {initial:?}\n",
                    2048 * sector,
                    128 * sector
                )
            })),
            "zoned" => all.push(format!("{model}zone_size = \"{} B\"\nunrestricted_reads = true\n", 256 * sector)),
            _ => all.push(model),
        }
    }
    all
}

/// The table `[cache]` without a buffer for writes, and with each way of destaging.
fn destagings(sector: u64) -> Vec<String> {
    let back = Destage::ALL.iter().map(|destage| {
        let name = serde_json::to_value(destage).expect("a name");
        format!(
            "[cache]\nenabled = true\nsegments = 1\nsegment_sectors = 512\ndiscard_requested = true\n\
             write_back = true\nread_hits_on_written = false\ndestage = {name}\n\
             destage_after = \"1 h\"\npartial_wait = \"0 s\"\ndestage_age = \"0 s\"\ndirty_limit = \"{} B\"\n",
            512 * sector
        )
    });
    [String::new()].into_iter().chain(back).collect()
}

fn spec(layout: &str, sector: u64, tables: &str) -> DriveSpec {
    let half = CYLINDERS / 2;
    let (last, past) = (CYLINDERS - 1, half - 1);
    let [outer, inner] = SECTORS;
    let text = format!(
        "name = \"places\"\n[geometry]\nrotation_speed = \"7200 rpm\"\nsurfaces = 2\ncylinders = {CYLINDERS}\n\
         sector_size = \"{sector} B\"\n{layout}zones = [\n\
         {{ first_cylinder = 0, last_cylinder = {past}, sectors_per_track = {outer}, track_skew = 5.0, cylinder_skew = 11.0 }},\n\
         {{ first_cylinder = {half}, last_cylinder = {last}, sectors_per_track = {inner}, track_skew = 4.0, cylinder_skew = 9.0 }},\n\
         ]\n[seek]\nmodel = \"linear\"\nsingle = \"1 ms\"\nfull = \"8 ms\"\ncylinders = {CYLINDERS}\n\
         [positioning]\nhead_switch = \"0.5 ms\"\nwrite_settle = \"0.2 ms\"\n{tables}"
    );
    toml::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// A drive, and what is known of it from the commands it was given.
struct World<'a> {
    what: &'a str,
    drive: Drive,
    sector_blocks: u64,
    /// Sectors of a block of the log, if it is a log, and the blocks that were ever written.
    log: Option<(u64, BTreeSet<u64>)>,
    zoned: bool,
    /// The block after the last one that was written from the buffer.
    cursor: u64,
    now: u64,
    id: u64,
    read_first: u64,
}

/// Sectors in the order in which they pass under the head.
type Course = Vec<Place>;

impl World<'_> {
    fn new<'a>(spec: &DriveSpec, what: &'a str) -> World<'a> {
        let mut drive = Drive::builtin(spec, &DriveOptions::default()).unwrap_or_else(|e| panic!("{e}: {what}"));
        drive.listen(Time::ZERO);
        let table = &spec.mapping;
        let is = |name: &str| table.get("model").and_then(|m| m.as_str()) == Some(name);
        let sector = spec.geometry.sector_size.0;
        let log = is("log").then(|| {
            let block = table["block"].as_str().and_then(|b| b.parse::<Bytes>().ok());
            let block = block.expect("the size of a block");
            (block.0 / sector, (0..INITIAL).collect())
        });
        World {
            what,
            drive,
            sector_blocks: sector / 512,
            log,
            zoned: is("zoned"),
            cursor: 0,
            now: 0,
            id: 0,
            read_first: 0,
        }
    }

    /// Where these sectors lie now.
    fn places(&self, sectors: std::ops::Range<u64>) -> Course {
        let place = |s| Some(self.drive.locate(Lba(s * self.sector_blocks))?.1);
        sectors.map(|s| place(s).unwrap_or_else(|| panic!("{}: no place of {s}", self.what))).collect()
    }

    fn arm(&self) -> (u32, u16) {
        let track = self.drive.arms_shown()[0].track;
        (track.cylinder, track.head)
    }

    /// What has to be read before a write of these blocks, with the number of separate parts.
    fn read_before(&self, lba: u64, blocks: u64) -> (Course, u64) {
        let per = self.sector_blocks;
        let (first, past) = (lba / per, (lba + blocks).div_ceil(per));
        let (mut course, mut parts) = (Vec::new(), 0);
        let mut add = |sectors| {
            course.extend(self.places(sectors));
            parts += 1;
        };
        if let Some((size, written)) = &self.log {
            let whole = lba.div_ceil(size * per)..(lba + blocks) / (size * per);
            for block in first / size..past.div_ceil(*size) {
                if !whole.contains(&block) && written.contains(&block) {
                    add(block * size..(block + 1) * size);
                }
            }
        } else {
            let whole = lba.div_ceil(per)..(lba + blocks) / per;
            for sector in (first..past).filter(|s| !whole.contains(s)) {
                add(sector..sector + 1);
            }
        }
        (course, parts)
    }

    /// The sectors that a write of these blocks writes: whole blocks of a log.
    fn written(&mut self, lba: u64, blocks: u64) -> std::ops::Range<u64> {
        let per = self.sector_blocks;
        let (first, past) = (lba / per, (lba + blocks).div_ceil(per));
        match &mut self.log {
            Some((size, written)) => {
                let range = first / *size..past.div_ceil(*size);
                written.extend(range.clone());
                range.start * *size..range.end * *size
            }
            None => first..past,
        }
    }

    /// Gives the drive a command, with a flush behind it if it writes, and checks the course of the arm and the time.
    fn ask(&mut self, command: Command, lba: u64, blocks: u64) {
        let what = format!("{:?} {lba} {blocks}: {}", command, self.what);
        let fixed = !self.drive.moves_writes();
        let (before, parts) = if command.writes() { self.read_before(lba, blocks) } else { Default::default() };
        let from = self.arm();
        let mut request =
            DriveRequest { id: self.id, command, lba: Lba(lba), blocks: blocks as u32, ..DriveRequest::default() };
        let mut done = Vec::new();
        let start = self.now;
        self.drive.submit(Time(start), request);
        if command.writes() {
            (request.id, request.command) = (self.id + 1, Command::Flush);
            (request.lba, request.blocks) = (Lba(0), 0);
            self.drive.advance(Time(start + 1), &mut |c| done.push(*c));
            self.drive.submit(Time(start + 1), request);
        }
        self.drive.advance(Time::NEVER, &mut |c| done.push(*c));
        self.id += 2;
        assert_eq!(done.len(), 1 + usize::from(command.writes()), "{what}");
        let end = done.iter().map(|c| c.completion.0).max().unwrap_or(0);
        for c in &done {
            let shares = commands::sum(&c.components);
            assert!(!c.error, "{what}: {c:?}");
            assert_eq!(shares, c.completion.0 - c.arrival.0, "{what}: {c:?}");
        }
        assert!(!self.drive.destage_pending(), "{what}");
        let sectors = match command.writes() {
            true => self.written(lba, blocks),
            false => lba / self.sector_blocks..(lba + blocks).div_ceil(self.sector_blocks),
        };
        let mut course = if fixed { Vec::new() } else { before };
        course.extend(self.places(sectors));
        self.check_course(from, &course, end, &what);
        // Where places are fixed, a sector written in part costs a turn more.
        let turns = if fixed { parts } else { 0 };
        self.check_time(&course, (end - start, turns), &what);
        if command == Command::Write {
            self.cursor = (lba + blocks).next_multiple_of(self.sector_blocks);
        }
        self.read_first += parts;
        assert_eq!(self.drive.counters().n_read_modify_writes, self.read_first, "{what}");
        self.now = end + 1_000_000;
    }

    /// The seeks that the drive tells are those between the tracks of a course.
    fn check_course(&mut self, from: (u32, u16), course: &Course, end: u64, what: &str) {
        let mut phases: Vec<Phase> = Vec::new();
        self.drive.tell_phases(Time(end), &mut |p| phases.push(*p));
        let told = phases.iter().filter(|p| p.kind == PhaseKind::Seek);
        let told: Vec<u32> = told.map(|p| p.distance).collect();
        let mut at = from.0;
        let mut need = Vec::new();
        for place in course {
            if place.cylinder != at {
                need.push(place.cylinder.abs_diff(at));
                at = place.cylinder;
            }
        }
        assert_eq!(told, need, "{what}: {phases:?}");
        let last = course.last().expect("a sector");
        assert_eq!(self.arm(), (last.cylinder, last.head), "{what}");
        // All of it was transferred, and nothing else.
        let transfer = phases.iter().filter(|p| p.kind == PhaseKind::Transfer);
        let took: u64 = transfer.map(|p| p.to.0 - p.from.0).sum();
        let sectors: f64 = course.iter().map(|p| p.sector_ns).sum();
        let rounding = 2.0 * course.len() as f64;
        assert!((took as f64 - sectors).abs() <= rounding, "{what}: {took} ns for {sectors}: {phases:?}");
    }

    /// Each part of a course that does not follow the one before it on its track takes at most the longest movement and
    /// a turn.
    fn check_time(&self, course: &Course, (took, turns): (u64, u64), what: &str) {
        let follows = |a: &Place, b: &Place| (a.cylinder, a.head, a.sector + 1) == (b.cylinder, b.head, b.sector);
        let breaks = 1 + course.windows(2).filter(|p| !follows(&p[0], &p[1])).count();
        let longest = (FULL_SEEK_NS + 200_000) as f64 + TURN_NS;
        let sectors: f64 = course.iter().map(|p| p.sector_ns).sum();
        let most = breaks as f64 * longest + sectors + turns as f64 * TURN_NS + 1e3;
        assert!(took as f64 <= most, "{what}: {took} ns of at most {most}");
    }

    /// No two sectors that hold data lie at the same place, and each lies on a track.
    fn check_places(&self) {
        let mechanics = self.drive.design.mechanics();
        let all = 0..self.drive.design.capacity_blocks() / self.sector_blocks;
        let mut taken = BTreeMap::new();
        for sector in all {
            if let Some((size, written)) = &self.log {
                if !written.contains(&(sector / size)) {
                    continue;
                }
            }
            let p = self.places(sector..sector + 1)[0];
            let sectors = mechanics.layout.track_sectors(p.cylinder, p.head.into());
            assert!(p.sector < sectors, "{}: {p:?}", self.what);
            assert!(p.cylinder < mechanics.seek.positions(), "{}: {p:?}", self.what);
            let other = taken.insert((p.cylinder, p.head, p.sector), sector);
            assert_eq!(other, None, "{}: {sector}", self.what);
        }
    }

    /// The first sectors of the layout's zones, as far as they have an address, and the ends of the disk.
    fn ends(&self) -> Vec<u64> {
        let past = self.drive.design.capacity_blocks() / self.sector_blocks;
        let zones = self.places(0..past);
        let first = (1..past).filter(|s| zones[*s as usize].zone != zones[*s as usize - 1].zone);
        first.chain([0, past]).collect()
    }

    /// A command that the drive accepts, at an end or anywhere.
    fn draw(&self, ends: &[u64], draw: &mut SplitMix) -> (Command, u64, u64) {
        let per = self.sector_blocks;
        let capacity = self.drive.design.capacity_blocks();
        let command = draw.of(&[Command::Read, Command::Write, Command::Write, Command::WriteThrough]);
        let length = match draw.below(3) {
            0 => 1 + draw.below(per),
            _ => 1 + draw.below((LONGEST - 2) * per),
        };
        let at = match draw.below(3) {
            0 => (draw.of(ends) * per + draw.below(2 * per)).saturating_sub(draw.below(length + per)),
            _ => draw.below(capacity),
        };
        let (lba, blocks) = match draw.below(3) {
            0 => (at / per * per, length.next_multiple_of(per)),
            _ => (at, length),
        };
        let lba = lba.min(capacity - blocks);
        if !self.zoned {
            return (command, lba, blocks);
        }
        if !command.writes() {
            // A read does not go from the conventional zones into the others.
            let mut zones = self.drive.report_zones(Lba(0), ReportingOptions::All);
            let edge = zones.find(|z| z.zone_type != ZoneType::Conventional);
            let edge = edge.map_or(0, |z| z.start.0);
            let crosses = (lba + 1..lba + blocks).contains(&edge);
            return (command, if crosses { edge } else { lba }, blocks);
        }
        // Anywhere in a conventional zone, or at the write pointer of another one.
        let zones = self.drive.report_zones(Lba(0), ReportingOptions::All);
        let free = |z: &ZoneDescriptor| match z.zone_type {
            ZoneType::Conventional => Some((z.start.0, z.start.0 + z.blocks)),
            _ => z.write_pointer.map(|p| (p.0, z.start.0 + z.blocks)),
        };
        let zones: Vec<(bool, (u64, u64))> = zones
            .filter_map(|z| Some((z.zone_type == ZoneType::Conventional, free(&z)?)))
            .filter(|(_, (from, past))| from < past)
            .collect();
        match zones[draw.below(4.min(zones.len() as u64)) as usize] {
            (true, (from, past)) => {
                let blocks = blocks.min(past - from);
                (command, from + lba % (past - from - blocks + 1), blocks)
            }
            (false, (from, past)) => {
                let blocks = blocks.next_multiple_of(per).min(past - from);
                (command, from, blocks)
            }
        }
    }
}

/// One command after the other: the arm goes where the data lie, nothing else is read or written, and no command takes
/// longer than its movements. Seeds are the numbers of the cases.
#[test]
fn commands_go_where_the_data_lie() {
    let (mut seed, mut partial) = (0, 0);
    for layout in layouts() {
        for sector in [512, 4096] {
            for mapping in mappings(sector) {
                for destaging in destagings(sector) {
                    seed += 1;
                    let tables = format!("{mapping}{destaging}");
                    let what = format!("seed {seed}, sectors of {sector}:\n{layout}{tables}");
                    let mut draw = SplitMix(seed);
                    let mut world = World::new(&spec(&layout, sector, &tables), &what);
                    let ends = world.ends();
                    for _ in 0..40 {
                        let (command, lba, blocks) = world.draw(&ends, &mut draw);
                        // The sweep of destaging would divide these data, and write their upper part first.
                        let divided = (lba + 1..lba + blocks).contains(&world.cursor);
                        if !divided || !command.writes() {
                            world.ask(command, lba, blocks);
                        }
                    }
                    world.check_places();
                    partial += world.read_first;
                }
            }
        }
    }
    assert!(seed > 300 && partial > 1000, "{seed} cases, {partial} parts");
}
