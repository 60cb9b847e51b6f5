//! The server as initiators see it.

#![cfg(target_os = "linux")]

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
