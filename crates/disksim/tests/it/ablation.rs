//! Ablations: the demerit against the measured drives without one detail of the model, compared with that of an
//! independent prototype. Like this model, the prototype reproduces the responses of DiskSim 4.0 on these
//! traces.

use crate::measured::{data, simulated, spec, trace, DRIVES};
use headstack_disksim::validate::demerit;
use headstack_drive::spec::{AfterPrevious, ReadAhead};
use headstack_drive::DriveSpec;
use headstack_units::Span;
use std::path::Path;

/// Demerit in milliseconds of a changed drive.
fn without(dir: &Path, name: &str, change: impl Fn(&mut DriveSpec)) -> f64 {
    let mut spec = spec(dir, name);
    let (requests, measured) = trace(dir, name);
    change(&mut spec);
    demerit(&measured, &simulated(&spec, true, &requests)) * 1e3
}

/// The detail, the change that removes it, and the prototype's demerits in ms in the order of [`DRIVES`].
type Row = (&'static str, fn(&mut DriveSpec), [f64; 5]);

#[test]
fn every_detail_is_worth_what_it_was_found_to_be() {
    let Some(dir) = data() else { return };
    let rows: [Row; 15] = [
        ("nothing", |_| {}, [0.268, 0.349, 0.107, 0.090, 0.136]),
        ("write-back", |s| s.cache.write_back = false, [2.71, 3.66, 2.47, 0.090, 3.45]),
        ("read-ahead", |s| s.cache.read_ahead = ReadAhead::None, [1.08, 1.21, 0.788, 1.42, 1.37]),
        ("buffer", |s| s.cache.enabled = false, [1.12, 1.28, 0.834, 1.42, 1.42]),
        ("bus time", |s| s.link = Default::default(), [0.565, 0.970, 0.656, 1.67, 0.667]),
        (
            "skew",
            |s| {
                for zone in &mut s.geometry.zones {
                    (zone.track_skew, zone.cylinder_skew) = (0.0, 0.0);
                }
            },
            [0.296, 0.382, 0.176, 2.34, 0.266],
        ),
        ("watermark", |s| s.cache.read_watermark = 0.0, [0.268, 0.349, 0.107, 0.881, 0.136]),
        (
            "overheads keyed by the previous command",
            |s| {
                let o = &mut s.overhead;
                for pair in [&mut o.read_hit, &mut o.read_miss, &mut o.write_hit, &mut o.write_miss] {
                    let mean = Span((pair.after_read.0 + pair.after_write.0) / 2);
                    *pair = AfterPrevious { after_read: mean, after_write: mean };
                }
            },
            [0.268, 0.343, 0.114, 0.090, 0.129],
        ),
        (
            "extra disconnection and shortest movement",
            |s| {
                s.overhead.extra_write_disconnect = None;
                s.positioning.minimum_write = Span::ZERO;
                s.positioning.minimum_read_after_read = Span::ZERO;
                s.positioning.minimum_read_after_write = Span::ZERO;
            },
            [0.268, 0.349, 0.107, 0.205, 0.136],
        ),
        ("write settle", |s| s.positioning.write_settle = Span::ZERO, [0.268, 0.349, 0.107, 0.242, 0.136]),
        ("head switch", |s| s.positioning.head_switch = Span::ZERO, [0.248, 0.362, 0.107, 0.094, 0.139]),
        (
            "empty space at a zone's front",
            |s| {
                for zone in &mut s.geometry.zones {
                    zone.empty_sectors = 0;
                }
            },
            [0.268, 0.349, 0.107, 0.151, 0.157],
        ),
        (
            "zone offsets",
            |s| {
                for zone in &mut s.geometry.zones {
                    zone.offset = 0.0;
                }
            },
            [0.268, 0.349, 0.107, 0.101, 0.136],
        ),
        ("read hits on written data", |s| s.cache.read_hits_on_written = false, [0.277, 0.335, 0.104, 0.090, 0.136]),
        (
            "overheads",
            |s| {
                let o = &mut s.overhead;
                o.read_hit = AfterPrevious::default();
                o.read_miss = AfterPrevious::default();
                o.write_hit = AfterPrevious::default();
                o.write_miss = AfterPrevious::default();
            },
            // It is not recorded which of the HP's other overheads the prototype kept.
            [0.292, 0.868, 0.419, f64::NAN, 0.308],
        ),
    ];
    for (what, change, want) in rows {
        for (name, want) in DRIVES.iter().zip(want) {
            let got = without(&dir, name, change);
            println!("{name} without {what}: {got:.3} ms, prototype {want:.3} ms");
            // The HP's demerit is 0.004 above the prototype's even without a change; the recorded values have
            // three digits.
            let near = 0.005 + 0.01 * want;
            assert!(want.is_nan() || (got - want).abs() <= near, "{name} without {what}");
        }
    }
}

/// Without rotational latency the demerit is high for all drives.
#[test]
fn rotation_matters() {
    let Some(dir) = data() else { return };
    for name in DRIVES {
        let with = without(&dir, name, |_| {});
        let got = without(&dir, name, |s| s.positioning.rotation_scale = 0.0);
        assert!(got > with + 0.18, "{name}: {got} for {with}");
    }
}
