//! How sure a mean is: a confidence interval by the method of batch means.

/// Batches that an interval is made of.
pub const BATCHES: usize = 20;
/// Fewer values than this are too few for an interval: each batch must be long against the time over
/// which values depend on each other.
pub const FEWEST: u64 = 100 * BATCHES as u64;
/// The method in words.
pub const METHOD: &str = "batch means, 20 batches, 95 %";
/// Of Student's distribution with 19 degrees of freedom: 95 % lie within so many standard deviations.
const STUDENT: f64 = 2.093_024_054_408_263;
/// Pieces that are kept at most: of twice as many, neighbours are joined.
const PIECES: usize = 32 * BATCHES;

/// Sums over successive values, in a bounded number of pieces.
///
/// # Model
/// The values, in the order in which they come, are cut into 20 batches of nearly equal number. With the
/// sum `S_i` and the number `n_i` of each, the mean `m` of all and `n` values in an average batch, the
/// half-width is `t·s/√20`, `s² = Σ (S_i - m·n_i)² / n² / 19`, where `t` is the 97.5 % quantile of Student's
/// distribution with 19 degrees of freedom.
/// # Source
/// Law, "Simulation modeling and analysis", 5th edition, 2015, chapter 9 (batch means; the ratio
/// estimator for batches of unequal number).
/// # Validity
/// A steady state, and batches that hardly depend on each other: near saturation, or in a trace with
/// bursts as long as a batch, the interval is too narrow.
#[derive(Debug, Clone)]
pub struct Batches {
    /// Values in each finished piece.
    size: u64,
    /// So many are missing from the piece that is being filled, and its sum.
    left: u64,
    sum: u128,
    pieces: Vec<u128>,
}

impl Default for Batches {
    fn default() -> Self {
        Batches { size: 1, left: 1, sum: 0, pieces: Vec::new() }
    }
}

impl Batches {
    /// Adds one time in nanoseconds.
    #[inline(always)]
    pub fn add(&mut self, ns: u64) {
        self.sum += u128::from(ns);
        self.left -= 1;
        if self.left == 0 {
            self.close();
        }
    }

    /// Adds several.
    pub fn add_all(&mut self, mut values: &[u32]) {
        while !values.is_empty() {
            let n = self.left.min(values.len() as u64);
            let (now, rest) = values.split_at(n as usize);
            let sum: u64 = now.iter().map(|&v| u64::from(v)).sum();
            self.sum += u128::from(sum);
            self.left -= n;
            if self.left == 0 {
                self.close();
            }
            values = rest;
        }
    }

    #[cold]
    fn close(&mut self) {
        self.pieces.push(std::mem::take(&mut self.sum));
        if self.pieces.len() == 2 * PIECES {
            for i in 0..PIECES {
                self.pieces[i] = self.pieces[2 * i] + self.pieces[2 * i + 1];
            }
            self.pieces.truncate(PIECES);
            self.size *= 2;
        }
        self.left = self.size;
    }

    /// Where the mean lies with a probability of 95 %, in seconds, 0 or more; none of fewer than
    /// [`FEWEST`] values.
    pub fn interval_s(&self) -> Option<[f64; 2]> {
        let pieces = self.pieces.len();
        let open = self.size - self.left;
        let n = pieces as u64 * self.size + open;
        if n < FEWEST {
            return None;
        }
        let total: u128 = self.pieces.iter().sum::<u128>() + self.sum;
        let mean = total as f64 / n as f64;
        let bound = |batch: usize| batch * pieces / BATCHES;
        let deviation = |batch: usize| {
            let own = &self.pieces[bound(batch)..bound(batch + 1)];
            let (mut sum, mut count) = (own.iter().sum::<u128>(), own.len() as u64 * self.size);
            if batch + 1 == BATCHES {
                (sum, count) = (sum + self.sum, count + open);
            }
            sum as f64 - mean * count as f64
        };
        let squares: f64 = (0..BATCHES).map(|b| deviation(b).powi(2)).sum();
        let batch = n as f64 / BATCHES as f64;
        let spread = (squares / (BATCHES - 1) as f64).sqrt() / batch;
        let half = STUDENT * spread / (BATCHES as f64).sqrt();
        Some([(mean - half).max(0.0) * 1e-9, (mean + half) * 1e-9])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values `i` of which batch `b` has the mean `b`: the interval is that of 0, 1, ..., 19.
    #[test]
    fn agrees_with_students_interval_of_the_batches() {
        // 20 equal batches, whatever the pieces: 20 · 2^k · 32 values.
        let each = 32 * 64u64;
        let mut batches = Batches::default();
        for b in 0..20u64 {
            (0..each).for_each(|i| batches.add(b * 1_000_000_000 + 500_000_000 * (i & 1)));
        }
        // Mean of 0..19 and a quarter; the standard deviation of 0..19 is sqrt(35).
        let half = 2.093_024_054_4 * (35f64 / 20.0).sqrt();
        let [low, high] = batches.interval_s().unwrap();
        assert!((low - (9.75 - half)).abs() < 1e-6, "{low}");
        assert!((high - (9.75 + half)).abs() < 1e-6, "{high}");
    }

    #[test]
    fn slices_and_single_values_make_the_same_batches() {
        let values: Vec<u32> = (0..50_000u32).map(|i| i.wrapping_mul(2_654_435_761) >> 8).collect();
        let mut one = Batches::default();
        values.iter().for_each(|&v| one.add(v.into()));
        let mut many = Batches::default();
        for part in values.chunks(777) {
            many.add_all(part);
        }
        assert_eq!(one.interval_s(), many.interval_s());
        assert!(one.pieces.len() < 2 * PIECES && one.pieces == many.pieces);
    }

    /// Of independent values about 95 % of the intervals hold the true mean.
    #[test]
    fn covers_the_mean_of_independent_values() {
        let mut x = 88_172_645_463_325_252u64;
        let mut held = 0;
        for _ in 0..400 {
            let mut batches = Batches::default();
            for _ in 0..3_000 {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                batches.add(x % 2_000_000_001);
            }
            let [low, high] = batches.interval_s().unwrap();
            held += u32::from(low <= 1.0 && 1.0 <= high);
        }
        // Binomial: 380 of 400, standard deviation 4.4.
        assert!((362..=396).contains(&held), "{held}");
    }

    #[test]
    fn few_values_have_no_interval() {
        let mut batches = Batches::default();
        (1..FEWEST).for_each(|v| batches.add(v));
        assert_eq!(batches.interval_s(), None);
        batches.add(1);
        assert!(batches.interval_s().is_some());
    }
}
