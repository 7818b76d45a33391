//! The conformance programs: every language, every program, values against the golden and the plain evaluator.
//!
//! The file beside each program states what it gives. A program that must be rejected is, with the code and on the line that the file names.

use crate::cases;
use arch::Diagnostic;
use arch::diagnostic::line_column;
use compiler::canonical::{self, Batch, Keep};
use compiler::fixed::Numbers;
use compiler::language::preprocessor::preprocess;
use compiler::language::{Language, Options, parse};
use compiler::tensor::TensorId;
use serde_json::Value;
use sim::distance::Accuracy;
use sim::eval::{definitions, evaluate, read_inputs, with_shapes_of};
use sim::golden::Golden;
use sim::ladder::{NamedValues, Upper};
use sim::plain::Plain;

/// Evaluate the program of a case with golden, or with the plain evaluator.
fn outcome(case: &Value, plain: bool) -> (String, Result<Value, Vec<Diagnostic>>) {
    let path = cases::folder().join(case["file"].as_str().expect("a file name"));
    let text = std::fs::read_to_string(&path).expect("the program is there");
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let language = Language::of_extension(extension).expect("a known extension");
    let given = ["inputs", "init"].iter().filter_map(|part| case.get(*part)?.as_object());
    let inputs: serde_json::Map<_, _> = given.flatten().map(|(name, value)| (name.clone(), value.clone())).collect();
    let inputs = Value::Object(inputs);
    let entry = case["entry"].as_str().map(str::to_owned);
    let options = with_shapes_of(&inputs, Options { entry, ..Options::default() });
    if language == Language::Preprocessor {
        let result = preprocess(&text, &options).map(|file| definitions(&file));
        return (text, result);
    }
    let result = parse(language, &text, &options).and_then(|(program, _)| {
        if plain {
            evaluate(&program, &inputs, &mut Plain::new(&program))
        } else {
            evaluate(&program, &inputs, &mut Golden::new(&program))
        }
    });
    (text, result)
}

/// What is wrong with the outcome of a case.
fn complaint(case: &Value, plain: bool) -> Option<String> {
    let (text, result) = outcome(case, plain);
    match (case["kind"].as_str(), result) {
        (Some("positive"), Ok(found)) => {
            let expect = case["expect"].as_object().expect("expected values");
            expect.iter().find_map(|(part, expected)| {
                if let Some(expected) = expected.as_str() {
                    let text = found[part].as_str().unwrap_or_default();
                    let same =
                        text.split_whitespace().collect::<String>() == expected.split_whitespace().collect::<String>();
                    return (!same).then(|| format!("{part} is {text}, not {expected}"));
                }
                let expected = expected.as_object()?;
                expected.iter().find_map(|(name, expected)| {
                    let found = &found[part][name];
                    (!close(found, expected)).then(|| format!("{part} of {name} are {found}, not {expected}"))
                })
            })
        }
        (Some("positive"), Err(errors)) => Some(format!("rejected: {}", written(&text, &errors[0]))),
        (_, Ok(found)) => Some(format!("accepted, with {found}")),
        (_, Err(errors)) => {
            let (found, expected) = (&errors[0], &case["error"]);
            let mut classes = vec![&expected["class"]];
            classes.extend(expected["also_accept"].as_array().into_iter().flatten());
            let class = classes.iter().any(|class| *class == found.code.as_str());
            let line = found.span.map(|span| line_column(&text, span.start).0 as u64);
            let place = expected["line"].is_null() || line == expected["line"].as_u64();
            (!class || !place).then(|| format!("{}, not {expected}", written(&text, found)))
        }
    }
}

fn written(text: &str, diagnostic: &Diagnostic) -> String {
    let (line, column) = diagnostic.span.map_or((0, 0), |span| line_column(text, span.start));
    format!("{line}:{column} {} {}", diagnostic.code, diagnostic.message)
}

/// Equal within the tolerance of the golden evaluator; `null` is undefined and equal to itself only.
fn close(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(found, expected)| close(found, expected))
        }
        (Value::Number(_), Value::Number(_)) => {
            let (found, expected) = (found.as_f64().unwrap_or(f64::NAN), expected.as_f64().unwrap_or(f64::NAN));
            (found - expected).abs() <= 1e-9 + 1e-9 * expected.abs()
        }
        (Value::Object(found), Value::Object(expected)) => {
            found.len() == expected.len()
                && expected.iter().all(|(name, value)| close(found.get(name).unwrap_or(&Value::Null), value))
        }
        _ => found == expected,
    }
}

fn check(language: &str) {
    let cases = cases::of(language);
    let mut complaints = Vec::new();
    for case in &cases {
        for (evaluator, plain) in [("golden", false), ("plain", true)] {
            let complaint = complaint(case, plain);
            complaints.extend(complaint.map(|complaint| format!("{} by {evaluator}: {complaint}", case["file"])));
        }
    }
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

#[test]
fn tabla() {
    check("tabla");
}

#[test]
fn tensor_comprehensions() {
    check("tc");
}

#[test]
fn rink() {
    check("rink");
}

#[test]
fn preprocessor() {
    check("preproc");
}

#[test]
fn tile() {
    check("tile");
}

/// How a case does in words of 16 bits; `None` where words cannot compute it.
fn in_words(case: &Value) -> Option<Accuracy> {
    let text = std::fs::read_to_string(cases::folder().join(case["file"].as_str()?)).ok()?;
    let extension = std::path::Path::new(case["file"].as_str()?).extension()?.to_str()?.to_owned();
    let given = ["inputs", "init"].iter().filter_map(|part| case.get(*part)?.as_object());
    let inputs: serde_json::Map<_, _> = given.flatten().map(|(name, value)| (name.clone(), value.clone())).collect();
    let inputs = Value::Object(inputs);
    let entry = case["entry"].as_str().map(str::to_owned);
    let options = with_shapes_of(&inputs, Options { entry, ..Options::default() });
    let (program, _) = parse(Language::of_extension(&extension)?, &text, &options).ok()?;
    if program.tensors.iter().any(|tensor| tensor.shape.contains(&0)) {
        return None;
    }
    let values = |(id, values): (TensorId, Vec<Option<f64>>)| {
        (program.tensors[id.0].name.clone(), values.into_iter().map(|value| value.unwrap_or(0.0)).collect())
    };
    let step: NamedValues = read_inputs(&program, &inputs).ok()?.into_iter().map(values).collect();
    let options = canonical::Options { keep: Keep::AllNames, batch: Batch::SINGLE };
    let upper = Upper::new(&program, &options, &NamedValues::new(), &[step], &Numbers::of_width(16)).ok()?;
    upper.accuracy().ok()
}

/// A warning that always comes says nothing: results that are right, within half a per cent, hardly ever have one.
#[test]
fn right_results_do_not_warn() {
    let (mut right, mut warned) = (0, Vec::new());
    for language in ["tabla", "tc", "rink", "tile"] {
        for case in cases::of(language).iter().filter(|case| case["kind"] == "positive") {
            let Some(accuracy) = in_words(case) else { continue };
            let is_right = accuracy.verdict.error <= 0.005 && accuracy.beyond.is_empty();
            right += usize::from(is_right);
            warned.extend((is_right && accuracy.lost_bits.is_some()).then(|| case["file"].to_string()));
        }
    }
    assert!(right >= 100 && 20 * warned.len() <= right, "{} of {right}: {warned:?}", warned.len());
}

#[test]
fn every_language_is_checked() {
    for entry in std::fs::read_dir(cases::folder()).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        let known = cases::FOLDERS.iter().any(|(language, _)| path.ends_with(language));
        assert!(known || path.is_file(), "programs in {} are not checked", path.display());
    }
}
