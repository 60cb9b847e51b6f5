use headstack_drive::{DurationLimit, LimitsSpec, Policy};
use headstack_scsi::limits::*;
use headstack_units::Span;
use zerocopy::IntoBytes;

fn ms(n: i64) -> Option<Span> {
    Some(Span(n * 1_000_000))
}

/// The bytes of the pages as cdl-tools has them: units 8h (1 us), Ah (10 ms) and Eh (500 ms); the inactive time at 2, the
/// active at 4, policies at 6, the guideline at 10 and its policy at 14; performance 20 % is code Ch.
#[test]
fn pages_have_the_bytes_of_the_standard() {
    let limits = LimitsSpec {
        reads: vec![
            DurationLimit {
                guideline: ms(50),
                guideline_policy: Policy::ContinueNextLimit,
                ..DurationLimit::default()
            },
            DurationLimit {
                inactive: ms(20),
                inactive_policy: Policy::Abort,
                active: ms(700),
                active_policy: Policy::CompleteUnavailable,
                ..DurationLimit::default()
            },
            DurationLimit { active: ms(1_000_500), ..DurationLimit::default() },
        ],
        performance: 0.2,
        ..LimitsSpec::default()
    };
    let page = LimitPage::of(&limits, false);
    let bytes = page.as_bytes();
    assert_eq!(bytes[..8], [0xca, 0x07, 0, 228, 0, 0, 0, 0xc0]);
    let one = [8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc3, 0x50, 0, 0, 1];
    assert_eq!(bytes[8..23], one);
    assert_eq!(bytes[40..47], [0xa, 0, 0, 2, 0, 70, 0xfd]);
    assert_eq!(bytes[72..78], [0xe, 0, 0, 0, 7, 0xd1]);
    assert!(bytes[104..].iter().all(|b| *b == 0));
    let writes = LimitPage::of(&limits, true);
    assert_eq!(writes.as_bytes()[..8], [0xca, 0x08, 0, 228, 0, 0, 0, 0], "no performance in T2B");
    // Back again.
    let mut read = LimitsSpec::default();
    assert_eq!(page.apply(&mut read), Ok(()));
    assert_eq!(read.limits(false), limits.limits(false));
    assert_eq!(read.performance, 0.2);
}

/// Reserved units and policies, and policies that the standard does not allow for a time.
#[test]
fn values_that_are_not_allowed_are_named_by_their_byte() {
    let apply = |byte: usize, value: u8| {
        let mut page = LimitPage::empty(false);
        page.as_mut_bytes()[byte] = value;
        page.apply(&mut LimitsSpec::default())
    };
    assert_eq!(apply(7, 0xd0), Err(7));
    assert_eq!(apply(8, 0x07), Err(8));
    // A time without a unit.
    assert_eq!(apply(8 + 3, 1), Err(8));
    assert_eq!(apply(8 + 6, 0x30), Err(8 + 6));
    assert_eq!(apply(8 + 14, 0x03), Err(8 + 14));
    // Continue with the next limit: not for inactive times, and not in the seventh descriptor.
    assert_eq!(apply(8 + 6, 0x10), Err(8));
    assert_eq!(apply(8 + 5 * 32 + 14, 0x01), Ok(()));
    assert_eq!(apply(8 + 6 * 32 + 14, 0x01), Err(8 + 6 * 32));
    // Abort-recovery is for SAS.
    assert_eq!(apply(8 + 6, 0x0e), Err(8));
}
