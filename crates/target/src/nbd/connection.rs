//! One client from its first byte to its last: handshake, encryption, requests and replies. It reads and writes
//! whatever is given as a socket, and takes little memory, whatever the client does.

use crate::clients::{append, drain, is_later, release, Connection as _, Work, REQUEST_WORK};
use crate::content::Content;
use crate::live::Live;
use crate::nbd::handshake::{Handshake, Next, LONGEST_OPTION};
use crate::nbd::protocol::{command, Failure};
use crate::nbd::session::{Event, Request, Session};
use crate::nbd::tls::Tls;
use bytes::{Buf, BytesMut};
use rustls::ServerConnection;
use std::io::{self, ErrorKind, Read, Write};

/// What a client does.
#[derive(Debug)]
enum Stage {
    Handshake(Handshake),
    Session(Session),
    /// The rest is sent, then the connection ends.
    Leaving,
}

/// A client.
#[derive(Debug)]
pub struct Connection {
    stage: Stage,
    encryption: Option<Box<ServerConnection>>,
    /// Bytes of the protocol that were not understood yet.
    input: BytesMut,
    /// Bytes of the protocol that are to be sent.
    output: BytesMut,
    /// What is sent before encryption begins.
    plain: BytesMut,
    /// Bytes that are encrypted and not sent.
    encrypted: usize,
    /// Nothing more comes from it.
    is_silent: bool,
    /// It was told that encryption ends.
    has_ended: bool,
    /// Not all that was received was looked at: that goes on in another turn.
    is_cut: bool,
    /// Its requests are refused, because the server ends.
    refuses: bool,
}

impl Connection {
    /// A new client; it is greeted with the next [`Connection::send`].
    pub fn new(tls: &Tls) -> Connection {
        let mut output = BytesMut::new();
        let handshake = Handshake::begin(&mut output, tls.mode);
        Connection {
            stage: Stage::Handshake(handshake),
            encryption: None,
            input: BytesMut::new(),
            output,
            plain: BytesMut::new(),
            encrypted: 0,
            is_silent: false,
            has_ended: false,
            is_cut: false,
            refuses: false,
        }
    }

    /// Whether the client uses an export.
    pub fn is_served(&self) -> bool {
        matches!(self.stage, Stage::Session(_))
    }

    fn has_output(&self) -> bool {
        self.untaken() > 0 || self.encryption.as_ref().is_some_and(|e| e.wants_write())
    }

    /// Takes requests from what was received, until the client has so many bytes untaken or has had its work. Those for a
    /// device go to `submit`, with the number of the device.
    ///
    /// # Errors
    /// The client must be closed.
    pub fn step(
        &mut self,
        tls: &Tls,
        live: &mut Live,
        share: usize,
        work: &mut Work,
        mut submit: impl FnMut(&mut Live, usize, Request, Option<Content>),
    ) -> io::Result<()> {
        loop {
            self.is_cut = work.is_over() || self.untaken() >= share;
            let before = self.input.len();
            match &mut self.stage {
                _ if self.is_cut => return Ok(()),
                Stage::Leaving => return Ok(()),
                Stage::Handshake(handshake) => {
                    match handshake.step(&mut self.input, &mut self.output, live.devices()) {
                        Next::More => return Ok(()),
                        Next::Another => {}
                        Next::Close => self.stage = Stage::Leaving,
                        Next::Encrypt => self.encrypt(tls)?,
                        Next::Use(negotiated) => {
                            let mut session = Session::new(negotiated);
                            session.ends = self.refuses;
                            self.stage = Stage::Session(session);
                            // It has no share yet.
                            self.is_cut = true;
                            return Ok(());
                        }
                    }
                }
                Stage::Session(session) => {
                    let bytes = live.devices()[session.export].bytes;
                    match session.next(&mut self.input, bytes) {
                        Event::Wait => {
                            work.did(before - self.input.len());
                            self.is_cut = !session.has_room();
                            return Ok(());
                        }
                        Event::Leaves => self.stage = Stage::Leaving,
                        Event::Request(request) => {
                            // A hard disk has no such command.
                            match request.command == command::TRIM {
                                true => {
                                    let store = live.store(session.export);
                                    let done = store.discard(request.offset, request.length);
                                    session.ended(&request, done.err().map(|_| Failure::Io));
                                }
                                false => submit(live, session.export, request, session.content.take()),
                            }
                        }
                    }
                }
            }
            work.did(REQUEST_WORK + before - self.input.len());
        }
    }

    /// A request that went to a device has ended; false if the client does not get the reply.
    pub fn ended(&mut self, request: &Request, failure: Option<Failure>) -> bool {
        match &mut self.stage {
            Stage::Session(session) => {
                session.ended(request, failure);
                true
            }
            _ => false,
        }
    }

    /// At most so many requests are taken at once, at least one. Of what they write so many `bytes` are kept in memory.
    pub fn share(&mut self, requests: usize, bytes: u64) {
        if let Stage::Session(session) = &mut self.stage {
            session.room = requests.max(1);
            session.most_written = bytes;
        }
    }

    /// Bytes of its writes that arrive or are served.
    pub fn written(&self) -> u64 {
        match &self.stage {
            Stage::Session(session) => session.written,
            _ => 0,
        }
    }

    /// Bytes of memory for a write that still arrives.
    pub fn arriving(&self) -> u64 {
        match &self.stage {
            Stage::Session(session) => session.arriving(),
            _ => 0,
        }
    }

    /// Encryption begins with the next byte of the client.
    fn encrypt(&mut self, tls: &Tls) -> io::Result<()> {
        // What came before in plain text may come from somebody else, and must not count as encrypted.
        if !self.input.is_empty() {
            return Err(io::Error::other("plain text after STARTTLS"));
        }
        self.encryption = Some(tls.accept()?);
        self.plain = self.output.split();
        Ok(())
    }

    /// Takes replies from the store and writes what the socket takes; true if some is left.
    ///
    /// # Errors
    /// The client has left, or the store cannot be read.
    pub fn send(
        &mut self,
        socket: &mut impl Write,
        live: &mut Live,
        share: usize,
        work: &mut Work,
    ) -> io::Result<bool> {
        // A buffer of which a part was taken would grow by that part.
        if let (Stage::Session(session), 0) = (&mut self.stage, self.output.len() + self.encrypted) {
            work.did(session.replies.fill(&mut self.output, live.store(session.export), work.to_send(share))?);
        }
        let Some(encryption) = &mut self.encryption else { return drain(socket, &mut self.output) };
        if drain(socket, &mut self.plain)? {
            return Ok(true);
        }
        loop {
            if !encryption.is_handshaking() {
                let n = encryption.writer().write(&self.output)?;
                self.output.advance(n);
            }
            let is_last = matches!(self.stage, Stage::Leaving) && self.output.is_empty();
            if is_last && !self.has_ended {
                encryption.send_close_notify();
                self.has_ended = true;
            }
            self.encrypted = encryption.process_new_packets().map_or(0, |state| state.tls_bytes_to_write());
            if !encryption.wants_write() {
                return Ok(false);
            }
            match encryption.write_tls(socket) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
}

impl crate::clients::Connection for Connection {
    fn is_new(&self) -> bool {
        matches!(self.stage, Stage::Handshake(_))
    }

    fn room(&self) -> usize {
        let reads = match &self.stage {
            Stage::Handshake(_) => true,
            Stage::Session(session) => session.has_room(),
            Stage::Leaving => false,
        };
        match reads && !self.is_silent {
            true => LONGEST_OPTION.saturating_sub(self.input.len()),
            false => 0,
        }
    }

    fn untaken(&self) -> usize {
        // Replies that wait have no data yet, and their number is that of the requests. A key update is answered, too.
        self.output.len() + self.plain.len() + self.encrypted
    }

    fn receive(&mut self, socket: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
        let n = match socket.read(buffer) {
            Ok(0) => {
                self.is_silent = true;
                return Ok(false);
            }
            Ok(n) => n,
            Err(e) if is_later(&e) => return Ok(false),
            Err(e) => return Err(e),
        };
        match &mut self.encryption {
            None => append(&mut self.input, &buffer[..n], LONGEST_OPTION),
            Some(encryption) => match decrypt(encryption, &buffer[..n], &mut self.input) {
                Ok(is_last) => self.is_silent |= is_last,
                // The client is told why, and nothing else.
                Err(_) => {
                    self.output.clear();
                    self.has_ended = true;
                    self.stage = Stage::Leaving;
                }
            },
        }
        Ok(n == buffer.len())
    }

    fn has_more(&self) -> bool {
        match &self.stage {
            Stage::Session(session) => session.has_replies() || (self.is_cut && session.has_room()),
            _ => self.is_cut,
        }
    }

    fn release(&mut self) {
        release([&mut self.input, &mut self.output, &mut self.plain]);
    }

    fn is_over(&self) -> bool {
        let leaves = match &self.stage {
            Stage::Leaving => true,
            Stage::Session(session) => self.is_silent && session.is_idle() && !self.is_cut,
            Stage::Handshake(_) => self.is_silent && !self.is_cut,
        };
        leaves && !self.has_output()
    }

    fn is_idle(&self) -> bool {
        match &self.stage {
            Stage::Session(session) => session.is_idle() && !self.has_output(),
            Stage::Handshake(_) => true,
            Stage::Leaving => !self.has_output(),
        }
    }

    fn refuse(&mut self) {
        self.refuses = true;
        if let Stage::Session(session) = &mut self.stage {
            session.ends = true;
        }
    }
}

/// Adds to `input` what these bytes say; true if nothing more will come.
fn decrypt(encryption: &mut ServerConnection, mut bytes: &[u8], input: &mut BytesMut) -> io::Result<bool> {
    let mut is_last = false;
    while !bytes.is_empty() {
        encryption.read_tls(&mut bytes)?;
        let state = encryption.process_new_packets().map_err(io::Error::other)?;
        let start = input.len();
        input.resize(start + state.plaintext_bytes_to_read(), 0);
        encryption.reader().read_exact(&mut input[start..])?;
        if state.peer_has_closed() {
            is_last = true;
            break;
        }
    }
    Ok(is_last)
}
