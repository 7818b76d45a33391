//! Text to tensor IR.

use super::{ROLES, SIGNS, element, reserved, value};
use crate::tensor::{Aggregate, Descent, Element, Guard, Iterator, Nest, Program, Role, Start, Tensor, Update};
use crate::text::Cursor;
use crate::text::known::{self, Known, Loops, affine};
use crate::text::token::Kind;
use arch::{Diagnostic, Span};

impl std::str::FromStr for Program {
    type Err = Diagnostic;

    /// Read a program; its laws are the caller's to check.
    fn from_str(text: &str) -> Result<Program, Diagnostic> {
        let mut cursor = Cursor::new(text, reserved)?;
        let known = Known::declared(&mut cursor, declares)?;
        let mut reader = Reader { known, program: Program::default(), cursor };
        while !reader.cursor.at_end() {
            reader.line()?;
        }
        Ok(reader.program)
    }
}

/// The word at the cursor that begins a declaration.
fn role_word(cursor: &Cursor) -> Option<&'static str> {
    let words = ROLES.iter().map(|(word, _)| *word).chain(["parameter", "gradient"]);
    words.into_iter().find(|word| cursor.sees(word))
}

/// Go to the name of a declaration, if one begins here.
fn declares(cursor: &mut Cursor) -> Result<bool, Diagnostic> {
    if role_word(cursor).is_none() {
        return Ok(false);
    }
    cursor.advance();
    if cursor.take("(") {
        cursor.skip_to(&[")"]);
        cursor.expect(")")?;
    }
    Ok(true)
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
        } else if self.cursor.take("name") {
            let name = self.cursor.name()?.text;
            self.cursor.expect("=")?;
            let tensor = self.known.tensor(&mut self.cursor)?;
            self.program.names.push((name, tensor));
        } else if self.cursor.take("integer") {
            let name = self.cursor.name()?.text;
            self.cursor.expect("=")?;
            self.program.integers.push((name, self.cursor.integer()?));
        } else {
            self.statement()?;
        }
        self.cursor.line_end()
    }

    /// `input x[3][4]: uint16 = [...]  @ 3..9`
    fn declaration(&mut self) -> Result<Tensor, Diagnostic> {
        let word = role_word(&self.cursor).expect("a declaration begins here");
        self.cursor.expect(word)?;
        let mut role = ROLES.iter().find(|(known, _)| *known == word).map_or(Role::Temporary, |(_, role)| role.clone());
        if word == "gradient" {
            self.cursor.expect("(")?;
            role = Role::Gradient(self.known.tensor(&mut self.cursor)?);
            self.cursor.expect(")")?;
        }
        let name = self.cursor.name()?.text;
        let shape = known::shape(&mut self.cursor)?;
        let element = if self.cursor.take(":") { self.element_type()? } else { Element::Real };
        if word == "parameter" {
            self.cursor.expect("=")?;
            role = Role::Parameter(self.cursor.list(Cursor::real)?.into());
        }
        Ok(Tensor { name, shape, role, element, span: self.place()? })
    }

    fn element_type(&mut self) -> Result<Element, Diagnostic> {
        let found = match &self.cursor.peek().kind {
            Kind::Word { text, quoted: false } => element(text),
            _ => None,
        };
        let found = found.ok_or_else(|| self.cursor.expected("an element type, such as `real` or `int8`"))?;
        self.cursor.advance();
        Ok(found)
    }

    /// The place at the end of a line that is no Nest.
    fn place(&mut self) -> Result<Span, Diagnostic> {
        Ok(self.cursor.origin()?.span())
    }

    /// A Nest, a descent or an update.
    fn statement(&mut self) -> Result<(), Diagnostic> {
        let start = self.cursor.position();
        let tensor = self.known.tensor(&mut self.cursor)?;
        if self.cursor.take("-=") {
            let rate = self.cursor.real()?;
            self.cursor.expect("*")?;
            let gradient = self.known.tensor(&mut self.cursor)?;
            let span = self.place()?;
            self.program.descents.push(Descent { state: tensor, gradient, rate, span });
        } else if self.cursor.take(":=") {
            let next = self.known.tensor(&mut self.cursor)?;
            self.program.updates.push(Update { state: tensor, next });
        } else {
            self.cursor.seek(start);
            let nest = self.nest()?;
            self.program.nests.push(nest);
        }
        Ok(())
    }

    /// The loops come first: they say what the names in the index and the value mean.
    fn nest(&mut self) -> Result<Nest, Diagnostic> {
        let loops = Loops::of_line(&mut self.cursor)?;
        let iterators = loops.iterators.as_slice();
        let (out, out_index) = self.known.element(&mut self.cursor, iterators)?;
        let aggregate = self.sign()?;
        let start = self.start(iterators)?;
        let body = value::read(&mut self.cursor, &self.known, iterators)?;
        loops.pass(&mut self.cursor)?;
        let guards = self.guards(iterators)?;
        if self.cursor.take("where") {
            // Read with the value.
            self.cursor.skip_to(&["@"]);
        }
        let origin = self.cursor.origin()?;
        let Loops { iterators, free, .. } = loops;
        Ok(Nest { iterators, free, guards, out, out_index, aggregate, start, body, origin })
    }

    fn sign(&mut self) -> Result<Aggregate, Diagnostic> {
        let position = self.cursor.position();
        for (sign, aggregate) in SIGNS {
            if sign.iter().all(|part| self.cursor.take(part)) {
                return Ok(aggregate);
            }
            self.cursor.seek(position);
        }
        Err(self.cursor.expected("`=`, `+=`, `*=`, `min=`, `max=`, `-=` or `:=`"))
    }

    /// `from 0.5:` or `from w[i]:`
    fn start(&mut self, iterators: &[Iterator]) -> Result<Start, Diagnostic> {
        if !self.cursor.take("from") {
            return Ok(Start::Identity);
        }
        let start = if self.cursor.sees_real() {
            Start::Fill(self.cursor.real()?)
        } else {
            let (tensor, index) = self.known.element(&mut self.cursor, iterators)?;
            Start::Element { tensor, index }
        };
        self.cursor.expect(":")?;
        Ok(start)
    }

    /// `if 0 <= i + j < 5 and i - j == 0`
    fn guards(&mut self, iterators: &[Iterator]) -> Result<Vec<Guard>, Diagnostic> {
        let mut guards = Vec::new();
        let mut more = self.cursor.take("if");
        while more {
            let position = self.cursor.position();
            let within = self.cursor.take_number("0") && self.cursor.take("<=");
            if !within {
                self.cursor.seek(position);
            }
            let value = affine(&mut self.cursor, iterators)?;
            guards.push(if within {
                self.cursor.expect("<")?;
                Guard::Within { value, bound: self.cursor.bounded(known::LARGEST)? }
            } else {
                self.cursor.expect("==")?;
                if !self.cursor.take_number("0") {
                    return Err(self.cursor.expected("`0`"));
                }
                Guard::Zero { value }
            });
            more = self.cursor.take("and");
        }
        Ok(guards)
    }
}
