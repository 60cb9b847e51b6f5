//! The daemon's parts on a drive that behaves as Linux does, and on files.
#![cfg(target_os = "linux")]

mod config;
mod faults;
mod group;
mod kernel;
mod learned;
mod operator;
mod originals;
mod others;
mod parts;
mod rack;
mod shelf;
mod state;
