//! Types that are their unit, and how people write them.
//!
//! Time is integer nanoseconds, angles are integer fractions of a turn, so that nothing drifts
//! however long a run is. Text forms always carry a unit (`"8.5 ms"`): a bare number is refused.

mod angle;
mod divide;
mod parse;
mod quantity;
mod round;
mod time;

pub use angle::{Rotation, Turn};
pub use divide::Divisor;
pub use parse::{parse_with_units, UnitError};
pub use quantity::{Bandwidth, Bytes, Frequency, Joules, Lba, Length, Rpm, Watts};
pub use round::nearest;
pub use time::{Span, Time};
