//! Faults: times and errors worked out by hand, over a device that takes 1,000 ns for each request, one at a time.

use super::mock::{constants, finish, request, tree};
use headstack_block::layer::{
    Bad, Busy, ErrorKind, Fails, FaultSetting, LayerCompletion, Setting, Slow, Stuck, Tree, Weak, PLUGINS,
};
use headstack_block::Clock;
use headstack_drive::Command::{self, Flush, Read, Write};
use headstack_testkit::commands::sum;
use headstack_units::{Span, Time};

const MEDIUM: fn(u64) -> Option<ErrorKind> = |lba| Some(ErrorKind::Medium { lba });
const GONE: Option<ErrorKind> = Some(ErrorKind::Gone);

fn fault(toml: &str) -> Tree {
    let (below, _) = constants(1, 1 << 20, 1000);
    let params = toml::from_str(toml).expect("a table");
    tree(PLUGINS.get("fault").expect("the layer"), below, params).expect("a fault layer")
}

/// Number, end and error of each request; shares add up to the response time.
fn ends(done: &[LayerCompletion]) -> Vec<(u64, u64, Option<ErrorKind>)> {
    for d in done {
        assert_eq!(sum(&d.components), d.completion.0 - d.arrival.0, "{d:?}");
    }
    let mut all: Vec<_> = done.iter().map(|d| (d.id, d.completion.0, d.error)).collect();
    all.sort_by_key(|e| e.0);
    all
}

/// Requests at their times, changes in between; a change comes before a request of the same time.
fn run(
    layer: &mut Tree,
    requests: &[(u64, Command, u64)],
    changes: &[(u64, Setting)],
) -> Vec<(u64, u64, Option<ErrorKind>)> {
    let mut all = Vec::new();
    let mut changes = changes.iter().peekable();
    let mut change_until = |layer: &mut Tree, at: u64, all: &mut Vec<LayerCompletion>| {
        while let Some((time, setting)) = changes.next_if(|c| c.0 <= at) {
            layer.advance(Time(*time), &mut |d| all.push(*d));
            layer.set(Time(*time), &[0], setting).expect("it is known");
        }
    };
    for (id, (at, command, lba)) in requests.iter().enumerate() {
        change_until(layer, *at, &mut all);
        layer.advance(Time(*at), &mut |d| all.push(*d));
        let blocks = if *command == Flush { 0 } else { 8 };
        layer.submit_to(Time(*at), request(id as u64, *command, *lba, blocks));
    }
    change_until(layer, u64::MAX, &mut all);
    all.extend(finish(layer));
    ends(&all)
}

fn stuck(lasts: i64) -> Setting {
    Setting::Fault(FaultSetting::Stuck(Some(Stuck { lasts: Span(lasts) })))
}

#[test]
fn all_or_none_of_the_requests_are_slow() {
    let slow = |ratio, by: i64, lasts: Option<i64>| {
        Setting::Fault(FaultSetting::Slow(Slow { ratio, by: Span(by), lasts: lasts.map(Span) }))
    };
    let reads: Vec<_> = (0..5).map(|i| (i * 2000, Read, i * 8)).collect();
    let changes = [(0, slow(1.0, 500, Some(3000))), (6000, slow(1.0, 7, None))];
    let got = run(&mut fault(""), &reads, &changes);
    let want = [(0, 1500), (1, 3500), (2, 5000), (3, 7007), (4, 9007)];
    assert_eq!(got, want.map(|(id, end)| (id, end, None)));
    let got = run(&mut fault("slow = { ratio = 0.0, by = \"1 s\" }"), &reads, &[]);
    assert!(got.iter().all(|(id, end, _)| *end == id * 2000 + 1000));
}

#[test]
fn a_share_is_slow_and_which_ones_follows_from_the_seed() {
    let reads: Vec<_> = (0..10_000).map(|i| (i * 2000, Read, i * 8)).collect();
    let late = |seed: u64| -> Vec<u64> {
        let toml = format!("seed = {seed}\nslow = {{ ratio = 0.1, by = \"300 ns\" }}");
        let ends = run(&mut fault(&toml), &reads, &[]);
        let late = ends.iter().filter(|(id, end, _)| *end == id * 2000 + 1300);
        late.map(|e| e.0).collect()
    };
    let (one, again, other) = (late(1), late(1), late(2));
    assert!(one == again && one != other);
    // A binomial count of 10,000 draws of 0.1: 1,000 with a standard deviation of 30. Six of them is once in 10^9.
    for n in [one.len(), other.len()] {
        assert!((820..1180).contains(&n), "{n}");
    }
    // Two seeds are independent: a tenth of a tenth is late with both.
    let both = one.iter().filter(|id| other.contains(id)).count();
    assert!((40..160).contains(&both), "{both}");
}

/// A read is under way when the device hangs at 500 ns: its end was announced. The next ones wait.
#[test]
fn a_stuck_device_answers_later() {
    let requests = [(0, Read, 0), (600, Read, 8), (700, Flush, 0)];
    let got = run(&mut fault(""), &requests, &[(500, stuck(5000))]);
    assert_eq!(got, [(0, 1000, None), (1, 6500, None), (2, 7500, None)]);
    // A request that waits in the device, behind another, ends when it answers again.
    let requests = [(0, Read, 0), (1, Read, 8), (2, Read, 16)];
    let got = run(&mut fault(""), &requests, &[(500, stuck(1700))]);
    assert_eq!(got, [(0, 1000, None), (1, 2200, None), (2, 3000, None)]);
    // For ever, until it is back.
    let changes = [(500, Setting::Fault(FaultSetting::Stuck(None))), (9000, Setting::Fault(FaultSetting::Gone(false)))];
    let got = run(&mut fault(""), &[(0, Read, 0), (600, Read, 8)], &changes);
    assert_eq!(got, [(0, 1000, None), (1, 10_000, None)]);
}

#[test]
fn what_is_written_can_be_read_again() {
    let bad = "bad = [{ block = 20, blocks = 2 }, { block = 100, fails = \"writes\" }]";
    let requests = [
        (0, Read, 0),
        (2000, Read, 14),
        (4000, Read, 21),
        (6000, Write, 20),
        (8000, Read, 16),
        (10_000, Write, 96),
        (12_000, Read, 96),
        (14_000, Flush, 0),
    ];
    let got = run(&mut fault(bad), &requests, &[]);
    let errors: Vec<_> = got.iter().map(|e| e.2).collect();
    let (read, write) = (MEDIUM(20), MEDIUM(100));
    assert_eq!(errors, [None, read, MEDIUM(21), None, None, write, None, None]);
    assert!(got.iter().all(|(id, end, _)| *end == id * 2000 + 1000), "{got:?}");
    let good = Setting::Fault(FaultSetting::Bad(Bad { unit: 0, block: 20, blocks: 1, fails: Fails::None }));
    let got = run(&mut fault(bad), &[(0, Read, 16), (2000, Read, 13)], &[(0, good)]);
    assert_eq!(got, [(0, 1000, MEDIUM(21)), (1, 3000, None)]);
}

/// A read that touches weak blocks ends later, by the longest of their times; the device serves the next one meanwhile. A write
/// makes blocks well, and so does a time of zero.
#[test]
fn weak_blocks_are_read_later() {
    let weak =
        |block, blocks, takes| Setting::Fault(FaultSetting::Weak(Weak { unit: 0, block, blocks, takes: Span(takes) }));
    let changes = [(0, weak(20, 2, 700)), (0, weak(22, 1, 300)), (13_000, weak(22, 1, 0))];
    let requests = [
        (0, Read, 0),
        (2000, Read, 14),
        (4000, Read, 15),
        (6000, Read, 22),
        (8000, Write, 16),
        (10_000, Read, 16),
        (14_000, Read, 22),
    ];
    let got = run(&mut fault(""), &requests, &changes);
    // 14 to 21 and 15 to 22 have a block of 700 ns; what is left after the write of 16 to 23 is none.
    let want = [1000, 3700, 5700, 7300, 9000, 11_000, 15_000];
    let want: Vec<_> = (0..).zip(want).map(|(id, end)| (id, end, None)).collect();
    assert_eq!(got, want);
}

/// What arrives at a busy device waits in front of it, in order; what is in it goes on.
#[test]
fn a_busy_device_takes_requests_later() {
    let busy = |lasts| Setting::Fault(FaultSetting::Busy(Busy { lasts: Span(lasts) }));
    let requests = [(0, Read, 0), (100, Read, 8), (600, Read, 16), (700, Flush, 0), (9000, Read, 24)];
    let got = run(&mut fault(""), &requests, &[(500, busy(5000))]);
    let want = [1000, 2000, 6500, 7500, 10_000];
    let want: Vec<_> = (0..).zip(want).map(|(id, end)| (id, end, None)).collect();
    assert_eq!(got, want);
    // It hangs at the end of that: what waited waits on.
    let got = run(&mut fault(""), &requests[2..3], &[(500, busy(5000)), (5000, stuck(3000))]);
    assert_eq!(got, [(0, 9000, None)]);
}

#[test]
fn a_device_goes_and_comes_back() {
    // At 1,500 ns the first has ended, the end of the second was announced, the third waits.
    let requests = [(0, Read, 0), (10, Read, 8), (20, Read, 16), (3000, Read, 24), (5000, Read, 32)];
    let changes = [(1500, Setting::Fault(FaultSetting::Gone(true))), (4000, Setting::Fault(FaultSetting::Gone(false)))];
    let got = run(&mut fault(""), &requests, &changes);
    assert_eq!(got, [(0, 1000, None), (1, 2000, None), (2, 1500, GONE), (3, 3000, GONE), (4, 6000, None)]);
    // What waits for a stuck device fails, too.
    let changes = [(500, stuck(9000)), (1500, Setting::Fault(FaultSetting::Gone(true)))];
    let got = run(&mut fault(""), &requests[..3], &changes);
    assert_eq!(got, [(0, 1000, None), (1, 1500, GONE), (2, 1500, GONE)]);
}

#[test]
fn places_outside_are_refused() {
    let (below, _) = constants(1, 100, 1000);
    let params = toml::from_str("bad = [{ block = 99, blocks = 2 }]").expect("a table");
    let error = tree(PLUGINS.get("fault").expect("the layer"), below, params);
    let said = error.err().map(|e| e.to_string()).unwrap_or_default();
    assert!(said.contains("bad[0].blocks: got 2 from 99"), "{said}");
}
