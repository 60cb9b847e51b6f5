use crate::parts::contract;
use headstack_drive::seek::*;
use headstack_schema::{Params, SpecError};
use headstack_units::Span;

mod bang_bang;
mod hpl;
mod linear;
mod ng;
mod table;
mod three_point;

/// The parameters of a model's documentation.
pub(super) fn example(name: &str) -> &'static str {
    PLUGINS.get(name).unwrap().example()
}

/// A model of this folder from its TOML parameters.
pub(super) fn model(name: &str, toml: &str) -> Result<Box<dyn SeekModel>, SpecError> {
    let table: Params = toml::from_str(toml).expect("TOML");
    PLUGINS.find("seek.model", name)?.build(&table, ())
}

#[test]
fn zero_at_zero_positive_beyond_and_repeatable() {
    for plugin in PLUGINS.iter() {
        let model = plugin.build(&contract::example(plugin), ()).expect("the example builds");
        assert_eq!(model.seek(0), Span::ZERO, "{}", plugin.name());
        for d in (1..3_000).chain((3_000..20_000).step_by(97)) {
            let t = model.seek(d);
            assert!(t.0 > 0 && t.0 < 4_000_000_000, "{}: {d} takes {t}", plugin.name());
            assert_eq!(t, model.seek(d), "{}: {d}", plugin.name());
        }
    }
}

/// Times of centuries are refused; they must not wrap.
#[test]
fn absurd_times_are_errors() {
    for (name, toml) in [
        ("constant", "time = \"1e300 s\""),
        ("linear", "single = \"1e300 s\"\nfull = \"1e301 s\"\ncylinders = 9"),
        ("table", "points = [[1, \"1e300 s\"], [9, \"1 ns\"]]"),
        ("three-point", "single=\"1 ns\"\naverage=\"1e300 s\"\nfull=\"1e300 s\"\ncylinders=9"),
        (
            "hpl",
            "short_limit=3\nshort_base=\"1e300 s\"\nshort_sqrt=\"1e300 s\"\nlong_base=\"1 s\"\nlong_slope=\"9e300 s\"",
        ),
        ("ng", "a=\"1e300 s\"\nb=\"1e300 s\"\nc=\"0 s\"\ntracks_per_inch=1e-300"),
        (
            "bang-bang",
            "acceleration=\"1e-300 m/s2\"\nvelocity_limit=\"1e-300 m/s\"\ntrack_pitch=\"1 m\"\nsettle=\"1 s\"",
        ),
    ] {
        let mut table: Params = toml::from_str(toml).expect("TOML");
        table.insert("model".into(), name.into());
        assert!(SeekTable::build(&table, 20, Span::from_ms(1.0), &PLUGINS).is_err(), "{name}");
    }
}

#[test]
fn a_wrong_model_name_gets_the_list_and_the_nearest() {
    let mut table = Params::new();
    table.insert("model".into(), "liner".into());
    let error = SeekTable::build(&table, 10, Span::ZERO, &PLUGINS).unwrap_err().to_string();
    assert!(error.contains("did you mean \"linear\"?"), "{error}");
}
