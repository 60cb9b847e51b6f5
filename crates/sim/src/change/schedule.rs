//! Applies changes during a run.

use super::{ChangeCounts, Planned, Setting};
use crate::request_tracker::RequestTracker;
use headstack_block::layer::Tree;
use headstack_block::member::Member;
use headstack_engine::SpecError;
use headstack_units::Time;
use std::collections::BTreeSet;

/// Applies the changes to idle drives, so that a change that a drive refuses is an error before the run begins.
/// `make` makes drive number `i`. Of drives with the same changes only the first is tried.
///
/// # Errors
/// A setting that a drive refuses, or a part that it does not have, at the change's place.
pub fn dry_run<M: Member>(
    changes: &[Planned],
    count: u32,
    make: impl Fn(u32) -> Result<M, SpecError>,
) -> Result<(), SpecError> {
    if changes.is_empty() {
        return Ok(());
    }
    let mut tried: BTreeSet<Vec<usize>> = BTreeSet::new();
    for drive in 0..count {
        let all = changes.iter().enumerate();
        let own: Vec<usize> = all.filter(|(_, c)| c.target.has_drive(drive)).map(|(i, _)| i).collect();
        if own.is_empty() || !tried.insert(own.clone()) {
            continue;
        }
        let mut member = make(drive)?;
        for i in own {
            let now = Time::ZERO + changes[i].at;
            member.advance(now, &mut |_| {});
            let change = &changes[i];
            let applied = member.change(now, &change.target, &change.setting);
            applied.map_err(|e| change.located(e))?;
        }
    }
    Ok(())
}

/// As [`dry_run`], for a system with layers. The tree is not advanced, so that no rebuild is simulated twice. It
/// must not be used afterwards.
///
/// # Errors
/// As [`dry_run`]; also layers that do not exist, and settings that they refuse.
pub fn dry_run_layers(changes: &[Planned], tree: &mut Tree) -> Result<(), SpecError> {
    changes.iter().try_for_each(|change| {
        let now = Time::ZERO + change.at;
        let applied = tree.change(now, &change.target, &change.setting);
        applied.map_err(|e| change.located(e))
    })
}

/// The changes of a run, and which of them is next.
pub(crate) struct Schedule<'a> {
    changes: &'a [Planned],
    first: Option<Time>,
    pub n_done: usize,
    /// Time of the next change; [`Time::NEVER`] before the first request and after the last change.
    pub due: Time,
}

impl<'a> Schedule<'a> {
    pub fn new(changes: &'a [Planned]) -> Schedule<'a> {
        Schedule { changes, first: None, n_done: 0, due: Time::NEVER }
    }

    /// Whether a drive carries out a change of the schedule when it has finished its commands, by a time of its own.
    pub fn has_own_times(&self) -> bool {
        use headstack_drive::Setting::{PowerCondition, SpindleSpeed};
        let waits = |s: &Setting| matches!(s, Setting::Drive(PowerCondition(_) | SpindleSpeed { .. }));
        self.changes.iter().any(|c| waits(&c.setting))
    }

    /// Starts the schedule at the arrival of the first request. Further calls have no effect.
    pub fn begin(&mut self, first: Time) {
        self.first.get_or_insert(first);
        self.look_ahead();
    }

    fn look_ahead(&mut self) {
        let next = self.first.zip(self.changes.get(self.n_done));
        self.due = next.map_or(Time::NEVER, |(first, change)| first + change.at);
    }

    /// Applies the next change at the time it is due.
    ///
    /// # Errors
    /// A setting that a drive or a layer refuses, at the change's place.
    pub fn happen<M: Member>(&mut self, members: &mut [M], host: &mut RequestTracker) -> Result<(), SpecError> {
        let Some(change) = self.changes.get(self.n_done) else {
            return Ok(());
        };
        let now = self.due;
        for (i, member) in members.iter_mut().enumerate() {
            if member.is_meant(&change.target, i as u32) {
                member.advance(now, &mut |c| host.part_done(i, c));
                let applied = member.change(now, &change.target, &change.setting);
                applied.map_err(|e| change.located(e))?;
            }
        }
        self.n_done += 1;
        self.look_ahead();
        Ok(())
    }

    /// The counts; none without changes.
    pub fn counts(&self) -> Option<ChangeCounts> {
        let n_done = self.n_done as u64;
        (!self.changes.is_empty()).then(|| ChangeCounts { n_done, n_after_end: self.changes.len() as u64 - n_done })
    }
}
