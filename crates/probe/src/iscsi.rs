//! An iSCSI initiator: one session with one connection, several commands in flight, reads with FUA.
//!
//! # Source
//! RFC 7143. Not supported: CHAP, digests, error recovery above level 0; writes of more than the target takes with the
//! command.

use crate::batch::{Batch, Status};
use crate::flight::Flight;
use crate::pace::{Link, Real};
use crate::scsi::{self, Commands, Reply};
use crate::wire::Wire;
use crate::{lost, no_target, Kind, ProbeError};
use bytes::BytesMut;
use headstack_target::iscsi::pdu::{
    opcode, put, take, view, zeroed, Answer, Basic, Command, DataIn, Digests, Lengths, LoginRequest, LoginResponse,
    Pdu, Request, Response, Taken, FINAL, NO_TAG,
};
use headstack_target::iscsi::text;
use std::sync::atomic::{AtomicU8, Ordering};

/// Sessions of this process.
static SESSIONS: AtomicU8 = AtomicU8::new(0);

/// Most data of a unit that is received.
const MOST_DATA: usize = 256 << 10;
/// Units of a login.
const MOST_LOGIN: u32 = 16;
/// Most sense data of a reply, and most data of one that is kept.
const MOST_KEPT: usize = 1 << 16;
const TARGET: &str = "an iSCSI target";
/// Our name.
const INITIATOR: &str = "iqn.2026-11.org.headstack:probe";
/// Status with a Data-In unit.
const HAS_STATUS: u8 = 0x01;
/// The bits R and W of commands.
const READ: u8 = 0x40;
const WRITE: u8 = 0x20;
/// The bits T, and the stages: operational, full feature.
const TRANSIT: u8 = 0x80;
const OPERATIONAL: u8 = 1;
const FULL_FEATURE: u8 = 3;

/// Opens `iscsi://HOST[:PORT]/TARGET/LUN`.
///
/// # Errors
/// A name that is none, no target, or a unit that is not a disk.
pub(crate) fn open(url: &str) -> Result<Real<Session>, ProbeError> {
    let parts = url.strip_prefix("iscsi://").and_then(|rest| {
        let (portal, rest) = rest.split_once('/')?;
        let (target, lun) = rest.rsplit_once('/')?;
        Some((portal, target, lun.parse::<u8>().ok()?)).filter(|_| !target.is_empty())
    });
    let Some((portal, target, lun)) = parts else {
        let need = "iscsi://HOST:PORT/TARGET/LUN with a unit up to 255";
        return Err(no_target(format!("{url:?}"), need));
    };
    let has_port = portal.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let address = if has_port { portal.to_string() } else { format!("{portal}:3260") };
    of(Wire::port(&address)?, target, lun)
}

/// A unit, on a socket that is connected.
fn of(wire: Wire, target: &str, lun: u8) -> Result<Real<Session>, ProbeError> {
    let mut session = Session::new(wire, lun);
    session.login(target)?;
    let described = scsi::describe(&mut session, Kind::Iscsi)?;
    session.block_bytes = described.block_bytes;
    Ok(Real::new(session, described))
}

/// A session.
pub(crate) struct Session {
    wire: Wire,
    lun: [u8; 8],
    block_bytes: u32,
    /// Most data that the target takes with a command.
    most_sent: usize,
    /// Number of the next command, and the last one that the target takes.
    cmd_sn: u32,
    max_cmd_sn: u32,
    /// Number of the next status.
    stat_sn: u32,
    flight: Flight,
    out: BytesMut,
    /// What came of a command outside a batch.
    kept: Option<Reply>,
}

/// What a unit said.
enum Said {
    /// A command has ended.
    Ended(usize, Status),
    /// Something else.
    Nothing,
}

impl Session {
    fn new(wire: Wire, lun: u8) -> Session {
        Session {
            wire,
            lun: [0, lun, 0, 0, 0, 0, 0, 0],
            block_bytes: 512,
            most_sent: 0,
            cmd_sn: 1,
            max_cmd_sn: 1,
            stat_sn: 0,
            flight: Flight::default(),
            out: BytesMut::with_capacity(1024),
            kept: None,
        }
    }

    /// A unit, if all of it has arrived.
    fn unit(&mut self) -> Result<Option<Pdu>, ProbeError> {
        match take(&mut self.wire.input, Digests::default(), MOST_DATA) {
            Taken::Whole(pdu) => Ok(Some(pdu)),
            Taken::More => Ok(None),
            Taken::Damaged | Taken::DamagedData(_) => Err(lost("a damaged unit", TARGET)),
        }
    }

    /// Waits for a unit.
    fn next_unit(&mut self) -> Result<Pdu, ProbeError> {
        loop {
            if let Some(pdu) = self.unit()? {
                return Ok(pdu);
            }
            self.wire.more()?;
        }
    }

    fn send(&mut self) -> Result<(), ProbeError> {
        let sent = self.wire.send(&self.out);
        self.out.clear();
        sent
    }

    /// Logs in without security, which begins with the operational stage.
    fn login(&mut self, target: &str) -> Result<(), ProbeError> {
        let keys = [
            ("InitiatorName", INITIATOR),
            ("TargetName", target),
            ("SessionType", "Normal"),
            ("HeaderDigest", "None"),
            ("DataDigest", "None"),
            ("MaxRecvDataSegmentLength", &MOST_DATA.to_string()),
            ("ErrorRecoveryLevel", "0"),
            ("InitialR2T", "Yes"),
            ("ImmediateData", "Yes"),
            ("MaxConnections", "1"),
            ("MaxOutstandingR2T", "1"),
        ];
        let keys: Vec<(String, String)> = keys.map(|(k, v)| (k.into(), v.into())).into();
        let mut data = text::write(&keys);
        let mut tsih = 0;
        // Of the random kind: unlike those of other sessions of this machine.
        let [_, a, b, c] = std::process::id().to_be_bytes();
        let isid = [0x80, a, b, c, 0, SESSIONS.fetch_add(1, Ordering::Relaxed)];
        for _ in 0..MOST_LOGIN {
            let mut request: LoginRequest = zeroed();
            request.opcode = opcode::LOGIN_REQUEST | opcode::IMMEDIATE;
            request.flags = TRANSIT | OPERATIONAL << 2 | FULL_FEATURE;
            request.lengths = Lengths::of(data.len());
            request.isid = isid;
            request.tsih = tsih.into();
            request.cmd_sn = self.cmd_sn.into();
            request.exp_stat_sn = self.stat_sn.into();
            put(&mut self.out, &request, &data, Digests::default());
            self.send()?;
            let pdu = self.next_unit()?;
            if pdu.opcode() != opcode::LOGIN_RESPONSE {
                return Err(lost(format!("a unit of type {:#04x} to a login", pdu.opcode()), TARGET));
            }
            let response: &LoginResponse = view(&pdu.header);
            self.stat_sn = response.stat_sn.get().wrapping_add(1);
            self.max_cmd_sn = response.max_cmd_sn.get();
            match response.status.get() {
                0 => {}
                0x0201 => return Err(no_target("one that demands CHAP (not supported)", TARGET)),
                0x0203 => return Err(no_target(format!("{target:?}, which is not there"), TARGET)),
                status => return Err(lost(format!("status {status:#06x} of the login"), TARGET)),
            }
            let answers = text::read(&pdu.data).ok_or_else(|| lost("keys that are none", TARGET))?;
            if answers.iter().any(|(key, value)| key.ends_with("Digest") && value != "None") {
                return Err(lost("a demand for digests (not supported)", TARGET));
            }
            self.most_sent = most_sent(&answers);
            if response.flags & (TRANSIT | 3) == TRANSIT | FULL_FEATURE {
                return Ok(());
            }
            (data, tsih) = (Vec::new(), response.tsih.get());
        }
        Err(lost("a login without end", TARGET))
    }

    /// Puts a command into what is sent.
    fn put_command(&mut self, number: u32, cdb: [u8; 16], data: &[u8], bytes: u32) -> Result<(), ProbeError> {
        if data.len() > self.most_sent {
            return Err(lost(format!("{} bytes with a command at most", self.most_sent), "a target that takes more"));
        }
        let mut command: Command = zeroed();
        command.opcode = opcode::SCSI_COMMAND;
        command.flags = FINAL
            | match (data.len(), bytes) {
                (0, 0) => 0,
                (0, _) => READ,
                _ => WRITE,
            };
        command.lun = self.lun;
        command.lengths = Lengths::of(data.len());
        command.itt = number.into();
        command.expected = bytes.max(data.len() as u32).into();
        command.cmd_sn = self.cmd_sn.into();
        command.exp_stat_sn = self.stat_sn.into();
        command.cdb = cdb;
        self.cmd_sn = self.cmd_sn.wrapping_add(1);
        put(&mut self.out, &command, data, Digests::default());
        Ok(())
    }

    /// Uses a unit.
    fn hear(&mut self, pdu: &Pdu) -> Result<Said, ProbeError> {
        let basic: &Basic = pdu.basic();
        let number = basic.itt.get();
        match pdu.opcode() {
            opcode::DATA_IN => self.hear_data(view(&pdu.header), &pdu.data),
            opcode::SCSI_RESPONSE => {
                let response: &Response = view(&pdu.header);
                self.counted(response.stat_sn.get(), response.max_cmd_sn.get());
                let i = self.place(number)?;
                // The length of the sense data is before them.
                let sense = pdu.data.get(2..).unwrap_or_default();
                let status = if response.response == 0 { response.status } else { u8::MAX };
                Ok(self.end(i, status, sense))
            }
            opcode::NOP_IN => {
                let answer: &Answer = view(&pdu.header);
                self.counted(answer.stat_sn.get().wrapping_sub(1), answer.max_cmd_sn.get());
                if answer.ttt.get() != NO_TAG {
                    let mut nop: Request = zeroed();
                    nop.opcode = opcode::NOP_OUT | opcode::IMMEDIATE;
                    nop.flags = FINAL;
                    nop.lun = answer.lun;
                    nop.itt = NO_TAG.into();
                    nop.ttt = answer.ttt;
                    nop.cmd_sn = self.cmd_sn.into();
                    nop.exp_stat_sn = self.stat_sn.into();
                    put(&mut self.out, &nop, &[], Digests::default());
                    self.send()?;
                }
                Ok(Said::Nothing)
            }
            opcode::ASYNC_MESSAGE => Err(lost("a message that ends the session", TARGET)),
            other => Err(lost(format!("a unit of type {other:#04x}"), TARGET)),
        }
    }

    fn hear_data(&mut self, unit: &DataIn, data: &[u8]) -> Result<Said, ProbeError> {
        let i = self.place(unit.itt.get())?;
        if !self.flight.arrived(i, data.len() as u64) {
            return Err(lost("more data than were asked for", TARGET));
        }
        if let Some(kept) = self.kept.as_mut().filter(|kept| kept.data.len() + data.len() <= MOST_KEPT) {
            kept.data.extend_from_slice(data);
        }
        if unit.flags & HAS_STATUS == 0 {
            return Ok(Said::Nothing);
        }
        self.counted(unit.stat_sn.get(), unit.max_cmd_sn.get());
        Ok(self.end(i, unit.status, &[]))
    }

    fn place(&self, number: u32) -> Result<usize, ProbeError> {
        self.flight.place(number.into()).ok_or_else(|| lost("an answer to no command", TARGET))
    }

    /// A unit with a status has arrived.
    fn counted(&mut self, stat_sn: u32, max_cmd_sn: u32) {
        self.stat_sn = stat_sn.wrapping_add(1);
        if max_cmd_sn.wrapping_sub(self.max_cmd_sn) < 1 << 31 {
            self.max_cmd_sn = max_cmd_sn;
        }
    }

    fn end(&mut self, i: usize, status: u8, sense: &[u8]) -> Said {
        if let Some(kept) = &mut self.kept {
            kept.status = status;
            kept.sense = sense[..sense.len().min(MOST_KEPT)].to_vec();
        }
        match scsi::ended(status, sense) {
            Status::Good => {}
            bad => self.flight.fail(i, bad),
        }
        let (i, status) = self.flight.end(i);
        Said::Ended(i, status)
    }
}

/// Most data with a command by the answers of a login; without them what RFC 7143 says (13.11, 13.12, 13.14).
fn most_sent(answers: &[(String, String)]) -> usize {
    let said = |key: &str| answers.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str());
    let number = |key: &str, absent| said(key).map_or(absent, |n| n.parse().unwrap_or(0));
    match said("ImmediateData") {
        Some("No") => 0,
        _ => number("MaxRecvDataSegmentLength", 8192).min(number("FirstBurstLength", 65536)),
    }
}

impl Commands for Session {
    fn command(&mut self, cdb: [u8; 16], data: &[u8], bytes: u32) -> Result<Reply, ProbeError> {
        self.flight.begin(&Batch { lba: vec![0], ..Batch::default() });
        let number = self.flight.send(0, bytes.into());
        self.kept = Some(Reply::default());
        self.put_command(number, cdb, data, bytes)?;
        self.send()?;
        loop {
            let pdu = self.next_unit()?;
            if let Said::Ended(..) = self.hear(&pdu)? {
                return Ok(self.kept.take().unwrap_or_default());
            }
        }
    }
}

impl Link for Session {
    fn begin(&mut self, batch: &Batch) {
        self.flight.begin(batch);
    }

    fn has_room(&self) -> bool {
        // Numbers wrap.
        self.max_cmd_sn.wrapping_sub(self.cmd_sn) < 1 << 31
    }

    fn send(&mut self, batch: &Batch, i: usize) -> Result<(), ProbeError> {
        let bytes = u64::from(batch.blocks[i]) * u64::from(self.block_bytes);
        let data = batch.data(i);
        let expected = if data.is_empty() { bytes } else { 0 };
        let number = self.flight.send(i, expected);
        let cdb = scsi::access16(!data.is_empty(), batch.lba[i], batch.blocks[i], batch.fua);
        self.put_command(number, cdb, data, u32::try_from(expected).unwrap_or(u32::MAX))?;
        Session::send(self)
    }

    fn take(&mut self) -> Result<Option<(usize, Status)>, ProbeError> {
        loop {
            while let Some(pdu) = self.unit()? {
                if let Said::Ended(i, status) = self.hear(&pdu)? {
                    return Ok(Some((i, status)));
                }
            }
            if !self.wire.fill()? {
                return Ok(None);
            }
        }
    }

    fn wait(&mut self, ns: u64) -> Result<(), ProbeError> {
        self.wire.wait(ns)
    }

    fn fetch(&mut self, lba: u64, blocks: u32) -> Result<Option<Vec<u8>>, ProbeError> {
        let block_bytes = self.block_bytes;
        scsi::fetch(self, lba, blocks, block_bytes)
    }

    fn command(&mut self, cdb: [u8; 16], data: &[u8], bytes: u32) -> Result<Option<Reply>, ProbeError> {
        Commands::command(self, cdb, data, bytes).map(Some)
    }
}
