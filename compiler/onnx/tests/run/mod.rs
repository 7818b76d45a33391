//! Cases of ONNX: a model, its inputs, and what has to come out.
//!
//! A file of cases is a protocol buffer: field 1 is a case; in it 1 is the name, 2 the model, 3 each input and 4 each output (empty if it
//! is not a tensor), 5 the tolerances as text, `relative absolute`. `measure/python/onnx_cases.py` writes it.

use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options as Wanted};
use compiler::fixed::Numbers;
use compiler::language::Options;
use compiler::ranges::within_words;
use compiler::search::compile_fitted;
use compiler::tensor::{Program, Role, TensorId};
use onnx::elements::{Constants, Kind, constants};
use onnx::model::TensorData;
use onnx::wire::fields;
use onnx::{File, Reading, Weights};
use sim::array::Array;
use sim::fixed::Fixed;
use sim::golden::Golden;
use sim::grid::Stalls;
use sim::ladder::{Climb, NamedValues, Upper};

/// A case.
#[derive(Default)]
pub(crate) struct Case<'a> {
    pub(crate) name: &'a str,
    pub(crate) model: &'a [u8],
    pub(crate) inputs: Vec<&'a [u8]>,
    pub(crate) outputs: Vec<&'a [u8]>,
    pub(crate) tolerance: &'a str,
}

/// The cases of a file.
pub(crate) fn cases(bytes: &[u8]) -> Vec<Case<'_>> {
    let inner = |bytes| {
        let mut case = Case::default();
        for field in fields(bytes) {
            let field = field.expect("a field");
            let value = field.value.bytes().expect("bytes");
            match field.number {
                1 => case.name = field.value.text().expect("a name"),
                2 => case.model = value,
                3 => case.inputs.push(value),
                4 => case.outputs.push(value),
                _ => case.tolerance = field.value.text().expect("tolerances"),
            }
        }
        case
    };
    fields(bytes).map(|field| inner(field.expect("a case").value.bytes().expect("bytes"))).collect()
}

/// What came of a case.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    Pass,
    /// The same, and the words are warned of: only `told` looks at that.
    Told,
    /// All that are compared are right, and so many are not compared: what is wanted is no number, and words are always one.
    PassWithout(usize),
    Refused(String),
    Wrong(String),
    Skipped(String),
}

use Verdict::{Pass, PassWithout, Refused, Skipped, Told, Wrong};

fn first(errors: &[arch::Diagnostic]) -> String {
    errors.first().map_or(String::new(), |error| format!("{} {}", error.code.as_str(), error.message))
}

/// A value of a case; nothing if it is not a tensor of numbers.
fn value(bytes: &[u8]) -> Option<(String, Constants)> {
    if bytes.is_empty() {
        return None;
    }
    let data = TensorData::decode(bytes).ok()?;
    let read = constants(&data, 1 << 24, &|_| Err("beside".into())).ok()?;
    Some((data.name.to_owned(), read))
}

/// Run a case on `golden`, `fixed`, `array`, or `told` (on `fixed`, with its verdict); words are of 16 bits, or else of 32.
pub(crate) fn run(engine: &str, case: &Case<'_>) -> Verdict {
    run_in(&[16, 32], engine, case)
}

/// The same in words of the first width that suffices.
pub(crate) fn run_in(widths: &[u32], engine: &str, case: &Case<'_>) -> Verdict {
    let file = match File::decode(case.model) {
        Ok(file) => file,
        Err(error) => return Refused(error.message),
    };
    let (mut given, mut options) = (Vec::new(), Options::default());
    for bytes in &case.inputs {
        let Some((name, constants)) = value(bytes) else {
            return Skipped("an input is not a tensor of numbers".into());
        };
        options.shapes.push((name.clone(), constants.shape.iter().map(|&extent| extent as u32).collect()));
        given.push((name, constants));
    }
    let mut wanted = Vec::new();
    for (bytes, info) in case.outputs.iter().zip(&file.model.graph.outputs) {
        let Some((_, constants)) = value(bytes) else {
            return Skipped("an output is not a tensor of numbers".into());
        };
        wanted.push((info.name, constants));
    }
    let reading = Reading { options: &options, given: &given, beside: &|_| Err("none".into()), weights: Weights::None };
    let program = match file.program(&reading) {
        Ok((program, _)) => program,
        Err(errors) => return Refused(first(&errors)),
    };
    if let Err(broken) = compiler::tensor::laws(&program) {
        return Wrong(compiler::laws::all(&broken));
    }
    for (name, constants) in &wanted {
        let (_, id) = program.names.iter().find(|(known, _)| known == name).expect("an output");
        let shape: Vec<i64> = program.tensors[id.0].shape.iter().map(|&extent| i64::from(extent)).collect();
        if shape != constants.shape {
            return Wrong(format!("shape of {name} is {shape:?}, wanted {:?}", constants.shape));
        }
    }
    if engine == "golden" {
        golden(&program, &given, &wanted, case.tolerance)
    } else {
        words(widths, engine, &program, &given, &wanted)
    }
}

fn inputs<'g>(
    program: &'g Program,
    given: &'g [(String, Constants)],
) -> impl Iterator<Item = (usize, &'g str, &'g Constants)> {
    let tensors = program.tensors.iter().enumerate().filter(|(_, tensor)| tensor.role == Role::Input);
    tensors.filter_map(|(id, tensor)| {
        let (name, constants) = given.iter().find(|(name, _)| *name == tensor.name)?;
        Some((id, name.as_str(), constants))
    })
}

fn golden(program: &Program, given: &[(String, Constants)], wanted: &[(&str, Constants)], tolerance: &str) -> Verdict {
    let mut golden = Golden::new(program);
    for (id, _, constants) in inputs(program, given) {
        golden.set(TensorId(id), &constants.values);
    }
    if let Err(error) = golden.step() {
        return Refused(error.message.clone());
    }
    let mut numbers = tolerance.split_whitespace().map(|word| word.parse().unwrap_or(1e-3));
    let (relative, absolute): (f64, f64) = (numbers.next().unwrap_or(1e-3), numbers.next().unwrap_or(1e-7));
    for (name, constants) in wanted {
        let (_, id) = program.names.iter().find(|(known, _)| known == name).expect("an output");
        let good = |found: Option<f64>, wanted: f64| match (found, constants.kind) {
            (None, _) => false,
            (Some(found), Kind::Real(format)) => {
                found.is_nan() && wanted.is_nan()
                    || found == wanted
                    || (found - wanted).abs() <= absolute + relative * wanted.abs() + unit(format, wanted)
            }
            (Some(found), _) => found == wanted,
        };
        let both = golden.value(*id).zip(&constants.values).enumerate();
        let mut wrong = both.filter(|(_, (found, wanted))| !good(*found, **wanted));
        if let Some((n, (found, wanted))) = wrong.next() {
            let (others, all) = (wrong.count(), constants.values.len());
            let found = found.map_or("nothing".into(), |found| found.to_string());
            return Wrong(format!("{name}[{n}] is {found}, wanted {wanted}; {} of {all} differ", others + 1));
        }
    }
    Pass
}

/// One unit in the last place, where expectations were computed in a format of so few bits that their tolerance is below its steps.
fn unit(format: u8, value: f64) -> f64 {
    let bits = match format {
        10 => 10,
        16 => 7,
        _ => return 0.0,
    };
    if value == 0.0 || !value.is_finite() { 0.0 } else { 2f64.powi(value.abs().log2().floor() as i32 - bits) }
}

/// A 4 x 4 grid.
fn words(
    widths: &[u32],
    engine: &str,
    program: &Program,
    given: &[(String, Constants)],
    wanted: &[(&str, Constants)],
) -> Verdict {
    let mut last = Pass;
    for &word in widths {
        last = of_width(word, engine, program, given, wanted);
        if matches!(last, Pass | PassWithout(_)) {
            break;
        }
    }
    last
}

fn of_width(
    word: u32,
    engine: &str,
    program: &Program,
    given: &[(String, Constants)],
    wanted: &[(&str, Constants)],
) -> Verdict {
    let all = || wanted.iter().flat_map(|(_, constants)| &constants.values);
    if all().next().is_none() {
        return Skipped("the results are empty".into());
    }
    let no_numbers = all().filter(|value| value.is_nan()).count();
    if no_numbers == all().count() {
        return Skipped("no result is a number".into());
    }
    let spec = MachineSpec { pus: Some(4), pes_per_pu: Some(4), word: Some(word), ..MachineSpec::default() };
    let machine = arch::Machine::try_from(spec.clone()).expect("a machine");
    let names = program.names.iter().map(|(name, _)| name.clone()).collect();
    let options = Wanted { keep: Keep::Prediction { names, states: Vec::new() }, batch: Batch::SINGLE };
    let values: NamedValues =
        inputs(program, given).map(|(_, name, constants)| (name.to_owned(), constants.values.clone())).collect();
    let upper = match Upper::new(
        program,
        &options,
        &NamedValues::new(),
        std::slice::from_ref(&values),
        &Numbers::of_machine(&machine),
    ) {
        Ok(upper) => upper,
        Err(errors) => return Refused(format!("fixed: {}", first(&errors))),
    };
    if engine == "told" {
        return told(&upper, &values, wanted);
    }
    let lowered = upper.fixed.clone();
    let compiled = match compile_fitted(&lowered, &spec) {
        Ok(compiled) => compiled,
        Err(refusal) => return Refused(format!("array: {}", refusal.diagnostic().message)),
    };
    let climb = Climb::of(upper, compiled);
    if engine == "array"
        && let Err(fall) = climb.run(Array::new(&climb.image().machine), Stalls::none())
    {
        return Wrong(format!("ARRAY {fall}"));
    }
    let found = |name: &str| {
        let (fraction, words) = climb.words(name)?;
        Some(words.iter().map(|&word| arch::number::to_f64(word, fraction)).collect())
    };
    match differing(found, wanted) {
        Some(differs) => Wrong(differs),
        None if no_numbers == 0 => Pass,
        None => PassWithout(no_numbers),
    }
}

/// Fixed point alone, and what its verdict says.
fn told(upper: &Upper, values: &NamedValues, wanted: &[(&str, Constants)]) -> Verdict {
    let mut fixed = Fixed::new(&upper.fixed);
    for (name, values) in values {
        if let Some(tensor) = fixed.tensor(name) {
            fixed.set_real(tensor, &values.iter().map(|&value| within_words(value)).collect::<Vec<_>>());
        }
    }
    fixed.step();
    let id = |name: &str| upper.fixed.names.iter().find(|(known, _)| known == name).map(|(_, id)| *id);
    if let Some(differs) = differing(|name| Some(fixed.values(id(name)?)), wanted) {
        return Wrong(differs);
    }
    let is_told = upper.accuracy().is_ok_and(|accuracy| accuracy.warnings().next().is_some());
    if is_told { Told } else { Pass }
}

/// The first element that is further than a hundredth of the largest value from what is wanted.
fn differing(found: impl Fn(&str) -> Option<Vec<f64>>, wanted: &[(&str, Constants)]) -> Option<String> {
    for (name, constants) in wanted {
        if constants.values.is_empty() {
            continue;
        }
        let Some(all) = found(name) else { return Some(format!("{name} is not there")) };
        let finite = constants.values.iter().filter(|value| value.is_finite());
        let largest = finite.fold(0f64, |largest, value| largest.max(value.abs()));
        for (n, (&found, &wanted)) in all.iter().zip(&constants.values).enumerate() {
            // Words have no infinity: what stands for one is beyond all other values. Nor do they have a NaN, and are compared with none.
            let good = if wanted.is_nan() {
                true
            } else if wanted.is_infinite() {
                found.signum() == wanted.signum() && found.abs() > largest
            } else {
                (found - wanted).abs() <= 0.01 * largest + 1e-9
            };
            if !good {
                return Some(format!("{name}[{n}] is {found}, wanted {wanted}"));
            }
        }
    }
    None
}
