//! Real traces, if available: counts are from the notes of these traces.

use headstack_trace::{open, read_validate, Command, ReadOptions};
use std::path::PathBuf;

fn shared(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("HEADSTACK_SHARED")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")), PathBuf::from);
    let full = root.join("data").join(path);
    if full.exists() {
        Some(full)
    } else {
        println!("skipped: {} is not there", full.display());
        None
    }
}

#[test]
fn real_traces_have_the_counts_of_their_notes() {
    for (file, format, count) in [
        ("wsrch-small.trace", "mqsim", 24_783),
        ("cloudPhysicsIO.vscsi", "vscsi", 113_872),
        ("msr-cambridge1-sample.csv", "msr", 1_000),
        // 1000 lines, the first of which is the header.
        ("systor17-traces-sample.csv.gz", "systor17", 999),
        ("tencent-cbs-sample.csv.bz2", "tencent", 50_000),
    ] {
        let Some(path) = shared(&format!("traces/{file}")) else { continue };
        for chosen in [None, Some(format)] {
            let options = ReadOptions::default();
            let all: Vec<_> = open(&path, chosen, &options).unwrap().map(|r| r.unwrap()).collect();
            let counters = &options.counters;
            let seen = all.len() as u64 + counters.counts().filtered + counters.counts().zero_sized;
            assert_eq!(seen, count, "{file}");
            assert_eq!(counters.counts().skipped + counters.counts().clamped, 0, "{file}");
            assert!(all.windows(2).all(|w| w[0].time <= w[1].time));
        }
    }
}

#[test]
fn websearch_is_60_s_and_cloudphysics_2_h() {
    for (file, seconds) in [("wsrch-small.trace", 60.0), ("cloudPhysicsIO.vscsi", 7200.0)] {
        if let Some(path) = shared(&format!("traces/{file}")) {
            let source = open(&path, None, &ReadOptions::default()).unwrap();
            let last = source.last().unwrap().unwrap().time.as_secs_f64();
            assert!((last / seconds - 1.0).abs() < 0.01, "{file}: {last}");
        }
    }
}

#[test]
fn validation_traces_read_whole_and_as_streams() {
    for (drive, count) in [("atlas10k", 10_000), ("hp_c2247a", 9_999)] {
        let Some(path) = shared(&format!("disksim/{drive}.trace")) else { continue };
        let records = read_validate(&path).unwrap();
        assert_eq!(records.len(), count);
        let source = open(&path, None, &ReadOptions::default()).unwrap();
        let requests: Vec<_> = source.map(|r| r.unwrap()).collect();
        assert_eq!(requests.len(), count);
        let gap = requests[1].time.since(requests[0].time);
        assert_eq!(gap, records[0].measured + records[0].think);
        assert_eq!(records[0].op == Command::Read, drive == "hp_c2247a");
    }
}
