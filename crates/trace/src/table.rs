//! Tables as Parquet files, written as a stream: columns of numbers, truth values and text; zstd-compressed.
//!
//! Values go through the column writers of the Parquet crate. Its Arrow interface would write the same pages, but
//! takes several times as long to build as the rest of the crate.

use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, ZstdLevel};
use parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use parquet::column::writer::{get_column_writer, ColumnWriter};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, Type};
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Rows per row group. Until one is complete, its compressed pages are held in memory.
pub const GROUP_ROWS: usize = 1 << 20;

/// One column of a batch: its name, whether values may be missing, and the values.
pub struct Column {
    name: String,
    logical: Option<LogicalType>,
    values: Values,
    /// 1 where there is a value, 0 where it is missing; none where no value may be missing.
    present: Option<Vec<i16>>,
}

/// Values as Parquet stores them; missing ones are left out.
pub enum Values {
    /// Truth values.
    Bool(Vec<bool>),
    /// Integers of at most 32 bits.
    Int32(Vec<i32>),
    /// Integers of 64 bits.
    Int64(Vec<i64>),
    /// Floating-point numbers.
    Double(Vec<f64>),
    /// Text.
    Text(Vec<ByteArray>),
}

/// A type that a column may have.
pub trait Cell: Sized {
    /// How readers take the stored values.
    const LOGICAL: Option<LogicalType>;
    /// The values as Parquet stores them.
    fn stored(values: impl Iterator<Item = Self>) -> Values;
}

macro_rules! cell {
    ($of:ty, $logical:expr, $values:ident, $stored:expr) => {
        impl Cell for $of {
            const LOGICAL: Option<LogicalType> = $logical;
            fn stored(values: impl Iterator<Item = Self>) -> Values {
                Values::$values(values.map($stored).collect())
            }
        }
    };
}

const fn unsigned(bit_width: i8) -> Option<LogicalType> {
    Some(LogicalType::Integer { bit_width, is_signed: false })
}

// An unsigned number is stored as the signed one with the same bits.
cell!(u8, unsigned(8), Int32, i32::from);
cell!(u32, unsigned(32), Int32, |v| v as i32);
cell!(u64, unsigned(64), Int64, |v| v as i64);
cell!(f64, None, Double, |v| v);
cell!(bool, None, Bool, |v| v);
cell!(&'static str, Some(LogicalType::String), Text, |v| { ByteArray::from(Bytes::from_static(v.as_bytes())) });

impl Column {
    /// A column that has a value in every row.
    pub fn full<T: Cell>(name: &str, values: impl Iterator<Item = T>) -> Column {
        Column { name: name.to_string(), logical: T::LOGICAL, values: T::stored(values), present: None }
    }

    /// A column in which values may be missing.
    pub fn gaps<T: Cell>(name: &str, values: impl Iterator<Item = Option<T>>) -> Column {
        let mut present = Vec::with_capacity(values.size_hint().0);
        let values = values.inspect(|v| present.push(i16::from(v.is_some())));
        let values = T::stored(values.flatten());
        Column { name: name.to_string(), logical: T::LOGICAL, values, present: Some(present) }
    }

    fn rows(&self) -> usize {
        match (&self.present, &self.values) {
            (Some(present), _) => present.len(),
            (None, Values::Bool(v)) => v.len(),
            (None, Values::Int32(v)) => v.len(),
            (None, Values::Int64(v)) => v.len(),
            (None, Values::Double(v)) => v.len(),
            (None, Values::Text(v)) => v.len(),
        }
    }

    fn field(&self) -> Result<Arc<Type>> {
        let physical = match self.values {
            Values::Bool(_) => BoolType::get_physical_type(),
            Values::Int32(_) => Int32Type::get_physical_type(),
            Values::Int64(_) => Int64Type::get_physical_type(),
            Values::Double(_) => DoubleType::get_physical_type(),
            Values::Text(_) => ByteArrayType::get_physical_type(),
        };
        let repetition = match self.present {
            Some(_) => Repetition::OPTIONAL,
            None => Repetition::REQUIRED,
        };
        let field = Type::primitive_type_builder(&self.name, physical)
            .with_repetition(repetition)
            .with_logical_type(self.logical.clone());
        Ok(Arc::new(field.build()?))
    }

    fn put(&self, writer: &mut ColumnWriter) -> Result<()> {
        let present = self.present.as_deref();
        match (writer, &self.values) {
            (ColumnWriter::BoolColumnWriter(w), Values::Bool(v)) => w.write_batch(v, present, None),
            (ColumnWriter::Int32ColumnWriter(w), Values::Int32(v)) => w.write_batch(v, present, None),
            (ColumnWriter::Int64ColumnWriter(w), Values::Int64(v)) => w.write_batch(v, present, None),
            (ColumnWriter::DoubleColumnWriter(w), Values::Double(v)) => w.write_batch(v, present, None),
            (ColumnWriter::ByteArrayColumnWriter(w), Values::Text(v)) => w.write_batch(v, present, None),
            _ => Err(ParquetError::General(format!("column {}: got another type than in the first batch", self.name))),
        }
        .map(|_| ())
    }
}

/// The pages of one column of the row group that is being written.
#[derive(Clone)]
struct Pages(Arc<Mutex<Option<TrackedWrite<Vec<u8>>>>>);

impl Pages {
    fn new() -> Pages {
        Pages(Arc::new(Mutex::new(Some(TrackedWrite::new(Vec::new())))))
    }

    fn lock(&self) -> MutexGuard<'_, Option<TrackedWrite<Vec<u8>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Result<Bytes> {
        let pages = self.lock().take();
        let bytes = pages.map(TrackedWrite::into_inner).transpose()?;
        Ok(Bytes::from(bytes.unwrap_or_default()))
    }
}

impl PageWriter for Pages {
    fn write_page(&mut self, page: CompressedPage) -> Result<PageWriteSpec> {
        match self.lock().as_mut() {
            Some(sink) => SerializedPageWriter::new(sink).write_page(page),
            None => Err(ParquetError::General("a closed column".into())),
        }
    }
    fn close(&mut self) -> Result<()> {
        Ok(())
    }
}

struct Open {
    writer: ColumnWriter<'static>,
    pages: Pages,
}

impl Open {
    fn new(column: ColumnDescPtr, properties: WriterPropertiesPtr) -> Open {
        let pages = Pages::new();
        let writer = get_column_writer(column, properties, Box::new(pages.clone()));
        Open { writer, pages }
    }
}

/// What a table is written on: one type, because the Parquet crate is compiled again for each.
pub type Output<'a> = Box<dyn Write + Send + 'a>;

/// Writes a table, batch after batch.
pub struct TableWriter<'a> {
    file: SerializedFileWriter<Output<'a>>,
    columns: Vec<Open>,
    rows: usize,
}

impl<'a> TableWriter<'a> {
    /// A new file on `output` with the columns of `first`, which is not yet written.
    ///
    /// # Errors
    /// Failure to write.
    pub fn new(output: Output<'a>, first: &[Column]) -> Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(concat!("headstack ", env!("CARGO_PKG_VERSION")).into())
            .build();
        let fields = first.iter().map(Column::field).collect::<Result<_>>()?;
        let schema = Type::group_type_builder("schema").with_fields(fields);
        let schema = Arc::new(schema.build()?);
        Ok(TableWriter {
            file: SerializedFileWriter::new(output, schema, Arc::new(properties))?,
            columns: Vec::new(),
            rows: 0,
        })
    }

    /// Adds rows; `batch` has the columns of the first batch, all with the same number of rows.
    ///
    /// # Errors
    /// Failure to write; other columns.
    pub fn write(&mut self, batch: &[Column]) -> Result<()> {
        let columns = self.file.schema_descr().columns().to_vec();
        let rows = batch.first().map_or(0, Column::rows);
        if batch.len() != columns.len() || batch.iter().any(|c| c.rows() != rows) {
            return Err(ParquetError::General("a batch whose columns do not fit the first batch or each other".into()));
        }
        if self.columns.is_empty() {
            let new = |column| Open::new(column, self.file.properties().clone());
            self.columns = columns.into_iter().map(new).collect();
        }
        for (column, open) in batch.iter().zip(&mut self.columns) {
            column.put(&mut open.writer)?;
        }
        self.rows += rows;
        if self.rows >= GROUP_ROWS {
            self.end_group()?;
        }
        Ok(())
    }

    fn end_group(&mut self) -> Result<()> {
        if std::mem::take(&mut self.rows) == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for Open { writer, pages } in self.columns.drain(..) {
            let closed = writer.close()?;
            group.append_column(&pages.take()?, closed)?;
        }
        group.close().map(|_| ())
    }

    /// Ends the file and gives back what it was written on. Without rows the file holds only the schema.
    ///
    /// # Errors
    /// Failure to write.
    pub fn close(mut self) -> Result<Output<'a>> {
        self.end_group()?;
        self.file.into_inner()
    }
}
