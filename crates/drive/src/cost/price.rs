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
use headstack_schema::{SpecError, Table};

#[derive(Table)]
#[table(model = "a stated price of the drive, or per megabyte", example = "usd = [255, 315]")]
#[table(check = Price::check_one)]
pub(super) struct Price {
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
