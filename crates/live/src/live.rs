//! A system in real time: it takes requests and gives completions, whoever speaks to it.

use crate::clock::Clock;
use crate::devices::{Bytes, Devices, Ended};
use crate::record::Record;
use crate::store::Store;
use crate::LiveError;
use hdrhistogram::Histogram;
use headstack_array::layer::ErrorKind;
use headstack_drive::Command;
use headstack_units::Time;
use slab::Slab;
use std::io;
use std::time::Duration;

/// A device that clients can use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// What it is, for people.
    pub description: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Where a completion belongs: the front end that asked, and its number for the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    /// Number of the front end.
    pub front_end: usize,
    /// What the front end knows the request by.
    pub tag: u64,
}

/// A request to a device. What it writes is in the store already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Number of the device.
    pub device: usize,
    /// The command.
    pub command: Command,
    /// First byte; ignored by a flush.
    pub offset: u64,
    /// Number of bytes; ignored by a flush.
    pub length: u64,
}

/// A request that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Whose it is.
    pub ticket: Ticket,
    /// The request.
    pub access: Access,
    /// When the simulated device ended it.
    pub at: Time,
    /// Why it failed; `None` if it did not.
    pub error: Option<ErrorKind>,
}

/// How late completions were handed to their clients.
pub type Lateness = Histogram<u64>;

/// What a live system is made of.
pub struct Parts {
    /// The simulated devices.
    pub devices: Devices,
    /// Names and sizes, in the same order.
    pub described: Vec<Device>,
    /// Their data.
    pub stores: Vec<Store>,
    /// The time of the devices.
    pub clock: Clock,
    /// Where finished requests are written.
    pub record: Option<Record>,
}

/// A request at a device.
struct Open {
    ticket: Ticket,
    access: Access,
    arrival: Time,
}

/// A system in real time.
pub struct Live {
    devices: Devices,
    described: Vec<Device>,
    stores: Vec<Store>,
    clock: Clock,
    record: Option<Record>,
    open: Slab<Open>,
    requests: u64,
    lateness_ns: Lateness,
}

impl Live {
    /// A system whose time begins with its clock.
    ///
    /// # Errors
    /// None in practice: a histogram cannot be made.
    pub fn new(parts: Parts) -> Result<Live, LiveError> {
        let lateness = Histogram::new(3).map_err(|e| io::Error::other(e.to_string()))?;
        Ok(Live {
            devices: parts.devices,
            described: parts.described,
            stores: parts.stores,
            clock: parts.clock,
            record: parts.record,
            open: Slab::new(),
            requests: 0,
            lateness_ns: lateness,
        })
    }

    /// The devices, in order.
    pub fn devices(&self) -> &[Device] {
        &self.described
    }

    /// The data of a device.
    pub fn store(&mut self, device: usize) -> &mut Store {
        &mut self.stores[device]
    }

    /// The device with its data.
    pub fn device_and_store(&mut self, device: usize) -> (&Device, &mut Store) {
        (&self.described[device], &mut self.stores[device])
    }

    /// Submits a request that lies inside its device; it arrives now.
    pub fn submit(&mut self, ticket: Ticket, access: Access) {
        let now = self.clock.now();
        self.devices.advance(now);
        let id = self.open.insert(Open {
            ticket,
            access,
            arrival: now,
        });
        let (offset, length) = match access.command {
            Command::Flush => (0, 0),
            _ => (access.offset, access.length),
        };
        let bytes = Bytes { offset, length };
        self.devices
            .submit(now, access.device, id as u64, access.command, bytes);
    }

    /// Requests that have not ended.
    pub fn outstanding(&self) -> usize {
        self.open.len()
    }

    /// Carries out what happens until now, and gives the requests that have ended to `sink`.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn advance(&mut self, mut sink: impl FnMut(&mut Live, Done)) -> Result<(), LiveError> {
        let now = self.clock.now();
        self.devices.advance(now);
        while let Some(ended) = self.devices.ended(now) {
            let done = self.end(ended)?;
            sink(self, done);
        }
        Ok(())
    }

    fn end(&mut self, ended: Ended) -> Result<Done, LiveError> {
        let open = self.open.remove(ended.id as usize);
        self.requests += 1;
        if let Some(record) = &mut self.record {
            record.add(&open.access, open.arrival, ended.at)?;
        }
        Ok(Done {
            ticket: open.ticket,
            access: open.access,
            at: ended.at,
            error: ended.error,
        })
    }

    /// The client of a request is answered now.
    pub fn answered(&mut self, done: &Done) {
        let late = self.clock.lateness(done.at, self.clock.now());
        self.lateness_ns.saturating_record(late.as_nanos() as u64);
    }

    /// How long until something happens by itself; `None` if nothing will.
    pub fn until_next(&self) -> Option<Duration> {
        if self.open.is_empty() && matches!(self.clock, Clock::Jumping(_)) {
            return None;
        }
        match self.devices.next_event() {
            Time::NEVER => None,
            at => Some(self.clock.until(at)),
        }
    }

    /// Nobody asks for anything before the next event: a clock that does not wait jumps there, and true is returned.
    /// False if time passes by itself, or nothing will happen.
    pub fn skip(&mut self) -> bool {
        let next = self.devices.next_event();
        let jumps = matches!(self.clock, Clock::Jumping(_));
        if !jumps || self.open.is_empty() || next == Time::NEVER {
            return false;
        }
        self.clock.jump(next);
        true
    }

    /// Ends: writes what is left of the record. Returns the number of requests that have ended, and how late they were
    /// answered.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn finish(mut self) -> Result<(u64, Lateness), LiveError> {
        if let Some(record) = &mut self.record {
            record.finish()?;
        }
        Ok((self.requests, self.lateness_ns))
    }
}
