//! One evaluation of a program on given values, on any rung of the ladder.
//!
//! ```text
//! values (JSON) ──▶ golden ──▶ binary points ──▶ fixed ──▶ array ──▶ rtl ──▶ values (JSON), the first word that differs
//! ```

use crate::engines::Rung;
use crate::failure::Failure;
use crate::functions::segmented::Segmented;
use crate::images;
use crate::progress::Progress;
use crate::project::Project;
use crate::records::calibration;
use crate::simulators::Simulator;
use arch::number::to_f64;
use arch::{Diagnostic, Image, Machine};
use compiler::canonical::{Batch, Keep, Options};
use compiler::fixed::{self, Role};
use compiler::tensor::{self, Program, TensorId};
use serde_json::Value;
use sim::array::Array;
use sim::clipped::Clipped;
use sim::distance::{Accuracy, Distance, Verdict};
use sim::driver::{Driver, Run, Words};
use sim::eval::{Elements, Engine, evaluate, inexact_integers, not_words, read_inputs, results, without_words};
use sim::fixed::Fixed;
use sim::golden::Golden;
use sim::grid::{Grid, Stalls};
use sim::ladder::{NamedValues, Upper};
use sim::train::words::written;
use std::collections::BTreeMap;

/// What an evaluation gave.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// `values`, `shapes`, and `next` if the program updates anything, as JSON.
    pub values: Value,
    /// What the values show to be doubtful.
    pub warnings: Vec<Diagnostic>,
    /// How far they are from golden's, below golden.
    pub distance: Option<Distance>,
    /// Whether the words suffice, below golden.
    pub verdict: Option<Verdict>,
    /// What was clipped to the word.
    pub clipped: Vec<Clipped>,
    /// The first word that differs from the rung above.
    pub mismatch: Option<String>,
}

impl Evaluation {
    /// Evaluate `program`, read by `project`, once.
    ///
    /// # Errors
    /// Inputs of the wrong name or shape; what the rung cannot compute.
    pub fn new(
        project: &Project,
        program: &Program,
        inputs: &Value,
        rung: Rung,
        progress: &dyn Progress,
    ) -> Result<Evaluation, Failure> {
        let about = |diagnostics| Failure::about(&project.source, diagnostics);
        let mut golden = Golden::new(program);
        let values = evaluate(program, inputs, &mut golden).map_err(about)?;
        let given = read_inputs(program, inputs).map_err(about)?;
        let mut warnings = golden.warnings().to_vec();
        warnings.extend(inexact_integers(program, &given));
        if rung == Rung::Golden {
            return Ok(Evaluation {
                values,
                warnings,
                distance: None,
                verdict: None,
                clipped: Vec::new(),
                mismatch: None,
            });
        }
        images::check_elements(project, program)?;
        project.check_size(program)?;
        let not_words = not_words(program, inputs, &given);
        if !not_words.is_empty() {
            return Err(about(not_words));
        }
        warnings.extend(without_words(program, &given));
        let below = Below::evaluate(rung, project, program, &given, progress)?;
        let values = results(program, &Overlay { program, golden: &golden, below: &below });
        warnings.extend(below.notes);
        warnings.extend(below.accuracy.warnings());
        let outside =
            below.clipped.iter().filter(|clipped| clipped.computed.is_none()).map(|clipped| clipped.count.values);
        warnings.extend(below.rows.and_then(|rows| calibration::warning(rows, Some(outside.sum()))));
        let (distance, verdict) = (Some(below.accuracy.distance), Some(below.accuracy.verdict));
        let (clipped, mismatch) = (below.clipped, below.mismatch);
        Ok(Evaluation { values, warnings, distance, verdict, clipped, mismatch })
    }
}

/// What an evaluation computes in words, before any engine runs it.
pub(crate) struct Lowered {
    /// The program, in words too.
    pub(crate) upper: Upper,
    /// What is given, by name; an undefined element is 0.
    held: NamedValues,
    /// Rows that the binary points were chosen from, if they were given apart.
    rows: Option<usize>,
}

impl Lowered {
    /// An evaluation keeps every name.
    pub(crate) const OPTIONS: Options = Options { keep: Keep::AllNames, batch: Batch::SINGLE };

    /// Choose binary points for what is given.
    pub(crate) fn new(
        project: &Project,
        program: &Program,
        inputs: &[(TensorId, Elements)],
    ) -> Result<Lowered, Failure> {
        let about = |diagnostics| Failure::about(&project.source, diagnostics);
        let options = Lowered::OPTIONS;
        let value = |(id, values): &(TensorId, Elements)| {
            let values = values.iter().map(|value| value.unwrap_or(0.0)).collect();
            (program.tensors[id.0].name.clone(), values)
        };
        let held: NamedValues = inputs.iter().map(value).collect();
        let step = std::slice::from_ref(&held);
        let calibration = calibration::read(project, program)?;
        let seen = calibration.as_ref().map(|calibration| calibration.records.as_slice());
        let is_state = |name: &String| {
            program.tensors.iter().any(|tensor| tensor.name == *name && tensor.role == tensor::Role::State)
        };
        let states =
            held.iter().filter(|(name, _)| is_state(name)).map(|(name, values)| (name.clone(), values.clone()));
        let upper =
            Upper::calibrated(program, &options, &states.collect(), (step, seen), &project.numbers()).map_err(about)?;
        let rows = calibration.map(|calibration| calibration.rows);
        Ok(Lowered { upper, held, rows })
    }
}

/// The results of a rung below golden, by name.
struct Below {
    /// Final values of the program's names.
    names: BTreeMap<String, Vec<f64>>,
    /// Inputs as words, and states after the step.
    held: BTreeMap<String, Vec<f64>>,
    /// The first word that differs from the rung above.
    mismatch: Option<String>,
    /// How far the results are from golden's; what has no value is 0 on both.
    accuracy: Accuracy,
    /// What was clipped to the word.
    clipped: Vec<Clipped>,
    /// Rows that the binary points were chosen from, if they were given apart.
    rows: Option<usize>,
    /// What was noticed about binary points.
    notes: Vec<Diagnostic>,
}

impl Below {
    fn evaluate(
        rung: Rung,
        project: &Project,
        program: &Program,
        inputs: &[(TensorId, Elements)],
        progress: &dyn Progress,
    ) -> Result<Below, Failure> {
        let Lowered { upper, held, rows } = Lowered::new(project, program, inputs)?;
        let accuracy = upper.accuracy().map_err(|wrong| Failure::about(&project.source, vec![*wrong]))?;
        let (words, notes) = (upper.fixed, upper.numbers.notes);
        let mut fixed = Fixed::new(&words);
        for (id, tensor) in words.tensors.iter().enumerate() {
            if let (Some(values), true) = (held.get(&tensor.name), matches!(tensor.role, Role::Input | Role::State)) {
                fixed.set_real(TensorId(id), values);
            }
        }
        let before = fixed.clone();
        fixed.step();
        if rung == Rung::Fixed {
            let clipped = fixed.clipped();
            return Ok(Below { accuracy, clipped, rows, notes, ..Below::of(&words, |id| fixed.words(id)) });
        }
        let hardware = Hardware::of(project, &words)?;
        let machine = hardware.machine();
        let all = (0..words.tensors.len()).map(|id| (id, fixed.words(TensorId(id)))).collect();
        let array = hardware.run(Array::new(machine), &words, &before)?;
        let mut rungs: Vec<(&str, Sent)> = vec![("fixed", all), ("array", array)];
        if rung == Rung::Rtl {
            let simulator = Simulator::build(machine, progress)?;
            rungs.push(("rtl", hardware.run(simulator.device(machine), &words, &before)?));
        }
        let lowest = &rungs[rungs.len() - 1].1;
        let mut found = Below::of(&words, |id| lowest.get(&id.0).unwrap_or(&rungs[0].1[&id.0]).clone());
        found.accuracy = accuracy;
        found.clipped = fixed.clipped();
        found.rows = rows;
        found.notes = notes;
        found.mismatch = first_difference(&rungs, |tensor| words.tensors[tensor].name.clone());
        Ok(found)
    }

    /// Values of names and of what the machine holds, from the words of each tensor.
    fn of(program: &fixed::Program, words: impl Fn(TensorId) -> Vec<i64>) -> Below {
        let values = |id: TensorId| {
            let of = &program.tensors[id.0];
            words(id).into_iter().enumerate().map(|(n, word)| to_f64(word, of.fraction_of(n))).collect::<Vec<f64>>()
        };
        let names = program.names.iter().map(|(name, id)| (name.clone(), values(*id))).collect();
        let held = program.tensors.iter().enumerate().filter(|(_, t)| matches!(t.role, Role::Input | Role::State));
        let held = held.map(|(id, tensor)| (tensor.name.clone(), values(TensorId(id)))).collect();
        Below {
            names,
            held,
            mismatch: None,
            accuracy: Accuracy::default(),
            clipped: Vec::new(),
            rows: None,
            notes: Vec::new(),
        }
    }
}

fn is_held(role: &tensor::Role) -> bool {
    matches!(role, tensor::Role::Input | tensor::Role::Label | tensor::Role::State | tensor::Role::InOut)
}

/// Words by tensor number of the program.
type Sent = BTreeMap<usize, Vec<i64>>;

/// The image of a program, or those of its segments.
enum Hardware {
    Whole(Box<Image>),
    Segments(Box<Segmented>),
}

impl Hardware {
    fn of(project: &Project, program: &fixed::Program) -> Result<Hardware, Failure> {
        if project.in_segments() {
            let segmented = Segmented::with(project, program, 1)?;
            return Ok(Hardware::Segments(Box::new(segmented)));
        }
        Ok(Hardware::Whole(Box::new(images::of_function(project, program)?.image)))
    }

    fn machine(&self) -> &Machine {
        match self {
            Hardware::Whole(image) => &image.machine,
            Hardware::Segments(segmented) => &segmented.machine,
        }
    }

    /// One step on a grid: the words it sent, those from segment to segment among them.
    fn run<G: Grid>(&self, grid: G, program: &fixed::Program, before: &Fixed) -> Result<Sent, Failure> {
        let segmented = match self {
            Hardware::Whole(image) => return on_grid(grid, image, program, before),
            Hardware::Segments(segmented) => segmented,
        };
        let words = (0..program.tensors.len()).map(|id| before.words(TensorId(id))).collect();
        let ran = segmented.run(grid, vec![words]).map_err(|stuck| Failure::Bug(stuck.to_string()))?;
        let sent = segmented.segments.iter().flat_map(|(segment, _)| {
            let tensors = segment.program.tensors.iter().zip(&segment.places);
            tensors.filter(|(tensor, _)| tensor.role == Role::Output).map(|(_, (id, _))| id.0)
        });
        Ok(sent.map(|id| (id, ran.steps[0][id].clone())).collect())
    }
}

/// One step on a grid: the words it sent.
fn on_grid<G: Grid>(grid: G, image: &Image, program: &fixed::Program, before: &Fixed) -> Result<Sent, Failure> {
    let id = |name: &str| before.tensor(name).expect("the image calls its tensors as the program does");
    let words: Words = image.tensors.iter().map(|tensor| before.words(id(&tensor.name))).collect();
    let emit_model = image.entries.emit_model.is_some();
    let mut driver = Driver::new(grid, image.clone(), Stalls::none());
    let run = Run { load_model: Some(&words), steps: std::slice::from_ref(&words), emit_model };
    let outcome = driver.run(run).map_err(|stuck| Failure::Bug(stuck.to_string()))?;
    let mut sent = BTreeMap::new();
    for tensors in outcome.steps.into_iter().chain([outcome.model]) {
        for (tensor, words) in image.tensors.iter().zip(tensors) {
            if !words.is_empty() {
                let id = id(&tensor.name);
                // What the program never computes is whatever was in the memory.
                let computed = match program.tensors[id.0].role {
                    Role::Output => written(program, id),
                    _ => vec![true; words.len()],
                };
                let words = words.into_iter().zip(computed).map(|(word, computed)| if computed { word } else { 0 });
                sent.insert(id.0, words.collect());
            }
        }
    }
    Ok(sent)
}

/// The first word in which a rung differs from the one above it, the highest rung first.
fn first_difference(rungs: &[(&str, Sent)], name_of: impl Fn(usize) -> String) -> Option<String> {
    rungs.windows(2).find_map(|pair| {
        let [(reference, above), (name, found)] = pair else { return None };
        found.iter().find_map(|(&tensor, words)| {
            let expected = above.get(&tensor).map_or(&[][..], Vec::as_slice);
            let element = (0..words.len().max(expected.len())).find(|&n| words.get(n) != expected.get(n))?;
            let show = |word: Option<&i64>| word.map_or("nothing".to_owned(), |word| format!("the word {word}"));
            let (word, other) = (show(words.get(element)), show(expected.get(element)));
            let what = name_of(tensor);
            Some(format!("{name} differs from {reference}: `{what}` element {element} is {word} instead of {other}"))
        })
    })
}

/// The lower rung's values at the places where the program defines them.
struct Overlay<'a> {
    program: &'a Program,
    golden: &'a Golden,
    below: &'a Below,
}

impl Engine for Overlay<'_> {
    fn set(&mut self, _: TensorId, _: &[Option<f64>]) {}

    fn step(&mut self) -> Result<(), Box<Diagnostic>> {
        Ok(())
    }

    fn value(&self, tensor: TensorId) -> Elements {
        let defined: Elements = self.golden.value(tensor).collect();
        let held = is_held(&self.program.tensors[tensor.0].role)
            .then(|| self.below.held.get(&self.program.tensors[tensor.0].name));
        let named = || {
            let name = self.program.names.iter().find(|(_, id)| *id == tensor)?;
            self.below.names.get(&name.0)
        };
        // What is input and result at once is meant as the result.
        let both = self.program.tensors[tensor.0].role == tensor::Role::InOut;
        let found = if both { named() } else { held.flatten().or_else(named) };
        match found {
            Some(values) if values.len() == defined.len() => {
                defined.iter().zip(values).map(|(defined, &value)| defined.map(|_| value)).collect()
            }
            _ => defined,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid that agrees with an array that is wrong is wrong, too.
    #[test]
    fn the_highest_difference_is_named() {
        let sent = |word| Sent::from([(3, vec![7, word])]);
        let difference = |words: [i64; 3]| {
            let [fixed, array, rtl] = words.map(sent);
            first_difference(&[("fixed", fixed), ("array", array), ("rtl", rtl)], |tensor| format!("t{tensor}"))
        };
        assert_eq!(difference([1, 1, 1]), None);
        let array = "array differs from fixed: `t3` element 1 is the word 2 instead of the word 1";
        assert_eq!(difference([1, 2, 2]).as_deref(), Some(array));
        assert_eq!(difference([1, 2, 1]).as_deref(), Some(array));
        let rtl = "rtl differs from array: `t3` element 1 is the word 2 instead of the word 1";
        assert_eq!(difference([1, 1, 2]).as_deref(), Some(rtl));
    }
}
