//! Products of matrices, and sums over named indices.

use crate::build::{Loops, Refusal, Translated, Val, misfit, unsupported};
use crate::call::{Call, Slot};
use crate::expression::{Ex, fixed, it};
use crate::graph::Lowering;
use arch::Code;
use compiler::tensor::{Affine, Aggregate};

/// Translate an operator of this kind.
pub(crate) fn translate(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Option<Vec<Slot>>> {
    let one = |value: Val| Ok(Some(vec![Slot::Tensor(value)]));
    match c.node.operator {
        "MatMul" => one(l.matmul(c.input(0)?, c.input(1)?)?),
        "Gemm" => one(gemm(l, c)?),
        "Einsum" => one(einsum(l, c)?),
        "Det" => one(determinant(l, c)?),
        _ => Ok(None),
    }
}

impl Lowering<'_, '_> {
    /// Products of matrices, in the last two dimensions.
    pub(crate) fn matmul(&mut self, a: Val, b: Val) -> Translated<Val> {
        let (left, right) = (self.builder.shape(a), self.builder.shape(b));
        if left.is_empty() || right.is_empty() {
            return misfit("it multiplies matrices and vectors, not numbers");
        }
        let (vector_left, vector_right) = (left.len() == 1, right.len() == 1);
        let inner = left[left.len() - 1];
        let other = right[right.len().saturating_sub(2)];
        if inner != other {
            return misfit(format!(
                "{left:?} and {right:?} cannot be multiplied: the inner extents {inner} and {other} differ"
            ));
        }
        let outer = |shape: &[i64]| shape[..shape.len().saturating_sub(2)].to_vec();
        let mut shape = crate::build::broadcast_shapes(&[outer(&left), outer(&right)])?;
        let batch = shape.len();
        if !vector_left {
            shape.push(left[left.len() - 2]);
        }
        if !vector_right {
            shape.push(right[right.len() - 1]);
        }
        self.builder.reduce(&shape, &[inner], a.kind, Aggregate::Add, |builder, at, k| {
            let prefix = |own: &[i64]| {
                let dims = own.len().saturating_sub(2);
                at[batch - dims..batch]
                    .iter()
                    .zip(own)
                    .map(|(at, &extent)| if extent == 1 { fixed(0) } else { at.clone() })
                    .collect::<Vec<Affine>>()
            };
            let (mut of_a, mut of_b) = (prefix(&left), prefix(&right));
            if !vector_left {
                of_a.push(at[batch].clone());
            }
            of_a.push(k[0].clone());
            of_b.push(k[0].clone());
            if !vector_right {
                of_b.push(at[at.len() - 1].clone());
            }
            let _ = builder;
            Ex::Read(a.id, of_a) * Ex::Read(b.id, of_b)
        })
    }
}

fn gemm(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let (a, b) = (c.input(0)?, c.input(1)?);
    let (left, right) = (l.builder.shape(a), l.builder.shape(b));
    let ([_, _], [_, _]) = (&left[..], &right[..]) else {
        return misfit(format!("{left:?} and {right:?} are not matrices"));
    };
    let (turn_a, turn_b) = (c.int("transA", 0) != 0, c.int("transB", 0) != 0);
    let (rows, inner) = if turn_a { (left[1], left[0]) } else { (left[0], left[1]) };
    let (other, columns) = if turn_b { (right[1], right[0]) } else { (right[0], right[1]) };
    if inner != other {
        return misfit(format!(
            "{left:?} and {right:?} cannot be multiplied: the inner extents {inner} and {other} differ"
        ));
    }
    let product = l.builder.reduce(&[rows, columns], &[inner], a.kind, Aggregate::Add, |_, at, k| {
        let index = |turned: bool, row: &Affine, column: &Affine| {
            if turned { vec![column.clone(), row.clone()] } else { vec![row.clone(), column.clone()] }
        };
        Ex::Read(a.id, index(turn_a, &at[0], &k[0])) * Ex::Read(b.id, index(turn_b, &k[0], &at[1]))
    })?;
    let (alpha, beta) = (c.float("alpha", 1.0), c.float("beta", 1.0));
    let times = |x: Ex, factor: f64| if factor == 1.0 { x } else { x * factor };
    match c.optional(2)? {
        Some(bias) => {
            let wanted = l.builder.broadcast(&[product, bias])?;
            if wanted != [rows, columns] {
                return misfit(format!("the bias does not fit a result of [{rows}, {columns}]"));
            }
            l.builder.zip(&[product, bias], a.kind, |x| times(x[0].clone(), alpha) + times(x[1].clone(), beta))
        }
        None if alpha == 1.0 => Ok(product),
        None => l.builder.apply(product, |x| x * alpha),
    }
}

/// The dimensions of a term, one letter each; those of `...` have digits for names, the last one is 9.
fn spell(term: &str, rank: usize) -> Option<Vec<char>> {
    let letters = term.replace("...", "");
    let hidden = rank.checked_sub(letters.chars().count())?;
    if hidden > 9 || (hidden > 0) != term.contains("...") && hidden > 0 {
        return None;
    }
    let digits: String = (0..hidden).map(|n| char::from(b'9' - (hidden - 1 - n) as u8)).collect();
    Some(term.replace("...", &digits).chars().collect())
}

fn einsum(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let values = c.inputs()?;
    let text: String = c.text("equation", "").chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = match text.split_once("->") {
        Some((left, right)) => (left.to_owned(), Some(right.to_owned())),
        None => (text.clone(), None),
    };
    let wrong = || Refusal::new(Code::Syntax, format!("the equation `{text}` does not fit its operands"));
    let terms: Vec<&str> = left.split(',').collect();
    if terms.len() != values.len() {
        return Err(wrong());
    }
    let spelt: Vec<Vec<char>> = terms
        .iter()
        .zip(&values)
        .map(|(term, &value)| spell(term, l.builder.rank(value)))
        .collect::<Option<_>>()
        .ok_or_else(wrong)?;
    let mut extents: std::collections::BTreeMap<char, i64> = std::collections::BTreeMap::new();
    for (letters, &value) in spelt.iter().zip(&values) {
        for (&letter, extent) in letters.iter().zip(l.builder.shape(value)) {
            let known = extents.entry(letter).or_insert(extent);
            if *known == 1 {
                *known = extent;
            } else if extent != 1 && extent != *known {
                return Err(wrong());
            }
        }
    }
    let hidden: Vec<char> = extents.keys().copied().filter(char::is_ascii_digit).collect();
    let out: Vec<char> = if let Some(right) = right {
        right.replace("...", &hidden.iter().collect::<String>()).chars().collect()
    } else {
        let count = |letter: char| spelt.iter().flatten().filter(|&&other| other == letter).count();
        let once = extents.keys().copied().filter(|&letter| letter.is_ascii_alphabetic() && count(letter) == 1);
        hidden.iter().copied().chain(once).collect()
    };
    if out.iter().any(|letter| !extents.contains_key(letter)) {
        return Err(wrong());
    }
    let summed: Vec<char> = extents.keys().copied().filter(|letter| !out.contains(letter)).collect();
    let place = |letter: char| {
        let free = out.iter().position(|&other| other == letter);
        it(free.unwrap_or_else(|| out.len() + summed.iter().position(|&other| other == letter).unwrap_or(0)))
    };
    let product = spelt.iter().zip(&values).map(|(letters, &value)| {
        let shape = l.builder.shape(value);
        let index =
            letters.iter().zip(shape).map(|(&letter, extent)| if extent == 1 { fixed(0) } else { place(letter) });
        Ex::Read(value.id, index.collect())
    });
    let Some(body) = product.reduce(|a, b| a * b) else { return Err(wrong()) };
    let of = |letters: &[char]| -> Vec<i64> { letters.iter().map(|letter| extents[letter]).collect() };
    let (shape, over) = (of(&out), of(&summed));
    let loops = if over.is_empty() { Loops::each(&shape) } else { Loops::over(&shape, &over, Aggregate::Add) };
    l.builder.nested(&shape, values[0].kind, &loops, &body)
}

/// A determinant by its first row.
fn minor(read: &dyn Fn(i64, i64) -> Ex, row: i64, columns: &[i64]) -> Ex {
    let terms = columns.iter().enumerate().map(|(n, &column)| {
        let others: Vec<i64> = columns.iter().copied().filter(|&other| other != column).collect();
        let factor = read(row, column);
        let term = if others.is_empty() { factor } else { factor * minor(read, row + 1, &others) };
        if n % 2 == 1 { -term } else { term }
    });
    terms.reduce(|a, b| a + b).unwrap_or(Ex::Number(1.0))
}

/// Determinants of small matrices, by the first row.
fn determinant(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Val> {
    let x = c.input(0)?;
    let shape = l.builder.shape(x);
    let [outer @ .., n, m] = &shape[..] else { return misfit("it works on matrices") };
    if n != m || *n > 4 {
        return unsupported(
            format!("the determinant of {n} x {m} is not supported"),
            "square matrices of up to 4 rows are",
        );
    }
    let columns: Vec<i64> = (0..*n).collect();
    let outer = outer.to_vec();
    l.builder.map(&outer, x.kind, |_, at| {
        let read =
            |row: i64, column: i64| Ex::Read(x.id, at.iter().cloned().chain([fixed(row), fixed(column)]).collect());
        minor(&read, 0, &columns)
    })
}
