//! Fixed-point words as an engine: bit by bit what the hardware computes, without any notion of a grid.

use crate::clipped::Clipped;
use crate::fixed::Fixed;
use crate::train::engine::{Engine, EngineError, Model, Run, Signature, Step};
use compiler::fixed::{Program, Role};
use compiler::tensor::TensorId;

/// A fixed-point program.
pub struct Words {
    fixed: Fixed,
    fields: Vec<(TensorId, usize)>,
    weights: Vec<(String, TensorId)>,
    prediction: Option<TensorId>,
}

impl Words {
    /// A program whose inputs and weights are called as in the signature; it may lack those it does not need.
    pub fn new(program: &Program, signature: &Signature) -> Words {
        let (fields, weights) = bindings(program, signature);
        Words { fixed: Fixed::new(program), fields, weights, prediction: prediction(program, signature) }
    }
}

/// Inputs of a program with the fields of a step that fill them, and its weights.
pub(super) fn bindings(program: &Program, signature: &Signature) -> Bindings {
    let (mut fields, mut weights) = (Vec::new(), Vec::new());
    for (n, tensor) in program.tensors.iter().enumerate() {
        match tensor.role {
            Role::Input => {
                let field = signature.fields.iter().position(|field| field.name == tensor.name);
                fields.extend(field.map(|field| (TensorId(n), field)));
            }
            Role::State => weights.push((tensor.name.clone(), TensorId(n))),
            _ => {}
        }
    }
    (fields, weights)
}

/// Inputs with their fields, and weights with their names.
type Bindings = (Vec<(TensorId, usize)>, Vec<(String, TensorId)>);

/// Give a program these weights.
pub(super) fn load(fixed: &mut Fixed, weights: &[(String, TensorId)], model: &Model) {
    for (name, id) in weights {
        fixed.forget_given(*id);
        fixed.set_real(*id, &model[name]);
    }
}

/// The tensor that holds the prediction, if the program sends it.
pub fn prediction(program: &Program, signature: &Signature) -> Option<TensorId> {
    let named = program.names.iter().rev().find(|(name, _)| *name == signature.prediction.0);
    named.map(|&(_, id)| id).filter(|id| program.tensors[id.0].role == Role::Output)
}

/// Which elements of a tensor its operations write; the others never have a value.
pub fn written(program: &Program, tensor: TensorId) -> Vec<bool> {
    let shape = &program.tensors[tensor.0].shape;
    let mut written = vec![false; shape.iter().map(|&n| n as usize).product()];
    for operation in program.operations.iter().filter(|operation| operation.out == tensor) {
        let free = &operation.iterators[..operation.free];
        let mut point: Vec<i64> = free.iter().map(|iterator| iterator.low).collect();
        if free.iter().any(|iterator| iterator.extent() == 0) {
            continue;
        }
        loop {
            let place = operation
                .out_index
                .iter()
                .zip(shape)
                .fold(0, |at, (index, &extent)| at * extent as usize + index.at(&point) as usize);
            written[place] = true;
            let advanced = (0..free.len()).rev().find(|&n| {
                point[n] += 1;
                let inside = point[n] < free[n].high;
                if !inside {
                    point[n] = free[n].low;
                }
                inside
            });
            if advanced.is_none() {
                break;
            }
        }
    }
    written
}

impl Engine for Words {
    fn load(&mut self, model: &Model) {
        load(&mut self.fixed, &self.weights, model);
    }

    fn run(&mut self, steps: &[Step]) -> Result<Run, EngineError> {
        let mut run = Run::default();
        for step in steps {
            for &(id, field) in &self.fields {
                self.fixed.set_real(id, &step[field]);
            }
            self.fixed.step();
            if let Some(id) = self.prediction {
                run.predictions.push(self.fixed.values(id));
            }
        }
        run.saturated = self.fixed.computed().iter().any(|count| count.values > 0);
        Ok(run)
    }

    fn model(&self) -> Model {
        self.weights.iter().map(|(name, id)| (name.clone(), self.fixed.values(*id))).collect()
    }

    fn clipped(&self) -> Vec<Clipped> {
        self.fixed.clipped()
    }

    fn count(&mut self, counts: bool) {
        self.fixed.count(counts);
    }
}
