//! Simulated drives in real time: clock, data, times, and the loop in which network block devices ([`nbd`]) and SCSI disks
//! ([`iscsi`]) serve them.
//!
//! A [`live::Live`] is a system: the very layers and drives that the simulator runs, behind a clock, with their data
//! in [`store::Store`]s. It takes requests and gives completions when the simulated drive has ended them. Whoever
//! speaks to clients is a [`front_end::FrontEnd`]; several may serve one system at once. [`front_end::serve`] is the
//! loop: sockets of all front ends, devices and clock, in one thread.
//!
//! # Model
//! - All clients share the drive: its queue, its buffer, its arms. Connecting and leaving change nothing.
//! - A request covers the 512-byte blocks in which its bytes lie.
//! - What is written is in the store when its request has ended well, before that is told: what is refused changes
//!   nothing, and what is acknowledged survives the end of the process, not the end of the machine. Where power may be
//!   lost, what has not reached the medium survives it only if the process ends by itself.
//! - How late each completion was handed to its client is measured ([`counters::Counters`]).

#![cfg(target_os = "linux")]

pub mod arguments;
pub mod clients;
pub mod clock;
pub mod content;
pub mod control;
pub mod counters;
pub mod devices;
pub mod emulate;
pub mod energy;
pub mod extents;
pub mod files;
pub mod front_end;
pub mod fuse;
pub mod history;
pub mod iscsi;
pub mod live;
pub mod metrics;
pub mod nbd;
pub mod open;
pub mod power;
pub mod process;
pub mod record;
pub mod remake;
pub mod socket;
pub mod store;

use headstack_schema::SpecError;
use std::path::PathBuf;
use thiserror::Error;

/// Why a server cannot start, or had to end.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum TargetError {
    /// The drive or the experiment is wrong.
    #[error(transparent)]
    Input(#[from] SpecError),
    /// An argument is wrong.
    #[error("{0}")]
    Argument(String),
    /// The data cannot be kept there.
    #[error("store: {}: got {why}, need a file that can be read and written", path.display())]
    Store { path: PathBuf, why: String },
    /// The record cannot be written.
    #[error("record: {}: got {why}, need a file that can be written", path.display())]
    Record { path: PathBuf, why: String },
    /// The control directory cannot be shown there.
    #[error("control: {}: got {why}, need an empty folder and FUSE", path.display())]
    Control { path: PathBuf, why: String },
    /// An address that is none, or may not be used.
    #[error("{protocol}: got {got:?}, need {need}")]
    Address { protocol: &'static str, got: String, need: String },
    /// The address cannot be listened on.
    #[error("{protocol}: got {address}: {why}, need one that is free")]
    Listen { protocol: &'static str, address: String, why: String },
    /// Certificates cannot be used.
    #[error("tls: {}: got {why}, need PEM of a certificate or key", path.display())]
    Certificates { path: PathBuf, why: String },
    /// The system refuses a socket or a poll.
    #[error("server: {0}")]
    System(#[from] std::io::Error),
}

impl TargetError {
    /// Whether what was asked for is wrong. If not, the system or a file refused it.
    pub fn is_input(&self) -> bool {
        matches!(
            self,
            TargetError::Input(_)
                | TargetError::Argument(_)
                | TargetError::Address { .. }
                | TargetError::Certificates { .. }
        )
    }
}
