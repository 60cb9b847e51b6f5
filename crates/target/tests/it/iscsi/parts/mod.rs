//! Tests of single parts of the crate.

mod chap;
mod parameters;
mod pdu;
mod room;
mod text;
