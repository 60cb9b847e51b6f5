//! What others leave behind, send or do: files, links and pipes, silent clients, other daemons, links that flap.

use crate::group::{bench, tempdir};
use crate::rack::make_drive;
use headstack_host::cap::CapFile;
use headstack_host::config;
use headstack_host::daemon::open_drive;
use headstack_host::group::{Group, State};
use headstack_host::knobs::Knob;
use headstack_host::meter::Meters;
use headstack_host::originals::{restore, Originals};
use headstack_host::socket::{ask, Request, Socket};
use headstack_host::stat::Stat;
use headstack_schema::read;
use headstack_units::{Span, Time};
use serde_json::json;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Clients that say nothing hold up no other: one after another for 2 s each they would take longer than anybody waits.
#[test]
fn silent_clients_of_the_socket_delay_nobody() {
    let folder = tempdir();
    let path = folder.path().join("socket");
    let stop = Arc::new(AtomicBool::new(false));
    let (socket, stopped) = (Socket::bind(&path).expect("a socket"), stop.clone());
    let daemon = std::thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            if let Some((request, reply)) = socket.request(Duration::from_millis(20)) {
                assert_eq!(request, Request::Status);
                reply.send(Ok(json!(1))).expect("somebody waits");
            }
        }
    });
    let connect = |_| UnixStream::connect(&path).expect("a connection");
    let silent: Vec<UnixStream> = (0..64).map(connect).collect();
    assert_eq!(ask(&path, &Request::Status).expect("an answer"), json!(1));
    stop.store(true, Ordering::Relaxed);
    daemon.join().expect("it ends beside them");
    assert!(!path.exists());
    drop(silent);
}

#[test]
fn a_file_named_as_the_socket_stays() {
    let folder = tempdir();
    let path = folder.path().join("socket");
    std::fs::write(&path, "data").expect("a file");
    assert!(Socket::bind(&path).is_err());
    assert_eq!(std::fs::read_to_string(&path).expect("it"), "data");
}

/// Another one has put a link where the new file is to be: what it points to is left alone.
#[test]
fn a_link_in_place_of_the_new_file_is_not_followed() {
    let folder = tempdir();
    let (file, victim) = (folder.path().join("originals.json"), folder.path().join("victim"));
    std::fs::write(&victim, "data").expect("a file");
    symlink(&victim, folder.path().join("originals.json.new")).expect("a link");
    let mut originals = Originals::open(&file).expect("no file");
    let values = [(Knob::NrRequests, "64".to_string())].into();
    originals.keep("x", None, &values).expect("it is written");
    assert_eq!(std::fs::read_to_string(&victim).expect("it"), "data");
    assert!(file.is_file() && !file.is_symlink());
}

/// A pipe without a writer: the system would wait for one.
#[test]
fn a_pipe_as_cap_file_or_meter_is_an_error_at_once() {
    let folder = tempdir();
    let path = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo").success());
    let name = path.display().to_string();
    assert_eq!(CapFile::new(Some(&name)).changed(), None);
    let meters = meters(&name);
    let is_said = |m: &Meters| m.failures(Time(1 << 60)).join(" ").contains("regular file");
    while !is_said(&meters) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn meters(file: &str) -> Meters {
    let group: config::Group = read(&json!({
        "name": "g", "policy": "pcap-s", "drive": [{ "path": "/x" }],
        "meter": [{ "file": file, "interval": "50 ms" }],
    }))
    .expect("a group");
    Meters::start(&group, &Stat::default()).expect("threads")
}

/// A file that was written an hour ago is a reading of an hour ago, until it is written again.
#[test]
fn the_age_of_a_file_is_that_of_its_content() {
    let folder = tempdir();
    let path = folder.path().join("watts");
    std::fs::write(&path, "9.5\n").expect("a file");
    let file = std::fs::File::options().write(true).open(&path);
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    file.and_then(|f| f.set_modified(hour_ago)).expect("a time");
    let mut meters = meters(&path.display().to_string());
    let mut age_s = |is_enough: &dyn Fn(f64) -> bool| loop {
        std::thread::sleep(Duration::from_millis(5));
        let sum = meters.sum().map(|sum| sum.time);
        let now = headstack_host::clock::now();
        if let Some(age) = sum.map(|time| now.since(time).as_secs_f64()) {
            if is_enough(age) {
                return meters.failures(now);
            }
        }
    };
    // A machine that was started since cannot tell more than that.
    let up_s = headstack_host::clock::now().since(Time::ZERO).as_secs_f64();
    let failures = age_s(&|age| age >= up_s.min(3599.0));
    assert!(failures[0].starts_with("meter[0]: the last reading is "), "{failures:?}");
    std::fs::write(&path, "9.6\n").expect("a file");
    age_s(&|age| age < up_s.min(1800.0));
}

/// Each with originals of its own, so that the lock beside them does not tell; the drive has one daemon. A dry run needs none.
#[test]
fn a_drive_has_one_daemon() {
    let folder = tempdir();
    let sda = folder.path().join("sda");
    make_drive(&sda, "0");
    let config: config::Group = read(&json!({
        "name": "g", "policy": "pcap-s", "drive": [{ "path": sda }], "meter": [{ "file": "x" }],
    }))
    .expect("a group");
    let start = |name: &str, apply: bool, now: u64| {
        let mut originals = Originals::open(&folder.path().join(name)).expect("no file");
        let mut group = Group::new(&config, apply, Box::new(open_drive));
        group.look(Time(now), &mut originals).expect("a policy");
        group
    };
    let first = start("a", true, 0);
    assert_eq!(first.names().len(), 1);
    assert!(start("b", true, 0).names().is_empty(), "two daemons");
    assert_eq!(start("c", false, 0).names().len(), 1);
    drop(first);
    assert_eq!(start("b", true, 0).names().len(), 1);
    std::fs::write(sda.join("device/state"), "offline\n").expect("a file");
    let mut third = start("b", true, 0);
    let mut originals = Originals::open(&folder.path().join("b")).expect("no file");
    third.look(Time(1), &mut originals).expect("a policy");
    let said = third.drives().find_map(|(_, d)| d?.trouble());
    assert_eq!(said.as_deref(), Some("its device is offline"));
}

/// A depth that the drive shows and refuses: all else is restored, and only that is left in the file.
#[test]
fn one_refusal_keeps_no_other_setting_from_being_restored() {
    let mut bench = bench(3, "pcap-s", true, json!({}));
    bench.kernels[0].set(|s| s.values.insert(Knob::QueueDepth, "128".into()));
    bench.seconds(3, 60.0);
    assert_ne!(bench.sizes(0), (64, 128));
    assert!(!bench.release());
    assert_eq!(bench.sizes(0).0, 64);
    assert_eq!([1, 2].map(|i| bench.sizes(i)), [(64, 32); 2]);
    assert_eq!(bench.originals.drives(), ["drive-0"]);
    let kernel = bench.kernels[0].clone();
    let failed = restore(&mut bench.originals, |_| Some(kernel.clone())).expect("written");
    assert_eq!(failed.len(), 1);
    assert!(failed[0].1.contains("queue_depth: writing 128"), "{failed:?}");
    let left = bench.originals.of("drive-0").expect("it is left");
    assert_eq!(left.keys().collect::<Vec<_>>(), [&Knob::QueueDepth]);
}

/// A link is gone for a second while its drive is capped. The same drive comes back as it was left; another one in its place,
/// by its serial number, has settings of its own.
#[test]
fn the_first_settings_of_a_drive_hold_until_they_are_restored() {
    for (serial, want) in [("A", (64, 32)), ("B", (96, 16))] {
        let mut bench = bench(1, "pcap-s", true, json!({}));
        bench.kernels[0].set(|s| s.serial = Some("A".into()));
        bench.seconds(3, 20.0);
        assert_eq!(bench.sizes(0), (4, 1));
        bench.kernels[0].set(|s| s.is_present = false);
        bench.second(None);
        bench.kernels[0].set(|s| {
            s.is_present = true;
            if serial == "B" {
                let values = [(Knob::NrRequests, "96"), (Knob::QueueDepth, "16")];
                s.values.extend(values.map(|(k, v)| (k, v.to_string())));
                s.serial = Some("B".into());
            }
        });
        bench.seconds(8, 20.0);
        assert!(bench.sizes(0).1 < 16);
        assert!(bench.release());
        assert_eq!(bench.sizes(0), want, "{serial}");
        assert!(bench.originals.drives().is_empty());
    }
}

/// Before any reading nothing is held. While the policy still changes settings the cap is not out of reach: PCAP/S with 2 W too
/// much goes from 4 places to 32, the most, in two periods of 10 s, and the state follows 60 s later.
#[test]
fn states_say_what_is_so() {
    let mut bench = bench(1, "pcap-s", true, json!({ "unreachable_after": "15 s" }));
    bench.second(None);
    assert_eq!(bench.group.state, State::MeterSilent);
    bench.seconds(16, 10.0);
    assert_eq!(bench.sizes(0).1, 1);
    let mut changed = bench.now;
    let mut before = bench.sizes(0);
    while !matches!(bench.group.state, State::Unreachable { .. }) {
        bench.second(Some(10.0));
        if bench.sizes(0) != before {
            (changed, before) = (bench.now, bench.sizes(0));
        }
    }
    assert_eq!(before, (32, 1));
    assert!(bench.now.since(changed) >= Span(15_000_000_000));
    bench.kernels[0].set(|s| s.trouble = Some("offline".into()));
    bench.second(Some(10.0));
    assert!(bench.group.commands().iter().all(|c| !c.2));
}

/// Drives keep the settings that they were found with until the power is above a cap, and have them again without one; a start
/// that the configuration asks for is taken.
#[test]
fn nothing_is_set_before_there_is_something_to_do() {
    let mut bench = bench(1, "pcap-s", true, json!({}));
    bench.seconds(15, 7.5);
    assert_eq!(bench.sizes(0), (64, 32));
    assert_eq!(bench.group.state, State::Holding);
    bench.seconds(15, 10.0);
    assert_eq!(bench.sizes(0).1, 1);
    bench.group.cap = None;
    bench.second(Some(10.0));
    assert_eq!(bench.sizes(0), (64, 32));
    let start = json!({ "parameters": { "start_nr_requests": 8 } });
    let mut asked = crate::group::bench(1, "pcap-s", true, start);
    asked.second(Some(7.5));
    assert_eq!(asked.sizes(0), (8, 1));
}
