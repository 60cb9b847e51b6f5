//! The fixed newstyle handshake: a state machine over bytes, without sockets.

use crate::nbd::protocol::{
    export, handshake, info, option, reply, Headers, ALLOCATION, MAGIC, MAX_PAYLOAD, OPTION_MAGIC, OPTION_REPLY_MAGIC,
};
use crate::nbd::tls::Mode;
use bytes::{Buf, BufMut, BytesMut};

/// A device that clients can use. The first one is also the default export, with the empty name.
pub use crate::live::Device as Export;

/// Longest data of an option; longer ones are skipped and refused.
const MAX_OPTION_BYTES: u32 = 64 << 10;
/// Bytes of the head of an option.
const OPTION_HEAD: usize = 16;
/// Longest option with its head: so much is kept of what a client sends.
pub const LONGEST_OPTION: usize = OPTION_HEAD + MAX_OPTION_BYTES as usize;
/// Most options of one client.
const MAX_OPTIONS: u32 = 64;
/// Least and preferred bytes of a request. Any alignment works; a drive reads whole sectors.
const BLOCK_BYTES: (u32, u32) = (1, 4096);

/// What a client has negotiated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Negotiated {
    /// Number of the export.
    pub export: usize,
    /// The headers of requests and replies.
    pub headers: Headers,
    /// Whether it may ask for `base:allocation`.
    pub allocation: bool,
}

/// What follows a step of the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// More bytes are needed.
    More,
    /// There may be another option.
    Another,
    /// The client uses an export.
    Use(Negotiated),
    /// Once everything is sent, encryption begins.
    Encrypt,
    /// The connection ends once everything is sent.
    Close,
}

/// The handshake with one client.
#[derive(Debug, Default)]
pub struct Handshake {
    tls: Mode,
    is_encrypted: bool,
    has_flags: bool,
    is_fixed: bool,
    no_zeroes: bool,
    headers: Headers,
    /// The export for which `base:allocation` was selected.
    allocation: Option<usize>,
    options: u32,
    /// Bytes of a refused option that still arrive.
    skip: u32,
}

impl Handshake {
    /// A new client, with the bytes that it gets first.
    pub fn begin(out: &mut BytesMut, tls: Mode) -> Handshake {
        out.put_u64(MAGIC);
        out.put_u64(OPTION_MAGIC);
        out.put_u16(handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES);
        Handshake { tls, ..Handshake::default() }
    }

    /// Takes flags or one option from `input` and adds its answer to `out`.
    pub fn step(&mut self, input: &mut BytesMut, out: &mut BytesMut, exports: &[Export]) -> Next {
        if !self.has_flags {
            if input.len() < 4 {
                return Next::More;
            }
            let flags = input.get_u32();
            let known = u32::from(handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES);
            if flags & !known != 0 {
                return Next::Close;
            }
            self.has_flags = true;
            self.is_fixed = flags & u32::from(handshake::FIXED_NEWSTYLE) != 0;
            self.no_zeroes = flags & u32::from(handshake::NO_ZEROES) != 0;
        }
        let skipped = (self.skip as usize).min(input.len());
        input.advance(skipped);
        self.skip -= skipped as u32;
        if self.skip > 0 || input.len() < OPTION_HEAD {
            return Next::More;
        }
        let mut head = &input[..OPTION_HEAD];
        let (magic, code, length) = (head.get_u64(), head.get_u32(), head.get_u32());
        if magic != OPTION_MAGIC {
            return Next::Close;
        }
        let is_long = length > MAX_OPTION_BYTES;
        if !is_long && input.len() < OPTION_HEAD + length as usize {
            return Next::More;
        }
        self.options += 1;
        if self.options > MAX_OPTIONS {
            return Next::Close;
        }
        input.advance(OPTION_HEAD);
        if is_long {
            self.skip = length;
            let kind = if self.needs_tls() { reply::ERR_TLS_REQD } else { reply::ERR_TOO_BIG };
            answer(out, code, kind, b"");
            return Next::Another;
        }
        let data = input.split_to(length as usize);
        self.option(code, &data, out, exports)
    }

    /// Whether the client can do nothing before the connection is encrypted.
    fn needs_tls(&self) -> bool {
        self.tls == Mode::Require && !self.is_encrypted
    }

    fn option(&mut self, code: u32, data: &[u8], out: &mut BytesMut, exports: &[Export]) -> Next {
        match code {
            option::ABORT => {
                answer(out, code, reply::ACK, b"");
                return Next::Close;
            }
            option::STARTTLS => return self.encrypt(data, out),
            // It has no error reply.
            option::EXPORT_NAME if self.needs_tls() => return Next::Close,
            _ if self.needs_tls() => answer(out, code, reply::ERR_TLS_REQD, b"need TLS first"),
            option::EXPORT_NAME => return self.by_name(data, out, exports),
            option::LIST => list(data, out, exports),
            option::INFO | option::GO => return self.go(code, data, out, exports),
            option::STRUCTURED_REPLY | option::EXTENDED_HEADERS => {
                let kind = self.extend(code, data).err();
                answer(out, code, kind.unwrap_or(reply::ACK), b"");
            }
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => {
                let kind = self.contexts(code, data, out, exports).err();
                answer(out, code, kind.unwrap_or(reply::ACK), b"");
            }
            _ => answer(out, code, reply::ERR_UNSUP, b""),
        }
        Next::Another
    }

    /// Replies are in chunks from now on, or headers extended.
    fn extend(&mut self, code: u32, data: &[u8]) -> Result<(), u32> {
        let is_extended = self.headers == Headers::Extended;
        match code {
            _ if !data.is_empty() => return Err(reply::ERR_INVALID),
            option::EXTENDED_HEADERS if is_extended => return Err(reply::ERR_INVALID),
            option::EXTENDED_HEADERS => self.headers = Headers::Extended,
            _ if is_extended => return Err(reply::ERR_EXT_HEADER_REQD),
            _ => self.headers = Headers::Structured,
        }
        Ok(())
    }

    /// Begins encryption. What was negotiated before counts no longer: somebody else may have sent it.
    fn encrypt(&mut self, data: &[u8], out: &mut BytesMut) -> Next {
        let kind = match self.tls {
            Mode::Off => reply::ERR_UNSUP,
            // Only clients of the fixed handshake may ask for it.
            _ if !self.is_fixed || self.is_encrypted || !data.is_empty() => reply::ERR_INVALID,
            Mode::On | Mode::Require => reply::ACK,
        };
        answer(out, option::STARTTLS, kind, b"");
        if kind != reply::ACK {
            return Next::Another;
        }
        self.is_encrypted = true;
        self.headers = Headers::Simple;
        self.allocation = None;
        Next::Encrypt
    }

    fn negotiated(&self, export: usize) -> Negotiated {
        Negotiated { export, headers: self.headers, allocation: self.allocation == Some(export) }
    }

    fn by_name(&self, name: &[u8], out: &mut BytesMut, exports: &[Export]) -> Next {
        let Some(i) = find(name, exports) else { return Next::Close };
        out.put_u64(exports[i].bytes);
        out.put_u16(self.flags());
        if !self.no_zeroes {
            out.put_bytes(0, 124);
        }
        Next::Use(self.negotiated(i))
    }

    fn go(&self, code: u32, data: &[u8], out: &mut BytesMut, exports: &[Export]) -> Next {
        let Some((name, wanted)) = name_and_infos(data) else {
            answer(out, code, reply::ERR_INVALID, b"");
            return Next::Another;
        };
        let Some(i) = find(name, exports) else {
            answer(out, code, reply::ERR_UNKNOWN, b"no such export");
            return Next::Another;
        };
        let export = &exports[i];
        let mut fact = |kind: u16, rest: &[u8]| {
            let mut data = kind.to_be_bytes().to_vec();
            data.extend_from_slice(rest);
            answer(out, code, reply::INFO, &data);
        };
        let mut size = export.bytes.to_be_bytes().to_vec();
        size.extend_from_slice(&self.flags().to_be_bytes());
        fact(info::EXPORT, &size);
        let sizes = [BLOCK_BYTES.0, BLOCK_BYTES.1, MAX_PAYLOAD].map(u32::to_be_bytes);
        fact(info::BLOCK_SIZE, sizes.as_flattened());
        // Each once, however often it is asked for.
        let texts = [(info::NAME, &export.name), (info::DESCRIPTION, &export.description)];
        for (kind, text) in texts.iter().filter(|(kind, _)| wanted.contains(kind)) {
            fact(*kind, text.as_bytes());
        }
        answer(out, code, reply::ACK, b"");
        match code {
            option::GO => Next::Use(self.negotiated(i)),
            _ => Next::Another,
        }
    }

    /// Lists or selects kinds of metadata.
    fn contexts(&mut self, code: u32, data: &[u8], out: &mut BytesMut, exports: &[Export]) -> Result<(), u32> {
        let sets = code == option::SET_META_CONTEXT;
        if sets {
            self.allocation = None;
        }
        if self.headers < Headers::Structured {
            return Err(reply::ERR_INVALID);
        }
        let (name, queries) = name_and_queries(data).ok_or(reply::ERR_INVALID)?;
        let export = find(name, exports).ok_or(reply::ERR_UNKNOWN)?;
        let (known, id) = ALLOCATION;
        let all = !sets && queries.is_empty();
        let found = all || queries.iter().any(|q| *q == known || (!sets && *q == b"base:"));
        if found {
            let mut context = if sets { id } else { 0 }.to_be_bytes().to_vec();
            context.extend_from_slice(known);
            answer(out, code, reply::META_CONTEXT, &context);
        }
        if sets && found {
            self.allocation = Some(export);
        }
        Ok(())
    }

    fn flags(&self) -> u16 {
        let df = match self.headers {
            Headers::Simple => 0,
            _ => export::SEND_DF,
        };
        export::HAS_FLAGS
            | export::SEND_FLUSH
            | export::SEND_FUA
            | export::ROTATIONAL
            | export::SEND_TRIM
            | export::SEND_WRITE_ZEROES
            | export::CAN_MULTI_CONN
            | export::SEND_CACHE
            | export::SEND_FAST_ZERO
            | df
    }
}

fn answer(out: &mut BytesMut, code: u32, kind: u32, data: &[u8]) {
    out.put_u64(OPTION_REPLY_MAGIC);
    out.put_u32(code);
    out.put_u32(kind);
    out.put_u32(data.len() as u32);
    out.put_slice(data);
}

fn list(data: &[u8], out: &mut BytesMut, exports: &[Export]) {
    if !data.is_empty() {
        return answer(out, option::LIST, reply::ERR_INVALID, b"");
    }
    for export in exports {
        let mut one = (export.name.len() as u32).to_be_bytes().to_vec();
        one.extend_from_slice(export.name.as_bytes());
        one.extend_from_slice(export.description.as_bytes());
        answer(out, option::LIST, reply::SERVER, &one);
    }
    answer(out, option::LIST, reply::ACK, b"");
}

/// The number of an export; the empty name is the first one.
fn find(name: &[u8], exports: &[Export]) -> Option<usize> {
    match name {
        b"" if !exports.is_empty() => Some(0),
        name => exports.iter().position(|e| e.name.as_bytes() == name),
    }
}

/// Text with its length before it.
fn text<'a>(data: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = data.try_get_u32().ok()? as usize;
    let (text, rest) = data.split_at_checked(length)?;
    *data = rest;
    Some(text)
}

fn name_and_infos(mut data: &[u8]) -> Option<(&[u8], Vec<u16>)> {
    let name = text(&mut data)?;
    let count = data.try_get_u16().ok()?;
    let kinds: Option<Vec<u16>> = (0..count).map(|_| data.try_get_u16().ok()).collect();
    data.is_empty().then_some((name, kinds?))
}

fn name_and_queries(mut data: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let name = text(&mut data)?;
    let count = data.try_get_u32().ok()?;
    // Each query has at least its length.
    if count as usize > data.len() / 4 {
        return None;
    }
    let queries: Option<Vec<&[u8]>> = (0..count).map(|_| text(&mut data)).collect();
    data.is_empty().then_some((name, queries?))
}
