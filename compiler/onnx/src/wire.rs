//! The encoding of protocol buffers: numbered fields, borrowed from the file.
//!
//! ```text
//! key = number << 3 | kind      kind 0: varint   1: 8 bytes   2: length and bytes   5: 4 bytes
//! ```
//!
//! Nothing is allocated here: a field is a number or a piece of the file. What is not looked at stays where it is, so that a file can
//! be written again with one field exchanged.

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// A field goes beyond the end.
    Truncated,
    /// A number of more than 64 bits.
    Varint,
    /// A kind that does not exist, or is not the one of this field.
    Kind,
    /// Text that is not UTF-8.
    Text,
    /// Messages in messages beyond a limit.
    Depth,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Damage::Truncated => "a field goes beyond the end of the file",
            Damage::Varint => "a number has more than 64 bits",
            Damage::Kind => "a field is of another kind than in the format",
            Damage::Text => "a name is not UTF-8 text",
            Damage::Depth => "graphs are nested too deeply",
        })
    }
}

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// A number.
    Varint(u64),
    /// Eight bytes.
    Eight([u8; 8]),
    /// Four bytes.
    Four([u8; 4]),
    /// Text, bytes, a message or packed numbers.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// Bytes.
    pub fn bytes(self) -> Result<&'a [u8], Damage> {
        if let Value::Bytes(bytes) = self { Ok(bytes) } else { Err(Damage::Kind) }
    }

    /// Text.
    pub fn text(self) -> Result<&'a str, Damage> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Damage::Text)
    }

    /// A number with a sign.
    pub fn integer(self) -> Result<i64, Damage> {
        if let Value::Varint(value) = self { Ok(value as i64) } else { Err(Damage::Kind) }
    }

    /// A single-precision number.
    pub fn float(self) -> Result<f32, Damage> {
        if let Value::Four(bytes) = self { Ok(f32::from_le_bytes(bytes)) } else { Err(Damage::Kind) }
    }
}

/// One field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field<'a> {
    /// Its number.
    pub number: u64,
    /// Its value.
    pub value: Value<'a>,
    /// Where it begins, with its key.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
}

/// The fields of a message, in order.
pub struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The fields of a message.
pub fn fields(bytes: &[u8]) -> Fields<'_> {
    Fields { bytes, at: 0 }
}

/// A varint at a place; the place is moved behind it.
pub fn varint(bytes: &[u8], at: &mut usize) -> Result<u64, Damage> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at).ok_or(Damage::Truncated)?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Damage::Varint)
}

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Damage> {
        let end = self.at.checked_add(count).ok_or(Damage::Truncated)?;
        let taken = self.bytes.get(self.at..end).ok_or(Damage::Truncated)?;
        self.at = end;
        Ok(taken)
    }

    fn field(&mut self) -> Result<Field<'a>, Damage> {
        let start = self.at;
        let key = varint(self.bytes, &mut self.at)?;
        let value = match key & 7 {
            0 => Value::Varint(varint(self.bytes, &mut self.at)?),
            1 => Value::Eight(self.take(8)?.try_into().map_err(|_| Damage::Truncated)?),
            2 => {
                let length = usize::try_from(varint(self.bytes, &mut self.at)?).map_err(|_| Damage::Truncated)?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Four(self.take(4)?.try_into().map_err(|_| Damage::Truncated)?),
            _ => return Err(Damage::Kind),
        };
        Ok(Field { number: key >> 3, value, start, end: self.at })
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.at = self.bytes.len();
        }
        Some(field)
    }
}

/// Append a varint.
pub fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Append a field of bytes.
pub fn put_bytes(bytes: &mut Vec<u8>, number: u64, value: &[u8]) {
    put_varint(bytes, number << 3 | 2);
    put_varint(bytes, value.len() as u64);
    bytes.extend_from_slice(value);
}

/// Append a field of a number.
pub fn put_integer(bytes: &mut Vec<u8>, number: u64, value: u64) {
    put_varint(bytes, number << 3);
    put_varint(bytes, value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_they_were_written() {
        let mut bytes = Vec::new();
        put_integer(&mut bytes, 1, 300);
        put_bytes(&mut bytes, 2, b"ab");
        // The example of the format's documentation: field 1 of 150 is 08 96 01.
        put_integer(&mut bytes, 1, 150);
        assert_eq!(bytes[bytes.len() - 3..], [0x08, 0x96, 0x01]);
        let found: Vec<_> = fields(&bytes).map(|field| field.unwrap()).collect();
        assert_eq!(found[0].value, Value::Varint(300));
        assert_eq!((found[1].number, found[1].value.text().unwrap()), (2, "ab"));
        assert_eq!((found[1].start, found[1].end), (3, 7));
    }

    #[test]
    fn what_is_damaged_says_how() {
        let damage = |bytes: &[u8]| fields(bytes).find_map(Result::err);
        assert_eq!(damage(&[0x12, 0x05, 0x61]), Some(Damage::Truncated));
        assert_eq!(
            damage(&[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
            Some(Damage::Truncated)
        );
        assert_eq!(damage(&[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), Some(Damage::Varint));
        assert_eq!(damage(&[0x0b]), Some(Damage::Kind));
        assert_eq!(fields(&[0x0a, 0x01, 0xff]).next().unwrap().unwrap().value.text(), Err(Damage::Text));
    }
}
