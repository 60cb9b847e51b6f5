//! Parameters of the policy `learning`.

use super::share::{Claim, Share};
use crate::guard::GuardTable;
use crate::map::Maps;
use crate::pcap::MOST;
use crate::policy::{built, fill_settle, fill_tiers, usual_meter, Drives, Facts, Need};
use crate::Device;
use headstack_schema::{SpecError, Table};
use headstack_units::{Span, Watts};

/// The most tiers.
const MOST_TIERS: usize = 32;

/// Parameters of `learning`.
#[derive(Table)]
#[table(
    model = "measures settings and takes the fastest that keep the cap; limits rates if none do",
    facts = Facts::of::<Self>(Drives::Several, &[Need::Queues]), build = built
)]
pub(crate) struct Parameters {
    #[param(flatten)]
    pub(crate) guard: GuardTable<5>,
    /// Differences from the cap up to this change nothing; left out, 0.2 W for one drive, 1 W for several.
    #[param(range = Watts(0.0)..=Watts(MOST))]
    tolerance: Option<Watts>,
    /// How far below the cap the policy aims, as a part of the tolerance.
    #[param(default = 0.25, range = 0.0..=1.0)]
    margin_ratio: f64,
    /// Efficiency of the power supply between the meter and the drives; left out, 1 for one drive, 0.83 for several.
    #[param(range = 0.1..=1.0)]
    efficiency: Option<f64>,
    /// Time after a change in which readings do not count, up to the period; left out, 2 s, or half the period.
    settle: Option<Span>,
    /// Time after a wrong guess until a faster setting is guessed again; twice as long each time.
    #[param(default = Span(60 * SECOND.0), range = SECOND..=Span(1000 * HOUR.0))]
    explore_after: Span,
    /// Time above the cap with no setting left after which the rate is limited.
    #[param(default = Span(30 * SECOND.0), range = SECOND..=Span(1000 * HOUR.0))]
    limit_after: Span,
    /// Settings that are tried one after another to find one with less power.
    #[param(default = 6, range = 1..=100)]
    tries: u32,
    /// How tiers share the budget.
    #[param(default = Share::Strict)]
    share: Share,
    /// Age at which a measurement counts no more.
    #[param(default = Span(1800 * SECOND.0), range = SECOND..=Span(1000 * HOUR.0))]
    pub(crate) forget_after: Span,
    /// Numbers of drives in each tier, best tier first; left out, all in one.
    #[param(range = 1..=10_000)]
    tiers: Option<Vec<u32>>,
    /// Weight of each tier: of its watts with `share = "weight"`, of its requests with "marginal".
    #[param(range = 1e-9..=1e9)]
    weights: Option<Vec<f64>>,
    /// The most watts of each tier, as the meter would show them.
    #[param(range = 1e-9..=1e9)]
    tier_caps_w: Option<Vec<f64>>,
    #[param(flatten)]
    pub(crate) maps: Maps,
}

/// Its parameters in force; watts are those of all drives.
pub(crate) struct Settings {
    pub(crate) tolerance_w: f64,
    pub(crate) margin_w: f64,
    pub(crate) efficiency: f64,
    pub(crate) share: Share,
    pub(crate) settle: Span,
    pub(crate) period_s: f64,
    pub(crate) explore_after_s: f64,
    pub(crate) limit_after_s: f64,
    pub(crate) most_tries: u32,
    pub(crate) can_limit: bool,
}

pub(crate) const SECOND: Span = Span(1_000_000_000);
const HOUR: Span = Span(3_600_000_000_000);

impl Parameters {
    pub(crate) fn settings(&mut self, devices: &[Device], period: Span) -> Result<Settings, SpecError> {
        let (tolerance, efficiency) = usual_meter(devices.len());
        let tolerance_w = self.tolerance.get_or_insert(tolerance).0;
        let efficiency = *self.efficiency.get_or_insert(efficiency);
        Ok(Settings {
            tolerance_w: tolerance_w * efficiency,
            margin_w: tolerance_w * self.margin_ratio * efficiency,
            efficiency,
            share: self.share,
            settle: fill_settle(&mut self.settle, period)?,
            period_s: period.as_secs_f64(),
            explore_after_s: self.explore_after.as_secs_f64(),
            limit_after_s: self.limit_after.as_secs_f64(),
            most_tries: self.tries,
            can_limit: devices.iter().all(|d| d.can_limit),
        })
    }

    /// The tiers: numbers of drives, weights and caps.
    pub(crate) fn claims(&mut self, drives: usize, settings: &Settings) -> Result<Vec<Claim>, SpecError> {
        let tiers = fill_tiers(&mut self.tiers, drives)?;
        if tiers.len() > MOST_TIERS {
            let got = format!("{} tiers", tiers.len());
            return Err(SpecError::new("tiers", got, format!("at most {MOST_TIERS}")));
        }
        let weights = for_each_tier("weights", &self.weights, 1.0, tiers.len())?;
        let caps = for_each_tier("tier_caps_w", &self.tier_caps_w, 1e9, tiers.len())?;
        let each = tiers.iter().zip(weights).zip(caps);
        let claim = |((n, weight), cap_w): ((&usize, f64), f64)| Claim {
            n: *n as f64,
            weight,
            most_w: settings.drives_w(cap_w) / *n as f64,
        };
        Ok(each.map(claim).collect())
    }
}

impl Settings {
    /// What the drives draw while the meter shows this.
    pub(crate) fn drives_w(&self, meter_w: f64) -> f64 {
        meter_w * self.efficiency
    }

    /// What the meter shows while the drives draw this.
    pub(crate) fn meter_w(&self, drives_w: f64) -> f64 {
        drives_w / self.efficiency
    }
}

/// A value for each tier; `usual` for all without the list.
fn for_each_tier(key: &str, list: &Option<Vec<f64>>, usual: f64, tiers: usize) -> Result<Vec<f64>, SpecError> {
    match list {
        None => Ok(vec![usual; tiers]),
        Some(list) if list.len() == tiers => Ok(list.clone()),
        Some(list) => {
            let got = format!("{} values", list.len());
            Err(SpecError::new(key, got, format!("one for each of {tiers} tiers")))
        }
    }
}
