//! Tests of the crate from outside, in one program: many would take longer to link than to run.

mod closed_loop;
mod common;
mod contract;
mod controller;
mod decisions;
mod expiry;
mod faulty;
mod feed_forward;
mod learning;
mod learning_tiers;
mod machine;
mod models;
mod parameters;
mod parts;
mod rack;
mod regret;
mod shelf;
mod states;
