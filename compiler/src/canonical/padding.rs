//! Padding analysis: does what lies beyond the extents of a tensor stay zero?
//!
//! The array works on extents rounded up to its grid. Words beyond an extent start at zero (inputs, weights and constants are
//! padded with zeros); this analysis says which nests keep them so. Where it cannot prove it, writes have to be masked, and
//! padded points must not enter a sum.
//!
//! ```text
//! t[i] = w[i] * x[i]     0 * 0 = 0: kept             h = sum[i](t[i])     zeros add nothing: harmless
//! a[q] = sigmoid(s[q])   sigmoid(0) = 1/2: broken    p = pi[i](t[i])      a zero spoils the product: harmful
//! b[q] = 1 - a[q]        1 - 0 = 1: broken
//! ```

use super::primitive::{Atom, Primitive};
use crate::tensor::{Affine, IterId, Nest, Program};

/// Result of the analysis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Padding {
    /// Per tensor and dimension: words beyond the extent are zero, after each nest.
    pub tensors: Vec<Vec<bool>>,
    /// Per nest and iterator. Free: points beyond the range would write zero. Reduction: they would change nothing.
    pub nests: Vec<Vec<bool>>,
}

/// Prove what can be proved about padded words of a program in primitive form.
pub fn analyse(program: &Program) -> Padding {
    let mut padding = Padding {
        tensors: program.tensors.iter().map(|tensor| vec![true; tensor.shape.len()]).collect(),
        nests: program.nests.iter().map(|nest| vec![true; nest.iterators.len()]).collect(),
    };
    // Everything is zero until a nest breaks it; states carry what was broken into the next step.
    loop {
        let before = padding.clone();
        for (number, nest) in program.nests.iter().enumerate() {
            padding.nests[number] =
                (0..nest.iterators.len()).map(|k| harmless(program, &padding.tensors, nest, IterId(k))).collect();
            for dimension in 0..nest.out_index.len() {
                if let Some(iterator) = spans(program, nest, &nest.out_index, nest.out.0, dimension) {
                    padding.tensors[nest.out.0][dimension] &= padding.nests[number][iterator.0];
                }
            }
        }
        for update in &program.updates {
            for dimension in 0..padding.tensors[update.state.0].len() {
                let kept = padding.tensors[update.next.0][dimension];
                padding.tensors[update.state.0][dimension] &= kept;
            }
        }
        if padding == before {
            return padding;
        }
    }
}

/// The iterator that runs over a whole dimension of a tensor, to its end.
fn spans(program: &Program, nest: &Nest, index: &[Affine], tensor: usize, dimension: usize) -> Option<IterId> {
    let iterator = index[dimension].as_iterator()?;
    let extent = i64::from(program.tensors[tensor].shape[dimension]);
    (nest.iterators[iterator.0].high == extent).then_some(iterator)
}

/// Whether points beyond the range of an iterator would write zero (free) or change nothing (reduction).
fn harmless(program: &Program, tensors: &[Vec<bool>], nest: &Nest, iterator: IterId) -> bool {
    // Beyond the range of the iterator the operand is zero: one of its dimensions is padded there.
    let zero = |atom: &Atom| match atom {
        Atom::Constant(value) => *value == 0.0,
        Atom::Read(tensor, index) => (0..index.len()).any(|dimension| {
            tensors[tensor.0][dimension] && spans(program, nest, index, tensor.0, dimension) == Some(iterator)
        }),
    };
    if !nest.guards.is_empty() {
        return false;
    }
    let free = iterator.0 < nest.free;
    match Primitive::of(nest) {
        // A zero may be the largest.
        Some(Primitive::MultiplyAdd { combine, .. }) if combine.compares() && iterator.0 >= nest.free => false,
        Some(Primitive::MultiplyAdd { start, product, square, .. }) => {
            let vanishes = |a, b| if square { zero(a) && zero(b) } else { zero(a) || zero(b) };
            let nothing_added = product.as_ref().is_none_or(|(a, b)| vanishes(a, b));
            let nothing_there = start.as_ref().is_none_or(&zero);
            nothing_added && (!free || nothing_there)
        }
        Some(Primitive::Positive(value, _)) => zero(&value),
        Some(Primitive::Product(factor)) => free && zero(&factor),
        // The machine's 0 / x is 0, also where x is 0.
        Some(Primitive::Divide { dividend, .. }) => zero(&dividend),
        Some(Primitive::Function(function, argument)) => function.keeps_zero() && zero(&argument),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::{Batch, Keep, Options, canonicalise};
    use crate::language::{self, Language};

    /// What is said about the dimensions of the named tensors.
    fn kept(text: &str, names: &[&str]) -> Vec<Vec<bool>> {
        let (program, _) =
            language::parse(Language::Tabla, text, &language::Options::default()).expect("a good program");
        let program =
            canonicalise(&program, &Options { keep: Keep::AllNames, batch: Batch::SINGLE }).expect("one sample");
        let padding = analyse(&program);
        let find = |name: &&str| program.tensors.iter().position(|t| t.name == **name).expect("a tensor");
        names.iter().map(|name| padding.tensors[find(name)].clone()).collect()
    }

    #[test]
    fn linear_operations_keep_zeros_and_others_do_not() {
        let text = "model_input x[3]; iterator i[0:3]; a[i] = x[i] * 2; b[i] = sigmoid(a[i]); c[i] = 1 - a[i];
            d[i] = sigmoid_symmetric(a[i]); e[i] = c[i] * a[i]; f[i] = c[i] < 0; g[i] = a[i] < 0; h[i] = a[i] < 1;";
        let expected = [true, false, false, true, true, false, true, false].map(|kept| vec![kept]);
        assert_eq!(kept(text, &["a", "b", "c", "d", "e", "f", "g", "h"]), expected);
    }

    #[test]
    fn a_sum_takes_padded_points_if_a_factor_is_zero_there() {
        let text = "model_input x[3][4]; model_input v[3]; iterator i[0:3]; iterator j[0:4]; iterator k[0:2];
            s[i] = sum[j](x[i][j] * 3); t[i] = sum[k](x[i][k]); u[j] = sum[i](x[i][j] * v[i]); p[i] = pi[j](x[i][j]);";
        let (program, _) =
            language::parse(Language::Tabla, text, &language::Options::default()).expect("a good program");
        let program =
            canonicalise(&program, &Options { keep: Keep::AllNames, batch: Batch::SINGLE }).expect("one sample");
        let padding = analyse(&program);
        // k ends before the dimension does: beyond it there are values, not padding.
        assert_eq!(padding.nests, [[true, true], [true, false], [true, true], [true, false]]);
    }

    #[test]
    fn an_update_that_breaks_padding_breaks_it_for_the_next_step() {
        let update = "mu = 1; model_input x[3]; model w[3]; gradient g[3] -> w; iterator i[0:3];";
        assert_eq!(kept(&format!("{update} g[i] = w[i] * x[i];"), &["w"]), [[true]]);
        assert_eq!(kept(&format!("{update} g[i] = sigmoid(w[i]) * x[i];"), &["w"]), [[true]]);
        assert_eq!(kept(&format!("{update} g[i] = sigmoid(w[i]);"), &["w"]), [[false]]);
    }
}
