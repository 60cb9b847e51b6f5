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
/// Of the lengths of texts that are stored apart from them, which take 4 bytes each in memory.
const MOST_LENGTHS: u64 = 8 << 20;
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
    nullable: bool,
}

impl Pages {
    pub(super) fn new(inner: Box<dyn PageReader>, file: Stored, column: &ColumnChunkMetaData) -> Self {
        let (at, left) = column.byte_range();
        let nullable = column.column_descr().max_def_level() > 0;
        Pages { inner, file, at, left, nullable }
    }

    /// Passes over a page; its type.
    fn pass(&mut self) -> Result<i32> {
        for most in HEADER {
            let bytes = self.file.get_bytes(self.at, most.min(self.left) as usize)?;
            let mut rest = Thrift(&bytes);
            let Some([kind, unpacked, packed, values]) = rest.page_header() else { continue };
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

/// Takes packed differences: how many numbers they are.
fn differences(rest: &mut Thrift) -> Option<u64> {
    let [block, parts, count, _] = [rest.number()?, rest.number()?, rest.number()?, rest.number()?];
    let each = block.checked_div(parts)?;
    let mut left = count.saturating_sub(1);
    while left > 0 && count <= MOST_LENGTHS {
        rest.number()?;
        let widths = rest.0.get(..usize::try_from(parts).ok()?)?;
        rest.skip(parts)?;
        for width in widths {
            rest.skip(if left > 0 { u64::from(*width) * each / 8 } else { 0 })?;
            left = left.saturating_sub(each);
        }
    }
    Some(count)
}

/// Most lengths that a page states: of its texts, or of what they share with the one before and of the rest.
fn lengths(page: &Page, nullable: bool) -> Option<u64> {
    let lists = match page.encoding() {
        Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
        Encoding::DELTA_BYTE_ARRAY => 2,
        _ => return None,
    };
    let mut rest = Thrift(page.buffer());
    rest.skip(match page {
        Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
            u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len)
        }
        // Which values are missing, after their length.
        _ if nullable => 4 + u64::from(u32::from_le_bytes(*rest.0.first_chunk()?)),
        _ => 0,
    })?;
    let mut most = 0;
    for _ in 0..lists {
        match differences(&mut rest) {
            Some(count) => most = most.max(count),
            None => break,
        }
    }
    Some(most)
}

fn refused<V>(what: String) -> Result<V> {
    Err(ParquetError::General(format!("a page of {what}")))
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        while self.left > 0 && self.pass()? == INDEX {}
        let page = self.inner.get_next_page()?;
        let stated = page.as_ref().and_then(|p| lengths(p, self.nullable)).unwrap_or(0);
        match &page {
            Some(_) if stated > MOST_LENGTHS => refused(format!("{stated} lengths, more than {MOST_LENGTHS}")),
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
