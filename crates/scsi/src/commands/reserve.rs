//! PERSISTENT RESERVE IN and OUT, RESERVE and RELEASE.

use super::{cut, Call, Class, Entry, Reply, Status};
use crate::cdb::{view, Page10, ReserveOut};
use crate::reservation::{Asked, Kind, Told};
use crate::sense::{Code, Sense};
use crate::unit::Unit;
use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

const fn input(name: &'static str, run: fn(&mut Unit, &Call) -> Result<Reply, Sense>) -> Entry {
    let usage = &[0x5e, 0x1f, 0, 0, 0, 0, 0, 0xff, 0xff, 0];
    Entry::new(name, usage, Class::Status, run)
}

const fn output(name: &'static str) -> Entry {
    let usage = &[0x5f, 0x1f, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff, 0];
    Entry::new(name, usage, Class::Status, out).takes(|_, cdb| match view::<ReserveOut>(cdb).length.get() {
        PARAMETERS => Ok(PARAMETERS),
        _ => Err(Sense::illegal(Code::PARAMETER_LIST_LENGTH_ERROR)),
    })
}

/// The family.
pub const ENTRIES: &[Entry] = &[
    input("PERSISTENT RESERVE IN, READ KEYS", read_keys).action(0),
    input("PERSISTENT RESERVE IN, READ RESERVATION", read_reservation).action(1),
    input("PERSISTENT RESERVE IN, REPORT CAPABILITIES", capabilities).action(2),
    input("PERSISTENT RESERVE IN, READ FULL STATUS", full_status).action(3),
    output("PERSISTENT RESERVE OUT, REGISTER").action(0),
    output("PERSISTENT RESERVE OUT, RESERVE").action(1),
    output("PERSISTENT RESERVE OUT, RELEASE").action(2),
    output("PERSISTENT RESERVE OUT, CLEAR").action(3),
    output("PERSISTENT RESERVE OUT, PREEMPT").action(4),
    output("PERSISTENT RESERVE OUT, PREEMPT AND ABORT").action(5),
    output("PERSISTENT RESERVE OUT, REGISTER AND IGNORE EXISTING KEY").action(6),
    Entry::new("RESERVE(6)", &[0x16, 0, 0, 0, 0, 0], Class::Status, reserve),
    Entry::new("RELEASE(6)", &[0x17, 0, 0, 0, 0, 0], Class::Free, release),
    Entry::new("RESERVE(10)", &[0x56, 0, 0, 0, 0, 0, 0, 0, 0, 0], Class::Status, reserve),
    Entry::new("RELEASE(10)", &[0x57, 0, 0, 0, 0, 0, 0, 0, 0, 0], Class::Free, release),
];

/// Bytes of the data of PERSISTENT RESERVE OUT.
const PARAMETERS: u32 = 24;

crate::structures! {
    /// `flags`: SPEC_I_PT, ALL_TG_PT, APTPL.
    Parameters { key: U64, action_key: U64, obsolete: U32, flags: u8, reserved: u8, obsolete_too: U16 }
    Reservation { key: U64, obsolete: U32, reserved: u8, scope_and_type: u8, obsolete_too: U16 }
}

fn answer(unit: &Unit, call: &Call, content: &[u8]) -> Result<Reply, Sense> {
    let cdb: &Page10 = view(call.cdb);
    let generation = unit.reservations.generation;
    let all = [&generation.to_be_bytes()[..], &(content.len() as u32).to_be_bytes(), content];
    Ok(cut(all.concat(), cdb.length.get().into()))
}

fn read_keys(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    let keys: Vec<u8> = (unit.reservations.registrations.iter()).flat_map(|r| r.key.to_be_bytes()).collect();
    answer(unit, call, &keys)
}

fn read_reservation(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    let found = unit.reservations.held().map(|(key, kind)| Reservation {
        key: key.into(),
        scope_and_type: kind as u8,
        ..FromZeros::new_zeroed()
    });
    let content = found.map_or(Vec::new(), |r| r.as_bytes().to_vec());
    answer(unit, call, &content)
}

fn capabilities(_: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    let cdb: &Page10 = view(call.cdb);
    // Nothing persists through a loss of power. TMV, then a bit for each type.
    let data = vec![0, 8, 0, 0x80, 0xea, 0x01, 0, 0];
    Ok(cut(data, cdb.length.get().into()))
}

crate::structures! {
    /// A port as PERSISTENT RESERVE IN names it. `flags`: bit 0: it holds the reservation.
    Port {
        key: U64, reserved: U32, flags: u8, scope_and_type: u8, reserved_too: U32, target_port: U16, name_length: U32,
    }
}

fn full_status(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    let of = &unit.reservations;
    let mut all = Vec::new();
    for registration in of.registrations.iter() {
        let kind = of.held().map(|(_, kind)| kind);
        let kind = kind.filter(|_| of.holds(&registration.port));
        // A name with port, in format 1 of iSCSI, padded with zeroes to four bytes.
        let mut name = registration.port.as_bytes().to_vec();
        name.resize((name.len() / 4 + 1) * 4, 0);
        let mut id = vec![0x45, 0];
        id.extend_from_slice(&(name.len() as u16).to_be_bytes());
        id.extend_from_slice(&name);
        let port = Port {
            key: registration.key.into(),
            flags: u8::from(kind.is_some()),
            scope_and_type: kind.map_or(0, |k| k as u8),
            target_port: 1.into(),
            name_length: (id.len() as u32).into(),
            ..FromZeros::new_zeroed()
        };
        all.extend_from_slice(port.as_bytes());
        all.extend_from_slice(&id);
    }
    answer(unit, call, &all)
}

fn out(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    let cdb: &ReserveOut = view(call.cdb);
    let Ok(parameters) = Parameters::ref_from_bytes(call.data) else {
        return Err(Sense::illegal(Code::PARAMETER_LIST_LENGTH_ERROR));
    };
    // Other ports, and reservations that survive a loss of power, are not supported. There is one target port.
    if parameters.flags & !0x04 != 0 {
        return Err(Sense::in_parameters(20));
    }
    let action = cdb.action & 0x1f;
    let kind = match action {
        1 | 2 | 4 | 5 => match (cdb.scope_and_type >> 4, Kind::of(cdb.scope_and_type & 0xf)) {
            (0, Some(kind)) => Some(kind),
            (0, None) => return Err(Sense::in_cdb(2, 3)),
            _ => return Err(Sense::in_cdb(2, 7)),
        },
        _ => None,
    };
    let asked = Asked { port: call.port, key: parameters.key.get(), action_key: parameters.action_key.get(), kind };
    let told = unit.reservations.act(action, &asked)?;
    Ok(match told {
        None => Reply::Status(Status::ReservationConflict),
        Some(told) => {
            tell(unit, call, &told, action == 5);
            Reply::Good
        }
    })
}

/// Other initiators are told what has happened to them.
fn tell(unit: &mut Unit, call: &Call, told: &[Told], aborts: bool) {
    for (port, code) in told {
        unit.tell_port(port, *code, Some(call.nexus));
        if aborts && *code == Code::REGISTRATIONS_PREEMPTED {
            unit.aborted.push(port.clone());
        }
    }
}

fn reserve(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    Ok(if unit.reserve(call.nexus) { Reply::Good } else { Reply::Status(Status::ReservationConflict) })
}

fn release(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    Ok(if unit.release(call.nexus) { Reply::Good } else { Reply::Status(Status::ReservationConflict) })
}
