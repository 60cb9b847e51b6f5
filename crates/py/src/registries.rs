//! What drives, systems and traces can name: the one home of these lists in the package.

use headstack_drive::Models;
use headstack_experiment::Inputs;
use std::path::PathBuf;

/// The inputs of a run, with all lists; drives are searched in these folders.
pub fn inputs(drive_dirs: Vec<PathBuf>) -> Inputs<'static> {
    Inputs::new(drive_dirs)
}

/// The models that drives can name.
pub fn models() -> Models {
    inputs(Vec::new()).models
}
