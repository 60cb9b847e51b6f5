use headstack_trace::ioprio::*;

/// The values of `IOPRIO_PRIO_VALUE_HINT` of Linux, written out: class << 13 | hint << 3 | level.
#[test]
fn parts_are_where_linux_has_them() {
    let rt = Ioprio::of(IoprioClass::RealTime, 0, 1).expect("a priority");
    assert_eq!(rt.0, 0x2008);
    assert_eq!((rt.class(), rt.level(), rt.hint(), rt.limit()), (IoprioClass::RealTime, 0, 1, 1));
    let be = Ioprio::of(IoprioClass::BestEffort, 4, 7).expect("a priority");
    assert_eq!(be.0, 0x403c);
    assert_eq!((be.class(), be.level(), be.hint(), be.limit()), (IoprioClass::BestEffort, 4, 7, 7));
    assert_eq!(Ioprio::of(IoprioClass::Idle, 8, 0), None);
    assert_eq!(Ioprio::of(IoprioClass::Idle, 0, 1024), None);
}

/// A hint needs a class, and names a limit only from 1 to 7.
#[test]
fn only_some_hints_are_limits() {
    let limit = |class, hint| Ioprio::of(class, 0, hint).map(Ioprio::limit);
    assert_eq!(limit(IoprioClass::None, 3), Some(0));
    assert_eq!(limit(IoprioClass::BestEffort, 0), Some(0));
    assert_eq!(limit(IoprioClass::BestEffort, 8), Some(0));
    assert_eq!(limit(IoprioClass::Idle, 7), Some(7));
}
