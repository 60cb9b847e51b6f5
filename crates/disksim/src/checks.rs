//! Checks of an import: parameters that are not simulated as the file gives them.

use headstack_engine::Check;

/// A value that is impossible.
pub const TOLERATED: Check = Check {
    name: "tolerated-value",
    summary: "a DiskSim parameter file has an impossible value that DiskSim accepts; another is used instead",
    way_out: "correct the value in the file, at the line that the warning names",
};

/// A parameter without a counterpart.
pub const NOT_MODELLED: Check = Check {
    name: "not-modelled",
    summary: "a parameter of a DiskSim system has no counterpart and is not simulated",
    way_out: "remove the parameter from the file, or take the difference into account",
};

/// Every check of an import.
pub const CHECKS: &[Check] = &[TOLERATED, NOT_MODELLED];
