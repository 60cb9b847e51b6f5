//! Checks of a trace: what would mislead a simulation of it.

use super::{OperationSummary, TraceSummary};
use crate::options::Counters;
use headstack_engine::{Check, Warning};

/// Coarse times.
pub const COARSE_TIMES: Check = Check {
    name: "coarse-times",
    summary: "many requests have the same time, because the trace has only whole seconds, or one time for all",
    way_out: "formats with whole seconds take -p spread_seconds=true; otherwise compare only what does not depend on \
              queues",
};

/// Waits that look like pauses.
pub const PAUSES: Check = Check {
    name: "waits-as-pauses",
    summary: "waits of a fio log lie before the one before them, so they may be pauses and not times",
    way_out: "read them as pauses: format_parameters = { wait = \"microseconds-since-wait\" }, -p \
              wait=microseconds-since-wait",
};

/// Times that run backwards.
pub const BACKWARDS: Check = Check {
    name: "times-backwards",
    summary: "times run backwards in the file: the requests were sorted, or moved to a later time",
    way_out: "order = \"sort:N\" (--order sort:N) sorts within more records",
};

/// Requests that do not cover whole sectors.
pub const MISALIGNED: Check = Check {
    name: "misaligned",
    summary: "requests do not cover whole sectors of 4 KiB: a drive with such sectors reads each sector that is \
              written in part, and writes it a turn later",
    way_out: "align = \"4 KiB\" in the workload rounds every request to whole sectors; shift moves all addresses",
};

/// Records left out or moved.
pub const CHANGED_RECORDS: Check = Check {
    name: "changed-records",
    summary: "records of a trace were left out, or moved to another time",
    way_out: "look at the records: on_error = \"fail\" names the first wrong one; order = \"sort:N\" moves fewer",
};

/// Another format fits as well.
pub const AMBIGUOUS: Check = Check {
    name: "ambiguous-format",
    summary: "another format fits the trace as well, which would give other addresses and times",
    way_out: "name the format that it is: format in the workload, --from on the command line",
};

/// Every check of a trace.
pub const CHECKS: &[Check] = &[COARSE_TIMES, PAUSES, BACKWARDS, MISALIGNED, CHANGED_RECORDS, AMBIGUOUS];

/// The way out of a shared offset, in blocks: both ends of a sector.
pub fn way_out_of_offset(offset: u64) -> String {
    format!(
        "shift = -{offset} in the workload moves all addresses to the beginnings of sectors; align = \"4 KiB\" rounds \
         every request to whole sectors"
    )
}

/// The warnings of a trace.
pub fn warnings(trace: &TraceSummary, read: &Counters) -> Vec<Warning> {
    let mut found = Vec::new();
    found.extend(coarse_times(trace));
    found.extend(pauses(read));
    found.extend(backwards(read));
    found.extend(misaligned(trace));
    found.extend(left_out(read));
    found.extend(ambiguous(read));
    found
}

/// Fewer requests say nothing about the resolution of times.
pub const FEWEST: u64 = 10;

fn coarse_times(trace: &TraceSummary) -> Option<Warning> {
    let (resolution, duration) = (trace.time_resolution_s, trace.duration_s);
    if trace.total.n_requests < FEWEST {
        return None;
    }
    let text = if duration == 0.0 {
        "all requests have one time: they arrive at once".to_string()
    } else if resolution >= 1.0 && resolution.fract() == 0.0 {
        "times are whole seconds: the requests of a second arrive at once, which is no basis for queueing".into()
    } else if resolution == duration {
        format!("requests have two times only, {duration} s apart")
    } else {
        return None;
    };
    Some(COARSE_TIMES.warn(text))
}

fn pauses(read: &Counters) -> Option<Warning> {
    let n = read.counts().earlier_waits;
    let text = format!("{n} waits lie before the one before them: they look like pauses, not times since the start");
    (n > 0).then(|| PAUSES.warn(text))
}

fn backwards(read: &Counters) -> Option<Warning> {
    let n = read.counts().out_of_order;
    let moved = match read.counts().clamped {
        0 => String::new(),
        clamped => format!(", {clamped} of them moved to a later time"),
    };
    let text = format!("{n} times run backwards in the file: sorted{moved}");
    (n > 0).then(|| BACKWARDS.warn(text))
}

/// A higher share of requests that do not cover whole sectors is reported.
const PARTIAL_RATIO: f64 = 0.01;

pub fn misaligned(trace: &TraceSummary) -> Option<Warning> {
    let share = |of: &dyn Fn(&&OperationSummary) -> bool| {
        let rows = || trace.operations.iter().filter(of);
        let partial = rows().fold(0.0, |n, o| n + o.unaligned_ratio * o.n_requests as f64);
        partial / rows().map(|o| o.n_requests).sum::<u64>().max(1) as f64
    };
    let all = share(&|o| o.op != "flush");
    let writes = share(&|o| o.op != "flush" && o.op != "read");
    if all.max(writes) <= PARTIAL_RATIO {
        return None;
    }
    let mut text = format!(
        "{:.1} % of reads and writes, {:.1} % of writes, do not cover whole sectors of 4 KiB: each such write costs a \
         drive with these sectors a turn",
        100.0 * all,
        100.0 * writes
    );
    let warning = match trace.shared_offset {
        Some(shared) => {
            text += &format!(
                "; {:.1} % begin {} blocks after the beginning of a sector",
                100.0 * shared.share,
                shared.blocks
            );
            MISALIGNED.warn(text).with_way_out(way_out_of_offset(shared.blocks))
        }
        None => MISALIGNED.warn(text),
    };
    Some(warning)
}

fn left_out(read: &Counters) -> impl Iterator<Item = Warning> {
    [
        (read.counts().skipped, "wrong records left out"),
        (read.counts().filtered, "records that are no reads, writes or flushes left out"),
        (read.counts().zero_sized, "reads and writes of no bytes left out"),
    ]
    .into_iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, what)| CHANGED_RECORDS.warn(format!("{n} {what}")))
}

fn ambiguous(read: &Counters) -> Option<Warning> {
    let opened = read.how_opened();
    let fits = opened.fits?;
    let (_, best) = *fits.first()?;
    let equal: Vec<&str> =
        fits[1..].iter().filter(|(_, score)| *score == best).map(|(name, _)| name.as_str()).collect();
    let text = format!("the trace fits {} as well as {}", equal.join(" and "), opened.format);
    (!equal.is_empty()).then(|| AMBIGUOUS.warn(text))
}
