//! An archive of arrays, stored or deflated, with and without the fields that zip leaves open: whole, it is read as it is; after a burst of
//! four bytes, it is refused or read as it was; otherwise damaged, it is read or refused.

use crate::damage::{Fate, arrive, several};
use crate::npy::{self, Built};
use arbitrary::{Result, Unstructured};
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use sim::data::file::Limits;
use sim::data::npy::Array;
use sim::data::npz;
use std::io::Write;

/// One file of the archive.
struct File {
    name: String,
    content: Vec<u8>,
    packed: bool,
    /// Sizes and place in an extra field of 64 bits.
    wide: bool,
    /// Sizes of 0 where the file stands, as streams have them.
    streamed: bool,
    comment: Vec<u8>,
}

impl File {
    fn of(name: String, content: Vec<u8>, u: &mut Unstructured) -> Result<File> {
        let comment = several(u, 6, |u| u.int_in_range(b'a'..=b'z'))?;
        Ok(File { name, content, packed: u.arbitrary()?, wide: u.arbitrary()?, streamed: u.arbitrary()?, comment })
    }
}

/// The bytes of an archive, by the definition of zip.
fn archive(files: &[File], comment: &[u8]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::<u8>::new(), Vec::<u8>::new());
    for file in files {
        let mut crc = Crc::new();
        crc.update(&file.content);
        let packed = if file.packed {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(&file.content).unwrap();
            encoder.finish().unwrap()
        } else {
            file.content.clone()
        };
        let sizes = [packed.len() as u32, file.content.len() as u32];
        let at = bytes.len();
        let head = |sizes: [u32; 2], extra: usize| {
            let mut head = Vec::new();
            for field in [20u16, 0, if file.packed { 8 } else { 0 }, 0, 0x21] {
                head.extend(field.to_le_bytes());
            }
            for field in [crc.sum(), sizes[0], sizes[1]] {
                head.extend(field.to_le_bytes());
            }
            head.extend((file.name.len() as u16).to_le_bytes());
            head.extend((extra as u16).to_le_bytes());
            head
        };
        bytes.extend(b"PK\x03\x04");
        bytes.extend(head(if file.streamed { [0; 2] } else { sizes }, 0));
        bytes.extend(file.name.as_bytes());
        bytes.extend(packed);
        let mut extra = Vec::new();
        if file.wide {
            extra.extend([1, 0, 24, 0]);
            for field in [sizes[1] as usize, sizes[0] as usize, at] {
                extra.extend((field as u64).to_le_bytes());
            }
        }
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(head(if file.wide { [u32::MAX; 2] } else { sizes }, extra.len()));
        directory.extend((file.comment.len() as u16).to_le_bytes());
        directory.extend([0; 8]);
        directory.extend(if file.wide { u32::MAX } else { at as u32 }.to_le_bytes());
        directory.extend(file.name.as_bytes());
        directory.extend(extra);
        directory.extend(&file.comment);
    }
    let at = bytes.len() as u32;
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    for _ in 0..2 {
        bytes.extend((files.len() as u16).to_le_bytes());
    }
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(at.to_le_bytes());
    bytes.extend((comment.len() as u16).to_le_bytes());
    bytes.extend(comment);
    bytes
}

fn try_read(u: &mut Unstructured) -> Result<()> {
    let (mut arrays, mut files) = (Vec::new(), Vec::new());
    for number in 0..u.int_in_range(0..=3)? {
        let Built { array, bytes } = npy::build(u)?;
        let name = format!("{}{number}", u.choose(&["w", "x/y", "\u{e4}", ""])?);
        if u.ratio(1, 8)? {
            files.push(File::of(format!("{name}.txt"), vec![0; 3], u)?);
        }
        // What is packed may be damaged, too: its checksum is right.
        let content = if u.ratio(1, 8)? { arrive(&bytes, u)?.1 } else { bytes };
        files.push(File::of(format!("{name}.npy"), content, u)?);
        arrays.push((name, array));
    }
    let comment = several(u, 8, |u| u.int_in_range(b'a'..=b'z'))?;
    let whole = archive(&files, &comment);
    let written = npz::read(&whole, Limits::default());
    let sound = |(name, array): (&(String, Array), &File)| {
        let read = sim::data::npy::read(&array.content, Limits::default());
        read.is_ok_and(|read| npy::same(&read, &name.1))
    };
    let npy_files = || files.iter().filter(|file| file.name.strip_suffix(".npy").is_some());
    if arrays.iter().zip(npy_files()).all(sound) {
        let read = written.as_ref().unwrap_or_else(|wrong| panic!("{wrong:?}"));
        assert!(equal(read, &arrays), "{read:?} is read, {arrays:?} was written");
    }
    let (fate, arrived) = arrive(&whole, u)?;
    let read = npz::read(&arrived, Limits::default());
    if let (Fate::Burst, Ok(read)) = (fate, &read) {
        let written = written.as_ref().unwrap_or_else(|wrong| panic!("whole, it is refused: {wrong:?}"));
        assert!(equal(read, written), "{read:?} is read, {written:?} was written");
    }
    Ok(())
}

fn equal(a: &[(String, Array)], b: &[(String, Array)]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && npy::same(&a.1, &b.1))
}

/// Nothing here may panic.
pub(crate) fn read(bytes: &[u8]) {
    let _ = try_read(&mut Unstructured::new(bytes));
}
