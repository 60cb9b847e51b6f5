//! Arbitrary bytes as an initiator of the iSCSI server, without sockets: errors are fine, panics and much memory are not.
//! `cargo +nightly fuzz run iscsi_session`; `crates/target/tests/it/iscsi/hostile.rs` replays the corpus and damages it.
#![no_main]

use headstack_target::iscsi::fuzzing::{converse, shelf};
use headstack_target::iscsi::login::Admission;
use headstack_target::live::Live;
use headstack_target::open::Options;
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;
use std::path::Path;

/// A small drive.
fn live() -> Live {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let options = Options { target: "ibm-18es".into(), drive_dirs: vec![root.join("drives")], ..Options::default() };
    Live::open(&options).expect("the drive is part of the repository")
}

thread_local! {
    static LIVE: RefCell<Live> = RefCell::new(live());
}

fuzz_target!(|data: &[u8]| {
    LIVE.with_borrow_mut(|live| {
        let mut shelf = shelf(live);
        let admission = Admission::default();
        converse(&[data], 1 << 16, &admission, &mut shelf, live).expect("there is no record");
        assert_eq!((shelf.room.bytes(), shelf.outstanding()), (0, 0));
    });
});
