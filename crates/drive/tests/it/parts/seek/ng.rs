use crate::parts::seek::{example, model};

fn ms(distance: u32, tpi: f64) -> f64 {
    let toml = format!("a=\"0.5 ms\"\nb=\"14 ms\"\nc=\"0.1 ms\"\ntracks_per_inch={tpi}");
    model("ng", &toml).unwrap().seek(distance).as_ms()
}

/// One inch; and the derivative of the time by density, which is zero at `(b sqrt(d) / 2c)^2`.
#[test]
fn density_shortens_travel_and_lengthens_settling() {
    assert!((ms(10_000, 1e4) - (0.5 + 14.0 + 0.1 * 1e4f64.ln())).abs() < 1e-6);
    let best = (14.0 * 4f64.sqrt() / (2.0 * 0.1)).powi(2);
    let at_best = ms(4, best);
    assert!(ms(4, best / 2.0) > at_best && ms(4, best * 2.0) > at_best);
}

#[test]
fn refuses_a_density_of_zero() {
    let bad = example("ng").replace("10000", "0");
    assert_eq!(model("ng", &bad).err().expect("refused").key, "tracks_per_inch");
}
