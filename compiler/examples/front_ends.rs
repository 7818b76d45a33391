//! How long the front ends take for large files: `cargo run --release -p compiler --example front_ends`.
//!
//! Three sizes per language, of programs that are right and of programs with a mistake in every line.

#![allow(clippy::print_stdout, reason = "it prints what it measures")]

use compiler::language::{Language, Options, parse};
use std::fmt::Write;
use std::time::Instant;

/// A program of about so many bytes.
fn program(language: Language, bytes: usize, wrong: bool) -> String {
    let (head, tail) = match language {
        Language::Tabla => ("model_input x[4];\niterator i[0:4];\na0 = x[0];\n", ""),
        Language::TensorComprehensions => ("def f(float(N) x) -> (a0) {\n  a0(i) = x(i)\n", "}\n"),
        Language::Tile => {
            ("def f(x):\n  N = TensorDim()\n  i = TensorIndex()\n  x.bind_dims(N)\n  a0 = x + 1.0\n", "  return a0\n")
        }
        Language::Rink => ("var x : [4]\nvar a : [4]\n", ""),
        Language::Preprocessor => ("$a0 = 1\n", ""),
    };
    let mut text = head.to_owned();
    let mut line = 1;
    while text.len() < bytes {
        let before = line - 1;
        // Every line refers to the one before; the mistake is a name that is nowhere defined.
        let name = if wrong { "q" } else { "a" };
        let _ = match language {
            Language::Tabla => writeln!(text, "a{line} = sum[i](x[i] * {name}{before}) - x[1] * (x[2] + 3);"),
            Language::TensorComprehensions => {
                writeln!(text, "  a{line}(i) = x(i) * {name}{before}(i) + 2 * (x(i) - 1)")
            }
            Language::Tile => writeln!(text, "  a{line} = TensorOutput(N)\n  a{line}[i] += x[i] * {name}{before}[i]"),
            Language::Rink => writeln!(text, "a = ((a # x) . [1 2]) * ((x * {name}) + (x - a))"),
            Language::Preprocessor => writeln!(text, "$a{line} = !calc(${name}{before} 1 + 7 %)\nuse($a{line})"),
        };
        line += 1;
    }
    text + tail
}

fn main() {
    let limits = compiler::language::Limits { elements_in_all: u64::MAX, ..compiler::language::Limits::default() };
    let options = Options { shapes: vec![("x".to_owned(), vec![4])], limits, ..Options::default() };
    println!("language                 lines are       0.25 MB    0.5 MB      1 MB   1 MB / 0.5 MB");
    for &language in Language::ALL {
        for wrong in [false, true] {
            let times = [250_000, 500_000, 1_000_000].map(|bytes| {
                let text = program(language, bytes, wrong);
                let begin = Instant::now();
                let found = parse(language, &text, &options);
                let time = begin.elapsed().as_secs_f64();
                if wrong == found.is_ok() {
                    let why = found.err().map(|errors| errors[0].message.clone());
                    println!("{} of {bytes} bytes: {}", language.name(), why.unwrap_or("accepted".to_owned()));
                }
                time
            });
            let [quarter, half, whole] = times;
            println!(
                "{:24} {:10} {quarter:10.2} s {half:7.2} s {whole:7.2} s   {:.1}",
                language.name(),
                if wrong { "wrong" } else { "right" },
                whole / half
            );
        }
    }
}
