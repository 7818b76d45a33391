//! Several arrays of `NumPy` in one file (`npz`): a zip archive of `npy` files, stored or deflated.

use crate::data::file::{Limits, MORE, Reading, limited};
use crate::data::npy::{self, Array};
use arch::{Code, Diagnostic};
use std::collections::BTreeSet;

/// Signature of the record at the end of an archive.
const END: &[u8] = b"PK\x05\x06";
/// Its bytes, without a comment.
const END_BYTES: usize = 22;
/// Signature of an entry in the directory.
const ENTRY: &[u8] = b"PK\x01\x02";
/// Signature of an entry in place.
const LOCAL: &[u8] = b"PK\x03\x04";
/// Bytes of a local header before its name.
const LOCAL_BYTES: usize = 30;
/// Bytes of a directory entry before its name.
const ENTRY_BYTES: usize = 46;

fn damaged(what: &str) -> Diagnostic {
    Diagnostic::global(Code::Data, format!("the zip archive is damaged: {what}"))
}

/// A little-endian number at a place.
fn number(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let field = bytes.get(at..at + width)?;
    usize::try_from(field.iter().rev().fold(0u64, |value, &byte| value * 256 + u64::from(byte))).ok()
}

/// One entry of the directory.
struct Entry {
    name: String,
    method: usize,
    /// CRC-32 of its bytes.
    checksum: usize,
    packed: usize,
    at: usize,
}

/// The entry whose directory record starts at `at`, and where the next one does.
fn entry(bytes: &[u8], at: usize) -> Option<(Entry, usize)> {
    let record = bytes.get(at..)?.strip_prefix(ENTRY).map(|_| &bytes[at..])?;
    let field = |place: usize, width: usize| number(record, place, width);
    let (method, checksum) = (field(10, 2)?, field(16, 4)?);
    let (mut packed, unpacked) = (field(20, 4)?, field(24, 4)?);
    let (name, extra, comment) = (field(28, 2)?, field(30, 2)?, field(32, 2)?);
    let mut place = field(42, 4)?;
    let text = String::from_utf8_lossy(record.get(ENTRY_BYTES..ENTRY_BYTES + name)?).into_owned();
    // Sizes beyond 32 bits stand in an extra field, those only that are all ones in the record.
    let mut extras = record.get(ENTRY_BYTES + name..ENTRY_BYTES + name + extra)?;
    while extras.len() >= 4 {
        let (id, length) = (number(extras, 0, 2)?, number(extras, 2, 2)?);
        let mut field = extras.get(4..4 + length)?;
        if id == 1 {
            let mut wide = |value: &mut usize| {
                if *value == 0xffff_ffff {
                    *value = number(field, 0, 8)?;
                    field = &field[8..];
                }
                Some(())
            };
            let mut unpacked = unpacked;
            wide(&mut unpacked)?;
            wide(&mut packed)?;
            wide(&mut place)?;
        }
        extras = &extras[4 + length..];
    }
    Some((Entry { name: text, method, checksum, packed, at: place }, at + ENTRY_BYTES + name + extra + comment))
}

/// The packed bytes of an entry, which has the same name where it is.
fn packed<'a>(bytes: &'a [u8], entry: &Entry) -> Result<&'a [u8], Diagnostic> {
    let local = bytes
        .get(entry.at..)
        .filter(|rest| rest.starts_with(LOCAL))
        .ok_or_else(|| damaged("an entry is not where it should be"))?;
    let lengths = number(local, 26, 2).zip(number(local, 28, 2));
    let named = lengths.and_then(|(name, _)| local.get(LOCAL_BYTES..LOCAL_BYTES + name));
    if named.is_none_or(|name| String::from_utf8_lossy(name) != entry.name) {
        return Err(damaged(&format!("`{}` is called otherwise where it is", entry.name)));
    }
    let skip = lengths.map(|(name, extra)| LOCAL_BYTES + name + extra);
    skip.and_then(|skip| local.get(skip..skip.checked_add(entry.packed)?)).ok_or_else(|| damaged("it is cut short"))
}

/// The bytes of an entry, unpacked.
fn content(packed: &[u8], entry: &Entry, limits: Limits) -> Result<Vec<u8>, Diagnostic> {
    let content = match entry.method {
        0 => packed.to_vec(),
        8 => limited(flate2::read::DeflateDecoder::new(packed), "zip", limits)?,
        method => {
            let message = format!("`{}` is packed by the method {method}, which is not read", entry.name);
            return Err(Diagnostic::global(Code::Data, message));
        }
    };
    let mut sum = flate2::Crc::new();
    sum.update(&content);
    if sum.sum() as usize != entry.checksum {
        return Err(damaged(&format!("the bytes of `{}` do not match their checksum", entry.name)));
    }
    Ok(content)
}

/// All arrays, in the order of the archive, by their names without `.npy`.
///
/// # Errors
/// `E-DATA` if the archive or an array is damaged, or an array is there twice; `E-LIMIT`.
pub fn read(bytes: &[u8], limits: Limits) -> Result<Vec<(String, Array)>, Diagnostic> {
    // The end record has a comment of at most 64 KiB.
    let from = bytes.len().saturating_sub(65_557);
    let end = bytes[from..].windows(END.len()).rposition(|window| window == END).map(|at| from + at);
    let end = end.ok_or_else(|| damaged("it has no directory"))?;
    let whole = bytes.len() >= end + END_BYTES;
    let field = |place: usize, width: usize| number(bytes, end + place, width).filter(|_| whole);
    let directory = field(10, 2).zip(field(12, 4)).zip(field(16, 4));
    let ((count, size), start) = directory.ok_or_else(|| damaged("its directory is cut short"))?;
    let mut at = start;
    if field(8, 2) != Some(count) {
        return Err(damaged("it says twice how many entries it has, and differs"));
    }
    let (mut arrays, mut known, mut elements) = (Vec::new(), BTreeSet::new(), 0);
    for _ in 0..count {
        let (entry, next) = entry(bytes, at).ok_or_else(|| damaged("its directory is cut short"))?;
        at = next;
        let packed = packed(bytes, &entry)?;
        let Some(name) = entry.name.strip_suffix(".npy") else { continue };
        if !known.insert(name.to_owned()) {
            return Err(damaged(&format!("it has the array `{name}` twice")));
        }
        let array = npy::read(&content(packed, &entry, limits)?, limits).map_err(|error| {
            let message = error.message.replacen("the NumPy array", &format!("the NumPy array `{name}`"), 1);
            Diagnostic { message, ..error }
        })?;
        // Each array is limited by itself; a small file may hold many of them.
        elements += array.values.len();
        if elements > limits.cells {
            let message = format!("the arrays have more than {} elements together", limits.cells);
            return Err(Diagnostic::global(Code::Limit, message).with_help(MORE));
        }
        arrays.push((name.to_owned(), array));
    }
    // With fewer entries than there were, all of them could be right.
    if at - start != size {
        return Err(damaged("its directory has another length than it says"));
    }
    Ok(arrays)
}

/// Those that the user names.
///
/// # Errors
/// `E-DATA` for a name that the file does not have.
pub fn chosen(arrays: Vec<(String, Array)>, reading: &Reading) -> Result<Vec<(String, Array)>, Diagnostic> {
    let Some(names) = &reading.arrays else { return Ok(arrays) };
    let find = |name: &String| {
        arrays.iter().find(|(known, _)| known == name).cloned().ok_or_else(|| {
            let known = arrays.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
            Diagnostic::global(Code::Data, format!("the file has no array `{name}`"))
                .with_help(format!("its arrays are {known}"))
        })
    };
    names.iter().map(find).collect()
}

/// An archive of arrays, stored.
pub fn write(arrays: &[(String, Vec<usize>, Vec<f64>)]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, shape, values) in arrays {
        let (name, content) = (format!("{name}.npy"), npy::write(shape, values));
        let mut sum = flate2::Crc::new();
        sum.update(&content);
        let length = content.len() as u32;
        // Version, flags, method, time and date (the first that a zip can say), checksum, sizes, length of the name, no extra field.
        let mut head = Vec::new();
        for field in [20u16, 0, 0, 0, 0x21] {
            head.extend_from_slice(&field.to_le_bytes());
        }
        for field in [sum.sum(), length, length] {
            head.extend_from_slice(&field.to_le_bytes());
        }
        head.extend_from_slice(&(name.len() as u16).to_le_bytes());
        head.extend_from_slice(&[0, 0]);
        let at = bytes.len() as u32;
        directory.extend_from_slice(
            &[ENTRY, &20u16.to_le_bytes(), &head, &[0; 10], &at.to_le_bytes(), name.as_bytes()].concat(),
        );
        bytes.extend_from_slice(&[LOCAL, &head, name.as_bytes(), &content].concat());
    }
    let (at, size, count) = (bytes.len() as u32, directory.len() as u32, (arrays.len() as u16).to_le_bytes());
    let end = [END, &[0; 4], &count, &count, &size.to_le_bytes(), &at.to_le_bytes(), &[0, 0]].concat();
    [bytes, directory, end].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        write(&[("w".to_owned(), vec![2, 2], vec![1.0, -0.5, 0.1, 3.0]), ("b".to_owned(), vec![], vec![0.25])])
    }

    #[test]
    fn what_is_written_is_read() {
        let arrays = read(&sample(), Limits::default()).unwrap();
        assert_eq!(arrays[0].0, "w");
        assert_eq!(arrays[0].1, Array { shape: vec![2, 2], values: vec![1.0, -0.5, 0.1, 3.0], whole: false });
        assert_eq!(arrays[1].1, Array { shape: vec![], values: vec![0.25], whole: false });
    }

    /// No cut and no changed byte makes it panic, or changes what is read.
    #[test]
    fn damage_is_said() {
        let whole = sample();
        for length in 0..whole.len() {
            assert!(read(&whole[..length], Limits::default()).is_err(), "cut to {length} bytes");
        }
        for place in 0..whole.len() {
            for value in [0, 0x7f, 0xff] {
                let mut bytes = whole.clone();
                bytes[place] = value;
                let arrays = read(&bytes, Limits::default());
                assert!(arrays.is_err() || arrays == read(&whole, Limits::default()), "byte {place} is {value}");
            }
        }
    }

    /// The number of entries stands there twice, one behind the other: a burst may change both.
    #[test]
    fn no_array_is_lost() {
        let mut bytes = sample();
        let end = bytes.len() - END_BYTES;
        for at in [end + 8, end + 10] {
            bytes[at] -= 1;
        }
        let message = read(&bytes, Limits::default()).unwrap_err().message;
        assert_eq!(message, "the zip archive is damaged: its directory has another length than it says");
    }

    #[test]
    fn no_array_is_there_twice() {
        let array = |value| ("w".to_owned(), vec![1], vec![value]);
        let message = read(&write(&[array(1.0), array(2.0)]), Limits::default()).unwrap_err().message;
        assert_eq!(message, "the zip archive is damaged: it has the array `w` twice");
    }

    #[test]
    fn arrays_are_chosen_by_name() {
        let reading = |names: &[&str]| Reading {
            arrays: Some(names.iter().map(|&n| n.to_owned()).collect()),
            ..Reading::default()
        };
        let chosen = |names: &[&str]| super::chosen(read(&sample(), Limits::default()).unwrap(), &reading(names));
        assert_eq!(chosen(&["b"]).unwrap().len(), 1);
        assert_eq!(chosen(&["c"]).unwrap_err().help.as_deref(), Some("its arrays are w, b"));
    }

    /// Five elements in two arrays.
    #[test]
    fn all_arrays_together_are_limited() {
        let limited = |cells| read(&sample(), Limits { cells, ..Limits::default() });
        assert_eq!(limited(5).unwrap().len(), 2);
        let error = limited(4).unwrap_err();
        assert_eq!(
            (error.code, error.message.as_str()),
            (Code::Limit, "the arrays have more than 4 elements together")
        );
    }

    /// Entries of the directory may have more behind them: a field of another program, and a comment.
    #[test]
    fn what_others_write_into_the_directory_is_skipped() {
        let bytes = sample();
        let end = bytes.len() - END_BYTES;
        let start = number(&bytes, end + 16, 4).unwrap();
        let name = number(&bytes, start + 28, 2).unwrap();
        let behind = start + ENTRY_BYTES + name;
        let more = [9, 9, 1, 0, 7, b'o', b'k'];
        let mut bytes = [&bytes[..behind], &more, &bytes[behind..]].concat();
        (bytes[start + 30], bytes[start + 32]) = (5, 2);
        let end = end + more.len();
        let size = (end - start) as u32;
        bytes[end + 12..end + 16].copy_from_slice(&size.to_le_bytes());
        assert_eq!(read(&bytes, Limits::default()), read(&sample(), Limits::default()));
    }

    /// An array that cannot be read is named.
    #[test]
    fn what_is_wrong_with_an_array_is_said_with_its_name() {
        let mut bytes = sample();
        let kind = bytes.windows(3).position(|window| window == b"<f8").unwrap();
        bytes[kind + 1] = b'c';
        // The checksum of what the entry holds now, here and in the directory.
        let start = number(&bytes, bytes.len() - END_BYTES + 16, 4).unwrap();
        let (entry, _) = entry(&bytes, start).unwrap();
        let mut sum = flate2::Crc::new();
        sum.update(packed(&bytes, &entry).unwrap());
        bytes[start + 16..start + 20].copy_from_slice(&sum.sum().to_le_bytes());
        let message = read(&bytes, Limits::default()).unwrap_err().message;
        assert!(message.starts_with("the NumPy array `w` is of the type `<c8`"), "{message}");
    }

    /// A size of all ones stands in a field of 64 bits behind the name, with other fields before and behind it.
    #[test]
    fn large_sizes_stand_behind_the_name() {
        let bytes = sample();
        let end = bytes.len() - END_BYTES;
        let start = number(&bytes, end + 16, 4).unwrap();
        let packed = bytes[start + 20..start + 24].to_vec();
        let other = [9, 9, 2, 0, 7, 7];
        let more = [&other[..], &[1, 0, 8, 0], &packed, &[0; 4], &other].concat();
        let behind = start + ENTRY_BYTES + number(&bytes, start + 28, 2).unwrap();
        let mut bytes = [&bytes[..behind], &more, &bytes[behind..]].concat();
        bytes[start + 30] = more.len() as u8;
        bytes[start + 20..start + 24].fill(0xff);
        let (end, size) = (end + more.len(), (end + more.len() - start) as u32);
        bytes[end + 12..end + 16].copy_from_slice(&size.to_le_bytes());
        assert_eq!(read(&bytes, Limits::default()), read(&sample(), Limits::default()));
    }
}
