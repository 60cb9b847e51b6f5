//! Tests of single parts of the crate.

mod capping;
mod crew;
mod document;
mod dotted;
mod expected;
mod experiment;
mod held;
mod layer;
mod memory_guard;
mod organisation;
mod overload;
mod overrides;
mod provenance;
mod simulate;
mod timetable;
mod warnings;
mod window;
