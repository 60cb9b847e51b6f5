//! One space striped over the members.
//!
//! # Model
//! As the organisation of the same name.
//! # Source
//! Patterson, Gibson & Katz, "A case for redundant arrays of inexpensive disks (RAID)", SIGMOD 1988.
//! # Validity
//! No redundancy: an error of a member is an error of the request.

use super::volume::choice::ReadPolicy;
use super::volume::copies::{Copies, Single};
use super::volume::Volume;
use super::{Entry, LowerCount};
use crate::organisation::raid0::{striped, Parameters};

/// The registry's entry.
pub fn entry() -> Entry {
    let summary = "striped over all members, no redundancy";
    Entry::new(
        "raid0",
        summary,
        LowerCount::Many,
        |context, p: Parameters| {
            let map = Single(striped(&context.members, &p)?);
            let copies = Copies::new(map, ReadPolicy::First);
            let volume = Volume::new("raid0", Box::new(copies), context.members);
            Ok(Box::new(volume))
        },
    )
    .with_example("stripe_unit = \"64 KiB\"")
}
