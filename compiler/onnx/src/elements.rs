//! Constants as numbers: element types, and the elements of a tensor as they are written in a file.

use crate::digest::sha1;
use crate::model::{Sparse, TensorData};
use crate::wire::{Value, varint};

/// An element type of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any number with a binary point; the field is its number in the format.
    Real(u8),
    /// Whole numbers.
    Int {
        /// Width.
        bits: u32,
        /// Whether they have a sign.
        signed: bool,
    },
    /// 0 or 1.
    Bool,
}

impl Kind {
    /// Single precision.
    pub const FLOAT: Kind = Kind::Real(1);
    /// Indices and sizes.
    pub const INT64: Kind = Kind::Int { bits: 64, signed: true };

    /// The type of a number in the format; nothing for text, complex numbers and what does not exist.
    pub fn of_number(number: i64) -> Option<Kind> {
        let int = |bits, signed| Some(Kind::Int { bits, signed });
        match number {
            1 | 10 | 11 | 16..=20 | 23 | 24 => Some(Kind::Real(number as u8)),
            2 => int(8, false),
            3 => int(8, true),
            4 => int(16, false),
            5 => int(16, true),
            6 => int(32, true),
            7 => int(64, true),
            9 => Some(Kind::Bool),
            12 => int(32, false),
            13 => int(64, false),
            21 => int(4, false),
            22 => int(4, true),
            25 => int(2, false),
            26 => int(2, true),
            _ => None,
        }
    }

    /// Whether it has no binary point.
    pub fn is_int(self) -> bool {
        matches!(self, Kind::Int { .. })
    }

    /// Smallest and largest value of whole numbers.
    pub fn limits(self) -> Option<(f64, f64)> {
        match self {
            Kind::Int { bits, signed: true } => Some((-(2f64.powi(bits as i32 - 1)), 2f64.powi(bits as i32 - 1) - 1.0)),
            Kind::Int { bits, signed: false } => Some((0.0, 2f64.powi(bits as i32) - 1.0)),
            _ => None,
        }
    }

    /// Bits of an element.
    fn width(self) -> usize {
        match self {
            Kind::Real(1) => 32,
            Kind::Real(11) => 64,
            Kind::Real(10 | 16) => 16,
            Kind::Real(23) => 4,
            Kind::Real(_) | Kind::Bool => 8,
            Kind::Int { bits, .. } => bits as usize,
        }
    }

    /// The value of an element's bits.
    fn value(self, bits: u64) -> f64 {
        match self {
            Kind::Real(1) => f64::from(f32::from_bits(bits as u32)),
            Kind::Real(11) => f64::from_bits(bits),
            Kind::Real(10) => small(bits, 5, 10, 15, Top::Ieee),
            Kind::Real(16) => f64::from(f32::from_bits((bits as u32) << 16)),
            Kind::Real(17) => small(bits, 4, 3, 7, Top::OneNan),
            Kind::Real(18) => small(bits, 4, 3, 8, Top::NegativeZero),
            Kind::Real(19) => small(bits, 5, 2, 15, Top::Ieee),
            Kind::Real(20) => small(bits, 5, 2, 16, Top::NegativeZero),
            Kind::Real(23) => small(bits, 2, 1, 1, Top::Numbers),
            Kind::Real(_) if bits == 255 => f64::NAN,
            Kind::Real(_) => 2f64.powi(bits as i32 - 127),
            Kind::Bool => f64::from(u8::from(bits & 0xff != 0)),
            Kind::Int { bits: width, signed: true } => ((bits << (64 - width)) as i64 >> (64 - width)) as f64,
            Kind::Int { bits: width, signed: false } => (bits << (64 - width) >> (64 - width)) as f64,
        }
    }
}

/// What the largest exponent of a small floating-point format means.
#[derive(Clone, Copy, PartialEq)]
enum Top {
    /// Infinity and not a number.
    Ieee,
    /// Numbers, but for all ones.
    OneNan,
    /// Numbers; negative zero is not a number.
    NegativeZero,
    /// Numbers.
    Numbers,
}

/// A small floating-point number.
fn small(bits: u64, exponent_bits: u32, fraction_bits: u32, bias: i32, top: Top) -> f64 {
    let width = 1 + exponent_bits + fraction_bits;
    let sign = if bits >> (width - 1) & 1 == 1 { -1.0 } else { 1.0 };
    let fraction = bits & ((1 << fraction_bits) - 1);
    let exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
    let all_ones = exponent == (1 << exponent_bits) - 1;
    let last = fraction == (1 << fraction_bits) - 1;
    match top {
        Top::Ieee if all_ones && fraction == 0 => return sign * f64::INFINITY,
        Top::Ieee if all_ones => return f64::NAN,
        Top::OneNan if all_ones && last => return f64::NAN,
        Top::NegativeZero if bits & ((1 << width) - 1) == 1 << (width - 1) => return f64::NAN,
        _ => {}
    }
    let unit = 2f64.powi(-(fraction_bits as i32));
    let value = if exponent == 0 {
        fraction as f64 * unit * 2f64.powi(1 - bias)
    } else {
        (1.0 + fraction as f64 * unit) * 2f64.powi(exponent as i32 - bias)
    };
    sign * value
}

/// Constants, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Constants {
    /// Extents.
    pub shape: Vec<i64>,
    /// Element type.
    pub kind: Kind,
    /// Row-major elements.
    pub values: Vec<f64>,
}

/// What gives the bytes of a file beside the model, by its name.
pub type Beside<'f> = &'f dyn Fn(&str) -> Result<Vec<u8>, String>;

/// How many elements a shape has; nothing if that is more than `most`, or an extent is negative.
pub fn count(shape: &[i64], most: u64) -> Option<usize> {
    let product = shape.iter().try_fold(1u64, |product, &extent| {
        let product = product.checked_mul(u64::try_from(extent).ok()?)?;
        Some(product)
    });
    product.filter(|&product| product <= most).map(|product| product as usize)
}

/// The elements of constants.
///
/// # Errors
/// What is wrong with them, in words.
pub fn constants(data: &TensorData<'_>, most: u64, beside: Beside<'_>) -> Result<Constants, String> {
    let shape = data.dimensions.clone();
    let Some(kind) = Kind::of_number(data.data_type) else {
        return Err(format!("its elements are {}, which are not numbers of one word", type_name(data.data_type)));
    };
    let count = count(&shape, most).ok_or_else(|| format!("its shape {shape:?} has more than {most} elements"))?;
    let raw = |raw: &[u8]| -> Result<Vec<f64>, String> {
        let width = kind.width();
        if raw.len() != (count * width).div_ceil(8) {
            return Err(format!(
                "it has {} bytes where its shape {shape:?} needs {}",
                raw.len(),
                (count * width).div_ceil(8)
            ));
        }
        if width < 8 {
            let of = |n: usize| u64::from(raw[n * width / 8]) >> (n * width % 8) & ((1 << width) - 1);
            return Ok((0..count).map(|n| kind.value(of(n))).collect());
        }
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
        Ok(raw.chunks_exact(width / 8).map(|bytes| kind.value(number(bytes))).collect())
    };
    let values = if data.is_external {
        let bytes = external(data, beside)?;
        raw(&bytes)?
    } else if let Some(bytes) = data.raw {
        raw(bytes)?
    } else {
        fields(data, kind, count)?
    };
    Ok(Constants { shape, kind, values })
}

/// Elements that are written as numbers.
fn fields(data: &TensorData<'_>, kind: Kind, count: usize) -> Result<Vec<f64>, String> {
    let (lists, fixed) = match kind {
        Kind::Real(1) => (&data.floats, 4),
        Kind::Real(11) => (&data.doubles, 8),
        Kind::Int { bits: 64, signed: true } => (&data.int64s, 0),
        Kind::Int { bits: 32 | 64, signed: false } => (&data.uint64s, 0),
        _ => (&data.int32s, 0),
    };
    let packs = if kind.width() < 8 { 8 / kind.width() } else { 1 };
    let mut values = Vec::new();
    let too_many = || format!("it has more elements than its shape {:?}", data.dimensions);
    let mut push = |bits: u64| -> Result<(), String> {
        for part in 0..packs {
            if values.len() == count && (packs == 1 || part == 0) {
                return Err(too_many());
            }
            if values.len() < count {
                values.push(kind.value(if packs == 1 { bits } else { bits >> (part * kind.width()) }));
            }
        }
        Ok(())
    };
    for value in lists {
        match *value {
            Value::Four(bytes) => push(u64::from(u32::from_le_bytes(bytes)))?,
            Value::Eight(bytes) => push(u64::from_le_bytes(bytes))?,
            Value::Varint(bits) => push(bits)?,
            Value::Bytes(bytes) if fixed > 0 => {
                if bytes.len() % fixed != 0 {
                    return Err("its numbers are cut off".into());
                }
                for bytes in bytes.chunks_exact(fixed) {
                    push(bytes.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte)))?;
                }
            }
            Value::Bytes(bytes) => {
                let mut at = 0;
                while at < bytes.len() {
                    push(varint(bytes, &mut at).map_err(|damage| damage.to_string())?)?;
                }
            }
        }
    }
    if values.len() == count {
        Ok(values)
    } else {
        Err(format!("it has {} elements where its shape {:?} needs {count}", values.len(), data.dimensions))
    }
}

/// The bytes of constants that are in another file.
fn external(data: &TensorData<'_>, beside: Beside<'_>) -> Result<Vec<u8>, String> {
    let of = |key: &str| data.external.iter().find(|(known, _)| *known == key).map(|&(_, value)| value);
    let number =
        |key: &str| of(key).map(str::parse::<usize>).transpose().map_err(|_| format!("its {key} is not a number"));
    let location = of("location").ok_or("its elements are in another file, which is not named")?;
    let plain = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains(['\\', ':', '\0']);
    if !location.split('/').all(plain) {
        return Err(format!("its elements are in `{location}`, which is not a file below the folder of the model"));
    }
    let bytes = beside(location)?;
    if let Some(wanted) = of("checksum").filter(|wanted| !wanted.is_empty()) {
        let found = sha1(&bytes);
        if !found.eq_ignore_ascii_case(wanted) {
            return Err(format!(
                "`{location}` is another file than the model was written with: its SHA-1 is {found}, not {wanted}"
            ));
        }
    }
    let start = number("offset")?.unwrap_or(0);
    let end = match number("length")? {
        Some(length) => start.checked_add(length),
        None => Some(bytes.len()),
    };
    let part = end.and_then(|end| bytes.get(start..end));
    part.map(<[u8]>::to_vec).ok_or_else(|| format!("its elements go beyond the end of `{location}`"))
}

/// Sparse constants as ordinary ones.
///
/// # Errors
/// What is wrong with them, in words.
pub fn dense(data: &Sparse<'_>, most: u64, beside: Beside<'_>) -> Result<Constants, String> {
    let values = constants(&data.values, most, beside)?;
    let indices = constants(&data.indices, most, beside)?;
    let shape = data.dimensions.clone();
    let size = count(&shape, most).ok_or_else(|| format!("its shape {shape:?} has more than {most} elements"))?;
    let mut all = vec![0.0; size];
    let flat = indices.shape.len() == 1;
    if indices.values.len() != values.values.len() * if flat { 1 } else { shape.len() } {
        return Err("its indices and values are not equally many".into());
    }
    for (n, &value) in values.values.iter().enumerate() {
        let place = if flat {
            Some(indices.values[n])
        } else {
            let row = &indices.values[n * shape.len()..(n + 1) * shape.len()];
            let inside = row.iter().zip(&shape).all(|(&index, &extent)| index >= 0.0 && index < extent as f64);
            inside.then(|| row.iter().zip(&shape).fold(0.0, |place, (index, &extent)| place * extent as f64 + index))
        };
        let place = place.filter(|&place| place >= 0.0).and_then(|place| all.get_mut(place as usize));
        *place.ok_or("an index is outside of it")? = value;
    }
    Ok(Constants { shape, kind: values.kind, values: all })
}

/// The name of an element type.
pub fn type_name(number: i64) -> String {
    const NAMES: [&str; 27] = [
        "undefined",
        "float",
        "uint8",
        "int8",
        "uint16",
        "int16",
        "int32",
        "int64",
        "string",
        "bool",
        "float16",
        "double",
        "uint32",
        "uint64",
        "complex64",
        "complex128",
        "bfloat16",
        "float8e4m3fn",
        "float8e4m3fnuz",
        "float8e5m2",
        "float8e5m2fnuz",
        "uint4",
        "int4",
        "float4e2m1",
        "float8e8m0",
        "uint2",
        "int2",
    ];
    usize::try_from(number)
        .ok()
        .and_then(|n| NAMES.get(n))
        .map_or_else(|| format!("of type {number}"), |&name| name.to_owned())
}
