use bytes::Bytes;
use headstack_trace::table::*;
use parquet::errors::Result;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};

fn columns(rows: std::ops::Range<u64>) -> Vec<Column> {
    let every = |n: u64| move |i: u64| (i % n == 0).then_some(i);
    vec![
        Column::full("u64", rows.clone().map(|i| u64::MAX - i)),
        Column::full("u32", rows.clone().map(|i| u32::MAX - i as u32)),
        Column::full("u8", rows.clone().map(|i| u8::MAX - i as u8)),
        Column::full("f64", rows.clone().map(|i| i as f64 / 4.0)),
        Column::full("bool", rows.clone().map(|i| i % 3 == 0)),
        Column::gaps("third", rows.clone().map(every(3))),
        Column::gaps("text", rows.map(|i| every(2)(i).map(|_| "even"))),
    ]
}

fn fields(row: &Row) -> Vec<(&str, Field)> {
    (row.get_column_iter()).map(|(name, field)| (name.as_str(), field.clone())).collect()
}

/// What the row reader of the library makes of it.
#[test]
fn every_type_comes_back() {
    let first = columns(0..4);
    let mut bytes = Vec::new();
    let mut writer = TableWriter::new(Box::new(&mut bytes), &first).unwrap();
    writer.write(&first).unwrap();
    writer.write(&columns(4..9)).unwrap();
    drop(writer.close().unwrap());
    let reader = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
    let rows: Vec<Row> = rows.collect();
    assert_eq!(rows.len(), 9);
    for (i, row) in (0..).zip(&rows) {
        let third = (i % 3 == 0).then_some(Field::ULong(i));
        let text = (i % 2 == 0).then(|| Field::Str("even".into()));
        let want = vec![
            ("u64", Field::ULong(u64::MAX - i)),
            ("u32", Field::UInt(u32::MAX - i as u32)),
            ("u8", Field::UByte(u8::MAX - i as u8)),
            ("f64", Field::Double(i as f64 / 4.0)),
            ("bool", Field::Bool(i % 3 == 0)),
            ("third", third.unwrap_or(Field::Null)),
            ("text", text.unwrap_or(Field::Null)),
        ];
        assert_eq!(fields(row), want, "row {i}");
    }
}

#[test]
fn a_row_group_is_written_when_it_is_full() {
    let batch = |n: usize| [Column::full("x", (0..n).map(|i| i % 7 == 0))];
    let mut bytes = Vec::new();
    let mut writer = TableWriter::new(Box::new(&mut bytes), &batch(0)).unwrap();
    for rows in [GROUP_ROWS - 1, 1, 5] {
        writer.write(&batch(rows)).unwrap();
    }
    drop(writer.close().unwrap());
    let reader = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
    let groups = reader.metadata().row_groups();
    let rows: Vec<i64> = groups.iter().map(|g| g.num_rows()).collect();
    assert_eq!(rows, [GROUP_ROWS as i64, 5]);
}

#[test]
fn a_table_without_rows_has_its_columns() {
    let mut bytes = Vec::new();
    let writer = TableWriter::new(Box::new(&mut bytes), &columns(0..0)).unwrap();
    drop(writer.close().unwrap());
    let reader = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
    let footer = reader.metadata().file_metadata();
    assert_eq!((footer.num_rows(), footer.schema().get_fields().len()), (0, 7));
}

#[test]
fn a_batch_of_other_columns_is_refused() {
    let mut writer = TableWriter::new(Box::new(Vec::new()), &columns(0..0)).unwrap();
    assert!(writer.write(&columns(0..3)[1..]).is_err());
    let mut other = columns(0..3);
    other[0] = Column::full("u64", [true; 3].into_iter());
    assert!(writer.write(&other).is_err());
    other[0] = Column::full("u64", 0..2u64);
    assert!(writer.write(&other).is_err());
}
