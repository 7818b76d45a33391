//! Values of `$` variables.

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `true` or `false`
    Bool(bool),
    /// `64`
    Integer(i64),
    /// `0.5`, `0x1.4p3`
    Float(f64),
    /// `"text"`
    Text(String),
    /// `[1, 2]`
    List(Vec<Value>),
    /// `{unroll=4}`
    Dictionary(Vec<(String, Value)>),
    /// `f32`, `memref<f32x64>`
    Type(String),
}

impl Value {
    /// The kind, with its article.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Bool(_) => "a Boolean",
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a real number",
            Value::Text(_) => "a string",
            Value::List(_) => "a list",
            Value::Dictionary(_) => "a dictionary",
            Value::Type(_) => "a type",
        }
    }

    /// Numbers and characters in it.
    pub(super) fn size(&self) -> usize {
        match self {
            Value::Bool(_) | Value::Integer(_) | Value::Float(_) => 1,
            Value::Text(text) | Value::Type(text) => 1 + text.len(),
            Value::List(values) => 1 + values.iter().map(Value::size).sum::<usize>(),
            Value::Dictionary(entries) => {
                1 + entries.iter().map(|(name, value)| name.len() + value.size()).sum::<usize>()
            }
        }
    }

    /// Lists and dictionaries inside each other.
    pub(super) fn depth(&self) -> usize {
        match self {
            Value::List(values) => 1 + values.iter().map(Value::depth).max().unwrap_or(0),
            Value::Dictionary(entries) => 1 + entries.iter().map(|(_, value)| value.depth()).max().unwrap_or(0),
            _ => 0,
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Bool(value) => write!(f, "{value}"),
            Value::Integer(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value:?}"),
            Value::Text(text) => write!(f, "\"{text}\""),
            Value::Type(name) => f.write_str(name),
            Value::List(values) => {
                f.write_str("[")?;
                for (n, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if n == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Value::Dictionary(entries) => {
                f.write_str("{")?;
                for (n, (name, value)) in entries.iter().enumerate() {
                    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                    let quote = if plain { "" } else { "\"" };
                    write!(f, "{}{quote}{name}{quote}={value}", if n == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
        }
    }
}

/// Types that a definition can name: those of the hosts and those of the original preprocessor.
const TYPES: &[&str] = &[
    "i8", "i16", "i32", "i64", "index", "f16", "f32", "f64", "bf16", "c32", "c64", "bool", "int8", "int16", "int32",
    "int64", "uint8", "uint16", "uint32", "uint64", "byte", "half", "float", "double", "float16", "float32", "float64",
];

/// Whether a word is a scalar type.
pub(super) fn is_type(word: &str) -> bool {
    TYPES.contains(&word)
}

/// An integer or real literal with an optional sign.
pub(super) enum Literal {
    Integer(i64),
    Float(f64),
    TooLarge,
    Malformed,
}

/// Read a literal: decimal integer, decimal or C99 hexadecimal real number.
pub(super) fn literal(text: &str) -> Literal {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let sign = if negative { -1.0 } else { 1.0 };
    if let Some(hexadecimal) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        return hexadecimal_float(hexadecimal).map_or(Literal::Malformed, |value| finite(sign * value));
    }
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits
            .parse::<i64>()
            .map_or(Literal::TooLarge, |value| Literal::Integer(if negative { -value } else { value }));
    }
    if let "inf" | "nan" = digits {
        return Literal::Float(sign * if digits == "inf" { f64::INFINITY } else { f64::NAN });
    }
    // Rust reads more than the language has: words such as `inf` start with a letter and do not get here.
    let starts_with_number = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    match digits.parse::<f64>() {
        Ok(value) if starts_with_number => finite(sign * value),
        _ => Literal::Malformed,
    }
}

fn finite(value: f64) -> Literal {
    if value.is_finite() { Literal::Float(value) } else { Literal::TooLarge }
}

/// `1.4p3`, the part after `0x`; needs a point or an exponent.
fn hexadecimal_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = match text.split_once(['p', 'P']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if !text.contains(['.', 'p', 'P']) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let mut value = 0.0;
    for digit in whole.chars().chain(fraction.chars()) {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let shift = i32::try_from(fraction.len()).ok()?.checked_mul(-4)?.checked_add(exponent)?;
    Some(libm::scalbn(value, shift))
}
