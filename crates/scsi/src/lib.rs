//! The command set of a disk: SPC, SBC and ZBC, without sockets and without a drive.
//!
//! A [`unit::Unit`] is a logical unit. It takes a command in two steps. [`unit::Unit::begin`] decides whether the
//! command can be served and how many bytes of data it takes; [`unit::Unit::execute`] gets these bytes and returns the
//! answer, or [`work::Work`] for the drive. Whoever carries out the work calls [`unit::Unit::worked`] at its end and gets
//! the answer then.
//!
//! # Scope
//! [`commands::TABLE`] is the list of commands; what is not in it is refused, and REPORT SUPPORTED OPERATION CODES lists
//! what is in it. Each command has the bits of its descriptor block that mean something, and any other bit that is set
//! is an error that names it.
//!
//! # Source
//! SPC-5, SBC-4, ZBC-2 and SAM-5 of INCITS T10.
//!
//! # Validity
//! Logical blocks have 512 bytes. A modelled drive has no protection information, no provisioning (UNMAP) and no
//! atomic commands (COMPARE AND WRITE): these are refused.

/// Declares structures that are bytes of a protocol, each field in its place: `structures! { /// What it is. pub Name {
/// opcode: u8, length: U16 } }`. Fields can be seen wherever their structure can.
#[macro_export]
macro_rules! structures {
    ($($(#[$doc:meta])* $vis:vis $name:ident { $($field:ident: $kind:ty),+ $(,)? })+) => { $(
        $(#[$doc])*
        #[allow(missing_docs)]
        #[derive(zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::KnownLayout, zerocopy::Immutable)]
        #[derive(zerocopy::Unaligned, Debug, Clone, Copy)]
        #[repr(C)]
        $vis struct $name {
            $($vis $field: $kind),+
        }
    )+ };
}

pub mod attention;
pub mod cdb;
pub mod commands;
pub mod disk;
#[doc(hidden)]
pub mod limits;
pub mod pages;
pub mod reservation;
pub mod sense;
pub mod status;
pub mod tasks;
pub mod unit;
pub mod work;

/// Bytes of a logical block.
pub const BLOCK: u32 = 512;
/// Most blocks of a command that transfers or compares data: VPD page B0h says so.
pub const MOST_BLOCKS: u32 = 32 << 11;
/// Most blocks that WRITE SAME writes.
pub const MOST_SAME_BLOCKS: u32 = 0xffff;
