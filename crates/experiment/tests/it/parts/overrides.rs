use headstack_experiment::dotted::parse_key;
use headstack_experiment::overrides::*;
use headstack_experiment::Experiment;
use serde_json::json;
use serde_json::Value;

fn overrides(set: Value) -> Overrides {
    headstack_schema::read(&json!({ "set": set })).unwrap()
}

fn two() -> Value {
    json!({
        "workload": { "synthetic": { "n_requests": 5, "rate": "5/s" } },
        "system": [
            { "name": "a", "drive": "x", "cache": { "enabled": true } },
            { "name": "b", "drive": "y", "set": { "queue.depth": 1 } },
            {
                "name": "c",
                "drives": [{ "drive": "z" }],
                "set": { "queue.depth": 1, "queue": { "depth": 2 } },
            },
        ],
    })
}

fn opened(set: Value) -> Result<Experiment, String> {
    Experiment::changed(two(), None, &overrides(set)).map_err(|e| e.to_string())
}

#[test]
fn indices_stand_as_parts_or_in_brackets() {
    for key in ["system.1.count", "system[1].count", "systems.1.count", "systems[1].count"] {
        let e = opened(json!({ key: 4 })).unwrap();
        assert_eq!((e.system[0].common.count, e.system[1].common.count), (1, 4), "{key}");
    }
}

#[test]
fn the_only_entry_needs_no_index() {
    for key in ["workload.name", "workload.0.name", "workload[0].name", "workloads.name"] {
        let e = opened(json!({ key: "w" })).unwrap();
        assert_eq!(e.workload[0].name, "w", "{key}");
        let mut listed = two();
        listed["workload"] = json!([listed["workload"]]);
        let set = overrides(json!({ key: "w" }));
        let e = Experiment::changed(listed, None, &set).unwrap();
        assert_eq!(e.workload[0].name, "w", "{key}");
    }
}

#[test]
fn tables_are_merged_and_null_removes() {
    let e = opened(json!({
        "workload": { "synthetic": { "reads": 1 } },
        "system.0.cache": null,
        "run.seed": 3,
        "cost": { "years": 1 },
    }));
    let e = e.unwrap();
    let synthetic = json!({ "n_requests": 5, "rate": "5/s", "reads": 1 });
    assert_eq!(json!(e.workload[0].synthetic), synthetic);
    assert_eq!(e.system[0].common.settings.cache, None);
    assert_eq!((e.run.seed, e.cost.years), (3, 1.0));
}

#[test]
fn values_of_a_drive_replace_what_the_system_sets() {
    for (key, value, want) in [
        ("system.1.set.queue.depth", json!(4), json!({ "queue.depth": 4 })),
        ("system.1.set.zones.2.skew", json!(4), json!({ "queue.depth": 1, "zones[2].skew": 4 })),
        ("system.1.set.queue", json!({ "depth": 4 }), json!({ "queue.depth": 1, "queue": { "depth": 4 } })),
        ("system.1.set", json!({ "a": 4 }), json!({ "queue.depth": 1, "a": 4 })),
        ("system.2.set.queue.depth", json!(4), json!({ "queue": { "depth": 2 }, "queue.depth": 4 })),
        ("system.2.drives.0.set.queue.depth", json!(4), json!({ "queue.depth": 1, "queue": { "depth": 2 } })),
    ] {
        let e = opened(json!({ key: value })).unwrap();
        // Later entries replace earlier ones, so their order matters too.
        let system = &e.system[parse_key(key).unwrap()[1].index().unwrap()];
        assert_eq!(json!(system.common.set).to_string(), want.to_string(), "{key}");
        if key.contains("drives") {
            assert_eq!(json!(system.drives[0].set), json!({ "queue.depth": 4 }));
        }
    }
}

#[test]
fn errors_name_the_key_that_was_set_and_the_place() {
    for (set, want) in [
        (json!({ "system.7.count": 1 }), "set system.7.count: got index 7, need an index below 3"),
        (json!({ "system.count": 1 }), "set system.count: got the key \"count\" in a list, need an index below 3"),
        (json!({ "system.0.drive.x": 1 }), "set system.0.drive.x: got the key \"x\" in a plain value, need a table"),
        (json!({ "a..b": 1 }), "set a..b: got a bad key, need a dotted key, indices in brackets"),
        (
            json!({ "system.0.cout": 1, "system.1.count": 3, "run.seed": 1 }),
            "set system.0.cout: system[0]: got key \"cout\", need one of",
        ),
        (json!({ "sytem.0.count": 1, "run.seed": 1 }), "set sytem.0.count: experiment: got key \"sytem\", need one of"),
        (
            json!({ "workload.warm_up": "-1 s", "run.seed": 1 }),
            "set workload.warm_up: workload[0].warm_up: got -1 s, need",
        ),
        (json!({ "run.seed": -1 }), "set run.seed: run.seed: got integer -1, need a whole number"),
    ] {
        let error = opened(set.clone()).unwrap_err();
        assert!(error.starts_with(want), "{set}: {error}");
    }
}

#[test]
fn an_option_that_stands_for_set_is_named() {
    for (key, want) in
        [("system.7.count", "--set system.7.count: got index 7"), ("run.seed", "--set run.seed: run.seed: got string")]
    {
        let set = Overrides { set_by: "--set".into(), ..overrides(json!({ key: "x" })) };
        let error = Experiment::changed(two(), None, &set).unwrap_err();
        assert!(error.to_string().starts_with(want), "{error}");
    }
}

#[test]
fn what_is_wrong_elsewhere_names_no_key() {
    let mut document = two();
    document["system"][1]["count"] = json!(0);
    let set = overrides(json!({ "system.0.count": 3, "run.seed": 3 }));
    let error = Experiment::changed(document, None, &set).unwrap_err().to_string();
    assert!(error.starts_with("system[1].count: got 0"), "{error}");
}
