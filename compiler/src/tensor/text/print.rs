//! Tensor IR to text.

use super::{ATOM, INFIX, PREFIX, ROLES, SIGNS, leaf, reserved};
use crate::tensor::{Element, Guard, Nest, Node, NodeId, Program, Role, Start, TensorId, Unary};
use crate::text::names::{Loops, Names};
use crate::text::write;
use arch::Origin;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Formatter, Result, Write};

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let names = names(self);
        for (id, tensor) in self.tensors.iter().enumerate() {
            let shape = write::list(&tensor.shape, "", |extent| format!("[{extent}]"));
            write!(f, "{} {}{shape}", role(&tensor.role, &names), names.tensor(TensorId(id)))?;
            match tensor.element {
                Element::Real => {}
                element => write!(f, ": {element}")?,
            }
            if let Role::Parameter(values) = &tensor.role {
                write!(f, " = [{}]", write::list(values.iter(), ", ", |&value| write::real(value)))?;
            }
            writeln!(f, "{}", place(tensor.span))?;
        }
        if !self.tensors.is_empty() {
            writeln!(f)?;
        }
        for nest in &self.nests {
            writeln!(f, "{}{}", line(&names, nest), write::origin(&nest.origin, reserved))?;
        }
        for descent in &self.descents {
            let (state, gradient) = (names.tensor(descent.state), names.tensor(descent.gradient));
            writeln!(f, "{state} -= {} * {gradient}{}", write::real(descent.rate), place(descent.span))?;
        }
        for update in &self.updates {
            writeln!(f, "{} := {}", names.tensor(update.state), names.tensor(update.next))?;
        }
        for (name, tensor) in &self.names {
            writeln!(f, "name {} = {}", write::name(name, reserved), names.tensor(*tensor))?;
        }
        for (name, value) in &self.integers {
            writeln!(f, "integer {} = {value}", write::name(name, reserved))?;
        }
        Ok(())
    }
}

impl Display for Element {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Element::Real => f.write_str("real"),
            Element::Bool => f.write_str("bool"),
            Element::Int { bits, signed: true } => write!(f, "int{bits}"),
            Element::Int { bits, signed: false } => write!(f, "uint{bits}"),
        }
    }
}

impl Program {
    /// The text form of one Nest, without origin and line end.
    pub fn nest(&self, nest: &Nest) -> String {
        line(&names(self), nest)
    }
}

fn names(program: &Program) -> Names<'_> {
    Names::new(program.tensors.iter().map(|tensor| tensor.name.as_str()), reserved)
}

fn line(names: &Names<'_>, nest: &Nest) -> String {
    Line { names, loops: names.loops(&nest.iterators), nest }.text()
}

fn role(role: &Role, names: &Names<'_>) -> String {
    match role {
        Role::Gradient(of) => format!("gradient({})", names.tensor(*of)),
        Role::Parameter(_) => "parameter".into(),
        role => ROLES.iter().find(|(_, known)| known == role).map_or(String::new(), |(word, _)| (*word).into()),
    }
}

/// A place in the source, at the end of a line.
fn place(span: arch::Span) -> String {
    write::origin(&Origin::of(span), reserved)
}

/// A Nest that becomes a line.
struct Line<'a> {
    names: &'a Names<'a>,
    loops: Loops<'a>,
    nest: &'a Nest,
}

impl Line<'_> {
    fn text(&self) -> String {
        let nest = self.nest;
        let sign =
            SIGNS.iter().find(|(_, aggregate)| *aggregate == nest.aggregate).expect("every aggregate has a sign");
        let mut text = format!("{} {} ", self.loops.element(nest.out, &nest.out_index), sign.0.concat());
        match &nest.start {
            Start::Identity => {}
            Start::Fill(value) => text += &format!("from {}: ", write::real(*value)),
            Start::Element { tensor, index } => text += &format!("from {}: ", self.loops.element(*tensor, index)),
        }
        let (value, shared) = self.body();
        text += &value;
        text += &self.loops.clauses(nest.free);
        let guards = write::list(&nest.guards, " and ", |guard| match guard {
            Guard::Within { value, bound } => format!("0 <= {} < {bound}", self.loops.affine(value)),
            Guard::Zero { value } => format!("{} == 0", self.loops.affine(value)),
        });
        let shared = write::list(shared, ", ", |(name, value)| format!("{name} = {value}"));
        for (word, clause) in [("if", guards), ("where", shared)] {
            if !clause.is_empty() {
                let _ = write!(text, "  {word} {clause}");
            }
        }
        text
    }

    /// The value of the body, and the values that it uses more than once. No recursion: bodies can be long.
    fn body(&self) -> (String, Vec<(String, String)>) {
        let nodes = &self.nest.body.nodes;
        let Some(again) = repeated_leaves(nodes) else { return (self.nodes(), Vec::new()) };
        let mut uses = vec![0usize; nodes.len()];
        for operand in nodes.iter().flat_map(Node::operands) {
            uses[operand.0] += 1;
        }
        let mut texts: Vec<(String, u8)> = Vec::with_capacity(nodes.len());
        let mut shared = Vec::new();
        for (number, node) in nodes.iter().enumerate() {
            let mut slot = 0;
            let mut text = self.node(node, |id| {
                slot += 1;
                // The text of an operand; moved out when this is its only use.
                let (text, strength) =
                    if uses[id.0] > 1 { texts[id.0].clone() } else { std::mem::take(&mut texts[id.0]) };
                (if again.contains(&(number, slot - 1)) { text + "'" } else { text }, strength)
            });
            if uses[number] > 1 && leaf(node).is_none() {
                let name = NodeId(number).to_string();
                shared.push((name.clone(), std::mem::replace(&mut text, (name, ATOM)).0));
            }
            texts.push(text);
        }
        (texts.pop().unwrap_or_default().0, shared)
    }

    /// The body node by node.
    fn nodes(&self) -> String {
        let node = |node| self.node(node, |id| (id.to_string(), ATOM)).0;
        format!("{{{}}}", write::list(&self.nest.body.nodes, "; ", node))
    }

    /// The text of a node and how strongly it holds together, given that of its operands, which are asked for in order.
    fn node(&self, node: &Node, mut operand: impl FnMut(NodeId) -> (String, u8)) -> (String, u8) {
        let mut within = |id: NodeId, binds: u8| {
            let (text, strength) = operand(id);
            if strength < binds { format!("({text})") } else { text }
        };
        match node {
            Node::Constant(value) => {
                let text = write::real(*value);
                let strength = if text.starts_with('-') { PREFIX } else { ATOM };
                (text, strength)
            }
            Node::Iterator(iterator) => (self.loops.iterator(*iterator), ATOM),
            Node::Read { tensor, index } => (self.loops.element(*tensor, index), ATOM),
            Node::Gather { tensor, index } => {
                let index = write::list(index, "", |&id| format!(", {}", within(id, 0)));
                (format!("gather({}{index})", self.names.tensor(*tensor)), ATOM)
            }
            Node::Unary(operation, a) => {
                let sign = if *operation == Unary::Neg { '-' } else { '!' };
                let text = within(*a, ATOM);
                // A sign that touches a number is part of it.
                let number = text.starts_with(|first: char| first.is_ascii_digit()) || text == "inf" || text == "nan";
                (if number { format!("{sign}({text})") } else { format!("{sign}{text}") }, PREFIX)
            }
            Node::Binary(operator, a, b) => {
                let (sign, _, strength) =
                    INFIX.iter().find(|row| row.1 == *operator).expect("every operator has a sign");
                let a = within(*a, *strength);
                (format!("{a} {sign} {}", within(*b, strength + 1)), *strength)
            }
            Node::Select { condition, yes, no } => {
                let (condition, yes) = (within(*condition, 0), within(*yes, 0));
                (format!("select({condition}, {yes}, {})", within(*no, 0)), ATOM)
            }
            Node::Cast(element, a) => (format!("{element}({})", within(*a, 0)), ATOM),
            Node::Call(function, arguments) => {
                (format!("{function}({})", write::list(arguments, ", ", |&id| within(id, 0))), ATOM)
            }
        }
    }
}

/// The operands (user, position) at which a leaf stands for the first time and another one is written alike.
///
/// `None`: the nodes are in another order than one reads them, or leaves that are written alike take turns.
fn repeated_leaves(nodes: &[Node]) -> Option<BTreeSet<(usize, usize)>> {
    let (mut again, mut latest) = (BTreeSet::new(), BTreeMap::new());
    // Nodes before this one have been read, in their order.
    let mut read = 0;
    let mut open: Vec<(usize, Vec<NodeId>, usize)> = vec![(nodes.len().checked_sub(1)?, nodes.last()?.operands(), 0)];
    while let Some((user, operands, slot)) = open.pop() {
        let Some(&NodeId(operand)) = operands.get(slot) else {
            if user != read {
                return None;
            }
            read += 1;
            continue;
        };
        let is_new = operand >= read;
        if operand >= user {
            return None;
        }
        open.push((user, operands, slot + 1));
        match leaf(&nodes[operand]) {
            Some(text) if is_new => {
                if operand != read {
                    return None;
                }
                read += 1;
                if latest.insert(text, operand).is_some() {
                    again.insert((user, slot));
                }
            }
            Some(text) if latest[&text] != operand => return None,
            None if is_new => open.push((operand, nodes[operand].operands(), 0)),
            _ => {}
        }
    }
    (read == nodes.len()).then_some(again)
}
