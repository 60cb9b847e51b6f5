use crate::parts::cost::{cost, parts};
use headstack_drive::cost::Parts;

/// ISCA 2008, Table 1: $0.00042 to $0.00034 per MB of 750,000 MB.
#[test]
fn per_megabyte() {
    let parts = Parts { capacity_blocks: Some(750_000_000_000 / 512), ..parts(1) };
    let got = cost("model = \"price\"\nusd_per_mb = [0.00034, 0.00042]", &parts).unwrap();
    assert!((got.low - 255.0).abs() < 1e-3 && (got.high - 315.0).abs() < 1e-3, "{got:?}");
}

#[test]
fn refuses_what_is_no_price() {
    for (toml, key) in [
        ("", "cost.usd"),
        ("usd = [2, 1]", "cost.usd"),
        ("usd = [-2, 1]", "cost.usd[0]"),
        ("usd = [1, 2]\nusd_per_mb = [1, 2]", "cost.usd_per_mb"),
        ("usd_per_mb = [1, 2]", "cost.usd_per_mb"),
    ] {
        let error = cost(&format!("model = \"price\"\n{toml}"), &parts(1)).unwrap_err();
        assert_eq!(error.key, key, "{toml}");
    }
}
