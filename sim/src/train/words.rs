//! Fixed-point words as an engine: bit by bit what the hardware computes, without any notion of a grid.

use crate::clipped::Clipped;
use crate::fixed::Fixed;
use crate::train::engine::{Engine, EngineError, NamedValues, Run, Signature, Step};
use crate::train::moves::{AllMoves, Watched, Weight};
use compiler::fixed::{Program, Role};
use compiler::tensor::TensorId;

/// A fixed-point program.
pub struct Words {
    fixed: Fixed,
    fields: Vec<(TensorId, usize)>,
    weights: Vec<(String, TensorId)>,
    prediction: Option<TensorId>,
    /// Of a program that updates weights, while steps are counted.
    watched: Option<Watched>,
    counts: bool,
}

impl Words {
    /// A program whose inputs and weights are called as in the signature; it may lack those it does not need.
    pub fn new(program: &Program, signature: &Signature) -> Words {
        let (fields, weights) = bindings(program, signature);
        let updates = weights.iter().any(|&(_, id)| program.operations.iter().any(|operation| operation.out == id));
        let watched = updates.then(Watched::default);
        let prediction = prediction(program, signature);
        Words { fixed: Fixed::new(program), fields, weights, prediction, watched, counts: true }
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
pub(super) fn load(fixed: &mut Fixed, weights: &[(String, TensorId)], model: &NamedValues) {
    for (name, id) in weights {
        fixed.forget_given(*id);
        fixed.set_real(*id, &model[name]);
    }
}

/// Weights by name.
fn values<'a>(fixed: &'a Fixed, weights: &'a [(String, TensorId)]) -> impl Iterator<Item = Weight<'a>> {
    weights.iter().map(|(name, id)| (name.as_str(), fixed.values(*id).into()))
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
    fn load(&mut self, model: &NamedValues) {
        load(&mut self.fixed, &self.weights, model);
        if let Some(watched) = &mut self.watched {
            watched.begin(values(&self.fixed, &self.weights));
        }
    }

    fn run(&mut self, steps: &[Step]) -> Result<Run, EngineError> {
        let mut run = Run::default();
        for step in steps {
            for &(id, field) in &self.fields {
                self.fixed.set_real(id, &step[field]);
            }
            self.fixed.step();
            if let Some(watched) = self.watched.as_mut().filter(|_| self.counts) {
                watched.update(values(&self.fixed, &self.weights));
            }
            if let Some(id) = self.prediction {
                run.predictions.push(self.fixed.values(id));
            }
        }
        run.saturated = self.fixed.computed().iter().any(|count| count.values > 0);
        Ok(run)
    }

    fn model(&self) -> NamedValues {
        values(&self.fixed, &self.weights).map(|(name, values)| (name.to_owned(), values.into_owned())).collect()
    }

    fn clipped(&self) -> Vec<Clipped> {
        self.fixed.clipped()
    }

    fn moves(&self) -> AllMoves {
        self.watched.as_ref().map_or_else(AllMoves::new, Watched::all)
    }

    fn count(&mut self, counts: bool) {
        self.counts = counts;
        self.fixed.count(counts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::engine::Field;

    const TEXT: &str = "word 16
accumulator 48
input x[2]: q8
state w: q8
output h[2][3]: q8
temporary t: q8
w = round(w << 1) >> 1
t = round(+ x[0] * 25600:q8) >> 8
h[i][1] = round(+ x[i] * 512:q8) >> 8  for i in 0..2
h[1][j] = round(+ t * 256:q8) >> 8  for j in 2..3
name h = h
name other = t
";

    fn signature(prediction: &str) -> Signature {
        Signature {
            fields: vec![Field { name: "x".to_owned(), shape: vec![2], integer: false }],
            inputs: 1,
            prediction: (prediction.to_owned(), 6),
            model: vec![("w".to_owned(), 1)],
            sequence: Vec::new(),
        }
    }

    #[test]
    fn a_prediction_is_an_output_with_its_name() {
        let program: Program = TEXT.parse().expect("a good text");
        let of = |name: &str| prediction(&program, &signature(name)).map(|id| program.tensors[id.0].name.as_str());
        assert_eq!((of("h"), of("other"), of("nothing")), (Some("h"), None, None));
        let id = prediction(&program, &signature("h")).expect("it is sent");
        assert_eq!(written(&program, id), [false, true, false, false, true, true]);
    }

    /// By hand: a hundredfold input of 2 is beyond the 128 that words of 8 bits before the point reach.
    #[test]
    fn what_is_clipped_counts_while_it_is_counted() {
        let program: Program = TEXT.parse().expect("a good text");
        let mut words = Words::new(&program, &signature("h"));
        words.load(&NamedValues::from([("w".to_owned(), vec![0.5])]));
        words.count(false);
        let run = words.run(&[vec![vec![2.0, 3.0]]]).unwrap();
        assert!(words.clipped().is_empty());
        assert_eq!(run.predictions, [[0.0, 4.0, 0.0, 0.0, 6.0, 32767.0 / 256.0]]);
        assert_eq!(words.model(), NamedValues::from([("w".to_owned(), vec![0.5])]));
        words.count(true);
        assert!(words.run(&[vec![vec![1.0, 3.0]]]).unwrap().predictions[0][5] == 100.0 && words.clipped().is_empty());
        assert!(words.run(&[vec![vec![2.0, 3.0]]]).unwrap().saturated);
        assert_eq!(words.clipped().len(), 1);
    }
}
