//! What an operator asks and is told: the check before a run, caps that cannot be meant, hooks, two windows.

use crate::group::{bench, tempdir};
use crate::rack::make_drive;
use crate::shelf::capd;
use headstack_host::config::{self, Condition};
use headstack_host::daemon::open_drive;
use headstack_host::emergency::Emergency;
use headstack_host::group::{Group, State};
use headstack_host::hook::Hooked;
use headstack_host::page;
use headstack_schema::read;
use headstack_units::Watts;
use serde_json::json;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

/// Standard output, standard error, and the exit status.
fn run(words: &[&str]) -> (String, String, Option<i32>) {
    let done = capd().args(words).output().expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (text(done.stdout), text(done.stderr), done.status.code())
}

/// Two drives of a model that was learned: 7 to 9 W each, beside 10 W of others. A cap below 24 W is a problem, as are a drive
/// that is offline, a meter that fails and a drive that is not there: each is named, and the exit status is 1.
#[test]
fn a_check_reads_all_and_fails_where_something_is_wrong() {
    let folder = tempdir();
    let place = folder.path().display().to_string();
    for name in ["sda", "sdb"] {
        make_drive(&folder.path().join(name), "0");
        std::fs::write(folder.path().join(name).join("device/model"), "M\n").expect("a file");
    }
    let setting = |power: &str| json!({ "nr_requests": 128, "queue_depth": 4, "power": power });
    let kept = json!({ "M": { "kept_at": 1, "learned": { "settings": [setting("9 W"), setting("7 W")] } } });
    std::fs::write(folder.path().join("learned.json"), kept.to_string()).expect("a file");
    let check = |cap: &str, meter: &str, last: &str| {
        let file = folder.path().join("capd.toml");
        let text = format!(
            "interval = \"50 ms\"\n[[group]]\nname = \"shelf\"\nbase = \"10 W\"\ncap = \"{cap}\"\nlearned = \"{place}/learned.json\"\n\
             meter = [{{ command = [\"echo\", \"{meter}\"], timeout = \"5 s\" }}]\n\
             drive = [{{ path = \"{place}/sda\" }}, {{ path = \"{place}/{last}\" }}]\n"
        );
        std::fs::write(&file, text).expect("a file");
        run(&["check", &file.display().to_string()])
    };
    let (said, error, code) = check("25 W", "26.5 W", "sdb");
    assert_eq!((error.as_str(), code), ("", Some(0)), "{said}");
    for line in ["shelf: policy learning", "meter[0]: 26.5 W", "can hold: 24 to 28 W", "nr_requests=64 queue_depth=32"]
    {
        assert!(said.contains(line), "{said}");
    }
    let (said, error, code) = check("23 W", "none", "sdc");
    assert_eq!(code, Some(1), "{said}");
    assert!(error.contains("2 problems"), "{error}{said}");
    assert!(said.contains("meter[0]: cannot be used: got no number"), "{said}");
    assert!(said.contains("sdc: cannot be used: it is not there"), "{said}");
    std::fs::write(folder.path().join("sdb/device/state"), "offline\n").expect("a file");
    let file = folder.path().join("capd.toml");
    let text = std::fs::read_to_string(&file).expect("it");
    std::fs::write(&file, text + "emergency = { condition = \"standby\" }\n").expect("a file");
    let done = capd().arg("check").arg(&file).env("PATH", "/bin-that-is-not").output();
    let said = String::from_utf8(done.expect("it runs").stdout).expect("text");
    assert!(said.contains("emergency: cannot be used: sg_start: No such file"), "{said}");
    let (said, _, code) = check("23 W", "26", "sdb");
    assert_eq!(code, Some(1));
    assert!(said.contains("sdb: cannot be used: its device is offline"), "{said}");
    assert!(said.contains("cap: cannot be used: got 23 W, need at least 24 W"), "{said}");
}

#[test]
fn a_cap_that_cannot_be_meant_is_refused_in_words() {
    for words in [&["cap", "shelf", "-5"][..], &["cap", "-5 W"]] {
        let (_, error, code) = run(words);
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains("cap: got -5") && error.contains("need watts, such as"), "{error}");
    }
    let group: config::Group = read(&json!({
        "name": "g", "base": "10 W", "meter": [{ "file": "x" }],
        "drive": [{ "path": "a" }, { "path": "b" }],
    }))
    .expect("a group");
    // 50 W are more than any drive draws.
    config::check_most(Some(Watts(110.0)), group.most_cap()).expect("it may be meant");
    config::check_most(None, group.most_cap()).expect("no cap");
    let error = config::check_most(Some(Watts(140e3)), group.most_cap()).unwrap_err();
    let want = "cap: got 140000 W, need at most 110 W, more than it could draw; none for no cap";
    assert_eq!(error.to_string(), want);
}

/// A program runs once when the state has lasted for its time, and is told what is so, with the drives of the last tier first.
#[test]
fn a_hook_runs_once_when_a_state_lasts() {
    let folder = tempdir();
    let names = ["sda", "sdb"].map(|name| folder.path().join(name));
    names.iter().for_each(|name| make_drive(name, "0"));
    let config: config::Group = read(&json!({
        "name": "shelf", "policy": "pcap-s", "cap": "16 W", "meter": [{ "file": "unused" }],
        "drive": [{ "path": names[0] }, { "path": names[1], "tier": 2 }],
    }))
    .expect("a group");
    let out = folder.path().join("out");
    let script = format!("echo $HEADSTACK_STATE $HEADSTACK_POWER_W $HEADSTACK_DRIVES >> {}", out.display());
    let table = json!({ "command": ["sh", "-c", script], "states": ["settling"], "after": "3 s" });
    let mut hook = Hooked::new(&read::<config::Hook>(&table).expect("a hook"));
    let mut bench = bench(2, "pcap-s", false, json!({}));
    bench.group = Group::new(&config, false, Box::new(open_drive));
    for s in 0..20 {
        bench.second(Some(20.0));
        assert_eq!(bench.group.state, State::Settling);
        hook.step(bench.now, &bench.group, true);
        while s == 3 && std::fs::read(&out).map_or(true, |text| text.is_empty()) {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(out.exists(), s >= 3, "{s} s");
    }
    let said = std::fs::read_to_string(&out).expect("it ran");
    assert_eq!(said, "settling 20 /dev/sdb /dev/sda\n");
}

/// A stand-in for `sg_start` writes what it is told. `unreachable` for 30 s: the drive of the last tier is sent; after 30 s more
/// the other one as well, and the first again, as a command may have woken it. All follow their own timers once the group has
/// been below its cap for 60 s, at once without a cap, and at the end. A dry run sends nothing.
#[test]
fn an_emergency_sends_tier_after_tier_and_ends() {
    let folder = tempdir();
    let names = ["sda", "sdb"].map(|name| folder.path().join(name));
    names.iter().for_each(|name| make_drive(name, "0"));
    let (program, out) = (folder.path().join("sg_start"), folder.path().join("out"));
    std::fs::write(&program, format!("#!/bin/sh\necho $* >> {}\n", out.display())).expect("a file");
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("a mode");
    let config: config::Group = read(&json!({
        "name": "shelf", "policy": "pcap-s", "cap": "16 W", "meter": [{ "file": "unused" }],
        "drive": [{ "path": names[0] }, { "path": names[1], "tier": 2 }],
        "emergency": { "condition": "idle_b", "after": "30 s", "lasts": "60 s" },
    }))
    .expect("a group");
    let mut emergency = Emergency::new(config.emergency.expect("it"), &program.display().to_string());
    let mut bench = bench(2, "pcap-s", true, json!({}));
    bench.group = Group::new(&config, false, Box::new(open_drive));
    let mut after = |seconds: usize, watts: f64, apply: bool| {
        for _ in 0..seconds {
            bench.second(Some(watts));
            emergency.step(bench.now, &bench.group, apply);
            emergency.finish();
        }
        let said = std::fs::read_to_string(&out).unwrap_or_default();
        let _ = std::fs::remove_file(&out);
        let mut said: Vec<String> = said.lines().map(String::from).collect();
        said.sort();
        (bench.group.state.name(), said, emergency.condition())
    };
    let sent = |devices: &[&str], words: &str| -> Vec<String> {
        devices.iter().map(|d| format!("--readonly {words} /dev/{d}")).collect()
    };
    let (idle_b, own) = ("--pc=2 --mod=1", "--pc=7");
    let mut seconds = 0..1000;
    assert!(seconds.any(|_| after(1, 20.0, true).0 == "unreachable"));
    assert_eq!(after(29, 20.0, true), ("unreachable", vec![], None));
    assert_eq!(after(1, 20.0, true).1, sent(&["sdb"], idle_b));
    assert_eq!(after(29, 20.0, true), ("unreachable", vec![], Some(Condition::IdleB)));
    assert_eq!(after(1, 20.0, true).1, sent(&["sda", "sdb"], idle_b));
    assert_eq!(after(59, 15.5, true), ("holding", vec![], Some(Condition::IdleB)));
    assert_eq!(after(1, 15.5, true), ("holding", sent(&["sda", "sdb"], own), None));
    assert_eq!(after(60, 15.5, true).1, sent(&[], own));
    assert!(seconds.any(|_| after(1, 20.0, false).0 == "unreachable"));
    assert_eq!(after(31, 20.0, false), ("unreachable", vec![], Some(Condition::IdleB)));
}

/// A step that changes settings is one line, however many drives there are: 30 W of three drives under a cap of 24 W.
#[test]
fn a_decision_is_one_line_with_its_reason() {
    let folder = tempdir();
    let place = folder.path().display().to_string();
    let (mut drives, watts) = (String::new(), folder.path().join("watts"));
    std::fs::write(&watts, "30\n").expect("a file");
    for name in ["sda", "sdb", "sdc"] {
        make_drive(&folder.path().join(name), "0");
        drives += &format!("{{ path = \"{place}/{name}\" }}, ");
    }
    let text = format!(
        "interval = \"50 ms\"\noriginals = \"{place}/originals\"\nsocket = \"{place}/capd\"\n\
         [[group]]\nname = \"shelf\"\ncap = \"24 W\"\npolicy = \"pcap-s\"\n\
         meter = [{{ file = \"{place}/watts\", interval = \"50 ms\" }}]\ndrive = [{drives}]\n"
    );
    let (config, log) = (folder.path().join("capd.toml"), folder.path().join("log"));
    std::fs::write(&config, text).expect("a file");
    let out = std::fs::File::create(&log).expect("a file");
    let daemon = capd().arg("run").arg(&config).stderr(out).spawn();
    let mut daemon = daemon.expect("the daemon");
    let said = loop {
        let text = std::fs::read_to_string(&log).expect("the log");
        if text.contains("(4, 1, 500 ms)") {
            break text;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    daemon.kill().and_then(|()| daemon.wait()).expect("its end");
    let lines: Vec<&str> = said.lines().filter(|l| l.contains("would set")).collect();
    assert!(lines.iter().filter(|l| l.contains("(4, 1, 500 ms)")).count() == 1, "{said}");
    let want = "would set group=\"shelf\" power=30.0 cap=24.0 direction=\"lower\" settings=\"3 x (4, 1, 500 ms)\" why=\"6.00 W above the cap\"";
    assert!(lines.last().is_some_and(|l| l.ends_with(want)), "{said}");
}

/// With a burst the limit is above the cap for a group that drew less, and is what is told; 6 W for long under a cap of 8 W.
#[test]
fn a_burst_is_the_limit_of_the_moment() {
    let burst = json!({ "burst": { "cap": "9.5 W", "over": "20 s" } });
    let mut bench = bench(1, "pcap-s", true, burst);
    assert_eq!(bench.group.limit(), Some(Watts(8.0)));
    bench.seconds(60, 6.0);
    assert_eq!(bench.group.limit(), Some(Watts(9.5)));
    bench.seconds(60, 9.4);
    let limit = bench.group.limit().expect("a cap");
    assert!((limit.0 - 6.6).abs() < 0.6, "{limit}");
}

/// The rules of `promtool check metrics`: base units, `_total` for counters alone, a sentence for each.
#[test]
fn names_of_metrics_are_those_that_promtool_takes() {
    let drive = json!({ "name": "sda", "read_expire_ms": 500.0, "writes": 3 });
    let status = json!({ "applies": true, "groups": [{ "name": "g", "drives": [drive] }] });
    let page = page::metrics(&status);
    assert!(page.contains("headstack_capd_read_expire_seconds{group=\"g\",drive=\"sda\"} 0.5\n"), "{page}");
    for line in page.lines().filter(|l| l.starts_with("# TYPE ")) {
        let words: Vec<&str> = line.split(' ').collect();
        let (name, kind) = (words[2], words[3]);
        assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
        let units = ["milliseconds", "microwatts", "milliwatts", "minutes", "hours", "percent"];
        assert!(name.split('_').all(|part| !units.contains(&part)), "{line}");
        assert!(page.contains(&format!("# HELP {name} ")), "{line}");
    }
}
