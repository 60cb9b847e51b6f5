//! What each detail of the model is worth: the demerit against the measured drives rises when one
//! is taken away, so none of them is idle.

use headstack_disksim::validate::demerit;
use headstack_drive::replay::{replay_closed, ReplayRequest};
use headstack_drive::spec::ReadAhead;
use headstack_drive::{DriveOptions, DriveSpec};
use std::path::{Path, PathBuf};

fn data() -> Option<PathBuf> {
    let shared = std::env::var_os("HEADSTACK_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let dir = shared.join("data/disksim");
    if dir.is_dir() {
        Some(dir)
    } else {
        println!("skipped: {} is absent", dir.display());
        None
    }
}

/// Demerit in milliseconds of a drive as given and of the same drive changed.
fn with_and_without(dir: &Path, name: &str, change: impl Fn(&mut DriveSpec)) -> (f64, f64) {
    let spec = headstack_disksim::import_file(dir.join(format!("{name}.parv")))
        .unwrap()
        .spec;
    let text = std::fs::read_to_string(dir.join(format!("{name}.trace"))).unwrap();
    let mut requests = Vec::new();
    let mut measured = Vec::new();
    for line in text.lines() {
        let f: Vec<&str> = line.split_whitespace().collect();
        let us = |i: usize| f[i].parse::<f64>().unwrap();
        requests.push(ReplayRequest {
            write: f[0] == "W",
            lba: f[2].parse().unwrap(),
            blocks: f[3].parse().unwrap(),
            think_ns: (us(5) * 1e3).round() as u64,
        });
        measured.push(us(4) * 1e-6);
    }
    let options = DriveOptions {
        compat_disksim_40: true,
        ..DriveOptions::default()
    };
    let run = |spec: &DriveSpec| {
        let ours: Vec<f64> = replay_closed(spec, &options, &requests)
            .unwrap()
            .into_iter()
            .map(|r| r.expect("inside the drive") as f64 * 1e-9)
            .collect();
        demerit(&measured, &ours) * 1e3
    };
    let mut changed = spec.clone();
    change(&mut changed);
    let result = (run(&spec), run(&changed));
    println!("{name}: {:.3} ms, without {:.3} ms", result.0, result.1);
    result
}

#[test]
fn write_back_matters() {
    let Some(dir) = data() else { return };
    for name in ["atlas10k", "barracuda", "cheetah9LP", "ibm18es"] {
        let (_, without) = with_and_without(&dir, name, |s| s.cache.write_back = false);
        assert!(without > 2.4, "{name}: {without}");
    }
}

#[test]
fn read_ahead_matters() {
    let Some(dir) = data() else { return };
    for name in [
        "atlas10k",
        "barracuda",
        "cheetah9LP",
        "hp_c2247a",
        "ibm18es",
    ] {
        let (with, without) =
            with_and_without(&dir, name, |s| s.cache.read_ahead = ReadAhead::None);
        assert!(without > with + 0.6, "{name}: {with}, {without}");
    }
}

#[test]
fn skew_and_watermark_matter() {
    let Some(dir) = data() else { return };
    let (_, without) = with_and_without(&dir, "hp_c2247a", |s| {
        for zone in &mut s.geometry.zones {
            zone.track_skew = 0.0;
            zone.cylinder_skew = 0.0;
        }
    });
    assert!(without > 1.8, "skew: {without}");
    let (_, without) = with_and_without(&dir, "hp_c2247a", |s| s.cache.read_watermark = 0.0);
    assert!(without > 0.8, "watermark: {without}");
}
