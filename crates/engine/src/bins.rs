//! Times in bins of three significant figures.

use hdrhistogram::Histogram;

/// Bits of a value that a bin keeps: the bins of three significant figures have 1024 to 2047 as their leading digits.
const DIGITS: u32 = 11;
/// Bins of one power of two.
const HALF: usize = 1 << (DIGITS - 1);
/// Bins of all values of 32 bits.
const SHORT: usize = (32 - DIGITS as usize + 2) * HALF;

/// Counts of values in the bins of an HdrHistogram with three significant figures.
///
/// Short values are counted here first, in the same bins: that takes 17 instructions for each, in the histogram 48. It
/// gets them bin by bin when it is read.
pub(crate) struct Bins {
    short: Vec<u64>,
    histogram: Histogram<u64>,
}

/// The bin of a short value.
#[inline]
fn bin(value: u32) -> usize {
    let shift = (32 - DIGITS).saturating_sub(value.leading_zeros());
    (shift as usize * HALF) + (value >> shift) as usize
}

/// The smallest value in a bin.
fn least_of(bin: usize) -> u64 {
    let shift = (bin / HALF).saturating_sub(1);
    ((bin - shift * HALF) as u64) << shift
}

impl Bins {
    pub fn new() -> Bins {
        // All 64 bits in range: 0.4 MiB, never resized.
        let histogram = Histogram::new_with_bounds(1, u64::MAX / 2, 3)
            .expect("bounds and figures are constants that hdrhistogram accepts");
        Bins { short: vec![0; SHORT], histogram }
    }

    /// Counts a value.
    pub fn add(&mut self, value: u64) {
        self.histogram.saturating_record(value);
    }

    /// Counts values.
    pub fn add_short(&mut self, values: &[u32]) {
        for &value in values {
            self.short[bin(value)] += 1;
        }
    }

    /// Puts all values into the histogram, for [`Bins::value_at`].
    pub fn gather(&mut self) {
        for (i, n) in self.short.iter_mut().enumerate().filter(|(_, n)| **n > 0) {
            let n = std::mem::take(n);
            self.histogram.saturating_record_n(least_of(i), n);
        }
    }

    /// Adds the values of others.
    pub fn absorb(&mut self, others: &mut Bins) {
        others.gather();
        let added = self.histogram.add(&others.histogram);
        added.expect("histograms of the same bounds");
    }

    /// The upper end of the bin that has this share of the values below it or in it.
    pub fn value_at(&self, share: f64) -> u64 {
        self.histogram.value_at_quantile(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the histogram that counts each value itself: at the ends of bins, at powers of two, and anywhere.
    #[test]
    fn short_values_are_in_the_bins_of_the_histogram() {
        let mut bins = Bins::new();
        let mut direct = Bins::new().histogram;
        let mut values: Vec<u32> = (0..32).flat_map(|i| [(1 << i) - 1, 1 << i]).collect();
        values.extend((0..5000).chain(u32::MAX - 5000..=u32::MAX));
        let mut x = 88_172_645_463_325_252u64;
        for _ in 0..20_000 {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            values.push((x >> 32) as u32 >> (x % 32));
        }
        for part in values.chunks(1000) {
            bins.add_short(part);
            let each = part.iter();
            each.for_each(|v| direct.saturating_record(u64::from(*v)));
            bins.gather();
            let all = |h: &Histogram<u64>| {
                let recorded = h.iter_recorded();
                let bins: Vec<(u64, u64)> = recorded.map(|v| (v.value_iterated_to(), v.count_at_value())).collect();
                bins
            };
            assert_eq!(all(&bins.histogram), all(&direct));
        }
    }
}
