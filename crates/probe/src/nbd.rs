//! A client of NBD: several requests in flight, simple and structured replies, over TCP and Unix sockets.
//!
//! # Source
//! `doc/proto.md` and `doc/uri.md` of the NetworkBlockDevice project. Not supported: servers without the option `GO`,
//! TLS, extended headers.

use crate::batch::{Batch, Status};
use crate::flight::Flight;
use crate::pace::{Link, Real};
use crate::wire::Wire;
use crate::{lost, no_target, Described, Kind, ProbeError};
use bytes::{Buf, BufMut, BytesMut};
use headstack_target::nbd::protocol::{
    chunk, command, export, flag, handshake, info, option, reply, Failure, CHUNK_MAGIC, MAGIC, OPTION_MAGIC,
    OPTION_REPLY_MAGIC, REQUEST_BYTES, REQUEST_MAGIC, SIMPLE_REPLY_MAGIC,
};

/// Longest reply to an option, bytes.
const MOST_OPTION: u32 = 1 << 16;
/// Most replies to an option.
const MOST_REPLIES: u32 = 64;
/// Commands that a server is given at once.
const MOST_IN_FLIGHT: usize = 1024;
/// Bytes of a logical block unless the server wants more.
const BLOCK: u32 = 512;
/// Bytes of a physical block unless the server prefers others: the protocol's own preference.
const PHYSICAL: u32 = 4096;
/// Transmission flag of an export that cannot be written.
const READ_ONLY: u16 = 1 << 1;
const SERVER: &str = "an NBD server";

/// What a server has said of an export.
#[derive(Debug, Default)]
struct Export {
    bytes: u64,
    flags: u16,
    least: u32,
    preferred: u32,
    is_structured: bool,
}

/// Opens `nbd://HOST[:PORT][/EXPORT]` or `nbd+unix:///[EXPORT]?socket=PATH`.
///
/// # Errors
/// A name that is none, no server, or no such export.
pub(crate) fn open(uri: &str, writes: bool) -> Result<Real<Replies>, ProbeError> {
    let wrong = |need: &str| no_target(format!("{uri:?}"), need);
    if let Some(rest) = uri.strip_prefix("nbd+unix:///") {
        let (name, query) = rest.split_once('?').unwrap_or((rest, ""));
        let socket = query.split('&').find_map(|pair| pair.strip_prefix("socket="));
        let socket = socket.and_then(unescaped).filter(|path| !path.is_empty());
        let socket = socket.ok_or_else(|| wrong("nbd+unix:///EXPORT?socket=PATH"))?;
        let name = unescaped(name).ok_or_else(|| wrong("a name of an export in UTF-8"))?;
        return of(Wire::path(&socket)?, &name, writes);
    }
    let rest = uri.strip_prefix("nbd://").ok_or_else(|| wrong("nbd:// or nbd+unix://; TLS is not supported"))?;
    let (host, name) = rest.split_once('/').unwrap_or((rest, ""));
    let name = unescaped(name).ok_or_else(|| wrong("a name of an export in UTF-8"))?;
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let address = if has_port { host.to_string() } else { format!("{host}:10809") };
    of(Wire::port(&address)?, &name, writes)
}

/// The export of this name, on a socket that is connected.
fn of(mut wire: Wire, name: &str, writes: bool) -> Result<Real<Replies>, ProbeError> {
    let export = negotiate(&mut wire, name)?;
    if writes && export.flags & (READ_ONLY | export::SEND_FUA) != export::SEND_FUA {
        return Err(no_target("an export that is read-only, or a server without FUA", "one that takes forced writes"));
    }
    let block_bytes = if export.least > BLOCK { export.least } else { BLOCK };
    let physical = if export.preferred == 0 { PHYSICAL } else { export.preferred };
    let described = Described {
        kind: Kind::Nbd,
        blocks: export.bytes / u64::from(block_bytes),
        block_bytes,
        physical_bytes: physical.clamp(block_bytes, block_bytes.max(PHYSICAL)),
        model: String::new(),
        firmware: String::new(),
        serial_sha256: String::new(),
        rotational: (export.flags & export::ROTATIONAL != 0).then_some(true),
        fua: false,
        queue_depth: None,
        ranges: Vec::new(),
        zoned: None,
        mounted: false,
        caveats: vec!["reads of NBD cannot by-pass the buffer: addresses are used once".into()],
    };
    if described.blocks == 0 {
        return Err(no_target("an export without blocks", "a drive"));
    }
    let link = Replies::new(wire, export.is_structured, block_bytes);
    Ok(Real::new(link, described))
}

/// A text with `%XX` decoded.
fn unescaped(text: &str) -> Option<String> {
    let (mut bytes, mut found) = (text.bytes(), Vec::new());
    while let Some(byte) = bytes.next() {
        found.push(match byte {
            b'%' => {
                let digit = |b: Option<u8>| char::from(b?).to_digit(16);
                (digit(bytes.next())? << 4 | digit(bytes.next())?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(found).ok()
}

/// The handshake up to the first request.
fn negotiate(wire: &mut Wire, name: &str) -> Result<Export, ProbeError> {
    let mut greeting = wire.take(18)?;
    if (greeting.get_u64(), greeting.get_u64()) != (MAGIC, OPTION_MAGIC) {
        return Err(lost("another greeting", "an NBD server of the newstyle handshake"));
    }
    let offered = greeting.get_u16();
    if offered & handshake::FIXED_NEWSTYLE == 0 {
        return Err(lost("no fixed newstyle handshake", SERVER));
    }
    let flags = offered & (handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES);
    wire.send(&u32::from(flags).to_be_bytes())?;
    send_option(wire, option::STRUCTURED_REPLY, &[])?;
    let is_structured = receive(wire, option::STRUCTURED_REPLY, &mut |_, _| Ok(()))? == reply::ACK;
    let mut export = Export { is_structured, ..Export::default() };
    let mut go = Vec::new();
    go.put_u32(name.len() as u32);
    go.put_slice(name.as_bytes());
    go.put_u16(1);
    go.put_u16(info::BLOCK_SIZE);
    send_option(wire, option::GO, &go)?;
    let mut sized = false;
    let end = receive(wire, option::GO, &mut |kind, data| {
        match (kind, data.len()) {
            (info::EXPORT, 10) => {
                (export.bytes, export.flags, sized) = (data.get_u64(), data.get_u16(), true);
            }
            (info::BLOCK_SIZE, 12) => (export.least, export.preferred) = (data.get_u32(), data.get_u32()),
            (info::EXPORT | info::BLOCK_SIZE, n) => return Err(lost(format!("{n} bytes of a fact"), SERVER)),
            _ => {}
        }
        Ok(())
    })?;
    match end {
        reply::ACK if sized => {}
        reply::ERR_UNKNOWN => return Err(no_target(format!("export {name:?}"), "one of the server")),
        reply::ERR_TLS_REQD => return Err(lost("a server that demands TLS, which is not supported", "one without")),
        other => return Err(lost(format!("reply {other:#x} to the choice of an export"), SERVER)),
    }
    let is_size = |bytes: u32| bytes.is_power_of_two() && bytes <= 1 << 16;
    if (export.least > 0 && !is_size(export.least)) || (export.preferred > 0 && !export.preferred.is_power_of_two()) {
        return Err(lost(format!("blocks of {} and {} bytes", export.least, export.preferred), "powers of two"));
    }
    Ok(export)
}

fn send_option(wire: &mut Wire, code: u32, data: &[u8]) -> Result<(), ProbeError> {
    let mut all = Vec::with_capacity(16 + data.len());
    all.put_u64(OPTION_MAGIC);
    all.put_u32(code);
    all.put_u32(data.len() as u32);
    all.put_slice(data);
    wire.send(&all)
}

/// Takes the replies to an option, and gives their facts to `see`. Returns the type of the last one.
fn receive(
    wire: &mut Wire,
    code: u32,
    see: &mut dyn FnMut(u16, &mut BytesMut) -> Result<(), ProbeError>,
) -> Result<u32, ProbeError> {
    for _ in 0..MOST_REPLIES {
        let mut head = wire.take(20)?;
        let (magic, of, kind, length) = (head.get_u64(), head.get_u32(), head.get_u32(), head.get_u32());
        if magic != OPTION_REPLY_MAGIC || of != code || length > MOST_OPTION {
            return Err(lost("a damaged reply to an option", SERVER));
        }
        let mut data = wire.take(length as usize)?;
        match kind {
            reply::INFO if data.len() >= 2 => see(data.get_u16(), &mut data)?,
            reply::ACK => return Ok(kind),
            kind if kind >> 31 == 1 => return Ok(kind),
            kind => return Err(lost(format!("a reply of type {kind} to an option"), SERVER)),
        }
    }
    Err(lost("replies to an option without end", SERVER))
}

/// Requests and their replies. The data are not kept.
pub(crate) struct Replies {
    wire: Wire,
    is_structured: bool,
    block_bytes: u32,
    flight: Flight,
    in_flight: usize,
    /// Bytes of data that are still to come, and the command that ends with them.
    skip: u64,
    ends: Option<usize>,
    /// Of a fetch, which is the only request then: its first byte, where the next data belong, and what has arrived.
    kept: Option<(u64, usize, Vec<u8>)>,
}

impl Replies {
    fn new(wire: Wire, is_structured: bool, block_bytes: u32) -> Replies {
        Replies {
            wire,
            is_structured,
            block_bytes,
            flight: Flight::default(),
            in_flight: 0,
            skip: 0,
            ends: None,
            kept: None,
        }
    }

    /// Uses what has arrived, up to the end of a command; `None` if that needs more.
    fn parse(&mut self) -> Result<Option<(usize, Status)>, ProbeError> {
        loop {
            let skipped = self.skip.min(self.wire.input.len() as u64);
            if let Some((_, at, kept)) = &mut self.kept {
                let end = *at + skipped as usize;
                if let Some(place) = kept.get_mut(*at..end) {
                    place.copy_from_slice(&self.wire.input[..skipped as usize]);
                }
                *at = end;
            }
            self.wire.input.advance(skipped as usize);
            self.skip -= skipped;
            if self.skip > 0 {
                return Ok(None);
            }
            if let Some(i) = self.ends.take() {
                self.in_flight -= 1;
                return Ok(Some(self.flight.end(i)));
            }
            // With structured replies, too, what has no data may be answered by a simple one.
            let is_simple = self.wire.input.starts_with(&SIMPLE_REPLY_MAGIC.to_be_bytes());
            let is_parsed = if self.is_structured && !is_simple { self.chunk()? } else { self.simple()? };
            if !is_parsed {
                return Ok(None);
            }
        }
    }

    fn place(&self, cookie: u64) -> Result<usize, ProbeError> {
        self.flight.place(cookie).ok_or_else(|| lost("a reply to no request", SERVER))
    }

    /// A simple reply. False if more must arrive.
    fn simple(&mut self) -> Result<bool, ProbeError> {
        let Some(mut head) = self.wire.input.first_chunk::<16>().map(|h| &h[..]) else { return Ok(false) };
        let (magic, error, cookie) = (head.get_u32(), head.get_u32(), head.get_u64());
        if magic != SIMPLE_REPLY_MAGIC {
            return Err(lost("a damaged reply", SERVER));
        }
        let i = self.place(cookie)?;
        self.wire.input.advance(16);
        match error {
            0 => {
                self.skip = self.flight.missing(i);
                self.flight.arrived(i, self.skip);
            }
            error => self.flight.fail(i, status_of(error)),
        }
        self.ends = Some(i);
        Ok(true)
    }

    /// A chunk of a structured reply. False if more must arrive.
    fn chunk(&mut self) -> Result<bool, ProbeError> {
        let Some(mut head) = self.wire.input.first_chunk::<20>().map(|h| &h[..]) else { return Ok(false) };
        let (magic, flags, kind) = (head.get_u32(), head.get_u16(), head.get_u16());
        let (cookie, length) = (head.get_u64(), head.get_u32());
        if magic != CHUNK_MAGIC {
            return Err(lost("a damaged reply", SERVER));
        }
        let i = self.place(cookie)?;
        // Of data the offset, of a hole its length, of an error its number.
        let used = match kind {
            chunk::OFFSET_DATA => 8,
            chunk::OFFSET_HOLE => 12,
            kind if kind >> 15 == 1 => 4,
            _ => 0,
        };
        if length < used {
            return Err(lost(format!("a chunk of type {kind} with {length} bytes"), SERVER));
        }
        let Some(payload) = self.wire.input.get(20..20 + used as usize) else { return Ok(false) };
        let mut payload = payload;
        let fits = match kind {
            chunk::OFFSET_DATA => {
                let offset = payload.get_u64();
                if let Some((first, at, _)) = &mut self.kept {
                    *at = offset.wrapping_sub(*first) as usize;
                }
                self.flight.arrived(i, u64::from(length - used))
            }
            chunk::OFFSET_HOLE => {
                payload.advance(8);
                self.flight.arrived(i, u64::from(payload.get_u32()))
            }
            chunk::NONE => length == 0 && flags & chunk::DONE != 0,
            kind if kind >> 15 == 1 => {
                self.flight.fail(i, status_of(payload.get_u32()));
                true
            }
            _ => false,
        };
        if !fits {
            return Err(lost(format!("a chunk of type {kind} that does not belong to its request"), SERVER));
        }
        self.wire.input.advance(20 + used as usize);
        self.skip = u64::from(length - used);
        self.ends = (flags & chunk::DONE != 0).then_some(i);
        Ok(true)
    }
}

fn status_of(error: u32) -> Status {
    match error == Failure::Io as u32 {
        true => Status::Medium,
        false => Status::Other,
    }
}

impl Link for Replies {
    fn begin(&mut self, batch: &Batch) {
        self.flight.begin(batch);
    }

    fn has_room(&self) -> bool {
        self.in_flight < MOST_IN_FLIGHT
    }

    fn send(&mut self, batch: &Batch, i: usize) -> Result<(), ProbeError> {
        let block = u64::from(self.block_bytes);
        let length = u64::from(batch.blocks[i]) * block;
        let mut head = [0; REQUEST_BYTES];
        let mut fields = &mut head[..];
        fields.put_u32(REQUEST_MAGIC);
        let data = batch.data(i);
        let (kind, expected) = if data.is_empty() { (command::READ, length) } else { (command::WRITE, 0) };
        // Only writes can be forced.
        fields.put_u16(if batch.fua && kind == command::WRITE { flag::FUA } else { 0 });
        fields.put_u16(kind);
        fields.put_u64(u64::from(self.flight.send(i, expected)));
        fields.put_u64(batch.lba[i] * block);
        fields.put_u32(length as u32);
        self.in_flight += 1;
        self.wire.send(&head)?;
        self.wire.send(data)
    }

    fn take(&mut self) -> Result<Option<(usize, Status)>, ProbeError> {
        loop {
            if let Some(ended) = self.parse()? {
                return Ok(Some(ended));
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
        let batch = Batch { lba: vec![lba], blocks: vec![blocks], ..Batch::default() };
        let (block, bytes) = (u64::from(self.block_bytes), blocks as usize * self.block_bytes as usize);
        self.kept = Some((lba * block, 0, vec![0; bytes]));
        self.begin(&batch);
        Link::send(self, &batch, 0)?;
        let status = loop {
            match self.take()? {
                Some((_, status)) => break status,
                None => self.wire.more()?,
            }
        };
        Ok(self.kept.take().filter(|_| status == Status::Good).map(|(_, _, bytes)| bytes))
    }
}
