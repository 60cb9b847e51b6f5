//! Values at given ranks, found without sorting all values.

/// Leading digits, in bits, by which values are divided into bins.
const DIGITS: u32 = 11;
const BINS: usize = 1 << DIGITS;

/// The values at these ranks, counted from 0, in ascending order of `values`, the largest of which is `most`. The ranks
/// must not decrease and be below the number of values.
///
/// # Model
/// Values are counted in bins of equal width. Only those of the bins with a wanted rank are sorted: of a usual distribution
/// less than one in a hundred.
pub(crate) fn at_ranks<const N: usize>(values: &[u32], most: u32, ranks: [u64; N]) -> [u32; N] {
    let shift = (u32::BITS - most.leading_zeros()).saturating_sub(DIGITS);
    let bin = |value: u32| (value >> shift) as usize % BINS;
    let mut counts = [0u32; BINS];
    values.iter().for_each(|v| counts[bin(*v)] += 1);
    // Values in the bins before, and how many of them are sorted.
    let (mut before, mut sorted_before) = (0, 0);
    let mut is_wanted = [false; BINS];
    let (mut places, mut found) = ([0; N], 0);
    for (count, is_wanted) in counts.iter().zip(&mut is_wanted) {
        let past = before + u64::from(*count);
        while found < N && ranks[found] < past {
            places[found] = sorted_before + (ranks[found] - before) as usize;
            (*is_wanted, found) = (true, found + 1);
        }
        if *is_wanted {
            sorted_before += *count as usize;
        }
        before = past;
    }
    let mut wanted = Vec::with_capacity(sorted_before);
    wanted.extend(values.iter().filter(|v| is_wanted[bin(**v)]));
    radsort::sort(&mut wanted);
    places.map(|at| wanted.get(at).copied().unwrap_or(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a sorted list: values that are spread evenly, all equal, mostly in one bin, and few of any size.
    #[test]
    fn agrees_with_a_sorted_list() {
        let mut x = 88_172_645_463_325_252u64;
        let mut draw = |below: u64| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x % below
        };
        for below in [1, 2, 1 << 11, 1 << 12, 1 << 20, 1 << 32] {
            for n in [1u64, 2, 100, 20_000] {
                let mut values: Vec<u32> = (0..n).map(|_| draw(below) as u32).collect();
                if n == 100 {
                    values.push(u32::MAX);
                }
                let mut ranks = [(); 6].map(|()| draw(n));
                ranks.sort_unstable();
                (ranks[0], ranks[5]) = (0, values.len() as u64 - 1);
                let most = values.iter().max().copied().unwrap_or(0);
                let got = at_ranks(&values, most, ranks);
                values.sort_unstable();
                let want = ranks.map(|rank| values[rank as usize]);
                assert_eq!(got, want, "{n} values below {below}, ranks {ranks:?}");
            }
        }
    }
}
