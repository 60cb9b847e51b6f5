use headstack_schema::document::toml_value;
use serde_json::json;
use std::path::Path;

#[test]
fn lists_are_no_tables() {
    for (document, want) in [
        (json!([]), "experiment: got a list, need a table"),
        (json!({ "workload": [], "system": [], "run": [1] }), "run: got a list, need a table"),
        (json!({ "workload": [], "system": [], "cost": [0.1] }), "cost: got a list, need a table"),
        (
            json!({ "workload": [], "systems": [{}, ["x"]] }),
            "systems[1]: got a list, need a table, such as { drive = \"exos-x18\" }",
        ),
        (json!({ "workload": [["x"]] }), "workload[0]: got a list, need a table"),
    ] {
        let opened = headstack_experiment::Experiment::from_value(document, Path::new(""));
        assert_eq!(opened.unwrap_err().to_string(), want);
    }
}

#[test]
fn what_is_absent_is_named_with_what_to_write() {
    let opened = |text: &str| {
        let document = toml_value(text, Path::new("x.toml")).unwrap();
        let error = headstack_experiment::Experiment::from_value(document, Path::new("")).unwrap_err();
        error.to_string()
    };
    const SYSTEM: &str = "[[system]]\ndrive = \"x\"\n";
    const LOAD: &str = "[workload]\nsynthetic = { rate = \"5/s\" }\n";
    for (text, want) in [
        ("".to_string(), "workload: got nothing, need a table [workload] with trace, synthetic or jobs"),
        (LOAD.into(), "system: got nothing, need one or several [[system]] with a drive"),
        (format!("system = \"x\"\n{LOAD}"), "system: got string \"x\", need one or several [[system]]"),
        (format!("system = [\"x\"]\n{LOAD}"), "system[0]: got string \"x\", need a table, such as {"),
        ("[geometry]\n[seek]\n".into(), "got the description of a drive, need an experiment; a drive is named in one"),
        (
            format!("{LOAD}warmup = \"1 s\"\n{SYSTEM}"),
            "workload: got key \"warmup\", need one of name, trace, format, format_parameters, on_error,",
        ),
        (
            format!("[workload]\nrate = \"5/s\"\n{SYSTEM}"),
            "workload: got key \"rate\", need it inside synthetic = { rate = ... }",
        ),
    ] {
        let error = opened(&text);
        assert!(error.starts_with(want), "{text}: {error}");
    }
    let error = opened(&format!("{LOAD}warmup = \"1 s\"\n{SYSTEM}"));
    for key in ["name", "trace", "format", "warm_up", "time_scale", "concatenate"] {
        assert!(error.contains(&format!(" {key}")), "{key}: {error}");
    }
    assert!(error.ends_with("did you mean \"warm_up\"?"), "{error}");
}
