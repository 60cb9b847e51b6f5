//! Quantiles of times: exact up to a limit, beyond it to three significant figures; the result says which.

use crate::batches::Batches;
use crate::bins::Bins;
use crate::ranks::at_ranks;
use headstack_schema::Columns;
use serde::Serialize;

/// Number of values that are kept exactly, unless another limit is given.
pub const EXACT_LIMIT: usize = 1_000_000;

/// Mean, quantiles and maximum of a set of times.
///
/// The quantile `q` of `n` values is defined by nearest rank: the value at position `ceil(q·n)`, at least 1,
/// in ascending order. It is always a value that occurred. Beyond the limit the values are kept in an
/// HdrHistogram with three significant figures. A quantile is then the upper end of its bin, but not above
/// the maximum; it is at most 0.1 % too high. Mean and maximum are always exact.
///
/// # Source
/// Hyndman & Fan, "Sample quantiles in statistical packages", The American Statistician 50(4),
/// 1996, definition 1.
pub struct Quantiles {
    /// Values in four bytes, which hold up to 4.29 s, as long as all values fit; and unused room behind them. With a
    /// histogram: values that it does not include yet.
    short: Vec<u32>,
    /// Number of values in `short`.
    n_short: usize,
    /// Number of values in `short` that are included in sum, count and maximum.
    settled: usize,
    store: Store,
    limit: usize,
    batches: Batches,
    /// Sum in nanoseconds of all values except the latest short ones.
    sum: u128,
    count: u64,
    max: u64,
    /// The number of values when they were last sorted: they are sorted as long as none is added.
    sorted: u64,
}

enum Store {
    Short,
    Wide(Vec<u64>),
    Histogram(Box<Bins>),
}

/// Room for short values is added in steps of so many, so that only memory that is soon used is written.
const ROOM: usize = 8192;

/// Of so many values it takes less to find some quantiles than to sort all.
const MANY: u64 = 1024;

/// Statistics in seconds; not-a-number (`null` in JSON) without values.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Columns)]
#[columns("Times")]
#[allow(missing_docs)]
pub struct Summary {
    /// Arithmetic mean.
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub p999: f64,
    pub p9999: f64,
    /// Largest value.
    pub max: f64,
}

impl Default for Quantiles {
    fn default() -> Self {
        Quantiles::with_limit(EXACT_LIMIT)
    }
}

impl Quantiles {
    /// Exact up to [`EXACT_LIMIT`] values.
    pub fn new() -> Quantiles {
        Quantiles::default()
    }
    /// Exact up to `limit` values.
    pub fn with_limit(limit: usize) -> Quantiles {
        Quantiles {
            short: Vec::new(),
            n_short: 0,
            settled: 0,
            store: Store::Short,
            limit,
            batches: Batches::default(),
            sum: 0,
            count: 0,
            max: 0,
            sorted: 0,
        }
    }

    /// Adds one time in nanoseconds.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        match u32::try_from(ns) {
            Ok(short) if self.has_room() => self.add_short(short),
            _ => self.add_slowly(ns),
        }
    }

    /// Whether [`Quantiles::add_short`] has room for a value.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.n_short < self.short.len()
    }

    /// Adds one time in nanoseconds. Without room ([`Quantiles::has_room`]) the value is dropped. The call is
    /// cheap, because sum and maximum are computed later for many values at once.
    #[inline]
    pub fn add_short(&mut self, ns: u32) {
        if let Some(place) = self.short.get_mut(self.n_short) {
            *place = ns;
            self.n_short += 1;
        }
    }

    #[inline(never)]
    fn add_slowly(&mut self, ns: u64) {
        let is_short = ns <= u64::from(u32::MAX);
        match self.store {
            Store::Short if is_short && self.n_short < self.limit => {
                let room = (self.n_short + ROOM).min(self.limit);
                self.short.resize(room, 0);
                return self.add(ns);
            }
            Store::Short if self.n_short >= self.limit => self.use_histogram(),
            Store::Short => self.widen(),
            Store::Histogram(_) => {
                self.sort_in();
                if is_short {
                    self.short.resize(ROOM, 0);
                    return self.add(ns);
                }
            }
            Store::Wide(_) => {}
        }
        self.sum += u128::from(ns);
        self.count += 1;
        self.max = self.max.max(ns);
        self.batches.add(ns);
        if let Store::Wide(list) = &mut self.store {
            if list.len() < self.limit {
                list.push(ns);
                return;
            }
            self.use_histogram();
        }
        if let Store::Histogram(bins) = &mut self.store {
            bins.add(ns);
        }
    }

    /// Short values get more room each.
    fn widen(&mut self) {
        self.settle();
        if matches!(self.store, Store::Short) {
            let values = self.short[..self.n_short].iter();
            self.store = Store::Wide(values.map(|&v| u64::from(v)).collect());
            self.leave_short();
        }
    }

    fn leave_short(&mut self) {
        self.short = Vec::new();
        (self.n_short, self.settled) = (0, 0);
    }

    /// Puts the values that wait for it into the histogram, if there is one.
    fn sort_in(&mut self) {
        self.settle();
        if let Store::Histogram(bins) = &mut self.store {
            bins.add_short(&self.short[..self.n_short]);
            (self.n_short, self.settled) = (0, 0);
        }
    }

    /// From now on values are kept in bins.
    pub(crate) fn use_histogram(&mut self) {
        self.settle();
        if matches!(self.store, Store::Histogram(_)) {
            return;
        }
        let mut bins = Bins::new();
        bins.add_short(&self.short[..self.n_short]);
        if let Store::Wide(list) = &self.store {
            list.iter().for_each(|&value| bins.add(value));
        }
        self.store = Store::Histogram(Box::new(bins));
        self.leave_short();
    }

    /// Values that are kept, or room for them.
    pub(crate) fn reserved(&self) -> usize {
        match &self.store {
            Store::Short => self.short.len(),
            Store::Wide(list) => list.len(),
            Store::Histogram(_) => 0,
        }
    }

    /// Gives up room that is not used.
    pub(crate) fn give_room_back(&mut self) {
        self.short.truncate(self.n_short);
    }

    /// Lets it keep so many values more than those that it has or has room for.
    pub(crate) fn allow(&mut self, more: usize) {
        self.limit = self.reserved() + more;
    }

    /// Takes in all values of another one, of which more than both limits together are kept in bins.
    /// Confidence intervals are lost: the order of the values is not known any more.
    pub(crate) fn absorb(&mut self, mut other: Quantiles) {
        self.settle();
        other.settle();
        self.batches = Batches::default();
        match (&self.store, &other.store) {
            (Store::Histogram(_), _) | (_, Store::Histogram(_)) => {
                self.use_histogram();
                other.use_histogram();
                self.sort_in();
                other.sort_in();
            }
            (Store::Wide(_), _) | (_, Store::Wide(_)) => {
                self.widen();
                other.widen();
            }
            _ => {}
        }
        match (&mut self.store, &mut other.store) {
            (Store::Wide(list), Store::Wide(more)) => list.extend(&*more),
            (Store::Histogram(bins), Store::Histogram(more)) => bins.absorb(more),
            _ => {
                self.short.truncate(self.n_short);
                self.short.extend(&other.short[..other.n_short]);
                self.n_short = self.short.len();
                self.settled = self.n_short;
            }
        }
        self.sum += other.sum;
        self.count += other.count;
        self.max = self.max.max(other.max);
        self.limit += other.limit;
    }

    /// Where the mean lies with a probability of 95 %, in seconds, as [`Batches`] says; none of few
    /// values.
    pub fn confidence_s(&mut self) -> Option<[f64; 2]> {
        self.settle();
        self.batches.interval_s()
    }

    /// Sum and maximum, in nanoseconds, of the values not yet included. The sum of 2^32 of them fits.
    fn unsettled(&self) -> (u64, u64) {
        let mut both = (0, 0);
        for &v in &self.short[self.settled..self.n_short] {
            both = (both.0 + u64::from(v), both.1.max(u64::from(v)));
        }
        both
    }

    /// Includes all values in sum, count and maximum.
    fn settle(&mut self) {
        let (sum, max) = self.unsettled();
        self.sum += u128::from(sum);
        self.count += (self.n_short - self.settled) as u64;
        self.max = self.max.max(max);
        self.batches.add_all(&self.short[self.settled..self.n_short]);
        self.settled = self.n_short;
    }

    /// `"exact"`, or `"hdr-3"` when there were more values than the limit.
    pub fn method(&self) -> &'static str {
        match self.store {
            Store::Histogram(_) => "hdr-3",
            _ => "exact",
        }
    }
    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count + (self.n_short - self.settled) as u64
    }
    /// Exact sum in nanoseconds.
    pub fn sum_ns(&self) -> u128 {
        self.sum + u128::from(self.unsettled().0)
    }
    /// Exact mean in seconds; not-a-number without values.
    pub fn mean_s(&self) -> f64 {
        mean_s(self.sum_ns(), self.count())
    }

    fn sort(&mut self) {
        self.settle();
        if self.sorted == self.count {
            return;
        }
        self.sorted = self.count;
        match &mut self.store {
            Store::Short => {
                // Unused room must not be sorted with the values.
                self.short.truncate(self.n_short);
                // For the millions of values of a run a radix sort takes half as long as a comparison sort.
                radsort::sort(&mut self.short);
            }
            Store::Wide(list) => list.sort_unstable(),
            Store::Histogram(_) => self.sort_in(),
        }
        if let Store::Histogram(bins) = &mut self.store {
            bins.gather();
        }
    }

    /// The value at `rank` (from 1) in nanoseconds; the store must be sorted.
    fn at_rank(&self, rank: u64) -> u64 {
        let rank = rank.clamp(1, self.count.max(1));
        match &self.store {
            Store::Short => self.short.get(rank as usize - 1).map_or(0, |&v| v.into()),
            Store::Wide(list) => list.get(rank as usize - 1).copied().unwrap_or(0),
            Store::Histogram(bins) => bins.value_at(rank as f64 / self.count as f64).min(self.max),
        }
    }

    /// The values of these shares, which must not decrease, in seconds; not-a-number without values.
    fn quantiles_s<const N: usize>(&mut self, shares: [f64; N]) -> [f64; N] {
        self.settle();
        let n = self.count;
        if n == 0 {
            return [f64::NAN; N];
        }
        let ranks = shares.map(|q| rank_of(q, n));
        let is_sorted = self.sorted == n;
        let ns = match self.store {
            Store::Short if !is_sorted && n >= MANY => {
                let values = &self.short[..self.n_short];
                at_ranks(values, self.max as u32, ranks.map(|rank| rank - 1)).map(u64::from)
            }
            _ => {
                self.sort();
                ranks.map(|rank| self.at_rank(rank))
            }
        };
        ns.map(|ns| ns as f64 * 1e-9)
    }

    /// The quantile `q` in seconds; not-a-number without values.
    pub fn quantile_s(&mut self, q: f64) -> f64 {
        let [value] = self.quantiles_s([q]);
        value
    }

    /// Mean, the usual quantiles and the maximum.
    pub fn summary(&mut self) -> Summary {
        let [p50, p90, p95, p99, p999, p9999] = self.quantiles_s([0.5, 0.9, 0.95, 0.99, 0.999, 0.9999]);
        Summary {
            mean: self.mean_s(),
            p50,
            p90,
            p95,
            p99,
            p999,
            p9999,
            max: match self.count {
                0 => f64::NAN,
                _ => self.max as f64 * 1e-9,
            },
        }
    }

    /// The distribution as points `[seconds, fraction of values that are not larger]`, from the smallest value to
    /// the largest: at most `n` at equal steps of the fraction, the last of which is filled with about 16
    /// points for each decade of rarer values, down to the largest alone.
    pub fn cdf_points(&mut self, n: usize) -> Vec<[f64; 2]> {
        self.sort();
        if self.count == 0 || n == 0 {
            return Vec::new();
        }
        let (points, count) = ((n as u64).min(self.count), self.count);
        let even = |i: u64| (i as u128 * count as u128 / points as u128) as u64;
        let ranks = (1..points).map(even).chain(tail_ranks(even(points - 1), count));
        ranks.map(|rank| [self.at_rank(rank) as f64 * 1e-9, rank as f64 / count as f64]).collect()
    }
}

/// Ranks after `from` up to `count`, each step leaving 13/15 of the ranks above: integers, so that they
/// are the same on every machine.
fn tail_ranks(from: u64, count: u64) -> impl Iterator<Item = u64> {
    let left = |above: &u64| (*above > 0).then(|| (*above as u128 * 13 / 15) as u64);
    std::iter::successors(Some(count - from), left).skip(1).map(move |above| count - above)
}

/// Mean in seconds from a sum in nanoseconds. The division loses at most one unit in the last place.
pub fn mean_s(sum_ns: u128, count: u64) -> f64 {
    if count == 0 {
        return f64::NAN;
    }
    let whole = sum_ns / count as u128;
    let rest = sum_ns % count as u128;
    (whole as f64 + rest as f64 / count as f64) * 1e-9
}

fn rank_of(q: f64, n: u64) -> u64 {
    // For some n the product is slightly too large in f64: 0.999·1000 gives 999.0000000000001. So a relative
    // 1e-15 is subtracted before rounding up.
    ((q * n as f64 * (1.0 - 1e-15)).ceil() as u64).clamp(1, n)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a sorted list, also where values of more than 4.29 s come between short ones and quantiles are asked
    /// for in the middle: bins are at most 0.1 % wide, all else is exact.
    #[test]
    fn values_that_wait_for_their_bins_count() {
        let mut quantiles = Quantiles::with_limit(100);
        let mut all: Vec<u64> = Vec::new();
        let mut x = 88_172_645_463_325_252u64;
        for i in 0..3 * ROOM + 50 {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            let ns = if x % 1000 == 0 { x >> 25 } else { x >> 36 };
            quantiles.add(ns);
            all.push(ns);
            if i % 5000 != 4999 {
                continue;
            }
            let mut sorted = all.clone();
            sorted.sort_unstable();
            let sum: u128 = all.iter().map(|&v| u128::from(v)).sum();
            let got = (quantiles.count(), quantiles.sum_ns());
            assert_eq!(got, (all.len() as u64, sum));
            for q in [0.01, 0.5, 0.999, 1.0] {
                let rank = (q * all.len() as f64).ceil() as usize;
                let want = sorted[rank - 1] as f64 * 1e-9;
                let got = quantiles.quantile_s(q);
                let fits = got > want * (1.0 - 1e-12) && got < want * 1.001;
                assert!(fits, "{i} values, quantile {q}: {got} for {want}");
            }
            assert_eq!(quantiles.method(), "hdr-3");
        }
    }

    fn noise(n: u64, below: u64) -> Vec<u64> {
        let mut x = 88172645463325252u64;
        (0..n)
            .map(|_| {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                x % below
            })
            .collect()
    }

    #[test]
    fn nearest_rank_of_one_to_thousand() {
        let mut q = Quantiles::new();
        (1..=1000u64).rev().for_each(|v| q.add(v * 1_000_000_000));
        let s = q.summary();
        let got = [s.mean, s.p50, s.p90, s.p95, s.p99, s.p999, s.p9999, s.max];
        for (got, want) in got.iter().zip([500.5, 500.0, 900.0, 950.0, 990.0, 999.0, 1000.0, 1000.0]) {
            assert!((got - want).abs() < 1e-6, "{got} {want}");
        }
        assert_eq!(q.method(), "exact");
    }

    #[test]
    fn exact_store_agrees_with_a_sorted_list() {
        for below in [1 << 20, u32::MAX as u64, 1 << 40] {
            let mut values = noise(20_000, below);
            let mut q = Quantiles::new();
            values.iter().for_each(|&v| q.add(v));
            values.sort();
            for i in 1..=100u64 {
                let want = values[(i * 200) as usize - 1] as f64 * 1e-9;
                assert_eq!(q.quantile_s(i as f64 / 100.0), want);
            }
            let points = q.cdf_points(1000);
            for [value, share] in &points {
                let rank = (share * 20_000.0).round() as usize;
                assert_eq!(*share, rank as f64 / 20_000.0);
                assert_eq!(*value, values[rank - 1] as f64 * 1e-9);
            }
            let even = (1..1000).map(|i| i as f64 / 1000.0);
            assert!(points.iter().zip(even).all(|(p, share)| (p[1] - share).abs() < 1e-12));
            // The largest values stand alone, one after another.
            let ranks = points.iter().rev().map(|p| (p[1] * 20_000.0).round());
            assert!(ranks.take(6).eq([20_000.0, 19_999.0, 19_998.0, 19_997.0, 19_996.0, 19_995.0]));
            assert!(points.windows(2).all(|w| w[0][0] <= w[1][0] && w[0][1] < w[1][1]));
        }
    }

    /// A decade of rarer values has about 16 points, however many values there are.
    #[test]
    fn the_tail_of_the_curve_has_points_in_each_decade() {
        let mut q = Quantiles::with_limit(0);
        (0..1_000_000u64).for_each(|v| q.add(v));
        let points = q.cdf_points(1000);
        let longer = |p: &[f64; 2]| 1e6 * (1.0 - p[1]);
        for decade in [1e2, 1e1] {
            let inside = |p: &&[f64; 2]| longer(p) > decade - 0.5 && longer(p) < 10.0 * decade - 0.5;
            let n = points.iter().filter(inside).count();
            assert!((8..=18).contains(&n), "{n} points from {decade}");
        }
        assert!(points.len() <= 1000 + 3 * 17);
    }

    /// Sum, count and maximum at any time, with each way of storing values.
    #[test]
    fn totals_are_those_of_the_values_at_any_time() {
        let top = u64::from(u32::MAX);
        let mut values = noise(2 * ROOM as u64 + 3, 1 << 30);
        values.extend([top, 5, top + 1, 7, 1 << 50]);
        values.extend(noise(ROOM as u64, 1 << 33));
        for limit in [0, 1, ROOM - 1, ROOM, ROOM + 1, 2 * ROOM + 6, 1 << 20] {
            let mut q = Quantiles::with_limit(limit);
            let (mut sum, mut max) = (0u128, 0);
            for (i, &v) in values.iter().enumerate() {
                q.add(v);
                sum += u128::from(v);
                max = max.max(v);
                if i % 777 == 0 || i + 10 > values.len() || v >= top {
                    assert_eq!((q.count(), q.sum_ns()), (i as u64 + 1, sum), "{limit}");
                }
                if i % 2_000 == 0 {
                    // Sorts the values so far; later ones are added behind them.
                    assert_eq!(q.summary().max, max as f64 * 1e-9, "{limit}");
                }
            }
            let exact = values.len() <= limit;
            assert_eq!(q.method(), if exact { "exact" } else { "hdr-3" });
            if exact {
                values.sort();
                let middle = values[values.len().div_ceil(2) - 1];
                assert_eq!(q.quantile_s(0.5), middle as f64 * 1e-9);
            }
        }
    }

    #[test]
    fn histogram_is_within_three_figures() {
        let mut values = noise(50_000, 1 << 34);
        let mut exact = Quantiles::new();
        let mut rough = Quantiles::with_limit(1000);
        for &v in &values {
            exact.add(v);
            rough.add(v);
        }
        assert_eq!(rough.method(), "hdr-3");
        values.sort();
        let (a, b) = (exact.summary(), rough.summary());
        assert_eq!(a.mean, b.mean);
        assert_eq!(a.max, b.max);
        for (a, b) in [(a.p50, b.p50), (a.p90, b.p90), (a.p99, b.p99), (a.p999, b.p999), (a.p9999, b.p9999)] {
            assert!((a - b).abs() <= 1e-3 * a, "{a} {b}");
        }
    }

    #[test]
    fn nothing_is_not_a_number() {
        let s = Quantiles::new().summary();
        assert!(s.mean.is_nan() && s.p50.is_nan() && s.max.is_nan());
        assert!(Quantiles::new().cdf_points(10).is_empty());
    }
}
