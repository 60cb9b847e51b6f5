use headstack_engine::Progress;
use headstack_experiment::expected::*;

#[test]
fn the_total_is_known_when_every_workload_is() {
    let progress = Progress::new();
    let expected = ExpectedRequests::new(&progress, 3, 2, Some(500));
    expected.set(1, RequestCount::Exact(2000));
    assert_eq!(progress.total(), None);
    expected.set(0, RequestCount::Estimate(100));
    assert_eq!(progress.total(), Some(3 * (100 + 500)));
    expected.set(0, RequestCount::Exact(90));
    // An exact number is not replaced by an estimate.
    expected.set(0, RequestCount::Estimate(300));
    assert_eq!(progress.total(), Some(3 * (90 + 500)));
    progress.add(2000);
    assert_eq!(progress.total(), Some(2000));
}
/// Half-way through a file the estimate is near its length, in every format.
#[test]
fn a_trace_tells_how_long_it_is_while_it_is_read() {
    use headstack_trace::{create, open, ReadOptions};
    let dir = tempfile::tempdir().unwrap();
    let n = 60_000u64;
    let mut text = "time_us,lba,blocks,op\n".to_string();
    for i in 0..n {
        let time = 1_000_000_000 + i * 20_000;
        text += &format!("{time},{},8,R\n", 1_000_000 + i * 7919 % 8_000_000);
    }
    let csv = dir.path().join("long.csv");
    std::fs::write(&csv, &text).unwrap();
    let parquet = dir.path().join("long.parquet");
    let mut writer = create(&parquet, None).unwrap();
    for request in open(&csv, None, &ReadOptions::default()).unwrap() {
        writer.write(&request.unwrap()).unwrap();
    }
    writer.finish().unwrap();
    for path in [csv, parquet] {
        let progress = Progress::new();
        let expected = ExpectedRequests::new(&progress, 1, 1, None);
        let options = ReadOptions::default();
        let source = open(&path, None, &options).unwrap();
        let mut watched = EstimatingSource::new(source, options.counters.clone(), &expected, 0);
        assert_eq!(watched.by_ref().take(n as usize / 2).count(), n as usize / 2);
        // An estimate is made every 1024 requests, a piece of the file holds some 8000.
        let about = progress.total().unwrap() as f64;
        assert!((about / n as f64 - 1.0).abs() < 0.1, "{path:?}: {about}");
        assert_eq!(watched.count(), n as usize / 2);
        assert_eq!(progress.total(), Some(n));
    }
}
