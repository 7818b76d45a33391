//! Fixed-point IR without its roundings: the same function as the canonical program, or more than rounding has happened.
//!
//! A word stands for `word * 2^-fraction`; the laws of [`crate::fixed`] tie alignments and shifts to fractions, so that an operation is its
//! formula on these numbers. Constants are rounded to words: each is taken for the constant of the canonical program that it is the
//! rounding of, of the nest with the same result if there is one: 0 may be a small number in one and 0 in another.

use super::draw::Draw;
use super::evaluate::{Elements, Outcome, advance, has_points};
use super::plan::Form;
use super::value::{Arithmetic, Value};
use crate::fixed::{self, Finish, Kind, Operand, Operation, Program, Role};
use crate::ranges::INSTEAD_OF_INFINITY;
use crate::rounding::is_of_words;
use crate::tensor::{self, Aggregate, Binary, Element, Nest, Node, Start, TensorId};
use arch::division::Rounding;
use arch::function::Function;
use arch::isa::{Combine, UNLIMITED};

/// The constants of nests.
fn constants<'a>(nests: impl Iterator<Item = &'a Nest> + Clone) -> Vec<f64> {
    let written = nests.clone().flat_map(|nest| &nest.body.nodes).filter_map(|node| match node {
        Node::Constant(value) => Some(*value),
        _ => None,
    });
    let starts = nests.filter_map(|nest| match nest.start {
        Start::Fill(value) => Some(value),
        _ => None,
    });
    // A sum of elements is one of products with 1.
    written.chain(starts).chain([1.0]).flat_map(|value| [value, -value]).collect()
}

/// Whether something takes the place of an infinity.
pub(super) fn has_numbers_beyond(program: &tensor::Program) -> bool {
    let beyond = |value: &f64| value.abs() >= INSTEAD_OF_INFINITY;
    let parameters = program.tensors.iter().filter_map(|tensor| match &tensor.role {
        tensor::Role::Parameter(values) => Some(values),
        _ => None,
    });
    constants(program.nests.iter()).iter().any(beyond) || parameters.flat_map(|values| values.iter()).any(beyond)
}

/// A fixed-point program at a draw.
pub(super) struct Run<'a> {
    program: &'a Program,
    constants: Vec<f64>,
    /// Those of the nests that write what a tensor is called after.
    own: Vec<Vec<f64>>,
    elements: Vec<Vec<Value>>,
}

impl<'a> Run<'a> {
    /// Evaluate what was made of `canonical`, with the same unknowns.
    pub(super) fn of(
        program: &'a Program,
        canonical: &tensor::Program,
        draw: &Draw,
        arithmetic: &mut Arithmetic,
    ) -> Outcome {
        // Columns of an input and the powers of two in constants cancel: both are left out.
        let twin = |name: &str| {
            let name = name.trim_end_matches(fixed::COPY).trim_end_matches(fixed::NEAR);
            canonical.tensors.iter().find(|tensor| tensor.name == name)
        };
        let inverted = |name: &str| match &twin(name.strip_suffix(fixed::RECIPROCAL)?)?.role {
            tensor::Role::Parameter(values) => Some(values),
            _ => None,
        };
        let elements = program.tensors.iter().map(|tensor| {
            let count = tensor.shape.iter().map(|&n| n as usize).product();
            let known = twin(&tensor.name);
            match (&tensor.role, known.map(|tensor| &tensor.role)) {
                (Role::Parameter(_), Some(tensor::Role::Parameter(values))) => {
                    values.iter().map(|&value| arithmetic.constant(value)).collect()
                }
                // Reciprocals of constants are those of the canonical program's.
                (Role::Parameter(_), None) if inverted(&tensor.name).is_some() => {
                    let inverse = |value: &f64| {
                        let divisor = arithmetic.constant(*value);
                        arithmetic.binary(Binary::DivControlled, Value::ONE, divisor).unwrap_or(Value::ZERO)
                    };
                    inverted(&tensor.name).into_iter().flat_map(|values| values.iter()).map(inverse).collect()
                }
                (Role::Parameter(words), _) => {
                    words.iter().map(|&word| Value::weight(libm::ldexp(word as f64, -tensor.fraction))).collect()
                }
                // Nothing is rounded, so nothing is left of it.
                (Role::State, _) if is_of_words(&tensor.name) => vec![Value::ZERO; count],
                (Role::Input | Role::State, _) => {
                    let element = known.map_or(Element::Real, |tensor| tensor.element);
                    (0..count).map(|place| draw.unknown(&tensor.name, element, place)).collect()
                }
                (Role::Temporary | Role::Output, _) => vec![Value::ZERO; count],
            }
        });
        let own = program.tensors.iter().map(|tensor| {
            let nests = canonical.nests.iter();
            twin(&tensor.name).map_or_else(Vec::new, |twin| {
                constants(nests.filter(|nest| canonical.tensors[nest.out.0].name == twin.name))
            })
        });
        let (constants, own) = (constants(canonical.nests.iter()), own.collect());
        let mut run = Run { program, constants, own, elements: elements.collect() };
        for operation in &program.operations {
            run.operation(operation, arithmetic);
        }
        let all = |elements: &Vec<Value>| -> Elements { elements.iter().copied().map(Some).collect() };
        let names = program.names.iter().map(|(name, tensor)| (name.clone(), all(&run.elements[tensor.0])));
        let states = program.tensors.iter().zip(&run.elements).filter(|(tensor, _)| tensor.role == Role::State);
        Outcome {
            names: names.collect(),
            states: states.map(|(tensor, elements)| (tensor.name.clone(), all(elements))).collect(),
        }
    }

    fn operation(&mut self, operation: &Operation, arithmetic: &mut Arithmetic) {
        let iterators: Vec<(i64, i64)> = operation.iterators.iter().map(|i| (i.low, i.extent() as i64)).collect();
        let (free, reduced) = iterators.split_at(operation.free);
        if !has_points(free) {
            return;
        }
        let place = Form::of_element(&self.program.tensors[operation.out.0].shape, &operation.out_index);
        let formula = self.formula(operation, arithmetic);
        let limit = self.limit(operation, arithmetic);
        let mut point: Vec<i64> = iterators.iter().map(|&(low, _)| low).collect();
        loop {
            let value = self.value((&formula, limit), (operation.free, reduced), &mut point, arithmetic);
            let place = place.at(&point) as usize;
            // A quotient by 0 has no value.
            self.elements[operation.out.0][place] = value.unwrap_or(Value::ZERO);
            if !advance(&mut point[..operation.free], free) {
                return;
            }
        }
    }

    /// The value at a point of the free iterators.
    fn value(
        &self,
        (formula, limit): (&Kind<Source>, Option<Value>),
        (free, reduced): (usize, &[(i64, i64)]),
        point: &mut [i64],
        arithmetic: &mut Arithmetic,
    ) -> Option<Value> {
        let elements = &self.elements;
        match formula {
            Kind::MultiplyAdd { start, product, square, scale, combine, finish, .. } => {
                let scale = Value::weight(libm::ldexp(1.0, *scale));
                let mut total = start.as_ref().map(|start| start.at(elements, point));
                while let Some((a, b)) = product.as_ref().filter(|_| has_points(reduced)) {
                    let (a, b) = (a.at(elements, point), b.at(elements, point));
                    let product = if *square { a.minus(b).times(a.minus(b)) } else { a.times(b) };
                    total = Some(combined(*combine, total, product.times(scale), arithmetic));
                    if !advance(&mut point[free..], reduced) {
                        break;
                    }
                }
                let total = total.unwrap_or(Value::ZERO);
                match finish {
                    Finish::Round => Some(total),
                    Finish::Whole(Rounding::Nearest) => arithmetic.call(Function::Rint, &[total]),
                    // Of what is there beside the one value that is rounded down the law says the rest.
                    Finish::Whole(Rounding::Down) => {
                        let value = product.as_ref().map(|(a, _)| a).or(start.as_ref())?;
                        arithmetic.call(Function::Floor, &[value.at(elements, point)])
                    }
                    Finish::Positive(_) => {
                        let positive = arithmetic.binary(Binary::Max, total, Value::ZERO)?;
                        limit.map_or(Some(positive), |limit| arithmetic.binary(Binary::Min, positive, limit))
                    }
                    Finish::Negative => arithmetic.binary(Binary::Lt, total, Value::ZERO),
                }
            }
            Kind::Product { factor, .. } => {
                let mut total = Value::ONE;
                while has_points(reduced) {
                    total = total.times(factor.at(elements, point));
                    if !advance(&mut point[free..], reduced) {
                        break;
                    }
                }
                Some(total)
            }
            Kind::Divide { dividend, divisor, rounding, .. } => {
                let (a, b) = (dividend.at(elements, point), divisor.at(elements, point));
                match rounding {
                    Rounding::Down => arithmetic.binary(Binary::DivFloor, a, b),
                    Rounding::Nearest if matches!(divisor, Source::Constant(_)) => {
                        arithmetic.divide_by_constant(Binary::DivControlled, a, b)
                    }
                    Rounding::Nearest => arithmetic.binary(Binary::DivControlled, a, b),
                }
            }
            Kind::Function { table, input } => {
                arithmetic.call(self.program.tables[*table].function, &[input.at(elements, point)])
            }
        }
    }

    /// The formula of an operation, with the places of its operands worked out.
    fn formula(&self, operation: &Operation, arithmetic: &Arithmetic) -> Kind<Source> {
        let mut formula = operation.kind.map(|operand| self.source(operand, operation.out, arithmetic));
        // A mask is bounded where nothing is seen of it.
        if let Kind::MultiplyAdd { start, .. } = &mut formula
            && self.program.tensors[operation.out.0].name.ends_with(fixed::NEAR)
        {
            *start = None;
        }
        formula
    }

    /// What a positive part is at most.
    fn limit(&self, operation: &Operation, arithmetic: &Arithmetic) -> Option<Value> {
        let fraction = self.program.tensors[operation.out.0].fraction;
        match operation.kind {
            Kind::MultiplyAdd { finish: Finish::Positive(limit), .. } if limit != UNLIMITED => {
                Some(self.constant(operation.out, (limit.into(), fraction), arithmetic))
            }
            _ => None,
        }
    }

    /// The constant that a word of the operation that writes `out` is the rounding of.
    fn constant(&self, out: TensorId, (word, fraction): (i64, i32), arithmetic: &Arithmetic) -> Value {
        let (value, unit) = (libm::ldexp(word as f64, -fraction), libm::ldexp(1.0, -fraction));
        let distance = |constant: &f64| (constant - value).abs();
        let rounded_from = |constants: &[f64]| {
            let nearest = constants.iter().copied().min_by(|a, b| distance(a).total_cmp(&distance(b)));
            nearest.filter(|constant| distance(constant) <= unit / 2.0)
        };
        let constant = rounded_from(&self.own[out.0]).or_else(|| rounded_from(&self.constants));
        arithmetic.constant(constant.unwrap_or(value))
    }

    fn source(&self, operand: &Operand, out: TensorId, arithmetic: &Arithmetic) -> Source {
        match operand {
            Operand::Read { tensor, index } => {
                Source::Element(tensor.0, Form::of_element(&self.program.tensors[tensor.0].shape, index))
            }
            Operand::Constant { word, fraction } => {
                Source::Constant(self.constant(out, (*word, *fraction), arithmetic))
            }
        }
    }
}

/// An operand, with its place worked out.
enum Source {
    Constant(Value),
    Element(usize, Form),
}

impl Source {
    fn at(&self, elements: &[Vec<Value>], point: &[i64]) -> Value {
        match self {
            Source::Constant(value) => *value,
            Source::Element(tensor, form) => elements[*tensor][form.at(point) as usize],
        }
    }
}

fn combined(combine: Combine, total: Option<Value>, product: Value, arithmetic: &mut Arithmetic) -> Value {
    let aggregate = match combine {
        Combine::Add => return total.unwrap_or(Value::ZERO).plus(product),
        Combine::Subtract => return total.unwrap_or(Value::ZERO).minus(product),
        Combine::Maximum => Aggregate::Max,
        Combine::Minimum => Aggregate::Min,
    };
    total.map_or(product, |total| arithmetic.aggregate(aggregate, total, product))
}
