//! Why a command breaks the rules of zones.

/// An error of a command to a zone, by sense key and additional sense code of the standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Sense {
    /// The zone is full, or the command names no zone with a write pointer.
    InvalidFieldInCdb = 1,
    /// A write does not begin at the write pointer, or ends inside a physical sector.
    UnalignedWriteCommand,
    /// A write reaches into another zone.
    WriteBoundaryViolation,
    /// A read reaches past the write pointer, or from conventional to other zones.
    AttemptToReadInvalidData,
    /// A read reaches into another zone.
    ReadBoundaryViolation,
    /// No zone may be opened, because too many are explicitly opened.
    InsufficientZoneResources,
    /// The zone has failed and can only be read.
    ZoneIsReadOnly,
    /// The zone has failed.
    ZoneIsOffline,
}

impl Sense {
    /// All of them.
    pub const ALL: [Sense; 8] = [
        Sense::InvalidFieldInCdb,
        Sense::UnalignedWriteCommand,
        Sense::WriteBoundaryViolation,
        Sense::AttemptToReadInvalidData,
        Sense::ReadBoundaryViolation,
        Sense::InsufficientZoneResources,
        Sense::ZoneIsReadOnly,
        Sense::ZoneIsOffline,
    ];

    /// Sense key, additional sense code, and its qualifier.
    pub fn code(self) -> (u8, u8, u8) {
        const ILLEGAL_REQUEST: u8 = 0x5;
        const DATA_PROTECT: u8 = 0x7;
        match self {
            Sense::InvalidFieldInCdb => (ILLEGAL_REQUEST, 0x24, 0x00),
            Sense::UnalignedWriteCommand => (ILLEGAL_REQUEST, 0x21, 0x04),
            Sense::WriteBoundaryViolation => (ILLEGAL_REQUEST, 0x21, 0x05),
            Sense::AttemptToReadInvalidData => (ILLEGAL_REQUEST, 0x21, 0x06),
            Sense::ReadBoundaryViolation => (ILLEGAL_REQUEST, 0x21, 0x07),
            Sense::InsufficientZoneResources => (DATA_PROTECT, 0x55, 0x0E),
            Sense::ZoneIsReadOnly => (DATA_PROTECT, 0x27, 0x08),
            Sense::ZoneIsOffline => (DATA_PROTECT, 0x2C, 0x0E),
        }
    }

    /// The name in results: that of the standard in small letters.
    pub fn name(self) -> &'static str {
        match self {
            Sense::InvalidFieldInCdb => "invalid_field_in_cdb",
            Sense::UnalignedWriteCommand => "unaligned_write_command",
            Sense::WriteBoundaryViolation => "write_boundary_violation",
            Sense::AttemptToReadInvalidData => "attempt_to_read_invalid_data",
            Sense::ReadBoundaryViolation => "read_boundary_violation",
            Sense::InsufficientZoneResources => "insufficient_zone_resources",
            Sense::ZoneIsReadOnly => "zone_is_read_only",
            Sense::ZoneIsOffline => "zone_is_offline",
        }
    }
}
