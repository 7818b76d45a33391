//! `graph`: which tensor follows from which, as DOT, SVG or JSON.
//!
//!     x ──▶ h ──▶ d ──▶ g ─ ─▶ w        a dashed arrow is an update: it is seen by the next sample

use crate::arguments::{Global, Graph};
use crate::output::{self, Talk};
use crate::render;
use crate::subject;
use compiler::language::Options;
use compiler::tensor::{Node, Program, Role, Start, TensorId};
use schemars::JsonSchema;
use serde::Serialize;
use sim::eval::with_shapes_of;
use std::collections::BTreeSet;
use std::fmt::Write;
use workbench::documents::Document;
use workbench::images::line_of;
use workbench::report::page::charts;
use workbench::{Failure, writing};

/// Which tensor follows from which.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Dependences {
    /// The program.
    program: String,
    /// Its tensors.
    tensors: Vec<Box>,
    /// What follows from what.
    arrows: Vec<Arrow>,
}

/// One tensor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
struct Box {
    /// Its name.
    name: String,
    /// Extents, outermost first.
    shape: Vec<u32>,
    /// What it is for.
    role: &'static str,
    /// Source line; 0 where there is none.
    line: usize,
}

/// One dependence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
struct Arrow {
    /// Number of the tensor that is read.
    from: usize,
    /// Number of the tensor that follows from it.
    to: usize,
    /// Whether the next sample sees it.
    update: bool,
}

/// Print the graph.
pub fn run(global: &Global, options: &Graph, talk: &Talk) -> Result<(), Failure> {
    let project = subject::project(global, options.program.as_deref(), &options.limits.clone().into())?;
    project.is_program()?;
    let records = subject::records(options.inputs.as_deref())?.unwrap_or_default();
    let reading = Options { entry: options.entry.clone(), ..project.options(&[]) };
    let (program, warnings) = project.read(&with_shapes_of(records.first(), reading), Some(records.first()))?;
    render::warnings(&project.source, &warnings, talk);
    let (boxes, arrows) = graph(&program, |span| line_of(&project, span));
    if let Some(path) = &options.svg {
        writing::write_file(path, charts::alone(&svg(&project.name(), &boxes, &arrows)).as_bytes())?;
        talk.say(format!("wrote {}", path.display()));
    }
    output::either(
        global.format,
        || dot(&project.name(), &boxes, &arrows),
        || {
            let program = project.name();
            Document::new(Dependences { program, tensors: boxes.clone(), arrows: arrows.clone() })
        },
    )
}

fn role(role: &Role) -> &'static str {
    match role {
        Role::Input => "input",
        Role::Label => "label",
        Role::State => "model",
        Role::Parameter(_) => "constant",
        Role::Gradient(_) => "gradient",
        Role::Mean => "mean",
        Role::Output => "output",
        Role::InOut => "in and out",
        Role::Temporary | Role::Stored => "temporary",
    }
}

fn graph(program: &Program, line_of: impl Fn(arch::Span) -> usize) -> (Vec<Box>, Vec<Arrow>) {
    let boxes = program.tensors.iter().map(|tensor| Box {
        name: tensor.name.clone(),
        shape: tensor.shape.clone(),
        role: role(&tensor.role),
        line: line_of(tensor.span),
    });
    let mut arrows = BTreeSet::new();
    for nest in &program.nests {
        let read = nest.body.nodes.iter().filter_map(|node| match node {
            Node::Read { tensor, .. } | Node::Gather { tensor, .. } => Some(*tensor),
            _ => None,
        });
        let start = match &nest.start {
            Start::Element { tensor, .. } => Some(*tensor),
            _ => None,
        };
        arrows.extend(read.chain(start).map(|from| Arrow { from: from.0, to: nest.out.0, update: false }));
    }
    let mut update = |from: TensorId, to: TensorId| {
        arrows.insert(Arrow { from: from.0, to: to.0, update: true });
    };
    program.updates.iter().for_each(|each| update(each.next, each.state));
    program.descents.iter().for_each(|each| update(each.gradient, each.state));
    // A statement that reads what it writes is not an arrow anybody can draw.
    (boxes.collect(), arrows.into_iter().filter(|arrow| arrow.from != arrow.to || arrow.update).collect())
}

/// Text inside the quotes of DOT.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars().filter(|letter| !letter.is_control()) {
        if matches!(letter, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted + "\""
}

fn label(tensor: &Box) -> String {
    tensor.shape.iter().fold(tensor.name.clone(), |text, extent| text + &format!("[{extent}]"))
}

fn dot(name: &str, boxes: &[Box], arrows: &[Arrow]) -> String {
    let mut text = format!("digraph {} {{\n    rankdir = LR;\n    node [shape = box];\n", quoted(name));
    for (number, tensor) in boxes.iter().enumerate() {
        let style = match tensor.role {
            "input" | "label" | "constant" => ", style = rounded",
            "model" | "in and out" => ", style = bold",
            _ => "",
        };
        let _ = writeln!(
            text,
            "    t{number} [label = {}, tooltip = {}{style}];",
            quoted(&label(tensor)),
            quoted(tensor.role)
        );
    }
    for Arrow { from, to, update } in arrows {
        let style = if *update { " [style = dashed, constraint = false]" } else { "" };
        let _ = writeln!(text, "    t{from} -> t{to}{style};");
    }
    text + "}\n"
}

/// Column of each tensor: one more than the largest of those it follows from. Dependences within a sample have no circles but
/// those of names that are assigned again, which are cut where they would close.
fn columns(count: usize, arrows: &[Arrow]) -> Vec<usize> {
    let mut columns = vec![0usize; count];
    for _ in 0..count {
        let mut moved = false;
        for arrow in arrows.iter().filter(|arrow| !arrow.update) {
            let wanted = columns[arrow.from] + 1;
            if columns[arrow.to] < wanted && wanted < count {
                columns[arrow.to] = wanted;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    columns
}

/// Size of a box and of the space around it.
const WIDTH: f64 = 130.0;
const HEIGHT: f64 = 40.0;
const ACROSS: f64 = 60.0;
const DOWN: f64 = 22.0;

fn svg(name: &str, boxes: &[Box], arrows: &[Arrow]) -> String {
    let columns = columns(boxes.len(), arrows);
    let mut used = vec![0usize; columns.iter().max().map_or(1, |most| most + 1)];
    let places: Vec<(f64, f64)> = columns
        .iter()
        .map(|&column| {
            let row = used[column];
            used[column] += 1;
            (10.0 + column as f64 * (WIDTH + ACROSS), 10.0 + row as f64 * (HEIGHT + DOWN))
        })
        .collect();
    let width = 20.0 + used.len() as f64 * (WIDTH + ACROSS);
    let height = 40.0 + used.iter().copied().max().unwrap_or(0) as f64 * (HEIGHT + DOWN);
    let mut svg = charts::opening(&format!("dataflow of {name}"), width, height);
    svg.push_str("<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" class=\"fill5\"/></marker></defs>");
    for arrow in arrows {
        let ((x0, y0), (x1, y1)) = (places[arrow.from], places[arrow.to]);
        let (x0, y0, y1) = (x0 + WIDTH, y0 + HEIGHT / 2.0, y1 + HEIGHT / 2.0);
        let bend = if x1 > x0 { (x1 - x0) / 2.0 } else { ACROSS };
        let dashes = if arrow.update { " stroke-dasharray=\"5 4\"" } else { "" };
        let (c0, c1) = (x0 + bend, x1 - bend);
        let _ = write!(
            svg,
            "<path class=\"line5\"{dashes} marker-end=\"url(#tip)\" d=\"M{x0:.1} {y0:.1}C{c0:.1} {y0:.1} {c1:.1} {y1:.1} {x1:.1} {y1:.1}\"/>"
        );
    }
    for (tensor, (x, y)) in boxes.iter().zip(&places) {
        let colour = match tensor.role {
            "input" | "label" => 0,
            "model" | "in and out" => 1,
            "gradient" => 4,
            "constant" => 3,
            _ => 2,
        };
        let round = if colour == 0 { 18 } else { 4 };
        let _ = write!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"{round}\" fill=\"#fff\" class=\"edge\"/>"
        );
        let _ = write!(
            svg,
            "<rect class=\"fill{colour}\" opacity=\"0.18\" x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"{round}\"/>"
        );
        let middle = x + WIDTH / 2.0;
        let _ = write!(
            svg,
            "<text class=\"middle\" x=\"{middle}\" y=\"{}\">{}</text>",
            y + 17.0,
            charts::escape(&label(tensor))
        );
        let line = if tensor.line > 0 { format!(", line {}", tensor.line) } else { String::new() };
        let _ = write!(svg, "<text class=\"middle\" x=\"{middle}\" y=\"{}\">{}{line}</text>", y + 32.0, tensor.role);
    }
    svg + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_markup() {
        let hostile = Box { name: "a\"]; b [label=\"<x>\n".to_owned(), shape: vec![2], role: "input", line: 1 };
        let text = dot("p\"", std::slice::from_ref(&hostile), &[]);
        assert!(text.contains("label = \"a\\\"]; b [label=\\\"<x>[2]\""), "{text}");
        assert!(!svg("p", &[hostile], &[]).contains("<x>"));
    }

    #[test]
    fn columns_follow_dependences_and_end() {
        let arrow = |from, to, update| Arrow { from, to, update };
        let chain = [arrow(0, 1, false), arrow(1, 2, false), arrow(2, 0, true)];
        assert_eq!(columns(3, &chain), [0, 1, 2]);
        let circle = [arrow(0, 1, false), arrow(1, 0, false)];
        assert_eq!(columns(2, &circle).len(), 2);
    }
}
