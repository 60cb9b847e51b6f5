//! Closed-loop replay of a measured trace: one request at a time, with the measured pauses.
//!
//! DiskSim's validation traces are replayed in this way: the first request is issued at time 0, the next
//! one at `completion(i) + think(i)`, with the *simulated* completion.

use crate::command::{Command, DriveRequest};
use crate::design::DriveDesign;
use crate::options::DriveOptions;
use headstack_engine::SpecError;
use headstack_units::{Lba, Span, Time};
use std::sync::Arc;

/// One request of a closed-loop replay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplayRequest {
    /// Whether it is a write.
    pub write: bool,
    /// First 512-byte block.
    pub lba: u64,
    /// Number of 512-byte blocks.
    pub blocks: u32,
    /// Pause after its completion.
    pub think: Span,
}

/// Response time of each request, from a new drive of this design; `None` for a request that
/// the drive refused.
///
/// # Errors
/// As [`DriveDesign::drive`]; a pause that ends past [`Time::LATEST`].
pub fn replay_closed(
    design: &Arc<DriveDesign>,
    options: &DriveOptions,
    requests: &[ReplayRequest],
) -> Result<Vec<Option<Span>>, SpecError> {
    let mut drive = design.drive(options)?;
    let mut now = Time::ZERO;
    let mut responses = Vec::with_capacity(requests.len());
    for (id, r) in requests.iter().enumerate() {
        let command = if r.write { Command::Write } else { Command::Read };
        let request =
            DriveRequest { id: id as u64, command, lba: Lba(r.lba), blocks: r.blocks, ..DriveRequest::default() };
        drive.submit(now, request);
        let mut response = None;
        let mut end = now;
        drive.advance(Time::NEVER, &mut |c| {
            end = c.completion;
            response = (!c.error).then_some(c.completion.span_from(c.arrival));
        });
        responses.push(response);
        now = end + r.think;
        if now > Time::LATEST {
            let got = format!("a pause that ends at {} ns", now.0);
            return Err(SpecError::new(format!("request {}", id + 1), got, Time::LATEST_SHOWN));
        }
    }
    Ok(responses)
}
