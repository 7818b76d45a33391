//! All mutants of some files in one text each, chosen when it runs.
//!
//! Standard input is a list of mutants as cargo-mutants lists them, each with a number from 1; the arguments are the folder that the files are read from
//! and the one that they are written to. Standard output is an object of those that are not in the text, by number, and why. `mutant.rs` is what the
//! text asks; it is put into the crate `arch`.
//!
//! | mutant | text |
//! |---|---|
//! | body of a function | `{ match of(&[1, 2]) { 1 => return A, 2 => return B, _ => {} } .. }` |
//! | `a + b` | `match (a, b) { (l, r) => match of(&[1, 2]) { 0 => l + r, 1 => l - r, 2 => l * r, _ => .. } }`; comparisons of references |
//! | `a += b` | `match b { r => match of(&[1]) { 0 => a += r, 1 => a -= r, _ => .. } }` |
//! | `a && b` | `((a != m) && (b != m)) != m`, by De Morgan |
//! | `-a`, `!a` | `match a { v => match of(&[1]) { 0 => -v, 1 => v, _ => .. } }` |
//! | arm of a match, guard | `pattern if !deleted && (true_instead || (!false_instead && guard))` |
//! | field before `..base` | `field: match of(&[1]) { 0 => value, 1 => base.field, _ => .. }` |
//!
//! Operands are written once, so that mutants inside of mutants do not multiply the text. What a mutant adds is between `/*<N*/` and `/*>N*/`, and all of a
//! place between `/*<N@*/` and `/*>N@*/` of its first mutant: the script finds by them whose the errors of the compiler are.

use proc_macro2::LineColumn;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::Path;
use std::{env, fs, io};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr};

#[derive(serde::Deserialize)]
struct Listed {
    number: u32,
    file: String,
    genre: String,
    /// From 1, as cargo-mutants counts.
    line: usize,
    column: usize,
    replacement: String,
}

/// A text that takes the place of `range`; the first edits are the outer ones.
struct Edit {
    range: Range<usize>,
    pieces: Vec<Piece>,
}

enum Piece {
    Text(String),
    /// Of the source, with the edits inside of it.
    Source(Range<usize>),
}

struct Rewriter<'a> {
    /// Not placed yet, by genre, line and column from 0.
    waiting: HashMap<(String, usize, usize), Vec<&'a Listed>>,
    edits: Vec<Edit>,
    refused: BTreeMap<u32, &'static str>,
    /// Inside of what is computed when it is compiled.
    constant: bool,
}

fn text(text: impl Into<String>) -> Piece {
    Piece::Text(text.into())
}

fn source(node: &impl Spanned) -> Piece {
    Piece::Source(node.span().byte_range())
}

fn of(mutants: &[&Listed]) -> String {
    let numbers: Vec<String> = mutants.iter().map(|mutant| mutant.number.to_string()).collect();
    format!("::arch::mutant::of(&[{}])", numbers.join(", "))
}

fn active(number: u32) -> String {
    format!("::arch::mutant::active({number})")
}

fn marked(number: u32, text: &str) -> String {
    format!("/*<{number}*/ {text} /*>{number}*/")
}

/// `match` of which mutant is on, `each` its text, `plain` where none is.
fn choice(mutants: &[&Listed], plain: Vec<Piece>, each: impl Fn(&Listed) -> Vec<Piece>) -> Vec<Piece> {
    let mut pieces = vec![text(format!("match {} {{ 0 => ", of(mutants)))];
    pieces.extend(plain);
    for mutant in mutants {
        pieces.push(text(format!(", {0} => /*<{0}*/ ", mutant.number)));
        pieces.extend(each(mutant));
        pieces.push(text(format!(" /*>{}*/", mutant.number)));
    }
    pieces.push(text(", _ => unreachable!() }"));
    pieces
}

/// Whether a condition binds names, which only `&&` may follow.
fn binds(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) => binds(&binary.left) || binds(&binary.right),
        _ => false,
    }
}

impl<'a> Rewriter<'a> {
    /// The mutants of this genre at this place, unless they cannot be chosen at run time.
    fn take(&mut self, genre: &str, start: LineColumn) -> Vec<&'a Listed> {
        let found = self.waiting.remove(&(genre.to_owned(), start.line, start.column)).unwrap_or_default();
        if self.constant {
            return self.refuse(&found, "computed by the compiler");
        }
        found
    }

    fn refuse(&mut self, mutants: &[&Listed], why: &'static str) -> Vec<&'a Listed> {
        self.refused.extend(mutants.iter().map(|mutant| (mutant.number, why)));
        Vec::new()
    }

    /// In parentheses and marks.
    fn replace(&mut self, range: Range<usize>, first: &Listed, inner: Vec<Piece>) {
        let mut pieces = vec![text(format!("(/*<{}@*/ ", first.number))];
        pieces.extend(inner);
        pieces.push(text(format!(" /*>{}@*/)", first.number)));
        self.edits.push(Edit { range, pieces });
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.constant, signature.constness.is_some());
        if let Some(first) = block.stmts.first() {
            let mutants = self.take("FnValue", first.span().start());
            let hidden = matches!(&signature.output, syn::ReturnType::Type(_, kind) if matches!(**kind, syn::Type::ImplTrait(_)));
            let mutants = if hidden { self.refuse(&mutants, "a type without a name is returned") } else { mutants };
            if !mutants.is_empty() {
                let returns: Vec<String> = mutants
                    .iter()
                    .map(|m| format!("{} => return {}, ", m.number, marked(m.number, &m.replacement)))
                    .collect();
                let start = block.brace_token.span.open().byte_range().end;
                let chosen = format!(" match {} {{ {}_ => {{}} }}", of(&mutants), returns.concat());
                self.edits.push(Edit { range: start..start, pieces: vec![text(chosen)] });
            }
        }
        visit(self);
        self.constant = outer;
    }

    fn constant(&mut self, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.constant, true);
        visit(self);
        self.constant = outer;
    }

    fn binary(&mut self, node: &syn::ExprBinary) {
        let mutants = self.take("BinaryOperator", node.op.span().start());
        let Some(first) = mutants.first().copied() else { return };
        let (left, right, range) = (|| source(&node.left), || source(&node.right), node.span().byte_range());
        let plain = source(&node.op);
        let Piece::Source(operator) = &plain else { unreachable!("made above") };
        let operator = operator.clone();
        let operator = || Piece::Source(operator.clone());
        match node.op {
            BinOp::And(_) | BinOp::Or(_) if binds(&node.left) || binds(&node.right) => {
                self.refuse(&mutants, "its operands bind names");
            }
            BinOp::And(_) | BinOp::Or(_) => {
                for mutant in &mutants[1..] {
                    self.refuse(&[mutant], "no dual operator");
                }
                let m = active(first.number);
                let pieces = vec![
                    text("(((".to_owned()),
                    left(),
                    text(format!(") != {m}) ")),
                    operator(),
                    text(" (("),
                    right(),
                    text(format!(") != {m})) != {m}")),
                ];
                self.replace(range, first, pieces);
            }
            BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) => {
                let compared = choice(&mutants, vec![text("*l "), operator(), text(" *r")], |m| {
                    vec![text(format!("*l {} *r", m.replacement))]
                });
                let mut pieces = vec![text("match (&("), left(), text("), &("), right(), text(")) { (l, r) => ")];
                pieces.extend(compared);
                pieces.push(text(" }"));
                self.replace(range, first, pieces);
            }
            BinOp::Add(_)
            | BinOp::Sub(_)
            | BinOp::Mul(_)
            | BinOp::Div(_)
            | BinOp::Rem(_)
            | BinOp::BitXor(_)
            | BinOp::BitAnd(_)
            | BinOp::BitOr(_)
            | BinOp::Shl(_)
            | BinOp::Shr(_) => {
                let computed = choice(&mutants, vec![text("l "), operator(), text(" r")], |m| {
                    vec![text(format!("l {} r", m.replacement))]
                });
                let mut pieces = vec![text("match ("), left(), text(", "), right(), text(") { (l, r) => ")];
                pieces.extend(computed);
                pieces.push(text(" }"));
                self.replace(range, first, pieces);
            }
            _ => {
                let assigned = choice(&mutants, vec![left(), text(" "), operator(), text(" r")], |m| {
                    vec![left(), text(format!(" {} r", m.replacement))]
                });
                let mut pieces = vec![text("match "), right(), text(" { r => ")];
                pieces.extend(assigned);
                pieces.push(text(" }"));
                self.replace(range, first, pieces);
            }
        }
    }
}

impl<'ast> Visit<'ast> for Rewriter<'_> {
    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        self.function(&node.sig, &node.block, |rewriter| visit::visit_item_fn(rewriter, node));
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        self.function(&node.sig, &node.block, |rewriter| visit::visit_impl_item_fn(rewriter, node));
    }

    fn visit_trait_item_fn(&mut self, node: &'ast syn::TraitItemFn) {
        match &node.default {
            Some(block) => self.function(&node.sig, block, |rewriter| visit::visit_trait_item_fn(rewriter, node)),
            None => visit::visit_trait_item_fn(self, node),
        }
    }

    fn visit_item_const(&mut self, node: &'ast syn::ItemConst) {
        self.constant(|rewriter| visit::visit_item_const(rewriter, node));
    }

    fn visit_item_static(&mut self, node: &'ast syn::ItemStatic) {
        self.constant(|rewriter| visit::visit_item_static(rewriter, node));
    }

    fn visit_impl_item_const(&mut self, node: &'ast syn::ImplItemConst) {
        self.constant(|rewriter| visit::visit_impl_item_const(rewriter, node));
    }

    fn visit_expr_const(&mut self, node: &'ast syn::ExprConst) {
        self.constant(|rewriter| visit::visit_expr_const(rewriter, node));
    }

    fn visit_type(&mut self, node: &'ast syn::Type) {
        self.constant(|rewriter| visit::visit_type(rewriter, node));
    }

    fn visit_variant(&mut self, node: &'ast syn::Variant) {
        self.constant(|rewriter| visit::visit_variant(rewriter, node));
    }

    fn visit_expr_repeat(&mut self, node: &'ast syn::ExprRepeat) {
        self.visit_expr(&node.expr);
        // The length of a `vec!` is in a macro, where cargo-mutants does not look; this is an array's.
        self.constant(|rewriter| rewriter.visit_expr(&node.len));
    }

    fn visit_expr_binary(&mut self, node: &'ast syn::ExprBinary) {
        self.binary(node);
        visit::visit_expr_binary(self, node);
    }

    fn visit_expr_unary(&mut self, node: &'ast syn::ExprUnary) {
        let mutants = self.take("UnaryOperator", node.op.span().start());
        if let Some(first) = mutants.first().copied() {
            let chosen = choice(&mutants, vec![source(&node.op), text("v")], |_| vec![text("v")]);
            let mut pieces = vec![text("match "), source(&node.expr), text(" { v => ")];
            pieces.extend(chosen);
            pieces.push(text(" }"));
            self.replace(node.span().byte_range(), first, pieces);
        }
        visit::visit_expr_unary(self, node);
    }

    fn visit_expr_match(&mut self, node: &'ast syn::ExprMatch) {
        if !node.arms.iter().any(|arm| arm.guard.is_none() && matches!(arm.pat, syn::Pat::Wild(_))) {
            for arm in &node.arms {
                let deleted = self.take("MatchArm", arm.span().start());
                self.refuse(&deleted, "no other arm takes what it takes");
            }
        }
        visit::visit_expr_match(self, node);
    }

    fn visit_arm(&mut self, node: &'ast syn::Arm) {
        let deleted = self.take("MatchArm", node.span().start());
        let guards =
            node.guard.as_ref().map_or(Vec::new(), |(_, guard)| self.take("MatchArmGuard", guard.span().start()));
        let all =
            |instead: &str| guards.iter().filter(|m| m.replacement == instead).map(|m| m.number).collect::<Vec<u32>>();
        let (always, never) = (all("true"), all("false"));
        let not: Vec<String> =
            deleted.iter().map(|m| m.number).chain(never).map(|number| format!("!{} && ", active(number))).collect();
        if let Some(first) = deleted.first().or(guards.first()).copied() {
            let mark = |end: &str| format!("/*{end}{}@*/", first.number);
            match &node.guard {
                Some((_, guard)) if binds(guard) => {
                    self.refused.extend(always.iter().map(|&number| (number, "its guard binds names")));
                    let range = guard.span().byte_range();
                    let pieces = vec![text(format!("{} {}", mark("<"), not.concat())), source(guard), text(mark(">"))];
                    self.edits.push(Edit { range, pieces });
                }
                Some((_, guard)) => {
                    let instead: Vec<String> = always.iter().map(|&number| format!("{} || ", active(number))).collect();
                    let before = format!("{} {}({}(", mark("<"), not.concat(), instead.concat());
                    let pieces = vec![text(before), source(guard), text(format!(")) {}", mark(">")))];
                    self.edits.push(Edit { range: guard.span().byte_range(), pieces });
                }
                None => {
                    let end = node.pat.span().byte_range().end;
                    let guard = format!(" if {} {}true {}", mark("<"), not.concat(), mark(">"));
                    self.edits.push(Edit { range: end..end, pieces: vec![text(guard)] });
                }
            }
        }
        visit::visit_arm(self, node);
    }

    fn visit_expr_struct(&mut self, node: &'ast syn::ExprStruct) {
        for field in &node.fields {
            let mutants = self.take("StructField", field.span().start());
            let (Some(first), Some(base), syn::Member::Named(name)) =
                (mutants.first().copied(), &node.rest, &field.member)
            else {
                continue;
            };
            let other = |_: &Listed| match **base {
                Expr::Path(_) | Expr::Field(_) => vec![source(base), text(format!(".{name}"))],
                _ => vec![
                    text("{ let whole: "),
                    source(&node.path),
                    text(" = "),
                    source(base),
                    text(format!("; whole.{name} }}")),
                ],
            };
            let chosen = choice(&mutants, vec![source(&field.expr)], other);
            if field.colon_token.is_some() {
                self.replace(field.expr.span().byte_range(), first, chosen);
            } else {
                // The shorthand: the name is field and value.
                let mut pieces = vec![text(format!("{name}: "))];
                pieces.extend(chosen);
                self.edits.push(Edit { range: field.span().byte_range(), pieces });
            }
        }
        visit::visit_expr_struct(self, node);
    }
}

/// The source of a range, with the edits from `from` on that lie in it.
fn render(text: &str, edits: &[Edit], from: usize, range: Range<usize>, out: &mut String) {
    let mut inside: Vec<usize> = (from..edits.len())
        .filter(|&e| range.start <= edits[e].range.start && edits[e].range.end <= range.end)
        .collect();
    // Of two at one place the outer one, which was found first.
    inside.sort_by_key(|&e| (edits[e].range.start, e));
    let mut done = range.start;
    for edit in inside {
        let Edit { range, pieces } = &edits[edit];
        if range.start < done {
            continue;
        }
        out.push_str(&text[done..range.start]);
        for piece in pieces {
            match piece {
                Piece::Text(new) => out.push_str(new),
                Piece::Source(range) => render(text, edits, edit + 1, range.clone(), out),
            }
        }
        done = range.end;
    }
    out.push_str(&text[done..range.end]);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [from, to] = arguments.as_slice() else { return Err("two folders are wanted".into()) };
    let listed: Vec<Listed> = serde_json::from_reader(io::stdin())?;
    let mut files: BTreeMap<&str, Vec<&Listed>> = BTreeMap::new();
    for mutant in &listed {
        files.entry(&mutant.file).or_default().push(mutant);
    }
    let mut refused = BTreeMap::new();
    for (file, mutants) in files {
        let source = fs::read_to_string(Path::new(from).join(file))?;
        let mut rewriter =
            Rewriter { waiting: HashMap::new(), edits: Vec::new(), refused: BTreeMap::new(), constant: false };
        for mutant in mutants {
            rewriter.waiting.entry((mutant.genre.clone(), mutant.line, mutant.column - 1)).or_default().push(mutant);
        }
        rewriter.visit_file(&syn::parse_file(&source)?);
        let lost: Vec<&Listed> = rewriter.waiting.values().flatten().copied().collect();
        rewriter.refuse(&lost, "of a kind or at a place that is not known here");
        let mut written = String::new();
        render(&source, &rewriter.edits, 0, 0..source.len(), &mut written);
        let place = Path::new(to).join(file);
        if fs::read_to_string(&place).ok().as_ref() != Some(&written) {
            fs::create_dir_all(place.parent().unwrap_or(&place))?;
            fs::write(place, written)?;
        }
        refused.extend(rewriter.refused);
    }
    serde_json::to_writer(io::stdout(), &refused)?;
    Ok(())
}
