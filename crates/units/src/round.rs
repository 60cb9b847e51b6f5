//! Rounding floats to whole numbers where it happens for every request.

/// 2^52: the floats from here to twice as much are the whole numbers.
const WHOLE: f64 = 4_503_599_627_370_496.0;

/// The whole number nearest to `x`, of two the even one. `x` is not negative; what is above 2^51 (26
/// days in nanoseconds), and what is not a number, becomes 2^51.
///
/// Four instructions, where a cast that checks its range takes ten.
#[inline]
pub fn nearest(x: f64) -> u64 {
    let x = if x < WHOLE / 2.0 { x } else { WHOLE / 2.0 };
    (x + WHOLE).to_bits().wrapping_sub(WHOLE.to_bits())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_library() {
        let mut x = 88172645463325252u64;
        for i in 0..100_000u32 {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            let value = x as f64 / 2f64.powi(13 + (i % 64) as i32);
            let want = value.round_ties_even() as u64;
            assert_eq!(nearest(value), want.min(1 << 51), "{value}");
        }
        for (value, want) in [
            (0.0, 0),
            (0.5, 0),
            (1.5, 2),
            (2.5, 2),
            (0.499_999_999_999_999_94, 0),
        ] {
            assert_eq!(nearest(value), want, "{value}");
        }
        for value in [2f64.powi(51), 1e300, f64::INFINITY, f64::NAN] {
            assert_eq!(nearest(value), 1 << 51, "{value}");
        }
    }
}
