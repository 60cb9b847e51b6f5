use headstack_host::config::Model;
use headstack_host::meter::model::*;
use headstack_host::stat::{Counts, Seen, Stat};
use headstack_units::{Joules, Time, Watts};

/// 5 W, 2 W more for half of the time, and 100 reads of 10 mJ and 10 writes of 20 mJ in 2 s.
#[test]
fn power_is_the_sum_of_idle_busy_and_requests() {
    let model = Model { idle: Watts(5.0), busy: Watts(2.0), read: Joules(0.01), write: Joules(0.02) };
    let before = Counts { reads: u64::MAX - 49, ..Counts::default() };
    let after = Counts { reads: 50, writes: 10, busy_ms: 1000, ..before };
    let watts = model.watts(&before, &after, 2.0);
    assert!((watts - (5.0 + 1.0 + 0.5 + 0.1)).abs() < 1e-9, "{watts}");
}
/// 4 W without work and 10 mJ a read. The first readings are unknown, not 0 W; afterwards a reading is that of the time between
/// two readings of the counts, whenever somebody asks; old counts are no reading.
#[test]
fn a_reading_is_of_the_time_between_two_readings_of_the_counts() {
    let model = Model { idle: Watts(4.0), busy: Watts(0.0), read: Joules(0.01), write: Joules(0.0) };
    let at = |s: f64| Time((s * 1e9) as u64);
    let seen = |s: f64, reads: u64| {
        let counts = Counts { reads, ..Counts::default() };
        vec![Some(Seen { time: at(s), counts: Some(counts) })]
    };
    let mut modelled = Modelled::new(model, Stat::default());
    assert!(modelled.see(at(0.5), vec![None]).is_err());
    assert!(modelled.see(at(1.1), seen(1.0, 0)).is_err());
    assert!(modelled.see(at(1.2), seen(1.0, 0)).is_err());
    assert_eq!(modelled.see(at(2.9), seen(2.0, 100)), Ok(5.0));
    assert_eq!(modelled.see(at(3.0), seen(2.0, 100)), Ok(5.0));
    assert_eq!(modelled.see(at(4.0), seen(4.0, 300)), Ok(5.0));
    assert_eq!(modelled.see(at(5.0), seen(5.0, 300)), Ok(4.0));
    let old = modelled.see(at(10.5), seen(5.0, 300));
    assert_eq!(old, Err("counts are 6 s old".into()));
    let gone = vec![Some(Seen { time: at(11.0), counts: None })];
    assert_eq!(modelled.see(at(11.0), gone), Ok(0.0));
    assert!(modelled.see(at(12.0), seen(12.0, 400)).is_err(), "it is new");
    assert_eq!(modelled.see(at(13.0), seen(13.0, 400)), Ok(4.0));
}
