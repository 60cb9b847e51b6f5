//! Tests of single parts of the crate.

mod alignment;
mod classes;
mod info;
mod ioprio;
mod jobs;
mod reader;
mod synthetic;
mod table;
mod transform;
