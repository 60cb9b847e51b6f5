//! A drive that is watched, beside the same one that is not.

use super::{buffered, new, small, MS};
use headstack_drive::drive::Watch;
use headstack_drive::{
    Command, Completion, Counters, Drive, DriveRequest, DurationLimit, Heeded, Hint, LimitIndex, Setting,
};
use headstack_testkit::checks::same_energy;
use headstack_testkit::{commands::command, shipped, SplitMix};
use headstack_units::{Span, Time};
use std::sync::{Arc, Mutex};

#[derive(Default)]
struct Heard {
    submitted: Vec<u64>,
    completed: Vec<u64>,
    restarts: Vec<Time>,
    looks: Vec<Time>,
}

/// Looks every 0.7 ms, up to 400 ms.
struct Looks(Arc<Mutex<Heard>>);

impl Watch for Looks {
    fn look(&mut self, at: Time, drive: &mut Drive) -> Option<Time> {
        let _ = (drive.joules(at), drive.buffered());
        drive.tell_phases(at, &mut |_| {});
        self.0.lock().expect("no panic").looks.push(at);
        (at < Time(400 * MS)).then_some(at + Span(700_000))
    }
    fn submitted(&mut self, _now: Time, request: &DriveRequest, _drive: &Drive) {
        self.0.lock().expect("no panic").submitted.push(request.id);
    }
    fn completed(&mut self, completion: &Completion) {
        self.0.lock().expect("no panic").completed.push(completion.id);
    }
    fn restarted(&mut self, now: Time, _drive: &mut Drive) {
        self.0.lock().expect("no panic").restarts.push(now);
    }
}

/// Random commands within 300 ms, a new start of the meters, an abort and a change of depth; the completions in the order
/// in which the host gets them, and what the drive has counted.
fn course(seed: u64, mut drive: Drive) -> (Vec<Completion>, Counters, Drive) {
    let mut noise = SplitMix(seed);
    let (mut now, mut done, blocks) = (0, Vec::new(), drive.design.capacity_blocks());
    for id in 0..200 {
        now += noise.draw() % (3 * MS);
        drive.advance(Time(now), &mut |c| done.push(*c));
        let kind = [Command::Read, Command::Write, Command::WriteThrough][(noise.draw() % 3) as usize];
        // One in a while is past the end of the drive.
        let request = command(id, kind, noise.draw() % (blocks + blocks / 50), 8);
        let hint = LimitIndex::new((noise.draw() % 2) as u8).map_or(Hint::None, Hint::Limit);
        drive.submit(Time(now), DriveRequest { hint, ..request });
        match id {
            60 => drive.reset_statistics(Time(now)),
            120 => drop(drive.abort(Time(now), id)),
            150 => drive.set(Time(now), Setting::QueueDepth(2)).expect("a depth"),
            _ => {}
        }
    }
    drive.advance(Time::NEVER, &mut |c| done.push(*c));
    (done, drive.counters(), drive)
}

#[test]
fn a_drive_that_is_watched_does_the_same() {
    let mut limited = shipped::drive("ultrastar-hc570");
    limited.duration_limits.enabled = Heeded::Limits;
    limited.duration_limits.reads =
        vec![DurationLimit { inactive: Some(Span(20 * MS as i64)), ..DurationLimit::default() }];
    let mut twin = buffered(small());
    twin.dash = "D2A1S1H1".parse().expect("a point");
    let mut queued = buffered(small());
    queued.queue.depth = 4;
    let mut bare = small();
    bare.power["conditions"]["standby"].as_object_mut().and_then(|t| t.remove("timer")).expect("a timer");
    for (seed, spec) in (1..).zip([small(), bare, buffered(small()), queued, twin, limited]) {
        let (want, counters, mut alone) = course(seed, new(&spec));
        let heard = Arc::new(Mutex::new(Heard::default()));
        let mut drive = new(&spec);
        drive.watch(Box::new(Looks(heard.clone())));
        let (got, counted, mut watched) = course(seed, drive);
        assert_eq!(got, want, "seed {seed}");
        assert_eq!((counted, watched.limit_counts()), (counters, alone.limit_counts()), "seed {seed}");
        let end = want.iter().map(|c| c.completion).max().expect("completions");
        same_energy(&watched.energy(end), &alone.energy(end));
        let heard = heard.lock().expect("no panic");
        assert!(heard.submitted.iter().copied().eq(0..200), "seed {seed}");
        let known: Vec<u64> = want.iter().map(|c| c.id).collect();
        assert!(
            heard.completed.len() > 20 && known.starts_with(&heard.completed),
            "seed {seed}: {:?}",
            heard.completed
        );
        assert_eq!(heard.restarts.len(), 1, "seed {seed}");
        assert!(heard.looks.iter().copied().eq((0..573).map(|i| Time(i * 700_000))), "seed {seed}");
    }
}

/// A run that ends early leaves the drive to itself for what is left to look at.
#[test]
fn a_watched_drive_goes_on_when_it_is_dropped() {
    let heard = Arc::new(Mutex::new(Heard::default()));
    let mut drive = new(&small());
    drive.watch(Box::new(Looks(heard.clone())));
    drive.submit(Time::ZERO, command(7, Command::Read, 0, 8));
    drop(drive);
    let heard = heard.lock().expect("no panic");
    assert_eq!((&heard.completed[..], heard.looks.last()), (&[7][..], Some(&Time(400_400_000))));
}
