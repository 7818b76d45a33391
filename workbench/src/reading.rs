//! Files of the user's, read with a limit: a file without end (a device, a pipe that nobody closes) ends in `E-LIMIT`, not in all of the memory.

use crate::failure::Failure;
use arch::{Code, Diagnostic};
use sim::data::file::{Limits, MORE};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Most bytes of a program, a configuration or another text that people write.
pub const TEXT: u64 = 16 << 20;
/// Most bytes of records, a model or a checkpoint.
pub const DOCUMENT: u64 = 256 << 20;
/// Most bytes of a table or of weights, packed or not.
pub const TABLE: u64 = sim::data::file::MOST_BYTES;
/// Most bytes of memory that the values of a document may take, its text included.
const VALUES: u64 = 768 << 20;

/// What a file holds.
///
/// # Errors
/// It cannot be read (`E-FILE`), or has more than `most` bytes (`E-LIMIT`).
pub fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    limited(path, File::open(path).and_then(|file| taken(file, most)), most)
}

/// What a data file holds.
///
/// # Errors
/// As [`bytes`], with a way out.
pub fn data(path: &Path, limits: Limits) -> Result<Vec<u8>, Failure> {
    let refused = |failure| match failure {
        Failure::Diagnostics { source, diagnostics } => {
            let diagnostics = diagnostics.into_iter().map(|diagnostic| diagnostic.with_help(MORE)).collect();
            Failure::Diagnostics { source, diagnostics }
        }
        other => other,
    };
    bytes(path, limits.bytes).map_err(refused)
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

/// The same text where a carriage return alone, which ends lines of some editors, is a line end: a comment would go on to the end of the
/// file. Places stay where they are.
pub fn with_line_ends(text: String) -> String {
    let mut bytes = text.into_bytes();
    for at in 0..bytes.len() {
        if bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n') {
            bytes[at] = b'\n';
        }
    }
    String::from_utf8(bytes).expect("one ASCII character became another")
}

/// Everything a reader gives; nothing if that is too much.
fn taken(reader: impl Read, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    reader.take(most + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

/// What the parts of a document take in memory at most, counted by the characters that begin them.
struct Taken {
    element: u64,
    entry: u64,
    list: u64,
    object: u64,
    /// Half of a string.
    quote: u64,
}

/// What the allocator adds to a block, and the smallest block it gives.
const BLOCK: u64 = 16;
const LEAST_BLOCK: u64 = 32;
/// One value; one name with its value and hash.
const VALUE: u64 = size_of::<serde_json::Value>() as u64;
const ENTRY: u64 = VALUE + (size_of::<String>() + size_of::<u64>()) as u64;

/// Values of any kind. A list begins with room for four values and doubles it when it is full, so that one in three may be empty on the whole,
/// half of them at worst: what is left of the memory allows for that. An object has a table of places beside its entries.
const OF_VALUES: Taken = Taken {
    element: VALUE * 3 / 2,
    entry: ENTRY * 3 / 2,
    list: 4 * VALUE + BLOCK,
    object: 4 * ENTRY + BLOCK + 64,
    quote: LEAST_BLOCK / 2,
};

/// Documents whose types are known: a number takes 8 bytes, a list has a name, and so has an object.
const OF_TYPES: Taken = Taken { element: 32, entry: 64, list: 144, object: 640, quote: 0 };

/// Refuse JSON whose values would fill the memory: `[[0],[0],...` takes 100 times as much as its text. What values, lists and objects take
/// at most is counted, before anything is read.
///
/// # Errors
/// `E-LIMIT`.
pub fn check_values(name: &str, text: &str) -> Result<(), Failure> {
    OF_VALUES.check(name, text)
}

/// The same for a document of known types, which takes less.
///
/// # Errors
/// `E-LIMIT`.
pub fn check_document(name: &str, text: &str) -> Result<(), Failure> {
    OF_TYPES.check(name, text)
}

impl Taken {
    fn check(&self, name: &str, text: &str) -> Result<(), Failure> {
        let size = |byte: u8| match byte {
            b',' => self.element,
            b':' => self.entry,
            b'[' => self.list,
            b'{' => self.object,
            b'"' => self.quote,
            _ => 0,
        };
        let values = text.bytes().map(size).sum::<u64>() + text.len() as u64;
        if values <= VALUES {
            return Ok(());
        }
        let message = format!("its values could take {} MiB of memory, the limit is {}", values >> 20, VALUES >> 20);
        let diagnostic =
            Diagnostic::global(Code::Limit, message).with_help("an .npz file holds numbers in a tenth of that");
        Err(Failure::data(name, vec![diagnostic]))
    }
}

fn too_large(path: &Path, most: u64) -> Failure {
    let size = if most >> 20 > 0 { format!("{} MiB", most >> 20) } else { format!("{} KiB", most >> 10) };
    let diagnostic = Diagnostic::global(Code::Limit, format!("the file has more than {size}"));
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
    fn documents_that_would_fill_the_memory_are_refused() {
        let refused = |text: &str| [check_values("a.json", text).is_err(), check_document("a.json", text).is_err()];
        // A number takes at most 108 bytes as a value, 32 in a document: 540 and 160 MiB for 5 Mi of them. A list or an object around each is
        // too much.
        for (value, expected) in [("0,", [false; 2]), ("[0],", [true; 2]), ("{\"\":0},", [true; 2])] {
            assert_eq!(refused(&value.repeat(5 << 20)), expected, "{value}");
        }
        assert_eq!(refused(&"0,".repeat(10 << 20)), [true, false]);
    }

    #[test]
    fn returns_alone_are_line_ends() {
        for (text, expected) in [("a\rb\r\nc\r", "a\nb\r\nc\n"), ("\r\r\n\u{e4}\r", "\n\r\n\u{e4}\n"), ("", "")] {
            assert_eq!(with_line_ends(text.to_owned()), expected);
        }
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
