//! The price of a drive, as stated in its file.
//!
//! # Model
//! `usd = [low, high]` for the drive, or `usd_per_mb = [low, high]` times its capacity in megabytes
//! of 10^6 bytes.
//! # Source
//! The documents that the drive file's `sources` name.
//! # Validity
//! A price holds at one time, in one place, for one quantity. It does not depend on the parts: changing arms
//! or platters does not change it. Prices of different years cannot be compared.

use super::{check_range, CostModel, CostRange, Parts, MOST_USD};
use crate::plugin::Plugin;
use headstack_schema::{SpecError, Table};

/// The registry entry.
pub fn plugin() -> Plugin<dyn CostModel> {
    Plugin::<dyn CostModel>::new(
        "price",
        "a stated price of the drive, or per megabyte",
        "usd = [255, 315]",
        |price: Price, _| Ok(Box::new(price)),
    )
}

#[derive(Table)]
#[table(check = Price::check_one)]
struct Price {
    /// Price of the drive in dollars, `[low, high]`.
    #[param(range = 0.0..=MOST_USD)]
    usd: Option<[f64; 2]>,
    /// Price of 10^6 bytes in dollars, `[low, high]`.
    #[param(range = 0.0..=MOST_USD)]
    usd_per_mb: Option<[f64; 2]>,
}

impl Price {
    fn check_one(&self) -> Result<(), SpecError> {
        match (self.usd, self.usd_per_mb) {
            (Some(usd), None) => check_range("usd", usd),
            (None, Some(usd_per_mb)) => check_range("usd_per_mb", usd_per_mb),
            (None, None) => {
                let need = "[low, high], or usd_per_mb";
                Err(SpecError::new("usd", "nothing", need))
            }
            (Some(_), Some(_)) => {
                let need = "one of usd and it";
                Err(SpecError::new("usd_per_mb", "a second price", need))
            }
        }
    }
}

impl CostModel for Price {
    fn cost(&self, parts: &Parts) -> Result<CostRange, SpecError> {
        if let Some([low, high]) = self.usd {
            return Ok(CostRange { low, high });
        }
        let blocks = parts.capacity_blocks.ok_or_else(|| {
            SpecError::new("usd_per_mb", "no geometry.capacity_blocks", "the capacity that it counts")
        })?;
        let [low, high] = self.usd_per_mb.unwrap_or_default();
        Ok(CostRange { low, high }.times(blocks as f64 * 512e-6))
    }
}

#[cfg(test)]
mod tests {
    use crate::cost::tests::{cost, parts};
    use crate::cost::Parts;

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
}
