//! Logins, several sessions, task management.

use crate::iscsi::initiator::{header, options, path, shelf, ten, Initiator, Server, NAME, SMALL};
use headstack_target::iscsi::chap::Secrets;
use headstack_target::iscsi::login::Admission;
use headstack_target::iscsi::server;

fn name(of: &str) -> String {
    format!("InitiatorName={of}")
}

/// RFC 7143, 11.13.5: class and detail of a login that fails.
#[test]
fn logins_fail_as_the_standard_says() {
    let server = Server::start();
    let target = format!("TargetName={}", server.portal().1);
    let own = name(NAME);
    for (flags, keys, status) in [
        (0x87, vec![&own[..], &target], 0),
        (0x87, vec![&target[..]], 0x0207),
        (0x87, vec![&own], 0x0207),
        (0x87, vec![&own, "TargetName=iqn.2026-11.org.example:other"], 0x0203),
        (0x87, vec![&own, "SessionType=Other"], 0x0209),
        (0x87, vec![&own, &target, "MaxConnections=1", "MaxConnections=1"], 0x0200),
        // The stages go up only.
        (0x84, vec![&own, &target], 0x0200),
        (0x8e, vec![&own, &target], 0x0200),
        (0x87, vec![&own, &target, "AuthMethod=CHAP"], 0x0201),
    ] {
        let mut initiator = Initiator::new(server.connect(), 9);
        let (found, _) = initiator.login_step(flags, &keys);
        assert_eq!(found, status, "{keys:?}");
        if status != 0 {
            assert_eq!(initiator.next(), None, "{keys:?}");
        }
    }
}

#[test]
fn discovery_lists_the_targets() {
    let file = shelf(3);
    let iscsi = server::Options { apart: true, ..server::Options::default() };
    let server = Server::with(&options(&path(&file), iscsi));
    let mut initiator = Initiator::new(server.connect(), 1);
    let (status, _) = initiator.login(&["SessionType=Discovery", "MaxRecvDataSegmentLength=512"]);
    assert_eq!(status, 0);
    let mut text = Vec::new();
    let mut ttt = [0xff; 4];
    loop {
        let ask: &[u8] = if text.is_empty() { b"SendTargets=All\0" } else { b"" };
        let mut unit = header(0x04, 0x80, ask.len(), 7);
        unit[20..24].copy_from_slice(&ttt);
        unit[24..28].copy_from_slice(&initiator.cmd_sn.to_be_bytes());
        initiator.cmd_sn += 1;
        initiator.send(&unit, ask);
        let answer = initiator.next().unwrap();
        assert_eq!(answer.opcode(), 0x24);
        text.extend_from_slice(&answer.data);
        ttt.copy_from_slice(&answer.header[20..24]);
        if answer.header[1] & 0x80 != 0 {
            break;
        }
    }
    let portal = format!("TargetAddress={},1", server.portal().0);
    let text = String::from_utf8(text).unwrap();
    let found: Vec<&str> = text.split_terminator('\0').collect();
    let wanted: Vec<String> = (server.urls.iter())
        .flat_map(|url| {
            let target = url.split('/').nth(3).unwrap();
            [format!("TargetName={target}"), portal.clone()]
        })
        .collect();
    assert_eq!(found, wanted);
}

/// The response is computed by the digest of the system's own tools in `chap.rs`; here whole logins.
#[test]
fn only_those_who_know_the_secret_get_in() {
    use md5::{Digest, Md5};
    let iscsi = server::Options {
        admission: Admission {
            initiators: vec![NAME.into()],
            secrets: Some(Secrets {
                name: "host".into(),
                secret: "a long secret".into(),
                mutual: Some(("disk".into(), "another secret".into())),
            }),
        },
        ..server::Options::default()
    };
    let server = Server::with(&options(SMALL, iscsi));
    let target = format!("TargetName={}", server.portal().1);
    let binary = |hex: &str| -> Vec<u8> {
        let hex = hex.strip_prefix("0x").unwrap();
        let pairs = (0..hex.len()).step_by(2);
        pairs.map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
    };
    let hex = |bytes: &[u8]| -> String {
        let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        format!("0x{digits}")
    };
    for (user, secret, status) in
        [("host", "a long secret", 0), ("host", "a wrong secret", 0x0201), ("other", "a long secret", 0x0201)]
    {
        let mut initiator = Initiator::new(server.connect(), 1);
        let own = name(NAME);
        let (_, keys) = initiator.login_step(0x00, &[&own, &target, "AuthMethod=CHAP,None"]);
        assert!(keys.contains(&"AuthMethod=CHAP".to_string()), "{keys:?}");
        let (_, keys) = initiator.login_step(0x00, &["CHAP_A=5"]);
        let value = |key: &str| keys.iter().find_map(|k| k.strip_prefix(key)).unwrap();
        let (id, challenge) = (value("CHAP_I="), binary(value("CHAP_C=")));
        let id: u8 = id.parse().unwrap();
        let response = hex(&Md5::digest([&[id], secret.as_bytes(), &challenge].concat()));
        let answers = [&format!("CHAP_N={user}")[..], &format!("CHAP_R={response}"), "CHAP_I=5", "CHAP_C=0x010203"];
        let (found, keys) = initiator.login_step(0x81, &answers);
        assert_eq!(found, status, "{user} {secret}");
        if status == 0 {
            let own = Md5::digest([&[5], &b"another secret"[..], &[1, 2, 3]].concat());
            assert!(keys.contains(&format!("CHAP_R={}", hex(&own))), "{keys:?}");
            assert_eq!(initiator.login_step(0x87, &[]).0, 0);
            initiator.settle(0);
        }
    }
    // Without authentication, and with another name.
    let own = name(NAME);
    let mut without = Initiator::new(server.connect(), 1);
    assert_eq!(without.login_step(0x87, &[&own, &target]).0, 0x0201);
    let mut without = Initiator::new(server.connect(), 1);
    assert_eq!(without.login_step(0x81, &[&own, &target, "AuthMethod=None"]).0, 0x0201);
    let other = name("iqn.2026-11.org.example:stranger");
    let mut stranger = Initiator::new(server.connect(), 1);
    let (found, _) = stranger.login_step(0x00, &[&other, &target, "AuthMethod=CHAP"]);
    assert_eq!(found, 0x0202);
}

#[test]
fn reservations_keep_others_out() {
    let server = Server::start();
    let (mut one, mut other) = (server.session(1, &[]), server.session(2, &[]));
    one.settle(0);
    other.settle(0);
    let out = |action: u8, kind: u8| [0x5f, action, kind, 0, 0, 0, 0, 0, 24, 0];
    let keys = |own: u64, new: u64| {
        let mut list = vec![0; 24];
        list[..8].copy_from_slice(&own.to_be_bytes());
        list[8..16].copy_from_slice(&new.to_be_bytes());
        list
    };
    assert_eq!(one.put(0, &out(0, 0), &keys(0, 17), 24).status, 0);
    // RESERVE, exclusive access.
    assert_eq!(one.put(0, &out(1, 3), &keys(17, 0), 24).status, 0);
    assert_eq!(other.ask(0, &ten(0x28, 0, 0, 1), 512).status, 0x18);
    assert_eq!(other.put(0, &out(1, 3), &keys(0, 0), 24).status, 0x18);
    assert_eq!(one.ask(0, &ten(0x28, 0, 0, 1), 512).status, 0);
    // Another initiator registers, and takes the reservation for all who write.
    assert_eq!(other.put(0, &out(0, 0), &keys(0, 18), 24).status, 0);
    assert_eq!(other.put(0, &out(4, 1), &keys(18, 17), 24).status, 0);
    assert_eq!(one.ask(0, &[0; 6], 0).sense, Some((6, 0x2a, 0x05)));
    assert_eq!(one.ask(0, &ten(0x28, 0, 0, 1), 512).status, 0);
    assert_eq!(one.put(0, &ten(0x2a, 0, 0, 1), &[1; 512], 512).status, 0x18);
    let held = one.ask(0, &[0x5e, 1, 0, 0, 0, 0, 0, 0, 64, 0], 64).data;
    assert_eq!((held.len(), held[15], held[21]), (24, 18, 1));
}

#[test]
fn a_reset_ends_the_commands_of_all() {
    let mut options = options("exos-x18", server::Options::default());
    options.live.speed = 0.001;
    let server = Server::with(&options);
    let (mut one, mut other) = (server.session(1, &[]), server.session(2, &[]));
    one.settle(0);
    other.settle(0);
    // A command that takes long.
    let unit = other.command_header(0, 0xc1, &ten(0x28, 0, 4_000_000_000, 1), 512);
    other.send(&unit, &[]);
    server.until_outstanding(1);
    // LOGICAL UNIT RESET.
    let mut unit = header(0x42, 0x85, 0, 99);
    unit[24..28].copy_from_slice(&one.cmd_sn.to_be_bytes());
    one.send(&unit, &[]);
    let done = one.next().unwrap();
    assert_eq!((done.opcode(), done.header[2]), (0x22, 0));
    // The command is never answered; the next one is told of the reset.
    let told = other.ask(0, &[0; 6], 0);
    assert_eq!(told.sense, Some((6, 0x29, 0x03)));
    // ABORT TASK of a command that is not there.
    let mut unit = header(0x42, 0x81, 0, 100);
    unit[20..24].copy_from_slice(&12345u32.to_be_bytes());
    unit[24..28].copy_from_slice(&one.cmd_sn.to_be_bytes());
    one.send(&unit, &[]);
    assert_eq!(one.next().unwrap().header[2], 1);
}

/// A session with the same name takes the place of the older one.
#[test]
fn a_session_that_comes_again_replaces_itself() {
    let server = Server::start();
    let mut old = server.session(1, &[]);
    old.settle(0);
    let mut different = server.session(2, &[]);
    different.settle(0);
    let mut new = server.session(1, &[]);
    assert_eq!(old.next(), None);
    new.settle(0);
    assert_eq!(different.ask(0, &[0; 6], 0).status, 0);
    // NOP-Out, then logout.
    let mut ping = header(0x40, 0x80, 4, 55);
    ping[20..24].fill(0xff);
    ping[24..28].copy_from_slice(&new.cmd_sn.to_be_bytes());
    new.send(&ping, b"ping");
    let echo = new.next().unwrap();
    assert_eq!((echo.opcode(), echo.u32(16), &echo.data[..]), (0x20, 55, &b"ping"[..]));
    let mut unit = header(0x46, 0x80, 0, 56);
    unit[24..28].copy_from_slice(&new.cmd_sn.to_be_bytes());
    new.send(&unit, &[]);
    assert_eq!(new.next().unwrap().opcode(), 0x26);
    assert_eq!(new.next(), None);
    drop((old, different, new));
    assert_eq!(server.end().clients, 3);
}
