//! Simulated drives in real time, as SCSI disks over iSCSI.
//!
//! Commands of initiators go to the units of [`headstack_scsi`]. What these have a drive do becomes requests to a
//! [`headstack_live::live::Live`] system, and the answer is sent when the simulated drive has ended them.
//!
//! # Scope
//! Discovery (SendTargets), several targets, units and sessions, digests, CHAP, immediate and unsolicited data, R2T, task
//! management, error recovery level 0, one connection for each session. Not supported: TLS and IPsec, iSNS, extensions
//! for RDMA.
//!
//! # Source
//! RFC 7143.

#![cfg(target_os = "linux")]

pub mod chap;
pub mod connection;
mod elements;
pub mod emulate;
pub mod fuzzing;
pub mod login;
pub mod parameters;
pub mod pdu;
pub mod replies;
pub mod room;
pub mod server;
pub mod session;
pub mod shelf;
pub mod text;

use headstack_live::LiveError;
use thiserror::Error;

/// Why a server cannot start, or had to end.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The system cannot be emulated, or had to end.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// NBD cannot be served.
    #[error(transparent)]
    Nbd(Box<headstack_nbd::ServeError>),
    /// An argument is wrong.
    #[error("{0}")]
    Argument(String),
    /// An address that is none, or may not be used.
    #[error("iscsi address: got {got:?}, need {need}")]
    Address {
        /// The text.
        got: String,
        /// What would do.
        need: String,
    },
    /// The address cannot be listened on.
    #[error("iscsi address: got {address}: {why}, need one that is free")]
    Listen {
        /// The address.
        address: String,
        /// The system's reason.
        why: String,
    },
}

impl ServeError {
    /// Whether what was asked for is wrong. If not, the system or a file refused it.
    pub fn is_input(&self) -> bool {
        match self {
            ServeError::Live(e) => e.is_input(),
            ServeError::Nbd(e) => e.is_input(),
            ServeError::Address { .. } | ServeError::Argument(_) => true,
            ServeError::Listen { .. } => false,
        }
    }
}

impl From<headstack_nbd::ServeError> for ServeError {
    fn from(error: headstack_nbd::ServeError) -> ServeError {
        ServeError::Nbd(Box::new(error))
    }
}
