//! Changes in the course of a run.

use super::{ChangeCounts, Planned};
use crate::host::Host;
use crate::layer::Tree;
use crate::member::Member;
use headstack_engine::SpecError;
use headstack_units::Time;
use std::collections::BTreeSet;

/// Lets drives without work go through the changes of theirs, so that what a drive refuses is known before a run
/// begins; `make` makes drive number `i`. Drives with the same changes refuse the same.
///
/// # Errors
/// What a drive cannot be set to, and parts that it does not have, at the change's place.
pub fn try_out<M: Member>(
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
        let own: Vec<usize> = all
            .filter(|(_, c)| c.target.has_drive(drive))
            .map(|(i, _)| i)
            .collect();
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

/// Lets layers without work go through their changes: [`try_out`] for a system with layers. The tree stands still
/// meanwhile, so that no rebuild is simulated twice; it is of no use afterwards.
///
/// # Errors
/// As [`try_out`]; also layers that there are not, and what they cannot be set to.
pub fn try_out_layers(changes: &[Planned], tree: &mut Tree) -> Result<(), SpecError> {
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
    /// When the next one is due; [`Time::NEVER`] before the first request and after the last change.
    pub due: Time,
}

impl<'a> Schedule<'a> {
    pub fn new(changes: &'a [Planned]) -> Schedule<'a> {
        Schedule {
            changes,
            first: None,
            n_done: 0,
            due: Time::NEVER,
        }
    }

    /// The first request arrives at `first`; said again it changes nothing.
    pub fn begin(&mut self, first: Time) {
        self.first.get_or_insert(first);
        self.look_ahead();
    }

    fn look_ahead(&mut self) {
        let next = self.first.zip(self.changes.get(self.n_done));
        self.due = next.map_or(Time::NEVER, |(first, change)| first + change.at);
    }

    /// The next change happens, at the time it is due.
    ///
    /// # Errors
    /// What a drive or a layer refuses, at the change's place.
    pub fn happen<M: Member>(
        &mut self,
        members: &mut [M],
        host: &mut Host,
    ) -> Result<(), SpecError> {
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

    /// How many came, where there are any.
    pub fn counts(&self) -> Option<ChangeCounts> {
        let n_done = self.n_done as u64;
        (!self.changes.is_empty()).then(|| ChangeCounts {
            n_done,
            n_after_end: self.changes.len() as u64 - n_done,
        })
    }
}
