use headstack_control::*;
use headstack_units::{Span, Time, Watts};

mod meter;

const SETTINGS: GuardSettings = GuardSettings {
    period: Span(5_000_000_000),
    stale_after: Span(3_000_000_000),
    lost_after: Span(10_000_000_000),
    most_power: Watts(100.0),
    on_loss: OnLoss::Lowest,
};

fn at(s: f64) -> Time {
    Time::from_secs_f64(s)
}

fn input(now: f64, sample: Sample) -> Input {
    Input { now: at(now), cap: Some(Watts(9.0)), sample }
}

/// A guard at 4 s that has read 8, 10, 12 and 14 W.
fn four() -> Guard {
    let mut guard = Guard::new(SETTINGS);
    guard.turn(&input(0.0, Sample::missing(at(0.0))));
    for (s, w) in [(1.0, 8.0), (2.0, 10.0), (3.0, 12.0), (4.0, 14.0)] {
        assert_eq!(guard.turn(&input(s, Sample::new(at(s), Watts(w)))), Turn::Keep);
    }
    guard
}

fn mean(turn: Turn) -> Option<f64> {
    match turn {
        Turn::Act(reading) => Some(reading.power_w),
        _ => None,
    }
}

#[test]
fn a_period_gives_the_mean_of_its_readings() {
    let mut guard = four();
    let turn = guard.turn(&input(5.0, Sample::new(at(5.0), Watts(16.0))));
    assert_eq!(mean(turn), Some(12.0));
}

/// Each wrong fifth reading leaves the mean of the other four.
#[test]
fn wrong_readings_do_not_count() {
    let wrong = [
        Sample::missing(at(5.0)),
        Sample::new(at(5.0), Watts(f64::NAN)),
        Sample::new(at(5.0), Watts(f64::INFINITY)),
        Sample::new(at(5.0), Watts(-3.0)),
        Sample::new(at(5.0), Watts(0.0)),
        Sample::new(at(5.0), Watts(100.1)),
        Sample::new(at(4.0), Watts(50.0)),
        Sample::new(at(3.5), Watts(50.0)),
        Sample::new(at(1.9), Watts(50.0)),
        Sample::new(at(5.1), Watts(50.0)),
        Sample::new(Time::NEVER, Watts(50.0)),
    ];
    for sample in wrong {
        let turn = four().turn(&input(5.0, sample));
        assert_eq!(mean(turn), Some(11.0), "{sample:?}");
    }
    // A reading that is late but newer than the last, and not stale, counts.
    let late = Sample::new(at(4.5), Watts(16.0));
    assert_eq!(mean(four().turn(&input(5.0, late))), Some(12.0));
    let mut guard = Guard::new(SETTINGS);
    guard.turn(&input(0.0, Sample::missing(at(0.0))));
    let stale = Sample::new(at(1.9), Watts(50.0));
    assert_eq!(guard.turn(&input(5.0, stale)), Turn::Keep);
}

#[test]
fn holds_then_is_lost_then_recovers_within_a_period() {
    let mut guard = four();
    for s in 5..=14 {
        let turn = guard.turn(&input(f64::from(s), Sample::missing(at(0.0))));
        assert_ne!(turn, Turn::Lost, "{s} s: the last reading was at 4 s");
    }
    assert_eq!(guard.turn(&input(14.1, Sample::missing(at(0.0)))), Turn::Lost);
    assert_eq!(guard.turn(&input(40.0, Sample::missing(at(0.0)))), Turn::Lost);
    let turn = guard.turn(&input(41.0, Sample::new(at(41.0), Watts(9.5))));
    assert_eq!(turn, Turn::Keep);
    let turn = guard.turn(&input(45.0, Sample::new(at(45.0), Watts(9.5))));
    assert_eq!(mean(turn), Some(9.5));
}

/// Settling from 4 s to 6 s: the reading at 5 s only shows that the meter works.
#[test]
fn readings_while_a_command_settles_do_not_count() {
    let mut guard = four();
    guard.settle(Span(2_000_000_000));
    for (s, w) in [(5.0, 50.0), (6.0, 8.0), (7.0, 9.0), (8.0, 10.0)] {
        assert_eq!(guard.turn(&input(s, Sample::new(at(s), Watts(w)))), Turn::Keep);
    }
    let turn = guard.turn(&input(9.0, Sample::new(at(9.0), Watts(13.0))));
    assert_eq!(mean(turn), Some(10.0));
}

#[test]
fn an_unreadable_cap_holds_the_last_one_and_then_counts_as_lost() {
    let mut guard = four();
    for (s, cap) in [(5.0, f64::NAN), (9.0, -1.0), (14.0, f64::INFINITY)] {
        let mut step = input(s, Sample::new(at(s), Watts(9.0)));
        step.cap = Some(Watts(cap));
        assert!(!matches!(guard.turn(&step), Turn::Lost | Turn::Uncapped), "{s}");
        assert_eq!(guard.cap_w(), Some(9.0));
    }
    let mut step = input(14.5, Sample::new(at(14.5), Watts(9.0)));
    step.cap = Some(Watts(f64::NAN));
    assert_eq!(guard.turn(&step), Turn::Lost);
    assert_ne!(guard.turn(&input(15.0, Sample::new(at(15.0), Watts(9.0)))), Turn::Lost);
    step = input(16.0, Sample::new(at(16.0), Watts(9.0)));
    step.cap = None;
    assert_eq!(guard.turn(&step), Turn::Uncapped);
}

#[test]
fn a_clock_that_jumps_does_not_stop_control_for_ever() {
    let mut guard = four();
    let absurd = Sample::new(Time::NEVER, Watts(50.0));
    let step = Input { now: Time::NEVER, ..input(0.0, absurd) };
    guard.turn(&step);
    let mut acted = false;
    for s in 5..=12 {
        let now = f64::from(s);
        let turn = guard.turn(&input(now, Sample::new(at(now), Watts(9.0))));
        assert_ne!(turn, Turn::Lost);
        acted |= matches!(turn, Turn::Act(_));
    }
    assert!(acted, "need an action within one period and a step");
}
