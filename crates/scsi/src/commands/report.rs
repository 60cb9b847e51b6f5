//! REPORT LUNS, REPORT SUPPORTED OPERATION CODES, REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS.

use super::{cut, of, Call, Class, Entry, Reply};
use crate::cdb::{view, Report12};
use crate::sense::Sense;
use crate::unit::Unit;
use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromZeros, IntoBytes};

/// The family.
pub const ENTRIES: &[Entry] = &[
    Entry::new("REPORT LUNS", &[0xa0, 0, 0xff, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0], Class::Free, |unit, call| {
        luns(unit.disk.units, call.cdb).map(Reply::Data)
    }),
    Entry::new(
        "REPORT SUPPORTED OPERATION CODES",
        &[0xa3, 0x1f, 0x87, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0],
        Class::Status,
        opcodes,
    )
    .action(0x0c),
    Entry::new(
        "REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS",
        &[0xa3, 0x1f, 0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0],
        Class::Status,
        functions,
    )
    .action(0x0d),
];

/// The answer of REPORT LUNS of a target with so many units.
///
/// # Errors
/// A selection that is not known, or room for less than one unit.
pub fn luns(units: u16, cdb: &crate::cdb::Cdb) -> Result<Vec<u8>, Sense> {
    let cdb: &Report12 = view(cdb);
    let units = match cdb.options {
        0 | 2 => units,
        // There are no well known logical units.
        1 => 0,
        _ => return Err(Sense::in_cdb(2, 7)),
    };
    if cdb.length.get() < 16 {
        return Err(Sense::in_cdb(6, 7));
    }
    let mut all = Vec::from((u32::from(units) * 8).to_be_bytes());
    all.extend_from_slice(&[0; 4]);
    for unit in 0..units {
        let [high, low] = unit.to_be_bytes();
        // Up to 255 in peripheral addressing, above in flat space addressing.
        let first = if high > 0 { 0x40 | high } else { 0 };
        all.extend_from_slice(&[first, low, 0, 0, 0, 0, 0, 0]);
    }
    all.truncate(cdb.length.get() as usize);
    Ok(all)
}

crate::structures! {
    /// `flags`: CTDP and SERVACTV.
    Command { opcode: u8, reserved: u8, action: U16, limit: u8, flags: u8, length: U16 }
    /// `nominal`: seconds that a command usually takes at most; 0: not said; `recommended`: seconds after which
    /// something may be wrong.
    Timeouts { length: U16, reserved: u8, specific: u8, nominal: U32, recommended: U32 }
    /// `limit`: bit 0: RWCDLP; `support`: CTDP, CDLP in bits 4 and 3, and whether it is supported.
    One { limit: u8, support: u8, length: U16 }
}

const NOT_SUPPORTED: u8 = 1;
const SUPPORTED: u8 = 3;

/// Whether CDLP means the pages T2A and T2B; without this bit it would mean A and B.
fn rwcdlp(of: &Entry) -> u8 {
    u8::from(of.limit_page > 0)
}

fn timeouts(of: &Entry) -> Timeouts {
    Timeouts { length: 10.into(), reserved: 0, specific: 0, nominal: 0.into(), recommended: of.timeout_s.into() }
}

fn opcodes(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    let cdb: &Report12 = view(call.cdb);
    let with_timeouts = cdb.options & 0x80 != 0;
    let data = match cdb.options & 0x07 {
        0 => all_commands(unit, with_timeouts),
        option @ 1..=3 => {
            let asked = (cdb.wanted_opcode, cdb.wanted_action.get());
            one_command(unit, option, asked, with_timeouts)?
        }
        _ => return Err(Sense::in_cdb(2, 2)),
    };
    Ok(cut(data, cdb.length.get() as usize))
}

fn all_commands(unit: &Unit, with_timeouts: bool) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in of(&unit.disk) {
        let (ctdp, action) = (u8::from(with_timeouts) << 1, u8::from(entry.action.is_some()));
        // RWCDLP is bit 6, CDLP bits 3 and 2.
        let limits = rwcdlp(entry) << 6 | entry.limit_page << 2;
        let command = Command {
            opcode: entry.opcode(),
            action: entry.action.unwrap_or(0).into(),
            flags: limits | ctdp | action,
            length: (entry.usage.len() as u16).into(),
            ..FromZeros::new_zeroed()
        };
        all.extend_from_slice(command.as_bytes());
        if with_timeouts {
            all.extend_from_slice(timeouts(entry).as_bytes());
        }
    }
    [&(all.len() as u32).to_be_bytes()[..], &all].concat()
}

/// What is known of one command. Option 1 is for commands without, 2 for those with a service action, 3 for both.
fn one_command(unit: &Unit, option: u8, (opcode, action): (u8, u16), with_timeouts: bool) -> Result<Vec<u8>, Sense> {
    let mut of_code = of(&unit.disk).filter(|e| e.opcode() == opcode).peekable();
    let has_actions = of_code.peek().is_some_and(|e| e.action.is_some());
    let is_known = of_code.peek().is_some();
    if is_known && ((option == 1 && has_actions) || (option == 2 && !has_actions)) {
        return Err(Sense::in_cdb(2, 2));
    }
    let wanted = if has_actions { Some(action) } else { None };
    // Option 3 asks for a command without service actions by action 0.
    let is_other = option == 3 && !has_actions && action != 0;
    let found = of_code.find(|e| e.action == wanted && !is_other);
    let Some(entry) = found else {
        let one = One { limit: 0, support: NOT_SUPPORTED, length: 0.into() };
        return Ok(one.as_bytes().to_vec());
    };
    let mut usage = entry.usage.to_vec();
    if let (Some(action), true) = (entry.action, opcode != 0x7f) {
        // The service action stands for itself.
        usage[1] = usage[1] & !0x1f | action as u8;
    }
    let one = One {
        limit: rwcdlp(entry),
        support: SUPPORTED | entry.limit_page << 3 | if with_timeouts { 0x80 } else { 0 },
        length: (usage.len() as u16).into(),
    };
    let mut all = [one.as_bytes(), &usage].concat();
    if with_timeouts {
        all.extend_from_slice(timeouts(entry).as_bytes());
    }
    Ok(all)
}

/// ABORT TASK, ABORT TASK SET, CLEAR TASK SET, LOGICAL UNIT RESET, TARGET RESET.
const FUNCTIONS: u8 = 0x80 | 0x40 | 0x10 | 0x08 | 0x02;

fn functions(_: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    let cdb: &Report12 = view(call.cdb);
    if cdb.length.get() < 4 {
        return Err(Sense::in_cdb(6, 7));
    }
    let mut data = vec![FUNCTIONS, 0, 0, 0];
    // REPD: with timeouts, which are not said.
    if cdb.options & 0x80 != 0 {
        data.resize(16, 0);
        data[3] = 12;
    }
    Ok(cut(data, cdb.length.get() as usize))
}
