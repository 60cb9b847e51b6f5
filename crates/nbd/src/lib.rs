//! Simulated drives in real time, as network block devices (NBD).
//!
//! A request of a client becomes a request to a [`headstack_live::live::Live`] system. Its reply is sent when the
//! simulated drive has ended it. Data are kept in a [`headstack_live::store::Store`], exactly.
//!
//! # Scope
//! Fixed newstyle handshake, TLS, simple and structured replies, extended headers, `READ`, `WRITE`, `FLUSH`, `TRIM`,
//! `CACHE`, `WRITE_ZEROES`, `BLOCK_STATUS` with `base:allocation`, `FUA`; any number of connections to one drive; sockets
//! passed by systemd. Not supported: pre-shared keys, `BLOCK_STATUS` of chosen kinds of metadata.
//!
//! # Model
//! A request reaches the drive when all of it has arrived. `TRIM` takes no time: a hard disk has no such command.

#![cfg(target_os = "linux")]

pub mod address;
pub mod connection;
pub mod emulate;
pub mod fuzzing;
pub mod handshake;
pub mod protocol;
pub mod replies;
pub mod server;
pub mod session;
pub mod tls;

use headstack_live::LiveError;
use std::path::PathBuf;
use thiserror::Error;

impl ServeError {
    /// Whether what was asked for is wrong. If not, the system or a file refused it.
    pub fn is_input(&self) -> bool {
        match self {
            ServeError::Live(e) => e.is_input(),
            ServeError::Address { .. } | ServeError::Certificates { .. } => true,
            ServeError::Listen { .. } => false,
        }
    }
}

/// Why a server cannot start, or had to end.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The system cannot be emulated, or had to end.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// An address that is none, or may not be used.
    #[error("nbd: got {got:?}, need {need}")]
    Address {
        /// The text.
        got: String,
        /// What would do.
        need: String,
    },
    /// Certificates cannot be used.
    #[error("tls: {}: got {why}, need PEM of a certificate or key", path.display())]
    Certificates {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The address cannot be listened on.
    #[error("nbd: got {address}: {why}, need one that is free")]
    Listen {
        /// The address.
        address: String,
        /// The system's reason.
        why: String,
    },
}
