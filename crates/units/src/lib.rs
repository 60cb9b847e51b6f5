//! Types for quantities with units, and their text forms.
//!
//! Time is in integer nanoseconds and angles are integer fractions of a turn, so they do not drift during
//! long runs. Text forms always have a unit (`"8.5 ms"`); a bare number is refused.

mod angle;
mod divide;
mod parse;
mod quantity;
mod round;
mod time;

pub use angle::{Rotation, Turn};
pub use divide::Divisor;
pub use parse::{number_and_unit, parse_with_units, Quantity, UnitError};
pub use quantity::{Bandwidth, Bytes, Frequency, Joules, Lba, Length, Rpm, Watts};
pub use round::nearest;
pub use time::{Span, Time};
