//! Layers against oracles, closed forms and sequences worked out by hand.

mod barrier;
mod changes;
mod contract;
mod experiments;
mod fault;
mod host_queue;
mod link;
mod mock;
mod rebuild;
mod shadow;
mod submitters;
mod volumes;
mod world;
