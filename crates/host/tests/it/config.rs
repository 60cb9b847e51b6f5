//! Configurations: each mistake has its place and what is needed.

use crate::group::tempdir;
use headstack_host::config::Config;
use headstack_testkit::damage::damage;
use headstack_testkit::{cases, XorShift};

const GOOD: &str = r#"
apply = true
[[group]]
name = "shelf"
cap = "150 W"
policy = "pcap-s"
base = "30 W"
meter = [{ hwmon = "/x/power1_average" }, { command = ["ipmitool"], after = "reading:" }]
[[group.drive]]
path = "/x/sda"
[[group.drive]]
path = "/x/sdb"
tier = 2
"#;

const RACK: &str = r#"
[[rack]]
name = "rack"
cap = "100 W"
base = "20 W"
member = [{ group = "shelf", least = "80 W" }]
"#;

const RACK_MISTAKES: [(&str, &str, &str); 7] = [
    (
        "name = \"rack\"",
        "name = \"shelf\"",
        "rack[0].name: got \"shelf\" again, need another name than groups and racks have",
    ),
    ("group = \"shelf\"", "group = \"self\"", "rack[0].member[0].group: got \"self\", need one of shelf"),
    (
        "least = \"80 W\"",
        "least = \"30 W\"",
        "rack[0].member[0].least: got 30 W, need more than base of the group, 30 W",
    ),
    (
        "cap = \"100 W\"",
        "cap = \"99 W\"",
        "rack[0].cap: got 99 W, need at least base and the least of all members, 100 W",
    ),
    (
        "least = \"80 W\" }",
        "least = \"31 W\" }, { group = \"shelf\", least = \"31 W\" }",
        "rack[0].member[1].group: got \"shelf\" a second time, need each group in one rack",
    ),
    (
        "[{ group = \"shelf\", least = \"80 W\" }]",
        "[]",
        "rack[0].member: got none, need one or several [[rack.member]]",
    ),
    ("base = \"20 W\"", "split = \"fair\"", "rack[0].split: got \"fair\", need one of"),
];

fn open(text: &str) -> Result<Config, String> {
    let folder = tempdir();
    let file = folder.path().join("capd.toml");
    std::fs::write(&file, text).expect("the file");
    Config::open(&file).map_err(|e| e.to_string().replace(&format!("{}/", folder.path().display()), ""))
}

#[test]
fn a_good_one_is_read_with_its_tiers() {
    let config = open(GOOD).expect("a configuration");
    let with_rack = open(&format!("{GOOD}{RACK}")).expect("a rack");
    assert_eq!(with_rack.rack[0].member[0].weight, 1.0);
    let of = |tiers: [u32; 2]| {
        let drives = [(tiers[0], "A"), (tiers[1], "B")];
        config.group[0].parameters_for(&drives).expect("parameters").0
    };
    assert_eq!(of([1, 2])["tiers"], serde_json::json!([1, 1]));
    assert!(!of([1, 1]).contains_key("tiers"));
}

/// Two tiers of drives of two models: a part for each, with the weight of its tier, and its part of the watts of its tier.
#[test]
fn tiers_of_several_models_are_parted() {
    let text =
        GOOD.replacen("\"pcap-s\"", "\"learning\"\nparameters = { weights = [4, 1], tier_caps_w = [30, 10] }", 1);
    let config = open(&text).expect("a configuration");
    let drives = [(1, "A"), (1, "A"), (1, "B"), (2, "B")];
    let (got, models) = config.group[0].parameters_for(&drives).expect("parameters");
    assert_eq!(models, ["A", "B"]);
    let want = serde_json::json!({
        "tiers": [2, 1, 1], "models": [0, 1, 1], "maps": [[], []],
        "weights": [4.0, 4.0, 1.0], "tier_caps_w": [20.0, 10.0, 10.0],
    });
    assert_eq!(serde_json::json!(got), want);
    // One model has one map, as the policy without.
    let (got, _) = config.group[0].parameters_for(&[(1, "A"), (2, "A")]).expect("parameters");
    assert!(!got.contains_key("maps"), "{got:?}");
}

#[test]
fn each_mistake_has_its_place() {
    for (from, to, want) in [
        ("\"pcap-s\"", "\"pcap-x\"", "group[0].policy: got \"pcap-x\", need one of"),
        ("\"pcap-s\"", "\"pcap-agile\"", "group[0].policy: got 2 drives with pcap-agile, need one drive"),
        ("base = \"30 W\"", "base = \"150 W\"", "group[0].cap: got 150 W, need more than base, 150 W"),
        ("hwmon = ", "hwmom = ", "group[0].meter[0]: got key \"hwmom\""),
        ("hwmon = \"/x/power1_average\"", "", "group[0].meter[0]: got none of them, need one of hwmon"),
        ("{ hwmon", "{ file = \"/y\", hwmon", "group[0].meter[0]: got hwmon and file, need one of"),
        (
            "{ command = [\"ipmitool\"],",
            "{ file = \"y\",",
            "group[0].meter[1].after: got it with file, need it with command",
        ),
        ("path = \"/x/sdb\"", "path = \"/x/sda\"", "group[0].drive[1]: got /x/sda a second time"),
        ("path = \"/x/sdb\"", "id = \"../sdb\"", "group[0].drive[1].id: got \"../sdb\", need a name below"),
        ("path = \"/x/sdb\"", "", "group[0].drive[1]: got neither id nor path"),
        ("tier = 2", "nr_requests = [9, 4]", "group[0].drive[1].nr_requests: got [9, 4], need the least and the most"),
        (
            "tier = 2",
            "model = { idle = \"5 W\" }",
            "group[0].drive[1].model: got it with control = true, need control = false",
        ),
        (
            "after = \"reading:\"",
            "interval = \"2 min\", fuse = { model = { idle = \"5 W\" } }",
            "group[0].meter[1].fuse.over: got 60 s, need at least the interval of the meter, 120 s",
        ),
        (
            "command = [\"ipmitool\"], after = \"reading:\"",
            "model = { idle = \"5 W\" }, fuse = { model = { idle = \"5 W\" } }",
            "group[0].meter[1].fuse: got it with model, need it with a meter",
        ),
        ("cap = \"150 W\"", "cap = \"150\"", "group[0].cap: got \"150\", need a number and a unit"),
    ] {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "{from}");
        let error = open(&text).expect_err(to);
        assert!(error.starts_with("capd.toml:"), "{to}: {error}");
        assert!(error.contains(want), "{to}: {error}");
    }
    for (from, to, want) in RACK_MISTAKES {
        let good = format!("{GOOD}{RACK}");
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        let error = open(&text).expect_err(to);
        assert!(error.contains(want), "{to}: {error}");
    }
    // Maps of models: their files are read at once, for policies that have maps.
    let learning = GOOD.replacen("\"pcap-s\"", "\"learning\"", 1);
    let with = |text: &str| format!("{text}\n[[group.map]]\nmodel = \"M\"\nfile = \"/no/such/file\"\n");
    let error = open(&with(&learning)).unwrap_err();
    assert!(error.contains("/no/such/file"), "{error}");
    let error = open(&with(GOOD)).unwrap_err();
    assert!(error.contains("group[0].map[0]: got it with pcap-s, need a policy with maps"), "{error}");
    // Of drives that are only measured none is controlled, and a model does not show them.
    let all = GOOD.replace("path = \"/x/sd", "control = false\npath = \"/x/sd");
    let error = open(&all).unwrap_err();
    assert!(
        error.contains("group[0].drive: got none, need one or several [[group.drive]] whose settings may be changed"),
        "{error}"
    );
    let meters = GOOD.find("meter = ").expect("meters")..GOOD.find("[[group.drive]]").expect("drives");
    let mut modelled = GOOD.to_string();
    modelled.replace_range(meters, "meter = [{ model = { idle = \"5 W\" } }]\n");
    open(&modelled).expect("a model alone");
    let watched = modelled.replace("tier = 2", "control = false\nmodel = { idle = \"5 W\" }");
    let error = open(&watched).unwrap_err();
    assert!(error.contains("group[0].drive[1].model: got it, need a meter that shows this drive"), "{error}");
    // A policy that limits rates needs control groups.
    let one = GOOD.replacen("[[group.drive]]\npath = \"/x/sdb\"\ntier = 2\n", "", 1);
    let error = open(&one.replacen("\"pcap-s\"", "\"throttle\"", 1)).unwrap_err();
    assert!(error.contains("group[0].drive[0].cgroup: got none, need a folder"), "{error}");
    let error = open("apply = true").unwrap_err();
    assert!(error.contains("group"), "{error}");
}

/// A damaged configuration is read or refused; both happen.
#[test]
fn a_damaged_one_is_read_or_refused() {
    let seed = 17;
    println!("seed {seed}");
    let mut rng = XorShift::seeded(seed);
    let pieces = ["[[group]]\n", "cap = ", "\"1 W\"", "-1", "{", "]", "\n", "1e308", "\u{fffd}"].map(str::as_bytes);
    let mut read = 0;
    let n = cases(400);
    for _ in 0..n {
        let mut bytes = format!("{GOOD}{RACK}").into_bytes();
        damage(&mut bytes, 20, &pieces, &mut rng);
        match open(&String::from_utf8_lossy(&bytes)) {
            Ok(_) => read += 1,
            Err(e) => assert!(!e.is_empty()),
        }
    }
    assert!(0 < read && read < n, "{read} of {n}");
}
