//! Streams of many drives: arrays of float64 and uint64 go in and out as bytes.

use crate::drive::parse;
use crate::errors::{config, raise};
use crate::wait::on_thread;
use headstack_drive::stream::{Fleet, Noise, Sweep};
use headstack_drive::{Density, DriveDesign, Models};
use headstack_engine::SpecError;
use headstack_schema::{read, Table};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;

/// [`Noise`] as Python gives it.
#[derive(Table)]
#[table(defaults)]
struct NoiseTable {
    /// Mean number of lost turns per byte read.
    lost_turns_per_byte: f64,
    /// Standard deviation of the factor on all times of a trial.
    trial_factor: f64,
    /// Extents that are read slowly: `[drive, from byte, to byte, factor on the rate]`.
    #[param(range = 0.0..=1e18)]
    damage: Vec<[f64; 4]>,
}

impl From<NoiseTable> for Noise {
    fn from(table: NoiseTable) -> Noise {
        let extent = |[drive, from, to, factor]: &[f64; 4]| (*drive as usize, *from as u64, *to as u64, *factor);
        Noise {
            lost_turns_per_byte: table.lost_turns_per_byte,
            trial_factor: table.trial_factor,
            damage: table.damage.iter().map(extent).collect(),
        }
    }
}

/// The numbers of an array of float64.
fn floats(key: &str, bytes: &[u8]) -> Result<Vec<f64>, SpecError> {
    if bytes.len() % 8 != 0 {
        let got = format!("{} bytes", bytes.len());
        return Err(SpecError::new(key, got, "float64 numbers of 8 bytes"));
    }
    let number = |b: &[u8]| b.try_into().map_or(f64::NAN, f64::from_ne_bytes);
    Ok(bytes.chunks_exact(8).map(number).collect())
}

/// The drives of a description; `held`: as large as their surfaces, whatever the description offers.
fn fleet(spec_json: &str, held: bool, densities: &[u8], factors: &[u8]) -> PyResult<Fleet> {
    let mut spec = parse(spec_json)?;
    if held {
        spec.geometry.capacity_blocks = None;
    }
    let pairs = floats("densities", densities).map_err(config)?;
    if pairs.len() % 2 != 0 {
        let need = "pairs of bits and tracks per inch";
        return Err(config(SpecError::new("densities", "an odd number", need)));
    }
    let densities = pairs.chunks_exact(2).map(|pair| Density { bpi: pair[0], tpi: pair[1] });
    let factors = floats("factors", factors).map_err(config)?;
    DriveDesign::new(&spec, &Models::builtin())
        .and_then(|design| Fleet::new(design, densities.collect(), factors))
        .map_err(config)
}

/// Computes on a thread of its own, so that Ctrl-C is seen.
fn compute<T: Send + 'static>(
    py: Python<'_>,
    fleet: Fleet,
    work: impl FnOnce(&Fleet) -> Result<Vec<T>, SpecError> + Send + 'static,
) -> PyResult<Vec<T>> {
    let fleet = Arc::new(fleet);
    let own = fleet.clone();
    on_thread(py, move || work(&own), || fleet.stop())?.map_err(config)
}

fn bytes<'py, const N: usize, T: Copy>(
    py: Python<'py>,
    numbers: &[T],
    to_bytes: impl Fn(T) -> [u8; N],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, numbers.len() * N, |out| {
        for (to, number) in out.chunks_exact_mut(N).zip(numbers) {
            to.copy_from_slice(&to_bytes(*number));
        }
        Ok(())
    })
}

/// Rates of all blocks of all trials of all drives.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the interface is flat")]
pub fn sweep<'py>(
    py: Python<'py>,
    drive_json: &str,
    densities: &[u8],
    factors: &[u8],
    block_bytes: u64,
    first_byte: u64,
    last_byte: u64,
    trials: usize,
    seed: u64,
    noise_json: &str,
    threads: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let noise: Noise = serde_json::from_str(noise_json)
        .map_err(|e| raise("ConfigError", format!("noise: got {e}, need JSON")))
        .and_then(|v| read::<NoiseTable>(&v).map_err(|e| config(e.within("noise"))))?
        .into();
    let sweep = Sweep { block: block_bytes, first: first_byte, past: last_byte, trials, seed };
    let fleet = fleet(drive_json, false, densities, factors)?;
    let rates = compute(py, fleet, move |f| f.sweep(&sweep, &noise, threads))?;
    bytes(py, &rates, f64::to_ne_bytes)
}

/// Mean rate of each zone of each drive.
#[pyfunction]
pub fn zone_rates<'py>(
    py: Python<'py>,
    drive_json: &str,
    densities: &[u8],
    factors: &[u8],
    threads: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let fleet = fleet(drive_json, true, densities, factors)?;
    let rates = compute(py, fleet, move |f| f.zone_rates(threads))?;
    bytes(py, &rates, f64::to_ne_bytes)
}

/// Bytes that the surfaces of each drive hold.
#[pyfunction]
pub fn capacities<'py>(
    py: Python<'py>,
    drive_json: &str,
    densities: &[u8],
    threads: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let fleet = fleet(drive_json, true, densities, &[])?;
    let held = compute(py, fleet, move |f| f.capacities(threads))?;
    bytes(py, &held, u64::to_ne_bytes)
}
