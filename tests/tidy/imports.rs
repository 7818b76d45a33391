//! Imports between the modules of a crate, and circles among them.
//!
//!     use crate::jobs::{self, job::Job};      in placed/cost.rs      =>      placed::cost ─▶ jobs, placed::cost ─▶ jobs::job
//!
//! A simple scanner: it reads `use` declarations and paths that begin with `crate` or `super`, in what is not a test.

use std::collections::{BTreeMap, BTreeSet};

/// A module, by its path from the root of the crate.
pub(crate) type Module = Vec<String>;

/// Which modules each module imports from.
pub(crate) type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// The module of a file, relative to `src`.
fn module(file: &str) -> Module {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    if path == "lib" || path == "main" { Vec::new() } else { path.split('/').map(str::to_owned).collect() }
}

/// The imports of a crate whose files, by their names from `src` on, have these texts.
pub(crate) fn imports(files: &BTreeMap<String, String>) -> Imports {
    let modules: BTreeSet<Module> = files.keys().map(|file| module(file)).collect();
    let of_file = |(file, text): (&String, &String)| {
        let own = module(file);
        let targets = paths(text).into_iter().filter_map(|path| resolve(&own, &path, &modules));
        let targets = targets.filter(|target| *target != own).collect();
        (own, targets)
    };
    files.iter().map(of_file).collect()
}

/// Every path that a text names: of `use` declarations, and those that begin with `crate` or `super`.
fn paths(text: &str) -> Vec<Module> {
    let code: String = text.split("#[cfg(test)]").next().unwrap_or_default().lines().map(without_comment).collect();
    let mut found = Vec::new();
    for (at, _) in code.match_indices("use ") {
        if code[..at].chars().next_back().is_none_or(char::is_whitespace) {
            let end = code[at..].find(';').map_or(code.len(), |end| at + end);
            let tree = code[at + "use ".len()..end].split_whitespace().collect::<Vec<_>>().join(" ");
            tree_paths(&tree, &[], &mut found);
        }
    }
    for root in ["crate::", "super::"] {
        for (at, _) in code.match_indices(root) {
            let path =
                code[at..].split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').next().unwrap_or_default();
            found.push(path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect());
        }
    }
    found
}

fn without_comment(line: &str) -> String {
    line.split("//").next().unwrap_or_default().to_owned() + "\n"
}

/// The paths of a tree of imports: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn tree_paths(tree: &str, prefix: &[String], found: &mut Vec<Module>) {
    let (head, inner) = match tree.split_once('{') {
        Some((head, rest)) => (head, rest.rsplit_once('}').map(|(inner, _)| inner)),
        None => (tree, None),
    };
    let parts = head.split("::").map(|part| part.trim().split(' ').next().unwrap_or_default().to_owned());
    let path: Module = prefix.iter().cloned().chain(parts.filter(|part| !part.is_empty())).collect();
    let Some(inner) = inner else {
        found.push(path);
        return;
    };
    let (mut depth, mut start) = (0, 0);
    for (at, letter) in inner.char_indices().chain([(inner.len(), ',')]) {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !inner[start..at].trim().is_empty() {
                    tree_paths(inner[start..at].trim(), &path, found);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// The deepest module on a path that is named in `own`; `None` for what is outside the crate.
fn resolve(own: &Module, path: &[String], modules: &BTreeSet<Module>) -> Option<Module> {
    let mut at = own.clone();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => {
            at.clear();
            rest = &path[1..];
        }
        "super" | "self" => {
            while let Some((step, behind)) =
                rest.split_first().filter(|(step, _)| ["super", "self"].contains(&step.as_str()))
            {
                if step == "super" {
                    at.pop();
                }
                rest = behind;
            }
        }
        child => {
            let inside: Module = own.iter().cloned().chain([child.to_owned()]).collect();
            if !modules.contains(&inside) {
                return None;
            }
        }
    }
    for step in rest {
        let inside: Module = at.iter().cloned().chain([step.clone()]).collect();
        if !modules.contains(&inside) {
            break;
        }
        at = inside;
    }
    Some(at)
}

/// Sets of nodes that can be reached from each other, with more than one node each.
pub(crate) fn circles<N: Ord + Clone>(edges: &BTreeMap<N, BTreeSet<N>>) -> Vec<BTreeSet<N>> {
    let reach = |from: &N| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(node) = open.pop() {
            let next = edges.get(&node).into_iter().flatten().filter(|next| seen.insert((*next).clone()));
            open.extend(next.cloned().collect::<Vec<_>>());
        }
        seen
    };
    let reached: BTreeMap<&N, BTreeSet<N>> = edges.keys().map(|node| (node, reach(node))).collect();
    let circle = |(node, there): (&&N, &BTreeSet<N>)| -> BTreeSet<N> {
        there.iter().filter(|other| reached.get(other).is_some_and(|back| back.contains(*node))).cloned().collect()
    };
    let all: BTreeSet<BTreeSet<N>> = reached.iter().map(circle).filter(|circle| circle.len() > 1).collect();
    all.into_iter().collect()
}

#[test]
fn imports_are_found() {
    let text = "//! x\nuse super::{Axis, cost::{self, Cost}};\nuse crate::jobs::job::Job as Work;\nfn f() { crate::image::encode::run() }\n\
                #[cfg(test)]\nmod tests { use crate::search; }\n";
    let files = [
        ("placed/mod.rs", ""),
        ("placed/cost.rs", ""),
        ("placed/place.rs", text),
        ("jobs/mod.rs", ""),
        ("jobs/job.rs", ""),
        ("image/mod.rs", ""),
        ("image/encode.rs", ""),
        ("search.rs", ""),
    ];
    let files = files.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    let found = imports(&files);
    let found: Vec<String> =
        found[&vec!["placed".to_owned(), "place".to_owned()]].iter().map(|m| m.join("::")).collect();
    assert_eq!(found, ["image::encode", "jobs::job", "placed", "placed::cost"]);
}

#[test]
fn circles_are_found() {
    let edges = |pairs: &[(u32, u32)]| {
        let mut edges: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for &(from, to) in pairs {
            edges.entry(from).or_default().insert(to);
        }
        edges
    };
    assert_eq!(circles(&edges(&[(1, 2), (2, 3), (1, 3)])), Vec::<BTreeSet<u32>>::new());
    assert_eq!(circles(&edges(&[(1, 2), (2, 3), (3, 1), (3, 4), (5, 6), (6, 5)])), [[1, 2, 3].into(), [5, 6].into()]);
}
