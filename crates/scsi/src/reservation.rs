//! Persistent reservations: who has registered a key, and who holds the unit.
//!
//! # Source
//! SPC-5, 5.13.
//! # Validity
//! A reservation does not survive a loss of power (APTPL is refused). REGISTER AND MOVE is not supported.

use crate::sense::{Code, Key, Sense};
use crate::status::Class;

/// The type of a reservation. The numbers are those of the standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Only the holder writes.
    WriteExclusive = 1,
    /// Only the holder uses the unit.
    ExclusiveAccess = 3,
    /// Only registrants write.
    WriteExclusiveRegistrants = 5,
    /// Only registrants use the unit.
    ExclusiveAccessRegistrants = 6,
    /// Only registrants write, and all of them hold it.
    WriteExclusiveAll = 7,
    /// Only registrants use the unit, and all of them hold it.
    ExclusiveAccessAll = 8,
}

impl Kind {
    /// The type with this number.
    pub fn of(number: u8) -> Option<Kind> {
        Some(match number {
            1 => Kind::WriteExclusive,
            3 => Kind::ExclusiveAccess,
            5 => Kind::WriteExclusiveRegistrants,
            6 => Kind::ExclusiveAccessRegistrants,
            7 => Kind::WriteExclusiveAll,
            8 => Kind::ExclusiveAccessAll,
            _ => return None,
        })
    }

    fn allows_reads(self) -> bool {
        use Kind::*;
        matches!(self, WriteExclusive | WriteExclusiveRegistrants | WriteExclusiveAll)
    }

    fn allows_registrants(self) -> bool {
        !matches!(self, Kind::WriteExclusive | Kind::ExclusiveAccess)
    }

    /// Whether all registrants hold it.
    fn is_of_all(self) -> bool {
        matches!(self, Kind::WriteExclusiveAll | Kind::ExclusiveAccessAll)
    }
}

/// A key of an initiator port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// Name of the port.
    pub port: String,
    /// Its key.
    pub key: u64,
}

/// What PERSISTENT RESERVE OUT asks for.
pub struct Asked<'a> {
    /// Name of the port that asks.
    pub port: &'a str,
    /// Its key.
    pub key: u64,
    /// A new key, or the key of others.
    pub action_key: u64,
    /// The type of the reservation, where there is one.
    pub kind: Option<Kind>,
}

/// What a port is to be told.
pub type Told = (String, Code);

/// Most keys of a unit.
const MOST: usize = 256;

/// The reservations of a unit.
#[derive(Debug, Default)]
pub struct Reservations {
    /// The keys that are registered.
    pub registrations: Vec<Registration>,
    /// The port that reserved it, which holds it unless all registrants do; and the type.
    reserved: Option<(String, Kind)>,
    /// Counts changes of registrations.
    pub generation: u32,
}

/// Done, with what others are to be told; or `None` for a conflict.
type Acted = Result<Option<Vec<Told>>, Sense>;

impl Reservations {
    /// Key and type of the reservation; the key is 0 if all registrants hold it.
    pub fn held(&self) -> Option<(u64, Kind)> {
        let (port, kind) = self.reserved.as_ref()?;
        let key = if kind.is_of_all() { 0 } else { self.key_of(port).unwrap_or(0) };
        Some((key, *kind))
    }

    fn key_of(&self, port: &str) -> Option<u64> {
        let found = self.registrations.iter().find(|r| r.port == port);
        found.map(|r| r.key)
    }

    /// Whether a port holds the reservation.
    pub fn holds(&self, port: &str) -> bool {
        (self.reserved.as_ref()).is_some_and(|(holder, kind)| match kind.is_of_all() {
            true => self.key_of(port).is_some(),
            false => holder == port,
        })
    }

    /// Whether the reservation refuses a command of a port.
    pub fn refuses(&self, class: Class, port: &str) -> bool {
        let Some((_, kind)) = &self.reserved else { return false };
        let is_let = self.holds(port)
            || (kind.allows_registrants() && self.key_of(port).is_some())
            || matches!(class, Class::Free | Class::Status)
            || (class == Class::Reads && kind.allows_reads());
        !is_let
    }

    /// Carries out a service action of PERSISTENT RESERVE OUT.
    ///
    /// # Errors
    /// What is wrong with the parameters.
    pub fn act(&mut self, action: u8, asked: &Asked) -> Acted {
        match action {
            0 => self.register(asked, false),
            6 => self.register(asked, true),
            _ if self.key_of(asked.port) != Some(asked.key) => Ok(None),
            1 => Ok(self.reserve(asked)),
            2 => self.release(asked),
            3 => Ok(Some(self.clear(asked))),
            _ => self.preempt(asked),
        }
    }

    fn register(&mut self, asked: &Asked, ignores: bool) -> Acted {
        let key = self.key_of(asked.port);
        if !ignores && key.unwrap_or(0) != asked.key {
            return Ok(None);
        }
        let mut told = Vec::new();
        match (key, asked.action_key) {
            (None, 0) => return Ok(Some(told)),
            (None, new) => {
                if self.registrations.len() == MOST {
                    let code = Code::INSUFFICIENT_REGISTRATION_RESOURCES;
                    return Err(Sense::illegal(code));
                }
                self.registrations.push(Registration { port: asked.port.into(), key: new });
            }
            (Some(_), 0) => {
                let held = self.holds(asked.port);
                self.registrations.retain(|r| r.port != asked.port);
                if held {
                    told = self.holder_left();
                }
            }
            (Some(_), new) => {
                let found = self.registrations.iter_mut();
                found.filter(|r| r.port == asked.port).for_each(|r| r.key = new);
            }
        }
        self.generation = self.generation.wrapping_add(1);
        Ok(Some(told))
    }

    /// A holder is no longer registered: the reservation ends with the last one.
    fn holder_left(&mut self) -> Vec<Told> {
        let Some((_, kind)) = self.reserved.clone() else { return Vec::new() };
        if kind.is_of_all() && !self.registrations.is_empty() {
            return Vec::new();
        }
        self.reserved = None;
        match kind.allows_registrants() {
            true => self.tell_all(Code::RESERVATIONS_RELEASED),
            false => Vec::new(),
        }
    }

    fn tell_all(&self, code: Code) -> Vec<Told> {
        (self.registrations.iter()).map(|r| (r.port.clone(), code)).collect()
    }

    fn tell_others(&self, but: &str, code: Code) -> Vec<Told> {
        let mut told = self.tell_all(code);
        told.retain(|(port, _)| port != but);
        told
    }

    fn reserve(&mut self, asked: &Asked) -> Option<Vec<Told>> {
        let wanted = asked.kind?;
        match &self.reserved {
            None => self.reserved = Some((asked.port.into(), wanted)),
            Some((_, kind)) if *kind == wanted && self.holds(asked.port) => {}
            Some(_) => return None,
        }
        Some(Vec::new())
    }

    fn release(&mut self, asked: &Asked) -> Acted {
        let Some((_, kind)) = self.reserved.clone() else { return Ok(Some(Vec::new())) };
        if !self.holds(asked.port) {
            return Ok(Some(Vec::new()));
        }
        if asked.kind != Some(kind) {
            return Err(Sense::new(Key::IllegalRequest, Code::INVALID_RELEASE_OF_RESERVATION));
        }
        self.reserved = None;
        Ok(Some(match kind.allows_registrants() {
            true => self.tell_others(asked.port, Code::RESERVATIONS_RELEASED),
            false => Vec::new(),
        }))
    }

    fn clear(&mut self, asked: &Asked) -> Vec<Told> {
        let told = self.tell_others(asked.port, Code::RESERVATIONS_PREEMPTED);
        self.registrations.clear();
        self.reserved = None;
        self.generation = self.generation.wrapping_add(1);
        told
    }

    fn preempt(&mut self, asked: &Asked) -> Acted {
        let wanted = asked.kind.unwrap_or(Kind::WriteExclusive);
        let before = self.reserved.clone();
        let is_of_all = before.as_ref().is_some_and(|(_, kind)| kind.is_of_all());
        if asked.action_key == 0 && !is_of_all {
            return Err(Sense::in_parameters(8));
        }
        let takes = match &before {
            None => false,
            Some(_) if is_of_all => asked.action_key == 0,
            Some((holder, _)) => self.key_of(holder) == Some(asked.action_key),
        };
        let goes = |r: &Registration| asked.action_key == 0 || r.key == asked.action_key;
        if !self.registrations.iter().any(goes) {
            return Ok(None);
        }
        let mut told = Vec::new();
        self.registrations.retain(|r| {
            let stays = r.port == asked.port || !goes(r);
            if !stays {
                told.push((r.port.clone(), Code::REGISTRATIONS_PREEMPTED));
            }
            stays
        });
        if takes {
            self.reserved = Some((asked.port.into(), wanted));
            if before.is_some_and(|(_, kind)| kind != wanted) {
                told.extend(self.tell_others(asked.port, Code::RESERVATIONS_RELEASED));
            }
        }
        self.generation = self.generation.wrapping_add(1);
        Ok(Some(told))
    }

    /// Power was lost.
    pub fn lose_power(&mut self) {
        *self = Reservations { generation: 0, ..Reservations::default() };
    }
}
