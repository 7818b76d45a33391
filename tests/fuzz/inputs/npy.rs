//! An array of `NumPy`, of any type, order and shape, written here by the format's definition: whole, it is read as it is; damaged, it is read or
//! refused.

#![allow(dead_code, reason = "archives take what they need of it")]

use crate::damage::{Fate, arrive};
use arbitrary::{Result, Unstructured};
use sim::data::file::{Limits, Reading, read as read_file};
use sim::data::npy::{self, Array};

/// An array, and its file.
pub(crate) struct Built {
    pub(crate) array: Array,
    pub(crate) bytes: Vec<u8>,
}

/// Types of elements and their bytes.
const TYPES: [(&str, usize); 12] = [
    ("f8", 8),
    ("f4", 4),
    ("f2", 2),
    ("i8", 8),
    ("i4", 4),
    ("i2", 2),
    ("i1", 1),
    ("u8", 8),
    ("u4", 4),
    ("u2", 2),
    ("u1", 1),
    ("b1", 1),
];

/// What bytes mean, the lowest first.
fn meaning(kind: &str, low_first: [u8; 8]) -> f64 {
    let bits = u64::from_le_bytes(low_first);
    match kind {
        "f8" => f64::from_bits(bits),
        "f4" => f64::from(f32::from_bits(bits as u32)),
        "f2" => {
            let (sign, exponent, fraction) = (bits as u32 >> 15 & 1, bits as u32 >> 10 & 31, bits as u32 & 1023);
            let exponent = match exponent {
                0 => {
                    let size = fraction as f32 / 16_777_216.0;
                    return f64::from(if sign == 1 { -size } else { size });
                }
                31 => 255,
                _ => exponent + 112,
            };
            f64::from(f32::from_bits(sign << 31 | exponent << 23 | fraction << 13))
        }
        "i8" => bits as i64 as f64,
        "i4" => f64::from(bits as i32),
        "i2" => f64::from(bits as i16),
        "i1" => f64::from(bits as i8),
        "b1" => f64::from(u8::from(bits != 0)),
        _ => bits as f64,
    }
}

/// Any array of up to four dimensions.
pub(crate) fn build(u: &mut Unstructured) -> Result<Built> {
    let (kind, size) = *u.choose(&TYPES)?;
    let high_first = size > 1 && u.arbitrary()?;
    let order = if high_first { ">" } else { *u.choose(&["<", "=", "|"])? };
    let columns_first: bool = u.arbitrary()?;
    let rank = u.int_in_range(0..=4)?;
    let shape = (0..rank).map(|_| u.int_in_range(0..=5)).collect::<Result<Vec<usize>>>()?;
    let count: usize = shape.iter().product();
    let (mut data, mut elements) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let mut low_first = [0; 8];
        low_first[..size].copy_from_slice(&u.arbitrary::<u64>()?.to_le_bytes()[..size]);
        elements.push(meaning(kind, low_first));
        let mut bytes = low_first[..size].to_vec();
        if high_first {
            bytes.reverse();
        }
        data.extend(bytes);
    }
    let values =
        (0..count).map(|at| elements[if columns_first { columns_first_place(&shape, at) } else { at }]).collect();
    let quote = if u.arbitrary()? { '\'' } else { '"' };
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if rank == 1 { "," } else { "" };
    let header = format!(
        "{{{quote}descr{quote}: {quote}{order}{kind}{quote}, {quote}fortran_order{quote}: {}, {quote}shape{quote}: ({}{comma}), }}",
        if columns_first { "True" } else { "False" },
        extents.join(", ")
    );
    let header = header + &" ".repeat(u.int_in_range(0..=64)?) + "\n";
    let version = u.int_in_range(1..=3u8)?;
    let mut bytes = [npy::MAGIC, &[version, 0]].concat();
    if version == 1 {
        bytes.extend((header.len() as u16).to_le_bytes());
    } else {
        bytes.extend((header.len() as u32).to_le_bytes());
    }
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    Ok(Built { array: Array { shape, values, whole: !kind.starts_with('f') }, bytes })
}

/// Where the element stands whose place is `at` if the last index runs fastest, in a file where the first one does.
fn columns_first_place(shape: &[usize], at: usize) -> usize {
    (0..shape.len())
        .map(|axis| {
            let behind: usize = shape[axis + 1..].iter().product();
            let before: usize = shape[..axis].iter().product();
            at / behind % shape[axis] * before
        })
        .sum()
}

/// Equal, where NaN equals NaN.
pub(crate) fn same(a: &Array, b: &Array) -> bool {
    let equal = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
    a.shape == b.shape
        && a.whole == b.whole
        && a.values.len() == b.values.len()
        && a.values.iter().zip(&b.values).all(equal)
}

fn try_read(u: &mut Unstructured) -> Result<()> {
    let Built { array, bytes } = build(u)?;
    let (fate, arrived) = arrive(&bytes, u)?;
    match npy::read(&arrived, Limits::default()) {
        Ok(read) => {
            assert!(fate != Fate::Whole || same(&read, &array), "{read:?} is read, {array:?} was written");
            assert_eq!(read.values.len(), read.shape.iter().product::<usize>());
        }
        Err(wrong) => assert!(fate != Fate::Whole, "{array:?}: {wrong:?}"),
    }
    let table = read_file(&arrived, &Reading::default());
    if fate == Fate::Whole {
        let rows = array.shape.first().copied().unwrap_or(1);
        let columns: usize = array.shape.iter().skip(1).product();
        assert_eq!(table.is_ok(), rows * columns > 0, "{:?}", array.shape);
        for (at, value) in array.values.iter().enumerate().take_while(|_| table.is_ok()) {
            let cell = &table.as_ref().unwrap().rows[at / columns][at % columns];
            let read: f64 = cell.parse().unwrap();
            assert!(read == *value || read.is_nan() && value.is_nan(), "{cell}: {value}");
        }
    }
    Ok(())
}

/// Nothing here may panic.
pub(crate) fn read(bytes: &[u8]) {
    let _ = try_read(&mut Unstructured::new(bytes));
}
