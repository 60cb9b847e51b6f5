//! Tests of single parts of the crate.

mod command;
mod guard;
mod learning;
mod policy;
mod ultrastar_7k4000;
