use crate::parts::seek::model;
use headstack_units::Span;

const TOML: &str = "acceleration=\"500 m/s2\"\nvelocity_limit=\"1 m/s\"\n\
                    track_pitch=\"1 um\"\nsettle=\"1 ms\"";

/// v^2/g = 2 mm: half of that takes 2 sqrt(.001/500) s; 2 mm takes 4 ms by either formula; 10 mm takes 10
/// + 2 ms. Settling of 1 ms is added.
#[test]
fn both_pieces_by_hand() {
    let m = model("bang-bang", TOML).unwrap();
    assert_eq!(m.seek(1_000), Span::from_secs_f64(2.0 * 2e-6f64.sqrt() + 1e-3));
    assert_eq!(m.seek(2_000), Span::from_ms(5.0));
    assert_eq!(m.seek(10_000), Span::from_ms(13.0));
    // The two formulas meet with the same slope 1/v: one more cylinder takes 1 us more on either side.
    let slope = m.seek(2_001).0 - m.seek(1_999).0;
    assert!((slope - 2_000).abs() <= 2, "{slope}");
}

/// Compared with stepping the motion in time.
#[test]
fn agrees_with_numerical_integration() {
    let m = model("bang-bang", TOML).unwrap();
    for d in [300u32, 1_900, 2_600, 7_000] {
        let (x, dt) = (f64::from(d) * 1e-6, 1e-8);
        let (mut pos, mut speed, mut t) = (0.0f64, 0.0f64, 0.0f64);
        loop {
            let braking = speed * speed / (2.0 * 500.0);
            let push = if pos + braking >= x { -500.0 } else { 500.0 };
            speed = (speed + push * dt).min(1.0);
            if speed <= 0.0 || pos >= x {
                break;
            }
            pos += speed * dt;
            t += dt;
        }
        let ours = m.seek(d).as_secs_f64() - 1e-3;
        assert!((ours / t - 1.0).abs() < 5e-3, "{d}: {ours} {t}");
    }
}

#[test]
fn refuses_missing_units_and_missing_or_double_pitch() {
    for (from, to, key) in [
        ("\"500 m/s2\"", "\"500\"", "acceleration"),
        ("\"500 m/s2\"", "\"0 m/s2\"", "acceleration"),
        ("track_pitch=\"1 um\"", "", "track_pitch"),
        ("settle", "tracks_per_inch=9\nsettle", "track_pitch"),
        ("\"1 ms\"", "\"-1 ms\"", "settle"),
    ] {
        let error = model("bang-bang", &TOML.replace(from, to)).err().expect(to);
        assert_eq!(error.key, key, "{error}");
    }
}
