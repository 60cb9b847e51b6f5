use headstack_sim::memory_guard::*;

#[test]
fn memory_that_there_is_not_is_an_error() {
    let mut room = MemoryGuard::default();
    assert!(room.check(0, 0).is_ok());
    assert!(room.check(1000, 1000).is_ok());
    // More than any address space.
    let error = room.check(u64::MAX, 0).unwrap_err().to_string();
    assert!(error.contains("18446744073709551615 requests"), "{error}");
    assert!(room.check(1000, u64::MAX).is_err());
    assert!(room.check(1000, 1000).is_ok());
}
