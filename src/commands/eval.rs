//! `eval`: one evaluation, JSON in, JSON out, on any rung of the ladder.

use crate::arguments::{EngineName, Eval, Format, Global};
use crate::failure::Failure;
use crate::images;
use crate::output::{self, Talk};
use crate::project::Project;
use crate::render;
use crate::simulators::Simulator;
use arch::number::to_f64;
use arch::{Diagnostic, Image};
use compiler::canonical::{self, Batch, Keep, Options};
use compiler::fixed::{self, Role};
use compiler::tensor::{self, Program, TensorId};
use serde_json::Value;
use sim::array::Array;
use sim::driver::{Driver, Run, Words};
use sim::eval::{Elements, Engine, evaluate, read_inputs, results};
use sim::fixed::Fixed;
use sim::golden::Golden;
use sim::grid::{Grid, Stalls};
use sim::train::words::written;
use std::collections::BTreeMap;
use std::io::Read;

/// Evaluate.
pub fn run(global: &Global, options: &Eval, talk: &Talk) -> Result<(), Failure> {
    let project = Project::open(global, Some(&options.program))?;
    let (program, warnings) = project.parse_quietly(&[])?;
    if let Some(entry) = &options.entry {
        return Err(Failure::Usage(format!("--entry {entry}: programs of this language have no functions")));
    }
    let inputs = inputs(options)?;
    let about = |diagnostics| Failure::about(&project.source, diagnostics);
    let mut golden = Golden::new(&program);
    let mut result = evaluate(&program, &inputs, &mut golden).map_err(about)?;
    let mut mismatch = None;
    if options.engine != EngineName::Golden {
        let values = read_inputs(&program, &inputs).map_err(about)?;
        let below = Below::evaluate(options.engine, &project, &program, &values, talk)?;
        result = results(&program, &Overlay { program: &program, golden: &golden, below: &below });
        mismatch = below.mismatch;
    }
    match global.format {
        Format::Json => {
            if !warnings.is_empty() {
                let warnings = warnings.iter().map(|warning| render::object(&project.source, warning));
                result["diagnostics"] = warnings.collect();
            }
            output::json(&result)?;
        }
        Format::Text => {
            render::warnings(&project.source, &warnings, talk);
            output::result(&text(&result))?;
        }
    }
    mismatch.map_or(Ok(()), |message| Err(Failure::Mismatch(message)))
}

fn text(result: &Value) -> String {
    let mut text = String::new();
    for (part, prefix) in [("values", ""), ("next", "next ")] {
        for (name, value) in result[part].as_object().into_iter().flatten() {
            text.push_str(&format!("{prefix}{name} = {value}\n"));
        }
    }
    text
}

fn inputs(options: &Eval) -> Result<Value, Failure> {
    let Some(path) = &options.inputs else { return Ok(Value::Object(serde_json::Map::new())) };
    let text = if path.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    let text = text.map_err(|error| Failure::file("read", path, &error))?;
    serde_json::from_str(&text).map_err(|error| {
        let message = format!("line {}, column {}: no JSON: {error}", error.line(), error.column());
        Failure::data(path.display().to_string(), vec![Diagnostic::global(arch::Code::Data, message)])
    })
}

/// The results of a rung below golden, by name.
struct Below {
    /// Final values of the program's names.
    names: BTreeMap<String, Vec<f64>>,
    /// Inputs as words, and states after the step.
    held: BTreeMap<String, Vec<f64>>,
    /// The first word that differs from the rung above.
    mismatch: Option<String>,
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
        let below = Below::of(&words, |id| fixed.words(id).to_vec());
        if engine == EngineName::Fixed {
            return Ok(below);
        }
        let image = images::fitted(project, &words)?.image;
        let array = on_grid(Array::new(&image.machine), &image, &words, &before)?;
        let mut found = Below::of(&words, |id| array.get(&id.0).map_or_else(|| fixed.words(id).to_vec(), Clone::clone));
        found.mismatch = first_difference(&words, &array, "array", |id| fixed.words(id).to_vec(), "fixed");
        if engine == EngineName::Rtl {
            let simulator = Simulator::build(&image.machine, Some(talk))?;
            let rtl = on_grid(simulator.device(&image.machine), &image, &words, &before)?;
            let expected = |id: TensorId| array.get(&id.0).cloned().unwrap_or_default();
            found = Below::of(&words, |id| rtl.get(&id.0).map_or_else(|| fixed.words(id).to_vec(), Clone::clone));
            found.mismatch = first_difference(&words, &rtl, "rtl", expected, "array");
        }
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
        Below { names, held, mismatch: None }
    }
}

fn is_held(role: &tensor::Role) -> bool {
    matches!(role, tensor::Role::Input | tensor::Role::Label | tensor::Role::State | tensor::Role::InOut)
}

/// One step on a grid: the words it sent, by tensor number of the program.
fn on_grid<G: Grid>(
    grid: G,
    image: &Image,
    program: &fixed::Program,
    before: &Fixed,
) -> Result<BTreeMap<usize, Vec<i64>>, Failure> {
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

fn first_difference(
    program: &fixed::Program,
    found: &BTreeMap<usize, Vec<i64>>,
    name: &str,
    expected: impl Fn(TensorId) -> Vec<i64>,
    reference: &str,
) -> Option<String> {
    found.iter().find_map(|(&tensor, words)| {
        let expected = expected(TensorId(tensor));
        let element = (0..words.len()).find(|&n| words.get(n) != expected.get(n))?;
        let what = &program.tensors[tensor].name;
        let (word, other) = (words[element], expected.get(element));
        Some(format!(
            "{name} differs from {reference}: `{what}` element {element} is the word {word} instead of {other:?}"
        ))
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
        match held.flatten().or_else(named) {
            Some(values) if values.len() == defined.len() => {
                defined.iter().zip(values).map(|(defined, &value)| defined.map(|_| value)).collect()
            }
            _ => defined,
        }
    }
}
