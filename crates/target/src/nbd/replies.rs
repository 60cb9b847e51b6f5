//! Replies that wait to be sent. Their data are read from the store as the socket takes them.

use crate::clients::REQUEST_WORK;
use crate::history::SECTOR;
use crate::nbd::protocol::{
    allocation, chunk, Failure, ALLOCATION, CHUNK_MAGIC, EXTENDED_CHUNK_MAGIC, SIMPLE_REPLY_MAGIC,
};
use crate::store::{Extent, Store};
use bytes::{BufMut, BytesMut};
use std::collections::VecDeque;
use std::io;

/// Shorter reads are sent without a search for zeroes that were never written.
const SEARCH_BYTES: u32 = 64 << 10;
/// Most extents in a reply; a client that wants more asks again.
const MAX_EXTENTS: usize = 512;
/// So many are as much work as a request.
const EXTENTS: usize = 32;

/// The request that a reply answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The client's number of the request.
    pub cookie: u64,
    /// First byte.
    pub offset: u64,
    /// Whether headers are extended.
    pub is_extended: bool,
}

/// A reply, or what is left of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// Without data.
    Simple {
        /// Of which request.
        origin: Origin,
        /// The error; 0 for none.
        error: u32,
    },
    /// The same as chunk, without error.
    Done {
        /// Of which request.
        origin: Origin,
    },
    /// An error as chunk.
    Error {
        /// Of which request.
        origin: Origin,
        /// The error; 0 for none.
        error: u32,
    },
    /// Data of the store.
    Data(Data),
    /// Extents of `base:allocation`.
    Extents {
        /// Of which request.
        origin: Origin,
        /// Number of bytes.
        length: u64,
        /// One is enough.
        one: bool,
    },
}

/// How data are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// After a simple reply.
    Plain,
    /// In one chunk.
    Whole,
    /// In several chunks.
    Chunks,
}

/// Data that are still to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data {
    origin: Origin,
    offset: u64,
    left: u32,
    form: Form,
    /// The only head was sent.
    has_head: bool,
    /// The store could not be read: zeroes follow until the end of the chunk, then an error.
    has_failed: bool,
}

impl Reply {
    fn data(origin: Origin, left: u32, form: Form) -> Reply {
        Reply::Data(Data { origin, offset: origin.offset, left, form, has_head: false, has_failed: false })
    }

    /// Data after a simple reply.
    pub fn plain(origin: Origin, bytes: u32) -> Reply {
        Reply::data(origin, bytes, Form::Plain)
    }

    /// Data in one chunk; at most 4 GiB less 9 bytes.
    pub fn whole(origin: Origin, bytes: u32) -> Reply {
        Reply::data(origin, bytes, Form::Whole)
    }

    /// Data in as many chunks as is best.
    pub fn chunks(origin: Origin, bytes: u32) -> Reply {
        Reply::data(origin, bytes, Form::Chunks)
    }
}

/// Replies in the order in which they are sent.
#[derive(Debug, Default)]
pub struct Replies {
    pub(crate) waiting: VecDeque<Reply>,
}

impl Replies {
    /// Adds what is to be sent to `out`, until `most` bytes are there; no part of a reply is longer. Returns the work, in bytes;
    /// with a search for extents it has as much as bytes, and is over as early.
    ///
    /// # Errors
    /// The store cannot be read after the head of a simple reply was sent.
    pub fn fill(&mut self, out: &mut BytesMut, store: &Store, most: usize) -> io::Result<usize> {
        let mut searched = 0;
        while out.len() + searched < most {
            let is_done = match self.waiting.front_mut() {
                None => break,
                Some(Reply::Data(data)) => data.send(out, store, most)?,
                Some(Reply::Simple { origin, error }) => {
                    simple(out, origin.cookie, *error);
                    true
                }
                Some(Reply::Done { origin }) => {
                    head(out, origin, chunk::DONE, chunk::NONE, 0);
                    true
                }
                Some(Reply::Error { origin, error }) => {
                    failed(out, origin, *error, None);
                    true
                }
                Some(Reply::Extents { origin, length, one }) => {
                    let found = extents(out, store, origin, *length, *one);
                    searched += REQUEST_WORK * (1 + found / EXTENTS);
                    true
                }
            };
            if is_done {
                self.waiting.pop_front();
            }
        }
        Ok(out.len() + searched)
    }
}

impl Data {
    /// Sends the next part; true if it was the last one.
    fn send(&mut self, out: &mut BytesMut, store: &Store, most: usize) -> io::Result<bool> {
        match self.form {
            Form::Plain => self.send_plain(out, store, most),
            Form::Whole => Ok(self.send_whole(out, store, most)),
            Form::Chunks => Ok(self.send_chunk(out, store, most)),
        }
    }

    /// Bytes that are taken at once: up to the end of a sector, which is never of two times.
    fn piece(&self, most: usize) -> usize {
        let most = most.max(SECTOR as usize) - (self.offset % SECTOR) as usize;
        most.min(self.left as usize)
    }

    /// Adds bytes of the store to `out`.
    fn take(&mut self, bytes: usize, out: &mut BytesMut, store: &Store) -> io::Result<()> {
        let start = out.len();
        out.put_bytes(0, bytes);
        let read = store.read(self.offset, &mut out[start..]);
        (self.offset, self.left) = (self.offset + bytes as u64, self.left - bytes as u32);
        read
    }

    fn send_plain(&mut self, out: &mut BytesMut, store: &Store, most: usize) -> io::Result<bool> {
        let start = out.len();
        if !self.has_head {
            simple(out, self.origin.cookie, 0);
        }
        let bytes = self.piece(most);
        if let Err(e) = self.take(bytes, out, store) {
            if self.has_head {
                return Err(e);
            }
            out.truncate(start);
            simple(out, self.origin.cookie, Failure::Io as u32);
            return Ok(true);
        }
        self.has_head = true;
        Ok(self.left == 0)
    }

    /// One chunk for all. It is the last one only if nothing can fail after its head.
    fn send_whole(&mut self, out: &mut BytesMut, store: &Store, most: usize) -> bool {
        if !self.has_head && self.left as usize == self.piece(most) {
            return self.send_chunk(out, store, most);
        }
        if !self.has_head {
            head(out, &self.origin, 0, chunk::OFFSET_DATA, self.left + 8);
            out.put_u64(self.offset);
            self.has_head = true;
        }
        let bytes = self.piece(most);
        let start = out.len();
        if self.take(bytes, out, store).is_err() {
            out[start..].fill(0);
            self.has_failed = true;
        }
        if self.left > 0 {
            return false;
        }
        match self.has_failed {
            true => failed(out, &self.origin, Failure::Io as u32, None),
            false => head(out, &self.origin, chunk::DONE, chunk::NONE, 0),
        }
        true
    }

    /// A chunk of data, or of zeroes that were never written.
    fn send_chunk(&mut self, out: &mut BytesMut, store: &Store, most: usize) -> bool {
        let mut bytes = self.piece(most) as u64;
        if self.form == Form::Chunks && self.left >= SEARCH_BYTES {
            let found = store.extents(self.offset, u64::from(self.left), 1);
            match found.as_deref() {
                Ok([extent]) if extent.hole => return self.send_hole(out, extent.bytes as u32),
                Ok([extent]) => bytes = bytes.min(extent.bytes),
                // What cannot be searched may still be read.
                _ => {}
            }
        }
        let (start, offset) = (out.len(), self.offset);
        let is_last = bytes == u64::from(self.left);
        let done = if is_last { chunk::DONE } else { 0 };
        let length = bytes as u32 + 8;
        head(out, &self.origin, done, chunk::OFFSET_DATA, length);
        out.put_u64(offset);
        if self.take(bytes as usize, out, store).is_err() {
            out.truncate(start);
            failed(out, &self.origin, Failure::Io as u32, Some(offset));
            return true;
        }
        is_last
    }

    fn send_hole(&mut self, out: &mut BytesMut, bytes: u32) -> bool {
        let is_last = bytes == self.left;
        let done = if is_last { chunk::DONE } else { 0 };
        head(out, &self.origin, done, chunk::OFFSET_HOLE, 12);
        out.put_u64(self.offset);
        out.put_u32(bytes);
        (self.offset, self.left) = (self.offset + u64::from(bytes), self.left - bytes);
        is_last
    }
}

fn simple(out: &mut BytesMut, cookie: u64, error: u32) {
    out.put_u32(SIMPLE_REPLY_MAGIC);
    out.put_u32(error);
    out.put_u64(cookie);
}

/// The head of a chunk.
fn head(out: &mut BytesMut, origin: &Origin, flags: u16, kind: u16, length: u32) {
    out.put_u32(if origin.is_extended { EXTENDED_CHUNK_MAGIC } else { CHUNK_MAGIC });
    out.put_u16(flags);
    out.put_u16(kind);
    out.put_u64(origin.cookie);
    if origin.is_extended {
        out.put_u64(origin.offset);
        out.put_u64(u64::from(length));
    } else {
        out.put_u32(length);
    }
}

/// An error as last chunk, perhaps with the byte at which it happened.
fn failed(out: &mut BytesMut, origin: &Origin, error: u32, at: Option<u64>) {
    match at {
        None => head(out, origin, chunk::DONE, chunk::ERROR, 6),
        Some(_) => head(out, origin, chunk::DONE, chunk::ERROR_OFFSET, 14),
    }
    out.put_u32(error);
    // No text.
    out.put_u16(0);
    if let Some(at) = at {
        out.put_u64(at);
    }
}

/// Adds a reply; returns how many extents it has.
fn extents(out: &mut BytesMut, store: &Store, origin: &Origin, length: u64, one: bool) -> usize {
    let most = if one { 1 } else { MAX_EXTENTS };
    let Ok(found) = store.extents(origin.offset, length, most) else {
        failed(out, origin, Failure::Io as u32, None);
        return 0;
    };
    let n = found.len() as u32;
    match origin.is_extended {
        true => head(out, origin, chunk::DONE, chunk::BLOCK_STATUS_EXT, 8 + 16 * n),
        false => head(out, origin, chunk::DONE, chunk::BLOCK_STATUS, 4 + 8 * n),
    }
    out.put_u32(ALLOCATION.1);
    if origin.is_extended {
        out.put_u32(n);
    }
    for Extent { bytes, hole } in found {
        let flags = if hole { allocation::HOLE | allocation::ZERO } else { 0 };
        if origin.is_extended {
            out.put_u64(bytes);
            out.put_u64(u64::from(flags));
        } else {
            // No longer than the request, whose length has 32 bits.
            out.put_u32(bytes as u32);
            out.put_u32(flags);
        }
    }
    n as usize
}
