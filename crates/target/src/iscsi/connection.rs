//! One connection from its first byte to its last. It reads and writes whatever is given as a socket.

use crate::clients::{append, drain, is_later, release, Connection as _, Work, REQUEST_WORK};
use crate::iscsi::login::{Admission, Login, Next, Place};
use crate::iscsi::parameters::MOST_RECEIVED;
use crate::iscsi::pdu::{self, reason, Digests, Taken};
use crate::iscsi::session::Session;
use crate::iscsi::shelf::Shelf;
use crate::live::Live;
use bytes::BytesMut;
use headstack_scsi::attention::Nexus;
use std::io::{self, Read, Write};

/// Bytes of a unit that are kept: header, additional headers, data, digests.
const MOST_INPUT: usize = MOST_RECEIVED + 2048;

/// What a connection does.
#[derive(Debug)]
enum Stage {
    Login(Box<Login>),
    Session(Box<Session>),
    /// The rest is sent, then the connection ends.
    Leaving,
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    /// Its number; the session has the same.
    pub number: u64,
    /// The address that the initiator has connected to.
    address: String,
    stage: Stage,
    input: BytesMut,
    output: BytesMut,
    /// Nothing more comes from it.
    is_silent: bool,
    /// Not all that was received was looked at: that goes on in another turn.
    is_cut: bool,
    /// It sends no more requests, because the server ends.
    refuses: bool,
}

/// What connections share.
pub struct Shared<'a> {
    /// Targets and units.
    pub shelf: &'a mut Shelf,
    /// Who may log in.
    pub admission: &'a Admission,
    /// Most commands of a session at once.
    pub most_places: u32,
    /// Bytes that an initiator may leave untaken.
    pub share: usize,
}

impl Connection {
    /// A new connection to `address`.
    pub fn new(number: u64, address: String) -> Connection {
        Connection {
            number,
            address,
            stage: Stage::Login(Box::new(Login::new())),
            input: BytesMut::new(),
            output: BytesMut::new(),
            is_silent: false,
            is_cut: false,
            refuses: false,
        }
    }

    /// The session, in the full feature phase.
    pub fn session(&mut self) -> Option<&mut Session> {
        match &mut self.stage {
            Stage::Session(session) => Some(session),
            _ => None,
        }
    }

    /// The same, to look at.
    pub fn session_ref(&self) -> Option<&Session> {
        match &self.stage {
            Stage::Session(session) => Some(session),
            _ => None,
        }
    }

    /// Takes units from what was received, until the initiator has its share untaken or has had its work; true if a login
    /// has ended with a session.
    pub fn step(&mut self, shared: &mut Shared, live: &mut Live, work: &mut Work) -> bool {
        let mut has_begun = false;
        loop {
            self.is_cut = work.is_over() || self.untaken() >= shared.share;
            let digests = match &self.stage {
                _ if self.is_cut => return has_begun,
                Stage::Login(_) => Digests::default(),
                Stage::Session(session) if !session.leaves => session.parameters.digests,
                _ => return has_begun,
            };
            let before = self.input.len();
            match pdu::take(&mut self.input, digests, MOST_RECEIVED) {
                Taken::More => return has_begun,
                Taken::Damaged => self.stage = self.left(shared, live),
                Taken::DamagedData(header) => {
                    if let Stage::Session(session) = &mut self.stage {
                        session.reject(&header, reason::DATA_DIGEST);
                        session.leaves = true;
                    }
                }
                Taken::Whole(pdu) => has_begun |= self.take(pdu, shared, live),
            }
            work.did(REQUEST_WORK + before - self.input.len());
            if let Stage::Session(session) = &mut self.stage {
                work.did(std::mem::take(&mut session.searched));
            }
        }
    }

    /// The session is closed.
    fn left(&mut self, shared: &mut Shared, live: &mut Live) -> Stage {
        self.close(shared.shelf, live);
        Stage::Leaving
    }

    fn take(&mut self, pdu: pdu::Pdu, shared: &mut Shared, live: &mut Live) -> bool {
        match &mut self.stage {
            Stage::Login(login) => {
                let place = Place {
                    shelf: shared.shelf,
                    admission: shared.admission,
                    // Any number but 0.
                    tsih: (self.number % 0xffff) as u16 + 1,
                    most_places: shared.most_places,
                };
                match login.step(&pdu, &mut self.output, &place) {
                    Next::More => false,
                    Next::Refused => {
                        self.stage = Stage::Leaving;
                        false
                    }
                    Next::Done(negotiated) => {
                        let session = Session::new(self.number, &negotiated);
                        if let Some(target) = session.target {
                            for device in shared.shelf.targets[target].units.clone() {
                                let unit = shared.shelf.unit(device);
                                unit.connect(Nexus(self.number), &session.port);
                            }
                        }
                        self.stage = Stage::Session(Box::new(session));
                        true
                    }
                }
            }
            Stage::Session(session) => {
                let taken = session.take(pdu, shared.shelf, live, &self.address);
                session.leaves |= taken.is_err();
                false
            }
            Stage::Leaving => false,
        }
    }

    /// The connection ends: nothing of its session remains.
    pub fn close(&mut self, shelf: &mut Shelf, live: &mut Live) {
        if let Stage::Session(session) = &mut self.stage {
            session.close(shelf, live);
        }
        self.stage = Stage::Leaving;
    }

    /// Takes answers from the store and writes what the socket takes; true if some is left.
    ///
    /// # Errors
    /// The initiator has left, or the store cannot be read.
    pub fn send(
        &mut self,
        socket: &mut impl Write,
        live: &mut Live,
        share: usize,
        work: &mut Work,
    ) -> io::Result<bool> {
        // A buffer of which a part was taken would grow by that part.
        if let (Stage::Session(session), true) = (&mut self.stage, self.output.is_empty()) {
            session.replies.fill(&mut self.output, live, work.to_send(share))?;
            work.did(self.output.len());
        }
        drain(socket, &mut self.output)
    }
}

impl crate::clients::Connection for Connection {
    fn is_new(&self) -> bool {
        matches!(self.stage, Stage::Login(_))
    }

    fn room(&self) -> usize {
        let reads = match &self.stage {
            Stage::Login(_) => true,
            Stage::Session(session) => !session.leaves,
            Stage::Leaving => false,
        };
        match reads && !self.is_silent && !self.refuses {
            true => MOST_INPUT.saturating_sub(self.input.len()),
            false => 0,
        }
    }

    fn untaken(&self) -> usize {
        self.output.len() + self.session_ref().map_or(0, |s| s.replies.bytes)
    }

    fn receive(&mut self, socket: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
        match socket.read(buffer) {
            Ok(0) => {
                self.is_silent = true;
                Ok(false)
            }
            Ok(n) => {
                append(&mut self.input, &buffer[..n], MOST_INPUT);
                Ok(n == buffer.len())
            }
            Err(e) if is_later(&e) => Ok(false),
            Err(e) => Err(e),
        }
    }

    fn has_more(&self) -> bool {
        self.is_cut || self.session_ref().is_some_and(Session::has_replies)
    }

    fn release(&mut self) {
        release([&mut self.input, &mut self.output]);
    }

    fn is_over(&self) -> bool {
        let leaves = match &self.stage {
            Stage::Leaving => true,
            Stage::Session(session) => self.is_silent || (session.leaves && !session.has_replies()),
            Stage::Login(_) => self.is_silent,
        };
        leaves && (self.output.is_empty() || self.is_silent)
    }

    fn is_idle(&self) -> bool {
        match &self.stage {
            Stage::Session(session) => session.is_idle() && self.output.is_empty(),
            Stage::Login(_) => true,
            Stage::Leaving => self.output.is_empty(),
        }
    }

    fn refuse(&mut self) {
        if !std::mem::replace(&mut self.refuses, true) {
            if let Stage::Session(session) = &mut self.stage {
                session.say_farewell();
            }
        }
    }
}
