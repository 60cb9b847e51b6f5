//! Targets from outside.
#![cfg(target_os = "linux")]

mod damage;
mod files;
mod servers;
mod sim;

use headstack_probe::{Answers, Batch, Pace, Target};

/// Reads of one physical block each.
pub fn reads(target: &mut dyn Target, lba: &[u64], pace: Pace, fua: bool) -> Answers {
    let blocks = vec![target.described().physical_blocks(); lba.len()];
    let batch = Batch::reads(target.described(), lba.to_vec(), blocks, pace, fua).unwrap();
    target.run(&batch, &mut || true).unwrap()
}

/// Each read after the one before.
pub fn one_by_one(target: &mut dyn Target, lba: &[u64], fua: bool) -> Answers {
    reads(target, lba, Pace::Waits(vec![0; lba.len()]), fua)
}
