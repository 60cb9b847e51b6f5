//! Division by numbers that do not change during a run.

/// A divisor with its precomputed reciprocal. Dividing a number below 2^32 takes one multiplication.
///
/// # Source
/// Granlund & Montgomery, "Division by invariant integers using multiplication", PLDI 1994.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Divisor {
    divisor: u32,
    inverse: u64,
}

impl Divisor {
    /// Prepares division by `divisor`; zero is treated as one.
    pub fn new(divisor: u32) -> Divisor {
        let divisor = divisor.max(1);
        Divisor { divisor, inverse: u64::MAX / divisor as u64 }
    }
    /// The divisor.
    #[inline]
    pub fn get(self) -> u32 {
        self.divisor
    }
    /// `2^64 - 1` divided by the divisor: the angle of one of `divisor` equal parts of a turn.
    #[inline]
    pub fn inverse(self) -> u64 {
        self.inverse
    }
    /// Quotient and remainder of `n`.
    #[inline]
    pub fn div_rem(self, n: u64) -> (u64, u32) {
        if n >> 32 == 0 {
            // floor((2^64 - 1) / d) + 1 exceeds 2^64 / d by at most 1, which does not change the quotient of
            // a number below 2^32. Adding n instead of 1 to the factor keeps d = 1 within 64 bits.
            let n = n as u128;
            let quotient = ((n * self.inverse as u128 + n) >> 64) as u32;
            (quotient as u64, n as u32 - quotient * self.divisor)
        } else {
            let d = self.divisor as u64;
            (n / d, (n % d) as u32)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_machine() {
        let edges = |d: u64| {
            let top = u32::MAX as u64;
            [0, 1, d - 1, d, d + 1, top / d * d - 1, top / d * d, top, top + 1, u64::MAX]
        };
        let mut divisors: Vec<u32> = (1..2000).collect();
        divisors.extend((0..32).flat_map(|b| [1u32 << b, (1u32 << b).wrapping_sub(1).max(1)]));
        divisors.extend([10_000_000, u32::MAX - 1, u32::MAX]);
        let mut x = 88172645463325252u64;
        for d in divisors {
            let by = Divisor::new(d);
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            for n in edges(d as u64).into_iter().chain([x, x >> 32, x >> 40]) {
                assert_eq!(by.div_rem(n), (n / d as u64, (n % d as u64) as u32), "{n} / {d}");
            }
        }
    }
}
