//! One client after the handshake: requests from bytes, and replies to bytes, without sockets.
//!
//! What a client writes is kept until the drive has taken it: in memory up to the client's share, and one longer write in
//! a file. What it reads comes from the store as it is sent. So a session takes little memory, whatever the sizes of
//! requests. A long read with structured replies is answered in
//! chunks: zeroes that were never written are not sent, and a part that the store cannot read is named.

use crate::content::{Arriving, Content};
use crate::nbd::protocol::{
    command, flag, Failure, Headers, EXTENDED_REQUEST_BYTES, EXTENDED_REQUEST_MAGIC, MAX_COMMAND, MAX_PAYLOAD,
    REQUEST_BYTES, REQUEST_MAGIC,
};
use crate::nbd::replies::{Origin, Replies, Reply};
use bytes::{Buf, BytesMut};

/// Requests of one client that are served at once; further ones wait in its socket.
pub const MAX_REQUESTS: usize = 4096;

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Its flags.
    pub flags: u16,
    /// What is asked for.
    pub command: u16,
    /// The client's number for it.
    pub cookie: u64,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
}

impl Request {
    fn read(mut head: &[u8], headers: Headers) -> Option<Request> {
        let is_extended = headers == Headers::Extended;
        let magic = if is_extended { EXTENDED_REQUEST_MAGIC } else { REQUEST_MAGIC };
        (head.get_u32() == magic).then(|| Request {
            flags: head.get_u16(),
            command: head.get_u16(),
            cookie: head.get_u64(),
            offset: head.get_u64(),
            length: if is_extended { head.get_u64() } else { u64::from(head.get_u32()) },
        })
    }

    /// Whether bytes follow it.
    fn has_payload(&self, headers: Headers) -> bool {
        let says_so = headers == Headers::Extended && self.flags & flag::PAYLOAD_LEN != 0;
        self.command == command::WRITE || says_so
    }

    /// Whether what it writes must be kept before the reply.
    pub fn is_forced(&self) -> bool {
        self.flags & flag::FUA != 0
    }

    /// What is wrong with it, on an export of `bytes`.
    fn check(&self, bytes: u64, session: &Session) -> Result<(), Failure> {
        let allowed = match self.command {
            command::READ if session.headers >= Headers::Structured => flag::FUA | flag::DF,
            command::WRITE if session.headers == Headers::Extended => flag::FUA | flag::PAYLOAD_LEN,
            command::BLOCK_STATUS => flag::FUA | flag::REQ_ONE,
            command::WRITE_ZEROES => flag::FUA | flag::NO_HOLE | flag::FAST_ZERO,
            command::READ | command::WRITE | command::FLUSH | command::TRIM | command::CACHE => flag::FUA,
            _ => return Err(Failure::Invalid),
        };
        let asks_too_much = self.command == command::BLOCK_STATUS && !session.allocation;
        if self.flags & !allowed != 0 || asks_too_much {
            return Err(Failure::Invalid);
        }
        if self.command == command::FLUSH {
            return match (self.offset, self.length) {
                (0, 0) => Ok(()),
                _ => Err(Failure::Invalid),
            };
        }
        if self.length == 0 {
            return Err(Failure::Invalid);
        }
        let writes = matches!(self.command, command::WRITE | command::WRITE_ZEROES);
        let end = self.offset.checked_add(self.length);
        if end.is_none_or(|end| end > bytes) {
            return Err(if writes { Failure::NoSpace } else { Failure::Invalid });
        }
        match self.command {
            command::READ if self.length > u64::from(MAX_PAYLOAD) => Err(Failure::Overflow),
            command::WRITE_ZEROES | command::CACHE if self.length > MAX_COMMAND => Err(Failure::Overflow),
            // `EOVERFLOW` is for requests that carry no data.
            command::WRITE if self.length > u64::from(MAX_PAYLOAD) => Err(Failure::Invalid),
            // A disk writes zeroes as slowly as other data.
            command::WRITE_ZEROES if self.flags & flag::FAST_ZERO != 0 => Err(Failure::Unsupported),
            _ => Ok(()),
        }
    }
}

/// What a session has for the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A request for the drive; what it writes is [`Session::content`].
    Request(Request),
    /// More bytes are needed, or room for requests.
    Wait,
    /// The client has said that it leaves, or broke the protocol.
    Leaves,
}

/// Bytes that follow a request and still arrive.
#[derive(Debug)]
struct Payload {
    request: Request,
    left: u64,
    /// Bytes for which there has to be room.
    kept: u64,
    /// Those that have arrived, or why they are not kept.
    data: Result<Arriving, Failure>,
}

/// A client that uses an export.
#[derive(Debug, Default)]
pub struct Session {
    /// Number of the export.
    pub export: usize,
    headers: Headers,
    allocation: bool,
    payload: Option<Payload>,
    /// What the last request writes.
    pub content: Option<Content>,
    /// Bytes of writes that arrive or are served.
    pub written: u64,
    /// Most of them in memory; one longer write is kept in a file.
    pub most_written: u64,
    /// What waits to be sent.
    pub replies: Replies,
    /// Requests that are served.
    open: usize,
    /// Most requests that are served or whose replies wait.
    pub room: usize,
    /// New requests are refused.
    pub ends: bool,
}

impl Session {
    /// A client that has negotiated this.
    pub fn new(of: crate::nbd::handshake::Negotiated) -> Session {
        Session {
            export: of.export,
            headers: of.headers,
            allocation: of.allocation,
            most_written: u64::MAX,
            room: MAX_REQUESTS,
            ..Session::default()
        }
    }

    /// Whether no request is served and no reply waits.
    pub fn is_idle(&self) -> bool {
        self.open == 0 && self.replies.waiting.is_empty()
    }

    /// Whether replies wait that were not yet taken from the store.
    pub fn has_replies(&self) -> bool {
        !self.replies.waiting.is_empty()
    }

    /// Whether it takes more requests now.
    pub fn has_room(&self) -> bool {
        self.open + self.replies.waiting.len() < self.room
    }

    /// Takes the next request from `input`.
    pub fn next(&mut self, input: &mut BytesMut, bytes: u64) -> Event {
        loop {
            if self.payload.is_some() {
                match self.take_payload(input) {
                    Some(request) => return self.begun(request),
                    None if self.payload.is_some() => return Event::Wait,
                    // It was refused.
                    None => continue,
                }
            }
            let head = match self.headers {
                Headers::Extended => EXTENDED_REQUEST_BYTES,
                _ => REQUEST_BYTES,
            };
            if input.len() < head || !self.has_room() {
                return Event::Wait;
            }
            let Some(request) = Request::read(&input[..head], self.headers) else { return Event::Leaves };
            let mut failure = request.check(bytes, self).err();
            if self.ends {
                failure = Some(Failure::Shutdown);
            }
            let writes = request.command == command::WRITE && failure.is_none();
            if writes && self.written > 0 && !self.fits(&request) {
                return Event::Wait;
            }
            input.advance(head);
            if request.command == command::DISC {
                return Event::Leaves;
            }
            match (request.command, failure) {
                _ if request.has_payload(self.headers) => {
                    let kept = if writes { request.length } else { 0 };
                    let begun = |()| Arriving::begin(self.fits(&request)).map_err(|_| Failure::Io);
                    self.payload = Some(Payload {
                        request,
                        left: request.length,
                        kept,
                        data: failure.map_or(Ok(()), Err).and_then(begun),
                    });
                    self.written += kept;
                }
                (_, Some(failure)) => self.fail(&request, failure),
                (command::BLOCK_STATUS, None) => self.replies.waiting.push_back(Reply::Extents {
                    origin: self.origin(&request),
                    length: request.length,
                    one: request.flags & flag::REQ_ONE != 0,
                }),
                (command::WRITE_ZEROES, None) => {
                    let keep = request.flags & flag::NO_HOLE != 0;
                    self.content = Some(Content::Zeroes { keep });
                    return self.begun(request);
                }
                _ => return self.begun(request),
            }
        }
    }

    /// Bytes of memory for a write that still arrives.
    pub fn arriving(&self) -> u64 {
        match &self.payload {
            Some(payload) if matches!(payload.data, Ok(Arriving::Memory(_))) => payload.kept,
            _ => 0,
        }
    }

    /// Whether the data of a write may be in memory with those of the others.
    fn fits(&self, request: &Request) -> bool {
        self.written.saturating_add(request.length) <= self.most_written
    }

    fn begun(&mut self, request: Request) -> Event {
        self.open += 1;
        Event::Request(request)
    }

    /// Keeps what has arrived of a write; returns the request once it is complete.
    fn take_payload(&mut self, input: &mut BytesMut) -> Option<Request> {
        let payload = self.payload.as_mut()?;
        let here = (input.len() as u64).min(payload.left) as usize;
        let bytes = input.split_to(here);
        payload.left -= bytes.len() as u64;
        if let Ok(data) = &mut payload.data {
            if data.add(&bytes).is_err() {
                payload.data = Err(Failure::Io);
            }
        }
        if payload.left > 0 {
            return None;
        }
        let Payload { request, kept, data, .. } = self.payload.take()?;
        match data {
            Ok(data) => {
                self.content = Some(data.content());
                Some(request)
            }
            Err(failure) => {
                self.written -= kept;
                self.fail(&request, failure);
                None
            }
        }
    }

    /// A request that the server took has ended.
    pub fn ended(&mut self, request: &Request, failure: Option<Failure>) {
        self.open -= 1;
        if request.command == command::WRITE {
            self.written -= request.length;
        }
        match failure {
            Some(failure) => self.fail(request, failure),
            None if request.command == command::READ => self.data(request),
            None => self.done(request),
        }
    }

    /// What replies say of a request.
    fn origin(&self, request: &Request) -> Origin {
        Origin { cookie: request.cookie, offset: request.offset, is_extended: self.headers == Headers::Extended }
    }

    /// A request has failed.
    fn fail(&mut self, request: &Request, failure: Failure) {
        let is_read = matches!(request.command, command::READ | command::BLOCK_STATUS);
        let is_chunk = match self.headers {
            Headers::Simple => false,
            Headers::Structured => is_read,
            Headers::Extended => true,
        };
        let (origin, error) = (self.origin(request), failure as u32);
        self.replies.waiting.push_back(if is_chunk {
            Reply::Error { origin, error }
        } else {
            Reply::Simple { origin, error }
        });
    }

    fn done(&mut self, request: &Request) {
        let origin = self.origin(request);
        self.replies.waiting.push_back(match self.headers {
            Headers::Extended => Reply::Done { origin },
            _ => Reply::Simple { origin, error: 0 },
        });
    }

    fn data(&mut self, request: &Request) {
        // At most `MAX_PAYLOAD`.
        let (origin, left) = (self.origin(request), request.length as u32);
        self.replies.waiting.push_back(match self.headers {
            Headers::Simple => Reply::plain(origin, left),
            _ if request.flags & flag::DF != 0 => Reply::whole(origin, left),
            _ => Reply::chunks(origin, left),
        });
    }
}
