//! Text form of fixed-point IR.
//!
//! ```text
//! program word 16 accumulator 48
//! tensor %0 x [3] q13 input
//! tensor %1 h [] q12 temporary
//! table 0 sigmoid q12 -> q15, 64 entries at 0
//! %1 h[] = sum i:0..3 ( %2[i]*%0[i] ) >> 15
//! %3 d[] = %1[] << 2 - %4[]*(1:q0) >> 3
//! %5 a[q] = table 0 ( %6[q] )
//! %7 p[] = negative( %1[] << 2 - %4[]*(1:q0) )
//! ```
//!
//! `q13` is the number of bits after the binary point, `<< align`, `>> shift`, `* 2^k` the scale of the products.

use super::{Kind, Operand, Operation, Program, Role};
use crate::tensor::Affine;
use arch::division::Rounding;
use arch::isa::{Combine, Finish};
use std::fmt::{Display, Formatter, Result};

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "program word {} accumulator {}", self.word, self.accumulator)?;
        for (id, tensor) in self.tensors.iter().enumerate() {
            let role = match &tensor.role {
                Role::Input => "input".to_string(),
                Role::State => "state".to_string(),
                Role::Parameter(words) => format!("parameter {words:?}"),
                Role::Temporary => "temporary".to_string(),
                Role::Output => "output".to_string(),
            };
            writeln!(f, "tensor %{id} {} {:?} q{} {role}", tensor.name, tensor.shape, tensor.fraction)?;
        }
        for (id, table) in self.tables.iter().enumerate() {
            let (entries, base) = (table.entries.len(), table.usage.base);
            let (function, input, output) = (table.function, table.input_fraction, table.output_fraction);
            writeln!(f, "table {id} {function} q{input} -> q{output}, {entries} entries at {base}")?;
        }
        for operation in &self.operations {
            writeln!(f, "{}", Line { program: self, operation })?;
        }
        for (name, tensor) in &self.names {
            writeln!(f, "name {name} = {tensor}")?;
        }
        Ok(())
    }
}

/// One operation, with its program at hand for names.
struct Line<'a> {
    program: &'a Program,
    operation: &'a Operation,
}

impl Display for Line<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Operation { iterators, free, out, out_index, kind, .. } = self.operation;
        write!(f, "{out} {}{} = ", self.program.tensors[out.0].name, self.index(out_index))?;
        let reduction: Vec<String> =
            iterators[*free..].iter().map(|i| format!("{}:{}..{}", i.name, i.low, i.high)).collect();
        match kind {
            Kind::MultiplyAdd { start, align, product, scale, combine, shift, finish } => {
                if *finish == Finish::Negative {
                    write!(f, "negative( ")?;
                }
                match combine {
                    Combine::Add | Combine::Subtract => {}
                    Combine::Maximum => write!(f, "max( ")?,
                    Combine::Minimum => write!(f, "min( ")?,
                }
                if let Some(start) = start {
                    write!(f, "{}", self.operand(start))?;
                    if *align > 0 {
                        write!(f, " << {align}")?;
                    }
                }
                if let Some((a, b)) = product {
                    let sign = match (start.is_some(), combine) {
                        (true, Combine::Add) => " + ",
                        (true, Combine::Subtract) => " - ",
                        (true, Combine::Maximum | Combine::Minimum) => ", ",
                        (false, Combine::Subtract) => "-",
                        (false, _) => "",
                    };
                    let product = format!("{}*{}", self.operand(a), self.operand(b));
                    let product = if *scale == 0 { product } else { format!("{product} * 2^{scale}") };
                    if reduction.is_empty() {
                        write!(f, "{sign}{product}")?;
                    } else {
                        let sum = if combine.compares() { "all" } else { "sum" };
                        write!(f, "{sign}{sum} {} ( {product} )", reduction.join(" "))?;
                    }
                }
                if start.is_none() && product.is_none() {
                    write!(f, "0")?;
                }
                if combine.compares() {
                    write!(f, " )")?;
                }
                if *finish == Finish::Negative {
                    write!(f, " )")?;
                }
                if *shift > 0 {
                    write!(f, " >> {shift}")?;
                }
            }
            Kind::Product { factor, shift, one } => {
                write!(f, "product {} from {one} ( {} ) >> {shift}", reduction.join(" "), self.operand(factor))?;
            }
            Kind::Divide { dividend, divisor, places, rounding } => {
                let how = if *rounding == Rounding::Down { "quotient down" } else { "quotient" };
                write!(f, "{how} ( {} << {places} / {} )", self.operand(dividend), self.operand(divisor))?;
            }
            Kind::Function { table, input } => write!(f, "table {table} ( {} )", self.operand(input))?,
        }
        let free: Vec<String> =
            iterators[..*free].iter().map(|i| format!("{}:{}..{}", i.name, i.low, i.high)).collect();
        if !free.is_empty() {
            write!(f, "    for {}", free.join(" "))?;
        }
        Ok(())
    }
}

impl Line<'_> {
    fn operand(&self, operand: &Operand) -> String {
        match operand {
            Operand::Read { tensor, index } => format!("{tensor}{}", self.index(index)),
            Operand::Constant { word, fraction } => format!("({word}:q{fraction})"),
        }
    }

    fn index(&self, index: &[Affine]) -> String {
        let forms: Vec<String> = index.iter().map(|form| self.affine(form)).collect();
        format!("[{}]", forms.join(","))
    }

    fn affine(&self, form: &Affine) -> String {
        let mut parts: Vec<String> = Vec::new();
        for &(iterator, coefficient) in &form.terms {
            let name = &self.operation.iterators[iterator.0].name;
            parts.push(match coefficient {
                1 => name.clone(),
                c => format!("{c}{name}"),
            });
        }
        if form.offset != 0 || parts.is_empty() {
            parts.push(form.offset.to_string());
        }
        parts.join("+").replace("+-", "-")
    }
}
