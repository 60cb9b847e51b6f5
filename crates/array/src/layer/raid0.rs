//! One space striped over the members.
//!
//! # Model
//! As the organisation of the same name.
//! # Source
//! Patterson, Gibson & Katz, "A case for redundant arrays of inexpensive disks (RAID)", SIGMOD 1988.
//! # Validity
//! No redundancy: an error of a member is an error of the request.

use super::below::LowerLayers;
use super::volume::copies::{Copies, Single};
use super::volume::{choice, Volume};
use super::{Context, Entry, LowerCount};
use crate::organisation::{self, raid0::striped};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "raid0",
    summary: "striped over all members, no redundancy",
    example: "stripe_unit = \"64 KiB\"",
    lower: LowerCount::Many,
    parameters: &|table, _| (organisation::raid0::ENTRY.parameters)(table),
    build: &|context| {
        let Context { below, params, .. } = context;
        let below = LowerLayers::new(below);
        let map = Single(striped(&below.member_blocks(), &params)?);
        let copies = Copies::new(map, choice::find("first")?);
        Ok(Box::new(Volume::new(ENTRY.name, Box::new(copies), below)))
    },
};
