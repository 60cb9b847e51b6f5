//! Writes that do not cover whole sectors of the drives.

use super::{about, words, Ended};
use crate::result::SystemResult;
use headstack_engine::{Check, Warning};
use headstack_trace::checks::{way_out_of_offset, MISALIGNED};
use headstack_trace::SECTOR_BLOCKS;

pub const CHECK: Check = MISALIGNED;

/// A higher number of sectors written in part, per request, is reported.
const PARTIAL_SECTORS_RATIO: f64 = 0.03;

pub fn find(run: &Ended, tell: &mut dyn FnMut(Warning)) {
    for (_, _, result) in run.results() {
        tell_of(result, tell);
    }
}

fn tell_of(result: &SystemResult, tell: &mut dyn FnMut(Warning)) {
    let sum = |of: fn(&crate::result::DriveResult) -> u64| result.drives.iter().map(of).sum::<u64>();
    let sectors = sum(|d| d.counters.n_read_modify_writes);
    if sectors as f64 <= PARTIAL_SECTORS_RATIO * sum(|d| d.n_requests) as f64 {
        return;
    }
    let drives = result.drives.iter().zip(&result.facts.drives);
    let turns_s: f64 = drives.map(|(d, of)| d.counters.n_read_modify_writes as f64 * of.turn_s).sum();
    let turn_ms = 1e3 * turns_s / sectors as f64;
    let seen = &result.facts.alignment;
    let mut text = format!(
        "{} of {} writes ({}) do not cover whole sectors of 4 KiB: {} sectors, {:.2} for each write, were read before \
         they were written; each cost a turn of {turn_ms:.2} ms, {turns_s:.1} s of the drives' {:.1} s in all",
        words::count(seen.partial_writes),
        words::count(seen.writes),
        words::share(seen.partial_writes, seen.writes),
        words::count(sectors),
        sectors as f64 / seen.writes.max(1) as f64,
        result.duration_s * result.drives.len() as f64,
    );
    let Some((offset, share)) = seen.shared_offset() else {
        // A write has two ends. More sectors in part are cut by something between the workload and the drives.
        let way_out = match sectors > 2 * seen.partial_writes {
            false => CHECK.way_out,
            true => "stripe units, chunks and the units of volumes must be multiples of 4 KiB",
        };
        return tell(about(&CHECK, result, text).with_way_out(way_out));
    };
    text +=
        &format!("; {:.1} % of all requests begin {offset} blocks after a multiple of {SECTOR_BLOCKS}", 100.0 * share);
    tell(about(&CHECK, result, text).with_way_out(way_out_of_offset(offset)));
}
