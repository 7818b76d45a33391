//! An engine that is checked against the rung above: same steps to both, every word compared.
//!
//!              ┌──▶ reference ──▶ predictions, weights, cycles ─┐
//!     steps ──▶┤                                                ├─▶ words compared, words differing, the first difference
//!              └──▶ lower ──────▶ predictions, weights, cycles ─┘
//!
//! | [`Compare`] | weights are compared | and where they differ |
//! |---|---|---|
//! | `End` | after each run | - |
//! | `Trace` | after each run | runs of fewer steps find the first step after which they do |
//! | `EveryUpdate` | after every update: the steps go one by one first, then in one stream, which gives the cycle count that counts | - |

use crate::clipped::Clipped;
use crate::train::engine::{Comparison, Engine, EngineError, Epochs, GoesOn, NamedValues, Run, Step, one_by_one};
use crate::train::moves::AllMoves;

/// When two engines are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compare {
    /// After each run, for engines that should not repeat steps.
    End,
    /// After each run; a difference is traced to its first step by bisection.
    #[default]
    Trace,
    /// After every update.
    EveryUpdate,
}

/// What an engine is compared with.
enum Reference {
    /// It runs first.
    Before(Box<dyn Engine>),
    /// It runs on a thread of its own.
    Beside(Box<dyn Engine + Send>),
}

impl Reference {
    fn engine(&self) -> &dyn Engine {
        match self {
            Reference::Before(engine) => engine.as_ref(),
            Reference::Beside(engine) => engine.as_ref(),
        }
    }

    fn engine_mut(&mut self) -> &mut dyn Engine {
        match self {
            Reference::Before(engine) => engine.as_mut(),
            Reference::Beside(engine) => engine.as_mut(),
        }
    }
}

/// Some work of an engine.
type Work<'a> = &'a (dyn Fn(&mut dyn Engine) -> Result<Run, EngineError> + Sync);

/// Two engines side by side; answers as the lower one does.
pub struct Compared {
    lower: Box<dyn Engine>,
    reference: Reference,
    compare: Compare,
    cycles: bool,
    prediction: String,
    steps_done: u64,
    comparison: Comparison,
}

impl Compared {
    /// Check `lower` against `reference`, which is called `name`; `prediction` is the name of what both predict.
    pub fn new(
        lower: Box<dyn Engine>,
        reference: Box<dyn Engine>,
        name: &str,
        prediction: &str,
        compare: Compare,
    ) -> Compared {
        Compared::with(lower, Reference::Before(reference), name, prediction, compare)
    }

    /// The same with a reference that works at the same time.
    pub fn side_by_side(
        lower: Box<dyn Engine>,
        reference: Box<dyn Engine + Send>,
        name: &str,
        prediction: &str,
        compare: Compare,
    ) -> Compared {
        Compared::with(lower, Reference::Beside(reference), name, prediction, compare)
    }

    fn with(lower: Box<dyn Engine>, reference: Reference, name: &str, prediction: &str, compare: Compare) -> Compared {
        let comparison = Comparison { with: name.to_owned(), ..Comparison::default() };
        let prediction = prediction.to_owned();
        Compared { lower, reference, compare, cycles: true, prediction, steps_done: 0, comparison }
    }

    /// Do not compare cycle counts.
    #[must_use]
    pub fn without_cycles(self) -> Compared {
        Compared { cycles: false, ..self }
    }

    /// Let both do the same, whose first step has the number `first` and which is `count` steps long, and compare.
    fn both(&mut self, first: u64, count: u64, work: Work<'_>) -> Result<Run, EngineError> {
        let lower = self.lower.as_mut();
        let (reference, run) = match &mut self.reference {
            // A thread takes as long as a small step.
            Reference::Beside(reference) if count > 1 => std::thread::scope(|scope| {
                let beside = scope.spawn(|| work(reference.as_mut()));
                let run = work(lower);
                (beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), run)
            }),
            reference => {
                let first = work(reference.engine_mut())?;
                (Ok(first), work(lower))
            }
        };
        let (reference, run) = (reference?, run?);
        self.compare_runs(first, count, &reference, &run);
        Ok(run)
    }

    /// The first difference of a run of `steps` from the weights `start` that differs: after how many steps there is one, by bisection. Both engines
    /// keep their weights.
    fn trace(&mut self, first: u64, start: &NamedValues, steps: &[Step]) -> Result<(), EngineError> {
        let after = [self.lower.model(), self.reference.engine().model()];
        let of_run = self.comparison.clone();
        self.reference.engine_mut().count(false);
        let (mut equal, mut differing, mut found) = (0, steps.len(), None);
        while equal + 1 < differing {
            let middle = usize::midpoint(equal, differing);
            self.comparison = Comparison { with: of_run.with.clone(), ..Comparison::default() };
            self.load(start);
            self.both(first, middle as u64, &|engine| engine.run(&steps[..middle]))?;
            if self.comparison.agrees() {
                equal = middle;
            } else {
                (differing, found) = (middle, self.comparison.first.take());
            }
        }
        self.reference.engine_mut().count(true);
        let [lower, reference] = after;
        self.lower.load(&lower);
        self.reference.engine_mut().load(&reference);
        self.comparison = Comparison { first: found.or(of_run.first), ..of_run };
        Ok(())
    }

    /// Compare what both did, and the weights that they have now.
    fn compare_runs(&mut self, first: u64, count: u64, reference: &Run, run: &Run) {
        let tensor = self.prediction.clone();
        for (n, (found, expected)) in run.predictions.iter().zip(&reference.predictions).enumerate() {
            self.comparison.words_of(&tensor, first + n as u64, found, expected);
        }
        let last = first + count - 1;
        let (found, expected) = (self.lower.model(), self.reference.engine().model());
        for (name, expected) in &expected {
            self.comparison.words_of(name, last, found.get(name).map_or(&[], Vec::as_slice), expected);
        }
        if let (Some(found), Some(expected)) = (run.cycles, reference.cycles)
            && found != expected
            && self.cycles
        {
            self.comparison.cycle_counts_differing += 1;
            self.comparison.first.get_or_insert_with(|| {
                format!("steps {first} to {last} took {found} cycles instead of {expected} ({})", self.comparison.with)
            });
        }
    }
}

impl Engine for Compared {
    fn load(&mut self, model: &NamedValues) {
        self.lower.load(model);
        self.reference.engine_mut().load(model);
    }

    fn run(&mut self, steps: &[Step]) -> Result<Run, EngineError> {
        let first = self.steps_done;
        self.steps_done += steps.len() as u64;
        let start = self.lower.model();
        if self.compare == Compare::EveryUpdate && steps.len() > 1 {
            self.reference.engine_mut().count(false);
            for (n, step) in steps.iter().enumerate() {
                self.both(first + n as u64, 1, &|engine| engine.run(std::slice::from_ref(step)))?;
            }
            self.load(&start);
            self.reference.engine_mut().count(true);
        }
        let agreed = self.comparison.agrees();
        let run = self.both(first, steps.len() as u64, &|engine| engine.run(steps))?;
        if self.compare == Compare::Trace && agreed && !self.comparison.agrees() {
            self.trace(first, &start, steps)?;
        }
        Ok(run)
    }

    /// The lower engine says how many epochs there are; the reference does as many.
    fn run_epochs(
        &mut self,
        steps: &[Step],
        epochs: Epochs,
        goes_on: &mut GoesOn<'_>,
    ) -> Result<(Run, usize), EngineError> {
        if self.compare != Compare::End {
            return one_by_one(epochs, goes_on, |epoch| self.run(&epochs.steps(epoch, steps)));
        }
        let (run, done) = self.lower.run_epochs(steps, epochs, goes_on)?;
        let (reference, _) =
            self.reference.engine_mut().run_epochs(steps, Epochs { count: done, ..epochs }, &mut |_| true)?;
        let count = (steps.len() * done) as u64;
        self.compare_runs(self.steps_done, count, &reference, &run);
        self.steps_done += count;
        Ok((run, done))
    }

    fn model(&self) -> NamedValues {
        self.lower.model()
    }

    fn clipped(&self) -> Vec<Clipped> {
        self.reference.engine().clipped()
    }

    fn moves(&self) -> AllMoves {
        self.reference.engine().moves()
    }

    fn count(&mut self, counts: bool) {
        self.reference.engine_mut().count(counts);
    }

    /// With what the reference compared, if it compares: a difference there comes first, because it is nearer to the top of the ladder.
    fn comparison(&self) -> Option<Comparison> {
        let mut sum = self.reference.engine().comparison().unwrap_or_default();
        sum.add(&self.comparison);
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts its steps; predicts the count; from step `wrong` on one too high.
    struct Counter {
        count: f64,
        wrong: f64,
        cycles: u64,
    }

    impl Engine for Counter {
        fn load(&mut self, model: &NamedValues) {
            self.count = model["w"][0];
        }
        fn run(&mut self, steps: &[Step]) -> Result<Run, EngineError> {
            let mut run = Run { cycles: Some(self.cycles), ..Run::default() };
            for _ in steps {
                self.count += if self.count == self.wrong { 2.0 } else { 1.0 };
                run.predictions.push(vec![self.count]);
            }
            Ok(run)
        }
        fn model(&self) -> NamedValues {
            NamedValues::from([("w".to_owned(), vec![self.count])])
        }
    }

    fn compared(wrong: f64, cycles: u64, compare: Compare) -> Comparison {
        let lower = Box::new(Counter { count: 0.0, wrong, cycles });
        let reference = Box::new(Counter { count: 0.0, wrong: -1.0, cycles: 5 });
        let mut engine = Compared::new(lower, reference, "array", "h", compare);
        engine.run(&[vec![], vec![], vec![]]).unwrap();
        engine.comparison().unwrap()
    }

    #[test]
    fn equal_engines_agree() {
        let comparison = compared(-1.0, 5, Compare::EveryUpdate);
        assert_eq!((comparison.words, comparison.differing), (3 * 2 + 3 + 1, 0));
        assert!(comparison.agrees());
    }

    /// Two tensors of weights that nothing changes.
    struct Pair(f64);

    impl Engine for Pair {
        fn load(&mut self, _: &NamedValues) {}
        fn run(&mut self, _: &[Step]) -> Result<Run, EngineError> {
            Ok(Run::default())
        }
        fn model(&self) -> NamedValues {
            NamedValues::from([("a".to_owned(), vec![1.0, 2.0]), ("b".to_owned(), vec![3.0, self.0])])
        }
    }

    #[test]
    fn every_tensor_is_compared() {
        let mut engine = Compared::new(Box::new(Pair(5.0)), Box::new(Pair(4.0)), "array", "h", Compare::End);
        engine.run(&[vec![]]).unwrap();
        let comparison = engine.comparison().unwrap();
        assert_eq!((comparison.words, comparison.differing), (4, 1));
        assert_eq!(comparison.first.unwrap(), "`b` element 1 after step 0: 5 instead of 4 (array)");
    }

    #[test]
    fn the_first_difference_is_named() {
        let comparison = compared(1.0, 5, Compare::EveryUpdate);
        assert_eq!(comparison.first.unwrap(), "`h` element 0 after step 1: 3 instead of 2 (array)");
        let comparison = compared(-1.0, 6, Compare::End);
        assert_eq!(comparison.first.unwrap(), "steps 0 to 2 took 6 cycles instead of 5 (array)");
        assert_eq!((comparison.differing, comparison.cycle_counts_differing), (0, 1));
    }

    #[test]
    fn a_reference_that_is_wrong_itself_is_noticed() {
        let counter = |wrong| Box::new(Counter { count: 0.0, wrong, cycles: 5 });
        let array = Compared::new(counter(1.0), counter(-1.0), "fixed", "h", Compare::End);
        let mut rtl = Compared::new(counter(1.0), Box::new(array), "array", "h", Compare::End);
        rtl.run(&[vec![], vec![], vec![]]).unwrap();
        let comparison = rtl.comparison().unwrap();
        // 3 predictions and 1 weight, on both rungs; `array` is wrong from the second prediction on.
        assert_eq!((comparison.words, comparison.differing), (2 * (3 + 1), 2 + 1));
        assert_eq!(comparison.with, "array");
        assert_eq!(comparison.first.as_deref(), Some("`h` element 0 after step 1: 3 instead of 2 (fixed)"));
        assert!(!comparison.agrees());
    }

    fn counter(count: f64, cycles: u64) -> Box<dyn Engine> {
        Box::new(Counter { count, wrong: -1.0, cycles })
    }

    #[test]
    fn both_get_the_weights() {
        let mut engine = Compared::new(counter(3.0, 5), counter(4.0, 5), "array", "h", Compare::EveryUpdate);
        engine.load(&NamedValues::from([("w".to_owned(), vec![7.0])]));
        engine.run(&[vec![]]).unwrap();
        // One step is compared once: a prediction and a weight.
        assert_eq!(
            engine.comparison().unwrap(),
            Comparison { with: "array".to_owned(), words: 2, ..Comparison::default() }
        );
    }

    #[test]
    fn cycles_may_differ_where_they_are_not_compared() {
        let compared = |cycles: bool| {
            let engine = Compared::new(counter(0.0, 6), counter(0.0, 5), "array", "h", Compare::End);
            let mut engine = if cycles { engine } else { engine.without_cycles() };
            engine.run(&[vec![]]).unwrap();
            engine.comparison().unwrap().agrees()
        };
        assert_eq!((compared(true), compared(false)), (false, true));
    }

    /// Two epochs of three steps, though four are allowed; then another run of one step.
    #[test]
    fn the_reference_does_as_many_epochs() {
        let mut engine = Compared::new(counter(0.0, 6), counter(0.0, 5), "array", "h", Compare::End);
        let epochs = Epochs { count: 4, key: None, again: true };
        let steps = vec![vec![]; 3];
        let (run, done) = engine.run_epochs(&steps, epochs, &mut |done| done < 2).unwrap();
        assert_eq!((run.predictions.len(), done), (6, 2));
        let comparison = engine.comparison().unwrap();
        assert_eq!((comparison.words, comparison.differing), (6 + 1, 0));
        assert_eq!(comparison.first.as_deref(), Some("steps 0 to 5 took 12 cycles instead of 10 (array)"));
        engine.comparison = Comparison::default();
        engine.run(&steps[..1]).unwrap();
        engine.run(&steps).unwrap();
        assert_eq!(engine.comparison().unwrap().first.as_deref(), Some("steps 6 to 6 took 6 cycles instead of 5 ()"));
        engine.comparison = Comparison::default();
        engine.run(&steps).unwrap();
        assert_eq!(engine.comparison().unwrap().first.as_deref(), Some("steps 10 to 12 took 6 cycles instead of 5 ()"));
    }

    /// Counts, and predicts nothing.
    struct Silent(Counter);

    impl Engine for Silent {
        fn load(&mut self, model: &NamedValues) {
            self.0.load(model);
        }
        fn run(&mut self, steps: &[Step]) -> Result<Run, EngineError> {
            Ok(Run { predictions: Vec::new(), ..self.0.run(steps)? })
        }
        fn model(&self) -> NamedValues {
            self.0.model()
        }
    }

    /// Only the weights at the end of the run differ. The first step after which they do is found, and both go on with the weights that they had.
    #[test]
    fn a_difference_is_traced_to_its_step() {
        for (wrong, beside) in (0..9).flat_map(|wrong| [false, true].map(|beside| (wrong, beside))) {
            let silent = |wrong| Box::new(Silent(Counter { count: 0.0, wrong, cycles: 5 }));
            let (lower, reference) = (silent(f64::from(wrong)), silent(-1.0));
            let mut engine = if beside {
                Compared::side_by_side(lower, reference, "array", "h", Compare::Trace)
            } else {
                Compared::new(lower, reference, "array", "h", Compare::Trace)
            };
            engine.run(&vec![vec![]; 9]).unwrap();
            let comparison = engine.comparison().unwrap();
            let first = format!("`w` element 0 after step {wrong}: {} instead of {} (array)", wrong + 2, wrong + 1);
            assert_eq!((comparison.differing, comparison.first.as_deref()), (1, Some(&*first)));
            assert_eq!((engine.model()["w"][0], engine.reference.engine().model()["w"][0]), (10.0, 9.0));
        }
    }

    /// Knows whether it counts.
    struct Counts(bool);

    impl Engine for Counts {
        fn load(&mut self, _: &NamedValues) {}
        fn run(&mut self, _: &[Step]) -> Result<Run, EngineError> {
            Ok(Run { predictions: vec![vec![f64::from(u8::from(self.0))]], ..Run::default() })
        }
        fn model(&self) -> NamedValues {
            NamedValues::new()
        }
        fn count(&mut self, counts: bool) {
            self.0 = counts;
        }
    }

    #[test]
    fn the_reference_counts_what_is_clipped() {
        let mut engine = Compared::new(Box::new(Counts(true)), Box::new(Counts(true)), "array", "h", Compare::End);
        engine.count(false);
        engine.run(&[vec![]]).unwrap();
        assert_eq!(engine.comparison().unwrap().differing, 1);
    }
}
