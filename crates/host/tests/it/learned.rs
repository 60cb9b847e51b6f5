//! What a policy has learned outlives the daemon, in a file.

use crate::group::{bench, tempdir};
use serde_json::{json, Value};

fn read(file: &std::path::Path) -> Value {
    let text = std::fs::read_to_string(file).expect("a file");
    serde_json::from_str(&text).expect("JSON")
}

/// The drive's own settings are measured at 10 W, those under the cap at 7.8 W; a later daemon knows both.
#[test]
fn settings_of_before_are_known() {
    let folder = tempdir();
    let file = folder.path().join("learned.json");
    let extra = json!({ "learned": file });
    let mut first = bench(1, "learning", true, extra.clone());
    first.seconds(8, 10.0);
    first.seconds(20, 7.8);
    first.group.keep_learned();
    let kept = read(&file);
    let settings = kept["MODEL-1"]["learned"]["settings"].as_array().expect("settings").clone();
    let powers: Vec<&str> = settings.iter().filter_map(|s| s["power"].as_str()).collect();
    println!("{powers:?}");
    assert!(powers.iter().any(|p| p.starts_with("7.8")), "{powers:?}");

    let mut second = bench(1, "learning", true, extra.clone());
    second.seconds(1, 10.0);
    second.group.keep_learned();
    let again = read(&file)["MODEL-1"]["learned"]["settings"].as_array().expect("settings").clone();
    assert_eq!(again.len(), settings.len());
    // The setting that was seen to keep the cap is taken at once.
    second.seconds(8, 10.0);
    let known = |s: &&Value| s["power"].as_str().is_some_and(|p| p.starts_with("7.8"));
    let known = settings.iter().find(known).expect("a setting");
    assert_eq!(json!(second.sizes(0).0), known["nr_requests"]);
    assert_eq!(json!(second.sizes(0).1), known["queue_depth"]);

    // Another model is not this one.
    let mut other = bench(1, "learning", true, extra);
    other.kernels[0].set(|s| s.model = "MODEL-2".into());
    other.seconds(12, 10.0);
    other.group.keep_learned();
    let models = read(&file);
    assert_eq!(models.as_object().expect("models").len(), 2);
    assert_eq!(models["MODEL-1"]["learned"]["settings"].as_array().expect("settings").len(), again.len());
}

/// A dry run changes nothing, so that what it sees is not what its settings do.
#[test]
fn a_dry_run_keeps_nothing() {
    let folder = tempdir();
    let file = folder.path().join("learned.json");
    let mut bench = bench(1, "learning", false, json!({ "learned": file }));
    bench.seconds(30, 10.0);
    bench.group.keep_learned();
    assert!(!file.exists());
}

/// What is not understood is neither used nor overwritten.
#[test]
fn a_damaged_file_is_left_alone() {
    for text in [
        "",
        "[]",
        "{ \"MODEL-1\": 3 }",
        "{ \"MODEL-1\": { \"kept_at\": 5, \"learned\": {} } }",
        "{ \"MODEL-1\": { \"kept_at\": -5 } }",
    ] {
        let folder = tempdir();
        let file = folder.path().join("learned.json");
        std::fs::write(&file, text).expect("a file");
        let mut bench = bench(1, "learning", true, json!({ "learned": file }));
        bench.seconds(20, 10.0);
        bench.group.keep_learned();
        assert_eq!(std::fs::read_to_string(&file).expect("a file"), text);
        assert!(bench.release());
    }
}

/// Two models behind one meter: each has the map of its file, or the built-in one, and keeps what it has learned by itself. The map of
/// MODEL-2 has two settings, so that it can have no other.
#[test]
fn models_behind_one_meter_have_maps_of_their_own() {
    let folder = tempdir();
    let file = folder.path().join("learned.json");
    let map = folder.path().join("model-2.toml");
    let point =
        |n: u32, watts: f64| format!("{{ nr_requests = {n}, queue_depth = 32, power = \"{watts} W\", iops = 150 }}");
    std::fs::write(&map, format!("map = [{}, {}]", point(64, 9.0), point(77, 7.0))).expect("a file");
    let extra = json!({
        "learned": file, "parameters": { "efficiency": 1.0, "share": "marginal" },
        "map": [{ "model": "MODEL-2", "file": map }],
    });
    let mut bench = bench(3, "learning", true, extra);
    for i in [0, 2] {
        bench.kernels[i].set(|s| s.model = "MODEL-2".into());
    }
    bench.group.cap = None;
    bench.seconds(3, 27.0);
    bench.group.cap = Some(headstack_units::Watts(23.0));
    bench.seconds(12, 27.0);
    for i in [0, 2] {
        assert!([(64, 32), (77, 32)].contains(&bench.sizes(i)), "{:?}", bench.sizes(i));
    }
    assert_eq!(bench.sizes(0), bench.sizes(2));
    assert_eq!(bench.sizes(0), (77, 32));
    assert_ne!(bench.sizes(1).0, 77);
    bench.seconds(20, 22.8);
    bench.group.keep_learned();
    let kept = read(&file);
    let places = |model: &str| -> Vec<u64> {
        let settings = kept[model]["learned"]["settings"].as_array().expect("settings");
        settings.iter().filter_map(|s| s["nr_requests"].as_u64()).collect()
    };
    assert!(places("MODEL-2").contains(&77), "{kept}");
    assert!(!places("MODEL-1").contains(&77), "{kept}");
    assert!(bench.release());
    assert!((0..3).all(|i| bench.sizes(i) == (64, 32)));
}
