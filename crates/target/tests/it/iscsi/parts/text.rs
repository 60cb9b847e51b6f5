use headstack_target::iscsi::text::*;

#[test]
fn keys_and_numbers_are_read() {
    let keys = read(b"A=1\0B=x=y\0\0").unwrap();
    assert_eq!(keys, [("A".into(), "1".into()), ("B".into(), "x=y".into())]);
    assert_eq!(write(&keys), b"A=1\0B=x=y\0");
    assert_eq!(read(b"no value\0"), None);
    assert_eq!(read(b"=1\0"), None);
    assert_eq!(read(&[b'a'; 70]), None);
    assert_eq!((number("0x1F"), number("12"), number("-1")), (Some(31), Some(12), None));
}

/// RFC 4648, section 10.
#[test]
fn binary_data_are_read() {
    assert_eq!(binary("0xabc"), Some(vec![0x0a, 0xbc]));
    assert_eq!(binary("0b"), Some(vec![]));
    for (text, data) in [("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob")] {
        assert_eq!(binary(&format!("0b{text}")).unwrap(), data.as_bytes());
    }
    assert_eq!(binary("0xg0"), None);
    assert_eq!(binary("0b!"), None);
    assert_eq!(binary("12"), None);
    assert_eq!(hex(&[1, 255]), "0x01ff");
}
