//! Files of other writers, damaged ones, and the cells of every kind of column.

use super::*;
use crate::data::file::{self, Reading};
use ::parquet::basic::{GzipLevel, ZstdLevel};
use std::fs;
use std::path::Path;

/// The files there are by other people's writers, of one table; `make.py` beside them says which.
const WHOLE: [&str; 6] = ["arrow", "arrow_gzip", "duckdb", "fastparquet", "index", "polars"];

fn bytes(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/parquet").join(name)).unwrap()
}

fn of(name: &str) -> Result<Table, Diagnostic> {
    file::read(&bytes(&format!("{name}.parquet")), &Reading::default()).map_err(|(diagnostic, _)| diagnostic)
}

#[test]
fn files_of_other_writers_hold_what_pandas_says() {
    let text = Table::from_csv(&bytes("table.csv")).unwrap();
    for name in WHOLE {
        let table = of(name).unwrap();
        assert_eq!(table.rows.len(), text.rows.len(), "{name}");
        assert_eq!(table.columns, text.columns[..table.columns.len()], "{name}");
        for (row, column) in (0..text.rows.len()).flat_map(|row| (0..table.columns.len()).map(move |n| (row, n))) {
            let place = format!("{name}, {}", table.place(row, column));
            if text.is_missing(row, column) {
                assert!(table.is_missing(row, column), "{place}");
            } else if let Ok(number) = text.number(row, column) {
                assert_eq!(table.number(row, column).unwrap(), number, "{place}");
            } else {
                assert_eq!(table.rows[row][column], text.rows[row][column], "{place}");
            }
        }
    }
}

#[test]
fn whole_numbers_and_decimals_keep_their_digits() {
    let table = of("arrow").unwrap();
    let large = table.column("large").unwrap();
    assert_eq!(&table.rows[23][large], "23000000000000001");
    for (value, scale, text) in [(5, 2, "0.05"), (-5, 2, "-0.05"), (-1234, 2, "-12.34"), (7, 0, "7")] {
        assert_eq!(decimal(value, scale), text);
    }
}

#[test]
fn what_is_not_read_says_so() {
    for (name, words) in [
        ("refused_lists", "column `x.list.element` whose values are not numbers, booleans or text"),
        ("refused_bytes", "no text and no number in row 1, column `x`"),
        ("refused_brotli", "pages packed by BROTLI"),
        ("refused_delta", "values encoded as DELTA_BYTE_ARRAY"),
    ] {
        let error = of(name).unwrap_err();
        assert!(error.code == Code::Data && error.message.contains(words) && error.help.is_some(), "{}", error.message);
    }
    assert!(read(b"PARE and more", Limits::default()).unwrap_err().message.contains("encrypted"));
}

#[test]
fn limits_hold_for_cells_and_bytes() {
    let file = bytes("arrow_gzip.parquet");
    let with = |bytes: u64, cells: usize| read(&file, Limits { bytes, cells });
    assert!(with(1 << 20, 24 * 12).is_ok());
    assert_eq!(with(1 << 20, 24 * 12 - 1).unwrap_err().code, Code::Limit);
    assert_eq!(with(100, 24 * 12).unwrap_err().code, Code::Limit);
}

#[test]
fn claims_take_no_memory() {
    let bytes = Bytes::from(bytes("arrow.parquet"));
    let file = SerializedFileReader::new(bytes.clone()).unwrap();
    let chunk = file.metadata().row_group(0).column(0).clone();
    let limits = Limits { bytes: 1 << 20, cells: 1 << 20 };
    let Ok(mut pages) = Pages::of(&bytes, &chunk, 10, limits) else { panic!("the file is read above") };
    assert_eq!(pages.compression, Compression::SNAPPY);
    let refused = |pages: &Pages, packed: &[u8]| match pages.unpacked(packed).map_err(Refusal::from) {
        Err(Refusal::TooLarge) => "too large",
        Err(Refusal::Damaged(_)) => "damaged",
        _ => "read",
    };
    // 4 GiB in six bytes; 64 KiB in three; a literal of three bytes that is cut off.
    assert_eq!(refused(&pages, &[0xff, 0xff, 0xff, 0xff, 0x0f, 0]), "too large");
    assert_eq!(refused(&pages, &[0x80, 0x80, 0x04]), "too large");
    assert_eq!(refused(&pages, &[3, 8, b'a']), "damaged");
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packer, &vec![0; 2 << 20]).unwrap();
    pages.compression = Compression::GZIP(GzipLevel::default());
    assert_eq!(refused(&pages, &packer.finish().unwrap()), "too large");
    // A frame of Zstandard whose window is 2 GiB.
    pages.compression = Compression::ZSTD(ZstdLevel::default());
    assert_eq!(refused(&pages, &[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 1, 0, 0]), "damaged");
}

/// Bytes of every file changed, and beginnings of it: read or refused, and never a panic. Every fourth byte; all of them, each in five
/// ways, have been tried, which takes three minutes.
#[test]
fn damage_is_refused_or_read() {
    for (n, name) in WHOLE.iter().enumerate() {
        let whole = bytes(&format!("{name}.parquet"));
        for place in (n % 4..whole.len()).step_by(4) {
            let mut bytes = whole.clone();
            bytes[place] = [0, 0x7f, 0xff, whole[place] ^ 1, whole[place] ^ 0x80][place / 4 % 5];
            let _ = read(&bytes, Limits::default());
        }
        for place in (0..whole.len()).step_by(64) {
            assert!(read(&whole[..place], Limits::default()).is_err(), "{name} up to byte {place}");
        }
    }
}

/// Two's complement, the high byte first; words without a sign; digits behind the point.
#[test]
fn cells_are_written_by_their_kind() {
    assert_eq!(
        [(-1, 32), (-1, 64)].map(|(value, bits)| Kind::Unsigned.integer(value, bits)),
        ["4294967295", "18446744073709551615"]
    );
    assert_eq!([-5, 0, 1234].map(|value| Kind::Decimal(2).integer(value, 64)), ["-0.05", "0.00", "12.34"]);
    assert_eq!(Kind::Plain.integer(-7, 32), "-7");
    let bytes = |value: &[u8]| Kind::Decimal(2).bytes(value);
    assert_eq!((bytes(&[0xff, 0x01]), bytes(&[0x01, 0x02])), (Some("-2.55".to_owned()), Some("2.58".to_owned())));
    assert_eq!(bytes(&[0x80; 16]).map(|text| text.len()), Some(41));
    assert_eq!((bytes(&[]), bytes(&[0; 17])), (None, None));
}

/// What a column is, also where only the older of the two descriptions says it.
#[test]
fn columns_have_kinds() {
    use ::parquet::schema::types::{ColumnPath, Type as Schema};
    let of = |physical: Type, converted: ConvertedType, logical: Option<LogicalType>| {
        let builder =
            Schema::primitive_type_builder("a", physical).with_converted_type(converted).with_logical_type(logical);
        let builder = builder.with_precision(9).with_scale(if converted == ConvertedType::DECIMAL { 2 } else { 0 });
        let schema = builder.with_length(2).build().unwrap();
        let kind = Kind::of(&ColumnDescriptor::new(Arc::new(schema), 0, 0, ColumnPath::new(vec!["a".to_owned()])));
        kind.map(|kind| match kind {
            Kind::Plain => "plain",
            Kind::Unsigned => "unsigned",
            Kind::Decimal(2) => "decimal",
            Kind::Decimal(_) => "another decimal",
            Kind::Half => "half",
            Kind::Text => "text",
        })
    };
    for (physical, converted, logical, kind) in [
        (Type::INT32, ConvertedType::NONE, None, Some("plain")),
        (Type::INT32, ConvertedType::DECIMAL, None, Some("decimal")),
        (Type::INT32, ConvertedType::UINT_8, None, Some("unsigned")),
        (Type::BYTE_ARRAY, ConvertedType::UTF8, None, Some("text")),
        (Type::BYTE_ARRAY, ConvertedType::NONE, None, Some("text")),
        (Type::BYTE_ARRAY, ConvertedType::BSON, None, None),
        (Type::BYTE_ARRAY, ConvertedType::NONE, Some(LogicalType::Bson), None),
        (Type::FIXED_LEN_BYTE_ARRAY, ConvertedType::NONE, Some(LogicalType::Float16), Some("half")),
        (Type::INT96, ConvertedType::NONE, None, None),
    ] {
        assert_eq!(of(physical, converted, logical.clone()), kind, "{physical} {converted} {logical:?}");
    }
}
