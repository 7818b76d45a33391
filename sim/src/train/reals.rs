//! The golden model as an engine: the program as its source says it, beside which its canonical form may run to be measured.

use crate::golden::{Golden, WORTH};
use crate::train::engine::{Engine, EngineError, NamedValues, Run, Signature, Step};
use crate::train::moves::{AllMoves, Weight};
use crate::train::ranks::Communicator;
use compiler::canonical::{Batch, Keep, Options};
use compiler::ranges::Ranges;
use compiler::tensor::{Program, Role, TensorId};
use std::borrow::Cow;
use std::rc::Rc;

/// A program on real numbers.
pub struct Reals {
    fed: Fed,
    /// Those that do the same, and share the elements.
    ranks: Option<Rc<dyn Communicator>>,
}

/// A program with what is set before each step and read after it.
struct Fed {
    golden: Golden,
    /// Inputs and labels, and the fields of a step that fill them.
    fields: Vec<(TensorId, usize)>,
    prediction: Option<TensorId>,
    weights: Vec<(String, TensorId)>,
}

/// Weights by name; what has no value counts as 0.
fn weights<'a>(golden: &'a Golden, weights: &'a [(String, TensorId)]) -> impl Iterator<Item = Weight<'a>> {
    weights.iter().map(|(name, id)| {
        let partial = || golden.value(*id).map(|value| value.unwrap_or(0.0)).collect();
        (name.as_str(), golden.values(*id).map_or_else(|| Cow::Owned(partial()), Cow::Borrowed))
    })
}

impl Fed {
    fn model(&self) -> NamedValues {
        weights(&self.golden, &self.weights).map(|(name, values)| (name.to_owned(), values.into_owned())).collect()
    }

    fn run(
        &mut self,
        steps: &[Step],
        step: impl Fn(&mut Golden) -> Result<(), EngineError>,
    ) -> Result<Run, EngineError> {
        let mut run = Run::default();
        for given in steps {
            for &(id, field) in &self.fields {
                self.golden.set(id, &given[field]);
            }
            step(&mut self.golden)?;
            if let Some(id) = self.prediction {
                // Elements that the program never assigns (a bias that has no output) count as 0.
                run.predictions.push(self.golden.value(id).map(|value| value.unwrap_or(0.0)).collect());
            }
        }
        Ok(run)
    }

    fn alone(&mut self, steps: &[Step]) -> Result<Run, EngineError> {
        self.run(steps, |golden| golden.step().map_err(EngineError::Values))
    }
}

impl Reals {
    /// One sample of a program whose inputs, labels and weights are called as in the signature; it may lack those it does not need.
    pub fn new(program: &Program, signature: &Signature) -> Reals {
        Reals::with(program, &Options { keep: Keep::AllNames, batch: Batch::SINGLE }, signature)
    }

    /// The same for a batch; a training gives no predictions.
    ///
    /// # Panics
    /// As [`Golden::with`].
    pub fn with(program: &Program, options: &Options, signature: &Signature) -> Reals {
        let (mut fields, mut weights) = (Vec::new(), Vec::new());
        for (n, tensor) in program.tensors.iter().enumerate() {
            match tensor.role {
                Role::Input | Role::Label | Role::InOut => {
                    let field = signature.fields.iter().position(|field| field.name == tensor.name);
                    fields.extend(field.map(|field| (TensorId(n), field)));
                }
                Role::State => weights.push((tensor.name.clone(), TensorId(n))),
                _ => {}
            }
        }
        let named = program.names.iter().rev().find(|(name, _)| *name == signature.prediction.0);
        let prediction = named.filter(|_| !matches!(options.keep, Keep::Training { .. })).map(|&(_, id)| id);
        let mut golden = Golden::with(program, options);
        if matches!(options.keep, Keep::Training { .. }) {
            golden.watch_moves();
        }
        Reals { fed: Fed { golden, fields, prediction, weights }, ranks: None }
    }

    /// One of several ranks, all of which run the same steps: it evaluates some of the elements, and has all of them.
    #[must_use]
    pub fn on(self, ranks: Option<&Rc<dyn Communicator>>) -> Reals {
        Reals { ranks: ranks.map(Rc::clone), ..self }
    }
}

impl Engine for Reals {
    fn load(&mut self, model: &NamedValues) {
        for (name, id) in &self.fed.weights {
            self.fed.golden.set(*id, &model[name]);
        }
    }

    fn run(&mut self, steps: &[Step]) -> Result<Run, EngineError> {
        match &self.ranks {
            Some(all) => self.fed.run(steps, |golden| golden.step_on(all.as_ref(), WORTH)),
            None => self.fed.alone(steps),
        }
    }

    fn model(&self) -> NamedValues {
        self.fed.model()
    }

    fn ranges(&self) -> Option<&Ranges> {
        Some(self.fed.golden.ranges())
    }

    fn moves(&self) -> AllMoves {
        let moves = |(name, id): &(String, TensorId)| Some((name.clone(), self.fed.golden.moves(*id)?));
        self.fed.weights.iter().filter_map(moves).collect()
    }
}

/// A program, and beside it its canonical form on the same steps, which says what values the tensors take that words are needed for.
pub struct Measured {
    source: Reals,
    canonical: Reals,
}

impl Measured {
    /// Answers come from `source`, ranges from `canonical`.
    pub fn new(source: Reals, canonical: Reals) -> Measured {
        Measured { source, canonical }
    }
}

impl Engine for Measured {
    fn load(&mut self, model: &NamedValues) {
        self.source.load(model);
        self.canonical.load(model);
    }

    fn run(&mut self, steps: &[Step]) -> Result<Run, EngineError> {
        if self.source.ranks.is_some() || self.canonical.ranks.is_some() {
            let run = self.source.run(steps)?;
            self.canonical.run(steps)?;
            return Ok(run);
        }
        let (source, canonical) = (&mut self.source.fed, &mut self.canonical.fed);
        // Neither waits for the other.
        let (run, measured) = std::thread::scope(|scope| {
            let measuring = scope.spawn(|| canonical.alone(steps));
            (source.alone(steps), measuring.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        measured.and(run)
    }

    fn model(&self) -> NamedValues {
        self.source.model()
    }

    fn ranges(&self) -> Option<&Ranges> {
        self.canonical.ranges()
    }

    fn moves(&self) -> AllMoves {
        self.source.moves()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::engine::Field;

    #[test]
    fn weights_are_what_was_loaded() {
        let text = "input x\nstate w\ntemporary h\nh = w * x\nname h = h\n";
        let signature = Signature {
            fields: vec![Field { name: "x".to_owned(), shape: vec![], integer: false }],
            inputs: 1,
            prediction: ("h".to_owned(), 1),
            model: vec![("w".to_owned(), 1)],
            sequence: Vec::new(),
        };
        let mut reals = Reals::new(&text.parse().expect("a good text"), &signature);
        for weight in [2.0, -0.5] {
            let model = NamedValues::from([("w".to_owned(), vec![weight])]);
            reals.load(&model);
            assert_eq!(reals.run(&[vec![vec![3.0]]]).unwrap().predictions, [[3.0 * weight]]);
            assert_eq!(reals.model(), model);
        }
    }
}
