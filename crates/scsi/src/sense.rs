//! Sense data: why a command failed, in both formats.

use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromZeros, IntoBytes};

/// The sense key. The numbers are those of the standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Key {
    /// Nothing is wrong.
    NoSense = 0x0,
    /// The command was carried out after the drive repaired something.
    RecoveredError = 0x1,
    /// The unit cannot be accessed.
    NotReady = 0x2,
    /// A defect of the medium.
    MediumError = 0x3,
    /// The drive has failed.
    HardwareError = 0x4,
    /// The command is wrong.
    IllegalRequest = 0x5,
    /// Something has happened that the initiator should know.
    UnitAttention = 0x6,
    /// The blocks are protected.
    DataProtect = 0x7,
    /// The drive gave up.
    AbortedCommand = 0xb,
    /// Data do not equal those of the medium.
    Miscompare = 0xe,
    /// The command has ended, and says something besides.
    Completed = 0xf,
}

impl Key {
    /// The key with this number, if it is one of those that drives use.
    pub fn from_number(number: u8) -> Option<Key> {
        Some(match number {
            0x0 => Key::NoSense,
            0x1 => Key::RecoveredError,
            0x2 => Key::NotReady,
            0x3 => Key::MediumError,
            0x4 => Key::HardwareError,
            0x5 => Key::IllegalRequest,
            0x6 => Key::UnitAttention,
            0x7 => Key::DataProtect,
            0xb => Key::AbortedCommand,
            0xe => Key::Miscompare,
            0xf => Key::Completed,
            _ => return None,
        })
    }
}

/// Additional sense code and its qualifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Code(pub u8, pub u8);

/// Codes by their names in the standard.
#[allow(missing_docs)]
impl Code {
    pub const NONE: Code = Code(0x00, 0x00);
    pub const INITIALIZING_COMMAND_REQUIRED: Code = Code(0x04, 0x02);
    pub const DEPOPULATION_IN_PROGRESS: Code = Code(0x04, 0x24);
    pub const DEPOPULATION_RESTORATION_IN_PROGRESS: Code = Code(0x04, 0x25);
    pub const PARAMETER_LIST_LENGTH_ERROR: Code = Code(0x1a, 0x00);
    pub const RECOVERED_DATA_WITH_RETRIES: Code = Code(0x17, 0x01);
    pub const MISCOMPARE_DURING_VERIFY: Code = Code(0x1d, 0x00);
    pub const INVALID_OPERATION_CODE: Code = Code(0x20, 0x00);
    pub const LBA_OUT_OF_RANGE: Code = Code(0x21, 0x00);
    pub const INVALID_FIELD_IN_CDB: Code = Code(0x24, 0x00);
    pub const LOGICAL_UNIT_NOT_SUPPORTED: Code = Code(0x25, 0x00);
    pub const INVALID_FIELD_IN_PARAMETER_LIST: Code = Code(0x26, 0x00);
    pub const INVALID_RELEASE_OF_RESERVATION: Code = Code(0x26, 0x04);
    pub const SOFTWARE_WRITE_PROTECTED: Code = Code(0x27, 0x02);
    pub const POWER_ON_OR_RESET: Code = Code(0x29, 0x00);
    pub const POWER_ON: Code = Code(0x29, 0x01);
    pub const BUS_DEVICE_RESET: Code = Code(0x29, 0x03);
    pub const MODE_PARAMETERS_CHANGED: Code = Code(0x2a, 0x01);
    pub const RESERVATIONS_PREEMPTED: Code = Code(0x2a, 0x03);
    pub const RESERVATIONS_RELEASED: Code = Code(0x2a, 0x04);
    pub const REGISTRATIONS_PREEMPTED: Code = Code(0x2a, 0x05);
    pub const CAPACITY_DATA_HAS_CHANGED: Code = Code(0x2a, 0x09);
    pub const COMMANDS_CLEARED_BY_ANOTHER_INITIATOR: Code = Code(0x2f, 0x00);
    pub const DEPOPULATION_FAILED: Code = Code(0x31, 0x04);
    pub const DEPOPULATION_RESTORATION_FAILED: Code = Code(0x31, 0x05);
    pub const INSUFFICIENT_REGISTRATION_RESOURCES: Code = Code(0x55, 0x04);
    pub const FAILURE_PREDICTED: Code = Code(0x5d, 0x00);
    pub const NOT_ENOUGH_UNSOLICITED_DATA: Code = Code(0x0c, 0x0d);
    pub const INTERNAL_TARGET_FAILURE: Code = Code(0x44, 0x00);
}

/// The place of what is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Field {
    /// In the descriptor block of the command, or in its data.
    pub in_cdb: bool,
    /// The byte.
    pub byte: u16,
    /// The highest bit of the field.
    pub bit: Option<u8>,
}

/// Sense data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sense {
    /// The key.
    pub key: Key,
    /// What it is about.
    pub code: Code,
    /// The field INFORMATION: an address, or the place of a difference.
    pub information: Option<u64>,
    /// The field that is wrong.
    pub field: Option<Field>,
    /// How much is done of what the unit is not ready for, in parts of 65,536.
    pub progress: Option<u16>,
}

impl Sense {
    /// Sense data without particulars.
    pub const fn new(key: Key, code: Code) -> Sense {
        Sense { key, code, information: None, field: None, progress: None }
    }

    /// The command is wrong.
    pub const fn illegal(code: Code) -> Sense {
        Sense::new(Key::IllegalRequest, code)
    }

    /// A field of the descriptor block is wrong.
    pub const fn in_cdb(byte: u16, bit: u8) -> Sense {
        let mut sense = Sense::illegal(Code::INVALID_FIELD_IN_CDB);
        sense.field = Some(Field { in_cdb: true, byte, bit: Some(bit) });
        sense
    }

    /// A field of the data of the command is wrong.
    pub const fn in_parameters(byte: u16) -> Sense {
        let mut sense = Sense::illegal(Code::INVALID_FIELD_IN_PARAMETER_LIST);
        sense.field = Some(Field { in_cdb: false, byte, bit: None });
        sense
    }

    /// The same with the field INFORMATION.
    #[must_use]
    pub const fn with_information(mut self, information: u64) -> Sense {
        self.information = Some(information);
        self
    }

    /// The same with how much is done, in parts of 65,536.
    #[must_use]
    pub const fn with_progress(mut self, progress: u16) -> Sense {
        self.progress = Some(progress);
        self
    }

    /// The bytes, in descriptor or in fixed format.
    pub fn bytes(&self, descriptors: bool) -> Vec<u8> {
        match descriptors {
            true => self.with_descriptors(),
            false => self.fixed(),
        }
    }

    /// The three bytes that are specific to the key: a field pointer, or how much is done.
    fn specific(&self) -> [u8; 3] {
        if let Some(progress) = self.progress {
            let [high, low] = progress.to_be_bytes();
            return [0x80, high, low];
        }
        let Some(field) = self.field else { return [0; 3] };
        let c_d = if field.in_cdb { 0x40 } else { 0 };
        let bit = field.bit.map_or(0, |bit| 0x08 | bit);
        let [high, low] = field.byte.to_be_bytes();
        [0x80 | c_d | bit, high, low]
    }

    fn fixed(&self) -> Vec<u8> {
        // The field has four bytes; what does not fit is not valid.
        let information = self.information.and_then(|i| u32::try_from(i).ok());
        let fixed = Fixed {
            response: 0x70 | if information.is_some() { 0x80 } else { 0 },
            key: self.key as u8,
            information: information.unwrap_or(0).into(),
            additional_length: 10,
            code: self.code.0,
            qualifier: self.code.1,
            specific: self.specific(),
            ..FromZeros::new_zeroed()
        };
        fixed.as_bytes().to_vec()
    }

    fn with_descriptors(&self) -> Vec<u8> {
        let mut all = Vec::new();
        if let Some(information) = self.information {
            let descriptor = Information {
                additional_length: 10,
                valid: 0x80,
                information: information.into(),
                ..FromZeros::new_zeroed()
            };
            all.extend_from_slice(descriptor.as_bytes());
        }
        if self.field.is_some() || self.progress.is_some() {
            let descriptor =
                Specific { kind: 2, additional_length: 6, reserved: 0.into(), specific: self.specific(), last: 0 };
            all.extend_from_slice(descriptor.as_bytes());
        }
        let head = Head {
            response: 0x72,
            key: self.key as u8,
            code: self.code.0,
            qualifier: self.code.1,
            reserved: [0; 3],
            additional_length: all.len() as u8,
        };
        [head.as_bytes(), &all].concat()
    }
}

crate::structures! {
    /// Sense data in fixed format.
    Fixed {
        response: u8, obsolete: u8, key: u8, information: U32, additional_length: u8, command_specific: U32, code: u8,
        qualifier: u8, unit_code: u8, specific: [u8; 3],
    }
    /// The head of sense data in descriptor format.
    Head { response: u8, key: u8, code: u8, qualifier: u8, reserved: [u8; 3], additional_length: u8 }
    /// The descriptor of the field INFORMATION.
    Information { kind: u8, additional_length: u8, valid: u8, reserved: u8, information: U64 }
    /// The descriptor of the bytes that are specific to the key.
    Specific { kind: u8, additional_length: u8, reserved: U16, specific: [u8; 3], last: u8 }
}
