//! Damage to a good file.
//!
//!     fuzzer's bytes ──arbitrary──▶ a value ──written──▶ good file ──fate──▶ the file that is read

#![allow(dead_code, reason = "each target uses some of it")]

use arbitrary::{Result, Unstructured};

/// How a file arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// As it was written.
    Whole,
    /// One to four bytes, one behind the other, are other ones: no checksum of 32 bits misses that.
    Burst,
    /// Bytes are missing, changed, added or there twice, in up to four places.
    Damaged,
}

/// A file after its fate.
pub(crate) fn arrive(written: &[u8], u: &mut Unstructured) -> Result<(Fate, Vec<u8>)> {
    let fate = *u.choose(&[Fate::Whole, Fate::Burst, Fate::Damaged])?;
    let mut bytes = written.to_vec();
    match fate {
        Fate::Whole => {}
        Fate::Burst => burst(&mut bytes, u.int_in_range(1..=4)?, u)?,
        Fate::Damaged => {
            for _ in 0..u.int_in_range(1..=4)? {
                edit(&mut bytes, u)?;
            }
        }
    }
    Ok((fate, bytes))
}

/// Change up to `length` bytes from some place on.
pub(crate) fn burst(bytes: &mut [u8], length: usize, u: &mut Unstructured) -> Result<()> {
    let at = u.choose_index(bytes.len())?;
    for byte in bytes[at..].iter_mut().take(length) {
        *byte ^= u.arbitrary::<u8>()?;
    }
    Ok(())
}

fn edit(bytes: &mut Vec<u8>, u: &mut Unstructured) -> Result<()> {
    let at = u.int_in_range(0..=bytes.len())?;
    let end = (at + u.int_in_range(0..=40)?).min(bytes.len());
    match u.int_in_range(0..=4)? {
        0 => drop(bytes.drain(at..end)),
        1 => bytes.truncate(at),
        2 => {
            let piece = bytes[at..end].to_vec();
            bytes.splice(at..at, piece);
        }
        3 => {
            let word: Vec<u8> = u.arbitrary()?;
            bytes.splice(at..at, word);
        }
        _ => {
            let word: Vec<u8> = u.arbitrary()?;
            bytes.splice(at..end, word);
        }
    }
    Ok(())
}

/// A number that has an end.
pub(crate) fn finite(u: &mut Unstructured) -> Result<f64> {
    let value: f64 = u.arbitrary()?;
    Ok(if value.is_finite() { value } else { f64::from(u.arbitrary::<i16>()?) / 8.0 })
}

/// Up to `most` of something.
pub(crate) fn several<T>(
    u: &mut Unstructured,
    most: usize,
    mut make: impl FnMut(&mut Unstructured) -> Result<T>,
) -> Result<Vec<T>> {
    let count = u.int_in_range(0..=most)?;
    (0..count).map(|_| make(u)).collect()
}
