//! How long the front ends take for large files: `cargo run --release -p compiler --example front_ends`.
//!
//! Seconds of the processor, where the system counts them (`/proc`), so that a busy machine changes little; else seconds on the wall.
//!
//! Three sizes per language (in MB, or those given as arguments), each of four kinds of lines:
//!
//! | lines are | |
//! |---|---|
//! | right | each defines a name and uses the one before |
//! | one name | each gives the same name a new value |
//! | undefined | each uses a name that is nowhere defined |
//! | malformed | each has a syntax error |
//! | declared | each declares a name (a function, where a language has them) |
//! | one line | not there: one expression is as long as the file |
//! | one index | not there: one access has as many index variables as there is room for, which is refused (E-LIMIT, E-RANK) |

#![allow(clippy::print_stdout, reason = "it prints what it measures")]

use compiler::language::{Language, Limits, Options, parse};
use std::fmt::Write;
use std::sync::LazyLock;
use std::time::Instant;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lines {
    Right,
    OneName,
    Undefined,
    Malformed,
    Declared,
    OneLine,
    OneIndex,
}

const KINDS: [(Lines, &str); 7] = [
    (Lines::Right, "right"),
    (Lines::OneName, "one name"),
    (Lines::Undefined, "undefined"),
    (Lines::Malformed, "malformed"),
    (Lines::Declared, "declared"),
    (Lines::OneLine, "one line"),
    (Lines::OneIndex, "one index"),
];

/// So many bytes of one thing after the other.
fn repeated(bytes: usize, part: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for number in 1.. {
        text += &part(number);
        if text.len() >= bytes {
            break;
        }
    }
    text
}

/// A program of about so many bytes.
fn program(language: Language, bytes: usize, lines: Lines) -> String {
    match lines {
        Lines::Declared => declared(language, bytes),
        Lines::OneLine => one_line(language, bytes),
        Lines::OneIndex => one_index(language, bytes),
        _ => statements(language, bytes, lines),
    }
}

fn declared(language: Language, bytes: usize) -> String {
    repeated(bytes, |n| match language {
        Language::Tabla => format!("model_input n{n}[4];\n"),
        Language::TensorComprehensions => format!("def f{n}(float(N) x) -> (a) {{ a(i) = x(i) }}\n"),
        Language::Tile => format!("def f{n}(x):\n  return x + 1.0\n"),
        Language::Rink => format!("var n{n} : [4]\n"),
        Language::Preprocessor | Language::Onnx | Language::Tflite => format!("{{\n$a = {n}\nuse($a)\n}}\n"),
    })
}

fn one_line(language: Language, bytes: usize) -> String {
    let sum = |operand: &str| repeated(bytes, |_| operand.to_owned());
    match language {
        Language::Tabla => format!("model_input x[4];\na = x[0]{};\n", sum(" + x[1] * (x[2] + 3)")),
        Language::TensorComprehensions => {
            format!("def f(float(N) x) -> (a) {{ a(i) = x(i){} }}\n", sum(" + x(i) * (x(i) + 3)"))
        }
        Language::Tile => format!("def f(x):\n  return x{}\n", sum(" + x * (x + 3.0)")),
        Language::Rink => format!("var x : [4]\nvar a : [4]\na = x{}\n", sum(" + (x * (x + a))")),
        Language::Preprocessor | Language::Onnx | Language::Tflite => format!("$a = !calc(1{})\n", sum(" 1 + 7 %")),
    }
}

fn one_index(language: Language, bytes: usize) -> String {
    match language {
        Language::Tabla => {
            let names = repeated(bytes / 2, |n| format!(", i{n}[0:2]"));
            format!("iterator i0[0:2]{names};\na{} = 1;\n", repeated(bytes / 2, |n| format!("[i{n}]")))
        }
        Language::TensorComprehensions => {
            format!("def f(float(N) x) -> (a) {{ a(i0) +=! x(i0{}) }}\n", repeated(bytes, |n| format!(" + i{n}")))
        }
        Language::Tile => {
            let names = repeated(bytes / 2, |n| format!("  i{n} = TensorIndex()\n"));
            let index = repeated(bytes / 4, |n| format!(" + i{n}"));
            format!(
                "def f(x):\n  i0 = TensorIndex()\n{names}  a = TensorOutput(4)\n  a[i0] += x[i0{index}]\n  return a\n"
            )
        }
        Language::Rink => format!("var x : [{}]\n", repeated(bytes, |_| " 2".to_owned())),
        Language::Preprocessor | Language::Onnx | Language::Tflite => {
            format!("$a = [1{}]\n", repeated(bytes, |n| format!(", {n}")))
        }
    }
}

/// A program of about so many bytes, line by line.
fn statements(language: Language, bytes: usize, lines: Lines) -> String {
    let (head, tail) = match language {
        Language::Tabla => ("model_input x[4];\niterator i[0:4];\na0 = x[0];\n", ""),
        Language::TensorComprehensions => ("def f(float(N) x) -> (a0) {\n  a0(i) = x(i)\n", "}\n"),
        Language::Tile => {
            ("def f(x):\n  N = TensorDim()\n  i = TensorIndex()\n  x.bind_dims(N)\n  a0 = x + 1.0\n", "  return a0\n")
        }
        Language::Rink => ("var x : [4]\nvar a : [4]\nvar b : [4]\n", ""),
        Language::Preprocessor | Language::Onnx | Language::Tflite => ("$a0 = 1\n", ""),
    };
    let mut text = head.to_owned();
    let mut line = 1;
    while text.len() < bytes {
        let (to, from) = match lines {
            Lines::OneName => ("a0".to_owned(), "a0".to_owned()),
            Lines::Undefined => (format!("a{line}"), format!("q{}", line - 1)),
            _ => (format!("a{line}"), format!("a{}", line - 1)),
        };
        let wrong = if lines == Lines::Malformed { ") " } else { "" };
        let _ = match language {
            Language::Tabla => writeln!(text, "{to} = sum[i](x[i] * {from}) - x[1] {wrong}* (x[2] + 3);"),
            Language::TensorComprehensions => {
                writeln!(text, "  {to}(i) = x(i) * {from}(i) {wrong}+ 2 * (x(i) - 1)")
            }
            Language::Tile => writeln!(text, "  {to} = TensorOutput(N)\n  {to}[i] += x[i] {wrong}* {from}[i]"),
            Language::Rink => {
                // All names are declared before all statements: two names take turns.
                let (to, from) = match lines {
                    Lines::OneName => ("a", "a"),
                    Lines::Undefined => ("a", "q"),
                    _ if line % 2 == 0 => ("a", "b"),
                    _ => ("b", "a"),
                };
                writeln!(text, "{to} = ((a # x) . [1 2]) * {wrong}((x * {from}) + (x - a))")
            }
            // A name is defined once.
            Language::Preprocessor | Language::Onnx | Language::Tflite => {
                let (to, from) = if lines == Lines::OneName { (line.to_string(), "a0".to_owned()) } else { (to, from) };
                writeln!(text, "${to} = !calc(${from} 1 + {wrong}7 %)\nuse(${to})")
            }
        };
        line += 1;
    }
    text + tail
}

/// Seconds so far.
fn seconds() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = counted.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| START.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

fn main() {
    let limits = Limits { elements_in_all: u64::MAX, ..Limits::default() };
    let options = Options { shapes: vec![("x".to_owned(), vec![4])], limits, ..Options::default() };
    let given: Vec<f64> = std::env::args().skip(1).filter_map(|size| size.parse().ok()).collect();
    let sizes = if given.is_empty() { vec![1.0, 2.0, 4.0] } else { given };
    let heads = sizes.iter().map(|size| format!(" {size:>5} MB |")).collect::<Vec<_>>().concat();
    println!("| language | lines are |{heads}\n|---|---|{}", "---:|".repeat(sizes.len()));
    // An ONNX model is not a text.
    for &language in Language::ALL.iter().filter(|language| language.is_text()) {
        for (lines, name) in KINDS {
            let mut row = format!("| {} | {name} |", language.name());
            for &size in &sizes {
                let text = program(language, (size * 1e6) as usize, lines);
                let begin = seconds();
                let found = parse(language, &text, &options);
                let _ = write!(row, " {:6.2} s |", seconds() - begin);
                let refused = matches!(lines, Lines::Undefined | Lines::Malformed | Lines::OneIndex);
                let accepted = !refused || (language, lines) == (Language::Preprocessor, Lines::OneIndex);
                if accepted != found.is_ok() {
                    let why = found.err().map(|errors| errors[0].message.clone());
                    println!("{} of {size} MB, {name}: {}", language.name(), why.unwrap_or("accepted".to_owned()));
                }
            }
            println!("{row}");
        }
    }
}
