//! Random numbers without another crate. The sequences never change, so a failed test fails again.

/// SplitMix64 (Steele, Lea & Flood, OOPSLA 2014). Any seed may be used.
#[derive(Debug, Clone)]
pub struct SplitMix(pub u64);

/// Marsaglia's xorshift with the shifts 13, 7, 17 (J. Stat. Software 8(14), 2003). The seed must not be zero.
#[derive(Debug, Clone)]
pub struct XorShift(pub u64);

/// Knuth's linear congruential generator (MMIX), upper 31 bits.
#[derive(Debug, Clone)]
pub struct Lcg(pub u64);

impl SplitMix {
    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.draw() % limit
    }
    /// A number from `least` to `most`, both included.
    pub fn between(&mut self, least: u32, most: u32) -> u32 {
        least + self.below(u64::from(most - least) + 1) as u32
    }
    /// True with probability `1 / n`.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
    /// A random element of a list.
    pub fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
    /// A number between 0 and 1, both excluded.
    pub fn unit(&mut self) -> f64 {
        unit(self.draw())
    }
    /// An exponentially distributed number with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }
}

impl Default for XorShift {
    /// The seed of Marsaglia's paper.
    fn default() -> XorShift {
        XorShift(88_172_645_463_325_252)
    }
}

impl XorShift {
    /// A different stream for each seed.
    pub fn seeded(seed: u64) -> XorShift {
        XorShift(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }
    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.draw() % limit
    }
    /// An exponentially distributed number with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -unit(self.draw()).ln() * mean
    }
}

impl Lcg {
    /// The next state. Its lower bits are of poor quality.
    pub fn state(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0
    }
    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        (self.state() >> 33) % limit
    }
}

fn unit(bits: u64) -> f64 {
    ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_the_published_ones() {
        // Rosetta Code, "Pseudo-random numbers/Splitmix64", seed 1234567.
        let mut split = SplitMix(1_234_567);
        let got = [split.draw(), split.draw(), split.draw()];
        let published = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(got, published);
        // Computed with integers of arbitrary length.
        let mut shift = XorShift::default();
        assert_eq!(shift.draw(), 8_748_534_153_485_358_512);
        assert_eq!(shift.draw(), 3_040_900_993_826_735_515);
        // From zero the first state is the increment.
        assert_eq!(Lcg(0).state(), 1_442_695_040_888_963_407);
    }

    #[test]
    fn numbers_keep_their_bounds() {
        let mut split = SplitMix(3);
        let mut sum = 0.0;
        for _ in 0..10_000 {
            assert!((5..=9).contains(&split.between(5, 9)));
            assert!(Lcg(split.draw()).below(7) < 7);
            assert!((0.0..1.0).contains(&split.unit()));
            sum += split.exponential(2.0);
        }
        // The mean of 10,000 draws, within five standard deviations of 0.02.
        assert!((sum / 1e4 - 2.0).abs() < 0.1, "{sum}");
    }
}
