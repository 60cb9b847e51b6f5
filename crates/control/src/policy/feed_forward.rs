//! Feed-forward: chooses the setting from a map of power and throughput, and corrects the map with measurements.
//!
//! # Model
//! A setting `c` has the places of the host queue, the depth of the drive's queue, the expiry of reads and the arms in
//! motion. The map contains for each setting the power `p(c)` and the throughput `x(c)` of one drive that has more
//! requests waiting than places. `f(c)` is the corrected power, at first `p(c)`. Let `m` be the meter's mean over a
//! period at setting `a`. The power at another setting is predicted only from the *difference* of two points:
//!
//! ```text
//! m(c) = m + n · (f(c) - f(a)) / efficiency        n drives
//! ```
//!
//! So an offset of the whole map (another drive, another load) has no effect. The response time from admission is
//! predicted as `t(c) = k · r(c)`. Here `r(c)` is the response time in the map, or by Little's law `places(c) / x(c)`
//! where the map has none. `k` is adapted to the response times in the samples, and is 1 without them.
//!
//! | mean of the period | what happens |
//! |---|---|
//! | within `tolerance` of the cap | nothing; in the first period under a new cap, a setting with `m(c) <= cap - margin` that draws less, if it is better than `a` by 2 % |
//! | too high | the best setting with `m(c) <= cap - margin` of those with `p(c) < p(a)`; if there is none, the one with the lowest `p` |
//! | too low | the best setting with `m(c) <= cap - margin`, if it is better than `a` by 2 % |
//! | the cap falls below `m` | as "too high", at once, with the last period's mean |
//!
//! Without a cap, the expiry of reads is the drive's own, and the best setting with it is taken. The same holds if the
//! cap allows this setting and `k < 0.8`: the host's queue is then not full, and a longer expiry has no advantage.
//!
//! The *best* setting has the highest `x(c)` among those with `t(c) <= latency_target`; if none meets the target, the
//! shortest `t(c)`. (For the current setting the target is 1.1 times as long.) Settings with `t(c) > latency_limit` are
//! never chosen, also not as the one with the lowest `p`: the limit has precedence over the cap. Each change downwards
//! leads to a lower `p`. So the lowest setting is reached in at most as many periods as the map has points, whatever
//! the meter shows.
//!
//! After a change from `a` to `b` the map is corrected. Let `e` be the measured minus the predicted change of one
//! drive, limited to ±2 W. `f(b)` grows by `e / 2`, because a part of `e` is noise, but never leaves `p(b) ± 3 W`. The
//! points near `b` probably have a similar error, so those within an octave of both queues' sizes and the expiry grow
//! too, by a part that falls linearly to zero. Corrections decay with the time constant `forget_after`. Readings of the
//! first `settle` after a change are ignored.
//!
//! With several drives, each tier has one setting. The tiers choose in order, the best tier first. Each leaves at least
//! the lowest power that the tiers after it can draw.
//!
//! `headstack models capping feed-forward` prints the parameters. Several drives have a `tolerance` of 1 W and an
//! `efficiency` of 0.83 unless others are given; a `margin_ratio` below zero aims above the cap, but within the tolerance.
//!
//! Points without `read_expire` leave the drive's own. The built-in map has points with 0.7, 1 and 2 s too. They are
//! used if the drive's elevator has this setting.
//!
//! # Source
//! Our own. The built-in map follows relations in Khatib and Bandic, FAST 2016, section 5.2; its numbers come
//! from a model that was fitted to that paper's text, and those of longer expiries from simulations
//! ([`ultrastar_7k4000`](crate::ultrastar_7k4000)).
//! # Validity
//! The built-in map: random 4 KiB reads on a 7200 rpm drive with one arm, whose own expiry of reads is 500 ms. A drive
//! with several arms needs its own map. All drives of a tier share one map. Throughput is not corrected: if the map
//! orders the settings wrongly, a slower one is chosen, but the cap is kept. A change of load in the period after a
//! change of setting is taken for an error of the map, within the bounds above.

use super::{built, Drives, Facts, Input, Need, Policy, PolicyParameters, Status};
use super::{fill, fill_settle, fill_tiers, several, usual_meter};
use crate::guard::{Guard, GuardTable, OnLoss, Reading, Turn};
use crate::map::{self, Extract, Maps, Point, Statistic};
use crate::pcap::MOST;
use crate::{Command, Device};
use headstack_schema::{check_range, Choice, SpecError, Table};
use headstack_units::{Span, Watts};
use serde_json::Value;

/// Parameters of `feed-forward`.
#[doc(hidden)]
#[derive(Table)]
#[table(
    model = "best setting by a map of power and throughput that is corrected while it runs",
    example = "response_time = \"p99\"\nlatency_target = \"450 ms\"\nlatency_limit = \"750 ms\"",
    facts = Facts::of::<Self>(Drives::Several, &[Need::Queues]), build = built
)]
pub struct Parameters {
    #[param(flatten)]
    guard: GuardTable<5>,
    /// Differences from the cap up to this change nothing; left out, 0.2 W for one drive, 1 W for several.
    #[param(range = Watts(0.0)..=Watts(MOST))]
    tolerance: Option<Watts>,
    /// How far below the cap the policy aims, as a part of the tolerance; below zero it aims above.
    #[param(default = 0.25, range = -1.0..=1.0)]
    margin_ratio: f64,
    /// Response time that the chosen setting should not exceed.
    #[param(range = Span::from_ms(1.0)..=HOUR)]
    latency_target: Option<Span>,
    /// Response time that no setting may exceed, from `latency_target` to an hour; it has precedence over the cap.
    latency_limit: Option<Span>,
    /// The statistic of response times that target, limit and samples mean.
    #[param(default = Statistic::Mean)]
    response_time: Statistic,
    /// Time after a change in which readings do not count, up to the period; left out, 2 s, or half the period.
    settle: Option<Span>,
    /// Whether the map is corrected with measurements.
    #[param(default = Switch::On)]
    learn: Switch,
    /// Time constant with which corrections of the map decay, from the period to 1000 h; left out, 1800 s, or the period.
    forget_after: Option<Span>,
    /// Efficiency of the power supply between the meter and the drives; left out, 1 for one drive, 0.83 for several.
    #[param(range = 0.1..=1.0)]
    efficiency: Option<f64>,
    /// Numbers of drives in each tier, best tier first; left out, all in one.
    #[param(range = 1..=10_000)]
    tiers: Option<Vec<u32>>,
    #[param(flatten)]
    maps: Maps,
}

/// The largest correction of a point by one change, and the bound of all its corrections, in watts.
const STEP_W: f64 = 2.0;
const REACH_W: f64 = 3.0;
/// The longest expiry of reads in the built-in map: it bounds the longest response time.
const MOST_EXPIRE: Span = Span(2_000_000_000);
/// The part of the map's error that is corrected.
const LEARN: f64 = 0.5;
/// How much higher the throughput of another setting must be, and how much longer the response time of the current one
/// may be.
const BETTER: f64 = 1.02;
const SLACK: f64 = 1.1;
/// The least `k` at which the host's queue counts as full.
const FULL: f64 = 0.8;
/// Bounds of `k`.
const LEAST_RATIO: f64 = 0.1;
const MOST_RATIO: f64 = 10.0;

/// Drives with a common setting.
#[doc(hidden)]
pub struct Tier {
    drives: usize,
    /// The place of their map.
    map: usize,
    /// Index of the current setting, and of the one before the last change.
    pub at: usize,
    pub before: usize,
    /// Corrected power by point.
    pub power_w: Vec<f64>,
}

/// Whether something is done.
#[derive(Clone, Copy, PartialEq, Choice)]
enum Switch {
    /// It is.
    On,
    /// It is not.
    Off,
}

/// Where the policy aims.
struct Aim {
    tolerance_w: f64,
    margin_w: f64,
    efficiency: f64,
    settle: Span,
}

/// Bounds of the response time, and how it is predicted.
#[doc(hidden)]
pub struct Latency {
    target_s: f64,
    limit_s: f64,
    /// Measured over predicted response time.
    ratio: f64,
}

/// How maps are corrected.
struct Correction {
    is_on: bool,
    /// The part that decays in one period.
    forget: f64,
}

/// What was seen last.
#[doc(hidden)]
#[derive(Default)]
pub struct Seen {
    /// The last cap, and whether no period under it has been looked at.
    cap_w: Option<f64>,
    is_new_cap: bool,
    /// The mean of the last period. The mean before the last change, until the map is corrected with it.
    mean_w: Option<f64>,
    pub mean_before_w: Option<f64>,
}

#[doc(hidden)]
pub struct FeedForward {
    guard: Guard,
    /// Of each model of drives.
    pub maps: Vec<Vec<Point>>,
    pub tiers: Vec<Tier>,
    open: Vec<Command>,
    aim: Aim,
    pub latency: Latency,
    correction: Correction,
    pub seen: Seen,
}

impl Aim {
    /// How much more all drives together may draw to come to the cap; negative if they must draw less.
    fn budget_w(&self, mean_w: f64, cap_w: f64) -> f64 {
        (cap_w - self.margin_w - mean_w) * self.efficiency
    }
}

/// An hour.
const HOUR: Span = Span(3_600_000_000_000);

impl Latency {
    /// How many times point `a` is better than `b`. The target for `b` is `slack` times as long.
    fn gain(&self, a: &Point, b: &Point, slack: f64) -> f64 {
        let (time_a, time_b) = (a.response_time_s, b.response_time_s);
        let meets = |time: f64, slack: f64| self.ratio * time <= slack * self.target_s;
        match (meets(time_a, 1.0), meets(time_b, slack)) {
            (true, true) => a.iops / b.iops,
            (true, false) => f64::INFINITY,
            (false, true) => 0.0,
            (false, false) => time_b / time_a,
        }
    }

    /// Whether point `a` is better than `b`; of equally good points the one with less power is better.
    fn beats(&self, a: &Point, b: &Point) -> bool {
        self.gain(a, b, 1.0) > 1.0 || (self.gain(b, a, 1.0) <= 1.0 && a.power_w < b.power_w)
    }

    fn best_of(&self, points: &[Point], candidates: impl Iterator<Item = usize>) -> Option<usize> {
        candidates.reduce(|best, c| if self.beats(&points[c], &points[best]) { c } else { best })
    }

    /// The best point regardless of power, of those with the drive's own expiry of reads if there are any.
    pub fn best(&self, points: &[Point]) -> usize {
        let has_own = |c: &usize| points[*c].read_expire.is_none();
        let own = self.best_of(points, (0..points.len()).filter(has_own));
        own.or_else(|| self.best_of(points, 0..points.len())).unwrap_or(0)
    }

    /// Half of a rise of the response time is applied to `k`, and a fifth of a fall.
    fn follow(&mut self, measured_s: f64, predicted_s: f64) {
        let ratio = (measured_s / predicted_s).clamp(LEAST_RATIO, MOST_RATIO);
        let weight = if ratio > self.ratio { 0.5 } else { 0.2 };
        self.ratio += weight * (ratio - self.ratio);
    }
}

impl Parameters {
    fn latency(&self) -> Result<Latency, SpecError> {
        let least = self.latency_target.unwrap_or(Span::from_ms(1.0));
        check_range("latency_limit", &self.latency_limit, &(least..=HOUR))?;
        let seconds = |bound: Option<Span>| bound.map_or(f64::INFINITY, Span::as_secs_f64);
        Ok(Latency { target_s: seconds(self.latency_target), limit_s: seconds(self.latency_limit), ratio: 1.0 })
    }
}

impl PolicyParameters for Parameters {
    fn build(&mut self, devices: &[Device]) -> Result<Box<dyn Policy>, SpecError> {
        Ok(Box::new(FeedForward::new(self, devices)?))
    }
}

impl FeedForward {
    pub fn new(read: &mut Parameters, devices: &[Device]) -> Result<FeedForward, SpecError> {
        several(devices)?;
        let n = devices.len();
        let settings = read.guard.fill(n)?;
        let period = settings.period;
        let (tolerance, efficiency) = usual_meter(n);
        let tolerance_w = read.tolerance.get_or_insert(tolerance).0;
        let latency = read.latency()?;
        let aim = Aim {
            tolerance_w,
            margin_w: tolerance_w * read.margin_ratio,
            settle: fill_settle(&mut read.settle, period)?,
            efficiency: *read.efficiency.get_or_insert(efficiency),
        };
        let usual = Span(HOUR.0 / 2).max(period);
        let forget_after = fill("forget_after", &mut read.forget_after, usual, period..=Span(1000 * HOUR.0))?;
        let correction =
            Correction { is_on: read.learn == Switch::On, forget: period.as_secs_f64() / forget_after.as_secs_f64() };
        let counts = fill_tiers(&mut read.tiers, n)?;
        let extract = Extract { statistic: read.response_time, most_expire: MOST_EXPIRE };
        let (maps, of_tiers) = map::read_all(&read.maps, devices, &counts, extract)?;
        let tier = |(drives, map): (usize, usize)| {
            let best = latency.best(&maps[map]);
            Tier { drives, map, at: best, before: 0, power_w: maps[map].iter().map(|p| p.power_w).collect() }
        };
        Ok(FeedForward {
            guard: Guard::new(settings),
            tiers: counts.into_iter().zip(of_tiers).map(tier).collect(),
            open: devices.iter().map(|d| d.clamp(d.open)).collect(),
            aim,
            latency,
            correction,
            seen: Seen::default(),
            maps,
        })
    }

    /// Sets all tiers to points of their maps, without a correction of the maps.
    fn set_all(&mut self, point: impl Fn(&Latency, &[Point]) -> usize) {
        for tier in &mut self.tiers {
            tier.at = point(&self.latency, &self.maps[tier.map]);
        }
        self.seen.mean_before_w = None;
    }

    fn points(&self, tier: &Tier) -> &[Point] {
        &self.maps[tier.map]
    }

    /// How many times point `c` is better than that of now, of which the target is longer.
    fn gain(&self, tier: &Tier, c: usize) -> f64 {
        let points = self.points(tier);
        self.latency.gain(&points[c], &points[tier.at], SLACK)
    }

    fn act(&mut self, reading: Reading) {
        let cap_w = self.guard.cap_w().unwrap_or(f64::INFINITY);
        self.follow_response_time(reading.response_time_s);
        self.forget();
        self.learn_from(reading.power_w);
        self.seen.mean_w = Some(reading.power_w);
        let error_w = reading.power_w - cap_w;
        let is_new_cap = std::mem::take(&mut self.seen.is_new_cap);
        if error_w.abs() > self.aim.tolerance_w {
            self.plan(reading.power_w, cap_w);
        } else if is_new_cap {
            self.improve(reading.power_w, cap_w);
        }
    }

    /// Chooses the setting of every tier; the meter shows `mean_w` under the current ones.
    fn plan(&mut self, mean_w: f64, cap_w: f64) {
        let lower = mean_w > cap_w;
        let mut budget_w = self.aim.budget_w(mean_w, cap_w);
        let mut behind_w: f64 = self.tiers.iter().map(|t| self.least_change(t, lower)).sum();
        let mut has_changed = false;
        for i in 0..self.tiers.len() {
            let tier = &self.tiers[i];
            behind_w -= self.least_change(tier, lower);
            let point = self.choose(tier, lower, budget_w - behind_w);
            budget_w -= change(tier, point);
            let tier = &mut self.tiers[i];
            tier.before = tier.at;
            has_changed |= tier.at != point;
            tier.at = point;
        }
        if has_changed {
            self.changed(mean_w);
        }
    }

    fn changed(&mut self, mean_before_w: f64) {
        self.seen.mean_before_w = Some(mean_before_w);
        self.guard.settle(self.aim.settle);
    }

    /// Takes better settings that draw less, and together so much less that the cap is kept.
    fn improve(&mut self, mean_w: f64, cap_w: f64) {
        if self.latency.ratio < FULL {
            return;
        }
        let budget_w = self.aim.budget_w(mean_w, cap_w).min(0.0);
        let mut has_changed = false;
        for i in 0..self.tiers.len() {
            let tier = &self.tiers[i];
            let part_w = budget_w * tier.drives as f64 / self.open.len() as f64;
            let points = self.points(tier);
            let candidates =
                (0..points.len()).filter(|c| self.is_candidate(tier, *c, true) && change(tier, *c) <= part_w);
            let best = self.latency.best_of(points, candidates);
            let better = best.filter(|c| self.gain(tier, *c) > BETTER);
            let tier = &mut self.tiers[i];
            tier.before = tier.at;
            tier.at = better.unwrap_or(tier.at);
            has_changed |= better.is_some();
        }
        if has_changed {
            self.changed(mean_w);
        }
    }

    /// The best point of a tier whose power may change by at most `budget_w`.
    fn choose(&self, tier: &Tier, lower: bool, budget_w: f64) -> usize {
        let points = self.points(tier);
        let own_only = !lower && self.is_unhindered(tier, budget_w);
        let may_take = |c: usize| !own_only || points[c].read_expire.is_none();
        let candidates = (0..points.len())
            .filter(|c| may_take(*c) && self.is_candidate(tier, *c, lower) && change(tier, *c) <= budget_w);
        let stays = may_take(tier.at) && change(tier, tier.at) <= budget_w;
        match self.latency.best_of(points, candidates) {
            Some(best) if !stays || self.gain(tier, best) > BETTER => best,
            Some(_) => tier.at,
            None if lower => self.floor(tier),
            None => tier.at,
        }
    }

    /// Whether the host's queue is not full and the budget allows the best point with the drive's own expiry of reads.
    /// A longer expiry then has no advantage, and the throughputs of the map are not those of the drive.
    fn is_unhindered(&self, tier: &Tier, budget_w: f64) -> bool {
        let points = self.points(tier);
        let best = self.latency.best(points);
        let is_own = points[best].read_expire.is_none();
        is_own && self.latency.ratio < FULL && change(tier, best) <= budget_w
    }

    /// Whether a tier may change to point `c`: within the limit of the response time and, where power must fall,
    /// with lower power in the uncorrected map.
    fn is_candidate(&self, tier: &Tier, c: usize, lower: bool) -> bool {
        let points = self.points(tier);
        self.is_within_limit(tier, c) && (!lower || c == tier.at || points[c].power_w < points[tier.at].power_w)
    }

    /// Whether the response time at point `c` is within its limit, which is longer for the current point.
    fn is_within_limit(&self, tier: &Tier, c: usize) -> bool {
        let slack = if c == tier.at { SLACK } else { 1.0 };
        let time_s = self.latency.ratio * self.points(tier)[c].response_time_s;
        time_s <= slack * self.latency.limit_s
    }

    /// The point with the lowest power within the limit of the response time; without one, that with the shortest
    /// response time.
    fn floor(&self, tier: &Tier) -> usize {
        let points = self.points(tier);
        let within = (0..points.len()).filter(|c| self.is_within_limit(tier, *c));
        let least = within.min_by(|a, b| points[*a].power_w.total_cmp(&points[*b].power_w));
        let time = |c: &usize| points[*c].response_time_s;
        let shortest = || (0..points.len()).min_by(|a, b| time(a).total_cmp(&time(b)));
        least.or_else(shortest).unwrap_or_else(|| lowest(points))
    }

    /// The most by which a tier can lower its power, as a negative number of watts.
    fn least_change(&self, tier: &Tier, lower: bool) -> f64 {
        (0..self.points(tier).len())
            .filter(|c| self.is_candidate(tier, *c, lower))
            .map(|c| change(tier, c))
            .fold(0.0, f64::min)
    }

    /// Corrects the points to which the last change led.
    pub fn learn_from(&mut self, mean_w: f64) {
        let Some(before_w) = self.seen.mean_before_w.take() else { return };
        if !self.correction.is_on {
            return;
        }
        let moved = |t: &&Tier| t.at != t.before;
        let drives: usize = self.tiers.iter().filter(moved).map(|t| t.drives).sum();
        let predicted_w: f64 = self.tiers.iter().map(|t| -change(t, t.before)).sum();
        let error_w = (mean_w - before_w) * self.aim.efficiency - predicted_w;
        let error_w = (error_w / drives.max(1) as f64).clamp(-STEP_W, STEP_W);
        for tier in self.tiers.iter_mut().filter(|t| t.at != t.before) {
            let points = &self.maps[tier.map];
            let here = points[tier.at];
            for (power, point) in tier.power_w.iter_mut().zip(points) {
                let step = LEARN * error_w * point.nearness(&here);
                *power = (*power + step).clamp(point.power_w - REACH_W, point.power_w + REACH_W);
            }
        }
    }

    fn forget(&mut self) {
        for tier in &mut self.tiers {
            for (power, point) in tier.power_w.iter_mut().zip(&self.maps[tier.map]) {
                *power += (point.power_w - *power) * self.correction.forget;
            }
        }
    }

    fn follow_response_time(&mut self, measured_s: Option<f64>) {
        let Some(measured_s) = measured_s.filter(|s| *s > 0.0) else { return };
        let of = |t: &Tier| t.drives as f64 * self.points(t)[t.at].response_time_s;
        let predicted_s = self.tiers.iter().map(of).sum::<f64>() / self.open.len() as f64;
        self.latency.follow(measured_s, predicted_s);
    }

    /// A cap that falls below the drives' power is followed before the end of the period.
    fn follow_cap(&mut self) {
        if let (Some(mean_w), Some(cap_w)) = (self.seen.mean_w, self.guard.cap_w()) {
            if self.seen.mean_before_w.is_none() && mean_w > cap_w + self.aim.tolerance_w {
                self.plan(mean_w, cap_w);
            }
        }
    }
}

/// The change of a tier's power if it changes to point `c`, in watts.
fn change(tier: &Tier, c: usize) -> f64 {
    tier.drives as f64 * (tier.power_w[c] - tier.power_w[tier.at])
}

#[doc(hidden)]
pub fn lowest(points: &[Point]) -> usize {
    let less = |a: usize, b: usize| points[b].power_w < points[a].power_w;
    (0..points.len()).fold(0, |a, b| if less(a, b) { b } else { a })
}

impl Policy for FeedForward {
    fn step(&mut self, input: &Input, commands: &mut [Command]) -> Status {
        let turn = self.guard.turn(input);
        self.seen.is_new_cap |= self.guard.cap_w() != self.seen.cap_w;
        self.seen.cap_w = self.guard.cap_w();
        match turn {
            Turn::Uncapped => {
                self.set_all(Latency::best);
                self.seen.mean_w = self.guard.uncapped_w();
            }
            Turn::Lost => {
                self.set_all(|_, points| lowest(points));
                self.seen.mean_w = None;
            }
            Turn::Keep => self.follow_cap(),
            Turn::Act(reading) => self.act(reading),
        }
        let is_open = turn == Turn::Lost && self.guard.settings().on_loss == OnLoss::Open;
        let tiers = self.tiers.iter();
        let points = tiers.flat_map(|t| std::iter::repeat_n(&self.maps[t.map][t.at], t.drives));
        for ((command, open), point) in commands.iter_mut().zip(&self.open).zip(points) {
            *command = if is_open { *open } else { point.command(open) };
        }
        self.guard.status(&turn)
    }

    fn state(&self) -> Option<Value> {
        Some(self.guard.state())
    }

    fn resume(&mut self, state: &Value, since: Span) -> Result<(), SpecError> {
        self.guard.resume(state, since)
    }
}
