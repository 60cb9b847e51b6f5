//! What several unit tests of this crate share.

use crate::spec::DriveSpec;

/// Two surfaces of 300 cylinders, 97 sectors on each track, 7000 rpm, with these lines under
/// `[positioning]`.
pub(crate) fn small_drive(positioning: &str) -> DriveSpec {
    let text = r#"
        name = "small"
        [geometry]
        rotation_speed = "7000 rpm"
        surfaces = 2
        cylinders = 300
        zones = [{ first_cylinder = 0, last_cylinder = 299, sectors_per_track = 97, track_skew = 10.0, cylinder_skew = 20.0 }]
        [seek]
        model = "linear"
        single = "1 ms"
        full = "9 ms"
        cylinders = 300
        [positioning]
    "#;
    toml::from_str(&format!("{text}{positioning}")).expect("a drive")
}

/// Marsaglia's xorshift from a fixed seed: enough for tests.
pub(crate) struct Noise(u64);

impl Noise {
    pub fn new() -> Noise {
        Noise(88_172_645_463_325_252)
    }

    /// Another stream for each seed.
    pub fn seeded(seed: u64) -> Noise {
        Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
