//! Tests of the crate from outside, in one program: many would take longer to link than to run.

mod apart;
mod capping;
mod change;
mod classes;
mod layers;
mod parts;
mod random;
mod records;
mod registries;
mod run;
mod simulate;
