//! The file of settings of before: after a crash it has all of them, and restoring gives them back.

use crate::group::{bench, opener, tempdir};
use crate::kernel::{Answer, Kernel};
use headstack_host::group::Group;
use headstack_host::knobs::Knob;
use headstack_host::originals::{restore, Originals};
use rustix::io::Errno;
use serde_json::{json, Value};

/// The process ends in the middle: only the file is left.
#[test]
fn a_crash_leaves_a_file_from_which_all_is_restored() {
    let mut bench = bench(2, "pcap-s", true, json!({}));
    bench.seconds(8, 30.0);
    assert_ne!(bench.sizes(0), (64, 32));
    let file = bench.folder.path().join("originals.json");
    let mut again = Originals::open(&file).expect("it was written");
    assert_eq!(again.drives(), ["drive-0", "drive-1"]);
    bench.kernels[1].set(|s| s.answer = Answer::Fail(Errno::BUSY));
    let find = |name: &str| {
        let i: usize = name.strip_prefix("drive-")?.parse().ok()?;
        Some(bench.kernels[i].clone())
    };
    let failed = restore(&mut again, find).expect("the file can be written");
    assert_eq!(failed.len(), 1);
    assert_eq!(bench.sizes(0), (64, 32));
    // What could not be restored is still in the file.
    let mut again = Originals::open(&file).expect("it was written");
    assert_eq!(again.drives(), ["drive-1"]);
    bench.kernels[1].set(|s| s.answer = Answer::Take);
    assert!(restore(&mut again, find).expect("the file can be written").is_empty());
    assert_eq!(bench.sizes(1), (64, 32));
    assert!(!file.exists());
}

/// One setting was restored and another refused; the next daemon changes both again, and is killed, too.
#[test]
fn what_was_restored_alone_is_kept_anew() {
    let mut bench = bench(1, "pcap-s", true, json!({}));
    bench.seconds(8, 30.0);
    let file = bench.folder.path().join("originals.json");
    let text = std::fs::read_to_string(&file).expect("it was written");
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    bench.kernels[0].set(|s| s.values.insert(Knob::QueueDepth, "32".into()));
    document["drives"]["drive-0"].as_object_mut().expect("settings").remove(Knob::QueueDepth.name());
    std::fs::write(&file, document.to_string()).expect("the file");
    bench.originals = Originals::open(&file).expect("it was written");
    bench.group = Group::new(&bench.group.config, true, opener(&bench.kernels));
    bench.seconds(8, 30.0);
    assert_ne!(bench.sizes(0).1, 32);
    bench.kill();
    assert_eq!(bench.sizes(0), (64, 32));
}

/// Settings do not outlive a boot, so those of another boot are not restored.
#[test]
fn a_file_of_another_boot_has_nothing() {
    let folder = tempdir();
    let file = folder.path().join("originals.json");
    let kernel = Kernel::new();
    let mut originals = Originals::open(&file).expect("no file");
    let values = [(Knob::NrRequests, "64".to_string())].into();
    originals.keep("x", None, &values).expect("it is written");
    let text = std::fs::read_to_string(&file).expect("the file");
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(Originals::open(&file).expect("it").drives(), ["x"]);
    document["boot"] = "another".into();
    std::fs::write(&file, document.to_string()).expect("the file");
    let mut later = Originals::open(&file).expect("it");
    assert!(later.drives().is_empty());
    assert!(restore(&mut later, |_| Some(kernel.clone())).expect("nothing to do").is_empty());
    assert!(kernel.set(|s| s.writes.is_empty()));
}

#[test]
fn a_file_of_something_else_is_an_error() {
    let folder = tempdir();
    let file = folder.path().join("originals.json");
    for text in ["", "[]", "{\"boot\": 1", "\u{0}"] {
        std::fs::write(&file, text).expect("the file");
        assert!(Originals::open(&file).is_err() || text == "[]", "{text:?}");
    }
}
