//! Many drives of one design that differ in the densities of their surfaces.

use super::{Noise, Stream, Sweep};
use crate::bounds::bounded;
use crate::design::DriveDesign;
use crate::layout::adaptive::Density;
use headstack_engine::SpecError;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;

const MOST_THREADS: usize = 256;

/// Drives of one design.
pub struct Fleet {
    design: Arc<DriveDesign>,
    /// One for each surface of each drive, drive by drive; empty: the design's own.
    densities: Vec<Density>,
    /// Factor on all times of each drive; empty: 1. 0.1 to 10.
    factors: Vec<f64>,
    stopped: AtomicBool,
}

impl Fleet {
    /// As many drives as there are factors, or densities for all surfaces; one drive if there are neither.
    ///
    /// # Errors
    /// Numbers of densities and factors that do not fit together, and factors out of bounds, by key. The
    /// densities themselves are checked when a drive is computed.
    pub fn new(design: Arc<DriveDesign>, densities: Vec<Density>, factors: Vec<f64>) -> Result<Fleet, SpecError> {
        let surfaces = design.common.spec.geometry.surfaces as usize;
        if densities.len() % surfaces != 0 {
            let need = format!("a multiple of the {surfaces} surfaces of a drive");
            return Err(SpecError::new("densities", densities.len(), need));
        }
        let drives = densities.len() / surfaces;
        if !densities.is_empty() && !factors.is_empty() && factors.len() != drives {
            let need = format!("one for each of {drives} drives");
            return Err(SpecError::new("factors", factors.len(), need));
        }
        for (i, factor) in factors.iter().enumerate() {
            bounded(format!("factors[{i}]"), *factor, 0.1..=10.0)?;
        }
        Ok(Fleet { design, densities, factors, stopped: AtomicBool::new(false) })
    }

    /// Number of drives.
    pub fn len(&self) -> usize {
        let surfaces = self.design.common.spec.geometry.surfaces as usize;
        match (self.densities.len() / surfaces, self.factors.len()) {
            (0, 0) => 1,
            (drives, factors) => drives.max(factors),
        }
    }

    /// Whether there is no drive: never.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The streams of a drive.
    ///
    /// # Errors
    /// Densities that do not fit the geometry, and designs without streams.
    pub fn stream(&self, drive: usize) -> Result<Stream, SpecError> {
        if self.densities.is_empty() {
            return Stream::new(&self.design);
        }
        let surfaces = self.design.common.spec.geometry.surfaces as usize;
        let own = &self.densities[drive * surfaces..][..surfaces];
        let stream = self.design.with_density(own).and_then(|design| Stream::new(&design));
        stream.map_err(|e| e.within(&format!("drives[{drive}]")))
    }

    /// Lets whatever is being computed end soon, with an error. For a user who interrupts it.
    pub fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    fn factor(&self, drive: usize) -> f64 {
        self.factors.get(drive).copied().unwrap_or(1.0)
    }

    /// The rates of all blocks of all trials, in bytes per second: drive by drive, in each trial by trial.
    /// They do not depend on the number of threads, 1 to 256.
    ///
    /// # Errors
    /// A sweep or noise that is refused, and those of [`Fleet::stream`].
    pub fn sweep(&self, sweep: &Sweep, noise: &Noise, threads: usize) -> Result<Vec<f64>, SpecError> {
        sweep.check(self.len())?;
        noise.check(self.len())?;
        self.rows(sweep.blocks() * sweep.trials, threads, |drive, row| {
            let stream = self.stream(drive)?;
            sweep.run(&stream, (drive, self.factor(drive)), noise, row)
        })
    }

    /// The mean rate of each zone in bytes per second, drive by drive ([`Stream::zone_rate`]).
    ///
    /// # Errors
    /// Those of [`Fleet::stream`].
    pub fn zone_rates(&self, threads: usize) -> Result<Vec<f64>, SpecError> {
        let zones = self.design.common.spec.geometry.zones.len();
        self.rows(zones, threads, |drive, row| {
            let stream = self.stream(drive)?;
            for (zone, rate) in row.iter_mut().enumerate() {
                *rate = stream.zone_rate(zone) / self.factor(drive);
            }
            Ok(())
        })
    }

    /// The bytes that the surfaces of each drive hold, whatever it offers.
    ///
    /// # Errors
    /// Those of [`Fleet::stream`].
    pub fn capacities(&self, threads: usize) -> Result<Vec<u64>, SpecError> {
        self.rows(1, threads, |drive, row: &mut [u64]| {
            row[0] = self.stream(drive)?.held;
            Ok(())
        })
    }

    /// One row of `width` numbers for each drive. Of several errors, that of the first drive.
    fn rows<T: Copy + Default + Send>(
        &self,
        width: usize,
        threads: usize,
        fill: impl Fn(usize, &mut [T]) -> Result<(), SpecError> + Sync,
    ) -> Result<Vec<T>, SpecError> {
        let mut all = vec![T::default(); self.len() * width];
        let share = self.len().div_ceil(threads.clamp(1, MOST_THREADS));
        let fill = &fill;
        std::thread::scope(|scope| {
            let work = |(i, rows): (usize, &mut [T])| {
                for (j, row) in rows.chunks_mut(width).enumerate() {
                    if self.stopped.load(Relaxed) {
                        return Err(SpecError::new("drives", "a stop", "all drives"));
                    }
                    fill(i * share + j, row)?;
                }
                Ok(())
            };
            let parts = all.chunks_mut(share * width).enumerate();
            let running: Vec<_> = parts.map(|p| scope.spawn(move || work(p))).collect();
            running.into_iter().try_for_each(|part| match part.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })?;
        Ok(all)
    }
}
