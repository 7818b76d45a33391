//! Evaluation of tensor IR at the unknowns of a draw: as [`crate::tensor`] defines it, for one sample or for all samples of a batch.
//!
//! A program that is not vectorised yet computes what depends on the sample once for each of them; means combine the samples, and a descent
//! takes the mean or the sum of the gradients.

use super::Side;
use super::draw::Draw;
use super::plan::{Beginning, Plan, Step, constants};
use super::value::{Arithmetic, Value};
use crate::canonical::Reduction;
use crate::tensor::{Binary, Descent, Program, Role, Start, Tensor, TensorId};
use std::collections::BTreeSet;

/// Elements of a parameter that is looked at for roundings.
const LARGEST_TABLE: usize = 4096;

/// Elements of one tensor: of each sample in turn, if it depends on the sample.
pub(super) type Elements = Vec<Option<Value>>;

/// Values at a draw, row-major, by name.
#[derive(Debug, Clone, Default)]
pub(super) struct Outcome {
    pub(super) names: Vec<(String, Elements)>,
    /// States after the step.
    pub(super) states: Vec<(String, Elements)>,
}

/// What a nest does to an element.
#[derive(Clone, Copy)]
enum Written {
    /// No point exists: it stays as it is.
    Nothing,
    /// A value, or none that is defined.
    Value(Option<Value>),
}

/// A computed index is outside of its tensor: the draw says nothing.
pub(super) struct Outside;

/// A program at a draw.
pub(super) struct Run<'a> {
    program: &'a Program,
    side: Side<'a>,
    /// Tensors that have elements for each sample.
    depends: Vec<bool>,
    constant: Vec<bool>,
    /// Elements that are needed; empty: all are.
    needed: &'a [Vec<bool>],
    elements: Vec<Elements>,
    /// Tensor and place of the elements that were given a value that is not defined; others have none because nothing wrote them.
    undefined: BTreeSet<(usize, usize)>,
}

impl<'a> Run<'a> {
    /// Evaluate a program.
    pub(super) fn of(
        side: Side<'a>,
        needed: &'a [Vec<bool>],
        draw: &Draw,
        arithmetic: &mut Arithmetic,
    ) -> Result<Outcome, Outside> {
        let program = side.program;
        let depends = depends(side);
        let tensors = program.tensors.iter().zip(&depends);
        let elements = tensors.map(|(tensor, &depends)| {
            let samples = if depends { side.samples() } else { 1 };
            given(tensor, samples as usize, draw, arithmetic)
        });
        let elements = elements.collect();
        let mut run =
            Run { program, side, depends, constant: constants(program), needed, elements, undefined: BTreeSet::new() };
        for nest in &program.nests {
            let plan = Plan::of(program, nest, &run.constant, arithmetic);
            if program.tensors[nest.out.0].role == Role::Mean && run.samples() > 1 {
                run.combine(&plan, arithmetic)?;
                continue;
            }
            let samples = if run.depends[nest.out.0] { run.samples() } else { 1 };
            for sample in 0..samples {
                run.nest(&plan, sample, arithmetic)?;
            }
        }
        Ok(run.outcome(arithmetic))
    }

    fn samples(&self) -> usize {
        self.side.samples() as usize
    }

    /// Place of an element of a sample.
    fn place(&self, tensor: usize, sample: usize, element: i64) -> usize {
        let own = if self.depends[tensor] { self.elements[tensor].len() / self.samples() * sample } else { 0 };
        own + element as usize
    }

    fn read(&self, tensor: usize, sample: usize, element: i64) -> Option<Value> {
        self.elements[tensor][self.place(tensor, sample, element)]
    }

    fn nest(&mut self, plan: &Plan, sample: usize, arithmetic: &mut Arithmetic) -> Result<(), Outside> {
        let mut values = vec![None; plan.code.len()];
        let mut point: Vec<i64> = plan.iterators.iter().map(|&(low, _)| low).collect();
        if !has_points(&plan.iterators) {
            return Ok(());
        }
        loop {
            let element = plan.place.at(&point);
            if self.needed.get(plan.out).is_none_or(|needed| needed[element as usize])
                && let Written::Value(total) = self.element(plan, sample, &mut point, &mut values, arithmetic)?
            {
                let place = self.place(plan.out, sample, element);
                self.elements[plan.out][place] = total;
                if total.is_none() {
                    self.undefined.insert((plan.out, place));
                } else {
                    self.undefined.remove(&(plan.out, place));
                }
            }
            if !advance(&mut point[..plan.free], &plan.iterators) {
                return Ok(());
            }
        }
    }

    /// One element. The free part of the point is given, the rest ends as it began.
    fn element(
        &self,
        plan: &Plan,
        sample: usize,
        point: &mut [i64],
        values: &mut [Option<Value>],
        arithmetic: &mut Arithmetic,
    ) -> Result<Written, Outside> {
        let mut total = Written::Nothing;
        loop {
            if plan.exists(point) {
                self.body(plan, sample, point, values, arithmetic)?;
                let value = values.last().copied().flatten();
                let so_far = match (total, &plan.start) {
                    (Written::Value(total), _) => total,
                    (Written::Nothing, Beginning::Nothing) => value,
                    (Written::Nothing, Beginning::Value(value)) => Some(*value),
                    (Written::Nothing, Beginning::Element(tensor, form)) => self.read(*tensor, sample, form.at(point)),
                };
                let first = matches!((total, &plan.start), (Written::Nothing, Beginning::Nothing));
                total = Written::Value(match (so_far, value) {
                    (Some(so_far), Some(_)) if first => Some(so_far),
                    (Some(so_far), Some(value)) => Some(arithmetic.aggregate(plan.aggregate, so_far, value)),
                    _ => None,
                });
            }
            if !advance(&mut point[plan.free..], &plan.iterators[plan.free..]) {
                return Ok(total);
            }
        }
    }

    fn body(
        &self,
        plan: &Plan,
        sample: usize,
        point: &[i64],
        values: &mut [Option<Value>],
        arithmetic: &mut Arithmetic,
    ) -> Result<(), Outside> {
        for (number, step) in plan.code.iter().enumerate() {
            let of = |step: usize| values[step];
            let both = |a: usize, b: usize| Some((of(a)?, of(b)?));
            let value = match step {
                Step::Constant(value) => Some(*value),
                Step::Iterator(iterator) => Some(Value::integer(point[*iterator])),
                Step::Read(tensor, form) => self.read(*tensor, sample, form.at(point)),
                Step::Gather(tensor, extents, index) => {
                    let index: Option<Vec<Value>> = index.iter().map(|&step| of(step)).collect();
                    match index {
                        Some(index) => self.gather((*tensor, extents), sample, &index)?,
                        None => None,
                    }
                }
                Step::Unary(operation, a) => of(*a).map(|a| Arithmetic::unary(*operation, a)),
                // The branch that is not taken may have no value: words are finite, and 0 times any of them is 0.
                Step::Binary(Binary::Mul, a, b) if of(*a) == Some(Value::ZERO) || of(*b) == Some(Value::ZERO) => {
                    Some(Value::ZERO)
                }
                Step::Binary(operation, a, b) => both(*a, *b).and_then(|(a, b)| arithmetic.binary(*operation, a, b)),
                Step::DivideByConstant(operation, a, b) => {
                    both(*a, *b).and_then(|(a, b)| arithmetic.divide_by_constant(*operation, a, b))
                }
                Step::Select(condition, yes, no) => {
                    of(*condition).and_then(|condition| of(if condition == Value::ZERO { *no } else { *yes }))
                }
                Step::Cast(element, a) => of(*a).map(|a| arithmetic.cast(*element, a)),
                Step::Call(function, arguments) => {
                    let arguments: Option<Vec<Value>> = arguments.iter().map(|&step| of(step)).collect();
                    arguments.and_then(|arguments| arithmetic.call(*function, &arguments))
                }
                Step::ConstantPower(a, b) => both(*a, *b).and_then(|(a, b)| arithmetic.constant_power(a, b)),
            };
            values[number] = if plan.folds[number] { value.map(|value| arithmetic.folded(value)) } else { value };
        }
        Ok(())
    }

    fn gather(
        &self,
        (tensor, extents): (usize, &[u32]),
        sample: usize,
        index: &[Value],
    ) -> Result<Option<Value>, Outside> {
        let mut place = 0;
        for (index, &extent) in index.iter().zip(extents) {
            let index = libm::floor(index.real);
            if !(0.0..f64::from(extent)).contains(&index) {
                return Err(Outside);
            }
            place = place * i64::from(extent) + index as i64;
        }
        // A vectorised index names the sample itself.
        Ok(self.read(tensor, sample, place))
    }

    /// Let a copy of an element combine that element of all samples.
    fn combine(&mut self, plan: &Plan, arithmetic: &mut Arithmetic) -> Result<(), Outside> {
        let Some((source, _)) = plan.reads().next() else { return Ok(()) };
        let input = matches!(self.program.tensors[source].role, Role::Input | Role::Label);
        let mut total: Elements = vec![Some(Value::ZERO); self.elements[plan.out].len()];
        for sample in 0..self.samples() {
            self.nest(plan, sample, arithmetic)?;
            for (total, own) in total.iter_mut().zip(&self.elements[plan.out]) {
                *total = total.and_then(|total| Some(total.plus((*own)?)));
            }
        }
        if self.side.batch.reduction == Reduction::Mean || input {
            let size = Value::integer(self.side.batch.size.into());
            for total in &mut total {
                *total = total.and_then(|total| arithmetic.divide_by_constant(Binary::Div, total, size));
            }
        }
        self.elements[plan.out] = total;
        Ok(())
    }

    fn outcome(&self, arithmetic: &mut Arithmetic) -> Outcome {
        let tensors = &self.program.tensors;
        let names = self.program.names.iter().map(|(name, tensor)| (name.clone(), self.elements[tensor.0].clone()));
        let updates = self.program.updates.iter().map(|update| {
            let next = self.elements[update.next.0].iter().zip(&self.elements[update.state.0]).enumerate();
            let kept = |element, state| if self.undefined.contains(&(update.next.0, element)) { None } else { state };
            let next = next.map(|(element, (next, state))| next.or(kept(element, *state))).collect();
            (tensors[update.state.0].name.clone(), next)
        });
        let mut states: Vec<(String, Elements)> = updates.collect();
        for descent in &self.program.descents {
            let rate = arithmetic.constant(descent.rate);
            let state = &self.elements[descent.state.0];
            let next = (0..state.len()).map(|element| {
                let weight = state[element]?;
                match self.gradient(descent, element, arithmetic) {
                    Some(gradient) => Some(weight.minus(rate.times(gradient))),
                    // Without a gradient a weight keeps its value.
                    None => (!self.undefined.iter().any(|&(tensor, _)| tensor == descent.gradient.0)).then_some(weight),
                }
            });
            states.push((tensors[descent.state.0].name.clone(), next.collect()));
        }
        Outcome { names: names.collect(), states }
    }

    /// The mean or the sum of an element of a gradient over the samples of the batch.
    fn gradient(&self, descent: &Descent, element: usize, arithmetic: &mut Arithmetic) -> Option<Value> {
        let Descent { state, gradient, .. } = descent;
        let size = self.side.batch.size.max(1) as usize;
        let rank = |tensor: &TensorId| self.program.tensors[tensor.0].shape.len();
        // Of each sample in turn: as stores of this evaluation, or because the program says so. Else it is the same for all of them.
        let each = self.depends[gradient.0] || rank(gradient) > rank(state);
        let all = &self.elements[gradient.0];
        let step = if each { all.len() / size } else { 0 };
        let total = (0..size).try_fold(Value::ZERO, |total, sample| Some(total.plus(all[sample * step + element]?)))?;
        match self.side.batch.reduction {
            Reduction::Sum => Some(total),
            Reduction::Mean => arithmetic.divide_by_constant(Binary::Div, total, Value::integer(size as i64)),
        }
    }
}

/// What the host gives: unknowns of the draw, and constants.
fn given(tensor: &Tensor, samples: usize, draw: &Draw, arithmetic: &Arithmetic) -> Elements {
    let count = samples * tensor.shape.iter().map(|&extent| extent as usize).product::<usize>();
    match &tensor.role {
        // Constants of a table may have been folded, weights are what they are.
        Role::Parameter(values) if values.len() > LARGEST_TABLE => {
            values.iter().map(|&v| Some(Value::weight(v))).collect()
        }
        Role::Parameter(values) => values.iter().map(|&value| Some(arithmetic.constant(value))).collect(),
        role if role.is_computed() => vec![None; count],
        _ => (0..count).map(|element| Some(draw.unknown(&tensor.name, tensor.element, element))).collect(),
    }
}

/// Tensors of which each sample of the batch has its own.
fn depends(side: Side<'_>) -> Vec<bool> {
    let program = side.program;
    if side.samples() == 1 {
        return vec![false; program.tensors.len()];
    }
    let given = |tensor: &Tensor| matches!(tensor.role, Role::Input | Role::Label | Role::InOut);
    let mut depends: Vec<bool> = program.tensors.iter().map(given).collect();
    loop {
        let before = depends.clone();
        for nest in program.nests.iter().filter(|nest| program.tensors[nest.out.0].role != Role::Mean) {
            let starts = matches!(&nest.start, Start::Element { tensor, .. } if depends[tensor.0]);
            depends[nest.out.0] |= starts || super::sources(nest).any(|tensor| depends[tensor.0]);
        }
        if depends == before {
            return depends;
        }
    }
}

/// Whether a box has points.
pub(super) fn has_points(iterators: &[(i64, i64)]) -> bool {
    iterators.iter().all(|&(_, extent)| extent > 0)
}

/// Go to the next point of a box, in lexicographic order; after the last, go to the first and say no.
pub(super) fn advance(point: &mut [i64], iterators: &[(i64, i64)]) -> bool {
    for (value, &(low, extent)) in point.iter_mut().zip(iterators).rev() {
        *value += 1;
        if *value < low + extent {
            return true;
        }
        *value = low;
    }
    false
}
