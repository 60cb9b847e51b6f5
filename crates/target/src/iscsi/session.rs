//! One session in the full feature phase: commands, their data, task management.
//!
//! # Model
//! Error recovery level 0: one connection, in order. A unit that breaks the order of commands ends it. Data that a command
//! writes are kept until all of them are there. What it reads is taken from the store as the socket takes it.

use crate::clients::WORK_BYTES;
use crate::iscsi::login::Negotiated;
use crate::iscsi::parameters::Parameters;
use crate::iscsi::pdu::{self, opcode, reason, view, zeroed, Lengths, Pdu, FINAL, NO_TAG};
use crate::iscsi::replies::{Content, Data, Replies, Transfer};
use crate::iscsi::shelf::{Finished, Owner, Shelf, Started};
use crate::iscsi::text;
use crate::live::Live;
use headstack_scsi::cdb::Cdb;
use headstack_scsi::sense::{Code, Key, Sense};
use headstack_scsi::status::Status;
use headstack_scsi::tasks::Attribute;
use headstack_scsi::unit::Ending;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Immediate commands that a session may have at once.
const MOST_IMMEDIATE: usize = 16;
/// A write that has the room of the longest one must come with so many bytes in a second.
const LEAST_RATE: u64 = 1 << 20;
/// The bit C of texts: they go on.
const CONTINUE: u8 = 0x40;
/// The tag of a text that goes on.
const MORE_TEXT: u32 = 1;
/// Data with a wrong number or place.
const DATA_OFFSET_ERROR: Code = Code(0x4b, 0x05);

/// Data that an R2T has asked for.
#[derive(Debug, Clone, Copy)]
struct Asked {
    ttt: u32,
    until: u32,
}

/// A command.
#[derive(Debug)]
struct Task {
    device: usize,
    lun: [u8; 8],
    cdb: Cdb,
    attribute: Attribute,
    transfer: Transfer,
    /// Bytes that it takes: what it wants and the initiator has.
    goal: u32,
    /// Bytes that came.
    received: u32,
    data: Vec<u8>,
    /// More data come without an R2T.
    is_open: bool,
    asked: Option<Asked>,
    next_data_sn: u32,
    r2t_sn: u32,
    /// Bytes of the session's share of room that it has.
    reserved: usize,
    /// It has the part of the room that one write has.
    is_whole: bool,
    /// When its data were asked for, or begin to be late.
    since: Instant,
    /// It is with the drive, or waits for its turn there.
    is_running: bool,
}

impl Task {
    fn new(request: &pdu::Command, cdb: Cdb, device: usize, transfer: Transfer) -> Task {
        Task {
            device,
            lun: request.lun,
            cdb,
            attribute: match request.flags & 0x07 {
                2 => Attribute::Ordered,
                3 => Attribute::HeadOfQueue,
                _ => Attribute::Simple,
            },
            goal: if transfer.writes { transfer.wanted.min(transfer.expected) } else { 0 },
            is_open: transfer.writes && request.flags & FINAL == 0,
            transfer,
            received: 0,
            data: Vec::new(),
            asked: None,
            next_data_sn: 0,
            r2t_sn: 0,
            reserved: 0,
            is_whole: false,
            since: Instant::now(),
            is_running: false,
        }
    }
}

/// Why a connection must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken;

/// A session.
#[derive(Debug)]
pub struct Session {
    /// Its number, which is that of its connection.
    pub number: u64,
    /// The name of the initiator port.
    pub port: String,
    /// The target; `None` for discovery.
    pub target: Option<usize>,
    /// What it agreed on.
    pub parameters: Parameters,
    exp_cmd_sn: u32,
    tasks: BTreeMap<u32, Task>,
    /// Tasks that wait for room for their data.
    waiting: VecDeque<u32>,
    next_ttt: u32,
    /// What is left of the answer to a text request.
    text: Vec<u8>,
    /// The answers.
    pub replies: Replies,
    /// When all data came of those that were asked for at once.
    came: Instant,
    /// Bytes of room that its writes have.
    held: usize,
    /// Work of searches in all zones of a drive, since this was last set.
    pub searched: usize,
    /// The connection ends once the answers are sent.
    pub leaves: bool,
}

/// Answers of task management. The numbers are those of the standard.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Managed {
    Done = 0,
    NoTask = 1,
    NoUnit = 2,
    NoReassign = 4,
    NotSupported = 5,
}

impl Session {
    /// A session of these names and parameters.
    pub fn new(number: u64, of: &Negotiated) -> Session {
        Session {
            number,
            port: of.port(),
            target: of.target,
            parameters: of.parameters,
            exp_cmd_sn: of.cmd_sn,
            tasks: BTreeMap::new(),
            waiting: VecDeque::new(),
            next_ttt: 0,
            text: Vec::new(),
            replies: Replies::new(of),
            came: Instant::now(),
            held: 0,
            searched: 0,
            leaves: false,
        }
    }

    fn owner(&self, itt: u32) -> Owner {
        Owner { session: self.number, itt }
    }

    /// When data were asked for that have not come, or others came last; of several, the oldest.
    pub fn asked_since(&self) -> Option<Instant> {
        let open = self.tasks.values().filter(|t| t.is_open || t.asked.is_some());
        open.map(|t| if t.is_whole { t.since } else { t.since.max(self.came) }).min()
    }

    /// Whether no command is open and no answer waits.
    pub fn is_idle(&self) -> bool {
        self.tasks.is_empty() && self.replies.waiting.is_empty()
    }

    /// Whether answers wait.
    pub fn has_replies(&self) -> bool {
        !self.replies.waiting.is_empty()
    }

    /// Whether a command waits for room for its data.
    pub fn waits_for_room(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes a unit.
    ///
    /// # Errors
    /// The connection must end, after the answers that are there.
    pub fn take(&mut self, pdu: Pdu, shelf: &mut Shelf, live: &mut Live, address: &str) -> Result<(), Broken> {
        if pdu.opcode() == opcode::DATA_OUT {
            return self.data_out(&pdu, shelf, live);
        }
        if !self.is_next(&pdu)? {
            return Ok(());
        }
        match (pdu.opcode(), self.target) {
            (opcode::SCSI_COMMAND, Some(target)) => self.command(&pdu, target, shelf, live),
            (opcode::TASK_REQUEST, Some(target)) => {
                self.manage(&pdu, target, shelf, live);
                Ok(())
            }
            (opcode::NOP_OUT, _) => {
                self.ping(pdu);
                Ok(())
            }
            (opcode::TEXT_REQUEST, _) => {
                self.text(&pdu, shelf, address);
                Ok(())
            }
            (opcode::LOGOUT_REQUEST, _) => {
                self.log_out(&pdu);
                Ok(())
            }
            _ => {
                self.reject(&pdu.header, reason::NOT_SUPPORTED);
                Err(Broken)
            }
        }
    }

    /// Counts a request. False if it lies outside the window, and is ignored.
    fn is_next(&mut self, pdu: &Pdu) -> Result<bool, Broken> {
        let number = view::<pdu::Request>(&pdu.header).cmd_sn.get();
        if pdu.is_immediate() {
            let open = self.tasks.values().filter(|t| !t.transfer.is_counted).count();
            if open >= MOST_IMMEDIATE && pdu.opcode() == opcode::SCSI_COMMAND {
                self.reject(&pdu.header, reason::TOO_MANY_IMMEDIATE);
                return Ok(false);
            }
            return Ok(true);
        }
        let ahead = number.wrapping_sub(self.exp_cmd_sn);
        let room = self.replies.max_cmd_sn.wrapping_sub(self.exp_cmd_sn);
        if ahead > room || room == u32::MAX {
            return Ok(false);
        }
        if ahead > 0 {
            // What came before is lost, and nothing is sent again at level 0.
            self.reject(&pdu.header, reason::PROTOCOL);
            return Err(Broken);
        }
        self.exp_cmd_sn = self.exp_cmd_sn.wrapping_add(1);
        self.replies.exp_cmd_sn = self.exp_cmd_sn;
        Ok(true)
    }

    fn device_of(&self, lun: [u8; 8], units: &Range<usize>) -> Option<usize> {
        // Peripheral and flat space addressing, of one level.
        let number = match (lun[0] >> 6, &lun[2..]) {
            (0, [0, 0, 0, 0, 0, 0]) if lun[0] == 0 => usize::from(lun[1]),
            (1, [0, 0, 0, 0, 0, 0]) => usize::from(lun[0] & 0x3f) << 8 | usize::from(lun[1]),
            _ => return None,
        };
        (number < units.len()).then(|| units.start + number)
    }

    fn command(&mut self, pdu: &Pdu, target: usize, shelf: &mut Shelf, live: &mut Live) -> Result<(), Broken> {
        let request: &pdu::Command = view(&pdu.header);
        let itt = request.itt.get();
        let unsolicited = pdu.data.len() as u32;
        let (reads, writes) = (request.flags & 0x40 != 0, request.flags & 0x20 != 0);
        let breaks = self.tasks.contains_key(&itt)
            || (unsolicited > 0 && (!writes || !self.parameters.immediate_data))
            || unsolicited > self.parameters.first_burst
            || (writes && request.flags & FINAL == 0 && self.parameters.initial_r2t);
        if breaks || itt == NO_TAG {
            self.reject(&pdu.header, reason::PROTOCOL);
            return Err(Broken);
        }
        let mut cdb: Cdb = [0; 32];
        cdb[..16].copy_from_slice(&request.cdb);
        let more = pdu.long_cdb.len().min(16);
        cdb[16..16 + more].copy_from_slice(&pdu.long_cdb[..more]);
        let mut transfer = Transfer {
            itt,
            expected: request.expected.get(),
            reads,
            writes,
            wanted: 0,
            is_counted: !pdu.is_immediate(),
            units_sent: 0,
        };
        let units = shelf.targets[target].units.clone();
        let device = self.device_of(request.lun, &units);
        let wanted = match shelf.begin(live, target, device, self.number, &cdb) {
            Ok(wanted) => wanted,
            Err(ending) => {
                self.replies.end(&transfer, ending);
                return Ok(());
            }
        };
        let Some(device) = device else { return Ok(()) };
        transfer.wanted = wanted;
        self.tasks.insert(itt, Task::new(request, cdb, device, transfer));
        if self.keep(itt, &pdu.data, shelf) {
            self.go_on(itt, shelf, live);
        }
        Ok(())
    }

    /// Bytes of `wanted` that a write gets room for; 0 if there is none.
    fn make_room(&mut self, itt: u32, wanted: usize, shelf: &mut Shelf) -> usize {
        let owner = self.owner(itt);
        let Some(task) = self.tasks.get_mut(&itt) else { return 0 };
        if task.is_whole {
            return wanted;
        }
        let given = shelf.room.take(&mut self.held, wanted);
        task.reserved += given;
        if given > 0 || !shelf.room.take_whole(owner) {
            return given;
        }
        task.is_whole = true;
        let seconds = u64::from(task.goal - task.received) / LEAST_RATE;
        task.since = Instant::now() + Duration::from_secs(seconds);
        wanted
    }

    /// Keeps data of a write; false if it has ended for lack of room. Only what was not asked for may lack it.
    fn keep(&mut self, itt: u32, data: &[u8], shelf: &mut Shelf) -> bool {
        let Some(task) = self.tasks.get(&itt) else { return false };
        let kept = data.len().min(task.goal as usize - task.data.len());
        let is_asked = task.asked.is_some() || kept == 0;
        if !is_asked && self.make_room(itt, kept, shelf) < kept {
            self.end(itt, shelf, Ending::of(Status::Busy));
            return false;
        }
        if let Some(task) = self.tasks.get_mut(&itt) {
            task.data.extend_from_slice(&data[..kept]);
            task.received += data.len() as u32;
        }
        true
    }

    /// A command runs if its data are there; else it asks for them.
    fn go_on(&mut self, itt: u32, shelf: &mut Shelf, live: &mut Live) {
        let Some(task) = self.tasks.get_mut(&itt) else { return };
        if task.is_open || task.asked.is_some() {
            return;
        }
        if task.received >= task.goal {
            return self.run(itt, shelf, live);
        }
        let wanted = (task.goal - task.received).min(self.parameters.most_burst);
        let wanted = self.make_room(itt, wanted as usize, shelf) as u32;
        let Some(task) = self.tasks.get_mut(&itt).filter(|_| wanted > 0) else {
            shelf.room.is_short = true;
            self.waiting.push_back(itt);
            return;
        };
        task.data.reserve_exact(wanted as usize);
        if !task.is_whole {
            task.since = Instant::now();
        }
        self.next_ttt = self.next_ttt.wrapping_add(1) & 0x7fff_ffff;
        task.asked = Some(Asked { ttt: self.next_ttt, until: task.received + wanted });
        task.next_data_sn = 0;
        let mut r2t: pdu::ReadyToTransfer = zeroed();
        r2t.opcode = opcode::R2T;
        r2t.flags = FINAL;
        r2t.lun = task.lun;
        r2t.itt = itt.into();
        r2t.ttt = self.next_ttt.into();
        r2t.r2t_sn = task.r2t_sn.into();
        r2t.offset = task.received.into();
        r2t.desired = wanted.into();
        task.r2t_sn += 1;
        task.transfer.units_sent += 1;
        self.replies.add_unit(&r2t, Vec::new(), false);
    }

    fn run(&mut self, itt: u32, shelf: &mut Shelf, live: &mut Live) {
        let Some(task) = self.tasks.get_mut(&itt) else { return };
        task.is_running = true;
        let data = std::mem::take(&mut task.data);
        let (device, cdb, attribute) = (task.device, task.cdb, task.attribute);
        let owner = self.owner(itt);
        match shelf.execute(live, device, owner, (&cdb, attribute), data) {
            Started::Later => {}
            Started::Ended(ending) => self.end(itt, shelf, ending),
            Started::Listed(zones) => {
                // A whole turn.
                self.searched += if zones.was_searched() { WORK_BYTES } else { 0 };
                if let Some(Task { transfer, lun, .. }) = self.remove(itt, shelf) {
                    let bytes = zones.bytes as u64;
                    let content = Content::Zones(device, zones);
                    (self.replies).add_data(Data::new(&transfer, lun, content, bytes));
                }
            }
        }
    }

    /// A command has ended without the data of a store.
    fn end(&mut self, itt: u32, shelf: &mut Shelf, ending: Ending) {
        if let Some(task) = self.remove(itt, shelf) {
            self.replies.end(&task.transfer, ending);
        }
    }

    fn remove(&mut self, itt: u32, shelf: &mut Shelf) -> Option<Task> {
        let task = self.tasks.remove(&itt)?;
        let owner = self.owner(itt);
        shelf.room.free(owner, &mut self.held, task.reserved);
        Some(task)
    }

    /// A drive has ended a command; false if it is no longer known.
    pub fn finished(&mut self, finished: Finished, shelf: &mut Shelf) -> bool {
        let Some(task) = self.remove(finished.owner.itt, shelf) else { return false };
        match finished.data {
            None => self.replies.end(&task.transfer, finished.ending),
            Some((device, offset, bytes)) => {
                self.replies.add_data(Data::new(&task.transfer, task.lun, Content::Stored { device, offset }, bytes))
            }
        }
        true
    }

    fn data_out(&mut self, pdu: &Pdu, shelf: &mut Shelf, live: &mut Live) -> Result<(), Broken> {
        let unit: &pdu::DataOut = view(&pdu.header);
        let itt = unit.itt.get();
        // The rest of a command that has ended already, or was aborted.
        let Some(task) = self.tasks.get_mut(&itt) else { return Ok(()) };
        let length = pdu.data.len() as u32;
        let end = unit.offset.get().checked_add(length);
        let until = match (unit.ttt.get(), task.asked) {
            (NO_TAG, _) if task.is_open => self.parameters.first_burst.max(task.received),
            (ttt, Some(asked)) if ttt == asked.ttt => asked.until,
            // Data that nobody has asked for.
            _ => {
                self.reject(&pdu.header, reason::PROTOCOL);
                return Err(Broken);
            }
        };
        let is_right = unit.offset.get() == task.received
            && end.is_some_and(|end| end <= until)
            && unit.data_sn.get() == task.next_data_sn;
        if !is_right {
            let sense = Sense::new(Key::AbortedCommand, DATA_OFFSET_ERROR);
            let ending = shelf.unit(task.device).check(&sense);
            self.end(itt, shelf, ending);
            return Ok(());
        }
        task.next_data_sn += 1;
        if !self.keep(itt, &pdu.data, shelf) {
            return Ok(());
        }
        let Some(task) = self.tasks.get_mut(&itt) else { return Ok(()) };
        let is_last = unit.flags & FINAL != 0;
        let is_all = task.asked.is_some_and(|asked| task.received == asked.until);
        if is_last != is_all && task.asked.is_some() {
            let sense = Sense::new(Key::AbortedCommand, DATA_OFFSET_ERROR);
            let ending = shelf.unit(task.device).check(&sense);
            self.end(itt, shelf, ending);
            return Ok(());
        }
        if is_last {
            task.is_open = false;
            task.asked = None;
            self.came = Instant::now();
            self.go_on(itt, shelf, live);
        }
        Ok(())
    }

    /// Commands that waited for room for their data ask for them.
    pub fn ask_again(&mut self, shelf: &mut Shelf, live: &mut Live) {
        for itt in std::mem::take(&mut self.waiting) {
            self.go_on(itt, shelf, live);
        }
    }

    fn manage(&mut self, pdu: &Pdu, target: usize, shelf: &mut Shelf, live: &mut Live) {
        let request: &pdu::TaskRequest = view(&pdu.header);
        let units = shelf.targets[target].units.clone();
        let device = self.device_of(request.lun, &units);
        let answer = match (request.flags & 0x7f, device) {
            (1, _) => {
                if self.abort(request.referenced.get(), shelf, live) {
                    Managed::Done
                } else {
                    Managed::NoTask
                }
            }
            (2 | 4 | 5, None) => Managed::NoUnit,
            (2, Some(device)) => {
                self.abort_units(&(device..device + 1), shelf, live);
                Managed::Done
            }
            (4, Some(device)) => {
                self.abort_units(&(device..device + 1), shelf, live);
                shelf.clear(device, self.number);
                Managed::Done
            }
            (5, Some(device)) => {
                self.abort_units(&(device..device + 1), shelf, live);
                shelf.reset(live, device..device + 1, self.number, false);
                Managed::Done
            }
            (function @ (6 | 7), _) => {
                self.abort_units(&units, shelf, live);
                self.leaves = function == 7;
                shelf.reset(live, units, self.number, self.leaves);
                Managed::Done
            }
            (8, _) => Managed::NoReassign,
            _ => Managed::NotSupported,
        };
        let mut response: pdu::ShortResponse = zeroed();
        response.opcode = opcode::TASK_RESPONSE;
        response.flags = FINAL;
        response.response = answer as u8;
        response.itt = request.itt;
        self.add(pdu, &response, Vec::new());
    }

    /// Adds the answer to a request.
    fn add(&mut self, to: &Pdu, header: &(impl zerocopy::IntoBytes + zerocopy::Immutable), data: Vec<u8>) {
        self.replies.add_unit(header, data, true);
        if !to.is_immediate() {
            self.replies.count();
        }
    }

    /// Ends a command without an answer; false if there is none with this tag.
    fn abort(&mut self, itt: u32, shelf: &mut Shelf, live: &mut Live) -> bool {
        let Some(task) = self.remove(itt, shelf) else { return false };
        if task.is_running {
            shelf.abort(live, task.device, self.owner(itt));
        }
        if task.transfer.is_counted {
            self.replies.count();
        }
        true
    }

    /// Ends all commands to these units without an answer.
    pub fn abort_units(&mut self, units: &Range<usize>, shelf: &mut Shelf, live: &mut Live) {
        let of_units = self.tasks.iter().filter(|(_, t)| units.contains(&t.device));
        let tags: Vec<u32> = of_units.map(|(itt, _)| *itt).collect();
        for itt in tags {
            self.abort(itt, shelf, live);
        }
    }

    /// The session ends: nothing of it remains.
    pub fn close(&mut self, shelf: &mut Shelf, live: &mut Live) {
        let Some(target) = self.target else { return };
        let units = shelf.targets[target].units.clone();
        self.abort_units(&units, shelf, live);
        for device in units {
            let nexus = headstack_scsi::attention::Nexus(self.number);
            shelf.unit(device).disconnect(nexus);
        }
    }

    /// A ping is answered with its data.
    fn ping(&mut self, mut pdu: Pdu) {
        let request: &pdu::Request = view(&pdu.header);
        if request.itt.get() == NO_TAG {
            return;
        }
        let mut answer: pdu::Answer = zeroed();
        answer.opcode = opcode::NOP_IN;
        answer.flags = FINAL;
        answer.lun = request.lun;
        answer.itt = request.itt;
        answer.ttt = NO_TAG.into();
        pdu.data.truncate(self.parameters.most_sent as usize);
        answer.lengths = Lengths::of(pdu.data.len());
        let data = pdu.data.to_vec();
        self.add(&pdu, &answer, data);
    }

    /// Keys are answered. An answer that is too long for a unit goes on with the next request, which is empty.
    fn text(&mut self, pdu: &Pdu, shelf: &Shelf, address: &str) {
        let request: &pdu::Request = view(&pdu.header);
        let goes_on = request.ttt.get() == MORE_TEXT && pdu.data.is_empty();
        if !goes_on {
            // A key comes once, so that the answer has a bound.
            let is_right = |keys: &text::Keys| {
                let names: BTreeSet<_> = keys.iter().map(|(key, _)| key).collect();
                request.flags & CONTINUE == 0 && names.len() == keys.len()
            };
            let Some(keys) = text::read(&pdu.data).filter(is_right) else {
                return self.reject(&pdu.header, reason::INVALID_FIELD);
            };
            let mut answers = Vec::new();
            for (key, value) in &keys {
                self.answer(key, value, shelf, address, &mut answers);
            }
            self.text = text::write(&answers);
        }
        let bytes = self.text.len().min(self.parameters.most_sent as usize);
        let rest = self.text.split_off(bytes);
        let data = std::mem::replace(&mut self.text, rest);
        let mut answer: pdu::Answer = zeroed();
        answer.opcode = opcode::TEXT_RESPONSE;
        (answer.flags, answer.ttt) = match self.text.is_empty() {
            true => (FINAL, NO_TAG.into()),
            false => (CONTINUE, MORE_TEXT.into()),
        };
        answer.lun = request.lun;
        answer.itt = request.itt;
        answer.lengths = Lengths::of(data.len());
        self.add(pdu, &answer, data);
    }

    fn answer(&mut self, key: &str, value: &str, shelf: &Shelf, address: &str, answers: &mut text::Keys) {
        match key {
            "SendTargets" => self.targets(value, shelf, address, answers),
            "MaxRecvDataSegmentLength" => {
                let is_discovery = self.target.is_none();
                let said = self.parameters.negotiate(key, value, is_discovery);
                answers.extend(said.map(|said| (key.into(), said)));
                self.replies.most_sent = self.parameters.most_sent;
            }
            // What was agreed on at login stays.
            _ => answers.push((key.into(), "NotUnderstood".into())),
        }
    }

    /// The targets that an initiator asks for.
    fn targets(&self, value: &str, shelf: &Shelf, address: &str, answers: &mut text::Keys) {
        for (number, target) in shelf.targets.iter().enumerate() {
            let is_asked = match value {
                "All" => self.target.is_none(),
                "" => self.target == Some(number),
                name => name == target.name,
            };
            if is_asked {
                answers.push(("TargetName".into(), target.name.clone()));
                answers.push(("TargetAddress".into(), format!("{address},1")));
            }
        }
    }

    fn log_out(&mut self, pdu: &Pdu) {
        let request: &pdu::LogoutRequest = view(&pdu.header);
        let mut response: pdu::ShortResponse = zeroed();
        response.opcode = opcode::LOGOUT_RESPONSE;
        response.flags = FINAL;
        response.itt = request.itt;
        // 2: a connection for recovery is not supported.
        response.response = if request.flags & 0x7f == 2 { 2 } else { 0 };
        self.leaves = response.response == 0;
        self.add(pdu, &response, Vec::new());
    }

    /// Rejects a unit.
    pub fn reject(&mut self, header: &[u8; pdu::HEADER], why: u8) {
        let mut unit: pdu::Reject = zeroed();
        unit.opcode = opcode::REJECT;
        unit.flags = FINAL;
        unit.reason = why;
        unit.itt = NO_TAG.into();
        unit.lengths = Lengths::of(header.len());
        self.replies.add_unit(&unit, header.to_vec(), true);
    }

    /// The server ends: the initiator is told that the connection ends.
    pub fn say_farewell(&mut self) {
        let mut unit: pdu::AsyncMessage = zeroed();
        unit.opcode = opcode::ASYNC_MESSAGE;
        unit.flags = FINAL;
        unit.itt = NO_TAG.into();
        // 2: the target drops this connection; nothing is kept.
        unit.event = 2;
        self.replies.add_unit(&unit, Vec::new(), true);
    }
}
