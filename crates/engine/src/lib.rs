//! What simulations share: named random streams.

pub mod random;
