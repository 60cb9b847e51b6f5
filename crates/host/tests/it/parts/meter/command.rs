use headstack_host::config::Meter;
use headstack_host::meter::command::*;
use headstack_host::meter::Source;
use headstack_schema::read;
use serde_json::{json, Value};
use std::time::Duration;

fn program(table: Value) -> Program {
    Program::new(&read::<Meter>(&table).expect("a meter"))
}

/// The form of `ipmitool dcmi power reading`, of a Redfish service, and of a program that prints only the number.
#[test]
fn the_number_is_found_in_what_usual_programs_print() {
    let dcmi = "\n    Instantaneous power reading:                   212 Watts\n    Minimum during sampling period:  8 Watts\n";
    let after = program(json!({ "command": ["x"], "after": "Instantaneous power reading:" }));
    assert_eq!(after.number(dcmi), Ok(212.0));
    assert!(after.number("Maximum: 3 Watts").is_err());
    let redfish = r#"{"PowerControl": [{"PowerConsumedWatts": 344.5, "MemberId": "0"}]}"#;
    let json_at = program(json!({ "command": ["x"], "json": "/PowerControl/0/PowerConsumedWatts" }));
    assert_eq!(json_at.number(redfish), Ok(344.5));
    assert!(json_at.number("{}").is_err());
    let plain = program(json!({ "command": ["x"] }));
    for (text, want) in [("12.5\n", 12.5), ("P=-3 W", -3.0), ("7.", 7.0)] {
        assert_eq!(plain.number(text), Ok(want), "{text}");
    }
    assert!(plain.number("none").is_err());
}

#[test]
fn a_program_that_fails_or_hangs_gives_no_reading() {
    let run = |command: &[&str]| program(json!({ "command": command, "timeout": "200 ms" })).read();
    assert_eq!(run(&["echo", "31.5 W"]), Ok(31.5));
    assert!(run(&["false"]).unwrap_err().contains("exit status: 1"));
    assert!(run(&["sleep", "60"]).unwrap_err().contains("longer than 200ms"));
    assert!(run(&["/no/such/program"]).is_err());
    // A descendant that keeps the output open ends with the program's group.
    let file = tempfile::NamedTempFile::new().expect("a file");
    let script = format!("sleep 600 & echo $! > {}; echo 5", file.path().display());
    let error = run(&["sh", "-c", &script]).unwrap_err();
    assert!(error.contains("longer than 200ms"), "{error}");
    let pid = std::fs::read_to_string(file.path()).expect("its number");
    let stat = format!("/proc/{}/stat", pid.trim());
    // Nobody waits for it in a container, where it may stay as a zombie.
    let is_alive = || std::fs::read_to_string(&stat).is_ok_and(|s| !s.contains(") Z"));
    while is_alive() {
        std::thread::sleep(Duration::from_millis(5));
    }
}
