//! Layers against oracles, closed forms and sequences worked by hand.

mod host_queue;
mod link;
mod mock;
mod noise;
mod shadow;
mod volumes;
