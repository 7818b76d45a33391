//! Derived gradients against central differences.
//!
//!     e(w + step) - e(w - step)
//!     -------------------------   =   w.gradient       where two steps agree about the left side: elsewhere is a kink or a jump
//!             2 * step

use compiler::derived::{Objective, derive};
use compiler::tensor::{
    Affine, Aggregate, Body, Element, IterId, Iterator, Nest, Node, Program, Role, Start, Tensor, TensorId,
};
use sim::golden::Golden;
use sim::ladder::NamedValues;

/// What has been compared.
#[derive(Debug, Default)]
pub(crate) struct Differences {
    pub(crate) programs: usize,
    pub(crate) elements: usize,
    /// Elements at a kink.
    pub(crate) kinks: usize,
    /// Programs whose results do not vary with a weight.
    pub(crate) constant: usize,
}

const STEP: f64 = 1e-5;
/// Elements per weight.
const MOST: usize = 5;

impl Differences {
    /// Derive the sum of all complete results by all weights, and compare.
    pub(crate) fn check(&mut self, program: &Program, model: &NamedValues, sample: &NamedValues) {
        // Off the grid of made-up values, where comparisons are ties.
        let off = |(k, value): (usize, &f64)| value + 0.003 * libm::sin(k as f64 + 1.0);
        let shifted =
            |(name, values): (&String, &Vec<f64>)| (name.clone(), values.iter().enumerate().map(off).collect());
        let model: NamedValues = model.iter().map(shifted).collect();
        let sample: NamedValues = sample.iter().map(shifted).collect();
        let Some((program, objective)) = with_sum(program, &model, &sample) else { return };
        let value = objective.value;
        match trainable(&program, objective) {
            Some(objective) => {
                let derived = derive(&program, &objective).expect("it is trainable");
                self.compare(&derived, value, &model, &sample);
            }
            None => self.constant += 1,
        }
    }

    /// The gradients of a derived program with the slopes of a scalar.
    pub(crate) fn compare(&mut self, derived: &Program, value: TensorId, model: &NamedValues, sample: &NamedValues) {
        let golden = run(derived, model, sample);
        self.programs += 1;
        for (id, tensor) in derived.tensors.iter().enumerate() {
            let Role::Gradient(state) = tensor.role else { continue };
            if !tensor.name.ends_with(".gradient") {
                continue;
            }
            let name = &derived.tensors[state.0].name;
            let found: Vec<f64> = golden.value(TensorId(id)).map(|value| value.unwrap_or(0.0)).collect();
            let stride = found.len().div_ceil(MOST);
            for element in (0..found.len()).step_by(stride.max(1)) {
                let slope = |step: f64| {
                    let at = |shift: f64| {
                        let mut model = model.clone();
                        model.get_mut(name).unwrap()[element] += shift;
                        run(derived, &model, sample).value(value).next().unwrap().unwrap()
                    };
                    (at(step) - at(-step)) / (2.0 * step)
                };
                let (near, far) = (slope(STEP), slope(3.0 * STEP));
                let scale = 1.0 + near.abs();
                if (near - far).abs() > 1e-6 * scale {
                    self.kinks += 1;
                    continue;
                }
                self.elements += 1;
                let wrong = (found[element] - near).abs();
                assert!(wrong <= 1e-5 * scale, "{name}[{element}] is {}, not {near}\n{derived}", found[element]);
            }
        }
    }
}

fn run(program: &Program, model: &NamedValues, sample: &NamedValues) -> Golden {
    let mut golden = Golden::new(program);
    for (name, values) in model.iter().chain(sample) {
        golden.set(TensorId(program.tensors.iter().position(|t| t.name == *name).unwrap()), values);
    }
    golden.step().unwrap();
    golden
}

/// The program with the sum of everything that it computes completely.
pub(crate) fn with_sum(program: &Program, model: &NamedValues, sample: &NamedValues) -> Option<(Program, Objective)> {
    let golden = run(program, model, sample);
    let mut program = program.clone();
    program.updates.clear();
    program.descents.clear();
    let complete = |id: &TensorId| golden.value(*id).all(|value| value.is_some_and(|v| v.is_finite() && v.abs() < 1e4));
    let results: Vec<TensorId> = program.names.iter().map(|name| name.1).filter(complete).collect();
    let mut sum = None;
    for (number, &result) in results.iter().enumerate() {
        let shape = program.tensors[result.0].shape.clone();
        let element = Element::Real;
        let (name, role, span) = (format!("sum of results.{number}"), Role::Temporary, program.tensors[result.0].span);
        program.tensors.push(Tensor { name, shape: Vec::new(), role, element, span });
        let out = TensorId(program.tensors.len() - 1);
        let index = (0..shape.len()).map(|d| Affine::iterator(IterId(d))).collect();
        let mut body = Body { nodes: vec![Node::Read { tensor: result, index }] };
        let mut start = Start::Identity;
        match (sum, shape.is_empty()) {
            (Some(before), false) => start = Start::Element { tensor: before, index: Vec::new() },
            (Some(before), true) => {
                let (value, before) = (body.root(), body.push(Node::Read { tensor: before, index: Vec::new() }));
                body.push(Node::Binary(compiler::tensor::Binary::Add, before, value));
            }
            (None, _) => {}
        }
        let iterator = |(d, &n): (usize, &u32)| Iterator { name: format!("d{d}"), low: 0, high: i64::from(n) };
        program.nests.push(Nest {
            iterators: shape.iter().enumerate().map(iterator).collect(),
            free: 0,
            guards: Vec::new(),
            out,
            out_index: Vec::new(),
            aggregate: if shape.is_empty() { Aggregate::Assign } else { Aggregate::Add },
            start,
            body,
            origin: span.into(),
        });
        sum = Some(out);
    }
    let value = sum?;
    let states = (0..program.tensors.len()).filter(|&id| program.tensors[id].role == Role::State).map(TensorId);
    let objective =
        Objective { value, losses: Vec::new(), weights: states.collect(), rate: None, span: arch::Span::default() };
    Some((program, objective))
}

/// By all weights that matter.
pub(crate) fn trainable(program: &Program, mut objective: Objective) -> Option<Objective> {
    while let Some(&last) = objective.weights.last() {
        let wanted = objective.weights.clone();
        for skipped in (0..=wanted.len()).rev() {
            let weights = wanted.iter().enumerate().filter(|&(n, _)| n != skipped).map(|(_, &w)| w).collect();
            let attempt = Objective { weights, ..objective.clone() };
            if attempt.weights.is_empty() {
                continue;
            }
            match derive(program, &attempt) {
                Ok(_) => return Some(attempt),
                Err(errors) => assert!(errors.iter().all(|e| e.code == arch::Code::Link), "{errors:?}"),
            }
        }
        objective.weights.retain(|&weight| weight != last);
    }
    None
}
