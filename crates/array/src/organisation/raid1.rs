//! The layer `raid1` over all drives, or over all layers that the system lists; the workload's devices lie end to end in
//! it.
//!
//! # Model
//! That of the layer of the same name, with its parameters.
//! # Source
//! As the layer.
//! # Validity
//! As the layer.

use super::{volume, Entry};
use crate::layer::raid1::{Parameters, NAME};

/// The registry's entry.
pub fn entry() -> Entry {
    volume::<Parameters>(NAME, "every block on every drive")
}
