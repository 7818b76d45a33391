//! Files of the user's, read with a limit: a file without end (a device, a pipe that nobody closes) ends in `E-LIMIT`, not in all of the memory.

use crate::failure::Failure;
use arch::{Code, Diagnostic};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Most bytes of a program, a configuration or another text that people write.
pub const TEXT: u64 = 16 << 20;
/// Most bytes of records, a model or a checkpoint.
pub const DOCUMENT: u64 = 256 << 20;
/// Most bytes of a table or of weights, packed or not.
pub const TABLE: u64 = 512 << 20;

/// What a file holds.
///
/// # Errors
/// It cannot be read (`E-FILE`), or has more than `most` bytes (`E-LIMIT`).
pub fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    limited(path, File::open(path).and_then(|file| taken(file, most)), most)
}

/// The same as text, without a byte-order mark.
///
/// # Errors
/// As [`bytes`]; it is not UTF-8 (`E-DATA`, with the line).
pub fn text(path: &Path, most: u64) -> Result<String, Failure> {
    text_of(path, bytes(path, most)?)
}

/// The text of a file, or of stdin where that is called `-`.
///
/// # Errors
/// As [`text`].
pub fn text_or_stdin(path: &Path, most: u64) -> Result<String, Failure> {
    if path.as_os_str() != "-" {
        return text(path, most);
    }
    text_of(path, limited(path, taken(io::stdin().lock(), most), most)?)
}

fn limited(path: &Path, read: io::Result<Option<Vec<u8>>>, most: u64) -> Result<Vec<u8>, Failure> {
    read.map_err(|error| Failure::file("read", path, &error))?.ok_or_else(|| too_large(path, most))
}

fn text_of(path: &Path, bytes: Vec<u8>) -> Result<String, Failure> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        let message = format!("line {line}: the file is not UTF-8 text");
        Failure::data(path.display().to_string(), vec![Diagnostic::global(Code::Data, message)])
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(text) => text.to_owned(),
        None => text,
    })
}

/// Everything a reader gives; nothing if that is too much.
fn taken(reader: impl Read, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    reader.take(most + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

fn too_large(path: &Path, most: u64) -> Failure {
    let diagnostic = Diagnostic::global(Code::Limit, format!("the file has more than {} MiB", most >> 20));
    Failure::data(path.display().to_string(), vec![diagnostic])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused() {
        let refused = bytes(Path::new("/dev/zero"), 3 << 20).unwrap_err();
        assert_eq!(refused.to_string(), "/dev/zero: E-LIMIT: the file has more than 3 MiB");
        assert_eq!(taken(&[1, 2, 3][..], 3).unwrap(), Some(vec![1, 2, 3]));
        assert_eq!(taken(&[1, 2, 3][..], 2).unwrap(), None);
    }

    #[test]
    fn a_mark_is_no_text_and_other_bytes_have_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "\u{feff}{}").unwrap();
        assert_eq!(text(&path, TEXT).unwrap(), "{}");
        std::fs::write(&path, b"a\nb\n\xff").unwrap();
        assert!(text(&path, TEXT).unwrap_err().to_string().ends_with("E-DATA: line 3: the file is not UTF-8 text"));
        assert!(matches!(text(&folder.path().join("b"), TEXT), Err(Failure::File(_))));
    }
}
