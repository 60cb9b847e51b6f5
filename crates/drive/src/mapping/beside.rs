//! What stands beside the parameters of a mapping.

/// The keys of `[mapping]` that are not parameters of the mapping.
pub(super) const BESIDE: &[&str] = &["model"];
