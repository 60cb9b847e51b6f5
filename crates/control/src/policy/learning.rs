//! Learning: measures what each setting draws and serves, and takes the fastest one that keeps the cap.
//!
//! # Model
//! The drives of a tier have one setting. For each setting of a map the policy keeps what it has *measured*: power and
//! throughput of one drive, with the time since and the spread. The map itself is only a guess, for settings that were not
//! measured. Let `m` be the power of a drive at setting `a`, from the median of the readings of a period, and `f` the map's
//! power. Unmeasured settings are guessed as
//!
//! ```text
//! p(c) = m + s · (f(c) - f(a)) + r(c)
//! ```
//!
//! `f` is the map, or a smooth function of the octaves of both queues that is fitted to it ([`Book`]), whichever guessed better.
//! Here `s` says how much of the map's differences is true: the median of the slopes between all pairs of the settings
//! that were measured last (Theil and Sen), with two more of 1. If power *rises* where the map says that it falls, `s`
//! becomes negative, and the guesses turn round; a single wrong point of the map does not move it.
//! `r(c)` is the mean error of the guesses at measured settings within an octave of `c`.
//!
//! | median of the period | what happens |
//! |---|---|
//! | within `tolerance` of the cap | nothing; but if guesses were wrong by more than the tolerance on average, a setting is tried that would be faster by 5 % and keep the cap if its guess were too high by half of that error |
//! | too high | the fastest settings that keep the cap by measurement, or by guess with a wider margin, which grows with the errors of guesses. If there are none, the fastest that would if its guess were too high by the mean error. Else the one with the lowest guess, if that is below all measured ones, at most `tries` times, and once more after `explore_after`; then the lowest measured one |
//! | too low | settings that are faster by 2 % and keep the cap, but only while the hosts' or the drives' queues are full: with fewer requests another setting shows nothing. After a guess that was wrong none is tried for `explore_after`, twice as long each time |
//! | the cap falls below the power | as "too high", at once |
//! | two readings after a change to a guess are both too high | as "too high", at once |
//!
//! So the policy never stays above the lowest power that it has seen. If that is above the cap, it says `unreachable`. If the
//! drives' rates can be limited, it limits them after `limit_after`: to half of what they serve, then by 0.6 in each period
//! above the cap, and up by 8 % in each period far below it. From `x` requests per second it takes at most
//! `log(x) / log(1 / 0.6)` periods for each tier to one per second; the energy above the cap is at most the excess times
//! `limit_after` plus that time, unless the drives draw more than the cap at one request per second.
//!
//! **Tiers** share the budget `strict`ly (the last tier loses first), by `weight`, or by `marginal` loss: where a watt buys the
//! fewest requests per second. A tier may have a cap of its own within the shelf's (`tier_caps`). One meter shows the sum of all
//! tiers. A reading is divided among the settings in use so that they add up to it: what differs from the sum of the powers
//! that are known goes to the settings that are guessed.
//!
//! A load that fills the hosts' queues and one that does not ([`Load`]) have measurements and settings of their own, because a
//! shorter queue of the host is another load for the drive. Where the queue is not full, settings need places for all of the load, so
//! that a larger one is seen. What was measured under less than half or more than twice of the load is forgotten.
//!
//! If the meter's step is coarser than the tolerance, the power expected of the settings in use counts, moved to within half a step
//! of the reading.
//!
//! Without a cap the drives have their own settings. Measurements follow drifts: if a setting draws `d` more than it did, half
//! of `d` is added to all. They are forgotten after `forget_after`. A map whose powers are all
//! alike says nothing: then the setting that is least like those that were measured is tried.
//!
//! Readings count as [`Guard::robust`] says. What was learned can be kept and given to a later run
//! ([`Policy::memory`]).
//! # Source
//! Our own. The built-in map is that of [`feed-forward`](super::feed_forward).
//! # Validity
//! Drives of one kind and one load at a time: what is measured under one load is a guess under the next. With one meter, powers
//! of tiers are known only as far as their settings were measured.

use super::{several, Drives, Input, Need, Plugin, Policy, Status};
use crate::guard::{Guard, GuardSettings, OnLoss, Reading, Turn};
use crate::learning::book::{Book, Here};
use crate::learning::load::Load;
use crate::learning::memory;
use crate::learning::settings::{read_claims, seconds, Settings, SECOND};
use crate::learning::share::{divide, Claim, Market, Offer, Share};
use crate::map::{self, Statistic};
use crate::{Command, Device, RateLimit, Sample};
use headstack_schema::{Parameter, Reader, SpecError};
use headstack_units::{Frequency, Span, Watts};
use serde_json::Value;

/// The entry of the list.
pub const PLUGIN: Plugin = Plugin {
    name: "learning",
    summary: "measures settings and takes the fastest that keep the cap; limits rates if none do",
    example: "",
    drives: Drives::Several,
    needs: &[Need::Queues],
    read: |reader, devices| Ok(Box::new(Learning::new(reader, devices)?)),
};

/// How much faster other settings must be.
const BETTER: f64 = 1.02;
/// How much faster a setting must be to be tried while the cap is kept by the one in use.
const MUCH_BETTER: f64 = 1.05;
/// A guess is drawn so many mean errors of guesses more than it says after a wrong one, and so many less if it is only tried.
const CAREFUL: f64 = 0.5;
const HOPEFUL: f64 = -0.5;
const LAST_HOPE: f64 = -1.0;
/// Factor of the load from which on what was measured under another is a guess.
const OTHER_LOAD: f64 = 2.0;
/// The mean is so many standard deviations below the cap where throughput does not depend on the setting.
const FEW_ABOVE: f64 = 2.5;
/// Factors of a limited rate, and its least value per second.
const CUT: f64 = 0.6;
const GROW: f64 = 1.08;
const LEAST_RATE: f64 = 1.0;
/// Doubts of one drive's power at a setting that was measured, and at one that was not, in watts; and of its throughput, as a
/// part.
const KNOWN_W: f64 = 0.05;
const GUESSED_W: f64 = 0.5;
const KNOWN: f64 = 0.02;
const GUESSED: f64 = 0.2;
/// Powers of one drive that differ by more are not the same.
const APART_W: f64 = 0.1;

/// Readings after a guess that are enough, if each is above the cap.
const ENOUGH: u32 = 2;

/// Drives with one setting.
struct Tier {
    /// Number of drives.
    n: usize,
    here: Here,
    /// What it had before the last change.
    before: Here,
    /// Requests per second of one drive.
    limit: Option<f64>,
}

/// What is known under a kind of load that is not there now.
struct Other {
    book: Book,
    /// The settings of the tiers when it was there last, under which cap, and its size; no cap before it was there.
    at: Vec<Here>,
    cap_w: Option<f64>,
    requests: f64,
}

struct Learning {
    guard: Guard,
    book: Book,
    open: Vec<Command>,
    /// The point nearest to the drives' own settings.
    own: usize,
    tiers: Vec<Tier>,
    claims: Vec<Claim>,
    /// For each tier what each setting offers; and what is chosen.
    offers: Vec<Offer>,
    chosen: Vec<usize>,
    /// For dividing a sum among tiers.
    parts: Vec<(f64, f64, f64)>,
    /// Whether the last change was not measured yet; and whether it was to a guess.
    has_moved: bool,
    is_try: bool,
    /// What all drives draw after the last change by the map, and by the smooth map.
    guessed_w: [f64; 2],
    /// The last median of all drives.
    last_w: Option<f64>,
    cap_w: Option<f64>,
    /// The step of the meter at the last decision.
    step_w: f64,
    load: Load,
    /// What is known under the other kind of load, the one that fills the queues or the one that does not.
    other: Other,
    tries: u32,
    /// Time until a faster setting may be guessed again, and how long that is after the next failure.
    explore_in_s: f64,
    explore_next_s: f64,
    is_exploring: bool,
    over_s: f64,
    is_stuck: bool,
    /// Whether the last change that was to lower the power has raised it.
    is_wrong: bool,
    settings: Settings,
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
        let forget_after_s = seconds(
            reader,
            ("forget_after", "Age at which a measurement counts no more."),
            1800,
        )?;
        let claims = read_claims(reader, devices.len(), &settings)?;
        let doc = "Power and throughput of one drive under each setting; left out, those of an Ultrastar 7K4000.";
        let given = reader.raw(("map", doc), Vec::<map::Entry>::kind());
        let points = map::read(given, devices, Statistic::Mean)?;
        let book = Book::new(points.clone(), forget_after_s);
        let open: Vec<Command> = devices.iter().map(|d| d.clamp(d.open)).collect();
        let own = book.nearest(&open[0]);
        let here = Here {
            at: own,
            watts: book.points[own].power_w,
        };
        let tier = |claim: &Claim| Tier {
            n: claim.n as usize,
            here,
            before: here,
            limit: None,
        };
        let nothing = Offer {
            power_w: 0.0,
            iops: 0.0,
            is_open: false,
        };
        Ok(Learning {
            other: Other {
                book: Book::new(points, forget_after_s),
                at: vec![here; claims.len()],
                cap_w: None,
                requests: 0.0,
            },
            guard: Guard::robust(guard),
            open,
            own,
            tiers: claims.iter().map(tier).collect(),
            offers: vec![nothing; claims.len() * book.len()],
            chosen: vec![own; claims.len()],
            parts: Vec::with_capacity(claims.len()),
            claims,
            book,
            has_moved: false,
            is_try: false,
            guessed_w: [0.0; 2],
            last_w: None,
            cap_w: None,
            step_w: 0.0,
            load: Load::unknown(),
            tries: 0,
            explore_in_s: 0.0,
            explore_next_s: settings.explore_after_s,
            is_exploring: false,
            over_s: 0.0,
            is_stuck: false,
            is_wrong: false,
            settings,
        })
    }

    fn act(&mut self, reading: Reading) {
        if self.guard.step_w() < std::mem::replace(&mut self.step_w, self.guard.step_w()) {
            // The meter is finer than it seemed: what was taken for known was only expected.
            self.book.forget();
            self.other.book.forget();
        }
        let now_w = self.likely_w(self.settings.drives_w(reading.power_w));
        self.last_w = Some(now_w);
        if self.is_limited() {
            return self.follow_limit(now_w, self.budget_w(), reading.rate);
        }
        let cap_w = self.aim_w();
        self.learn(now_w, reading.rate);
        self.explore_in_s = (self.explore_in_s - self.settings.period_s).max(0.0);
        let error_w = self.error_w(now_w, cap_w);
        if std::mem::take(&mut self.is_exploring) && error_w > self.settings.tolerance_w {
            self.postpone();
        }
        if error_w > self.settings.tolerance_w {
            self.over_s += self.settings.period_s;
            self.lower(cap_w);
        } else {
            (self.over_s, self.tries, self.is_stuck) = (0.0, 0, false);
            if error_w < -self.settings.tolerance_w {
                self.raise(cap_w);
            } else {
                self.try_faster(cap_w);
            }
        }
    }

    /// A wrong guess is seen before the end of the period.
    fn act_early(&mut self) {
        if !(self.has_moved && self.is_try) {
            return;
        }
        let bound_w = self.budget_w() + self.settings.tolerance_w;
        let bound_w = self.settings.meter_w(bound_w);
        if let Some(reading) = self.guard.all_above(ENOUGH, bound_w) {
            self.guard.settle(Span::ZERO);
            self.act(reading);
        }
    }

    /// The cap of all drives.
    fn budget_w(&self) -> f64 {
        let cap_w = self.guard.cap_w().unwrap_or(f64::INFINITY);
        self.settings.drives_w(cap_w)
    }

    /// What the drives are to draw on average. A load that does not fill the queues is served whole under lower power too, so
    /// there all but few of its seconds are kept below the cap.
    fn aim_w(&self) -> f64 {
        let scatter_w = self.settings.drives_w(self.guard.scatter_w());
        let aside_w = match self.load.is_full {
            true => 0.0,
            false => (FEW_ABOVE * scatter_w - self.settings.tolerance_w).max(0.0),
        };
        self.budget_w() - aside_w
    }

    /// How far the drives are above the cap, or a tier above its own, whichever is more.
    fn error_w(&self, now_w: f64, cap_w: f64) -> f64 {
        let tiers = self.tiers.iter().zip(&self.claims);
        let errors = tiers.map(|(tier, claim)| claim.n * (tier.here.watts - claim.most_w));
        errors.fold(now_w - cap_w, f64::max)
    }

    fn postpone(&mut self) {
        self.explore_in_s = self.explore_next_s;
        self.explore_next_s = (2.0 * self.explore_next_s).min(1800.0);
    }

    /// What the drives draw, as far as a reading tells: a meter with coarse steps leaves open where between two steps the power
    /// is. If what is expected of the settings in use lies there, it is that.
    fn likely_w(&self, read_w: f64) -> f64 {
        let half_w = 0.5 * self.settings.drives_w(self.guard.step_w());
        if half_w <= self.settings.tolerance_w {
            return read_w;
        }
        self.expected_w().clamp(read_w - half_w, read_w + half_w)
    }

    /// Places of the host's queue of a drive, on average.
    fn mean_places(&self) -> f64 {
        let places = |t: &Tier| t.n as f64 * f64::from(self.book.points[t.here.at].nr_requests);
        self.tiers.iter().map(places).sum::<f64>() / self.open.len() as f64
    }

    /// Whether the queues of the drives are full, also if those of the hosts are not: then their depth shows.
    fn is_busy(&self) -> bool {
        let depth = |t: &Tier| t.n as f64 * f64::from(self.book.points[t.here.at].queue_depth);
        let depth = self.tiers.iter().map(depth).sum::<f64>() / self.open.len() as f64;
        self.load.is_full || self.load.requests >= OTHER_LOAD * depth
    }

    /// Notices that the load fills the hosts' queues, or no longer does. Each of the two has its own measurements and its own
    /// settings, because a shorter queue in the host is another load for the drive.
    fn follow_load(&mut self, sample: &Sample) -> bool {
        if self.is_limited() || self.guard.is_settling() {
            return false;
        }
        let requests = self.load.requests;
        let (drives, places) = (self.open.len() as f64, self.mean_places());
        let is_other = self.load.see(sample, drives, places);
        if is_other {
            self.change_load(requests);
        }
        self.book.need_places(self.load.least_places());
        is_other
    }

    /// The other kind of load is there; the one of before had so many requests of each drive.
    fn change_load(&mut self, before: f64) {
        std::mem::swap(&mut self.book, &mut self.other.book);
        let cap_w = std::mem::replace(&mut self.other.cap_w, self.guard.cap_w());
        let requests = std::mem::replace(&mut self.other.requests, before);
        let is_known = cap_w.is_some();
        for (tier, at) in self.tiers.iter_mut().zip(&mut self.other.at) {
            let now = std::mem::replace(at, tier.here);
            if is_known {
                tier.here = now;
            }
        }
        (self.tries, self.over_s, self.is_stuck, self.has_moved) = (0, 0.0, false, false);
        self.is_exploring = false;
        let is_other = !self.load.is_full
            && !(requests / OTHER_LOAD..=requests * OTHER_LOAD).contains(&self.load.requests);
        if is_other {
            self.book.forget();
        }
        self.last_w = is_known.then(|| self.expected_w());
        self.guard.settle(self.settings.settle);
        if cap_w != self.guard.cap_w() {
            self.reconsider();
        }
    }

    /// What is expected of the settings in use.
    fn expected_w(&self) -> f64 {
        self.tiers.iter().map(|t| t.n as f64 * t.here.watts).sum()
    }

    /// The settings are those of another cap.
    fn reconsider(&mut self) {
        let aim_w = self.aim_w();
        if let Some(now_w) = self.last_w {
            let error_w = now_w - aim_w;
            if error_w > self.settings.tolerance_w {
                self.lower(aim_w);
            } else if error_w < -self.settings.tolerance_w {
                self.raise(aim_w);
            }
        }
    }

    /// The first tier with each setting that is in use stands for all with this setting: its number, and how many drives
    /// have it.
    fn in_use(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let at = |t: usize| self.tiers[t].here.at;
        let first = move |t: &usize| (0..*t).all(|before| at(before) != at(*t));
        let drives = move |t: usize| {
            let like = self.tiers.iter().filter(move |u| u.here.at == at(t));
            (t, like.map(|u| u.n as f64).sum())
        };
        (0..self.tiers.len()).filter(first).map(drives)
    }

    /// Divides a sum over all drives among the settings in use: `believed` has the value of one drive of a tier, and its
    /// doubt. The result is in `parts`, in the order of [`Learning::in_use`].
    fn divide(&mut self, sum: f64, believed: impl Fn(&Learning, usize) -> (f64, f64)) {
        let mut parts = std::mem::take(&mut self.parts);
        parts.clear();
        parts.extend(self.in_use().map(|(t, n)| {
            let (value, doubt) = believed(self, t);
            (n, value, doubt)
        }));
        divide(sum, &mut parts);
        self.parts = parts;
    }

    /// Divides the power of all drives among the tiers.
    fn divide_power(&mut self, now_w: f64) {
        self.divide(now_w, |me, t| {
            let here = me.tiers[t].here;
            match me.book.measured[here.at] {
                Some(m) => (m.power_w, KNOWN_W),
                None => (here.watts, GUESSED_W),
            }
        });
        for i in 0..self.parts.len() {
            let Some((t, _)) = self.in_use().nth(i) else {
                return;
            };
            let (at, watts) = (self.tiers[t].here.at, self.parts[i].1);
            for tier in self.tiers.iter_mut().filter(|u| u.here.at == at) {
                tier.here.watts = watts;
            }
        }
    }

    /// Notes what the settings in use draw and serve.
    fn learn(&mut self, now_w: f64, rate: Option<f64>) {
        let drives = self.open.len() as f64;
        self.divide_power(now_w);
        if self.has_moved && self.is_try {
            let errors_w = self.guessed_w.map(|w| (now_w - w) / drives);
            self.book.were_wrong_by(errors_w);
        }
        if std::mem::take(&mut self.has_moved) {
            self.is_wrong = self.tiers.iter().any(|t| self.has_gone_wrong(t));
        }
        let (mut drift_w, mut known) = (0.0, 0.0);
        for (t, n) in self.in_use() {
            if let Some(one_w) = self.book.drift_w(self.tiers[t].here) {
                drift_w += n * one_w;
                known += n;
            }
        }
        let drift_w = if known > 0.0 { drift_w / known } else { 0.0 };
        let rate = rate.filter(|_| self.is_busy());
        self.divide(rate.unwrap_or_default(), |me, t| {
            let at = me.tiers[t].here.at;
            let is_known = me.book.measured[at].is_some_and(|m| m.iops.is_some());
            let iops = me.book.iops(at, at);
            (iops, iops * if is_known { KNOWN } else { GUESSED })
        });
        self.book.pass(self.settings.period_s, drift_w);
        for i in 0..self.parts.len() {
            let Some((t, _)) = self.in_use().nth(i) else {
                break;
            };
            let iops = rate.map(|_| self.parts[i].1).filter(|iops| *iops > 0.0);
            self.book.note(self.tiers[t].here, iops, drift_w);
        }
        self.book.find_slope();
    }

    /// Whether a change was to lower a tier's power by the map, and has raised it.
    fn has_gone_wrong(&self, tier: &Tier) -> bool {
        let mapped_w = |here: Here| self.book.points[here.at].power_w;
        let to_be = mapped_w(tier.here) - mapped_w(tier.before);
        to_be < -APART_W && tier.here.watts - tier.before.watts > APART_W
    }

    /// What each setting offers to each tier. Without `may_guess` only measured settings are open. A tier's setting of now
    /// offers what it draws now.
    fn make_offers(&mut self, may_guess: bool, errors: f64) {
        let n = self.book.len();
        for (t, tier) in self.tiers.iter().enumerate() {
            for c in 0..n {
                let is_now = c == tier.here.at;
                self.offers[t * n + c] = Offer {
                    power_w: match is_now {
                        true => tier.here.watts,
                        false => self.book.cautious_w(c, tier.here, errors),
                    },
                    iops: self.book.iops(c, tier.here.at),
                    is_open: is_now
                        || self.book.is_usable(c) && (may_guess || self.book.is_measured(c)),
                };
            }
        }
    }

    /// Chooses the fastest settings that keep the cap, with the margin, and guesses with so many of their errors more. Returns
    /// whether there are any.
    fn choose(&mut self, cap_w: f64, may_guess: bool, errors: f64) -> bool {
        self.make_offers(may_guess, errors);
        let market = Market {
            claims: &self.claims,
            offers: &self.offers,
        };
        let budget_w = cap_w - self.settings.margin_w;
        let mut chosen = std::mem::take(&mut self.chosen);
        let is = market.choose(self.settings.share, budget_w, &mut chosen);
        self.chosen = chosen;
        is
    }

    /// Whether a setting that was not measured is chosen.
    fn is_guess(&self) -> bool {
        self.chosen.iter().any(|c| !self.book.is_measured(*c))
    }

    /// The power is too high.
    fn lower(&mut self, cap_w: f64) {
        let may_guess = self.tries < self.settings.most_tries;
        let errors = CAREFUL * f64::from(self.tries);
        let may_hope = may_guess && self.is_doubtful();
        let is_found = self.choose(cap_w, may_guess, errors) && self.differs();
        if is_found || may_hope && self.choose(cap_w, true, LAST_HOPE) && self.differs() {
            self.tries += u32::from(self.is_guess());
            self.is_stuck = false;
            return self.change();
        }
        if may_guess {
            let lowest = self.tiers.iter().map(|t| t.here);
            let lowest = lowest.reduce(|a, b| if b.watts < a.watts { b } else { a });
            if let Some(c) = lowest.and_then(|here| self.book.worth_a_try(here)) {
                self.tries += 1;
                self.chosen.fill(c);
                return self.change();
            }
        }
        self.is_stuck = true;
        if self.explore_in_s <= 0.0 && self.tries > 0 {
            // One more try after a while, twice as long each time.
            self.tries -= 1;
            self.postpone();
        }
        for (place, tier) in self.chosen.iter_mut().zip(&self.tiers) {
            *place = self.book.lowest_measured(tier.here.at);
        }
        if self.differs() {
            return self.change();
        }
        if self.settings.can_limit && self.over_s >= self.settings.limit_after_s {
            for tier in &mut self.tiers {
                let half = 0.5 * self.book.iops(tier.here.at, tier.here.at);
                tier.limit = Some(half.max(LEAST_RATE));
            }
            self.guard.settle(self.settings.settle);
        }
    }

    /// There is power left.
    fn raise(&mut self, cap_w: f64) {
        let may_guess = self.explore_in_s <= 0.0;
        if self.is_busy() && self.choose(cap_w, may_guess, CAREFUL) && self.is_better(BETTER) {
            self.is_exploring = self.is_guess();
            self.change();
        }
    }

    /// Whether guesses were wrong by more than the tolerance on average.
    fn is_doubtful(&self) -> bool {
        self.book.error_w() * self.open.len() as f64 > self.settings.tolerance_w
    }

    /// The cap is kept. If the guesses of the map were often wrong, a much faster setting is tried that would keep it too if
    /// the map were wrong in the right direction.
    fn try_faster(&mut self, cap_w: f64) {
        let is_known = |t: &Tier| self.book.measured[t.here.at].is_some_and(|m| m.iops.is_some());
        let may = self.is_doubtful() && self.explore_in_s <= 0.0 && self.is_busy();
        let may = may && self.tiers.iter().all(is_known);
        if may && self.choose(cap_w, true, HOPEFUL) && self.is_better(MUCH_BETTER) {
            self.is_exploring = self.is_guess();
            self.change();
        }
    }

    /// Whether what is chosen is enough faster: with strict shares for the best tier that differs, else in all.
    fn is_better(&self, better: f64) -> bool {
        let n = self.book.len();
        let iops = |t: usize, c: usize| self.claims[t].n * self.offers[t * n + c].iops;
        let pairs = self.tiers.iter().zip(&self.chosen).enumerate();
        let mut pairs = pairs.map(|(t, (tier, c))| (t, iops(t, tier.here.at), iops(t, *c)));
        match self.settings.share {
            Share::Strict => pairs
                .find(|(_, now, then)| (then / now - 1.0).abs() > better - 1.0)
                .is_some_and(|(_, now, then)| then > now),
            Share::Weight | Share::Marginal => {
                let weighted = |t: usize| self.claims[t].weight;
                let (now, then) = pairs.fold((0.0, 0.0), |sums, (t, now, then)| {
                    (sums.0 + weighted(t) * now, sums.1 + weighted(t) * then)
                });
                then > better * now
            }
        }
    }

    /// Whether what is chosen is another setting than that of now.
    fn differs(&self) -> bool {
        let pairs = self.tiers.iter().zip(&self.chosen);
        pairs.into_iter().any(|(tier, c)| tier.here.at != *c)
    }

    /// The tiers get what is chosen.
    fn change(&mut self) {
        if !self.differs() {
            return;
        }
        self.guessed_w = [0.0; 2];
        for (tier, c) in self.tiers.iter_mut().zip(&self.chosen) {
            tier.before = tier.here;
            let guesses_w = self.book.guesses_w(*c, tier.here);
            for (sum, watts) in self.guessed_w.iter_mut().zip(guesses_w) {
                *sum += tier.n as f64 * watts;
            }
            tier.here = Here {
                at: *c,
                watts: self.book.power_w(*c, tier.here),
            };
        }
        (self.has_moved, self.is_try) = (true, self.is_guess());
        self.guard.settle(self.settings.settle);
    }

    fn is_limited(&self) -> bool {
        self.tiers.iter().any(|t| t.limit.is_some())
    }

    fn end_limits(&mut self) {
        for tier in &mut self.tiers {
            tier.limit = None;
        }
    }

    /// One period under a limited rate. With strict shares the last tier that can be slowed is, and the first is the first to
    /// get more; else all are.
    fn follow_limit(&mut self, now_w: f64, cap_w: f64, rate: Option<f64>) {
        let error_w = self.error_w(now_w, cap_w);
        let is_strict = self.settings.share == Share::Strict;
        let limit = |t: &Tier| t.limit.unwrap_or(f64::INFINITY);
        if error_w > self.settings.tolerance_w {
            let slowed = self
                .tiers
                .iter_mut()
                .rev()
                .filter(|t| limit(t) > LEAST_RATE);
            for tier in slowed.take(if is_strict { 1 } else { usize::MAX }) {
                tier.limit = Some((CUT * limit(tier)).max(LEAST_RATE));
            }
        } else if error_w < -2.0 * self.settings.tolerance_w {
            let allowed: f64 = self.tiers.iter().map(|t| t.n as f64 * limit(t)).sum();
            // A load that the limit does not hold back needs none.
            if rate.is_some_and(|rate| rate < 0.7 * allowed) {
                self.end_limits();
            }
            let full = |t: &Tier| limit(t) < self.book.iops(t.here.at, t.here.at);
            let is_any_held = self.tiers.iter().any(full);
            let first = |t: &&mut Tier| !is_any_held || full(t);
            let freed = self.tiers.iter_mut().filter(|t| t.limit.is_some());
            for tier in freed
                .filter(first)
                .take(if is_strict { 1 } else { usize::MAX })
            {
                tier.limit = Some(GROW * limit(tier));
            }
        }
        self.guard.settle(self.settings.settle.min(SECOND));
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
            self.end_limits();
        }
        let aim_w = self.aim_w();
        // At the end of a period its reading comes first.
        let is_measured = *turn == Turn::Keep && !self.has_moved && !self.is_limited();
        if let Some(now_w) = self.last_w.filter(|_| is_measured) {
            if now_w > aim_w + self.settings.tolerance_w {
                self.divide_power(now_w);
                self.lower(aim_w);
            }
        }
    }

    /// All drives have the setting of this number.
    fn set_all(&mut self, at: usize) {
        for tier in &mut self.tiers {
            tier.here = Here {
                at,
                watts: self.book.power_w(at, tier.here),
            };
        }
        self.has_moved = false;
    }

    fn status(&self, turn: &Turn) -> Status {
        let status = self.guard.status(turn);
        if status != Status::Regulating {
            return status;
        }
        let error_w = self.error_w(self.last_w.unwrap_or_default(), self.budget_w());
        let is_over = error_w > self.settings.tolerance_w;
        let is_least = self
            .tiers
            .iter()
            .all(|t| t.limit.is_some_and(|limit| limit <= LEAST_RATE));
        match (self.is_limited(), is_over) {
            (true, _) if !is_least => Status::Limiting,
            (true, true) => Status::Unreachable {
                excess: Watts(self.settings.meter_w(error_w)),
            },
            (false, true) if self.is_wrong => Status::WrongSign,
            (false, true) if self.is_stuck => Status::Unreachable {
                excess: Watts(self.settings.meter_w(error_w)),
            },
            (false, true) => Status::Settling,
            _ => Status::Regulating,
        }
    }
}

impl Policy for Learning {
    fn step(&mut self, input: &Input, commands: &mut [Command]) -> Status {
        let mut turn = self.guard.turn(input);
        let is_capped = matches!(turn, Turn::Keep | Turn::Act(_));
        if is_capped && self.follow_load(&input.sample) {
            // The readings of the period are those of the other load.
            turn = Turn::Keep;
        }
        self.follow_cap(&turn);
        match turn {
            Turn::Uncapped => {
                self.end_limits();
                if self.has_moved || self.tiers.iter().any(|t| t.here.at != self.own) {
                    self.set_all(self.own);
                }
                let uncapped_w = self.guard.uncapped_w();
                self.last_w = uncapped_w.map(|w| self.likely_w(self.settings.drives_w(w)));
            }
            Turn::Lost => {
                if self.last_w.is_some() || self.has_moved {
                    self.set_all(self.book.safest(self.tiers[0].here));
                }
                (self.has_moved, self.last_w) = (false, None);
            }
            Turn::Keep => self.act_early(),
            Turn::Act(reading) => self.act(reading),
        }
        let is_lost_open = turn == Turn::Lost && self.guard.settings().on_loss == OnLoss::Open;
        let is_own = turn == Turn::Uncapped || is_lost_open;
        let tiers = self.tiers.iter();
        let of_drives = tiers.flat_map(|tier| std::iter::repeat_n(tier, tier.n));
        for ((command, open), tier) in commands.iter_mut().zip(&self.open).zip(of_drives) {
            let limit = tier.limit.map_or(RateLimit::Unlimited, |rate| {
                RateLimit::Requests(Frequency(rate))
            });
            *command = match is_own {
                true => *open,
                false => Command {
                    rate_limit: limit,
                    ..self.book.points[tier.here.at].command(open)
                },
            };
        }
        self.status(&turn)
    }

    fn memory(&self) -> Option<Value> {
        Some(memory::document(&self.book))
    }

    fn recall(&mut self, document: &Value, since: Span) -> Result<usize, SpecError> {
        memory::recall(&mut self.book, document, since)
    }
}
