//! Plain evaluator: tensor IR as it is written, one loop per iterator.
//!
//! ```text
//!  for j in 0..3, i in 0..4:  s[j] += w[j][i] * x[i]
//!
//!  for each j { total = 0; for each i { total += w[j][i] * x[i] }; s[j] = total }
//! ```
//!
//! It exists to be compared with [`crate::golden`], which does the same fast. The two share no code and no representation: here are no
//! strides, plans or blocks, an element is an `Option`, and the operations are defined once more in `scalar`. A hundred times slower,
//! and short enough to be read beside the definitions of [`compiler::tensor`].
//!
//! A batch is so many programs, one per sample, which meet where a [`Role::Mean`] is written and where the weights descend.

pub mod duals;
mod scalar;

use crate::eval::Engine;
use arch::{Code, Diagnostic, Span};
use compiler::canonical::{Batch, Keep, Options, Reduction};
use compiler::tensor::{Affine, Aggregate, Guard, IterId, Nest, Node, NodeId, Program, Role, Start, TensorId};

/// A number, or undefined: never written, or computed from something undefined.
type Element = Option<f64>;

/// A program being evaluated, step after step.
#[derive(Debug, Clone)]
pub struct Plain {
    samples: Vec<Sample>,
    batch: Batch,
}

/// A program and the values that a sample gives it.
#[derive(Debug, Clone)]
struct Sample {
    program: Program,
    /// By tensor, row-major.
    elements: Vec<Vec<Element>>,
}

impl Plain {
    /// An evaluator of one sample with no input set: everything but the parameters is undefined.
    pub fn new(program: &Program) -> Plain {
        Plain::with(program, &Options { keep: Keep::AllNames, batch: Batch::SINGLE })
    }

    /// The same for a batch, with the updates that are asked for.
    pub fn with(program: &Program, options: &Options) -> Plain {
        let mut program = program.clone();
        if let Keep::Prediction { states, .. } = &options.keep {
            program.descents.clear();
            let tensors = &program.tensors;
            program.updates.retain(|update| states.contains(&tensors[update.state.0].name));
        }
        let samples = (0..options.batch.size.max(1)).map(|_| Sample::new(&program));
        Plain { samples: samples.collect(), batch: options.batch }
    }

    /// The elements of a tensor as a sample of the batch has them, row-major; `None` is undefined.
    pub fn of_sample(&self, sample: usize, tensor: TensorId) -> &[Option<f64>] {
        &self.samples[sample].elements[tensor.0]
    }

    /// A tensor over all samples: the mean of its values, or their sum; undefined as soon as one is.
    fn combined(&self, tensor: TensorId, sums: bool) -> Vec<Element> {
        let sum = |place: usize| {
            let values = self.samples.iter().map(|sample| sample.elements[tensor.0][place]);
            values.reduce(|sum, value| Some(sum? + value?)).flatten()
        };
        let count = if sums { 1.0 } else { self.samples.len() as f64 };
        (0..self.samples[0].elements[tensor.0].len()).map(|place| sum(place).map(|sum| sum / count)).collect()
    }

    fn run(&mut self, nest: &Nest) -> Result<(), Fault> {
        for sample in &mut self.samples {
            sample.run(nest)?;
        }
        let tensors = &self.samples[0].program.tensors;
        if tensors[nest.out.0].role == Role::Mean {
            let given = |tensor: TensorId| matches!(tensors[tensor.0].role, Role::Input | Role::Label | Role::InOut);
            let copied = nest.body.nodes.iter().any(|node| matches!(node, Node::Read { tensor, .. } if given(*tensor)));
            let combined = self.combined(nest.out, self.batch.reduction == Reduction::Sum && !copied);
            for sample in &mut self.samples {
                sample.elements[nest.out.0].clone_from(&combined);
            }
        }
        Ok(())
    }

    /// The next values of the states, all from the values before.
    fn update(&mut self) {
        let before = self.samples[0].clone();
        let mut next = before.elements.clone();
        for update in &before.program.updates {
            for (state, next) in next[update.state.0].iter_mut().zip(&before.elements[update.next.0]) {
                *state = next.or(*state);
            }
        }
        for descent in &before.program.descents {
            let gradient = self.combined(descent.gradient, self.batch.reduction == Reduction::Sum);
            for (state, gradient) in next[descent.state.0].iter_mut().zip(gradient) {
                if let (Some(weight), Some(gradient)) = (*state, gradient) {
                    *state = Some(weight - descent.rate * gradient);
                }
            }
        }
        let updated = before.program.updates.iter().map(|update| update.state);
        for state in updated.chain(before.program.descents.iter().map(|descent| descent.state)) {
            for sample in &mut self.samples {
                sample.elements[state.0].clone_from(&next[state.0]);
            }
        }
    }
}

impl Sample {
    fn new(program: &Program) -> Sample {
        let elements = program.tensors.iter().map(|tensor| match &tensor.role {
            Role::Parameter(values) => values.iter().copied().map(Some).collect(),
            _ => vec![None; tensor.shape.iter().map(|&extent| extent as usize).product()],
        });
        Sample { elements: elements.collect(), program: program.clone() }
    }

    /// Forget what the last step computed.
    fn forget(&mut self) {
        for (elements, tensor) in self.elements.iter_mut().zip(&self.program.tensors) {
            if tensor.role.is_computed() {
                elements.fill(None);
            }
        }
    }

    fn run(&mut self, nest: &Nest) -> Result<(), Fault> {
        let (free, summed) = nest.iterators.split_at(nest.free);
        for outer in points(free) {
            let mut total = None;
            for inner in points(summed) {
                let point = [outer.clone(), inner].concat();
                if !nest.guards.iter().all(|guard| holds(guard, &point)) {
                    continue;
                }
                let value = self.body(nest, &point)?;
                let so_far = match total {
                    None => self.start(nest, &point),
                    Some(total) => total,
                };
                let now = scalar::aggregate(nest.aggregate, so_far, value);
                let adds = matches!(nest.aggregate, Aggregate::Add | Aggregate::Mul);
                if let (true, Some(sum)) =
                    (adds && self.is_integer(nest.out), now.filter(|sum| !scalar::is_exact(*sum)))
                {
                    return Err(Fault::Overflow(sum));
                }
                total = Some(now);
            }
            // An element without any point is not written.
            if let Some(total) = total {
                self.write(nest, &outer, total)?;
            }
        }
        Ok(())
    }

    fn is_integer(&self, tensor: TensorId) -> bool {
        matches!(self.program.tensors[tensor.0].element, compiler::tensor::Element::Int { .. })
    }

    /// Where the accumulation of the element at a point starts.
    fn start(&self, nest: &Nest, point: &[i64]) -> Element {
        match &nest.start {
            Start::Identity => Some(match nest.aggregate {
                Aggregate::Assign | Aggregate::Add => 0.0,
                Aggregate::Mul => 1.0,
                Aggregate::Min => f64::INFINITY,
                Aggregate::Max => f64::NEG_INFINITY,
            }),
            Start::Fill(value) => Some(*value),
            Start::Element { tensor, index } => self.read(*tensor, index, point),
        }
    }

    fn write(&mut self, nest: &Nest, outer: &[i64], value: Element) -> Result<(), Fault> {
        let element = self.program.tensors[nest.out.0].element;
        if let Some(value) = value.filter(|&value| !scalar::fits(element, value)) {
            return Err(Fault::Overflow(value));
        }
        // Only free iterators occur in the index.
        let place = self.place(nest.out, nest.out_index.iter().map(|index| at(index, outer)));
        self.elements[nest.out.0][place] = value;
        Ok(())
    }

    fn read(&self, tensor: TensorId, index: &[Affine], point: &[i64]) -> Element {
        self.elements[tensor.0][self.place(tensor, index.iter().map(|index| at(index, point)))]
    }

    /// Row-major place of an element.
    ///
    /// # Panics
    /// Outside of the tensor: law 3 of tensor IR is broken.
    fn place(&self, tensor: TensorId, index: impl Iterator<Item = i64>) -> usize {
        let tensor = &self.program.tensors[tensor.0];
        index.zip(&tensor.shape).fold(0, |place, (index, &extent)| {
            assert!((0..i64::from(extent)).contains(&index), "law 3: {} is read or written at {index}", tensor.name);
            place * extent as usize + index as usize
        })
    }

    /// The value of the body at a point.
    fn body(&self, nest: &Nest, point: &[i64]) -> Result<Element, Fault> {
        let mut values: Vec<Element> = Vec::with_capacity(nest.body.nodes.len());
        for node in &nest.body.nodes {
            let of = |id: &NodeId| values[id.0];
            let value = match node {
                Node::Constant(value) => Some(*value),
                Node::Iterator(IterId(iterator)) => Some(point[*iterator] as f64),
                Node::Read { tensor, index } => self.read(*tensor, index, point),
                Node::Gather { tensor, index } => {
                    let index: Option<Vec<f64>> = index.iter().map(of).collect();
                    index.map_or(Ok(None), |index| self.gather(*tensor, &index))?
                }
                Node::Unary(operator, a) => of(a).map(|a| scalar::unary(*operator, a)),
                Node::Binary(operator, a, b) => match (of(a), of(b)) {
                    (Some(a), Some(b)) => scalar::binary(*operator, a, b)?,
                    _ => None,
                },
                Node::Select { condition, yes, no } => {
                    of(condition).and_then(|condition| of(if condition == 0.0 { no } else { yes }))
                }
                Node::Cast(element, a) => of(a).map(|a| scalar::cast(*element, a)),
                Node::Call(function, arguments) => {
                    let arguments: Option<Vec<f64>> = arguments.iter().map(of).collect();
                    arguments.map(|arguments| scalar::call(*function, &arguments))
                }
            };
            values.push(value);
        }
        Ok(values.pop().flatten())
    }

    /// An element at computed indices.
    fn gather(&self, tensor: TensorId, index: &[f64]) -> Result<Element, Fault> {
        let shape = &self.program.tensors[tensor.0].shape;
        for (&index, &extent) in index.iter().zip(shape) {
            if !(index >= 0.0 && index < f64::from(extent)) {
                return Err(Fault::Outside { index, extent });
            }
        }
        let place = self.place(tensor, index.iter().map(|index| index.floor() as i64));
        Ok(self.elements[tensor.0][place])
    }
}

/// Of a batch, inputs and labels have the samples behind each other, and so have values.
impl Engine for Plain {
    fn set(&mut self, tensor: TensorId, values: &[Option<f64>]) {
        let elements = self.samples[0].elements[tensor.0].len();
        let each = matches!(self.samples[0].program.tensors[tensor.0].role, Role::Input | Role::Label | Role::InOut);
        for (number, sample) in self.samples.iter_mut().enumerate() {
            let first = if each { number * elements } else { 0 };
            sample.elements[tensor.0].copy_from_slice(&values[first..first + elements]);
        }
    }

    fn step(&mut self) -> Result<(), Box<Diagnostic>> {
        self.samples.iter_mut().for_each(Sample::forget);
        for number in 0..self.samples[0].program.nests.len() {
            let nest = self.samples[0].program.nests[number].clone();
            self.run(&nest).map_err(|fault| Box::new(fault.diagnostic(nest.origin.span())))?;
        }
        self.update();
        Ok(())
    }

    fn value(&self, tensor: TensorId) -> Vec<Option<f64>> {
        self.samples.iter().flat_map(|sample| &sample.elements[tensor.0]).copied().collect()
    }
}

/// All points of a box, the last iterator fastest; the empty box has one point.
fn points(iterators: &[compiler::tensor::Iterator]) -> Vec<Vec<i64>> {
    iterators.iter().fold(vec![Vec::new()], |points, iterator| {
        let with = |point: &Vec<i64>, value: i64| point.iter().copied().chain([value]).collect::<Vec<i64>>();
        points.iter().flat_map(|point| (iterator.low..iterator.high).map(move |value| with(point, value))).collect()
    })
}

/// The value of a linear form at a point.
fn at(form: &Affine, point: &[i64]) -> i64 {
    form.terms.iter().fold(form.offset, |sum, (IterId(iterator), coefficient)| sum + coefficient * point[*iterator])
}

fn holds(guard: &Guard, point: &[i64]) -> bool {
    match guard {
        Guard::Within { value, bound } => (0..*bound).contains(&at(value, point)),
        Guard::Zero { value } => at(value, point) == 0,
    }
}

/// What only the values show.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    Outside { index: f64, extent: u32 },
    DivisionByZero,
    Overflow(f64),
}

impl Fault {
    /// With the code that the golden evaluator gives, too; the words are its own.
    fn diagnostic(self, span: Span) -> Diagnostic {
        match self {
            Fault::Outside { index, extent } => {
                Diagnostic::new(Code::Bounds, span, format!("the index {index} is outside of an extent of {extent}"))
            }
            Fault::DivisionByZero => Diagnostic::new(Code::Const, span, "division of an integer by zero"),
            Fault::Overflow(value) => {
                Diagnostic::new(Code::Const, span, format!("{value} is outside of its integer type"))
            }
        }
    }
}
