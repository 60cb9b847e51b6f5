//! Time and energy by state, exact for any interval.
//!
//! # Model
//! A drive draws its idle power all the time. While an assembly seeks, waits or transfers, what that
//! state adds to idle is drawn as well; assemblies that work at once add up. Energy up to a time is
//! the sum over the parts of phases that lie before it, so an interval is charged with what was drawn
//! in it, whatever was decided before it and ends after it.
//! # Validity
//! Mean power of a state; no current peaks.

use crate::phase::{ActiveByWork, ActiveTime, Work};
use crate::power::StateWatts;

/// Time in each state and the energy of it, from the last reset to a time.
///
/// Where a drive works with several assemblies at once, the seconds are averaged over as many as can be
/// at work, so that they still add up to the time that has passed; each active state's energy
/// holds its share of the idle power for that time and what the state adds, for every assembly in
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DriveEnergy {
    /// Seconds spinning without positioning or transferring.
    pub idle_s: f64,
    /// Seconds seeking (switches and settling included), background work included.
    pub seek_s: f64,
    /// Seconds waiting for rotation.
    pub rotation_s: f64,
    /// Seconds transferring.
    pub transfer_s: f64,
    /// Seconds spun down.
    pub standby_s: f64,
    /// Joules in each of these states, same order.
    pub idle_j: f64,
    /// See `idle_j`.
    pub seek_j: f64,
    /// See `idle_j`.
    pub rotation_j: f64,
    /// See `idle_j`.
    pub transfer_j: f64,
    /// See `idle_j`.
    pub standby_j: f64,
    /// What of the active states was work that no command waited for.
    pub background: BackgroundEnergy,
}

impl DriveEnergy {
    /// Joules in all states.
    pub fn total_j(&self) -> f64 {
        self.idle_j + self.seek_j + self.rotation_j + self.transfer_j + self.standby_j
    }

    /// Seconds in all states: the time that has passed.
    pub fn total_s(&self) -> f64 {
        self.idle_s + self.seek_s + self.rotation_s + self.transfer_s + self.standby_s
    }
}

/// The part of the active states that is background work; the rest is the commands' own.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BackgroundEnergy {
    /// Reading on behind commands.
    pub read_ahead: WorkEnergy,
    /// Writing buffered data.
    pub destage: WorkEnergy,
    /// The scan of the medium.
    pub media_scan: WorkEnergy,
    /// Idle assemblies following another one.
    pub follow: WorkEnergy,
}

/// Seconds and joules of one kind of work, in all active states together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WorkEnergy {
    /// Seconds, averaged over assemblies as in [`DriveEnergy`].
    pub time_s: f64,
    /// Joules, the share of idle power included.
    pub energy_j: f64,
}

/// Adds times up into energy.
#[derive(Debug)]
pub(crate) struct Meter {
    watts: StateWatts,
    /// Assemblies that can be at work at once.
    at_once: usize,
    counted_from: u64,
    counted: ActiveByWork,
}

impl Meter {
    pub fn new(watts: StateWatts, at_once: usize) -> Meter {
        Meter {
            watts,
            at_once: at_once.max(1),
            counted_from: 0,
            counted: ActiveByWork::default(),
        }
    }

    /// Counts anew from `now`, until when the assemblies have been active so.
    pub fn reset(&mut self, now: u64, active: ActiveByWork) {
        self.counted_from = now;
        self.counted = active;
    }

    /// Energy since the last reset up to `until`, until when the assemblies have been active so.
    pub fn read(&self, until: u64, active: &ActiveByWork) -> DriveEnergy {
        let mut sum = ActiveTime::default();
        let mut by_work = [WorkEnergy::default(); Work::ALL.len()];
        for ((now, before), work) in active.iter().zip(&self.counted).zip(&mut by_work) {
            let time = now.since(before);
            sum.add(&time);
            for (s, j) in self.states(&time) {
                work.time_s += s;
                work.energy_j += j;
            }
        }
        let [(seek_s, seek_j), (rotation_s, rotation_j), (transfer_s, transfer_j)] =
            self.states(&sum);
        // In whole nanoseconds, so that what is left is exact.
        let elapsed = i128::from(until.saturating_sub(self.counted_from));
        let busy = i128::from(sum.seek + sum.rotation + sum.transfer);
        let idle_ns = elapsed * self.at_once as i128 - busy;
        let idle_s = idle_ns as f64 * 1e-9 / self.at_once as f64;
        DriveEnergy {
            idle_s,
            seek_s,
            rotation_s,
            transfer_s,
            standby_s: 0.0,
            idle_j: idle_s * self.watts.idle,
            seek_j,
            rotation_j,
            transfer_j,
            standby_j: 0.0,
            background: BackgroundEnergy {
                read_ahead: by_work[Work::ReadAhead as usize],
                destage: by_work[Work::Destage as usize],
                media_scan: by_work[Work::MediaScan as usize],
                follow: by_work[Work::Follow as usize],
            },
        }
    }

    /// Seconds and joules of seek, rotation and transfer.
    fn states(&self, time: &ActiveTime) -> [(f64, f64); 3] {
        let w = &self.watts;
        // What the state adds to idle is paid for each assembly.
        let state = |ns: u64, watts: f64| {
            let assembly_s = ns as f64 * 1e-9;
            let mean_s = assembly_s / self.at_once as f64;
            (mean_s, mean_s * w.idle + assembly_s * (watts - w.idle))
        };
        [
            state(time.seek, w.seek),
            state(time.rotation, w.rotation),
            state(time.transfer, w.transfer),
        ]
    }
}
