//! What is known of the settings of one kind of drive: guesses of a map, and measurements.

use crate::map::Point;
use crate::Command;

/// Pairs of measured settings that say nothing weigh as much as the map's own slope of 1.
const TRUST: usize = 2;
/// Measured settings, the last ones, whose pairs give the slope; and the number of these pairs with those of the map.
const LAST: usize = 12;
const PAIRS: usize = LAST * (LAST - 1) / 2 + TRUST;
/// Settings nearer than this in the map say nothing of its slope, in watts.
const APART_W: f64 = 0.2;
/// A guess is wrong by about this part of the change that it predicts.
const DOUBT: f64 = 0.05;
/// How far below all measured powers a guess must be to be tried, in watts.
const WORTH_W: f64 = 0.1;
/// Part of the last guess in the mean error of guesses.
const RECENT: f64 = 0.6;
/// Part of a new measurement in the mean.
const NEW: f64 = 0.5;

/// The places of the map, and of the smooth one, where there is a value of each.
const MAP: usize = 0;
const SMOOTH: usize = 1;

/// What was measured at one setting, of one drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measured {
    pub(crate) power_w: f64,
    /// Mean distance of the readings of periods from `power_w`.
    pub(crate) spread_w: f64,
    /// Requests per second while the host's queue was full.
    pub(crate) iops: Option<f64>,
    pub(crate) age_s: f64,
}

/// The setting that a drive has now, and what it draws.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Here {
    pub(crate) at: usize,
    pub(crate) watts: f64,
}

/// Settings of one kind of drive.
#[derive(Debug)]
pub(crate) struct Book {
    pub(crate) points: Vec<Point>,
    pub(crate) measured: Vec<Option<Measured>>,
    /// The points that are measured, in the order in which they were.
    pub(crate) seen: Vec<usize>,
    /// Greatest difference of the map's powers.
    range_w: f64,
    /// The map's powers, smoothed: single points that are wrong do not count.
    smooth_w: Vec<f64>,
    /// How much of the differences of the map is true, and of those of the smooth one.
    slopes: [f64; 2],
    /// Mean distance of the guesses of both from what was then measured, the last ones most, in watts.
    errors_w: [f64; 2],
    /// Settings with fewer places are not used now.
    least_places: u32,
    forget_after_s: f64,
}

/// Greatest difference of powers.
fn range_w(points: &[Point]) -> f64 {
    let powers = || points.iter().map(|p| p.power_w);
    powers().fold(0.0, f64::max) - powers().fold(f64::INFINITY, f64::min)
}

/// Terms of the smooth map.
const TERMS: usize = 6;

/// A map's powers as a function of the octaves of both queues' sizes, their product, the octaves of the expiry of reads and the
/// arms, by least squares.
fn smooth(points: &[Point]) -> Vec<f64> {
    let terms = |p: &Point| {
        let (host, drive) = (octave(p.nr_requests), octave(p.queue_depth));
        [1.0, host, drive, host * drive, p.expire_octaves(), f64::from(p.arms)]
    };
    // Normal equations, with the right side in the last column; the diagonal is a little more, for maps that lack a term.
    let mut rows = [[0.0; TERMS + 1]; TERMS];
    for p in points {
        let t = terms(p);
        for (row, a) in rows.iter_mut().zip(t) {
            for (place, b) in row.iter_mut().zip(t.into_iter().chain([p.power_w])) {
                *place += a * b;
            }
        }
    }
    for (i, row) in rows.iter_mut().enumerate() {
        row[i] += 1e-6;
    }
    let factors = solve(rows);
    let value = |p: &Point| terms(p).iter().zip(factors).map(|(a, b)| a * b).sum();
    points.iter().map(value).collect()
}

fn octave(size: u32) -> f64 {
    f64::from(size.max(1)).log2()
}

/// Gauss's elimination of positive definite equations.
fn solve(mut rows: [[f64; TERMS + 1]; TERMS]) -> [f64; TERMS] {
    for i in 0..TERMS {
        let pivot = rows[i];
        for row in rows.iter_mut().skip(i + 1) {
            let factor = row[i] / pivot[i];
            for (place, value) in row.iter_mut().zip(pivot) {
                *place -= factor * value;
            }
        }
    }
    let mut found = [0.0; TERMS];
    for i in (0..TERMS).rev() {
        let known: f64 = (i + 1..TERMS).map(|k| rows[i][k] * found[k]).sum();
        found[i] = (rows[i][TERMS] - known) / rows[i][i];
    }
    found
}

impl Book {
    /// A book without measurements.
    pub(crate) fn new(points: Vec<Point>, forget_after_s: f64) -> Book {
        Book {
            measured: vec![None; points.len()],
            seen: Vec::with_capacity(points.len()),
            range_w: range_w(&points),
            smooth_w: smooth(&points),
            points,
            slopes: [1.0; 2],
            errors_w: [0.0; 2],
            least_places: 0,
            forget_after_s,
        }
    }

    /// Takes measurements of before. The map's level and the size and sign of its differences become theirs, and those that are
    /// too old become guesses.
    pub(crate) fn take(&mut self, found: &[(usize, Measured)]) {
        self.seen.clear();
        for (k, m) in found {
            self.measured[*k] = Some(*m);
            self.seen.push(*k);
        }
        let n = found.len().max(1) as f64;
        let slope = self.slope(MAP);
        let mapped_w = found.iter().map(|(k, _)| self.points[*k].power_w).sum::<f64>() / n;
        let measured_w = found.iter().map(|(_, m)| m.power_w).sum::<f64>() / n;
        for point in &mut self.points {
            point.power_w = (measured_w + slope * (point.power_w - mapped_w)).max(0.01);
        }
        for (k, m) in found {
            self.points[*k].power_w = m.power_w;
            self.points[*k].iops = m.iops.unwrap_or(self.points[*k].iops);
        }
        (self.range_w, self.smooth_w) = (range_w(&self.points), smooth(&self.points));
        self.pass(0.0, 0.0);
        self.find_slope();
    }

    /// Number of settings.
    pub(crate) fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether a setting was measured.
    pub(crate) fn is_measured(&self, c: usize) -> bool {
        self.measured[c].is_some()
    }

    /// Settings with fewer places may not be used from now on; if none has as many, all may.
    pub(crate) fn need_places(&mut self, least: u32) {
        let has_any = self.points.iter().any(|p| p.nr_requests >= least);
        self.least_places = if has_any { least } else { 0 };
    }

    /// Whether a setting may be used now.
    pub(crate) fn is_usable(&self, c: usize) -> bool {
        self.points[c].nr_requests >= self.least_places
    }

    /// Forgets all measurements; they become the guesses of the map.
    pub(crate) fn forget(&mut self) {
        self.seen.clear();
        self.measured.fill(None);
        self.slopes = [1.0; 2];
    }

    /// Guesses of the map and of the smooth one were measured, and were wrong by so many watts.
    pub(crate) fn were_wrong_by(&mut self, errors_w: [f64; 2]) {
        for (mean_w, error_w) in self.errors_w.iter_mut().zip(errors_w) {
            *mean_w += RECENT * (error_w.abs() - *mean_w);
        }
    }

    /// The map, or the smooth one if the guesses of the map were wrong and its own were better.
    fn way(&self) -> usize {
        let is_wrong = self.errors_w[MAP] > APART_W;
        usize::from(is_wrong && self.errors_w[SMOOTH] < self.errors_w[MAP])
    }

    /// Mean distance of guesses from what was then measured, in watts; 0 with a map that says nothing.
    pub(crate) fn error_w(&self) -> f64 {
        match self.says_nothing() {
            true => 0.0,
            false => self.errors_w[self.way()],
        }
    }

    /// The point nearest to a command.
    pub(crate) fn nearest(&self, command: &Command) -> usize {
        let octaves = |a: u32, b: u32| (f64::from(a.max(1)) / f64::from(b.max(1))).log2().abs();
        let far = |p: &Point| {
            let sizes = octaves(p.nr_requests, command.nr_requests) + octaves(p.queue_depth, command.queue_depth);
            let own_expiry = if p.read_expire.is_none() { 0.0 } else { 1.0 };
            sizes + own_expiry + octaves(p.arms, command.arms)
        };
        let all = self.points.iter().enumerate();
        let best = all.min_by(|a, b| far(a.1).total_cmp(&far(b.1)));
        best.map_or(0, |(i, _)| i)
    }

    /// Time passes: measurements of settings that are not in use follow the drift of those that are, and old ones are
    /// forgotten.
    pub(crate) fn pass(&mut self, seconds: f64, drift_w: f64) {
        let (measured, forget_after_s) = (&mut self.measured, self.forget_after_s);
        self.seen.retain(|k| {
            let place = &mut measured[*k];
            if let Some(m) = place {
                m.power_w += NEW * drift_w;
                m.age_s += seconds;
            }
            *place = place.filter(|m| m.age_s <= forget_after_s);
            place.is_some()
        });
    }

    /// How far a drive at this setting draws more than was measured there.
    pub(crate) fn drift_w(&self, here: Here) -> Option<f64> {
        self.measured[here.at].map(|m| here.watts - m.power_w)
    }

    /// Notes what a drive draws and serves at its setting. [`Book::pass`] has come first, with `drift_w` for all.
    pub(crate) fn note(&mut self, here: Here, iops: Option<f64>, drift_w: f64) {
        if self.measured[here.at].is_none() {
            self.seen.push(here.at);
        }
        let m = self.measured[here.at].get_or_insert(Measured { power_w: here.watts, spread_w: 0.0, iops, age_s: 0.0 });
        let before_w = m.power_w - NEW * drift_w;
        let error_w = here.watts - before_w;
        if m.age_s > 0.0 {
            m.power_w = before_w + NEW * error_w;
            m.spread_w += NEW * (error_w.abs() - m.spread_w);
        }
        m.age_s = 0.0;
        m.iops = match (m.iops, iops) {
            (Some(before), Some(now)) => Some(before + NEW * (now - before)),
            (before, now) => now.or(before),
        };
    }

    /// Power by the map, or by the smooth one.
    fn by(&self, way: usize, c: usize) -> f64 {
        match way {
            MAP => self.points[c].power_w,
            _ => self.smooth_w[c],
        }
    }

    /// Finds how much of both maps is true: the median of the slopes between the settings that were measured last (Theil
    /// and Sen), and of the map's own.
    pub(crate) fn find_slope(&mut self) {
        self.slopes = [self.slope(MAP), self.slope(SMOOTH)];
    }

    fn slope(&self, way: usize) -> f64 {
        let mut slopes = [1.0; PAIRS];
        let mut n = TRUST;
        let last = &self.seen[self.seen.len().saturating_sub(LAST)..];
        for (i, a) in last.iter().enumerate() {
            for b in &last[..i] {
                let mapped_w = self.by(way, *a) - self.by(way, *b);
                if let (Some(a), Some(b), true) = (self.measured[*a], self.measured[*b], mapped_w.abs() >= APART_W) {
                    slopes[n] = (a.power_w - b.power_w) / mapped_w;
                    n += 1;
                }
            }
        }
        let slopes = &mut slopes[..n];
        slopes.sort_unstable_by(f64::total_cmp);
        slopes[n / 2].clamp(-2.0, 2.0)
    }

    /// A map's guess for a setting, without what was measured near it.
    fn mapped(&self, way: usize, c: usize, here: Here) -> f64 {
        here.watts + self.slopes[way] * (self.by(way, c) - self.by(way, here.at))
    }

    /// The power of a setting: as measured, or guessed from what the drive draws now.
    pub(crate) fn power_w(&self, c: usize, here: Here) -> f64 {
        self.guess_w(self.way(), c, here)
    }

    /// What both maps say of a setting.
    pub(crate) fn guesses_w(&self, c: usize, here: Here) -> [f64; 2] {
        [self.guess_w(MAP, c, here), self.guess_w(SMOOTH, c, here)]
    }

    fn guess_w(&self, way: usize, c: usize, here: Here) -> f64 {
        if let Some(measured) = self.measured[c] {
            return measured.power_w;
        }
        // The error of the map nearby; a setting without measured neighbours has none.
        let (mut errors, mut weights) = (0.0, 0.3);
        for k in &self.seen {
            let near = self.points[c].nearness(&self.points[*k]);
            if let Some(measured) = self.measured[*k].filter(|_| near > 0.0) {
                errors += near * (measured.power_w - self.mapped(way, *k, here));
                weights += near;
            }
        }
        self.mapped(way, c, here) + errors / weights
    }

    /// The power to reckon with: that of a guess is higher by its doubt, and by `errors` times the mean error of guesses.
    pub(crate) fn cautious_w(&self, c: usize, here: Here, errors: f64) -> f64 {
        let power_w = self.power_w(c, here);
        match self.is_measured(c) {
            true => power_w,
            false => power_w + DOUBT * (power_w - here.watts).abs() + errors * self.error_w(),
        }
    }

    /// Throughput of a setting: as measured, or the map's in proportion to that of the setting in use.
    pub(crate) fn iops(&self, c: usize, at: usize) -> f64 {
        let measured = |c: usize| self.measured[c].and_then(|m| m.iops);
        measured(c).unwrap_or_else(|| {
            let here = measured(at).map_or(1.0, |x| x / self.points[at].iops);
            here * self.points[c].iops
        })
    }

    /// Whether the powers of the map are all alike.
    fn says_nothing(&self) -> bool {
        self.range_w < APART_W
    }

    /// Distance of a setting from the nearest one that was measured, in octaves of both queues' sizes.
    fn farness(&self, c: usize) -> f64 {
        let octaves = |a: u32, b: u32| (f64::from(a.max(1)) / f64::from(b.max(1))).log2().abs();
        let p = &self.points[c];
        let from = |k: &usize| {
            let q = &self.points[*k];
            octaves(p.nr_requests, q.nr_requests) + octaves(p.queue_depth, q.queue_depth)
        };
        self.seen.iter().map(from).fold(f64::INFINITY, f64::min)
    }

    /// The unmeasured setting with the lowest guess, if that is below all that was measured; with a map that says nothing,
    /// the one that is least like those. Where settings differ by less than readings scatter (`scatter_w`, of one drive), the slope
    /// that was measured says little of settings beyond: then it is the lowest of the map, if its guess is not above by more.
    pub(crate) fn worth_a_try(&self, here: Here, scatter_w: f64) -> Option<usize> {
        let lowest = self.lowest_measured(here.at);
        let least_w = self.measured[lowest].map_or(here.watts, |m| m.power_w.min(here.watts));
        let usable = || (0..self.len()).filter(|c| self.is_usable(*c));
        let unknown = || usable().filter(|c| !self.is_measured(*c));
        if self.says_nothing() {
            let far = unknown().map(|c| (c, self.farness(c)));
            return far.max_by(|a, b| a.1.total_cmp(&b.1)).map(|f| f.0);
        }
        let guess = |c: usize| (c, self.power_w(c, here));
        let least = unknown().map(guess).min_by(|a, b| a.1.total_cmp(&b.1)).filter(|least| least.1 < least_w - WORTH_W);
        least.map(|least| least.0).or_else(|| {
            let mapped_w = |c: &usize| self.points[*c].power_w;
            let last = usable().min_by(|a, b| mapped_w(a).total_cmp(&mapped_w(b)))?;
            let may_be = !self.is_measured(last) && guess(last).1 < least_w - WORTH_W + scatter_w;
            may_be.then_some(last)
        })
    }

    /// The setting with the lowest measured power; the one in use, if it is about as low.
    pub(crate) fn lowest_measured(&self, at: usize) -> usize {
        let power = |c: usize| self.measured[c].map_or(f64::INFINITY, |m| m.power_w);
        let all = self.seen.iter().copied().filter(|c| self.is_usable(*c));
        let lowest = all.reduce(|a, b| if power(b) < power(a) { b } else { a });
        let lowest = lowest.unwrap_or(at);
        match power(at) <= power(lowest) + 0.5 * WORTH_W {
            true => at,
            false => lowest,
        }
    }

    /// The setting whose power is lowest, as far as is known.
    pub(crate) fn safest(&self, here: Here) -> usize {
        let least = (0..self.len()).map(|c| (c, self.power_w(c, here)));
        least.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(here.at, |l| l.0)
    }
}
