use headstack_block::layer::elevator::bfq::rate::*;
use headstack_units::Time;

/// A sequential stream of 1 MiB requests at 200 MB/s: the estimate comes to that, and random requests leave it there.
#[test]
fn a_sequential_stream_shows_the_rate() {
    let mut rate = PeakRate::new();
    let mut now = Time::ZERO;
    let mut go = |rate: &mut PeakRate, ms_each: f64, sectors: u64, is_far: bool, n: u64| {
        for _ in 0..n {
            let request = Dispatched { sectors, is_far, at_drive: 1 };
            rate.dispatched(now, &request);
            now = Time(now.0 + (ms_each * 1e6) as u64);
            rate.ended(now);
        }
    };
    let per_second = |rate: &PeakRate| rate.sectors_in(1_000_000_000) as f64 * 512.0;
    go(&mut rate, 1.048_576 * 5.0, 2048, false, 4_000);
    let got = per_second(&rate);
    assert!((got / 200e6 - 1.0).abs() < 0.01, "{got}");
    // The window in which they begin counts, the others do not.
    go(&mut rate, 8.0, 8, true, 200);
    let after = per_second(&rate);
    assert!((after / got - 1.0).abs() < 0.05, "{after}");
    go(&mut rate, 8.0, 8, true, 2_000);
    assert_eq!(per_second(&rate), after);
}
