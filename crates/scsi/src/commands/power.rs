//! TEST UNIT READY, REQUEST SENSE, START STOP UNIT, SEND DIAGNOSTIC.

use super::{cut, Call, Class, Entry, Reply};
use crate::cdb::{view, Page6, StartStop};
use crate::sense::{Code, Key, Sense};
use crate::unit::Unit;
use crate::work::{Effect, Work};
use headstack_drive::power::conditions::Condition;

/// The family.
pub const ENTRIES: &[Entry] = &[
    Entry::new("TEST UNIT READY", &[0x00, 0, 0, 0, 0, 0], Class::Status, ready),
    Entry::new("REQUEST SENSE", &[0x03, 0x01, 0, 0, 0xff, 0], Class::Free, request_sense),
    Entry::new("START STOP UNIT", &[0x1b, 0x01, 0, 0x0f, 0xf5, 0], Class::Writes, start_stop).seconds(60),
    Entry::new("SEND DIAGNOSTIC", &[0x1d, 0x04, 0, 0, 0, 0], Class::Writes, diagnose),
];

fn ready(unit: &mut Unit, _: &Call) -> Result<Reply, Sense> {
    unit.check_ready().map(|()| Reply::Good)
}

/// A unit attention that waits, else that the unit is stopped, else nothing.
fn request_sense(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    let cdb: &Page6 = view(call.cdb);
    let waiting = unit.attentions.take(call.nexus);
    let found = waiting
        .map(|code| Sense::new(Key::UnitAttention, code))
        .or(unit.away())
        .or(unit.check_ready().err())
        .unwrap_or(match unit.prediction {
            Code::NONE => Sense::new(Key::NoSense, Code::NONE),
            code => Sense::new(Key::NoSense, code),
        });
    let length = cdb.length.get() & 0xff;
    Ok(cut(found.bytes(cdb.flags & 1 != 0), length.into()))
}

/// START of byte 4.
const START: u8 = 0x01;
/// NO FLUSH of byte 4.
const NO_FLUSH: u8 = 0x04;

fn start_stop(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    let cdb: &StartStop = view(call.cdb);
    let wanted = match (cdb.condition >> 4, cdb.modifier) {
        (0x0, 0) => None,
        (0x1, 0) => Some(Condition::Active),
        (0x2, 0) => Some(Condition::IdleA),
        (0x2, 1) => Some(Condition::IdleB),
        (0x2, 2) => Some(Condition::IdleC),
        (0x3, 0) => Some(Condition::Standby),
        // LU_CONTROL: the disk's own timers run after its next command anyway.
        (0x7, 0) => return Ok(Reply::Good),
        (0x0..=0x3 | 0x7, _) => return Err(Sense::in_cdb(3, 3)),
        _ => return Err(Sense::in_cdb(4, 7)),
    };
    let Some(wanted) = wanted else {
        let starts = cdb.condition & START != 0;
        unit.start(starts);
        return Ok(match starts || cdb.condition & NO_FLUSH != 0 {
            true => Reply::Good,
            false => Reply::Work(Work::flush(cdb.flags & 1 != 0)),
        });
    };
    if wanted != Condition::Active && !unit.disk.has(wanted) {
        return Err(Sense::in_cdb(4, 7));
    }
    unit.effect(Effect::Condition(wanted));
    Ok(Reply::Good)
}

/// The self-test of a drive without a failure that is predicted finds nothing.
fn diagnose(unit: &mut Unit, _: &Call) -> Result<Reply, Sense> {
    match unit.prediction {
        Code::NONE => Ok(Reply::Good),
        _ => Err(Sense::new(Key::HardwareError, Code(0x3e, 0x03))),
    }
}
