//! Operators that are functions of the table in `arch`: values by another implementation; and the list of all operators in docs/models.md.

#[allow(dead_code, reason = "other tests use the rest")]
mod written;

use compiler::language::Options;
use compiler::tensor::{Function, Role, TensorId};
use onnx::{File, Reading, Weights};
use sim::golden::Golden;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use written::{info_of, model, node};

/// Values of every function, by Python: name, value, arguments.
const VALUES: &str = include_str!("../../../arch/tests/values_of_functions.csv");
/// Double precision.
const DOUBLE: u64 = 11;

/// A model of one node, on golden.
fn golden(operator: &str, x: f64) -> f64 {
    let parts = [
        (1, node("", operator, &["x"], "y")),
        (11, info_of("x", DOUBLE, &[Ok(1)])),
        (12, info_of("y", DOUBLE, &[Ok(1)])),
    ];
    let options = Options::default();
    let reading = Reading { options: &options, given: &[], beside: &|_| Err("none".into()), weights: Weights::None };
    let (program, _) = File::decode(&model(&parts)).expect("a file").program(&reading).expect("a program");
    let input = program.tensors.iter().position(|tensor| tensor.role == Role::Input).expect("an input");
    let mut golden = Golden::new(&program);
    golden.set(TensorId(input), &[x]);
    golden.step().expect("a step");
    golden.value(program.names[0].1).next().flatten().expect("a value")
}

#[test]
fn an_operator_of_the_table_is_its_function() {
    let mut count = 0;
    for &function in Function::ALL {
        let rows = VALUES.lines().filter_map(|line| line.strip_prefix(&format!("{function},")));
        let values: Vec<(f64, f64)> = rows
            .map(|row| row.split_once(',').expect("a value and an argument"))
            .filter_map(|(value, x)| Some((value.parse().ok()?, x.parse().ok()?)))
            .collect();
        for operator in function.in_onnx() {
            assert!(!values.is_empty(), "{function}: arch/tests/values_of_functions.csv has no values");
            count += 1;
            for &(value, x) in &values {
                let found = golden(operator, x);
                assert!((found - value).abs() <= 1e-12 * value.abs().max(1.0), "{operator}({x}): {found}, not {value}");
            }
        }
    }
    assert!(count >= 20, "{count} operators");
}

/// Operators that the files of `operators` name: first words of match arms, and rows of tables.
fn operators() -> BTreeSet<String> {
    let mut found: BTreeSet<String> =
        Function::ALL.iter().flat_map(|f| f.in_onnx()).map(|&name| name.to_owned()).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/operators");
    let mut open = vec![folder];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(path).expect("a folder").map(|file| file.expect("a file").path()));
            continue;
        }
        let text = fs::read_to_string(path).expect("a text");
        let words = text.split('"').skip(1).step_by(2);
        let is_name = |word: &&str| {
            word.starts_with(|c: char| c.is_ascii_uppercase()) && word.chars().all(|c| c.is_ascii_alphanumeric())
        };
        found.extend(words.filter(is_name).map(str::to_owned));
    }
    found
}

#[test]
fn the_manual_lists_operators_that_are_there() {
    let page = include_str!("../../../docs/models.md");
    let table =
        page.split("| kind | operators |\n|---|---|\n").nth(1).expect("the table").split("\n\n").next().unwrap();
    let mut listed = BTreeSet::new();
    for row in table.lines() {
        // What is in brackets says what of an operator there is.
        let cell = row.split('|').nth(2).expect("two cells");
        let plain: String = cell.split('(').map(|part| part.split_once(')').map_or(part, |(_, rest)| rest)).collect();
        let words = plain.split([' ', ';', ',']).filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase()));
        listed.extend(words.map(str::to_owned));
    }
    let known = operators();
    let unknown: Vec<&String> = listed.difference(&known).collect();
    assert!(
        listed.len() > 150 && unknown.is_empty(),
        "docs/models.md lists what no file of operators has: {unknown:?}"
    );
    let functions = Function::ALL.iter().flat_map(|function| function.in_onnx());
    let missing: Vec<&&str> = functions.filter(|name| !listed.contains(**name)).collect();
    assert!(missing.is_empty(), "write {missing:?} into the table of operators of docs/models.md");
}
