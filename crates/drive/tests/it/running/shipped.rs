//! Every shipped drive with all timers on.

use super::{buffered, small};
use headstack_drive::power::{self, Shape};
use headstack_drive::spec::{Destage, DriveSpec, Params, Parking};
use headstack_testkit::shipped;
use headstack_testkit::world::World;

/// Every file in `drives/`, with short timers for every condition.
fn drives() -> Vec<DriveSpec> {
    let mut drives: Vec<DriveSpec> = shipped::drives().into_iter().map(sleepy).collect();
    drives.sort_by(|a, b| a.name.cmp(&b.name));
    drives
}

fn sleepy(mut spec: DriveSpec) -> DriveSpec {
    let watts = power::build(&spec.power, &Shape::of(&spec), &power::PLUGINS).expect("power");
    let rails = spec.power.get("model").is_some_and(|m| m == "rails");
    for (key, share) in [("idle_a", 0.95), ("idle_b", 0.8), ("idle_c", 0.6)] {
        let w = watts.standby + share * (watts.idle - watts.standby);
        let value = if rails { serde_json::json!([w / 5.0, 0.0]) } else { serde_json::json!(format!("{w} W")) };
        spec.power.insert(key.into(), value);
    }
    let conditions: Params = toml::from_str(&format!(
        r#"
        idle_a = {{ timer = "100 ms", recovery_time = "1 ms" }}
        idle_b = {{ timer = "300 ms", enter_time = "80 ms", recovery_time = "90 ms" }}
        idle_c = {{ timer = "600 ms", enter_time = "200 ms", recovery_time = "150 ms" }}
        standby = {{ timer = "1 s", enter_time = "400 ms", recovery_time = "500 ms", recovery_power = "{} W" }}
        "#,
        3.0 * watts.idle
    ))
    .expect("conditions");
    spec.power.insert("conditions".into(), conditions.into());
    spec
}

/// The same on drives of several stacks and arms, with and without a buffer, whose settings change all the time: what always
/// holds, and each has stood still.
#[test]
fn drives_that_are_set_all_the_time() {
    let mut seed = 1000;
    for dash in ["D1A1S1H1", "D2A1S1H1", "D1A2S1H1", "D2A2S1H2", "D1A4S2H1"] {
        for (parking, at_once) in [(Parking::Hold, 1), (Parking::Follow, 1), (Parking::Hold, 0)] {
            for mut spec in [sleepy(small()), buffered(sleepy(small()))] {
                spec.dash = dash.parse().expect("a point");
                spec.parallelism.parking = parking;
                spec.parallelism.arms_in_motion = at_once;
                spec.queue.scheduler = "sptf".into();
                if at_once == 0 {
                    // Which of several idle arms takes buffered data depends on when somebody asks.
                    spec.cache.destage = Destage::Immediate;
                }
                seed += 1;
                let ran = World::on(seed, &spec).expect("a drive").restless().check();
                assert!(ran.energy.standby_s > 0.0, "seed {seed}");
            }
        }
    }
}

/// What always holds, and each drive gets everywhere.
#[test]
fn every_shipped_drive_goes_down_and_comes_back() {
    for (spec, seed) in drives().iter().zip(1..) {
        let ran = World::on(seed, spec).expect(&spec.name).calm().again(3).check();
        for (name, share) in ran.energy.conditions.named() {
            assert!(share.time_s > 0.0, "{}, seed {seed}: never {name}", spec.name);
        }
    }
}
