use headstack_drive::service::channels::*;

#[test]
fn a_busy_channel_costs_whole_turns() {
    let mut one = Channels::new(1);
    assert_eq!(one.reserve(100, 50, 1000.0), 100);
    assert_eq!(one.reserve(150, 50, 1000.0), 150);
    // Overlaps both transfers; in the next turn the channel is free.
    assert_eq!(one.reserve(120, 50, 1000.0), 1120);
    // The channel is free from 200 to 1120.
    assert_eq!(one.reserve(200, 920, 1000.0), 200);
    // A transfer that would contain a later one has to wait as well.
    assert_eq!(one.reserve(90, 20, 1000.0), 2090);
    one.forget(1130);
    assert_eq!(one.reserve(1170, 5, 1000.0), 1170);
}

#[test]
fn as_many_at_once_as_there_are_channels() {
    let mut two = Channels::new(2);
    assert_eq!(two.reserve(0, 100, 500.0), 0);
    assert_eq!(two.reserve(50, 100, 500.0), 50);
    // From 50 to 100 both channels are reserved.
    assert_eq!(two.reserve(99, 10, 500.0), 599);
    assert_eq!(two.reserve(100, 10, 500.0), 100);
}
