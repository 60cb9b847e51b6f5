//! A time series in bounded memory.

use headstack_schema::Columns;
use headstack_units::Time;
use serde::Serialize;

/// Largest number of buckets of a series.
pub const BUCKETS: usize = 2048;

/// One quantity (joules, watts, seconds) for each mode of the mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Columns)]
#[columns("Modes")]
pub struct ByMode {
    /// Neither at work nor in standby; low-power idle conditions included.
    pub idle: f64,
    /// Seeking.
    pub seek: f64,
    /// Waiting for rotation.
    pub rotation: f64,
    /// Transferring.
    pub transfer: f64,
    /// In standby, spinning down and up included.
    pub standby: f64,
}

impl ByMode {
    /// Sum over the modes.
    pub fn total(&self) -> f64 {
        self.idle + self.seek + self.rotation + self.transfer + self.standby
    }
    /// Adds `other`, mode by mode.
    pub fn add(&mut self, other: &ByMode) {
        self.idle += other.idle;
        self.seek += other.seek;
        self.rotation += other.rotation;
        self.transfer += other.transfer;
        self.standby += other.standby;
    }
    /// The difference, mode by mode.
    pub fn less(&self, other: &ByMode) -> ByMode {
        ByMode {
            idle: self.idle - other.idle,
            seek: self.seek - other.seek,
            rotation: self.rotation - other.rotation,
            transfer: self.transfer - other.transfer,
            standby: self.standby - other.standby,
        }
    }
    /// The least of the modes.
    pub fn least(&self) -> f64 {
        let modes = [self.seek, self.rotation, self.transfer, self.standby];
        modes.into_iter().fold(self.idle, f64::min)
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    completions: u64,
    response_ns: u128,
    // Number of requests in the system, integrated over the time of intervals that cover the bucket in part.
    partial_ns: u128,
    // Change, at the start of the bucket, of the number of requests that cover whole buckets.
    change: i64,
    energy_j: ByMode,
}

/// One bucket of a finished series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesPoint {
    /// Start of the bucket, in seconds since the run began.
    pub t_s: f64,
    /// Length of the bucket in seconds; the last one ends at the end of the run.
    pub width_s: f64,
    /// Mean number of requests in the system.
    pub queue_depth: f64,
    /// Mean response time, in seconds, of the requests that completed in the bucket; not-a-number if none
    /// did.
    pub response_time_mean_s: f64,
    /// Completions per second.
    pub throughput_iops: f64,
    /// Mean power in watts, by mode.
    pub power_w: ByMode,
}

/// Requests and energy over time, in at most [`BUCKETS`] buckets of equal width.
///
/// # Model
/// When time passes the end of the last possible bucket, neighbours are merged in pairs and the width
/// doubles. The cost of adding a request does not depend on how many buckets it spans.
pub struct Series {
    start: Time,
    /// The present width of a bucket in nanoseconds.
    pub width_ns: u64,
    buckets: Vec<Bucket>,
    end: Time,
    // The bucket of the last look-up and its start. Most look-ups find the same one and need no division.
    recent: usize,
    recent_start: Time,
    // Width of that bucket in nanoseconds; zero if there is none.
    recent_width: u64,
    // Number of requests inside that bucket that it does not include yet, and the sum of their response
    // times.
    fresh: u64,
    fresh_ns: u64,
}

impl Series {
    /// An empty series from `start` on, with an initial bucket width of `width_ns`.
    pub fn new(start: Time, width_ns: u64) -> Series {
        Series {
            start,
            width_ns: width_ns.max(1),
            buckets: Vec::with_capacity(BUCKETS),
            end: start,
            recent: usize::MAX,
            recent_start: start,
            recent_width: 0,
            fresh: 0,
            fresh_ns: 0,
        }
    }
    /// End of the bucket that contains `time`.
    pub fn next_boundary(&self, time: Time) -> Time {
        let index = self.offset(time) / self.width_ns;
        Time(self.start.0.saturating_add((index + 1).saturating_mul(self.width_ns)))
    }

    #[inline]
    fn offset(&self, time: Time) -> u64 {
        time.0.saturating_sub(self.start.0)
    }

    /// The bucket that contains the time `offset` after the start.
    #[inline]
    fn index(&mut self, offset: u64) -> usize {
        self.count_fresh();
        let recent = self.recent_start.0 - self.start.0;
        if offset.wrapping_sub(recent) < self.recent_width {
            return self.recent;
        }
        let mut index = offset / self.width_ns;
        if index >= self.buckets.len() as u64 {
            while index >= BUCKETS as u64 {
                self.merge();
                index = offset / self.width_ns;
            }
            if index >= self.buckets.len() as u64 {
                self.buckets.resize(index as usize + 1, Bucket::default());
            }
        }
        self.recent = index as usize;
        self.recent_start = Time(self.start.0 + index * self.width_ns);
        self.recent_width = self.width_ns;
        index as usize
    }

    /// Adds the requests kept apart to their bucket.
    #[inline]
    fn count_fresh(&mut self) {
        if let Some(bucket) = self.buckets.get_mut(self.recent) {
            bucket.completions += std::mem::take(&mut self.fresh);
            let ns = u128::from(std::mem::take(&mut self.fresh_ns));
            bucket.response_ns += ns;
            bucket.partial_ns += ns;
        }
    }

    #[cold]
    fn merge(&mut self) {
        self.settle();
        let n = self.buckets.len();
        for i in 0..n.div_ceil(2) {
            let mut sum = self.buckets[2 * i];
            if let Some(second) = self.buckets.get(2 * i + 1) {
                sum.completions += second.completions;
                sum.response_ns += second.response_ns;
                sum.partial_ns += second.partial_ns;
                sum.energy_j.add(&second.energy_j);
            }
            self.buckets[i] = sum;
        }
        self.buckets.truncate(n.div_ceil(2));
        self.width_ns *= 2;
        self.recent = usize::MAX;
        self.recent_width = 0;
    }

    /// Converts the changes at bucket starts into integrals over each bucket.
    fn settle(&mut self) {
        let mut present = 0i64;
        for bucket in &mut self.buckets {
            present += std::mem::take(&mut bucket.change);
            bucket.partial_ns += present as u128 * self.width_ns as u128;
        }
    }

    /// Adds a request from `arrival` to `completion`.
    #[inline]
    pub fn add_request(&mut self, arrival: Time, completion: Time) {
        // Both usually lie in the bucket of the last look-up.
        let to = completion.0.wrapping_sub(self.recent_start.0);
        let response = completion.0.wrapping_sub(arrival.0);
        match self.fresh_ns.checked_add(response) {
            Some(sum) if to < self.recent_width && response <= to => {
                self.fresh_ns = sum;
                self.fresh += 1;
                self.end = self.end.max(completion);
            }
            _ => self.add_across_buckets(arrival, completion),
        }
    }

    #[inline(never)]
    fn add_across_buckets(&mut self, arrival: Time, completion: Time) {
        let last = self.add_failed(arrival, completion);
        let bucket = &mut self.buckets[last];
        bucket.completions += 1;
        bucket.response_ns += u128::from(completion.0.saturating_sub(arrival.0));
    }

    /// Adds a request that failed: it was in the system from `arrival` to `completion`, but counts neither as completed
    /// nor in response times. Returns the bucket in which it ended.
    #[inline]
    pub fn add_failed(&mut self, arrival: Time, completion: Time) -> usize {
        self.end = self.end.max(completion);
        let (from, to) = (self.offset(arrival), self.offset(completion));
        // The later bucket first, because it may change the width. The next request ends there as well.
        let last = self.index(to);
        let width = self.width_ns;
        let first = match (last as u64 * width).saturating_sub(from) {
            0 => last,
            before if before <= width => last - 1,
            _ => (from / width) as usize,
        };
        let response = to - from.min(to);
        if first == last {
            self.buckets[last].partial_ns += response as u128;
        } else {
            let from_in_bucket = from - first as u64 * width;
            self.buckets[first].partial_ns += (width - from_in_bucket) as u128;
            self.buckets[first + 1].change += 1;
            self.buckets[last].change -= 1;
            self.buckets[last].partial_ns += (to - last as u64 * width) as u128;
        }
        last
    }

    /// Adds the energy, in joules, of an interval that ends at `until` and should not be longer than a
    /// bucket.
    pub fn add_energy(&mut self, until: Time, energy_j: ByMode) {
        self.end = self.end.max(until);
        let offset = self.offset(until).saturating_sub(1);
        let index = self.index(offset);
        self.buckets[index].energy_j.add(&energy_j);
    }

    /// Makes buckets at least `width_ns` wide, which must be the width of a series with the same start and initial
    /// width.
    pub fn widen(&mut self, width_ns: u64) {
        self.count_fresh();
        while self.width_ns < width_ns {
            self.merge();
        }
    }

    /// Adds the requests of a series with the same start and initial width, as if they had been added to this one.
    pub fn absorb(&mut self, mut other: Series) {
        self.widen(other.width_ns);
        other.widen(self.width_ns);
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), Bucket::default());
        }
        for (sum, more) in self.buckets.iter_mut().zip(&other.buckets) {
            sum.completions += more.completions;
            sum.response_ns += more.response_ns;
            sum.partial_ns += more.partial_ns;
            sum.change += more.change;
            sum.energy_j.add(&more.energy_j);
        }
        self.end = self.end.max(other.end);
    }

    /// The series, up to the latest time that was added.
    pub fn points(&mut self) -> Vec<SeriesPoint> {
        self.count_fresh();
        self.settle();
        let total = self.offset(self.end);
        let mut points = Vec::with_capacity(self.buckets.len());
        for (i, bucket) in self.buckets.iter().enumerate() {
            let from = i as u64 * self.width_ns;
            let width = self.width_ns.min(total.saturating_sub(from));
            if width == 0 && bucket.completions == 0 {
                continue;
            }
            // A bucket of zero length can only hold completions at its start.
            let width_s = width.max(1) as f64 * 1e-9;
            let power = |j: f64| j / width_s;
            points.push(SeriesPoint {
                t_s: (self.start.0 + from) as f64 * 1e-9,
                width_s,
                queue_depth: bucket.partial_ns as f64 / width.max(1) as f64,
                response_time_mean_s: crate::quantiles::mean_s(bucket.response_ns, bucket.completions),
                throughput_iops: bucket.completions as f64 / width_s,
                power_w: ByMode {
                    idle: power(bucket.energy_j.idle),
                    seek: power(bucket.energy_j.seek),
                    rotation: power(bucket.energy_j.rotation),
                    transfer: power(bucket.energy_j.transfer),
                    standby: power(bucket.energy_j.standby),
                },
            });
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares depths and response times of each bucket with the list of all requests.
    fn agrees_with_brute_force(width: u64, gap: u64, longest: u64) {
        let mut series = Series::new(Time(100), width);
        let mut list = Vec::new();
        let mut x = 7u64;
        for i in 0..3000u64 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let arrival = 100 + i * gap;
            let completion = arrival + (x >> 40) % longest;
            series.add_request(Time(arrival), Time(completion));
            list.push((arrival, completion));
            if i % 100 == 99 {
                // The energy may belong to another bucket, or cause a merge.
                series.add_energy(Time(arrival), ByMode::default());
            }
        }
        let width = series.width_ns;
        let points = series.points();
        assert!(points.len() <= BUCKETS);
        let mut done = 0;
        for p in &points {
            let from = (p.t_s * 1e9).round() as u64;
            let to = from + (p.width_s * 1e9).round() as u64;
            let area: u64 = list.iter().map(|&(a, c)| c.min(to).saturating_sub(a.max(from))).sum();
            let want = area as f64 / (to - from) as f64;
            assert!((p.queue_depth - want).abs() < 1e-9, "{} {want}", p.queue_depth);
            let here = |c: u64| (c - 100) / width == (from - 100) / width;
            let ended: Vec<u64> = list.iter().filter(|r| here(r.1)).map(|r| r.1 - r.0).collect();
            done += ended.len();
            let rate = ended.len() as f64 / p.width_s;
            assert!((p.throughput_iops - rate).abs() <= 1e-9 * rate);
            if !ended.is_empty() {
                let mean = ended.iter().sum::<u64>() as f64 / ended.len() as f64 * 1e-9;
                assert!((p.response_time_mean_s - mean).abs() <= 1e-9 * mean);
            }
        }
        assert_eq!(done, 3000);
    }

    #[test]
    fn points_agree_with_brute_force_through_merges() {
        agrees_with_brute_force(1, 5, 900);
    }

    #[test]
    fn points_agree_with_brute_force_where_buckets_are_long() {
        agrees_with_brute_force(1000, 5, 30);
        agrees_with_brute_force(64, 50, 64);
    }

    /// Requests shared out over two series make the same points as in one, whichever of the two is the wider.
    #[test]
    fn series_that_are_joined_are_one() {
        for last in [1_000, 9_000, 70_000] {
            let new = || Series::new(Time(100), 3);
            let (mut whole, mut parts) = (new(), [new(), new()]);
            let mut x = 7u64;
            for i in 0..3000u64 {
                x = x.wrapping_mul(6364136223846793005).wrapping_add(1);
                let reach = [last, 900][i as usize % 2];
                let arrival = 100 + (x >> 33) % reach;
                let completion = arrival + (x >> 20) % 400;
                whole.add_request(Time(arrival), Time(completion));
                parts[i as usize % 2].add_request(Time(arrival), Time(completion));
                if i % 7 == 0 {
                    whole.add_failed(Time(arrival), Time(completion));
                    parts[0].add_failed(Time(arrival), Time(completion));
                }
            }
            let [a, b] = parts;
            let (mut ab, mut ba) = (new(), new());
            ab.absorb(a);
            ab.absorb(b);
            assert_eq!(ab.width_ns, whole.width_ns);
            // As text, because means of no values are not numbers.
            let text = |s: &mut Series| format!("{:?}", s.points());
            let want = text(&mut whole);
            assert_eq!(text(&mut ab), want);
            ba.absorb(ab);
            assert_eq!(text(&mut ba), want);
        }
    }

    #[test]
    fn energy_is_kept_through_merges() {
        let mut series = Series::new(Time(0), 10);
        for i in 1..=10_000u64 {
            let energy = ByMode { idle: 1.0, seek: 0.5, ..Default::default() };
            series.add_energy(Time(i * 10), energy);
        }
        let points = series.points();
        assert!(points.len() <= BUCKETS);
        let total: f64 = points.iter().map(|p| p.power_w.total() * p.width_s).sum();
        assert!((total - 15_000.0).abs() < 1e-6, "{total}");
    }
}
