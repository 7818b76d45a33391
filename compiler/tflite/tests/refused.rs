//! Files that are no models, and operators that are not supported, are said with place and remedy.

use arch::Code;
use compiler::language::Options;
use onnx::{File, Reading, Weights};

const CASES: &[u8] = include_bytes!("refused.bin");

#[path = "../../onnx/tests/run/mod.rs"]
#[allow(dead_code, reason = "the other test runs cases")]
mod run;

/// Message and help of a case, and the line of its place.
fn refused(name: &str) -> (String, String, String) {
    let cases = run::cases(CASES);
    let case = cases.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("no {name}"));
    let model = tflite::to_onnx(case.model).expect("a graph");
    let file = File::decode(&model).expect("a file");
    let options = Options::default();
    let reading = Reading { options: &options, given: &[], beside: &|_| Err("none".into()), weights: Weights::None };
    let error = file.program(&reading).expect_err("it is refused").remove(0);
    assert_eq!(error.code, Code::Unsupported, "{error:?}");
    let span = error.span.expect("a place");
    (error.message, error.help.expect("a remedy"), file.text[span.start..span.end].to_owned())
}

#[test]
fn operators_are_named_with_place_and_equivalent() {
    let (message, help, line) = refused("reverse_sequence");
    assert!(message.contains("node `REVERSE_SEQUENCE 1`"), "{message}");
    assert!(message.contains("the operator REVERSE_SEQUENCE is not supported"), "{message}");
    assert!(help.contains("`REVERSE_V2` does the same"), "{help}");
    assert!(line.contains(" = tflite.REVERSE_SEQUENCE(t1, "), "{line}");
    // One of nobody's.
    let (message, help, _) = refused("custom");
    assert!(message.contains("the operator MYOPERATOR is not supported"), "{message}");
    assert!(help.contains("there is no equivalent here"), "{help}");
    // A setting of one that is supported; its name is one of ONNX, too.
    let (message, help, _) = refused("lstm_of_one_matrix");
    assert!(message.contains("operator tflite.LSTM: it is of the kernel BASIC"), "{message}");
    assert!(help.contains("`UNIDIRECTIONAL_SEQUENCE_LSTM` does the same"), "{help}");
}

#[test]
fn what_is_no_file_is_said() {
    let said = |bytes: &[u8]| tflite::to_onnx(bytes).expect_err("no file");
    assert!(said(b"").message.contains("does not have the identifier TFL3"));
    let nothing = said(b"\x10\0\0\0TFL3\0\0\0\0\0\0\0\0");
    assert_eq!(nothing.code, Code::Data);
    assert!(nothing.message.contains("a table or vector lies outside of the file"), "{}", nothing.message);
    assert!(tflite::is_tflite(b"\x10\0\0\0TFL3") && !tflite::is_tflite(b"\x08\x07\x12\x07"));
}

/// A vector that names itself for each of its tensors: the file is small, and what it stands for is not.
#[test]
fn a_small_file_that_stands_for_much_is_refused() {
    // Model: subgraphs -> one table; its tensors -> many distances to one tensor with a long shared name.
    let (tensors, name) = (20_000usize, 20_000usize);
    let mut bytes = Vec::new();
    let word = |bytes: &mut Vec<u8>, value: u32| bytes.extend(value.to_le_bytes());
    let half = |bytes: &mut Vec<u8>, value: u16| bytes.extend(value.to_le_bytes());
    // 0: root and identifier. 8: list of fields of the model (subgraphs is field 2). 20: model. 28: subgraphs.
    word(&mut bytes, 20);
    bytes.extend(b"TFL3");
    for value in [10u16, 8, 0, 0, 4] {
        half(&mut bytes, value);
    }
    half(&mut bytes, 0);
    word(&mut bytes, 12);
    word(&mut bytes, 4);
    word(&mut bytes, 1);
    word(&mut bytes, 12);
    // 36: list of fields of the graph (tensors is field 0). 44: graph. 52: tensors.
    for value in [6u16, 8, 4, 0] {
        half(&mut bytes, value);
    }
    word(&mut bytes, 8);
    word(&mut bytes, 4);
    assert_eq!(bytes.len(), 52);
    word(&mut bytes, tensors as u32);
    let tensor = 56 + 4 * tensors + 12;
    for n in 0..tensors {
        word(&mut bytes, (tensor - (56 + 4 * n)) as u32);
    }
    // The list of fields of the tensor (name is field 3), the tensor, its name.
    for value in [12u16, 8, 0, 0, 0, 4] {
        half(&mut bytes, value);
    }
    word(&mut bytes, 12);
    word(&mut bytes, 4);
    word(&mut bytes, name as u32);
    bytes.extend(vec![b'a'; name]);
    let said = tflite::to_onnx(&bytes).expect_err("too much");
    assert!(said.message.contains("share vectors so often"), "{}", said.message);
}

/// Operators that the files of `operators` name, and those of the manual.
#[test]
fn the_manual_lists_the_operators_that_are_there() {
    use std::collections::BTreeSet;
    let is_name = |word: &&str| {
        let upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        word.len() > 2 && word.starts_with(|c: char| c.is_ascii_uppercase()) && word.chars().all(upper)
    };
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/operators");
    let mut known = BTreeSet::new();
    for file in std::fs::read_dir(folder).expect("a folder") {
        let path = file.expect("a file").path();
        if !path.ends_with("equivalents.rs") {
            let text = std::fs::read_to_string(path).expect("a text");
            known.extend(text.split('"').skip(1).step_by(2).filter(is_name).map(str::to_owned));
        }
    }
    // Names of ONNX: of padding, of layers and of a normalisation.
    for name in ["SAME_UPPER", "VALID", "LRN"] {
        assert!(known.remove(name), "{name}");
    }
    let table = include_str!("../../../docs/tables/tflite.txt");
    let rows = table.lines().filter(|line| line.starts_with("| ")).flat_map(str::split_whitespace);
    let listed: BTreeSet<String> = rows.filter(is_name).map(str::to_owned).collect();
    assert!(listed.len() > 100);
    assert_eq!(listed, known, "docs/tables/tflite.txt lists the operators");
}
