//! Options of a drive that belong to the run.

use headstack_units::Turn;

/// Options of a drive that belong to the run, not to its description.
#[derive(Debug, Clone, Copy, Default)]
pub struct DriveOptions {
    /// Imitate DiskSim 4.0: the switches that it ignores (free reads, read and write on arrival) stay off,
    /// and stopping read-ahead adds to the command overhead.
    pub compat_disksim_40: bool,
    /// Seed of everything that the drive draws at random: failure times, phases of further spindles.
    pub seed: u64,
    /// Angle under the heads of the first stack at time zero.
    pub start_phase: Turn,
    /// All stacks start with the phase of the first one.
    pub synchronized_spindles: bool,
}
