use headstack_trace::reader::parse::*;
use headstack_units::Lba;

#[test]
fn decimals_are_exact() {
    assert_eq!(decimal(b"0.026214", 9), Some(26_214_000));
    assert_eq!(decimal(b"1456095145.133076000", 9), Some(1_456_095_145_133_076_000));
    assert_eq!(decimal(b"7", 9), Some(7_000_000_000));
    assert_eq!(decimal(b".5", 3), Some(500));
    assert_eq!(decimal(b"0.00049", 3), Some(0));
    assert_eq!(decimal(b"0.0005", 3), Some(1));
    assert_eq!(decimal(b"1.2e-05", 9), Some(12_000));
    for bad in ["", ".", "-1", "1x", "nan", "inf", "1e400", "99999999999999999999"] {
        assert_eq!(decimal(bad.as_bytes(), 9), None, "{bad}");
    }
}

#[test]
fn integers_do_not_overflow() {
    assert_eq!(integer(b"18446744073709551615"), Some(u64::MAX));
    assert_eq!(integer(b"18446744073709551616"), None);
    for bad in ["", "-1", "1.0", "1 ", "0x1"] {
        assert_eq!(integer(bad.as_bytes()), None, "{bad}");
    }
}

#[test]
fn ranges_cover_every_byte() {
    assert_eq!(cover(0, 512), Some((Lba(0), 1)));
    assert_eq!(cover(511, 2), Some((Lba(0), 2)));
    assert_eq!(cover(1024, 1), Some((Lba(2), 1)));
    assert_eq!(cover(u64::MAX, 2), None);
    assert_eq!(cover(0, 1 << 42), None);
}
