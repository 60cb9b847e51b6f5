//! Simulated drives in real time, as SCSI disks over iSCSI.
//!
//! Commands of initiators go to the units of [`headstack_scsi`]. What these have a drive do becomes requests to a
//! [`crate::live::Live`] system, and the answer is sent when the simulated drive has ended them.
//!
//! # Scope
//! Discovery (SendTargets), several targets, units and sessions, digests, CHAP, immediate and unsolicited data, R2T, task
//! management, error recovery level 0, one connection for each session. Not supported: TLS and IPsec, iSNS, extensions
//! for RDMA.
//!
//! # Source
//! RFC 7143.

pub mod chap;
pub mod connection;
mod elements;
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
