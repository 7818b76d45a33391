//! Training on a data set: batches, epochs, and what comes out, on any [`engine::Engine`].
//!
//!     steps ──order of the epoch──▶ batches ──▶ engine `full` ──▶ (last, smaller batch) engine `rest` ──▶ weights
//!                                                                                                          │
//!                                                           metrics ◀── predictions ◀── engine `predict` ◀─┘
//!
//! | module | holds |
//! |---|---|
//! | [`settings`] | the `[train]` table |
//! | [`engine`] | what runs a step |
//! | [`reals`] | an engine on real numbers: the golden model |
//! | [`words`] | an engine on fixed-point words |
//! | [`device`] | an engine made of a clocked grid and its driver |
//! | [`compared`] | an engine that is checked, word by word, against the rung above |
//! | [`ranks`] | an engine that is one of several, each with some samples of every batch |
//! | [`rate`] | the rate of each step |
//! | [`metrics`] | loss, accuracy, R² |
//! | [`moves`] | updates that round to nothing |

pub mod compared;
pub mod device;
pub mod engine;
pub mod metrics;
pub mod moves;
pub mod ranks;
pub mod rate;
pub mod reals;
pub mod settings;
pub mod words;

use crate::data::split::{epoch_order, generator, order_key, purpose, unit};
use arch::store::order::key_of_epoch;
use engine::{Comparison, Engine, EngineError, Epochs, GoesOn, NamedValues, Run, Signature, Step};
use rate::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::{Order, Reduction};
use std::ops::ControlFlow;

/// The programs of one training on one kind of engine.
pub struct Engines {
    /// One update per full batch.
    pub full: Box<dyn Engine>,
    /// One update for the samples that are left at the end of an epoch; only for `sum`.
    pub rest: Option<Box<dyn Engine>>,
    /// Predictions, sample by sample, without an update.
    pub predict: Box<dyn Engine>,
}

/// How often, in what order, in what portions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Schedule {
    /// Passes over the samples.
    pub epochs: usize,
    /// Samples per update.
    pub batch: usize,
    /// What happens to an incomplete batch.
    pub reduction: Reduction,
    /// The order of the samples.
    pub order: Order,
    /// Seed of that order.
    pub seed: u64,
    /// The rate of each step, which is the last field of a step; `None` if the program has its own.
    #[serde(skip)]
    pub rate: Option<Rate>,
}

impl Schedule {
    /// Samples of `samples` that no full batch takes.
    pub fn left_over(&self, samples: usize) -> usize {
        samples % self.batch
    }

    /// Samples used per epoch.
    pub fn used(&self, samples: usize) -> usize {
        match self.reduction {
            Reduction::Sum => samples,
            Reduction::Mean => samples - self.left_over(samples),
        }
    }
}

/// What a training gave.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trained {
    /// The weights after the last update.
    pub model: NamedValues,
    /// Clock cycles of all updates, where there is a clock.
    pub cycles: Option<u64>,
    /// Samples that went into updates.
    pub samples: u64,
    /// Whether a value had been clipped to the word.
    pub saturated: bool,
}

/// Weights before the first step, evenly distributed between bounds that depend on the tensor's name; with the bound 0 they are 0.
pub fn initial_model(signature: &Signature, bound: impl Fn(&str) -> f64, seed: u64) -> NamedValues {
    let mut generator = generator(seed, purpose::WEIGHTS);
    let mut weights = |name: &str, elements: usize| -> Vec<f64> {
        let bound = bound(name);
        let mut draw = |_| if bound == 0.0 { 0.0 } else { (2.0 * unit(&mut generator) - 1.0) * bound };
        (0..elements).map(&mut draw).collect()
    };
    signature.model.iter().map(|(name, elements)| (name.clone(), weights(name, *elements))).collect()
}

/// The samples of one batch as one step: per field, sample after sample.
pub fn gather(steps: &[Step], samples: &[usize]) -> Step {
    let fields = steps.first().map_or(0, Vec::len);
    (0..fields).map(|field| samples.iter().flat_map(|&n| steps[n][field].iter().copied()).collect()).collect()
}

/// Called after each epoch with its number, what has been reached and the engines; it may end the training, or break it off by an error.
pub type AfterEpoch<'a> = dyn FnMut(usize, &Trained, &Engines) -> Result<ControlFlow<()>, EngineError> + 'a;

/// Train from `start`.
///
/// # Errors
/// What an engine or `after_epoch` reports.
pub fn train(
    engines: &mut Engines,
    steps: &[Step],
    schedule: &Schedule,
    start: &NamedValues,
    after_epoch: &mut AfterEpoch<'_>,
) -> Result<Trained, EngineError> {
    let trained = Trained { model: start.clone(), ..Trained::default() };
    resume(engines, steps, schedule, (0, trained), &mut EpochHooks { every: 1, goes_on: &mut |_| true }, after_epoch)
}

/// Hooks between the epochs of a training.
pub struct EpochHooks<'a> {
    /// At its weights, after every so many epochs, and after the last one. At least 1; where epochs have different steps, after each.
    pub every: usize,
    /// At how many of those are done, where an engine can say; the training ends after the present epoch when this says so.
    pub goes_on: &'a mut GoesOn<'a>,
}

/// Go on with a training of which `done` epochs have given `trained`: the same words as without the break.
///
/// # Errors
/// What an engine or `after_epoch` reports.
pub fn resume(
    engines: &mut Engines,
    steps: &[Step],
    schedule: &Schedule,
    (done, mut trained): (usize, Trained),
    looks: &mut EpochHooks<'_>,
    after_epoch: &mut AfterEpoch<'_>,
) -> Result<Trained, EngineError> {
    engines.full.load(&trained.model);
    let shuffled = schedule.order == Order::Shuffled;
    let key = (schedule.order == Order::Permuted).then(|| order_key(schedule.seed));
    // What is the same in every epoch but for the order of the batches may be sent once.
    let again = !shuffled && schedule.rate.is_none() && engines.rest.is_none();
    let mut epoch = done;
    while epoch < schedule.epochs {
        let order = epoch_order(steps.len(), shuffled, schedule.seed, epoch);
        let (full, rest) = order.split_at(order.len() - schedule.left_over(order.len()));
        let mut batches: Vec<Step> = full.chunks(schedule.batch).map(|batch| gather(steps, batch)).collect();
        let per_epoch = order.len().div_ceil(schedule.batch);
        let pace = |step: &mut Step, number: usize| {
            if let (Some(rate), Some(field)) = (schedule.rate, step.last_mut()) {
                field.fill(rate.at(epoch * per_epoch + number, per_epoch, schedule.epochs));
            }
        };
        let count = if again { looks.every.min(schedule.epochs - epoch) } else { 1 };
        let mut all = Epochs { count, key: key.map(|key| key_of_epoch(key, epoch as u32)), again };
        let mut epochs = 1;
        if !again {
            batches = all.steps(0, &batches).into_owned();
            all.key = None;
            batches.iter_mut().enumerate().for_each(|(number, batch)| pace(batch, number));
        }
        if !batches.is_empty() {
            let (run, done) = engines.full.run_epochs(&batches, all, &mut |done| (looks.goes_on)(epoch + done))?;
            epochs = done;
            advance(&mut trained, engines.full.as_ref(), &run);
        }
        trained.samples += (epochs * full.len()) as u64;
        if let (Some(engine), false) = (&mut engines.rest, rest.is_empty()) {
            engine.load(&trained.model);
            let mut last = gather(steps, rest);
            pace(&mut last, batches.len());
            let run = engine.run(&[last])?;
            advance(&mut trained, engine.as_ref(), &run);
            trained.samples += rest.len() as u64;
            engines.full.load(&trained.model);
        }
        epoch += epochs;
        if after_epoch(epoch - 1, &trained, engines)?.is_break() {
            break;
        }
    }
    Ok(trained)
}

/// What a run of an engine has added.
fn advance(trained: &mut Trained, engine: &dyn Engine, run: &Run) {
    if let Some(cycles) = run.cycles {
        trained.cycles = Some(trained.cycles.unwrap_or(0) + cycles);
    }
    trained.saturated |= run.saturated;
    trained.model = engine.model();
}

/// The predictions for some samples, without an update.
///
/// # Errors
/// What the engine reports.
pub fn predict(engine: &mut dyn Engine, model: &NamedValues, steps: &[Step]) -> Result<Vec<Vec<f64>>, EngineError> {
    if steps.is_empty() {
        return Ok(Vec::new());
    }
    engine.load(model);
    Ok(engine.run(steps)?.predictions)
}

/// The predictions for some samples; in `model`, the states of a sequence become what they are after the last one.
///
/// # Errors
/// What the engine reports.
pub fn predict_on(
    engine: &mut dyn Engine,
    model: &mut NamedValues,
    sequence: &[String],
    steps: &[Step],
) -> Result<Vec<Vec<f64>>, EngineError> {
    let predictions = predict(engine, model, steps)?;
    if !steps.is_empty() && !sequence.is_empty() {
        let mut reached = engine.model();
        model.extend(sequence.iter().filter_map(|name| reached.remove_entry(name)));
    }
    Ok(predictions)
}

/// What all engines of a training compared.
pub fn comparison(engines: &Engines) -> Option<Comparison> {
    let all = [Some(&engines.full), engines.rest.as_ref(), Some(&engines.predict)];
    let mut sum: Option<Comparison> = None;
    for comparison in all.into_iter().flatten().filter_map(|engine| engine.comparison()) {
        sum.get_or_insert_with(Comparison::default).add(&comparison);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Field;
    use std::cell::RefCell;
    use std::collections::BTreeSet;
    use std::rc::Rc;

    /// `w - mu * sum over the batch of (w x - y) x`, on the reals.
    struct Line {
        batch: usize,
        weight: f64,
    }

    impl Engine for Line {
        fn load(&mut self, model: &NamedValues) {
            self.weight = model["w"][0];
        }
        fn run(&mut self, steps: &[Step]) -> Result<Run, EngineError> {
            let mut predictions = Vec::new();
            for step in steps {
                assert_eq!(step[0].len(), self.batch.max(1));
                predictions.push(vec![self.weight * step[0][0]]);
                let pairs = || step[0].iter().zip(&step[1]);
                let gradient: f64 = pairs().map(|(x, y)| (self.weight * x - y) * x).sum();
                self.weight -= if self.batch == 0 { 0.0 } else { 0.1 * gradient };
            }
            Ok(Run { predictions, cycles: Some(10 * steps.len() as u64), saturated: false })
        }
        fn model(&self) -> NamedValues {
            NamedValues::from([("w".to_owned(), vec![self.weight])])
        }
    }

    fn signature() -> Signature {
        let field = |name: &str| Field { name: name.to_owned(), shape: vec![], integer: false };
        Signature {
            fields: vec![field("x"), field("y")],
            inputs: 1,
            prediction: ("h".to_owned(), 1),
            model: vec![("w".to_owned(), 1)],
            sequence: Vec::new(),
        }
    }

    fn line(reduction: Reduction) -> Trained {
        let steps: Vec<Step> = (0..5).map(|n| vec![vec![f64::from(n) / 5.0], vec![f64::from(n) * 0.6]]).collect();
        let engine = |batch| Box::new(Line { batch, weight: 0.0 }) as Box<dyn Engine>;
        let rest = (reduction == Reduction::Sum).then(|| engine(1));
        let mut engines = Engines { full: engine(2), rest, predict: engine(0) };
        let schedule = Schedule { epochs: 300, batch: 2, reduction, order: Order::Shuffled, seed: 3, rate: None };
        let start = initial_model(&signature(), |_| 0.0, 3);
        let mut epochs = 0;
        let trained = train(&mut engines, &steps, &schedule, &start, &mut |_, _, _| {
            epochs += 1;
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        assert_eq!(epochs, 300);
        assert!((trained.model["w"][0] - 3.0).abs() < 1e-9);
        let predictions = predict(engines.predict.as_mut(), &trained.model, &steps[4..]).unwrap();
        assert!((predictions[0][0] - 2.4).abs() < 1e-9);
        trained
    }

    #[test]
    fn a_sum_uses_the_incomplete_batch_and_a_mean_drops_it() {
        let sum = line(Reduction::Sum);
        assert_eq!((sum.samples, sum.cycles), (300 * 5, Some(300 * 30)));
        let mean = line(Reduction::Mean);
        assert_eq!((mean.samples, mean.cycles), (300 * 4, Some(300 * 20)));
    }

    /// Keeps the samples of each run in their order.
    struct Recorder(Rc<RefCell<Vec<Vec<f64>>>>);

    impl Engine for Recorder {
        fn load(&mut self, _: &NamedValues) {}
        fn run(&mut self, steps: &[Step]) -> Result<Run, EngineError> {
            self.0.borrow_mut().push(steps.iter().map(|step| step[0][0]).collect());
            Ok(Run::default())
        }
        fn model(&self) -> NamedValues {
            NamedValues::new()
        }
    }

    /// Every epoch has each sample once; only where they are shuffled, no two epochs have the same order.
    #[test]
    fn epochs_differ_in_their_order_where_they_are_shuffled() {
        let steps: Vec<Step> = (0..20).map(|n| vec![vec![f64::from(n)]]).collect();
        for (order, orders) in [(Order::Shuffled, 9), (Order::Permuted, 9), (Order::Rows, 1)] {
            let seen = Rc::new(RefCell::new(Vec::new()));
            let recorder = || Box::new(Recorder(Rc::clone(&seen)));
            let mut engines = Engines { full: recorder(), rest: None, predict: recorder() };
            let reduction = Reduction::Mean;
            let schedule = Schedule { epochs: 9, batch: 1, reduction, order, seed: 3, rate: None };
            train(&mut engines, &steps, &schedule, &NamedValues::new(), &mut |_, _, _| Ok(ControlFlow::Continue(())))
                .unwrap();
            let seen = seen.borrow();
            assert_eq!(seen.len(), 9);
            for run in seen.iter() {
                let mut sorted = run.clone();
                sorted.sort_by(f64::total_cmp);
                assert!(sorted.iter().copied().eq((0..20).map(f64::from)), "{run:?}");
            }
            let different: BTreeSet<Vec<u64>> =
                seen.iter().map(|run| run.iter().map(|sample| sample.to_bits()).collect()).collect();
            assert_eq!(different.len(), orders, "{order:?}");
        }
    }

    /// A training that is resumed has the orders that it would have had, whether a start is an epoch or many; a batch stays together.
    #[test]
    fn orders_go_on_where_they_were() {
        let steps: Vec<Step> = (0..21).map(|n| vec![vec![f64::from(n)]]).collect();
        let trained = |done: usize, every: usize| {
            let seen = Rc::new(RefCell::new(Vec::new()));
            let recorder = || Box::new(Recorder(Rc::clone(&seen)));
            let mut engines = Engines { full: recorder(), rest: None, predict: recorder() };
            let (reduction, order) = (Reduction::Mean, Order::Permuted);
            let schedule = Schedule { epochs: 6, batch: 2, reduction, order, seed: 3, rate: None };
            let looks = &mut EpochHooks { every, goes_on: &mut |_| true };
            let begun = (done, Trained::default());
            resume(&mut engines, &steps, &schedule, begun, looks, &mut |_, _, _| Ok(ControlFlow::Continue(())))
                .unwrap();
            seen.take()
        };
        let all = trained(0, 1);
        assert_eq!((all.len(), all[0].len()), (6, 10));
        assert_eq!(trained(0, 6), all);
        assert_eq!(trained(2, 3), all[2..]);
        assert!(all.iter().flatten().all(|&first| first % 2.0 == 0.0 && first < 20.0), "{all:?}");
    }

    #[test]
    fn initial_weights_follow_the_seed() {
        let draw = |seed| initial_model(&signature(), |_| 0.5, seed)["w"][0];
        assert!(
            draw(1).abs() < 0.5 && draw(1).to_bits() == draw(1).to_bits() && draw(1).to_bits() != draw(2).to_bits()
        );
    }

    #[test]
    fn a_mean_uses_whole_batches() {
        let used = |reduction| {
            let schedule = Schedule { epochs: 1, batch: 4, reduction, order: Order::Rows, seed: 1, rate: None };
            [0, 3, 4, 11].map(|samples| schedule.used(samples))
        };
        assert_eq!((used(Reduction::Mean), used(Reduction::Sum)), ([0, 0, 4, 8], [0, 3, 4, 11]));
    }

    /// Remembers the epochs it was asked for, and the last field of each step.
    #[derive(Clone, Default)]
    struct Listener {
        epochs: Rc<RefCell<Vec<(usize, bool)>>>,
        last: Rc<RefCell<Vec<f64>>>,
    }

    impl Engine for Listener {
        fn load(&mut self, _: &NamedValues) {}
        fn run(&mut self, steps: &[Step]) -> Result<Run, EngineError> {
            self.last.borrow_mut().extend(steps.iter().map(|step| step[step.len() - 1][0]));
            Ok(Run::default())
        }
        fn run_epochs(
            &mut self,
            steps: &[Step],
            epochs: Epochs,
            goes_on: &mut GoesOn<'_>,
        ) -> Result<(Run, usize), EngineError> {
            self.epochs.borrow_mut().push((epochs.count, epochs.again));
            engine::one_by_one(epochs, goes_on, |epoch| self.run(&epochs.steps(epoch, steps)))
        }
        fn model(&self) -> NamedValues {
            NamedValues::new()
        }
    }

    const FALLING: Rate = Rate { shape: rate::Shape::Constant, warm_up: 2, means: None };

    /// Three epochs after two are asked for at once where their steps are the same; who looks hears of each, by its number.
    #[test]
    fn steps_that_are_the_same_go_at_once() {
        let steps: Vec<Step> = (0..7).map(|n| vec![vec![f64::from(n)], vec![0.0]]).collect();
        let once = vec![(1, false); 3];
        for (order, rate, reduction, asked, heard, after) in [
            (Order::Store, None, Reduction::Mean, vec![(3, true)], vec![3, 4], vec![4]),
            (Order::Permuted, None, Reduction::Mean, vec![(3, true)], vec![3, 4], vec![4]),
            (Order::Shuffled, None, Reduction::Mean, once.clone(), vec![], vec![2, 3, 4]),
            (Order::Store, Some(FALLING), Reduction::Mean, once.clone(), vec![], vec![2, 3, 4]),
            (Order::Store, None, Reduction::Sum, once, vec![], vec![2, 3, 4]),
        ] {
            let full = Listener::default();
            let rest = (reduction == Reduction::Sum).then(|| Box::<Listener>::default() as Box<dyn Engine>);
            let mut engines = Engines { full: Box::new(full.clone()), rest, predict: Box::<Listener>::default() };
            let schedule = Schedule { epochs: 5, batch: 2, reduction, order, seed: 3, rate };
            let (mut told, mut ended) = (Vec::new(), Vec::new());
            let mut goes_on = |done| {
                told.push(done);
                true
            };
            let looks = &mut EpochHooks { every: 3, goes_on: &mut goes_on };
            let mut after_epoch = |epoch: usize, _: &Trained, _: &Engines| {
                ended.push(epoch);
                Ok(ControlFlow::Continue(()))
            };
            resume(&mut engines, &steps, &schedule, (2, Trained::default()), looks, &mut after_epoch).unwrap();
            assert_eq!((full.epochs.take(), told, ended), (asked, heard, after), "{order:?} {rate:?} {reduction:?}");
        }
    }

    /// By hand: with three updates in each of two epochs the rate rises in six steps.
    #[test]
    fn every_update_has_its_rate() {
        let steps = vec![vec![vec![1.0], vec![0.0]]; 6];
        let full = Listener::default();
        let mut engines = Engines { full: Box::new(full.clone()), rest: None, predict: Box::<Listener>::default() };
        let (reduction, order) = (Reduction::Mean, Order::Rows);
        let schedule = Schedule { epochs: 2, batch: 2, reduction, order, seed: 3, rate: Some(FALLING) };
        train(&mut engines, &steps, &schedule, &NamedValues::new(), &mut |_, _, _| Ok(ControlFlow::Continue(())))
            .unwrap();
        assert_eq!(full.last.take(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0].map(|update| update / 6.0));
    }

    /// A running sum `s`, and something else that changes.
    struct Sum(f64);

    impl Engine for Sum {
        fn load(&mut self, model: &NamedValues) {
            self.0 = model["s"][0];
        }
        fn run(&mut self, steps: &[Step]) -> Result<Run, EngineError> {
            let mut add = |step: &Step| {
                self.0 += step[0][0];
                vec![self.0]
            };
            Ok(Run { predictions: steps.iter().map(&mut add).collect(), ..Run::default() })
        }
        fn model(&self) -> NamedValues {
            NamedValues::from([("s".to_owned(), vec![self.0]), ("w".to_owned(), vec![99.0])])
        }
    }

    #[test]
    fn sequences_go_on_from_row_to_row() {
        let sequence = ["s".to_owned()];
        let begin = || NamedValues::from([("s".to_owned(), vec![1.0]), ("w".to_owned(), vec![2.0])]);
        let steps = [vec![vec![3.0]], vec![vec![4.0]]];
        for (sequence, steps, predictions, reached) in [
            (&sequence[..], &steps[..], vec![vec![4.0], vec![8.0]], 8.0),
            (&[], &steps[..], vec![vec![4.0], vec![8.0]], 1.0),
            (&sequence[..], &[], vec![], 1.0),
        ] {
            let mut model = begin();
            assert_eq!(predict_on(&mut Sum(50.0), &mut model, sequence, steps).unwrap(), predictions);
            assert_eq!(model, NamedValues::from([("s".to_owned(), vec![reached]), ("w".to_owned(), vec![2.0])]));
        }
    }

    /// Has compared so many words, if it compares.
    struct Compares(Option<u64>);

    impl Engine for Compares {
        fn load(&mut self, _: &NamedValues) {}
        fn run(&mut self, _: &[Step]) -> Result<Run, EngineError> {
            Ok(Run::default())
        }
        fn model(&self) -> NamedValues {
            NamedValues::new()
        }
        fn comparison(&self) -> Option<Comparison> {
            self.0.map(|words| Comparison { words, with: "array".to_owned(), ..Comparison::default() })
        }
    }

    #[test]
    fn what_all_engines_compare_is_added() {
        let of = |full, rest: Option<Option<u64>>, predict| {
            let engine = |words| Box::new(Compares(words)) as Box<dyn Engine>;
            comparison(&Engines { full: engine(full), rest: rest.map(engine), predict: engine(predict) })
                .map(|sum| sum.words)
        };
        assert_eq!(of(Some(3), Some(Some(4)), Some(5)), Some(12));
        assert_eq!(of(Some(3), Some(None), None), Some(3));
        assert_eq!(of(None, None, None), None);
    }
}
