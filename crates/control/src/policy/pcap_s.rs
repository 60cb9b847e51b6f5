//! PCAP/S: many drives behind one meter, in tiers.
//!
//! # Model
//! Each drive has a controller as in `pcap-agile`, in tail-latency mode. Let the meter's mean differ from the cap by
//! `e` watts with `|e| > tolerance`. The error behind the power supply is then `e · efficiency`. Some drives are
//! elected and share this error:
//! | `share` | elected | part of one drive |
//! |---|---|---|
//! | `strict` | one tier: to lower power the last tier, to raise it the first, that has a drive not yet at its limit | equal |
//! | `weight` | all drives not yet at their limit | proportional to `1 / weight` to lower power, to `weight` to raise it |
//!
//! The limit of a drive is (32, 1) for lowering and (4, 8) for raising: places of the host queue and depth of the drive
//! queue. Each elected drive makes one step for its part. In both modes the parts add up to the whole error. If the
//! weights differ extremely, `weight` acts like `strict`.
//!
//! With `rest`, drives that have no work rest while they are capped: while there is a cap and the drive does not have
//! the setting with the highest power, (4, 8), it unloads its heads or spins down after `rest_after` without requests.
//! So the tiers that lose power first are also the first to rest. A drive that works all the time is not affected.
//!
//! Parameters are those of `pcap-agile`, except `mode` and those of the throughput mode, and those of the shelf, which
//! `headstack models capping pcap-s` prints.
//!
//! # Source
//! Khatib and Bandic, FAST 2016, section 8.3 (strict priority, T = 10 s, epsilon = 1 W). With this efficiency
//! 16 drives draw the 205 W of its Figure 10 without a cap. The division of the error inside a tier is our
//! reading of "treated equally"; shares by weight and `rest` are not in the paper, which caps drives that work.
//! # Validity
//! Drives of a shelf with one meter. With many drives per tier, a small error gives less than one step to each
//! (`rounding`): with `down`, a tier of six whose drive queues are not yet at 1 needs an error of 1.8 W before
//! anything is lowered. A drive that spins up draws more than one that works, for some ten seconds; `rest` does not
//! keep the cap then, and it does not limit how many drives spin up at once.

use super::{built, fill_tiers, only_with, several, Drives, Facts, Input, Need, Policy, PolicyParameters, Status};
use crate::guard::{Guard, GuardTable, OnLoss, Turn};
use crate::pcap::{Bounds, Gains, Mode, Pcap, SnapBack, Start, MOST};
use crate::{Command, Device, Rest, REST_AFTER};
use headstack_schema::{Choice, SpecError, Table};
use headstack_units::{Span, Watts};
use serde_json::Value;

/// Parameters of `pcap-s`.
#[derive(Table)]
#[table(
    model = "PCAP over the drives of a shelf, in tiers, strict or by weight (FAST 2016, section 8.3)",
    example = "share = \"strict\"\nefficiency = 0.83\nrest = \"unload\"",
    facts = Facts::of::<Self>(Drives::Several, &[Need::Queues]), build = built
)]
pub(super) struct Parameters {
    #[param(flatten)]
    guard: GuardTable<10>,
    /// Differences from the cap up to this change nothing.
    #[param(default = Watts(1.0), range = Watts(0.0)..=Watts(MOST))]
    tolerance: Watts,
    /// Efficiency of the power supply between the meter and the drives.
    #[param(default = 0.83, range = 0.1..=1.0)]
    efficiency: f64,
    /// Numbers of drives in each tier, best tier first; left out, all in one.
    #[param(range = 1..=10_000)]
    tiers: Option<Vec<u32>>,
    /// How the drives behind one meter share an error.
    #[param(default = Share::Strict)]
    share: Share,
    /// Weight of each tier, with `share = "weight"`.
    #[param(range = 1e-9..=1e9)]
    weights: Option<Vec<f64>>,
    /// What a capped drive does while it has no work.
    #[param(default = RestKind::Own)]
    rest: RestKind,
    /// Time without requests after which a capped drive rests, with `rest`; left out, 10 s to unload, 60 s to spin down.
    #[param(range = REST_AFTER.0..=REST_AFTER.1)]
    rest_after: Option<Span>,
    #[param(flatten)]
    bounds: Bounds,
    #[param(flatten)]
    start: Start,
    #[param(flatten)]
    gains: Gains,
}

struct Member {
    pcap: Pcap,
    open: Command,
    tier: usize,
    weight: f64,
}

impl Member {
    /// Whether a step in this direction can have an effect.
    fn has_room(&self, lower: bool) -> bool {
        match lower {
            true => !self.pcap.is_lowest(),
            false => !self.pcap.is_highest(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Choice)]
enum Share {
    /// One tier makes the whole change.
    Strict,
    /// All drives that can change take part, by weight.
    Weight,
}

/// The kind of rest, before its time is read.
#[derive(Clone, Copy, PartialEq, Choice)]
enum RestKind {
    /// Only what the drive's own timers say.
    Own,
    /// It unloads its heads.
    Unload,
    /// It spins down.
    Standby,
}

struct Shelf {
    guard: Guard,
    tolerance_w: f64,
    efficiency: f64,
    share: Share,
    /// What a capped drive does without work.
    rest: Rest,
    members: Vec<Member>,
}

impl Shelf {
    fn act(&mut self, error_w: f64) {
        let lower = error_w > 0.0;
        let elected = self.elect(lower);
        let share = self.share;
        let part = |member: &Member| match (share, lower) {
            (Share::Strict, _) => 1.0,
            (Share::Weight, true) => 1.0 / member.weight,
            (Share::Weight, false) => member.weight,
        };
        let takes_part = |m: &Member| m.has_room(lower) && elected.is_none_or(|tier| m.tier == tier);
        let total: f64 = self.members.iter().filter(|m| takes_part(m)).map(part).sum();
        for member in &mut self.members {
            if takes_part(member) {
                let error_w = error_w * self.efficiency * part(member) / total;
                member.pcap.queues = member.pcap.after(error_w);
            }
        }
    }

    /// The tier that makes the whole change; `None` if all tiers share it, or none can.
    fn elect(&self, lower: bool) -> Option<usize> {
        if self.share == Share::Weight {
            return None;
        }
        let tiers = self.members.iter().filter(|m| m.has_room(lower)).map(|m| m.tier);
        match lower {
            true => tiers.max(),
            false => tiers.min(),
        }
    }

    fn set_all(&mut self, queues: impl Fn(&Pcap) -> crate::Queues) {
        for member in &mut self.members {
            member.pcap.queues = queues(&member.pcap);
        }
    }
}

impl PolicyParameters for Parameters {
    fn build(&mut self, devices: &[Device]) -> Result<Box<dyn Policy>, SpecError> {
        several(devices)?;
        let guard = Guard::new(self.guard.fill(devices.len())?);
        let tiers = fill_tiers(&mut self.tiers, devices.len())?;
        let weights = self.weights(tiers.len())?;
        let rest = self.rest(devices)?;
        let mut members = Vec::with_capacity(devices.len());
        let tier_of = tiers.iter().enumerate().flat_map(|(tier, n)| std::iter::repeat_n(tier, *n));
        let mut filled = (self.bounds, self.start);
        for (tier, device) in tier_of.zip(devices) {
            let (mut bounds, mut start) = (self.bounds, self.start);
            let [least, agile] = bounds.fill(device)?;
            let mode = (Mode::TailLatency, SnapBack::Drive);
            members.push(Member {
                pcap: Pcap::new([least, agile, agile], mode, &mut start, self.gains)?,
                open: device.clamp(device.open),
                tier,
                weight: weights[tier],
            });
            match members.len() {
                1 => filled = (bounds, start),
                _ => {
                    agree(&mut filled.0.nr_requests, bounds.nr_requests);
                    agree(&mut filled.0.queue_depth, bounds.queue_depth);
                    agree(&mut filled.1.start_nr_requests, start.start_nr_requests);
                    agree(&mut filled.1.start_queue_depth, start.start_queue_depth);
                }
            }
        }
        (self.bounds, self.start) = filled;
        let Parameters { tolerance, efficiency, share, .. } = *self;
        Ok(Box::new(Shelf { guard, tolerance_w: tolerance.0, efficiency, share, rest, members }))
    }
}

/// Drives that are not alike may have different defaults. Then no value stands for all of them.
fn agree<T: PartialEq>(all: &mut Option<T>, one: Option<T>) {
    if *all != one {
        *all = None;
    }
}

impl Parameters {
    fn weights(&self, tiers: usize) -> Result<Vec<f64>, SpecError> {
        let (got, need) = match (self.share, &self.weights) {
            (Share::Strict, None) => return Ok(vec![1.0; tiers]),
            (Share::Weight, Some(weights)) if weights.len() == tiers => return Ok(weights.clone()),
            (Share::Strict, Some(weights)) => (weights.len(), "none with share = \"strict\"".to_string()),
            (Share::Weight, weights) => {
                (weights.as_ref().map_or(0, Vec::len), format!("one for each of {tiers} tiers"))
            }
        };
        Err(SpecError::new("weights", format!("{got} weights"), need))
    }

    /// What a capped drive does without work.
    ///
    /// # Errors
    /// A rest that a drive does not have.
    fn rest(&mut self, devices: &[Device]) -> Result<Rest, SpecError> {
        let seconds = |s: i64| Span(s * 1_000_000_000);
        let rest = match self.rest {
            RestKind::Own => {
                only_with("rest", &[("rest_after", &self.rest_after)])?;
                Rest::Own
            }
            RestKind::Unload => Rest::Unload { after: *self.rest_after.get_or_insert(seconds(10)) },
            RestKind::Standby => Rest::Standby { after: *self.rest_after.get_or_insert(seconds(60)) },
        };
        let cannot = |d: &Device| d.clamp(Command { rest, ..d.open }).rest != rest;
        match devices.iter().position(cannot) {
            None => Ok(rest),
            Some(i) => {
                let got = format!("a rest that drive {i} does not have");
                let need = "one that all drives have: idle_b for unload, standby for standby";
                Err(SpecError::new("rest", got, need))
            }
        }
    }
}

impl Policy for Shelf {
    fn step(&mut self, input: &Input, commands: &mut [Command]) -> Status {
        let turn = self.guard.turn(input);
        match turn {
            Turn::Uncapped => self.set_all(|pcap| pcap.start),
            Turn::Lost => self.set_all(Pcap::lowest),
            Turn::Keep => {}
            Turn::Act(reading) => {
                let error_w = reading.power_w - self.guard.cap_w().unwrap_or(f64::INFINITY);
                if error_w.abs() > self.tolerance_w {
                    self.act(error_w);
                }
            }
        }
        let is_open = turn == Turn::Lost && self.guard.settings().on_loss == OnLoss::Open;
        for (command, member) in commands.iter_mut().zip(&self.members) {
            let is_capped = turn != Turn::Uncapped && !member.pcap.is_highest();
            *command = match is_open {
                true => member.open,
                false => Command {
                    rest: if is_capped { self.rest } else { member.open.rest },
                    ..member.pcap.queues.command(&member.open)
                },
            };
        }
        self.guard.status(&turn)
    }

    fn state(&self) -> Option<Value> {
        Some(self.guard.state())
    }

    fn resume(&mut self, state: &Value, since: Span) -> Result<(), SpecError> {
        self.guard.resume(state, since)
    }
}
