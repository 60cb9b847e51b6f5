//! Learning: measures what each setting draws and serves, and takes the fastest one that keeps the cap.
//!
//! # Model
//! All drives have one setting. For each setting of a map the policy keeps what it has *measured*: power and throughput of
//! one drive, with the time since. The map itself is only a guess, for settings that were not measured. Let `m` be the
//! median of the readings of a period at setting `a`, and `f` the map's power. Unmeasured settings are guessed as
//!
//! ```text
//! p(c) = m + s · (f(c) - f(a)) + r(c)
//! ```
//!
//! Here `s` says how much of the map's differences is true: the median of the slopes between all pairs of the settings
//! that were measured last (Theil and Sen), with two more of 1. If power *rises* where the map says that it falls, `s`
//! becomes negative, and the guesses turn round; a single wrong point of the map does not move it.
//! `r(c)` is the mean error of the guesses at measured settings within an octave of `c`.
//!
//! | median of the period | what happens |
//! |---|---|
//! | within `tolerance` of the cap | nothing |
//! | too high | the fastest setting that keeps the cap by measurement, or by guess with a wider margin. If there is none, the one with the lowest guess, if that is below all measured ones, at most `tries` times, and once more after `explore_after`; then the lowest measured one |
//! | too low | a setting that is faster by 2 % and keeps the cap, but only while the host's queue is full: with fewer requests than places another setting shows nothing. After a guess that was wrong none is tried for `explore_after`, twice as long each time |
//! | the cap falls below `m` | as "too high", at once |
//!
//! So the policy never stays above the lowest power that it has seen. If that is above the cap, it says `unreachable`. If the
//! drives' rates can be limited, it limits them after `limit_after`: to half of what they serve, then by 0.6 in each period
//! above the cap, and up by 8 % in each period far below it. From `x` requests per second it takes at most
//! `log(x) / log(1 / 0.6)` periods to one per second; the energy above the cap is at most the excess times `limit_after` plus
//! that time, unless the drives draw more than the cap at one request per second.
//!
//! Without a cap the drives have their own settings. Measurements follow drifts: if a setting draws `d` more than it did, half
//! of `d` is added to all. They are forgotten after `forget_after`.
//!
//! Readings count as [`Guard::robust`] says.
//! # Source
//! Our own. The built-in map is that of [`feed-forward`](super::feed_forward).
//! # Validity
//! One load at a time: what is measured under one load is a guess under the next. Tiers are not supported; `feed-forward` has
//! them.

use super::{several, Drives, Input, Need, Plugin, Policy, Status};
use crate::guard::{Guard, GuardSettings, OnLoss, Reading, Turn};
use crate::map::{self, Point, Statistic};
use crate::pcap::tolerance;
use crate::{Command, Device, RateLimit};
use headstack_schema::{Parameter, Reader, SpecError};
use headstack_units::{Frequency, Span, Watts};

/// The entry of the list.
pub const PLUGIN: Plugin = Plugin {
    name: "learning",
    summary:
        "measures settings and takes the fastest that keeps the cap; limits rates if none does",
    example: "",
    drives: Drives::Several,
    needs: &[Need::Queues],
    read: |reader, devices| Ok(Box::new(Learning::new(reader, devices)?)),
};

/// Pairs of measured settings that say nothing weigh as much as the map's own slope of 1.
const TRUST: usize = 2;
/// Measured settings, the last ones, whose pairs give the slope; and the number of these pairs with those of the map.
const LAST: usize = 12;
const PAIRS: usize = LAST * (LAST - 1) / 2 + TRUST;
/// Settings nearer than this in the map say nothing of its slope, in watts.
const APART_W: f64 = 0.2;
/// How much faster another setting must be.
const BETTER: f64 = 1.02;
/// Part of the host's places that must be in use on average.
const FULL: f64 = 0.8;
/// A guess is wrong by about this part of the change that it predicts.
const DOUBT: f64 = 0.05;
/// How far below all measured powers a guess must be to be tried, in watts.
const WORTH_W: f64 = 0.1;
/// Factors of a limited rate, and its least value per second.
const CUT: f64 = 0.6;
const GROW: f64 = 1.08;
const LEAST_RATE: f64 = 1.0;

/// What was measured at one setting, of one drive.
#[derive(Debug, Clone, Copy)]
struct Measured {
    power_w: f64,
    /// Requests per second while the host's queue was full.
    iops: Option<f64>,
    age_s: f64,
}

struct Learning {
    guard: Guard,
    points: Vec<Point>,
    measured: Vec<Option<Measured>>,
    /// The points that are measured, in the order in which they were.
    seen: Vec<usize>,
    open: Vec<Command>,
    /// The point nearest to the drives' own settings.
    own: usize,
    at: usize,
    /// How much of the map's differences is true.
    slope: f64,
    /// Whether the last change was not measured yet.
    has_moved: bool,
    /// The last median of one drive.
    last_w: Option<f64>,
    cap_w: Option<f64>,
    is_full: bool,
    tries: u32,
    /// Time until a faster setting may be guessed again, and how long that is after the next failure.
    explore_in_s: f64,
    explore_next_s: f64,
    is_exploring: bool,
    over_s: f64,
    is_stuck: bool,
    /// Requests per second of one drive.
    limit: Option<f64>,
    settings: Settings,
}

/// Its parameters.
struct Settings {
    tolerance_w: f64,
    margin_w: f64,
    efficiency: f64,
    settle: Span,
    period_s: f64,
    forget_after_s: f64,
    explore_after_s: f64,
    limit_after_s: f64,
    most_tries: u32,
    can_limit: bool,
}

const SECOND: Span = Span(1_000_000_000);
const HOUR: Span = Span(3_600_000_000_000);

impl Settings {
    fn read(reader: &mut Reader, devices: &[Device], period: Span) -> Result<Settings, SpecError> {
        let n = devices.len();
        let one = n == 1;
        let tolerance_w = tolerance(reader, if one { Watts(0.2) } else { Watts(1.0) })?;
        let margin_ratio = reader.number(
            (
                "margin_ratio",
                "How far below the cap the policy aims, as a part of the tolerance.",
            ),
            0.25,
            0.0..=1.0,
        )?;
        let efficiency = reader.number(
            (
                "efficiency",
                "Efficiency of the power supply between the meter and the drives.",
            ),
            if one { 1.0 } else { 0.83 },
            0.1..=1.0,
        )?;
        let settle = reader.number(
            (
                "settle",
                "Time after a change in which readings do not count.",
            ),
            Span(2_000_000_000.min(period.0 / 2)),
            Span::ZERO..=period,
        )?;
        let mut seconds = |key: (&'static str, &'static str), usual: i64| {
            let value = reader.number(key, Span(usual * SECOND.0), SECOND..=Span(1000 * HOUR.0));
            value.map(Span::as_secs_f64)
        };
        let forget_after_s = seconds(
            ("forget_after", "Age at which a measurement counts no more."),
            1800,
        )?;
        let explore_after_s = seconds(
            (
                "explore_after",
                "Time after a wrong guess until a faster setting is guessed again; twice as long each time.",
            ),
            60,
        )?;
        let limit_after_s = seconds(
            (
                "limit_after",
                "Time above the cap with no setting left after which the rate is limited.",
            ),
            30,
        )?;
        let most_tries = reader.number(
            (
                "tries",
                "Settings that are tried one after another to find one with less power.",
            ),
            6,
            1..=100,
        )?;
        // The part of one drive.
        let part = efficiency / n as f64;
        Ok(Settings {
            tolerance_w: tolerance_w * part,
            margin_w: tolerance_w * margin_ratio * part,
            efficiency,
            settle,
            period_s: period.as_secs_f64(),
            forget_after_s,
            explore_after_s,
            limit_after_s,
            most_tries,
            can_limit: devices.iter().all(|d| d.can_limit),
        })
    }
}

impl Learning {
    fn new(reader: &mut Reader, devices: &[Device]) -> Result<Learning, SpecError> {
        several(devices)?;
        let guard = GuardSettings::read(reader, Span(5_000_000_000), devices.len())?;
        // A delayed reading is worth having: what settles takes longer by its age.
        let guard = GuardSettings {
            stale_after: guard.stale_after.max(Span(30 * SECOND.0)),
            ..guard
        };
        let settings = Settings::read(reader, devices, guard.period)?;
        let doc = "Power and throughput of one drive under each setting; left out, those of an Ultrastar 7K4000.";
        let given = reader.raw(("map", doc), Vec::<map::Entry>::kind());
        let points = map::read(given, devices, Statistic::Mean)?;
        let open: Vec<Command> = devices.iter().map(|d| d.clamp(d.open)).collect();
        let own = nearest(&points, &open[0]);
        Ok(Learning {
            guard: Guard::robust(guard),
            measured: vec![None; points.len()],
            seen: Vec::with_capacity(points.len()),
            points,
            open,
            own,
            at: own,
            slope: 1.0,
            has_moved: false,
            last_w: None,
            cap_w: None,
            is_full: true,
            tries: 0,
            explore_in_s: 0.0,
            explore_next_s: settings.explore_after_s,
            is_exploring: false,
            over_s: 0.0,
            is_stuck: false,
            limit: None,
            settings,
        })
    }

    /// The median of the slopes between the settings that were measured last (Theil and Sen), and of the map's own.
    fn find_slope(&self) -> f64 {
        let mut slopes = [1.0; PAIRS];
        let mut n = TRUST;
        let last = &self.seen[self.seen.len().saturating_sub(LAST)..];
        for (i, a) in last.iter().enumerate() {
            for b in &last[..i] {
                let mapped_w = self.points[*a].power_w - self.points[*b].power_w;
                if let (Some(a), Some(b), true) = (
                    self.measured[*a],
                    self.measured[*b],
                    mapped_w.abs() >= APART_W,
                ) {
                    slopes[n] = (a.power_w - b.power_w) / mapped_w;
                    n += 1;
                }
            }
        }
        let slopes = &mut slopes[..n];
        slopes.sort_unstable_by(f64::total_cmp);
        slopes[n / 2].clamp(-2.0, 2.0)
    }

    /// The map's guess for a setting, without what was measured near it; the current one draws `now_w`.
    fn mapped(&self, c: usize, now_w: f64) -> f64 {
        now_w + self.slope * (self.points[c].power_w - self.points[self.at].power_w)
    }

    /// The power of a setting: as measured, or guessed.
    fn power_w(&self, c: usize, now_w: f64) -> f64 {
        if let Some(measured) = self.measured[c] {
            return measured.power_w;
        }
        // The error of the map nearby; a setting without measured neighbours has none.
        let (mut errors, mut weights) = (0.0, 0.3);
        for k in &self.seen {
            let near = self.points[c].nearness(&self.points[*k]);
            if let Some(measured) = self.measured[*k].filter(|_| near > 0.0) {
                errors += near * (measured.power_w - self.mapped(*k, now_w));
                weights += near;
            }
        }
        self.mapped(c, now_w) + errors / weights
    }

    /// Throughput of a setting: as measured, or the map's in proportion to the current one.
    fn iops(&self, c: usize) -> f64 {
        let measured = |c: usize| self.measured[c].and_then(|m| m.iops);
        measured(c).unwrap_or_else(|| {
            let here = measured(self.at).map_or(1.0, |x| x / self.points[self.at].iops);
            here * self.points[c].iops
        })
    }

    fn act(&mut self, reading: Reading) {
        let n = self.open.len() as f64;
        let now_w = reading.power_w * self.settings.efficiency / n;
        let cap_w = self.guard.cap_w().unwrap_or(f64::INFINITY) * self.settings.efficiency / n;
        let rate = reading.rate.map(|rate| rate / n);
        self.last_w = Some(now_w);
        if self.limit.is_some() {
            return self.follow_limit(now_w, cap_w, rate);
        }
        self.see_whether_full(rate, reading.response_time_s);
        self.learn(now_w, rate);
        self.explore_in_s = (self.explore_in_s - self.settings.period_s).max(0.0);
        let error_w = now_w - cap_w;
        if std::mem::take(&mut self.is_exploring) && error_w > self.settings.tolerance_w {
            self.postpone();
        }
        if error_w > self.settings.tolerance_w {
            self.over_s += self.settings.period_s;
            self.lower(now_w, cap_w);
        } else {
            (self.over_s, self.tries, self.is_stuck) = (0.0, 0, false);
            if error_w < -self.settings.tolerance_w {
                self.raise(now_w, cap_w);
            }
        }
    }

    fn postpone(&mut self) {
        self.explore_in_s = self.explore_next_s;
        self.explore_next_s = (2.0 * self.explore_next_s).min(1800.0);
    }

    /// By Little's law: the mean number of requests of a drive against the host's places.
    fn see_whether_full(&mut self, rate: Option<f64>, response_s: Option<f64>) {
        if let (Some(rate), Some(response_s)) = (rate, response_s) {
            let places = f64::from(self.points[self.at].nr_requests);
            self.is_full = rate * response_s >= FULL * places;
        }
    }

    /// Notes what the current setting draws and serves.
    fn learn(&mut self, now_w: f64, rate: Option<f64>) {
        self.has_moved = false;
        let drift_w = self.measured[self.at].map_or(0.0, |m| now_w - m.power_w);
        let (measured, settings) = (&mut self.measured, &self.settings);
        self.seen.retain(|k| {
            let place = &mut measured[*k];
            if let Some(m) = place {
                m.power_w += 0.5 * drift_w;
                m.age_s += settings.period_s;
            }
            *place = place.filter(|m| m.age_s <= settings.forget_after_s);
            place.is_some()
        });
        if self.measured[self.at].is_none() {
            self.seen.push(self.at);
        }
        let rate = rate.filter(|_| self.is_full);
        let here = self.measured[self.at].get_or_insert(Measured {
            power_w: now_w,
            iops: rate,
            age_s: 0.0,
        });
        here.age_s = 0.0;
        here.iops = match (here.iops, rate) {
            (Some(before), Some(rate)) => Some(before + 0.5 * (rate - before)),
            (before, rate) => rate.or(before),
        };
        self.slope = self.find_slope();
    }

    /// The fastest setting but the current one that keeps the cap.
    fn fastest(&self, now_w: f64, cap_w: f64, may_guess: bool) -> Option<usize> {
        let keeps = |c: &usize| {
            let is_guess = self.measured[*c].is_none();
            if *c == self.at || (is_guess && !may_guess) {
                return false;
            }
            let power_w = self.power_w(*c, now_w);
            let doubt_w = match is_guess {
                true => DOUBT * (power_w - now_w).abs(),
                false => 0.0,
            };
            power_w + doubt_w <= cap_w - self.settings.margin_w
        };
        let all = (0..self.points.len()).filter(keeps);
        all.reduce(|best, c| {
            if self.iops(c) > self.iops(best) {
                c
            } else {
                best
            }
        })
    }

    /// The power is too high.
    fn lower(&mut self, now_w: f64, cap_w: f64) {
        if let Some(c) = self.fastest(now_w, cap_w, self.tries < self.settings.most_tries) {
            self.tries += u32::from(self.measured[c].is_none());
            self.is_stuck = false;
            return self.change(c);
        }
        let lowest = self.lowest_measured();
        if self.tries < self.settings.most_tries {
            let least_w = self.measured[lowest]
                .map_or(now_w, |m| m.power_w)
                .min(now_w);
            if let Some(c) = self.worth_a_try(now_w, least_w) {
                self.tries += 1;
                return self.change(c);
            }
        }
        self.is_stuck = true;
        if self.explore_in_s <= 0.0 && self.tries > 0 {
            // One more try after a while, twice as long each time.
            self.tries -= 1;
            self.postpone();
        }
        if lowest != self.at {
            return self.change(lowest);
        }
        if self.settings.can_limit && self.over_s >= self.settings.limit_after_s {
            self.limit = Some((0.5 * self.iops(self.at)).max(LEAST_RATE));
            self.guard.settle(self.settings.settle);
        }
    }

    /// The unmeasured setting with the lowest guess, if that is below all that was measured.
    fn worth_a_try(&self, now_w: f64, least_w: f64) -> Option<usize> {
        let unknown = (0..self.points.len()).filter(|c| self.measured[*c].is_none());
        let guess = |c: usize| (c, self.power_w(c, now_w));
        let least = unknown.map(guess).min_by(|a, b| a.1.total_cmp(&b.1))?;
        (least.1 < least_w - WORTH_W).then_some(least.0)
    }

    /// The setting with the lowest measured power; the current one, if it is about as low.
    fn lowest_measured(&self) -> usize {
        let power = |c: usize| self.measured[c].map_or(f64::INFINITY, |m| m.power_w);
        let all = self.seen.iter().copied();
        let lowest = all.reduce(|a, b| if power(b) < power(a) { b } else { a });
        let lowest = lowest.unwrap_or(self.at);
        let is_near = power(self.at) <= power(lowest) + 0.5 * WORTH_W;
        if is_near {
            self.at
        } else {
            lowest
        }
    }

    /// There is power left.
    fn raise(&mut self, now_w: f64, cap_w: f64) {
        if !self.is_full {
            return;
        }
        let may_guess = self.explore_in_s <= 0.0;
        let fastest = self.fastest(now_w, cap_w, may_guess);
        let better = fastest.filter(|c| self.iops(*c) > BETTER * self.iops(self.at));
        if let Some(c) = better {
            self.is_exploring = self.measured[c].is_none();
            self.change(c);
        }
    }

    fn change(&mut self, c: usize) {
        if c != self.at {
            self.has_moved = true;
            self.at = c;
            self.guard.settle(self.settings.settle);
        }
    }

    /// One period under a limited rate.
    fn follow_limit(&mut self, now_w: f64, cap_w: f64, rate: Option<f64>) {
        let Some(limit) = self.limit else {
            return;
        };
        let error_w = now_w - cap_w;
        let is_free = rate.is_some_and(|rate| rate < 0.7 * limit);
        if error_w > self.settings.tolerance_w {
            self.limit = Some((CUT * limit).max(LEAST_RATE));
        } else if error_w < -2.0 * self.settings.tolerance_w {
            // A load that the limit does not hold back needs none.
            self.limit = if is_free { None } else { Some(GROW * limit) };
        }
        self.guard.settle(self.settings.settle.min(Span(SECOND.0)));
    }

    /// A cap that falls below the drives' power is followed before the end of the period; one that rises ends a limit.
    fn follow_cap(&mut self, turn: &Turn) {
        let cap_w = self.guard.cap_w();
        let before = std::mem::replace(&mut self.cap_w, cap_w);
        let (Some(cap_w), true) = (cap_w, cap_w != before) else {
            return;
        };
        (self.tries, self.over_s, self.explore_in_s) = (0, 0.0, 0.0);
        self.explore_next_s = self.settings.explore_after_s;
        if before.is_none_or(|before| cap_w > before) {
            self.limit = None;
        }
        let part = self.settings.efficiency / self.open.len() as f64;
        // At the end of a period its reading comes first.
        let is_measured = *turn == Turn::Keep && !self.has_moved && self.limit.is_none();
        if let Some(now_w) = self.last_w.filter(|_| is_measured) {
            if now_w > cap_w * part + self.settings.tolerance_w {
                self.lower(now_w, cap_w * part);
            }
        }
    }

    /// The setting whose power is lowest, as far as is known.
    fn safe(&self) -> usize {
        let now_w = self.last_w.unwrap_or(self.points[self.at].power_w);
        let power = |c: usize| self.power_w(c, now_w);
        let least = (0..self.points.len()).map(|c| (c, power(c)));
        least
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map_or(self.at, |l| l.0)
    }

    fn status(&self, turn: &Turn) -> Status {
        let status = self.guard.status(turn);
        let part = self.settings.efficiency / self.open.len() as f64;
        match (status, self.limit, self.is_stuck) {
            (Status::Regulating, Some(limit), _) if limit > LEAST_RATE => Status::Limiting,
            (Status::Regulating, Some(_), _) | (Status::Regulating, None, true) => {
                let now_w = self.last_w.unwrap_or_default() / part;
                let excess = now_w - self.guard.cap_w().unwrap_or(f64::INFINITY);
                match excess > self.settings.tolerance_w / part {
                    true => Status::Unreachable {
                        excess: Watts(excess),
                    },
                    false => Status::Regulating,
                }
            }
            _ => status,
        }
    }
}

/// The point nearest to a command.
fn nearest(points: &[Point], command: &Command) -> usize {
    let like = Point {
        nr_requests: command.nr_requests,
        queue_depth: command.queue_depth,
        read_expire: command.read_expire,
        arms: command.arms,
        ..points[0]
    };
    let octaves = |a: u32, b: u32| (f64::from(a.max(1)) / f64::from(b.max(1))).log2().abs();
    let far = |p: &Point| {
        let sizes =
            octaves(p.nr_requests, like.nr_requests) + octaves(p.queue_depth, like.queue_depth);
        sizes + if p.read_expire.is_none() { 0.0 } else { 1.0 } + octaves(p.arms, like.arms)
    };
    let all = points.iter().enumerate();
    let best = all.min_by(|a, b| far(a.1).total_cmp(&far(b.1)));
    best.map_or(0, |(i, _)| i)
}

impl Policy for Learning {
    fn step(&mut self, input: &Input, commands: &mut [Command]) -> Status {
        let turn = self.guard.turn(input);
        self.follow_cap(&turn);
        match turn {
            Turn::Uncapped => {
                let n = self.open.len() as f64;
                let part = self.settings.efficiency / n;
                (self.at, self.has_moved, self.limit) = (self.own, false, None);
                self.last_w = self.guard.uncapped_w().map(|w| w * part);
            }
            Turn::Lost => {
                if self.last_w.is_some() || self.has_moved {
                    self.at = self.safe();
                }
                (self.has_moved, self.last_w) = (false, None);
            }
            Turn::Keep => {}
            Turn::Act(reading) => self.act(reading),
        }
        let is_lost_open = turn == Turn::Lost && self.guard.settings().on_loss == OnLoss::Open;
        let is_own = turn == Turn::Uncapped || is_lost_open;
        let limit = self.limit.map_or(RateLimit::Unlimited, |rate| {
            RateLimit::Requests(Frequency(rate))
        });
        for (command, open) in commands.iter_mut().zip(&self.open) {
            *command = match is_own {
                true => *open,
                false => Command {
                    rate_limit: limit,
                    ..self.points[self.at].command(open)
                },
            };
        }
        self.status(&turn)
    }
}
