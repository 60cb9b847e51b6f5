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
use headstack_schema::{chosen, SpecError, Table};
use std::collections::BTreeMap;

#[derive(Table)]
#[table(
    model = "the sum of its components (ISCA 2008, Table 9a)",
    example = "usd = { head = [2.5, 3], media = [6, 7] }",
    build = |own, _| Ok(Box::new(own.components()?)), complete = Prices::complete
)]
pub(super) struct Prices {
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
            let found = chosen(&key, &TABLE.iter().map(|c| c.name).collect::<Vec<_>>(), Some(name))?;
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
