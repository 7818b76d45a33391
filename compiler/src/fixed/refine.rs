//! Functions that no table holds accurately: a coarse table and a few terms of a series.
//!
//!     y[i] = exp(x[i])     =>     c[i] = x[i], to few bits after the binary point: every value it can have is in the table
//!                                 d[i] = x[i] - c[i]                           exact, and small
//!                                 t[i] = exp(c[i])
//!                                 y[i] = t[i] + t[i] * (d[i] + d[i]^2/2 + d[i]^3/6 + d[i]^4/24)
//!
//! A table with straight segments gains two bits of accuracy each time it doubles; a term of the series gains as many as the coarse
//! value has. So wide words need no larger table memory, and several functions share a small one.
//!
//! | function | from the coarse value `t` |
//! |---|---|
//! | `exp`, `sigmoid`, `sigmoid_symmetric`, `tanh` | the derivatives are polynomials of `t` |
//! | `gaussian` | `t * exp(-c*d - d*d/2)` |
//! | `atan` | three terms; the slope is the square of the cosine of `t` |
//! | `erf` | three terms, with `exp(-c*c)` for the slope |
//! | `sin`, `cos` | the series with the table of the other |
//! | `sinh`, `cosh` | half the difference or sum of `exp(x)` and `exp(-x)` |
//! | `log` | Newton's step for `exp(y/2) = x * exp(-y/2)`, from the value of an ordinary table |
//! | `rsqrt`, `sqrt` | Newton's step, from the value of an ordinary table |

use super::formats::best_fraction;
use crate::canonical::align::align_origins;
use crate::canonical::expr::Expr;
use crate::ranges::Ranges;
use crate::tensor::{Affine, Aggregate, Element, Function, IterId, Nest, Program, Role, Start, Tensor, TensorId};

/// What has been refined so far, and how.
#[derive(Debug, Clone, Default)]
pub(super) struct Refinement {
    /// Entries of the whole table memory.
    memory: u32,
    /// Entries that the table of one refined function may have.
    pub(super) share: u32,
    /// Values of ordinary tables from which refinement starts: they need no more accuracy than their table has.
    pub(super) starts: Vec<TensorId>,
    /// Values at coarse arguments.
    coarse: Vec<TensorId>,
    /// Whether accurate functions are among them, whose tables have no room beside each other.
    pub(super) crowded: bool,
    /// Results that no rule refines.
    given_up: Vec<TensorId>,
}

impl Refinement {
    /// Nothing refined yet; what will be has tables of `share` of the `memory` entries.
    pub(super) fn sharing(share: u32, memory: u32) -> Refinement {
        Refinement { memory, share, ..Refinement::default() }
    }

    /// Whether anything has been refined.
    pub(super) fn refines(&self) -> bool {
        !self.starts.is_empty() || !self.coarse.is_empty()
    }

    /// Whether a value is a table's in a refinement.
    pub(super) fn has_made(&self, tensor: TensorId) -> bool {
        self.starts.contains(&tensor) || self.coarse.contains(&tensor)
    }

    /// Whether a nest computes this function and could be refined.
    pub(super) fn may_refine(&self, nest: &Nest, function: Function) -> bool {
        let done = self.has_made(nest.out) || self.given_up.contains(&nest.out);
        !done && matches!(called(nest), Some((f, _)) if f == function)
    }
}

/// A program in which one more function is refined.
pub(super) struct Refined {
    pub(super) program: Program,
    pub(super) ranges: Ranges,
    /// Bits after the binary point of coarse arguments, by name.
    pub(super) fractions: Vec<(String, i32)>,
    pub(super) refinement: Refinement,
}

/// Terms of the series of one function around the coarse value: `y = t + g * (d + d*d*(h + d*q))`.
struct Series {
    g: Expr,
    h: Expr,
    q: Expr,
    /// Largest absolute values of `g`, `h` and `q`.
    bounds: [f64; 3],
}

/// Refine every use of a function for words of this width; uses for which there is no rule stay, and are marked so.
pub(super) fn refine(
    program: &Program,
    ranges: &Ranges,
    function: Function,
    refinement: &Refinement,
    word: u32,
) -> Refined {
    let mut refined = Refined {
        program: Program { nests: Vec::new(), ..program.clone() },
        ranges: ranges.clone(),
        fractions: Vec::new(),
        refinement: refinement.clone(),
    };
    refined.ranges.tensors.resize(program.tensors.len(), None);
    for nest in &program.nests {
        let applies = refinement.may_refine(nest, function);
        if applies && (Rule { refined: &mut refined, nest, word }).apply(function).is_some() {
            continue;
        }
        if applies {
            refined.refinement.given_up.push(nest.out);
        }
        refined.program.nests.push(nest.clone());
    }
    refined.program = align_origins(&refined.program);
    refined
}

/// The function that a nest computes, and its argument.
pub(super) fn called(nest: &Nest) -> Option<(Function, Expr)> {
    match Expr::from_body(&nest.body) {
        Expr::Call(function, mut arguments) if arguments.len() == 1 && nest.aggregate == Aggregate::Assign => {
            arguments.pop().filter(|argument| matches!(argument, Expr::Read(..))).map(|argument| (function, argument))
        }
        _ => None,
    }
}

/// One use of a function while it is rewritten.
struct Rule<'a> {
    refined: &'a mut Refined,
    nest: &'a Nest,
    word: u32,
}

fn constant(value: f64) -> Expr {
    Expr::Constant(value)
}

/// `a + b * c`
fn fused(a: Expr, b: Expr, c: Expr) -> Expr {
    Expr::add(a, Expr::mul(b, c))
}

impl Rule<'_> {
    fn range(&self, e: &Expr) -> Option<(f64, f64)> {
        let Expr::Read(tensor, _) = e else { return None };
        self.refined.ranges.tensors.get(tensor.0).copied().flatten()
    }

    /// A temporary with an element for each point, which equals the expression, and its range.
    fn step(&mut self, name: &str, value: &Expr, range: (f64, f64)) -> Expr {
        let iterators = &self.nest.iterators;
        let program = &mut self.refined.program;
        let Tensor { name: own, span, .. } = &program.tensors[self.nest.out.0];
        let (mut name, span) = (format!("{own}.{name}"), *span);
        while program.tensors.iter().any(|tensor| tensor.name == name) {
            name.push('+');
        }
        let shape = iterators.iter().map(|iterator| iterator.extent() as u32).collect();
        let index: Vec<Affine> = (0..iterators.len())
            .map(|i| Affine::iterator(IterId(i)).plus(-1, &Affine::constant(iterators[i].low)))
            .collect();
        program.tensors.push(Tensor { name, shape, role: Role::Temporary, element: Element::Real, span });
        let tensor = TensorId(program.tensors.len() - 1);
        self.refined.ranges.tensors.resize(program.tensors.len(), None);
        self.refined.ranges.tensors[tensor.0] = Some(range);
        program.nests.push(Nest {
            out: tensor,
            out_index: index.clone(),
            aggregate: Aggregate::Assign,
            start: Start::Identity,
            body: value.to_body(),
            ..self.nest.clone()
        });
        Expr::Read(tensor, index)
    }

    /// The last step: the result itself.
    fn result(&mut self, value: &Expr) {
        self.refined.program.nests.push(Nest { body: value.to_body(), ..self.nest.clone() });
    }

    /// A step between `-bound` and `bound`.
    fn within(&mut self, name: &str, value: &Expr, bound: f64) -> Expr {
        self.step(name, value, (-bound, bound))
    }

    /// `None`, with nothing done, where no rule holds.
    fn apply(&mut self, function: Function) -> Option<()> {
        let (_, x) = called(self.nest)?;
        let result = self.refined.ranges.tensors[self.nest.out.0]?;
        match function {
            Function::Exp => {
                // The coarse argument may be half a step beyond the argument.
                let (c, d, end) = self.split(function, &x)?;
                let t = self.coarse(function, c, (result.0, result.1 * (1.0 + 2.0 * end)));
                let u = self.exponential(&d, end);
                self.result(&fused(t.clone(), t, u));
            }
            Function::Sigmoid | Function::SigmoidSymmetric | Function::Tanh => {
                let (c, d, end) = self.split(function, &x)?;
                let t = self.coarse(function, c, result);
                let series = self.polynomial(function, &t);
                self.series(&t, &d, &series, end);
            }
            Function::Gaussian => self.gaussian(&x)?,
            Function::Erf => self.erf(&x, result)?,
            Function::Atan => self.atan(&x, result)?,
            Function::Sin | Function::Cos => self.sin_or_cos(function, &x)?,
            Function::Sinh | Function::Cosh => self.sinh_or_cosh(function, x)?,
            Function::Log => self.log(x, result)?,
            Function::Rsqrt => {
                let (_, high) = self.range(&x)?;
                let start = self.start(function, &x, result);
                let root = libm::sqrt(high) * (1.0 + START_ERROR);
                let product = self.within("product", &Expr::mul(x, start.clone()), root);
                let half = Expr::mul(constant(0.5), Expr::mul(product, start.clone()));
                let rest = self.within("rest", &Expr::sub(constant(0.5), half), START_ERROR);
                self.result(&fused(start.clone(), start, rest));
            }
            Function::Sqrt => {
                let (low, high) = self.range(&x)?;
                if low <= high * libm::ldexp(1.0, -(self.word as i32) / 2) {
                    return None;
                }
                let range = (1.0 / libm::sqrt(high), 1.0 / libm::sqrt(low));
                let inverse = self.step("inverse", &Expr::Call(Function::Rsqrt, vec![x.clone()]), range);
                self.result(&Expr::mul(x, inverse));
            }
            _ => return None,
        }
        Some(())
    }

    /// `t + t * (exp(-d * (c + d/2)) - 1)`
    fn gaussian(&mut self, x: &Expr) -> Option<()> {
        let (c, d, end) = self.split(Function::Gaussian, x)?;
        let t = self.coarse(Function::Gaussian, c.clone(), (0.0, 0.5));
        let reach = self.range(x).map(|range| range.0.abs().max(range.1.abs()))?;
        let half = self.within("half", &fused(c, constant(0.5), d.clone()), reach + end);
        let product = self.within("exponent", &Expr::neg(Expr::mul(d, half)), (reach + end) * end);
        let u = self.exponential(&product, (reach + end) * end);
        self.result(&fused(t.clone(), t, u));
        Some(())
    }

    /// A series around the coarse argument.
    fn erf(&mut self, x: &Expr, result: (f64, f64)) -> Option<()> {
        let (low, high) = self.range(x)?;
        let (c, d, end) = self.split(Function::Erf, x)?;
        let t = self.coarse(Function::Erf, c.clone(), result);
        let reach = low.abs().max(high.abs()) + end;
        let minus = self.step("minus", &Expr::neg(Expr::mul(c.clone(), c.clone())), (-reach * reach, 0.0));
        let density = self.step("density", &Expr::Call(Function::Exp, vec![minus.clone()]), (0.0, 1.0));
        let slope = Expr::mul(constant(std::f64::consts::FRAC_2_SQRT_PI), density);
        let bounds = [1.25, reach, (2.0 * reach * reach + 1.0) / 3.0];
        let g = self.within("slope", &slope, bounds[0]);
        let h = self.within("bend", &Expr::neg(c), bounds[1]);
        let turn = fused(constant(-1.0 / 3.0), constant(-2.0 / 3.0), minus);
        let q = self.within("turn", &turn, bounds[2]);
        self.series(&t, &d, &Series { g, h, q, bounds }, end);
        Some(())
    }

    /// A series around the coarse argument.
    fn atan(&mut self, x: &Expr, result: (f64, f64)) -> Option<()> {
        let (c, d, end) = self.split(Function::Atan, x)?;
        let t = self.coarse(Function::Atan, c.clone(), result);
        let cosine = self.step("cosine", &Expr::Call(Function::Cos, vec![t.clone()]), (0.0, 1.0));
        let bounds = [1.0, 0.5, 1.0 / 3.0];
        let g = self.within("slope", &Expr::mul(cosine.clone(), cosine), bounds[0]);
        let h = self.within("bend", &Expr::neg(Expr::mul(c, g.clone())), bounds[1]);
        let turn = self.within("half_turn", &fused(constant(1.0), constant(-4.0 / 3.0), g.clone()), 1.0);
        let q = self.within("turn", &Expr::mul(g.clone(), turn), bounds[2]);
        self.series(&t, &d, &Series { g, h, q, bounds }, end);
        Some(())
    }

    /// The sum of two angles: the coarse one and a small one.
    fn sin_or_cos(&mut self, function: Function, x: &Expr) -> Option<()> {
        let (c, d, end) = self.split(function, x)?;
        let t = self.coarse(function, c.clone(), (-1.0, 1.0));
        let sine = function == Function::Sin;
        let other = self.coarse(if sine { Function::Cos } else { Function::Sin }, c, (-1.0, 1.0));
        // t * (1 - d^2/2) + other * (d - d^3/6), or minus
        let square = self.within("square", &Expr::mul(d.clone(), d.clone()), end * end);
        let factor = fused(constant(1.0), constant(-1.0 / 6.0), square.clone());
        let factor = self.within("factor", &factor, 1.0);
        let odd = self.within("odd", &Expr::mul(d, factor), end);
        let product = Expr::mul(t.clone(), square);
        let even = self.within("even", &Expr::sub(t, Expr::mul(constant(0.5), product)), 1.0);
        let odd = Expr::mul(other, odd);
        self.result(&if sine { Expr::add(even, odd) } else { Expr::sub(even, odd) });
        Some(())
    }

    /// Half of two exponentials.
    fn sinh_or_cosh(&mut self, function: Function, x: Expr) -> Option<()> {
        let (low, high) = self.range(&x)?;
        let range = |low: f64, high: f64| (libm::exp(low), libm::exp(high));
        let rising = self.step("rising", &Expr::Call(Function::Exp, vec![x.clone()]), range(low, high));
        let minus = self.step("minus", &Expr::neg(x), (-high, -low));
        let falling = self.step("falling", &Expr::Call(Function::Exp, vec![minus]), range(-high, -low));
        let half = self.within("half", &Expr::mul(constant(0.5), rising), libm::exp(high) / 2.0);
        let other = Expr::mul(constant(0.5), falling);
        let sinh = function == Function::Sinh;
        self.result(&if sinh { Expr::sub(half, other) } else { Expr::add(half, other) });
        Some(())
    }

    /// One step of Newton's, with exponentials.
    fn log(&mut self, x: Expr, result: (f64, f64)) -> Option<()> {
        let (low, high) = self.range(&x)?;
        let low = low.max(high * libm::ldexp(1.0, -(self.word as i32) / 2));
        // Both exponentials are as coarse for one end of the arguments as the other end leaves them. An ordinary table in half of the
        // memory has so many segments per octave, and is better where arguments differ much.
        let segments = f64::from(self.refined.refinement.memory / 2 / (self.word - 1)).max(1.0);
        let plain = libm::exp2(-2.0 * libm::floor(libm::log2(segments))) / 16.0;
        if libm::sqrt(high / low) * libm::ldexp(1.0, 3 - self.word as i32) > plain {
            return None;
        }
        let start = self.start(Function::Log, &x, result);
        let range = |low: f64, high: f64| (libm::sqrt(low), libm::sqrt(high) * (1.0 + START_ERROR));
        let above = self.step("above", &Expr::mul(constant(0.5), start.clone()), (result.0 / 2.0, result.1 / 2.0));
        let below = self.step("below", &Expr::neg(above.clone()), (-result.1 / 2.0, -result.0 / 2.0));
        let root = self.step("root", &Expr::Call(Function::Exp, vec![above]), range(low, high));
        let inverse = self.step("inverse", &Expr::Call(Function::Exp, vec![below]), range(1.0 / high, 1.0 / low));
        let product = self.step("product", &Expr::mul(x, inverse.clone()), range(low, high));
        let off = self.within("off", &Expr::sub(product, root), START_ERROR * libm::sqrt(high));
        let rest = self.within("rest", &Expr::mul(off, inverse), START_ERROR);
        let half = Expr::sub(constant(1.0), Expr::mul(constant(0.5), rest.clone()));
        let half = self.within("half", &half, 1.0 + START_ERROR);
        self.result(&fused(start, rest, half));
        Some(())
    }

    /// What an ordinary table says, from which Newton's step starts.
    fn start(&mut self, function: Function, x: &Expr, range: (f64, f64)) -> Expr {
        let start = self.step("start", &Expr::Call(function, vec![x.clone()]), range);
        if let Expr::Read(tensor, _) = start {
            self.refined.refinement.starts.push(tensor);
        }
        start
    }

    /// The coarse argument, what is left of the argument, and half a step of the coarse one.
    fn split(&mut self, function: Function, x: &Expr) -> Option<(Expr, Expr, f64)> {
        let (low, high) = self.range(x)?;
        let result = self.refined.ranges.tensors[self.nest.out.0]?;
        let fraction = best_fraction(result.0, result.1, self.word);
        let end = function.reach(self.word, fraction).min(low.abs().max(high.abs()));
        // As many entries for each side; the argument may be rounded up to its end.
        let before = (libm::ceil(libm::log2(1.01 * end)) as i32).max(0);
        let places = self.refined.refinement.share.max(2).ilog2() as i32 - 1 - before;
        if places < 1 {
            return None;
        }
        let half = libm::ldexp(1.0, -places - 1);
        let c = self.step("near", x, (low, high));
        if let Expr::Read(tensor, _) = &c {
            self.refined.fractions.push((self.refined.program.tensors[tensor.0].name.clone(), places));
        }
        let d = self.within("rest", &Expr::sub(x.clone(), c.clone()), half);
        Some((c, d, half))
    }

    /// The table's value at the coarse argument.
    fn coarse(&mut self, function: Function, c: Expr, range: (f64, f64)) -> Expr {
        let value = self.step("coarse", &Expr::Call(function, vec![c]), range);
        if let Expr::Read(tensor, _) = value {
            self.refined.refinement.coarse.push(tensor);
        }
        value
    }

    /// `d + d^2/2 + d^3/6 + d^4/24`, that is `exp(d) - 1`.
    fn exponential(&mut self, d: &Expr, end: f64) -> Expr {
        let third = self.step("third", &fused(constant(1.0 / 6.0), constant(1.0 / 24.0), d.clone()), (0.0, 0.25 + end));
        let second = self.step("second", &fused(constant(0.5), d.clone(), third), (0.0, 0.5 + end));
        let first = self.within("first", &Expr::mul(d.clone(), second), end);
        self.within("exponential", &fused(d.clone(), d.clone(), first), 2.0 * end)
    }

    /// The series of functions whose derivatives are polynomials of their value.
    fn polynomial(&mut self, function: Function, t: &Expr) -> Series {
        let square = Expr::mul(t.clone(), t.clone());
        let (g, bounds) = match function {
            Function::Sigmoid => (Expr::sub(t.clone(), square), [0.25, 0.5, 1.0 / 6.0]),
            Function::Tanh => (Expr::sub(constant(1.0), square), [1.0, 1.0, 2.0 / 3.0]),
            _ => (Expr::sub(constant(0.5), Expr::mul(constant(0.5), square)), [0.5, 0.5, 1.0 / 6.0]),
        };
        let g = self.within("slope", &g, bounds[0]);
        let (h, q) = match function {
            Function::Sigmoid => (Expr::sub(constant(0.5), t.clone()), Expr::sub(constant(1.0 / 6.0), g.clone())),
            Function::Tanh => (Expr::neg(t.clone()), Expr::sub(constant(2.0 / 3.0), g.clone())),
            _ => (
                Expr::neg(Expr::mul(constant(0.5), t.clone())),
                Expr::sub(constant(1.0 / 6.0), Expr::mul(constant(0.5), g.clone())),
            ),
        };
        let h = self.within("bend", &h, bounds[1]);
        let q = self.within("turn", &q, bounds[2]);
        Series { g, h, q, bounds }
    }

    /// `t + g * (d + d*d*(h + d*q))`
    fn series(&mut self, t: &Expr, d: &Expr, series: &Series, end: f64) {
        let Series { g, h, q, bounds } = series;
        let second = bounds[1] + end * bounds[2];
        let inner = self.within("second", &fused(h.clone(), d.clone(), q.clone()), second);
        let first = self.within("first", &Expr::mul(d.clone(), inner), end * second);
        let sum = self.within("series", &fused(d.clone(), d.clone(), first), end * (1.0 + second));
        self.result(&fused(t.clone(), g.clone(), sum));
    }
}

/// How far the starting value of a Newton's step may be off, relative to the result or absolute.
const START_ERROR: f64 = 1.0 / 16.0;
