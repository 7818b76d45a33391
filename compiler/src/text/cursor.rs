//! A place among the tokens of a text.

use super::token::{Kind, NUMBERS, Token, tokens};
use arch::{Code, Diagnostic, Origin, Span};

/// What is read, from left to right. `reserved` tells the words of the stage's form, which are names in quotes only.
#[derive(Debug, Clone)]
pub struct Cursor {
    tokens: Vec<Token>,
    at: usize,
    reserved: fn(&str) -> bool,
}

/// A name and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Name {
    /// Its letters, without quotes.
    pub text: String,
    /// Its place.
    pub span: Span,
}

impl Cursor {
    /// At the beginning of a text.
    ///
    /// # Errors
    /// `E-LEX`
    pub fn new(text: &str, reserved: fn(&str) -> bool) -> Result<Cursor, Diagnostic> {
        Ok(Cursor { tokens: tokens(text)?, at: 0, reserved })
    }

    /// What stands here.
    pub fn peek(&self) -> &Token {
        &self.tokens[self.at]
    }

    /// What stands behind that.
    fn second(&self) -> &Token {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)]
    }

    /// Go on by one token, but not beyond the end.
    pub fn advance(&mut self) -> Token {
        let token = self.tokens[self.at].clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    /// Whether a symbol or a word of the form stands here.
    pub fn sees(&self, what: &str) -> bool {
        self.is(self.at, what)
    }

    fn is(&self, at: usize, what: &str) -> bool {
        match &self.tokens[at].kind {
            Kind::Symbol(symbol) => *symbol == what,
            Kind::Word { text, quoted } => !quoted && text == what,
            _ => false,
        }
    }

    /// Go over it if it stands here.
    pub fn take(&mut self, what: &str) -> bool {
        let found = self.sees(what);
        if found {
            self.advance();
        }
        found
    }

    /// Go over it.
    ///
    /// # Errors
    /// `E-SYNTAX` if something else stands here.
    pub fn expect(&mut self, what: &str) -> Result<(), Diagnostic> {
        if self.take(what) { Ok(()) } else { Err(self.expected(&format!("`{what}`"))) }
    }

    /// The error that something else stands here than was expected.
    pub fn expected(&self, what: &str) -> Diagnostic {
        let found = self.peek();
        let diagnostic = Diagnostic::new(Code::Syntax, found.span, format!("expected {what}, found {found}"));
        match &found.kind {
            Kind::Word { text, quoted: false } if what == "a name" => {
                diagnostic.with_help(format!("a name that is a word of this form stands in quotes: {text:?}"))
            }
            _ => diagnostic,
        }
    }

    /// Whether the text ends here.
    pub fn at_end(&self) -> bool {
        self.peek().kind == Kind::End
    }

    /// Go over the end of the line.
    ///
    /// # Errors
    /// `E-SYNTAX` if there is more on the line.
    pub fn line_end(&mut self) -> Result<(), Diagnostic> {
        if !self.at_line_end() {
            return Err(self.expected("the end of the line"));
        }
        if !self.at_end() {
            self.advance();
        }
        Ok(())
    }

    /// Go to the first of these words or symbols outside brackets, or else to the end of the line.
    pub fn skip_to(&mut self, words: &[&str]) {
        let mut depth = 0usize;
        while !self.at_line_end() && (depth > 0 || !words.iter().any(|word| self.sees(word))) {
            match self.advance().kind {
                Kind::Symbol("(" | "[" | "{") => depth += 1,
                Kind::Symbol(")" | "]" | "}") => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// Whether the line ends here.
    pub fn at_line_end(&self) -> bool {
        matches!(self.peek().kind, Kind::LineEnd | Kind::End)
    }

    /// Whether this symbol stands behind what stands here.
    pub fn second_is(&self, symbol: &str) -> bool {
        self.is((self.at + 1).min(self.tokens.len() - 1), symbol)
    }

    /// Whether a name with a parenthesis behind it stands here.
    pub fn sees_call(&self) -> bool {
        self.sees_name() && self.second_is("(")
    }

    /// Go over this number, written so, if it stands here.
    pub fn take_number(&mut self, number: &str) -> bool {
        let found = matches!(&self.peek().kind, Kind::Number(digits) if digits == number);
        if found {
            self.advance();
        }
        found
    }

    /// Where the cursor is, to come back to.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Go to a place where the cursor was or will be.
    pub fn seek(&mut self, position: usize) {
        self.at = position;
    }

    /// Place of the first of these words on the rest of the line.
    pub fn find_on_line(&self, words: &[&str]) -> Option<usize> {
        let line =
            (self.at..self.tokens.len()).take_while(|&at| !matches!(self.tokens[at].kind, Kind::LineEnd | Kind::End));
        line.into_iter().find(|&at| words.iter().any(|word| self.is(at, word)))
    }

    /// Whether a name stands here: a quoted word, or one that is not reserved.
    pub fn sees_name(&self) -> bool {
        match &self.peek().kind {
            Kind::Word { text, quoted } => *quoted || !(self.reserved)(text) && !NUMBERS.contains(&text.as_str()),
            _ => false,
        }
    }

    /// A name.
    ///
    /// # Errors
    /// `E-SYNTAX`
    pub fn name(&mut self) -> Result<Name, Diagnostic> {
        if !self.sees_name() {
            return Err(self.expected("a name"));
        }
        match self.advance() {
            Token { kind: Kind::Word { text, .. }, span } => Ok(Name { text, span }),
            _ => unreachable!("a word stood here"),
        }
    }

    /// The number of `%3`, and its place.
    ///
    /// # Errors
    /// `E-SYNTAX`
    pub fn id(&mut self) -> Result<(usize, Span), Diagnostic> {
        match self.peek() {
            &Token { kind: Kind::Id(number), span } => {
                self.advance();
                Ok((number, span))
            }
            _ => Err(self.expected("a number such as `%0`")),
        }
    }

    /// Whether the number of an id stands here.
    pub fn sees_id(&self) -> bool {
        matches!(self.peek().kind, Kind::Id(_))
    }

    /// Whether a real number stands here, with a sign that touches it if it is negative.
    pub fn sees_real(&self) -> bool {
        let number = |token: &Token| match &token.kind {
            Kind::Number(_) => true,
            Kind::Word { text, quoted: false } => NUMBERS.contains(&text.as_str()),
            _ => false,
        };
        let touches = self.peek().span.end == self.second().span.start;
        number(self.peek()) || self.sees("-") && touches && number(self.second())
    }

    /// A whole number that fits its type, with sign if it is negative.
    ///
    /// # Errors
    /// `E-SYNTAX`
    pub fn integer<T: std::str::FromStr>(&mut self) -> Result<T, Diagnostic> {
        let start = self.peek().span;
        let sign = if self.take("-") { "-" } else { "" };
        let Kind::Number(digits) = &self.peek().kind else { return Err(self.expected("a whole number")) };
        let number = format!("{sign}{digits}");
        let value = number.parse().map_err(|_| {
            let span = start.to(self.peek().span);
            Diagnostic::new(Code::Syntax, span, format!("`{number}` is not a whole number that can stand here"))
        })?;
        self.advance();
        Ok(value)
    }

    /// A whole number of at most this size: so small that sums and products of some do not overflow.
    ///
    /// # Errors
    /// `E-SYNTAX`, `E-LIMIT`
    pub fn bounded<T: std::str::FromStr + Copy + Into<i64>>(&mut self, largest: i64) -> Result<T, Diagnostic> {
        let start = self.peek().span;
        let value: T = self.integer()?;
        let size: i64 = value.into();
        if size.unsigned_abs() > largest.unsigned_abs() {
            let span = start.to(self.tokens[self.at - 1].span);
            return Err(Diagnostic::new(
                Code::Limit,
                span,
                format!("{size} is too large here, the limit is {largest}"),
            ));
        }
        Ok(value)
    }

    /// A real number: `0.5`, `-1e-7`, `inf`, `nan`.
    ///
    /// # Errors
    /// `E-SYNTAX`
    pub fn real(&mut self) -> Result<f64, Diagnostic> {
        let sign = if self.take("-") { "-" } else { "" };
        let digits = match &self.peek().kind {
            Kind::Number(digits) => digits,
            Kind::Word { text, quoted: false } if NUMBERS.contains(&text.as_str()) => text,
            _ => return Err(self.expected("a number")),
        };
        let value = format!("{sign}{digits}").parse().map_err(|_| self.expected("a number"))?;
        self.advance();
        Ok(value)
    }

    /// `[a, b, c]`, each read by `one`.
    ///
    /// # Errors
    /// `E-SYNTAX`, and those of the parts.
    pub fn list<T>(&mut self, mut one: impl FnMut(&mut Cursor) -> Result<T, Diagnostic>) -> Result<Vec<T>, Diagnostic> {
        let mut list = Vec::new();
        self.expect("[")?;
        while !self.sees("]") {
            if !list.is_empty() {
                self.expect(",")?;
            }
            list.push(one(self)?);
        }
        self.expect("]")?;
        Ok(list)
    }

    /// The origin at the end of a statement, if there is one: `@ 20..36, 4..8 as h, g`.
    ///
    /// # Errors
    /// `E-SYNTAX`
    pub fn origin(&mut self) -> Result<Origin, Diagnostic> {
        let (mut spans, mut names) = (Vec::new(), Vec::new());
        if !self.take("@") {
            return Ok(Origin::default());
        }
        if !self.sees("as") {
            spans.push(self.span()?);
            while self.take(",") {
                spans.push(self.span()?);
            }
        }
        if self.take("as") {
            names.push(self.name()?.text);
            while self.take(",") {
                names.push(self.name()?.text);
            }
        }
        Ok(Origin::new(spans, names))
    }

    /// A place in the source: `20..36`.
    fn span(&mut self) -> Result<Span, Diagnostic> {
        let start = self.integer()?;
        self.expect("..")?;
        Ok(Span::new(start, self.integer()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(text: &str) -> Cursor {
        Cursor::new(text, |word| ["for", "inf"].contains(&word)).expect("tokens")
    }

    #[test]
    fn words_of_the_form_are_names_in_quotes_only() {
        let mut cursor = cursor("h \"for\" for");
        assert_eq!(cursor.name().expect("a name").text, "h");
        assert!(!cursor.sees("for"));
        assert_eq!(cursor.name().expect("a name").text, "for");
        assert!(cursor.sees("for"));
        let error = cursor.name().expect_err("a word of the form");
        assert_eq!(error.message, "expected a name, found `for`");
        assert_eq!(error.help.as_deref(), Some("a name that is a word of this form stands in quotes: \"for\""));
    }

    #[test]
    fn numbers_have_signs() {
        assert_eq!(cursor("-0.5").real(), Ok(-0.5));
        assert_eq!(cursor("-inf").real(), Ok(f64::NEG_INFINITY));
        assert_eq!(cursor("- 3").integer(), Ok(-3i64));
        assert_eq!(cursor("-3").integer::<u32>().expect_err("negative").span, Some(Span::new(0, 2)));
        assert!(cursor("-3").sees_real() && !cursor("- 3").sees_real());
    }

    #[test]
    fn origins_come_back() {
        let whole = Origin::new([Span::new(20, 36), Span::new(4, 8)], ["h".into(), "for".into()]);
        assert_eq!(cursor("@ 20..36, 4..8 as h, \"for\"").origin(), Ok(whole));
        assert_eq!(cursor("@ as h").origin(), Ok(Origin::new([], ["h".into()])));
        assert_eq!(cursor("").origin(), Ok(Origin::default()));
    }

    #[test]
    fn the_end_is_never_passed() {
        let mut cursor = cursor("a");
        for _ in 0..5 {
            cursor.advance();
        }
        assert!(cursor.at_end());
        assert_eq!(cursor.expected("`)`").message, "expected `)`, found the end of the text");
    }
}
