use headstack_block::layer::host_queue::admission::*;
use headstack_units::Time;
use std::collections::VecDeque;

/// One process submits as much as it can at one time. By hand: it takes 127 places; with the 128th the
/// pool is full and the process becomes a batcher; that request uses the first of its 32 credits. 127 +
/// 32 = 159.
#[test]
fn a_batcher_goes_beyond_the_pool_by_its_credits() {
    let mut places = Places::legacy(128);
    let now = Time(5);
    let admitted = (0..1000).take_while(|_| places.take(now, 7, true, false)).count();
    assert_eq!(admitted, 127 + 32);
    // No other process is admitted. The async pool is still empty. After 20 ms the batcher is not
    // admitted either.
    assert!(!places.take(now, 8, true, false));
    assert!(places.take(now, 8, false, false));
    assert_eq!(places.taken(), 160);
}

/// With 4 places the hard limit of 6 is reached before the credits are used up; with 16 places, 24.
#[test]
fn half_as_many_again_is_the_end() {
    for (n, hard) in [(4, 6), (8, 12), (16, 24), (32, 48)] {
        let mut places = Places::legacy(n);
        let admitted = (0..1000).take_while(|_| places.take(Time(0), 7, true, false)).count();
        assert_eq!(admitted, hard, "{n} places");
    }
}

/// A woken process keeps its credits until it uses the first one; from then on they last 20 ms.
#[test]
fn credits_end_with_time() {
    for (after, want) in [(19_999_999, true), (20_000_000, false)] {
        let mut places = Places::legacy(16);
        let admitted = (0..16).filter(|_| places.take(Time(0), 7, true, false)).count();
        assert_eq!(admitted, 16);
        assert_eq!(places.take(Time(after), 7, true, false), want, "{after} ns");
    }
}

/// Single requests of many processes: the pool holds `n`, and each completion admits one, in order.
#[test]
fn one_end_wakes_one_waiter_in_order() {
    let mut places = Places::legacy(4);
    let mut woken = VecDeque::new();
    for process in 0..4 {
        assert!(places.take(Time(0), process, true, false), "{process}");
    }
    for process in 4..8 {
        assert!(!places.take(Time(0), process, true, false));
        places.wait(process, true);
    }
    for process in 4..8 {
        places.release(Time(1), true, &mut woken);
        assert_eq!(woken.pop_front(), Some(process));
        assert!(places.take(Time(1), process, true, false));
        assert_eq!((places.taken(), woken.len()), (4, 0));
    }
}

/// With 32 tags four processes are woken at a time: none after three completions, four of one list after
/// the fourth.
#[test]
fn tags_never_overshoot_and_wake_in_batches() {
    let mut places = Places::tags(32, None);
    let mut woken = VecDeque::new();
    let admitted = (0..1000).take_while(|_| places.take(Time(0), 7, true, false)).count();
    assert_eq!(admitted, 32);
    // Distributed in turn: list 0 has 100, 108, ..., list 1 has 101, 109, ...
    for process in 100..140 {
        places.wait(process, true);
    }
    for _ in 0..3 {
        places.release(Time(1), true, &mut woken);
    }
    assert!(woken.is_empty());
    places.release(Time(1), true, &mut woken);
    assert_eq!(woken, [100, 108, 116, 124]);
    woken.clear();
    for _ in 0..4 {
        places.release(Time(1), true, &mut woken);
    }
    assert_eq!(woken, [101, 109, 117, 125]);
}

#[test]
fn blk_mq_changes_its_size_when_it_is_empty() {
    let mut places = Places::tags(8, None);
    let mut woken = VecDeque::new();
    assert!(places.take(Time(0), 1, true, false) && places.take(Time(0), 2, true, false));
    places.resize(Time(0), 4, &mut woken);
    assert!(places.is_frozen() && !places.take(Time(0), 3, true, false));
    places.wait(3, true);
    places.release(Time(1), true, &mut woken);
    assert!(places.is_frozen() && woken.is_empty());
    places.release(Time(1), true, &mut woken);
    assert_eq!(woken, [3]);
    let admitted = (0..1000).take_while(|_| places.take(Time(2), 7, true, false)).count();
    assert_eq!(admitted, 4);
}
