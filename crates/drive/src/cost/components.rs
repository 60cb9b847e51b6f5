//! Cost by component: what the parts of a drive cost its maker.
//!
//! # Model
//! The sum, over components, of the number in the drive times the price of one piece, low and high. There is
//! one piece per drive, stack, platter, arm assembly or head, and one suspension per two heads. The motor
//! driver has a part per drive and a part per arm assembly.
//! # Source
//! S. Sankar, S. Gurumurthi, M. R. Stan, "Intra-Disk Parallelism: An Idea Whose Time Has Come", ISCA 2008,
//! Table 9(a) (prices of component makers for server drives, in volume, for a four-platter drive with 1, 2
//! and 4 actuators). What each component is counted by is inferred from the three columns of the table.
//! # Validity
//! Material only: no labour, overheads or margin. The prices are estimates of 2008 for four platters, some of
//! them single values. Other numbers of platters and stacks are extrapolated. Use the model for ratios.

use super::{check_range, CostModel, CostRange, Parts};
use crate::plugin::Plugin;
use headstack_schema::{did_you_mean, SpecError, Table};
use std::collections::BTreeMap;

/// The registry entry.
pub fn plugin() -> Plugin<dyn CostModel> {
    Plugin::<dyn CostModel>::new(
        "components",
        "the sum of its components (ISCA 2008, Table 9a)",
        "usd = { head = [2.5, 3], media = [6, 7] }",
        |prices: Prices, _| Ok(Box::new(prices.components()?)),
    )
    .completed_by(Prices::complete)
}

#[derive(Table)]
struct Prices {
    /// Prices `[low, high]` in dollars of one piece, by component, which replace those of the table.
    #[param(default)]
    usd: BTreeMap<String, [f64; 2]>,
}

impl Prices {
    /// With the prices of the table that are not replaced.
    fn complete(mut self) -> Prices {
        for component in TABLE {
            let usd = self.usd.entry(component.name.into());
            usd.or_insert(component.usd);
        }
        self
    }

    fn components(&self) -> Result<Components, SpecError> {
        let mut prices: Vec<Component> = TABLE.to_vec();
        for (name, range) in &self.usd {
            let key = format!("usd.{name}");
            let known = TABLE.iter().map(|c| c.name);
            let found = prices.iter().position(|c| c.name == name).ok_or_else(|| {
                let hint = did_you_mean(name, known.clone());
                let names = known.collect::<Vec<_>>().join(", ");
                SpecError::new(&key, format!("{name:?}"), format!("one of {names}{hint}"))
            })?;
            check_range(&key, *range)?;
            prices[found].usd = *range;
        }
        Ok(Components { prices })
    }
}

/// What a component is counted by.
#[derive(Debug, Clone, Copy)]
enum Per {
    Drive,
    Stack,
    Platter,
    Arm,
    Head,
    HeadPair,
}

/// One row of the table: the price of one piece in dollars, `[low, high]`.
#[derive(Debug, Clone, Copy)]
struct Component {
    name: &'static str,
    per: Per,
    usd: [f64; 2],
}

const fn row(name: &'static str, per: Per, low: f64, high: f64) -> Component {
    Component { name, per, usd: [low, high] }
}

/// Table 9(a). Its "Head Suspension" of 2 to 3.60 per assembly is four of 0.50 to 0.90 each. Its motor
/// drivers of 3.50 to 4, 5 to 6 and 8 to 10 are 2 plus 1.50 to 2 per assembly.
const TABLE: [Component; 10] = [
    row("media", Per::Platter, 6.0, 7.0),
    row("spindle-motor", Per::Stack, 5.0, 10.0),
    row("voice-coil-motor", Per::Arm, 1.0, 2.0),
    row("head-suspension", Per::HeadPair, 0.5, 0.9),
    row("head", Per::Head, 3.0, 3.0),
    row("pivot-bearing", Per::Arm, 3.0, 3.0),
    row("disk-controller", Per::Drive, 4.0, 5.0),
    row("motor-driver", Per::Drive, 2.0, 2.0),
    row("motor-driver-channel", Per::Arm, 1.5, 2.0),
    row("preamplifier", Per::Arm, 1.2, 1.2),
];

struct Components {
    prices: Vec<Component>,
}

impl CostModel for Components {
    fn cost(&self, parts: &Parts) -> Result<CostRange, SpecError> {
        let mut sum = CostRange { low: 0.0, high: 0.0 };
        for c in &self.prices {
            let n = f64::from(match c.per {
                Per::Drive => 1,
                Per::Stack => parts.stacks,
                Per::Platter => parts.platters,
                Per::Arm => parts.arms,
                Per::Head => parts.heads,
                Per::HeadPair => parts.heads.div_ceil(2),
            });
            sum.low += n * c.usd[0];
            sum.high += n * c.usd[1];
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::tests::{cost, parts};

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
        for (name, columns) in rows {
            // The two parts of the motor driver share a row of the paper.
            let of_row = |c: &&Component| c.name.starts_with(name) && (c.name == name || name == "motor-driver");
            let prices: Vec<Component> = TABLE.iter().filter(of_row).copied().collect();
            assert!(!prices.is_empty(), "{name}");
            let model = Components { prices };
            for (arms, [low, high]) in [1, 2, 4].into_iter().zip(columns) {
                let got = model.cost(&parts(arms)).unwrap();
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
        let four = 4.0 * table_9a(1).mid();
        for (n, arms, percent) in [(2.0, 2, 26.9), (1.0, 4, 40.4)] {
            let saving = 100.0 * (1.0 - n * table_9a(arms).mid() / four);
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
}
