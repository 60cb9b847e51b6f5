//! Columns of a Parquet file, batch after batch through its row groups.

use super::pages::Pages;
use bytes::Bytes;
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{get_column_reader, ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;

const BATCH: usize = 8192;

/// Texts that are decoded at once: each may be as long as a page.
const TEXTS: usize = 64;

/// Bytes of a text that are kept: more than an operation has or an error quotes.
const KEPT: usize = 64;

/// A file, or what it holds. One type for both: the library is compiled again for each.
#[derive(Clone)]
pub enum Stored {
    File(Arc<File>),
    Bytes(Bytes),
}

impl Length for Stored {
    fn len(&self) -> u64 {
        match self {
            Stored::File(file) => Length::len(&**file),
            Stored::Bytes(bytes) => Length::len(bytes),
        }
    }
}

impl ChunkReader for Stored {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(match self {
            Stored::File(file) => Box::new(file.get_read(start)?),
            Stored::Bytes(bytes) => Box::new(bytes.get_read(start)?),
        })
    }
    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        match self {
            Stored::File(file) => file.get_bytes(start, length),
            Stored::Bytes(bytes) => bytes.get_bytes(start, length),
        }
    }
}

fn kept(text: ByteArray) -> ByteArray {
    match text.data().get(..KEPT) {
        Some(beginning) => beginning.to_vec().into(),
        None => text,
    }
}

/// The values of a column in the present batch, or the name of a type that no column of a trace may have.
pub(super) enum Values {
    Signed(Vec<Option<i64>>),
    Unsigned(Vec<Option<u64>>),
    Real(Vec<Option<f64>>),
    Text(Vec<Option<ByteArray>>),
    Other(String),
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Values::Signed(_) | Values::Unsigned(_) => "integer",
            Values::Real(_) => "floating-point",
            Values::Text(_) => "text",
            Values::Other(name) => name,
        })
    }
}

/// One column that is read.
struct Column {
    /// Its place among the columns of the table.
    place: usize,
    /// Its place among the stored columns; a nested one is stored as several.
    stored: Option<usize>,
    nullable: bool,
    reader: Option<ColumnReader>,
    values: Values,
}

/// Reads some columns.
pub(super) struct Groups {
    file: SerializedFileReader<Stored>,
    again: Stored,
    columns: Vec<Column>,
    next_group: usize,
    /// Rows of the present group that are still to be read.
    left: u64,
    /// Rows of the present batch.
    pub(super) rows: usize,
}

/// Empty values of the type of a column.
fn empty(column: &ColumnDescriptor) -> Values {
    let unsigned = match (column.logical_type(), column.converted_type()) {
        (Some(LogicalType::Integer { is_signed, .. }), _) => Some(!is_signed),
        (None, ConvertedType::NONE) => Some(false),
        (None, kind) => match kind {
            ConvertedType::INT_8 | ConvertedType::INT_16 | ConvertedType::INT_32 | ConvertedType::INT_64 => Some(false),
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64 => {
                Some(true)
            }
            _ => None,
        },
        _ => None,
    };
    let text =
        matches!(column.logical_type(), Some(LogicalType::String)) || column.converted_type() == ConvertedType::UTF8;
    match (column.physical_type(), unsigned) {
        (Physical::INT32 | Physical::INT64, Some(true)) => Values::Unsigned(Vec::new()),
        (Physical::INT32 | Physical::INT64, Some(false)) => Values::Signed(Vec::new()),
        (Physical::FLOAT | Physical::DOUBLE, _) => Values::Real(Vec::new()),
        (Physical::BYTE_ARRAY, _) if text => Values::Text(Vec::new()),
        (physical, _) => Values::Other(match column.logical_type() {
            Some(logical) => format!("{logical:?}"),
            None if column.converted_type() != ConvertedType::NONE => column.converted_type().to_string(),
            None => physical.to_string(),
        }),
    }
}

impl Column {
    fn new(place: usize, schema: &SchemaDescriptor) -> Column {
        let flat = |i: &usize| {
            let column = schema.column(*i);
            column.path().parts().len() == 1 && column.max_rep_level() == 0
        };
        let here = |i: &usize| schema.get_column_root_idx(*i) == place;
        let stored = (0..schema.num_columns()).find(|i| here(i) && flat(i));
        Column {
            place,
            stored,
            nullable: stored.is_some_and(|i| schema.column(i).max_def_level() > 0),
            reader: None,
            values: match stored {
                Some(i) => empty(&schema.column(i)),
                None => Values::Other("list or struct".to_string()),
            },
        }
    }

    /// Reads the values of the next `rows` rows.
    fn read(&mut self, rows: usize) -> Result<()> {
        let Some(reader) = &mut self.reader else { return Ok(()) };
        let nullable = self.nullable;
        match (&mut self.values, reader) {
            (Values::Other(_), _) => Ok(()),
            (Values::Signed(to), ColumnReader::Int32ColumnReader(r)) => read(r, rows, nullable, to, i64::from),
            (Values::Signed(to), ColumnReader::Int64ColumnReader(r)) => read(r, rows, nullable, to, |v| v),
            // An unsigned number is stored as the signed one with the same bits.
            (Values::Unsigned(to), ColumnReader::Int32ColumnReader(r)) => {
                read(r, rows, nullable, to, |v| u64::from(v as u32))
            }
            (Values::Unsigned(to), ColumnReader::Int64ColumnReader(r)) => read(r, rows, nullable, to, |v| v as u64),
            (Values::Real(to), ColumnReader::FloatColumnReader(r)) => read(r, rows, nullable, to, f64::from),
            (Values::Real(to), ColumnReader::DoubleColumnReader(r)) => read(r, rows, nullable, to, |v| v),
            (Values::Text(to), ColumnReader::ByteArrayColumnReader(r)) => read(r, rows, nullable, to, kept),
            _ => Err(ParquetError::General("a column of changing type".into())),
        }
    }
}

/// Reads `rows` values, which may be missing if `nullable`.
fn read<T: DataType, V>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    nullable: bool,
    to: &mut Vec<Option<V>>,
    convert: impl Fn(T::T) -> V,
) -> Result<()> {
    let most = match T::get_physical_type() {
        Physical::BYTE_ARRAY => TEXTS,
        _ => rows,
    };
    to.clear();
    while to.len() < rows {
        let wanted = (to.len() + most).min(rows);
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let (records, ..) = reader.read_records(wanted - to.len(), Some(&mut levels), None, &mut values)?;
        let records = to.len() + records;
        let mut values = values.into_iter().map(&convert);
        if nullable {
            let levels = levels.iter();
            to.extend(levels.map(|l| if *l > 0 { values.next() } else { None }));
        } else {
            to.extend(values.map(Some));
        }
        if records != wanted || to.len() != wanted {
            let got = to.len();
            let text = format!("{got} values in {wanted} rows");
            return Err(ParquetError::General(text));
        }
    }
    Ok(())
}

impl Groups {
    /// Reads the columns at `places` among the columns of the table. `again` is the same file.
    pub(super) fn new(file: SerializedFileReader<Stored>, again: Stored, places: &[usize]) -> Groups {
        let schema = file.metadata().file_metadata().schema_descr();
        let columns = places.iter().map(|p| Column::new(*p, schema)).collect();
        Groups { file, again, columns, next_group: 0, left: 0, rows: 0 }
    }

    /// The values of the column at `place`.
    ///
    /// # Panics
    /// A column that is not read.
    pub(super) fn column(&self, place: usize) -> &Values {
        let column = self.columns.iter().find(|c| c.place == place);
        &column.expect("a column that is read").values
    }

    /// Reads the next batch; false after the last.
    pub(super) fn advance(&mut self) -> Result<bool> {
        while self.left == 0 {
            if self.next_group >= self.file.num_row_groups() {
                return Ok(false);
            }
            let group = self.file.get_row_group(self.next_group)?;
            self.left = u64::try_from(group.metadata().num_rows()).unwrap_or(0);
            for column in &mut self.columns {
                let Some(i) = column.stored else { continue };
                let (stored, inner) = (group.metadata().column(i), group.get_column_page_reader(i)?);
                let pages = Pages::new(inner, self.again.clone(), stored);
                let reader = get_column_reader(stored.column_descr_ptr(), Box::new(pages));
                column.reader = Some(reader);
            }
            self.next_group += 1;
        }
        self.rows = 0;
        let rows = self.left.min(BATCH as u64) as usize;
        for column in &mut self.columns {
            column.read(rows)?;
        }
        self.left -= rows as u64;
        self.rows = rows;
        Ok(true)
    }
}
