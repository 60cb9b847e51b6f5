//! What a drive counts, besides time and energy.
//!
//! A new counter is one line in the list, and the statement that counts it: in `Buffer::counted`, in the `counted` of
//! a log or of a media scan. Results show it under its name: of each drive, and of all drives of a system. The types
//! of results in Python and the table in the guide are made from the list (`make schema-types`).

use headstack_schema::Columns;
use serde::Serialize;

/// A counter as results describe it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Counter {
    /// Its name in [`Counters`] and in results.
    pub name: &'static str,
    /// Its unit; empty for a number of things.
    pub unit: &'static str,
    /// What it counts.
    pub sentence: &'static str,
    /// How the values of several units or drives give that of all of them.
    pub of_several: OfSeveral,
}

/// How the values of several units or drives give that of all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OfSeveral {
    /// Their sum.
    Sum,
    /// The largest one, because they do it at the same time.
    Largest,
}

/// The value of a counter.
trait Value {
    const OF_SEVERAL: OfSeveral;
    fn add(&mut self, other: Self);
}

impl Value for u64 {
    const OF_SEVERAL: OfSeveral = OfSeveral::Sum;
    fn add(&mut self, other: u64) {
        *self += other;
    }
}

impl Value for Option<f64> {
    const OF_SEVERAL: OfSeveral = OfSeveral::Largest;
    fn add(&mut self, other: Option<f64>) {
        *self = match (*self, other) {
            (Some(mine), Some(other)) => Some(mine.max(other)),
            (mine, other) => mine.or(other),
        };
    }
}

/// Declares [`Counters`] and its description from the list: sentence, name, type, unit.
macro_rules! counters {
    ($($(#[doc = $sentence:literal])+ $(#[serde($serde:meta)])? $name:ident: $type:ty, in $unit:literal;)+) => {
        /// Everything that a drive has counted since it was built.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Columns)]
#[columns("Counted")]
        pub struct Counters {
            $($(#[doc = $sentence])+ $(#[serde($serde)])? pub $name: $type,)+
        }

        impl Counters {
            /// The counters, in the order in which results show them.
            pub const ALL: &'static [Counter] = &[$(Counter {
                name: stringify!($name),
                unit: $unit,
                sentence: concat!($($sentence),+).trim_ascii(),
                of_several: <$type as Value>::OF_SEVERAL,
            }),+];

            /// Whether nothing was counted.
            pub fn is_zero(&self) -> bool {
                *self == Counters::default()
            }

            /// Adds what another unit or drive has counted.
            pub fn add(&mut self, other: &Counters) {
                $(Value::add(&mut self.$name, other.$name);)+
            }
        }
    };
}

counters! {
    /// Writes that completed in the buffer and were lost, because no head reached their place later.
    n_lost_writes: u64, in "";
    /// Writes that waited for room in the buffer, because data that were not on the medium yet filled it.
    n_full_buffer_writes: u64, in "";
    /// Physical sectors that were read before they were written, because a write covered only a part.
    n_read_modify_writes: u64, in "";
    /// Blocks that cleaning of a log has moved.
    n_moved_blocks: u64, in "";
    /// Blocks that a log wrote over their old copy, because no slot was free.
    n_in_place_writes: u64, in "";
    /// Complete checkpoints of a log.
    n_checkpoints: u64, in "";
    /// How long a log's map would be searched after a loss of power now; absent without `mapping.recovery`.
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery_scan_s: Option<f64>, in "s";
    /// Bytes read by a scan of the medium.
    scanned_bytes: u64, in "B";
}
