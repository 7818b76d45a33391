//! A training that was done and measured: what the report page is made of.

use super::Report;
use super::page::Page;
use super::page::timeline::{self, Timeline};
use super::page::waveform::{self, Waveform};
use crate::design::Design;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::training::{Outcome, Training};
use crate::widths::InWords;
use std::sync::Arc;

/// A training that was done and measured.
pub struct Measured {
    training: Arc<Training>,
    outcome: Arc<Outcome>,
    design: Design,
    report: Report,
    timeline: Timeline,
    waveform: Waveform,
    words: Vec<InWords>,
    command: String,
    die: Option<String>,
}

impl Measured {
    /// Measure what was trained, and train in words of these widths, too; `command` repeats the run.
    ///
    /// # Errors
    /// No image exists, the array is stuck, it is cancelled.
    pub fn new(
        training: impl Into<Arc<Training>>,
        outcome: impl Into<Arc<Outcome>>,
        command: String,
        widths: &[u32],
        progress: &dyn Progress,
    ) -> Result<Measured, Failure> {
        let (training, outcome) = (training.into(), outcome.into());
        let design = training.design(&outcome.ranges, progress)?;
        let report = Report::of_training(&training.project, &design)?;
        let (Some(compiled), Some(program)) = (&design.images.full, &design.lowered.full) else {
            return Err(Failure::Bug("a training without updates".to_owned()));
        };
        let source = &training.project.source.text;
        let timeline = timeline::watch(&compiled.image, program, source)?;
        let waveform = waveform::watch(&design, &outcome.last().trained.model, source)?;
        let in_words = |&word: &u32| InWords::of(word, &training, &outcome, &Quiet(progress));
        let words = widths.iter().map(in_words).collect::<Result<Vec<InWords>, Failure>>()?;
        Ok(Measured { training, outcome, design, report, timeline, waveform, words, command, die: None })
    }

    /// The picture of the routed design, an SVG.
    #[must_use]
    pub fn with_die(self, die: Option<String>) -> Measured {
        Measured { die, ..self }
    }

    /// Everything on one page.
    pub fn page(&self) -> Page<'_> {
        let Measured { training, outcome, design, report, timeline, waveform, words, command, die } = self;
        let die = die.as_deref();
        Page { project: &training.project, design, report, outcome, timeline, waveform, words, command, die }
    }
}

/// Hears of nothing but that it is to stop: the trainings of other widths are no business of who asked for this one.
struct Quiet<'a>(&'a dyn Progress);

impl Progress for Quiet<'_> {
    fn begins(&self, engine: &str, epochs: usize, done: usize) {
        self.0.begins(engine, epochs, done);
    }

    fn epoch(&self, engine: &str, epoch: usize, _: Option<f64>) {
        self.0.epoch(engine, epoch, None);
    }

    fn ends(&self, engine: &str) {
        self.0.ends(engine);
    }

    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }

    fn listens(&self, listens: bool) {
        self.0.listens(listens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Choice;
    use crate::{Choices, Project, RunOptions, Rung, Samples};
    use std::sync::Mutex;

    /// Writes down what it hears, and wants to stop.
    #[derive(Default)]
    struct Heard(Mutex<Vec<String>>, bool);

    impl Heard {
        fn record(&self, what: String) {
            self.0.lock().unwrap().push(what);
        }
    }

    impl Progress for Heard {
        fn begins(&self, engine: &str, epochs: usize, done: usize) {
            self.record(format!("{engine} begins, {done} of {epochs}"));
        }
        fn epoch(&self, engine: &str, epoch: usize, loss: Option<f64>) {
            self.record(format!("{engine} {epoch} {loss:?}"));
        }
        fn ends(&self, engine: &str) {
            self.record(format!("{engine} ends"));
        }
        fn cancelled(&self) -> bool {
            self.1
        }
        fn listens(&self, listens: bool) {
            self.record(format!("listens {listens}"));
        }
    }

    #[test]
    fn other_trainings_are_heard_of_without_their_losses() {
        for stops in [true, false] {
            let heard = Heard(Mutex::default(), stops);
            let quiet = Quiet(&heard);
            quiet.listens(true);
            quiet.begins("array", 9, 2);
            quiet.epoch("array", 3, Some(0.5));
            quiet.ends("array");
            assert_eq!((quiet.cancelled(), quiet.wants_loss()), (stops, false));
            let told = heard.0.into_inner().unwrap();
            assert_eq!(told, ["listens true", "array begins, 2 of 9", "array 3 None", "array ends"]);
        }
    }

    #[test]
    fn the_page_has_the_picture_of_the_die() {
        let program = "mu = 0.1; model_input x[2]; model_output y; model w[2]; gradient g[2] -> w; iterator i[0:2];
                       h = sum[i](w[i] * x[i]); d = h - y; g[i] = d * x[i];";
        let settings = "[train]\nprediction = 'h'\nloss = 'squared'\nepochs = 2";
        let grid = "[machine]\npus = 1\npes_per_pu = 2";
        let project = Project::in_memory("line.t", program, Some(settings), Some(grid)).unwrap();
        let rows = (0..20).map(|n| format!("{},{},{}\n", n % 5, n % 7, n % 3)).collect::<Vec<_>>().concat();
        let table = Choice::of_text("rows.csv", &format!("a,b,target\n{rows}")).unwrap();
        let samples = Samples::read(&project, &Choices::default(), table, &()).unwrap();
        let training = Training::new(project, samples).unwrap();
        let outcome = training.run(&RunOptions { curves: true, ..RunOptions::on(Rung::Array) }, None, &()).unwrap();
        let measured = Measured::new(training, outcome, "tabla-gen report".to_owned(), &[], &()).unwrap();
        assert_eq!(measured.page().die, None);
        let measured = measured.with_die(Some("<svg></svg>".to_owned()));
        assert_eq!((measured.page().die, measured.page().command), (Some("<svg></svg>"), "tabla-gen report"));
    }
}
