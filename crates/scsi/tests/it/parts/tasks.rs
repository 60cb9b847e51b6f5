use headstack_scsi::tasks::Attribute::*;
use headstack_scsi::tasks::*;

#[test]
fn ordered_commands_are_barriers() {
    let mut set = TaskSet::new(0);
    assert_eq!(set.enter(1, Simple), Entered::Now);
    assert_eq!(set.enter(2, Simple), Entered::Now);
    assert_eq!(set.enter(3, Ordered), Entered::Later);
    assert_eq!(set.enter(4, Simple), Entered::Later);
    assert_eq!(set.enter(5, HeadOfQueue), Entered::Now);
    set.leave(1);
    set.leave(5);
    assert_eq!(set.next_free(), None);
    set.leave(2);
    assert_eq!(set.next_free(), Some(3));
    assert_eq!(set.next_free(), None);
    set.leave(3);
    assert_eq!(set.next_free(), Some(4));
    set.leave(4);
    assert!(set.is_empty());
}

#[test]
fn a_full_set_takes_nothing() {
    let mut set = TaskSet::new(2);
    assert_eq!(set.enter(1, Simple), Entered::Now);
    assert_eq!(set.enter(2, Ordered), Entered::Later);
    assert_eq!(set.enter(3, HeadOfQueue), Entered::Full);
    set.leave(1);
    assert_eq!(set.next_free(), Some(2));
    assert_eq!(set.enter(4, Simple), Entered::Later);
}
