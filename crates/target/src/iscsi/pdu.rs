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
    ($($(#[$doc:meta])* $name:ident { $($fields:tt)+ })+) => { $(
        headstack_scsi::structures! { $(#[$doc])* pub $name { opcode: u8, flags: u8, $($fields)+ } }
        const _: () = assert!(size_of::<$name>() == HEADER);
    )+ };
}

headstack_scsi::structures! {
    /// Lengths of what follows a header. `ahs_words`: additional headers, in words of four bytes.
    pub Lengths { ahs_words: u8, data: [u8; 3] }
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
    Basic { specific: [u8; 2], lengths: Lengths, lun: [u8; 8], itt: U32, rest: [u8; 28] }
    /// SCSI Command. `expected`: bytes that the initiator expects to transfer; `cdb`: descriptor block.
    Command {
        reserved: [u8; 2], lengths: Lengths, lun: [u8; 8], itt: U32,
        expected: U32, cmd_sn: U32, exp_stat_sn: U32, cdb: [u8; 16],
    }
    /// SCSI Response. `response`: whether the target carried the command out; `snack`: tag of a lost acknowledgement;
    /// `exp_data_sn`: number of R2T and Data-In units; `read_residual`: of bidirectional commands; `residual`: bytes
    /// that were not transferred.
    Response {
        response: u8, status: u8, lengths: Lengths, reserved: [u8; 8], itt: U32,
        snack: U32, stat_sn: U32, exp_cmd_sn: U32, max_cmd_sn: U32, exp_data_sn: U32, read_residual: U32, residual: U32,
    }
    /// Task Management Function Request. `referenced`: the task that is meant; `ref_cmd_sn`: number of its command;
    /// `exp_data_sn`: of a task that moves to another connection.
    TaskRequest {
        reserved: [u8; 2], lengths: Lengths, lun: [u8; 8], itt: U32,
        referenced: U32, cmd_sn: U32, exp_stat_sn: U32, ref_cmd_sn: U32, exp_data_sn: U32, reserved_too: [u8; 8],
    }
    /// Task Management Function Response, Logout Response. `times`: reserved; then times of a logout.
    ShortResponse {
        response: u8, reserved: u8, lengths: Lengths, reserved_too: [u8; 8], itt: U32,
        word: U32, stat_sn: U32, exp_cmd_sn: U32, max_cmd_sn: U32, times: [U16; 6],
    }
    /// Data-Out. `ttt`: tag of the R2T that it answers; `data_sn`: number in its sequence; `offset`: place of its first
    /// byte in the data of the command.
    DataOut {
        reserved: [u8; 2], lengths: Lengths, lun: [u8; 8], itt: U32,
        ttt: U32, word: U32, exp_stat_sn: U32, word_too: U32, data_sn: U32, offset: U32, last: U32,
    }
    /// Data-In. `status`: with the bit S; `ttt`: tag for an acknowledgement; `data_sn`: number among the units of the
    /// command; `offset`: place of its first byte in the data of the command; `residual`: bytes not transferred.
    DataIn {
        reserved: u8, status: u8, lengths: Lengths, lun: [u8; 8], itt: U32,
        ttt: U32, stat_sn: U32, exp_cmd_sn: U32, max_cmd_sn: U32, data_sn: U32, offset: U32, residual: U32,
    }
    /// Ready To Transfer. `ttt`: tag that Data-Out repeats; `stat_sn`: next status; `r2t_sn`: number among the R2T of
    /// the command; `offset`, `desired`: first byte and bytes that are wanted.
    ReadyToTransfer {
        reserved: [u8; 2], lengths: Lengths, lun: [u8; 8], itt: U32,
        ttt: U32, stat_sn: U32, exp_cmd_sn: U32, max_cmd_sn: U32, r2t_sn: U32, offset: U32, desired: U32,
    }
    /// Text Request, NOP-Out. `ttt`: tag of the target.
    Request {
        reserved: [u8; 2], lengths: Lengths, lun: [u8; 8], itt: U32,
        ttt: U32, cmd_sn: U32, exp_stat_sn: U32, rest: [u8; 16],
    }
    /// Text Response, NOP-In. `ttt`: tag of the target.
    Answer {
        reserved: [u8; 2], lengths: Lengths, lun: [u8; 8], itt: U32,
        ttt: U32, stat_sn: U32, exp_cmd_sn: U32, max_cmd_sn: U32, rest: [u8; 12],
    }
    /// Login Request. `isid`, `tsih`: the initiator's and the target's part of the session's number; `cid`: number of
    /// the connection.
    LoginRequest {
        version_max: u8, version_min: u8, lengths: Lengths, isid: [u8; 6], tsih: U16, itt: U32,
        cid: U16, reserved: U16, cmd_sn: U32, exp_stat_sn: U32, rest: [u8; 16],
    }
    /// Login Response. `version`: the one in use; `isid`, `tsih`: as in the request; `status`: class and detail.
    LoginResponse {
        version_max: u8, version: u8, lengths: Lengths, isid: [u8; 6], tsih: U16, itt: U32,
        word: U32, stat_sn: U32, exp_cmd_sn: U32, max_cmd_sn: U32, status: U16, rest: [u8; 10],
    }
    /// Logout Request. `cid`: number of the connection.
    LogoutRequest {
        reserved: [u8; 2], lengths: Lengths, lun: [u8; 8], itt: U32,
        cid: U16, word: U16, cmd_sn: U32, exp_stat_sn: U32, rest: [u8; 16],
    }
    /// Asynchronous Message. `itt`: no tag; `event`: what has happened; `vendor_code`: code of the maker.
    AsyncMessage {
        reserved: [u8; 2], lengths: Lengths, lun: [u8; 8], itt: U32, word: U32, stat_sn: U32, exp_cmd_sn: U32,
        max_cmd_sn: U32, event: u8, vendor_code: u8, parameters: [U16; 3], last: U32,
    }
    /// Reject. The header of what is rejected follows as data. `reason`: why; `itt`: no tag; `data_sn`: of Data-In and
    /// R2T that are asked for again.
    Reject {
        reason: u8, reserved: u8, lengths: Lengths, lun: [u8; 8], itt: U32,
        word: U32, stat_sn: U32, exp_cmd_sn: U32, max_cmd_sn: U32, data_sn: U32, rest: [u8; 8],
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
