//! The server from outside: clients of our own, written from the protocol's text, over Unix sockets.
mod client;
mod control;
mod data;
mod extended;
mod faults;
mod flood;
mod handshake;
mod hostile;
mod parts;
mod process;
mod times;
mod tls;
