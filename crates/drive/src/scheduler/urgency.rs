//! Commands with a duration limit or a high priority that should go first, within what they may cost.

use super::aged_sptf::{choose, choose_beside};
use super::satf::{needs_of, served_choice};
use super::{Choice, CostFunction, Needs, Search, View};
use crate::command::Command;
use crate::limits::{Deadlines, Target};
use crate::queue::Queue;
use headstack_schema::Table;
use headstack_units::{Span, Time};
use std::ops::RangeInclusive;

/// Time over which a drive may save up what limits may cost, in nanoseconds.
const SAVED_OVER_NS: f64 = 1e9;

/// Share of what limits may cost that is earned. The arm stands worse after a command that went first, so the cost is up to a
/// sixth more than positioning tells (random reads at depth 32, guideline of 20 ms, a tenth allowed).
const EARNED: f64 = 0.8;

/// How much of the drive's time limits may still cost.
///
/// # Model
/// Time is earned as it passes, at the share that the limits may cost, and saved up over a second at most. A command that goes
/// first spends what its positioning takes longer than that of the command whose turn it was. While nothing is saved, limits have
/// no effect.
#[derive(Debug, Default)]
pub struct Allowance {
    saved_ns: f64,
    seen: Time,
}

impl Allowance {
    /// Whether a command may go first at `now`.
    pub fn allows(&mut self, now: Time, share: f64) -> bool {
        let share = share * EARNED;
        let most = share * SAVED_OVER_NS;
        let passed = now.since(self.seen).0 as f64;
        self.seen = self.seen.max(now);
        self.saved_ns = (self.saved_ns + share * passed).min(most);
        self.saved_ns > 0.0
    }

    /// A command goes first whose positioning takes `own` instead of `other`.
    pub fn spend(&mut self, own: Span, other: Span) {
        self.saved_ns -= (own - other).0.max(0) as f64;
    }
}

/// The longest target with which the order was measured. A longer one counts as this one: no drive is known to
/// let a command wait for seconds because that is allowed.
const LONGEST: Span = Span(300_000_000);

/// When a command with a target becomes urgent: after this share of its target, or so long before its end if that is later.
#[derive(Debug, Clone, Copy)]
pub struct Urgency {
    pub after: f64,
    pub before_ns: f64,
}

impl Urgency {
    /// At once.
    pub const ALWAYS: Urgency = Urgency { after: 0.0, before_ns: f64::INFINITY };

    /// Nanoseconds from `now` until a command is urgent; negative if it is.
    pub fn wait_ns(&self, target: Target, now: Time) -> f64 {
        let wait = target.wait.min(LONGEST).0 as f64;
        let waited = now.since(target.received).0 as f64;
        (wait * self.after).max(wait - self.before_ns) - waited
    }
}

/// Positioning time of the commands that are urgent.
struct Urgent<'a> {
    queue: &'a Queue,
    view: &'a View<'a>,
    deadlines: Deadlines<'a>,
    urgency: Urgency,
}

impl CostFunction for Urgent<'_> {
    type Cost = Span;

    fn of(&self, i: usize, arm: usize) -> Option<(Span, u8)> {
        let target = self.deadlines.of(i)?;
        if self.urgency.wait_ns(target, self.view.now) > 0.0 {
            return None;
        }
        self.view.positioning::<false>(self.queue, i, arm)
    }

    fn within(&self, cost: Span) -> Span {
        cost
    }
}

/// The nearest of the urgent commands, the oldest of equal ones; `None` if there is none that a free arm reaches.
#[inline]
pub fn nearest(
    search: &mut Search,
    queue: &Queue,
    view: &View,
    deadlines: Deadlines,
    urgency: Urgency,
) -> Option<Choice> {
    let urgent = Urgent { queue, view, deadlines, urgency };
    search.best(queue, view, &urgent)
}

/// An order of commands of which some have limits or priorities.
///
/// # Model
/// Commands without a target are chosen by positioning time less `weight` times age, one with a target by positioning time and
/// `slack_weight` times the time until it is *urgent* ([`Urgency`]). If any is urgent, and limits may cost more
/// ([`Allowance`]), the nearest urgent one goes next. But first another command is served on the way, if that one delays the
/// urgent one by less than the command whose turn it is would take, ages counted, and if the urgent one is still reached
/// at most `detour_late` after its target. A command with a target that is not urgent goes next where it is nearer
/// than the one whose turn it is plus `head_start_ns`.
#[derive(Debug, Clone, Copy)]
pub struct BesideLimits {
    pub weight: f64,
    pub slack_weight: f64,
    pub urgency: Urgency,
    pub detour_late: Span,
    pub head_start_ns: f64,
}

/// Bounds of an ageing: far more than any fit; with many commands waiting about the order of arrival.
pub(super) const AGEINGS: RangeInclusive<f64> = 0.0..=1e6;

/// SPTF with ageing in proportion to the queue, with an order of its own while commands with limits or priorities wait.
#[derive(Table)]
pub(super) struct DepthAged {
    /// How much positioning time a unit of waiting time outweighs, times the number of commands in the queue; no unit.
    #[param(default = 1.3, range = AGEINGS)]
    ageing: f64,
    /// Whether commands that the buffer can serve go first.
    #[param(default = true)]
    cache_aware: bool,
    #[param(skip)]
    search: Search,
    #[param(skip)]
    allowance: Allowance,
}

impl DepthAged {
    pub fn needs(&self) -> Needs {
        needs_of(self.cache_aware)
    }

    /// The next command: what the buffer can serve if the order is `cache_aware`, then as limits ask, in the order that
    /// `beside` says for a number of commands, then by positioning time less weighted age.
    #[inline]
    pub fn pick(&mut self, queue: &Queue, view: &View, beside: impl FnOnce(f64) -> BesideLimits) -> Choice {
        if self.cache_aware {
            if let Some(choice) = served_choice(queue, view) {
                return choice;
            }
        }
        let n = queue.len as f64;
        if let Some(deadlines) = view.deadlines {
            let state = (&mut self.search, &mut self.allowance);
            if let Some(choice) = beside(n).pick(state, queue, view, deadlines) {
                return choice;
            }
        }
        choose(&mut self.search, queue, view, self.ageing / n)
    }
}

impl BesideLimits {
    /// The next command; `None` while limits may cost no more, and the order without limits decides.
    fn pick(
        &self,
        (search, allowance): (&mut Search, &mut Allowance),
        queue: &Queue,
        view: &View,
        deadlines: Deadlines,
    ) -> Option<Choice> {
        if !allowance.allows(view.now, deadlines.limits.performance) {
            return None;
        }
        let usual = choose_beside(search, queue, view, (deadlines, self));
        let turn = view.cost(queue, usual.index).0;
        let next = match nearest(search, queue, view, deadlines, self.urgency) {
            Some(urgent) => match self.detour(queue, view, deadlines, (urgent, usual)) {
                Some(detour) => {
                    allowance.spend(detour.delay, turn);
                    return Some(detour.choice);
                }
                None => urgent,
            },
            None if self.head_start_ns > 0.0 => {
                let price = |i: usize| match deadlines.of(i) {
                    Some(_) => view.cost(queue, i).0 .0 as f64 - self.head_start_ns,
                    None => view.cost(queue, i).0 .0 as f64 - self.worth(queue, view, i),
                };
                match nearest(search, queue, view, deadlines, Urgency::ALWAYS) {
                    Some(near) if price(near.index) < price(usual.index) => near,
                    _ => return Some(usual),
                }
            }
            None => return Some(usual),
        };
        allowance.spend(view.cost(queue, next.index).0, turn);
        Some(next)
    }

    /// Weighted age of a command, in nanoseconds.
    fn worth(&self, queue: &Queue, view: &View, i: usize) -> f64 {
        let arrival = queue.items[i].arrival.at;
        self.weight * view.now.since(arrival).0 as f64
    }

    /// A command to be served before an urgent one, instead of the one whose turn it is.
    fn detour(
        &self,
        queue: &Queue,
        view: &View,
        deadlines: Deadlines,
        (urgent, usual): (Choice, Choice),
    ) -> Option<Detour> {
        let target = deadlines.of(urgent.index)?;
        let due = target.received + target.wait.min(LONGEST) + self.detour_late;
        let within = due.since(view.now);
        let took = view.cost(queue, usual.index).0 + queue.items[usual.index].transfer_time();
        let turn = took.0 as f64 - self.worth(queue, view, usual.index);
        let found = self.on_the_way(queue, view, urgent, within);
        found.filter(|d| d.price < turn)
    }

    /// The command whose service delays an urgent one least, ages counted, among those after which the urgent one is reached
    /// `within` this time. All are examined: bounds of their positioning say nothing of the way that follows.
    fn on_the_way(&self, queue: &Queue, view: &View, urgent: Choice, within: Span) -> Option<Detour> {
        let goal = &queue.items[urgent.index];
        let set = usize::from(urgent.arm);
        let direct = view.cost_with(set, goal);
        let mut best: Option<Detour> = None;
        for index in queue.by_age() {
            let item = &queue.items[index];
            let is_flush = item.request.command == Command::Flush;
            if index == urgent.index || is_flush || !view.reaches(set, item) {
                continue;
            }
            let worth = self.worth(queue, view, index);
            let own = view.cost_with(set, item) + item.transfer_time();
            // The urgent one is not reached before this command has ended.
            let least = (own - direct).0.max(0) as f64 - worth;
            if own > within || best.is_some_and(|b| least >= b.price) {
                continue;
            }
            let there = own + view.cost_after(set, item, own, goal);
            let delay = (there - direct).max(Span::ZERO);
            let price = delay.0 as f64 - worth;
            if there <= within && best.is_none_or(|b| price < b.price) {
                let choice = Choice { index, arm: urgent.arm };
                best = Some(Detour { choice, price, delay });
            }
        }
        best
    }
}

/// A command that is served on the way to an urgent one.
#[derive(Debug, Clone, Copy)]
struct Detour {
    choice: Choice,
    /// How much later the urgent one is reached, less the worth of waiting of the other one, in nanoseconds.
    price: f64,
    /// How much later the urgent one is reached.
    delay: Span,
}
