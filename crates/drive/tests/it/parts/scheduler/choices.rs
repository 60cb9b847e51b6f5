//! Compares the schedulers' choices with plain scans over [`Mechanics::position`] for queues of all lengths,
//! and checks how the work of a choice grows.

use crate::parts::queue::{age, arrival_at};
use headstack_drive::command::{Command, DriveRequest, Hint};
use headstack_drive::limits::parameters::{DurationLimit, Heeded, LimitsSpec};
use headstack_drive::limits::{Limits, Target};
use headstack_drive::mechanics::{Arm, Mechanics};
use headstack_drive::parallelism::{ArmChoice, HeadSet};
use headstack_drive::queue::{Queue, Waiting, WRITE};
use headstack_drive::scheduler::aged_sptf::{choose_beside, error_of};
use headstack_drive::scheduler::bounds::{Ageing, SeekLowerBound};
use headstack_drive::scheduler::search::Search;
use headstack_drive::scheduler::urgency::{nearest, BesideLimits, Urgency};
use headstack_drive::scheduler::*;
use headstack_drive::spec::{DriveSpec, Params};
use headstack_testkit::XorShift;
use headstack_units::{Lba, Span, Time, Turn};
use std::ops::Range;
use std::time::Instant;

/// A drive with measured seek times that decrease somewhere.
fn mechanics(positioning: &str) -> Mechanics {
    let text = r#"
        name = "medium"
        [geometry]
        rotation_speed = "7200 rpm"
        surfaces = 3
        cylinders = 9000
        zones = [
            { first_cylinder = 0, last_cylinder = 3999, sectors_per_track = 211, track_skew = 20.0, cylinder_skew = 30.0 },
            { first_cylinder = 4000, last_cylinder = 8999, sectors_per_track = 160, track_skew = 15.0, cylinder_skew = 25.0 },
        ]
        [seek]
        model = "table"
        points = [[1, "1 ms"], [3, "0.6 ms"], [40, "1.5 ms"], [300, "1.3 ms"], [8999, "14 ms"]]
        [positioning]
    "#;
    let spec: DriveSpec = toml::from_str(&format!("{text}{positioning}")).expect("a drive");
    headstack_drive::Models::builtin().mechanics(&spec, &spec.geometry, Turn(1 << 61)).expect("mechanics")
}

/// Reads that lie completely in one of these ranges of sectors, or begin at the end of the last range.
struct Ranges(Vec<Range<u64>>);

impl Buffer for Ranges {
    fn serves(&self, w: &Waiting) -> bool {
        let past = w.sector + u64::from(w.count);
        w.request.command == Command::Read
            && (self.0.iter().any(|r| r.start <= w.sector && past <= r.end)
                || self.0.last().is_some_and(|r| r.end == w.sector))
    }
    fn ranges(&self, each: &mut dyn FnMut(Range<u64>)) {
        self.0.iter().for_each(|r| each(r.start..r.end + 1));
    }
}

fn waiting(noise: &mut XorShift, capacity: u64) -> (DriveRequest, (u64, u32)) {
    let kind = noise.below(8);
    // Most at random places, some close together: on one cylinder or at one of a few addresses.
    let sector = match kind {
        0 => 60_000 + noise.below(400),
        1 => noise.below(4) * 10_000,
        _ => noise.below(capacity - 64),
    };
    let count = [8, 8, 8, 1, 64][noise.below(5) as usize];
    let command = match noise.below(3) {
        0 => Command::Write,
        _ => Command::Read,
    };
    let request = DriveRequest { id: 0, command, lba: Lba(sector), blocks: count, ..DriveRequest::default() };
    (request, (sector, count))
}

fn anywhere(noise: &mut XorShift) -> Arm {
    Arm { cylinder: noise.below(9000) as u32, head: noise.below(3) as u16, angle: Turn(noise.below(u64::MAX)) }
}

fn scheduler(name: &str, parameters: &str) -> Box<dyn Scheduler> {
    let plugin = PLUGINS.find("scheduler", name).expect("a scheduler");
    let parameters: Params = toml::from_str(parameters).expect("parameters");
    plugin.build(&parameters, ()).expect("a scheduler")
}

/// The command with the least (price, age), by a plain scan.
fn scan(queue: &Queue, price: impl Fn(&Waiting) -> f64) -> usize {
    let age = |i: usize| age(&queue.items[i]);
    let mut best: Option<(f64, (u64, u64), usize)> = None;
    for i in queue.by_age() {
        let key = (price(&queue.items[i]), age(i), i);
        if best.is_none_or(|b| (key.0, key.1) < (b.0, b.1)) {
            best = Some(key);
        }
    }
    best.expect("a command").2
}

/// Positioning time with the arm that serves, by the rule of `arm_choice`.
fn positioning(view: &View, w: &Waiting) -> f64 {
    let write = w.request.command.writes();
    let mut best = (Span::FOREVER, Span::FOREVER);
    for (a, arm) in view.arms.iter().enumerate() {
        if let Some(head_sets) = view.head_sets {
            let place = &w.place;
            if view.usable >> a & 1 == 0 || !head_sets[a].reaches(1 << place.head, place.cylinder, write) {
                continue;
            }
        }
        let delay = if a == view.active_set { view.active_delay[write as usize] } else { Span::ZERO };
        let at = view.start[write as usize].after(delay);
        let p = view.mechanics.position(arm, &w.place, write, at);
        let (seek, total) = (delay + p.seek, delay + p.total());
        let rank = match view.arm_choice {
            ArmChoice::Positioning => total,
            ArmChoice::Rotation => total - seek,
            ArmChoice::Seek => seek,
        };
        best = best.min((rank, total));
    }
    best.1 .0 as f64
}

/// The choice of a plain scan, if one is written for this scheduler; `up` is the direction of a sweep.
fn brute(name: &str, queue: &Queue, view: &View, up: &mut bool) -> Option<usize> {
    let here = view.arms[0].cylinder as f64;
    let end = view.last_end as f64;
    let transfer = |w: &Waiting| (f64::from(w.count) * w.place.sector_ns).floor();
    Some(match name {
        // Of commands that arrived together, the one pushed first.
        "fcfs" => queue.by_age().next().expect("a command"),
        "sptf" => scan(queue, |w| positioning(view, w)),
        "satf" => scan(queue, |w| if view.buffer.serves(w) { -1.0 } else { positioning(view, w) + transfer(w) }),
        "aged-sptf" => scan(queue, |w| positioning(view, w) - 0.006 * view.now.span_from(w.arrival.at).0 as f64),
        ESTIMATED => scan(queue, |w| {
            let price = positioning(view, w) - 0.006 * view.now.span_from(w.arrival.at).0 as f64;
            price + 1.4e6 * error_of(view.now, w.request.id)
        }),
        "depth-aged-sptf" | "deadline-sptf" => scan(queue, |w| match view.buffer.serves(w) {
            true => f64::NEG_INFINITY,
            false => {
                let weight = 1.3 / queue.len as f64;
                positioning(view, w) - weight * view.now.span_from(w.arrival.at).0 as f64
            }
        }),
        "sstf" => scan(queue, |w| {
            let far = |a: &Arm| a.cylinder.abs_diff(w.place.cylinder);
            f64::from(view.arms.iter().map(far).min().expect("an arm"))
        }),
        "vscan" => {
            let found = scan(queue, |w| {
                let d = f64::from(w.place.cylinder) - here;
                let back = d != 0.0 && (d > 0.0) != *up;
                d.abs() + if back { 0.2 * 9000.0 } else { 0.0 }
            });
            let d = f64::from(queue.items[found].place.cylinder) - here;
            *up = if d == 0.0 { *up } else { d > 0.0 };
            found
        }
        "c-look" => scan(queue, |w| {
            let ahead = w.sector as f64 - end;
            ahead + if ahead < 0.0 { 1e12 } else { 0.0 }
        }),
        "look" | "scan" => {
            let ahead = |w: &Waiting, up: bool| (w.sector as f64 >= end) == up;
            if !queue.by_age().any(|i| ahead(&queue.items[i], *up)) {
                *up = !*up;
            }
            let far = |w: &Waiting| (w.sector as f64 - end).abs();
            scan(queue, |w| far(w) + if ahead(w, *up) { 0.0 } else { 1e12 })
        }
        _ => return None,
    })
}

/// Ageing by positioning times that are estimated.
const ESTIMATED: &str = "aged-sptf, estimated";

/// Follows one scheduler over a queue that grows to `longest` and shrinks again, with random views.
fn follow(name: &str, m: &Mechanics, arms: usize, longest: usize, limited: bool, seed: u64) {
    let mut noise = XorShift::default();
    for _ in 0..seed {
        noise.below(2);
    }
    let mut plugin = match name {
        ESTIMATED => scheduler("aged-sptf", "estimate_deviation = \"1.4 ms\""),
        name => scheduler(name, ""),
    };
    let mut queue = Queue::new(plugin.needs());
    let head_sets: Vec<HeadSet> = (0..arms as u32)
        .map(|a| HeadSet {
            assembly: a,
            surfaces: if a == 0 { 7 } else { 1 << (a % 3) | 1 },
            cylinders: (0, if a == 1 { 5000 } else { 9000 }),
            offset: 0,
            reads: a % 4 != 2,
            writes: a % 3 != 1,
        })
        .collect();
    let mut up = true;
    let (mut now, mut id, mut grow) = (1 << 40, 0, true);
    let mut hits = 0;
    for step in 0..longest * 4 {
        grow = if queue.len < 2 { true } else { grow && queue.len < longest };
        for _ in 0..if grow { 1 + noise.below(4) } else { 0 } {
            let (mut request, sectors) = waiting(&mut noise, m.layout.capacity());
            // Falling ids and simultaneous arrivals: ties are decided by arrival, then by id.
            id += 1;
            request.id = id ^ 1;
            queue.push(request, arrival_at(now), sectors, |p| {
                assert!(m.layout.locate_into(sectors.0, p));
            });
            now += noise.below(3) * noise.below(1 << 22);
        }
        if queue.is_empty() {
            continue;
        }
        let heads: Vec<Arm> = (0..arms).map(|_| anywhere(&mut noise)).collect();
        queue.place_lone();
        // Ranges held by the buffer, most of them where a command waits.
        let held = |noise: &mut XorShift| {
            let rank = noise.below(queue.len as u64) as usize;
            let waits = queue.by_age().nth(rank).expect("a command");
            let start = match noise.below(4) {
                0 => noise.below(m.layout.capacity()),
                _ => queue.items[waits].sector,
            };
            start..start + noise.below(200)
        };
        let buffer = Ranges((0..noise.below(3)).map(|_| held(&mut noise)).collect());
        let choice = [ArmChoice::Positioning, ArmChoice::Positioning, ArmChoice::Rotation, ArmChoice::Seek]
            [noise.below(4) as usize];
        let read = now + noise.below(1 << 20);
        let view = View {
            mechanics: m,
            arms: &heads,
            head_sets: limited.then_some(&head_sets[..]),
            usable: 1 + 2 * noise.below(1 << (arms - 1)),
            arm_choice: if limited { choice } else { ArmChoice::Positioning },
            now: Time(now),
            start: [Time(read), Time(read + noise.below(2) * 300_000)],
            active_set: noise.below(arms as u64) as usize,
            active_delay: [noise.below(2) * noise.below(60_000_000), noise.below(2) * 90_000].map(|ns| Span(ns as i64)),
            last_end: noise.below(m.layout.capacity()),
            buffer: &buffer,
            deadlines: None,
        };
        let scanned = brute(name, &queue, &view, &mut up);
        let got = plugin.pick(&queue, &view);
        let want = scanned.unwrap_or(got.index);
        plugin.reversal_cylinder();
        let waiting = queue.items[want];
        assert_eq!(
            got.index, want,
            "{name}, {arms} arms, limited {limited}, seed {seed}, step {step}, {} waiting, {:?} for {:?}",
            queue.len, queue.items[got.index], waiting,
        );
        assert!(queue.by_age().any(|i| i == want), "{name} step {step}: {want} is not waiting");
        assert!(scanned.is_none() || got.arm == view.best_arm(&queue, want), "{name} step {step}");
        hits += buffer.serves(&waiting) as u32;
        queue.remove(want);
    }
    let knows_buffer = ["satf", "depth-aged-sptf", "deadline-sptf"].contains(&name);
    assert!(!knows_buffer || hits > 0, "no choice was in the buffer");
}

const POSITIONING: [&str; 5] = [
    "head_switch = \"0.7 ms\"\nwrite_settle = \"0.3 ms\"",
    "head_switch = \"0.7 ms\"\nwrite_settle = \"0.3 ms\"\nsettle_after_head_switch = false",
    "head_switch = \"0.2 ms\"\nwrite_settle = \"-0.4 ms\"",
    "head_switch = \"0.7 ms\"\nrotation_scale = 0.5",
    "head_switch = \"0.7 ms\"\nseek_scale = 0.0",
];

#[test]
fn choices_equal_plain_scans() {
    for (seed, positioning) in POSITIONING.into_iter().enumerate() {
        let m = mechanics(positioning);
        for name in PLUGINS.iter().map(|p| p.name()).chain([ESTIMATED]) {
            for (arms, longest) in [(1, 30), (1, 500), (3, 30), (3, 200)] {
                println!("{name} {positioning} {arms} {longest} seed {seed}");
                follow(name, &m, arms, longest, false, seed as u64);
                if arms > 1 {
                    follow(name, &m, arms, longest, true, seed as u64);
                }
            }
        }
    }
}

/// Bounds exceed the positioning time by less than their excess. Bounds that are sure are not below it, and
/// most are sure.
#[test]
fn bounds_are_bounds() {
    for positioning in POSITIONING {
        let m = mechanics(positioning);
        let floor = SeekLowerBound::new(&m);
        let mut noise = XorShift::default();
        println!("{positioning}, seed of XorShift::default");
        let (mut sure, n) = (0, 40_000);
        for i in 0..n {
            let arm = anywhere(&mut noise);
            let at = noise.below(1 << 60);
            let start = [Time(at), Time(at + noise.below(3) * 100_000)];
            let delay = [noise.below(2) * noise.below(1 << 26), noise.below(1 << 18)].map(|ns| Span(ns as i64));
            let write = noise.below(2) == 0;
            let w = write as usize;
            let mut place = m.layout.locate(noise.below(m.layout.capacity())).expect("a place");
            if i % 4 == 0 {
                // Close to where the head arrives, where a few nanoseconds decide on a turn.
                let seek = m.move_time(&arm, place.cylinder, place.head, write);
                let there = start[w].after(delay[w] + seek);
                let near = Turn(noise.below(1 << 48)).since(Turn(1 << 47));
                place.angle = m.rotation.angle_at(there).since(arm.angle).plus(near);
            }
            let p = m.position(&arm, &place, write, start[w].after(delay[w]));
            let exact = delay[w] + p.total();
            let mut queue = Queue::new(scheduler("sptf", "").needs());
            let request = DriveRequest {
                id: 0,
                command: if write { Command::Write } else { Command::Read },
                lba: Lba(0),
                blocks: 1,
                ..DriveRequest::default()
            };
            queue.push(request, arrival_at(0), (0, 1), |p| *p = place);
            queue.place_lone();
            let chunk = queue.positions.piece(0);
            let approach = floor.at(&m, start).approach(&arm, delay);
            let scores = &mut [0; headstack_drive::queue::CHUNK];
            let score = approach.score::<false>(chunk, scores, &Ageing::NONE);
            assert!(score <= floor.limit::<false>(exact, &Ageing::NONE), "{score} {exact} {arm:?} {place:?} {write}");
            let (cylinder, angle) = (chunk.cylinder[0], u32::from(chunk.angle[0] & !WRITE));
            let wide = (angle.saturating_sub(noise.below(500) as u32), angle);
            assert!(approach.score_of_range(cylinder, wide) <= score);
            if approach.is_sure::<false>(chunk, (0, score), &Ageing::NONE, Span::ZERO) {
                sure += 1;
                let units = exact.0 as f64 / m.rotation.period_ns * f64::from(1 << 11);
                assert!(units <= f64::from(score), "{score} {units} {arm:?} {place:?} {write}");
            }
        }
        assert!(m.scales_rotation() || sure > n / 2, "{positioning}: {sure}");
    }
}

/// Bounds with ages exceed the price by less than their excess, and those that are sure are not more than that below it,
/// for all weights. Prices count from that of the oldest command without positioning.
#[test]
fn bounds_with_ages_are_bounds() {
    let m = mechanics(POSITIONING[0]);
    let floor = SeekLowerBound::new(&m);
    let mut noise = XorShift::default();
    println!("seed of XorShift::default");
    let (mut sure, mut slight, n) = (0, 0, 40_000);
    for i in 0..n {
        // From 2^-40 to 2^12, or far too large; times from microseconds to days.
        let weight = match i % 8 {
            0 => 1e15,
            _ => 2f64.powf(noise.below(5200) as f64 / 100.0 - 40.0),
        };
        let oldest = noise.below(1 << 50);
        let bits = 10 + noise.below(38);
        let later = noise.below(1 << bits);
        let mut queue = Queue::new(scheduler("aged-sptf", "").needs());
        let read = |id, sector| DriveRequest {
            id,
            command: Command::Read,
            lba: Lba(sector),
            blocks: 1,
            ..DriveRequest::default()
        };
        let mut place = Default::default();
        for (id, at) in [oldest, oldest + later].into_iter().enumerate() {
            let sector = noise.below(m.layout.capacity());
            place = m.layout.locate(sector).expect("a place");
            let request = read(id as u64, sector);
            queue.push(request, arrival_at(at), (sector, 1), |p| *p = place);
        }
        let arm = Arm { cylinder: noise.below(9000) as u32, head: 1, angle: Turn(noise.below(u64::MAX)) };
        let start = oldest + later + noise.below(1 << 40);
        let chunk = queue.positions.piece(0);
        let row = (0..2).find(|r| chunk.number[*r] == 1).expect("the younger one");
        let ageing = floor.ageing(weight, Time(oldest));
        let approach = floor.at(&m, [Time(start); 2]).approach(&arm, [Span::ZERO; 2]);
        let mut scores = [0; headstack_drive::queue::CHUNK];
        let least = approach.score::<true>(chunk, &mut scores, &ageing);
        assert_eq!(least as i16, scores[0].min(scores[1]));
        let score = scores[row] as u32;
        let exact = m.position(&arm, &place, false, Time(start)).total().0 as f64 + weight * later as f64;
        assert!(score <= floor.limit::<true>(Span(exact as i64), &ageing), "{score} {exact} {weight} {later}");
        if approach.is_sure::<true>(chunk, (row, score), &ageing, Span(later as i64)) {
            sure += 1;
            slight += (weight * (later as f64) < 1e5) as i32;
            let units = exact / m.rotation.period_ns * f64::from(1 << 11);
            let most = score + SeekLowerBound::margin::<true>(&ageing);
            assert!(units <= f64::from(most), "{score} {units} {weight} {later}");
        }
    }
    // Some for which age counts, and some for which it does not.
    assert!(sure - slight > n / 20 && slight > n / 20, "{sure} {slight}");
}

/// Median time of a choice in nanoseconds, with `n` waiting.
fn choice_ns(name: &str, m: &Mechanics, n: u64) -> u128 {
    let mut noise = XorShift::default();
    let mut plugin = scheduler(name, "");
    let mut queue = Queue::new(plugin.needs());
    let one_more = |queue: &mut Queue, noise: &mut XorShift, id: u64| {
        let sector = noise.below(m.layout.capacity() / 8 - 8) * 8;
        let request =
            DriveRequest { id, command: Command::Read, lba: Lba(sector), blocks: 8, ..DriveRequest::default() };
        queue.push(request, arrival_at(id * 100_000), (sector, 8), |p| {
            assert!(m.layout.locate_into(sector, p));
        });
    };
    (0..n).for_each(|id| one_more(&mut queue, &mut noise, id));
    let (mut arm, mut last_end) = (Arm::default(), 0);
    let mut took = Vec::new();
    for id in n..n + 300 {
        let now = id * 100_000;
        let held = noise.below(m.layout.capacity() - 400);
        let buffer = Ranges(std::iter::once(held..held + 400).collect());
        let view = View {
            mechanics: m,
            arms: &[arm],
            head_sets: None,
            usable: 1,
            arm_choice: ArmChoice::Positioning,
            now: Time(now),
            start: [Time(now), Time(now)],
            active_set: 0,
            active_delay: [Span::ZERO; 2],
            last_end,
            buffer: &buffer,
            deadlines: None,
        };
        let before = Instant::now();
        let chosen = plugin.pick(&queue, &view).index;
        took.push(before.elapsed().as_nanos());
        let w = &queue.items[chosen];
        (arm.cylinder, arm.head) = (w.place.cylinder, w.place.head);
        last_end = w.sector + 8;
        queue.remove(chosen);
        one_more(&mut queue, &mut noise, id);
    }
    took.sort_unstable();
    took[took.len() / 2]
}

/// With 64 times as many waiting commands, a choice takes at most 10 times as long; if age has a price, 40.
#[test]
fn the_work_of_a_choice_grows_less_than_the_queue() {
    let m = mechanics("head_switch = \"0.7 ms\"\nwrite_settle = \"0.3 ms\"");
    for plugin in PLUGINS.iter() {
        let (few, many) = (choice_ns(plugin.name(), &m, 500), choice_ns(plugin.name(), &m, 32_000));
        println!("{}: {few} ns of 500, {many} of 32000", plugin.name());
        let most = if plugin.name() == "aged-sptf" { 40 } else { 10 };
        assert!(many <= most * few.max(100), "{}: {few} {many}", plugin.name());
    }
}

/// With limits: the usual choice and the nearest urgent command are those of plain scans, for queues of all lengths.
#[test]
fn choices_beside_limits_equal_plain_scans() {
    let m = mechanics(POSITIONING[0]);
    let limit = |ms: i64| DurationLimit { guideline: Some(Span(ms * 1_000_000)), ..DurationLimit::default() };
    let spec = LimitsSpec {
        enabled: Heeded::Limits,
        reads: [5, 20, 200].map(limit).to_vec(),
        writes: [5, 20, 200].map(limit).to_vec(),
        ..LimitsSpec::default()
    };
    for (arms, longest) in [(1, 30), (1, 500), (3, 200)] {
        println!("{arms} arms, {longest} commands, seed of XorShift::default");
        let mut noise = XorShift::default();
        let mut limits = Limits::new(&spec).expect("limits");
        let mut queue = Queue::new(scheduler("depth-aged-sptf", "").needs());
        let mut search = Search::default();
        let (mut now, mut found) = (1 << 40, 0);
        for id in 0..longest as u64 * 3 {
            let (mut request, sectors) = waiting(&mut noise, m.layout.capacity());
            request.id = id;
            request.hint = Hint::new(noise.below(4) as u8, false).expect("a limit");
            queue.push(request, arrival_at(now), sectors, |p| {
                assert!(m.layout.locate_into(sectors.0, p));
            });
            limits.waits(queue.newest(), request.hint, request.command.writes(), Time(now), Time(now));
            now += noise.below(1 << 22);
            queue.place_lone();
            let heads: Vec<Arm> = (0..arms).map(|_| anywhere(&mut noise)).collect();
            let view = View {
                mechanics: &m,
                arms: &heads,
                head_sets: None,
                usable: u64::MAX,
                arm_choice: ArmChoice::Positioning,
                now: Time(now),
                start: [Time(now); 2],
                active_set: 0,
                active_delay: [Span::ZERO; 2],
                last_end: 0,
                buffer: &Ranges(Vec::new()),
                deadlines: limits.deadlines(),
            };
            if let Some(deadlines) = view.deadlines {
                let target = |w: &Waiting| {
                    let mut all = queue.by_age();
                    let own = all.find(|i| queue.items[*i].request.id == w.request.id);
                    deadlines.of(own.expect("its number"))
                };
                let weight = 0.7 / queue.len as f64;
                let urgency = Urgency { after: 0.5, before_ns: f64::INFINITY };
                let order =
                    BesideLimits { weight, slack_weight: 0.1, urgency, detour_late: Span::ZERO, head_start_ns: 0.0 };
                let want = scan(&queue, |w| {
                    let worth = weight * Time(now).span_from(w.arrival.at).0 as f64;
                    let waited = |t: Target| Time(now).span_from(t.received).0 as f64;
                    let slack = |t: Target| 0.1 * (t.wait.0 as f64 * 0.5 - waited(t)).max(0.0);
                    positioning(&view, w) + target(w).map_or(-worth, slack)
                });
                let got = choose_beside(&mut search, &queue, &view, (deadlines, &order));
                assert_eq!(got.index, want, "command {id}, {} waiting", queue.len);
                let is_due = |t: Target| Time(now).span_from(t.received).0 as f64 >= t.wait.0 as f64 * 0.5;
                let want = scan(&queue, |w| match target(w).is_some_and(is_due) {
                    true => positioning(&view, w),
                    false => f64::INFINITY,
                });
                let got = nearest(&mut search, &queue, &view, deadlines, urgency);
                if let Some(got) = got {
                    found += 1;
                    assert_eq!(got.index, want, "command {id}, {} waiting", queue.len);
                } else {
                    assert!(!queue.by_age().any(|i| deadlines.of(i).is_some_and(is_due)));
                }
            }
            if queue.len >= longest {
                let rank = noise.below(queue.len as u64) as usize;
                let i = queue.by_age().nth(rank).expect("a command");
                limits.leaves(i);
                queue.remove(i);
            }
        }
        assert!(found > longest, "{found}");
    }
}
