//! A daemon that starts again goes on: with the cap that it was given, and where its policy stood.

use crate::group::{bench, tempdir};
use crate::rack::{configure, has, make_drives, until};
use crate::shelf::capd;
use headstack_host::config::Config;
use headstack_host::originals::this_boot;
use headstack_host::socket::{ask, Request};
use headstack_host::state::{Cap, StateFile};
use headstack_testkit::rig::Program;
use headstack_units::{Span, Time, Watts};
use serde_json::{json, Value};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

fn read(file: &Path) -> Value {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// A cap that was given by the socket holds after `kill -9`, as long as the configuration has the cap of then. A new cap in the
/// configuration holds, and so does the absence of one.
#[test]
fn a_cap_outlives_the_daemon_unless_the_configuration_has_another() {
    let folder = tempdir();
    make_drives(folder.path());
    let file = configure(folder.path(), "cap = \"40 W\"");
    let (socket, state) = (folder.path().join("capd"), folder.path().join("originals.state"));
    let start = || Program::start(capd().arg("run").arg(&file));
    let mut daemon = start();
    until(&socket, "its cap", |s| s["racks"][0]["cap_w"] == 40.0);
    for (name, watts) in [("rack", 35.0), ("a", 30.0)] {
        let cap = Request::Cap { group: Some(name.into()), cap: Some(Watts(watts)) };
        ask(&socket, &cap).expect("a cap");
    }
    until(&socket, "what is kept", |_| {
        let caps = &read(&state)["caps"];
        caps["rack"]["cap_w"] == 35.0 && caps["a"]["cap_w"] == 30.0
    });
    assert!(!daemon.end("KILL").success());
    let mut daemon = start();
    until(&socket, "the caps of before", |s| has(s, Some(35.0), [Some(21.0), Some(14.0)]));
    assert!(daemon.end("TERM").success());
    configure(folder.path(), "cap = \"36 W\"");
    let mut daemon = start();
    until(&socket, "a new cap", |s| s["racks"][0]["cap_w"] == 36.0);
    assert!(daemon.end("TERM").success());
    configure(folder.path(), "");
    let mut daemon = start();
    until(&socket, "no cap", |s| has(s, None, [None, None]));
    assert!(daemon.end("TERM").success());
}

/// Two daemons in one folder have a file each.
#[test]
fn the_file_is_named_after_the_originals() {
    let folder = tempdir();
    make_drives(folder.path());
    let file = configure(folder.path(), "cap = \"40 W\"");
    let text = std::fs::read_to_string(&file).expect("it");
    let of = |originals: &str| {
        let other = folder.path().join(format!("{originals}.toml"));
        std::fs::write(&other, text.replace("/originals\"", &format!("/{originals}\""))).expect("a file");
        Config::open(&other).expect("a configuration").state_file()
    };
    assert_eq!([of("a.json"), of("b.json")], ["a.json.state", "b.json.state"].map(|name| folder.path().join(name)));
}

/// A damaged file is named, neither used nor written, and the caps of the configuration hold.
#[test]
fn a_damaged_file_is_refused() {
    for (text, why) in [
        ("", "EOF"),
        ("[]", "format: got null, need"),
        ("{ \"format\": \"headstack-capd-state\" }", "boot: got null"),
        (
            "{ \"format\": \"headstack-capd-state\", \"boot\": \"x\", \"date\": 5, \"since_boot_s\": 1.0, \"groups\": {}, \"caps\": { \"rack\": { \"configured_w\": 40.0, \"cap_w\": -3 } } }",
            "caps.rack.cap_w: got -3, need watts or null",
        ),
    ] {
        let folder = tempdir();
        make_drives(folder.path());
        let file = configure(folder.path(), "cap = \"40 W\"");
        std::fs::write(folder.path().join("originals.state"), text).expect("a file");
        let log = folder.path().join("log");
        let out = std::fs::File::create(&log).expect("a file");
        let mut command = capd();
        command.arg("run").arg(&file).stderr(out);
        let mut daemon = Program::start(&mut command);
        until(&folder.path().join("capd"), text, |s| s["racks"][0]["cap_w"] == 40.0);
        assert!(daemon.end("TERM").success());
        let log = std::fs::read_to_string(&log).expect("a log");
        assert!(log.contains("state: ") && log.contains(why), "{why}: {log}");
        let now = std::fs::read_to_string(folder.path().join("originals.state")).expect("a file");
        assert_eq!(now, text);
    }
}

const SECOND: u64 = 1_000_000_000;

/// A policy goes on where it stood: a meter that was lost is lost, and a cap that was exceeded for 40 s is unreachable 20 s later. In one boot the
/// age is the time since boot, whatever the date; after another it is by the date. What is older than ten minutes, or of other
/// drives, is not used.
#[test]
fn timers_go_on_and_their_age_is_that_of_the_boot() {
    let folder = tempdir();
    let file = folder.path().join("originals.state");
    let mut first = bench(1, "pcap-agile", true, json!({}));
    first.seconds(41, 12.0);
    let then = first.now;
    let caps = [("shelf", Cap { configured: Some(Watts(8.0)), cap: Some(Watts(9.0)) })];
    StateFile::open(&file, then).keep(then, &caps, &[&first.group], true);
    let kept = read(&file);
    let date = SystemTime::now().duration_since(UNIX_EPOCH).expect("a date").as_secs();
    let with = |changes: &[(&str, Value)]| {
        let mut document = kept.clone();
        for (key, value) in changes {
            document[*key] = value.clone();
        }
        document
    };
    let another = ("boot", json!("another"));
    for (what, document, after_s, goes_on) in [
        ("the same boot", with(&[]), 5, true),
        ("the date was set", with(&[("date", json!(5))]), 5, true),
        ("long ago", with(&[]), 601, false),
        ("another boot", with(&[another.clone(), ("date", json!(date - 30))]), 0, true),
        ("another boot, the date was set back", with(&[another.clone(), ("date", json!(date + 1000))]), 0, true),
        ("another boot, long ago", with(&[another, ("date", json!(date - 700))]), 0, false),
    ] {
        std::fs::write(&file, document.to_string()).expect("a file");
        let mut second = bench(1, "pcap-agile", true, json!({}));
        second.now = Time(then.0 + after_s * SECOND);
        second.second(None);
        let mut state = StateFile::open(&file, second.now);
        assert_eq!(state.cap("shelf", Some(Watts(8.0))), Some(Some(Watts(9.0))), "{what}");
        assert_eq!(state.cap("shelf", Some(Watts(7.0))), None, "{what}");
        state.resume(&mut second.group, second.now);
        let want = if goes_on { 39.0..=41.0 } else { 0.0..=0.0 };
        let over_s = second.group.over_for(second.now).as_secs_f64();
        assert!(want.contains(&over_s), "{what}: {over_s} s");
    }
    let mut other = bench(2, "pcap-s", true, json!({}));
    other.second(None);
    std::fs::write(&file, with(&[]).to_string()).expect("a file");
    StateFile::open(&file, then).resume(&mut other.group, then);
    assert_eq!(other.group.over_for(then), Span::ZERO);
    assert!(kept["boot"] == this_boot().as_str());
}
