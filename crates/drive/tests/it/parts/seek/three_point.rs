use crate::parts::seek::{example, model};
use headstack_units::Span;

/// The mean of the curve under the density `2 (1 - x)` of relative distances is `average`. Under it the
/// mean of `sqrt(x)` is 8/15 and that of `x` is 1/3, which gives the coefficients.
#[test]
fn mean_over_random_pairs_is_the_average() {
    let n = 163_536u32;
    let m = model("three-point", example("three-point")).unwrap();
    let pairs = f64::from(n) * f64::from(n);
    let mean: f64 = (1..n).map(|d| m.seek(d).as_ms() * 2.0 * f64::from(n - d) / pairs).sum();
    assert!((mean / 8.5 - 1.0).abs() < 0.002, "{mean}");
    assert_eq!(m.seek(1), Span::from_ms(0.8));
    assert!((m.seek(n - 1).as_ms() - 17.0).abs() < 0.001);
    assert!((1..n - 1).all(|d| m.seek(d) <= m.seek(d + 1)));
}

#[test]
fn refuses_an_average_outside_the_ends() {
    let toml = "single=\"1 ms\"\naverage=\"9 ms\"\nfull=\"8 ms\"\ncylinders=100";
    let error = model("three-point", toml).err().expect("refused");
    assert_eq!(error.key, "average");
}
