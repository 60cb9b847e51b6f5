//! Why a command breaks the rules of zones, and how one under a duration limit ended.

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
        self.described().0
    }

    /// The name in results: that of the standard in small letters.
    pub fn name(self) -> &'static str {
        self.described().1
    }

    fn described(self) -> ((u8, u8, u8), &'static str) {
        const ILLEGAL_REQUEST: u8 = 0x5;
        const DATA_PROTECT: u8 = 0x7;
        match self {
            Sense::InvalidFieldInCdb => ((ILLEGAL_REQUEST, 0x24, 0x00), "invalid_field_in_cdb"),
            Sense::UnalignedWriteCommand => ((ILLEGAL_REQUEST, 0x21, 0x04), "unaligned_write_command"),
            Sense::WriteBoundaryViolation => ((ILLEGAL_REQUEST, 0x21, 0x05), "write_boundary_violation"),
            Sense::AttemptToReadInvalidData => ((ILLEGAL_REQUEST, 0x21, 0x06), "attempt_to_read_invalid_data"),
            Sense::ReadBoundaryViolation => ((ILLEGAL_REQUEST, 0x21, 0x07), "read_boundary_violation"),
            Sense::InsufficientZoneResources => ((DATA_PROTECT, 0x55, 0x0E), "insufficient_zone_resources"),
            Sense::ZoneIsReadOnly => ((DATA_PROTECT, 0x27, 0x08), "zone_is_read_only"),
            Sense::ZoneIsOffline => ((DATA_PROTECT, 0x2C, 0x0E), "zone_is_offline"),
        }
    }
}

/// How a command with a duration limit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum LimitEnd {
    /// It had none, or the drive does not heed limits.
    #[default]
    Unlimited,
    /// It met its limit.
    Met,
    /// It missed one of its times and was completed all the same.
    Missed,
    /// It missed one of its times and was completed without data.
    Unavailable,
    /// It missed one of its times and was aborted before its service began.
    AbortedBefore,
    /// It missed its active time and was aborted.
    AbortedDuring,
}

impl LimitEnd {
    /// Whether the host gets no data. Linux reports all of these as `ETIME`.
    #[inline]
    pub fn fails(self) -> bool {
        self >= LimitEnd::Unavailable
    }

    /// Whether a time was missed.
    #[inline]
    pub fn is_missed(self) -> bool {
        self >= LimitEnd::Missed
    }

    /// Sense key, additional sense code and its qualifier, if the drive reports any. The status of
    /// [`LimitEnd::Unavailable`] is GOOD, that of the others CHECK CONDITION.
    pub fn code(self) -> Option<(u8, u8, u8)> {
        const ABORTED_COMMAND: u8 = 0xb;
        const COMPLETED: u8 = 0xf;
        match self {
            LimitEnd::Unlimited | LimitEnd::Met | LimitEnd::Missed => None,
            LimitEnd::Unavailable => Some((COMPLETED, 0x55, 0x0a)),
            LimitEnd::AbortedBefore => Some((ABORTED_COMMAND, 0x2e, 0x01)),
            LimitEnd::AbortedDuring => Some((ABORTED_COMMAND, 0x2e, 0x02)),
        }
    }

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            LimitEnd::Unlimited => "unlimited",
            LimitEnd::Met => "met",
            LimitEnd::Missed => "missed",
            LimitEnd::Unavailable => "data_currently_unavailable",
            LimitEnd::AbortedBefore => "command_timeout_before_processing",
            LimitEnd::AbortedDuring => "command_timeout_during_processing",
        }
    }
}
