//! Tests of single parts of the crate.

mod clients;
mod counters;
mod energy;
mod history;
mod record;
mod store;
