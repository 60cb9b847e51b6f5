//! The interface of a member drive to the host. Dispatch is static, so it costs nothing.

use crate::controlled::ControlledDrive;
use crate::layer::{self, drive, ErrorKind, LayerCompletion, Waits};
use crate::target::Target;
use headstack_drive::limits::CountsByLimit;
use headstack_drive::power::conditions::Condition;
use headstack_drive::{
    Completion, Counters, Drive, DriveEnergy, DriveRequest, Fault, Heeded, Hint, Part, RoleUse, Setting,
};
use headstack_engine::{ByMode, SpecError};
use headstack_trace::{Ioprio, IoprioClass};
use headstack_units::Time;
use std::ops::Range;

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

/// A drive as the array drives it.
///
/// # Contract
/// - Time never decreases from call to call; only [`Member::next_event`] may be called at any time.
/// - [`Member::advance`] starts every service that starts before `until` (strictly: what arrives at `until` is
///   submitted first) and reports its completion, which may be after `until`.
/// - The number of steps in which a member is advanced has no effect.
/// - Each request submitted is reported exactly once; its components add up to its response time.
pub trait Member: Send {
    /// The type of its reports.
    type Report: CompletionReport;
    /// Size in 512-byte blocks.
    fn capacity_blocks(&self) -> u64;
    /// Sizes of its logical units, which follow one another in its blocks.
    fn logical_units(&self) -> Vec<u64> {
        let one = || vec![self.capacity_blocks()];
        self.drive().map_or_else(one, Drive::logical_units)
    }
    /// Parts taken out of use, in order of time.
    fn faults(&self) -> Vec<Fault> {
        self.drive().map(Drive::faults).unwrap_or_default()
    }
    /// What it has counted so far.
    fn counters(&self) -> Counters {
        self.drive().map(Drive::counters).unwrap_or_default()
    }
    /// Whether it has duration limits.
    fn has_limits(&self) -> bool {
        let limits = self.drive().map(Drive::duration_limits);
        limits.is_some_and(|l| !l.reads.is_empty() || !l.writes.is_empty())
    }
    /// Which hints of commands it heeds.
    fn heeded(&self) -> Heeded {
        let limits = self.drive().map(Drive::duration_limits);
        limits.map_or(Heeded::None, |l| l.enabled)
    }
    /// What it has counted of its duration limits; `None` where it heeds none.
    fn limit_counts(&self) -> Option<CountsByLimit> {
        self.drive().and_then(Drive::limit_counts)
    }
    /// What was done with the arms' roles up to `until`; `None` where they never change.
    fn role_use(&self, until: Time) -> Option<RoleUse> {
        self.drive().and_then(|d| d.role_use(until))
    }
    /// What it is asked for the turn of a request with this priority: nothing, unless it has enabled limits or priorities.
    fn hint(&self, priority: Ioprio) -> Hint {
        let high = priority.class() == IoprioClass::RealTime;
        let of = |d: &Drive| d.hint(priority.limit(), high);
        self.drive().map_or(Hint::None, of)
    }
    /// The same, fast for requests without a priority.
    #[inline(always)]
    fn hint_of(&self, priority: Ioprio) -> Hint {
        match priority {
            Ioprio::NONE => Hint::None,
            priority => self.hint(priority),
        }
    }
    /// Whether it treats requests of different submitters differently.
    const TELLS_SUBMITTERS_APART: bool = false;
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
    /// Earliest time at which [`Member::advance`] would have an effect; [`Time::NEVER`] if nothing is queued.
    fn next_event(&self) -> Time;
    /// Starts every service that starts before `until` and reports the completions.
    fn advance(&mut self, until: Time, sink: &mut impl FnMut(&Self::Report));
    /// Starts the services of its next event, which is at `now`, or of all events from then on and before `until` as long
    /// as requests are under way. Only members whose reports say when they were [made](CompletionReport::made) go beyond
    /// `now`.
    fn advance_busy(&mut self, now: Time, _until: Time, sink: &mut impl FnMut(&Self::Report)) {
        self.advance(Time(now.0 + 1), sink);
    }
    /// Number of waiting commands.
    fn queue_len(&self) -> usize;
    /// Energy from the last reset to `until`.
    fn energy(&mut self, until: Time) -> DriveEnergy;
    /// The joules of [`Member::energy`] by state.
    fn joules(&mut self, until: Time) -> ByMode {
        self.energy(until).joules()
    }
    /// Appends the joules of each drive in it, from the last reset to `until`.
    fn drive_joules(&mut self, until: Time, sums: &mut Vec<f64>) {
        let j = self.joules(until);
        sums.push(j.idle + j.seek + j.rotation + j.transfer + j.standby);
    }
    /// The largest number of arms that may move at once.
    fn arms(&self) -> u32 {
        self.drive().map_or(1, Drive::most_arms_in_motion)
    }
    /// The low-power conditions that it has.
    fn conditions(&self) -> Vec<Condition> {
        let has = |c: &Condition| self.drive().is_some_and(|d| d.has_condition(*c));
        Condition::LOW.into_iter().filter(has).collect()
    }
    /// The drive, if it is one or has one with which it does what that does: what this trait says of a drive is then read
    /// from it.
    fn drive(&self) -> Option<&Drive> {
        None
    }
    /// The same, to change it.
    fn drive_mut(&mut self) -> Option<&mut Drive> {
        None
    }
    /// Commands that it holds at once; 0 for all.
    fn queue_depth(&self) -> u32 {
        self.drive().map_or(0, Drive::queue_depth)
    }
    /// The parts of its blocks that different actuators serve.
    fn access_ranges(&self) -> Vec<Range<u64>> {
        let all = 0..self.capacity_blocks();
        let of = |d: &Drive| d.design().access_ranges();
        self.drive().map_or_else(|| vec![all], of)
    }
    /// As [`DriveNode::unwritten`](layer::DriveNode::unwritten), of a drive's blocks.
    fn unwritten(&self, blocks: Range<u64>, sink: &mut dyn FnMut(Range<u64>)) -> bool {
        self.drive().map(|d| d.unwritten(blocks, sink)).is_some()
    }
    /// The settings of each drive in it.
    fn controlled_drives(&self) -> Vec<ControlledDrive> {
        vec![ControlledDrive { arms: self.arms(), conditions: self.conditions(), ..ControlledDrive::default() }]
    }
    /// Changes a setting of the layer at the path `way`, at `now`, up to which the member was advanced.
    ///
    /// # Errors
    /// A value that the layer refuses.
    fn apply(&mut self, now: Time, _way: &[u32], setting: &layer::Setting) -> Result<(), SpecError> {
        self.change(now, &Target::Drives(Vec::new()), setting)
    }
    /// Whether the host queue at the path `way` admits nothing until its requests have ended, because a change of its
    /// places or of its elevator waits for that. In Linux the write that makes such a change returns after it.
    fn is_draining(&self, _way: &[u32]) -> bool {
        false
    }
    /// Restarts the count of energy at `now`.
    fn reset_statistics(&mut self, now: Time);
    /// Changes a setting at `now`. The drive must have been advanced to `now`.
    ///
    /// # Errors
    /// A setting that this drive refuses.
    fn set(&mut self, _now: Time, setting: Setting) -> Result<(), SpecError> {
        let need = "a drive that can be changed while it runs";
        Err(SpecError::new("setting", format!("{setting:?}"), need))
    }
    /// A part fails at `now`.
    ///
    /// # Errors
    /// A part that the drive does not have.
    fn fail(&mut self, _now: Time, part: Part) -> Result<(), SpecError> {
        let need = "a drive whose parts can fail while it runs";
        Err(SpecError::new("part", format!("{part:?}"), need))
    }
    /// Ends a waiting command as an error at `now`; false if no command with this id waits.
    fn abort(&mut self, _now: Time, _id: u64) -> bool {
        false
    }
    /// Whether a change of this target applies to this member, number `index` of the system.
    fn is_meant(&self, target: &Target, index: u32) -> bool {
        target.has_drive(index)
    }
    /// Applies a change at `now`, if the target includes this member. The member must have been advanced to
    /// `now`.
    ///
    /// # Errors
    /// A setting that it refuses.
    fn change(&mut self, now: Time, _target: &Target, setting: &layer::Setting) -> Result<(), SpecError> {
        match setting {
            layer::Setting::Drive(setting) => self.set(now, setting.clone()),
            layer::Setting::FailPart(part) => self.fail(now, *part),
            layer::Setting::FailZone(failed) => layer::fail_zone(self.drive_mut(), *failed),
            other => Err(layer::not_supported("a drive", other, drive::SETTINGS)),
        }
    }
}

impl Member for Drive {
    type Report = Completion;
    fn capacity_blocks(&self) -> u64 {
        Drive::capacity_blocks(self)
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
    #[inline]
    fn next_event(&self) -> Time {
        Drive::next_event(self)
    }
    #[inline(always)]
    fn advance(&mut self, until: Time, sink: &mut impl FnMut(&Completion)) {
        Drive::advance(self, until, sink);
    }
    fn queue_len(&self) -> usize {
        Drive::queue_len(self)
    }
    fn energy(&mut self, until: Time) -> DriveEnergy {
        Drive::energy(self, until)
    }
    fn joules(&mut self, until: Time) -> ByMode {
        Drive::joules(self, until)
    }
    fn drive(&self) -> Option<&Drive> {
        Some(self)
    }
    fn drive_mut(&mut self) -> Option<&mut Drive> {
        Some(self)
    }
    fn reset_statistics(&mut self, now: Time) {
        Drive::reset_statistics(self, now);
    }
    fn set(&mut self, now: Time, setting: Setting) -> Result<(), SpecError> {
        Drive::set(self, now, setting)
    }
    fn fail(&mut self, now: Time, part: Part) -> Result<(), SpecError> {
        Drive::fail(self, now, part)
    }
    fn abort(&mut self, now: Time, id: u64) -> bool {
        Drive::abort(self, now, id)
    }
}
