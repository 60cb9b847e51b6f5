//! Measures the difference between simulated and measured response times.
//!
//! # Model
//! The demerit figure is the root mean square of the horizontal distance between two cumulative
//! distributions, over the quantiles 0.0001, 0.0002, … 1.
//! # Source
//! Ruemmler & Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994; the
//! histogram version as in DiskSim 4.0's comparison tool.
//! # Validity
//! Errors that cancel do not show in the distributions: examine the classes ([`classes`]) too. The last
//! quantile compares the two maxima, so one extreme request has an effect.

use serde::Serialize;
use std::path::{Path, PathBuf};

/// Quantiles at which distributions are compared.
const QUANTILES: u64 = 10_000;

fn sorted(sample: &[f64]) -> Vec<f64> {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn root_mean_square(differences: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = differences.fold((0.0, 0u64), |(sum, n), d| (sum + d * d, n + 1));
    (sum / n as f64).sqrt()
}

/// Demerit of two samples, in their unit: differences between equal ranks. NaN if one is empty.
pub fn demerit(measured: &[f64], simulated: &[f64]) -> f64 {
    if measured.is_empty() || simulated.is_empty() {
        return f64::NAN;
    }
    let (a, b) = (sorted(measured), sorted(simulated));
    // The smallest value that is not below a share i / QUANTILES of the sample.
    let at = |s: &[f64], i: u64| s[((i * s.len() as u64).div_ceil(QUANTILES) - 1) as usize];
    root_mean_square((1..=QUANTILES).map(|i| at(&a, i) - at(&b, i)))
}

/// Edges of the histogram in microseconds: steps of 1 up to 100, then of about 1 %.
const BINS: usize = 1750;

/// Demerit of two samples in seconds, from histograms with linear interpolation inside a bin: the
/// figure that DiskSim's own tool prints. NaN if one is empty.
pub fn demerit_histogram(measured_s: &[f64], simulated_s: &[f64]) -> f64 {
    if measured_s.is_empty() || simulated_s.is_empty() {
        return f64::NAN;
    }
    let mut edges = vec![0u64];
    for i in 0..BINS {
        edges.push(edges[i] + 1 + edges[i] / 100);
    }
    let quantiles = |sample: &[f64]| -> Vec<f64> {
        let mut counts = vec![0u64; edges.len()];
        for s in sample {
            // Whole microseconds written with six decimals stay whole in spite of rounding.
            let us = (s * 1e6 + 1e-6).floor().max(0.0) as u64;
            counts[edges.partition_point(|e| *e <= us).min(BINS)] += 1;
        }
        let n = sample.len() as u64;
        let mut total = 0;
        // Shares in millionths, as the tool prints them.
        let shares = counts.iter().map(|c| {
            total += c;
            (total * 2_000_000 + n) / (2 * n)
        });
        let shares: Vec<u64> = shares.collect();
        let mut bin = 0;
        (1..=QUANTILES)
            .map(|i| {
                let p = i * (1_000_000 / QUANTILES);
                while shares[bin] < p {
                    bin += 1;
                }
                if bin == 0 {
                    return 0.0;
                }
                let (below, above) = (shares[bin - 1] as f64, shares[bin] as f64);
                let inside = (p as f64 - below) / (above - below);
                edges[bin - 1] as f64 + inside * (edges[bin] - edges[bin - 1]) as f64
            })
            .collect()
    };
    let (a, b) = (quantiles(measured_s), quantiles(simulated_s));
    1e-6 * root_mean_square(a.iter().zip(&b).map(|(a, b)| a - b))
}

/// The parts of a request that a validation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Write, or read.
    pub write: bool,
    /// First 512-byte block.
    pub lba: u64,
    /// Number of 512-byte blocks.
    pub blocks: u32,
}

/// Requests of one kind that follow requests of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Class {
    /// `read` or `write`.
    pub operation: &'static str,
    /// Operation of the request before (a read for the first one).
    pub previous: &'static str,
    /// Whether it starts where the previous one ended.
    pub sequential: bool,
    /// Number of requests.
    pub n_requests: usize,
    /// Mean of the measured response times, seconds.
    pub measured_mean_s: f64,
    /// Mean of the simulated response times, seconds.
    pub simulated_mean_s: f64,
    /// Demerit of this class, seconds.
    pub demerit_s: f64,
}

fn mean(sample: &[f64]) -> f64 {
    sample.iter().sum::<f64>() / sample.len() as f64
}

/// The classes that occur: read or write, after read or write, sequential or not. Extra elements
/// of the longer slices are left out.
pub fn classes(requests: &[Request], measured_s: &[f64], simulated_s: &[f64]) -> Vec<Class> {
    let mut samples: [(Vec<f64>, Vec<f64>); 8] = Default::default();
    let mut previous = (false, None);
    for ((request, measured), simulated) in requests.iter().zip(measured_s).zip(simulated_s) {
        let sequential = previous.1 == Some(request.lba);
        let class = &mut samples[request.write as usize * 4 + previous.0 as usize * 2 + sequential as usize];
        class.0.push(*measured);
        class.1.push(*simulated);
        previous = (request.write, request.lba.checked_add(request.blocks as u64));
    }
    let name = |write: bool| if write { "write" } else { "read" };
    let filled = samples.iter().enumerate().filter(|(_, s)| !s.0.is_empty());
    filled
        .map(|(i, (measured, simulated))| Class {
            operation: name(i & 4 != 0),
            previous: name(i & 2 != 0),
            sequential: i & 1 != 0,
            n_requests: measured.len(),
            measured_mean_s: mean(measured),
            simulated_mean_s: mean(simulated),
            demerit_s: demerit(measured, simulated),
        })
        .collect()
}

/// The validation of one drive.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DriveResult {
    /// The stem of its files.
    pub name: String,
    /// Number of requests compared.
    pub n_requests: usize,
    /// Demerit from sorted samples, seconds.
    pub demerit_s: f64,
    /// Demerit from histograms, seconds.
    pub demerit_histogram_s: f64,
    /// Mean of the measured response times, seconds.
    pub measured_mean_s: f64,
    /// Mean of the simulated response times, seconds.
    pub simulated_mean_s: f64,
    /// The results of each class.
    pub classes: Vec<Class>,
}

/// The validation of a folder.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Validation {
    /// One result for each drive that could be compared, by name.
    pub drives: Vec<DriveResult>,
    /// The drives that could not be compared, by name.
    pub errors: Vec<Unusable>,
}

/// A drive in a folder that could not be compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unusable {
    /// The stem of its files.
    pub name: String,
    /// The file that cannot be used.
    pub path: PathBuf,
    /// The place in it, what was got and what is needed.
    pub message: String,
}

impl DriveResult {
    /// Compares the response times of a trace, in seconds and in trace order.
    ///
    /// # Errors
    /// No requests, or not one measured and one simulated time for each.
    pub fn new(
        name: &str,
        requests: &[Request],
        measured_s: &[f64],
        simulated_s: &[f64],
    ) -> Result<DriveResult, String> {
        let n = requests.len();
        if n == 0 || measured_s.len() != n || simulated_s.len() != n {
            let (m, s) = (measured_s.len(), simulated_s.len());
            return Err(format!(
                "{name}: got {n} requests, {m} measured and {s} simulated times, need as many of \
                 each and at least one"
            ));
        }
        Ok(DriveResult {
            name: name.to_string(),
            n_requests: n,
            demerit_s: demerit(measured_s, simulated_s),
            demerit_histogram_s: demerit_histogram(measured_s, simulated_s),
            measured_mean_s: mean(measured_s),
            simulated_mean_s: mean(simulated_s),
            classes: classes(requests, measured_s, simulated_s),
        })
    }
}

/// A drive's parameter file and the trace measured with it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// The stem of both.
    pub name: String,
    /// `name.parv` or `name.toml`.
    pub parameters: PathBuf,
    /// `name.trace`.
    pub trace: PathBuf,
}

/// Every `*.parv` and `*.toml` of a folder that has a `.trace` of the same stem, by name; the `.parv` where there are both.
///
/// # Errors
/// A folder that cannot be listed.
pub fn pairs(folder: &Path) -> std::io::Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let parameters = entry?.path();
        let trace = parameters.with_extension("trace");
        let extension = parameters.extension().and_then(|e| e.to_str());
        let is_drive = match extension {
            Some("toml") => !parameters.with_extension("parv").is_file(),
            other => other == Some("parv"),
        };
        if let (true, true, Some(stem)) = (is_drive, trace.is_file(), parameters.file_stem()) {
            let name = stem.to_string_lossy().into_owned();
            pairs.push(Pair { name, parameters, trace });
        }
    }
    pairs.sort();
    Ok(pairs)
}
