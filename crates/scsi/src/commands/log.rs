//! LOG SENSE.

use super::{cut, Call, Class, Entry, Reply};
use crate::cdb::{view, Page10};
use crate::limits::statistics;
use crate::sense::Sense;
use crate::unit::{Errors, Unit};
use headstack_drive::limits::LimitCounts;
use zerocopy::byteorder::big_endian::U16;
use zerocopy::IntoBytes;

/// The family.
pub const ENTRIES: &[Entry] =
    &[Entry::new("LOG SENSE", &[0x4d, 0, 0xff, 0xff, 0, 0xff, 0xff, 0xff, 0xff, 0], Class::Status, log_sense)];

crate::structures! {
    Head { page: u8, subpage: u8, length: U16 }
    Parameter { code: U16, control: u8, length: u8 }
}

type Make = fn(&Unit) -> Vec<(u16, Vec<u8>)>;

/// The subpage that means all.
const ALL: u8 = 0xff;

/// Pages and subpages with their parameters; those with a subpage are of disks with duration limits.
const PAGES: &[(u8, u8, Make)] = &[
    (0x02, 0, |unit| errors(&unit.counts.writes)),
    (0x03, 0, |unit| errors(&unit.counts.reads)),
    (0x05, 0, |unit| errors(&unit.counts.verifies)),
    // The temperature is not modelled: FFh says that it is not known.
    (0x0d, 0, |_| vec![(0, vec![0, 0xff]), (1, vec![0, 0xff])]),
    (0x0e, 0, |unit| vec![(4, unit.counts.starts.to_be_bytes().to_vec())]),
    (0x19, 0x21, limits),
    (0x2f, 0, |unit| {
        let code = unit.prediction;
        vec![(0, vec![code.0, code.1, 0xff])]
    }),
];

fn errors(of: &Errors) -> Vec<(u16, Vec<u8>)> {
    vec![
        (3, of.corrected.to_be_bytes().to_vec()),
        (5, of.bytes.to_be_bytes().to_vec()),
        (6, of.uncorrected.to_be_bytes().to_vec()),
    ]
}

/// Limits of reads from parameter 11h on, of writes from 21h on.
fn limits(unit: &Unit) -> Vec<(u16, Vec<u8>)> {
    let [reads, writes] = &unit.limit_counts;
    let of = |first: u16, counts: &[LimitCounts]| {
        let numbered = (first..).zip(counts);
        let made = numbered.map(|(code, counts)| (code, statistics(counts)));
        made.collect::<Vec<_>>()
    };
    [of(0x11, reads), of(0x21, writes)].concat()
}

/// Format and linking of parameters: a binary list for counters.
const BINARY: u8 = 0x03;

fn log_sense(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    let cdb: &Page10 = view(call.cdb);
    let (code, subpage) = (cdb.page & 0x3f, cdb.subpage);
    let there = || PAGES.iter().filter(|p| p.1 == 0 || unit.disk.limits.is_some());
    let with_subpages = || there().flat_map(|p| [p.0, p.1]);
    let content = match (code, subpage) {
        (0, 0) => {
            let without = there().filter(|p| p.1 == 0).map(|p| p.0);
            [0].into_iter().chain(without).collect()
        }
        // All pages and subpages.
        (0, ALL) => [0, 0, 0, ALL].into_iter().chain(with_subpages()).collect(),
        _ => {
            if !there().any(|p| p.0 == code) {
                return Err(Sense::in_cdb(2, 5));
            }
            let found = there().find(|p| (p.0, p.1) == (code, subpage));
            let (.., make) = found.ok_or(Sense::in_cdb(3, 7))?;
            let mut all = Vec::new();
            for (code, value) in make(unit) {
                if code < cdb.pointer.get() {
                    continue;
                }
                let head = Parameter { code: code.into(), control: BINARY, length: value.len() as u8 };
                all.extend_from_slice(head.as_bytes());
                all.extend_from_slice(&value);
            }
            match all.is_empty() {
                true => return Err(Sense::in_cdb(5, 7)),
                false => all,
            }
        }
    };
    let spf = if subpage == 0 { 0 } else { 0x40 };
    let head = Head { page: spf | code, subpage, length: (content.len() as u16).into() };
    let all = [head.as_bytes(), &content].concat();
    Ok(cut(all, cdb.length.get().into()))
}
