use crate::parts::seek::{example, model};
use headstack_units::Span;

/// The ends are those of Table 1 of the paper; the middle is halfway between them.
#[test]
fn ibm_18es() {
    let m = model("linear", example("linear")).unwrap();
    assert_eq!(m.seek(1), Span::from_ms(1.086));
    assert_eq!(m.seek(11_473), Span::from_ms(12.742));
    assert_eq!(m.seek(5_737), Span::from_ms((1.086 + 12.742) / 2.0));
}

#[test]
fn refuses_values_without_a_line() {
    for (toml, key) in [
        ("single=\"0 ms\"\nfull=\"9 ms\"\ncylinders=9", "single"),
        ("single=\"9 ms\"\nfull=\"1 ms\"\ncylinders=9", "full"),
        ("single=\"1 ms\"\nfull=\"9 ms\"\ncylinders=2", "cylinders"),
        ("single=1\nfull=\"9 ms\"\ncylinders=9", "single"),
    ] {
        assert_eq!(model("linear", toml).err().expect(toml).key, key);
    }
}
