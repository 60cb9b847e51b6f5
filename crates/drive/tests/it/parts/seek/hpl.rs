use crate::parts::seek::{example, model};
use headstack_units::Span;

/// By hand from the HP C2247A's values: 3.81 + 0.33 * 10; 7.75 + 0.0059 * 300 and * 2050.
#[test]
fn hp_c2247a() {
    let m = model("hpl", example("hpl")).unwrap();
    assert_eq!(m.seek(100), Span::from_ms(7.11));
    assert_eq!(m.seek(300), Span::from_ms(9.52));
    assert_eq!(m.seek(2_050), Span::from_ms(19.845));
}

#[test]
fn listed_distances_come_first() {
    let listed = format!("{}\nsingle = \"1 ms\"\n", example("hpl"));
    assert_eq!(model("hpl", &listed).unwrap().seek(1), Span::from_ms(1.0));
    let listed = format!("{listed}first = [\"2 ms\", \"2.5 ms\"]");
    let m = model("hpl", &listed).unwrap();
    assert_eq!(m.seek(1), Span::from_ms(2.0));
    assert_eq!(m.seek(2), Span::from_ms(2.5));
    assert_eq!(m.seek(4), Span::from_ms(3.81 + 0.66));
}

#[test]
fn refuses_times_that_are_not_positive() {
    let bad = format!("{}\nfirst = [\"2 ms\", \"0 ms\"]", example("hpl"));
    assert_eq!(model("hpl", &bad).err().expect("refused").key, "first[1]");
    let bad = example("hpl").replace("0.33 ms", "-0.33 ms");
    assert_eq!(model("hpl", &bad).err().expect("refused").key, "short_sqrt");
}
