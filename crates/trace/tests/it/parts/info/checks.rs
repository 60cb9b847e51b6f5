use headstack_trace::info::checks::*;
use headstack_trace::info::TraceInfo;
use headstack_trace::options::Counters;
use headstack_trace::request::{Command, Request};
use headstack_units::{Lba, Time};

fn names(requests: impl IntoIterator<Item = (u64, u64, Command)>) -> Vec<(&'static str, String)> {
    let mut info = TraceInfo::new();
    for (us, lba, op) in requests {
        info.add(&Request { time: Time(us * 1000), lba: Lba(lba), blocks: 8, op, ..Request::default() });
    }
    let found = warnings(&info.summary(), &Counters::default());
    found.into_iter().map(|w| (w.name, w.way_out)).collect()
}

#[test]
fn one_request_in_a_hundred_may_be_misaligned() {
    let writes = |n: u64, off: u64| {
        (0..n).map(move |i| (i * 100 + i % 3, 800 * i + if i < off { 7 } else { 0 }, Command::Write))
    };
    assert_eq!(names(writes(1000, 10)), []);
    let [(name, way_out)] = &names(writes(1000, 11))[..] else {
        panic!("one warning");
    };
    assert_eq!(*name, "misaligned");
    assert!(!way_out.contains("shift = -"), "{way_out}");
    let [(name, way_out)] = &names(writes(1000, 501))[..] else {
        panic!("one warning");
    };
    assert_eq!(*name, "misaligned");
    assert!(way_out.contains("shift = -7 "), "{way_out}");
}

#[test]
fn times_must_be_finer_than_seconds() {
    let times = |step: u64, n: u64| (0..n).map(move |i| (i * step, 8 * i, Command::Read));
    assert_eq!(names(times(1_000_000, FEWEST - 1)), []);
    assert_eq!(names(times(1_000_000, FEWEST))[0].0, "coarse-times");
    assert_eq!(names(times(1_500_000, FEWEST)), []);
    assert_eq!(names(times(0, FEWEST))[0].0, "coarse-times");
}

#[test]
fn formats_that_fit_equally_are_ambiguous() {
    let told = |fits: &[(&'static str, u8)]| {
        let read = Counters::default();
        read.detected(fits.iter().map(|(name, score)| (name.to_string(), *score)).collect());
        let found = warnings(&TraceInfo::new().summary(), &read);
        let texts: Vec<String> = found.into_iter().map(|w| w.text).collect();
        texts.join("; ")
    };
    let text = told(&[("mqsim", 60), ("disksim", 60), ("spc", 59)]);
    assert!(text.starts_with("the trace fits disksim as well as "), "{text}");
    assert_eq!(told(&[("mqsim", 60), ("disksim", 59)]), "");
    assert_eq!(told(&[]), "");
}
