use crate::parts::cost::{cost, parts};
use headstack_drive::cost::{CostRange, Parts, PLUGINS};
use headstack_schema::Params;

fn table_9a(arms: u32) -> CostRange {
    cost("model = \"components\"", &parts(arms)).unwrap()
}

/// Every cell of Table 9(a): low and high for 1, 2 and 4 actuators.
#[test]
fn every_row_of_the_paper() {
    let rows = [
        ("media", [[24.0, 28.0], [24.0, 28.0], [24.0, 28.0]]),
        ("spindle-motor", [[5.0, 10.0], [5.0, 10.0], [5.0, 10.0]]),
        ("voice-coil-motor", [[1.0, 2.0], [2.0, 4.0], [4.0, 8.0]]),
        ("head-suspension", [[2.0, 3.6], [4.0, 7.2], [8.0, 14.4]]),
        ("head", [[24.0, 24.0], [48.0, 48.0], [96.0, 96.0]]),
        ("pivot-bearing", [[3.0, 3.0], [6.0, 6.0], [12.0, 12.0]]),
        ("disk-controller", [[4.0, 5.0], [4.0, 5.0], [4.0, 5.0]]),
        ("motor-driver", [[3.5, 4.0], [5.0, 6.0], [8.0, 10.0]]),
        ("preamplifier", [[1.2, 1.2], [2.4, 2.4], [4.8, 4.8]]),
    ];
    let table = PLUGINS.filled("components", &Params::new());
    let all: Vec<&String> = table["usd"].as_object().expect("a table").keys().collect();
    for (name, columns) in rows {
        // The two parts of the motor driver share a row of the paper.
        let of_row = |c: &str| c.starts_with(name) && (c == name || name == "motor-driver");
        let others = all.iter().filter(|c| !of_row(c)).map(|c| format!("{c} = [0, 0]")).collect::<Vec<_>>();
        assert!(others.len() < all.len(), "{name}");
        let model = format!("model = \"components\"\nusd = {{ {} }}", others.join(", "));
        for (arms, [low, high]) in [1, 2, 4].into_iter().zip(columns) {
            let got = cost(&model, &parts(arms)).unwrap();
            assert!((got.low - low).abs() < 1e-9, "{name}, {arms}: {}", got.low);
            assert!((got.high - high).abs() < 1e-9, "{name}, {arms}: {}", got.high);
        }
    }
}

/// The last row of Table 9(a).
#[test]
fn totals_of_the_paper() {
    for (arms, low, high) in [(1, 67.7, 80.8), (2, 100.4, 116.6), (4, 165.8, 188.2)] {
        let got = table_9a(arms);
        assert!((got.low - low).abs() < 1e-9 && (got.high - high).abs() < 1e-9, "{got:?}");
    }
}

/// Cents add up exactly, also over many drives, and are shown with two decimals.
#[test]
fn sums_of_cents_are_cents() {
    for (arms, low, high) in [(1, 67.7, 80.8), (2, 100.4, 116.6), (4, 165.8, 188.2)] {
        assert_eq!(table_9a(arms), CostRange { low, high });
    }
    let three = CostRange { low: 301.2, high: 349.8 };
    assert_eq!(table_9a(2).times(3.0), three);
}

/// Figure 9(b): compared with four conventional drives, two drives of two actuators cost 27 % less and
/// one of four 40 % less, by the middles of the ranges (26.9 and 40.4 from the totals above).
#[test]
fn iso_performance_savings() {
    let middle = |arms: u32| (table_9a(arms).low + table_9a(arms).high) / 2.0;
    let four = 4.0 * middle(1);
    for (n, arms, percent) in [(2.0, 2, 26.9), (1.0, 4, 40.4)] {
        let saving = 100.0 * (1.0 - n * middle(arms) / four);
        assert!((saving - percent).abs() <= 0.1, "{n} x {arms}: {saving} %");
    }
}

/// Nine platters whose 18 heads are on two assemblies, as in today's dual-actuator drives: only the
/// motor, bearing, driver channel and preamplifier of the second assembly are added.
#[test]
fn half_the_heads_on_each_assembly() {
    let of = |arms| Parts { stacks: 1, platters: 9, arms, heads: 18, capacity_blocks: None };
    let price = |arms| cost("model = \"components\"", &of(arms)).unwrap();
    let (one, two) = (price(1), price(2));
    assert!((two.low - one.low - (1.0 + 3.0 + 1.5 + 1.2)).abs() < 1e-9);
    assert!((two.high - one.high - (2.0 + 3.0 + 2.0 + 1.2)).abs() < 1e-9);
    // A second stack adds a spindle motor.
    let stacked = Parts { stacks: 2, ..of(2) };
    let got = cost("model = \"components\"", &stacked).unwrap();
    assert!((got.low - two.low - 5.0).abs() < 1e-9 && (got.high - two.high - 10.0).abs() < 1e-9);
}

#[test]
fn prices_can_be_replaced() {
    let cheaper = cost("model = \"components\"\nusd = { head = [2, 3] }", &parts(4)).unwrap();
    assert!((cheaper.low - (165.8 - 32.0)).abs() < 1e-9);
    assert!((cheaper.high - 188.2).abs() < 1e-9);
    let error = |toml: &str| cost(toml, &parts(1)).unwrap_err();
    let e = error("model = \"components\"\nusd = { heads = [2, 3] }");
    assert_eq!(e.key, "cost.usd.heads");
    assert!(e.need.contains("did you mean \"head\"?"), "{e}");
    let e = error("model = \"components\"\nusd = { head = [3, 2] }");
    assert_eq!(e.key, "cost.usd.head");
    let e = error("model = \"components\"\nusd = { head = [-3, 2] }");
    assert_eq!(e.key, "cost.usd.head");
}
