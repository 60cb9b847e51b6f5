//! How commands end, and what reservations do to them.

/// Status of a command. The numbers are those of the standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Status {
    /// It was carried out.
    Good = 0x00,
    /// Sense data say why not.
    CheckCondition = 0x02,
    /// The blocks fit into the buffer (PRE-FETCH).
    ConditionMet = 0x04,
    /// The unit is busy.
    Busy = 0x08,
    /// Another initiator has reserved the unit.
    ReservationConflict = 0x18,
    /// The drive has no place for the command.
    TaskSetFull = 0x28,
}

/// What a reservation of another initiator does to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Nothing.
    Free,
    /// Nothing while others may read; also a reservation with RESERVE refuses it.
    Reads,
    /// It is refused.
    Writes,
    /// As `Free`, but a reservation with RESERVE refuses it.
    Status,
}
