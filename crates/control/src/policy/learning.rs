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
//! `f` is the map, or a smooth function of the octaves of both queues that is fitted to it (`Book`), whichever guessed better.
//! Here `s` says how much of the map's differences is true: the median of the slopes between all pairs of the settings
//! that were measured last (Theil and Sen), with two more of 1. If power *rises* where the map says that it falls, `s`
//! becomes negative, and the guesses turn round; a single wrong point of the map does not move it.
//! `r(c)` is the mean error of the guesses at measured settings within an octave of `c`.
//!
//! | median of the period | what happens |
//! |---|---|
//! | within `tolerance` of the cap | nothing; but if guesses were wrong by more than the tolerance on average, a setting is tried that would be faster by 5 % and keep the cap if its guess were too high by half of that error |
//! | too high | the fastest settings that keep the cap by measurement, or by guess with a wider margin, which grows with the errors of guesses. If there are none, the fastest that would if its guess were too high by the mean error. Else the one with the lowest guess, if that is below all measured ones, or the lowest of the map, if its guess is above them by less than readings scatter; at most `tries` times, and once more after `explore_after`. Then the lowest measured one |
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
//! A load that fills the hosts' queues and one that does not (`Load`) have measurements and settings of their own, because a
//! shorter queue of the host is another load for the drive. Where the queue is not full, settings need places for all of the load, so
//! that a larger one is seen. What was measured under less than half or more than twice of the load is forgotten.
//!
//! Where the load does not fill the queues it is served whole by a slower setting too. There the policy aims so far below the cap that
//! all but few seconds are below it with its tolerance: by 2.5 standard deviations of single readings less the tolerance.
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
//! Our own. The built-in map is that of [`feed-forward`](super::feed_forward), and has points with an expiry of reads of 3 s besides.
//! # Validity
//! One load at a time: what is measured under one load is a guess under the next. Drives of several models behind one meter are
//! in tiers of their own, each with the map of its model (`maps`, `models`) and measurements of its own. With one meter, powers of
//! tiers are known only as far as their settings were measured.

use super::{several, Input, Policy, PolicyParameters, Status};
use crate::guard::{Guard, GuardSettings, OnLoss, Reading, Turn};
use crate::learning::book::{Book, Here};
use crate::learning::load::Load;
use crate::learning::memory;
use crate::learning::search::Search;
pub(crate) use crate::learning::settings::Parameters;
use crate::learning::settings::{Settings, SECOND};
use crate::learning::share::{Claim, Share};
use crate::learning::shelf::{Shelf, Tier};
use crate::learning::state;
use crate::map::{self, Extract, Statistic};
use crate::{Command, Device, RateLimit, Sample};
use headstack_schema::SpecError;
use headstack_units::{Frequency, Span, Watts};
use serde_json::Value;

/// The longest expiry of reads in the built-in map. With the shortest queue at the drive a full host's queue is not served within
/// 2 s, so its power falls once more up to 3 s; a longer one saves nothing.
const MOST_EXPIRE: Span = Span(3_000_000_000);
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

/// Readings after a guess that are enough, if each is above the cap.
const ENOUGH: u32 = 2;

/// What is known under a kind of load that is not there now.
struct Other {
    books: Vec<Book>,
    /// The settings of the tiers when it was there last, under which cap, and its size; no cap before it was there.
    at: Vec<Here>,
    cap_w: Option<f64>,
    requests: f64,
}

/// The last change of settings.
#[derive(Default)]
struct Change {
    /// Whether it was not measured yet; and whether it was to a guess.
    is_new: bool,
    is_try: bool,
    /// What all drives draw after it by the map, and by the smooth map.
    guessed_w: [f64; 2],
    /// Whether it was to lower the power and has raised it.
    is_wrong: bool,
}

/// What was seen last.
#[derive(Default)]
struct Seen {
    /// The last median of all drives.
    power_w: Option<f64>,
    cap_w: Option<f64>,
    /// The step of the meter at the last decision.
    step_w: f64,
}

struct Learning {
    guard: Guard,
    settings: Settings,
    open: Vec<Command>,
    shelf: Shelf,
    load: Load,
    /// What is known under the other kind of load, the one that fills the queues or the one that does not.
    other: Other,
    change: Change,
    seen: Seen,
    search: Search,
}

/// Tiers of drives with their own settings: numbers of drives, and the place of the book of each.
fn own_tiers(claims: &[Claim], kinds: &[usize], books: &[Book], open: &[Command]) -> Vec<Tier> {
    let mut first = 0;
    let tier = |(claim, kind): (&Claim, &usize)| {
        let book = &books[*kind];
        let own = book.nearest(&open[first]);
        first += claim.n as usize;
        let here = Here { at: own, watts: book.points[own].power_w };
        Tier { n: claim.n as usize, kind: *kind, own, here, before: here, limit: None }
    };
    claims.iter().zip(kinds).map(tier).collect()
}

impl PolicyParameters for Parameters {
    fn build(&mut self, devices: &[Device]) -> Result<Box<dyn Policy>, SpecError> {
        several(devices)?;
        let guard = self.guard.fill(devices.len())?;
        // A delayed reading is worth having: what settles takes longer by its age.
        let guard = GuardSettings { stale_after: guard.stale_after.max(Span(30 * SECOND.0)), ..guard };
        let settings = self.settings(devices, guard.period)?;
        let claims = self.claims(devices.len(), &settings)?;
        let counts: Vec<usize> = claims.iter().map(|c| c.n as usize).collect();
        let extract = Extract { statistic: Statistic::Mean, most_expire: MOST_EXPIRE };
        let (maps, kinds) = map::read_all(&self.maps, devices, &counts, extract)?;
        let books = || -> Vec<Book> {
            let maps = maps.iter().cloned();
            maps.map(|points| Book::new(points, self.forget_after.as_secs_f64())).collect()
        };
        let open: Vec<Command> = devices.iter().map(|d| d.clamp(d.open)).collect();
        let shelf = Shelf::new(books(), own_tiers(&claims, &kinds, &books(), &open), claims);
        Ok(Box::new(Learning {
            other: Other {
                books: books(),
                at: shelf.tiers.iter().map(|t| t.here).collect(),
                cap_w: None,
                requests: 0.0,
            },
            guard: Guard::robust(guard),
            open,
            shelf,
            load: Load::unknown(),
            change: Change::default(),
            seen: Seen::default(),
            search: Search::new(settings.explore_after_s),
            settings,
        }))
    }
}

impl Learning {
    fn act(&mut self, reading: Reading) {
        if self.guard.step_w() < std::mem::replace(&mut self.seen.step_w, self.guard.step_w()) {
            // The meter is finer than it seemed: what was taken for known was only expected.
            self.shelf.forget();
            self.other.books.iter_mut().for_each(Book::forget);
        }
        let now_w = self.likely_w(self.settings.drives_w(reading.power_w));
        self.seen.power_w = Some(now_w);
        if self.shelf.is_limited() {
            return self.follow_limit(now_w, self.budget_w(), reading.rate);
        }
        let cap_w = self.aim_w();
        self.learn(now_w, reading.rate);
        self.search.pass(self.settings.period_s);
        let error_w = self.error_w(now_w, cap_w);
        let is_over = error_w > self.settings.tolerance_w;
        if std::mem::take(&mut self.search.is_exploring) && is_over {
            self.search.postpone();
        }
        if is_over {
            // Only the cap itself is worth a limit of the rate.
            let is_above_cap = self.error_w(now_w, self.budget_w()) > self.settings.tolerance_w;
            self.search.over_s = if is_above_cap { self.search.over_s + self.settings.period_s } else { 0.0 };
            self.lower(cap_w);
        } else {
            self.search.is_kept();
            if error_w < -self.settings.tolerance_w {
                self.raise(cap_w);
            } else {
                self.try_faster(cap_w);
            }
        }
    }

    /// A wrong guess is seen before the end of the period.
    fn act_early(&mut self) {
        if !(self.change.is_new && self.change.is_try) {
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

    /// Standard deviation of single readings of all drives under one setting.
    fn scatter_w(&self) -> f64 {
        self.settings.drives_w(self.guard.scatter_w())
    }

    /// What the drives are to draw on average. A load that does not fill the queues is served whole under lower power too, so
    /// there all but few of its seconds are kept below the cap.
    fn aim_w(&self) -> f64 {
        let aside_w = match self.load.is_full {
            true => 0.0,
            false => (FEW_ABOVE * self.scatter_w() - self.settings.tolerance_w).max(0.0),
        };
        self.budget_w() - aside_w
    }

    /// How far the drives are above the cap, or a tier above its own, whichever is more.
    fn error_w(&self, now_w: f64, cap_w: f64) -> f64 {
        (now_w - cap_w).max(self.shelf.tier_error_w())
    }

    /// What the drives draw, as far as a reading tells: a meter with coarse steps leaves open where between two steps the power
    /// is. If what is expected of the settings in use lies there, it is that.
    fn likely_w(&self, read_w: f64) -> f64 {
        let half_w = 0.5 * self.settings.drives_w(self.guard.step_w());
        if half_w <= self.settings.tolerance_w {
            return read_w;
        }
        self.shelf.expected_w().clamp(read_w - half_w, read_w + half_w)
    }

    /// Whether the queues of the drives are full, also if those of the hosts are not: then their depth shows.
    fn is_busy(&self) -> bool {
        self.load.is_full || self.load.requests >= OTHER_LOAD * self.shelf.mean_depth()
    }

    /// Notices that the load fills the hosts' queues, or no longer does. Each of the two has its own measurements and its own
    /// settings, because a shorter queue in the host is another load for the drive.
    fn follow_load(&mut self, sample: &Sample) -> bool {
        if self.shelf.is_limited() || self.guard.is_settling() {
            return false;
        }
        let requests = self.load.requests;
        let (drives, places) = (self.open.len() as f64, self.shelf.mean_places());
        let is_other = self.load.see(sample, drives, places);
        if is_other {
            self.change_load(requests);
        }
        let least = self.load.least_places();
        self.shelf.books.iter_mut().for_each(|b| b.need_places(least));
        is_other
    }

    /// The other kind of load is there; the one of before had so many requests of each drive.
    fn change_load(&mut self, before: f64) {
        std::mem::swap(&mut self.shelf.books, &mut self.other.books);
        let cap_w = std::mem::replace(&mut self.other.cap_w, self.guard.cap_w());
        let requests = std::mem::replace(&mut self.other.requests, before);
        let is_known = cap_w.is_some();
        for (tier, at) in self.shelf.tiers.iter_mut().zip(&mut self.other.at) {
            let now = std::mem::replace(at, tier.here);
            if is_known {
                tier.here = now;
            }
        }
        self.change.is_new = false;
        self.search.is_kept();
        self.search.is_exploring = false;
        let is_other =
            !self.load.is_full && !(requests / OTHER_LOAD..=requests * OTHER_LOAD).contains(&self.load.requests);
        if is_other {
            self.shelf.forget();
        }
        self.seen.power_w = is_known.then(|| self.shelf.expected_w());
        self.guard.settle(self.settings.settle);
        if cap_w != self.guard.cap_w() {
            self.reconsider();
        }
    }

    /// The settings are those of another cap.
    fn reconsider(&mut self) {
        let aim_w = self.aim_w();
        if let Some(now_w) = self.seen.power_w {
            let error_w = now_w - aim_w;
            if error_w > self.settings.tolerance_w {
                self.lower(aim_w);
            } else if error_w < -self.settings.tolerance_w {
                self.raise(aim_w);
            }
        }
    }

    /// Notes what the settings in use draw and serve.
    fn learn(&mut self, now_w: f64, rate: Option<f64>) {
        self.shelf.divide_power(now_w);
        if self.change.is_new && self.change.is_try {
            let drives = self.open.len() as f64;
            let errors_w = self.change.guessed_w.map(|w| (now_w - w) / drives);
            for book in &mut self.shelf.books {
                book.were_wrong_by(errors_w);
            }
        }
        if std::mem::take(&mut self.change.is_new) {
            self.change.is_wrong = self.shelf.has_gone_wrong();
        }
        let rate = rate.filter(|_| self.is_busy());
        self.shelf.measure(rate, self.settings.period_s);
    }

    fn choose(&mut self, cap_w: f64, may_guess: bool, errors: f64) -> bool {
        self.shelf.choose(&self.settings, cap_w, may_guess, errors)
    }

    /// The power is too high.
    fn lower(&mut self, cap_w: f64) {
        let may_guess = self.search.tries < self.settings.most_tries;
        let errors = CAREFUL * f64::from(self.search.tries);
        let may_hope = may_guess && self.is_doubtful();
        let is_found = self.choose(cap_w, may_guess, errors) && self.shelf.differs();
        if is_found || may_hope && self.choose(cap_w, true, LAST_HOPE) && self.shelf.differs() {
            self.search.tries += u32::from(self.shelf.is_guess());
            self.search.is_stuck = false;
            return self.change();
        }
        if may_guess && self.shelf.choose_a_try(self.scatter_w()) {
            self.search.tries += 1;
            return self.change();
        }
        self.search.is_at_an_end();
        self.shelf.choose_lowest();
        if self.shelf.differs() {
            return self.change();
        }
        if self.settings.can_limit && self.search.over_s >= self.settings.limit_after_s {
            self.begin_limits();
        }
    }

    /// There is power left.
    fn raise(&mut self, cap_w: f64) {
        let may_guess = self.search.may_explore();
        if self.is_busy() && self.choose(cap_w, may_guess, CAREFUL) && self.is_better(BETTER) {
            self.search.is_exploring = self.shelf.is_guess();
            self.change();
        }
    }

    /// Whether guesses were wrong by more than the tolerance on average.
    fn is_doubtful(&self) -> bool {
        self.shelf.doubt_w() > self.settings.tolerance_w
    }

    /// The cap is kept. If the guesses of the map were often wrong, a much faster setting is tried that would keep it too if
    /// the map were wrong in the right direction.
    fn try_faster(&mut self, cap_w: f64) {
        let may = self.is_doubtful() && self.search.may_explore() && self.is_busy();
        let may = may && self.shelf.is_known();
        if may && self.choose(cap_w, true, HOPEFUL) && self.is_better(MUCH_BETTER) {
            self.search.is_exploring = self.shelf.is_guess();
            self.change();
        }
    }

    fn is_better(&self, better: f64) -> bool {
        self.shelf.is_better(self.settings.share, better)
    }

    /// The tiers get what is chosen.
    fn change(&mut self) {
        if !self.shelf.differs() {
            return;
        }
        self.change.guessed_w = self.shelf.take_chosen();
        (self.change.is_new, self.change.is_try) = (true, self.shelf.is_guess());
        self.guard.settle(self.settings.settle);
    }

    /// The rates of all drives are limited to half of what they serve.
    fn begin_limits(&mut self) {
        for t in 0..self.shelf.tiers.len() {
            let half = 0.5 * self.shelf.iops(&self.shelf.tiers[t]);
            self.shelf.tiers[t].limit = Some(half.max(LEAST_RATE));
        }
        self.guard.settle(self.settings.settle);
    }

    /// One period under a limited rate. With strict shares the last tier that can be slowed is, and the first is the first to
    /// get more; else all are.
    fn follow_limit(&mut self, now_w: f64, cap_w: f64, rate: Option<f64>) {
        let error_w = self.error_w(now_w, cap_w);
        let at_once = match self.settings.share {
            Share::Strict => 1,
            Share::Weight | Share::Marginal => usize::MAX,
        };
        let limit = |t: &Tier| t.limit.unwrap_or(f64::INFINITY);
        if error_w > self.settings.tolerance_w {
            let tiers = self.shelf.tiers.iter_mut().rev();
            for tier in tiers.filter(|t| limit(t) > LEAST_RATE).take(at_once) {
                tier.limit = Some((CUT * limit(tier)).max(LEAST_RATE));
            }
        } else if error_w < -2.0 * self.settings.tolerance_w {
            let tiers = self.shelf.tiers.iter();
            let allowed: f64 = tiers.map(|t| t.n as f64 * limit(t)).sum();
            // A load that the limit does not hold back needs none.
            if rate.is_some_and(|rate| rate < 0.7 * allowed) {
                self.shelf.end_limits();
            }
            let is_held = |shelf: &Shelf, t: usize| {
                let tier = &shelf.tiers[t];
                limit(tier) < shelf.iops(tier)
            };
            let n = self.shelf.tiers.len();
            let is_any_held = (0..n).any(|t| is_held(&self.shelf, t));
            let mut left = at_once;
            for t in 0..n {
                let is_limited = self.shelf.tiers[t].limit.is_some();
                if left > 0 && is_limited && (!is_any_held || is_held(&self.shelf, t)) {
                    let tier = &mut self.shelf.tiers[t];
                    tier.limit = Some(GROW * limit(tier));
                    left -= 1;
                }
            }
        }
        self.guard.settle(self.settings.settle.min(SECOND));
    }

    /// A cap that falls below the drives' power is followed before the end of the period; one that rises ends a limit.
    fn follow_cap(&mut self, turn: &Turn) {
        let cap_w = self.guard.cap_w();
        let before = std::mem::replace(&mut self.seen.cap_w, cap_w);
        let (Some(cap_w), true) = (cap_w, cap_w != before) else { return };
        self.search.begin(self.settings.explore_after_s);
        if before.is_none_or(|before| cap_w > before) {
            self.shelf.end_limits();
        }
        let aim_w = self.aim_w();
        // At the end of a period its reading comes first.
        let is_measured = *turn == Turn::Keep && !self.change.is_new && !self.shelf.is_limited();
        if let Some(now_w) = self.seen.power_w.filter(|_| is_measured) {
            if now_w > aim_w + self.settings.tolerance_w {
                self.shelf.divide_power(now_w);
                self.lower(aim_w);
            }
        }
    }

    /// There is no cap: the drives have their own settings.
    fn uncap(&mut self) {
        self.shelf.end_limits();
        self.shelf.choose_own();
        if self.change.is_new || self.shelf.differs() {
            self.shelf.take_chosen();
            self.change.is_new = false;
        }
        let uncapped_w = self.guard.uncapped_w();
        self.seen.power_w = uncapped_w.map(|w| self.likely_w(self.settings.drives_w(w)));
    }

    /// The meter is lost.
    fn play_safe(&mut self) {
        if self.seen.power_w.is_some() || self.change.is_new {
            self.shelf.choose_safest();
            self.shelf.take_chosen();
        }
        (self.change.is_new, self.seen.power_w) = (false, None);
    }

    fn status(&self, turn: &Turn) -> Status {
        let status = self.guard.status(turn);
        if status != Status::Regulating {
            return status;
        }
        let error_w = self.error_w(self.seen.power_w.unwrap_or_default(), self.budget_w());
        let is_over = error_w > self.settings.tolerance_w;
        let least = |t: &Tier| t.limit.is_some_and(|limit| limit <= LEAST_RATE);
        let is_least = self.shelf.tiers.iter().all(least);
        let unreachable = Status::Unreachable { excess: Watts(self.settings.meter_w(error_w)) };
        match (self.shelf.is_limited(), is_over) {
            (true, _) if !is_least => Status::Limiting,
            (true, true) => unreachable,
            (false, true) if self.change.is_wrong => Status::WrongSign,
            (false, true) if self.search.is_stuck => unreachable,
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
            Turn::Uncapped => self.uncap(),
            Turn::Lost => self.play_safe(),
            Turn::Keep => self.act_early(),
            Turn::Act(reading) => self.act(reading),
        }
        let is_lost_open = turn == Turn::Lost && self.guard.settings().on_loss == OnLoss::Open;
        let is_own = turn == Turn::Uncapped || is_lost_open;
        let tiers = self.shelf.tiers.iter();
        let of_drives = tiers.flat_map(|tier| std::iter::repeat_n(tier, tier.n));
        for ((command, open), tier) in commands.iter_mut().zip(&self.open).zip(of_drives) {
            let limit = tier.limit.map_or(RateLimit::Unlimited, |rate| RateLimit::Requests(Frequency(rate)));
            *command = match is_own {
                true => *open,
                false => {
                    Command { rate_limit: limit, ..self.shelf.books[tier.kind].points[tier.here.at].command(open) }
                }
            };
        }
        self.status(&turn)
    }

    fn begins_open(&self) -> bool {
        true
    }

    fn memory(&self, model: usize) -> Option<Value> {
        self.shelf.books.get(model).map(memory::document)
    }

    fn recall(&mut self, model: usize, document: &Value, since: Span) -> Result<usize, SpecError> {
        match self.shelf.books.get_mut(model) {
            Some(book) => memory::recall(book, document, since),
            None => Ok(0),
        }
    }

    fn state(&self) -> Option<Value> {
        let shelf = &self.shelf;
        Some(state::document(&self.guard, &self.search, shelf, self.seen.cap_w))
    }

    fn resume(&mut self, state: &Value, since: Span) -> Result<(), SpecError> {
        let parts = (&mut self.guard, &mut self.search, &mut self.shelf);
        self.seen.cap_w = state::resume(parts, state, since)?;
        Ok(())
    }
}
