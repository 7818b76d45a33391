//! Places of Rust code that have the same shape: what is written twice, with other names.
//!
//! The shape of a line is its text with `x` for each name, `0` for each number and `"` for each text. Six lines in a row that have the shapes of six
//! others are a pair of places; longer ones count once. Comments, imports, attributes and lines of few signs do not count, nor six lines of the same
//! shape: these are a table.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Pairs of places, at most: half of the 300 that were there before blocks of hardware were described once.
const MOST_PAIRS: usize = 150;

/// Lines that are compared at a time.
const LINES: usize = 6;

/// Signs in these, at least.
const LEAST_SIGNS: usize = 60;

/// Signs in a line, at least.
const LEAST_IN_LINE: usize = 4;

/// Words that keep their text, since they are the language's.
const KEYWORDS: &[&str] = &[
    "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "false", "fn",
    "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self", "Self",
    "static", "struct", "super", "trait", "true", "type", "unsafe", "use", "where", "while",
];

/// The shape of a line, and its signs; none where it does not count.
fn shape(line: &str) -> Option<(String, usize)> {
    let line = line.split("//").next().unwrap_or_default().trim();
    if line.starts_with("#[") || line.starts_with("use ") {
        return None;
    }
    let (mut shape, mut signs, mut rest) = (String::new(), 0, line);
    while let Some(first) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let (length, sign) = if first == '"' {
            // A text ends at the next quote that is not escaped, or goes on in the next line.
            let mut escaped = false;
            let ends = |c: char| {
                let end = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                end
            };
            (rest[1..].find(ends).map_or(rest.len(), |end| end + 2), "\"")
        } else if first.is_numeric() {
            (rest.find(|c| !is_name(c) && c != '.').unwrap_or(rest.len()), "0")
        } else if is_name(first) {
            let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            let word = &rest[..length];
            (length, if KEYWORDS.contains(&word) { word } else { "x" })
        } else {
            (first.len_utf8(), &rest[..first.len_utf8()])
        };
        if !first.is_whitespace() {
            shape += sign;
            shape.push(' ');
            signs += 1;
        }
        rest = &rest[length..];
    }
    (signs >= LEAST_IN_LINE).then_some((shape, signs))
}

/// The pairs of places among Rust files: each as two files with the first line that has its twin.
fn pairs(files: &BTreeMap<String, String>) -> Vec<String> {
    let shaped = |text: &str| -> Vec<(usize, String, usize)> {
        let lines = text.lines().zip(1..);
        lines.filter_map(|(line, number)| shape(line).map(|(shape, signs)| (number, shape, signs))).collect()
    };
    let files: Vec<(&String, Vec<_>)> = files.iter().map(|(name, text)| (name, shaped(text))).collect();
    let mut places: HashMap<Vec<&str>, Vec<(usize, usize)>> = HashMap::new();
    for (file, (_, lines)) in files.iter().enumerate() {
        for (first, window) in lines.windows(LINES).enumerate() {
            let shapes: Vec<&str> = window.iter().map(|(_, shape, _)| shape.as_str()).collect();
            let is_table = shapes.iter().all(|shape| *shape == shapes[0]);
            if !is_table && window.iter().map(|(_, _, signs)| signs).sum::<usize>() >= LEAST_SIGNS {
                places.entry(shapes).or_default().push((file, first));
            }
        }
    }
    let overlap = |a: &(usize, usize), b: &(usize, usize)| a.0 == b.0 && b.1 - a.1 < LINES;
    let twins = |places: &Vec<(usize, usize)>| {
        let (one, others) = (places[0], &places[1..]);
        others.iter().filter(|other| !overlap(&one, other)).map(|other| (one, *other)).collect::<Vec<_>>()
    };
    let all: BTreeSet<_> = places.values().flat_map(twins).collect();
    let begins = |((a, first), (b, second)): &((usize, usize), (usize, usize))| {
        *first == 0 || *second == 0 || !all.contains(&((*a, first - 1), (*b, second - 1)))
    };
    let place = |(file, line): (usize, usize)| format!("{}:{}", files[file].0, files[file].1[line].0);
    all.iter().filter(|pair| begins(pair)).map(|(one, other)| format!("{} {}", place(*one), place(*other))).collect()
}

#[test]
fn few_places_have_the_shape_of_others() {
    let pairs = pairs(&super::rust_files());
    assert!(
        pairs.len() <= MOST_PAIRS,
        "{} pairs of places have the same shape, {MOST_PAIRS} are allowed: make one of two that say the same\n{}",
        pairs.len(),
        pairs.join("\n")
    );
    assert!(pairs.len() > MOST_PAIRS / 4, "{} pairs: lower the limit", pairs.len());
}

#[test]
fn shapes_are_found_whatever_the_names() {
    let body = |name: &str| {
        format!(
            "fn {name}(a: u32, b: u32) -> u32 {{\n    // why\n    let {name}s = a + b * 3;\n    if {name}s > 7 && b < 2 {{\n        return {name}s - 1;\n    }}\n    \
             println!(\"{name} \\\" {{}}\", b);\n    {name}s.pow(2) + a.min(b).max(4)\n}}\n"
        )
    };
    let of =
        |one: String, other: String| pairs(&BTreeMap::from([("a.rs".to_owned(), one), ("b.rs".to_owned(), other)]));
    assert_eq!(of(body("first"), format!("use x;\n\n{}", body("second"))), ["a.rs:1 b.rs:3"]);
    assert!(of(body("first"), body("second").replace(" - 1", " + 1 + a")).is_empty());
    let table = "    (a, b, c, d, 1, 2, 3),\n".repeat(9);
    assert!(of(table.clone(), table).is_empty());
}
