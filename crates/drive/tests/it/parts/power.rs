use crate::parts::contract;
use headstack_drive::power::*;
use headstack_schema::SpecError;
use headstack_units::Rpm;

mod conditions;
mod modes;
mod rails;
mod seek_energy;

/// A conventional drive of four platters.
pub(super) fn shape(rpm: f64, arms: u32) -> Shape {
    Shape { rotation_speed: Rpm(rpm), arms, stacks: 1, platters: 4 }
}

/// Power by state for a table in TOML.
pub(super) fn watts(toml: &str, rpm: f64, arms: u32) -> Result<StateWatts, SpecError> {
    of_shape(toml, &shape(rpm, arms))
}

/// Power by state for a table in TOML and any shape.
pub(super) fn of_shape(toml: &str, shape: &Shape) -> Result<StateWatts, SpecError> {
    build(&toml::from_str(toml).expect("TOML"), shape, &PLUGINS)
}

#[test]
fn unknown_keys_are_refused() {
    let error = watts("modell = 1", 7200.0, 1).unwrap_err();
    assert!(error.to_string().contains("modell"), "{error}");
}

#[test]
fn ordered_and_finite_at_all_shapes() {
    for plugin in PLUGINS.iter() {
        let mut table = contract::example(plugin);
        table.insert("model".into(), plugin.name().into());
        for rpm in [4200.0, 5400.0, 7200.0, 15000.0] {
            for (arms, stacks, platters) in [(1, 1, 4), (2, 1, 4), (4, 2, 1), (3, 3, 10)] {
                let shape = Shape { rotation_speed: Rpm(rpm), arms, stacks, platters };
                let w = build(&table, &shape, &PLUGINS).unwrap_or_else(|e| panic!("{}: {e}", plugin.name()));
                assert!(0.0 <= w.standby && w.standby <= w.idle && w.idle.is_finite());
                for active in [w.seek, w.rotation, w.transfer] {
                    assert!(active >= w.idle && active.is_finite(), "{}", plugin.name());
                }
            }
        }
    }
}

/// In every model with these keys, power is linear in platters and stacks, and grows with the 4.6th power
/// of the diameter.
#[test]
fn spindles_scale_with_their_size() {
    let part = |toml: &str, stacks, platters| {
        let shape = Shape { rotation_speed: Rpm(7200.0), arms: 1, stacks, platters };
        of_shape(toml, &shape).unwrap().idle
    };
    let modes = "spindle = \"6 W\"\nelectronics = \"3 W\"\n";
    let rails = "model = \"rails\"\nidle = [0.6, 0.5]\nrandom_read = [0.7, 0.8]\n\
                 sequential_read = [0.9, 0.55]\nstandby = [0.1, 0.0]\n";
    for model in [modes, rails] {
        // 3 W of electronics and 6 W of spindle in both.
        let sized = format!("{model}platters = 4");
        assert!((part(&sized, 1, 4) - 9.0).abs() < 1e-9);
        assert!((part(&sized, 1, 2) - 6.0).abs() < 1e-9);
        assert!((part(&sized, 2, 4) - 15.0).abs() < 1e-9);
        assert!((part(model, 1, 2) - 9.0).abs() < 1e-9, "platters not given: as they are");
        let small = "platter_diameter = \"2.5 in\"\nreference_diameter = \"3.7 in\"";
        let drag = 6.0 * (2.5f64 / 3.7).powf(4.6);
        let small = format!("{model}{small}");
        assert!((part(&small, 1, 4) - 3.0 - drag).abs() < 1e-9);
        // Two stacks of small platters draw less than one stack of large ones.
        assert!(part(&small, 2, 4) < part(model, 1, 4));
    }
    // Half the diameter: a factor of 2^-4.6 = 0.0412.
    let half = "spindle = \"10 W\"\nelectronics = \"0 W\"\nplatter_diameter = \"1.85 in\"\n\
                standby = \"0 W\"\nreference_diameter = \"93.98 mm\"";
    assert!((part(half, 1, 4) - 0.412).abs() < 0.001);
}

#[test]
fn steps_of_low_power_go_down() {
    let w = watts(
        "idle_a = \"9 W\"\nidle_b = \"7 W\"\nidle_c = \"5 W\"\nsleep = \"0.8 W\"\n\
         spin_up = \"29 W\"\nspin_up_time = \"23 s\"",
        7200.0,
        1,
    )
    .unwrap()
    .low_power;
    assert_eq!([w.idle_a, w.idle_b, w.idle_c], [Some(9.0), Some(7.0), Some(5.0)]);
    assert_eq!([w.sleep, w.spin_up, w.spin_up_s], [Some(0.8), Some(29.0), Some(23.0)]);
    for bad in [
        "idle_a = \"9.4 W\"",
        "idle_b = \"4 W\"\nidle_c = \"5 W\"",
        "idle_c = \"0.5 W\"",
        "sleep = \"1.1 W\"",
        "spin_up = \"9 W\"",
    ] {
        assert_eq!(watts(bad, 7200.0, 1).unwrap_err().key, "power", "{bad}");
    }
}
