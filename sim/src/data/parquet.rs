//! Tables of Parquet files, as pandas, Polars, `DuckDB` and Spark write them: flat columns of numbers, truth values and text, and the fields of
//! structures. Metadata, pages and encodings are read by the crate `parquet`; pages are unpacked [here](Pages), within the limits, since it
//! would take the size that a page claims.
//!
//! | column | cell |
//! |---|---|
//! | integers, dates, times | the number: days, or the unit of the file, since 1970 |
//! | real numbers, of 16 bits, too | the number |
//! | decimals | the number, with all its digits |
//! | truth values | 0, 1 |
//! | text | the text |
//! | null | nothing |
//!
//! An index that pandas kept is no column.

use crate::data::file::{ENCRYPTED_PARQUET, Limits, MORE, limited};
use crate::data::npy;
use crate::data::row::Row;
use crate::data::table::{Table, check_size};
use ::parquet::basic::{Compression, ConvertedType, Encoding, LogicalType, Type};
use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use ::parquet::data_type::DataType;
use ::parquet::errors::{ParquetError, Result as Read};
use ::parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use ::parquet::file::reader::FileReader;
use ::parquet::file::serialized_reader::{SerializedFileReader, SerializedPageReader};
use ::parquet::schema::types::ColumnDescriptor;
use arch::{Code, Diagnostic};
use bytes::Bytes;
use std::panic::catch_unwind;
use std::sync::Arc;

/// How pandas calls an index that it writes.
const INDEX: &str = "__index_level_";
/// Values that are read at a time.
const BATCH: usize = 1024;
/// What writes a file that is read.
const HELP: &str = "pandas: frame.to_parquet(\"data.parquet\", compression=\"snappy\") of columns of numbers and text";

fn wrong(message: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::global(Code::Data, format!("the Parquet file {message}"))
}

fn damaged(error: &ParquetError) -> Diagnostic {
    wrong(format!("is damaged: {error}"))
}

fn too_large(limits: Limits) -> Diagnostic {
    let message = format!("unpacked, the Parquet data is larger than {} bytes", limits.bytes);
    Diagnostic::global(Code::Limit, message).with_help(MORE)
}

/// Read a file.
///
/// # Errors
/// `E-DATA` if it is damaged, or has columns of lists, of times in 96 bits, or of bytes that are no text; `E-LIMIT`.
pub fn read(bytes: &[u8], limits: Limits) -> Result<Table, Diagnostic> {
    if bytes.starts_with(ENCRYPTED_PARQUET) {
        return Err(wrong("is encrypted").with_help(HELP));
    }
    // What a damaged file makes the crate's decoders count, they do not check everywhere: some panic.
    catch_unwind(|| table(bytes, limits))
        .unwrap_or_else(|_| Err(wrong("is damaged: its pages do not hold what they say")))
}

fn table(bytes: &[u8], limits: Limits) -> Result<Table, Diagnostic> {
    let bytes = Bytes::copy_from_slice(bytes);
    let file = SerializedFileReader::new(bytes.clone()).map_err(|error| damaged(&error))?;
    let schema = file.metadata().file_metadata().schema_descr();
    let names: Vec<String> = schema.columns().iter().map(|column| column.path().string()).collect();
    let taken: Vec<usize> = (0..names.len()).filter(|&n| !names[n].starts_with(INDEX)).collect();
    if let Some(twice) = (1..taken.len()).find(|&n| taken[..n].iter().any(|&other| names[other] == names[taken[n]])) {
        return Err(wrong(format!("has two columns called `{}`", names[taken[twice]])));
    }
    let groups = file.metadata().row_groups();
    let counts = groups.iter().map(|group| usize::try_from(group.num_rows()).ok());
    let count = counts.sum::<Option<usize>>().ok_or_else(|| wrong("has less than no rows"))?;
    check_size(count, taken.len(), limits)?;

    let mut left = limits.bytes;
    let mut rows = Vec::with_capacity(count);
    for group in groups {
        let columns = taken.iter().map(|&n| column(&bytes, group, n, limits, &mut left));
        let columns: Vec<Row> = columns.collect::<Result<_, _>>()?;
        let cells = |row| columns.iter().map(move |column| &column[row]).collect::<Row>();
        rows.extend((0..group.num_rows() as usize).map(cells));
    }
    Table::from_cells(taken.into_iter().map(|n| names[n].clone()).collect(), rows, limits)
}

/// The cells of a column of a group of rows, from the first row on; what they take is taken off `left`.
fn column(
    bytes: &Bytes,
    group: &RowGroupMetaData,
    number: usize,
    limits: Limits,
    left: &mut u64,
) -> Result<Row, Diagnostic> {
    let chunk = group.columns().get(number).ok_or_else(|| wrong("is damaged: a group of rows lacks a column"))?;
    let kind = chunk.column_descr();
    let name = kind.path().string();
    let cells = Kind::of(kind).ok_or_else(|| {
        wrong(format!("has a column `{name}` whose values are not numbers, booleans or text")).with_help(HELP)
    })?;
    let rows = group.num_rows() as usize;
    let pages = Pages::of(bytes, chunk, rows, limits).map_err(|error| error.diagnostic(&name, limits))?;
    let mut taking = Taking { rows, levels: kind.max_def_level(), row: Row::default(), left };
    let outcome = match get_column_reader(chunk.column_descr_ptr(), Box::new(pages)) {
        ColumnReader::BoolColumnReader(reader) => taking.all(reader, |&value| Some(u8::from(value).to_string())),
        ColumnReader::Int32ColumnReader(reader) => taking.all(reader, |&value| Some(cells.integer(value.into(), 32))),
        ColumnReader::Int64ColumnReader(reader) => taking.all(reader, |&value| Some(cells.integer(value, 64))),
        ColumnReader::FloatColumnReader(reader) => taking.all(reader, |&value| Some(npy::written(value.into()))),
        ColumnReader::DoubleColumnReader(reader) => taking.all(reader, |&value| Some(npy::written(value))),
        ColumnReader::ByteArrayColumnReader(reader) => taking.all(reader, |value| cells.bytes(value.data())),
        ColumnReader::FixedLenByteArrayColumnReader(reader) => taking.all(reader, |value| cells.bytes(value.data())),
        ColumnReader::Int96ColumnReader(_) => Err(Refusal::Cell(0)),
    };
    outcome.map_err(|refusal| refusal.diagnostic(&name, limits))?;
    Ok(taking.row)
}

/// Why a column is not read.
enum Refusal {
    /// The crate says that it is damaged, or it is.
    Damaged(String),
    /// It takes more than may be taken.
    TooLarge,
    /// Pages that are packed or encoded in a way that is not read.
    Unknown(String),
    /// The cell of this row.
    Cell(usize),
}

impl Refusal {
    fn diagnostic(self, column: &str, limits: Limits) -> Diagnostic {
        match self {
            Refusal::Damaged(why) => wrong(format!("is damaged in column `{column}`: {why}")),
            Refusal::TooLarge => too_large(limits),
            Refusal::Unknown(how) => wrong(format!("has a column `{column}` with {how}")).with_help(HELP),
            Refusal::Cell(row) => {
                wrong(format!("has no text and no number in row {}, column `{column}`", row + 1)).with_help(HELP)
            }
        }
    }
}

/// What the values of a column are.
enum Kind {
    /// Numbers and truth values, as the file has them.
    Plain,
    /// Integers without a sign.
    Unsigned,
    /// Integers, so many digits of which stand behind the point.
    Decimal(usize),
    /// Real numbers in two bytes.
    Half,
    Text,
}

impl Kind {
    fn of(column: &ColumnDescriptor) -> Option<Kind> {
        let (logical, converted) = (column.logical_type_ref(), column.converted_type());
        let physical = column.physical_type();
        if column.max_rep_level() > 0 || physical == Type::INT96 {
            return None;
        }
        if matches!(logical, Some(LogicalType::Decimal(_))) || converted == ConvertedType::DECIMAL {
            return usize::try_from(column.type_scale()).ok().filter(|&scale| scale <= 76).map(Kind::Decimal);
        }
        let bytes = matches!(physical, Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY);
        match (logical, converted) {
            (Some(LogicalType::Float16), _) => (physical == Type::FIXED_LEN_BYTE_ARRAY).then_some(Kind::Half),
            (Some(LogicalType::Integer(kind)), _) if !kind.is_signed => (!bytes).then_some(Kind::Unsigned),
            (_, ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64) => {
                (!bytes).then_some(Kind::Unsigned)
            }
            (Some(LogicalType::String | LogicalType::Enum | LogicalType::Json) | None, _) if bytes => {
                (converted != ConvertedType::BSON && converted != ConvertedType::INTERVAL).then_some(Kind::Text)
            }
            _ => (!bytes).then_some(Kind::Plain),
        }
    }

    /// The cell of an integer of so many bits.
    fn integer(&self, value: i64, bits: u32) -> String {
        match *self {
            Kind::Unsigned if bits == 32 => (value as u32).to_string(),
            Kind::Unsigned => (value as u64).to_string(),
            Kind::Decimal(scale) => decimal(value.into(), scale),
            _ => value.to_string(),
        }
    }

    /// The cell of bytes, if they are what the column should hold.
    fn bytes(&self, value: &[u8]) -> Option<String> {
        match *self {
            Kind::Text => std::str::from_utf8(value).ok().map(|text| text.trim().to_owned()),
            Kind::Half => Some(npy::written(npy::half(u16::from_le_bytes(value.try_into().ok()?)))),
            // High byte first, in two's complement.
            Kind::Decimal(scale) if (1..=16).contains(&value.len()) => {
                let sign = if value[0] >= 0x80 { -1 } else { 0 };
                Some(decimal(value.iter().fold(sign, |number, &byte| number * 256 + i128::from(byte)), scale))
            }
            _ => None,
        }
    }
}

/// A number with `scale` digits behind the point.
fn decimal(value: i128, scale: usize) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, rest) = digits.split_at(digits.len() - scale);
    if rest.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest}") }
}

/// The cells of a column, while it is read.
struct Taking<'a> {
    rows: usize,
    /// Level of a value that is there.
    levels: i16,
    row: Row,
    /// Bytes that cells may still take.
    left: &'a mut u64,
}

impl Taking<'_> {
    fn all<T: DataType>(
        &mut self,
        mut reader: ColumnReaderImpl<T>,
        cell: impl Fn(&T::T) -> Option<String>,
    ) -> Result<(), Refusal> {
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        while self.row.len() < self.rows {
            values.clear();
            levels.clear();
            let batch = BATCH.min(self.rows - self.row.len());
            let (records, ..) =
                reader.read_records(batch, Some(&mut levels), None, &mut values).map_err(Refusal::from)?;
            if records == 0 {
                return Err(Refusal::Damaged(format!("it has {} values for {} rows", self.row.len(), self.rows)));
            }
            let mut values = values.iter();
            for n in 0..records {
                let there = self.levels == 0 || levels.get(n) == Some(&self.levels);
                let cell = match there.then(|| values.next()) {
                    None => String::new(),
                    Some(value) => value.and_then(&cell).ok_or(Refusal::Cell(self.row.len()))?,
                };
                *self.left = self.left.checked_sub(cell.len() as u64).ok_or(Refusal::TooLarge)?;
                self.row.push(&cell);
            }
        }
        Ok(())
    }
}

impl From<ParquetError> for Refusal {
    /// What [`Pages`] refuses passes through the crate as an error from outside.
    fn from(error: ParquetError) -> Refusal {
        match error {
            ParquetError::External(inner) => match inner.downcast::<Outside>() {
                Ok(outside) => match *outside {
                    Outside::TooLarge => Refusal::TooLarge,
                    Outside::Unknown(how) => Refusal::Unknown(how),
                },
                Err(other) => Refusal::Damaged(other.to_string()),
            },
            other => Refusal::Damaged(other.to_string()),
        }
    }
}

/// What [`Pages`] says through the crate.
#[derive(Debug, thiserror::Error)]
enum Outside {
    #[error("too large")]
    TooLarge,
    #[error("{0}")]
    Unknown(String),
}

impl From<Outside> for ParquetError {
    fn from(outside: Outside) -> ParquetError {
        ParquetError::External(Box::new(outside))
    }
}

fn general_error(error: impl std::fmt::Display) -> ParquetError {
    ParquetError::General(error.to_string())
}

/// The pages of a column, unpacked within the limits.
struct Pages {
    packed: SerializedPageReader<Bytes>,
    compression: Compression,
    /// Rows, so that no page has more values.
    rows: usize,
    limits: Limits,
    /// Whether there was a page with a dictionary.
    dictionary: bool,
}

impl Pages {
    fn of(bytes: &Bytes, chunk: &ColumnChunkMetaData, rows: usize, limits: Limits) -> Result<Pages, Refusal> {
        let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
        let end = start.checked_add(chunk.compressed_size());
        let inside = start >= 0 && chunk.compressed_size() >= 0 && end.is_some_and(|end| end <= bytes.len() as i64);
        if !inside || chunk.column_descr().physical_type() != chunk.column_type() {
            return Err(Refusal::Damaged("its pages are not in the file".to_owned()));
        }
        // Told that nothing is packed, the crate gives pages as they are.
        let plain = chunk.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build()?;
        let packed = SerializedPageReader::new(Arc::new(bytes.clone()), &plain, rows, None)?;
        Ok(Pages { packed, compression: chunk.compression(), rows, limits, dictionary: false })
    }

    /// What packed bytes hold.
    fn unpacked(&self, packed: &[u8]) -> Read<Vec<u8>> {
        // Nothing at all stands for no bytes: a page of nulls.
        if packed.is_empty() {
            return Ok(Vec::new());
        }
        let read = |reader: &mut dyn std::io::Read| {
            limited(reader, "Parquet", self.limits).map_err(|error| match error.code {
                Code::Limit => Outside::TooLarge.into(),
                _ => ParquetError::General(error.message),
            })
        };
        match self.compression {
            Compression::UNCOMPRESSED => Ok(packed.to_vec()),
            Compression::SNAPPY => {
                let length = snap::raw::decompress_len(packed).map_err(general_error)?;
                // A copy of 64 bytes takes three bytes.
                if length as u64 > self.limits.bytes || length / 64 > packed.len() {
                    return Err(Outside::TooLarge.into());
                }
                snap::raw::Decoder::new().decompress_vec(packed).map_err(general_error)
            }
            Compression::GZIP(_) => read(&mut flate2::read::MultiGzDecoder::new(packed)),
            Compression::ZSTD(_) => {
                let most = self.limits.bytes.min(1 << 27);
                let reader = ruzstd::decoding::StreamingDecoder::new_with_max_window_size(packed, most);
                read(&mut reader.map_err(general_error)?)
            }
            other => Err(Outside::Unknown(format!("pages packed by {other}, which is not read")).into()),
        }
    }

    /// A page with its values unpacked, whose counts are possible.
    fn checked(&mut self, page: Page) -> Read<Page> {
        let general = |what: &str| Err(ParquetError::General(what.to_owned()));
        known(page.encoding())?;
        let looked_up = matches!(page.encoding(), Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY);
        if page.is_data_page() && looked_up && !self.dictionary {
            return general("a page names values of a dictionary that is not there");
        }
        self.dictionary |= page.is_dictionary_page();
        match page {
            Page::DictionaryPage { buf, num_values, encoding, is_sorted } => {
                let buf = Bytes::from(self.unpacked(&buf)?);
                // Every value of a dictionary takes a byte or more.
                if num_values as usize > buf.len() {
                    return general("a dictionary is shorter than it says");
                }
                Ok(Page::DictionaryPage { buf, num_values, encoding, is_sorted })
            }
            Page::DataPage { buf, num_values, encoding, def_level_encoding, rep_level_encoding, statistics } => {
                if num_values as usize > self.rows {
                    return general("a page has more values than there are rows");
                }
                let buf = Bytes::from(self.unpacked(&buf)?);
                Ok(Page::DataPage { buf, num_values, encoding, def_level_encoding, rep_level_encoding, statistics })
            }
            Page::DataPageV2 {
                buf,
                num_values,
                encoding,
                num_nulls,
                num_rows,
                def_levels_byte_len,
                rep_levels_byte_len,
                is_compressed,
                statistics,
            } => {
                if num_values as usize > self.rows || num_nulls > num_values || num_rows > num_values {
                    return general("a page has more values than there are rows");
                }
                let levels = (def_levels_byte_len as usize).saturating_add(rep_levels_byte_len as usize);
                if levels > buf.len() {
                    return general("a page is shorter than its levels");
                }
                let values = &buf[levels..];
                let values = if is_compressed { self.unpacked(values)? } else { values.to_vec() };
                let buf = Bytes::from([&buf[..levels], &values].concat());
                let is_compressed = false;
                Ok(Page::DataPageV2 {
                    buf,
                    num_values,
                    encoding,
                    num_nulls,
                    num_rows,
                    def_levels_byte_len,
                    rep_levels_byte_len,
                    is_compressed,
                    statistics,
                })
            }
        }
    }
}

/// Encodings whose decoders in the crate check what they read: those of byte arrays by differences believe the lengths in the file.
fn known(encoding: Encoding) -> Read<()> {
    match encoding {
        Encoding::PLAIN
        | Encoding::PLAIN_DICTIONARY
        | Encoding::RLE_DICTIONARY
        | Encoding::RLE
        | Encoding::DELTA_BINARY_PACKED
        | Encoding::BYTE_STREAM_SPLIT => Ok(()),
        other => Err(Outside::Unknown(format!("values encoded as {other}, which is not read")).into()),
    }
}

impl Iterator for Pages {
    type Item = Read<Page>;

    fn next(&mut self) -> Option<Read<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Read<Option<Page>> {
        self.packed.get_next_page()?.map(|page| self.checked(page)).transpose()
    }

    fn peek_next_page(&mut self) -> Read<Option<PageMetadata>> {
        self.packed.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Read<()> {
        self.packed.skip_next_page()
    }
}

#[cfg(test)]
mod tests;
