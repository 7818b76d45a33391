//! The losses of the library: one list for `minimize` and for the `[train]` table.
//!
//! | name | prediction `h` | value, summed over the elements | derivative |
//! |---|---|---|---|
//! | `squared` | any | `(h - y)^2 / 2` | `h - y` |
//! | `absolute` | any | `abs(h - y)` | `sign(h - y)` |
//! | `huber` | any | `r^2 / 2` where `abs(r) < 1`, else `abs(r) - 1/2`, with `r = h - y` | `r`, at most 1 in size |
//! | `hinge` | any; `y` is -1 or 1 | `max(0, 1 - y*h)` | `-y` where `y*h < 1`, else 0 |
//! | `logistic` | `sigmoid(z)`; `y` in 0..1 | `-y*log(h) - (1-y)*log(1-h)` | by `z`: `h - y` |
//! | `one_hot` | `sigmoid(z)`, one element per class | that of `logistic` | by `z`: `h - y` |
//! | `cross_entropy` | `softmax(z)`; `y` adds up to 1 | `-y*log(h)` | by `z`: `h - y` |
//! | `poisson` | `exp(z)`: a rate; `y` counts | `h - y*z` | by `z`: `h - y` |
//!
//! Values are computed from the logit `z` where that is exact for every prediction; derivatives have no quotient.

use super::builder::Builder;
use super::links::{Link, append, logit, original};
use super::versions::{iterators, written_boxes};
use crate::canonical::fresh_name;
use crate::tensor::{
    Affine, Aggregate, Binary, Element, Function, IterId, Nest, NodeId, Program, Role, Start, Tensor, TensorId,
};
use arch::{Code, Diagnostic, Span};

/// A loss of the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Loss {
    /// Half the squared error.
    Squared,
    /// The size of the error.
    Absolute,
    /// Half the squared error of small errors, the size of large ones.
    Huber,
    /// How far the label's side is missed by a margin of 1.
    Hinge,
    /// Cross entropy of a sigmoid.
    Logistic,
    /// Cross entropy of a softmax.
    CrossEntropy,
    /// Cross entropy of one sigmoid per class.
    OneHot,
    /// Counts with a predicted rate.
    Poisson,
}

impl Loss {
    /// Every loss, in the order of the manual.
    pub const ALL: &[Loss] = &[
        Loss::Squared,
        Loss::Absolute,
        Loss::Huber,
        Loss::Hinge,
        Loss::Logistic,
        Loss::CrossEntropy,
        Loss::OneHot,
        Loss::Poisson,
    ];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Loss::Squared => "squared",
            Loss::Absolute => "absolute",
            Loss::Huber => "huber",
            Loss::Hinge => "hinge",
            Loss::Logistic => "logistic",
            Loss::CrossEntropy => "cross_entropy",
            Loss::OneHot => "one_hot",
            Loss::Poisson => "poisson",
        }
    }

    /// The loss of this name.
    pub fn of_name(name: &str) -> Option<Loss> {
        Loss::ALL.iter().copied().find(|loss| loss.name() == name)
    }

    /// What must have made the prediction.
    fn link(self) -> Option<Link> {
        match self {
            Loss::Squared | Loss::Absolute | Loss::Huber | Loss::Hinge => None,
            Loss::Logistic | Loss::OneHot => Some(Link::Sigmoid),
            Loss::CrossEntropy => Some(Link::Softmax),
            Loss::Poisson => Some(Link::Exponential),
        }
    }

    /// The loss of one element; `z` is the logit, or the prediction where there is none.
    fn value(self, b: &mut Builder, h: NodeId, y: NodeId, z: NodeId) -> NodeId {
        let zero = b.constant(0.0);
        match self {
            Loss::Squared => {
                let error = b.sub(h, y);
                let square = b.square(error);
                b.scale(0.5, square)
            }
            Loss::Absolute => {
                let error = b.sub(h, y);
                b.call(Function::Abs, vec![error])
            }
            // r*c - c*c/2, where c is r cut off at -1 and 1.
            Loss::Huber => {
                let error = b.sub(h, y);
                let cut = clamp(b, error);
                let (product, square) = (b.mul(error, cut), b.square(cut));
                let half = b.scale(0.5, square);
                b.sub(product, half)
            }
            Loss::Hinge => {
                let (one, margin) = (b.constant(1.0), b.mul(y, h));
                let missing = b.sub(one, margin);
                b.binary(Binary::Max, missing, zero)
            }
            // max(z, 0) - y*z + log(1 + exp(-abs(z)))
            Loss::Logistic | Loss::OneHot => {
                let size = b.call(Function::Abs, vec![z]);
                let negative = b.neg(size);
                let small = b.call(Function::Exp, vec![negative]);
                let rest = b.call(Function::Log1p, vec![small]);
                let (positive, product) = (b.binary(Binary::Max, z, zero), b.mul(y, z));
                let line = b.sub(positive, product);
                b.add(line, rest)
            }
            Loss::CrossEntropy => {
                let least = b.constant(SMALLEST_PROBABILITY);
                let probability = b.binary(Binary::Max, h, least);
                let logarithm = b.call(Function::Log, vec![probability]);
                let product = b.mul(y, logarithm);
                b.neg(product)
            }
            Loss::Poisson => {
                let product = b.mul(y, z);
                b.sub(h, product)
            }
        }
    }

    /// The derivative of one element by the logit, or by the prediction where there is none.
    pub(super) fn derivative(self, b: &mut Builder, h: NodeId, y: NodeId) -> NodeId {
        match self {
            Loss::Absolute => b.sign(h, y),
            Loss::Huber => {
                let error = b.sub(h, y);
                clamp(b, error)
            }
            Loss::Hinge => {
                let (margin, one) = (b.mul(y, h), b.constant(1.0));
                let (missed, negative) = (b.binary(Binary::Lt, margin, one), b.neg(y));
                b.mul(missed, negative)
            }
            Loss::Squared | Loss::Logistic | Loss::CrossEntropy | Loss::OneHot | Loss::Poisson => b.sub(h, y),
        }
    }
}

/// A softmax that is smaller counts as this much in the value of a cross entropy.
const SMALLEST_PROBABILITY: f64 = 1e-30;

/// At least -1, at most 1.
fn clamp(b: &mut Builder, a: NodeId) -> NodeId {
    let (low, high) = (b.constant(-1.0), b.constant(1.0));
    let above = b.binary(Binary::Max, a, low);
    b.binary(Binary::Min, above, high)
}

/// A loss of the library, applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// Which.
    pub loss: Loss,
    /// Scalar with its value.
    pub value: TensorId,
    /// The tensor by which its derivative is known: the logit, or the prediction.
    pub at: TensorId,
    /// The prediction.
    pub prediction: TensorId,
    /// What it is compared with, of the same shape.
    pub label: TensorId,
    /// Where it stands.
    pub span: Span,
}

/// What happens to a prediction that nothing has made a probability of, where the loss is for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unlinked {
    /// E-LINK.
    Refused,
    /// It is a logit: sigmoid, softmax or exponential are appended.
    Appended,
}

/// Append the value of a loss to a program.
///
///     minimize squared(h, y);      =>      squared.1 += 0.5 * (h[i] - y[i]) * (h[i] - y[i])
///
/// Where a program says its prediction and the `[train]` table the loss, `z` may be given for `softmax(z)`: its name then means the probabilities.
///
/// # Errors
/// E-SHAPE: prediction and label differ; E-LINK: the prediction was made by something else than the loss is for.
pub fn apply(
    program: &mut Program,
    loss: Loss,
    prediction: TensorId,
    label: TensorId,
    (unlinked, span): (Unlinked, Span),
) -> Result<Applied, Diagnostic> {
    let (h, y) = (&program.tensors[prediction.0], &program.tensors[label.0]);
    if h.shape != y.shape {
        let message = format!(
            "`{}` compares {} of shape {:?} with {} of shape {:?}",
            loss.name(),
            h.name,
            h.shape,
            y.name,
            y.shape
        );
        return Err(Diagnostic::new(Code::Shape, span, message).with_label("different shapes"));
    }
    let mut source = original(program, prediction);
    let known = written_boxes(program, label);
    if !written_boxes(program, source).iter().all(|ranges| covered(ranges, &known)) {
        let message = format!("`{}` has no value where `{}` has one", y.name, h.name);
        return Err(Diagnostic::new(Code::UndefVal, span, message).with_label("assigned in part"));
    }
    let at = match loss.link() {
        None => prediction,
        Some(link) => match logit(program, source, link) {
            Some(logit) => logit,
            None if unlinked == Unlinked::Appended && link.takes(&program.tensors[source.0].shape) => {
                let logits = source;
                source = append(program, logits, link);
                let names = program.names.iter_mut().filter(|(_, id)| *id == prediction || *id == logits);
                names.for_each(|(_, id)| *id = source);
                logits
            }
            None => return Err(wrong_link(program, loss, link, prediction, span)),
        },
    };
    let tensor = Tensor {
        name: fresh_name(program, loss.name()),
        shape: Vec::new(),
        role: Role::Temporary,
        element: Element::Real,
        span,
    };
    program.tensors.push(tensor);
    let applied = Applied { loss, value: TensorId(program.tensors.len() - 1), at, prediction: source, label, span };
    for (number, ranges) in written_boxes(program, source).iter().enumerate() {
        let nest = value_over(&applied, ranges, number == 0);
        program.nests.push(nest);
    }
    Ok(applied)
}

/// Whether a box lies in others, which have no common elements.
fn covered(ranges: &[(i64, i64)], known: &[Vec<(i64, i64)>]) -> bool {
    let elements = |ranges: &[(i64, i64)]| ranges.iter().map(|range| (range.1 - range.0).max(0)).product::<i64>();
    let common = |other: &Vec<(i64, i64)>| -> Vec<(i64, i64)> {
        ranges.iter().zip(other).map(|(a, b)| (a.0.max(b.0), a.1.min(b.1))).collect()
    };
    known.iter().map(|other| elements(&common(other))).sum::<i64>() == elements(ranges)
}

fn wrong_link(program: &Program, loss: Loss, link: Link, prediction: TensorId, span: Span) -> Diagnostic {
    let h = &program.tensors[prediction.0];
    let message = format!("`{}` is for the result of a {}, which `{}` is not", loss.name(), link.name(), h.name);
    Diagnostic::new(Code::Link, span, message).with_note(h.span, "the prediction").with_help(format!(
        "apply the {} in a statement that ends with it, or minimise a value of your own",
        link.name()
    ))
}

/// Add the loss of a box of elements to the value.
fn value_over(applied: &Applied, ranges: &[(i64, i64)], first: bool) -> Nest {
    let index: Vec<Affine> = (0..ranges.len()).map(|d| Affine::iterator(IterId(d))).collect();
    let mut b = Builder::default();
    let h = b.read(applied.prediction, index.clone());
    let y = b.read(applied.label, index.clone());
    let z = b.read(applied.at, index);
    let mut root = applied.loss.value(&mut b, h, y, z);
    let mut start = Start::Identity;
    if !first && ranges.is_empty() {
        let before = b.read(applied.value, Vec::new());
        root = b.add(before, root);
    } else if !first {
        start = Start::Element { tensor: applied.value, index: Vec::new() };
    }
    Nest {
        iterators: iterators(ranges),
        free: 0,
        guards: Vec::new(),
        out: applied.value,
        out_index: Vec::new(),
        aggregate: if ranges.is_empty() { Aggregate::Assign } else { Aggregate::Add },
        start,
        body: b.rooted(root),
        origin: applied.span.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for &loss in Loss::ALL {
            assert_eq!(Loss::of_name(loss.name()), Some(loss));
        }
        assert_eq!(Loss::of_name("square"), None);
    }
}
