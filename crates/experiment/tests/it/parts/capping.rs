use headstack_drive::spec::Params;
use headstack_sim::capping::caps::{CapAt, CapSchedule, Caps, Signal};
use headstack_sim::capping::{merged, Plan};
use headstack_units::{Span, Watts};
use std::path::Path;

fn params(toml: &str) -> Params {
    toml::from_str(toml).expect("TOML")
}

fn s(seconds: f64) -> Span {
    Span::from_secs_f64(seconds)
}

#[test]
fn a_schedule_holds_from_its_times_on() {
    let list = vec![
        CapAt { at: s(10.0), cap: Some(Watts(9.0)) },
        CapAt { at: s(20.0), cap: None },
        CapAt { at: s(30.0), cap: Some(Watts(8.0)) },
    ];
    let mut course = CapSchedule::new(&Caps::Schedule(list), 1);
    let wanted = [(0.0, None), (9.9, None), (10.0, Some(9.0)), (25.0, None), (31.0, Some(8.0))];
    for (at, cap) in wanted {
        assert_eq!(course.at(s(at)), cap.map(Watts), "{at} s");
    }
}

/// Over ten thousand caps: mean, deviation and correlation of an Ornstein-Uhlenbeck process, and its bounds.
#[test]
fn a_signal_wanders_as_it_should() {
    let signal = Signal {
        mean: Watts(170.0),
        deviation: Watts(10.0),
        correlation_time: s(40.0),
        every: s(4.0),
        least: Watts(150.0),
        most: Watts(190.0),
    };
    let seed = 5;
    println!("seed {seed}");
    let wide = Signal { least: Watts(1.0), most: Watts(1000.0), ..signal };
    let mut course = CapSchedule::new(&Caps::Signal(wide), seed);
    let x: Vec<f64> = (0..20_000).map(|i| course.at(s(4.0 * f64::from(i))).unwrap().0 - 170.0).collect();
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let variance = x.iter().map(|v| v * v).sum::<f64>() / n;
    let next = x.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / n / variance;
    assert!(mean.abs() < 1.0 && (variance.sqrt() - 10.0).abs() < 0.7, "{mean} {variance}");
    assert!((next - (-0.1f64).exp()).abs() < 0.02, "{next}");
    let mut course = CapSchedule::new(&Caps::Signal(signal), seed);
    let caps: Vec<f64> = (0..20_000).map(|i| course.at(s(4.0 * f64::from(i))).unwrap().0).collect();
    assert!(caps.iter().all(|c| (150.0..=190.0).contains(c)));
    assert!(caps.contains(&150.0) && caps.contains(&190.0));
    // Between two changes it holds.
    let mut course = CapSchedule::new(&Caps::Signal(signal), seed);
    assert_eq!(course.at(s(0.0)), course.at(s(3.9)));
}

#[test]
fn own_keys_replace_common_ones() {
    let common = params(
        "policy = \"pcap-agile\"\nparameters = { mode = \"throughput\" }\ncaps = [{ at = \"1 s\", cap = \"9 W\" }]",
    );
    let own = params(
        "policy = \"throttle\"\nsignal = { mean = \"9 W\", deviation = \"1 W\", least = \"8 W\", most = \"10 W\" }",
    );
    let both = merged(&common, &own);
    assert_eq!(both["policy"], "throttle");
    assert!(!both.contains_key("parameters") && !both.contains_key("caps") && both.contains_key("signal"));
}

#[test]
fn caps_from_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join("caps.csv"), "seconds,watts\n0, 9\n# later\n60,\n90,8.5,x\n").expect("written");
    let table = params("policy = \"none\"\ncap_file = \"caps.csv\"");
    let plan = Plan::read(&table, folder, 1, "capping").unwrap().unwrap();
    let wanted = vec![
        CapAt { at: s(0.0), cap: Some(Watts(9.0)) },
        CapAt { at: s(60.0), cap: None },
        CapAt { at: s(90.0), cap: Some(Watts(8.5)) },
    ];
    assert_eq!(plan.caps, Caps::Schedule(wanted));
    std::fs::write(folder.join("caps.csv"), "0,9\nsix,8\n").expect("written");
    let error = Plan::read(&table, folder, 1, "capping").unwrap_err();
    assert!(error.to_string().contains("line 2"), "{error}");
}

#[test]
fn refuses_by_key() {
    for (toml, key) in [
        ("parameters = {}", "capping"),
        ("policy = \"none\"\ninterval = \"1 ms\"", "capping.interval"),
        ("policy = \"none\"\nefficiency = 1.5", "capping.efficiency"),
        ("policy = \"none\"\nnoise = \"-1 W\"", "capping.noise"),
        ("policy = \"none\"\ndelay = \"-1 s\"", "capping.delay"),
        ("policy = \"none\"\nresponse_time = \"p42\"", "capping.response_time"),
        ("policy = \"none\"\ncaps = [{ at = \"2 s\" }, { at = \"1 s\" }]", "capping.caps[1].at"),
        ("policy = \"none\"\ncaps = [{ at = \"2 s\", cap = \"0 W\" }]", "capping.caps[0].cap"),
        ("policy = \"none\"\ncap_file = \"no-such-file.csv\"", "capping.cap_file"),
        (
            "policy = \"none\"\nsignal = { mean = \"9 W\", deviation = \"1 W\", least = \"10 W\", most = \"8 W\" }",
            "capping.signal.least",
        ),
    ] {
        let error = Plan::read(&params(toml), Path::new(""), 1, "capping").expect_err(toml);
        assert!(error.key.starts_with(key), "{toml}: {error}");
    }
    let both = "policy = \"none\"\ncap_file = \"x\"\ncaps = [{ at = \"1 s\" }]";
    let error = Plan::read(&params(both), Path::new(""), 1, "capping").unwrap_err();
    assert!(error.to_string().contains("caps and cap_file"), "{error}");
    assert_eq!(Plan::read(&Params::new(), Path::new(""), 1, "capping").unwrap(), None);
}
