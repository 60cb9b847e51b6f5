//! What holds for some drives under certain loads, whose energy or times are known: long commands, followers, destaging beside
//! reads, read-ahead that is kept. What holds for all is in `worlds.rs`.

use headstack_drive::power;
use headstack_drive::spec::{Parking, ReadAhead};
use headstack_drive::{Command, Completion, Drive, DriveOptions, DriveRequest};
use headstack_testkit::checks::{self, near};
use headstack_testkit::commands;
use headstack_testkit::{shipped, SplitMix};
use headstack_units::Time;

const MS: u64 = 1_000_000;

/// Something that a drive is asked, and when.
#[derive(Debug, Clone, Copy)]
struct Ask {
    at: u64,
    request: DriveRequest,
}

/// Gives a drive these commands, and brings it up to each of `instants` (in order) on the way; `each`
/// sees it there. Returns the completions.
fn run(drive: &mut Drive, asks: &[Ask], instants: &[u64], mut each: impl FnMut(&mut Drive, u64)) -> Vec<Completion> {
    let mut done = Vec::new();
    let mut instants = instants.iter().copied().peekable();
    for ask in asks {
        while let Some(t) = instants.next_if(|t| *t <= ask.at) {
            drive.advance(Time(t), &mut |c| done.push(*c));
            each(drive, t);
        }
        drive.advance(Time(ask.at), &mut |c| done.push(*c));
        drive.submit(Time(ask.at), ask.request);
    }
    for t in instants {
        drive.advance(Time(t), &mut |c| done.push(*c));
        each(drive, t);
    }
    drive.advance(Time::NEVER, &mut |c| done.push(*c));
    done
}

fn ask(id: u64, at: u64, command: Command, lba: u64, blocks: u32) -> Ask {
    let request = commands::command(id, command, lba, blocks);
    Ask { at, request }
}

/// 128 MiB take 0.5 s; each 100 ms of them is charged with what was drawn in it.
#[test]
fn long_reads_are_charged_to_the_intervals_that_they_fill() {
    let spec = shipped::drive("exos-x18");
    let mut drive = Drive::builtin(&spec, &DriveOptions::default()).expect("a drive");
    let w = power::build(&spec.power, &power::Shape::of(&spec), &power::PLUGINS).expect("watts");
    let blocks = 128 << 11;
    let asks: Vec<Ask> =
        (0..20).map(|i| ask(i, i * 800 * MS, Command::Read, i * u64::from(blocks) * 900, blocks)).collect();
    let instants: Vec<u64> = (1..=180).map(|i| i * 100 * MS).collect();
    let mut busiest = 0.0f64;
    run(&mut drive, &asks, &instants, |drive, t| {
        let e = drive.energy(Time(t));
        assert!(near(e.total_s(), 0.1, 0.1), "{t}: {e:?}");
        assert!(e.idle_s >= 0.0 && e.idle_j >= 0.0, "{t}: {e:?}");
        let watts = e.total_j() / 0.1;
        assert!((w.idle - 1e-9..=w.seek.max(w.transfer) + 1e-9).contains(&watts), "{t}: {watts} W");
        busiest = busiest.max(e.transfer_s);
        drive.reset_statistics(Time(t));
    });
    // Of a tenth of a second in such a read all is transfer but track switches.
    assert!((0.07..0.1).contains(&busiest), "{busiest}");
}

/// Three of four arms follow the one that works: together they account for 60 s, no more.
#[test]
fn arms_that_follow_account_for_the_time_that_passed() {
    let mut spec = shipped::drive("barracuda-es-750");
    spec.dash.arms = 4;
    spec.parallelism.parking = Parking::Follow;
    let mut drive = Drive::builtin(&spec, &DriveOptions::default()).expect("a drive");
    let capacity = drive.design.capacity_blocks();
    let mut draw = SplitMix(5);
    let asks: Vec<Ask> =
        (0..4_800).map(|i| ask(i, i * 12_500_000, Command::Read, draw.below(capacity - 8), 8)).collect();
    run(&mut drive, &asks, &[], |_, _| {});
    let e = drive.energy(Time(60_000 * MS));
    assert!(near(e.total_s(), 60.0, 60.0), "{e:?}");
    assert!(e.idle_s > 0.0 && e.background.follow.time_s > 1.0, "{e:?}");
}

/// Half reads of 4 KiB at 200/s: the arm is never at work for longer than time passes.
#[test]
fn destaging_and_reading_share_one_arm() {
    let spec = shipped::drive("exos-x18");
    let mut drive = Drive::builtin(&spec, &DriveOptions::default()).expect("a drive");
    drive.listen(Time::ZERO);
    let capacity = drive.design.capacity_blocks() / 8;
    let mut draw = SplitMix(7);
    let asks: Vec<Ask> = (0..32_000)
        .map(|i| {
            let command = draw.of(&[Command::Read, Command::Write]);
            ask(i, i * 5 * MS, command, draw.below(capacity) * 8, 8)
        })
        .collect();
    let done = run(&mut drive, &asks, &[], |_, _| {});
    let end = done.iter().map(|c| c.completion.0).max().expect("completions") + 60_000 * MS;
    let e = drive.energy(Time(end));
    let seconds = end as f64 * 1e-9;
    let busy = e.seek_s + e.rotation_s + e.transfer_s;
    assert!(busy <= seconds && near(e.idle_s, seconds - busy, seconds), "{e:?}");
    assert!(e.background.destage.time_s > 1.0, "{e:?}");
    let mut phases = Vec::new();
    drive.tell_phases(Time(end), &mut |p| phases.push(*p));
    checks::follow(&spec, &phases, end);
    checks::order(&spec, &phases);
}

/// Read-ahead of 512 sectors that cannot be interrupted: each miss is followed by 512 sectors exactly, and
/// time is enough for all of it.
#[test]
fn forced_read_ahead_is_kept_and_takes_its_time() {
    let mut spec = shipped::drive("cheetah-10k-19g");
    spec.cache.read_ahead = ReadAhead::Limit;
    spec.cache.read_ahead_sectors = 512;
    spec.cache.read_ahead_minimum = 512;
    let mut drive = Drive::builtin(&spec, &DriveOptions::default()).expect("a drive");
    let capacity = drive.design.capacity_blocks();
    let mut draw = SplitMix(11);
    // Four are always outstanding.
    let (mut id, mut last, mut misses) = (0, 0, 0u64);
    let mut due = vec![0u64; 4];
    while id < 1_000 {
        let event = drive.next_event().0;
        let next = due.iter().copied().min().filter(|t| *t <= event);
        if let Some(now) = next {
            due.retain(|t| *t != now);
            for _ in due.len()..4 {
                if drive.queue_len() + due.len() < 4 {
                    let lba = draw.below(capacity - 2_000);
                    drive.submit(Time(now), ask(id, now, Command::Read, lba, 8).request);
                    id += 1;
                }
            }
            continue;
        }
        drive.advance(Time(event + 1), &mut |c| {
            due.push(c.completion.0);
            last = last.max(c.completion.0);
            misses += u64::from(c.mechanical);
        });
    }
    drive.advance(Time::NEVER, &mut |c| {
        last = last.max(c.completion.0);
        misses += u64::from(c.mechanical);
    });
    let end = last + 1_000 * MS;
    let e = drive.energy(Time(end));
    assert!(e.total_s() <= end as f64 * 1e-9 + 1e-9 && e.idle_s >= 0.0, "{e:?}");
    assert!(misses > 900, "{misses}");
    // Transfers: 8 sectors and 512 for each miss, on the longest or the shortest tracks.
    let turn = 60.0 / spec.geometry.rotation_speed.0;
    let tracks: Vec<f64> = spec.geometry.zones.iter().map(|z| f64::from(z.sectors_per_track.of(0))).collect();
    let (most, least) = tracks.iter().fold((0.0f64, f64::MAX), |(a, b), n| (a.max(*n), b.min(*n)));
    let sectors = misses as f64 * 520.0;
    let (low, high) = (sectors * turn / most, sectors * turn / least);
    assert!((low..=high).contains(&e.transfer_s), "{} s, need {low} to {high}", e.transfer_s);
}
