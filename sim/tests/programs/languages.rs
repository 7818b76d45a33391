//! The positive conformance programs of a language as climbs of the ladder.

#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

#[path = "../cases/mod.rs"]
pub mod conformance;

use arch::function::{Function, Hardware, MAX_ERROR};
use arch::machine::MachineSpec;
use arch::number::to_f64;
use compiler::canonical::{Batch, Keep, Options};
use compiler::language::{self, Language};
use serde_json::{Value, json};
use sim::eval::{read_inputs, with_shapes_of};
use sim::ladder::{Climb, NamedValues};

/// The two machines: one row of 24 bit, a small grid of 16 bit. Their depths hold every program, so that one grid runs them all.
pub fn machines() -> Vec<MachineSpec> {
    let grid = |pus, pes_per_pu, word| MachineSpec {
        pus: Some(pus),
        pes_per_pu: Some(pes_per_pu),
        word: Some(word),
        model_depth: Some(256),
        data_depth: Some(256),
        temporary_depth: Some(1024),
        program_depth: Some(1024),
        table_entries: Some(2048),
        divider: Some(true),
        extremes: Some(true),
        squares: Some(true),
        // The small grid does without, in more operations.
        rectifiers: Some(pus == 1),
        limits: Some(pus == 1),
        scalar: Some(true),
        // The small grid has fewer, and spells parts out.
        loops: Some(if pus == 1 { 6 } else { 4 }),
        ..MachineSpec::default()
    };
    vec![grid(1, 2, 24), grid(2, 4, 16)]
}

/// Programs of Tensor Comprehensions about maxima and minima, with and without a start, of words and of products; and inputs. All
/// values are multiples of 1/32.
pub fn extremes() -> Vec<(&'static str, Value)> {
    let values = |n: usize, m: usize| -> Vec<Vec<f64>> {
        let element = |i: usize, k: usize| ((i * 37 + k * 101) % 64) as f64 / 16.0 - 5.0;
        (0..n).map(|i| (0..m).map(|k| element(i, k)).collect()).collect()
    };
    let flat = |n: usize| values(1, n).remove(0);
    vec![
        ("def f(float(N) A) -> (m) { m max=! A(i) }", json!({ "A": flat(37) })),
        ("def f(float(N) A) -> (m) { m min=! A(i) }", json!({ "A": flat(19) })),
        ("def f(float(N, M) A) -> (O) { O(i) max=! A(i, k) }", json!({ "A": values(7, 11) })),
        ("def f(float(N, M) A) -> (O) { O(k) min=! A(i, k) }", json!({ "A": values(9, 5) })),
        (
            "def f(float(N, M) A, float(M) B) -> (O) { O(i) max=! A(i, k) * B(k) }",
            json!({ "A": values(6, 9), "B": flat(9) }),
        ),
        (
            "def f(float(N, M) A, float(N) B) -> (O) {\n  O(i) = B(i) + 1\n  O(i) min= 0.5 * A(i, k)\n}",
            json!({ "A": values(6, 9), "B": flat(6) }),
        ),
        ("def f(float(N) A) -> (O) { O(i) max=! A(2 * i + k) where k in 0:2 }", json!({ "A": flat(34) })),
        (
            "def f(float(N, M) A) -> (O, m) {\n  m(i) max=! A(i, k)\n  O(i, k) = A(i, k) - m(i)\n}",
            json!({ "A": values(5, 8) }),
        ),
    ]
}

/// A program that calls one function, element by element.
pub struct Call {
    /// The function.
    pub function: Function,
    /// As the language spells it.
    pub name: &'static str,
    /// The language.
    pub language: Language,
    /// The program; its result is the last tensor.
    pub text: String,
    /// Its inputs.
    pub inputs: Value,
    /// The result on real numbers.
    pub expected: Vec<f64>,
}

/// Every function of the table in every language that spells it.
pub fn calls() -> Vec<Call> {
    let spelled = Function::ALL.iter().flat_map(|&function| {
        let tabla = function.in_tabla().iter().map(|name| (Language::Tabla, *name));
        let comprehensions = function.in_comprehensions().iter().map(|name| (Language::TensorComprehensions, *name));
        let tile = function.in_tile().iter().map(|name| (Language::Tile, *name));
        tabla.chain(comprehensions).chain(tile).map(move |(language, name)| (function, language, name))
    });
    spelled.map(|(function, language, name)| Call::new(function, language, name)).collect()
}

impl Call {
    fn new(function: Function, language: Language, name: &'static str) -> Call {
        let fractions = [-2.25, -0.8125, -0.25, 0.3125, 0.75, 1.5, 2.625];
        let digits = function.is_of_digits();
        let places = if digits { [-100.0, -9.0, -1.0, 0.0, 1.0, 6.0, 45.0] } else { fractions };
        let second = if digits { 3.0 } else { 0.875 };
        let first: Vec<f64> = places.into_iter().filter(|&x| function.domain().contains(x)).collect();
        let arguments =
            [first.clone(), first.iter().map(|_| second).collect(), first.iter().map(|x| x / 2.0).collect()];
        let expected = (0..first.len()).map(|n| function.value([0, 1, 2].map(|k: usize| arguments[k][n]))).collect();
        let names = &["a", "b", "c"][..function.arity()];
        let with = |each: &dyn Fn(&str) -> String| names.iter().map(|name| each(name)).collect::<Vec<_>>().join(", ");
        let length = first.len();
        let text = match language {
            Language::Tabla => format!(
                "model_input {};\niterator i[0:{length}];\nh[i] = {name}({});\n",
                with(&|a| format!("{a}[{length}]")),
                with(&|a| format!("{a}[i]")),
            ),
            Language::TensorComprehensions => format!(
                "def f({}) -> (h) {{\n  h(i) = {name}({})\n}}\n",
                with(&|a| format!("float(N) {a}")),
                with(&|a| format!("{a}(i)")),
            ),
            Language::Tile => format!("def f({0}):\n    h = {name}({0})\n    return h\n", names.join(", ")),
            Language::Rink | Language::Preprocessor | Language::Onnx | Language::Tflite => {
                unreachable!("these have no functions")
            }
        };
        let inputs = names.iter().zip(arguments).map(|(name, values)| ((*name).to_owned(), json!(values))).collect();
        Call { function, name, language, text, inputs: Value::Object(inputs), expected }
    }

    /// Whether the grid computes the function.
    pub fn is_for_the_grid(&self) -> bool {
        !matches!(self.function.hardware(), Hardware::None)
    }

    /// The largest distance of the words of `fixed` from the expected values, relative to those.
    pub fn distance(&self, climb: &Climb) -> f64 {
        let (fraction, words) = climb.words("h").or_else(|| climb.words("out0")).expect("the result has words");
        let found = words.iter().map(|&word| to_f64(word, fraction));
        found.zip(&self.expected).map(|(found, value)| (found - value).abs() / (1.0 + value.abs())).fold(0.0, f64::max)
    }
}

/// One positive program.
pub struct Case {
    /// File, relative to the folder of the conformance programs.
    pub file: String,
    case: Value,
}

/// What became of a program.
pub enum Outcome {
    /// It has an image.
    Climbs(Box<Climb>),
    /// Why it has none.
    Refused(String),
}

/// The positive programs of these languages.
pub fn cases(languages: &[&str]) -> Vec<Case> {
    let all = languages.iter().flat_map(|language| conformance::of(language));
    let wanted = all.filter(|case| case["kind"] == "positive");
    wanted.map(|case| Case { file: case["file"].as_str().expect("a file").to_owned(), case }).collect()
}

/// Bring a program down to an image; its host values are the case's, and there is one step.
pub fn climb(case: &Case, spec: &MachineSpec) -> Outcome {
    climb_records(case, spec, 1)
}

/// The same with more records: in each, the case's values lie elsewhere.
pub fn climb_records(case: &Case, spec: &MachineSpec, records: usize) -> Outcome {
    let path = conformance::folder().join(&case.file);
    let text = std::fs::read_to_string(&path).expect("the program is there");
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let language = Language::of_extension(extension).expect("a known extension");
    let given = ["inputs", "init"].iter().filter_map(|part| case.case.get(*part)?.as_object());
    let inputs: serde_json::Map<_, _> = given.flatten().map(|(name, value)| (name.clone(), value.clone())).collect();
    climb_all(language, &text, &Value::Object(inputs), case.case["entry"].as_str(), (spec, records))
}

/// The same for a program without a file.
pub fn climb_text(language: Language, text: &str, inputs: &Value, entry: Option<&str>, spec: &MachineSpec) -> Outcome {
    climb_all(language, text, inputs, entry, (spec, 1))
}

fn climb_all(
    language: Language,
    text: &str,
    inputs: &Value,
    entry: Option<&str>,
    (spec, records): (&MachineSpec, usize),
) -> Outcome {
    let entry = entry.map(str::to_owned);
    let options = with_shapes_of(inputs, language::Options { entry, ..language::Options::default() });
    let (program, _) = language::parse(language, text, &options).expect("the program is right");
    let (mut model, mut step) = (NamedValues::new(), NamedValues::new());
    for (tensor, elements) in read_inputs(&program, inputs).expect("the inputs fit") {
        let tensor = &program.tensors[tensor.0];
        let state = matches!(tensor.role, compiler::tensor::Role::State);
        let values = elements.into_iter().map(|element| element.unwrap_or(0.0)).collect();
        if state { &mut model } else { &mut step }.insert(tensor.name.clone(), values);
    }
    let options = Options { keep: Keep::AllNames, batch: Batch::SINGLE };
    let record = |number: usize| {
        let mut record = step.clone();
        for values in record.values_mut() {
            let places = number % values.len().max(1);
            values.rotate_left(places);
        }
        record
    };
    let steps: Vec<NamedValues> = (0..records).map(record).collect();
    match Climb::new(&program, &options, &model, &steps, spec) {
        Ok(climb) => Outcome::Climbs(Box::new(climb)),
        Err(errors) => {
            let line = errors[0].span.map_or(0, |span| arch::diagnostic::line_column(text, span.start).0);
            Outcome::Refused(format!("line {line}: {} {}", errors[0].code, errors[0].message))
        }
    }
}

impl Case {
    /// Whether the results need no rounding.
    pub fn is_exact(&self) -> bool {
        self.case["tags"].as_array().is_some_and(|tags| tags.iter().any(|tag| tag == "exact"))
    }

    /// Values of `fixed` that are too far from what the case expects.
    pub fn complaints(&self, climb: &Climb) -> Vec<String> {
        let exact = self.is_exact();
        let mut complaints = Vec::new();
        // What function tables may be wrong by.
        let tables = climb.fixed.tables.iter().map(|table| MAX_ERROR * to_f64(1, table.output_fraction)).sum::<f64>();
        for (name, expected) in self.case["expect"]["values"].as_object().into_iter().flatten() {
            let Some((fraction, words)) = climb.words(name) else { continue };
            let mut flat = Vec::new();
            flatten(expected, &mut flat);
            assert_eq!(flat.len(), words.len(), "{name} of {}", self.file);
            for (element, (expected, word)) in flat.into_iter().zip(words).enumerate() {
                let Some(expected) = expected else { continue };
                let found = to_f64(word, fraction);
                let allowed = if exact { 0.0 } else { to_f64(1 << 4, fraction) + tables };
                if (found - expected).abs() > allowed {
                    complaints.push(format!("{name}[{element}] is {found}, not {expected} (within {allowed})"));
                }
            }
        }
        complaints
    }
}

fn flatten(value: &Value, into: &mut Vec<Option<f64>>) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| flatten(value, into)),
        value => into.push(value.as_f64()),
    }
}
