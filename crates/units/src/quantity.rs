//! Addresses, sizes, rates, power and energy.

use crate::parse::{parse_with_units, serde_as_text, UnitError};
use std::fmt;
use std::str::FromStr;

/// A logical block address, in 512-byte blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lba(pub u64);

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $inner:ty, $help:literal, $units:expr, $what:literal, $show:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
        pub struct $name(pub $inner);
        impl $name {
            const UNITS: &'static [(&'static str, f64)] = $units;
            const UNITS_HELP: &'static str = $help;
        }
        impl FromStr for $name {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<$name, UnitError> {
                let value = parse_with_units(text, $name::UNITS, $help)?;
                if value < 0.0 {
                    let need = concat!("a number and a unit: ", $help, " (not negative)").into();
                    return Err(UnitError { got: text.to_string(), need });
                }
                Ok($name(value as $inner))
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                write!(f, $show, self.0)
            }
        }
        serde_as_text!($name, $what);
    };
}

quantity!(
    /// A size in bytes. `kB` is 1000 and `KiB` is 1024, always. A letter alone is fio's notation, where
    /// `4k` is 4096 by default; what fio and the standards read differently (`4kB`) is as in the standards.
    Bytes, u64, "one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB",
    &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12),
      ("KiB", 1024.0), ("MiB", 1048576.0), ("GiB", 1073741824.0), ("TiB", 1099511627776.0), ("KB", 1e3),
      ("PB", 1e15), ("PiB", 1125899906842624.0),
      ("k", 1024.0), ("m", 1048576.0), ("g", 1073741824.0), ("t", 1099511627776.0),
      ("K", 1024.0), ("M", 1048576.0), ("G", 1073741824.0), ("T", 1099511627776.0)],
    "a size", "{} B"
);
quantity!(
    /// Bytes per second.
    Bandwidth, f64, "one of B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, Mb/s, Gb/s",
    &[("B/s", 1.0), ("kB/s", 1e3), ("MB/s", 1e6), ("GB/s", 1e9), ("KiB/s", 1024.0),
      ("MiB/s", 1048576.0), ("GiB/s", 1073741824.0), ("Mb/s", 125e3), ("Gb/s", 125e6)],
    "a data rate", "{} B/s"
);
quantity!(
    /// Events per second.
    Frequency, f64, "one of /s, /min, /h, iops",
    &[("/s", 1.0), ("/min", 1.0 / 60.0), ("/h", 1.0 / 3600.0), ("Hz", 1.0), ("iops", 1.0), ("IOPS", 1.0)],
    "a rate", "{} /s"
);
quantity!(
    /// Turns per minute.
    Rpm, f64, "rpm", &[("rpm", 1.0)], "a rotation speed", "{} rpm"
);
quantity!(
    /// A length in metres.
    Length, f64, "one of mm, cm, m, um, in",
    &[("mm", 1e-3), ("cm", 1e-2), ("m", 1.0), ("um", 1e-6), ("in", 0.0254)],
    "a length", "{} m"
);
quantity!(
    /// Power in watts.
    Watts, f64, "one of W, mW", &[("W", 1.0), ("mW", 1e-3), ("kW", 1e3)], "a power", "{} W"
);
quantity!(
    /// Energy in joules.
    Joules, f64, "one of J, mJ, Wh, kWh",
    &[("J", 1.0), ("mJ", 1e-3), ("Wh", 3600.0), ("kWh", 3.6e6)], "an energy", "{} J"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_is_decimal_and_ki_is_binary() {
        assert_eq!("4 KiB".parse(), Ok(Bytes(4096)));
        assert_eq!("4 kB".parse(), Ok(Bytes(4000)));
        assert_eq!("2 PB".parse(), Ok(Bytes(2_000_000_000_000_000)));
        assert_eq!("1 PiB".parse(), Ok(Bytes(1 << 50)));
        assert_eq!("1.5 GB".parse(), Ok(Bytes(1_500_000_000)));
        assert_eq!("6 Gb/s".parse(), Ok(Bandwidth(750e6)));
        // fio's manual, "Parameter types": 4k is 4096 with the default kb_base of 1024.
        for (text, bytes) in [("4k", 4096), ("1M", 1 << 20), ("2 g", 2 << 30), ("1t", 1 << 40)] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        let error = "4q".parse::<Bytes>().unwrap_err().to_string();
        let units = "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB";
        assert_eq!(error, format!("got \"4q\", need a number and a unit: one of {units}"));
        assert!("4k".parse::<Bandwidth>().is_err());
        assert!("-4 kB".parse::<Bytes>().is_err());
        let error = "1e999 W".parse::<Watts>().unwrap_err().to_string();
        assert_eq!(error, "got \"1e999 W\", need a smaller number");
        assert!("4".parse::<Bytes>().is_err());
    }
}
