//! Reads the tables of a run.

use parquet::basic::Type::DOUBLE;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{self, Field};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// One request of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub id: u64,
    pub arrival_ns: u64,
    pub completion_ns: u64,
    /// Queue, overhead, seek, rotation, transfer, link.
    pub shares_ns: [u64; 6],
    /// Of the queue: place, elevator, array, drive.
    pub queue_ns: [u64; 4],
    pub blocks: u32,
    pub op: String,
    pub cache_hit: bool,
    pub error: bool,
    pub error_kind: Option<String>,
}

fn open(file: &Path) -> SerializedFileReader<File> {
    let opened = File::open(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    SerializedFileReader::new(opened).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// The rows of a request log.
pub fn requests(file: &Path) -> Vec<Row> {
    let rows = open(file).into_iter();
    rows.map(|row| request(&row.expect("a readable row"))).collect()
}

fn request(row: &record::Row) -> Row {
    let column = |name: &str| {
        let mut columns = row.get_column_iter();
        let found = columns.find(|(n, _)| *n == name);
        found.unwrap_or_else(|| panic!("no column {name}")).1
    };
    let number = |name| match column(name) {
        Field::ULong(value) => *value,
        Field::UInt(value) => u64::from(*value),
        other => panic!("{name}: {other}"),
    };
    let ns = |name: &str| match column(name) {
        Field::Double(seconds) => (seconds * 1e9).round() as u64,
        other => panic!("{name}: {other}"),
    };
    let text = |name| match column(name) {
        Field::Str(text) => Some(text.clone()),
        Field::Null => None,
        other => panic!("{name}: {other}"),
    };
    let is = |name| *column(name) == Field::Bool(true);
    Row {
        id: number("id"),
        arrival_ns: number("arrival_ns"),
        completion_ns: number("completion_ns"),
        shares_ns: [ns("queue_s"), ns("overhead_s"), ns("seek_s"), ns("rotation_s"), ns("transfer_s"), ns("bus_s")],
        queue_ns: ["place", "elevator", "array", "drive"].map(|part| ns(&format!("queue_{part}_s"))),
        blocks: number("blocks") as u32,
        op: text("op").expect("an operation"),
        cache_hit: is("cache_hit"),
        error: is("error"),
        error_kind: text("error_kind"),
    }
}

/// The numeric columns of a table that are never null.
pub fn numbers(file: &Path) -> BTreeMap<String, Vec<f64>> {
    let reader = open(file);
    let fields = reader.metadata().file_metadata().schema().get_fields();
    let mut table: BTreeMap<String, Vec<f64>> =
        fields.iter().filter(|f| f.get_physical_type() == DOUBLE).map(|f| (f.name().to_string(), Vec::new())).collect();
    let mut rows = 0;
    for row in reader {
        rows += 1;
        for (name, field) in row.expect("a readable row").get_column_iter() {
            if let Field::Double(value) = field {
                table.get_mut(name).expect("a column").push(*value);
            }
        }
    }
    table.retain(|_, values| values.len() == rows);
    table
}
