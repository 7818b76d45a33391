//! `eval`: one evaluation, JSON in, JSON out, on any rung of the ladder.

use crate::arguments::{EngineName, Eval, Format, Global};
use crate::json_places;
use crate::output::{self, Talk};
use crate::render;
use crate::subject;
use arch::number::to_f64;
use arch::{Code, Diagnostic, Image};
use compiler::canonical::{self, Batch, Keep, Options};
use compiler::fixed::{self, Role};
use compiler::language::preprocessor::preprocess;
use compiler::language::{self, Language};
use compiler::tensor::{self, Program, TensorId};
use serde_json::{Value, json};
use sim::array::Array;
use sim::distance::{self, Compared, Distance};
use sim::driver::{Driver, Run, Words};
use sim::eval::{
    Elements, Engine, definitions, evaluate, not_words, read_inputs, results, unknown_inputs, with_shapes_of,
};
use sim::fixed::Fixed;
use sim::golden::Golden;
use sim::grid::{Grid, Stalls};
use sim::train::words::written;
use std::collections::BTreeMap;
use workbench::Project;
use workbench::images;
use workbench::simulators::Simulator;
use workbench::{Failure, Source};

/// Evaluate.
pub fn run(global: &Global, options: &Eval, talk: &Talk) -> Result<(), Failure> {
    let project = subject::project(global, Some(&options.program), &options.entry)?;
    let records = subject::records(options.inputs.as_deref())?.unwrap_or_default();
    let inputs = records.one()?;
    let about = |diagnostics| Failure::about(&project.source, diagnostics);
    let reading = with_shapes_of(inputs, project.options(&[]));
    if project.language == Language::Preprocessor {
        let file = preprocess(&project.source.text, &reading).map_err(about)?;
        return output::either(global.format, || file.text.clone(), || definitions(&file));
    }
    let (program, mut warnings) = language::parse(project.language, &project.source.text, &reading).map_err(about)?;
    images::check_fractions(&project, &program)?;
    check_names(&program, inputs, &records.source)?;
    let mut golden = Golden::new(&program);
    let mut result = evaluate(&program, inputs, &mut golden).map_err(about)?;
    warnings.extend_from_slice(golden.warnings());
    let mut mismatch = None;
    if options.engine != EngineName::Golden {
        let values = read_inputs(&program, inputs).map_err(about)?;
        let not_words = not_words(&program, inputs, &values);
        if !not_words.is_empty() {
            return Err(about(not_words));
        }
        let below = Below::evaluate(options.engine, &project, &program, &values, talk)?;
        let overlay = Overlay { program: &program, golden: &golden, below: &below };
        result = results(&program, &overlay);
        let distance = overlay.distance();
        result["distance_from_golden"] = json!({ "absolute": distance.absolute, "relative": distance.relative });
        warnings.extend(below.lost_bits);
        mismatch = below.mismatch.map(Failure::Mismatch);
    }
    match global.format {
        Format::Json => {
            if !warnings.is_empty() {
                let warnings = warnings.iter().map(|warning| render::object(&project.source, warning));
                result["diagnostics"] = warnings.collect();
            }
            if let Some(failure) = &mismatch {
                render::add_mismatch(&mut result, failure);
            }
            output::json(&result)?;
        }
        Format::Text => {
            render::warnings(&project.source, &warnings, talk);
            output::result(&text(&result))?;
        }
    }
    mismatch.map_or(Ok(()), Err)
}

fn text(result: &Value) -> String {
    let mut text = String::new();
    for (part, prefix) in [("values", ""), ("next", "next ")] {
        for (name, value) in result[part].as_object().into_iter().flatten() {
            text.push_str(&format!("{prefix}{name} = {value}\n"));
        }
    }
    if let Some(distance) = result["distance_from_golden"].as_object() {
        let of = |part: &str| distance[part].as_f64().unwrap_or(f64::NAN);
        let share = 100.0 * of("relative");
        text.push_str(&format!("distance from golden: {:.3e}, {share:.3} % of the largest value\n", of("absolute")));
    }
    text
}

/// Refuse names that are not inputs of the program, and names that come twice, at their places.
fn check_names(program: &Program, inputs: &Value, source: &Source) -> Result<(), Failure> {
    let places = json_places::names(&source.text);
    let place = |name: &str| places.iter().find(|(known, _)| known == name).map(|(_, span)| *span);
    let mut wrong: Vec<Diagnostic> = unknown_inputs(program, inputs)
        .into_iter()
        .map(|(name, diagnostic)| Diagnostic { span: place(&name), ..diagnostic })
        .collect();
    for (n, (name, span)) in places.iter().enumerate() {
        if let Some((_, first)) = places[..n].iter().find(|(known, _)| known == name) {
            let twice = Diagnostic::new(Code::Redef, *span, format!("the inputs give `{name}` twice"));
            wrong.push(twice.with_note(*first, "first here"));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(Failure::about(source, wrong)) }
}

/// The results of a rung below golden, by name.
struct Below {
    /// Final values of the program's names.
    names: BTreeMap<String, Vec<f64>>,
    /// Inputs as words, and states after the step.
    held: BTreeMap<String, Vec<f64>>,
    /// The first word that differs from the rung above.
    mismatch: Option<String>,
    /// Who lost more bits than formats explain.
    lost_bits: Option<Diagnostic>,
}

impl Below {
    fn evaluate(
        engine: EngineName,
        project: &Project,
        program: &Program,
        inputs: &[(TensorId, Elements)],
        talk: &Talk,
    ) -> Result<Below, Failure> {
        let about = |diagnostics| Failure::about(&project.source, diagnostics);
        let options = Options { keep: Keep::AllNames, batch: Batch::SINGLE };
        let canonical = canonical::canonicalise(program, &options).map_err(about)?;
        let named: BTreeMap<&str, Vec<f64>> = inputs
            .iter()
            .map(|(id, values)| {
                let values = values.iter().map(|value| value.unwrap_or(0.0)).collect();
                (program.tensors[id.0].name.as_str(), values)
            })
            .collect();
        let mut golden = Golden::new(&canonical);
        for (id, tensor) in canonical.tensors.iter().enumerate() {
            if let (Some(values), true) = (named.get(tensor.name.as_str()), is_held(&tensor.role)) {
                golden.set(TensorId(id), values);
            }
        }
        let given = distance::held(&canonical, &golden);
        golden.step().map_err(|diagnostic| about(vec![*diagnostic]))?;
        let numbers = images::numbers(&project.config);
        let (words, report) = fixed::lower(&canonical, golden.ranges(), &numbers).map_err(about)?;
        render::warnings(&project.source, &report.notes, talk);
        let mut fixed = Fixed::new(&words);
        for (id, tensor) in words.tensors.iter().enumerate() {
            if let (Some(values), true) =
                (named.get(tensor.name.as_str()), matches!(tensor.role, Role::Input | Role::State))
            {
                fixed.set_real(TensorId(id), values);
            }
        }
        let before = fixed.clone();
        fixed.step();
        let compared =
            Compared { program: &canonical, lowered: &words, numbers: &report, golden: &golden, fixed: &fixed };
        let lost_bits = compared.lost_bits(&given);
        if engine == EngineName::Fixed {
            return Ok(Below { lost_bits, ..Below::of(&words, |id| fixed.words(id).to_vec()) });
        }
        let image = images::fitted(project, &words)?.image;
        let all = (0..words.tensors.len()).map(|id| (id, fixed.words(TensorId(id)).to_vec())).collect();
        let array = on_grid(Array::new(&image.machine), &image, &words, &before)?;
        let mut rungs: Vec<(&str, Sent)> = vec![("fixed", all), ("array", array)];
        if engine == EngineName::Rtl {
            let simulator = Simulator::build(&image.machine, talk)?;
            rungs.push(("rtl", on_grid(simulator.device(&image.machine), &image, &words, &before)?));
        }
        let lowest = &rungs[rungs.len() - 1].1;
        let mut found = Below::of(&words, |id| lowest.get(&id.0).unwrap_or(&rungs[0].1[&id.0]).clone());
        found.lost_bits = lost_bits;
        found.mismatch = first_difference(&rungs, |tensor| words.tensors[tensor].name.clone());
        Ok(found)
    }

    /// Values of names and of what the machine holds, from the words of each tensor.
    fn of(program: &fixed::Program, words: impl Fn(TensorId) -> Vec<i64>) -> Below {
        let values = |id: TensorId| {
            let fraction = program.tensors[id.0].fraction;
            words(id).into_iter().map(|word| to_f64(word, fraction)).collect::<Vec<f64>>()
        };
        let names = program.names.iter().map(|(name, id)| (name.clone(), values(*id))).collect();
        let held = program.tensors.iter().enumerate().filter(|(_, t)| matches!(t.role, Role::Input | Role::State));
        let held = held.map(|(id, tensor)| (tensor.name.clone(), values(TensorId(id)))).collect();
        Below { names, held, mismatch: None, lost_bits: None }
    }
}

fn is_held(role: &tensor::Role) -> bool {
    matches!(role, tensor::Role::Input | tensor::Role::Label | tensor::Role::State | tensor::Role::InOut)
}

/// Words by tensor number of the program.
type Sent = BTreeMap<usize, Vec<i64>>;

/// One step on a grid: the words it sent.
fn on_grid<G: Grid>(grid: G, image: &Image, program: &fixed::Program, before: &Fixed) -> Result<Sent, Failure> {
    let id = |name: &str| before.tensor(name).expect("the image calls its tensors as the program does");
    let words: Words = image.tensors.iter().map(|tensor| before.words(id(&tensor.name)).to_vec()).collect();
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

impl Overlay<'_> {
    /// How far the results are from golden's.
    fn distance(&self) -> Distance {
        let updated = self.program.updates.iter().map(|update| update.state);
        let updated = updated.chain(self.program.descents.iter().map(|descent| descent.state));
        let results = self.program.names.iter().map(|(_, tensor)| *tensor).chain(updated);
        let pairs: Vec<(Elements, Elements)> =
            results.map(|tensor| (self.value(tensor), self.golden.value(tensor).collect())).collect();
        distance::distance(pairs.iter().map(|(found, golden)| (found.as_slice(), golden.as_slice())))
    }
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
