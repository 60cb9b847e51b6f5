//! One client after the handshake: requests from bytes, and replies to bytes, without sockets.
//!
//! What a client writes goes to the store as it arrives, and what it reads comes from the store as it is sent. So a
//! session takes little memory, whatever the sizes of requests. A long read with structured replies is answered in
//! chunks: zeroes that were never written are not sent, and a part that the store cannot read is named.

use crate::protocol::{command, flag, Failure, MAX_PAYLOAD, REQUEST_BYTES, REQUEST_MAGIC};
use crate::replies::{Replies, Reply};
use bytes::{Buf, BytesMut};
use headstack_live::store::Store;

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
    pub length: u32,
}

impl Request {
    fn read(mut head: &[u8]) -> Option<Request> {
        (head.get_u32() == REQUEST_MAGIC).then(|| Request {
            flags: head.get_u16(),
            command: head.get_u16(),
            cookie: head.get_u64(),
            offset: head.get_u64(),
            length: head.get_u32(),
        })
    }

    /// Whether what it writes must be kept before the reply.
    pub fn is_forced(&self) -> bool {
        self.flags & flag::FUA != 0
    }

    /// What is wrong with it, on an export of `bytes`.
    fn check(&self, bytes: u64, session: &Session) -> Result<(), Failure> {
        let allowed = match self.command {
            command::READ if session.structured => flag::FUA | flag::DF,
            command::BLOCK_STATUS => flag::FUA | flag::REQ_ONE,
            command::WRITE_ZEROES => flag::FUA | flag::NO_HOLE | flag::FAST_ZERO,
            command::READ | command::WRITE | command::FLUSH | command::TRIM | command::CACHE => {
                flag::FUA
            }
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
        let end = self.offset.checked_add(u64::from(self.length));
        if end.is_none_or(|end| end > bytes) {
            return Err(if writes {
                Failure::NoSpace
            } else {
                Failure::Invalid
            });
        }
        match self.command {
            command::READ if self.length > MAX_PAYLOAD => Err(Failure::Overflow),
            // `EOVERFLOW` is for requests that carry no data.
            command::WRITE if self.length > MAX_PAYLOAD => Err(Failure::Invalid),
            // A disk writes zeroes as slowly as other data.
            command::WRITE_ZEROES if self.flags & flag::FAST_ZERO != 0 => Err(Failure::Unsupported),
            _ => Ok(()),
        }
    }
}

/// What a session has for the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A request for the drive; what it writes is in the store.
    Request(Request),
    /// More bytes are needed, or room for requests.
    Wait,
    /// The client has said that it leaves, or broke the protocol.
    Leaves,
}

/// Bytes of a write that still arrive.
#[derive(Debug, Clone, Copy)]
struct Payload {
    request: Request,
    left: u32,
    failure: Option<Failure>,
}

/// A client that uses an export.
#[derive(Debug)]
pub struct Session {
    /// Number of the export.
    pub export: usize,
    structured: bool,
    allocation: bool,
    payload: Option<Payload>,
    replies: Replies,
    /// Requests that are served.
    open: usize,
    /// Most requests that are served or whose replies wait.
    pub room: usize,
    /// New requests are refused.
    pub ends: bool,
}

impl Session {
    /// A client that has negotiated this.
    pub fn new(of: crate::handshake::Negotiated) -> Session {
        Session {
            export: of.export,
            structured: of.structured,
            allocation: of.allocation,
            payload: None,
            replies: Replies::default(),
            open: 0,
            room: MAX_REQUESTS,
            ends: false,
        }
    }

    /// Whether no request is served and no reply waits.
    pub fn is_idle(&self) -> bool {
        self.open == 0 && self.replies.is_empty()
    }

    /// Whether replies wait that were not yet taken from the store.
    pub fn has_replies(&self) -> bool {
        !self.replies.is_empty()
    }

    /// Whether it takes more requests now.
    pub fn has_room(&self) -> bool {
        self.open + self.replies.len() < self.room
    }

    /// Takes the next request from `input`.
    pub fn next(&mut self, input: &mut BytesMut, store: &mut Store, bytes: u64) -> Event {
        loop {
            if self.payload.is_some() {
                match self.take_payload(input, store) {
                    Some(request) => return self.begun(request),
                    None if self.payload.is_some() => return Event::Wait,
                    // It was refused.
                    None => continue,
                }
            }
            if input.len() < REQUEST_BYTES || !self.has_room() {
                return Event::Wait;
            }
            let Some(request) = Request::read(&input[..REQUEST_BYTES]) else {
                return Event::Leaves;
            };
            input.advance(REQUEST_BYTES);
            if request.command == command::DISC {
                return Event::Leaves;
            }
            let mut failure = request.check(bytes, self).err();
            if self.ends {
                failure = Some(Failure::Shutdown);
            }
            match (request.command, failure) {
                (command::WRITE, _) => {
                    self.payload = Some(Payload {
                        request,
                        left: request.length,
                        failure,
                    });
                }
                (_, Some(failure)) => self.fail(&request, failure),
                (command::BLOCK_STATUS, None) => self.replies.add(Reply::Extents {
                    cookie: request.cookie,
                    offset: request.offset,
                    length: request.length,
                    one: request.flags & flag::REQ_ONE != 0,
                }),
                (command::TRIM | command::WRITE_ZEROES, None) => {
                    let keep = request.flags & flag::NO_HOLE != 0;
                    match store.zero(request.offset, u64::from(request.length), keep) {
                        Ok(()) => return self.begun(request),
                        Err(_) => self.fail(&request, Failure::Io),
                    }
                }
                _ => return self.begun(request),
            }
        }
    }

    fn begun(&mut self, request: Request) -> Event {
        self.open += 1;
        Event::Request(request)
    }

    /// Stores what has arrived of a write; returns the request once it is complete.
    fn take_payload(&mut self, input: &mut BytesMut, store: &mut Store) -> Option<Request> {
        let payload = self.payload.as_mut()?;
        let Payload { request, .. } = *payload;
        let data = input.split_to(input.len().min(payload.left as usize));
        let at = request
            .offset
            .wrapping_add(u64::from(request.length - payload.left));
        payload.left -= data.len() as u32;
        if payload.failure.is_none() && store.write(at, &data).is_err() {
            payload.failure = Some(Failure::Io);
        }
        if payload.left > 0 {
            return None;
        }
        let failure = payload.failure;
        self.payload = None;
        match failure {
            None => Some(request),
            Some(failure) => {
                self.fail(&request, failure);
                None
            }
        }
    }

    /// A request that the server took has ended.
    pub fn ended(&mut self, request: &Request, failure: Option<Failure>) {
        self.open -= 1;
        match failure {
            Some(failure) => self.fail(request, failure),
            None if request.command == command::READ => self.data(request),
            None => self.done(request),
        }
    }

    /// A request has failed.
    fn fail(&mut self, request: &Request, failure: Failure) {
        let is_chunk =
            self.structured && matches!(request.command, command::READ | command::BLOCK_STATUS);
        let (cookie, error) = (request.cookie, failure as u32);
        self.replies.add(match is_chunk {
            true => Reply::Error { cookie, error },
            false => Reply::Simple { cookie, error },
        });
    }

    fn done(&mut self, request: &Request) {
        let (cookie, error) = (request.cookie, 0);
        self.replies.add(Reply::Simple { cookie, error });
    }

    fn data(&mut self, request: &Request) {
        let (cookie, offset, left) = (request.cookie, request.offset, request.length);
        self.replies.add(match self.structured {
            false => Reply::plain(cookie, offset, left),
            true if request.flags & flag::DF != 0 => Reply::whole(cookie, offset, left),
            true => Reply::chunks(cookie, offset, left),
        });
    }

    /// Adds what is to be sent to `out`, until enough is there.
    ///
    /// # Errors
    /// The store cannot be read, and part of a reply is sent already that has no place for an error: the connection
    /// must end.
    pub fn fill(&mut self, out: &mut BytesMut, store: &Store) -> std::io::Result<()> {
        self.replies.fill(out, store)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handshake::Negotiated;
    use headstack_testkit::XorShift;

    const BYTES: u64 = 1 << 18;

    /// What a client that sends these bytes in pieces gets, if every request is served at once.
    fn replies(bytes: &[u8], mut piece: impl FnMut() -> usize) -> (Vec<u8>, Vec<Request>, Event) {
        let negotiated = Negotiated {
            export: 0,
            structured: true,
            allocation: true,
        };
        let (mut session, mut store) = (Session::new(negotiated), Store::memory());
        let (mut input, mut out, mut found) = (BytesMut::new(), BytesMut::new(), Vec::new());
        let (mut rest, mut last, mut all) = (bytes, Event::Wait, Vec::new());
        while !rest.is_empty() && last != Event::Leaves {
            let (now, later) = rest.split_at(piece().clamp(1, rest.len()));
            input.extend_from_slice(now);
            rest = later;
            loop {
                last = session.next(&mut input, &mut store, BYTES);
                let Event::Request(request) = last else { break };
                found.push(request);
                session.ended(&request, None);
                session.fill(&mut out, &store).unwrap();
                all.extend_from_slice(&out);
                out.clear();
            }
            session.fill(&mut out, &store).unwrap();
            all.extend_from_slice(&out);
            out.clear();
        }
        (all, found, last)
    }

    fn put(bytes: &mut Vec<u8>, command: u16, offset: u64, length: u32, data: &[u8]) {
        bytes.extend_from_slice(&REQUEST_MAGIC.to_be_bytes());
        bytes.extend_from_slice(&[0, 0]);
        bytes.extend_from_slice(&command.to_be_bytes());
        bytes.extend_from_slice(&offset.to_be_bytes());
        bytes.extend_from_slice(&offset.to_be_bytes());
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(data);
    }

    #[test]
    fn pieces_do_not_matter() {
        let seed = 12;
        println!("seed {seed}");
        let mut rng = XorShift::seeded(seed);
        let mut bytes = Vec::new();
        for _ in 0..200 {
            let (offset, length) = (rng.below(BYTES + 100), rng.below(3000) as u32);
            let command = rng.below(8) as u16;
            let data = vec![rng.below(256) as u8; if command == 1 { length as usize } else { 0 }];
            if command != command::DISC {
                put(&mut bytes, command, offset, length, &data);
            }
        }
        put(&mut bytes, command::DISC, 0, 0, b"");
        let whole = replies(&bytes, || usize::MAX);
        assert_eq!(whole.2, Event::Leaves);
        assert!(whole.1.len() > 80, "{} requests are right", whole.1.len());
        assert!(whole == replies(&bytes, || 1));
        assert!(whole == replies(&bytes, || 1 + rng.below(5000) as usize));
    }

    #[test]
    fn a_wrong_magic_ends_the_session() {
        let (all, found, last) = replies(&[0; REQUEST_BYTES], || 7);
        assert_eq!((all.len(), found.len(), last), (0, 0, Event::Leaves));
    }
}
