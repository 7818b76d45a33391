//! Lengths of what people read: the README, the manual, and sentences of both.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Words of README.md, and of README.md, CHANGELOG.md, CONTRIBUTING.md and docs together, at most, as `wc -w` counts.
const MOST_IN_README: usize = 700;
const MOST_IN_MANUAL: usize = 45_000;

/// Words of a sentence of prose, at most.
const MOST_IN_SENTENCE: usize = 25;

/// Pages that are generated from doc comments and messages.
const GENERATED: &[&str] =
    &["docs/errors.md", "docs/registers.md", "docs/languages/functions.md", "docs/schemas/README.md"];

fn is_markdown(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "md")
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// The pages of the manual among `files`.
fn manual(files: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let beside = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"];
    let is_page = |name: &str| beside.contains(&name) || name.starts_with("docs/") && is_markdown(name);
    files.into_iter().filter(|(name, _)| is_page(name)).collect()
}

/// Each sentence of a page with its first line: prose and items of lists, without code, tables and headings. What ends a paragraph or an item ends a
/// sentence, too.
fn sentences(page: &str) -> Vec<(usize, String)> {
    let (mut found, mut open, mut is_code) = (Vec::new(), None, false);
    let mut finish = |open: &mut Option<(usize, String)>| found.extend(open.take());
    for (line, number) in page.lines().zip(1..) {
        let text = line.trim_start();
        let fence = text.starts_with("```");
        is_code ^= fence;
        let indented = line.starts_with("    ");
        if is_code || fence || indented || text.is_empty() || text.starts_with(['|', '#', '<']) {
            finish(&mut open);
            continue;
        }
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let item = text
            .split_once(' ')
            .filter(|(mark, _)| ["-", "*"].contains(mark) || mark.strip_suffix('.').is_some_and(is_number));
        if item.is_some() {
            finish(&mut open);
        }
        let text = item.map_or(text, |(_, text)| text);
        for word in text.split_whitespace() {
            let (_, sentence) = open.get_or_insert_with(|| (number, String::new()));
            if word.contains(char::is_alphanumeric) {
                let _ = write!(sentence, "{word} ");
            }
            if word.trim_end_matches([')', '*', '"']).ends_with(['.', '!', '?', ':', ';']) {
                finish(&mut open);
            }
        }
    }
    finish(&mut open);
    found
}

#[test]
fn the_manual_is_short() {
    let pages = manual(super::files());
    let readme = words(&pages["README.md"]);
    assert!(readme <= MOST_IN_README, "README.md has {readme} words, {MOST_IN_README} at most");
    let all: usize = pages.values().map(|page| words(page)).sum();
    assert!(
        all > 1000 && all <= MOST_IN_MANUAL,
        "the manual has {all} words, {MOST_IN_MANUAL} at most: say it once, and shorter"
    );
}

#[test]
fn sentences_are_short() {
    let mut long = String::new();
    for (name, page) in manual(super::files()).into_iter().filter(|(name, _)| !GENERATED.contains(&name.as_str())) {
        for (line, sentence) in sentences(&page).into_iter().filter(|(_, text)| words(text) > MOST_IN_SENTENCE) {
            let _ = writeln!(long, "{name}:{line}: {} words: {sentence}", words(&sentence));
        }
    }
    super::assert_none(&long, "a sentence has at most 25 words");
}

#[test]
fn sentences_are_found() {
    let page = "# A long title\n\nOne two. Three\nfour - five: six.\n\n```sh\nno code\n```\n| no | table |\n- an item\n- another one\n1. third\n\n    indented\n";
    let found: Vec<String> =
        sentences(page).into_iter().map(|(line, text)| format!("{line} {}", text.trim())).collect();
    assert_eq!(found, ["3 One two.", "3 Three four five:", "4 six.", "10 an item", "11 another one", "12 third"]);
}
