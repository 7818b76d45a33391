//! Text to fixed-point IR.

use super::{COMBINES, FINISHES, ROLES, function, reserved};
use crate::fixed::{Columns, Finish, Kind, Operand, Operation, Program, Role, SumBound, Tensor};
use crate::tensor::Iterator;
use crate::text::Cursor;
use crate::text::known::{self, Known, Loops};
use crate::text::table::{read_entries, read_shift};
use crate::text::token::Kind as Token;
use arch::division::Rounding;
use arch::function::FunctionTable;
use arch::isa::Combine;
use arch::{Code, Diagnostic};

impl std::str::FromStr for Program {
    type Err = Diagnostic;

    /// Read a program; its laws are the caller's to check.
    fn from_str(text: &str) -> Result<Program, Diagnostic> {
        let mut cursor = Cursor::new(text, reserved)?;
        let known = Known::declared(&mut cursor, |cursor| {
            let declares = role_word(cursor).is_some();
            if declares {
                cursor.advance();
            }
            Ok(declares)
        })?;
        let mut reader = Reader { known, program: head(&mut cursor)?, cursor };
        while !reader.cursor.at_end() {
            reader.line()?;
        }
        Ok(reader.program)
    }
}

/// `word 16` and `accumulator 48`, on the first two lines.
fn head(cursor: &mut Cursor) -> Result<Program, Diagnostic> {
    let mut width = |word| {
        cursor.expect(word)?;
        let width = cursor.bounded(128)?;
        cursor.line_end()?;
        Ok(width)
    };
    let (word, accumulator) = (width("word")?, width("accumulator")?);
    let (tensors, operations, tables, names) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    Ok(Program { word, accumulator, tensors, operations, tables, names })
}

/// Largest shift and distance of a binary point that is read.
const FAR: i64 = 4096;

/// Most segments of a table, as a power of two: more do not fit any table memory.
const MOST_SEGMENTS: u32 = 14;

/// The word at the cursor that begins a declaration.
fn role_word(cursor: &Cursor) -> Option<&'static str> {
    ROLES.iter().map(|(word, _)| *word).chain(["parameter"]).find(|word| cursor.sees(word))
}

struct Reader {
    cursor: Cursor,
    known: Known,
    program: Program,
}

impl Reader {
    fn line(&mut self) -> Result<(), Diagnostic> {
        if role_word(&self.cursor).is_some() {
            let tensor = self.declaration()?;
            self.program.tensors.push(tensor);
        } else if self.cursor.take("table") {
            let table = self.table()?;
            self.program.tables.push(table);
        } else if self.cursor.take("name") {
            let name = self.cursor.name()?.text;
            self.cursor.expect("=")?;
            let tensor = self.known.tensor(&mut self.cursor)?;
            self.program.names.push((name, tensor));
        } else {
            let operation = self.operation()?;
            self.program.operations.push(operation);
        }
        self.cursor.line_end()
    }

    /// `parameter p[2]: q0 = [1, -2]  @ 3..9`
    fn declaration(&mut self) -> Result<Tensor, Diagnostic> {
        let word = role_word(&self.cursor).expect("a declaration begins here");
        self.cursor.expect(word)?;
        let name = self.cursor.name()?.text;
        let shape = known::shape(&mut self.cursor)?;
        self.cursor.expect(":")?;
        let fraction = self.fraction()?;
        let columns = if self.cursor.take("columns") { Some(self.columns(&shape)?) } else { None };
        let role = if let Some((_, role)) = ROLES.iter().find(|(known, _)| *known == word) {
            role.clone()
        } else {
            self.cursor.expect("=")?;
            Role::Parameter(self.cursor.list(Cursor::integer)?.into())
        };
        Ok(Tensor { name, shape, role, fraction, columns, span: self.cursor.origin()?.span() })
    }

    /// `1 + [0, 5]`: more bits for each index of the second dimension
    fn columns(&mut self, shape: &[u32]) -> Result<Columns, Diagnostic> {
        let place = self.cursor.peek().span;
        let dimension: usize = self.cursor.integer()?;
        self.cursor.expect("+")?;
        let more = self.cursor.list(|cursor| cursor.bounded(FAR))?;
        if shape.get(dimension).is_some_and(|&extent| extent as usize == more.len()) {
            Ok(Columns { dimension, more })
        } else {
            Err(Diagnostic::new(Code::Shape, place, "each index of a dimension has its bits".to_owned()))
        }
    }

    /// `q14`, `q-3`
    fn fraction(&mut self) -> Result<i32, Diagnostic> {
        let digits = match &self.cursor.peek().kind {
            Token::Word { text, quoted: false } => text.strip_prefix('q').map(str::to_owned),
            _ => None,
        };
        let fraction =
            digits.and_then(|digits| if digits.is_empty() { Some(None) } else { digits.parse().ok().map(Some) });
        let Some(fraction) = fraction else {
            return Err(self.cursor.expected("bits after the binary point, such as `q14`"));
        };
        let place = self.cursor.advance().span;
        match fraction {
            Some(fraction) if fraction <= FAR as i32 => Ok(fraction),
            Some(_) => Err(Diagnostic::new(Code::Limit, place, format!("binary points are at most {FAR} bits away"))),
            None => self.cursor.bounded(FAR),
        }
    }

    /// `sigmoid#0: q11 -> q15, 2^6 segments at 0`, `exp#1: q3 -> q9, 2^4 segments of 2^2 at 64 = [(1, 0), ...]`
    fn table(&mut self) -> Result<FunctionTable, Diagnostic> {
        let name = self.cursor.name()?;
        let Some(function) = function(&name.text) else {
            let message = format!("no table can hold the function `{}`", name.text);
            return Err(Diagnostic::new(Code::Undef, name.span, message));
        };
        self.cursor.expect("#")?;
        let place = self.cursor.peek().span;
        if self.cursor.integer::<usize>()? != self.program.tables.len() {
            return Err(Diagnostic::new(Code::Syntax, place, format!("this is table {}", self.program.tables.len())));
        }
        self.cursor.expect(":")?;
        let input_fraction = self.fraction()?;
        self.cursor.expect("->")?;
        let output_fraction = self.fraction()?;
        self.cursor.expect(",")?;
        self.power_of_two()?;
        let (place, word) = (self.cursor.peek().span, self.program.word);
        let log2: u32 = self.cursor.integer()?;
        let most = MOST_SEGMENTS.min(word.saturating_sub(2));
        if !(1..=most).contains(&log2) {
            let message = format!("a table has 2^1 to 2^{most} segments");
            return Err(Diagnostic::new(Code::Syntax, place, message));
        }
        self.cursor.expect("segments")?;
        let mut table = FunctionTable::build(function, word, input_fraction, output_fraction, log2);
        if self.cursor.take("of") {
            self.power_of_two()?;
            read_shift(&mut self.cursor, &mut table)?;
        }
        self.cursor.expect("at")?;
        table.usage.base = self.cursor.integer()?;
        read_entries(&mut self.cursor, &mut table)?;
        Ok(table)
    }

    /// `2^`
    fn power_of_two(&mut self) -> Result<(), Diagnostic> {
        if !self.cursor.take_number("2") {
            return Err(self.cursor.expected("a power of two, such as `2^6`"));
        }
        self.cursor.expect("^")
    }

    fn operation(&mut self) -> Result<Operation, Diagnostic> {
        let loops = Loops::of_line(&mut self.cursor)?;
        let iterators = loops.iterators.as_slice();
        let (out, out_index) = self.known.element(&mut self.cursor, iterators)?;
        self.cursor.expect("=")?;
        let kind = self.kind(iterators)?;
        loops.pass(&mut self.cursor)?;
        let origin = self.cursor.origin()?;
        let Loops { iterators, free, .. } = loops;
        Ok(Operation { iterators, free, out, out_index, kind, origin })
    }

    fn kind(&mut self, iterators: &[Iterator]) -> Result<Kind, Diagnostic> {
        let word = self.cursor.name()?;
        if self.cursor.take("#") {
            let table: usize = self.cursor.integer()?;
            if self.program.tables.get(table).is_none_or(|known| known.function.to_string() != word.text) {
                let message = format!("there is no table {}#{table}", word.text);
                return Err(Diagnostic::new(Code::Undef, word.span, message));
            }
            self.cursor.expect("(")?;
            let input = self.operand(iterators)?;
            self.cursor.expect(")")?;
            return Ok(Kind::Function { table, input });
        }
        let finish = FINISHES.iter().find(|(finish, _)| *finish == word.text).map(|(_, finish)| *finish);
        let rounding = match word.text.as_str() {
            "quotient" => Some(Rounding::Nearest),
            "quotient_down" => Some(Rounding::Down),
            _ => None,
        };
        if finish.is_none() && rounding.is_none() && word.text != "product" {
            let message = format!("no operation is named `{}`", word.text);
            return Err(Diagnostic::new(Code::Undef, word.span, message));
        }
        self.cursor.expect("(")?;
        if let Some(rounding) = rounding {
            let dividend = self.operand(iterators)?;
            let places = self.shift("<<")?;
            self.cursor.expect("/")?;
            let divisor = self.operand(iterators)?;
            self.cursor.expect(")")?;
            return Ok(Kind::Divide { dividend, divisor, places, rounding });
        }
        let Some(finish) = finish else {
            let factor = self.operand(iterators)?;
            self.cursor.expect(")")?;
            let shift = self.shift(">>")?;
            self.cursor.expect("from")?;
            return Ok(Kind::Product { factor, shift, one: self.cursor.integer()? });
        };
        self.sum(finish, iterators)
    }

    /// A sum behind its bracket: a start, one product.
    fn sum(&mut self, finish: Finish, iterators: &[Iterator]) -> Result<Kind, Diagnostic> {
        let begins = |cursor: &Cursor| cursor.sees_real() || cursor.sees_name() || cursor.sees_id();
        let start = if begins(&self.cursor) { Some(self.operand(iterators)?) } else { None };
        let align = self.shift("<<")?;
        let (mut combine, mut product, mut square, mut scale) = (Combine::Add, None, false, 0);
        if let Some(&(sign, known)) = COMBINES.iter().find(|(sign, _)| self.cursor.sees(sign)) {
            self.cursor.expect(sign)?;
            combine = known;
            square = self.cursor.take("(");
            let a = self.operand(iterators)?;
            self.cursor.expect(if square { "-" } else { "*" })?;
            product = Some((a, self.operand(iterators)?));
            if square {
                self.cursor.expect(")")?;
                self.cursor.expect("^")?;
                if !self.cursor.take_number("2") {
                    return Err(self.cursor.expected("a square, `^2`"));
                }
            }
            if self.cursor.take("*") {
                self.power_of_two()?;
                scale = self.cursor.bounded(FAR)?;
            }
        }
        self.cursor.expect(")")?;
        let shift = self.shift(">>")?;
        let limited = matches!(finish, Finish::Positive(_)) && self.cursor.take("limit");
        let finish = if limited { Finish::Positive(self.cursor.integer()?) } else { finish };
        let bound = if self.cursor.take("within") {
            self.cursor.expect("ranges")?;
            SumBound::Ranges
        } else {
            SumBound::Formats
        };
        Ok(Kind::MultiplyAdd { start, align, product, square, scale, combine, shift, finish, bound })
    }

    /// A shift, 0 if there is none.
    fn shift(&mut self, sign: &str) -> Result<u32, Diagnostic> {
        if self.cursor.take(sign) { self.cursor.bounded(FAR) } else { Ok(0) }
    }

    /// `w[i]` or `19661:q16`
    fn operand(&mut self, iterators: &[Iterator]) -> Result<Operand, Diagnostic> {
        if self.cursor.sees_real() {
            let word = self.cursor.integer()?;
            self.cursor.expect(":")?;
            return Ok(Operand::Constant { word, fraction: self.fraction()? });
        }
        if !self.cursor.sees_name() && !self.cursor.sees_id() {
            return Err(self.cursor.expected("an element or a constant"));
        }
        let (tensor, index) = self.known.element(&mut self.cursor, iterators)?;
        Ok(Operand::Read { tensor, index })
    }
}
