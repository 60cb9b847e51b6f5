//! Params: Table 1 of the paper as defaults, and errors with key, got and need.

use crate::common::plant::{Kind, Run};
use crate::common::with_expiry;
use headstack_control::{policy, Device, Params, SpecError};

fn error_of(name: &str, toml: &str, drives: usize) -> SpecError {
    let table: Params = toml::from_str(toml).expect("TOML");
    let devices = vec![Device::default(); drives];
    match policy::PLUGINS.find("policy", name).expect("a policy").build(&table, &devices) {
        Ok(_) => panic!("{name} {toml}: got a policy, need an error"),
        Err(error) => error,
    }
}

#[test]
fn values_out_of_bounds_are_errors_with_key_got_and_need() {
    for (name, toml, key, got, need) in [
        ("pcap-base", "period = \"0 s\"", "period", "0 ms", "10 ms to 3600 s"),
        ("pcap-base", "period = 5", "period", "integer 5", "a length of time as text with its unit: one of s, ms"),
        ("pcap-base", "period = \"2 h\"", "period", "7200 s", "10 ms to 3600 s"),
        ("pcap-base", "raise_factor = 0", "raise_factor", "0", "0.01 to 1000"),
        ("pcap-base", "lower_factor = -8", "lower_factor", "-8", "0.01 to 1000"),
        ("pcap-base", "lower_factor = \"8\"", "lower_factor", "string \"8\"", "a number"),
        ("pcap-base", "tolerance = \"-1 W\"", "tolerance", "\"-1 W\"", "one of W, mW (not negative)"),
        ("pcap-base", "host_queue_power = \"0 W\"", "host_queue_power", "0 W", "0.01 W to 1000 W"),
        ("pcap-base", "drive_queue_power = \"2 V\"", "drive_queue_power", "\"2 V\"", "one of W, mW"),
        ("pcap-base", "lost_after = \"4 s\"", "lost_after", "4 s", "5 s to 3600 s"),
        ("pcap-base", "most_power = \"0 W\"", "most_power", "0 W", "0.1 W to 1000000 W"),
        ("pcap-agile", "nr_requests = [3, 32]", "nr_requests", "[3,32]", "from 4 to 2048"),
        ("pcap-agile", "nr_requests = [4, 2049]", "nr_requests", "[4,2049]", "from 4 to 2048"),
        ("pcap-agile", "nr_requests = [32, 4]", "nr_requests", "[32,4]", "ascending order"),
        ("pcap-agile", "nr_requests = 32", "nr_requests", "integer 32", "a list of 2 entries"),
        ("pcap-agile", "queue_depth = [0, 8]", "queue_depth", "[0,8]", "from 1 to 32"),
        ("pcap-agile", "queue_depth = [1, 33]", "queue_depth", "[1,33]", "from 1 to 32"),
        ("pcap-agile", "mode = \"tail\"", "mode", "\"tail\"", "one of tail-latency, throughput"),
        ("pcap-agile", "start_nr_requests = 64", "start_nr_requests", "64", "4 to 32"),
        ("pcap-agile", "mode = \"throughput\"\nthroughput_queue_depth = 4", "throughput_queue_depth", "4", "8 to 32"),
        ("throttle", "limit = \"mb\"", "limit", "\"mb\"", "one of iops, bandwidth"),
        ("throttle", "watts_per_iops = 0", "watts_per_iops", "0", "0.000001 to 1000"),
        ("feed-forward", "latency_target = \"0 ms\"", "latency_target", "0 ms", "1 ms to 3600 s"),
        ("feed-forward", "margin_ratio = 1.5", "margin_ratio", "1.5", "-1 to 1"),
        ("feed-forward", "learn = true", "learn", "boolean true", "one of on, off"),
        ("feed-forward", "map = []", "map", "0 points", "a list of 1 to 4096 tables"),
        ("feed-forward", "map = 3", "map", "3", "a list of 1 to 4096 tables"),
    ] {
        let error = error_of(name, toml, 1);
        assert_eq!(error.key, key, "{name} {toml}");
        assert_eq!(error.got, got, "{name} {toml}");
        assert!(error.need.contains(need), "{name} {toml}: {error}");
        let text = error.to_string();
        assert!(text.starts_with(&format!("{key}: got {got}, need ")), "{text}");
    }
}

#[test]
fn wrong_points_of_a_map_are_errors() {
    let point = |n: &str, depth: &str, power: &str, iops: &str| {
        format!("map = [{{ nr_requests = {n}, queue_depth = {depth}, power = {power}, iops = {iops} }}]")
    };
    for (toml, key) in [
        (point("3", "1", "\"8 W\"", "100"), "map[0]"),
        (point("4", "33", "\"8 W\"", "100"), "map[0]"),
        (point("4", "1", "8", "100"), "map[0].power"),
        (point("4", "1", "\"0 W\"", "100"), "map[0].power"),
        (point("4", "1", "\"8 W\"", "0"), "map[0].iops"),
        (point("4", "1", "\"8 W\"", "nan"), "map[0].iops"),
        (point("-4", "1", "\"8 W\"", "100"), "map[0].nr_requests"),
        ("map = [{ nr_requests = 4 }]".to_string(), "map[0].queue_depth"),
        (
            "map = [{ nr_requests = 4, queue_depth = 1, power = \"8 W\", iops = 1, response_time = \"0 s\" }]"
                .to_string(),
            "map[0].response_time",
        ),
    ] {
        assert_eq!(error_of("feed-forward", &toml, 1).key, key, "{toml}");
    }
    let one = "{ nr_requests = 4, queue_depth = 1, power = \"8 W\", iops = 100 }";
    let twice = error_of("feed-forward", &format!("map = [{one}, {one}]"), 1);
    assert_eq!(twice.key, "map[1]");
}

/// A point with an expiry of reads is for elevators that have one, within the bounds of Linux.
#[test]
fn an_expiry_in_a_map_needs_a_drive_that_has_one() {
    let errors = |expire: &str, device: Device| {
        let point = format!("nr_requests = 4, queue_depth = 1, power = \"8 W\", iops = 1, read_expire = {expire}");
        let own = "{ nr_requests = 4, queue_depth = 1, power = \"9 W\", iops = 1 }";
        let table = toml::from_str(&format!("map = [{own}, {{ {point} }}]")).expect("TOML");
        let plugin = policy::PLUGINS.find("policy", "feed-forward").expect("a policy");
        plugin.build(&table, &[device]).err().map(|e| e.to_string())
    };
    let without = "map[1].read_expire: got 2 s, need no such key: the drive's elevator has no expiry of reads";
    assert_eq!(errors("\"2 s\"", Device::default()).as_deref(), Some(without));
    assert_eq!(errors("\"2 s\"", with_expiry()), None);
    for wrong in ["\"-1 s\"", "\"25 days\"", "\"2147484 s\"", "2"] {
        let error = errors(wrong, with_expiry()).expect(wrong);
        assert!(error.starts_with("map[1]"), "{wrong}: {error}");
    }
}

#[test]
fn several_arms_need_a_map_of_their_own() {
    let device = Device { arms: 2, ..Device::default() };
    let plugin = policy::PLUGINS.find("policy", "feed-forward").expect("a policy");
    let error = plugin.build(&Params::new(), &[device]).err().expect("an error");
    assert_eq!(error.to_string(), "map: got nothing, need points for a drive with 2 arms");
}

#[test]
fn tiers_and_weights_must_fit() {
    for (name, toml, key) in [
        ("pcap-s", "tiers = [5, 5]", "tiers"),
        ("pcap-s", "tiers = []", "tiers"),
        ("pcap-s", "tiers = [0, 16]", "tiers[0]"),
        ("pcap-s", "tiers = \"5, 5, 6\"", "tiers"),
        ("pcap-s", "share = \"weight\"", "weights"),
        ("pcap-s", "share = \"weight\"\ntiers = [8, 8]\nweights = [1.0]", "weights"),
        ("pcap-s", "share = \"weight\"\nweights = [0.0]", "weights[0]"),
        ("pcap-s", "weights = [1.0]", "weights"),
        ("pcap-s", "efficiency = 1.01", "efficiency"),
        ("feed-forward", "tiers = [17]", "tiers"),
    ] {
        assert_eq!(error_of(name, toml, 16).key, key, "{name} {toml}");
    }
}

#[test]
fn a_misspelt_key_is_named_with_the_nearest() {
    let error = error_of("pcap-base", "lower_facter = 8", 1).to_string();
    assert!(error.contains("did you mean \"lower_factor\"?"), "{error}");
}

/// The defaults are those of Table 1: giving them explicitly has no effect.
#[test]
fn defaults_are_those_of_table_1() {
    let table_1 = "period = \"5 s\"\nraise_factor = 2\nlower_factor = 8\ntolerance = \"0.2 W\"\n\
        host_queue_power = \"2 W\"\ndrive_queue_power = \"2 W\"\n\
        nr_requests = [4, 32]\nqueue_depth = [1, 8]\nmode = \"throughput\"\n\
        throughput_nr_requests = 128\nthroughput_queue_depth = 32";
    let phases = [(300, None), (300, Some(8.5)), (300, Some(10.0)), (300, Some(8.0))];
    let run = Run::one(Kind::default(), 1, &phases);
    let commands = |toml: &str| -> Vec<_> {
        let seconds = run.with(crate::common::build("pcap-agile", toml, 1));
        seconds.into_iter().map(|s| s.commands).collect()
    };
    assert_eq!(commands(table_1), commands("mode = \"throughput\""));
    for other in ["raise_factor = 3", "lower_factor = 4", "period = \"6 s\"", "tolerance = \"0.3 W\""] {
        assert_ne!(commands("mode = \"throughput\""), commands(&format!("mode = \"throughput\"\n{other}")));
    }
}

/// Drives that are not alike may have different defaults. Then no value stands for all of them.
#[test]
fn defaults_that_differ_by_drive_are_not_told() {
    let short = Device { most_nr_requests: 16, ..Device::default() };
    let plugin = policy::PLUGINS.find("policy", "pcap-s").expect("a policy");
    let told = |devices: &[Device]| {
        let (_, told) = (plugin.facts.build_and_tell)(&Params::new(), devices).expect("it builds");
        assert_eq!(told.parameters, told.defaults);
        told.defaults
    };
    let told_of_both = told(&[short, Device::default()]);
    assert_eq!(told_of_both.get("nr_requests"), None);
    assert_eq!(told_of_both.get("period"), Some(&"10 s".into()));
    assert_eq!(told(&[short, short]).get("nr_requests"), Some(&vec![4, 16].into()));
}

/// A default is told also of what the table gives: three periods, and where the queues begin.
#[test]
fn defaults_are_those_beside_the_other_values() {
    let plugin = policy::PLUGINS.find("policy", "pcap-agile").expect("a policy");
    let table = "period = \"6000 ms\"\nlost_after = \"40 s\"\nnr_requests = [64, 128]\nstart_nr_requests = 100";
    let table: Params = toml::from_str(table).expect("TOML");
    let (_, told) = (plugin.facts.build_and_tell)(&table, &[Device::default()]).expect("it builds");
    for (key, value, default) in [
        ("period", "6000 ms".into(), "5 s".into()),
        ("lost_after", "40 s".into(), "18 s".into()),
        ("nr_requests", vec![64, 128].into(), vec![4, 32].into()),
        ("start_nr_requests", 100.into(), 64.into()),
        ("queue_depth", vec![1, 8].into(), serde_json::Value::from(vec![1, 8])),
    ] {
        assert_eq!((told.parameters.get(key), told.defaults.get(key)), (Some(&value), Some(&default)), "{key}");
    }
}

/// Parameters that have a meaning only with another value of another one are refused without it.
#[test]
fn parameters_of_another_mode_are_refused() {
    for (name, toml, key, with) in [
        ("pcap-agile", "throughput_nr_requests = 64", "throughput_nr_requests", "mode = \"throughput\""),
        ("pcap-agile", "throughput_queue_depth = 16", "throughput_queue_depth", "mode = \"throughput\""),
        ("pcap-agile", "snap_back = \"both\"", "snap_back", "mode = \"throughput\""),
        ("pcap-s", "rest_after = \"1 s\"", "rest_after", "rest"),
        ("throttle", "least_megabytes_per_s = 2", "least_megabytes_per_s", "limit = \"bandwidth\""),
        ("throttle", "limit = \"bandwidth\"\nwatts_per_iops = 2", "watts_per_iops", "limit = \"iops\""),
    ] {
        let error = error_of(name, toml, 1);
        assert_eq!((error.key.as_str(), error.got), (key, format!("it without {with}")), "{name} {toml}");
    }
}
