//! Random writes with the cache on against the sweep model of docs/models/write-cache.md.

use headstack_drive::seek::{self, SeekTable};
use headstack_drive::spec::DriveSpec;
use headstack_drive::{Command, Drive, DriveOptions, DriveRequest, Setting};
use headstack_testkit::commands;
use headstack_testkit::{shipped, XorShift};
use headstack_units::{Bytes, Rpm, Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The sweep model: seconds for a pass where `extents` wait, all over the drive.
struct Model {
    seek: SeekTable,
    cylinders: f64,
    turn: f64,
    settle: f64,
    transfer: f64,
    window: usize,
}

impl Model {
    fn new(spec: &DriveSpec) -> Model {
        let g = &spec.geometry;
        let turn = 60.0 / g.rotation_speed.0;
        let sectors: f64 = g
            .zones
            .iter()
            .map(|z| {
                let cylinders = z.last_cylinder - z.first_cylinder + 1;
                f64::from(cylinders) * f64::from(z.sectors_per_track.of(0))
            })
            .sum();
        let mean = sectors / f64::from(g.cylinders);
        Model {
            seek: SeekTable::build(&spec.seek, g.cylinders, spec.positioning.seek_constant, &seek::PLUGINS)
                .expect("a seek table"),
            cylinders: f64::from(g.cylinders),
            turn,
            settle: spec.positioning.write_settle.0 as f64 * 1e-9,
            transfer: turn / mean * (4096.0 / g.sector_size.0 as f64),
            window: spec.cache.destage_window as usize,
        }
    }

    fn seek_s(&self, distance: f64) -> f64 {
        let most = self.cylinders - 1.0;
        let cylinders = distance.clamp(1.0, most) as u32;
        self.seek.time(cylinders).as_secs_f64() + self.settle
    }

    /// Mean of the least of (seek + uniform wait) over the window, and the mean place in the window of
    /// the one that is least, where neighbours lie `gap` cylinders apart.
    fn least(&self, gap: f64) -> (f64, f64) {
        let seeks: Vec<f64> = (1..=self.window).map(|j| self.seek_s(j as f64 * gap)).collect();
        let end = seeks[0] + self.turn;
        let steps = 2000;
        let dt = end / f64::from(steps);
        let (mut mean, mut place) = (0.0, 0.0);
        for i in 0..steps {
            let t = (f64::from(i) + 0.5) * dt;
            let above: Vec<f64> = seeks.iter().map(|s| 1.0 - ((t - s) / self.turn).clamp(0.0, 1.0)).collect();
            let all: f64 = above.iter().product();
            mean += all * dt;
            for (j, s) in seeks.iter().enumerate() {
                if t > *s && t < s + self.turn && above[j] > 0.0 {
                    place += (j + 1) as f64 * all / above[j] * dt / self.turn;
                }
            }
        }
        (mean, place)
    }

    fn pass_s(&self, extents: f64) -> f64 {
        // A sweep takes one in `place` of what it passes; what it leaves lies behind it.
        let mut taken = 2.0 / (self.window as f64 + 1.0);
        let mut mean = 0.0;
        for _ in 0..20 {
            let gap = self.cylinders * (1.0 - taken / 2.0) / extents;
            let place;
            (mean, place) = self.least(gap);
            taken = 1.0 / place;
        }
        // Once in a sweep the arm goes back over all cylinders.
        let back = self.seek_s(self.cylinders) + self.turn / 2.0;
        mean + self.transfer + back / (extents * taken)
    }
}

/// Writes of 4 KiB at random places: per second, and the mean response in seconds, after `skip` of
/// `count`. Either `outstanding` at once, or so many per second.
fn random_writes(spec: &DriveSpec, load: Load, skip: u64, count: u64) -> (f64, f64) {
    let mut drive = Drive::builtin(spec, &DriveOptions::default()).expect("a drive");
    let places = drive.design.capacity_blocks() / 8;
    let mut noise = XorShift::default();
    let mut arrivals: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    let mut next_open = 0.0;
    match load {
        Load::Outstanding(n) => arrivals.extend((0..n).map(|_| Reverse(0))),
        Load::PerSecond(_) => arrivals.push(Reverse(0)),
    }
    let (mut id, mut done, mut first, mut last, mut sum) = (0, 0, 0, 0, 0.0);
    while done < count {
        let event = drive.next_event();
        match arrivals.peek().copied() {
            Some(Reverse(now)) if now <= event.0 => {
                arrivals.pop();
                let request = commands::command(id, Command::Write, noise.draw() % places * 8, 8);
                drive.submit(Time(now), request);
                id += 1;
                if let Load::PerSecond(rate) = load {
                    next_open += noise.exponential(1e9 / rate);
                    arrivals.push(Reverse(next_open as u64));
                }
            }
            _ => drive.advance(Time(event.0 + 1), &mut |c| {
                assert!(!c.error && c.cache_hit);
                done += 1;
                if done == skip {
                    first = c.completion.0;
                }
                if done > skip {
                    sum += (c.completion.0 - c.arrival.0) as f64 * 1e-9;
                }
                last = last.max(c.completion.0);
                if let Load::Outstanding(_) = load {
                    arrivals.push(Reverse(c.completion.0));
                }
            }),
        }
    }
    let n = (count - skip) as f64;
    (n / ((last - first) as f64 * 1e-9), sum / n)
}

#[derive(Clone, Copy)]
enum Load {
    Outstanding(u64),
    PerSecond(f64),
}

fn with(name: &str, extents: u64, window: u32) -> DriveSpec {
    let mut spec = shipped::drive(name);
    spec.cache.dirty_limit = Some(Bytes(extents * 4096));
    spec.cache.destage_window = window;
    spec
}

/// A full buffer goes at the rate of the model: the number of extents and the window decide. The model
/// takes neighbours to lie at equal distances and cylinders to hold equally much, and leaves out head
/// switches on a cylinder: 8 % covers that.
#[test]
fn a_full_buffer_goes_at_the_rate_of_the_sweep() {
    // The largest takes three quarters of the time.
    let sizes = [256, 1024, 4096, 16_384];
    let sizes = &sizes[..if headstack_testkit::cases(1) > 1 { 4 } else { 3 }];
    for name in ["exos-x18", "constellation-es3-4tb"] {
        for window in [1, 4, 16] {
            for &extents in sizes {
                let spec = with(name, extents, window);
                let model = 1.0 / Model::new(&spec).pass_s(extents as f64);
                let skip = 5 * extents;
                let count = skip + 6 * extents.max(1000);
                let (rate, response) = random_writes(&spec, Load::Outstanding(32), skip, count);
                println!(
                    "{name} window {window} extents {extents}: {rate:.0}/s, model {model:.0}/s ({:+.1} %), {:.1} ms",
                    (rate / model - 1.0) * 100.0,
                    response * 1e3
                );
                assert!((rate / model - 1.0).abs() < 0.08);
                // Little's law: 32 writes are always there.
                assert!((response * rate / 32.0 - 1.0).abs() < 0.02);
            }
        }
    }
}

/// Below the rate of a full buffer nothing waits: a write takes its link time, and what queues there.
/// Above it the buffer fills, and the rate is that of a full one.
#[test]
fn the_rate_of_a_full_buffer_divides_loads() {
    let spec = with("exos-x18", 2048, 16);
    let model = 1.0 / Model::new(&spec).pass_s(2048.0);
    let link = 4096.0 / spec.link.rate.expect("a rate").0;
    let (rate, response) = random_writes(&spec, Load::PerSecond(0.85 * model), 4000, 30_000);
    println!("below: {rate:.0}/s of {model:.0}/s, {:.2} us", response * 1e6);
    assert!((rate / (0.85 * model) - 1.0).abs() < 0.02);
    // Mean wait in an M/D/1 queue on the link.
    let utilisation = rate * link;
    let want = link * (1.0 + utilisation / (2.0 * (1.0 - utilisation)));
    assert!((response / want - 1.0).abs() < 0.01, "{response} {want}");
    let (rate, response) = random_writes(&spec, Load::PerSecond(1.2 * model), 10_000, 30_000);
    println!("above: {rate:.0}/s of {model:.0}/s, {:.2} s", response);
    assert!((rate / model - 1.0).abs() < 0.08);
    assert!(response > 1.0);
}

/// A flush waits for the writes before it, also while they wait for room, and so does a change of the speed.
#[test]
fn nothing_overtakes_a_write_that_waits_for_room() {
    let mut spec = shipped::drive("barracuda-7200.9-2006");
    spec.cache.dirty_limit = Some(Bytes(4096));
    let write = |id, blocks| commands::command(id, Command::Write, 0, blocks);
    let flush = DriveRequest { command: Command::Flush, ..write(2, 0) };
    let change = Setting::SpindleSpeed { speed: Rpm(3600.0), takes: Span::from_ms(1.0) };
    for changes in [false, true] {
        let mut drive = Drive::builtin(&spec, &DriveOptions::default()).expect("a drive");
        drive.submit(Time(0), write(1, 64));
        drive.advance(Time(1000), &mut |_| panic!("there is room for 8 of 64 blocks"));
        match changes {
            true => {
                drive.set(Time(1000), change.clone()).expect("a change");
                drive.submit(Time(2000), write(2, 8));
            }
            false => drive.submit(Time(1000), flush),
        }
        let mut ended = Vec::new();
        drive.advance(Time::NEVER, &mut |c| ended.push((c.id, c.completion)));
        assert_eq!(ended[0].0, 1, "{ended:?}");
        assert_eq!(ended[1].0, 2, "{ended:?}");
        // The last of eight passes is still to be written.
        let turn = if changes { 1_000_000 } else { 0 };
        assert!(ended[1].1 .0 > ended[0].1 .0 + turn, "{ended:?}");
        // A write counts once, however many passes make room for it.
        assert_eq!(drive.counters().n_full_buffer_writes, 1);
    }
}
