//! What a probe measures with: a target takes reads, and says when each was issued and when it was done.
//!
//! Targets are a simulated drive on a simulated clock ([`sim`]), exports of NBD and iSCSI, and block devices. A probe
//! sees the same of each: what it describes itself as, and times.

#![cfg(target_os = "linux")]

pub mod batch;
mod block;
mod clock;
mod flight;
mod generic;
mod iscsi;
pub mod lateness;
mod nbd;
mod pace;
mod scsi;
pub mod sim;
mod wire;

use headstack_schema::SpecError;
use sha2::{Digest, Sha256};
use std::ops::Range;
use std::path::{Path, PathBuf};
use thiserror::Error;

pub use batch::{Answers, Batch, Pace, Scratch, Status};
pub use scsi::Reply;

/// Why a target cannot be opened or used.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// What was asked for is wrong, or the target is none.
    #[error("{0}")]
    Input(Box<SpecError>),
    /// The target is gone, or answers what is no answer.
    #[error("{0}")]
    Lost(Box<SpecError>),
    /// Somebody asked for the end.
    #[error("probe: got a request to stop, need time")]
    Stopped,
}

impl From<SpecError> for ProbeError {
    fn from(error: SpecError) -> ProbeError {
        ProbeError::Input(error.into())
    }
}

/// What was got is no target.
pub(crate) fn no_target(got: impl ToString, need: &str) -> ProbeError {
    SpecError::new("target", got.to_string(), need).into()
}

/// The target is no more, or is not what it should be.
pub(crate) fn lost(got: impl ToString, need: &str) -> ProbeError {
    ProbeError::Lost(SpecError::new("target", got.to_string(), need).into())
}

/// What kind of target it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A simulated drive.
    Sim,
    /// A block device of this machine.
    Block,
    /// An export of iSCSI.
    Iscsi,
    /// An export of NBD.
    Nbd,
}

impl Kind {
    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Sim => "sim",
            Kind::Block => "block",
            Kind::Iscsi => "iscsi",
            Kind::Nbd => "nbd",
        }
    }
}

/// What a target says about itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    /// Its kind.
    pub kind: Kind,
    /// Logical blocks.
    pub blocks: u64,
    /// Bytes of a logical block.
    pub block_bytes: u32,
    /// Bytes of a physical block.
    pub physical_bytes: u32,
    /// Its model; empty if it does not say.
    pub model: String,
    /// Version of its firmware; empty if it does not say.
    pub firmware: String,
    /// First 16 hexadecimal digits of the SHA-256 of its serial number; empty if it has none.
    pub serial_sha256: String,
    /// Whether it says that it rotates.
    pub rotational: Option<bool>,
    /// Whether reads can by-pass its buffer.
    pub fua: bool,
    /// Commands that it holds at once.
    pub queue_depth: Option<u32>,
    /// The parts that different actuators serve, in blocks, as it declares them; none if it declares none.
    pub ranges: Vec<Range<u64>>,
    /// What kind of zones it has.
    pub zoned: Option<String>,
    /// Whether it or a part of it is mounted or otherwise held.
    pub mounted: bool,
    /// What makes its times less certain, in words.
    pub caveats: Vec<String>,
}

impl Described {
    /// Blocks of a read of one physical block.
    pub fn physical_blocks(&self) -> u32 {
        (self.physical_bytes / self.block_bytes).max(1)
    }
}

/// The digits of a serial number that results may have.
pub fn hashed(serial: &str) -> String {
    let digest = Sha256::digest(serial.trim().as_bytes());
    digest[..8].iter().map(|b| format!("{b:02x}")).collect()
}

/// Something that can be probed. Times are nanoseconds since it was opened.
pub trait Target: Send {
    /// What it says about itself.
    fn described(&self) -> &Described;
    /// The time.
    fn now_ns(&self) -> u64;
    /// Waits.
    ///
    /// # Errors
    /// [`ProbeError::Stopped`], if `goes_on` says so; a time past the end of the simulated clock.
    fn sleep(&mut self, ns: u64, goes_on: &mut dyn FnMut() -> bool) -> Result<(), ProbeError>;
    /// Issues commands and waits for all of them. `goes_on` is asked now and then whether to go on.
    ///
    /// # Errors
    /// The target is gone, or `goes_on` said no.
    fn run(&mut self, batch: &Batch, goes_on: &mut dyn FnMut() -> bool) -> Result<Answers, ProbeError>;
    /// What some blocks contain, at most [`MOST_FETCHED`] bytes; `None` if they cannot be read.
    ///
    /// # Errors
    /// The target is gone.
    fn fetch(&mut self, lba: u64, blocks: u32) -> Result<Option<Vec<u8>>, ProbeError>;
    /// Carries out a SCSI command that sends data or asks for so many bytes; `None` if the target takes none.
    ///
    /// # Errors
    /// The target is gone.
    fn command(&mut self, _cdb: [u8; 16], _data: &[u8], _bytes: u32) -> Result<Option<Reply>, ProbeError> {
        Ok(None)
    }
    /// Seconds idle, seeking, waiting for a sector and transferring, and joules, since it was opened; `None` of one that is
    /// not simulated.
    fn energy(&mut self) -> Option<[f64; 5]> {
        None
    }
    /// The drive as it is, in the form of a drive's file; `None` for one that is not simulated.
    fn truth(&self) -> Option<String> {
        None
    }
}

/// Most bytes of [`Target::fetch`].
pub const MOST_FETCHED: usize = 1 << 16;

/// How a target is opened.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Folders with drives that `sim:` finds by name.
    pub drive_dirs: Vec<PathBuf>,
    /// What disturbs a simulated drive.
    pub sim: sim::Disturbance,
    /// Whether blocks may be written.
    pub allow_writes: bool,
}

/// Opens a target: `/dev/NAME`, `nbd://HOST[:PORT][/EXPORT]`, `nbd+unix:///[EXPORT]?socket=PATH`,
/// `iscsi://HOST[:PORT]/TARGET/LUN`, `sim:NAME`, `sim:FILE.toml`.
///
/// # Errors
/// A name that is none, or a target that cannot be probed, with the reason.
pub fn open(name: &str, options: &Options) -> Result<Box<dyn Target>, ProbeError> {
    let scheme = name.split_once(':').map_or("", |(scheme, _)| scheme);
    let path = Path::new(name);
    Ok(match scheme {
        "sim" => Box::new(sim::Sim::open(&name["sim:".len()..], options)?),
        "nbd" | "nbd+unix" | "nbds" | "nbds+unix" => Box::new(nbd::open(name, options.allow_writes)?),
        "iscsi" => Box::new(iscsi::open(name)?),
        _ if path.exists() || name.starts_with('/') => Box::new(block::open(path, options.allow_writes)?),
        _ => {
            let need = "/dev/NAME, nbd://HOST/EXPORT, iscsi://HOST:PORT/TARGET/LUN, sim:NAME or sim:FILE.toml";
            return Err(no_target(format!("{name:?}"), need));
        }
    })
}
