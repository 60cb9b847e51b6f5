//! Statistics of a trace, in one pass and bounded memory.
//!
//! # Validity
//! Quantiles are taken from a histogram with three significant digits; means and the longest gap are exact.
//! Pages are counted exactly up to 2^19 of them, beyond that from a sample (standard error 0.2 %). A request
//! longer than 256 MiB touches pages only in its first 256 MiB. Statistics are kept for 4096 devices; requests
//! to others are counted in the totals only. Address maps are kept for the first eight devices.

#[doc(hidden)]
pub mod bins;
pub mod checks;
#[doc(hidden)]
pub mod pages;

use crate::alignment::Alignment;
use crate::request::{Command, Request};
use bins::{Map, RateBins, Tally};
use hdrhistogram::Histogram;
use pages::Pages;
use serde::Serialize;
use std::collections::BTreeMap;

pub use bins::{AddressMap, Rates};
pub use pages::{Reuse, TouchClass, WorkingSet};

const PAGE_BLOCKS: u64 = 8;
const PAGE_BYTES: u64 = PAGE_BLOCKS * 512;
const MAX_PAGES_PER_REQUEST: u64 = 65_536;
const MAX_DEVICES: usize = 4096;
const MAX_MAPS: usize = 8;
/// Window of the working set: one minute.
const WINDOW_NS: u64 = 60_000_000_000;

/// Collects the statistics of a trace.
pub struct TraceInfo {
    total: Row,
    devices: BTreeMap<u32, Row>,
    operations: BTreeMap<Command, Sizes>,
    alignment: Alignment,
    sizes: BTreeMap<u32, u64>,
    gaps: Histogram<u64>,
    gap_sum_ns: u128,
    longest_gap_ns: u64,
    resolution_ns: u64,
    first_ns: Option<u64>,
    last_ns: u64,
    rate_bins: RateBins,
    maps: BTreeMap<u32, Map>,
    pages: Pages,
}

/// Sizes of the requests of one operation.
#[derive(Default)]
struct Sizes {
    requests: u64,
    blocks: u128,
    least: u32,
    most: u32,
    unaligned: u64,
    classes: BTreeMap<u32, u64>,
}

impl Sizes {
    pub fn add(&mut self, r: &Request) {
        self.least = match self.requests {
            0 => r.blocks,
            _ => self.least.min(r.blocks),
        };
        self.most = self.most.max(r.blocks);
        self.requests += 1;
        self.blocks += u128::from(r.blocks);
        let partial = r.lba.0 % PAGE_BLOCKS != 0 || u64::from(r.blocks) % PAGE_BLOCKS != 0;
        self.unaligned += u64::from(partial);
        if r.blocks > 0 {
            *self.classes.entry(size_class(r.blocks)).or_default() += 1;
        }
    }

    pub fn summary(&self, op: Command) -> OperationSummary {
        let requests = self.requests as f64;
        OperationSummary {
            op: op.name(),
            n_requests: self.requests,
            bytes: self.blocks as f64 * 512.0,
            size_mean_bytes: self.blocks as f64 * 512.0 / requests,
            size_min_bytes: u64::from(self.least) * 512,
            size_max_bytes: u64::from(self.most) * 512,
            unaligned_ratio: self.unaligned as f64 / requests,
            sizes: classes(&self.classes),
        }
    }
}

/// The least power of two, in blocks, that is not below a size.
fn size_class(blocks: u32) -> u32 {
    u64::from(blocks).next_power_of_two().trailing_zeros()
}

fn classes(counts: &BTreeMap<u32, u64>) -> Vec<SizeClass> {
    let class = |(&class, &n_requests): (&u32, &u64)| SizeClass { up_to_bytes: 512 << class, n_requests };
    counts.iter().map(class).collect()
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
    pub fn add(&mut self, r: &Request) {
        match r.op {
            Command::Flush => {
                self.flushes += 1;
                return;
            }
            Command::Read | Command::ReadThrough => {
                self.reads += 1;
                self.read_blocks += u128::from(r.blocks);
            }
            Command::Write | Command::WriteThrough => {
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
    pub fn summary(&self) -> RowSummary {
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

/// Counts of one device or of all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowSummary {
    /// Requests of all kinds.
    pub n_requests: u64,
    pub n_reads: u64,
    /// Writes, including write-through.
    pub n_writes: u64,
    pub n_flushes: u64,
    /// Share of reads among reads and writes.
    pub read_ratio: f64,
    pub read_bytes: f64,
    /// Bytes written.
    pub write_bytes: f64,
    /// Share of requests that begin where the previous request on the same device ended.
    pub sequential_ratio: f64,
    /// The lowest block, of 512 bytes.
    pub first_lba: u64,
    /// One past the highest block.
    pub end_lba: u64,
}

/// One class of sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SizeClass {
    /// Upper bound of the size, inclusive; the lower bound is that of the class before.
    pub up_to_bytes: u64,
    /// Number of reads and writes.
    pub n_requests: u64,
}

/// Gaps between arrivals.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Gaps {
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    /// The longest, exact.
    pub max: f64,
}

/// Requests of one operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperationSummary {
    /// `read`, `write`, `write-through` or `flush`.
    pub op: &'static str,
    pub n_requests: u64,
    /// Bytes of all requests.
    pub bytes: f64,
    pub size_mean_bytes: f64,
    pub size_min_bytes: u64,
    pub size_max_bytes: u64,
    /// Share of requests that do not cover whole 4 KiB sectors.
    pub unaligned_ratio: f64,
    /// Sizes by powers of two.
    pub sizes: Vec<SizeClass>,
}

/// One device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceSummary {
    pub device: u32,
    /// Its counts.
    #[serde(flatten)]
    pub counts: RowSummary,
}

/// An offset from the beginnings of sectors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SharedOffset {
    /// Blocks of 512 bytes.
    pub blocks: u64,
    /// Share of the reads and writes that have it.
    pub share: f64,
}

/// The statistics of a trace.
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
    /// Method by which quantiles of gaps were computed.
    pub interarrival_quantile_method: &'static str,
    /// The greatest time of which all gaps are multiples; 0 without gaps.
    pub time_resolution_s: f64,
    /// Each operation that occurs.
    pub operations: Vec<OperationSummary>,
    /// Reads and writes by their first block, modulo the eight blocks of a sector of 4 KiB.
    pub offsets: [u64; 8],
    /// The offset in a sector that most requests share; absent if there is none but 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_offset: Option<SharedOffset>,
    /// Sizes of reads and writes by powers of two.
    pub sizes: Vec<SizeClass>,
    /// Bytes in 4 KiB pages touched at least once.
    pub footprint_bytes: u64,
    /// Whether the footprint is estimated from a sample.
    pub footprint_is_estimate: bool,
    /// How often pages are touched repeatedly.
    pub reuse: Reuse,
    /// Bytes in pages touched within a minute.
    pub working_set_bytes: WorkingSet,
    /// Rates over time.
    pub rates: Rates,
    /// Addresses over time, of the first devices.
    pub addresses: Vec<AddressMap>,
    pub devices: Vec<DeviceSummary>,
}

impl Default for TraceInfo {
    fn default() -> Self {
        TraceInfo::new()
    }
}

impl TraceInfo {
    /// Statistics of an empty trace.
    pub fn new() -> TraceInfo {
        // A histogram saturates at the end of its range, so the range covers all gaps from the start. These
        // bounds and three digits are allowed, so this cannot fail.
        let gaps = Histogram::new_with_bounds(1, u64::MAX / 2, 3).expect("bounds are allowed");
        TraceInfo {
            total: Row::default(),
            devices: BTreeMap::new(),
            operations: BTreeMap::new(),
            alignment: Alignment::default(),
            sizes: BTreeMap::new(),
            gaps,
            gap_sum_ns: 0,
            longest_gap_ns: 0,
            resolution_ns: 0,
            first_ns: None,
            last_ns: 0,
            rate_bins: RateBins::default(),
            maps: BTreeMap::new(),
            pages: Pages::default(),
        }
    }

    /// Counts a request.
    pub fn add(&mut self, r: &Request) {
        let first = self.arrive(r.time.0);
        let at = r.time.0.saturating_sub(first);
        self.total.add(r);
        if self.devices.len() < MAX_DEVICES || self.devices.contains_key(&r.device) {
            self.devices.entry(r.device).or_default().add(r);
        }
        self.operations.entry(r.op).or_default().add(r);
        self.alignment.add(r);
        if r.op == Command::Flush || r.blocks == 0 {
            return;
        }
        *self.sizes.entry(size_class(r.blocks)).or_default() += 1;
        self.rate_bins.add(at, tally(r));
        if self.maps.len() < MAX_MAPS || self.maps.contains_key(&r.device) {
            self.maps.entry(r.device).or_default().add(at, r.lba.0);
        }
        let first = r.lba.0 / PAGE_BLOCKS;
        let end = (r.lba.0.saturating_add(u64::from(r.blocks))).div_ceil(PAGE_BLOCKS);
        let device = mix(u64::from(r.device) + 1);
        for page in first..end.min(first + MAX_PAGES_PER_REQUEST) {
            self.pages.touch(mix(page ^ device), at / WINDOW_NS);
        }
    }

    /// Counts the gap before an arrival; returns the time of the first one.
    fn arrive(&mut self, time_ns: u64) -> u64 {
        let Some(first) = self.first_ns else {
            (self.first_ns, self.last_ns) = (Some(time_ns), time_ns);
            return time_ns;
        };
        let gap = time_ns.saturating_sub(self.last_ns);
        self.gap_sum_ns += u128::from(gap);
        self.gaps.saturating_record(gap.min(u64::MAX / 4));
        self.longest_gap_ns = self.longest_gap_ns.max(gap);
        self.resolution_ns = common_divisor(self.resolution_ns, gap);
        self.last_ns = self.last_ns.max(time_ns);
        first
    }

    /// The statistics so far.
    pub fn summary(&self) -> TraceSummary {
        let duration_ns = self.last_ns - self.first_ns.unwrap_or(self.last_ns);
        let duration_s = duration_ns as f64 / 1e9;
        let total = self.total.summary();
        let gap_count = self.gaps.len();
        let quantile = |q| self.gaps.value_at_quantile(q) as f64 / 1e9;
        let interarrival_s = if gap_count == 0 {
            Gaps::default()
        } else {
            Gaps {
                mean: self.gap_sum_ns as f64 / 1e9 / gap_count as f64,
                p50: quantile(0.5),
                p90: quantile(0.9),
                p99: quantile(0.99),
                max: self.longest_gap_ns as f64 / 1e9,
            }
        };
        TraceSummary {
            rate_per_s: if duration_s > 0.0 { gap_count as f64 / duration_s } else { 0.0 },
            duration_s,
            interarrival_s,
            interarrival_quantile_method: "histogram, 3 digits",
            time_resolution_s: self.resolution_ns as f64 / 1e9,
            operations: (self.operations.iter()).map(|(&op, sizes)| sizes.summary(op)).collect(),
            offsets: self.alignment.offsets,
            shared_offset: self.alignment.shared_offset().map(|(blocks, share)| SharedOffset { blocks, share }),
            sizes: classes(&self.sizes),
            footprint_bytes: self.pages.count() * PAGE_BYTES,
            footprint_is_estimate: self.pages.is_estimate(),
            reuse: self.pages.reuse(PAGE_BYTES),
            working_set_bytes: self.pages.working_set(WINDOW_NS, duration_ns / WINDOW_NS + 1, PAGE_BYTES),
            rates: self.rate_bins.rates(),
            addresses: self.maps.iter().map(|(&d, map)| map.of(d)).collect(),
            devices: self
                .devices
                .iter()
                .map(|(&device, row)| DeviceSummary { device, counts: row.summary() })
                .collect(),
            total,
        }
    }
}

/// A bijection of 64 bits (SplitMix64's finalizer): distinct pages of a device stay distinct.
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn tally(r: &Request) -> Tally {
    let bytes = u64::from(r.blocks) * 512;
    match r.op.writes() {
        true => Tally { writes: 1, write_bytes: bytes, ..Tally::default() },
        false => Tally { reads: 1, read_bytes: bytes, ..Tally::default() },
    }
}

/// Greatest common divisor by Euclid's algorithm; of zero and a number, the number.
fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
