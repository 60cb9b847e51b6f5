//! Simulated drives in real time, as network block devices (NBD).
//!
//! A request of a client becomes a request to the very layers and drives that the simulator runs. Its reply is sent
//! when the simulated drive has ended it. Data are kept in a [`store::Store`], exactly.
//!
//! # Scope
//! Fixed newstyle handshake, simple and structured replies, `READ`, `WRITE`, `FLUSH`, `TRIM`, `WRITE_ZEROES`,
//! `BLOCK_STATUS` with `base:allocation`, `FUA`; any number of connections to one drive. Not supported: TLS, extended
//! headers, faults and changes while it runs, capping.
//!
//! # Model
//! - All clients share the drive: its queue, its buffer, its arms. Connecting and leaving change nothing.
//! - A request reaches the drive when all of it has arrived. `TRIM` takes no time: a hard disk has no such command.
//! - A request covers the 512-byte blocks in which its bytes lie.
//! - Bytes are in the store when the reply is sent, so what is acknowledged survives the end of the process, not
//!   the end of the machine.
//! - One thread serves everything. How late each reply was is measured ([`server::Served::lateness_ns`]).

#![cfg(target_os = "linux")]

pub mod address;
pub mod clock;
pub mod devices;
pub mod emulate;
pub mod handshake;
pub mod protocol;
pub mod record;
pub mod server;
pub mod session;
pub mod store;

use headstack_schema::SpecError;
use std::path::PathBuf;
use thiserror::Error;

/// Why a server cannot start, or had to end.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The drive or the experiment is wrong.
    #[error(transparent)]
    Input(#[from] SpecError),
    /// An argument is wrong.
    #[error("{0}")]
    Argument(String),
    /// An address that is none, or may not be used.
    #[error("address: got {got:?}, need {need}")]
    Address {
        /// The text.
        got: String,
        /// What would do.
        need: String,
    },
    /// The address cannot be listened on.
    #[error("address: got {address}: {why}, need one that is free")]
    Listen {
        /// The address.
        address: String,
        /// The system's reason.
        why: String,
    },
    /// The data cannot be kept there.
    #[error("store: {}: got {why}, need a file that can be read and written", path.display())]
    Store {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        why: String,
    },
    /// The record cannot be written.
    #[error("record: {}: got {why}, need a file that can be written", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        why: String,
    },
    /// The system refuses a socket or a poll.
    #[error("server: {0}")]
    System(#[from] std::io::Error),
}
