use headstack_target::nbd::address::*;

#[test]
fn addresses() {
    let unix = Address::parse(Some("unix:/tmp/a b"), false).unwrap();
    assert_eq!(unix, Address::Unix("/tmp/a b".into()));
    let tcp = Address::parse(None, false).unwrap();
    assert_eq!(tcp.to_string(), "127.0.0.1:10809");
    for (text, need) in [
        ("unix:", "a path"),
        ("10809", "unix:PATH, systemd or HOST:PORT"),
        ("systemd", "LISTEN_FDS"),
        ("0.0.0.0:10809", "--allow-remote"),
    ] {
        let error = Address::parse(Some(text), false).unwrap_err().to_string();
        assert!(error.contains(need), "{error}");
    }
    assert!(Address::parse(Some("0.0.0.0:10809"), true).is_ok());
    assert_eq!(escaped("/tmp/a b%"), "/tmp/a%20b%25");
}
