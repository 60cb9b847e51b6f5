//! Random numbers for tests.

/// splitmix64 (Steele, Lea & Flood 2014).
pub struct Noise(pub u64);

impl Noise {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// An exponentially distributed time.
    pub fn exponential(&mut self, mean_ns: f64) -> u64 {
        let unit = ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        (-mean_ns * unit.ln()) as u64
    }
}
