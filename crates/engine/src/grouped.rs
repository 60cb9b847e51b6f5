//! Times of several kinds, each kind apart and all together.

use crate::quantiles::Quantiles;

/// Times of `K` kinds.
///
/// # Model
/// As [`Quantiles`], with one limit for all kinds: up to it all values are kept exactly, beyond it all
/// kinds are kept in histograms. What [`Grouped::into_all`] makes does not depend on how values were
/// shared out over kinds.
pub struct Grouped<const K: usize> {
    /// Each kind.
    pub kinds: [Quantiles; K],
    limit: usize,
    exact: bool,
}

/// Room that a kind is given at once.
const ROOM: usize = 8192;

impl<const K: usize> Grouped<K> {
    /// Exact up to `limit` values.
    pub fn with_limit(limit: usize) -> Grouped<K> {
        Grouped { kinds: std::array::from_fn(|_| Quantiles::with_limit(0)), limit, exact: true }
    }

    /// Adds one time in nanoseconds.
    #[inline]
    pub fn add(&mut self, kind: usize, ns: u64) {
        match u32::try_from(ns) {
            Ok(short) if self.kinds[kind].has_room() => self.kinds[kind].add_short(short),
            _ => self.add_slowly(kind, ns),
        }
    }

    /// Whether [`Grouped::add_short`] takes a value.
    #[inline(always)]
    pub fn has_room(&self, kind: usize) -> bool {
        self.kinds[kind].has_room()
    }

    /// Adds one time in nanoseconds if there is room, at the least cost.
    #[inline(always)]
    pub fn add_short(&mut self, kind: usize, ns: u32) {
        self.kinds[kind].add_short(ns);
    }

    #[inline(never)]
    fn add_slowly(&mut self, kind: usize, ns: u64) {
        if self.exact {
            self.share_out(kind);
        }
        self.kinds[kind].add(ns);
    }

    /// Lets a kind keep more values, out of what is left of the limit.
    fn share_out(&mut self, kind: usize) {
        let reserved = |kinds: &[Quantiles; K]| kinds.iter().map(Quantiles::reserved).sum::<usize>();
        let mut more = (self.limit - reserved(&self.kinds)).min(ROOM);
        if more == 0 {
            // Room that is given away may be needed again: the last of it goes in ever smaller pieces.
            self.kinds.iter_mut().for_each(Quantiles::give_room_back);
            more = (self.limit - reserved(&self.kinds)).div_ceil(2);
        }
        if more == 0 {
            self.exact = false;
            let used = self.kinds.iter_mut().filter(|k| k.count() > 0);
            used.for_each(Quantiles::use_histogram);
        }
        self.kinds[kind].allow(more);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.kinds.iter().map(Quantiles::count).sum()
    }

    /// Exact sum in nanoseconds.
    pub fn sum_ns(&self) -> u128 {
        self.kinds.iter().map(Quantiles::sum_ns).sum()
    }

    /// All kinds together.
    pub fn into_all(self) -> Quantiles {
        let mut all = Quantiles::with_limit(0);
        for kind in self.kinds {
            if all.count() == 0 {
                all = kind;
            } else if kind.count() > 0 {
                all.absorb(kind);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(n: u64, below: u64) -> Vec<u64> {
        let mut x = 88_172_645_463_325_252u64;
        let mut next = || {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x % below
        };
        (0..n).map(|_| next()).collect()
    }

    /// Whatever the kinds, all together are what one list of all gives, and each kind is a list of its own.
    #[test]
    fn agrees_with_one_list_of_all_and_one_of_each() {
        let n = 3 * ROOM as u64 + 5;
        for below in [1 << 20, 1 << 34] {
            let values = noise(n, below);
            for limit in [0, 1, 100, ROOM, n as usize - 1, n as usize, 1 << 20] {
                for share in [[100, 0, 0], [60, 40, 0], [1, 98, 1], [34, 33, 33]] {
                    let mut grouped = Grouped::<3>::with_limit(limit);
                    let mut all = Quantiles::with_limit(limit);
                    let mut apart: [Vec<u64>; 3] = Default::default();
                    for (i, &v) in values.iter().enumerate() {
                        let place = i as u64 * 7919 % 100;
                        let kind = match place {
                            p if p < share[0] => 0,
                            p if p < share[0] + share[1] => 1,
                            _ => 2,
                        };
                        grouped.add(kind, v);
                        all.add(v);
                        apart[kind].push(v);
                    }
                    check(&mut grouped, &mut apart, limit);
                    let mut got = grouped.into_all();
                    assert_eq!(got.method(), all.method(), "{limit}");
                    let (a, b) = (got.summary(), all.summary());
                    assert_eq!((a, got.sum_ns()), (b, all.sum_ns()), "{limit} {share:?}");
                    assert_eq!(got.cdf_points(50), all.cdf_points(50));
                }
            }
        }
    }

    fn check(grouped: &mut Grouped<3>, apart: &mut [Vec<u64>; 3], limit: usize) {
        let n: usize = apart.iter().map(Vec::len).sum();
        assert_eq!(grouped.count(), n as u64);
        for (kind, values) in grouped.kinds.iter_mut().zip(apart) {
            assert_eq!(kind.count(), values.len() as u64);
            assert_eq!(kind.sum_ns(), values.iter().map(|&v| u128::from(v)).sum());
            values.sort_unstable();
            if let (true, Some(&most)) = (n <= limit, values.last()) {
                let middle = values[values.len().div_ceil(2) - 1];
                assert_eq!(kind.quantile_s(0.5), middle as f64 * 1e-9);
                assert_eq!(kind.summary().max, most as f64 * 1e-9);
            }
        }
    }
}
