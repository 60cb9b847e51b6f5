//! Sweeps: sequential reads of a range in blocks, several times, with run-to-run noise.
//!
//! # Model
//! A block's time is what its bytes take on the medium ([`Stream::ns`]), divided by the rate factor of
//! damaged extents where it crosses them, plus lost turns (retries): a Poisson number with a mean
//! proportional to the block's bytes. All times of a trial are multiplied by a normal factor around 1, and
//! all times of a drive by the drive's factor.
//! # Source
//! Chosen: the paper (Krevat, Tucek and Ganger, CMU-PDL-11-102, section 3) says that ten trials of 128 MB
//! blocks deviate by less than 1 MB/s.
//! # Validity
//! For differences between trials. The factor of a trial is limited to 0.5 to 1.5.

use super::Stream;
use headstack_engine::{random, SpecError};
use rand_distr::{Distribution, Normal, Poisson};
use serde::Deserialize;

/// What differs from trial to trial, and from drive to drive.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Noise {
    /// Mean number of lost turns per byte read. 0 to 10^-3.
    pub lost_turns_per_byte: f64,
    /// Standard deviation of the factor on all times of a trial. 0 to 0.1.
    pub trial_factor: f64,
    /// Extents that are read slowly: `[drive, from byte, to byte, factor on the rate]`.
    pub damage: Vec<(usize, u64, u64, f64)>,
}

/// Bytes that are read slowly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Damage {
    /// First byte, and the one after the last.
    pub from: u64,
    /// The byte after the last.
    pub to: u64,
    /// Factor on the rate. 0.001 to 1.
    pub rate: f64,
}

impl Noise {
    /// Checks the numbers, for so many drives.
    ///
    /// # Errors
    /// Numbers out of bounds, and damaged extents of a drive that overlap, by dotted key.
    pub fn check(&self, drives: usize) -> Result<(), SpecError> {
        use crate::bounds::bounded;
        let lost = self.lost_turns_per_byte;
        bounded("noise.lost_turns_per_byte", lost, 0.0..=1e-3)?;
        bounded("noise.trial_factor", self.trial_factor, 0.0..=0.1)?;
        for (i, (drive, from, to, rate)) in self.damage.iter().enumerate() {
            let key = |k: usize| format!("noise.damage[{i}][{k}]");
            if *drive >= drives {
                let need = format!("a drive below {drives}");
                return Err(SpecError::new(key(0), drive, need));
            }
            if to <= from {
                let need = format!("more than {from}, the first byte");
                return Err(SpecError::new(key(2), to, need));
            }
            bounded(key(3), *rate, 1e-3..=1.0)?;
        }
        let mut order: Vec<_> = self.damage.iter().map(|d| (d.0, d.1, d.2)).collect();
        order.sort_unstable();
        for pair in order.windows(2) {
            if pair[0].0 == pair[1].0 && pair[1].1 < pair[0].2 {
                let got = format!("byte {} of drive {} twice", pair[1].1, pair[1].0);
                let need = "extents that do not overlap";
                return Err(SpecError::new("noise.damage", got, need));
            }
        }
        Ok(())
    }

    /// The damaged extents of a drive, in order of address.
    pub fn damage_of(&self, drive: usize) -> Vec<Damage> {
        let own = self.damage.iter().filter(|d| d.0 == drive);
        let mut list: Vec<Damage> = own.map(|&(_, from, to, rate)| Damage { from, to, rate }).collect();
        list.sort_unstable_by_key(|d| d.from);
        list
    }
}

/// A sequential read of whole blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// Size of a block in bytes.
    pub block: u64,
    /// First byte.
    pub first: u64,
    /// The end: blocks that cross it are left out.
    pub past: u64,
    /// Number of times that the range is read.
    pub trials: usize,
    /// Seed of the noise.
    pub seed: u64,
}

impl Sweep {
    /// Most numbers that a sweep returns, of all drives: 8 GiB of them.
    const MOST: u64 = 1 << 30;

    /// Number of blocks of a trial.
    pub fn blocks(&self) -> usize {
        (self.past.saturating_sub(self.first) / self.block.max(1)) as usize
    }

    /// Checks the range, for so many drives.
    ///
    /// # Errors
    /// No block, no trial or too many of them, by key.
    pub fn check(&self, drives: usize) -> Result<(), SpecError> {
        if self.block == 0 {
            return Err(SpecError::new("block_bytes", 0, "1 or more"));
        }
        if self.past < self.first || self.past - self.first < self.block {
            let need = format!("{} bytes or more after the first", self.block);
            return Err(SpecError::new("last_byte", self.past, need));
        }
        let blocks = (self.blocks() as u64).saturating_mul(drives as u64);
        let numbers = blocks.saturating_mul(self.trials as u64);
        if self.trials == 0 || numbers > Sweep::MOST {
            let most = Sweep::MOST;
            let need = format!("1 or more, and at most {most} blocks of all trials and drives");
            return Err(SpecError::new("trials", self.trials, need));
        }
        Ok(())
    }

    /// Writes the rates of all blocks of all trials of a drive to `rates`, in bytes per second. `drive` is its
    /// number: the noise of a drive does not depend on the others.
    ///
    /// # Errors
    /// A range that ends beyond what the drive offers.
    pub fn run(
        &self,
        stream: &Stream,
        (drive, factor): (usize, f64),
        noise: &Noise,
        rates: &mut [f64],
    ) -> Result<(), SpecError> {
        if self.past > stream.capacity {
            let need = format!("at most {}, which drive {drive} offers", stream.capacity);
            return Err(SpecError::new("last_byte", self.past, need));
        }
        let times = self.times(stream, &noise.damage_of(drive));
        let lost = noise.lost_turns_per_byte * self.block as f64;
        let lost = (lost > 0.0).then(|| Poisson::new(lost).ok()).flatten();
        let jitter = (noise.trial_factor > 0.0).then(|| Normal::new(1.0, noise.trial_factor).ok()).flatten();
        let period = stream.rotation.period_ns;
        for (trial, rates) in rates.chunks_mut(times.len()).enumerate() {
            let mut random = random::stream(self.seed, &format!("sweep-{drive}-{trial}"));
            let of_trial = jitter.map_or(1.0, |n| n.sample(&mut random).clamp(0.5, 1.5));
            let scale = factor * of_trial * 1e-9;
            for (rate, ns) in rates.iter_mut().zip(&times) {
                let turns = lost.map_or(0.0, |p| p.sample(&mut random));
                *rate = self.block as f64 / ((ns + turns * period) * scale);
            }
        }
        Ok(())
    }

    /// The time of each block without noise, in nanoseconds. `damage` is in order of address.
    fn times(&self, stream: &Stream, damage: &[Damage]) -> Vec<f64> {
        let mut from = stream.ns(self.first);
        let block = |i: usize| {
            let a = self.first + i as u64 * self.block;
            let b = a + self.block;
            let to = stream.ns(b);
            let mut ns = (to - from) as f64;
            let first = damage.partition_point(|d| d.to <= a);
            for d in damage[first..].iter().take_while(|d| d.from < b) {
                let slow = stream.ns(d.to.min(b)) - stream.ns(d.from.max(a));
                ns += slow as f64 * (1.0 / d.rate - 1.0);
            }
            from = to;
            ns
        };
        (0..self.blocks()).map(block).collect()
    }
}
