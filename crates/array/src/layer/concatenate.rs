//! One space over the members, laid end to end.
//!
//! # Model
//! As the organisation of the same name.
//! # Source
//! Linux md, `linear`.
//! # Validity
//! No redundancy: an error of a member is an error of the request.

use super::below::LowerLayers;
use super::volume::copies::{Copies, Single};
use super::volume::{choice, Volume};
use super::{Context, Entry, LowerCount};
use crate::organisation::{self, concatenate::end_to_end};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "concatenate",
    summary: "one space over all members, end to end",
    example: "",
    lower: LowerCount::Many,
    parameters: &|table, _| (organisation::concatenate::ENTRY.parameters)(table),
    build: &|context| {
        let Context { below, params, .. } = context;
        let below = LowerLayers::new(below);
        let map = Single(end_to_end(&below.member_blocks(), &params)?);
        let copies = Copies::new(map, choice::find("first")?);
        Ok(Box::new(Volume::new(ENTRY.name, Box::new(copies), below)))
    },
};
