//! Arbitrary bytes as a client of the NBD server, in plain text and as TLS records, without sockets: errors are fine,
//! panics and much memory are not. `cargo +nightly fuzz run nbd_session`; `crates/target/tests/it/nbd/hostile.rs` replays the
//! corpus and damages it.
#![no_main]

use headstack_target::live::Live;
use headstack_target::nbd::fuzzing::converse;
use headstack_target::nbd::tls::{Mode, Tls, TlsOptions};
use headstack_target::open::Options;
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;
use std::path::Path;
use std::process::Command;

/// Flags and STARTTLS.
const STARTTLS: &[u8] = b"\0\0\0\x03IHAVEOPT\0\0\0\x05\0\0\0\0";

/// A small drive, and encryption with certificates that are made now.
fn server() -> (Live, Tls) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let options = Options { target: "ibm-18es".into(), drive_dirs: vec![root.join("drives")], ..Options::default() };
    let live = Live::open(&options).expect("the drive is part of the repository");
    let folder = std::env::temp_dir().join(format!("headstack-fuzz-{}", std::process::id()));
    let script = root.join("scripts/certificates.sh");
    let made = Command::new("sh").arg(script).arg(&folder).status();
    assert!(made.is_ok_and(|made| made.success()), "openssl is needed");
    let tls = Tls::open(&TlsOptions { mode: Some(Mode::On), certificates: Some(folder.clone()), verify_peer: false });
    std::fs::remove_dir_all(folder).expect("it was made");
    (live, tls.expect("they were made"))
}

thread_local! {
    static SERVER: RefCell<(Live, Tls)> = RefCell::new(server());
}

fuzz_target!(|data: &[u8]| {
    SERVER.with_borrow_mut(|(live, tls)| {
        // An error is that of this client.
        let _ = converse(&[data], 1 << 16, tls, live);
        let _ = converse(&[STARTTLS, data], 1 << 16, tls, live);
    });
});
