//! Reads the tables of a run.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// One request of the log.
#[derive(Debug, Clone)]
pub struct Row {
    pub id: u64,
    pub arrival_ns: u64,
    pub completion_ns: u64,
    /// Queue, overhead, seek, rotation, transfer, link.
    pub shares_ns: [u64; 6],
    pub blocks: u32,
    pub op: String,
    pub cache_hit: bool,
    pub error: bool,
    pub error_kind: Option<String>,
}

/// The batches of a table; an empty one if it has no rows.
fn batches(file: &Path) -> Vec<RecordBatch> {
    let opened = File::open(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let builder = ParquetRecordBatchReaderBuilder::try_new(opened);
    let builder = builder.unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let empty = RecordBatch::new_empty(builder.schema().clone());
    let reader = builder.build().expect("a readable table");
    let batches = reader.map(|batch| batch.expect("a readable batch"));
    std::iter::once(empty).chain(batches).collect()
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> &'a dyn Array {
    batch
        .column_by_name(name)
        .unwrap_or_else(|| panic!("no column {name}"))
}

/// The rows of a request log.
pub fn requests(file: &Path) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in batches(file) {
        let u64s = |name| column(&batch, name).as_primitive::<UInt64Type>();
        let seconds = |name| column(&batch, name).as_primitive::<Float64Type>();
        let blocks = column(&batch, "blocks").as_primitive::<UInt32Type>();
        let ops = column(&batch, "op").as_string::<i32>();
        let hits = column(&batch, "cache_hit").as_boolean();
        let errors = column(&batch, "error").as_boolean();
        let kinds = column(&batch, "error_kind").as_string::<i32>();
        let shares = [
            "queue_s",
            "overhead_s",
            "seek_s",
            "rotation_s",
            "transfer_s",
            "bus_s",
        ];
        for i in 0..batch.num_rows() {
            rows.push(Row {
                id: u64s("id").value(i),
                arrival_ns: u64s("arrival_ns").value(i),
                completion_ns: u64s("completion_ns").value(i),
                shares_ns: shares.map(|s| (seconds(s).value(i) * 1e9).round() as u64),
                blocks: blocks.value(i),
                op: ops.value(i).to_string(),
                cache_hit: hits.value(i),
                error: errors.value(i),
                error_kind: (!kinds.is_null(i)).then(|| kinds.value(i).to_string()),
            });
        }
    }
    rows
}

/// The numeric columns of a table that are never null.
pub fn numbers(file: &Path) -> BTreeMap<String, Vec<f64>> {
    let mut table: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for batch in batches(file) {
        for (field, values) in batch.schema().fields().iter().zip(batch.columns()) {
            if let (Some(values), 0) = (
                values.as_primitive_opt::<Float64Type>(),
                values.null_count(),
            ) {
                let all = table.entry(field.name().clone()).or_default();
                all.extend(values.values());
            }
        }
    }
    table
}
