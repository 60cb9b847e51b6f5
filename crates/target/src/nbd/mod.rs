//! Simulated drives in real time, as network block devices (NBD).
//!
//! A request of a client becomes a request to a [`crate::live::Live`] system. Its reply is sent when the
//! simulated drive has ended it. Data are kept in a [`crate::store::Store`], exactly.
//!
//! # Scope
//! Fixed newstyle handshake, TLS, simple and structured replies, extended headers, `READ`, `WRITE`, `FLUSH`, `TRIM`,
//! `CACHE`, `WRITE_ZEROES`, `BLOCK_STATUS` with `base:allocation`, `FUA`; any number of connections to one drive; sockets
//! passed by systemd. Not supported: pre-shared keys, `BLOCK_STATUS` of chosen kinds of metadata.
//!
//! # Model
//! A request reaches the drive when all of it has arrived. `TRIM` takes no time: a hard disk has no such command.

pub mod address;
pub mod connection;
pub mod fuzzing;
pub mod handshake;
pub mod protocol;
pub mod replies;
pub mod server;
pub mod session;
pub mod tls;
