//! A trace over time: rates and addresses, in a bounded number of bins.
//!
//! # Model
//! Bins are equally wide and begin at zero. If a time or address is beyond the last bin, neighbouring bins are
//! merged, so that all become twice as wide.

use serde::Serialize;

/// Number of bins of the rates.
pub const MOST_BINS: usize = 512;
/// Number of bins of times, and of addresses.
const MAP: usize = 64;
/// Initial width of a bin of time: 1 ms.
const FIRST_NS: u64 = 1_000_000;
/// Initial width of a bin of addresses: 1 MiB.
const FIRST_BLOCKS: u64 = 2048;

/// The counts of a bin of time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tally {
    pub reads: u64,
    pub writes: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
}

impl Tally {
    pub fn add(&mut self, other: Tally) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.write_bytes = self.write_bytes.saturating_add(other.write_bytes);
    }
}

/// Counts over time.
pub struct RateBins {
    width_ns: u64,
    pub bins: Vec<Tally>,
}

/// Rates over time, in bins that start at the first request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rates {
    /// Width of a bin.
    pub bin_s: f64,
    /// Reads in each bin.
    pub n_reads: Vec<u64>,
    /// Writes in each bin.
    pub n_writes: Vec<u64>,
    /// Bytes read in each bin.
    pub read_bytes: Vec<u64>,
    /// Bytes written in each bin.
    pub write_bytes: Vec<u64>,
}

impl Default for RateBins {
    fn default() -> RateBins {
        RateBins { width_ns: FIRST_NS, bins: Vec::new() }
    }
}

impl RateBins {
    /// Counts at a time since the first request.
    pub fn add(&mut self, at_ns: u64, tally: Tally) {
        while at_ns / self.width_ns >= MOST_BINS as u64 {
            self.width_ns *= 2;
            self.bins = (self.bins.chunks(2))
                .map(|pair| {
                    let mut sum = pair[0];
                    sum.add(*pair.get(1).unwrap_or(&Tally::default()));
                    sum
                })
                .collect();
        }
        let bin = (at_ns / self.width_ns) as usize;
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, Tally::default());
        }
        self.bins[bin].add(tally);
    }

    /// The rates.
    pub fn rates(&self) -> Rates {
        let of = |part: fn(&Tally) -> u64| self.bins.iter().map(part).collect();
        Rates {
            bin_s: self.width_ns as f64 / 1e9,
            n_reads: of(|t| t.reads),
            n_writes: of(|t| t.writes),
            read_bytes: of(|t| t.read_bytes),
            write_bytes: of(|t| t.write_bytes),
        }
    }
}

/// Requests of a device by time and address.
pub struct Map {
    width_ns: u64,
    width_blocks: u64,
    /// Rows of addresses, one row for each bin of time.
    pub cells: Vec<u64>,
}

/// Reads and writes of a device by time and first address.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AddressMap {
    pub device: u32,
    /// Width of a bin of time; bins begin with the first request of the trace.
    pub bin_s: f64,
    /// Width of a bin of addresses, from block 0 on.
    pub bin_bytes: u64,
    /// For each bin of time, requests in each bin of addresses.
    pub n_requests: Vec<Vec<u64>>,
}

impl Default for Map {
    fn default() -> Map {
        Map { width_ns: FIRST_NS, width_blocks: FIRST_BLOCKS, cells: vec![0; MAP * MAP] }
    }
}

impl Map {
    /// Counts a request at a time since the first one.
    pub fn add(&mut self, at_ns: u64, block: u64) {
        while at_ns / self.width_ns >= MAP as u64 {
            self.width_ns *= 2;
            self.fold(|time, address| (time / 2, address));
        }
        while block / self.width_blocks >= MAP as u64 {
            self.width_blocks *= 2;
            self.fold(|time, address| (time, address / 2));
        }
        let (time, address) = (at_ns / self.width_ns, block / self.width_blocks);
        self.cells[time as usize * MAP + address as usize] += 1;
    }

    fn fold(&mut self, place: impl Fn(usize, usize) -> (usize, usize)) {
        let mut cells = vec![0; MAP * MAP];
        for (i, n) in self.cells.iter().enumerate() {
            let (time, address) = place(i / MAP, i % MAP);
            cells[time * MAP + address] += n;
        }
        self.cells = cells;
    }

    /// The map of a device, without the empty bins at its ends.
    pub fn of(&self, device: u32) -> AddressMap {
        let rows: Vec<&[u64]> = self.cells.chunks(MAP).collect();
        let used = |row: &[u64]| row.iter().rposition(|n| *n > 0).map_or(0, |i| i + 1);
        let times = rows.iter().rposition(|r| used(r) > 0).map_or(0, |i| i + 1);
        let addresses = rows.iter().map(|r| used(r)).max().unwrap_or(0);
        AddressMap {
            device,
            bin_s: self.width_ns as f64 / 1e9,
            bin_bytes: self.width_blocks * 512,
            n_requests: (rows[..times].iter()).map(|r| r[..addresses].to_vec()).collect(),
        }
    }
}
