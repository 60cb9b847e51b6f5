//! Parameters of the policy `learning`.

use super::share::{Claim, Share};
use crate::pcap::tolerance;
use crate::policy::{efficiency, read_tiers, settle};
use crate::Device;
use headstack_schema::{Reader, SpecError};
use headstack_units::{Span, Watts};

/// The most tiers.
const MOST_TIERS: usize = 32;

/// Its parameters; watts are those of all drives.
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

/// A time in seconds.
pub(crate) fn seconds(reader: &mut Reader, key: (&'static str, &'static str), usual: i64) -> Result<f64, SpecError> {
    let value = reader.number(key, Span(usual * SECOND.0), SECOND..=Span(1000 * HOUR.0));
    value.map(Span::as_secs_f64)
}

impl Settings {
    pub(crate) fn read(reader: &mut Reader, devices: &[Device], period: Span) -> Result<Settings, SpecError> {
        let one = devices.len() == 1;
        let tolerance_w = tolerance(reader, if one { Watts(0.2) } else { Watts(1.0) })?;
        let margin_ratio = reader.number(
            ("margin_ratio", "How far below the cap the policy aims, as a part of the tolerance."),
            0.25,
            0.0..=1.0,
        )?;
        let efficiency = efficiency(reader, if one { 1.0 } else { 0.83 })?;
        let settle = settle(reader, period)?;
        let explore_after_s = seconds(
            reader,
            (
                "explore_after",
                "Time after a wrong guess until a faster setting is guessed again; twice as long each time.",
            ),
            60,
        )?;
        let limit_after_s = seconds(
            reader,
            ("limit_after", "Time above the cap with no setting left after which the rate is limited."),
            30,
        )?;
        let most_tries = reader.number(
            ("tries", "Settings that are tried one after another to find one with less power."),
            6,
            1..=100,
        )?;
        let share = reader.word(("share", "How tiers share the budget."), Share::Strict)?;
        Ok(Settings {
            tolerance_w: tolerance_w * efficiency,
            margin_w: tolerance_w * margin_ratio * efficiency,
            efficiency,
            share,
            settle,
            period_s: period.as_secs_f64(),
            explore_after_s,
            limit_after_s,
            most_tries,
            can_limit: devices.iter().all(|d| d.can_limit),
        })
    }

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
fn for_each_tier(
    reader: &mut Reader,
    key: (&'static str, &'static str),
    usual: f64,
    tiers: usize,
) -> Result<Vec<f64>, SpecError> {
    let list = reader.list(key, None, 1e-9..=1e9)?;
    match list {
        None => Ok(vec![usual; tiers]),
        Some(list) if list.len() == tiers => Ok(list),
        Some(list) => {
            let got = format!("{} values", list.len());
            Err(SpecError::new(key.0, got, format!("one for each of {tiers} tiers")))
        }
    }
}

/// The tiers: numbers of drives, weights and caps.
pub(crate) fn read_claims(reader: &mut Reader, drives: usize, settings: &Settings) -> Result<Vec<Claim>, SpecError> {
    let tiers = read_tiers(reader, drives)?;
    if tiers.len() > MOST_TIERS {
        let got = format!("{} tiers", tiers.len());
        return Err(SpecError::new("tiers", got, format!("at most {MOST_TIERS}")));
    }
    let weights =
        ("weights", "Weight of each tier: of its watts with `share = \"weight\"`, of its requests with \"marginal\".");
    let weights = for_each_tier(reader, weights, 1.0, tiers.len())?;
    let caps = ("tier_caps_w", "The most watts of each tier, as the meter would show them.");
    let caps = for_each_tier(reader, caps, 1e9, tiers.len())?;
    let each = tiers.iter().zip(weights).zip(caps);
    let claim = |((n, weight), cap_w): ((&usize, f64), f64)| Claim {
        n: *n as f64,
        weight,
        most_w: settings.drives_w(cap_w) / *n as f64,
    };
    Ok(each.map(claim).collect())
}
