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
use crate::layer;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    summary: "every block on every drive",
    parameters: &|table| (layer::raid1::ENTRY.parameters)(table, &[]),
    ..volume(layer::raid1::ENTRY.name)
};
