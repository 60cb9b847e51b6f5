//! What an operator is told of a group.

use headstack_units::Watts;

/// What an operator is told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum State {
    /// There is no cap.
    Uncapped,
    /// There is no drive.
    NoDrives,
    /// The power is at most the cap.
    Holding,
    /// The power is above the cap, not yet for long.
    Settling,
    /// The power is above the cap, and a drive does not take its settings.
    DriveRefuses,
    /// The power has been above the cap for long, by so much now, and the policy tries nothing more.
    Unreachable {
        /// Watts above the cap.
        excess: Watts,
    },
    /// The power is above the cap, and the last change that was to lower it has raised it.
    WrongSign,
    /// The power is at most the cap, because the rate of requests is limited.
    Limiting,
    /// No reading for a period, or none yet; settings stay.
    MeterSilent,
    /// No reading for longer: the drives have the safe setting.
    MeterLost,
}

impl State {
    /// All names, for metrics.
    pub const NAMES: [&'static str; 10] = [
        "uncapped",
        "no-drives",
        "holding",
        "settling",
        "drive-refuses",
        "unreachable",
        "wrong-sign",
        "limiting",
        "meter-silent",
        "meter-lost",
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            State::Uncapped => "uncapped",
            State::NoDrives => "no-drives",
            State::Holding => "holding",
            State::Settling => "settling",
            State::DriveRefuses => "drive-refuses",
            State::Unreachable { .. } => "unreachable",
            State::WrongSign => "wrong-sign",
            State::Limiting => "limiting",
            State::MeterSilent => "meter-silent",
            State::MeterLost => "meter-lost",
        }
    }
}
