//! Protocol data units (RFC 7143, section 11) as structures; fields have the standard's names, as `itt`, the initiator task tag.

use bytes::{Buf, BufMut, BytesMut};
use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of a basic header segment.
pub const HEADER: usize = 48;
/// A tag that names no task.
pub const NO_TAG: u32 = 0xffff_ffff;
/// Bytes of a digest.
const DIGEST: usize = 4;

/// Operation codes.
#[allow(missing_docs)]
pub mod opcode {
    pub const NOP_OUT: u8 = 0x00;
    pub const SCSI_COMMAND: u8 = 0x01;
    pub const TASK_REQUEST: u8 = 0x02;
    pub const LOGIN_REQUEST: u8 = 0x03;
    pub const TEXT_REQUEST: u8 = 0x04;
    pub const DATA_OUT: u8 = 0x05;
    pub const LOGOUT_REQUEST: u8 = 0x06;
    pub const NOP_IN: u8 = 0x20;
    pub const SCSI_RESPONSE: u8 = 0x21;
    pub const TASK_RESPONSE: u8 = 0x22;
    pub const LOGIN_RESPONSE: u8 = 0x23;
    pub const TEXT_RESPONSE: u8 = 0x24;
    pub const DATA_IN: u8 = 0x25;
    pub const LOGOUT_RESPONSE: u8 = 0x26;
    pub const R2T: u8 = 0x31;
    pub const ASYNC_MESSAGE: u8 = 0x32;
    pub const REJECT: u8 = 0x3f;
    /// A bit of requests: they are not counted, and come before others.
    pub const IMMEDIATE: u8 = 0x40;
}

/// Why a unit is rejected.
#[allow(missing_docs)]
pub mod reason {
    pub const DATA_DIGEST: u8 = 0x02;
    pub const PROTOCOL: u8 = 0x04;
    pub const NOT_SUPPORTED: u8 = 0x05;
    pub const TOO_MANY_IMMEDIATE: u8 = 0x06;
    pub const INVALID_FIELD: u8 = 0x09;
}

/// The bit F: the last unit of a sequence.
pub const FINAL: u8 = 0x80;

macro_rules! units {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty),+ $(,)? })+) => {
        $(
            $(#[$doc])*
            #[allow(missing_docs)]
            #[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Debug, Clone, Copy)]
            #[repr(C)]
            pub struct $name {
                pub opcode: u8,
                pub flags: u8,
                $($(#[$field_doc])* pub $field: $kind),+
            }
            const _: () = assert!(size_of::<$name>() == HEADER);
        )+
    };
}

/// Lengths of what follows a header.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Lengths {
    /// Additional headers, in words of four bytes.
    pub ahs_words: u8,
    data: [u8; 3],
}

impl Lengths {
    /// Bytes of data, without padding.
    pub fn data(&self) -> usize {
        let [a, b, c] = self.data;
        u32::from_be_bytes([0, a, b, c]) as usize
    }

    /// Of a unit with so many bytes of data.
    pub fn of(data: usize) -> Lengths {
        let [_, a, b, c] = (data as u32).to_be_bytes();
        Lengths { ahs_words: 0, data: [a, b, c] }
    }
}

units! {
    /// What all units have in common.
    Basic {
        /// Other fields.
        specific: [u8; 2],
        lengths: Lengths,
        lun: [u8; 8],
        itt: U32,
        /// Other fields.
        rest: [u8; 28],
    }
    /// SCSI Command.
    Command {
        reserved: [u8; 2],
        lengths: Lengths,
        lun: [u8; 8],
        itt: U32,
        /// Bytes that the initiator expects to transfer.
        expected: U32,
        cmd_sn: U32,
        exp_stat_sn: U32,
        /// Descriptor block.
        cdb: [u8; 16],
    }
    /// SCSI Response.
    Response {
        /// Whether the target carried the command out.
        response: u8,
        status: u8,
        lengths: Lengths,
        reserved: [u8; 8],
        itt: U32,
        /// Tag of a lost acknowledgement.
        snack: U32,
        stat_sn: U32,
        exp_cmd_sn: U32,
        max_cmd_sn: U32,
        /// Number of R2T and Data-In units.
        exp_data_sn: U32,
        /// Of bidirectional commands.
        read_residual: U32,
        /// Bytes that were not transferred.
        residual: U32,
    }
    /// Task Management Function Request.
    TaskRequest {
        reserved: [u8; 2],
        lengths: Lengths,
        lun: [u8; 8],
        itt: U32,
        /// The task that is meant.
        referenced: U32,
        cmd_sn: U32,
        exp_stat_sn: U32,
        /// Number of the command of the task that is meant.
        ref_cmd_sn: U32,
        /// Of a task that moves to another connection.
        exp_data_sn: U32,
        reserved_too: [u8; 8],
    }
    /// Task Management Function Response, Logout Response.
    ShortResponse {
        /// The answer.
        response: u8,
        reserved: u8,
        lengths: Lengths,
        reserved_too: [u8; 8],
        itt: U32,
        word: U32,
        stat_sn: U32,
        exp_cmd_sn: U32,
        max_cmd_sn: U32,
        /// Reserved; then times of a logout.
        times: [U16; 6],
    }
    /// Data-Out.
    DataOut {
        reserved: [u8; 2],
        lengths: Lengths,
        lun: [u8; 8],
        itt: U32,
        /// Tag of the R2T that it answers.
        ttt: U32,
        word: U32,
        exp_stat_sn: U32,
        word_too: U32,
        /// Number in its sequence.
        data_sn: U32,
        /// Place of its first byte in the data of the command.
        offset: U32,
        last: U32,
    }
    /// Data-In.
    DataIn {
        reserved: u8,
        /// Status, with the bit S.
        status: u8,
        lengths: Lengths,
        lun: [u8; 8],
        itt: U32,
        /// Tag for an acknowledgement.
        ttt: U32,
        stat_sn: U32,
        exp_cmd_sn: U32,
        max_cmd_sn: U32,
        /// Number among the units of the command.
        data_sn: U32,
        /// Place of its first byte in the data of the command.
        offset: U32,
        /// Bytes that were not transferred.
        residual: U32,
    }
    /// Ready To Transfer.
    ReadyToTransfer {
        reserved: [u8; 2],
        lengths: Lengths,
        lun: [u8; 8],
        itt: U32,
        /// Tag that Data-Out repeats.
        ttt: U32,
        /// Next status.
        stat_sn: U32,
        exp_cmd_sn: U32,
        max_cmd_sn: U32,
        /// Number among the R2T of the command.
        r2t_sn: U32,
        /// First byte that is wanted.
        offset: U32,
        /// Bytes that are wanted.
        desired: U32,
    }
    /// Text Request, NOP-Out.
    Request {
        reserved: [u8; 2],
        lengths: Lengths,
        lun: [u8; 8],
        itt: U32,
        /// Tag of the target.
        ttt: U32,
        cmd_sn: U32,
        exp_stat_sn: U32,
        rest: [u8; 16],
    }
    /// Text Response, NOP-In.
    Answer {
        reserved: [u8; 2],
        lengths: Lengths,
        lun: [u8; 8],
        itt: U32,
        /// Tag of the target.
        ttt: U32,
        stat_sn: U32,
        exp_cmd_sn: U32,
        max_cmd_sn: U32,
        rest: [u8; 12],
    }
    /// Login Request.
    LoginRequest {
        /// Highest version.
        version_max: u8,
        /// Lowest version.
        version_min: u8,
        lengths: Lengths,
        /// The initiator's part of the session's number.
        isid: [u8; 6],
        /// The target's part.
        tsih: U16,
        itt: U32,
        /// Number of the connection.
        cid: U16,
        reserved: U16,
        cmd_sn: U32,
        exp_stat_sn: U32,
        rest: [u8; 16],
    }
    /// Login Response.
    LoginResponse {
        /// Highest version.
        version_max: u8,
        /// The version in use.
        version: u8,
        lengths: Lengths,
        /// The initiator's part of the session's number.
        isid: [u8; 6],
        /// The target's part.
        tsih: U16,
        itt: U32,
        word: U32,
        stat_sn: U32,
        exp_cmd_sn: U32,
        max_cmd_sn: U32,
        /// Class and detail.
        status: U16,
        rest: [u8; 10],
    }
    /// Logout Request.
    LogoutRequest {
        reserved: [u8; 2],
        lengths: Lengths,
        lun: [u8; 8],
        itt: U32,
        /// Number of the connection.
        cid: U16,
        word: U16,
        cmd_sn: U32,
        exp_stat_sn: U32,
        rest: [u8; 16],
    }
    /// Asynchronous Message.
    AsyncMessage {
        reserved: [u8; 2],
        lengths: Lengths,
        lun: [u8; 8],
        /// No tag.
        itt: U32,
        word: U32,
        stat_sn: U32,
        exp_cmd_sn: U32,
        max_cmd_sn: U32,
        /// What has happened.
        event: u8,
        /// Code of the maker.
        vendor_code: u8,
        /// Particulars.
        parameters: [U16; 3],
        last: U32,
    }
    /// Reject. The header of what is rejected follows as data.
    Reject {
        /// Why.
        reason: u8,
        reserved: u8,
        lengths: Lengths,
        lun: [u8; 8],
        /// No tag.
        itt: U32,
        word: U32,
        stat_sn: U32,
        exp_cmd_sn: U32,
        max_cmd_sn: U32,
        /// Of Data-In and R2T that are asked for again.
        data_sn: U32,
        rest: [u8; 8],
    }
}

/// A header as the structure of its unit.
pub fn view<T: FromBytes + KnownLayout + Immutable + Unaligned>(header: &[u8; HEADER]) -> &T {
    const { assert!(size_of::<T>() == HEADER) };
    match T::ref_from_bytes(header) {
        Ok(view) => view,
        Err(_) => unreachable!("all headers have one length"),
    }
}

/// A structure with all fields zero.
pub fn zeroed<T: FromBytes>() -> T {
    T::new_zeroed()
}

/// Which parts have digests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Digests {
    pub header: bool,
    pub data: bool,
}

/// A unit that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pdu {
    /// Its header.
    pub header: [u8; HEADER],
    /// The bytes of a descriptor block that do not fit into the header.
    pub long_cdb: Vec<u8>,
    /// Its data, without padding.
    pub data: BytesMut,
}

impl Pdu {
    /// What all units have.
    pub fn basic(&self) -> &Basic {
        view(&self.header)
    }

    /// The operation code, without the bit for immediate delivery.
    pub fn opcode(&self) -> u8 {
        self.header[0] & 0x3f
    }

    /// Whether it is delivered at once and not counted.
    pub fn is_immediate(&self) -> bool {
        self.header[0] & opcode::IMMEDIATE != 0
    }
}

/// What the input begins with.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    /// Less than a unit.
    More,
    /// A unit.
    Whole(Pdu),
    /// A unit whose data do not fit their digest.
    DamagedData([u8; HEADER]),
    /// A unit that cannot be one: the connection must end.
    Damaged,
}

/// Bytes after padding to words of four.
pub fn padded(bytes: usize) -> usize {
    bytes.next_multiple_of(4)
}

/// Takes a unit from `input`, with at most `most` bytes of data.
pub fn take(input: &mut BytesMut, digests: Digests, most: usize) -> Taken {
    let Some(header) = input.first_chunk::<HEADER>().copied() else { return Taken::More };
    let lengths = view::<Basic>(&header).lengths;
    let ahs = usize::from(lengths.ahs_words) * 4;
    let data = lengths.data();
    let header_digest = if digests.header { DIGEST } else { 0 };
    let data_digest = if digests.data && data > 0 { DIGEST } else { 0 };
    let data_at = HEADER + ahs + header_digest;
    // A digest is looked at before the lengths are believed.
    if input.len() < data_at {
        return match data > most {
            true if !digests.header => Taken::Damaged,
            _ => Taken::More,
        };
    }
    if digests.header && !fits(&input[..HEADER + ahs], &input[HEADER + ahs..data_at]) {
        return Taken::Damaged;
    }
    if data > most {
        return Taken::Damaged;
    }
    let end = data_at + padded(data) + data_digest;
    if input.len() < end {
        return Taken::More;
    }
    let long_cdb = long_cdb(&input[HEADER..HEADER + ahs]);
    let digest_at = data_at + padded(data);
    let is_whole = data_digest == 0 || fits(&input[data_at..digest_at], &input[digest_at..end]);
    input.advance(data_at);
    let content = input.split_to(data);
    input.advance(end - data_at - data);
    match is_whole {
        false => Taken::DamagedData(header),
        true => Taken::Whole(Pdu { header, long_cdb, data: content }),
    }
}

/// The rest of a descriptor block, in the additional header of type 1.
#[doc(hidden)]
pub fn long_cdb(mut ahs: &[u8]) -> Vec<u8> {
    while let [high, low, kind, _, ..] = *ahs {
        // The length counts what follows the byte of the type.
        let length = usize::from(u16::from_be_bytes([high, low]));
        let end = (3 + length).min(ahs.len());
        if kind & 0x3f == 1 {
            return ahs.get(4..end).unwrap_or_default().to_vec();
        }
        ahs = &ahs[padded(end).min(ahs.len())..];
    }
    Vec::new()
}

#[doc(hidden)]
pub fn fits(of: &[u8], digest: &[u8]) -> bool {
    crc32c::crc32c(of).to_le_bytes() == digest
}

/// Adds a unit to what is sent. The lengths of its header must be those of the data.
pub fn put(out: &mut BytesMut, header: &(impl IntoBytes + Immutable), data: &[u8], d: Digests) {
    put_header(out, header, d);
    out.put_slice(data);
    end_data(out, data.len(), d);
}

/// Adds a header; its data follow, and then [`end_data`].
pub fn put_header(out: &mut BytesMut, header: &(impl IntoBytes + Immutable), digests: Digests) {
    let bytes = header.as_bytes();
    out.put_slice(bytes);
    if digests.header {
        out.put_u32_le(crc32c::crc32c(bytes));
    }
}

/// Pads the last `bytes` of what is sent, and adds their digest.
pub fn end_data(out: &mut BytesMut, bytes: usize, digests: Digests) {
    if bytes == 0 {
        return;
    }
    out.put_bytes(0, padded(bytes) - bytes);
    if digests.data {
        let digest = crc32c::crc32c(&out[out.len() - padded(bytes)..]);
        out.put_u32_le(digest);
    }
}
