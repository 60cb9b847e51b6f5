//! The rebuild of a volume: what is under way at once, and how fast it goes.
//!
//! Members serve one request at a time, each block in 1 us.

use super::mock::{finish, request, tree, Behaviour, Log, Mock};
use headstack_block::layer::{ErrorKind, Request, Setting, Tree, VolumeSetting, PLUGINS};
use headstack_block::Clock;
use headstack_drive::Command::{self, Flush, Read, Write};
use headstack_units::{Bandwidth, Time};

/// Blocks of a window.
const WINDOW: u64 = 128;
/// Blocks of md's longest request of RAID-5: 254 units of 4 KiB.
const LONGEST: u64 = 2032;
/// Time of a block, ns.
const BLOCK: u64 = 1000;
const S: u64 = 1_000_000_000;
/// A tick of the kernel, ns.
const TICK: u64 = 4_000_000;

/// A member whose reads of one block fail.
struct Even {
    index: u32,
    bad: Option<u64>,
    log: Log,
}

impl Behaviour for Even {
    fn arrives(&mut self, now: Time, request: &Request) {
        let mut log = self.log.lock().expect("the log");
        log.push((now, self.index, *request));
    }
    fn serve(&mut self, start: Time, request: &Request) -> (Time, Option<ErrorKind>) {
        let end = Time(start.0 + u64::from(request.blocks) * BLOCK);
        let range = request.lba..request.lba + u64::from(request.blocks);
        let fails = request.command == Read && self.bad.is_some_and(|b| range.contains(&b));
        (end, fails.then_some(ErrorKind::Unreachable))
    }
}

struct Run {
    volume: Tree,
    log: Log,
    ends: Vec<(u64, u64)>,
}

impl Run {
    /// A volume of members of this size, whose member 1 is new from the beginning.
    fn new(name: &str, members: u32, blocks: u64, toml: &str, bad: Option<u64>) -> Run {
        let log = Log::default();
        let below = (0..members).map(|index| {
            let even = Even { index, bad: bad.filter(|_| index == 0), log: log.clone() };
            Mock::new(blocks, 1, index, even).branch()
        });
        let params = toml::from_str(&format!("gone = [1]\n{toml}")).expect("a table");
        let all = &*PLUGINS;
        let entry = all.get(name).expect("a layer");
        let mut volume = tree(entry, below.collect(), params).expect("a volume");
        volume.set(Time::ZERO, &[0], &Setting::Volume(VolumeSetting::MemberReplaced(1))).expect("a member");
        let ends = Vec::new();
        Run { volume, log, ends }
    }

    fn until(&mut self, at: u64) {
        let ends = &mut self.ends;
        self.volume.advance(Time(at), &mut |done| {
            ends.push((done.id, done.completion.0));
        });
    }

    fn ask(&mut self, at: u64, id: u64, command: Command, lba: u64, blocks: u32) {
        self.until(at);
        self.volume.submit_to(Time(at), request(id, command, lba, blocks));
    }

    /// What the rebuild asked of the members: time, member, command, first block, blocks.
    fn asked(&self) -> Vec<(u64, u32, Command, u64, u64)> {
        let log = self.log.lock().expect("the log");
        let all = log.iter();
        all.map(|(at, member, r)| (at.0, *member, r.command, r.lba, u64::from(r.blocks))).collect()
    }

    fn count(&self, name: &str) -> u64 {
        self.volume.results()[0].counts[name]
    }
}

/// The most that a rebuild can do.
const FAST: &str = "rebuild_rate = \"1000 GB/s\"";

/// Mirrors have 31 windows of 64 KiB under way, requests of whole windows up to 1,016 KiB: 15 windows, 15 and 1. As soon
/// as windows are done, as many follow. (Measured with md: 960, 960 and 64 KiB.)
#[test]
fn mirrors_rebuild_31_windows_at_once() {
    for (name, members, toml) in [
        ("raid1", 2, ""),
        ("raid10", 4, "chunk = \"64 KiB\""),
        ("raid10", 4, "chunk = \"64 KiB\"\nnear = 1\nfar = 2\noffset = true"),
    ] {
        let mut run = Run::new(name, members, 1000 * WINDOW, &format!("{FAST}\n{toml}"), None);
        run.until(1);
        let reads = run.asked();
        let read: u64 = reads.iter().map(|r| r.4).sum();
        assert_eq!((read, reads[0].0), (31 * WINDOW, 0), "{name} {toml}");
        assert!(reads.iter().all(|r| r.2 == Read && r.1 != 1));
        run.until(40 * 15 * WINDOW * BLOCK);
        let writes: Vec<_> = run.asked().into_iter().filter(|r| r.2 == Write).collect();
        let first: Vec<_> = writes.iter().take(3).map(|w| (w.1, w.3, w.4)).collect();
        let w = WINDOW;
        let want = [(1, 0, 15 * w), (1, 15 * w, 15 * w), (1, 30 * w, w)];
        assert_eq!(first, want, "{name} {toml}");
        assert!(writes.iter().all(|w| [1, 15].contains(&(w.4 / WINDOW))));
    }
}

/// RAID-5 has 256 units of 4 KiB under way: 254, which one request reads from each other member, and 2. When the stripe
/// cache was full it is used again once there is room for 254 units, not when the 2 are done, and after a timer of one tick
/// of 4 ms: the memory is free in the second tick, so the timer ends with the third.
#[test]
fn raid5_rebuilds_as_much_as_its_stripe_cache_holds() {
    let mut run = Run::new("raid5", 4, 1000 * WINDOW, FAST, None);
    let again = 3 * TICK;
    run.until(again + 1);
    let short = 2048 - LONGEST;
    let mut want = Vec::new();
    for (lba, blocks) in [(0, LONGEST), (LONGEST, short)] {
        want.extend([0, 2, 3].map(|member| (0, member, Read, lba, blocks)));
    }
    want.push((LONGEST * BLOCK, 1, Write, 0, LONGEST));
    want.push((2048 * BLOCK, 1, Write, LONGEST, short));
    for (lba, blocks) in [(2048, LONGEST), (2048 + LONGEST, short)] {
        want.extend([0, 2, 3].map(|member| (again, member, Read, lba, blocks)));
    }
    assert_eq!(run.asked(), want);
    assert_eq!(run.count("rebuilt_bytes"), 2048 * 512);
}

/// md's stripe cache grows by one unit of 8 blocks each time that the rebuild has all of it: the short run beside that of
/// 254 units has 2, 3, 4 and 5, and no more, as far as it may grow.
#[test]
fn the_stripe_cache_grows_each_time_that_it_is_full() {
    let text = format!("{FAST}\nrebuild_grows_to = \"1036 KiB\"");
    for (toml, want) in [(FAST, [2, 2, 2, 2, 2]), (&text, [2, 3, 4, 5, 5])] {
        let mut run = Run::new("raid5", 4, 1000 * WINDOW, toml, None);
        run.until(14 * TICK);
        let asked = run.asked().into_iter();
        let short = asked.filter(|r| r.1 == 1 && r.4 < LONGEST).map(|r| r.4 / 8);
        assert_eq!(short.take(5).collect::<Vec<_>>(), want, "{toml}");
    }
}

/// The host needs 10 us for each 4 KiB of a run between its reads and its write, and after the write, and does one thing
/// after another. Runs of a mirror: 15, 15 and 1 windows, of 240, 240 and 16 pages; each window is read in 128 us.
#[test]
fn the_host_takes_its_time_for_each_run() {
    let text = format!("{FAST}\nrebuild_host_time = \"10 us\"");
    let mut run = Run::new("raid1", 2, 1000 * WINDOW, &text, None);
    let long = 15 * WINDOW * BLOCK;
    let (step, brief) = (2_400_000, 160_000);
    // Read by 1.92, 3.84 and 3.968 ms. The first is written from 4.32 to 6.24 ms; the second from 6.72 on, for the
    // processor is at work until then, to 8.64; then the short one, which was to be written from 6.88 on.
    let first = long + step;
    let second = first + step;
    run.until(second + brief + 1);
    let asked = run.asked();
    let writes: Vec<_> = asked.iter().filter(|r| r.2 == Write).map(|r| r.0).collect();
    assert_eq!(writes, [first, second, second + brief]);
    // The first run has ended 2.4 ms after the processor was free: then as much is read.
    let ended = second + brief + step;
    run.until(ended + 1);
    let again = run.asked().into_iter().filter(|r| r.2 == Read && r.0 > 0);
    let again: Vec<_> = again.map(|r| (r.0, r.3, r.4)).collect();
    assert_eq!(again, [(ended, 31 * WINDOW, 15 * WINDOW)]);
}

/// While the host is at work after a write of RAID-5, the memory of the run becomes free little by little. Requests that
/// wait go on when a quarter is, one after another: here 0.254 ms after the write of 254 units, at 4 us each.
#[test]
fn requests_of_raid5_go_on_when_a_quarter_is_free() {
    let text = format!("{FAST}\nrebuild_host_time = \"4 us\"");
    let mut run = Run::new("raid5", 4, 1000 * WINDOW, &text, None);
    run.ask(1000, 1, Read, 0, 8);
    run.ask(1001, 2, Read, 300 * 3 * WINDOW, 8);
    run.until(3 * TICK);
    let step = 254 * 4000;
    // The short run's first step follows that of the long one.
    let free = 2 * LONGEST * BLOCK + step + step / 4;
    let asked = run.asked().into_iter().filter(|r| r.4 == 8);
    let mut at: Vec<_> = asked.map(|r| r.0).collect();
    at.dedup();
    assert_eq!(at, [free, free + 1]);
}

/// Without a limit and without load. A mirror reads one run while it writes the one before: the time is that of reading
/// a member, and of writing the last run. RAID-5 reads and writes 2,048 blocks in turns, in 4.1 ms: with the timer of a tick that
/// follows, each turn but the last, which is half as long, takes three ticks of 4 ms.
#[test]
fn a_rebuild_takes_the_time_of_its_members() {
    let blocks = 15 * 200 * WINDOW;
    let turns = (187.0 * 3.0 * TICK as f64 + (2048 * BLOCK) as f64) / (blocks * BLOCK) as f64;
    for (name, members, least, most) in [("raid1", 2, 1.0, 1.01), ("raid5", 4, turns - 1e-6, turns + 1e-6)] {
        let mut run = Run::new(name, members, blocks, FAST, None);
        finish(&mut run.volume);
        let last = run.asked().last().map(|r| r.0 + r.4 * BLOCK);
        let took = last.expect("a write") as f64 / (blocks * BLOCK) as f64;
        assert_eq!(run.count("stale_bytes"), 0);
        assert_eq!(run.count("rebuilt_bytes"), blocks * 512);
        assert!((least..=most).contains(&took), "{name}: {took}");
    }
}

/// One window at a time, as `rebuild_at_once` says: a member is read and written in turns.
#[test]
fn a_rebuild_may_have_one_window_at_a_time() {
    let one = format!("{FAST}\nrebuild_at_once = \"64 KiB\"");
    let mut run = Run::new("raid1", 2, 20 * WINDOW, &one, None);
    finish(&mut run.volume);
    let w = WINDOW * BLOCK;
    let want: Vec<_> = (0..20)
        .flat_map(|i| {
            let lba = i * WINDOW;
            [(2 * i * w, 0, Read, lba, WINDOW), ((2 * i + 1) * w, 1, Write, lba, WINDOW)]
        })
        .collect();
    assert_eq!(run.asked(), want);
    assert_eq!(run.count("rebuilt_bytes"), 20 * WINDOW * 512);
}

/// A limit of 1 MiB/s, worked out by hand as md keeps it. Windows take 128 us to read and as long to write. At first 31
/// windows begin; the first 15 are done at 3.84 ms. That is less than the 16 of the first second, so 15 more begin; when
/// the next 15 are done, at 5.76 ms, there are 30 of 16: two windows (128 KiB, after which md looks) begin, then the
/// rebuild pauses. 48 windows are the rate of 3 s: of the pauses, each half a second from 5.76 ms on, it goes on after the one that ends in the third second.
#[test]
fn a_rebuild_pauses_as_md_does() {
    let mut run = Run::new("raid1", 2, 1000 * WINDOW, "rebuild_rate = \"1 MiB/s\"", None);
    run.until(2_600_000_000);
    let w = WINDOW * BLOCK;
    let reads = run.asked().into_iter().filter(|r| r.2 == Read);
    let reads: Vec<_> = reads.map(|r| (r.0, r.3 / WINDOW, r.4 / WINDOW)).collect();
    let pause = 45 * w;
    let want = [
        (0, 0, 15),
        (0, 15, 15),
        (0, 30, 1),
        (30 * w, 31, 15),
        (pause, 46, 2),
        (pause + 2 * S, 48, 15),
        (pause + 2 * S, 63, 15),
        (pause + 2 * S, 78, 1),
    ];
    assert_eq!(reads[..8], want);
}

/// The rate is kept as a mean: what is rebuilt by a time is what the rate gives by the end of that second, at most
/// what is under way more (31 windows, and two before the pause), and no less than what it gave by 1.5 s before. Each 27 s
/// of marks add the second that has begun. A rebuild that was held up makes up for it.
#[test]
fn a_rebuild_keeps_to_its_rate() {
    for (name, rate) in [("raid1", 3e6), ("raid5", 3e6), ("raid10", 3e6), ("raid1", 40e6)] {
        let rate_text = format!("rebuild_rate = \"{rate} B/s\"");
        let mut run = Run::new(name, 4, 40_000 * WINDOW, &rate_text, None);
        for step in 1..250 {
            let now = step * S / 7;
            run.until(now);
            let rebuilt = run.count("rebuilt_bytes") as f64;
            let second = (now / S) as f64;
            let most = rate * (second + 1.0 + (second / 27.0).floor()) + 33.0 * 65536.0;
            let least = rate * ((now as f64 / S as f64) - 1.5);
            assert!((least..=most).contains(&rebuilt), "{name} at {now}: {rebuilt}");
        }
    }
    // A request holds up the members for 4 s; 1 s later the rebuild is where it would have been.
    let mut run = Run::new("raid1", 2, 40_000 * WINDOW, "rebuild_rate = \"3 MB/s\"", None);
    run.ask(2 * S, 1, Read, 1_000_000, 4_000_000);
    run.until(9 * S);
    let rebuilt = run.count("rebuilt_bytes") as f64;
    assert!((24e6..32.2e6).contains(&rebuilt), "{rebuilt}");
}

/// A rebuild that is set going again has not saved up what it could have done meanwhile.
#[test]
fn a_rebuild_begins_anew_after_a_stop() {
    let mut run = Run::new("raid1", 2, 40_000 * WINDOW, "rebuild_rate = \"3 MB/s\"", None);
    run.until(2 * S);
    for (at, rate) in [(2 * S, Bandwidth(0.0)), (20 * S, Bandwidth(3e6))] {
        run.until(at);
        let set = Setting::Volume(VolumeSetting::RebuildRate(rate));
        run.volume.set(Time(at), &[0], &set).expect("a rate");
    }
    let before = run.count("rebuilt_bytes");
    run.until(21 * S - 1);
    let more = (run.count("rebuilt_bytes") - before) as f64;
    assert!((3e6..=3e6 + 2.1e6).contains(&more), "{more}");
}

/// Above its lower limit a rebuild gives way: once others have moved more than 32 KiB on a member, what is under way is
/// ended before more begins. Below the limit it does not.
#[test]
fn a_rebuild_gives_way_above_its_lower_limit() {
    let fewest = |least: &str| {
        let text = format!("{FAST}\nrebuild_rate_min = \"{least}\"");
        let mut run = Run::new("raid1", 2, 1000 * WINDOW, &text, None);
        // The first member serves it while the rebuild is under way. What the rebuild has in flight counts against it.
        run.ask(10 * WINDOW * BLOCK, 1, Read, 100_000, 5000);
        run.until(200 * WINDOW * BLOCK);
        let asked = run.asked().into_iter().filter(|r| r.4 != 5000);
        // Blocks read but not written yet, when a read is asked for.
        let (mut open, mut fewest) = (0i64, i64::MAX);
        let mut before = 0;
        for (at, _, command, _, blocks) in asked {
            if command == Read && at > before {
                fewest = fewest.min(open);
            }
            match command {
                Read => open += blocks as i64,
                _ => open -= blocks as i64,
            }
            before = at;
        }
        fewest
    };
    assert_eq!(fewest("1 B/s"), 0);
    assert!(fewest("1000 GB/s") > 0);
}

/// A write into blocks that are being rebuilt waits for their run, also for one that is not the first; a write elsewhere
/// and a read do not. Written blocks need no rebuild: runs begin behind them.
#[test]
fn writes_wait_for_the_run_that_they_meet() {
    let text = format!("{FAST}\nread_policy = \"first\"");
    let mut run = Run::new("raid1", 2, 1000 * WINDOW, &text, None);
    let w = WINDOW;
    // The second run, 15 to 29, is written to member 1 by 45 windows' time.
    run.ask(w * BLOCK, 1, Write, 20 * w, 8);
    run.ask(w * BLOCK, 2, Write, 500 * w, 8);
    run.ask(w * BLOCK, 3, Read, 20 * w, 8);
    run.until(w * BLOCK + 1);
    let own = |run: &Run| -> Vec<_> {
        let asked = run.asked().into_iter().filter(|r| r.4 == 8);
        asked.map(|r| (r.0, r.1, r.2, r.3)).collect()
    };
    let now = w * BLOCK;
    let want = vec![(now, 0, Write, 500 * w), (now, 1, Write, 500 * w), (now, 0, Read, 20 * w)];
    assert_eq!(own(&run), want);
    run.until(600 * w * BLOCK);
    let waited = own(&run)[3..].to_vec();
    let at = 45 * w * BLOCK;
    assert_eq!(waited, [(at, 0, Write, 20 * w), (at, 1, Write, 20 * w)]);
    finish(&mut run.volume);
    let rebuilt = run.count("rebuilt_bytes");
    assert_eq!(rebuilt, (1000 * w - 8) * 512);
    assert_eq!(run.count("stale_bytes"), 0);
}

/// A block of the source cannot be read. The run with it, 15 windows, is done again window by window: only the window of
/// the block stays stale, on both members.
#[test]
fn a_bad_block_costs_its_window() {
    let mut run = Run::new("raid1", 2, 100 * WINDOW, FAST, Some(20 * WINDOW + 3));
    finish(&mut run.volume);
    assert_eq!(run.count("rebuilt_bytes"), 99 * WINDOW * 512);
    assert_eq!(run.count("stale_bytes"), 2 * WINDOW * 512);
    let again = run.asked().into_iter().filter(|r| r.2 == Read && r.4 == WINDOW);
    let again: Vec<_> = again.map(|r| r.3 / WINDOW).filter(|w| (15..30).contains(w)).collect();
    assert_eq!(again, (15..30).collect::<Vec<_>>());
}

/// Nothing counts as rebuilt, and nothing is read from the new member, before its write has ended.
#[test]
fn a_run_is_rebuilt_when_it_is_written() {
    let text = format!("{FAST}\nread_policy = \"round-robin\"");
    let mut run = Run::new("raid1", 2, 1000 * WINDOW, &text, None);
    let first = 2 * 15 * WINDOW * BLOCK;
    for i in 0..10 {
        run.ask(first - 1, i, Read, 3 * WINDOW, 1);
    }
    assert_eq!(run.count("rebuilt_bytes"), 0);
    let sources = |run: &Run| {
        let asked = run.asked().into_iter().filter(|r| r.4 == 1);
        asked.map(|r| r.1).collect::<Vec<_>>()
    };
    assert_eq!(sources(&run), [0; 10]);
    run.until(first + 1);
    assert_eq!(run.count("rebuilt_bytes"), 15 * WINDOW * 512);
    for i in 10..20 {
        run.ask(first + 1, i, Read, 3 * WINDOW, 1);
    }
    assert_eq!(sources(&run)[10..], [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
}

/// The stripe cache of RAID-5 is shared with requests: of an array with a stale member reads need it, too. While the
/// rebuild has all of it they wait, and begin before the rebuild goes on; flushes do not wait, and nothing does while the
/// rebuild pauses. Mirrors have nothing like it.
#[test]
fn requests_of_raid5_wait_for_the_stripe_cache() {
    let own = |run: &Run| -> Vec<_> {
        let asked = run.asked().into_iter().filter(|r| r.4 == 8);
        asked.map(|r| (r.0, r.2)).collect()
    };
    let mut run = Run::new("raid5", 4, 1000 * WINDOW, FAST, None);
    run.ask(1000, 1, Read, 500 * WINDOW, 8);
    run.ask(1001, 2, Flush, 0, 0);
    run.until(3 * TICK + 1);
    let freed = 2 * LONGEST * BLOCK;
    let asked = run.asked();
    let flush = asked.iter().find(|r| r.2 == Flush).map(|r| r.0);
    assert_eq!(flush, Some(1001));
    let reads = own(&run);
    assert!(!reads.is_empty() && reads.iter().all(|r| *r == (freed, Read)), "{reads:?}");
    let first = asked.iter().position(|r| r.4 == 8);
    let goes_on = asked.iter().position(|r| r.0 == 3 * TICK && r.4 == LONGEST);
    assert!(first.is_some() && first < goes_on);
    // At 1 MiB/s the rebuild begins with 1 MiB, and pauses then.
    let mut run = Run::new("raid5", 4, 1000 * WINDOW, "rebuild_rate = \"1 MiB/s\"", None);
    run.ask(400_000_000, 1, Read, 500 * WINDOW, 8);
    run.until(450_000_000);
    assert_eq!(own(&run)[0].0, 400_000_000);
    let mut run = Run::new("raid1", 2, 1000 * WINDOW, FAST, None);
    run.ask(1000, 1, Read, 500 * WINDOW, 8);
    run.until(1001);
    assert_eq!(own(&run), [(1000, Read)]);
}

/// Blocks that are up to date already cut a run short; the runs behind it are long again.
#[test]
fn runs_of_raid5_are_long_again_behind_a_short_one() {
    let text = format!("{FAST}\nchunk = \"64 KiB\"");
    let mut run = Run::new("raid5", 4, 1000 * WINDOW, &text, None);
    // Stripe 40: rows 5,120 to 5,247 of all members.
    run.ask(0, 1, Write, 40 * 3 * WINDOW, 3 * WINDOW as u32);
    finish(&mut run.volume);
    let asked = run.asked().into_iter();
    let written: Vec<_> = asked.filter(|r| r.1 == 1 && r.2 == Write).collect();
    assert!(written.iter().all(|w| w.3 + w.4 <= 5120 || w.3 >= 5248 || w.4 == WINDOW));
    let late = written.iter().filter(|w| w.3 > 20_000 && w.3 < 100_000);
    assert!(late.clone().count() > 50);
    assert!(late.clone().all(|w| [LONGEST, 2048 - LONGEST].contains(&w.4)));
    assert_eq!(run.count("rebuilt_bytes"), (1000 - 1) * WINDOW * 512);
}
