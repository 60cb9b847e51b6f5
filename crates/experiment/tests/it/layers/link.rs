//! The shared link: its bandwidth at saturation, and single requests by hand.

use super::mock::{constants, finish, request, tree};
use headstack_block::layer::{LayerCompletion, Request, Tree, PLUGINS};
use headstack_block::{Clock, Member};
use headstack_drive::Command::{self, Flush, Read, Write};
use headstack_units::Time;
use std::collections::BTreeSet;

/// Members of 1,000 ns per request behind a link.
fn link(members: u32, toml: &str) -> Tree {
    let (below, _) = constants(members, 1 << 30, 1000);
    let params = toml::from_str(toml).expect("a table");
    tree(PLUGINS.get("link").expect("the layer"), below, params).expect("a link")
}

fn to(unit: u32, id: u64, command: Command, blocks: u32) -> Request {
    Request { unit, ..request(id, command, id * 1000, blocks) }
}

fn ends(done: &[LayerCompletion]) -> Vec<(u64, u64)> {
    for d in done {
        let c = d.components;
        assert_eq!(c.queue + c.transfer + c.bus, d.completion.span_from(d.arrival));
    }
    let mut ends: Vec<_> = done.iter().map(|d| (d.id, d.completion.0)).collect();
    ends.sort_unstable();
    ends
}

/// 512 B at 1 B/ns take 512 ns. By hand, two reads of two members that end at 1,000 ns: the transfer of the
/// first overlapped with the read of the medium, that of the second follows it. Writes are transferred before
/// they begin. The second of each waits for the first, and at half duplex reads for writes.
#[test]
fn single_requests_by_hand() {
    for (duplex, want, waited_ns) in [
        ("full", [(0, 1000), (1, 1512), (2, 1512), (3, 2024)], 512 + 512),
        // Half duplex: both writes end at 1,024 ns, then the reads follow, which might have begun at 488 ns.
        ("half", [(0, 1536), (1, 2048), (2, 1512), (3, 2024)], 512 + 536 + 1048),
    ] {
        let mut l = link(4, &format!("bandwidth = \"1 GB/s\"\nduplex = \"{duplex}\""));
        assert_eq!(l.logical_units().len(), 4);
        for (id, command) in [(0, Read), (1, Read), (2, Write), (3, Write)] {
            l.submit_to(Time::ZERO, to(id as u32, id, command, 1));
        }
        assert_eq!(ends(&finish(&mut l)), want, "{duplex}");
        let waited_s = l.results()[0].sums_s["waited_for_port"];
        assert!((waited_s * 1e9 - f64::from(waited_ns)).abs() < 1e-6, "{duplex}: {waited_s} s");
    }
    // A flush has no data.
    let mut l = link(1, "bandwidth = \"1 kB/s\"");
    l.submit_to(Time(7), to(0, 0, Flush, 0));
    assert_eq!(ends(&finish(&mut l)), [(0, 1007)]);
    // 4 KiB in frames of 1 KiB with 24 B each: 4,192 B, of which 1,000 ns overlap with the read of the medium.
    let mut l = link(1, "bandwidth = \"1 GB/s\"\nframe = \"1 KiB\"\nframe_overhead = \"24 B\"");
    l.submit_to(Time::ZERO, to(0, 0, Read, 8));
    assert_eq!(ends(&finish(&mut l)), [(0, 4192)]);
}

/// With members that are much faster than the port, the throughput is the port's bandwidth: in each direction
/// if it is full duplex, else in both together.
#[test]
fn a_saturated_link_gives_its_bandwidth() {
    for (duplex, commands, want) in [
        ("full", &[Read][..], 0.2),
        ("half", &[Read], 0.2),
        ("full", &[Write], 0.2),
        ("full", &[Read, Write], 0.4),
        ("half", &[Read, Write], 0.2),
    ] {
        let mut l = link(8, &format!("bandwidth = \"200 MB/s\"\nduplex = \"{duplex}\""));
        let (n, blocks) = (4000u64, 128u32);
        let mut left = n;
        let mut end = Time::ZERO;
        let mut bytes = 0;
        // 32 requests circulate: the time of the next submission of each.
        let mut due: BTreeSet<(Time, u64)> = (0..32).map(|id| (Time::ZERO, id)).collect();
        loop {
            let next = l.next_event();
            let issue = due.first().filter(|_| left > 0).copied();
            if let Some((at, id)) = issue.filter(|(at, _)| *at <= next) {
                due.remove(&(at, id));
                left -= 1;
                let command = commands[id as usize % commands.len()];
                l.submit_to(at, to(id as u32 % 8, id, command, blocks));
                continue;
            }
            if next == Time::NEVER {
                break;
            }
            l.advance(Time(next.0 + 1), &mut |d| {
                end = end.max(d.completion);
                bytes += u64::from(blocks) * 512;
                due.insert((d.completion, d.id));
            });
        }
        assert_eq!(bytes, n * 65536);
        let got = bytes as f64 / end.0 as f64;
        assert!((got / want - 1.0).abs() < 0.02, "{duplex} {commands:?}: {got} B/ns");
    }
}

#[test]
fn parameters_that_do_not_fit_are_refused() {
    for (text, want) in [
        ("", "bandwidth: got nothing"),
        ("bandwidth = \"0 MB/s\"", "bandwidth: got 0 B/s, need 512 B/s to "),
        ("bandwidth = \"1e-9 MB/s\"", "need 512 B/s to "),
        ("bandwidth = \"1 MB/s\"\nframe = \"0 B\"", "frame: got 0 B"),
        ("bandwidth = \"1 MB/s\"\nframe_overhead = \"4 KiB\"", "frame_overhead: got 4096 B"),
        ("bandwidth = \"1 MB/s\"\nduplex = \"both\"", "one of full, half"),
    ] {
        let (below, _) = constants(1, 1000, 1);
        let params = toml::from_str(text).expect("a table");
        let built = tree(PLUGINS.get("link").expect("it"), below, params);
        let error = built.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains(want), "{text}: {error:?}");
    }
}
