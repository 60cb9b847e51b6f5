//! Designs that differ in the density of their surfaces only share the rest: each costs a few kilobytes. Alone in
//! its process, because other tests would change how much memory that has.

use headstack_drive::{Density, DriveDesign, DriveSpec, Models};
use headstack_testkit::memory::resident_bytes;
use headstack_testkit::{alone, SplitMix};

/// Eight surfaces, 14 zones and 200,000 cylinders: the seek times of one design take 3.2 MB.
fn spec() -> DriveSpec {
    let zones: Vec<String> = (0..14)
        .map(|z| {
            let first = z * 14_000;
            format!(
                "{{ first_cylinder = {first}, last_cylinder = {}, sectors_per_track = {} }}",
                first + 13_999,
                2000 - 70 * z
            )
        })
        .collect();
    let text = format!(
        "name = \"d\"\n[geometry]\nrotation_speed = \"7200 rpm\"\nsurfaces = 8\ncylinders = 200000\n\
         layout = \"adaptive\"\nband_cylinders = 90\nzones = [{}]\n\
         [seek]\nmodel = \"linear\"\nsingle = \"0.8 ms\"\nfull = \"16 ms\"\ncylinders = 200000",
        zones.join(", ")
    );
    toml::from_str(&text).expect("a drive")
}

#[test]
fn a_design_of_other_densities_adds_less_than_16_kib() {
    alone("memory_of_like_drives::a_design_of_other_densities_adds_less_than_16_kib", || {
        let base = DriveDesign::new(&spec(), &Models::builtin()).expect("a design");
        let (n, mut d) = (10_000, SplitMix(1));
        let mut designs = Vec::with_capacity(n);
        let before = resident_bytes();
        for _ in 0..n {
            let density = [(); 8].map(|()| {
                let bpi = (0.031 * (f64::from(d.between(0, 11)) - 8.0)).exp();
                Density { bpi, tpi: 1.0 / bpi }
            });
            designs.push(base.with_density(&density).expect("a design"));
        }
        let Some((before, after)) = before.zip(resident_bytes()) else {
            eprintln!("skipped: the system does not tell how much memory is used");
            return;
        };
        let each = after.saturating_sub(before) / n as u64;
        println!("{each} B per design");
        assert!(each < 16 * 1024, "{each} B");
        assert_ne!(designs[0].capacity_blocks(), designs[1].capacity_blocks(), "drawn apart");
    });
}
