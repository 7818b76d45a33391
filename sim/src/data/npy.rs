//! Arrays of `NumPy` (`npy`, versions 1 to 3): real numbers, integers and truth values, in both byte orders and both index orders.

use crate::data::file::{Limits, MORE};
use crate::data::table::Table;
use arch::{Code, Diagnostic};

/// First bytes of a file.
pub const MAGIC: &[u8] = b"\x93NUMPY";

/// An array: extents, and elements in row-major order.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// Extents, outermost first; empty for a scalar.
    pub shape: Vec<usize>,
    /// Elements, the last index running fastest.
    pub values: Vec<f64>,
    /// Whether they were integers or truth values.
    pub whole: bool,
}

fn wrong(message: impl Into<String>) -> Diagnostic {
    Diagnostic::global(Code::Data, format!("the NumPy array is {}", message.into()))
}

/// The header: a Python dictionary with three entries.
struct Header {
    kind: String,
    columns_first: bool,
    shape: Vec<usize>,
}

impl Header {
    fn parse(text: &str) -> Option<Header> {
        let after = |key: &str| {
            let at = text.find(&format!("'{key}'")).or_else(|| text.find(&format!("\"{key}\"")))?;
            text[at + key.len() + 2..].trim_start().strip_prefix(':').map(str::trim_start)
        };
        let kind = after("descr")?;
        let quote = kind.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
        let kind = kind[1..].split(quote).next()?.to_owned();
        let order = after("fortran_order")?;
        let columns_first = order.starts_with("True");
        let shape = after("shape")?.strip_prefix('(')?.split(')').next()?;
        let shape = shape.split(',').map(str::trim).filter(|extent| !extent.is_empty());
        let shape = shape.map(|extent| extent.trim_end_matches('L').parse().ok()).collect::<Option<Vec<usize>>>()?;
        (columns_first || order.starts_with("False")).then_some(Header { kind, columns_first, shape })
    }
}

/// Read one element of `size` bytes.
fn element(kind: char, bytes: &[u8]) -> Option<f64> {
    macro_rules! number {
        ($type:ty) => {
            <$type>::from_le_bytes(bytes.try_into().ok()?) as f64
        };
    }
    Some(match (kind, bytes.len()) {
        ('f', 8) => number!(f64),
        ('f', 4) => number!(f32),
        ('f', 2) => half(u16::from_le_bytes(bytes.try_into().ok()?)),
        ('i', 8) => number!(i64),
        ('i', 4) => number!(i32),
        ('i', 2) => number!(i16),
        ('i', 1) => number!(i8),
        ('u', 8) => number!(u64),
        ('u', 4) => number!(u32),
        ('u', 2) => number!(u16),
        ('u', 1) => number!(u8),
        ('b', 1) => f64::from(u8::from(bytes[0] != 0)),
        _ => return None,
    })
}

/// An IEEE number of 16 bits.
pub(crate) fn half(bits: u16) -> f64 {
    let (sign, exponent, fraction) = (bits >> 15, i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => libm::ldexp(fraction, -24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => libm::ldexp(1024.0 + fraction, exponent - 25),
    };
    if sign == 1 { -size } else { size }
}

/// Read a file.
///
/// # Errors
/// `E-DATA` if it is damaged or holds something other than numbers; `E-LIMIT`.
pub fn read(bytes: &[u8], limits: Limits) -> Result<Array, Diagnostic> {
    let cut = || wrong("cut short");
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| wrong("no array"))?;
    let [version @ (1..=3), _, rest @ ..] = rest else { return Err(wrong("cut short, or of an unknown version")) };
    let width = if *version == 1 { 2 } else { 4 };
    let (length, rest) = rest.split_at_checked(width).ok_or_else(cut)?;
    let length = length.iter().rev().fold(0usize, |length, &byte| length * 256 + usize::from(byte));
    let (header, data) = rest.split_at_checked(length).ok_or_else(cut)?;
    let header =
        Header::parse(&String::from_utf8_lossy(header)).ok_or_else(|| wrong("without a header that can be read"))?;
    let mut letters = header.kind.chars();
    let (order, kind) = (letters.next().unwrap_or(' '), letters.next().unwrap_or(' '));
    let size = letters.as_str().parse::<usize>().unwrap_or(0);
    if element(kind, &vec![0; size.min(16)]).is_none() || !"<>|=".contains(order) {
        let message = wrong(format!("of the type `{}`, which is not a number", header.kind.escape_default()));
        return Err(message.with_help("save it as numbers: numpy.save(\"data.npy\", array.astype(\"float32\"))"));
    }
    // An extent of 0 leaves no elements, but the others still count rows and columns.
    let bound = header.shape.iter().try_fold(1usize, |count, &extent| count.checked_mul(extent.max(1)));
    if bound.is_none_or(|bound| bound > limits.cells) {
        let message = format!(
            "an array may have at most {} elements, and extents up to that beside an extent of 0",
            limits.cells
        );
        return Err(Diagnostic::global(Code::Limit, message).with_help(MORE));
    }
    let count: usize = header.shape.iter().product();
    if data.len() != count * size {
        let message = format!("of {count} elements of {size} bytes, but has {} bytes", data.len());
        return Err(wrong(message));
    }
    let values = data.chunks_exact(size).map(|bytes| {
        let mut bytes = bytes.to_vec();
        if order == '>' {
            bytes.reverse();
        }
        element(kind, &bytes).unwrap_or(f64::NAN)
    });
    let values: Vec<f64> = values.collect();
    let values = if header.columns_first { transposed(&header.shape, &values) } else { values };
    Ok(Array { shape: header.shape, values, whole: kind != 'f' })
}

/// Row-major elements from those whose first index runs fastest.
fn transposed(shape: &[usize], values: &[f64]) -> Vec<f64> {
    let mut index = vec![0usize; shape.len()];
    let mut rows = Vec::with_capacity(values.len());
    for _ in 0..values.len() {
        let at = index.iter().zip(shape).rev().fold(0, |at, (i, extent)| at * extent + i);
        rows.push(values[at]);
        for (i, extent) in index.iter_mut().zip(shape).rev() {
            *i += 1;
            if *i < *extent {
                break;
            }
            *i = 0;
        }
    }
    rows
}

/// Write a file of real numbers.
pub fn write(shape: &[usize], values: &[f64]) -> Vec<u8> {
    let extents = shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let comma = if shape.len() == 1 { "," } else { "" };
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({extents}{comma}), }}");
    // Magic, version, length, header and a line end fill a multiple of 64 bytes.
    let length = (MAGIC.len() + 4 + header.len() + 1).next_multiple_of(64) - MAGIC.len() - 4;
    let mut bytes = [MAGIC, &[1, 0], &(length as u16).to_le_bytes()].concat();
    bytes.extend_from_slice(format!("{header:width$}\n", width = length - 1).as_bytes());
    for value in values {
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    bytes
}

/// A table of arrays side by side: the first index counts samples. A column is called by its array, and by its place if there are several.
///
/// # Errors
/// `E-DATA` if the arrays differ in their number of samples.
pub fn table(arrays: &[(String, Array)], limits: Limits) -> Result<Table, Diagnostic> {
    let samples = |array: &Array| array.shape.first().copied().unwrap_or(1);
    let Some((first, reference)) = arrays.first() else {
        return Err(Diagnostic::global(Code::Data, "the file holds no array"));
    };
    let count = samples(reference);
    if let Some((name, array)) = arrays.iter().find(|(_, array)| samples(array) != count) {
        let message =
            format!("`{first}` has {count} samples and `{name}` {}: they cannot stand side by side", samples(array));
        return Err(Diagnostic::global(Code::Data, message)
            .with_help("name those that belong together: --arrays x_train,y_train"));
    }
    let width = |array: &Array| array.shape.iter().skip(1).product::<usize>();
    let widths = arrays.iter().fold(0usize, |sum, (_, array)| sum.saturating_add(width(array)));
    crate::data::table::check_size(count, widths, limits)?;
    let mut columns = Vec::with_capacity(widths);
    for (name, array) in arrays {
        let inner = array.shape.get(1..).unwrap_or_default();
        columns.extend((0..width(array)).map(|column| column_name(name, inner, column)));
    }
    let row = |sample: usize| {
        let cells = arrays.iter().flat_map(|(_, array)| {
            let width = array.values.len() / count.max(1);
            array.values[sample * width..(sample + 1) * width].iter().copied().map(written)
        });
        cells.collect()
    };
    Table::from_cells(columns, (0..count).map(row).collect(), limits)
}

/// A number as people write it; never with the hundreds of digits of 1e300 and 1e-300.
pub(crate) fn written(value: f64) -> String {
    if value == libm::trunc(value) && libm::fabs(value) < 1e16 { value.to_string() } else { format!("{value:?}") }
}

/// `x`, or `x[2]`, or `x[1][2]`; without an array's name the number alone, counted from 1 as in other formats without names.
fn column_name(name: &str, inner: &[usize], column: usize) -> String {
    if name.is_empty() {
        return (column + 1).to_string();
    }
    let mut rest = column;
    let mut index: Vec<usize> = inner.iter().rev().map(|&extent| (rest % extent, rest /= extent).0).collect();
    index.reverse();
    index.iter().fold(name.to_owned(), |name, place| format!("{name}[{place}]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let length = (header.len() as u16).to_le_bytes();
        [MAGIC, &[1, 0], &length, header.as_bytes(), data].concat()
    }

    #[test]
    fn what_is_written_is_read() {
        for shape in [vec![], vec![3], vec![2, 3], vec![2, 1, 2]] {
            let count = shape.iter().product::<usize>();
            let values: Vec<f64> = (0..count).map(|n| n as f64 / 3.0 - 0.5).collect();
            let bytes = write(&shape, &values);
            assert_eq!(bytes.len() % 64, count * 8 % 64);
            assert_eq!(read(&bytes, Limits::default()).unwrap(), Array { shape, values, whole: false });
        }
    }

    #[test]
    fn types_and_orders() {
        let bytes = file(
            "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n",
            &[0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 255, 255],
        );
        let array = read(&bytes, Limits::default()).unwrap();
        assert_eq!((array.values.as_slice(), array.whole), (&[1.0, 2.0, 3.0, 4.0, 5.0, -1.0][..], true));
        let halves = file("{'descr': '<f2', 'fortran_order': False, 'shape': (4,)}\n", &[0, 60, 1, 0, 0, 252, 0, 192]);
        let values = read(&halves, Limits::default()).unwrap().values;
        assert_eq!(values, [1.0, libm::ldexp(1.0, -24), f64::NEG_INFINITY, -2.0]);
    }

    #[test]
    fn damage_is_named() {
        let message = |bytes: &[u8]| read(bytes, Limits::default()).unwrap_err().message;
        assert_eq!(message(b"\x93NUMPY\x01"), "the NumPy array is cut short, or of an unknown version");
        assert_eq!(
            message(&write(&[2], &[1.0, 2.0])[..140]),
            "the NumPy array is of 2 elements of 8 bytes, but has 12 bytes"
        );
        let objects = file("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}\n", &[0; 8]);
        assert_eq!(message(&objects), "the NumPy array is of the type `|O`, which is not a number");
        let huge = file("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999, 9999999999999)}\n", &[]);
        assert_eq!(read(&huge, Limits::default()).unwrap_err().code, Code::Limit);
        for shape in ["(1000000000000, 0)", "(0, 1000000000000)", "(0, 4294967296, 4294967296)"] {
            let nothing = file(&format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}\n"), &[]);
            assert_eq!(read(&nothing, Limits::default()).unwrap_err().code, Code::Limit, "{shape}");
        }
        assert!(message(&file("{'descr': [('a', '<f8')], 'shape': (1,)}", &[])).contains("header"));
    }

    #[test]
    fn numbers_stay_short() {
        let values = [0.0, -3.0, 0.5, 1e-5, 1e15, 1e300, -5e-324, f64::NAN, f64::INFINITY];
        let expected = ["0", "-3", "0.5", "1e-5", "1000000000000000", "1e300", "-5e-324", "NaN", "inf"];
        assert_eq!(values.map(written), expected);
        for value in values.into_iter().filter(|value| !value.is_nan()) {
            assert_eq!(written(value).parse::<f64>().unwrap().to_bits(), value.to_bits());
        }
    }

    #[test]
    fn arrays_become_columns() {
        let array = |shape: &[usize]| Array {
            shape: shape.to_vec(),
            values: (0..shape.iter().product::<usize>()).map(|n| n as f64).collect(),
            whole: true,
        };
        let pair = [("x".to_owned(), array(&[2, 1, 2])), ("y".to_owned(), array(&[2]))];
        let table = table(&pair, Limits::default()).unwrap();
        assert_eq!(table.columns, ["x[0][0]", "x[0][1]", "y"]);
        assert_eq!(table.rows, [["0", "1", "0"], ["2", "3", "1"]]);
        assert_eq!(super::table(&[(String::new(), array(&[1, 2]))], Limits::default()).unwrap().columns, ["1", "2"]);
        let uneven = [("a".to_owned(), array(&[2])), ("b".to_owned(), array(&[3]))];
        assert!(super::table(&uneven, Limits::default()).unwrap_err().message.contains("`a` has 2 samples and `b` 3"));
        let empty = super::table(&[(String::new(), array(&[0, 2]))], Limits::default()).unwrap_err();
        assert_eq!(empty.message, "the data file has no rows");
    }

    /// Every type of numbers, in both byte orders where it has some.
    #[test]
    fn bytes_become_numbers_by_their_type() {
        let of = |kind: &str, data: &[u8], count: usize| {
            let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({count},), }}{:300}", "");
            read(&file(&header, data), Limits::default()).unwrap().values
        };
        assert_eq!(of("|i1", &[0x80, 0x7f], 2), [-128.0, 127.0]);
        assert_eq!((of("|u1", &[0x80, 0x7f], 2), of("|b1", &[0, 2, 1], 3)), (vec![128.0, 127.0], vec![0.0, 1.0, 1.0]));
        assert_eq!((of("<u2", &[1, 0x80], 1), of(">u2", &[1, 0x80], 1)), (vec![32769.0], vec![384.0]));
        assert_eq!(of("<u4", &[0, 0, 0, 0x80], 1), [2_147_483_648.0]);
        assert_eq!(of(">u8", &[0x80, 0, 0, 0, 0, 0, 0, 0], 1), [9_223_372_036_854_775_808.0]);
        let half = of("<f2", &[0, 0x7c, 0, 0xfc, 1, 0x7c, 0, 0x3c], 4);
        assert_eq!((half[0], half[1], half[3]), (f64::INFINITY, f64::NEG_INFINITY, 1.0));
        assert!(half[2].is_nan());
    }

    #[test]
    fn an_array_may_have_as_many_elements_as_the_limit() {
        let limited = |cells| read(&write(&[2, 3], &[0.0; 6]), Limits { cells, ..Limits::default() });
        assert!(limited(6).is_ok() && limited(5).is_err_and(|error| error.code == Code::Limit));
    }

    /// `NumPy` pads headers so that elements begin at a multiple of 64 bytes; a shape of one extent has a comma.
    #[test]
    fn headers_are_padded() {
        for rank in 0..70 {
            let shape = vec![1; rank];
            let bytes = write(&shape, &[0.5]);
            assert_eq!(bytes.len() % 64, 8, "{rank}");
            let padding = bytes.iter().rev().skip(9).take_while(|&&byte| byte == b' ').count();
            assert!(padding < 64, "{rank}: {padding}");
            assert_eq!(read(&bytes, Limits::default()).unwrap(), Array { shape, values: vec![0.5], whole: false });
        }
        assert!(String::from_utf8_lossy(&write(&[3], &[0.0; 3])).contains("'shape': (3,), }"));
        assert!(String::from_utf8_lossy(&write(&[], &[0.0])).contains("'shape': (), }"));
    }

    #[test]
    fn columns_are_called_by_their_places() {
        let array = Array { shape: vec![1, 2, 3], values: vec![1e16, 2.0, 3.0, 4.0, 5.0, -0.5], whole: false };
        let table = table(&[("x".to_owned(), array)], Limits::default()).unwrap();
        assert_eq!(table.columns, ["x[0][0]", "x[0][1]", "x[0][2]", "x[1][0]", "x[1][1]", "x[1][2]"]);
        assert_eq!(table.rows, [["1e16", "2", "3", "4", "5", "-0.5"]]);
    }
}
