//! When a cap counts as met, with drives whose power follows from their file: exos-x18 draws 5.3 W when idle.

use super::{job, near, of, Bench, Rig};

/// Random reads until `busy_s`, then one in 10 s; 5.4 W from 20 to 60 s, and from 65 to 70 s.
fn settled(busy_s: f64) -> (u64, u64, Option<f64>) {
    let busy = job(4, &format!("duration = \"{busy_s} s\""));
    let rare = job(1, "duration = \"90 s\"").replace("60 us", "10 s");
    let mut bench = Bench::of(busy + &rare, 0.0);
    let caps = "caps = [{ at = \"20 s\", cap = \"5.4 W\" }, { at = \"60 s\" }, { at = \"65 s\", cap = \"5.4 W\" }, \
                { at = \"70 s\" }]";
    let capping = format!("policy = \"none\"\n{caps}");
    bench.add(&Rig { more: "drive = \"exos-x18\"", capping: &capping, ..Rig::default() });
    let result = bench.run();
    let capping = of(&result, "system").capping.as_ref().expect("capping");
    near(capping.series.power_w[74], 5.3, 1e-9, "idle");
    let found = capping.settling_s;
    (found.n, found.never, found.mean)
}

/// Idle from 40 s on, the first five intervals without work end at 45 s. Idle from 55 s on, only the last interval under
/// the cap ends five without work. The cap of five intervals is not judged.
#[test]
fn a_cap_is_met_if_it_is_held_for_ten_intervals() {
    let (n, never, mean) = settled(40.0);
    assert_eq!((n, never), (1, 0));
    near(mean.expect("a time"), 25.0, 1e-6, "settling");
    assert_eq!(settled(55.0), (1, 1, None));
}
