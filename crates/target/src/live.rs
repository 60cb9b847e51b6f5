//! A system in real time: it takes requests and gives completions, whoever speaks to it.

use crate::clock::Clock;
use crate::content::Content;
use crate::counters::Counters;
use crate::devices::{Asked, Bytes, Devices, Ended, BLOCK};
use crate::energy::Energy;
use crate::history::{Dice, Torn, Writes};
use crate::power::{Afterwards, PowerLosses};
use crate::record::Record;
use crate::remake::{Remaking, OWN};
use crate::store::Store;
use crate::TargetError;
use headstack_block::layer::{ErrorKind, Setting};
use headstack_block::Meter;
use headstack_drive::{Command, Hint};
use headstack_experiment::LiveSystem;
use headstack_schema::SpecError;
use headstack_sim::change::Change;
use headstack_units::{Span, Time};
use slab::Slab;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;

mod remaking;

/// Sectors that are written before it is looked which of them the drives have written to their media by themselves.
const LOOK_AFTER: u64 = (64 << 20) / BLOCK;

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

/// A request to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Access {
    pub device: usize,
    pub command: Command,
    /// The duration limit that it names, for a drive that heeds limits.
    pub hint: Hint,
    /// First byte; ignored by a flush.
    pub offset: u64,
    /// Number of bytes; ignored by a flush.
    pub length: u64,
}

impl Access {
    fn bytes(&self) -> Bytes {
        let (offset, length) = match self.command {
            Command::Flush => (0, 0),
            _ => (self.offset, self.length),
        };
        Bytes { offset, length }
    }

    fn writes(&self) -> bool {
        matches!(self.command, Command::Write | Command::WriteThrough)
    }
}

/// Why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The simulated system failed it.
    Device(ErrorKind),
    /// The file with the data cannot be written.
    Store,
    /// Power was lost while it was outstanding.
    PowerLost,
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
    pub error: Option<Failure>,
}

/// Makes the system anew, as after a loss of power.
pub type Make = dyn Fn() -> Result<LiveSystem, TargetError> + Send;

/// What a live system is made of.
pub struct Parts {
    /// Makes the simulated system.
    pub make: Box<Make>,
    /// The simulated devices, as made first.
    pub devices: Devices,
    /// The name of what is emulated: of a drive, or of a system.
    pub name: String,
    /// Names and sizes, in the same order.
    pub described: Vec<Device>,
    /// Their data.
    pub stores: Vec<Store>,
    /// The time of the devices.
    pub clock: Clock,
    /// Whether nobody sleeps while there is something to do.
    pub busy: bool,
    /// Where finished requests are written.
    pub record: Option<Record>,
    /// When power is lost.
    pub losses: PowerLosses,
}

/// A request at a device.
struct Open {
    ticket: Ticket,
    access: Access,
    arrival: Time,
    /// Unlike any other request's.
    number: u64,
    /// What it writes.
    content: Option<Content>,
}

/// A system in real time.
pub struct Live {
    parts: Parts,
    open: Slab<Open>,
    /// Bytes in memory that open requests write.
    pub held: u64,
    /// What was counted.
    pub counters: Counters,
    /// Requests so far.
    submitted: u64,
    writes: u64,
    dice: Dice,
    /// Requests that ended with the last loss of power.
    lost: Vec<Done>,
    /// Connections are to be ended.
    pub(crate) disconnects: bool,
    /// Energy of the systems before the last loss of power, joules of each drive.
    joules_before: Vec<f64>,
    /// The energy of the drives over time.
    pub energy: Energy,
    /// What was changed by hand: a loss of power does not undo it.
    changed: Vec<ByHand>,
    /// Over how long the mean power of each device is shown.
    pub(crate) power_intervals: Vec<Span>,
    /// Drives that write themselves anew.
    remakes: BTreeMap<usize, Remaking>,
    /// Why the last write to the control directory was refused; empty if it was not.
    pub(crate) refused: String,
    /// Most commands that the drive of each device takes; a queue of a host may take fewer.
    pub(crate) most_commands: Vec<u32>,
}

/// A change that somebody asked for while it runs.
enum ByHand {
    Change(Box<Change>),
    Fault(Vec<u32>, Setting),
    Set(Vec<u32>, Setting),
    /// Heads that a device's drive does without, and most blocks that it offers.
    Heads(usize, BTreeSet<u32>, Option<u64>),
}

impl Live {
    /// A system whose time begins with its clock.
    pub fn new(mut parts: Parts) -> Live {
        if parts.losses.is_possible {
            parts.stores.iter_mut().for_each(Store::keep_history);
        }
        let most_commands = |device: usize| {
            let drive = parts.devices.system.view(Time::ZERO, device).drive;
            drive.map_or(0, |(_, facts)| facts.queue_depth)
        };
        let most_commands = (0..parts.described.len()).map(most_commands).collect();
        Live {
            open: Slab::new(),
            held: 0,
            counters: Counters::new(parts.described.len()),
            submitted: 0,
            writes: 0,
            dice: Dice::new(parts.losses.seed),
            lost: Vec::new(),
            disconnects: false,
            joules_before: Vec::new(),
            energy: Energy::default(),
            changed: Vec::new(),
            power_intervals: vec![Span(1_000_000_000); parts.described.len()],
            remakes: BTreeMap::new(),
            refused: String::new(),
            most_commands,
            parts,
        }
    }

    /// The name of what is emulated.
    pub fn name(&self) -> &str {
        &self.parts.name
    }

    /// The devices, in order.
    pub fn devices(&self) -> &[Device] {
        &self.parts.described
    }

    /// The data of a device.
    pub fn store(&mut self, device: usize) -> &mut Store {
        &mut self.parts.stores[device]
    }

    /// The simulated time.
    pub fn now(&self) -> Time {
        self.parts.clock.now()
    }

    /// Advances the simulated system to now, and returns both.
    pub fn system(&mut self) -> (Time, &mut LiveSystem) {
        let now = self.parts.clock.now();
        self.parts.devices.advance(now);
        (now, &mut self.parts.devices.system)
    }

    /// Submits a request that lies inside its device; it arrives now. What it writes is in the store once it has ended well.
    pub fn submit(&mut self, ticket: Ticket, access: Access, content: Option<Content>) {
        let now = self.parts.clock.now();
        self.parts.devices.advance(now);
        if self.remakes.contains_key(&access.device) {
            // The drive is away.
            let error = Some(Failure::Device(ErrorKind::Gone));
            return self.lost.push(Done { ticket, access, at: now, error });
        }
        self.submitted += 1;
        self.held += content.as_ref().map_or(0, Content::in_memory);
        let number = self.submitted;
        let id = self.open.insert(Open { ticket, access, arrival: now, number, content });
        if access.writes() {
            // What cannot be written now is tried again with the next flush, which says so.
            let _ = self.settle(access.device, access.bytes().blocks());
        }
        if access.command == Command::Flush {
            if let Some(history) = self.parts.stores[access.device].history.as_mut() {
                history.flush_begins(number);
            }
        }
        if let Some(record) = &mut self.parts.record {
            record.begin(&access, now);
        }
        self.counters.begun(access.device, now);
        let bytes = access.bytes();
        let asked = Asked { command: access.command, hint: access.hint };
        (self.parts.devices).submit(now, access.device, id as u64, asked, bytes);
        if !access.command.reads() {
            self.writes += 1;
            let writes = self.writes;
            if self.parts.losses.at_write.contains(&writes) {
                self.parts.losses.at.push(now);
            }
        }
    }

    /// The drive writes itself anew. Nobody counts its own requests.
    fn submit_own(&mut self, ticket: Ticket, access: Access, asked: Asked, bytes: Bytes) {
        let now = self.parts.clock.now();
        self.parts.devices.advance(now);
        let id = self.open.insert(Open { ticket, access, arrival: now, number: 0, content: None });
        (self.parts.devices).submit(now, access.device, id as u64, asked, bytes);
    }

    /// A device has this size now, and no data.
    ///
    /// # Errors
    /// The store cannot be written.
    fn blank(&mut self, device: usize, bytes: u64) -> std::io::Result<()> {
        let before = std::mem::replace(&mut self.parts.described[device].bytes, bytes);
        let sectors = 0..before.max(bytes) / BLOCK;
        self.parts.stores[device].blank(&[sectors])
    }

    /// The meters of these drives have begun anew; `before` is what all drives had used.
    fn joules_continue(&mut self, before: &[f64], drives: &[u32]) {
        self.joules_before.resize(before.len(), 0.0);
        for drive in drives {
            self.joules_before[*drive as usize] = before[*drive as usize];
        }
    }

    /// The client has no more use for a request. It ends as usual, at once if its drive has not begun with it.
    pub fn abort(&mut self, ticket: Ticket) {
        let now = self.parts.clock.now();
        self.parts.devices.advance(now);
        let found = self.open.iter().find(|(_, open)| open.ticket == ticket);
        if let Some((id, _)) = found {
            self.parts.devices.abort(now, id as u64);
        }
    }

    /// The system at the time to which it was advanced last.
    pub fn system_as_it_is(&self) -> &LiveSystem {
        &self.parts.devices.system
    }

    /// Whether its clock and sockets are to be watched without sleeping while there is something to do.
    pub fn is_busy(&self) -> bool {
        self.parts.busy
    }

    /// Requests that have not ended.
    pub fn outstanding(&self) -> usize {
        self.open.len()
    }

    /// Of the ended writes to these blocks, those are settled whose data are in no buffer. Where the system cannot say
    /// that, only a flush settles.
    ///
    /// # Errors
    /// The store cannot be written. What is not settled then stays as it was.
    fn settle(&mut self, device: usize, blocks: Range<u64>) -> std::io::Result<()> {
        let store = &mut self.parts.stores[device];
        let Some(history) = store.history.as_mut().filter(|h| !h.is_empty()) else { return Ok(()) };
        let system = &self.parts.devices.system;
        for range in history.ranges(blocks) {
            let mut held = Vec::new();
            if !system.tree.unwritten(device, range.clone(), &mut |r| held.push(r)) {
                continue;
            }
            held.sort_unstable_by_key(|r: &Range<u64>| r.start);
            held.push(range.end..range.end);
            let mut from = range.start;
            for r in held {
                if from < r.start {
                    store.settle(|h| h.settle(from..r.start))?;
                }
                from = from.max(r.end);
            }
        }
        Ok(())
    }

    /// Carries out what happens until now, and gives the requests that have ended to `sink`.
    ///
    /// # Errors
    /// The system cannot be made anew after a loss of power.
    pub fn advance(&mut self, mut sink: impl FnMut(&mut Live, Done)) -> Result<(), TargetError> {
        let now = self.parts.clock.now();
        let due = self.parts.losses.due();
        // What ends before power is lost is told.
        let until = now.min(due);
        self.parts.devices.advance(until);
        while let Some(ended) = self.parts.devices.ended(until) {
            if let Some(done) = self.end(ended) {
                sink(self, done);
            }
        }
        if self.parts.losses.take(now) {
            self.lose_power_at(until)?;
        }
        for done in std::mem::take(&mut self.lost) {
            sink(self, done);
        }
        Ok(())
    }

    /// A request has ended; `None` if nobody is told.
    fn end(&mut self, ended: Ended) -> Option<Done> {
        let open = self.open.remove(ended.id as usize);
        let access = open.access;
        if open.ticket.front_end == OWN {
            self.piece_ended(&open, ended.error.is_some());
            return None;
        }
        self.held -= open.content.as_ref().map_or(0, Content::in_memory);
        self.counters.ended(&access, open.arrival, &ended);
        self.recorded(|record| record.end(open.number, Some(ended.at)));
        let stored = self.store_ended(&open, &ended);
        let error = ended.error.map(Failure::Device);
        let error = error.or(stored.err().map(|_| Failure::Store));
        if !self.remakes.is_empty() {
            self.begin_remake(access.device);
        }
        Some(Done { ticket: open.ticket, access, at: ended.at, error })
    }

    /// Does something with the record, which ends if it cannot be written; the system goes on.
    fn recorded(&mut self, with: impl FnOnce(&mut Record) -> Result<(), TargetError>) {
        if let Some(Err(why)) = self.parts.record.as_mut().map(with) {
            self.parts.record = None;
            self.counters.record_ended = Some(why.to_string());
        }
    }

    /// A request has ended: what it wrote is in the store, and what it settles is settled.
    fn store_ended(&mut self, open: &Open, ended: &Ended) -> std::io::Result<()> {
        let (access, is_good) = (open.access, ended.error.is_none());
        let store = &mut self.parts.stores[access.device];
        if access.command == Command::Flush {
            store.settle(|h| h.flush_ends(open.number, is_good))?;
            return self.settle(access.device, 0..u64::MAX);
        }
        let Some(content) = open.content.as_ref().filter(|_| is_good) else { return Ok(()) };
        store.write(open.number, access.bytes(), content)?;
        let blocks = access.bytes().blocks();
        if access.command == Command::WriteThrough {
            return store.settle(|h| h.settle(blocks));
        }
        match store.history.as_mut() {
            Some(history) if history.n_written > LOOK_AFTER => {
                history.n_written = 0;
                self.settle(access.device, 0..u64::MAX)
            }
            _ => self.settle(access.device, blocks),
        }
    }

    /// Power is lost now.
    ///
    /// # Errors
    /// Power cannot be lost here, a file cannot be written, or the system cannot be made anew.
    pub fn lose_power(&mut self) -> Result<Torn, TargetError> {
        if !self.parts.losses.is_possible {
            let text = "power loss: got a system without it, need one that was started with it";
            return Err(TargetError::Argument(text.into()));
        }
        let now = self.parts.clock.now();
        self.parts.devices.advance(now);
        self.lose_power_at(now)
    }

    fn lose_power_at(&mut self, now: Time) -> Result<Torn, TargetError> {
        for ended in self.parts.devices.failed(now) {
            let done = self.end(ended);
            self.lost.extend(done);
        }
        let (mut torn, mut lost) = (Torn::default(), Vec::new());
        let mut open: Vec<Open> = self.open.drain().collect();
        open.sort_unstable_by_key(|o| o.number);
        self.held = 0;
        for device in 0..self.parts.stores.len() {
            self.settle(device, 0..u64::MAX)?;
            let (store, mut at_drive) = (&mut self.parts.stores[device], Writes::new());
            for o in open.iter().filter(|o| o.access.device == device) {
                let own = o.content.iter();
                let own = own.map(|content| store.sectors_of(o.number, o.access.bytes(), content));
                at_drive.extend(own.collect::<std::io::Result<Vec<_>>>()?.concat());
            }
            let (of_device, sectors) = store.tear(at_drive, &mut self.dice)?;
            torn.add(of_device);
            lost.push(sectors);
        }
        self.fail_remakes();
        for open in open.into_iter().filter(|o| o.ticket.front_end != OWN) {
            self.recorded(|record| record.end(open.number, None));
            self.counters.lost(open.access.device, now);
            self.lost.push(Done { ticket: open.ticket, access: open.access, at: now, error: Some(Failure::PowerLost) });
        }
        self.counters.power_lost(torn);
        self.disconnects = self.parts.losses.afterwards == Afterwards::Disconnect;
        self.joules_before = self.joules();
        let mut system = (self.parts.make)()?;
        system.advance(now, &mut |_| {});
        system.tree.reset_statistics(now);
        let before = &self.parts.devices.system;
        system.succeed(now, before);
        for (device, lost) in lost.iter().enumerate() {
            if let (Some(drive), Some(before)) = (system.tree.drive_of_mut(device), before.tree.drive_of(device)) {
                drive.recover_zones(before, &mut |blocks| {
                    let next = lost.partition_point(|sector| *sector < blocks.start);
                    lost.get(next).copied().filter(|sector| blocks.contains(sector))
                });
            }
            let unwritten = system.past_pointers(device, before, lost);
            let store = &mut self.parts.stores[device];
            store.blank(&unwritten).map_err(TargetError::System)?;
        }
        for change in &self.changed {
            // It was accepted before.
            let _ = match change {
                ByHand::Change(change) => system.change(now, change),
                ByHand::Fault(drives, setting) => system.set_fault(now, drives, setting),
                ByHand::Set(path, setting) => system.set(now, path, setting),
                ByHand::Heads(device, heads, most) => {
                    system.without_heads(*device, heads, *most).map(|next| system.exchange(now, *device, next))
                }
            };
        }
        self.parts.devices.replace(now, system);
        Ok(torn)
    }

    /// Changes the system now, as an experiment can. `at` of the change is not used.
    ///
    /// # Errors
    /// A change that does not fit.
    pub fn change(&mut self, change: Change) -> Result<(), SpecError> {
        let (now, system) = self.system();
        system.change(now, &change)?;
        self.changed.push(ByHand::Change(change.into()));
        Ok(())
    }

    /// Sets something of the fault layers of these drives, all if there are none.
    ///
    /// # Errors
    /// A drive that does not exist, or a setting that does not fit.
    pub fn set_fault(&mut self, drives: &[u32], setting: Setting) -> Result<(), SpecError> {
        let (now, system) = self.system();
        system.set_fault(now, drives, &setting)?;
        self.changed.push(ByHand::Fault(drives.to_vec(), setting));
        Ok(())
    }

    /// Sets something of the layer at a path of [`LiveSystem::view`].
    ///
    /// # Errors
    /// A value that the layer refuses.
    pub fn set(&mut self, path: &[u32], setting: Setting) -> Result<(), SpecError> {
        let (now, system) = self.system();
        system.set(now, path, &setting)?;
        self.changed.push(ByHand::Set(path.to_vec(), setting));
        Ok(())
    }

    /// Number of drives.
    pub fn n_drives(&self) -> u32 {
        self.parts.devices.system.n_drives()
    }

    /// Samples the energy of the drives if a sample is due.
    pub fn sample(&mut self) {
        if self.energy.is_due(self.parts.clock.now()) {
            self.sample_now();
        }
    }

    /// Samples the energy of the drives.
    pub fn sample_now(&mut self) {
        let (now, joules) = (self.parts.clock.now(), self.joules());
        self.energy.add(now, joules);
    }

    /// Energy of each drive so far, in joules.
    pub fn joules(&mut self) -> Vec<f64> {
        let mut sums = Vec::new();
        let (now, system) = self.system();
        system.tree.drive_joules(now, &mut sums);
        let before = self.joules_before.iter().copied().chain(std::iter::repeat(0.0));
        sums.iter_mut().zip(before).for_each(|(sum, before)| *sum += before);
        sums
    }

    /// The client of a request is answered now.
    pub fn answered(&mut self, done: &Done) {
        let late = self.parts.clock.lateness(done.at, self.parts.clock.now());
        self.counters.answered(late);
    }

    /// How long until something happens by itself; `None` if nothing will.
    pub fn until_next(&self) -> Option<Duration> {
        if !self.lost.is_empty() {
            return Some(Duration::ZERO);
        }
        if self.open.is_empty() && matches!(self.parts.clock, Clock::Jumping(_)) {
            return None;
        }
        match self.next_event() {
            Time::NEVER => None,
            at => Some(self.parts.clock.until(at)),
        }
    }

    fn next_event(&self) -> Time {
        (self.parts.devices.next_event()).min(self.parts.losses.due())
    }

    /// Nobody asks for anything before the next event: a clock that does not wait jumps there, and true is returned.
    /// False if time passes by itself, or nothing will happen.
    pub fn skip(&mut self) -> bool {
        let next = self.next_event();
        let jumps = matches!(self.parts.clock, Clock::Jumping(_));
        if !jumps || self.open.is_empty() || next == Time::NEVER {
            return false;
        }
        self.parts.clock.jump(next);
        true
    }

    /// Ends: writes what is left of the record, and returns what was counted.
    pub fn finish(mut self) -> Counters {
        self.recorded(Record::finish);
        self.counters
    }
}
