//! Bounds of the pages of a Parquet file, checked before the library unpacks them: it takes as much memory as a page unpacks to.

use super::footer::Thrift;
use super::groups::Stored;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;

/// Most bytes of a page, unpacked. Most programs write 1 MiB, some 100 MB.
const MOST_BYTES: i32 = 128 << 20;
/// Of a dictionary, of which a value has 4 bytes at least and takes 32 in memory.
const MOST_DICTIONARY: i32 = 16 << 20;
/// Of texts that are stored without what they share with the one before, which is copied.
const MOST_SHARING: usize = 2 << 20;
/// Bytes in which a header is looked for, first and at most.
const HEADER: [u64; 2] = [1 << 12, 1 << 20];
/// The type of a page that the library passes over.
const INDEX: i32 = 1;

/// The pages of a column. The next one is at `at`, and `left` bytes are left from there on.
pub(super) struct Pages {
    inner: Box<dyn PageReader>,
    file: Stored,
    at: u64,
    left: u64,
}

impl Pages {
    pub(super) fn new(inner: Box<dyn PageReader>, file: Stored, column: &ColumnChunkMetaData) -> Self {
        let (at, left) = column.byte_range();
        Pages { inner, file, at, left }
    }

    /// Passes over a page; its type.
    fn pass(&mut self) -> Result<i32> {
        for most in HEADER {
            let bytes = self.file.get_bytes(self.at, most.min(self.left) as usize)?;
            let mut rest = Thrift(&bytes);
            let Some([kind, unpacked, packed, values]) = rest.page_header() else {
                continue;
            };
            let of_dictionary = unpacked > MOST_DICTIONARY || values > unpacked / 4;
            if unpacked > MOST_BYTES || values > 0 && of_dictionary {
                return refused(format!("{unpacked} bytes and a dictionary of {values} values"));
            }
            let whole = (bytes.len() - rest.0.len()) as u64 + packed.max(0) as u64;
            self.left = self.left.saturating_sub(whole);
            self.at += whole;
            return Ok(kind);
        }
        refused("an unknown kind".into())
    }
}

fn refused<V>(what: String) -> Result<V> {
    Err(ParquetError::General(format!("a page of {what}")))
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        while self.left > 0 && self.pass()? == INDEX {}
        let page = self.inner.get_next_page()?;
        match &page {
            Some(p) if p.encoding() == Encoding::DELTA_BYTE_ARRAY && p.buffer().len() > MOST_SHARING => {
                refused(format!("{} bytes of texts that share beginnings", p.buffer().len()))
            }
            _ => Ok(page),
        }
    }
    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.inner.peek_next_page()
    }
    fn skip_next_page(&mut self) -> Result<()> {
        self.inner.skip_next_page()
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;
    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}
