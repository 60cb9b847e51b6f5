//! The login phase: names, authentication and parameters.

use crate::iscsi::chap::{Chap, Secrets};
use crate::iscsi::parameters::Parameters;
use crate::iscsi::pdu::{opcode, FINAL};
use crate::iscsi::pdu::{put, view, zeroed, Digests, Lengths, LoginRequest, LoginResponse, Pdu};
use crate::iscsi::shelf::Shelf;
use crate::iscsi::text::{self, Keys};
use bytes::BytesMut;
use std::collections::BTreeSet;

/// Most bytes of keys of a login, in all its units.
const MOST_KEY_BYTES: usize = 64 << 10;
/// Most units of a login.
const MOST_UNITS: u32 = 64;
/// Longest name.
const LONGEST_NAME: usize = 223;

/// Who may log in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Admission {
    /// Names of initiators; all if there are none.
    pub initiators: Vec<String>,
    /// Secrets that initiators must know.
    pub secrets: Option<Secrets>,
}

/// Status of a login that fails: class and detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Refusal {
    /// The initiator breaks the protocol.
    InitiatorError = 0x0200,
    /// It is not who it says.
    Authentication = 0x0201,
    /// It may not use the target.
    Authorization = 0x0202,
    /// There is no such target.
    NotFound = 0x0203,
    /// The version is not known.
    Version = 0x0205,
    /// A name is missing.
    Missing = 0x0207,
    /// The type of session is not known.
    SessionType = 0x0209,
    /// There is no such session.
    NoSession = 0x020a,
    /// A request that may not come now.
    Invalid = 0x020b,
}

/// A session that may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Negotiated {
    /// Name of the initiator.
    pub initiator: String,
    /// The initiator's part of the session's number.
    pub isid: [u8; 6],
    /// The target; `None` for discovery.
    pub target: Option<usize>,
    /// What was agreed on.
    pub parameters: Parameters,
    /// Next command.
    pub cmd_sn: u32,
    /// Next status.
    pub stat_sn: u32,
    /// Commands that it may have at once.
    pub window: u32,
}

/// Where a login happens.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The targets.
    pub shelf: &'a Shelf,
    /// Who may log in.
    pub admission: &'a Admission,
    /// The target's part of the number of the session.
    pub tsih: u16,
    /// Most commands of a session at once, at least 1.
    pub most_places: u32,
}

impl Negotiated {
    /// The name of the initiator port.
    pub fn port(&self) -> String {
        let isid: String = self.isid.iter().map(|b| format!("{b:02x}")).collect();
        format!("{},i,0x{isid}", self.initiator)
    }
}

/// What follows a unit.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Another one.
    More,
    /// The connection ends once the answer is sent.
    Refused,
    /// The full feature phase.
    Done(Box<Negotiated>),
}

/// Requests of a discovery session at once.
const DISCOVERY: u32 = 8;
/// Stages of a login. The numbers are those of the standard.
const SECURITY: u8 = 0;
const OPERATIONAL: u8 = 1;
const FULL_FEATURE: u8 = 3;
/// The bit C: more keys follow.
const CONTINUE: u8 = 0x40;

/// Keys that are not negotiated here.
const DECLARED: [&str; 5] = ["AuthMethod", "InitiatorName", "InitiatorAlias", "TargetName", "SessionType"];

/// A login.
#[derive(Debug, Default)]
pub struct Login {
    stage: Option<u8>,
    /// Keys that came in units with the bit C.
    parts: Vec<u8>,
    initiator: Option<String>,
    /// `None`: not known yet; `Some(None)`: discovery.
    target: Option<Option<usize>>,
    chap: Option<Chap>,
    /// Authentication is not needed, or was agreed to be none.
    is_free: bool,
    parameters: Parameters,
    /// Keys that were answered.
    seen: BTreeSet<String>,
    is_declared: bool,
    stat_sn: u32,
    /// Units and bytes of keys that came.
    units: u32,
    key_bytes: usize,
}

impl Login {
    /// Before the first unit.
    pub fn new() -> Login {
        Login { stat_sn: 1, ..Login::default() }
    }

    /// Answers a unit.
    pub fn step(&mut self, pdu: &Pdu, out: &mut BytesMut, at: &Place) -> Next {
        let request: &LoginRequest = view(&pdu.header);
        let answered = self.answer(pdu, request, at.shelf, at.admission);
        let mut response: LoginResponse = zeroed();
        response.opcode = opcode::LOGIN_RESPONSE;
        response.isid = request.isid;
        response.tsih = request.tsih;
        response.itt = request.itt;
        response.exp_cmd_sn = request.cmd_sn;
        let window = match self.target {
            Some(Some(target)) => at.shelf.places(target).min(at.most_places),
            _ => DISCOVERY,
        };
        response.max_cmd_sn = request.cmd_sn.get().wrapping_add(window - 1).into();
        let (flags, keys) = match answered {
            Ok(answered) => answered,
            Err(refusal) => {
                response.status = (refusal as u16).into();
                put(out, &response, &[], Digests::default());
                return Next::Refused;
            }
        };
        response.flags = flags;
        response.stat_sn = self.stat_sn.into();
        self.stat_sn = self.stat_sn.wrapping_add(1);
        let data = text::write(&keys);
        response.lengths = Lengths::of(data.len());
        let is_over = flags & FINAL != 0 && flags & 3 == FULL_FEATURE;
        if is_over {
            response.tsih = at.tsih.into();
        }
        put(out, &response, &data, Digests::default());
        if !is_over {
            return Next::More;
        }
        Next::Done(Box::new(Negotiated {
            initiator: self.initiator.clone().unwrap_or_default(),
            isid: request.isid,
            target: self.target.flatten(),
            parameters: self.parameters,
            cmd_sn: request.cmd_sn.get(),
            stat_sn: self.stat_sn,
            window,
        }))
    }

    /// Flags and keys of the answer.
    fn answer(
        &mut self,
        pdu: &Pdu,
        request: &LoginRequest,
        shelf: &Shelf,
        admission: &Admission,
    ) -> Result<(u8, Keys), Refusal> {
        if pdu.opcode() != opcode::LOGIN_REQUEST || !pdu.is_immediate() {
            return Err(Refusal::Invalid);
        }
        if request.version_min > 0 {
            return Err(Refusal::Version);
        }
        // A session has one connection, and ends with it.
        if request.tsih.get() != 0 {
            return Err(Refusal::NoSession);
        }
        let (csg, nsg) = (request.flags >> 2 & 3, request.flags & 3);
        let (goes_on, is_part) = (request.flags & FINAL != 0, request.flags & CONTINUE != 0);
        let is_right = matches!(csg, SECURITY | OPERATIONAL)
            && self.stage.is_none_or(|stage| stage == csg)
            && !(goes_on && (is_part || nsg <= csg || nsg == 2));
        if !is_right {
            return Err(Refusal::InitiatorError);
        }
        let is_first = self.stage.is_none();
        self.stage = Some(csg);
        self.units += 1;
        self.key_bytes += pdu.data.len();
        if self.units > MOST_UNITS || self.key_bytes > MOST_KEY_BYTES {
            return Err(Refusal::InitiatorError);
        }
        self.parts.extend_from_slice(&pdu.data);
        if is_part {
            return Ok((csg << 2, Keys::new()));
        }
        let keys = text::read(&std::mem::take(&mut self.parts)).ok_or(Refusal::InitiatorError)?;
        let mut answers = Keys::new();
        if self.target.is_none() {
            self.identify(&keys, shelf, admission)?;
        }
        if is_first && self.target != Some(None) {
            answers.push(("TargetPortalGroupTag".into(), "1".into()));
        }
        self.authenticate(csg, &keys, admission, &mut answers)?;
        self.negotiate(&keys, &mut answers)?;
        if csg == OPERATIONAL && !std::mem::replace(&mut self.is_declared, true) {
            answers.push(Parameters::declared());
        }
        let may_go_on = self.is_free || self.chap.as_ref().is_some_and(Chap::is_done);
        if goes_on && !may_go_on && self.chap.is_none() {
            return Err(Refusal::Authentication);
        }
        // Without `may_go_on` the handshake is not over.
        if !goes_on || !may_go_on {
            return Ok((csg << 2, answers));
        }
        self.stage = Some(nsg);
        Ok((FINAL | csg << 2 | nsg, answers))
    }

    /// Who connects to what.
    fn identify(&mut self, keys: &Keys, shelf: &Shelf, admission: &Admission) -> Result<(), Refusal> {
        let find = |key: &str| keys.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str());
        let initiator = find("InitiatorName").ok_or(Refusal::Missing)?;
        if initiator.is_empty() || initiator.len() > LONGEST_NAME {
            return Err(Refusal::InitiatorError);
        }
        let is_let = admission.initiators.is_empty() || admission.initiators.iter().any(|name| name == initiator);
        if !is_let {
            return Err(Refusal::Authorization);
        }
        let target = match find("SessionType") {
            Some("Discovery") => None,
            None | Some("Normal") => {
                let name = find("TargetName").ok_or(Refusal::Missing)?;
                let found = shelf.targets.iter().position(|t| t.name == name);
                Some(found.ok_or(Refusal::NotFound)?)
            }
            Some(_) => return Err(Refusal::SessionType),
        };
        self.initiator = Some(initiator.into());
        self.target = Some(target);
        Ok(())
    }

    fn authenticate(&mut self, csg: u8, keys: &Keys, admission: &Admission, answers: &mut Keys) -> Result<(), Refusal> {
        let Some(secrets) = &admission.secrets else {
            if let Some((_, offered)) = keys.iter().find(|(k, _)| k == "AuthMethod") {
                if !offered.split(',').any(|method| method == "None") {
                    return Err(Refusal::Authentication);
                }
                answers.push(("AuthMethod".into(), "None".into()));
            }
            self.is_free = true;
            return Ok(());
        };
        if csg == OPERATIONAL {
            let is_done = self.chap.as_ref().is_some_and(Chap::is_done);
            return is_done.then_some(()).ok_or(Refusal::Authentication);
        }
        if let Some(chap) = &mut self.chap {
            let mut random = |bytes: &mut [u8]| getrandom::fill(bytes).is_ok();
            let said = chap.step(keys, secrets, &mut random);
            answers.extend(said.map_err(|_| Refusal::Authentication)?);
        } else if let Some((_, offered)) = keys.iter().find(|(k, _)| k == "AuthMethod") {
            if !offered.split(',').any(|method| method == "CHAP") {
                return Err(Refusal::Authentication);
            }
            self.chap = Some(Chap::new());
            answers.push(("AuthMethod".into(), "CHAP".into()));
        }
        Ok(())
    }

    /// Answers all keys that are neither names nor about authentication.
    fn negotiate(&mut self, keys: &Keys, answers: &mut Keys) -> Result<(), Refusal> {
        let is_discovery = self.target == Some(None);
        for (key, value) in keys {
            if key.starts_with("CHAP_") || DECLARED.contains(&key.as_str()) {
                continue;
            }
            // A key is negotiated once.
            if !self.seen.insert(key.clone()) || self.seen.len() > text::MOST_KEYS {
                return Err(Refusal::InitiatorError);
            }
            let said = self.parameters.negotiate(key, value, is_discovery);
            answers.extend(said.map(|said| (key.clone(), said)));
        }
        self.parameters.first_burst = self.parameters.first_burst.min(self.parameters.most_burst);
        Ok(())
    }
}
