//! Numbers of the NBD protocol (`doc/proto.md` of the NetworkBlockDevice project); all fields are big-endian.

/// First eight bytes of a server.
pub const MAGIC: u64 = u64::from_be_bytes(*b"NBDMAGIC");
/// Begins the fixed newstyle handshake, and each option of a client.
pub const OPTION_MAGIC: u64 = u64::from_be_bytes(*b"IHAVEOPT");
/// Begins each reply to an option.
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// Begins each request.
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
/// Begins a simple reply.
pub const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// Begins a chunk of a structured reply.
pub const CHUNK_MAGIC: u32 = 0x668e_33ef;
/// Begins each request with an extended header.
pub const EXTENDED_REQUEST_MAGIC: u32 = 0x21e4_1c71;
/// Begins each chunk with an extended header.
pub const EXTENDED_CHUNK_MAGIC: u32 = 0x6e8a_278c;

/// Flags of the handshake, of server and client.
pub mod handshake {
    /// Unknown options are answered.
    pub const FIXED_NEWSTYLE: u16 = 1;
    /// No zeroes after `EXPORT_NAME`.
    pub const NO_ZEROES: u16 = 2;
}

/// Options of a client.
#[allow(missing_docs)]
pub mod option {
    /// Use an export; the server closes the connection where it does not exist.
    pub const EXPORT_NAME: u32 = 1;
    pub const ABORT: u32 = 2;
    pub const LIST: u32 = 3;
    pub const STARTTLS: u32 = 5;
    pub const INFO: u32 = 6;
    pub const GO: u32 = 7;
    pub const STRUCTURED_REPLY: u32 = 8;
    pub const LIST_META_CONTEXT: u32 = 9;
    pub const SET_META_CONTEXT: u32 = 10;
    pub const EXTENDED_HEADERS: u32 = 11;
}

/// Types of replies to options.
#[allow(missing_docs)]
pub mod reply {
    pub const ACK: u32 = 1;
    /// One export.
    pub const SERVER: u32 = 2;
    pub const INFO: u32 = 3;
    pub const META_CONTEXT: u32 = 4;
    pub const ERR_UNSUP: u32 = (1 << 31) + 1;
    pub const ERR_INVALID: u32 = (1 << 31) + 3;
    pub const ERR_TLS_REQD: u32 = (1 << 31) + 5;
    pub const ERR_UNKNOWN: u32 = (1 << 31) + 6;
    pub const ERR_TOO_BIG: u32 = (1 << 31) + 9;
    /// Extended headers are in use, which the option would end.
    pub const ERR_EXT_HEADER_REQD: u32 = (1 << 31) + 10;
}

/// Facts of an export.
#[allow(missing_docs)]
pub mod info {
    pub const EXPORT: u16 = 0;
    pub const NAME: u16 = 1;
    pub const DESCRIPTION: u16 = 2;
    /// Least, preferred and largest size of a request.
    pub const BLOCK_SIZE: u16 = 3;
}

/// Transmission flags of an export.
#[allow(missing_docs)]
pub mod export {
    pub const HAS_FLAGS: u16 = 1;
    pub const SEND_FLUSH: u16 = 1 << 2;
    pub const SEND_FUA: u16 = 1 << 3;
    pub const ROTATIONAL: u16 = 1 << 4;
    pub const SEND_TRIM: u16 = 1 << 5;
    pub const SEND_WRITE_ZEROES: u16 = 1 << 6;
    /// `DF` is known; only with structured replies.
    pub const SEND_DF: u16 = 1 << 7;
    /// A flush counts for all connections.
    pub const CAN_MULTI_CONN: u16 = 1 << 8;
    pub const SEND_CACHE: u16 = 1 << 10;
    pub const SEND_FAST_ZERO: u16 = 1 << 11;
}

/// Requests.
#[allow(missing_docs)]
pub mod command {
    pub const READ: u16 = 0;
    pub const WRITE: u16 = 1;
    pub const DISC: u16 = 2;
    pub const FLUSH: u16 = 3;
    /// Bytes are no longer needed.
    pub const TRIM: u16 = 4;
    /// Bytes will be read soon.
    pub const CACHE: u16 = 5;
    pub const WRITE_ZEROES: u16 = 6;
    pub const BLOCK_STATUS: u16 = 7;
}

/// Flags of requests.
pub mod flag {
    /// What is written must be kept before the reply.
    pub const FUA: u16 = 1;
    /// Zeroes must take room.
    pub const NO_HOLE: u16 = 1 << 1;
    /// A read is answered in one chunk.
    pub const DF: u16 = 1 << 2;
    /// One extent is enough.
    pub const REQ_ONE: u16 = 1 << 3;
    /// Zeroes only if that is quicker than to write them.
    pub const FAST_ZERO: u16 = 1 << 4;
    /// With extended headers: so many bytes as the length says follow the request.
    pub const PAYLOAD_LEN: u16 = 1 << 5;
}

/// Types of chunks.
#[allow(missing_docs)]
pub mod chunk {
    /// The last chunk of a reply, as flag.
    pub const DONE: u16 = 1;
    pub const NONE: u16 = 0;
    /// Bytes at an offset.
    pub const OFFSET_DATA: u16 = 1;
    /// Zeroes at an offset, which do not follow.
    pub const OFFSET_HOLE: u16 = 2;
    /// Extents of metadata.
    pub const BLOCK_STATUS: u16 = 5;
    /// The same with lengths and flags of 64 bits.
    pub const BLOCK_STATUS_EXT: u16 = 6;
    pub const ERROR: u16 = (1 << 15) + 1;
    pub const ERROR_OFFSET: u16 = (1 << 15) + 2;
}

/// Flags of `base:allocation`.
pub mod allocation {
    /// No room is taken.
    pub const HOLE: u32 = 1;
    /// The bytes are zero.
    pub const ZERO: u32 = 2;
}

/// Errors of replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Failure {
    /// The medium or the store failed.
    Io = 5,
    /// The request is wrong.
    Invalid = 22,
    /// A write beyond the end.
    NoSpace = 28,
    /// A request that is too large.
    Overflow = 75,
    /// Zeroes are no quicker than other data.
    Unsupported = 95,
    /// The server ends.
    Shutdown = 108,
}

/// Largest payload of a request, bytes: what every client may expect.
pub const MAX_PAYLOAD: u32 = 32 << 20;
/// Bytes of a request without its payload.
pub const REQUEST_BYTES: usize = 28;
/// The same with an extended header.
pub const EXTENDED_REQUEST_BYTES: usize = 32;
/// The most bytes that one command writes or reads on the drive.
pub const MAX_COMMAND: u64 = u32::MAX as u64;

/// The headers of requests and replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Headers {
    /// Each reply is one.
    #[default]
    Simple,
    /// Replies to reads are in chunks.
    Structured,
    /// All replies are in chunks, and lengths have 64 bits.
    Extended,
}
/// Name of the one kind of metadata, and its number.
pub const ALLOCATION: (&[u8], u32) = (b"base:allocation", 1);
