//! A drive as the power capping controller finds it.

use headstack_drive::power::conditions::Condition;
use headstack_drive::Drive;
use headstack_units::Span;

/// The settings of one drive: the member of the simulation that holds it, and the paths to the layers that have the
/// settings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ControlledDrive {
    /// Path to the drive itself.
    pub drive: Vec<u32>,
    /// Path to the host queue that serves only this drive, with its places and its depth.
    pub queue: Option<(Vec<u32>, u32, u32)>,
    /// Time from a read's arrival in that queue to its deadline, if its elevator has deadlines.
    pub read_expire: Option<Span>,
    /// Path to the throttle that serves only this drive.
    pub throttle: Option<Vec<u32>>,
    /// Arm assemblies that can move at once.
    pub arms: u32,
    /// The low-power conditions of the drive.
    pub conditions: Vec<Condition>,
}

impl ControlledDrive {
    /// The same paths, with what this drive has.
    pub fn with(self, drive: &Drive) -> ControlledDrive {
        let low = Condition::LOW.into_iter();
        let conditions = low.filter(|c| drive.design.conditions().has(*c)).collect();
        ControlledDrive { arms: drive.most_arms_in_motion(), conditions, ..self }
    }
}
