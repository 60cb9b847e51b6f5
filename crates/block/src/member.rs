//! What a simulation asks of its members: drives, or a tree of layers over drives. Dispatch is static, so it costs nothing.

use crate::controlled::ControlledDrive;
use crate::layer::{self, change_drive, ErrorKind, LayerCompletion, Waits};
use crate::measured::MemberOutcome;
use crate::target::Target;
use headstack_drive::{Completion, Drive, DriveEnergy, DriveRequest, Hint};
use headstack_engine::{ByMode, SpecError};
use headstack_trace::{Ioprio, IoprioClass};
use headstack_units::Time;

/// The report of a request that a member has completed.
pub trait CompletionReport: Copy + Send {
    /// The completion, if the member is a drive: it contains everything, so that it can be counted by itself.
    fn of_drive(&self) -> Option<&Completion>;
    /// When it was made, if reports say so.
    fn made(&self) -> Option<Time> {
        None
    }
    /// Gives the full report, from member number `member`.
    fn with<T>(&self, member: u32, take: impl FnOnce(&LayerCompletion) -> T) -> T;
}

/// A completion of the drive `number` as that of a layer.
#[inline]
pub(crate) fn of_drive(c: &Completion, number: u32) -> LayerCompletion {
    LayerCompletion {
        id: c.id,
        arrival: c.arrival,
        admitted: c.arrival,
        completion: c.completion,
        announced: Time::ZERO,
        components: c.components,
        waits: Waits::default(),
        cache_hit: c.cache_hit,
        moved: c.moved(),
        seek_distance: c.seek_distance,
        arm: c.arm,
        drive: number,
        error: c.error.then(|| match (c.sense, c.limit.fails()) {
            (Some(sense), _) => ErrorKind::Zone(sense),
            (None, true) => ErrorKind::Limit(c.limit),
            (None, false) => ErrorKind::Unreachable,
        }),
        missed: c.limit.is_missed(),
    }
}

impl CompletionReport for Completion {
    #[inline(always)]
    fn of_drive(&self) -> Option<&Completion> {
        Some(self)
    }
    #[inline]
    fn with<T>(&self, member: u32, take: impl FnOnce(&LayerCompletion) -> T) -> T {
        take(&of_drive(self, member))
    }
}

/// When a member acts.
///
/// # Contract
/// - Time never decreases from call to call; only [`Clock::next_event`] may be called at any time.
/// - [`Clock::advance`] starts every service that starts before `until` (strictly: what arrives at `until` is submitted
///   first) and reports its completion, which may be after `until`.
/// - The number of steps in which a member is advanced has no effect.
pub trait Clock {
    /// The type of its reports.
    type Report: CompletionReport;
    /// Earliest time at which [`Clock::advance`] would have an effect; [`Time::NEVER`] if nothing is queued.
    fn next_event(&self) -> Time;
    /// Starts every service that starts before `until` and reports the completions.
    fn advance(&mut self, until: Time, sink: &mut impl FnMut(&Self::Report));
    /// Starts the services of its next event, which is at `now`, or of all events from then on and before `until` as long
    /// as requests are under way. Only members whose reports say when they were [made](CompletionReport::made) go beyond
    /// `now`.
    fn advance_busy(&mut self, now: Time, _until: Time, sink: &mut impl FnMut(&Self::Report)) {
        self.advance(Time(now.0 + 1), sink);
    }
}

/// What a member has used and counted since the last reset.
pub trait Meter {
    /// Energy up to `until`.
    fn energy(&mut self, until: Time) -> DriveEnergy;
    /// The joules of [`Meter::energy`] by state.
    fn joules(&mut self, until: Time) -> ByMode {
        self.energy(until).joules()
    }
    /// Appends the joules of each drive in it up to `until`.
    fn drive_joules(&mut self, until: Time, sums: &mut Vec<f64>);
    /// Writes what a drive has counted itself up to `until`, except its energy. Of the drives of a tree this is in the
    /// statistics of its layers.
    fn observe(&self, until: Time, outcome: &mut MemberOutcome);
    /// Restarts the counts at `now`.
    fn reset_statistics(&mut self, now: Time);
}

/// The settings of a member, and how they change.
pub trait Adjust {
    /// The settings of each drive in it.
    fn controlled_drives(&self) -> Vec<ControlledDrive>;
    /// Whether a change of this target applies to this member, number `index` of the system.
    fn is_meant(&self, target: &Target, index: u32) -> bool;
    /// Applies a change at `now`, up to which the member was advanced, to those of its parts that the target includes.
    ///
    /// # Errors
    /// A setting that it refuses.
    fn change(&mut self, now: Time, target: &Target, setting: &layer::Setting) -> Result<(), SpecError>;
    /// Changes a setting of the layer at the path `way`, at `now`, up to which the member was advanced.
    ///
    /// # Errors
    /// A value that the layer refuses.
    fn apply(&mut self, now: Time, way: &[u32], setting: &layer::Setting) -> Result<(), SpecError>;
    /// Whether the host queue at the path `way` admits nothing until its requests have ended, because a change of its
    /// places or of its elevator waits for that. In Linux the write that makes such a change returns after it.
    fn is_draining(&self, way: &[u32]) -> bool;
}

/// A member of a simulated system: what takes requests and reports each of them once. The components of a report add up
/// to its response time.
pub trait Member: Clock + Meter + Adjust + Send {
    /// Whether it treats requests of different submitters differently.
    const TELLS_SUBMITTERS_APART: bool;
    /// Sizes of its logical units in 512-byte blocks; they follow one another in its blocks.
    fn logical_units(&self) -> Vec<u64>;
    /// What it is asked for the turn of a request with this priority: nothing, unless it has enabled limits or priorities.
    fn hint(&self, priority: Ioprio) -> Hint;
    /// The same, fast for requests without a priority.
    #[inline(always)]
    fn hint_of(&self, priority: Ioprio) -> Hint {
        match priority {
            Ioprio::NONE => Hint::None,
            priority => self.hint(priority),
        }
    }
    /// A request reaches the drive at `now`. `submitter` is the number of the thread, client or process that submits it, or
    /// [`ANYONE`](layer::ANYONE).
    fn submit(&mut self, now: Time, request: DriveRequest, submitter: u32);
    /// Whether [`Member::serve_at_once`] serves usual requests, as long as the member is not changed.
    fn serves_in_sequence(&self) -> bool {
        false
    }
    /// As [`Drive::serve_at_once`], of a member that is a drive: the completion of a request that arrives at `now`, if it
    /// is known from the request alone and its service begins before `before`.
    #[inline(always)]
    fn serve_at_once(&mut self, _now: Time, _request: &DriveRequest, _before: Time) -> Option<&Completion> {
        None
    }
    /// Number of waiting commands.
    fn queue_len(&self) -> usize;
}

impl Clock for Drive {
    type Report = Completion;
    #[inline]
    fn next_event(&self) -> Time {
        Drive::next_event(self)
    }
    #[inline(always)]
    fn advance(&mut self, until: Time, sink: &mut impl FnMut(&Completion)) {
        Drive::advance(self, until, sink);
    }
}

impl Meter for Drive {
    fn energy(&mut self, until: Time) -> DriveEnergy {
        Drive::energy(self, until)
    }
    fn joules(&mut self, until: Time) -> ByMode {
        Drive::joules(self, until)
    }
    fn drive_joules(&mut self, until: Time, sums: &mut Vec<f64>) {
        sums.push(Drive::joules(self, until).total());
    }
    fn observe(&self, until: Time, outcome: &mut MemberOutcome) {
        outcome.observe(self, until);
    }
    fn reset_statistics(&mut self, now: Time) {
        Drive::reset_statistics(self, now);
    }
}

impl Adjust for Drive {
    fn controlled_drives(&self) -> Vec<ControlledDrive> {
        vec![ControlledDrive::default().with(self)]
    }
    fn is_meant(&self, target: &Target, index: u32) -> bool {
        target.has_drive(index)
    }
    fn change(&mut self, now: Time, _target: &Target, setting: &layer::Setting) -> Result<(), SpecError> {
        change_drive(self, now, setting)
    }
    fn apply(&mut self, now: Time, _way: &[u32], setting: &layer::Setting) -> Result<(), SpecError> {
        change_drive(self, now, setting)
    }
    fn is_draining(&self, _way: &[u32]) -> bool {
        false
    }
}

impl Member for Drive {
    const TELLS_SUBMITTERS_APART: bool = false;
    fn logical_units(&self) -> Vec<u64> {
        self.design.logical_units()
    }
    fn hint(&self, priority: Ioprio) -> Hint {
        Drive::hint(self, priority.limit(), priority.class() == IoprioClass::RealTime)
    }
    #[inline(always)]
    fn submit(&mut self, now: Time, request: DriveRequest, _submitter: u32) {
        Drive::submit(self, now, request);
    }
    fn serves_in_sequence(&self) -> bool {
        Drive::serves_in_sequence(self)
    }
    #[inline(always)]
    fn serve_at_once(&mut self, now: Time, request: &DriveRequest, before: Time) -> Option<&Completion> {
        Drive::serve_at_once(self, now, request, before)
    }
    fn queue_len(&self) -> usize {
        Drive::queue_len(self)
    }
}
