//! A command from its descriptor block to what the drive has to do for it.

use super::{Away, Ending, Unit};
use crate::attention::Nexus;
use crate::cdb::Cdb;
use crate::commands::elements::{ElementCall, RESTORE, STATUS, TRUNCATE};
use crate::commands::zones::ZoneCall;
use crate::commands::{self, inquiry, report, Call, Entry, Reply};
use crate::sense::{Code, Key, Sense};
use crate::status::{Class, Status};
use crate::work::Work;

/// What becomes of a command that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// It has ended.
    Ends(Ending),
    /// The drive has work to do.
    Works(Work),
    /// The zones of the drive are asked for something: see [`Unit::zoned`].
    Zones(ZoneCall),
    /// The heads of the drive are asked for something.
    Elements(ElementCall),
}

/// Whether a unit takes a command while its drive removes or restores elements, or after that has failed.
fn is_taken(entry: &Entry, away: &Away) -> bool {
    let of_elements = match (entry.opcode(), entry.action) {
        (0x9e, Some(STATUS)) => true,
        (0x9e, Some(TRUNCATE | RESTORE)) => away.has_failed,
        _ => false,
    };
    of_elements || entry.class == Class::Free
}

impl Unit {
    /// Decides whether a command can be served. Returns the bytes of data that it takes.
    ///
    /// # Errors
    /// How it ends at once.
    pub fn begin(&mut self, nexus: Nexus, cdb: &Cdb) -> Result<u32, Ending> {
        self.admitted(nexus, cdb).map(|(_, bytes)| bytes)
    }

    fn admitted(&mut self, nexus: Nexus, cdb: &Cdb) -> Result<(&'static Entry, u32), Ending> {
        let found = commands::find(&self.disk, cdb);
        let is_told = match &found {
            Ok(entry) => entry.class != Class::Free || matches!(cdb[0], 0x17 | 0x57),
            Err(_) => true,
        };
        if is_told {
            if let Some(code) = self.attentions.take(nexus) {
                return Err(self.check(&Sense::new(Key::UnitAttention, code)));
            }
        }
        let entry = found.map_err(|sense| self.check(&sense))?;
        if self.conflicts(entry.class, nexus) {
            return Err(Ending::of(Status::ReservationConflict));
        }
        if let Some(away) = self.away.filter(|away| !is_taken(entry, away)) {
            return Err(self.check(&away.sense));
        }
        match (entry.data_out)(self, cdb) {
            Ok(bytes) => Ok((entry, bytes)),
            Err(sense) => Err(self.check(&sense)),
        }
    }

    fn conflicts(&self, class: Class, nexus: Nexus) -> bool {
        let of_other = self.reserved.is_some_and(|holder| holder != nexus);
        let port = self.ports.get(&nexus).map_or("", String::as_str);
        (of_other && class != Class::Free) || self.reservations.refuses(class, port)
    }

    /// Carries out a command that [`Unit::begin`] has admitted, with all of its data.
    pub fn execute(&mut self, nexus: Nexus, cdb: &Cdb, data: &[u8]) -> Step {
        let entry = match commands::find(&self.disk, cdb) {
            Ok(entry) => entry,
            Err(sense) => return Step::Ends(self.check(&sense)),
        };
        let port = self.ports.get(&nexus).cloned().unwrap_or_default();
        let call = Call { nexus, port: &port, cdb, data };
        Step::Ends(match (entry.run)(self, &call) {
            Ok(Reply::Good) => Ending::of(Status::Good),
            Ok(Reply::Status(status)) => Ending::of(status),
            Ok(Reply::Data(data)) => Ending { data, ..Ending::of(Status::Good) },
            Ok(Reply::Work(work)) => return Step::Works(work),
            Ok(Reply::Zones(call)) => return Step::Zones(call),
            Ok(Reply::Elements(call)) => return Step::Elements(call),
            Err(sense) => self.check(&sense),
        })
    }
}

/// The end of a command to a unit that is not there, in a target with so many units.
pub fn absent(units: u16, cdb: &Cdb) -> Ending {
    let not_there = Sense::illegal(Code::LOGICAL_UNIT_NOT_SUPPORTED);
    let data = match cdb[0] {
        0x12 if cdb[1] & 1 == 0 => {
            let mut data = inquiry::standard(inquiry::NO_UNIT, "", inquiry::SPC4, &[]);
            data.truncate(usize::from(u16::from_be_bytes([cdb[3], cdb[4]])));
            Ok(data)
        }
        0xa0 => report::luns(units, cdb),
        0x03 => {
            let mut data = not_there.bytes(cdb[1] & 1 != 0);
            data.truncate(cdb[4].into());
            Ok(data)
        }
        _ => Err(not_there),
    };
    match data {
        Ok(data) => Ending { data, ..Ending::of(Status::Good) },
        Err(sense) => Ending { sense: sense.bytes(false), ..Ending::of(Status::CheckCondition) },
    }
}
