//! The server as initiators see it.

mod initiator;

mod commands;
mod elements;
mod faults;
mod hostile;
mod limits;
mod load;
mod parts;
mod sessions;
mod world;
mod zones;
