//! The table `[duration_limits]`: descriptors of limits, what is enabled, and what an error costs.

use crate::command::LimitIndex;
use headstack_schema::{Choice, SpecError, Table};
use headstack_units::Span;

/// Longest time of a limit: that of a drive of 22 TB, 2^32 - 1 milliseconds.
const LONGEST: Span = Span(4_294_967_295 * 1_000_000);
/// Shortest time of a limit: SCSI has units of 500 ns.
const SHORTEST: Span = Span(500);
/// Longest time of reading a log.
const LONGEST_READ: Span = Span(10_000_000_000);

/// Shares of performance that a drive may give away for guidelines, as the standard codes them, from code 0.
pub const PERFORMANCE_CODES: [f64; 13] =
    [0.0, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.08, 0.10, 0.15, 0.20];

/// Duration limits and priorities of commands, as the host sets them. [`Setting::DurationLimits`] changes all of it while
/// the drive runs.
///
/// [`Setting::DurationLimits`]: crate::Setting::DurationLimits
#[derive(Debug, Clone, PartialEq, Table)]
#[table(defaults, check = LimitsSpec::check_fields)]
pub struct LimitsSpec {
    /// Which of them the drive heeds: no hints, `limits` (Linux: `cdl_enable`) or `priority` (Linux: `ncq_prio_enable`). The
    /// two exclude each other.
    pub enabled: Heeded,
    /// The seven limits of reads, from number 1; fewer may be given (mode page T2A).
    pub reads: Vec<DurationLimit>,
    /// The seven limits of writes (mode page T2B).
    pub writes: Vec<DurationLimit>,
    /// Share of its performance that the drive may give away for guidelines, of all limits together: 0, 0.005, 0.01, 0.015,
    /// 0.02, 0.025, 0.03, 0.04, 0.05, 0.08, 0.1, 0.15 or 0.2. 0: guidelines have no effect.
    #[param(default = 0.2)]
    pub performance: f64,
    /// After how long a command with high priority goes first.
    #[param(range = Span::ZERO..=LONGEST)]
    pub priority_target: Span,
    /// What the drive is attached by: an error of a limit costs more on SATA.
    pub transport: Transport,
    /// On SATA: how long the host takes to read the log after a limit was missed.
    #[param(default = Span(1_000_000), range = Span::ZERO..=LONGEST_READ)]
    pub log_read: Span,
}

/// Which hints of commands a drive heeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum Heeded {
    /// None of them.
    #[default]
    None,
    /// Duration limits.
    Limits,
    /// The high priority of native command queueing.
    Priority,
}

/// What a drive is attached by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum Transport {
    /// Serial ATA: after a missed limit the host has to read a log.
    #[default]
    Sata,
    /// Serial attached SCSI: the status of the command says what was missed.
    Sas,
}

/// One descriptor: three times, each with what happens if it is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Table)]
#[table(defaults)]
pub struct DurationLimit {
    /// Longest time from receipt of a command until the drive acts on it.
    #[param(range = SHORTEST..=LONGEST)]
    pub inactive: Option<Span>,
    /// What happens to a command that waits longer: `complete-earliest`, `complete-unavailable` or `abort`.
    pub inactive_policy: Policy,
    /// Longest time from then until status is sent.
    #[param(range = SHORTEST..=LONGEST)]
    pub active: Option<Span>,
    /// What happens to a command that takes longer: `complete-earliest`, `complete-unavailable`, `abort`, or `abort-recovery`
    /// on SAS.
    pub active_policy: Policy,
    /// Time that is wanted, on top of that of a read without a queue. It orders commands, and is no bound.
    #[param(range = SHORTEST..=LONGEST)]
    pub guideline: Option<Span>,
    /// What happens to a command that misses it; all but `abort-recovery`.
    pub guideline_policy: Policy,
}

impl DurationLimit {
    /// The time by which it orders commands: its guideline or inactive time, whichever is shorter.
    pub fn target(&self) -> Option<Span> {
        self.inactive.into_iter().chain(self.guideline).min()
    }
}

/// What happens to a command that misses a time of its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum Policy {
    /// It goes on, and ends as early as it can. (0h)
    #[default]
    CompleteEarliest,
    /// It goes on under the limit with the next number. (1h)
    ContinueNextLimit,
    /// It goes on without a limit. (2h)
    ContinueNoLimit,
    /// It ends without an error and without data. (Dh)
    CompleteUnavailable,
    /// It fails, perhaps during the recovery from an error. (Eh)
    AbortRecovery,
    /// It fails. (Fh)
    Abort,
}

impl Policy {
    /// The code of the standards.
    pub fn code(self) -> u8 {
        match self {
            Policy::CompleteEarliest => 0x0,
            Policy::ContinueNextLimit => 0x1,
            Policy::ContinueNoLimit => 0x2,
            Policy::CompleteUnavailable => 0xd,
            Policy::AbortRecovery => 0xe,
            Policy::Abort => 0xf,
        }
    }

    /// The policy of a code; `None` if it is reserved.
    pub fn of_code(code: u8) -> Option<Policy> {
        let all = [
            Policy::CompleteEarliest,
            Policy::ContinueNextLimit,
            Policy::ContinueNoLimit,
            Policy::CompleteUnavailable,
            Policy::AbortRecovery,
            Policy::Abort,
        ];
        all.into_iter().find(|p| p.code() == code)
    }

    /// Whether the command ends when the time is exceeded.
    pub(crate) fn ends(self) -> bool {
        matches!(self, Policy::CompleteUnavailable | Policy::AbortRecovery | Policy::Abort)
    }

    /// Whether the command goes on under another limit.
    pub(crate) fn changes(self) -> bool {
        matches!(self, Policy::ContinueNextLimit | Policy::ContinueNoLimit)
    }
}

impl LimitsSpec {
    /// The limits of reads or of writes; those that are not given have no times.
    pub fn limits(&self, write: bool) -> [DurationLimit; LimitIndex::COUNT] {
        let mut all = [DurationLimit::default(); LimitIndex::COUNT];
        let given = if write { &self.writes } else { &self.reads };
        for (to, from) in all.iter_mut().zip(given) {
            *to = *from;
        }
        all
    }

    /// Checks what the fields mean together.
    fn check_fields(&self) -> Result<(), SpecError> {
        if !PERFORMANCE_CODES.contains(&self.performance) {
            let need = "one of 0, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.08, 0.1, 0.15, 0.2";
            return Err(SpecError::new("performance", self.performance, need));
        }
        for (key, list) in [("reads", &self.reads), ("writes", &self.writes)] {
            if list.len() > LimitIndex::COUNT {
                let got = format!("{} limits", list.len());
                return Err(SpecError::new(key, got, "at most 7"));
            }
            for (i, limit) in list.iter().enumerate() {
                let is_last = i + 1 == LimitIndex::COUNT;
                let checked = limit.check_policies(is_last, self.transport);
                checked.map_err(|e| e.within(&format!("{key}[{i}]")))?;
            }
        }
        Ok(())
    }
}

impl DurationLimit {
    /// Checks that each time has a policy that the standards allow for it.
    fn check_policies(&self, is_last: bool, transport: Transport) -> Result<(), SpecError> {
        let refuse = |key: &str, policy: Policy, need: &str| Err(SpecError::new(key, policy.word(), need));
        let policy = self.inactive_policy;
        if policy.changes() || policy == Policy::AbortRecovery {
            let need = "complete-earliest, complete-unavailable or abort";
            return refuse("inactive_policy", policy, need);
        }
        let policy = self.active_policy;
        if policy.changes() {
            let need = "complete-earliest, complete-unavailable, abort or abort-recovery";
            return refuse("active_policy", policy, need);
        }
        if policy == Policy::AbortRecovery && transport == Transport::Sata {
            let need = "abort; sata has no abort-recovery, sas has";
            return refuse("active_policy", policy, need);
        }
        let policy = self.guideline_policy;
        if policy == Policy::AbortRecovery {
            let need = "any but abort-recovery, which is for active times";
            return refuse("guideline_policy", policy, need);
        }
        if is_last && policy.changes() {
            let need = "complete-earliest, complete-unavailable or abort, for the seventh limit";
            return refuse("guideline_policy", policy, need);
        }
        Ok(())
    }
}
