//! Tests that need a process of their own: they measure it, or change what all its tests share.

use std::process::Command;

/// Set in the process that [`alone`] starts.
const VARIABLE: &str = "HEADSTACK_ALONE";

/// Runs `body`, the content of the test `name` ("module::test"), in a process in which no other test runs.
///
/// # Panics
/// The test fails there, or the program does not have it.
pub fn alone(name: &str, body: fn()) {
    if std::env::var_os(VARIABLE).is_some() {
        return body();
    }
    let program = std::env::current_exe().expect("a path of this program");
    let run = Command::new(program)
        .args([name, "--exact", "--nocapture"])
        .env(VARIABLE, "1")
        .output()
        .expect("a program that can be started");
    let text = String::from_utf8_lossy(&run.stdout);
    println!("{text}{}", String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{name} fails in its own process");
    assert!(text.contains("1 passed"), "{name} is not a test of this program");
}
