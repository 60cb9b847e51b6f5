//! Sequential transfers go at the rate that the medium gives: whatever the size, the alignment and the
//! number of commands outstanding, and never faster.

use crate::drives::sustained_mb_per_s;
use headstack_drive::spec::{ArmShare, Destage, DriveSpec};
use headstack_drive::{Command, Drive, DriveOptions, DriveRequest};
use headstack_testkit::commands;
use headstack_testkit::shipped;
use headstack_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A published sequential rate of the outer edge in MB/s, of all actuators together.
struct Published {
    name: &'static str,
    mb_per_s: f64,
    source: &'static str,
    /// Within a track: the switches to the next ones, which a long transfer waits for, are not in it.
    of_a_track: bool,
}

const fn published(name: &'static str, mb_per_s: f64, source: &'static str) -> Published {
    Published { name, mb_per_s, source, of_a_track: false }
}

const PUBLISHED: [Published; 12] = [
    published("constellation-es3-4tb", 175.0, "product manual, rev. C, section 4"),
    published("constellation-es3-2tb", 175.0, "product manual, rev. C, section 4"),
    published("ultrastar-7k4000", 171.0, "as generally reported"),
    published("exos-x18", 270.0, "data sheet"),
    published("exos-2x14", 524.0, "Tom's Hardware, May 2021"),
    published("exos-2x18-sas", 545.0, "Tom's Hardware, November 2022"),
    published("exos-2x18-sata", 545.0, "product manual: 520 MiB/s"),
    published("ultrastar-hs760", 582.0, "AnandTech, January 2023"),
    published("ibm-3380-ak4", 4.0 * 3.0, "ISCA 2008, Table 1: 3 MB/s for each actuator"),
    Published { of_a_track: true, ..published("fujitsu-m2361a", 2.5, "ISCA 2008, Table 1") },
    Published { of_a_track: true, ..published("conner-cp3100", 1.0, "ISCA 2008, Table 1") },
    published("barracuda-es-750", 72.0, "ISCA 2008, Table 1"),
];

/// Assemblies of a stack with surfaces of their own.
fn arms(spec: &DriveSpec) -> u64 {
    match spec.parallelism.arm_share {
        ArmShare::All => 1,
        ArmShare::OwnShare => u64::from(spec.dash.arms),
    }
}

/// Parts of the drive that work independently, each with its share of the addresses.
fn shares(spec: &DriveSpec) -> u64 {
    arms(spec) * u64::from(spec.dash.stacks)
}

/// What passes under a head in the outer zone, bytes per second.
fn track_rate(spec: &DriveSpec) -> f64 {
    let (g, z) = (&spec.geometry, &spec.geometry.zones[0]);
    let bytes = f64::from(z.sectors_per_track.of(0)) * g.sector_size.0 as f64;
    bytes * g.rotation_speed.0 / 60.0
}

/// What one share's medium gives in the outer zone, bytes per second: its tracks, and a skew after each.
fn media_rate(spec: &DriveSpec) -> f64 {
    sustained_mb_per_s(spec, 0) * 1e6 / arms(spec) as f64
}

/// The most that it gives to one long command: where sectors are taken in whatever order they pass, a
/// track in one turn and the switch to the next one.
fn most(spec: &DriveSpec, write: bool) -> f64 {
    let (g, z) = (&spec.geometry, &spec.geometry.zones[0]);
    let c = &spec.cache;
    if !(c.enabled && if write { c.write_on_arrival } else { c.read_on_arrival }) {
        return media_rate(spec);
    }
    let p = &spec.positioning;
    let settle = if write { p.write_settle.0 } else { 0 };
    let switch = (p.head_switch.0 + settle) as f64 * 1e-9;
    let bytes = f64::from(z.sectors_per_track.of(0)) * g.sector_size.0 as f64;
    bytes / (60.0 / g.rotation_speed.0 + switch)
}

/// Blocks of the outer zone, of one share.
fn zone_blocks(spec: &DriveSpec) -> u64 {
    let (g, z) = (&spec.geometry, &spec.geometry.zones[0]);
    let cylinders = u64::from(z.last_cylinder - z.first_cylinder + 1);
    let tracks = cylinders * u64::from(g.surfaces) / arms(spec);
    tracks * u64::from(z.sectors_per_track.of(0)) * g.sector_size.0 / 512
}

/// Least time that one command takes even if nothing waits for the mechanism: its overhead, and the link
/// time of the sectors that it touches.
fn command_s(spec: &DriveSpec, write: bool, first: u64, blocks: u32) -> f64 {
    let (o, c) = (&spec.overhead, &spec.cache);
    let (before, after) = match write {
        false => (o.read_hit.after_read, o.read_completion),
        true if c.write_back => (o.write_hit.after_write, o.write_completion),
        true => (o.write_miss.after_write, o.write_completion),
    };
    let sector = spec.geometry.sector_size.0 / 512;
    let bytes = match (write, c.write_back && c.destage == Destage::Idle) {
        (true, true) => u64::from(blocks) * 512,
        _ => ((first + u64::from(blocks)).div_ceil(sector) - first / sector) * sector * 512,
    };
    let link = spec.link.rate.map_or(0.0, |r| bytes as f64 / r.0);
    (before.0 + after.0 + o.data_preparation.0) as f64 * 1e-9 + link
}

/// One stream in each share, `depth` commands of `blocks` outstanding in each.
struct Streams<'a> {
    spec: &'a DriveSpec,
    command: Command,
    blocks: u32,
    depth: u64,
    first: u64,
    /// Blocks that each stream transfers.
    length: u64,
}

/// What is waited for, in time order: `(time, stream, offset)`.
type Arrivals = BinaryHeap<Reverse<(u64, u64, u64)>>;

impl Streams<'_> {
    /// Bytes per second of all streams: written bytes count when a flush says so.
    fn rate(&self) -> f64 {
        let mut drive = Drive::builtin(self.spec, &DriveOptions::default()).expect("a drive");
        let share = drive.design.capacity_blocks() / shares(self.spec);
        let step = u64::from(self.blocks);
        let mut next = vec![0; shares(self.spec) as usize];
        let mut arrivals = Arrivals::new();
        for (s, at) in next.iter_mut().enumerate() {
            for _ in 0..self.depth {
                arrivals.push(Reverse((0, s as u64, *at)));
                *at += step;
            }
        }
        let mut end = 0;
        loop {
            let event = drive.next_event();
            match arrivals.peek().copied() {
                Some(Reverse((now, s, at))) if now <= event.0 => {
                    arrivals.pop();
                    drive.submit(Time(now), self.request(s, s * share + self.first + at));
                    if drive.next_event().0 > now {
                        // What was done at once comes out now.
                        self.collect(&mut drive, Time(now), &mut next, &mut arrivals, &mut end);
                    }
                }
                _ if event == Time::NEVER => break,
                _ => {
                    let until = Time(event.0 + 1);
                    self.collect(&mut drive, until, &mut next, &mut arrivals, &mut end);
                }
            }
        }
        if self.command == Command::Write {
            let flush = DriveRequest { command: Command::Flush, ..self.request(0, 0) };
            drive.submit(Time(end), flush);
            drive.advance(Time::NEVER, &mut |c| end = end.max(c.completion.0));
        }
        let moved: u64 = next.iter().map(|at| at.min(&self.length)).sum();
        moved as f64 * 512.0 / (end as f64 * 1e-9)
    }

    fn request(&self, stream: u64, lba: u64) -> DriveRequest {
        commands::command(stream, self.command, lba, self.blocks)
    }

    fn collect(&self, drive: &mut Drive, until: Time, next: &mut [u64], arrivals: &mut Arrivals, end: &mut u64) {
        drive.advance(until, &mut |c| {
            assert!(!c.error, "{c:?}");
            *end = (*end).max(c.completion.0);
            let at = &mut next[c.id as usize];
            if *at < self.length {
                arrivals.push(Reverse((c.completion.0, c.id, *at)));
                *at += u64::from(self.blocks);
            }
        });
    }
}

const SIZES: [u32; 4] = [8, 128, 2048, 131_072];
const STARTS: [u64; 4] = [0, 1, 7, 63];

/// All sizes, depths and alignments of one kind of command; deviations go to `wrong`. Outside thorough runs each drive,
/// by its number, has a third of them, and four drives share each.
fn sweep(number: usize, p: &Published, command: Command, wrong: &mut Vec<String>) {
    let spec = shipped::drive(p.name);
    let (medium, n) = (media_rate(&spec), shares(&spec));
    let whole = (1u64 << 21).min(zone_blocks(&spec) / 2);
    let write = command == Command::Write;
    // Long enough that the first positioning, the last flush and the cylinder that is half done are
    // within the tolerance.
    let usual = whole.min(if write { 1 << 20 } else { 1 << 19 });
    let step = if headstack_testkit::cases(1) > 1 { 1 } else { 3 };
    for (i, start) in STARTS.into_iter().enumerate() {
        let mut points: Vec<(u32, u64, u64)> = Vec::new();
        for blocks in SIZES {
            points.extend([1, 4].map(|depth| (blocks, depth, usual)));
        }
        points.push((whole as u32, 1, whole));
        for (blocks, depth, length) in points.into_iter().skip((number + i) % step).step_by(step) {
            if u64::from(blocks) > length {
                continue;
            }
            let streams = Streams {
                spec: &spec,
                command,
                blocks,
                depth,
                first: start,
                length: length / u64::from(blocks) * u64::from(blocks),
            };
            let rate = streams.rate() / n as f64;
            let each = command_s(&spec, write, start, blocks) / depth as f64;
            let least = medium.min(p.mb_per_s * 1e6 / n as f64);
            let by_commands = f64::from(blocks) * 512.0 / each;
            // Commands that are slower than the medium let read-ahead come to its limit and end, and the next miss waits
            // for its sector.
            let share = if !write && by_commands < least { 0.75 } else { 0.97 };
            let want = least.min(by_commands);
            if !(share * want..=1.005 * most(&spec, write)).contains(&rate) {
                wrong.push(format!(
                    "{} {command:?} of {blocks} blocks from {start}, depth {depth}: {:.1} MB/s, need {:.1} to {:.1}",
                    p.name,
                    rate * 1e-6,
                    want * 1e-6,
                    most(&spec, write) * 1e-6
                ));
            }
        }
    }
}

#[test]
fn files_give_the_published_rates() {
    for p in &PUBLISHED {
        let spec = shipped::drive(p.name);
        let rate = if p.of_a_track { track_rate(&spec) } else { media_rate(&spec) };
        let mb = rate * shares(&spec) as f64 * 1e-6;
        let off = mb / p.mb_per_s - 1.0;
        assert!(off.abs() < 0.03, "{}: {mb:.1} MB/s of {} ({})", p.name, p.mb_per_s, p.source);
    }
}

#[test]
fn sequential_reads_go_at_the_rate_of_the_medium() {
    let mut wrong = Vec::new();
    for (number, p) in PUBLISHED.iter().enumerate() {
        sweep(number, p, Command::Read, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn sequential_writes_go_at_the_rate_of_the_medium() {
    let mut wrong = Vec::new();
    for (number, p) in PUBLISHED.iter().enumerate() {
        sweep(number, p, Command::Write, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// One command of 68.7 GB goes through the buffer piece by piece.
#[test]
fn a_write_of_half_the_outer_zone_flows_through_the_buffer() {
    let spec = shipped::drive("exos-x18");
    let blocks = 1u32 << 27;
    let streams =
        Streams { spec: &spec, command: Command::Write, blocks, depth: 1, first: 7, length: u64::from(blocks) };
    let rate = streams.rate();
    assert!((rate / media_rate(&spec) - 1.0).abs() < 0.01, "{rate}");
}
