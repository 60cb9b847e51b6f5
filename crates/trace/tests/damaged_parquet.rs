//! Parquet files made here and damaged at random with a seed: each is read or refused. The library panics on
//! some damage, and most of that must be found before it is called.

use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use headstack_engine::random::stream;
use headstack_trace::reader::{format_named, formats, open_with, Input};
use headstack_trace::{OnError, ReadOptions};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use rand::Rng;
use std::collections::BTreeMap;
use std::fs::File;
use std::panic;
use std::path::Path;
use std::sync::{Arc, Mutex};

const SEED: u64 = 20_240_917;
const ROUNDS: usize = 1500;
const ROWS: u64 = 300;

fn columns(kind: usize) -> Vec<(&'static str, ArrayRef)> {
    let n = || 0..ROWS;
    let ops =
        StringArray::from_iter_values(n().map(|i| ["read", "write", "flush"][i as usize % 3]));
    match kind {
        0 => vec![
            (
                "time_ns",
                Arc::new(UInt64Array::from_iter_values(n().map(|i| i * 1000))) as ArrayRef,
            ),
            (
                "device",
                Arc::new(UInt32Array::from_iter_values(n().map(|i| i as u32 % 3))),
            ),
            (
                "lba",
                Arc::new(UInt64Array::from_iter_values(
                    n().map(|i| i * 7919 % 100_000),
                )),
            ),
            (
                "blocks",
                Arc::new(UInt32Array::from_iter_values(
                    n().map(|i| 1 + i as u32 % 64),
                )),
            ),
            ("op", Arc::new(ops)),
        ],
        _ => vec![
            ("op", Arc::new(ops) as ArrayRef),
            (
                "time_s",
                Arc::new(Float64Array::from_iter_values(n().map(|i| i as f64 * 0.25))),
            ),
            (
                "note",
                Arc::new(StringArray::from_iter(
                    n().map(|i| (i % 2 == 0).then_some("x")),
                )),
            ),
            (
                "offset_bytes",
                Arc::new(Int64Array::from_iter_values(n().map(|i| i as i64 * 4096))),
            ),
            (
                "size_bytes",
                Arc::new(Int64Array::from_iter(
                    n().map(|i| (i % 50 > 0).then_some(512)),
                )),
            ),
        ],
    }
}

/// Files that use many options of the format.
fn files() -> Vec<Vec<u8>> {
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let mut files = Vec::new();
    for kind in [0, 1] {
        for (compression, version, dictionary, group) in [
            (
                Compression::UNCOMPRESSED,
                WriterVersion::PARQUET_1_0,
                true,
                1000,
            ),
            (
                Compression::UNCOMPRESSED,
                WriterVersion::PARQUET_2_0,
                false,
                100,
            ),
            (Compression::SNAPPY, WriterVersion::PARQUET_1_0, true, 100),
            (zstd, WriterVersion::PARQUET_2_0, true, 1000),
        ] {
            let batch = RecordBatch::try_from_iter(columns(kind)).unwrap();
            let properties = WriterProperties::builder()
                .set_compression(compression)
                .set_writer_version(version)
                .set_dictionary_enabled(dictionary)
                .set_statistics_enabled(EnabledStatistics::Page)
                .set_max_row_group_size(group)
                .build();
            let mut bytes = Vec::new();
            let mut writer =
                ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
            writer.write(&batch).unwrap();
            writer.close().unwrap();
            files.push(bytes);
        }
    }
    files
}

fn damage(bytes: &mut Vec<u8>, random: &mut impl Rng) {
    let length = bytes.len();
    // Half of the damage is in the footer, which has the metadata.
    let footer = u32::from_le_bytes(bytes[length - 8..length - 4].try_into().unwrap()) as usize;
    let from = match random.random() {
        true => length.saturating_sub(footer + 8),
        false => 0,
    };
    let at = random.random_range(from..length);
    match random.random_range(0..5) {
        0 => bytes[at] = random.random(),
        1 => bytes[at] ^= 1 << random.random_range(0..8),
        2 => {
            let end = (at + random.random_range(1..9)).min(length);
            bytes[at..end].fill(if random.random() { 0xff } else { 0 });
        }
        3 => {
            // A random number in the format's variable-length encoding.
            let digits = random.random_range(1..10).min(length - at);
            bytes[at..at + digits].fill_with(|| random.random::<u8>() | 0x80);
        }
        _ => {
            bytes.remove(at);
        }
    }
}

/// Number of rows, and whether reading ended with an error; from memory, or through `file`.
fn read(bytes: &[u8], on_error: OnError, file: Option<&Path>) -> (usize, bool) {
    let options = ReadOptions {
        on_error,
        ..ReadOptions::default()
    };
    let mut input = Input::from_bytes(bytes.to_vec(), "damaged.parquet");
    if let Some(path) = file {
        std::fs::write(path, bytes).unwrap();
        input.file = Some(File::open(path).unwrap());
    }
    let Ok(source) = open_with(
        input,
        Some(format_named("parquet", formats()).unwrap()),
        &options,
    ) else {
        return (0, true);
    };
    let (mut rows, mut failed) = (0, false);
    for request in source {
        match request {
            Ok(_) => rows += 1,
            Err(e) => {
                assert!(e.to_string().contains("damaged.parquet"), "{e}");
                failed = true;
            }
        }
    }
    (rows, failed)
}

#[test]
fn damaged_files_are_read_or_refused() {
    let seed = std::env::var("HEADSTACK_FUZZ_SEED").map_or(SEED, |s| s.parse().unwrap());
    println!("seed {seed} (HEADSTACK_FUZZ_SEED)");
    let panics: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
    let told = panics.clone();
    panic::set_hook(Box::new(move |info| {
        let place = info
            .location()
            .map_or(String::new(), |l| format!("{}:{}", l.file(), l.line()));
        *told.lock().unwrap().entry(place).or_default() += 1;
    }));
    let path = std::env::temp_dir().join(format!("headstack-damaged-{}", std::process::id()));
    let mut random = stream(seed, "damaged parquet");
    let files = files();
    let mut wrong = Vec::new();
    for (number, original) in files.iter().enumerate() {
        for round in 0..ROUNDS {
            let mut bytes = original.clone();
            for _ in 0..1 + round % 3 {
                damage(&mut bytes, &mut random);
            }
            let file = (round % 8 == 0).then_some(path.as_path());
            for on_error in [OnError::Fail, OnError::Skip] {
                if panic::catch_unwind(|| read(&bytes, on_error, file)).is_err() {
                    wrong.push((number, round));
                }
            }
        }
    }
    let _ = panic::take_hook();
    std::fs::remove_file(&path).unwrap();
    assert!(
        wrong.is_empty(),
        "seed {seed}: panics came out of {wrong:?}"
    );
    // The contents of pages are checked only when they are decoded; all else is checked before.
    let decoding = [
        "/encodings/",
        "/record_reader/definition_levels.rs",
        "/decoder/",
        "/bytes.rs",
        "/util/bit_util.rs",
        "/util/bit_mask.rs",
        "/file/serialized_reader.rs",
        "/thrift.rs",
    ];
    let mut panics = panics.lock().unwrap().clone();
    panics.retain(|place, _| !decoding.iter().any(|part| place.contains(part)));
    assert!(panics.is_empty(), "seed {seed}: caught inside: {panics:#?}");
}

#[test]
fn what_is_whole_is_read() {
    for (number, bytes) in files().iter().enumerate() {
        let rows = match number / 4 {
            0 => ROWS as usize,
            // Each fiftieth size is missing.
            _ => ROWS as usize - 6,
        };
        let got = read(bytes, OnError::Skip, None);
        assert_eq!(got, (rows, false), "{number}");
    }
}
