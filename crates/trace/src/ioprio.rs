//! The I/O priority of a request, as Linux gives it to a block device.
//!
//! # Model
//! Sixteen bits: the class in the upper three, a hint in the next ten, the level in the lower three. Hints 1 to 7 are the
//! duration limits of a drive. A hint counts only with a class; zero is no priority at all.
//! # Source
//! Linux, `include/uapi/linux/ioprio.h`; hints since Linux 6.5.

use headstack_schema::Choice;

/// Hints of a priority that name a duration limit.
pub const LIMITS: std::ops::RangeInclusive<u16> = 1..=7;

/// The class of an I/O priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Choice)]
pub enum IoprioClass {
    /// None: that of the process.
    #[default]
    None,
    /// Real time; with priorities of native command queueing enabled, the high one.
    RealTime,
    /// Best effort, as usual.
    BestEffort,
    /// Idle: only when no one else asks for the device.
    Idle,
}

/// An I/O priority as Linux encodes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ioprio(pub u16);

impl Ioprio {
    /// No priority.
    pub const NONE: Ioprio = Ioprio(0);

    /// Of its three parts; `None` if the level is above 7 or the hint above 1023.
    pub fn of(class: IoprioClass, level: u16, hint: u16) -> Option<Ioprio> {
        (level < 8 && hint < 1 << 10).then_some(Ioprio((class as u16) << 13 | hint << 3 | level))
    }

    /// The class; numbers that Linux does not know count as none.
    pub fn class(self) -> IoprioClass {
        match self.0 >> 13 {
            1 => IoprioClass::RealTime,
            2 => IoprioClass::BestEffort,
            3 => IoprioClass::Idle,
            _ => IoprioClass::None,
        }
    }

    /// The level within the class, 0 to 7; 0 goes first.
    pub fn level(self) -> u16 {
        self.0 & 7
    }

    /// The hint.
    pub fn hint(self) -> u16 {
        self.0 >> 3 & 0x3ff
    }

    /// The duration limit that it names, 1 to 7; 0 for none. Without a class there is none.
    pub fn limit(self) -> u8 {
        let hint = self.hint();
        match self.class() != IoprioClass::None && LIMITS.contains(&hint) {
            true => hint as u8,
            false => 0,
        }
    }
}
