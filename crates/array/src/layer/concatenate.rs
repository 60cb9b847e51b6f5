//! One space over the members, laid end to end.
//!
//! # Model
//! As the organisation of the same name.
//! # Source
//! Linux md, `linear`.
//! # Validity
//! No redundancy: an error of a member is an error of the request.

use super::volume::choice::ReadPolicy;
use super::volume::copies::{Copies, Single};
use super::volume::Volume;
use super::{Entry, LowerCount};
use crate::entry::NoParameters;
use crate::organisation::concatenate::end_to_end;

/// The registry's entry.
pub fn entry() -> Entry {
    let summary = "one space over all members, end to end";
    Entry::new(
        "concatenate",
        summary,
        LowerCount::Many,
        |context, _: NoParameters| {
            let map = Single(end_to_end(&context.members));
            let copies = Copies::new(map, ReadPolicy::First);
            let volume = Volume::new("concatenate", Box::new(copies), context.members);
            Ok(Box::new(volume))
        },
    )
}
