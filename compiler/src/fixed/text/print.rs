//! Fixed-point IR to text.

use super::{COMBINES, FINISHES, ROLES, reserved};
use crate::fixed::{Columns, Finish, Kind, Operand, Operation, Program, Role, SumBound};
use crate::tensor::TensorId;
use crate::text::names::{Loops, Names};
use crate::text::table::{entries, usual};
use crate::text::write;
use arch::Origin;
use arch::division::Rounding;
use arch::function::FunctionTable;
use arch::isa::UNLIMITED;
use std::fmt::{Display, Formatter, Result};

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "word {}\naccumulator {}", self.word, self.accumulator)?;
        let names = Names::new(self.tensors.iter().map(|tensor| tensor.name.as_str()), reserved);
        for (id, tensor) in self.tensors.iter().enumerate() {
            let shape = write::list(&tensor.shape, "", |extent| format!("[{extent}]"));
            let known = ROLES.iter().find(|(_, role)| *role == tensor.role);
            let role = known.map_or("parameter", |(word, _)| word);
            write!(f, "{role} {}{shape}: q{}", names.tensor(TensorId(id)), tensor.fraction)?;
            if let Some(Columns { dimension, more }) = &tensor.columns {
                write!(f, " columns {dimension} + [{}]", write::list(more.iter(), ", ", i32::to_string))?;
            }
            if let Role::Parameter(words) = &tensor.role {
                write!(f, " = [{}]", write::list(words.iter(), ", ", i64::to_string))?;
            }
            writeln!(f, "{}", write::origin(&Origin::of(tensor.span), reserved))?;
        }
        for (number, table) in self.tables.iter().enumerate() {
            writeln!(f, "table {}#{number}: {}", table.function, line_of(table))?;
        }
        writeln!(f)?;
        for operation in &self.operations {
            let line = Line { program: self, loops: names.loops(&operation.iterators), operation };
            writeln!(f, "{}{}", line.text(), write::origin(&operation.origin, reserved))?;
        }
        for (name, tensor) in &self.names {
            writeln!(f, "name {} = {}", write::name(name, reserved), names.tensor(*tensor))?;
        }
        Ok(())
    }
}

impl Program {
    /// An operation as a line of the text form, for messages: its accesses may break laws.
    pub(crate) fn line(&self, operation: &Operation) -> String {
        let names = Names::new(self.tensors.iter().map(|tensor| tensor.name.as_str()), reserved);
        Line { program: self, loops: names.loops(&operation.iterators), operation }.text()
    }
}

/// `q11 -> q15, 2^6 segments at 0`, and what is not as in such a table: the words of a segment, the entries.
fn line_of(table: &FunctionTable) -> String {
    let FunctionTable { input_fraction, output_fraction, usage, .. } = table;
    let usual = usual(table);
    let mut line = format!("q{input_fraction} -> q{output_fraction}, 2^{} segments", usage.log2);
    if usual.usage.segment_shift != usage.segment_shift {
        line += &format!(" of 2^{}", usage.segment_shift);
    }
    line += &format!(" at {}", usage.base);
    line + &entries(table)
}

/// An operation that becomes a line.
struct Line<'a> {
    program: &'a Program,
    loops: Loops<'a>,
    operation: &'a Operation,
}

impl Line<'_> {
    fn text(&self) -> String {
        let Operation { free, out, out_index, kind, .. } = self.operation;
        let value = match kind {
            Kind::MultiplyAdd { shift, finish, bound, .. } => {
                let (finish, limit) = match finish {
                    Finish::Positive(limit) if *limit != UNLIMITED => {
                        (Finish::Positive(UNLIMITED), format!(" limit {limit}"))
                    }
                    finish => (*finish, String::new()),
                };
                let (word, _) = FINISHES.iter().find(|(_, known)| *known == finish).expect("every finish has a word");
                let bound = if *bound == SumBound::Ranges { " within ranges" } else { "" };
                format!("{word}({}){}{limit}{bound}", self.sum(), shifted(">>", *shift))
            }
            Kind::Product { factor, shift, one } => {
                format!("product({}){} from {one}", self.operand(factor), shifted(">>", *shift))
            }
            Kind::Divide { dividend, divisor, places, rounding } => {
                let word = if *rounding == Rounding::Down { "quotient_down" } else { "quotient" };
                format!("{word}({}{} / {})", self.operand(dividend), shifted("<<", *places), self.operand(divisor))
            }
            Kind::Function { table, input } => {
                let function =
                    self.program.tables.get(*table).map_or_else(|| "?".to_owned(), |table| table.function.to_string());
                format!("{function}#{table}({})", self.operand(input))
            }
        };
        format!("{} = {value}{}", self.loops.element(*out, out_index), self.loops.clauses(*free))
    }

    /// `start << align + a * b * 2^scale`, `start << align + (a - b)^2 * 2^scale`
    fn sum(&self) -> String {
        let Kind::MultiplyAdd { start, align, product, square, scale, combine, .. } = &self.operation.kind else {
            return String::new();
        };
        let start = start.as_ref().map(|start| self.operand(start) + &shifted("<<", *align));
        let product = product.as_ref().map(|(a, b)| {
            let scale = if *scale == 0 { String::new() } else { format!(" * 2^{scale}") };
            let (sign, _) = COMBINES.iter().find(|(_, known)| known == combine).expect("every combination has a sign");
            let (a, b) = (self.operand(a), self.operand(b));
            if *square { format!("{sign} ({a} - {b})^2{scale}") } else { format!("{sign} {a} * {b}{scale}") }
        });
        write::list([start, product].into_iter().flatten(), " ", |part| part)
    }

    fn operand(&self, operand: &Operand) -> String {
        match operand {
            Operand::Read { tensor, index } => self.loops.element(*tensor, index),
            Operand::Constant { word, fraction } => format!("{word}:q{fraction}"),
        }
    }
}

/// A shift, if it is one.
fn shifted(sign: &str, by: u32) -> String {
    if by == 0 { String::new() } else { format!(" {sign} {by}") }
}
