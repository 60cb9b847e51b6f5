//! Elevators against sequences worked out by hand from the kernel's rules, and tests of their contract.

mod bfq;
mod sorted;

use headstack_block::layer::elevator::*;
use headstack_block::layer::ANYONE;
use headstack_units::{Span, Time};

fn build(name: &str, toml: &str) -> Box<dyn Elevator> {
    let params = toml::from_str(toml).expect("a table");
    PLUGINS.get(name).expect("an elevator").build(&params, 1000).expect("parameters that fit")
}

fn queued(slot: u32, write: bool, lba: u64) -> Queued {
    Queued { slot, write, lba, blocks: 1, sync: true, submitter: ANYONE, ..Queued::default() }
}

/// Adds requests such as `R50` (read at block 50) and takes them all at `now`.
fn order(elevator: &mut dyn Elevator, arrivals: &str, now: Time) -> String {
    let names: Vec<&str> = arrivals.split(' ').collect();
    for (slot, name) in names.iter().enumerate() {
        let lba = name[1..].parse().expect("a number");
        elevator.add(Time::ZERO, &queued(slot as u32, name.starts_with('W'), lba));
    }
    let taken = std::iter::from_fn(|| elevator.take(now));
    taken.map(|slot| names[slot as usize]).collect::<Vec<_>>().join(" ")
}

#[test]
fn deadline_elevators_by_hand() {
    let arrivals = "R50 R10 W20 R30 R70 W60 R90 R80 W5";
    // In advance, reads go on at 80 after a batch of writes, as in Linux 6.1.
    for (batch, starved, deadline, mq, in_advance) in [
        (
            2,
            2,
            "R50 R70 R80 R90 W20 W60 R10 R30 W5",
            "W5 W20 R10 R30 R50 R70 W60 R80 R90",
            "R50 R70 R80 R90 W20 W60 R10 R30 W5",
        ),
        (
            2,
            1,
            "R50 R70 W20 W60 R10 R30 W5 R90 R80",
            "W5 W20 R10 R30 W60 R50 R70 R80 R90",
            "R50 R70 W20 W60 R80 R90 W5 R10 R30",
        ),
        (
            16,
            2,
            "R50 R70 R80 R90 R10 R30 W20 W60 W5",
            "W5 W20 W60 R10 R30 R50 R70 R80 R90",
            "R50 R70 R80 R90 R10 R30 W20 W60 W5",
        ),
    ] {
        let text = format!("fifo_batch = {batch}\nwrites_starved = {starved}");
        let known = "\nin_advance = true";
        for (name, more, want) in
            [("deadline", "", deadline), ("mq-deadline", "", mq), ("mq-deadline", known, in_advance)]
        {
            let mut elevator = build(name, &format!("{text}{more}"));
            let got = order(&mut *elevator, arrivals, Time::ZERO);
            assert_eq!(got, want, "{name}, {text}{more}");
        }
    }
    assert_eq!(order(&mut *build("none", ""), arrivals, Time::ZERO), arrivals);
}

/// By hand: at 600 ms all reads are past their deadline of 500 ms. `deadline` starts each batch with the
/// oldest request: 50, 70; then 10, 30; then 90, the oldest that remains; then 80. `mq-deadline` starts at
/// 50, continues to 70, then 10, 30, then 90. No request lies behind 90, so a new batch begins with 80.
#[test]
fn requests_past_their_deadline_begin_batches() {
    let late = Time(Span::from_ms(600.0).0 as u64);
    for name in ["deadline", "mq-deadline"] {
        let mut elevator = build(name, "fifo_batch = 2");
        let got = order(&mut *elevator, "R50 R10 R30 R70 R90 R80", late);
        assert_eq!(got, "R50 R70 R10 R30 R90 R80", "{name}");
        let mut elevator = build(name, "fifo_batch = 2\nread_expire = \"601 ms\"");
        let got = order(&mut *elevator, "R50 R10 R30 R70 R90 R80", late);
        let want = match name {
            "deadline" => "R50 R70 R80 R90 R10 R30",
            _ => "R10 R30 R50 R70 R80 R90",
        };
        assert_eq!(got, want, "{name}");
    }
}

/// A batch begins with the oldest read from its deadline on, not only after it. Both elevators have just served block 50;
/// the read at 10 came before the one at 70, at 1 ms, and expires 500 ms later.
#[test]
fn a_deadline_is_over_when_it_comes() {
    let ms = |n: u64| Time(n * 1_000_000);
    for name in ["deadline", "mq-deadline"] {
        for (now, want) in [(Time(ms(501).0 - 1), 2), (ms(501), 1)] {
            let mut elevator = build(name, "fifo_batch = 1");
            elevator.add(Time::ZERO, &queued(0, false, 50));
            if name == "mq-deadline" {
                // It would begin with the lowest block.
                assert_eq!(elevator.take(Time::ZERO), Some(0));
            }
            elevator.add(ms(1), &queued(1, false, 10));
            elevator.add(ms(1), &queued(2, false, 70));
            if name == "deadline" {
                assert_eq!(elevator.take(ms(2)), Some(0));
            }
            assert_eq!(elevator.take(now), Some(want), "{name} at {now:?}");
        }
    }
}

/// Two actuators, and four requests for each at the drive, unless the table says otherwise. With three each, the fourth
/// goes to the first actuator; with four each, the earliest deadline decides, which is the second one's.
#[test]
fn ranges_give_each_actuator_four_requests_first() {
    for (at_drive, want) in [(3, 6), (4, 9)] {
        let mut elevator = build("ranges", "");
        for slot in 0..2 * at_drive {
            let lba = if slot % 2 == 0 { 100 } else { 600 };
            elevator.add(Time::ZERO, &queued(slot, false, lba + u64::from(slot)));
        }
        for _ in 0..2 * at_drive {
            assert!(elevator.take(Time::ZERO).is_some());
        }
        let (first, second) = (2 * at_drive, 2 * at_drive + 1);
        elevator.add(Time(1), &queued(second, false, 900));
        elevator.add(Time(2), &queued(first, false, 10));
        assert_eq!(elevator.take(Time(3)), Some(want), "{at_drive} each");
    }
}

/// The time to the deadline changes while requests wait. By hand, as in Linux: each request keeps the deadline that it
/// got when it arrived, and only the first of the list, in order of arrival, is asked for. Reads 50 and 10 arrive at
/// 0 ms with 500 ms. Reads 70 and 30 arrive at 1 ms: with 2 s, or with 1 ms. At 600 ms the first two are late, so
/// with batches of one 50 is first (the oldest), then 10. Then 30 or 70: with 2 s nothing is late, and the batch goes
/// on behind 10 at 30; with 1 ms the oldest is 70.
#[test]
fn a_changed_deadline_concerns_later_requests() {
    for name in ["deadline", "mq-deadline", "ranges"] {
        for (changed, want) in [(2000.0, [0, 1, 3, 2]), (1.0, [0, 1, 2, 3])] {
            let one = if name == "ranges" { "\nranges = 1" } else { "" };
            let mut elevator = build(name, &format!("fifo_batch = 1{one}"));
            assert_eq!(elevator.read_expire(), Some(Span::from_ms(500.0)));
            let at = |ms: f64| Time::ZERO + Span::from_ms(ms);
            elevator.add(at(0.0), &queued(0, false, 50));
            elevator.add(at(0.0), &queued(1, false, 10));
            elevator.set_read_expire(Span::from_ms(changed));
            assert_eq!(elevator.read_expire(), Some(Span::from_ms(changed)));
            elevator.add(at(1.0), &queued(2, false, 70));
            elevator.add(at(1.0), &queued(3, false, 30));
            let got = [0; 4].map(|_| elevator.take(at(600.0)).expect("one waits"));
            assert_eq!(got, want, "{name}, {changed} ms");
        }
    }
    // A shorter deadline behind a longer one is not seen until its request is the first of the list.
    for name in ["deadline", "mq-deadline"] {
        let mut elevator = build(name, "fifo_batch = 1\nread_expire = \"2 s\"");
        elevator.add(Time::ZERO, &queued(0, false, 50));
        elevator.add(Time::ZERO, &queued(1, false, 60));
        elevator.set_read_expire(Span::from_ms(1.0));
        elevator.add(Time::ZERO, &queued(2, false, 90));
        elevator.add(Time::ZERO, &queued(3, false, 80));
        let late = Time::ZERO + Span::from_ms(600.0);
        let got = [0; 4].map(|_| elevator.take(late).expect("one waits"));
        assert_eq!(got, [0, 1, 2, 3], "{name}: 50 and 60 in order, then 90, which is late, before 80");
    }
    assert_eq!(build("none", "").read_expire(), None);
}

/// A request arrives between the one in service and the next one. `deadline` has fixed the next one and
/// passes the new one over; `mq-deadline` serves it.
#[test]
fn late_arrivals_ahead_of_the_head() {
    for (name, want) in [("deadline", [0, 1, 2]), ("mq-deadline", [0, 2, 1])] {
        let mut elevator = build(name, "");
        elevator.add(Time::ZERO, &queued(0, false, 10));
        elevator.add(Time::ZERO, &queued(1, false, 90));
        let first = elevator.take(Time::ZERO);
        elevator.add(Time::ZERO, &queued(2, false, 50));
        let got = [first, elevator.take(Time::ZERO), elevator.take(Time::ZERO)];
        assert_eq!(got, want.map(Some), "{name}");
    }
}

/// Two ranges: blocks 0 to 499 and 500 to 999. By hand: the range with fewer requests at the drive is first,
/// of equal ones the lower range; within a range in order of address.
#[test]
fn ranges_serve_the_idle_actuator_first() {
    let mut elevator = build("ranges", "ranges = 2\nload = 2");
    for (slot, lba) in [30, 10, 20, 600, 499, 40].into_iter().enumerate() {
        // Request 4 ends at block 500, so it belongs to the second range.
        let blocks = if slot == 4 { 2 } else { 1 };
        let request = Queued { blocks, ..queued(slot as u32, false, lba) };
        elevator.add(Time(slot as u64), &request);
    }
    let take = |e: &mut dyn Elevator| e.take(Time::ZERO).expect("one waits");
    let got: Vec<u32> = (0..4).map(|_| take(&mut *elevator)).collect();
    assert_eq!(got, [1, 4, 2, 3], "10, 499 to 500, 20, 600: one each, two each");
    // Both ranges have two requests at the drive, and only the first has waiting ones.
    assert_eq!(take(&mut *elevator), 0);
    elevator.ended(Time::ZERO, 4);
    elevator.ended(Time::ZERO, 3);
    elevator.add(Time(9), &queued(3, false, 999));
    assert_eq!(take(&mut *elevator), 3, "the second actuator is idle");
    assert_eq!(take(&mut *elevator), 5);
    assert_eq!(elevator.take(Time::ZERO), None);
    let at = |lba| queued(9, false, lba);
    assert!(elevator.may_join(&at(498), &at(499)));
    assert!(!elevator.may_join(&at(499), &at(500)));
}

/// Every elevator, with random additions, dispatches, growth and merges: no request is lost, repeated or
/// invented.
#[test]
fn every_elevator_keeps_its_contract() {
    let mut idled = std::collections::BTreeSet::new();
    for entry in PLUGINS.iter() {
        for seed in 1..100u64 {
            let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut random = |below: u64| {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                x % below
            };
            let mut elevator = build(entry.name(), entry.example());
            let mut waiting: Vec<Queued> = Vec::new();
            let mut taken: Vec<u32> = Vec::new();
            let mut free: Vec<u32> = (0..64).rev().collect();
            for step in 0..600u64 {
                let at = format!("{} seed {seed} step {step}", entry.name());
                assert_eq!(elevator.len(), waiting.len(), "{at}");
                let now = Time(step * 20_000_000);
                match random(8) {
                    0..=3 if !free.is_empty() => {
                        let slot = free.pop().expect("free");
                        let write = random(2) == 0;
                        let request = Queued {
                            sync: !write || random(2) == 0,
                            submitter: [ANYONE, 0, 1, 2][random(4) as usize],
                            ..queued(slot, write, 1 + random(900))
                        };
                        elevator.add(now, &request);
                        waiting.push(request);
                    }
                    4 if waiting.len() > 1 => {
                        let (a, b) = (random(waiting.len() as u64), random(waiting.len() as u64));
                        let (a, b) = (waiting[a as usize], waiting[b as usize]);
                        if a.slot != b.slot && a.write == b.write && elevator.may_join(&a, &b) {
                            elevator.absorb(a.slot, b.slot);
                            waiting.retain(|q| q.slot != b.slot);
                            free.push(b.slot);
                        }
                    }
                    5 if !waiting.is_empty() => {
                        let i = random(waiting.len() as u64) as usize;
                        let grown = Queued { blocks: waiting[i].blocks + 1, ..waiting[i] };
                        if elevator.may_join(&waiting[i], &grown) && random(2) == 0 {
                            waiting[i] = grown;
                            elevator.grown(&grown);
                        } else if elevator.may_join(&waiting[i], &grown) {
                            waiting[i].lba -= u64::from(waiting[i].lba > 1);
                            waiting[i].blocks += 1;
                            elevator.resort(&waiting[i]);
                        }
                    }
                    6 if !taken.is_empty() => {
                        let slot = taken.swap_remove(random(taken.len() as u64) as usize);
                        elevator.ended(now, slot);
                        free.push(slot);
                    }
                    _ => match elevator.take(now) {
                        Some(slot) => {
                            let n = waiting.len();
                            waiting.retain(|q| q.slot != slot);
                            assert_eq!(waiting.len() + 1, n, "{at}: took {slot}");
                            taken.push(slot);
                        }
                        None if waiting.is_empty() => {}
                        None => {
                            let resumes = elevator.resumes_at();
                            assert!(!taken.is_empty() || resumes != Time::NEVER, "{at}");
                            idled.insert(entry.name().to_string());
                        }
                    },
                }
            }
            // Each is taken in the end, when all that were taken before have ended.
            let mut now = Time(600 * 20_000_000);
            while !waiting.is_empty() {
                for slot in taken.drain(..) {
                    elevator.ended(now, slot);
                }
                match elevator.take(now) {
                    Some(slot) => {
                        waiting.retain(|q| q.slot != slot);
                        taken.push(slot);
                    }
                    None => {
                        let resumes = elevator.resumes_at();
                        let name = entry.name();
                        assert!(now < resumes && resumes != Time::NEVER, "{name} seed {seed}");
                        now = resumes;
                    }
                }
            }
            assert_eq!(elevator.take(now), None);
        }
    }
    assert_eq!(idled, ["bfq".to_string()].into(), "those that keep the device idle");
}

#[test]
fn parameters_that_do_not_fit_are_refused() {
    for (name, text, want) in [
        ("deadline", "fifo_bach = 2", "did you mean \"fifo_batch\"?"),
        ("mq-deadline", "read_expire = \"-1 ms\"", "read_expire: got"),
        ("ranges", "ranges = 9", "ranges: got 9, need 1 to 8"),
        ("none", "x = 1", "got key \"x\""),
    ] {
        let params = toml::from_str(text).expect("a table");
        let built = PLUGINS.get(name).expect("an elevator").build(&params, 1000);
        let error = built.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains(want), "{name} {text}: {error:?}");
    }
    let error = PLUGINS.find("elevator", "cfq").err().expect("an error").to_string();
    assert!(error.contains("none, deadline, mq-deadline, ranges, bfq"), "{error}");
}
