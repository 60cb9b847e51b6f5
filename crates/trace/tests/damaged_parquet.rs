//! Parquet files made here and damaged at random with a seed: each is read or refused. The library panics on
//! some damage, and most of that must be found before it is called.

use headstack_testkit::memory::peak_bytes;
use headstack_testkit::XorShift;
use headstack_trace::reader::{open_with, Input, PLUGINS};
use headstack_trace::{OnError, ReadOptions};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::panic;
use std::path::Path;
use std::sync::{Arc, Mutex};

const SEED: u64 = 20_240_917;
const ROUNDS: usize = 1500;
const ROWS: u64 = 300;

const SCHEMAS: [&str; 2] = [
    "message trace {
        required int64 time_ns (INTEGER(64, false));
        required int32 device (INTEGER(32, false));
        required int64 lba (INTEGER(64, false));
        required int32 blocks (INTEGER(32, false));
        required binary op (STRING);
    }",
    "message trace {
        required binary op (STRING);
        required double time_s;
        optional binary note (STRING);
        required int64 offset_bytes;
        optional int64 size_bytes;
    }",
];

/// Writes some rows of column `i`.
fn column(kind: usize, i: usize, rows: Range<u64>, mut to: SerializedColumnWriter) {
    let int64s = |f: fn(u64) -> i64| rows.clone().map(f).collect::<Vec<_>>();
    let int32s = |f: fn(u64) -> i32| rows.clone().map(f).collect::<Vec<_>>();
    let ops = rows.clone().map(|i| ["read", "write", "flush"][i as usize % 3]);
    let levels = |f: fn(u64) -> bool| rows.clone().map(|i| i16::from(f(i))).collect::<Vec<_>>();
    let present = |levels: &[i16]| levels.iter().filter(|l| **l > 0).count();
    let written = match (kind, i) {
        (0, 0) => (to.typed::<Int64Type>()).write_batch(&int64s(|i| i as i64 * 1000), None, None),
        (0, 1) => (to.typed::<Int32Type>()).write_batch(&int32s(|i| i as i32 % 3), None, None),
        (0, 2) => {
            let lbas = int64s(|i| i as i64 * 7919 % 100_000);
            to.typed::<Int64Type>().write_batch(&lbas, None, None)
        }
        (0, 3) => {
            let blocks = int32s(|i| 1 + i as i32 % 64);
            to.typed::<Int32Type>().write_batch(&blocks, None, None)
        }
        (0, 4) | (1, 0) => {
            let ops: Vec<ByteArray> = ops.map(ByteArray::from).collect();
            to.typed::<ByteArrayType>().write_batch(&ops, None, None)
        }
        (1, 1) => {
            let times: Vec<f64> = rows.map(|i| i as f64 * 0.25).collect();
            to.typed::<DoubleType>().write_batch(&times, None, None)
        }
        (1, 2) => {
            let levels = levels(|i| i % 2 == 0);
            let notes = vec![ByteArray::from("x"); present(&levels)];
            to.typed::<ByteArrayType>().write_batch(&notes, Some(&levels), None)
        }
        (1, 3) => (to.typed::<Int64Type>()).write_batch(&int64s(|i| i as i64 * 4096), None, None),
        _ => {
            let levels = levels(|i| i % 50 > 0);
            let sizes = vec![512; present(&levels)];
            to.typed::<Int64Type>().write_batch(&sizes, Some(&levels), None)
        }
    };
    written.unwrap();
    to.close().unwrap();
}

/// Files that use many options of the format.
fn files() -> Vec<Vec<u8>> {
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let (v1, v2) = (WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0);
    let mut files = Vec::new();
    for (kind, schema) in SCHEMAS.iter().enumerate() {
        let schema = Arc::new(parse_message_type(schema).unwrap());
        for (compression, version, dictionary, group) in [
            (Compression::UNCOMPRESSED, v1, true, 1000),
            (Compression::UNCOMPRESSED, v2, false, 100),
            (Compression::SNAPPY, v1, true, 100),
            (zstd, v2, true, 1000),
        ] {
            let properties = WriterProperties::builder()
                .set_compression(compression)
                .set_writer_version(version)
                .set_dictionary_enabled(dictionary)
                .set_statistics_enabled(EnabledStatistics::Page)
                .build();
            let mut bytes = Vec::new();
            let mut writer = SerializedFileWriter::new(&mut bytes, schema.clone(), Arc::new(properties)).unwrap();
            for first in (0..ROWS).step_by(group) {
                let rows = first..ROWS.min(first + group as u64);
                let mut to = writer.next_row_group().unwrap();
                for i in 0..schema.get_fields().len() {
                    let next = to.next_column().unwrap().unwrap();
                    column(kind, i, rows.clone(), next);
                }
                to.close().unwrap();
            }
            writer.close().unwrap();
            files.push(bytes);
        }
    }
    files
}

/// Half of the damage is in the footer, which has the metadata; a piece is a number in the format's variable-length encoding.
fn damage(bytes: &mut Vec<u8>, rng: &mut XorShift) {
    let length = bytes.len();
    let footer = u32::from_le_bytes(bytes[length - 8..length - 4].try_into().unwrap()) as usize;
    let mut rest = bytes.split_off([0, length.saturating_sub(footer + 8)][rng.below(2) as usize]);
    let number = rng.draw().to_le_bytes().map(|digit| digit | 0x80);
    let digits = 1 + rng.below(8) as usize;
    headstack_testkit::damage::damage(&mut rest, 9, &[&number[..digits]], rng);
    bytes.extend(rest);
}

/// Number of rows, and whether reading ended with an error; from memory, or through `file`.
fn read(bytes: &[u8], on_error: OnError, file: Option<&Path>) -> (usize, bool) {
    let options = ReadOptions { on_error, ..ReadOptions::default() };
    let mut input = Input::from_bytes(bytes.to_vec(), "damaged.parquet");
    if let Some(path) = file {
        std::fs::write(path, bytes).unwrap();
        input.file = Some(File::open(path).unwrap());
    }
    let Ok(source) = open_with(input, Some(PLUGINS.find("format", "parquet").unwrap()), &options) else {
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
        let place = info.location().map_or(String::new(), |l| format!("{}:{}", l.file(), l.line()));
        *told.lock().unwrap().entry(place).or_default() += 1;
    }));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged");
    let mut rng = XorShift::seeded(seed);
    let files = files();
    let mut wrong = Vec::new();
    for (number, original) in files.iter().enumerate() {
        for round in 0..ROUNDS {
            let mut bytes = original.clone();
            damage(&mut bytes, &mut rng);
            let file = (round % 8 == 0).then_some(path.as_path());
            for on_error in [OnError::Fail, OnError::Skip] {
                if panic::catch_unwind(|| read(&bytes, on_error, file)).is_err() {
                    wrong.push((number, round));
                }
            }
        }
    }
    let _ = panic::take_hook();
    assert!(wrong.is_empty(), "seed {seed}: panics came out of {wrong:?}");
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

/// A file of equal operations, which may be missing if `optional`, without dictionaries.
fn write(op: ByteArray, rows: u64, optional: bool, properties: WriterPropertiesBuilder) -> Vec<u8> {
    let properties = properties.set_dictionary_enabled(false).set_statistics_enabled(EnabledStatistics::None);
    let schema = SCHEMAS[0].replace("required binary", if optional { "optional binary" } else { "required binary" });
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let (mut bytes, properties) = (Vec::new(), Arc::new(properties.build()));
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
    let mut to = writer.next_row_group().unwrap();
    (0..4).for_each(|i| column(0, i, 0..rows, to.next_column().unwrap().unwrap()));
    let mut last = to.next_column().unwrap().unwrap();
    let (texts, levels) = (vec![op; rows as usize], vec![1; rows as usize]);
    let written = last.typed::<ByteArrayType>().write_batch(&texts, optional.then_some(&levels), None);
    written.unwrap();
    last.close().unwrap();
    to.close().unwrap();
    writer.close().unwrap();
    bytes
}

/// Files whose texts have their lengths apart (Encodings.md of Parquet: blocks of 128 in 4 parts, how many, the first).
/// Eleven lengths, of `write` or of what it shares with the one before, are made 2^27, for which the library takes 512 MiB.
fn lengths_that_are_not_there() -> Vec<Vec<u8>> {
    let eleven = |first: u8| [0x80, 1, 4, 11, 2 * first];
    let of = |optional, version, encoding, first: u8| {
        let properties = WriterProperties::builder().set_writer_version(version);
        let op = ColumnPath::from("op");
        let mut bytes = write("write".into(), 11, optional, properties.set_column_encoding(op, encoding));
        assert_eq!(read(&bytes, OnError::Skip, None), (11, false));
        let at = bytes.windows(5).rposition(|w| w == eleven(first)).unwrap() + 3;
        bytes[at..at + 4].copy_from_slice(&[0x80, 0x80, 0x80, 0x40]);
        bytes
    };
    let (v1, v2) = (WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0);
    let (apart, sharing) = (Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY);
    let cases = [(apart, 5), (sharing, 0), (sharing, 5)].into_iter().flat_map(|c| [(v1, c), (v2, c)]);
    cases.flat_map(|(v, (e, first))| [false, true].map(|optional| of(optional, v, e, first))).collect()
}

/// A page of 160 MiB, which is refused before it is unpacked; a dictionary that states 63 values and has three; 8192 texts of
/// 300 KB, stored without what they share, 2.4 GB; and lengths that are stated only.
#[test]
fn small_files_take_little_memory_and_get_short_messages() {
    let packed = |version| {
        let properties = WriterProperties::builder().set_writer_version(version);
        properties.set_compression(Compression::ZSTD(ZstdLevel::default()))
    };
    let (v1, v2) = (packed(WriterVersion::PARQUET_1_0), packed(WriterVersion::PARQUET_2_0));
    let text = |bytes| ByteArray::from(vec![b'x'; bytes]);
    let mut dictionary = files().swap_remove(0);
    // By parquet.thrift: field 7 of the header, a structure with field 1, an i32: three, the number of values of `op`.
    let three = [0x4c, 0x15, 6];
    let at = dictionary.windows(3).rposition(|w| w == three).unwrap();
    dictionary[at + 2] = 2 * 63;
    let lengths = lengths_that_are_not_there();
    let lengths = lengths.into_iter().map(|bytes| (bytes, "a page of 134217728 lengths, more than 8388608"));
    let others = [
        (write(text(160 << 20), 1, false, v1), "a page of 167772164 bytes"),
        (dictionary, "a dictionary of 63 values"),
        (write(text(300_000), 8192, false, v2), "small.parquet:1: got op \"xxxx"),
    ];
    for (bytes, message) in lengths.chain(others) {
        let before = peak_bytes().unwrap();
        let input = Input::from_bytes(bytes.clone(), "small.parquet");
        let format = PLUGINS.find("format", "parquet").unwrap();
        let source = open_with(input, Some(format), &ReadOptions::default()).unwrap();
        let error = source.map(|r| r.err()).next().flatten().unwrap().to_string();
        assert!(error.contains(message) && error.len() < 300, "{error:.300}");
        read(&bytes, OnError::Skip, None);
        let taken = peak_bytes().unwrap() - before;
        assert!(taken < 100 << 20, "{message}: {} bytes take {taken}", bytes.len());
    }
}
