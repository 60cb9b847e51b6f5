use headstack_control::*;
use headstack_units::{Bandwidth, Frequency, Span};

/// In Linux `nr_requests` below 4 becomes 4 and above 2048 is an error; 32 tags bound the depth.
#[test]
fn clamped_as_linux_does() {
    let device = Device::default();
    for (asked, got) in [(0, 4), (3, 4), (4, 4), (2048, 2048), (2049, 2048)] {
        let command = Command { nr_requests: asked, ..Command::default() };
        assert_eq!(device.clamp(command).nr_requests, got);
        assert_eq!(device.accepts(&command), asked == got);
    }
    for (asked, got) in [(0, 1), (1, 1), (32, 32), (u32::MAX, 32)] {
        let command = Command { queue_depth: asked, arms: asked, ..Command::default() };
        assert_eq!(device.clamp(command).queue_depth, got);
        assert_eq!(device.clamp(command).arms, 1);
    }
}

/// Linux takes 0 to `INT_MAX` milliseconds; an elevator without deadlines has no such file.
#[test]
fn the_expiry_of_reads_is_clamped_or_left_alone() {
    let with = Device { most_read_expire: Some(MOST_READ_EXPIRE), ..Device::default() };
    let most = Span::from_ms(2_147_483_647.0);
    for (asked, got) in [
        (Some(Span(-1)), Some(Span::ZERO)),
        (Some(Span::ZERO), Some(Span::ZERO)),
        (Some(Span::from_ms(2000.0)), Some(Span::from_ms(2000.0))),
        (Some(Span(i64::MAX)), Some(most)),
        (None, None),
    ] {
        let command = Command { read_expire: asked, ..Command::default() };
        assert_eq!(with.clamp(command).read_expire, got, "{asked:?}");
        assert_eq!(with.accepts(&command), asked == got, "{asked:?}");
        assert_eq!(Device::default().clamp(command).read_expire, None);
    }
}

#[test]
fn a_rest_that_the_drive_does_not_have_is_none() {
    let bare = Device { can_unload: false, ..Device::default() };
    let at = |device: &Device, rest| {
        let command = Command { rest, ..Command::default() };
        device.clamp(command).rest
    };
    let second = Span(1_000_000_000);
    let (unload, standby) = (Rest::Unload { after: second }, Rest::Standby { after: second });
    assert_eq!(at(&bare, unload), Rest::Own);
    assert_eq!(at(&bare, standby), standby);
    assert_eq!(at(&Device::default(), unload), unload);
    // Timers count in tenths of a second.
    let wanted = Rest::Unload { after: Span(100_000_000) };
    assert_eq!(at(&Device::default(), Rest::Unload { after: Span(-5) }), wanted);
}

#[test]
fn a_rate_that_is_no_rate_is_no_limit() {
    let device = Device::default();
    for rate in [f64::NAN, f64::INFINITY, 0.0, -3.0] {
        for limit in [RateLimit::Requests(Frequency(rate)), RateLimit::Bytes(Bandwidth(rate))] {
            let command = Command { rate_limit: limit, ..Command::default() };
            assert_eq!(device.clamp(command).rate_limit, RateLimit::Unlimited);
        }
    }
}
