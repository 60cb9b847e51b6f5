//! What is behind the targets: units, their data, and the work that the drives do for them.

use crate::content::Content;
use crate::iscsi::elements::{self, Elements};
use crate::iscsi::room::Room;
use crate::live::{Access, Done, Failure, Live, Ticket};
use bytes::Bytes;
use headstack_block::layer::{DriveFacts, ErrorKind, FaultSigns, Setting};
use headstack_drive::zoned::{self, ReportingOptions, ZoneAction, ZoneCondition, ZoneDescriptor, ZoneId};
use headstack_drive::{Command, Heeded, Hint, Setting as DriveSetting};
use headstack_scsi::cdb::Cdb;
use headstack_scsi::commands;
use headstack_scsi::commands::zones::{ZoneCall, ZoneList};
use headstack_scsi::disk::Disk;
use headstack_scsi::sense::{Code, Key, Sense};
use headstack_scsi::status::{Class, Status};
use headstack_scsi::tasks::{Attribute, Entered, TaskSet};
use headstack_scsi::unit::execution::{absent, Step};
use headstack_scsi::unit::{Ending, Outcome, Unit};
use headstack_scsi::work::{Compare, Effect, Extent, Task, Work};
use headstack_scsi::BLOCK;
use headstack_units::Lba;
use slab::Slab;
use std::ops::Range;

/// Bytes that are compared or filled at once.
const PIECE: usize = 64 << 10;

/// A target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// Its units, as devices of the system.
    pub units: Range<usize>,
}

/// Whose a command is: the session's number and the tag of the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Owner {
    pub session: u64,
    pub itt: u32,
}

/// A command that has ended at the drive.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Finished {
    pub owner: Owner,
    pub ending: Ending,
    /// Bytes of the store that are its data: the device, the first one, their number.
    pub data: Option<(usize, u64, u64)>,
    /// What the loop is told when it is answered.
    pub done: Done,
}

/// What one session has asked for that concerns others.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Order {
    /// Tasks of all sessions on these units end without an answer. Perhaps the sessions end too.
    Clear {
        units: Range<usize>,
        /// The session that asked.
        by: u64,
        /// Sessions of the target end.
        ends: bool,
    },
    /// Tasks of a port on a unit end.
    Abort {
        unit: usize,
        /// The initiator port.
        port: String,
    },
}

/// Work at a drive.
#[derive(Debug)]
struct Open {
    device: usize,
    /// `None`: nobody waits for its end.
    owner: Option<Owner>,
    work: Work,
    /// Data that are written or compared.
    data: Bytes,
    /// The second part of the work is with the drive.
    is_second: bool,
    /// It has a place in the task set.
    has_place: bool,
}

impl Open {
    /// Whether it changes the data of the unit.
    fn writes(&self) -> bool {
        let task = self.work.task;
        matches!(task, Task::Write | Task::WriteSame { .. } | Task::WriteAndVerify(_))
    }
}

/// A unit with its commands.
struct Lun {
    unit: Unit,
    tasks: TaskSet,
    signs: FaultSigns,
    elements: Elements,
    /// Its drive writes itself anew.
    is_away: bool,
}

/// All units and targets.
#[derive(Default)]
pub struct Shelf {
    /// The targets.
    pub targets: Vec<Target>,
    luns: Vec<Lun>,
    open: Slab<Open>,
    pub(super) front_end: usize,
    /// Room for data of writes.
    pub room: Room,
    finished: Vec<Finished>,
    orders: Vec<Order>,
    /// How many settings of the system had changed when it was looked at.
    seen: Option<u64>,
}

/// Whether a drive has taken a command.
#[derive(Debug)]
pub enum Started {
    /// It will be [finished](Shelf::take_finished).
    Later,
    /// It has ended.
    Ended(Ending),
    /// It has ended with a list of zones.
    Listed(ZoneList),
}

impl Shelf {
    /// Targets over the devices of a system, in order.
    pub fn new(targets: Vec<Target>, disks: Vec<Disk>) -> Shelf {
        let lun = |disk: Disk| Lun {
            tasks: TaskSet::new(disk.queue_depth),
            signs: FaultSigns::default(),
            elements: Elements::default(),
            is_away: false,
            unit: Unit::new(disk),
        };
        Shelf { targets, luns: disks.into_iter().map(lun).collect(), ..Shelf::default() }
    }

    /// A unit, by its device.
    pub fn unit(&mut self, device: usize) -> &mut Unit {
        &mut self.luns[device].unit
    }

    /// Commands that a session of a target may have at once: the places of its drives.
    pub fn places(&self, target: usize) -> u32 {
        let units = self.targets[target].units.clone();
        let places = units.map(|d| match self.luns[d].unit.disk.queue_depth {
            0 => 128,
            n => n,
        });
        places.sum()
    }

    /// Commands that are with the drives or wait for them.
    pub fn outstanding(&self) -> usize {
        self.open.len()
    }

    /// Looks at what may have changed in the drives: their places, and what they say of themselves.
    pub fn look(&mut self, live: &mut Live) {
        let changed = live.system_as_it_is().n_settings_changed();
        if self.seen == Some(changed) {
            return self.look_at_those_away(live);
        }
        self.seen = Some(changed);
        for (device, lun) in self.luns.iter_mut().enumerate() {
            let (now, system) = live.system();
            let view = system.view(now, device);
            lun.signs = view.signs;
            lun.unit.predict(if view.signs.predicts_failure { Code::FAILURE_PREDICTED } else { Code::NONE });
            if let Some((_, facts)) = view.drive {
                lun.tasks.set_depth(facts.queue_depth);
            }
            // While it is away it has the size that it had; afterwards initiators are told.
            let remake = live.remake_of(device);
            lun.is_away = remake.is_some();
            if remake.is_none() {
                lun.unit.resize(live.devices()[device].bytes / u64::from(BLOCK));
            }
            lun.unit.set_away(remake.map(elements::away_for));
        }
    }

    /// How far drives are that write themselves anew.
    fn look_at_those_away(&mut self, live: &Live) {
        let away = self.luns.iter_mut().enumerate().filter(|(_, l)| l.is_away);
        for (device, lun) in away {
            lun.unit.set_away(live.remake_of(device).map(elements::away_for));
        }
    }

    /// Whether a command to a unit may begin; see [`Unit::begin`]. `None`: there is no such unit.
    ///
    /// # Errors
    /// How it ends at once.
    pub fn begin(
        &mut self,
        live: &mut Live,
        target: usize,
        device: Option<usize>,
        nexus: u64,
        cdb: &Cdb,
    ) -> Result<u32, Ending> {
        let Some(device) = device else { return Err(absent(self.targets[target].units.len() as u16, cdb)) };
        self.look(live);
        let lun = &mut self.luns[device];
        let wanted = lun.unit.begin(headstack_scsi::attention::Nexus(nexus), cdb)?;
        let is_free = commands::find(&lun.unit.disk, cdb).is_ok_and(|e| e.class == Class::Free);
        if live.now() < lun.signs.busy_until && !is_free {
            return Err(Ending::of(Status::Busy));
        }
        // A command that could not be kept does not send its data first.
        match wanted >= BLOCK && lun.tasks.is_full() {
            true => Err(Ending::of(Status::TaskSetFull)),
            false => Ok(wanted),
        }
    }

    /// Carries out a command with all of its data.
    pub fn execute(
        &mut self,
        live: &mut Live,
        device: usize,
        owner: Owner,
        (cdb, attribute): (&Cdb, Attribute),
        data: Vec<u8>,
    ) -> Started {
        let nexus = headstack_scsi::attention::Nexus(owner.session);
        self.follow_limits(live, device, cdb);
        let work = match self.luns[device].unit.execute(nexus, cdb, &data) {
            Step::Ends(ending) => {
                self.settle(live, device);
                return Started::Ended(ending);
            }
            Step::Zones(call) => return self.zoned(live, device, call),
            Step::Elements(call) => {
                let Lun { unit, elements, .. } = &mut self.luns[device];
                return Started::Ended(elements.carry_out(live, device, unit, call));
            }
            Step::Works(work) => work,
        };
        let answered = work.immediate.then(|| Ending::of(Status::Good));
        let id = self.open.insert(Open {
            device,
            owner: answered.is_none().then_some(owner),
            work,
            data: data.into(),
            is_second: false,
            has_place: false,
        });
        // What writes the buffer needs no place: it comes from commands that have changed something already.
        if work.task != Task::Flush {
            match self.luns[device].tasks.enter(id as u64, attribute) {
                Entered::Full => {
                    self.open.remove(id);
                    return Started::Ended(Ending::of(Status::TaskSetFull));
                }
                Entered::Later => {
                    self.open[id].has_place = true;
                    return answered.map_or(Started::Later, Started::Ended);
                }
                Entered::Now => self.open[id].has_place = true,
            }
        }
        self.start(live, id);
        answered.map_or(Started::Later, Started::Ended)
    }

    /// Limits of the drive can also be changed in another way than by MODE SELECT: before a command that shows or sets pages, or
    /// shows statistics, the unit is told.
    fn follow_limits(&mut self, live: &mut Live, device: usize, cdb: &Cdb) {
        let unit = &mut self.luns[device].unit;
        let shows = matches!(cdb[0], 0x15 | 0x1a | 0x4d | 0x55 | 0x5a);
        if !shows || unit.disk.limits.is_none() {
            return;
        }
        let (_, system) = live.system();
        if let Some(drive) = system.tree.drive_of(device) {
            unit.follow_limits(drive.duration_limits(), drive.limit_counts());
        }
    }

    /// Asks the zones of a drive for something. A zone that is reset reads as zeroes.
    fn zoned(&mut self, live: &mut Live, device: usize, call: ZoneCall) -> Started {
        let unit = &self.luns[device].unit;
        let (_, system) = live.system();
        let Some(drive) = system.tree.drive_of_mut(device) else {
            return Started::Ended(unit.zoned(Err(zoned::Sense::InvalidFieldInCdb)));
        };
        let (action, id) = match call {
            ZoneCall::Report { from, options, partial, length } => {
                let zones = options.map(|options| drive.report_zones(from, options));
                let zones = zones.into_iter().flatten();
                let is_all = options == Some(ReportingOptions::All);
                return Started::Listed(ZoneList::new(&unit.disk, zones, is_all, partial, length));
            }
            ZoneCall::Manage(action, id) => (action, id),
        };
        let from = match id {
            ZoneId::At(lba) => lba,
            ZoneId::All => Lba(0),
        };
        let written: Vec<(u64, u64)> = match action {
            ZoneAction::Reset => {
                let zones = drive.report_zones(from, ReportingOptions::All);
                let most = if id == ZoneId::All { usize::MAX } else { 1 };
                zones.take(most).filter_map(|z| extent_written(&z)).collect()
            }
            _ => Vec::new(),
        };
        let done = drive.manage_zones(action, id);
        if done.is_ok() {
            for (first, blocks) in written {
                let (offset, bytes) = (first * u64::from(BLOCK), blocks * u64::from(BLOCK));
                if live.store(device).discard(offset, bytes).is_err() {
                    let code = Code::INTERNAL_TARGET_FAILURE;
                    let sense = Sense::new(Key::HardwareError, code);
                    return Started::Ended(unit.check(&sense));
                }
            }
        }
        Started::Ended(unit.zoned(done))
    }

    /// Gives work to the drive.
    fn start(&mut self, live: &mut Live, id: usize) {
        let open = &mut self.open[id];
        let (work, device) = (open.work, open.device);
        let content = match work.task {
            // They are no longer needed here.
            Task::Write => Some(Content::Data(std::mem::take(&mut open.data))),
            Task::WriteAndVerify(_) => Some(Content::Data(open.data.clone())),
            Task::WriteSame { zeroes } if zeroes || open.data.iter().all(|b| *b == 0) => {
                Some(Content::Zeroes { keep: false })
            }
            Task::WriteSame { .. } => Some(Content::Repeated(open.data.clone())),
            _ => None,
        };
        let cached = self.luns[device].unit.pages.write_cache() && !work.forced;
        let command = match work.task {
            Task::Read if work.forced => Command::ReadThrough,
            Task::Read | Task::Verify(_) | Task::Prefetch => Command::Read,
            Task::Flush => Command::Flush,
            Task::WriteAndVerify(_) => Command::WriteThrough,
            _ if cached => Command::Write,
            _ => Command::WriteThrough,
        };
        self.submit(live, id, command, content);
    }

    fn submit(&mut self, live: &mut Live, id: usize, command: Command, content: Option<Content>) {
        let ticket = self.ticket(id);
        let open = &self.open[id];
        let access = Access {
            device: open.device,
            command,
            hint: Hint::new(open.work.limit, false).unwrap_or_default(),
            offset: open.work.extent.lba * u64::from(BLOCK),
            length: u64::from(open.work.extent.blocks) * u64::from(BLOCK),
        };
        live.submit(ticket, access, content);
    }

    /// The drive has ended a request.
    pub fn completed(&mut self, live: &mut Live, done: &Done) {
        let id = done.ticket.tag as usize;
        let open = &mut self.open[id];
        let writes_first = matches!(open.work.task, Task::WriteAndVerify(_));
        if done.error.is_none() && writes_first && !std::mem::replace(&mut open.is_second, true) {
            return self.submit(live, id, Command::Read, None);
        }
        let outcome = match done.error {
            Some(failure) => Outcome::Failed(sense_of(failure, &open.work)),
            None => match compared(live, open) {
                Outcome::Done => self.recovered(live, id),
                other => other,
            },
        };
        let open = &self.open[id];
        let (owner, device, work) = (open.owner, open.device, open.work);
        let ending = self.end(live, id, outcome);
        let Some(owner) = owner else { return };
        let is_read = work.task == Task::Read && ending.status == Status::Good;
        let data = is_read.then(|| {
            let block = u64::from(BLOCK);
            let (first, blocks) = (work.extent.lba, u64::from(work.extent.blocks));
            (device, first * block, blocks * block)
        });
        self.finished.push(Finished { owner, ending, data, done: *done });
    }

    /// Work that was done: whether the drive had to try for some time.
    fn recovered(&self, live: &Live, id: usize) -> Outcome {
        let open = &self.open[id];
        if !self.luns[open.device].signs.has_weak || open.writes() || open.work.task == Task::Flush {
            return Outcome::Done;
        }
        let Extent { lba, blocks } = open.work.extent;
        let found = live.system_as_it_is().tree.weak(open.device, lba..lba + u64::from(blocks));
        found.map_or(Outcome::Done, Outcome::Recovered)
    }

    /// Work has ended: others that waited for its end go on.
    fn end(&mut self, live: &mut Live, id: usize, outcome: Outcome) -> Ending {
        let open = self.open.remove(id);
        let mut ending = self.luns[open.device].unit.worked(&open.work, outcome);
        if ending.status == Status::Good && !ending.sense.is_empty() {
            // Initiators of iSCSI read sense data with CHECK CONDITION alone: with GOOD they would take data for read that the
            // drive has not given.
            ending.status = Status::CheckCondition;
        }
        if open.has_place {
            self.luns[open.device].tasks.leave(id as u64);
            self.go_on(live, open.device);
        }
        self.settle(live, open.device);
        ending
    }

    /// Starts commands that waited because of their attribute.
    fn go_on(&mut self, live: &mut Live, device: usize) {
        while let Some(id) = self.luns[device].tasks.next_free() {
            self.start(live, id as usize);
        }
    }

    /// What a command has changed of the drive is changed.
    fn settle(&mut self, live: &mut Live, device: usize) {
        for effect in std::mem::take(&mut self.luns[device].unit.effects) {
            let (now, system) = live.system();
            let Some((path, _)) = system.view(now, device).drive else { continue };
            let setting = match effect {
                Effect::Condition(condition) => DriveSetting::PowerCondition(condition),
                Effect::Timer(condition, after) => DriveSetting::IdleTimer { condition, after },
                Effect::Limits(limits) => DriveSetting::DurationLimits(*limits),
            };
            // Only conditions that the drive has are set.
            let _ = live.set(&path, Setting::Drive(setting));
        }
        for port in std::mem::take(&mut self.luns[device].unit.aborted) {
            self.orders.push(Order::Abort { unit: device, port });
        }
    }

    /// A session no longer waits for a command. A drive that has not begun with it drops it; its place is free when that is
    /// so, or when the drive has done it.
    pub fn abort(&mut self, live: &mut Live, device: usize, owner: Owner) {
        let mine = |(_, open): &(usize, &Open)| open.owner == Some(owner);
        let Some(id) = self.open.iter().find(mine).map(|(id, _)| id) else { return };
        self.open[id].owner = None;
        if self.luns[device].tasks.is_waiting(id as u64) {
            self.luns[device].tasks.leave(id as u64);
            self.open.remove(id);
            return self.go_on(live, device);
        }
        live.abort(self.ticket(id));
    }

    fn ticket(&self, id: usize) -> Ticket {
        Ticket { front_end: self.front_end, tag: id as u64 }
    }

    /// A reset of units that a session asked for.
    pub fn reset(&mut self, live: &mut Live, units: Range<usize>, by: u64, ends: bool) {
        for device in units.clone() {
            self.luns[device].unit.reset(Code::BUS_DEVICE_RESET);
            self.settle(live, device);
        }
        self.orders.push(Order::Clear { units, by, ends });
    }

    /// CLEAR TASK SET that a session asked for.
    pub fn clear(&mut self, device: usize, by: u64) {
        let nexus = headstack_scsi::attention::Nexus(by);
        self.luns[device].unit.cleared(nexus);
        let units = device..device + 1;
        self.orders.push(Order::Clear { units, by, ends: false });
    }

    /// Power was lost.
    pub fn lose_power(&mut self) {
        self.luns.iter_mut().for_each(|lun| lun.unit.lose_power());
    }

    /// Commands that have ended since the last call.
    pub fn take_finished(&mut self) -> Vec<Finished> {
        std::mem::take(&mut self.finished)
    }

    /// What concerns several sessions, since the last call.
    pub fn take_orders(&mut self) -> Vec<Order> {
        std::mem::take(&mut self.orders)
    }
}

/// First block and number of the blocks of a zone that may have been written; `None` if there are none.
fn extent_written(zone: &ZoneDescriptor) -> Option<(u64, u64)> {
    let written = match (zone.condition, zone.write_pointer) {
        (_, Some(pointer)) => pointer.0 - zone.start.0,
        (ZoneCondition::Full, None) => zone.blocks,
        _ => 0,
    };
    (written > 0).then_some((zone.start.0, written))
}

/// Compares what was read from the medium with the data of the command.
fn compared(live: &mut Live, open: &Open) -> Outcome {
    let (Task::Verify(compare) | Task::WriteAndVerify(compare)) = open.work.task else { return Outcome::Done };
    if compare == Compare::Nothing {
        return Outcome::Done;
    }
    let mut offset = open.work.extent.lba * u64::from(BLOCK);
    let length = open.work.extent.blocks as usize * BLOCK as usize;
    let (mut buffer, mut at) = (vec![0; PIECE], 0);
    while at < length {
        let bytes = (length - at).min(PIECE);
        if live.store(open.device).read(offset, &mut buffer[..bytes]).is_err() {
            let code = Code::INTERNAL_TARGET_FAILURE;
            return Outcome::Failed(Sense::new(Key::HardwareError, code));
        }
        let own = |i: usize| match compare {
            Compare::EachWithOne => open.data[i % BLOCK as usize],
            _ => open.data[i],
        };
        if let Some(i) = (0..bytes).find(|i| buffer[*i] != own(at + i)) {
            return Outcome::Differs((at + i) as u64);
        }
        (at, offset) = (at + bytes, offset + bytes as u64);
    }
    Outcome::Done
}

/// Why a drive failed a request, as sense data.
fn sense_of(failure: Failure, work: &Work) -> Sense {
    let kind = match failure {
        Failure::PowerLost => return Sense::new(Key::UnitAttention, Code::POWER_ON),
        Failure::Store => return Sense::new(Key::HardwareError, Code::INTERNAL_TARGET_FAILURE),
        Failure::Device(kind) => kind,
    };
    let writes = matches!(work.task, Task::Write | Task::WriteSame { .. });
    match (kind, kind.sense()) {
        // WRITE ERROR.
        (ErrorKind::Medium { lba }, _) if writes => {
            Sense::new(Key::MediumError, Code(0x0c, 0x00)).with_information(lba)
        }
        (ErrorKind::Medium { lba }, Some((_, code, qualifier))) => {
            Sense::new(Key::MediumError, Code(code, qualifier)).with_information(lba)
        }
        (_, Some((key, code, qualifier))) => {
            let key = Key::from_number(key).unwrap_or(Key::HardwareError);
            Sense::new(key, Code(code, qualifier))
        }
        // A volume fails, which is no drive.
        (_, None) => Sense::new(Key::HardwareError, Code::INTERNAL_TARGET_FAILURE),
    }
}

/// A SCSI drive heeds the limits that commands name without being told to; what is settled with the host's switch of an ATA drive
/// (`cdl_enable`) is settled here.
fn heed_limits(live: &mut Live, device: usize) {
    let (now, system) = live.system();
    let Some((path, facts)) = system.view(now, device).drive else { return };
    if facts.has_limits && facts.heeded == Heeded::None {
        let heeded = DriveSetting::HeededHints(Heeded::Limits);
        // A drive takes it at any time.
        let _ = live.set(&path, Setting::Drive(heeded));
    }
}

/// The disk that a device of a system is.
pub fn disk_of(live: &mut Live, device: usize, target: &Target) -> Disk {
    heed_limits(live, device);
    let blocks = live.devices()[device].bytes / u64::from(BLOCK);
    let (now, system) = live.system();
    let facts = system.view(now, device).drive.map(|(_, facts)| facts);
    let n_elements = system.tree.drive_of(device).map_or(0, elements::number);
    let truncates = system.tree.drive_of(device).is_some_and(elements::truncates);
    let heeds = |f: &DriveFacts| f.has_limits && f.heeded == Heeded::Limits;
    let limits = (facts.as_ref().filter(|f| heeds(f)).and(system.tree.drive_of(device)))
        .map(|drive| drive.duration_limits().clone());
    let number = device - target.units.start;
    let mut disk = Disk {
        blocks,
        sector_blocks: 1,
        rpm: 0,
        product: live.devices()[device].description.clone(),
        serial: String::new(),
        target: target.name.clone(),
        units: target.units.len() as u16,
        queue_depth: 0,
        write_cache: false,
        elements: n_elements,
        truncates,
        zones: None,
        limits,
        ranges: Vec::new(),
        conditions: Vec::new(),
    };
    disk.serial = format!("HS{:012X}{number:02}", disk.number() >> 12);
    if let Some(facts) = facts {
        disk.sector_blocks = (facts.sector_bytes / u64::from(BLOCK)).max(1);
        disk.rpm = u16::try_from(facts.rpm).unwrap_or(0);
        disk.queue_depth = facts.queue_depth;
        disk.write_cache = facts.write_cache;
        disk.zones = facts.zones;
        disk.ranges = facts.access_ranges;
        disk.conditions = facts.conditions;
        if !facts.model.is_empty() {
            disk.product = facts.model;
        }
    }
    disk
}
