//! The examples in docs/languages: each program is followed by a block that says what it is given and what comes out.
//!
//! | key | means |
//! |---|---|
//! | `inputs`, `entry` | what the host gives, and which function |
//! | `values`, `next` | results, and the model after the step; names that are not listed may be anything |
//! | `defs` | definitions of a pure preprocessor file |
//! | `error`, `line` | the first error, and where it is |

use arch::diagnostic::line_column;
use compiler::language::preprocessor::preprocess;
use compiler::language::{Language, Options, parse};
use serde_json::Value;
use sim::eval::{definitions, evaluate, with_shapes_of};
use sim::golden::Golden;
use std::path::Path;

/// A fenced block: the word behind the fence, its first line, its text.
fn blocks(page: &str) -> Vec<(String, usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(String, usize, String)> = None;
    for (line, number) in page.lines().zip(1..) {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(tag)) => open = Some((tag.to_owned(), number + 1, String::new())),
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some((_, _, text)), None) => *text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    found
}

fn language(tag: &str) -> Option<Language> {
    Some(match tag {
        "tabla" => Language::Tabla,
        "tc" => Language::TensorComprehensions,
        "tile" => Language::Tile,
        "rink" => Language::Rink,
        "pp" => Language::Preprocessor,
        _ => return None,
    })
}

fn close(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(found, expected)| close(found, expected))
        }
        (Value::Number(found), Value::Number(expected)) => {
            let (found, expected) = (found.as_f64().unwrap(), expected.as_f64().unwrap());
            (found - expected).abs() <= 1e-12 * (1.0 + expected.abs())
        }
        _ => found == expected,
    }
}

/// What is wrong with an example.
fn complaint(language: Language, program: &str, says: &Value) -> Option<String> {
    let inputs = says.get("inputs").cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    let entry = says["entry"].as_str().map(str::to_owned);
    let options = with_shapes_of(&inputs, Options { entry, ..Options::default() });
    let found = if language == Language::Preprocessor {
        preprocess(program, &options).map(|file| definitions(&file))
    } else {
        parse(language, program, &options)
            .and_then(|(program, _)| evaluate(&program, &inputs, &mut Golden::new(&program)))
    };
    match (found, says["error"].as_str()) {
        (Err(errors), Some(code)) => {
            let line = errors[0].span.map(|span| line_column(program, span.start).0 as u64);
            let right = errors[0].code.as_str() == code && line == says["line"].as_u64();
            (!right).then(|| format!("{} at line {line:?}: {}", errors[0].code, errors[0].message))
        }
        (Err(errors), None) => Some(format!("{}: {}", errors[0].code, errors[0].message)),
        (Ok(_), Some(code)) => Some(format!("{code} is expected, and it is accepted")),
        (Ok(found), None) => {
            let parts = ["values", "next", "defs"].into_iter().filter_map(|part| Some((part, says[part].as_object()?)));
            let mut compared = 0;
            for (part, expected) in parts {
                for (name, expected) in expected {
                    compared += 1;
                    if !close(&found[part][name], expected) {
                        return Some(format!("{part} of {name} are {}, not {expected}", found[part][name]));
                    }
                }
            }
            (compared == 0).then(|| "the block behind it expects nothing".to_owned())
        }
    }
}

#[test]
fn examples_do_what_the_pages_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/languages");
    let (mut pages, mut examples, mut complaints) = (0, 0, Vec::new());
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let page = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let blocks = blocks(&page);
        pages += 1;
        for (number, (tag, line, program)) in blocks.iter().enumerate() {
            let Some(language) = language(tag) else { continue };
            examples += 1;
            let says = blocks.get(number + 1).filter(|block| block.0 == "json");
            let Some((_, _, says)) = says else {
                complaints.push(format!("{name}:{line}: no block with values behind it"));
                continue;
            };
            let says = serde_json::from_str(says).unwrap_or_else(|error| panic!("{name}:{line}: {error}"));
            complaints.extend(complaint(language, program, &says).map(|why| format!("{name}:{line}: {why}")));
        }
    }
    println!("{examples} examples on {pages} pages");
    assert!(pages >= 5 && examples >= 20, "{examples} examples on {pages} pages");
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
