//! Write buffers that were full, of a size that nobody has published.

use super::{about, words, Ended};
use headstack_engine::{Check, Warning};

pub const CHECK: Check = Check {
    name: "full-write-buffers",
    summary: "at least one request in 1,000 was a write that waited for room in a drive's buffer, and how much room there is \
              was chosen",
    way_out: "compare with more and with less room, cache = { dirty_limit = \"64 MiB\" }; makers publish the size of the \
              buffer, not how much of it may wait for the medium",
};

pub fn find(run: &Ended, tell: &mut dyn FnMut(Warning)) {
    for (_, _, result) in run.results() {
        let drives = result.drives.iter().zip(&result.facts.drives);
        let drives: Vec<_> = drives
            .filter_map(|(drive, facts)| Some((drive, facts.assumed_room?)))
            .filter(|(drive, _)| drive.counters.n_full_buffer_writes > 0)
            .collect();
        let waited: u64 = drives.iter().map(|d| d.0.counters.n_full_buffer_writes).sum();
        let Some((drive, room)) = drives.first().filter(|_| waited * 1000 >= result.n_requests) else {
            continue;
        };
        let text = format!(
            "{} writes waited for room in the buffer; the room, {room} ({}), is an assumption that decides their \
             response times",
            words::count(waited),
            drive.name
        );
        tell(about(&CHECK, result, text));
    }
}
