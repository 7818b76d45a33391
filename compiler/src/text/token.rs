//! Tokens of the text forms.

use arch::{Code, Diagnostic, Span};

/// What stands in a text.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A name or a word of the form; quoted, it is a name whatever it says.
    Word {
        /// The text, without quotes and escapes.
        text: String,
        /// Whether it stood in quotes.
        quoted: bool,
    },
    /// `%3`
    Id(usize),
    /// A number without sign, as it is written.
    Number(String),
    /// One of the symbols.
    Symbol(&'static str),
    /// The end of a line that has something else on it.
    LineEnd,
    /// The end of the text.
    End,
}

/// A token and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its place.
    pub span: Span,
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.kind {
            Kind::Word { text, quoted: true } => write!(f, "`{text:?}`"),
            Kind::Word { text, quoted: false } | Kind::Number(text) => write!(f, "`{text}`"),
            Kind::Id(number) => write!(f, "`%{number}`"),
            Kind::Symbol(symbol) => write!(f, "`{symbol}`"),
            Kind::LineEnd => f.write_str("the end of the line"),
            Kind::End => f.write_str("the end of the text"),
        }
    }
}

/// Words that are numbers, in every form.
pub const NUMBERS: [&str; 2] = ["inf", "nan"];

/// The symbols, longer ones before those that they begin with.
const SYMBOLS: &[&str] = &[
    "..", "<<", ">>", "<=", ">=", "==", "!=", "+=", "-=", "*=", ":=", "=>", "->", "&&", "||", "/.", "(", ")", "[", "]",
    "{", "}", ",", ";", ":", "+", "-", "*", "/", "<", ">", "=", "!", "@", "#", "'", "^", "±", "|", "?",
];

/// The tokens of a text; the last one is its end.
///
/// # Errors
/// `E-LEX` at the first character that begins no token.
pub fn tokens(text: &str) -> Result<Vec<Token>, Diagnostic> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (kind, length) = match first {
            '\n' => {
                if tokens.last().is_some_and(|last| last.kind != Kind::LineEnd) {
                    tokens.push(Token { kind: Kind::LineEnd, span: Span::new(at, at + 1) });
                }
                at += 1;
                continue;
            }
            _ if first.is_whitespace() => {
                at += first.len_utf8();
                continue;
            }
            _ if rest.starts_with("//") => {
                at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            '"' => quoted(rest, at)?,
            '%' => id(rest, at)?,
            _ if first.is_ascii_digit() => {
                let length = number_length(rest);
                (Kind::Number(rest[..length].to_owned()), length)
            }
            _ if begins_word(first) => {
                let length = word_length(rest);
                (Kind::Word { text: rest[..length].to_owned(), quoted: false }, length)
            }
            _ => match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
                Some(symbol) => (Kind::Symbol(symbol), symbol.len()),
                None => return Err(wrong(at, first.len_utf8(), format!("`{first}` means nothing here"))),
            },
        };
        tokens.push(Token { kind, span: Span::new(at, at + length) });
        at += length;
    }
    if tokens.last().is_some_and(|last| last.kind != Kind::LineEnd) {
        tokens.push(Token { kind: Kind::LineEnd, span: Span::new(at, at) });
    }
    tokens.push(Token { kind: Kind::End, span: Span::new(at, at) });
    Ok(tokens)
}

fn wrong(at: usize, length: usize, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::Lex, Span::new(at, at + length), message)
}

/// Whether a name can begin with this letter.
pub fn begins_word(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_'
}

/// Bytes of the name at the beginning: letters, digits, `_`, and dots with one of these behind them.
pub fn word_length(text: &str) -> usize {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = text.as_bytes();
    let inner = |at: usize| bytes[at] == b'.' && bytes.get(at + 1).is_some_and(|&next| part(next));
    (0..bytes.len()).find(|&at| !part(bytes[at]) && !inner(at)).unwrap_or(bytes.len())
}

/// Bytes of the number at the beginning: `12`, `0.5`, `1e-7`; of `0..3` only the `0`.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| from + bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end = digits(end + 1);
    }
    if bytes.get(end) == Some(&b'e') {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits((end + 1 + sign).min(bytes.len()));
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

/// `%` and a number.
fn id(text: &str, at: usize) -> Result<(Kind, usize), Diagnostic> {
    let digits = text[1..].bytes().take_while(u8::is_ascii_digit).count();
    let number = text[1..=digits].parse().map_err(|_| wrong(at, 1 + digits, "a number follows `%`"))?;
    Ok((Kind::Id(number), 1 + digits))
}

/// A name in quotes, with the escapes of Rust's strings.
fn quoted(text: &str, at: usize) -> Result<(Kind, usize), Diagnostic> {
    let open = || wrong(at, 1, "the quoted name has no end").with_help("a name ends on its line, with `\"`");
    let mut name = String::new();
    let mut letters = text.char_indices().skip(1);
    while let Some((place, letter)) = letters.next() {
        match letter {
            '"' => return Ok((Kind::Word { text: name, quoted: true }, place + 1)),
            '\n' => return Err(open()),
            '\\' => {
                let (_, escape) = letters.next().ok_or_else(open)?;
                let value = match escape {
                    'n' => Some('\n'),
                    't' => Some('\t'),
                    'r' => Some('\r'),
                    '0' => Some('\0'),
                    '\\' | '"' | '\'' => Some(escape),
                    'u' => {
                        let digits: String =
                            letters.by_ref().map(|(_, l)| l).skip(1).take_while(|&l| l != '}').collect();
                        u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)
                    }
                    _ => None,
                };
                name.push(value.ok_or_else(|| wrong(at + place, 2, "an escape that does not exist"))?);
            }
            _ => name.push(letter),
        }
    }
    Err(open())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        tokens(text).expect("tokens").into_iter().map(|token| token.kind).collect()
    }

    fn word(text: &str) -> Kind {
        Kind::Word { text: text.into(), quoted: false }
    }

    #[test]
    fn names_have_inner_dots_and_ranges_have_none() {
        let number = |text: &str| Kind::Number(text.into());
        assert_eq!(
            kinds("w.1 i in 0..3 1e-7 2.5"),
            [
                word("w.1"),
                word("i"),
                word("in"),
                number("0"),
                Kind::Symbol(".."),
                number("3"),
                number("1e-7"),
                number("2.5"),
                Kind::LineEnd,
                Kind::End
            ]
        );
        assert_eq!(kinds("2e"), [number("2"), word("e"), Kind::LineEnd, Kind::End]);
    }

    #[test]
    fn comments_and_blank_lines_are_nothing() {
        assert_eq!(kinds("// pass x\n\n  \n"), [Kind::End]);
        assert_eq!(kinds("a // b\n\nc"), [word("a"), Kind::LineEnd, word("c"), Kind::LineEnd, Kind::End]);
    }

    #[test]
    fn quoted_names_have_escapes() {
        let name = "a \"b\" \\ \u{1}é";
        assert_eq!(kinds(&format!("{name:?}"))[0], Kind::Word { text: name.into(), quoted: true });
    }

    #[test]
    fn what_is_no_token_is_told_with_its_place() {
        for (text, start, end) in [("a ~ b", 2, 3), ("%x", 0, 1), ("a \"b\nc\"", 2, 3), (r#""\q""#, 1, 3), ("é", 0, 2)]
        {
            let error = tokens(text).expect_err(text);
            assert_eq!((error.code, error.span), (Code::Lex, Some(Span::new(start, end))), "{text}");
        }
    }
}
