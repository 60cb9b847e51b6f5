//! What is in a trace, in one pass and bounded memory.
//!
//! # Validity
//! Quantiles are of a histogram with three significant digits. The footprint counts 4 KiB pages:
//! exactly up to 2^20 pages, beyond that by a HyperLogLog sketch of 2^14 registers (standard error
//! 0.8 %). Of a request longer than 256 MiB only the first 256 MiB are counted. Rows are kept for
//! 4096 devices; requests of further ones are counted in the totals only.

use crate::request::{Op, Request};
use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};

const PAGE_BLOCKS: u64 = 8;
const EXACT_PAGES: usize = 1 << 20;
const MAX_PAGES_PER_REQUEST: u64 = 65_536;
const MAX_DEVICES: usize = 4096;
const REGISTER_BITS: u32 = 14;

/// Collects what is known of a trace.
pub struct TraceInfo {
    total: Row,
    devices: BTreeMap<u32, Row>,
    sizes: BTreeMap<u32, u64>,
    gaps: Histogram<u64>,
    gap_sum_ns: u128,
    first_ns: Option<u64>,
    last_ns: u64,
    pages: HashSet<u64>,
    registers: Option<Vec<u8>>,
}

#[derive(Default, Clone)]
struct Row {
    reads: u64,
    writes: u64,
    flushes: u64,
    read_blocks: u128,
    write_blocks: u128,
    min_lba: Option<u64>,
    end_lba: u64,
    sequential: u64,
    next: Option<u64>,
}

impl Row {
    fn add(&mut self, r: &Request) {
        match r.op {
            Op::Flush => {
                self.flushes += 1;
                return;
            }
            Op::Read => {
                self.reads += 1;
                self.read_blocks += u128::from(r.blocks);
            }
            Op::Write | Op::WriteThrough => {
                self.writes += 1;
                self.write_blocks += u128::from(r.blocks);
            }
        }
        let end = r.lba.0.saturating_add(u64::from(r.blocks));
        self.min_lba = Some(self.min_lba.map_or(r.lba.0, |m| m.min(r.lba.0)));
        self.end_lba = self.end_lba.max(end);
        self.sequential += u64::from(self.next == Some(r.lba.0));
        self.next = Some(end);
    }
    fn summary(&self) -> RowSummary {
        let data = self.reads + self.writes;
        let share = |n: u64| {
            if data == 0 {
                0.0
            } else {
                n as f64 / data as f64
            }
        };
        RowSummary {
            n_requests: data + self.flushes,
            n_reads: self.reads,
            n_writes: self.writes,
            n_flushes: self.flushes,
            read_ratio: share(self.reads),
            read_bytes: self.read_blocks as f64 * 512.0,
            write_bytes: self.write_blocks as f64 * 512.0,
            sequential_ratio: share(self.sequential),
            first_lba: self.min_lba.unwrap_or(0),
            end_lba: self.end_lba,
        }
    }
}

/// Counts of a device or of all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowSummary {
    /// Requests of all kinds.
    pub n_requests: u64,
    /// Reads.
    pub n_reads: u64,
    /// Writes, those through to the medium included.
    pub n_writes: u64,
    /// Flushes.
    pub n_flushes: u64,
    /// Reads among reads and writes.
    pub read_ratio: f64,
    /// Bytes read.
    pub read_bytes: f64,
    /// Bytes written.
    pub write_bytes: f64,
    /// Requests that begin where the one before on the same device ended.
    pub sequential_ratio: f64,
    /// The lowest block, of 512 bytes.
    pub first_lba: u64,
    /// One past the highest block.
    pub end_lba: u64,
}

/// One class of sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SizeClass {
    /// Sizes up to this, and above the class before.
    pub up_to_bytes: u64,
    /// How many reads and writes.
    pub n_requests: u64,
}

/// Gaps between arrivals.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Gaps {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

/// One device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceSummary {
    /// Its number.
    pub device: u32,
    /// Its counts.
    #[serde(flatten)]
    pub counts: RowSummary,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceSummary {
    /// All devices.
    #[serde(flatten)]
    pub total: RowSummary,
    /// From the first to the last arrival.
    pub duration_s: f64,
    /// Arrivals per second.
    pub rate_per_s: f64,
    /// Gaps between arrivals, in seconds.
    pub interarrival_s: Gaps,
    /// Sizes by powers of two.
    pub sizes: Vec<SizeClass>,
    /// Bytes in 4 KiB pages touched at least once.
    pub footprint_bytes: u64,
    /// Whether the footprint is a sketch's estimate.
    pub footprint_is_estimate: bool,
    /// Each device.
    pub devices: Vec<DeviceSummary>,
}

impl Default for TraceInfo {
    fn default() -> Self {
        TraceInfo::new()
    }
}

impl TraceInfo {
    /// Nothing seen yet.
    pub fn new() -> TraceInfo {
        // Recording beyond a histogram's range saturates instead of widening it, so it covers all
        // gaps from the start; these bounds and three digits are allowed, so this cannot fail.
        let gaps = Histogram::new_with_bounds(1, u64::MAX / 2, 3).expect("bounds are allowed");
        TraceInfo {
            total: Row::default(),
            devices: BTreeMap::new(),
            sizes: BTreeMap::new(),
            gaps,
            gap_sum_ns: 0,
            first_ns: None,
            last_ns: 0,
            pages: HashSet::new(),
            registers: None,
        }
    }

    /// Counts a request.
    pub fn add(&mut self, r: &Request) {
        if self.first_ns.is_some() {
            let gap = r.time.0.saturating_sub(self.last_ns);
            self.gap_sum_ns += u128::from(gap);
            self.gaps.saturating_record(gap.min(u64::MAX / 4));
        } else {
            self.first_ns = Some(r.time.0);
        }
        self.last_ns = self.last_ns.max(r.time.0);
        self.total.add(r);
        if self.devices.len() < MAX_DEVICES || self.devices.contains_key(&r.device) {
            self.devices.entry(r.device).or_default().add(r);
        }
        if r.op == Op::Flush || r.blocks == 0 {
            return;
        }
        *self
            .sizes
            .entry(u64::from(r.blocks).next_power_of_two().trailing_zeros())
            .or_default() += 1;
        let first = r.lba.0 / PAGE_BLOCKS;
        let end = (r.lba.0.saturating_add(u64::from(r.blocks))).div_ceil(PAGE_BLOCKS);
        for page in first..end.min(first + MAX_PAGES_PER_REQUEST) {
            self.page(mix(page ^ mix(u64::from(r.device) + 1)));
        }
    }

    fn page(&mut self, hash: u64) {
        if let Some(registers) = &mut self.registers {
            sketch(registers, hash);
            return;
        }
        self.pages.insert(hash);
        if self.pages.len() > EXACT_PAGES {
            let mut registers = vec![0; 1 << REGISTER_BITS];
            for hash in std::mem::take(&mut self.pages) {
                sketch(&mut registers, hash);
            }
            self.registers = Some(registers);
        }
    }

    fn pages(&self) -> u64 {
        let Some(registers) = &self.registers else {
            return self.pages.len() as u64;
        };
        // Flajolet, Fusy, Gandouet & Meunier 2007; far above the range of its small correction.
        let m = registers.len() as f64;
        let sum: f64 = registers.iter().map(|&r| 0.5f64.powi(i32::from(r))).sum();
        (0.7213 / (1.0 + 1.079 / m) * m * m / sum) as u64
    }

    /// What was seen.
    pub fn summary(&self) -> TraceSummary {
        let duration_s = (self.last_ns - self.first_ns.unwrap_or(self.last_ns)) as f64 * 1e-9;
        let total = self.total.summary();
        let gap_count = self.gaps.len();
        let quantile = |q| self.gaps.value_at_quantile(q) as f64 * 1e-9;
        let interarrival_s = if gap_count == 0 {
            Gaps::default()
        } else {
            Gaps {
                mean: self.gap_sum_ns as f64 * 1e-9 / gap_count as f64,
                p50: quantile(0.5),
                p90: quantile(0.9),
                p99: quantile(0.99),
                max: self.gaps.max() as f64 * 1e-9,
            }
        };
        TraceSummary {
            rate_per_s: if duration_s > 0.0 {
                gap_count as f64 / duration_s
            } else {
                0.0
            },
            duration_s,
            interarrival_s,
            sizes: self
                .sizes
                .iter()
                .map(|(&class, &n_requests)| SizeClass {
                    up_to_bytes: 512 << class,
                    n_requests,
                })
                .collect(),
            footprint_bytes: self.pages() * PAGE_BLOCKS * 512,
            footprint_is_estimate: self.registers.is_some(),
            devices: self
                .devices
                .iter()
                .map(|(&device, row)| DeviceSummary {
                    device,
                    counts: row.summary(),
                })
                .collect(),
            total,
        }
    }
}

/// A bijection of 64 bits (SplitMix64's finalizer): distinct pages of a device stay distinct.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn sketch(registers: &mut [u8], hash: u64) {
    let index = (hash >> (64 - REGISTER_BITS)) as usize;
    let rank = (hash << REGISTER_BITS)
        .leading_zeros()
        .min(64 - REGISTER_BITS) as u8
        + 1;
    registers[index] = registers[index].max(rank);
}

#[cfg(test)]
mod tests {
    use super::*;
    use headstack_units::{Lba, Time};

    #[test]
    fn counts_by_hand() {
        let mut info = TraceInfo::new();
        for (time, device, lba, blocks, op) in [
            (0, 0, 0, 8, Op::Read),
            (1_000_000_000, 0, 8, 8, Op::Read),
            (3_000_000_000, 1, 16, 3, Op::WriteThrough),
            (4_000_000_000, 1, 0, 0, Op::Flush),
        ] {
            info.add(&Request {
                time: Time(time),
                device,
                lba: Lba(lba),
                blocks,
                op,
            });
        }
        let s = info.summary();
        assert_eq!(
            (s.total.n_requests, s.total.n_reads, s.total.n_flushes),
            (4, 2, 1)
        );
        assert_eq!((s.total.n_writes, s.total.write_bytes), (1, 3.0 * 512.0));
        assert_eq!((s.duration_s, s.footprint_bytes), (4.0, 3 * 4096));
        assert!((s.interarrival_s.mean - 4.0 / 3.0).abs() < 1e-12);
        // Gaps of 1, 2 and 1 s, to the histogram's three digits.
        assert!((s.interarrival_s.p50 - 1.0).abs() < 1e-3);
        assert!((s.interarrival_s.max - 2.0).abs() < 2e-3);
        assert_eq!(s.devices[0].counts.sequential_ratio, 0.5);
        assert_eq!(s.sizes[0].up_to_bytes, 2048);
        assert!(serde_json::to_string(&s).is_ok());
    }

    #[test]
    fn large_footprints_are_estimated_within_three_standard_errors() {
        let mut info = TraceInfo::new();
        let pages = 4_000_000u64;
        for page in 0..pages {
            info.add(&Request {
                lba: Lba(page * 8),
                blocks: 8,
                ..Request::default()
            });
        }
        let s = info.summary();
        assert!(s.footprint_is_estimate);
        let ratio = s.footprint_bytes as f64 / (pages * 4096) as f64;
        assert!((ratio - 1.0).abs() < 0.025, "{ratio}");
    }
}
