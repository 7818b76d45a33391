//! Bytes of a data file to a table, whatever the format: it is recognised by its content.
//!
//! | content | format |
//! |---|---|
//! | `1f 8b` | gzip of any of the others |
//! | `\x93NUMPY` | one array of NumPy, a sample per row |
//! | `PK` | several arrays of NumPy (`npz`), side by side |
//! | `PAR1` | a table of Parquet |
//! | first line `LABEL NUMBER:VALUE ...` | LIBSVM |
//! | anything else | text with separated cells, and mostly a header line |

use crate::data::table::{Table, without_mark};
use crate::data::{libsvm, npy, npz};
use arch::{Code, Diagnostic};
use std::io::Read;

/// First and last bytes of a Parquet file.
const PARQUET: &[u8] = b"PAR1";
/// Those of one whose metadata is encrypted.
pub(crate) const ENCRYPTED_PARQUET: &[u8] = b"PARE";

/// Most bytes of a file, packed or not, where nobody says otherwise.
pub const MOST_BYTES: u64 = Limits::of_memory(Limits::MEMORY).bytes;

/// How large a file may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes, packed or not.
    pub bytes: u64,
    /// Cells of a table, elements of arrays.
    pub cells: usize,
}

impl Limits {
    /// MiB of memory that a file may take, where nobody says otherwise.
    pub const MEMORY: u64 = 1024;

    /// For so many MiB of memory. With what becomes of them, 20 million cells are almost 1 GB.
    #[must_use]
    pub const fn of_memory(mib: u64) -> Limits {
        Limits { bytes: mib.saturating_mul(1 << 18), cells: (mib.saturating_mul(20_000_000) / Limits::MEMORY) as usize }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::of_memory(Limits::MEMORY)
    }
}

/// What gives a file more room.
pub const MORE: &str = "`--limit data_mib=4096` gives data 4 GiB of memory instead of 1";

/// What the user says about a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// What stands between cells; otherwise it is found.
    pub separator: Option<u8>,
    /// Whether the first line names the columns; otherwise that is found.
    pub header: Option<bool>,
    /// Arrays of an `npz` file to take, in this order; otherwise all.
    pub arrays: Option<Vec<String>>,
    /// How large it may be.
    pub limits: Limits,
}

/// Read a table. On an error the text it refers to, if the file is one.
///
/// # Errors
/// `E-DATA` for a file that is not what it seems to be, `E-LIMIT` for one that is too large.
pub fn read(bytes: &[u8], reading: &Reading) -> Result<Table, (Diagnostic, String)> {
    let none = |diagnostic| (diagnostic, String::new());
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let inner = unpack(bytes, reading.limits).map_err(none)?;
        if inner.starts_with(&[0x1f, 0x8b]) {
            return Err(none(Diagnostic::global(Code::Data, "the file is compressed twice")));
        }
        return read(&inner, reading);
    }
    if bytes.starts_with(npy::MAGIC) {
        return npy::read(bytes, reading.limits)
            .and_then(|array| npy::table(&[(String::new(), array)], reading.limits))
            .map_err(none);
    }
    if bytes.starts_with(b"PK") {
        return npz::read(bytes, reading.limits)
            .and_then(|arrays| npy::table(&npz::chosen(arrays, reading)?, reading.limits))
            .map_err(none);
    }
    if bytes.starts_with(PARQUET) || bytes.starts_with(ENCRYPTED_PARQUET) {
        return parquet(bytes, reading.limits).map_err(none);
    }
    let text = without_mark(bytes);
    let table = if libsvm::looks_like(text) {
        libsvm::read(text, reading.limits)
    } else {
        Table::from_separated(bytes, reading)
    };
    table.map_err(|diagnostic| (diagnostic, String::from_utf8_lossy(text).into_owned()))
}

#[cfg(feature = "parquet")]
use crate::data::parquet::read as parquet;

#[cfg(not(feature = "parquet"))]
fn parquet(_: &[u8], _: Limits) -> Result<Table, Diagnostic> {
    let help = "`--features full` after `cargo run`, `cargo build` or `cargo install` adds it, the wheel has it; pandas writes CSV: \
                frame.to_csv(\"data.csv\", index=False)";
    Err(Diagnostic::global(Code::Data, "this build does not read Parquet files: it lacks the feature `parquet`")
        .with_help(help))
}

/// What a gzip file holds.
///
/// # Errors
/// `E-DATA` if it is damaged, `E-LIMIT` if it is too large.
pub fn unpack(bytes: &[u8], limits: Limits) -> Result<Vec<u8>, Diagnostic> {
    limited(flate2::read::MultiGzDecoder::new(bytes), "gzip", limits)
}

/// Everything a reader gives, up to the limit.
pub(crate) fn limited(reader: impl Read, what: &str, limits: Limits) -> Result<Vec<u8>, Diagnostic> {
    let mut bytes = Vec::new();
    match reader.take(limits.bytes.saturating_add(1)).read_to_end(&mut bytes) {
        Err(error) => Err(Diagnostic::global(Code::Data, format!("the {what} data is damaged: {error}"))),
        Ok(_) if bytes.len() as u64 > limits.bytes => {
            let message = format!("unpacked, the {what} data is larger than {} bytes", limits.bytes);
            Err(Diagnostic::global(Code::Limit, message).with_help(MORE))
        }
        Ok(_) => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn the_content_decides() {
        let read = |bytes: &[u8]| read(bytes, &Reading::default()).map_err(|(diagnostic, _)| diagnostic.message);
        let plain = read(b"a,b\n1,2\n").unwrap();
        assert_eq!(read(&packed(b"a,b\n1,2\n")).unwrap(), plain);
        assert_eq!(read(b"+1 1:0.5 3:2\n").unwrap().columns, ["1", "2", "3", "label"]);
        assert_eq!(read(&packed(&packed(b"a\n1\n"))).unwrap_err(), "the file is compressed twice");
        let cut = &packed(b"a,b\n1,2\n")[..15];
        assert!(read(cut).unwrap_err().starts_with("the gzip data is damaged"));
        assert!(read(b"PK\x03\x04").unwrap_err().contains("zip"));
        assert!(read(b"\x93NUMPY\x01").unwrap_err().contains("NumPy"));
    }

    /// Whatever happens to a file on its way, it is read or refused.
    #[test]
    fn damage_is_no_panic() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        let mut files: Vec<Vec<u8>> = ["pair.npz", "pair_compressed.npz", "fortran.npy"]
            .map(|name| std::fs::read(folder.join(name)).unwrap())
            .into();
        files.push(packed(b"a;b\n1;2\n\"3\";x\n"));
        files.push(b"+1 1:0.5 3:2 # c\n-1 2:1e-3\n".to_vec());
        for whole in files {
            let reading = Reading::default();
            assert!(super::read(&whole, &reading).is_ok());
            for place in 0..whole.len() {
                let _ = super::read(&whole[..place], &reading);
                for value in [0, b'9', b'\n', 0x7f, 0xff] {
                    let mut bytes = whole.clone();
                    bytes[place] = value;
                    let _ = super::read(&bytes, &reading);
                }
            }
        }
    }

    #[test]
    fn a_separator_may_be_named() {
        let reading = Reading { separator: Some(b':'), ..Reading::default() };
        assert_eq!(read(b"a:b,c\n1:2\n", &reading).unwrap().columns, ["a", "b,c"]);
    }

    #[test]
    fn what_is_packed_may_be_as_large_as_the_limit() {
        let unpacked = |bytes: u64| unpack(&packed(b"a,b\n1,2\n"), Limits { bytes, ..Limits::default() });
        assert_eq!(unpacked(8).unwrap(), b"a,b\n1,2\n");
        assert_eq!(unpacked(7).unwrap_err().code, Code::Limit);
    }
}
