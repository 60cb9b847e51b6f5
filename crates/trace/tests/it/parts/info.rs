mod bins;
mod checks;
mod pages;

use headstack_trace::info::*;
use headstack_trace::request::{Command, Request};
use headstack_units::{Lba, Time};

#[test]
fn counts_by_hand() {
    let mut info = TraceInfo::new();
    for (time, device, lba, blocks, op) in [
        (0, 0, 0, 8, Command::Read),
        (1_000_000_000, 0, 8, 8, Command::Read),
        (3_000_000_000, 1, 16, 3, Command::WriteThrough),
        (4_000_000_000, 1, 0, 0, Command::Flush),
    ] {
        info.add(&Request { time: Time(time), device, lba: Lba(lba), blocks, op, ..Request::default() });
    }
    let s = info.summary();
    assert_eq!((s.total.n_requests, s.total.n_reads, s.total.n_flushes), (4, 2, 1));
    assert_eq!((s.total.n_writes, s.total.write_bytes), (1, 3.0 * 512.0));
    assert_eq!((s.duration_s, s.footprint_bytes), (4.0, 3 * 4096));
    assert!((s.interarrival_s.mean - 4.0 / 3.0).abs() < 1e-12);
    // Gaps of 1, 2 and 1 s, to the histogram's three digits.
    assert!((s.interarrival_s.p50 - 1.0).abs() < 1e-3);
    assert_eq!(s.interarrival_s.max, 2.0);
    assert_eq!(s.time_resolution_s, 1.0);
    assert_eq!(s.devices[0].counts.sequential_ratio, 0.5);
    assert_eq!(s.sizes[0].up_to_bytes, 2048);
    let operations: Vec<_> =
        (s.operations.iter()).map(|o| (o.op, o.n_requests, o.size_max_bytes, o.unaligned_ratio)).collect();
    let want = [("read", 2, 4096, 0.0), ("write-through", 1, 1536, 1.0), ("flush", 1, 0, 0.0)];
    assert_eq!(operations, want);
    assert_eq!((s.reuse.n_touches, s.reuse.repeated_touches_ratio), (3, 0.0));
    assert_eq!(s.addresses.len(), 2);
    assert!(serde_json::to_string(&s).is_ok());
}

/// A histogram of three digits would give 1 s and some microseconds.
#[test]
fn the_longest_gap_and_the_resolution_are_exact() {
    let mut info = TraceInfo::new();
    let mut time = 0;
    for gap in [0, 1_000_000_700, 2_100, 35_000_000] {
        time += gap;
        info.add(&Request { time: Time(time), blocks: 8, ..Request::default() });
    }
    let s = info.summary();
    assert_eq!(s.interarrival_s.max, 1_000_000_700.0 / 1e9);
    // 10,000,007, 21 and 350,000 have no common divisor.
    assert_eq!(s.time_resolution_s, 100.0 / 1e9);
}

#[test]
fn large_footprints_are_estimated_within_three_standard_errors() {
    let mut info = TraceInfo::new();
    let pages = 4_000_000u64;
    for page in 0..pages {
        info.add(&Request { lba: Lba(page * 8), blocks: 8, ..Request::default() });
    }
    let s = info.summary();
    assert!(s.footprint_is_estimate);
    let ratio = s.footprint_bytes as f64 / (pages * 4096) as f64;
    assert!((ratio - 1.0).abs() < 0.005, "{ratio}");
}
