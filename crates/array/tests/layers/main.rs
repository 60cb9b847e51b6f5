//! Layers against oracles, closed forms and sequences worked out by hand.

mod changes;
mod contract;
mod experiments;
mod host_queue;
mod link;
mod mock;
#[path = "../common/records.rs"]
mod records;
mod shadow;
mod volumes;
mod world;
