use headstack_experiment::dotted::*;
use serde_json::json;
use serde_json::Value;

fn changed(key: &str, change: Value) -> Result<Value, String> {
    let mut target = json!({ "queue": { "depth": 1 }, "zones": [{ "first": 0 }, { "first": 5 }] });
    let changes = [(key.to_string(), change)].into_iter().collect();
    change_all(&mut target, &changes).map_err(|e| e.to_string())?;
    Ok(target)
}

#[test]
fn keys_lead_to_tables_and_places_in_lists() {
    let at = |key: &str, change: Value, place: &str| changed(key, change).unwrap().pointer(place).cloned();
    assert_eq!(at("queue.depth", json!(4), "/queue/depth"), Some(json!(4)));
    assert_eq!(at("zones[1].first", json!(7), "/zones/1/first"), Some(json!(7)));
    assert_eq!(at("queue.depth", json!(null), "/queue/depth"), None);
    assert_eq!(at("new.key", json!("x"), "/new/key"), Some(json!("x")));
    assert_eq!(at("zones.1.first", json!(7), "/zones/1/first"), Some(json!(7)));
    // In a table a number is a key like others.
    assert_eq!(at("queue.0", json!(7), "/queue/0"), Some(json!(7)));
}

#[test]
fn keys_that_cannot_be_followed_are_named() {
    let error = |key: &str| changed(key, json!(1)).unwrap_err();
    for key in ["", "a..b", "zones[x]", "zones[1", ".a"] {
        let want = "got a bad key, need a dotted key, indices in brackets";
        assert!(error(key).ends_with(want), "{key}: {}", error(key));
    }
    assert_eq!(error("zones[7].first"), "zones[7].first: got index 7, need an index below 2");
    assert!(error("queue.depth.x").starts_with("queue.depth.x: got the key"));
    assert_eq!(error("zones.first"), "zones.first: got the key \"first\" in a list, need an index below 2");
    assert_eq!(error("queue[0]"), "queue[0]: got index 0 outside a list, need a key");
}

#[test]
fn keys_of_very_many_parts_are_refused() {
    let key = |levels: usize| vec!["a"; levels].join(".");
    assert!(changed(&key(MOST_LEVELS), json!(1)).is_ok());
    for levels in [MOST_LEVELS + 1, 1_400, 1_000_000] {
        let error = changed(&key(levels), json!(1)).unwrap_err();
        let want =
            format!("a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a....: got {levels} parts, need a key of at most 32 parts");
        assert_eq!(error, want);
    }
    let error = changed(&format!("a{}", "[0]".repeat(1_400)), json!(1)).unwrap_err();
    assert!(error.contains("got 1401 parts"), "{error}");
}
