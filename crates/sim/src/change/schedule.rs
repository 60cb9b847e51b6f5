//! Applies changes during a run, or in the time of whoever drives a system.

use super::{ChangeCounts, Planned, Setting};
use crate::request_tracker::RequestTracker;
use headstack_block::layer::Tree;
use headstack_block::member::{Adjust, Member};
use headstack_engine::SpecError;
use headstack_units::Time;
use std::borrow::Cow;
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

/// The changes of a system, and which of them is next.
#[derive(Default)]
pub struct Schedule<'a> {
    changes: Cow<'a, [Planned]>,
    first: Option<Time>,
    /// How many were made.
    pub n_done: usize,
    /// Time of the next change; [`Time::NEVER`] before the first request and after the last change.
    pub due: Time,
}

impl<'a> Schedule<'a> {
    /// Of changes in order of time.
    pub fn new(changes: impl Into<Cow<'a, [Planned]>>) -> Schedule<'a> {
        Schedule { changes: changes.into(), first: None, n_done: 0, due: Time::NEVER }
    }

    /// Whether a drive carries out a change of the schedule when it has finished its commands, by a time of its own.
    pub(crate) fn has_own_times(&self) -> bool {
        use headstack_drive::Setting::{PowerCondition, SpindleSpeed};
        let waits = |s: &Setting| matches!(s, Setting::Drive(PowerCondition(_) | SpindleSpeed { .. }));
        self.changes.iter().any(|c| waits(&c.setting))
    }

    /// Starts the schedule at the arrival of the first request, and returns true. Further calls have no effect.
    pub fn begin(&mut self, first: Time) -> bool {
        let begins = self.first.is_none();
        self.first.get_or_insert(first);
        self.look_ahead();
        begins
    }

    fn look_ahead(&mut self) {
        let next = self.first.zip(self.changes.get(self.n_done));
        self.due = next.map_or(Time::NEVER, |(first, change)| first + change.at);
    }

    /// The next change, if it is due at `now`, to be made; then the one after it is the next.
    pub fn take(&mut self, now: Time) -> Option<&Planned> {
        if self.due > now || self.due == Time::NEVER {
            return None;
        }
        self.n_done += 1;
        self.look_ahead();
        self.changes.get(self.n_done - 1)
    }

    /// Goes on where the schedule of an equal system is; returns the changes before.
    pub fn follow(&mut self, before: &Schedule) -> &[Planned] {
        (self.first, self.n_done) = (before.first, before.n_done.min(self.changes.len()));
        self.look_ahead();
        &self.changes[..self.n_done]
    }

    /// Applies the next change at the time it is due.
    ///
    /// # Errors
    /// A setting that a drive or a layer refuses, at the change's place.
    pub(crate) fn happen<M: Member>(&mut self, members: &mut [M], host: &mut RequestTracker) -> Result<(), SpecError> {
        let now = self.due;
        let Some(change) = self.take(now) else {
            return Ok(());
        };
        for (i, member) in members.iter_mut().enumerate() {
            if member.is_meant(&change.target, i as u32) {
                member.advance(now, &mut |c| host.part_done(i, c));
                let applied = member.change(now, &change.target, &change.setting);
                applied.map_err(|e| change.located(e))?;
            }
        }
        Ok(())
    }

    /// The counts; none without changes.
    pub(crate) fn counts(&self) -> Option<ChangeCounts> {
        let n_done = self.n_done as u64;
        (!self.changes.is_empty()).then(|| ChangeCounts { n_done, n_after_end: self.changes.len() as u64 - n_done })
    }
}
