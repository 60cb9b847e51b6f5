//! The cap of a rack: two groups with meters of their own on drives whose settings behave as the kernel's.

use crate::group::{bench, tempdir, Bench};
use crate::shelf::capd;
use headstack_host::config;
use headstack_host::daemon::Daemon;
use headstack_host::group::State;
use headstack_host::meter::Sum;
use headstack_host::page;
use headstack_host::rack::Rack;
use headstack_host::socket::{ask, Request};
use headstack_schema::read;
use headstack_testkit::rig::Program;
use headstack_units::{Time, Watts};
use serde_json::{json, Value};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const CAP_W: f64 = 19.0;

/// What draws besides the groups.
const BASE_W: f64 = 3.0;

struct Two {
    rack: Rack,
    benches: [Bench; 2],
}

impl Two {
    fn new(split: &str) -> Two {
        // As found, with 64 places, they would draw the least.
        let start = json!({ "start_nr_requests": 4 });
        let extra = |name| json!({ "name": name, "parameters": start });
        let of = |name| bench(1, "pcap-agile", true, extra(name));
        let mut benches = [of("first"), of("second")];
        benches.iter_mut().for_each(|b| b.group.cap = None);
        let table = json!({
            "name": "rack", "cap": format!("{} W", CAP_W + BASE_W), "base": format!("{BASE_W} W"),
            "split": split, "headroom": "2 W", "period": "10 s",
            "member": [{ "group": "first", "least": "7.5 W" }, { "group": "second", "least": "7.5 W" }],
        });
        let config: config::Rack = read(&table).expect("a rack");
        let groups = [0, 1].map(|i: usize| benches[i].group.config.clone());
        Two { rack: Rack::new(&config, &groups), benches }
    }

    /// A second, in which busy drives draw 11 W with 4 places and 8 W with 32, on a line between, and others 5 W. The shares
    /// never add up to more than the cap. Returns the power of each.
    fn second(&mut self, busy: [bool; 2]) -> [f64; 2] {
        let [first, second] = &mut self.benches;
        let mut groups = [&mut first.group, &mut second.group];
        self.rack.step(first.now, &mut groups);
        let cap_w = self.rack.cap.map(|c| c.0 - BASE_W);
        let shares = self.shares();
        assert!(cap_w.is_none_or(|cap| shares[0] + shares[1] <= cap + 1e-9), "{shares:?}");
        [0, 1].map(|i| {
            let places = f64::from(self.benches[i].sizes(0).0.min(32));
            let watts = if busy[i] { 11.0 - 3.0 * (places - 4.0) / 28.0 } else { 5.0 };
            self.benches[i].second(Some(watts));
            watts
        })
    }

    fn shares(&self) -> [f64; 2] {
        [0, 1].map(|i| self.benches[i].group.share.map_or(0.0, |w| w.0))
    }

    fn seconds(&mut self, n: usize, busy: [bool; 2]) -> [f64; 2] {
        (0..n).map(|_| self.second(busy)).last().expect("a second")
    }
}

/// Both busy: half for each, and each policy keeps its half within its 1 W. One idle: the other has all that it wants. Busy
/// again: both have their halves again. Without a cap nobody has a share.
#[test]
fn a_rack_gives_unused_watts_to_the_busy_group_and_takes_them_back() {
    let mut two = Two::new("weight");
    let halves = |two: &Two, watts: [f64; 2]| {
        assert!(watts[0] + watts[1] < CAP_W + 1.0, "{watts:?}");
        for (share, watts) in two.shares().into_iter().zip(watts) {
            assert!((share - 0.5 * CAP_W).abs() <= 1.0, "{:?}", two.shares());
            assert!((watts - share).abs() < 1.0, "{watts} {share}");
        }
    };
    let watts = two.seconds(120, [true, true]);
    halves(&two, watts);
    let watts = two.seconds(120, [true, false]);
    // 12 W are left beside 5 W and the headroom.
    assert!((two.shares()[0] - 12.0).abs() <= 1.0, "{:?}", two.shares());
    assert!(watts[0] > 10.5, "{watts:?}");
    let watts = two.seconds(200, [true, true]);
    halves(&two, watts);
    assert!(two.benches.iter().all(|b| b.group.state == State::Holding));
    two.rack.set_cap(None).expect("no cap");
    two.second([true, true]);
    assert!(two.benches.iter().all(|b| b.group.limit().is_none()));
    assert!(two.benches.iter_mut().all(Bench::release));
    assert!(two.benches.iter().all(|b| b.sizes(0) == (64, 32)));
}

/// The first has what it draws, the second its least and what is left.
#[test]
fn a_strict_rack_slows_the_last_group_first() {
    let mut two = Two::new("strict");
    let watts = two.seconds(120, [true, true]);
    let shares = two.shares();
    assert!(watts[0] > 10.5 && watts[1] < 8.6, "{watts:?} {shares:?}");
    assert!((shares[1] - 7.5).abs() <= 1.0, "{shares:?}");
    let watts = two.seconds(120, [false, true]);
    // 11.5 W are left, within half the headroom.
    assert!(two.shares()[1] >= 10.5, "{:?}", two.shares());
    assert!(watts[1] > 10.0, "{watts:?} {:?}", two.shares());
}

/// The lower of both caps holds; a group with a low cap leaves the rest of its share to the other.
#[test]
fn the_cap_of_a_group_bounds_its_share() {
    let mut two = Two::new("weight");
    two.benches[1].group.cap = Some(Watts(8.0));
    two.seconds(60, [true, true]);
    assert_eq!(two.benches[1].group.limit(), Some(Watts(8.0)));
    assert!((two.shares()[0] - 11.0).abs() <= 1.0, "{:?}", two.shares());
}

/// A group whose meter is silent keeps its share.
#[test]
fn a_group_without_a_reading_keeps_its_share() {
    let mut two = Two::new("weight");
    two.seconds(60, [true, true]);
    let before = two.shares();
    for _ in 0..60 {
        let [first, second] = &mut two.benches;
        two.rack.step(first.now, &mut [&mut first.group, &mut second.group]);
        first.second(None);
        second.second(Some(5.0));
    }
    assert_eq!(two.benches[0].group.state, State::MeterLost);
    assert_eq!(two.shares()[0], before[0]);
}

#[test]
fn a_cap_below_what_is_promised_is_refused() {
    let mut two = Two::new("weight");
    let error = two.rack.set_cap(Some(Watts(17.9))).unwrap_err().to_string();
    let want = "cap: got 17.9 W, need at least base and the least of all members, 18 W";
    assert!(error.contains(want), "{error}");
    assert_eq!(two.rack.cap, Some(Watts(CAP_W + BASE_W)));
    two.rack.set_cap(Some(Watts(18.0))).expect("it is enough");
}

/// `status` adds what the groups draw and the base.
#[test]
fn what_is_shown_adds_up() {
    let mut two = Two::new("weight");
    for bench in &mut two.benches {
        bench.group.power = Some(Sum { time: Time::ZERO, watts: Watts(8.0) });
    }
    let [first, second] = &two.benches;
    let shown = two.rack.shown(&[&first.group, &second.group]);
    let want = json!({ "name": "rack", "cap_w": 22.0, "power_w": 19.0, "groups": ["first", "second"] });
    assert_eq!(shown, want);
}

/// Files of a drive as in sysfs, and a meter.
pub fn make_drive(folder: &Path, watts: &str) {
    for (file, text) in [
        ("queue/nr_requests", "64"),
        ("queue/scheduler", "[mq-deadline] none"),
        ("queue/iosched/read_expire", "500"),
        ("device/queue_depth", "32"),
        ("stat", "0 0 0 0 0 0 0 0 0 0 0"),
        ("watts", watts),
    ] {
        let file = folder.join(file);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, text).expect("a file");
    }
}

/// The daemon takes caps of a rack by its name, and tells shares: 9 W and the headroom of 5 W for the second, the rest of 35 W
/// for the first, which draws 20 W and so asks for 25.
#[test]
fn the_daemon_divides_the_cap_that_it_is_told() {
    let folder = tempdir();
    let place = folder.path().display();
    let mut text = format!(
        "interval = \"50 ms\"\noriginals = \"{place}/originals\"\nsocket = \"{place}/capd\"\n\
         [[rack]]\nname = \"rack\"\nperiod = \"50 ms\"\n\
         member = [{{ group = \"a\", least = \"8 W\" }}, {{ group = \"b\", least = \"8 W\" }}]\n"
    );
    for (name, watts) in [("a", "20"), ("b", "9")] {
        make_drive(&folder.path().join(name), watts);
        text += &format!(
            "[[group]]\nname = \"{name}\"\npolicy = \"pcap-agile\"\n\
             meter = [{{ file = \"{place}/{name}/watts\", interval = \"50 ms\" }}]\n\
             drive = [{{ path = \"{place}/{name}\" }}]\n"
        );
    }
    let file = folder.path().join("capd.toml");
    std::fs::write(&file, text).expect("a file");
    let mut daemon = Daemon::start(&file, None).expect("a daemon");
    let (stop, reload) = (AtomicBool::new(false), AtomicBool::new(false));
    let socket = folder.path().join("capd");
    let cap = |watts: f64| Request::Cap { group: Some("rack".into()), cap: Some(Watts(watts)) };
    let is_near = |share: Option<f64>, watts: f64| share.is_some_and(|s| (s - watts).abs() < 1e-9);
    let is_divided = |s: [Option<f64>; 2]| is_near(s[0], 21.0) && is_near(s[1], 14.0);
    let told = std::thread::scope(|threads| {
        threads.spawn(|| daemon.run(&stop, &reload).expect("it runs"));
        let refused = ask(&socket, &cap(15.0)).map_err(|e| e.to_string());
        let told = ask(&socket, &cap(35.0)).map(|_| {
            let end = Instant::now() + Duration::from_secs(60);
            loop {
                let status = ask(&socket, &Request::Status).unwrap_or_default();
                let shares = [0, 1].map(|i| status["groups"][i]["share_w"].as_f64());
                if is_divided(shares) || Instant::now() > end {
                    return (shares, status);
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        stop.store(true, Ordering::Relaxed);
        (refused, told.map_err(|e| e.to_string()))
    });
    let refused = told.0.expect_err("too low a cap");
    assert!(refused.contains("at least base and the least of all members, 16 W"), "{refused}");
    let (shares, status) = told.1.expect("an answer");
    assert!(is_divided(shares), "{status}");
    let table = page::table(&status);
    assert!(table.contains("rack: a rack of a, b, power 29.00 W, cap 35.00 W"), "{table}");
    let metrics = page::metrics(&status);
    assert!(metrics.contains("headstack_capd_rack_cap_watts{rack=\"rack\"} 35"), "{metrics}");
    assert!(metrics.contains("headstack_capd_share_watts{group=\"a\"} 21"), "{metrics}");
}

/// Two groups of one drive each that draw 20 W and 9 W, in a rack whose cap is in a file, and a third drive in the first group
/// that is only measured: it draws 4 W without work. Returns the configuration's file.
pub fn configure(folder: &Path, rack: &str) -> std::path::PathBuf {
    let place = folder.display();
    let mut text = format!(
        "apply = true\ninterval = \"50 ms\"\noriginals = \"{place}/originals\"\nsocket = \"{place}/capd\"\n\
         [[rack]]\nname = \"rack\"\nperiod = \"50 ms\"\n{rack}\n\
         member = [{{ group = \"a\", least = \"8 W\" }}, {{ group = \"b\", least = \"8 W\" }}]\n"
    );
    for name in ["a", "b"] {
        let watched = match name {
            "a" => format!(", {{ path = \"{place}/watched\", control = false, model = {{ idle = \"4 W\" }} }}"),
            _ => String::new(),
        };
        text += &format!(
            "[[group]]\nname = \"{name}\"\npolicy = \"pcap-agile\"\n\
             meter = [{{ file = \"{place}/{name}/watts\", interval = \"50 ms\" }}]\n\
             drive = [{{ path = \"{place}/{name}\", nr_requests = [10, 99], queue_depth = [32, 32] }}{watched}]\n"
        );
    }
    let file = folder.join("capd.toml");
    std::fs::write(&file, text).expect("a file");
    file
}

pub fn make_drives(folder: &Path) {
    for (name, watts) in [("a", "20"), ("b", "9"), ("watched", "0")] {
        make_drive(&folder.join(name), watts);
    }
}

/// Asks until the status is so.
pub fn until(socket: &Path, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let status = ask(socket, &Request::Status).unwrap_or_default();
        if is_so(&status) {
            return status;
        }
        assert!(Instant::now() < end, "{what}: {status}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn has(status: &Value, cap: Option<f64>, shares: [Option<f64>; 2]) -> bool {
    let near = |is: &Value, want: Option<f64>| match (is.as_f64(), want) {
        (Some(is), Some(want)) => (is - want).abs() < 1e-9,
        (is, want) => is.is_none() && want.is_none() && !status.is_null(),
    };
    near(&status["racks"][0]["cap_w"], cap) && (0..2).all(|i| near(&status["groups"][i]["share_w"], shares[i]))
}

/// A running daemon, told by a signal: the cap of its rack is read again, also one that is gone, and a wrong one changes
/// nothing. Shares as in the test above: 9 W and the headroom of 5 W for the second, the rest for the first.
#[test]
fn a_signal_gives_a_rack_another_cap() {
    let folder = tempdir();
    make_drives(folder.path());
    let file = configure(folder.path(), "cap = \"35 W\"");
    let socket = folder.path().join("capd");
    let mut daemon = Program::start(capd().arg("run").arg(&file));
    until(&socket, "its cap", |s| has(s, Some(35.0), [Some(21.0), Some(14.0)]));
    for (rack, cap, shares) in [
        ("cap = \"32 W\"", Some(32.0), [Some(18.0), Some(14.0)]),
        // Below the 16 W that are promised.
        ("cap = \"15 W\"", Some(32.0), [Some(18.0), Some(14.0)]),
        ("", None, [None, None]),
    ] {
        configure(folder.path(), rack);
        daemon.signal("HUP");
        until(&socket, rack, |s| has(s, cap, shares));
    }
    assert!(daemon.end("TERM").success());
}

/// The same by a file with the cap, which is read at each step: an empty one means no cap, a wrong one changes nothing.
#[test]
fn a_file_gives_a_rack_another_cap() {
    let folder = tempdir();
    make_drives(folder.path());
    let cap_file = folder.path().join("cap");
    std::fs::write(&cap_file, "35").expect("a file");
    let rack = format!("cap_file = \"{}\"", cap_file.display());
    let file = configure(folder.path(), &rack);
    let socket = folder.path().join("capd");
    let mut daemon = Program::start(capd().arg("run").arg(&file));
    for (text, cap, shares) in [
        ("35", Some(35.0), [Some(21.0), Some(14.0)]),
        ("32 W", Some(32.0), [Some(18.0), Some(14.0)]),
        ("many", Some(32.0), [Some(18.0), Some(14.0)]),
        ("3 W", Some(32.0), [Some(18.0), Some(14.0)]),
        ("", None, [None, None]),
        ("33", Some(33.0), [Some(19.0), Some(14.0)]),
    ] {
        // A reader sees the old text or the new one.
        let new = folder.path().join("cap.new");
        std::fs::write(&new, text).expect("a file");
        std::fs::rename(&new, &cap_file).expect("a file");
        until(&socket, text, |s| has(s, cap, shares));
    }
    assert!(daemon.end("TERM").success());
}

/// A drive with `control = false` is behind the meter: its 4 W are not the other drive's, and it is never written to. The other
/// one gets no fewer places than it may have.
#[test]
fn a_drive_that_is_only_measured_is_never_changed() {
    let folder = tempdir();
    make_drives(folder.path());
    let file = configure(folder.path(), "");
    let socket = folder.path().join("capd");
    let mut daemon = Program::start(capd().arg("run").arg(&file));
    let status = until(&socket, "what is measured", |s| {
        s["groups"][0]["watched_w"] == 4.0 && !s["groups"][0]["power_w"].is_null()
    });
    assert!(status["groups"][1]["watched_w"].is_null(), "{status}");
    // The meter shows all three drives' power.
    until(&socket, "power", |s| s["groups"][0]["power_w"] == 20.0);
    let cap = Request::Cap { group: Some("a".into()), cap: Some(Watts(12.0)) };
    ask(&socket, &cap).expect("a cap");
    let places = |drive: &str| {
        let text = std::fs::read_to_string(folder.path().join(drive).join("queue/nr_requests"));
        text.expect("a file").trim().to_string()
    };
    until(&socket, "a setting", |s| s["groups"][0]["drives"][0]["in_force"] == true && places("a") != "64");
    let n: u32 = places("a").parse().expect("a number");
    assert!((10..=32).contains(&n), "{n}");
    let status = ask(&socket, &Request::Status).expect("an answer");
    assert_eq!(status["groups"][0]["drives"].as_array().map(Vec::len), Some(1), "{status}");
    assert!(daemon.end("TERM").success());
    assert_eq!((places("a"), places("watched")), ("64".into(), "64".into()));
    let kept = std::fs::metadata(folder.path().join("watched/queue/nr_requests")).expect("a file");
    let made = std::fs::metadata(folder.path().join("watched/queue/scheduler")).expect("a file");
    let is_older = kept.modified().expect("a time") <= made.modified().expect("a time");
    assert!(is_older, "somebody has written to it");
}
