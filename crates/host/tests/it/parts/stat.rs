use headstack_host::stat::*;
use headstack_units::Time;

/// Fields as Documentation/block/stat.rst numbers them: 1 and 5 requests, 4 and 8 milliseconds, 10 `io_ticks`.
#[test]
fn fields_are_those_of_the_kernel() {
    let text = "  11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27\n";
    let counts = Counts::parse(text).expect("counts");
    let want = Counts { reads: 11, read_ms: 14, writes: 15, write_ms: 18, busy_ms: 20 };
    assert_eq!(counts, want);
    assert_eq!(Counts::parse("1 2 3"), None);
    assert_eq!(Counts::parse("1 2 3 4 5 6 7 8 9 10 x"), None);
    let later = Counts { reads: 13, read_ms: 34, writes: 17, write_ms: 38, busy_ms: 30 };
    assert_eq!(later.since(&counts), Some((4, 0.01)));
    assert_eq!(counts.since(&counts), None);
    assert_eq!(counts.since(&later), None);
}

#[test]
fn counts_are_compared_only_between_two_readings_of_one_drive() {
    let seen = |s: u64, reads: Option<u64>| Seen {
        time: Time(s * 1_000_000_000),
        counts: reads.map(|reads| Counts { reads, ..Counts::default() }),
    };
    let before = seen(1, Some(10));
    let (old, new, span) = seen(3, Some(14)).since(&before).expect("two readings");
    assert_eq!((old.reads, new.reads, span.as_secs_f64()), (10, 14, 2.0));
    assert_eq!(before.since(&before), None, "the same reading");
    assert_eq!(seen(3, None).since(&before), None, "gone");
    assert_eq!(seen(3, Some(14)).since(&seen(1, None)), None, "new");
    assert_eq!(seen(3, Some(9)).since(&before), None, "another drive");
    assert!(seen(3, Some(5)).since(&seen(1, Some(u64::MAX))).is_some(), "counts wrap");
}

/// Of two drives one has been read again, then both: only then there is a new reading, which is of both.
#[test]
fn a_reading_counts_when_all_drives_have_it() {
    let seen = |s: u64| Some(Seen { time: Time(s * 1_000_000_000), counts: Some(Counts::default()) });
    let mut pairs = Pairs::default();
    assert!(pairs.take(vec![None, None]));
    assert!(!pairs.take(vec![seen(1), None]));
    assert!(pairs.take(vec![seen(1), seen(2)]));
    assert!(!pairs.take(vec![seen(3), seen(2)]));
    assert!(!pairs.take(vec![seen(1), seen(2)]));
    assert!(pairs.take(vec![seen(3), seen(4)]));
    let each: Vec<_> = pairs.each().collect();
    assert_eq!(each, [(seen(1), seen(3)), (seen(2), seen(4))]);
    assert_eq!(pairs.oldest(), Some(Time(3_000_000_000)));
}
