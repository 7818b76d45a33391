//! The fate of the lines and names of the source: computed on their own, fused into others, or left out.
//!
//! ```text
//! 12 | g[i] = d * x[i];        fused into line 5: its product is part of the update `w`
//! 13 | loss = d * d;           not computed: nothing asks for it
//! ```

use crate::functions::Read;
use crate::functions::segmented::SegmentedFunction;
use crate::{Function, Project, Samples};
use arch::diagnostic::line_column;
use arch::{Code, Diagnostic};
use compiler::fixed::{Operation, Program};
use compiler::tensor;
use std::collections::{BTreeMap, BTreeSet};

/// What is said of what no result, and no update, depends on.
const LEFT_OUT: &str = "not computed: nothing asks for it";

/// What became of a program.
#[derive(Debug, Default)]
pub struct Fates {
    /// Every line on which the source computes something, and what is said of it: nothing if it has operations of its own.
    pub lines: BTreeMap<usize, Option<String>>,
    /// The names of the source that no tensor of the program has, in source order, with what became of each.
    pub names: Vec<(String, String)>,
}

impl Fates {
    /// What became of a function.
    pub fn of_function(project: &Project, function: &Function) -> Fates {
        let Function { parsed, warnings, climb, .. } = function;
        Fates { lines: lines(&project.source.text, parsed, warnings, &climb.fixed), names: names(parsed, &climb.fixed) }
    }

    /// What became of a function in segments, all of them.
    pub(crate) fn of_segments(project: &Project, function: &SegmentedFunction) -> Fates {
        let (Read { program: parsed, warnings, .. }, fixed) = (&function.read, &function.upper.fixed);
        Fates { lines: lines(&project.source.text, parsed, warnings, fixed), names: names(parsed, fixed) }
    }

    /// What became of the program of a training: of one of its images.
    pub fn of_training(project: &Project, samples: &Samples, program: &Program) -> Fates {
        let parsed = &samples.program;
        Fates { lines: lines(&project.source.text, parsed, &[], program), names: names(parsed, program) }
    }
}

/// `parsed` is the program as the source says it, but for what the front end left out with a warning.
fn lines(
    source: &str,
    parsed: &tensor::Program,
    warnings: &[Diagnostic],
    program: &Program,
) -> BTreeMap<usize, Option<String>> {
    let mut lines: BTreeMap<usize, Option<String>> =
        program.operations.iter().map(|operation| (operation.origin.line(source), None)).collect();
    for operation in &program.operations {
        let own = operation.origin.line(source);
        for &line in operation.origin.lines(source).fused() {
            lines.entry(line).or_insert_with(|| Some(format!("fused into line {own}")));
        }
    }
    let dead = warnings.iter().filter(|warning| warning.code == Code::WarnDead);
    let dead = dead.filter_map(|warning| warning.span).map(|span| line_column(source, span.start).0);
    let parsed = parsed.nests.iter().flat_map(|nest| nest.origin.lines(source).all().to_vec());
    for line in parsed.chain(dead) {
        lines.entry(line).or_insert_with(|| Some(LEFT_OUT.to_owned()));
    }
    lines
}

fn names(parsed: &tensor::Program, program: &Program) -> Vec<(String, String)> {
    let tensors: BTreeSet<&str> = program.tensors.iter().map(|tensor| tensor.name.as_str()).collect();
    let fate = |name: &String| {
        let holds = |operation: &&Operation| operation.origin.names().contains(name);
        // What is computed in parts is whole in the last of them.
        let Some(operation) = program.operations.iter().rev().find(holds) else { return LEFT_OUT.to_owned() };
        let tensor = &program.tensors[operation.out.0].name;
        let own = operation.origin.names().first() == Some(name);
        format!("{} {tensor}", if own { "computed as" } else { "fused into" })
    };
    let lost = parsed.names.iter().map(|(name, _)| name).filter(|name| !tensors.contains(name.as_str()));
    lost.map(|name| (name.clone(), fate(name))).collect()
}

#[cfg(test)]
#[path = "../../../sim/tests/cases/mod.rs"]
mod cases;

#[cfg(test)]
mod tests {
    use super::cases;
    use super::*;
    use compiler::canonical::{Batch, Keep, Options, canonicalise};
    use compiler::fixed::Numbers;
    use compiler::language::{self, Language};
    use compiler::ranges::Ranges;
    use serde_json::Value;
    use sim::eval::with_shapes_of;
    use std::path::{Path, PathBuf};

    /// The TABLA programs of a folder.
    fn programs(folder: &str) -> Vec<PathBuf> {
        let entries = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder).read_dir().unwrap();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "t"));
        paths.sort();
        paths
    }

    /// Words that declarations begin with.
    const DECLARATIONS: [&str; 6] = ["model", "model_input", "model_output", "gradient", "iterator", "minimize"];

    /// The lines of statements that compute something, by their text alone: `name... =`, without constants, which are numbers
    /// and other constants.
    fn statements(source: &str) -> Vec<usize> {
        let (mut constants, mut lines, mut text, mut begins) = (BTreeSet::new(), Vec::new(), String::new(), 0);
        for (number, line) in (1..).zip(source.lines()) {
            for part in line.split("//").next().unwrap_or_default().split_inclusive(';') {
                if text.trim().is_empty() {
                    begins = number;
                }
                text += part;
                let Some(statement) = text.strip_suffix(';').map(str::trim) else { continue };
                let (left, right) = statement.split_once('=').unwrap_or((statement, ""));
                let left = left.trim();
                let declares = DECLARATIONS.contains(&left.split_whitespace().next().unwrap_or_default());
                let words = right.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.');
                let constant = words
                    .filter(|word| !word.is_empty())
                    .all(|word| word.starts_with(|c: char| c.is_ascii_digit() || c == '.') || constants.contains(word));
                if !declares && !right.is_empty() {
                    if constant {
                        constants.insert(left.to_owned());
                    } else {
                        lines.push(begins);
                    }
                }
                text.clear();
            }
        }
        lines
    }

    /// Whether a line of Tensor Comprehensions, Tile or the model language is a statement that computes something, by its text alone:
    /// `name(..) +=! ..`, `name[..] >= ..`, `name = ..`; what Tile declares with a call is none.
    fn assigns(line: &str) -> bool {
        let code = line.split('#').next().unwrap_or_default();
        let code = code.split_once('{').map_or(code, |(_, body)| body).trim();
        let behind_name = code.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let indices = behind_name.trim_start();
        let after = match indices.chars().next() {
            Some('(' | '[') => {
                let mut depth = 0;
                let end = indices.find(|c| {
                    depth += i32::from("([".contains(c)) - i32::from(")]".contains(c));
                    depth == 0
                });
                end.map_or("", |end| &indices[end + 1..])
            }
            _ => indices,
        };
        let after = after.trim_start();
        let after = ["+", "*", ">", "<", "max", "min"].iter().find_map(|way| after.strip_prefix(way)).unwrap_or(after);
        let declares = ["TensorDim", "TensorIndex", "TensorOutput("].iter().any(|call| code.contains(call));
        behind_name.len() < code.len() && after.starts_with('=') && !after.starts_with("==") && !declares
    }

    /// The program for training as its lines became.
    fn fates(source: &str, keep: Keep) -> Option<BTreeMap<usize, Option<String>>> {
        fates_in(Language::Tabla, source, &language::Options::default(), keep)
    }

    fn fates_in(
        language: Language,
        source: &str,
        options: &language::Options,
        keep: Keep,
    ) -> Option<BTreeMap<usize, Option<String>>> {
        let (parsed, warnings) = language::parse(language, source, options).ok()?;
        let options = Options { keep, batch: Batch::SINGLE };
        let canonical = canonicalise(&parsed, &options).ok()?;
        let ranges = Ranges::of_tensors(vec![Some((-2.0, 2.0)); canonical.tensors.len()]);
        let (program, _) = compiler::fixed::lower(&canonical, &ranges, &Numbers::of_width(16)).ok()?;
        Some(lines(source, &parsed, &warnings, &program))
    }

    #[test]
    fn every_statement_has_its_line() {
        let (mut seen, mut fused, mut lost) = (0, 0, Vec::new());
        for path in [programs("programs"), programs("tests/conformance/tabla")].concat() {
            let source = std::fs::read_to_string(&path).unwrap();
            let training = Keep::Training { predictions: Vec::new() };
            for keep in [training, Keep::AllNames] {
                let Some(lines) = fates(&source, keep) else { continue };
                let missing = statements(&source).into_iter().filter(|line| !lines.contains_key(line));
                lost.extend(
                    missing.map(|line| format!("{}:{line}: {}", path.display(), source.lines().nth(line - 1).unwrap())),
                );
                seen += 1;
                fused += lines.values().flatten().filter(|fate| fate.starts_with("fused into line")).count();
            }
        }
        assert!(lost.is_empty(), "{}", lost.join("\n"));
        assert!(seen >= 80 && fused >= 60, "{seen} programs, {fused} lines that were fused");
    }

    #[test]
    fn every_statement_of_a_function_has_its_line() {
        let refused = include_str!("../../../sim/tests/programs/refused.txt");
        for (folder, least) in [("tc", 70), ("tile", 60), ("rink", 20)] {
            let (mut found, mut lost) = (0, Vec::new());
            for case in cases::of(folder).into_iter().filter(|case| case["kind"] == "positive") {
                let file = case["file"].as_str().unwrap();
                if refused.contains(&format!("{file}: ")) {
                    continue;
                }
                let path = cases::folder().join(file);
                let source = std::fs::read_to_string(&path).unwrap();
                let language = Language::of_extension(path.extension().unwrap().to_str().unwrap()).unwrap();
                let given = ["inputs", "init"].iter().filter_map(|part| case.get(*part)?.as_object()).flatten();
                let inputs: Value = given.map(|(name, value)| (name.clone(), value.clone())).collect();
                let entry = case["entry"].as_str().map(str::to_owned);
                let options = with_shapes_of(&inputs, language::Options { entry, ..language::Options::default() });
                let lines = fates_in(language, &source, &options, Keep::AllNames);
                let Some(lines) = lines else { panic!("{} does not compile", path.display()) };
                for (number, line) in (1..).zip(source.lines()).filter(|(_, line)| assigns(line)) {
                    found += 1;
                    if !lines.contains_key(&number) {
                        lost.push(format!("{}:{number}: {line}", path.display()));
                    }
                }
            }
            assert!(lost.is_empty(), "{}", lost.join("\n"));
            assert!(found >= least, "{found} statements in {folder}");
        }
    }
}
