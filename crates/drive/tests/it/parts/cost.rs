use crate::parts::contract;
use headstack_drive::cost::*;
use headstack_schema::{Params, SpecError};

mod components;
mod price;

/// A four-platter drive with one head per surface and arm.
pub(super) fn parts(arms: u32) -> Parts {
    Parts { stacks: 1, platters: 4, arms, heads: 8 * arms, capacity_blocks: None }
}

/// Cost from TOML.
pub(super) fn cost(toml: &str, parts: &Parts) -> Result<CostRange, SpecError> {
    let cost = build(&toml::from_str(toml).expect("TOML"), parts, &PLUGINS)?;
    Ok(cost.expect("a table"))
}

#[test]
fn unknown_keys_and_models_are_refused() {
    let error = cost("model = \"component\"", &parts(1)).unwrap_err().to_string();
    assert!(error.contains("did you mean \"components\"?"), "{error}");
    assert_eq!(cost("usd = [1, 2]", &parts(1)).unwrap_err().key, "cost.model");
    assert_eq!(build(&Params::new(), &parts(1), &PLUGINS), Ok(None));
}

/// Four platters: all assemblies on all surfaces; each on its own half; two stacks; two heads per arm.
#[test]
fn parts_follow_from_the_description() {
    let of = |dash: &str, more: &str| {
        let text = format!(
            "name = \"x\"\ndash = \"{dash}\"\nseek = {{ model = \"constant\", time = \"1 ms\" }}\n{more}\n\
             [geometry]\nrotation_speed = \"7200 rpm\"\nsurfaces = 8\ncylinders = 10\n\
             zones = [{{ first_cylinder = 0, last_cylinder = 9, sectors_per_track = 9 }}]"
        );
        let parts = Parts::of(&toml::from_str(&text).expect("a drive")).expect("parts");
        [parts.stacks, parts.platters, parts.arms, parts.heads]
    };
    assert_eq!(of("D1A1S1H1", ""), [1, 4, 1, 8]);
    assert_eq!(of("D1A4S1H1", ""), [1, 4, 4, 32]);
    assert_eq!(of("D1A2S1H1", "parallelism.arm_share = \"own-share\""), [1, 4, 2, 8]);
    assert_eq!(of("D2A2S1H2", ""), [2, 8, 4, 64]);
}

#[test]
fn ranges_are_ordered_for_all_parts() {
    for plugin in PLUGINS.iter() {
        let mut table = contract::example(plugin);
        table.insert("model".into(), plugin.name().into());
        for (stacks, platters, arms, heads) in [(1, 4, 1, 8), (1, 9, 2, 18), (3, 3, 6, 36)] {
            let parts = Parts { stacks, platters, arms, heads, capacity_blocks: Some(1 << 30) };
            let cost = build(&table, &parts, &PLUGINS).unwrap().unwrap_or_else(|| panic!("{}", plugin.name()));
            assert!(0.0 < cost.low && cost.low <= cost.high);
            assert_eq!(build(&table, &parts, &PLUGINS), Ok(Some(cost)));
        }
    }
}
