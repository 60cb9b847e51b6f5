//! Settings of a volume: members that leave and come back, and the rate of the rebuild.

use super::rebuild::{self, Extent};
use super::state::State;
use super::stripe_cache::{Ending, ROWS};
use super::{blocks_of, Stage, Volume, ORPHAN};
use crate::layer::{not_supported, Flow, LayerCompletion, Setting, Waits, ANYONE};
use headstack_drive::Components;
use headstack_engine::SpecError;
use headstack_schema::{OneOf, Table};
use headstack_units::{Bandwidth, Bytes, Span};

/// Parameters of volumes with redundancy: members that are missing, and how others are rebuilt.
#[derive(Debug, Clone, Table)]
pub(crate) struct Redundancy {
    // In md `sync_speed_max`, and `sync_speed_min` for the next one.
    /// Rate at which stale data are rebuilt, as a mean over seconds; not at all if absent.
    pub rebuild_rate: Option<Bandwidth>,
    /// Rate up to which the rebuild does not give way to requests; `rebuild_rate` if absent.
    pub rebuild_rate_min: Option<Bandwidth>,
    /// Longest request of the rebuild.
    #[param(default = REQUEST, range = WINDOW..=MOST)]
    pub rebuild_request: Bytes,
    /// Time that the host needs for each 4 KiB of a member being rebuilt, once between the reads and the write, and once after
    /// the write.
    #[param(default, range = Span::ZERO..=Span(1_000_000))]
    pub rebuild_host_time: Span,
    /// Members that are missing from the beginning.
    #[param(default)]
    pub gone: Vec<u32>,
}

/// A setting of a volume.
#[derive(Debug, Clone, PartialEq, OneOf)]
pub enum VolumeSetting {
    /// Volume: a member that fails or is removed.
    MemberGone(u32),
    /// Volume: a missing member that returns; blocks written meanwhile are stale on it.
    // Blocks that were written meanwhile are stale.
    MemberBack(u32),
    /// Volume: a missing member that is replaced by an empty one; all its blocks are stale.
    MemberReplaced(u32),
    /// Volume: most that is rebuilt of stale data in a second; 0: not at all.
    RebuildRate(Bandwidth),
}

/// A window of the rebuild.
pub(crate) const WINDOW: Bytes = Bytes(rebuild::WINDOW * 512);
/// What a rebuild may have under way at most.
pub(crate) const MOST: Bytes = Bytes(1 << 30);
/// Longest request that md's rebuilds gave the measured drives: their host takes 254 pages of memory at once.
const REQUEST: Bytes = Bytes(254 * 4096);

impl Volume {
    /// The volume with members that are missing from the start, and with a rebuild. Its runs are multiples of `grain` blocks,
    /// `at_once` bytes of them under way. If that memory is `shared` with requests, what needs it waits once all of it is
    /// used until there is room for a longest request.
    ///
    /// # Errors
    /// A member that does not exist, or a rate that is too low.
    pub(crate) fn with_redundancy(
        mut self,
        p: &Redundancy,
        grain: u64,
        at_once: Bytes,
        shared: bool,
    ) -> Result<Volume, SpecError> {
        self.host.set_time(p.rebuild_host_time);
        let (at_once, request) = (at_once.0 / 512, p.rebuild_request.0 / 512);
        self.rebuild.extent = Extent {
            grain,
            request,
            at_once,
            most: at_once,
            again_below: if shared { at_once.saturating_sub(request) + 1 } else { at_once },
            shared,
        };
        if let Some(least) = p.rebuild_rate_min {
            self.set_rebuild_least(least, p.rebuild_rate)?;
        }
        let rate = p.rebuild_rate;
        for member in &p.gone {
            self.check_member(*member, false).map_err(|e| SpecError { key: "gone".into(), ..e })?;
            self.state.set_gone(*member, true);
            self.state.members[*member as usize].removed = true;
        }
        if rate.is_some() {
            self.set_rebuild_rate(rate).map_err(|e| SpecError { key: "rebuild_rate".into(), ..e })?;
        }
        Ok(self)
    }

    /// The volume whose memory for the rebuild grows up to so many bytes.
    pub(crate) fn grows_to(mut self, most: Option<Bytes>) -> Volume {
        let extent = &mut self.rebuild.extent;
        extent.most = most.map_or(0, |most| most.0 / 512).max(extent.at_once);
        self
    }

    fn set_rebuild_least(&mut self, least: Bandwidth, most: Option<Bandwidth>) -> Result<(), SpecError> {
        if most.is_none_or(|most| least.0 > most.0) {
            let most = most.map_or("`rebuild_rate`".into(), |most| format!("`rebuild_rate`, {most}"));
            let need = format!("at most {most}");
            return Err(SpecError::new("rebuild_rate_min", least, need));
        }
        self.rebuild.pace.least = Some(least.0);
        Ok(())
    }

    fn set_rebuild_rate(&mut self, rate: Option<Bandwidth>) -> Result<(), SpecError> {
        self.check_redundant("setting.rebuild_rate")?;
        if let Some(rate) = rate.filter(|r| r.0 < 1.0) {
            let need = "at least 1 B/s";
            return Err(SpecError::new("setting.rebuild_rate", rate, need));
        }
        self.rebuild.set_rate(rate);
        Ok(())
    }

    /// Changes a setting of the volume itself; a [`SpecError`] says what does not fit.
    pub(super) fn set_here(&mut self, setting: &Setting, flow: &mut Flow) -> Result<(), SpecError> {
        let Setting::Volume(setting) = setting else {
            return Err(not_supported(&format!("the volume {}", self.name), setting, &VolumeSetting::names()));
        };
        match setting {
            VolumeSetting::MemberGone(member) => {
                if !self.cancel_return(*member) {
                    self.check_member(*member, false)?;
                    self.leave(*member, flow);
                }
                self.state.members[*member as usize].removed = true;
                Ok(())
            }
            VolumeSetting::MemberBack(member) => self.come_back(*member, false),
            VolumeSetting::MemberReplaced(member) => self.come_back(*member, true),
            VolumeSetting::RebuildRate(rate) => self.set_rebuild_rate(Some(*rate).filter(|rate| rate.0 > 0.0)),
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
            let need = if gone { "a member that is gone" } else { "a member that is there" };
            return Err(SpecError::new("setting.member", member, need));
        }
        Ok(())
    }

    /// Takes a member out of use. Its outstanding requests are aborted.
    pub(super) fn leave(&mut self, member: u32, flow: &mut Flow) {
        if self.state.is_gone(member) {
            return;
        }
        self.state.set_gone(member, true);
        self.counts.members_lost += 1;
        self.rebuild.begin_anew();
        let all = flow.opened().map(|request| (request, &flow[request]));
        let left = all.filter(|(_, e)| e.member == member && !e.is_announced && e.above != ORPHAN);
        let left: Vec<(u32, u32)> = left.map(|(request, e)| (request, e.above)).collect();
        for (request, _) in &left {
            flow[*request].above = ORPHAN;
            flow.abort(*request);
        }
        let now = flow.now;
        for (request, op) in left {
            let (range, writes) = {
                let request = &flow[request].request;
                (blocks_of(request), request.command.writes())
            };
            if op != ROWS {
                match self.ops[op as usize].stage {
                    Stage::Reading => self.ops[op as usize].again = true,
                    _ => self.lose_write(op, member, range.clone()),
                }
            }
            let since = match op {
                ROWS => flow[request].done.arrival,
                _ => self.ops[op as usize].done.completion,
            };
            let lost = LayerCompletion {
                arrival: since,
                completion: now,
                components: Components { queue: now.span_from(since), ..Components::default() },
                waits: Waits { array: now.span_from(since), ..Waits::default() },
                cache_hit: false,
                drive: ANYONE,
                ..LayerCompletion::default()
            };
            match op {
                ROWS => {
                    let ending = Ending { member, range, writes, failed: true, done: lost };
                    self.row_part_ends(ending, flow);
                }
                _ => self.join(op, &lost, flow),
            }
        }
    }

    /// Cancels the return of a member that waits to come back. False if the member does not wait for that.
    fn cancel_return(&mut self, member: u32) -> bool {
        let state = self.state.members.get_mut(member as usize);
        let Some(replaced) = state.and_then(|m| m.returns.take()) else { return false };
        if replaced {
            let blocks = self.sizes[member as usize];
            self.state.set_stale(member, 0..blocks);
        }
        true
    }

    fn come_back(&mut self, member: u32, replaced: bool) -> Result<(), SpecError> {
        self.check_member(member, true)?;
        let m = &mut self.state.members[member as usize];
        (m.returns, m.removed) = (Some(replaced), false);
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
            let blocks = self.sizes[member as usize];
            returns(&mut self.state, member, replaced.then_some(blocks));
            self.rebuild.begin_anew();
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
