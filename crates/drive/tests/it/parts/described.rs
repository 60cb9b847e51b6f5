use crate::parts::fixtures;
use headstack_drive::spec::DriveSpec;
use headstack_drive::{power, Models, Unsaid};
use serde_json::json;

/// What is left out, is said, and reads as the same drive.
#[test]
fn all_parameters_are_those_that_are_taken() {
    let mut spec = fixtures::small_drive("");
    spec.queue.scheduler = "aged-sptf".into();
    spec.power = serde_json::from_value(json!({ "voice_coil": "5 W" })).unwrap();
    let whole = spec.with_all_parameters(&Models::builtin());
    // The default weight of the scheduler's file, and the watts of the profile of ISCA 2008.
    assert_eq!(whole.queue.scheduler_parameters["weight"], json!(0.006));
    assert_eq!(whole.power["model"], json!("modes"));
    assert_eq!(whole.power["spindle"], json!("6.24 W"));
    assert_eq!(whole.power["voice_coil"], json!("5 W"));
    assert_eq!(whole.with_all_parameters(&Models::builtin()), whole);
    let shape = power::Shape::of(&spec);
    let watts = |spec: &DriveSpec| power::build(&spec.power, &shape, &power::PLUGINS).unwrap();
    assert_eq!(watts(&whole), watts(&spec));
    let text = serde_json::to_value(&whole).unwrap();
    assert_eq!(serde_json::from_value::<DriveSpec>(text).unwrap(), whole);
}

#[test]
fn values_that_nobody_gave_are_named_one_by_one() {
    let mut spec = fixtures::small_drive("");
    spec.power = serde_json::from_value(json!({ "voice_coil": "5 W" })).unwrap();
    let given = json!({
        "power": { "voice_coil": "5 W" },
        "cache": { "segments": 4, "dirty_limit": null },
        "queue": {},
        "overhead": { "read_hit": {} },
    });
    let found = spec.described(&given, &Models::builtin());
    for key in ["power.spindle", "power.model", "cache.enabled", "queue.depth"] {
        assert!(found.defaults.iter().any(|k| k == key), "{key}");
    }
    for key in ["power.voice_coil", "cache.segments", "cache.dirty_limit", "power"] {
        assert!(!found.defaults.iter().any(|k| k == key), "{key}");
    }
    assert_eq!(found.missing, ["positioning", "overhead", "link", "queue", "cost"]);
    // The watts of the default profile (ISCA 2008), and a buffer that is off.
    let unsaid: Vec<String> = found.unsaid.iter().map(Unsaid::to_string).collect();
    let taken = [
        "cache.enabled (taken: no)",
        "queue (taken: order of arrival)",
        "power.spindle (taken: 6.24 W)",
        "power.electronics (taken: 3.06 W)",
        "power.access (taken: 3.07 W)",
    ];
    assert_eq!(unsaid, taken);
    // A named profile says its watts, and a given value is not missing.
    let given = json!({
        "power": { "profile": "isca-2008" },
        "cache": { "enabled": true },
        "queue": { "scheduler": "fcfs", "depth": 1 },
    });
    let found = spec.described(&given, &Models::builtin());
    assert_eq!(found.unsaid, []);
}
