//! The drives behind one meter: tiers with their settings, and what is known of each kind of drive.

use super::book::{Book, Here};
use super::settings::Settings;
use super::share::{divide, Claim, Market, Offer, Share};

/// Doubts of one drive's power at a setting that was measured, and at one that was not, in watts; and of its throughput, as a
/// part.
const KNOWN_W: f64 = 0.05;
const GUESSED_W: f64 = 0.5;
const KNOWN: f64 = 0.02;
const GUESSED: f64 = 0.2;
/// Powers of one drive that differ by more are not the same.
const APART_W: f64 = 0.1;

/// No offer.
const NOTHING: Offer = Offer { power_w: 0.0, iops: 0.0, is_open: false };

/// Drives of one kind with one setting.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tier {
    /// Number of drives.
    pub(crate) n: usize,
    /// The place of their book.
    pub(crate) kind: usize,
    /// The point nearest to the drives' own settings.
    pub(crate) own: usize,
    pub(crate) here: Here,
    /// What it had before the last change.
    pub(crate) before: Here,
    /// Requests per second of one drive.
    pub(crate) limit: Option<f64>,
}

/// All drives.
pub(crate) struct Shelf {
    /// Of each kind of drive.
    pub(crate) books: Vec<Book>,
    pub(crate) tiers: Vec<Tier>,
    pub(crate) claims: Vec<Claim>,
    /// For each tier what each setting offers, as many for each; and what is chosen.
    offers: Vec<Offer>,
    pub(crate) chosen: Vec<usize>,
    /// For dividing a sum among tiers.
    parts: Vec<(f64, f64, f64)>,
}

impl Shelf {
    /// Tiers with their own settings.
    pub(crate) fn new(books: Vec<Book>, tiers: Vec<Tier>, claims: Vec<Claim>) -> Shelf {
        let most = books.iter().map(Book::len).max().unwrap_or(0);
        Shelf {
            offers: vec![NOTHING; tiers.len() * most],
            chosen: tiers.iter().map(|t| t.here.at).collect(),
            parts: Vec::with_capacity(tiers.len()),
            books,
            tiers,
            claims,
        }
    }

    fn book(&self, tier: &Tier) -> &Book {
        &self.books[tier.kind]
    }

    /// Number of drives.
    pub(crate) fn drives(&self) -> f64 {
        self.tiers.iter().map(|t| t.n as f64).sum()
    }

    /// Mean over all drives.
    fn mean(&self, of: impl Fn(&Tier) -> f64) -> f64 {
        let sum: f64 = self.tiers.iter().map(|t| t.n as f64 * of(t)).sum();
        sum / self.drives()
    }

    /// Places of the host's queue of a drive, on average.
    pub(crate) fn mean_places(&self) -> f64 {
        self.mean(|t| f64::from(self.book(t).points[t.here.at].nr_requests))
    }

    /// Depth of the queue of a drive, on average.
    pub(crate) fn mean_depth(&self) -> f64 {
        self.mean(|t| f64::from(self.book(t).points[t.here.at].queue_depth))
    }

    /// What is expected of the settings in use.
    pub(crate) fn expected_w(&self) -> f64 {
        self.tiers.iter().map(|t| t.n as f64 * t.here.watts).sum()
    }

    /// How far a tier is above its own cap, the most of all; negative if none is.
    pub(crate) fn tier_error_w(&self) -> f64 {
        let tiers = self.tiers.iter().zip(&self.claims);
        let errors = tiers.map(|(tier, claim)| claim.n * (tier.here.watts - claim.most_w));
        errors.fold(f64::NEG_INFINITY, f64::max)
    }

    /// By how much guesses for all drives were wrong on average.
    pub(crate) fn doubt_w(&self) -> f64 {
        self.mean(|t| self.book(t).error_w()) * self.drives()
    }

    /// All measurements become guesses.
    pub(crate) fn forget(&mut self) {
        self.books.iter_mut().for_each(Book::forget);
    }

    /// The first tier with each setting that is in use stands for all of its kind with this setting: its number, and how many
    /// drives have it.
    fn in_use(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let at = |t: usize| (self.tiers[t].kind, self.tiers[t].here.at);
        let first = move |t: &usize| (0..*t).all(|before| at(before) != at(*t));
        let drives = move |t: usize| {
            let like = (0..self.tiers.len()).filter(move |u| at(*u) == at(t));
            (t, like.map(|u| self.tiers[u].n as f64).sum())
        };
        (0..self.tiers.len()).filter(first).map(drives)
    }

    /// Divides a sum over all drives among the settings in use: `believed` has the value of one drive of a tier, and its
    /// doubt. The result is in `parts`, in the order of [`Shelf::in_use`].
    fn divide(&mut self, sum: f64, believed: impl Fn(&Shelf, &Tier) -> (f64, f64)) {
        let mut parts = std::mem::take(&mut self.parts);
        parts.clear();
        parts.extend(self.in_use().map(|(t, n)| {
            let (value, doubt) = believed(self, &self.tiers[t]);
            (n, value, doubt)
        }));
        divide(sum, &mut parts);
        self.parts = parts;
    }

    /// Divides the power of all drives among the tiers.
    pub(crate) fn divide_power(&mut self, now_w: f64) {
        self.divide(now_w, |me, tier| match me.book(tier).measured[tier.here.at] {
            Some(m) => (m.power_w, KNOWN_W),
            None => (tier.here.watts, GUESSED_W),
        });
        for i in 0..self.parts.len() {
            let Some((t, _)) = self.in_use().nth(i) else { return };
            let (kind, at) = (self.tiers[t].kind, self.tiers[t].here.at);
            let watts = self.parts[i].1;
            let like = self.tiers.iter_mut();
            for tier in like.filter(|u| (u.kind, u.here.at) == (kind, at)) {
                tier.here.watts = watts;
            }
        }
    }

    /// Notes what the settings in use draw, as [`Shelf::divide_power`] has found, and serve, after a period.
    pub(crate) fn measure(&mut self, rate: Option<f64>, period_s: f64) {
        self.divide(rate.unwrap_or_default(), |me, tier| {
            let (book, at) = (me.book(tier), tier.here.at);
            let is_known = book.measured[at].is_some_and(|m| m.iops.is_some());
            let iops = book.iops(at, at);
            (iops, iops * if is_known { KNOWN } else { GUESSED })
        });
        for kind in 0..self.books.len() {
            let drift_w = self.drift_w(kind);
            self.books[kind].pass(period_s, drift_w);
            for i in 0..self.parts.len() {
                let Some((t, _)) = self.in_use().nth(i) else { break };
                if self.tiers[t].kind == kind {
                    let iops = rate.map(|_| self.parts[i].1).filter(|iops| *iops > 0.0);
                    self.books[kind].note(self.tiers[t].here, iops, drift_w);
                }
            }
            self.books[kind].find_slope();
        }
    }

    /// How far drives of this kind draw more than was measured at their settings, on average.
    fn drift_w(&self, kind: usize) -> f64 {
        let (mut drift_w, mut known) = (0.0, 0.0);
        for (t, n) in self.in_use().filter(|(t, _)| self.tiers[*t].kind == kind) {
            if let Some(one_w) = self.books[kind].drift_w(self.tiers[t].here) {
                drift_w += n * one_w;
                known += n;
            }
        }
        if known > 0.0 {
            drift_w / known
        } else {
            0.0
        }
    }

    /// Whether a change was to lower a tier's power by the map, and has raised it.
    pub(crate) fn has_gone_wrong(&self) -> bool {
        self.tiers.iter().any(|tier| {
            let mapped_w = |here: Here| self.book(tier).points[here.at].power_w;
            let to_be = mapped_w(tier.here) - mapped_w(tier.before);
            to_be < -APART_W && tier.here.watts - tier.before.watts > APART_W
        })
    }

    /// Whether the throughput of each setting in use was measured.
    pub(crate) fn is_known(&self) -> bool {
        let known = |t: &Tier| self.book(t).measured[t.here.at].is_some_and(|m| m.iops.is_some());
        self.tiers.iter().all(known)
    }

    /// Requests per second of one drive of a tier at its setting.
    pub(crate) fn iops(&self, tier: &Tier) -> f64 {
        self.book(tier).iops(tier.here.at, tier.here.at)
    }

    /// Number of offers of a tier.
    fn n_offers(&self) -> usize {
        self.offers.len() / self.tiers.len()
    }

    /// What each setting offers to each tier. Without `may_guess` only measured settings are open. A tier's setting of now
    /// offers what it draws now.
    fn make_offers(&mut self, may_guess: bool, errors: f64) {
        let n = self.n_offers();
        for (t, tier) in self.tiers.iter().enumerate() {
            let book = &self.books[tier.kind];
            for c in 0..n {
                let is_now = c == tier.here.at;
                self.offers[t * n + c] = match c < book.len() {
                    false => NOTHING,
                    true => Offer {
                        power_w: if is_now { tier.here.watts } else { book.cautious_w(c, tier.here, errors) },
                        iops: book.iops(c, tier.here.at),
                        is_open: is_now || book.is_usable(c) && (may_guess || book.is_measured(c)),
                    },
                };
            }
        }
    }

    /// Chooses the fastest settings that keep the cap, with the margin, and guesses with so many of their errors more. Returns
    /// whether there are any.
    pub(crate) fn choose(&mut self, settings: &Settings, cap_w: f64, may_guess: bool, errors: f64) -> bool {
        self.make_offers(may_guess, errors);
        let market = Market { claims: &self.claims, offers: &self.offers };
        let budget_w = cap_w - settings.margin_w;
        let mut chosen = std::mem::take(&mut self.chosen);
        let is = market.choose(settings.share, budget_w, &mut chosen);
        self.chosen = chosen;
        is
    }

    /// Chooses for each kind of drive the unmeasured setting that may draw the least, where readings of all drives scatter so much.
    /// Returns whether there is one.
    pub(crate) fn choose_a_try(&mut self, scatter_w: f64) -> bool {
        let scatter_w = scatter_w / self.drives();
        let mut is_any = false;
        for (place, tier) in self.chosen.iter_mut().zip(&self.tiers) {
            *place = tier.here.at;
        }
        for kind in 0..self.books.len() {
            let like = self.tiers.iter().filter(|t| t.kind == kind);
            let lowest = like.map(|t| t.here);
            let lowest = lowest.reduce(|a, b| if b.watts < a.watts { b } else { a });
            let Some(c) = lowest.and_then(|here| self.books[kind].worth_a_try(here, scatter_w)) else { continue };
            is_any = true;
            for (place, tier) in self.chosen.iter_mut().zip(&self.tiers) {
                if tier.kind == kind {
                    *place = c;
                }
            }
        }
        is_any
    }

    /// Chooses the settings with the lowest measured power.
    pub(crate) fn choose_lowest(&mut self) {
        for (place, tier) in self.chosen.iter_mut().zip(&self.tiers) {
            *place = self.books[tier.kind].lowest_measured(tier.here.at);
        }
    }

    /// Chooses the drives' own settings.
    pub(crate) fn choose_own(&mut self) {
        for (place, tier) in self.chosen.iter_mut().zip(&self.tiers) {
            *place = tier.own;
        }
    }

    /// Chooses the settings of which the power is lowest as far as is known, the same for all drives of a kind.
    pub(crate) fn choose_safest(&mut self) {
        for (t, place) in self.chosen.iter_mut().enumerate() {
            let kind = self.tiers[t].kind;
            let first = self.tiers.iter().find(|u| u.kind == kind);
            let here = first.map_or(self.tiers[t].here, |u| u.here);
            *place = self.books[kind].safest(here);
        }
    }

    /// Whether a setting that was not measured is chosen.
    pub(crate) fn is_guess(&self) -> bool {
        let mut pairs = self.tiers.iter().zip(&self.chosen);
        pairs.any(|(t, c)| !self.book(t).is_measured(*c))
    }

    /// Whether what is chosen is another setting than that of now.
    pub(crate) fn differs(&self) -> bool {
        let mut pairs = self.tiers.iter().zip(&self.chosen);
        pairs.any(|(tier, c)| tier.here.at != *c)
    }

    /// Whether what is chosen is enough faster: with strict shares for the best tier that differs, else in all.
    pub(crate) fn is_better(&self, share: Share, better: f64) -> bool {
        let n = self.n_offers();
        let iops = |t: usize, c: usize| self.claims[t].n * self.offers[t * n + c].iops;
        let pairs = self.tiers.iter().zip(&self.chosen).enumerate();
        let mut pairs = pairs.map(|(t, (tier, c))| (t, iops(t, tier.here.at), iops(t, *c)));
        match share {
            Share::Strict => pairs
                .find(|(_, now, then)| (then / now - 1.0).abs() > better - 1.0)
                .is_some_and(|(_, now, then)| then > now),
            Share::Weight | Share::Marginal => {
                let weighted = |t: usize| self.claims[t].weight;
                let (now, then) = pairs
                    .fold((0.0, 0.0), |sums, (t, now, then)| (sums.0 + weighted(t) * now, sums.1 + weighted(t) * then));
                then > better * now
            }
        }
    }

    /// The tiers get what is chosen. Returns what all drives then draw by the maps, and by the smooth maps.
    pub(crate) fn take_chosen(&mut self) -> [f64; 2] {
        let mut guessed_w = [0.0; 2];
        for (tier, c) in self.tiers.iter_mut().zip(&self.chosen) {
            let book = &self.books[tier.kind];
            tier.before = tier.here;
            let guesses_w = book.guesses_w(*c, tier.here);
            for (sum, watts) in guessed_w.iter_mut().zip(guesses_w) {
                *sum += tier.n as f64 * watts;
            }
            tier.here = Here { at: *c, watts: book.power_w(*c, tier.here) };
        }
        guessed_w
    }

    /// Whether the rate of a drive is limited.
    pub(crate) fn is_limited(&self) -> bool {
        self.tiers.iter().any(|t| t.limit.is_some())
    }

    /// No rate is limited.
    pub(crate) fn end_limits(&mut self) {
        for tier in &mut self.tiers {
            tier.limit = None;
        }
    }
}
