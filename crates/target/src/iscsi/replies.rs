//! Answers that wait to be sent. The data of reads are taken from the store as the socket takes them.

use crate::iscsi::login::Negotiated;
use crate::iscsi::pdu::{self, opcode, zeroed, Answer, Digests, Lengths, FINAL, HEADER, NO_TAG};
use crate::live::Live;
use bytes::{BufMut, BytesMut};
use headstack_drive::zoned::ReportingOptions;
use headstack_scsi::commands::zones::ZoneList;
use headstack_scsi::status::Status;
use headstack_scsi::unit::Ending;
use std::collections::VecDeque;
use std::io;
use zerocopy::{transmute, FromBytes, Immutable, IntoBytes};

/// What is known of the transfer of a command.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    /// Its tag.
    pub itt: u32,
    /// Bytes that the initiator expects.
    pub expected: u32,
    /// The initiator expects data.
    pub reads: bool,
    /// The initiator has data.
    pub writes: bool,
    /// Bytes of data that the command takes.
    pub wanted: u32,
    /// Its end makes room for another command.
    pub is_counted: bool,
    /// R2T that were sent.
    pub units_sent: u32,
}

impl Transfer {
    /// Flag and bytes of what was not transferred, if the command has `bytes` for the initiator.
    fn residual(&self, bytes: u64) -> (u8, u32) {
        let there = if self.writes { u64::from(self.wanted) } else { bytes };
        let expected = u64::from(self.expected);
        match there.cmp(&expected) {
            std::cmp::Ordering::Equal => (0, 0),
            std::cmp::Ordering::Greater => (OVERFLOW, (there - expected) as u32),
            std::cmp::Ordering::Less => (UNDERFLOW, (expected - there) as u32),
        }
    }

    /// Bytes of `bytes` that the initiator takes.
    fn taken(&self, bytes: u64) -> u32 {
        match self.reads {
            true => bytes.min(self.expected.into()) as u32,
            false => 0,
        }
    }
}

/// More data than the initiator expected.
const OVERFLOW: u8 = 0x04;
/// Less data than the initiator expected.
const UNDERFLOW: u8 = 0x02;

/// Where data come from.
#[derive(Debug)]
pub enum Content {
    /// From a store.
    Stored {
        /// The device.
        device: usize,
        /// The first byte.
        offset: u64,
    },
    /// From here.
    Here(Vec<u8>),
    /// Zones of a device, which are described as they are sent.
    Zones(usize, ZoneList),
}

/// Data of a command that are still to be sent, with its good end.
#[derive(Debug)]
pub struct Data {
    transfer: Transfer,
    lun: [u8; 8],
    content: Content,
    total: u64,
    sent: u32,
    data_sn: u32,
}

impl Data {
    /// Data of `total` bytes, of which as many are sent as the initiator takes.
    pub fn new(transfer: &Transfer, lun: [u8; 8], content: Content, total: u64) -> Data {
        Data { transfer: *transfer, lun, content, total, sent: 0, data_sn: 0 }
    }
}

#[derive(Debug)]
pub(crate) enum Reply {
    /// A unit. Perhaps its status is counted.
    Unit {
        header: [u8; HEADER],
        data: Vec<u8>,
        has_status: bool,
    },
    Data(Data),
    /// A command has been answered: there is room for another one.
    Count,
}

/// Sizes agreed on are 512 or more. Whole sectors are sent, so that none is of two times.
const WHOLE_SECTORS: u32 = !0x1ff;

impl Reply {
    /// Bytes of memory that it takes.
    fn bytes(&self) -> usize {
        let more = match self {
            Reply::Unit { data, .. } => data.len(),
            Reply::Data(data) => match &data.content {
                Content::Here(content) => content.len(),
                Content::Zones(_, zones) => zones.held(),
                Content::Stored { .. } => 0,
            },
            Reply::Count => 0,
        };
        size_of::<Reply>() + more
    }
}

/// Answers in the order in which they are sent.
#[derive(Debug)]
pub struct Replies {
    pub(crate) waiting: VecDeque<Reply>,
    /// Bytes of memory that they take.
    pub bytes: usize,
    digests: Digests,
    /// Most data of a unit.
    pub most_sent: u32,
    most_burst: u32,
    stat_sn: u32,
    /// Next command that is expected.
    pub exp_cmd_sn: u32,
    /// The last command that the initiator may send.
    pub max_cmd_sn: u32,
}

impl Replies {
    /// For a session that begins.
    pub fn new(of: &Negotiated) -> Replies {
        Replies {
            waiting: VecDeque::new(),
            bytes: 0,
            digests: of.parameters.digests,
            most_sent: of.parameters.most_sent,
            most_burst: of.parameters.most_burst & WHOLE_SECTORS,
            stat_sn: of.stat_sn,
            exp_cmd_sn: of.cmd_sn,
            max_cmd_sn: of.cmd_sn.wrapping_add(of.window - 1),
        }
    }

    fn push(&mut self, reply: Reply) {
        self.bytes += reply.bytes();
        self.waiting.push_back(reply);
    }

    fn pop(&mut self) -> Option<Reply> {
        let reply = self.waiting.pop_front()?;
        self.bytes -= reply.bytes();
        Some(reply)
    }

    /// Adds a unit whose numbers are filled in when it is sent.
    pub fn add_unit(&mut self, header: &(impl IntoBytes + Immutable), data: Vec<u8>, has_status: bool) {
        let mut bytes = [0; HEADER];
        bytes.copy_from_slice(header.as_bytes());
        self.push(Reply::Unit { header: bytes, data, has_status });
    }

    /// Makes room for another command once all answers before are sent.
    pub fn count(&mut self) {
        self.push(Reply::Count);
    }

    /// Adds data with a good end; the end alone if the initiator takes no data.
    pub fn add_data(&mut self, data: Data) {
        let (transfer, total) = (data.transfer, data.total);
        match transfer.taken(total) {
            0 => {
                let good = Ending::of(Status::Good);
                self.add_unit(&response(&transfer, &good, total, 0), Vec::new(), true);
            }
            _ => self.push(Reply::Data(data)),
        }
        if transfer.is_counted {
            self.count();
        }
    }

    /// Adds the end of a command.
    pub fn end(&mut self, transfer: &Transfer, mut ending: Ending) {
        let total = ending.data.len() as u64;
        if ending.status == Status::Good {
            // What the initiator does not expect is not kept.
            ending.data.truncate(transfer.taken(total) as usize);
            ending.data.shrink_to_fit();
            let content = Content::Here(ending.data);
            return self.add_data(Data::new(transfer, [0; 8], content, total));
        }
        let mut data = Vec::new();
        if !ending.sense.is_empty() {
            data.extend_from_slice(&(ending.sense.len() as u16).to_be_bytes());
            data.extend_from_slice(&ending.sense);
        }
        let response = response(transfer, &ending, total, data.len());
        self.add_unit(&response, data, true);
        if transfer.is_counted {
            self.count();
        }
    }

    /// Adds what is to be sent to `out`, until `most` bytes are there; no part of a read is longer.
    ///
    /// # Errors
    /// The store cannot be read after part of the data was sent.
    pub fn fill(&mut self, out: &mut BytesMut, live: &mut Live, most: usize) -> io::Result<()> {
        while out.len() < most {
            let Some(first) = self.pop() else { break };
            match first {
                Reply::Count => self.max_cmd_sn = self.max_cmd_sn.wrapping_add(1),
                Reply::Unit { header, data, has_status } => {
                    // What frees a place for the next command is told at once.
                    self.count_ahead();
                    let header = self.numbered(header, has_status);
                    pdu::put(out, &header, &data, self.digests);
                }
                Reply::Data(mut data) => {
                    if !self.send_data(out, &mut data, live, most)? {
                        let rest = Reply::Data(data);
                        self.bytes += rest.bytes();
                        self.waiting.push_front(rest);
                    }
                }
            }
        }
        Ok(())
    }

    /// The next command is told with the answer that makes room for it.
    fn count_ahead(&mut self) {
        if matches!(self.waiting.front(), Some(Reply::Count)) {
            self.pop();
            self.max_cmd_sn = self.max_cmd_sn.wrapping_add(1);
        }
    }

    /// A header with its numbers.
    fn numbered(&mut self, mut header: [u8; HEADER], has_status: bool) -> [u8; HEADER] {
        // All units of a target have these numbers in the same places.
        if let Ok(fields) = Answer::mut_from_bytes(&mut header) {
            fields.stat_sn = self.stat_sn.into();
            fields.exp_cmd_sn = self.exp_cmd_sn.into();
            fields.max_cmd_sn = self.max_cmd_sn.into();
        }
        if has_status {
            self.stat_sn = self.stat_sn.wrapping_add(1);
        }
        header
    }

    /// Sends the next unit of data; true if it was the last one.
    fn send_data(&mut self, out: &mut BytesMut, data: &mut Data, live: &mut Live, most: usize) -> io::Result<bool> {
        let all = data.transfer.taken(data.total);
        let left_of_burst = self.most_burst - data.sent % self.most_burst;
        let bytes = (all - data.sent).min(self.most_sent & WHOLE_SECTORS);
        let bytes = bytes.min(left_of_burst).min((most as u32).max(512) & WHOLE_SECTORS);
        let is_last = data.sent + bytes == all;
        let ends_burst = is_last || bytes == left_of_burst;
        let mut unit: pdu::DataIn = zeroed();
        unit.opcode = opcode::DATA_IN;
        unit.flags = if ends_burst { FINAL } else { 0 };
        unit.lengths = Lengths::of(bytes as usize);
        unit.lun = data.lun;
        unit.itt = data.transfer.itt.into();
        unit.ttt = NO_TAG.into();
        unit.data_sn = data.data_sn.into();
        unit.offset = data.sent.into();
        if is_last {
            let (flag, residual) = data.transfer.residual(data.total);
            // The bit S: with the status.
            unit.flags |= 0x01 | flag;
            unit.residual = residual.into();
            self.count_ahead();
        }
        let header = self.numbered(transmute!(unit), is_last);
        pdu::put_header(out, &header, self.digests);
        let start = out.len();
        let (at, end) = (data.sent as usize, (data.sent + bytes) as usize);
        match &data.content {
            Content::Here(content) => out.put_slice(&content[at..end]),
            Content::Zones(device, zones) => {
                let drive = live.system_as_it_is().tree.drive_of(*device);
                let zone = |from| drive?.report_zones(from, ReportingOptions::All).next();
                out.put_slice(&zones.part(at..end, zone));
            }
            Content::Stored { device, offset } => {
                out.put_bytes(0, bytes as usize);
                let place = offset + u64::from(data.sent);
                live.store(*device).read(place, &mut out[start..])?;
            }
        }
        pdu::end_data(out, bytes as usize, self.digests);
        data.sent += bytes;
        data.data_sn += 1;
        Ok(is_last)
    }
}

/// The response of a command that has `total` bytes, with so many bytes of sense data.
fn response(transfer: &Transfer, ending: &Ending, total: u64, sense: usize) -> pdu::Response {
    let (flag, residual) = transfer.residual(total);
    let mut unit: pdu::Response = zeroed();
    unit.opcode = opcode::SCSI_RESPONSE;
    unit.flags = FINAL | flag;
    unit.status = ending.status as u8;
    unit.lengths = Lengths::of(sense);
    unit.itt = transfer.itt.into();
    unit.exp_data_sn = transfer.units_sent.into();
    unit.residual = residual.into();
    unit
}
