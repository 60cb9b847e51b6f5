//! Members that leave and come back while the volume runs.

use super::state::State;
use super::{Stage, Volume};
use crate::layer::{not_supported, Done, Setting, ANYONE};
use headstack_drive::Components;
use headstack_engine::SpecError;
use headstack_units::{Bandwidth, Time};

impl Volume {
    /// The same with members that are gone from the start, and this rate of rebuilding.
    ///
    /// # Errors
    /// A member that it does not have, or a rate that is too small.
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

    /// Changes a setting of the volume itself.
    pub(super) fn set_here(&mut self, now: Time, setting: &Setting) -> Result<(), SpecError> {
        match setting {
            Setting::MemberGone(member) => {
                if self.turns_back(*member) {
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
                if rate.is_some_and(|r| r.0 < 1.0) {
                    let got = format!("{rate:?}");
                    let need = "at least 1 B/s";
                    return Err(SpecError::new("setting.rebuild_rate", got, need));
                }
                self.rebuild.set_rate(*rate);
                Ok(())
            }
            other => Err(not_supported(&format!("the volume {}", self.name), other)),
        }
    }

    fn check_redundant(&self, key: &str) -> Result<(), SpecError> {
        match self.placement.is_redundant() {
            true => Ok(()),
            false => Err(SpecError::new(key, self.name, "a volume with redundancy")),
        }
    }

    /// Whether the volume has this member, and it is gone or not as it should be.
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

    /// A member is gone from `now` on.
    pub(super) fn leave(&mut self, member: u32, now: Time) {
        if self.state.is_gone(member) {
            return;
        }
        self.state.set_gone(member, true);
        self.counts.members_lost += 1;
        self.rebuild.look_again();
        let has = |p: &super::Part| p.io.member == member && p.announced.is_none() && !p.orphan;
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
            let lost = Done {
                arrival: since,
                completion: now,
                components: Components {
                    queue: now.0 - since.0,
                    ..Components::default()
                },
                cache_hit: false,
                drive: ANYONE,
                ..Done::default()
            };
            self.join(op, &lost, now);
        }
    }

    /// A member that was to come back and has not yet stays away; false if there is none such.
    fn turns_back(&mut self, member: u32) -> bool {
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
        self.returns_if_idle(member);
        Ok(())
    }

    /// A member that is to come back does so when all that it had has ended.
    pub(super) fn returns_if_idle(&mut self, member: u32) {
        let blocks = self.below.blocks_of(member);
        let m = &mut self.state.members[member as usize];
        if m.pending > 0 {
            return;
        }
        if let Some(replaced) = m.returns.take() {
            returns(&mut self.state, member, replaced.then_some(blocks));
            self.rebuild.look_again();
        }
    }
}

/// A member is there again; of a new one all blocks are stale.
fn returns(state: &mut State, member: u32, new: Option<u64>) {
    if let Some(blocks) = new {
        state.set_stale(member, 0..blocks);
    }
    state.set_gone(member, false);
}
