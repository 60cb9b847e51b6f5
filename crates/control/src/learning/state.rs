//! Where the policy `learning` stands, as a document for a run that goes on after an interruption: how its search stands, settings
//! and limits in force, and the cap for which they are. What it has measured is in its memory ([`super::memory`]).

use super::search::Search;
use super::shelf::{Shelf, Tier};
use crate::guard::{Guard, KeptTimers};
use headstack_schema::{read, SpecError, Table};
use headstack_units::{Frequency, Span, Watts};
use serde_json::{json, Value};

/// A year: longer times are not from here.
const LONGEST: Span = Span(31_536_000_000_000_000);

#[derive(Table)]
struct Kept {
    /// Timers of the guard.
    guard: KeptTimers,
    /// The cap at the meter.
    cap: Option<Watts>,
    /// Guesses since the cap was kept last.
    tries: u32,
    /// Time above the cap since then.
    #[param(range = Span(0)..=LONGEST)]
    over: Span,
    /// Whether no setting is known that keeps the cap.
    is_stuck: bool,
    /// Time until a faster setting may be guessed again.
    #[param(range = Span(0)..=LONGEST)]
    explore_in: Span,
    /// Time after the next failure.
    #[param(range = Span(0)..=LONGEST)]
    explore_next: Span,
    /// Of each tier.
    tiers: Vec<KeptTier>,
}

#[derive(Table)]
struct KeptTier {
    /// Number of drives.
    drives: u32,
    /// Places of the host's queue.
    nr_requests: u32,
    /// Depth of the drive's queue.
    queue_depth: u32,
    /// Time from a read's arrival to its deadline; absent: the drive's own.
    read_expire: Option<Span>,
    /// Arms in motion.
    arms: u32,
    /// Limit of the rate of one drive.
    #[param(range = Frequency(1e-3)..=Frequency(1e6))]
    limit: Option<Frequency>,
}

/// Where it stands.
pub(crate) fn document(guard: &Guard, search: &Search, shelf: &Shelf, cap_w: Option<f64>) -> Value {
    let seconds = |s: f64| format!("{s} s");
    let tier = |tier: &Tier| {
        let point = &shelf.books[tier.kind].points[tier.here.at];
        let mut entry = json!({
            "drives": tier.n,
            "nr_requests": point.nr_requests,
            "queue_depth": point.queue_depth,
            "arms": point.arms,
        });
        if let Some(expire) = point.read_expire {
            entry["read_expire"] = json!(format!("{} ns", expire.0));
        }
        if let Some(limit) = tier.limit {
            entry["limit"] = json!(format!("{limit}/s"));
        }
        entry
    };
    let tiers: Vec<Value> = shelf.tiers.iter().map(tier).collect();
    let mut document = json!({
        "guard": guard.state(),
        "tries": search.tries,
        "over": seconds(search.over_s),
        "is_stuck": search.is_stuck,
        "explore_in": seconds(search.explore_in_s),
        "explore_next": seconds(search.explore_next_s),
        "tiers": tiers,
    });
    if let Some(cap_w) = cap_w {
        document["cap"] = json!(format!("{cap_w} W"));
    }
    document
}

/// Goes on from there, after so long. Settings that the map does not have are left out. Returns the cap for which it was.
///
/// # Errors
/// Another kind of document, or other tiers; then all is as it was.
pub(crate) fn resume(
    (guard, search, shelf): (&mut Guard, &mut Search, &mut Shelf),
    state: &Value,
    since: Span,
) -> Result<Option<f64>, SpecError> {
    let kept: Kept = read(state)?;
    let drives: Vec<usize> = kept.tiers.iter().map(|t| t.drives as usize).collect();
    let is: Vec<usize> = shelf.tiers.iter().map(|t| t.n).collect();
    if drives != is {
        let got = format!("{drives:?} drives");
        return Err(SpecError::new("tiers", got, format!("{is:?} drives")));
    }
    guard.go_on(&kept.guard, since);
    let left_s = kept.explore_in.as_secs_f64() - since.as_secs_f64();
    *search = Search {
        tries: kept.tries,
        over_s: kept.over.as_secs_f64(),
        is_stuck: kept.is_stuck,
        is_exploring: false,
        explore_in_s: left_s.max(0.0),
        explore_next_s: kept.explore_next.as_secs_f64(),
    };
    for (place, kept) in kept.tiers.iter().enumerate() {
        let tier = shelf.tiers[place];
        let points = shelf.books[tier.kind].points.iter();
        let setting = (kept.nr_requests, kept.queue_depth, kept.read_expire, kept.arms);
        let mut points = points.map(|p| (p.nr_requests, p.queue_depth, p.read_expire, p.arms));
        shelf.chosen[place] = points.position(|p| p == setting).unwrap_or(tier.here.at);
        shelf.tiers[place].limit = kept.limit.map(|l| l.0);
    }
    shelf.take_chosen();
    Ok(kept.cap.map(|c| c.0))
}
