//! The layer `raid10` over all drives, or over all layers that the system lists; the workload's devices lie end to end in
//! it.
//!
//! # Model
//! That of the layer of the same name, with its parameters.
//! # Source
//! As the layer.
//! # Validity
//! As the layer.

use super::{volume, Entry};
use crate::layer::raid10::{effective, Parameters, NAME};

/// The registry's entry.
pub fn entry() -> Entry {
    Entry {
        effective,
        ..volume::<Parameters>(NAME, "striped copies: near, far and offset layouts")
    }
}
