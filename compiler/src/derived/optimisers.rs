//! How a gradient changes its weights.
//!
//! ```text
//! w -= 0.1 * g            =>      g.mean[i]     = g[i]                         of a batch: the mean of its samples
//! momentum 0.9                    w.velocity.1[i] = 0.9 * w.velocity[i] + g.mean[i]
//!                                 w.1[i]        = w[i] - 0.1 * w.velocity.1[i]
//!                                 w := w.1,  w.velocity := w.velocity.1
//! ```
//!
//! `d` is the direction: the mean gradient, cut off and with the weight decay `d + decay * w`; `r` is the rate.
//!
//! | method | state | next weight |
//! |---|---|---|
//! | `sgd` | | `w - r*d` |
//! | `momentum` | `v' = m*v + d` | `w - r*v'` |
//! | `nesterov` | `v' = m*v + d` | `w - r*(d + m*v')` |
//! | `adagrad` | `s' = s + d*d` | `w - r*d / (sqrt(s') + epsilon)` |
//! | `rmsprop` | `s' = m*s + (1-m)*d*d` | `w - r*d / (sqrt(s') + epsilon)` |
//! | `adam` | `v' = b1*v + (1-b1)*d`, `s' = b2*s + (1-b2)*d*d` | `w - r*v' / (sqrt(s') + epsilon)` |
//! | `lion` | `v' = b2*v + (1-b2)*d` | `w - r*sign(b1*v + (1-b1)*d)` |
//!
//! A rate that changes is an input of every sample, [`RATE`], as a part of the program's rate. `adam` corrects its start by it: the host
//! gives `sqrt(1 - b2^t) / (1 - b1^t)` with step `t`. States are ordinary state tensors, so that they are saved, resumed and kept in the grid like weights;
//! elements without a gradient keep their value, and so do their states.

use super::builder::Builder;
use super::gradients::{identity, new_tensor};
use super::versions::{element_wise, written_boxes};
use crate::canonical::fresh_name;
use crate::choice;
use crate::choice::Choice;
use crate::tensor::{
    Aggregate, Binary, Descent, Element, Function, Nest, NodeId, Program, Role, Start, Tensor, TensorId, Update,
};
use arch::Span;

/// Name of the input with the rate of a step as a part of the program's, where that changes. No language has names with a point.
pub const RATE: &str = "learning.rate";

/// What is done with a gradient.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Optimiser {
    /// How the direction becomes a step.
    pub method: Method,
    /// This part of a weight is added to its gradient.
    pub weight_decay: f64,
    /// What is cut off.
    pub clip: Clip,
    /// Whether the rate changes: [`RATE`] is an input of the step.
    pub rate_is_input: bool,
}

impl Optimiser {
    /// Gradient descent at a constant rate.
    pub const PLAIN: Optimiser =
        Optimiser { method: Method::Sgd, weight_decay: 0.0, clip: Clip::Nothing, rate_is_input: false };

    /// The keys of `[train]` that can have made this of [`Optimiser::PLAIN`]; either of the last two makes the rate an input.
    pub fn keys(&self) -> Vec<&'static str> {
        let method = (self.method != Method::Sgd).then_some("optimiser");
        let decay = (self.weight_decay != 0.0).then_some("weight_decay");
        let clip = self.clip.written().1.into_iter().map(|(key, _)| key);
        let rate = if self.rate_is_input { &["schedule", "warm_up"][..] } else { &[] };
        method.into_iter().chain(decay).chain(clip).chain(rate.iter().copied()).collect()
    }
}

choice! {
    /// How gradients change weights.
    Method by Some("optimiser");
    /// Along the gradient.
    Sgd "sgd";
    /// Along a decaying sum of gradients.
    Momentum "momentum" {
        /// Decay of the running mean of gradients (beta1).
        momentum: f64 as "momentum", Fraction, Some(0.9);
    };
    /// The same, one step ahead.
    Nesterov "nesterov" {
        /// Decay of the running mean of gradients (beta1).
        momentum: f64 as "momentum", Fraction, Some(0.9);
    };
    /// Step scaled by the sum of squared gradients.
    Adagrad "adagrad" {
        /// Added to the denominator, where 1e-8 is 0 in 16 bits.
        epsilon: f64 as "epsilon", Positive, Some(1e-4);
    };
    /// Step scaled by a running mean of squared gradients.
    Rmsprop "rmsprop" {
        /// Decay of the running mean square (beta2).
        decay: f64 as "decay", Fraction, Some(0.99);
        /// Added to the denominator, where 1e-8 is 0 in 16 bits.
        epsilon: f64 as "epsilon", Positive, Some(1e-4);
    };
    /// Running means of gradients and of their squares.
    Adam "adam" {
        /// Decay of the running mean of gradients (beta1).
        momentum: f64 as "momentum", Fraction, Some(0.9);
        /// Decay of the running mean square (beta2).
        decay: f64 as "decay", Fraction, Some(0.999);
        /// Added to the denominator, where 1e-8 is 0 in 16 bits.
        epsilon: f64 as "epsilon", Positive, Some(1e-4);
    };
    /// The sign of a running mean of gradients: each step is as long as the rate.
    Lion "lion" {
        /// Decay of the running mean of gradients (beta1).
        momentum: f64 as "momentum", Fraction, Some(0.9);
        /// Decay of the running mean that is kept (beta2).
        decay: f64 as "decay", Fraction, Some(0.99);
    };
}

choice! {
    /// Gradient clipping.
    Clip by None;
    /// None.
    Nothing "nothing";
    /// By element.
    Value "value" {
        /// Elements of gradients are cut off at this size.
        limit: f64 as "clip", Positive, None;
    };
    /// By norm.
    Norm "norm" {
        /// The gradient of all weights together is cut down to this length.
        limit: f64 as "clip_norm", Positive, None;
    };
}

/// Whether a tensor is one that an optimiser has added: what it remembers starts at 0, and its rate is not part of the data.
pub fn is_added(name: &str) -> bool {
    name.contains('.')
}

/// Replace the descents of a program by Nests that do what the optimiser says.
pub fn optimise(program: &Program, optimiser: &Optimiser) -> Program {
    if *optimiser == Optimiser::PLAIN {
        return program.clone();
    }
    let mut result = program.clone();
    let descents: Vec<Descent> = result.descents.drain(..).collect();
    let span = descents[0].span;
    let rate = optimiser.rate_is_input.then(|| rate_input(&mut result, span));
    let means: Vec<Mean> = descents.iter().map(|descent| Mean::of(&mut result, descent)).collect();
    let shrink = match optimiser.clip {
        Clip::Norm { limit } => Some(shrinking(&mut result, &means, limit, span)),
        Clip::Nothing | Clip::Value { .. } => None,
    };
    for mean in &means {
        Steps { program: &mut result, optimiser, mean, rate, shrink }.append();
    }
    result
}

/// The mean gradient of a weight, and where it has values.
struct Mean {
    descent: Descent,
    tensor: TensorId,
    boxes: Vec<Vec<(i64, i64)>>,
}

impl Mean {
    fn of(program: &mut Program, descent: &Descent) -> Mean {
        let Descent { gradient, span, .. } = *descent;
        let boxes = written_boxes(program, gradient);
        let tensor = mean_of(program, gradient, &boxes, span);
        Mean { descent: *descent, tensor, boxes }
    }
}

/// A tensor with the mean over a batch.
fn mean_of(program: &mut Program, of: TensorId, boxes: &[Vec<(i64, i64)>], span: Span) -> TensorId {
    let Tensor { name, shape, .. } = program.tensors[of.0].clone();
    let tensor = new_tensor(program, &format!("{name}.mean"), shape, span);
    program.tensors[tensor.0].role = Role::Mean;
    for ranges in boxes {
        let index = identity(ranges.len());
        let mut value = Builder::default();
        value.read(of, index.clone());
        program.nests.push(element_wise(tensor, ranges, index, value, span));
    }
    tensor
}

/// An input of each sample, and its mean, which is the same number.
fn rate_input(program: &mut Program, span: Span) -> TensorId {
    let tensor = Tensor { name: RATE.to_owned(), shape: Vec::new(), role: Role::Input, element: Element::Real, span };
    program.tensors.push(tensor);
    let input = TensorId(program.tensors.len() - 1);
    mean_of(program, input, &[Vec::new()], span)
}

/// The factor that makes the gradient of all weights as long as `limit`, if it is longer: `limit / sqrt(max(sum of squares, limit^2))`.
fn shrinking(program: &mut Program, means: &[Mean], limit: f64, span: Span) -> TensorId {
    let mut squares: Option<TensorId> = None;
    for mean in means {
        for ranges in &mean.boxes {
            let next = new_tensor(program, "gradient.squares", Vec::new(), span);
            let mut b = Builder::default();
            let element = b.read(mean.tensor, identity(ranges.len()));
            let mut value = b.square(element);
            let mut start = Start::Identity;
            match (squares, ranges.is_empty()) {
                (Some(tensor), false) => start = Start::Element { tensor, index: Vec::new() },
                (Some(tensor), true) => {
                    let before = b.read(tensor, Vec::new());
                    value = b.add(before, value);
                }
                (None, _) => {}
            }
            let nest = element_wise(next, ranges, Vec::new(), Builder::new(b.rooted(value)), span);
            let aggregate = if ranges.is_empty() { Aggregate::Assign } else { Aggregate::Add };
            program.nests.push(Nest { free: 0, aggregate, start, ..nest });
            squares = Some(next);
        }
    }
    let factor = new_tensor(program, "gradient.shrinking", Vec::new(), span);
    let mut b = Builder::default();
    let (sum, least) = (b.read(squares.expect("a gradient has elements"), Vec::new()), b.constant(limit * limit));
    let larger = b.binary(Binary::Max, sum, least);
    let length = b.call(Function::Rsqrt, vec![larger]);
    let value = b.scale(limit, length);
    program.nests.push(element_wise(factor, &[], Vec::new(), Builder::new(b.rooted(value)), span));
    factor
}

/// The Nests of one weight.
struct Steps<'a> {
    program: &'a mut Program,
    optimiser: &'a Optimiser,
    mean: &'a Mean,
    rate: Option<TensorId>,
    shrink: Option<TensorId>,
}

impl Steps<'_> {
    fn append(&mut self) {
        let weight = self.mean.descent.state;
        let direction = self.direction();
        let length = match self.optimiser.method {
            Method::Sgd => direction,
            Method::Momentum { momentum } => self.moving_average("velocity", momentum, 1.0, direction, false),
            Method::Nesterov { momentum } => {
                let velocity = self.moving_average("velocity", momentum, 1.0, direction, false);
                self.nesterov(direction, velocity, momentum)
            }
            Method::Adagrad { epsilon } => {
                let squares = self.moving_average("squares", 1.0, 1.0, direction, true);
                self.divided(direction, squares, epsilon)
            }
            Method::Rmsprop { decay, epsilon } => {
                let squares = self.moving_average("squares", decay, 1.0 - decay, direction, true);
                self.divided(direction, squares, epsilon)
            }
            Method::Adam { momentum, decay, epsilon } => {
                let mean = self.moving_average("velocity", momentum, 1.0 - momentum, direction, false);
                let squares = self.moving_average("squares", decay, 1.0 - decay, direction, true);
                self.divided(mean, squares, epsilon)
            }
            Method::Lion { momentum, decay } => {
                let state = self.state("velocity");
                let mean = self.temporary("direction");
                self.moved(mean, state, (momentum, 1.0 - momentum), direction, false);
                let next = self.version(state);
                self.moved(next, state, (decay, 1.0 - decay), direction, false);
                self.program.updates.push(Update { state, next });
                self.sign(mean)
            }
        };
        let rate = self.mean.descent.rate;
        let input = self.rate.map(|part| self.scaled_rate(part, rate));
        let next = self.version(weight);
        self.element_wise(next, |b, index| {
            let (weight, length) = (b.read(weight, index.to_vec()), b.read(length, index.to_vec()));
            let rate = match input {
                Some(tensor) => b.read(tensor, Vec::new()),
                None => b.constant(rate),
            };
            let step = b.mul(rate, length);
            b.sub(weight, step)
        });
        self.program.updates.push(Update { state: weight, next });
    }

    /// `part * rate`
    fn scaled_rate(&mut self, part: TensorId, rate: f64) -> TensorId {
        let span = self.mean.descent.span;
        let scaled = new_tensor(self.program, RATE, Vec::new(), span);
        let mut b = Builder::default();
        let value = b.read(part, Vec::new());
        let value = b.scale(rate, value);
        self.program.nests.push(element_wise(scaled, &[], Vec::new(), Builder::new(b.rooted(value)), span));
        scaled
    }

    /// The gradient, cut off, with the decay of the weights.
    fn direction(&mut self) -> TensorId {
        let (mean, weight, shrink) = (self.mean.tensor, self.mean.descent.state, self.shrink);
        let Optimiser { clip, weight_decay, .. } = *self.optimiser;
        if clip == Clip::Nothing && weight_decay == 0.0 {
            return mean;
        }
        let direction = self.temporary("direction");
        self.element_wise(direction, |b, index| {
            let mut value = b.read(mean, index.to_vec());
            if let Clip::Value { limit } = clip {
                let (low, high) = (b.constant(-limit), b.constant(limit));
                let above = b.binary(Binary::Max, value, low);
                value = b.binary(Binary::Min, above, high);
            }
            if let Some(shrink) = shrink {
                let factor = b.read(shrink, Vec::new());
                value = b.mul(factor, value);
            }
            if weight_decay != 0.0 {
                let weight = b.read(weight, index.to_vec());
                let decay = b.scale(weight_decay, weight);
                value = b.add(value, decay);
            }
            value
        });
        direction
    }

    /// The next value of a state: `keep * state + take * new`, where `new` is the tensor or its square.
    fn moving_average(&mut self, name: &str, keep: f64, take: f64, new: TensorId, squared: bool) -> TensorId {
        let state = self.state(name);
        let next = self.version(state);
        self.moved(next, state, (keep, take), new, squared);
        self.program.updates.push(Update { state, next });
        next
    }

    /// A state of a weight's shape, 0 at first.
    fn state(&mut self, name: &str) -> TensorId {
        let state = self.temporary(name);
        self.program.tensors[state.0].role = Role::State;
        state
    }

    /// `out = keep * state + take * new`
    fn moved(&mut self, out: TensorId, state: TensorId, (keep, take): (f64, f64), new: TensorId, squared: bool) {
        self.element_wise(out, |b, index| {
            let (state, new) = (b.read(state, index.to_vec()), b.read(new, index.to_vec()));
            let old = b.scale(keep, state);
            let new = if squared { b.square(new) } else { new };
            let new = b.scale(take, new);
            b.add(old, new)
        });
    }

    /// 1, -1, or 0 at 0.
    fn sign(&mut self, of: TensorId) -> TensorId {
        let sign = self.temporary("sign");
        self.element_wise(sign, |b, index| {
            let (value, zero) = (b.read(of, index.to_vec()), b.constant(0.0));
            b.sign(value, zero)
        });
        sign
    }

    /// `direction + momentum * velocity`
    fn nesterov(&mut self, direction: TensorId, velocity: TensorId, momentum: f64) -> TensorId {
        let sum = self.temporary("ahead");
        self.element_wise(sum, |b, index| {
            let (direction, velocity) = (b.read(direction, index.to_vec()), b.read(velocity, index.to_vec()));
            let faded = b.scale(momentum, velocity);
            b.add(direction, faded)
        });
        sum
    }

    /// `direction / (sqrt(squares) + epsilon)`
    fn divided(&mut self, direction: TensorId, squares: TensorId, epsilon: f64) -> TensorId {
        let quotient = self.temporary("scaled");
        self.element_wise(quotient, |b, index| {
            let (direction, squares) = (b.read(direction, index.to_vec()), b.read(squares, index.to_vec()));
            let (root, least) = (b.call(Function::Sqrt, vec![squares]), b.constant(epsilon));
            let divisor = b.add(root, least);
            b.div(direction, divisor)
        });
        quotient
    }

    /// A temporary with a weight's shape.
    fn temporary(&mut self, name: &str) -> TensorId {
        let weight = &self.program.tensors[self.mean.descent.state.0];
        let (name, shape) = (format!("{}.{name}", weight.name), weight.shape.clone());
        new_tensor(self.program, &name, shape, self.mean.descent.span)
    }

    /// A temporary for the next value of a state.
    fn version(&mut self, state: TensorId) -> TensorId {
        let Tensor { name, shape, .. } = self.program.tensors[state.0].clone();
        let name = fresh_name(self.program, &name);
        new_tensor(self.program, &name, shape, self.mean.descent.span)
    }

    /// A Nest for each box in which the weight has a gradient.
    fn element_wise(&mut self, out: TensorId, value: impl Fn(&mut Builder, &[crate::tensor::Affine]) -> NodeId) {
        for ranges in &self.mean.boxes {
            let index = identity(ranges.len());
            let mut b = Builder::default();
            let root = value(&mut b, &index);
            let body = Builder::new(b.rooted(root));
            self.program.nests.push(element_wise(out, ranges, index, body, self.mean.descent.span));
        }
    }
}
