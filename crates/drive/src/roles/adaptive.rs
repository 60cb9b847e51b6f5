//! Roles that follow the share of writes in the load: either one arm writes and the others read, or all arms do both.
//!
//! # Model
//! There are two modes. In `split` the first arm writes and the others read (DALD). In `shared` all arms read and
//! write, so the arm that reaches the target first serves the command (DAD). The policy estimates the write fraction f
//! by an exponentially weighted mean over the commands that an arm had to serve:
//! ```text
//! f := f + (x - f) / window,    x = 1 for a write, 0 for a read.
//! ```
//! It changes from `shared` to `split` when f > b (`to_split_above`), and back when f < a (`to_shared_below`). It never
//! changes before the mode in force has served `dwell` commands. The estimate starts halfway between a and b. Only the
//! sequence of reads and writes matters, not their times.
//!
//! # Where to put the thresholds
//! Let R and W be the mean service times of reads and writes in each mode. Split roles are better above the write
//! fraction
//! ```text
//! w* = (R_split - R_shared) / ((R_split - R_shared) + (W_shared - W_split)).
//! ```
//! Shared roles make reads faster, because the arm that is nearer in time serves them. Split roles make writes faster,
//! because the writing arm stays where the free places are. If b <= w*, shared roles are never kept where split roles
//! are better. If a is above the write fraction at which DALD and DAD are equal, split roles are never kept where DAD
//! is better.
//!
//! # Why it does not oscillate
//! If the write fraction w is constant, the standard deviation of f is `sqrt(w (1 - w) / (2 window - 1))`. For the
//! defaults at w = 0.775, the middle of [a, b], it is 0.021; the ends are 0.075 away. For any load, n commands change
//! the mode at most 1 + n / max(1, dwell) times. Even without `dwell`, a change and the change back take at least
//! `window ln((1 - a) b / ((1 - b) a))` commands: 178 for the defaults.
//!
//! # Cost of a switch
//! A switch moves no data, because both modes use one map. Its cost has two parts. During `switch_time` the arms whose
//! roles change serve nothing. And when the load changes to the write fraction w, commands are served with the old
//! roles until f has passed the threshold. Whatever the earlier load, the mean number of these commands is at most
//! ```text
//! n(w) = dwell + window ln((1 - w) / (a - w))   to shared roles, w < a,
//! n(w) = dwell + window ln(w / (w - b))         to split roles, w > b,
//! ```
//! So one switch costs at most
//! ```text
//! n(w) max(0, T_old(w) - T_new(w)) + switch_time,
//! ```
//! where T are the mean service times with the old and the new roles at w. If the load changes again before the switch,
//! each change costs no more than that. For f between a and b the mode in force stays.
//!
//! # Source
//! J. A. Chandy, "A Dual Actuator Logging Disk Architecture", section 3, last paragraph: "adaptively switch from DALD
//! mode to DAD mode". The paper gives no rule. Estimate and thresholds with hysteresis are textbook.
//!
//! # Validity
//! The default thresholds are for a log mapping with one arm in motion and 4 KiB requests: b is just below the lowest
//! w* of the drives ibm-18es and cheetah-9lp (0.86 to 1), and a is above 0.46, where DALD and DAD are equal. Other
//! drives need thresholds of their own.

use super::{Mode, RolePolicy, RoleTable};
use crate::bounds::MOST_PAUSE;
use crate::spec::Role;
use headstack_schema::{Choice, SpecError, Table};
use headstack_units::{Span, Time};

/// The indices of the modes, before [`Parameters::start`] puts one of them first.
const SPLIT: usize = 0;
const SHARED: usize = 1;

/// The mode in force at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Choice)]
enum Start {
    /// The first arm writes, the others read.
    Split,
    /// All arms read and write.
    Shared,
}

#[derive(Debug, Clone, Table)]
#[table(
    check = Parameters::check_order,
    model = "split or shared roles, by the share of writes in the load",
    example = "to_split_above = 0.9\ndwell = 1000",
    build = |own, _| Ok(Box::new(Adaptive::new(own)))
)]
pub(super) struct Parameters {
    /// The mode at the start.
    #[param(default = Start::Split)]
    start: Start,
    /// Number of commands over which the write fraction is averaged, with exponential weights.
    #[param(default = 200.0, range = 1.0..=1e6)]
    window: f64,
    /// The roles change to `shared` below this write fraction, which is below `to_split_above`.
    #[param(default = 0.7, range = 0.0..=1.0)]
    to_shared_below: f64,
    /// The roles change to `split` above this write fraction.
    #[param(default = 0.85, range = 0.0..=1.0)]
    to_split_above: f64,
    /// Least number of commands that a mode serves before the next change.
    #[param(default = 200, range = 0..=1_000_000_000)]
    dwell: u64,
    /// An arm whose roles change serves nothing for this time, once it has finished its work.
    #[param(default, range = Span::ZERO..=MOST_PAUSE)]
    switch_time: Span,
    /// What each arm serves in the mode `split`. Empty: the first one writes, the others read.
    #[param(default)]
    split: RoleTable,
    /// What each arm serves in the mode `shared`. Empty: all read and write.
    #[param(default)]
    shared: RoleTable,
}

impl Parameters {
    fn check_order(&self) -> Result<(), SpecError> {
        if self.to_shared_below >= self.to_split_above {
            let need = format!("less than to_split_above = {}", self.to_split_above);
            let got = self.to_shared_below;
            return Err(SpecError::new("to_shared_below", got, need));
        }
        Ok(())
    }
}

/// The policy and its state.
#[derive(Debug)]
struct Adaptive {
    parameters: Parameters,
    /// The estimate of the write fraction.
    fraction: f64,
    /// Number of commands that the mode in force has served.
    served: u64,
    /// The index of the mode `split`.
    split: usize,
}

impl Adaptive {
    fn new(p: Parameters) -> Adaptive {
        Adaptive {
            fraction: (p.to_shared_below + p.to_split_above) / 2.0,
            served: 0,
            split: match p.start {
                Start::Split => SPLIT,
                Start::Shared => SHARED,
            },
            parameters: p,
        }
    }
}

impl RolePolicy for Adaptive {
    fn modes(&self, arms: u32) -> Vec<Mode> {
        let p = &self.parameters;
        let roles = |a: u32| vec![if a == 0 { Role::Write } else { Role::Read }];
        let split = if p.split.is_empty() { (0..arms).map(roles).collect() } else { p.split.clone() };
        let mut modes = vec![Mode { name: "split", roles: split }, Mode { name: "shared", roles: p.shared.clone() }];
        if p.start == Start::Shared {
            modes.swap(SPLIT, SHARED);
        }
        modes
    }

    fn note(&mut self, _now: Time, write: bool) {
        let x = f64::from(u8::from(write));
        self.fraction += (x - self.fraction) / self.parameters.window;
        self.served += 1;
    }

    fn wanted(&mut self, _now: Time, current: usize) -> usize {
        let p = &self.parameters;
        let split = current == self.split;
        let change = if split { self.fraction < p.to_shared_below } else { self.fraction > p.to_split_above };
        if !change || self.served < p.dwell {
            return current;
        }
        self.served = 0;
        1 - current
    }

    fn switch_time(&self) -> Span {
        self.parameters.switch_time
    }
}
