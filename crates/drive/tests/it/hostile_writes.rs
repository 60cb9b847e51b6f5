//! Buffered writes under any mixture of commands, limits, schedulers, arms and faults: every command ends
//! once, its shares add up, what was written reaches the medium, and no assembly does two things at once.

use headstack_drive::phase::{Phase, PhaseKind, Work};
use headstack_drive::{Command, Drive, DriveOptions, DriveRequest, DriveSpec};
use headstack_testkit::SplitMix;
use headstack_units::{Lba, Time};
use std::collections::{BTreeMap, BTreeSet};

const SECTOR_NS: u64 = 100_000;

/// A drive of 600 tracks with a buffer of 64 KiB to 512 KiB, all else drawn.
fn draw(noise: &mut SplitMix, faults: bool) -> (DriveSpec, String) {
    let sector = noise.of(&["512 B", "4 KiB"]);
    let arms = noise.of(&["D1A1S1H1", "D1A2S1H1"]);
    let (arms, motion) = match noise.below(2) {
        _ if faults => ("D1A2S1H1", "1"),
        0 => (arms, "1"),
        _ => (arms, "0"),
    };
    let faults = if faults {
        "faults = [{ at = \"200 ms\", arm = 0, surface = 1 }, { at = \"400 ms\", arm = 1, surface = 1 }]"
    } else {
        ""
    };
    let text = format!(
        r#"
        name = "drawn"
        dash = "{arms}"
        [parallelism]
        arms_in_motion = {motion}
        {faults}
        [geometry]
        rotation_speed = "6000 rpm"
        sector_size = "{sector}"
        surfaces = 2
        cylinders = 300
        zones = [{{ first_cylinder = 0, last_cylinder = 299, sectors_per_track = 100, track_skew = 11.0, cylinder_skew = 21.0 }}]
        [seek]
        model = "linear"
        single = "1 ms"
        full = "9 ms"
        cylinders = 300
        [positioning]
        head_switch = "1 ms"
        write_settle = "{settle}"
        [cache]
        enabled = true
        segments = 4
        segment_sectors = 64
        write_segments = 2
        write_back = true
        destage = "idle"
        hit_check = "{check}"
        read_ahead = "{ahead}"
        almost_hits = true
        read_hits_on_written = {kept}
        write_on_arrival = {zero}
        dirty_limit = "{limit}"
        destage_after = "{after}"
        destage_age = "{age}"
        partial_wait = "{wait}"
        destage_window = {window}
        [link]
        rate = "50 MB/s"
        [queue]
        depth = {depth}
        scheduler = "{scheduler}"
        "#,
        settle = noise.of(&["0 ms", "0.3 ms"]),
        check = noise.of(&["arrival", "service"]),
        ahead = noise.of(&["none", "limit", "track-end"]),
        kept = noise.of(&["true", "false"]),
        zero = noise.of(&["true", "false"]),
        limit = noise.of(&["4 KiB", "12 KiB", "32 KiB", "128 KiB"]),
        after = noise.of(&["0 ms", "7 ms"]),
        age = noise.of(&["0 s", "20 ms"]),
        wait = noise.of(&["0 s", "3 ms", "1 s"]),
        window = noise.of(&["1", "3", "16"]),
        depth = noise.of(&["0", "1", "4"]),
        scheduler = noise.of(&["fcfs", "satf", "c-look"]),
    );
    let spec = toml::from_str(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    (spec, text)
}

/// Runs `commands` at their times; returns the completions, of all but refused ones.
struct Run {
    drive: Drive,
    pending: BTreeMap<u64, DriveRequest>,
    phases: BTreeMap<u32, Vec<Phase>>,
    errors: u64,
    last: u64,
}

impl Run {
    fn new(spec: &DriveSpec) -> Run {
        let mut drive = Drive::builtin(spec, &DriveOptions::default()).expect("a drive");
        drive.listen(Time::ZERO);
        Run { drive, pending: BTreeMap::new(), phases: BTreeMap::new(), errors: 0, last: 0 }
    }

    fn submit(&mut self, now: u64, request: DriveRequest) {
        self.advance(now);
        self.pending.insert(request.id, request);
        self.drive.submit(Time(now), request);
    }

    fn advance(&mut self, until: u64) {
        let mut steps = 0;
        while self.drive.next_event().0 < until && !self.pending.is_empty() {
            let at = self.drive.next_event().0.saturating_add(1).min(until);
            let (pending, errors, last) = (&mut self.pending, &mut self.errors, &mut self.last);
            self.drive.advance(Time(at), &mut |c| {
                let request = pending.remove(&c.id).expect("completes once");
                let s = &c.components;
                let shares = s.queue + s.overhead + s.seek + s.rotation + s.transfer + s.bus;
                assert_eq!(shares, c.completion.0 - c.arrival.0, "{request:?} {c:?}");
                *errors += u64::from(c.error);
                *last = (*last).max(c.completion.0);
            });
            steps += 1;
            assert!(steps < 1_000_000, "no end: {:?}", self.pending);
        }
    }

    /// Checks that phases of an assembly follow one another; returns the sectors that destaging wrote.
    fn destaged_sectors(&mut self) -> u64 {
        let phases = &mut self.phases;
        // All is done long before.
        let end = Time(self.last + 3_600_000_000_000);
        self.drive.tell_phases(end, &mut |p| phases.entry(p.assembly).or_default().push(*p));
        let mut ns = 0;
        for list in self.phases.values() {
            for pair in list.windows(2) {
                assert_eq!(pair[0].to, pair[1].from, "{pair:?}");
            }
            let wrote = |p: &&Phase| p.work == Some(Work::Destage) && p.kind == PhaseKind::Transfer;
            ns += list.iter().filter(wrote).map(|p| p.to.0 - p.from.0).sum::<u64>();
        }
        // Rounding of each pass is less than a thousandth of a sector.
        (ns + SECTOR_NS / 2) / SECTOR_NS
    }
}

#[test]
fn what_is_written_reaches_the_medium_once() {
    let (mut drawn, mut long) = (0, 0);
    for seed in 0..400u64 {
        let mut noise = SplitMix(seed);
        let (spec, text) = draw(&mut noise, false);
        println!("seed {seed}");
        let mut run = Run::new(&spec);
        let blocks = run.drive.capacity_blocks();
        let per_sector = spec.geometry.sector_size.0 / 512;
        let (mut now, mut written) = (0u64, BTreeSet::new());
        let mut sectors: BTreeSet<u64> = BTreeSet::new();
        let mut at = 0u64;
        for id in 0..120 {
            let pause = [1_000, 400_000, 12_000_000][noise.below(3) as usize];
            now += noise.below(3) * noise.below(pause);
            let longest = [9, 40, 700][(noise.below(8) / 3) as usize];
            let length = 1 + noise.below(longest);
            let kind = noise.below(10);
            let request = |command, lba, count: u64| DriveRequest {
                id,
                command,
                lba: Lba(lba),
                blocks: count as u32,
                ..DriveRequest::default()
            };
            let next = match kind {
                0 => request(Command::Flush, 0, 0),
                1..=3 => request(Command::Read, noise.below(blocks - length), length),
                4 if at > 100 => request(Command::Read, at.saturating_sub(length), length),
                _ => {
                    // Every block once: behind the last write, or somewhere else.
                    if noise.below(3) == 0 {
                        at = noise.below(blocks - length);
                    }
                    let length = length.min(blocks - at);
                    let range = at..at + length;
                    let command = match kind {
                        9 => Command::WriteThrough,
                        _ => Command::Write,
                    };
                    let fresh = range.clone().all(|b| !written.contains(&b)) && length > 0;
                    if !fresh {
                        at = noise.below(blocks / 2);
                        continue;
                    }
                    written.extend(range.clone());
                    if command == Command::Write {
                        sectors.extend(range.map(|b| b / per_sector));
                    }
                    at += length;
                    request(command, at - length, length)
                }
            };
            run.submit(now, next);
        }
        run.advance(u64::MAX);
        assert!(run.pending.is_empty(), "seed {seed}: {:?}\n{text}", run.pending);
        assert_eq!(run.errors, 0, "seed {seed}");
        let end = run.last.max(now);
        let flush =
            DriveRequest { id: 1000, command: Command::Flush, lba: Lba(0), blocks: 0, ..DriveRequest::default() };
        run.submit(end, flush);
        run.advance(u64::MAX);
        assert!(!run.drive.destage_pending(), "seed {seed}\n{text}");
        let wrote = run.destaged_sectors();
        let want = sectors.len() as u64;
        let partial = run.drive.counters().n_read_modify_writes;
        if per_sector == 1 {
            assert_eq!(wrote, want, "seed {seed}\n{text}");
            assert_eq!(partial, 0);
        } else {
            // A sector is written again only where a part of it went out before the rest.
            assert!(wrote >= want, "seed {seed}: {wrote} of {want}\n{text}");
            assert!(wrote <= want + partial, "seed {seed}: {wrote} {want} {partial}\n{text}");
        }
        drawn += want;
        long += u64::from(run.last > now);
    }
    assert!(drawn > 400_000 && long > 100, "{drawn} {long}");
}

/// Heads that fail take unwritten data with them; the rest gets to the medium, and everything ends.
#[test]
fn faults_lose_only_what_nothing_reaches() {
    let mut lost = 0;
    for seed in 1000..1150u64 {
        let mut noise = SplitMix(seed);
        let (spec, text) = draw(&mut noise, true);
        println!("seed {seed}");
        let mut run = Run::new(&spec);
        let blocks = run.drive.capacity_blocks();
        let mut now = 0;
        for id in 0..150 {
            now += noise.below(12_000_000);
            let length = 1 + noise.below(60);
            let command = match noise.below(8) {
                0 => Command::Flush,
                1 | 2 => Command::Read,
                3 => Command::WriteThrough,
                _ => Command::Write,
            };
            let request = DriveRequest {
                id,
                command,
                lba: Lba(noise.below(blocks - length)),
                blocks: length as u32,
                ..DriveRequest::default()
            };
            run.submit(now, request);
        }
        run.advance(u64::MAX);
        assert!(run.pending.is_empty(), "seed {seed}: {:?}\n{text}", run.pending);
        let flush =
            DriveRequest { id: 1000, command: Command::Flush, lba: Lba(0), blocks: 0, ..DriveRequest::default() };
        run.submit(run.last.max(now), flush);
        run.advance(u64::MAX);
        assert!(!run.drive.destage_pending(), "seed {seed}\n{text}");
        run.destaged_sectors();
        assert!(run.errors > 0, "seed {seed}: nothing met the fault");
        lost += run.drive.counters().n_lost_writes;
    }
    assert!(lost > 0);
}
