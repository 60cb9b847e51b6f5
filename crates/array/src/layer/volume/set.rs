//! Settings of a volume: members that leave and come back, and the rate of the rebuild.

use super::state::State;
use super::{Stage, Volume};
use crate::layer::{not_supported, LayerCompletion, Setting, ANYONE};
use headstack_drive::Components;
use headstack_engine::SpecError;
use headstack_units::{Bandwidth, Time};

impl Volume {
    /// The volume with the members `gone` missing from the start, and with this rate of rebuilding.
    ///
    /// # Errors
    /// A member that does not exist, or a rate that is too low.
    pub(crate) fn with_redundancy(
        mut self,
        gone: &[u32],
        rate: Option<Bandwidth>,
    ) -> Result<Volume, SpecError> {
        for member in gone {
            self.check_member(*member, false).map_err(|e| SpecError {
                key: "gone".into(),
                ..e
            })?;
            self.leave(*member, Time::ZERO);
        }
        if rate.is_some() {
            self.set_here(Time::ZERO, &Setting::RebuildRate(rate))
                .map_err(|e| SpecError {
                    key: "rebuild_rate".into(),
                    ..e
                })?;
        }
        self.counts.members_lost = 0;
        Ok(self)
    }

    /// Changes a setting of the volume itself; a [`SpecError`] says what does not fit.
    pub(super) fn set_here(&mut self, now: Time, setting: &Setting) -> Result<(), SpecError> {
        match setting {
            Setting::MemberGone(member) => {
                if self.cancel_return(*member) {
                    return Ok(());
                }
                self.check_member(*member, false)?;
                self.leave(*member, now);
                Ok(())
            }
            Setting::MemberBack(member) => self.come_back(*member, false),
            Setting::MemberReplaced(member) => self.come_back(*member, true),
            Setting::RebuildRate(rate) => {
                self.check_redundant("setting.rebuild_rate")?;
                if let Some(rate) = rate.filter(|r| r.0 < 1.0) {
                    let need = "at least 1 B/s";
                    return Err(SpecError::new("setting.rebuild_rate", rate, need));
                }
                self.rebuild.set_rate(*rate);
                Ok(())
            }
            other => {
                let volume = format!("the volume {}", self.name);
                let known = &[
                    "member_gone",
                    "member_back",
                    "member_replaced",
                    "rebuild_rate",
                ];
                Err(not_supported(&volume, other, known))
            }
        }
    }

    fn check_redundant(&self, key: &str) -> Result<(), SpecError> {
        match self.placement.is_redundant() {
            true => Ok(()),
            false => Err(SpecError::new(key, self.name, "a volume with redundancy")),
        }
    }

    /// Checks that the member exists and that it is gone or present, as `gone` says.
    fn check_member(&self, member: u32, gone: bool) -> Result<(), SpecError> {
        self.check_redundant("setting.member")?;
        let n = self.state.members.len();
        let Some(m) = self.state.members.get(member as usize) else {
            let need = format!("one of the {n} members, counted from 0");
            return Err(SpecError::new("setting.member", member, need));
        };
        if m.gone != gone || m.returns.is_some() {
            let need = match gone {
                true => "a member that is gone",
                false => "a member that is there",
            };
            return Err(SpecError::new("setting.member", member, need));
        }
        Ok(())
    }

    /// Takes a member out of use at `now`. Its outstanding requests are aborted.
    pub(super) fn leave(&mut self, member: u32, now: Time) {
        if self.state.is_gone(member) {
            return;
        }
        self.state.set_gone(member, true);
        self.counts.members_lost += 1;
        self.rebuild.look_again();
        let has = |p: &super::Part| p.io.member == member && !p.is_announced && !p.orphan;
        let left: Vec<usize> = self
            .parts
            .iter()
            .filter(|(_, p)| has(p))
            .map(|(i, _)| i)
            .collect();
        for part in &left {
            self.parts[*part].orphan = true;
            self.below.abort(now, member, *part as u64);
        }
        for part in left {
            let Some((op, io)) = self.parts.get(part).map(|p| (p.op, p.io)) else {
                continue;
            };
            match self.ops[op as usize].stage {
                Stage::Reading => self.ops[op as usize].again = true,
                _ => self.lose_write(op, member, io.lba..io.lba + u64::from(io.blocks)),
            }
            let since = self.ops[op as usize].accounted;
            let lost = LayerCompletion {
                arrival: since,
                completion: now,
                components: Components {
                    queue: now.0 - since.0,
                    ..Components::default()
                },
                cache_hit: false,
                drive: ANYONE,
                ..LayerCompletion::default()
            };
            self.join(op, &lost, now);
        }
    }

    /// Cancels the return of a member that waits to come back. False if the member does not wait for that.
    fn cancel_return(&mut self, member: u32) -> bool {
        let state = self.state.members.get_mut(member as usize);
        let Some(replaced) = state.and_then(|m| m.returns.take()) else {
            return false;
        };
        if replaced {
            let blocks = self.below.blocks_of(member);
            self.state.set_stale(member, 0..blocks);
        }
        true
    }

    fn come_back(&mut self, member: u32, replaced: bool) -> Result<(), SpecError> {
        self.check_member(member, true)?;
        self.state.members[member as usize].returns = Some(replaced);
        self.return_if_idle(member);
        Ok(())
    }

    /// Brings a member back if it waits for that and all its requests have ended.
    #[inline]
    pub(super) fn return_if_idle(&mut self, member: u32) {
        let m = &mut self.state.members[member as usize];
        if m.pending > 0 {
            return;
        }
        if let Some(replaced) = m.returns.take() {
            let blocks = self.below.blocks_of(member);
            returns(&mut self.state, member, replaced.then_some(blocks));
            self.rebuild.look_again();
        }
    }
}

/// Marks a member as present. Of a new member, with `new` blocks, all blocks are stale.
fn returns(state: &mut State, member: u32, new: Option<u64>) {
    if let Some(blocks) = new {
        state.set_stale(member, 0..blocks);
    }
    state.set_gone(member, false);
}
