//! Tests of single parts of the crate.

mod buffer;
mod compressed_seek_table;
mod contract;
mod cost;
mod counters;
mod described;
mod drive;
mod fixtures;
mod join;
mod layout;
mod limits;
mod mapping;
mod parallelism;
mod power;
mod queue;
mod recent_mechanics;
mod scheduler;
mod seek;
mod service;
mod stream;
