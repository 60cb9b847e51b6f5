//! The contract between a drive and its host: commands go in, completions come out.

use crate::join::{All, Part};
use crate::sense::{LimitEnd, Sense};
pub use headstack_engine::Command;
use headstack_schema::SpecError;
use headstack_units::{Lba, Span, Time};

/// What the host asks for a command's turn: a duration limit or a priority, never both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Hint {
    /// Neither.
    #[default]
    None,
    /// A duration limit, of those for the command's direction.
    Limit(LimitIndex),
    /// The high priority of native command queueing.
    HighPriority,
}

impl Hint {
    /// Of the fields of a command: the number of a duration limit, 0 for none, and whether its priority is high.
    ///
    /// # Errors
    /// A number above 7; both at once, which commands cannot have.
    pub fn new(limit: u8, high_priority: bool) -> Result<Hint, SpecError> {
        match (limit, high_priority) {
            (0, false) => Ok(Hint::None),
            (0, true) => Ok(Hint::HighPriority),
            (n, true) => {
                let got = format!("duration limit {n} and high priority");
                Err(SpecError::new("command", got, "one of them"))
            }
            (n, false) => match LimitIndex::new(n) {
                Some(index) => Ok(Hint::Limit(index)),
                None => Err(SpecError::new("command.duration_limit", n, "0 to 7")),
            },
        }
    }
}

/// The number of a duration limit, 1 to 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LimitIndex(u8);

impl LimitIndex {
    /// Limits for reads, and as many for writes.
    pub const COUNT: usize = 7;

    /// The number of a limit; `None` unless it is from 1 to 7.
    pub fn new(n: u8) -> Option<LimitIndex> {
        (1..=Self::COUNT as u8).contains(&n).then_some(LimitIndex(n))
    }

    /// The number, 1 to 7.
    pub fn number(self) -> u8 {
        self.0
    }

    /// Its place in a list of the limits, from 0.
    #[inline]
    pub fn place(self) -> usize {
        usize::from(self.0) - 1
    }
}

/// One command to a drive. Blocks are 512 bytes whatever the physical sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DriveRequest {
    /// The host's number for the command; [`Completion::id`] repeats it.
    pub id: u64,
    /// The operation.
    pub command: Command,
    /// First 512-byte block.
    pub lba: Lba,
    /// Number of 512-byte blocks; ignored by [`Command::Flush`].
    pub blocks: u32,
    /// What the host asks for its turn.
    pub hint: Hint,
}

/// The shares of a request's response time. The six shares add up to the response time
/// exactly. Where work overlaps, the time is charged to the part that was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Components {
    /// Time that the request waits for other requests or for the mechanism.
    pub queue: Span,
    /// Command processing that was not hidden behind a wait.
    pub overhead: Span,
    /// Arm movement, head switch and settling.
    pub seek: Span,
    /// Rotational latency.
    pub rotation: Span,
    /// Sectors passing under the head, including switches inside the transfer.
    pub transfer: Span,
    /// Link transfer that is not hidden behind the medium.
    pub bus: Span,
}

/// A completed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Completion {
    /// The host's number for the request, [`DriveRequest::id`].
    pub id: u64,
    /// When the request reached the drive.
    pub arrival: Time,
    /// When the drive reported completion to the host.
    pub completion: Time,
    /// Shares of the response time.
    pub components: Components,
    /// Whether all data came from the buffer (read) or the request completed in the buffer (write).
    pub cache_hit: bool,
    /// Whether the mechanism worked for the request before it completed.
    pub mechanical: bool,
    /// Seek distance in cylinders, or the layout's radial steps.
    pub seek_distance: u32,
    /// Which arm assembly of the drive served it, counted from 0 through all stacks.
    pub arm: u8,
    /// Whether the request failed: it lies outside the drive, no head reaches its surface, it breaks a rule
    /// of the drive's zones, or it ended by its duration limit.
    pub error: bool,
    /// The rule of the drive's zones that it breaks.
    pub sense: Option<Sense>,
    /// How it ended under its duration limit.
    pub limit: LimitEnd,
}

impl Completion {
    /// Whether an arm moved for it.
    #[inline]
    pub fn moved(&self) -> bool {
        self.mechanical && self.seek_distance > 0
    }

    /// A command that fails at `now`, the time of its arrival.
    pub(crate) fn refused(request: &DriveRequest, now: Time) -> Completion {
        Completion { id: request.id, arrival: now, completion: now, error: true, ..Completion::default() }
    }

    /// The completion of a command that ends without service at `now`, with an error.
    pub(crate) fn ended(request: &DriveRequest, arrival: Time, now: Time) -> Completion {
        let components = Components { queue: now.span_from(arrival), ..Components::default() };
        Completion { arrival, components, ..Completion::refused(request, now) }
    }

    /// The command waits, if needed, until `at`.
    pub(crate) fn held_until(&mut self, at: Time) {
        self.components.queue += at.since(self.completion);
        self.completion = self.completion.max(at);
    }
}

impl Part for Completion {
    type Error = LimitEnd;
    fn ends(&self) -> Time {
        self.completion
    }
    fn own(&self) -> All<LimitEnd> {
        let failure = self.error.then_some(self.limit);
        All { hit: self.cache_hit, moved: self.moved(), missed: self.limit.is_missed(), failure }
    }
    /// Arm and distance are those of the last part.
    fn whole(self, all: &All<LimitEnd>) -> Completion {
        let completed = match (self.limit, all.missed) {
            (LimitEnd::Met, true) => LimitEnd::Missed,
            (limit, _) => limit,
        };
        Completion { cache_hit: all.hit, error: all.failure.is_some(), limit: all.failure.unwrap_or(completed), ..self }
    }
}

/// A head or an arm assembly that the drive has deconfigured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// When it failed, or was about to.
    pub failed: Time,
    /// When the drive took it out of use.
    pub deconfigured: Time,
    /// Disk stack.
    pub stack: u32,
    /// Assembly of the stack.
    pub arm: u32,
    /// Surface of the head; `None`: the whole assembly.
    pub surface: Option<u32>,
    /// Whether the drive was warned in advance, so that no command met the failure.
    pub warning: bool,
}
