use headstack_drive::service::channels::*;
use headstack_units::{Span, Time};

#[test]
fn a_busy_channel_costs_whole_turns() {
    let mut one = Channels::new(1);
    assert_eq!(one.reserve(Time(100), Span(50), 1000.0), Time(100));
    assert_eq!(one.reserve(Time(150), Span(50), 1000.0), Time(150));
    // Overlaps both transfers; in the next turn the channel is free.
    assert_eq!(one.reserve(Time(120), Span(50), 1000.0), Time(1120));
    // The channel is free from 200 to 1120.
    assert_eq!(one.reserve(Time(200), Span(920), 1000.0), Time(200));
    // A transfer that would contain a later one has to wait as well.
    assert_eq!(one.reserve(Time(90), Span(20), 1000.0), Time(2090));
    one.forget(Time(1130));
    assert_eq!(one.reserve(Time(1170), Span(5), 1000.0), Time(1170));
}

#[test]
fn as_many_at_once_as_there_are_channels() {
    let mut two = Channels::new(2);
    assert_eq!(two.reserve(Time::ZERO, Span(100), 500.0), Time::ZERO);
    assert_eq!(two.reserve(Time(50), Span(100), 500.0), Time(50));
    // From 50 to 100 both channels are reserved.
    assert_eq!(two.reserve(Time(99), Span(10), 500.0), Time(599));
    assert_eq!(two.reserve(Time(100), Span(10), 500.0), Time(100));
}
