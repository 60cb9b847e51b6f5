//! Tests of the crate from outside, in one program: many would take longer to link than to run.
#![cfg(target_os = "linux")]

mod iscsi;
mod nbd;
mod parts;
