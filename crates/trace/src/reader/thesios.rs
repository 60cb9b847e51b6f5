//! Google Thesios traces (synthesized representative I/O of Google's disks).
//!
//! # Model
//! CSV with a header; `filename`, `file_offset`, `op_type`, `request_io_size_bytes`,
//! `disk_io_size_bytes` and `start_time` (seconds) are read. A read's size is what reached the
//! `disk_io_size_bytes` and `start_time` (seconds) are read. The size of a read is the part that reached the
//! disk; a read without such a part (a cache hit) is counted as zero-sized. The size of a write is that of its
//! request, because the disk columns are 0 for writes.
//! # Source
//! Phothilimthana, Kadekodi, Ghodrati, Moon & Maas, "Thesios", ASPLOS 2024, and its README.
//! # Validity
//! **Addresses are offsets in files.** Each file gets an extent on device 0, in the order of appearance
//! (`file_extent`, 64 MiB); an offset beyond it is an error. So distances between files are arbitrary. At most
//! 2^22 files. Sorted within 8192 requests.

use super::parse::{by_bytes, field, need_columns, need_integer, need_read_or_write, need_time, record, trim, Parsed};
use super::stream::{Found, LineFormat, Times};
use super::{text, Facts};
use crate::request::Command;
use headstack_schema::Table;
use headstack_units::Bytes;
use std::collections::HashMap;

const FACTS: Facts = Facts {
    time_unit: "seconds",
    size_unit: "bytes within files",
    sniff: |bytes, _| {
        let header = bytes.split(|&b| b == b'\n').next().unwrap_or(&[]);
        let has = |name: &[u8]| header.split(|&b| b == b',').any(|c| trim(c) == name);
        if has(b"file_offset") && has(b"op_type") {
            96
        } else {
            0
        }
    },
    sample: || {
        b"filename,file_offset,application,c_time,io_zone,redundancy_type,op_type,service_class,\
      from_flash_cache,cache_hit,request_io_size_bytes,disk_io_size_bytes,response_io_size_bytes,\
      start_time,disk_time,simulated_disk_start_time,simulated_latency\n\
      a1,4096,bigtable,1.0,WARM,REPLICATED,READ,OTHER,0,0,4096,4096,4096,1705276800.5,0.01,1705276800.6,0.01\n\
      b2,0,bigtable,1.0,WARM,REPLICATED,WRITE,OTHER,0,-1,8192,0,0,1705276801.25,0,0,0\n"
            .to_vec()
    },
};

#[derive(Table)]
#[table(
    model = "Google Thesios CSV (file offsets laid out in extents)",
    example = "file_extent = \"64 MiB\"",
    facts = FACTS,
    build = |Self { file_extent }, (input, options)| {
        // Whole pages, so that files stay aligned. The upper limit is larger than any device.
        let extent = file_extent.0.clamp(512, 1 << 60).next_multiple_of(4096);
        text(Thesios::new(extent), input, Times::UNORDERED_DATES, options)
    }
)]
pub(super) struct Parameters {
    /// The disk space of each file.
    #[param(default = Bytes(64 << 20))]
    file_extent: Bytes,
}

const NAMES: [&str; 6] =
    ["filename", "file_offset", "op_type", "request_io_size_bytes", "disk_io_size_bytes", "start_time"];
const MAX_COLUMNS: usize = 64;
const MAX_FILES: usize = 1 << 22;

struct Thesios {
    columns: Option<[usize; 6]>,
    extent: u64,
    /// Index of each file by its name.
    files: HashMap<Vec<u8>, u64>,
}

impl Thesios {
    fn new(extent: u64) -> Thesios {
        Thesios { columns: None, extent, files: HashMap::new() }
    }
}

impl LineFormat for Thesios {
    fn line(&mut self, line: &[u8]) -> Parsed<Found> {
        let (f, count) = super::parse::split::<MAX_COLUMNS>(line, b',');
        let Some(columns) = self.columns else {
            let mut columns = [0; 6];
            for (place, name) in columns.iter_mut().zip(NAMES) {
                *place = f[..count]
                    .iter()
                    .position(|c| trim(c) == name.as_bytes())
                    .ok_or_else(|| record("a header without it", format!("a column {name:?}")))?;
            }
            self.columns = Some(columns);
            return Ok(Found::Nothing);
        };
        let [name, offset, op, request, disk, start] = columns;
        let last = columns.into_iter().max().unwrap_or(0);
        need_columns(count, last + 1, "as in the header")?;
        let kind = need_read_or_write(f[op], op, NAMES[2])?;
        let time = need_time(trim(f[start]), start, NAMES[5], 9)?;
        let size = match kind {
            Command::Write => need_integer(f[request], request, NAMES[3])?,
            _ => need_integer(f[disk], disk, NAMES[4])?,
        };
        let begin = need_integer(f[offset], offset, NAMES[1])?;
        if begin.checked_add(size).is_none_or(|end| end > self.extent) {
            return Err(field(
                offset + 1,
                NAMES[1],
                f[offset],
                &format!(
                    "an end within {} bytes; hint: format_parameters = {{ file_extent = \"1 GiB\" }}",
                    self.extent
                ),
            ));
        }
        let index = match self.files.get(f[name]) {
            Some(&index) => index,
            None if self.files.len() >= MAX_FILES => {
                return Err(record("more files", format!("at most {MAX_FILES} files")))
            }
            None => {
                let index = self.files.len() as u64;
                self.files.insert(f[name].to_vec(), index);
                index
            }
        };
        let base = index.checked_mul(self.extent).and_then(|b| b.checked_add(begin));
        let at = base.ok_or_else(|| record("an extent past 2^64 bytes", "smaller extents"))?;
        let request = by_bytes(time, 0, kind, at, size)?;
        Ok(request.map_or(Found::Nothing, Found::Request))
    }
}
