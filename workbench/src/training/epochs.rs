//! The epochs of a training on one engine: what is looked at after each, and what is kept of them.
//!
//! ```text
//! epoch ──▶ moves of the weights ──▶ loss and curve ──▶ validation: the best weights ──▶ checkpoint ──▶ the next, or the end
//! ```

use super::{EngineResult, Point, RunOptions, SHOWN, Training, stalls};
use crate::checkpoint::{Best, Checkpoint, Reached};
use crate::engines::{NamedRanges, Rung};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::saturation::{Saturation, Unit};
use crate::serial::AttachedBoard;
use sim::train::engine::{Comparison, Engine, EngineError, NamedValues, Step};
use sim::train::metrics::{Confusion, Metrics};
use sim::train::moves::AllMoves;
use sim::train::{Engines, EpochHooks, Trained, predict, predict_on, resume};
use std::ops::ControlFlow;

/// What is looked at after each epoch.
struct Watch<'a> {
    training: &'a Training,
    how: &'a RunOptions<'a>,
    rung: Rung,
    /// What an interrupted run had reached.
    before: &'a Reached,
    /// Predictions on real numbers: whatever trains, the loss that is shown and drawn is theirs.
    observer: Box<dyn Engine>,
    /// The samples of the loss.
    shown: &'a [Step],
    curve: Vec<Point>,
    best: Option<Best>,
    /// How far the weights moved in each epoch, and in all so far.
    moves: Vec<(usize, AllMoves)>,
    moved: AllMoves,
    kept: &'a mut Checkpoint,
    progress: &'a dyn Progress,
    /// A checkpoint could not be written.
    failed: Option<Failure>,
}

impl Watch<'_> {
    fn after_epoch(
        &mut self,
        epoch: usize,
        trained: &Trained,
        engines: &Engines,
    ) -> Result<ControlFlow<()>, EngineError> {
        let now = stalls::all_moves(engines);
        let moved = &self.moved;
        let in_epoch =
            now.iter().map(|(name, &all)| (name.clone(), all.since(moved.get(name).copied().unwrap_or_default())));
        self.moves.push((epoch, in_epoch.collect()));
        self.moved = now;
        let loss = self.loss(epoch, trained)?;
        self.validate(epoch, trained)?;
        self.progress.epoch(self.rung.as_str(), epoch, loss);
        if self.progress.wants_checkpoints() {
            self.checkpoint(epoch, trained, engines)?;
        }
        if self.progress.cancelled() {
            // What differs is told as it is after the last epoch.
            let agrees = sim::train::comparison(engines).as_ref().is_none_or(Comparison::agrees);
            return if agrees { Err(EngineError::Interrupted) } else { Ok(ControlFlow::Break(())) };
        }
        let is_over = self.training.is_over(self.best.as_ref(), epoch);
        Ok(if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// The loss, if it is shown or drawn.
    fn loss(&mut self, epoch: usize, trained: &Trained) -> Result<Option<f64>, EngineError> {
        let curves = self.how.curves;
        if !self.progress.wants_loss() && !curves {
            return Ok(None);
        }
        let Training { samples, .. } = self.training;
        let model = self.training.rewound(&trained.model);
        let tested = if curves { samples.test.as_slice() } else { &[] };
        let Judged { train, test, .. } = self.training.judge(self.observer.as_mut(), model, self.shown, tested)?;
        if curves {
            self.curve.push(Point { epoch, train, test });
        }
        Ok(Some(train.loss))
    }

    /// Keep the weights that are best on the validation part.
    fn validate(&mut self, epoch: usize, trained: &Trained) -> Result<(), EngineError> {
        let Training { samples, .. } = self.training;
        if samples.validation.is_empty() {
            return Ok(());
        }
        let predictions = predict(self.observer.as_mut(), &trained.model, &samples.validation)?;
        let loss = samples.judge(&predictions, &samples.validation).loss;
        if loss.is_finite() && self.best.as_ref().is_none_or(|best| loss < best.loss) {
            self.best = Some(Best { epoch, loss, model: trained.model.clone() });
        }
        Ok(())
    }

    fn checkpoint(&mut self, epoch: usize, trained: &Trained, engines: &Engines) -> Result<(), EngineError> {
        let (training, before, golden) = (self.training, self.before, self.rung == Rung::Golden);
        let now = if golden { training.programs.ranges(engines) } else { NamedRanges::new() };
        let reached = Reached {
            epochs: epoch,
            trained: trained.clone(),
            ranges: merged(&before.ranges, now),
            comparison: sum(before.comparison.as_ref(), sim::train::comparison(engines)),
            saturations: training.clipped(before, engines),
            curve: self.curve.clone(),
            best: self.best.clone(),
        };
        // What differs from the rung above is not worth going on with.
        let agrees = reached.comparison.as_ref().is_none_or(Comparison::agrees);
        *(if golden { &mut self.kept.golden } else { self.kept.lower.get_or_insert_default() }) = reached;
        if !agrees {
            return Ok(());
        }
        self.progress.checkpoint(self.kept).map_err(|failure| {
            self.failed = Some(failure);
            EngineError::Interrupted
        })
    }
}

impl Training {
    /// What was clipped, before and since.
    pub(super) fn clipped(&self, before: &Reached, engines: &Engines) -> Vec<Saturation> {
        let of = |engine: &dyn Engine, unit| Saturation::all(&self.project, &engine.clipped(), unit);
        let updates_before = before.epochs * (self.samples.train.len() / self.schedule.batch);
        let mut all = before.saturations.clone();
        Saturation::merge(&mut all, of(engines.full.as_ref(), Unit::Update), updates_before as u64);
        if let Some(rest) = &engines.rest {
            let mut rest = of(rest.as_ref(), Unit::Update);
            // It has a count of its own for its updates.
            for saturation in &mut rest {
                saturation.first_steps.clear();
            }
            Saturation::merge(&mut all, rest, 0);
        }
        Saturation::merge(&mut all, of(engines.predict.as_ref(), Unit::Row), 0);
        all
    }

    /// Whether there has been no better epoch for too long.
    fn is_over(&self, best: Option<&Best>, epochs: usize) -> bool {
        let patience = self.samples.settings.patience;
        patience.zip(best).is_some_and(|(patience, best)| epochs - best.epoch >= patience)
    }

    /// Whether the weights of every epoch are judged.
    fn judges(&self, how: &RunOptions<'_>) -> bool {
        how.curves || !self.samples.validation.is_empty()
    }

    /// The weights, with sequences where they begin.
    fn rewound(&self, model: &NamedValues) -> NamedValues {
        let mut model = model.clone();
        for name in &self.samples.signature.sequence {
            model.insert(name.clone(), self.start[name].clone());
        }
        model
    }

    /// Judge weights by the training part, or its first rows, and the test part. A sequence goes on from one part to the next.
    pub(super) fn judge(
        &self,
        engine: &mut dyn Engine,
        mut model: NamedValues,
        train: &[Step],
        test: &[Step],
    ) -> Result<Judged, EngineError> {
        let (samples, sequence) = (&self.samples, self.samples.signature.sequence.as_slice());
        let mut part = |steps: &[Step]| -> Result<Judged, EngineError> {
            let predictions = predict_on(engine, &mut model, sequence, steps)?;
            let (confusion, classes) = (samples.confusion(&predictions, steps), samples.classes(&predictions, steps));
            Ok(Judged { train: samples.judge(&predictions, steps), test: None, confusion, classes })
        };
        let judged = part(train)?;
        if test.is_empty() {
            return Ok(judged);
        }
        if !sequence.is_empty() && !samples.validation.is_empty() {
            part(&samples.validation)?;
        }
        let tested = part(test)?;
        Ok(Judged { train: judged.train, test: Some(tested.train), ..tested })
    }

    /// Epochs from one look at the weights to the next. A board plays as many from its store as nobody wants to see the weights of.
    fn looks_every(&self, rung: Rung, how: &RunOptions<'_>, progress: &dyn Progress) -> usize {
        let stored = how.board.is_some_and(|board| board.store_rows() > 0);
        let plays = rung != Rung::Golden && how.ranks.is_none() && stored;
        match (plays && !self.judges(how), progress.wants_checkpoints()) {
            (false, _) => 1,
            (true, true) => how.checkpoint_every.max(1),
            (true, false) => self.schedule.epochs,
        }
    }

    /// Train on one engine and judge the result.
    pub(super) fn achieve(
        &self,
        rung: Rung,
        how: &RunOptions<'_>,
        engines: &mut Engines,
        kept: &mut Checkpoint,
        progress: &dyn Progress,
    ) -> Result<EngineResult, Failure> {
        let (samples, schedule, name) = (&self.samples, &self.schedule, rung.as_str());
        let golden = rung == Rung::Golden;
        let before = if golden { kept.golden.clone() } else { kept.lower.clone().unwrap_or_default() };
        let start = match before.epochs {
            0 => Trained { model: self.start.clone(), ..Trained::default() },
            _ => before.trained.clone(),
        };
        progress.begins(name, schedule.epochs, before.epochs);
        let shown = if how.curves { samples.train.len() } else { samples.train.len().min(SHOWN) };
        let mut watch = Watch {
            training: self,
            how,
            rung,
            before: &before,
            observer: self.programs.observer(&samples.signature),
            shown: &samples.train[..shown],
            curve: before.curve.clone(),
            best: before.best.clone(),
            moves: Vec::new(),
            moved: stalls::all_moves(engines),
            kept,
            progress,
            failed: None,
        };
        let trained = if self.is_over(before.best.as_ref(), before.epochs) {
            Ok(start)
        } else {
            let mut goes_on = |done: usize| {
                progress.played(name, done);
                !progress.cancelled()
            };
            let looks = &mut EpochHooks { every: self.looks_every(rung, how, progress), goes_on: &mut goes_on };
            let after_epoch = &mut |epoch: usize, trained: &Trained, engines: &Engines| {
                watch.after_epoch(epoch + 1, trained, engines)
            };
            resume(engines, &samples.train, schedule, (before.epochs, start), looks, after_epoch)
        };
        let Watch { mut observer, mut curve, best, moves, failed, .. } = watch;
        let spent = how.board.filter(|_| !golden).and_then(AttachedBoard::settle);
        progress.ends(name);
        if let Some(failure) = failed {
            return Err(failure);
        }
        let about = |error| Failure::of_engine(&self.project.source, error);
        let mut trained = trained.map_err(about)?;
        let kept_epoch = best.as_ref().map(|best| best.epoch);
        if let Some(best) = best {
            trained.model = best.model;
        }
        trained.model = self.rewound(&trained.model);
        let model = trained.model.clone();
        // Those of the golden engine say what binary points a prediction needs.
        let judge = if golden || how.own_predictions { &mut engines.predict } else { &mut observer };
        let judged = self.judge(judge.as_mut(), model, &samples.train, &samples.test);
        let Judged { train, test, confusion, classes } = judged.map_err(about)?;
        // The weights that are kept are judged once: their point is what the table says.
        let of_kept = |point: &&mut Point| kept_epoch.is_none_or(|epoch| point.epoch == epoch);
        if let Some(point) = curve.iter_mut().rev().find(of_kept) {
            (point.train, point.test) = (train, test);
        }
        Ok(EngineResult { name, trained, train, test, confusion, classes, moves, curve, spent })
    }
}

/// What weights are worth.
pub(super) struct Judged {
    /// Of the training part, or its first rows.
    pub(super) train: Metrics,
    test: Option<Metrics>,
    /// Of the test part, if there is one.
    confusion: Option<Confusion>,
    /// Likewise.
    classes: Option<Vec<usize>>,
}

/// The values of both.
pub(super) fn merged(before: &NamedRanges, now: NamedRanges) -> NamedRanges {
    let mut all = now;
    for (name, &(low, high)) in before {
        let range = all.entry(name.clone()).or_insert((low, high));
        *range = (range.0.min(low), range.1.max(high));
    }
    all
}

/// What was compared before and since.
pub(super) fn sum(before: Option<&Comparison>, since: Option<Comparison>) -> Option<Comparison> {
    match (before, since) {
        (Some(before), Some(since)) => {
            let mut all = before.clone();
            all.add(&since);
            Some(all)
        }
        (before, since) => since.or_else(|| before.cloned()),
    }
}
