//! Names that a graph gives to two values.

use crate::listing::Lines;
use crate::model::{Graph, Model, Node};
use arch::{Code, Diagnostic, Span};
use std::collections::BTreeSet;

/// Refuse two initialisers, two inputs or two results of one name, in the graph, in bodies and in functions.
///
/// # Errors
/// E-REDEF with the line of the second one.
pub(crate) fn once(model: &Model<'_>, lines: &Lines) -> Result<(), Vec<Diagnostic>> {
    let refused = |what: &str, name: &str, span: Span| {
        let message = format!("{what} `{name}`: another value of the graph has that name");
        let help = "values have one definition each; export the model again";
        Err(vec![Diagnostic::new(Code::Redef, span, message).with_label("here").with_help(help)])
    };
    if let Some((what, name, n)) = repeated(&model.graph) {
        let list = match what {
            "initialiser" => &lines.initialisers,
            "input" => &lines.inputs,
            _ => &lines.nodes,
        };
        return refused(what, name, list.get(n).copied().unwrap_or_default());
    }
    for (n, node) in model.graph.nodes.iter().enumerate() {
        if let Some((what, name)) = in_bodies(node) {
            return refused(what, name, lines.nodes[n]);
        }
    }
    for function in &model.functions {
        let mut known: BTreeSet<&str> = function.inputs.iter().copied().collect();
        if known.len() < function.inputs.len() {
            return refused("an operand of the function", function.name, Span::default());
        }
        if let Some((name, _)) = results(&function.nodes, &mut known) {
            return refused("a result in a function,", name, Span::default());
        }
        if let Some((what, name)) = function.nodes.iter().find_map(in_bodies) {
            return refused(what, name, Span::default());
        }
    }
    Ok(())
}

fn in_bodies<'m>(node: &Node<'m>) -> Option<(&'static str, &'m str)> {
    node.attributes.iter().filter_map(|attribute| attribute.graph.as_deref()).find_map(|body| {
        repeated(body).map(|(what, name, _)| (what, name)).or_else(|| body.nodes.iter().find_map(in_bodies))
    })
}

/// The first name that is given twice: what has it, and which one of its kind that is.
fn repeated<'m>(graph: &Graph<'m>) -> Option<(&'static str, &'m str, usize)> {
    let constants = graph.initialisers.iter().map(|data| data.name);
    let constants = constants.chain(graph.sparse.iter().map(|sparse| sparse.values.name));
    let mut known = BTreeSet::new();
    if let Some((n, name)) = constants.enumerate().find(|(_, name)| !name.is_empty() && !known.insert(*name)) {
        return Some(("initialiser", name, n));
    }
    // Old files list their initialisers among the inputs.
    let mut inputs = BTreeSet::new();
    if let Some((n, info)) = graph.inputs.iter().enumerate().find(|(_, info)| !inputs.insert(info.name)) {
        return Some(("input", info.name, n));
    }
    known.extend(inputs);
    results(&graph.nodes, &mut known).map(|(name, n)| ("result", name, n))
}

fn results<'m>(nodes: &[Node<'m>], known: &mut BTreeSet<&'m str>) -> Option<(&'m str, usize)> {
    let all = nodes.iter().enumerate().flat_map(|(n, node)| node.outputs.iter().map(move |&name| (name, n)));
    all.filter(|(name, _)| !name.is_empty()).find(|(name, _)| !known.insert(name))
}
