//! What each detail of the model is worth: the demerit against the measured drives rises when one
//! is taken away, so none of them is idle.

use headstack_disksim::validate::demerit;
use headstack_drive::spec::ReadAhead;
use headstack_drive::DriveSpec;
use measured::{data, simulated, spec, trace};
use std::path::Path;

mod measured;

/// Demerit in milliseconds of a drive as given and of the same drive changed.
fn with_and_without(dir: &Path, name: &str, change: impl Fn(&mut DriveSpec)) -> (f64, f64) {
    let spec = spec(dir, name);
    let (requests, measured) = trace(dir, name);
    let run = |spec: &DriveSpec| demerit(&measured, &simulated(spec, true, &requests)) * 1e3;
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
