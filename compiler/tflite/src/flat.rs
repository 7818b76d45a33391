//! `FlatBuffers`: tables, vectors and texts, borrowed from the file, each read checked.
//!
//! ```text
//! table ──i32──▶ vtable: u16 size, u16 size of the table, u16 place of field 0, 1, ... (0: absent)
//! field: a number, or a u32 distance to a table, a vector (u32 count, elements) or a text
//! ```
//!
//! Tables may share vectors, so that a small file could stand for much; what is read of vectors and texts is bounded by the size of the file.

use std::cell::Cell;

/// How often the bytes of a file may be read.
const TIMES: usize = 16;
/// What may be read of any file.
const FREE: usize = 1 << 16;

/// Why bytes are not the file they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Damage {
    /// A table, vector or number lies outside.
    Outside,
    /// Text that is not UTF-8.
    Text,
    /// Vectors that tables share stand for more than the file could hold.
    Amplified,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Damage::Outside => "a table or vector lies outside of the file",
            Damage::Text => "a name is not UTF-8 text",
            Damage::Amplified => "its tables share vectors so often that they are larger than the file",
        })
    }
}

/// A file.
#[derive(Debug)]
pub(crate) struct Bytes<'a> {
    bytes: &'a [u8],
    left: Cell<usize>,
}

impl<'a> Bytes<'a> {
    /// A file.
    pub(crate) fn new(bytes: &'a [u8]) -> Bytes<'a> {
        Bytes { bytes, left: Cell::new(bytes.len().saturating_mul(TIMES).saturating_add(FREE)) }
    }

    /// Its outermost table.
    pub(crate) fn root(&self) -> Result<Table<'_, 'a>, Damage> {
        Table::at(self, self.distance(0)?)
    }

    /// Bytes of the file.
    pub(crate) fn part(&self, start: usize, length: usize) -> Result<&'a [u8], Damage> {
        let end = start.checked_add(length).ok_or(Damage::Outside)?;
        let part = self.bytes.get(start..end).ok_or(Damage::Outside)?;
        self.left.set(self.left.get().checked_sub(length).ok_or(Damage::Amplified)?);
        Ok(part)
    }

    fn number<const N: usize>(&self, at: usize) -> Result<[u8; N], Damage> {
        self.bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().ok_or(Damage::Outside)
    }

    /// The place that a distance points to.
    fn distance(&self, at: usize) -> Result<usize, Damage> {
        let distance = u32::from_le_bytes(self.number(at)?);
        at.checked_add(distance as usize).ok_or(Damage::Outside)
    }

    /// Elements of `width` bytes of a vector.
    fn vector(&self, at: usize, width: usize) -> Result<&'a [u8], Damage> {
        let count = u32::from_le_bytes(self.number(at)?) as usize;
        self.part(at.checked_add(4).ok_or(Damage::Outside)?, count.checked_mul(width).ok_or(Damage::Outside)?)
    }
}

/// A table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table<'f, 'a> {
    file: &'f Bytes<'a>,
    place: usize,
    /// Place and size of the list of fields.
    fields: (usize, usize),
}

impl<'f, 'a> Table<'f, 'a> {
    fn at(file: &'f Bytes<'a>, place: usize) -> Result<Table<'f, 'a>, Damage> {
        let back = i64::from(i32::from_le_bytes(file.number(place)?));
        let fields = i64::try_from(place).ok().and_then(|place| usize::try_from(place - back).ok());
        let fields = fields.ok_or(Damage::Outside)?;
        let size = usize::from(u16::from_le_bytes(file.number(fields)?));
        if size < 4 || file.bytes.get(fields..).is_none_or(|rest| rest.len() < size) {
            return Err(Damage::Outside);
        }
        Ok(Table { file, place, fields: (fields, size) })
    }

    /// Where a field is, if it is there.
    fn field(&self, number: usize) -> Result<Option<usize>, Damage> {
        let at = 4 + 2 * number;
        if at + 2 > self.fields.1 {
            return Ok(None);
        }
        let distance = usize::from(u16::from_le_bytes(self.file.number(self.fields.0 + at)?));
        Ok((distance != 0).then_some(self.place + distance))
    }

    fn scalar<const N: usize>(&self, number: usize) -> Result<Option<[u8; N]>, Damage> {
        self.field(number)?.map(|at| self.file.number(at)).transpose()
    }

    /// A number of one byte.
    pub(crate) fn byte(&self, number: usize) -> Result<i64, Damage> {
        Ok(self.scalar(number)?.map_or(0, |bytes| i64::from(i8::from_le_bytes(bytes))))
    }

    /// A truth value.
    pub(crate) fn flag(&self, number: usize) -> Result<bool, Damage> {
        Ok(self.byte(number)? != 0)
    }

    /// A number of four bytes.
    pub(crate) fn int(&self, number: usize, default: i64) -> Result<i64, Damage> {
        Ok(self.scalar(number)?.map_or(default, |bytes| i64::from(i32::from_le_bytes(bytes))))
    }

    /// A number of eight bytes without a sign.
    pub(crate) fn long(&self, number: usize) -> Result<u64, Damage> {
        Ok(self.scalar(number)?.map_or(0, u64::from_le_bytes))
    }

    /// A single-precision number.
    pub(crate) fn float(&self, number: usize) -> Result<f32, Damage> {
        Ok(self.scalar(number)?.map_or(0.0, f32::from_le_bytes))
    }

    /// Bytes.
    pub(crate) fn bytes(&self, number: usize) -> Result<Option<&'a [u8]>, Damage> {
        let Some(at) = self.field(number)? else { return Ok(None) };
        self.file.vector(self.file.distance(at)?, 1).map(Some)
    }

    /// Text.
    pub(crate) fn text(&self, number: usize) -> Result<&'a str, Damage> {
        std::str::from_utf8(self.bytes(number)?.unwrap_or_default()).map_err(|_| Damage::Text)
    }

    /// Numbers of four bytes.
    pub(crate) fn ints(&self, number: usize) -> Result<Option<Vec<i64>>, Damage> {
        let Some(at) = self.field(number)? else { return Ok(None) };
        let bytes = self.file.vector(self.file.distance(at)?, 4)?;
        let four = |bytes: &[u8]| i64::from(i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        Ok(Some(bytes.chunks_exact(4).map(four).collect()))
    }

    /// Single-precision numbers.
    pub(crate) fn floats(&self, number: usize) -> Result<Vec<f32>, Damage> {
        let bits = self.ints(number)?.unwrap_or_default();
        Ok(bits.into_iter().map(|bits| f32::from_bits(bits as u32)).collect())
    }

    /// Numbers of eight bytes.
    pub(crate) fn longs(&self, number: usize) -> Result<Vec<i64>, Damage> {
        let Some(at) = self.field(number)? else { return Ok(Vec::new()) };
        let bytes = self.file.vector(self.file.distance(at)?, 8)?;
        let eight = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte)) as i64;
        Ok(bytes.chunks_exact(8).map(eight).collect())
    }

    /// A table.
    pub(crate) fn table(&self, number: usize) -> Result<Option<Table<'f, 'a>>, Damage> {
        let Some(at) = self.field(number)? else { return Ok(None) };
        Table::at(self.file, self.file.distance(at)?).map(Some)
    }

    /// Tables.
    pub(crate) fn tables(&self, number: usize) -> Result<Vec<Table<'f, 'a>>, Damage> {
        let Some(at) = self.field(number)? else { return Ok(Vec::new()) };
        let start = self.file.distance(at)?;
        let count = self.file.vector(start, 4)?.len() / 4;
        (0..count).map(|n| Table::at(self.file, self.file.distance(start + 4 + 4 * n)?)).collect()
    }
}
