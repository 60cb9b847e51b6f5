//! Time and energy by state, exact for any interval.
//!
//! # Model
//! A drive draws its idle power all the time. While an assembly seeks, waits or transfers, it draws the additional
//! power of that state; several assemblies add up. The energy up to a time is the sum over the parts of phases before
//! that time. So an interval is charged with what was drawn in it, even if a service began earlier or ends later. Where
//! a drive says how the energy of a seek depends on its distance, that energy is added, evenly over the time of the
//! movement. In a low-power condition the drive draws the power of that condition instead.
//! # Validity
//! Mean power of each state; no current peaks.

use crate::phase::{ActiveByWork, ActiveTime, Work};
use crate::power::conditions::{ConditionEnergy, ConditionTime, Conditions};
use crate::power::StateWatts;
use headstack_engine::ByMode;
use headstack_schema::Columns;
use headstack_units::{Span, Time};
use serde::Serialize;

/// Time in each state and its energy, from the last reset to a given time.
///
/// Where several assemblies work at once, the seconds are averaged over the number that can work at once, so
/// that they add up to elapsed time. The energy of an active state holds its share of the idle power for that
/// time, and what the state adds for every assembly in it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DriveEnergy {
    /// Seconds of being idle, `idle_a` to `idle_c` included.
    pub idle_s: f64,
    /// Seconds seeking, with head switches and settling. This and the next two include background work.
    pub seek_s: f64,
    /// Seconds of rotational latency.
    pub rotation_s: f64,
    /// Seconds transferring.
    pub transfer_s: f64,
    /// Seconds in standby, with spinning down and spinning up.
    pub standby_s: f64,
    /// Joules while idle.
    pub idle_j: f64,
    /// Joules while seeking, with the energy of seeks by distance.
    pub seek_j: f64,
    /// Joules during rotational latency.
    pub rotation_j: f64,
    /// Joules while transferring.
    pub transfer_j: f64,
    /// Joules in standby, with spinning down and spinning up.
    pub standby_j: f64,
    /// The part of the active states that was background work.
    pub background: BackgroundEnergy,
    /// The part of idle and standby that was spent in each low-power condition.
    pub conditions: ConditionEnergy,
}

impl DriveEnergy {
    /// Joules in all states.
    pub fn total_j(&self) -> f64 {
        self.idle_j + self.seek_j + self.rotation_j + self.transfer_j + self.standby_j
    }

    /// Joules in each state.
    pub fn joules(&self) -> ByMode {
        ByMode {
            idle: self.idle_j,
            seek: self.seek_j,
            rotation: self.rotation_j,
            transfer: self.transfer_j,
            standby: self.standby_j,
        }
    }

    /// Adds another interval, state by state.
    pub fn add(&mut self, other: &DriveEnergy) {
        for (sum, more) in [
            (&mut self.idle_s, other.idle_s),
            (&mut self.seek_s, other.seek_s),
            (&mut self.rotation_s, other.rotation_s),
            (&mut self.transfer_s, other.transfer_s),
            (&mut self.standby_s, other.standby_s),
            (&mut self.idle_j, other.idle_j),
            (&mut self.seek_j, other.seek_j),
            (&mut self.rotation_j, other.rotation_j),
            (&mut self.transfer_j, other.transfer_j),
            (&mut self.standby_j, other.standby_j),
        ] {
            *sum += more;
        }
        for (sum, more) in self.background.each_mut().into_iter().zip(other.background.each()) {
            sum.time_s += more.time_s;
            sum.energy_j += more.energy_j;
        }
        self.conditions.add(&other.conditions);
    }

    /// Seconds in all states: the elapsed time.
    pub fn total_s(&self) -> f64 {
        self.idle_s + self.seek_s + self.rotation_s + self.transfer_s + self.standby_s
    }
}

/// The part of the active states that is background work. The rest is work for commands.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Columns)]
#[columns("Background")]
#[allow(missing_docs)]
pub struct BackgroundEnergy {
    pub read_ahead: WorkEnergy,
    pub destage: WorkEnergy,
    pub media_scan: WorkEnergy,
    /// Idle assemblies that follow another one.
    pub follow: WorkEnergy,
    /// Cleaning of a log, or of a cache on the medium, also while a write waits for it.
    pub cleaning: WorkEnergy,
    /// Checkpoints of a log.
    pub checkpoint: WorkEnergy,
}

impl BackgroundEnergy {
    /// Each kind of work.
    pub fn each(mut self) -> [WorkEnergy; 6] {
        self.each_mut().map(|work| *work)
    }

    fn each_mut(&mut self) -> [&mut WorkEnergy; 6] {
        let BackgroundEnergy { read_ahead, destage, media_scan, follow, cleaning, checkpoint } = self;
        [read_ahead, destage, media_scan, follow, cleaning, checkpoint]
    }
}

/// Seconds and joules of one kind of work, over all active states.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Columns)]
#[columns("Work")]
pub struct WorkEnergy {
    /// Seconds, averaged over assemblies as in [`DriveEnergy`].
    pub time_s: f64,
    /// Joules, with the share of the idle power.
    pub energy_j: f64,
}

/// Computes energy from times.
#[derive(Debug)]
pub(crate) struct Meter {
    /// Number of assemblies that can work at once.
    at_once: usize,
    /// Periods with constant power of each state, in order. The first begins at the last reset.
    epochs: Vec<Epoch>,
}

/// A period in which each state draws the power that `watts` says.
#[derive(Debug)]
struct Epoch {
    from: Time,
    /// Active time before the period.
    active: ActiveByWork,
    /// The sum of `active`.
    active_time: ActiveTime,
    low: ConditionTime,
    watts: StateWatts,
    conditions: Conditions,
}

impl Epoch {
    /// Time in low-power conditions from the start of the period, and what they took; `None` if there were none.
    /// `low` is the time up to now.
    #[inline]
    fn low_power(&self, low: Option<&ConditionTime>) -> Option<(Span, ConditionEnergy)> {
        let low = low.filter(|low| **low != self.low)?.since(&self.low);
        Some((low.total(), low.energy(&self.conditions)))
    }
}

/// The sum over all kinds of work.
fn sum_of(active: &ActiveByWork) -> ActiveTime {
    let mut sum = ActiveTime::default();
    active.iter().for_each(|time| sum.add(time));
    sum
}

impl Meter {
    pub fn new(watts: StateWatts, conditions: Conditions, at_once: usize) -> Meter {
        Meter {
            at_once: at_once.max(1),
            epochs: vec![Epoch {
                from: Time::ZERO,
                active: ActiveByWork::default(),
                active_time: ActiveTime::default(),
                low: ConditionTime::default(),
                watts,
                conditions,
            }],
        }
    }

    /// Restarts the count at `now`. `active` and `low` are the times up to `now`.
    pub fn reset(&mut self, now: Time, active: ActiveByWork, low: ConditionTime) {
        let over = self.epochs.iter().skip(1).take_while(|e| e.from <= now).count();
        self.epochs.drain(..over);
        if let Some(first) = self.epochs.first_mut() {
            *first = Epoch { from: now, active, active_time: sum_of(&active), low, ..*first };
        }
    }

    /// From `at` on the states draw `watts`. `active` and `low` are the times up to `at`; the drive is idle
    /// before `at`.
    pub fn change(
        &mut self,
        at: Time,
        active: ActiveByWork,
        low: ConditionTime,
        (watts, conditions): (StateWatts, Conditions),
    ) {
        self.epochs.push(Epoch { from: at, active, active_time: sum_of(&active), low, watts, conditions });
    }

    /// Energy from the last reset to `until`. `active` and `low` are the times up to `until`; `low` is `None`
    /// if the drive was never in a low-power condition.
    pub fn read(&self, until: Time, active: &ActiveByWork, low: Option<&ConditionTime>) -> DriveEnergy {
        if let [epoch] = &self.epochs[..] {
            return self.drawn(epoch, until, active, low);
        }
        let mut sum = DriveEnergy::default();
        for (i, epoch) in self.epochs.iter().enumerate() {
            match self.epochs.get(i + 1).filter(|next| next.from <= until) {
                Some(next) => sum.add(&self.drawn(epoch, next.from, &next.active, Some(&next.low))),
                None => {
                    sum.add(&self.drawn(epoch, until, active, low));
                    break;
                }
            }
        }
        sum
    }

    /// The joules of [`Meter::read`] in each state, from the active time up to `until` over all kinds of work. A time
    /// series samples every drive, so this is quick. `None` if the drive has changed its speed.
    #[inline]
    pub fn joules(&self, until: Time, active: &ActiveTime, low: Option<&ConditionTime>) -> Option<ByMode> {
        let [epoch] = &self.epochs[..] else { return None };
        let sum = active.since(&epoch.active_time);
        let [(_, seek), (_, rotation), (_, transfer)] = self.states(&epoch.watts, &sum);
        let low = epoch.low_power(low);
        let low_time = low.as_ref().map_or(Span::ZERO, |low| low.0);
        let idle = self.ready_s(epoch, until, &sum, low_time) * epoch.watts.idle;
        let (idle, standby) = match low {
            None => (idle, 0.0),
            Some((_, low)) => (idle + low.low_idle().energy_j, low.all_standby().energy_j),
        };
        Some(ByMode { idle, seek, rotation, transfer, standby })
    }

    /// Seconds from the start of a period to `until` in which the drive was ready and not active.
    fn ready_s(&self, epoch: &Epoch, until: Time, active: &ActiveTime, low_time: Span) -> f64 {
        // Computed in whole nanoseconds, so that the remainder is exact.
        let elapsed = i128::from(until.since(epoch.from).0) - i128::from(low_time.0);
        let busy = i128::from((active.seek + active.rotation + active.transfer).0);
        let ready = elapsed * self.at_once as i128 - busy;
        debug_assert!(
            ready >= 0,
            "{ready} ns ready of {elapsed} ns with {} at once: {active:?}, {low_time:?} low",
            self.at_once
        );
        ready as f64 * 1e-9 / self.at_once as f64
    }

    /// Energy from the start of a period to `until`.
    fn drawn(&self, epoch: &Epoch, until: Time, active: &ActiveByWork, low: Option<&ConditionTime>) -> DriveEnergy {
        let w = &epoch.watts;
        let mut sum = ActiveTime::default();
        let mut by_work = [WorkEnergy::default(); Work::ALL.len()];
        for ((now, before), work) in active.iter().zip(&epoch.active).zip(&mut by_work) {
            // Skips kinds of work that did not occur.
            if now != before {
                let time = now.since(before);
                sum.add(&time);
                *work = self.work(w, &time);
            }
        }
        let [(seek_s, seek_j), (rotation_s, rotation_j), (transfer_s, transfer_j)] = self.states(w, &sum);
        let (low_time, conditions) = epoch.low_power(low).unwrap_or_default();
        let (low_idle, standby) = (conditions.low_idle(), conditions.all_standby());
        let ready_s = self.ready_s(epoch, until, &sum, low_time);
        DriveEnergy {
            idle_s: ready_s + low_idle.time_s,
            seek_s,
            rotation_s,
            transfer_s,
            standby_s: standby.time_s,
            idle_j: ready_s * w.idle + low_idle.energy_j,
            seek_j,
            rotation_j,
            transfer_j,
            standby_j: standby.energy_j,
            background: BackgroundEnergy {
                read_ahead: by_work[Work::ReadAhead as usize],
                destage: by_work[Work::Destage as usize],
                media_scan: by_work[Work::MediaScan as usize],
                follow: by_work[Work::Follow as usize],
                cleaning: by_work[Work::Cleaning as usize],
                checkpoint: by_work[Work::Checkpoint as usize],
            },
            conditions,
        }
    }

    /// Seconds and joules of one kind of work, over all active states.
    fn work(&self, w: &StateWatts, time: &ActiveTime) -> WorkEnergy {
        let time_s = (time.seek + time.rotation + time.transfer).as_secs_f64() / self.at_once as f64;
        let added = |time: Span, watts: f64| time.as_secs_f64() * (watts - w.idle);
        WorkEnergy {
            time_s,
            energy_j: time_s * w.idle
                + added(time.seek, w.seek)
                + added(time.rotation, w.rotation)
                + added(time.transfer, w.transfer)
                + time.seek_nj as f64 * 1e-9,
        }
    }

    /// Seconds and joules of seek, rotation and transfer.
    fn states(&self, w: &StateWatts, time: &ActiveTime) -> [(f64, f64); 3] {
        // Each assembly in the state draws the additional power.
        let state = |time: Span, watts: f64| {
            let assembly_s = time.as_secs_f64();
            let mean_s = assembly_s / self.at_once as f64;
            (mean_s, mean_s * w.idle + assembly_s * (watts - w.idle))
        };
        let (seek_s, seek_j) = state(time.seek, w.seek);
        [
            (seek_s, seek_j + time.seek_nj as f64 * 1e-9),
            state(time.rotation, w.rotation),
            state(time.transfer, w.transfer),
        ]
    }
}
