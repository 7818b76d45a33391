//! No text makes a front end panic or hang: conformance programs with random damage, nonsense, and texts that are long or deep.

use compiler::language::{Language, Options, parse};
use std::path::Path;
use std::time::Instant;

/// A generator of numbers that needs no seed from outside (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// Characters that are likely to matter.
const PIECES: &[&str] = &[
    ";",
    "[",
    "]",
    "(",
    ")",
    "=",
    "->",
    "-",
    "*",
    "<",
    ">",
    ":",
    ",",
    "0",
    "1",
    "9999999999999999999",
    "0.5",
    "1e9",
    "e",
    ".",
    "'",
    "_",
    "//",
    "/*",
    "\n",
    "\r\n",
    "\t",
    "sum",
    "pi",
    "norm",
    "sigmoid",
    "model",
    "model_input",
    "model_output",
    "gradient",
    "iterator",
    "i",
    "x",
    "w",
    "mu",
    "é",
    "\u{0}",
    "$a",
    "\u{feff}",
    "#",
    "{",
    "}",
    "\"",
    "!",
    "def",
    "where",
    "in",
];

fn damaged(text: &str, numbers: &mut Numbers) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(characters.len() + 1);
        match numbers.below(4) {
            0 if at < characters.len() => {
                characters.remove(at);
            }
            1 => characters.truncate(at),
            2 => {
                let to = (at + numbers.below(20)).min(characters.len());
                characters.drain(at..to);
            }
            _ => {
                let piece = PIECES[numbers.below(PIECES.len())];
                characters.splice(at..at, piece.chars());
            }
        }
    }
    characters.into_iter().collect()
}

fn programs() -> Vec<(Language, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/conformance");
    let mut programs = Vec::new();
    for name in ["tabla", "tc", "tile", "rink", "preproc"] {
        for entry in std::fs::read_dir(folder.join(name)).expect("a folder of programs") {
            let path = entry.expect("a file").path();
            let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
            if let (Some(language), Ok(text)) = (Language::of_extension(extension), std::fs::read_to_string(&path)) {
                programs.push((language, text));
            }
        }
    }
    programs.sort();
    programs
}

#[test]
fn damaged_programs_are_read_without_panic() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for (language, text) in programs() {
        for _ in 0..60 {
            let _ = parse(language, &damaged(&text, &mut numbers), &Options::default());
        }
    }
}

#[test]
fn nonsense_is_read_without_panic() {
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    for round in 0..2000 {
        let text: String =
            (0..numbers.below(60)).map(|_| PIECES[numbers.below(PIECES.len())].to_string() + " ").collect();
        let _ = parse(Language::ALL[round % Language::ALL.len()], &text, &Options::default());
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table of texts")]
fn long_and_deep_texts_are_read_without_overflow() {
    let long = |piece: &str, count: usize| piece.repeat(count);
    let each = |count: usize, line: fn(usize) -> String| (0..count).map(line).collect::<Vec<_>>().concat();
    let texts = [
        format!("model_input x; a = {}x{};", long("(", 100_000), long(")", 100_000)),
        format!("model_input x; a = {}x{};", long("(", 250), long(")", 250)),
        format!("model_input x; a = {}x{};", long("norm(", 250), long(")", 250)),
        format!("model_input x; a = {}x{};", long("sigmoid(x - ", 250), long(")", 250)),
        format!("model_input x; a = x{};", long(" - x * x", 50_000)),
        long("a[0] = 1;", 20_000),
        long("model_input ", 20_000),
        long("é", 100_000),
        long("[", 100_000),
        format!("var A : [2 2 2] A = A{}", long(" ^ [1 2] ^ [1 3]", 50_000)),
        format!("var s : [] s = s{}", long(" # s", 100_000)),
        format!("var s : [] s = s{}", long(" # s + s", 100_000)),
        format!("var s : [] s = s{}", long(" + s * s", 100_000)),
        format!("var A : [2 2] A = A{}", long(" # A", 1000)),
        format!("def f(float(N) A) -> (O) {{ O(i) = A(i){} }}", long(" + A(i) * 2", 50_000)),
        format!("def f(float(N) A) -> (O) {{ O(i) = {}A(i) }}", long("- ", 100_000)),
        format!("def f(float(N) A) -> (O) {{ O(i) = A(i){} }}", long(" > 0 ? 1 : A(i)", 50_000)),
        format!("def f() -> (O) {{ {} }}", long("O(i) = i where i in 0:9\n", 10_000)),
        format!("def f():\n  I = index([2], 0)\n  O = {}I{}\n  return O\n", long("(", 250), long(")", 250)),
        format!("def f():\n  I = index([2], 0)\n  O = I{}\n  return O\n", long(" + I * 2", 50_000)),
        format!("def f():\n  I = index([2], 0)\n  O = {}I\n  return O\n", long("- ", 100_000)),
        format!("def f():\n  i = TensorIndex()\n{}", long("  O = TensorOutput(3)\n  O[i] += O[i]\n", 5_000)),
        format!(
            "def f():\n  I = index([9], 0)\n  i, j, k, l, m, n = TensorIndexes(6)\n  O = TensorOutput(9)\n  O[i+j-k+l-m+n] += I[i-j+k-l+m-n]\n{}",
            long("  O.add_constraint(i-2*j+3*k-l < 7)\n  O.add_constraint(n*5-m+k-i < 9)\n", 100)
        ),
        format!(
            "def f():\n  I = index([9], 0)\n  i = TensorIndex()\n{}",
            each(5_000, |n| format!("  O{n} = TensorOutput(9)\n  O{n}[i] += I[i]\n"))
        ),
        format!("$a = {}1{}", long("[", 100_000), long("]", 100_000)),
        format!("$a = !calc({})", long("1 ", 100_000)),
        each(20_000, |n| format!("$a{n} = !calc($a{} 1 +)\n", n.saturating_sub(1))),
        each(40, |n| format!("def f{}(float(N) A) -> (B) {{ C = f{n}(A) B = f{n}(C) }}\n", n + 1)),
        each(20_000, |n| format!("a[{}] = 1;\n", 2 * n)),
        each(5_000, |n| format!("a{n} = b{n};\n")),
        // Lists in lists, deep and wide; regions in regions.
        each(20_000, |n| format!("$a{n} = [$a{}]\n", n.saturating_sub(1))),
        each(40, |n| format!("$a{n} = [$a{0}, $a{0}]\n", n.saturating_sub(1))),
        format!("$a = [{}1]\n{}", long("1, ", 50_000), long("$a\n", 10_000)),
        format!("$a = 1\n{}", long("{\n$a\n", 50_000)),
        // One access of many indices.
        format!(
            "iterator i[0:2]{};a{} = 1;",
            each(20_000, |n| format!(", i{n}[0:2]")),
            each(20_000, |n| format!("[i{n}]"))
        ),
        format!("def f(float(N) A) -> (O) {{ O(i) +=! A(i{}) }}", each(50_000, |n| format!(" + i{n}"))),
        format!(
            "def f(A):\n  {} = TensorIndexes(9999)\n  O = TensorOutput(3)\n  O[i1] += A[i1{}]\n",
            each(9_999, |n| format!("{}i{n}", if n == 0 { "" } else { ", " })),
            each(9_999, |n| format!(" + i{n}"))
        ),
        format!("var A : [2 2] A = A{}", long(" # A . [2 3]", 50_000)),
    ];
    for text in texts {
        for &language in Language::ALL {
            let start = Instant::now();
            let _ = parse(language, &text, &Options::default());
            if language == Language::Rink {
                let _ = parse(language, &text, &Options { rink_left: true, ..Options::default() });
                for version in [1, 2] {
                    let _ = parse(language, &text, &Options { cfdlang: Some(version), ..Options::default() });
                }
            }
            let begin: String = text.chars().take(50).collect();
            eprintln!("{language:?} {:?} {begin:?}", start.elapsed());
        }
    }
}

/// Time is printed, not judged.
#[test]
fn a_long_program_is_read() {
    let head = "m = 3; model_input x[m], y; iterator i[0:m];\n";
    let line = |n: usize| format!("h{n} = sum[i](x[i] * x[i]) + sigmoid(y - 2) * (x[0] < 1);\n");
    let text: String = head.to_string() + &(0..18_000).map(line).collect::<String>();
    let start = Instant::now();
    let (program, _) = parse(Language::Tabla, &text, &Options::default()).expect("a program");
    eprintln!("{} bytes, {} Nests: {:?}", text.len(), program.nests.len(), start.elapsed());
}
