//! Systems that complete writes at different places.

use super::{words, Ended};
use crate::result::SystemResult;
use headstack_engine::{Check, Warning};

pub const CHECK: Check = Check {
    name: "unlike-write-caches",
    summary: "some of the systems compared complete writes in the drives' buffers (write-back), others on the medium \
              (write-through)",
    way_out: "give all systems one policy, cache = { write_back = true } or false; or compare reads only",
};

pub fn find(run: &Ended, tell: &mut dyn FnMut(Warning)) {
    let n = run.experiment.workload.len();
    for (w, workload) in run.experiment.workload.iter().enumerate() {
        let of_one: Vec<&SystemResult> = run.systems.iter().skip(w).step_by(n).collect();
        let names = |back: bool| {
            let alike = of_one.iter().filter(move |s| completes_in_buffer(s) == Some(back));
            let names: Vec<&str> = alike.map(|s| s.name.as_str()).collect();
            names
        };
        let (back, through) = (names(true), names(false));
        if back.is_empty() || through.is_empty() {
            continue;
        }
        let text = format!(
            "writes complete in the buffer in {} (write-back), and on the medium in {} (write-through): their response \
             times of writes do not compare",
            words::names(back),
            words::names(through)
        );
        tell(CHECK.warn(text).on(&workload.name));
    }
}

/// Whether all drives of a system complete writes in their buffers, or none does; `None` where drives differ, and
/// without writes that may.
fn completes_in_buffer(result: &SystemResult) -> Option<bool> {
    if result.facts.alignment.plain_writes == 0 {
        return None;
    }
    let mut drives = result.facts.drives.iter().map(|d| d.is_write_back);
    let first = drives.next()?;
    drives.all(|other| other == first).then_some(first)
}
