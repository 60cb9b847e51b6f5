use headstack_drive::limits::parameters::*;
use headstack_schema::{Choice, Parameter};
use headstack_units::Span;

fn error(text: &str) -> String {
    let value = serde_json::from_str(text).expect("JSON");
    let found = LimitsSpec::read(&value).and_then(|s| s.check());
    found.expect_err(text).to_string()
}

/// Legal sets of the standards (cdl-tools `cdl.c`): inactive 0, D, F; active 0, D, E, F, and E not on SATA; guideline 0, 1,
/// 2, D, F, and neither 1 nor 2 in the seventh.
#[test]
fn policies_that_the_standards_allow() {
    let codes = [0x0, 0x1, 0x2, 0xd, 0xe, 0xf];
    let allowed = |key: &str, place: usize, transport: &str| -> Vec<u8> {
        let fits = |code: &u8| {
            let word = Policy::of_code(*code).expect("a policy").word();
            let mut list = vec![serde_json::json!({}); place + 1];
            list[place] = serde_json::json!({ key: word });
            let value = serde_json::json!({ "reads": list, "transport": transport });
            LimitsSpec::read(&value).and_then(|s| s.check()).is_ok()
        };
        codes.into_iter().filter(fits).collect()
    };
    for transport in ["sata", "sas"] {
        assert_eq!(allowed("inactive_policy", 0, transport), [0, 0xd, 0xf]);
        assert_eq!(allowed("guideline_policy", 5, transport), [0, 1, 2, 0xd, 0xf]);
        assert_eq!(allowed("guideline_policy", 6, transport), [0, 0xd, 0xf]);
    }
    assert_eq!(allowed("active_policy", 0, "sata"), [0, 0xd, 0xf]);
    assert_eq!(allowed("active_policy", 0, "sas"), [0, 0xd, 0xe, 0xf]);
    assert_eq!(Policy::of_code(3), None);
}

#[test]
fn wrong_tables_are_refused() {
    let seven = "{},{},{},{},{},{},{},{}";
    assert_eq!(error(&format!(r#"{{"writes": [{seven}]}}"#)), "writes: got 8 limits, need at most 7");
    assert!(error(r#"{"performance": 0.21}"#).starts_with("performance: got 0.21, need one of"));
    let late = error(r#"{"reads": [{}, {"guideline": "0 ms"}]}"#);
    assert!(late.starts_with("reads[1].guideline: got"), "{late}");
}

/// What is written is read as the same.
#[test]
fn limits_come_back() {
    let text = r#"{"enabled": "limits", "performance": 0.05, "transport": "sas",
        "reads": [{"guideline": "50 ms", "guideline_policy": "continue-next-limit"}, {"active": "20 ms",
        "active_policy": "abort-recovery", "inactive": "1 us", "inactive_policy": "complete-unavailable"}]}"#;
    let spec = LimitsSpec::read(&serde_json::from_str(text).expect("JSON")).expect("limits");
    assert_eq!(LimitsSpec::read(&spec.write()).expect("limits"), spec);
    assert_eq!(spec.limits(false)[1].active, Some(Span(20_000_000)));
    assert_eq!(spec.limits(true), [DurationLimit::default(); 7]);
}
