//! The value of a Nest, from text to nodes.

use super::{INFIX, PREFIX, element, leaf, node_number};
use crate::tensor::{Body, Function, Iterator, Node, NodeId, Unary};
use crate::text::Cursor;
use crate::text::known::Known;
use crate::text::token::Kind;
use arch::{Code, Diagnostic, Span};
use std::collections::BTreeMap;

/// Operations inside each other that are taken on: reading them takes stack.
const DEPTH: usize = 256;

/// The definition of a named node.
struct Definition {
    /// Where its value begins.
    position: usize,
    /// Where its name stands.
    span: Span,
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    Unread,
    /// Its value is being read.
    Open,
    Read(NodeId),
}

/// What is read of a Nest's value.
pub(super) struct Value<'a> {
    cursor: &'a mut Cursor,
    known: &'a Known,
    iterators: &'a [Iterator],
    body: Body,
    /// The latest node of each leaf.
    leaves: BTreeMap<String, NodeId>,
    definitions: BTreeMap<usize, Definition>,
    depth: usize,
}

/// The value at the cursor; definitions follow `where` on the line.
pub(super) fn read(cursor: &mut Cursor, known: &Known, iterators: &[Iterator]) -> Result<Body, Diagnostic> {
    let definitions = definitions(cursor)?;
    let (body, leaves) = (Body::default(), BTreeMap::new());
    let mut value = Value { cursor, known, iterators, body, leaves, definitions, depth: 0 };
    if value.cursor.take("{") {
        value.nodes()?;
    } else {
        value.expression(0)?;
    }
    let unused = value.definitions.iter().find(|(_, definition)| matches!(definition.state, State::Unread));
    match unused {
        Some((number, definition)) => {
            Err(Diagnostic::new(Code::Syntax, definition.span, format!("`n{number}` is not used")))
        }
        None => Ok(value.body),
    }
}

/// The places of the definitions on the line; the cursor stays where it is.
fn definitions(cursor: &mut Cursor) -> Result<BTreeMap<usize, Definition>, Diagnostic> {
    let mut found = BTreeMap::new();
    let start = cursor.position();
    let Some(clause) = cursor.find_on_line(&["where"]) else { return Ok(found) };
    cursor.seek(clause);
    while cursor.take("where") || cursor.take(",") {
        let span = cursor.peek().span;
        let Some(number) = node(cursor) else { return Err(cursor.expected("the name of a value, such as `n3`")) };
        cursor.expect("=")?;
        let position = cursor.position();
        if found.insert(number, Definition { position, span, state: State::Unread }).is_some() {
            return Err(Diagnostic::new(Code::Redef, span, format!("`n{number}` is defined twice")));
        }
        cursor.skip_to(&[",", "@"]);
    }
    cursor.seek(start);
    Ok(found)
}

/// The number of a named node that stands here.
fn node(cursor: &mut Cursor) -> Option<usize> {
    match &cursor.peek().kind {
        Kind::Word { text, quoted: false } => {
            let number = node_number(text)?;
            cursor.advance();
            Some(number)
        }
        _ => None,
    }
}

impl Value<'_> {
    /// `{x[i]; y; n0 - n1}`, after the brace: one node each.
    fn nodes(&mut self) -> Result<(), Diagnostic> {
        while !self.cursor.take("}") {
            let span = self.cursor.peek().span;
            let next = NodeId(self.body.nodes.len());
            self.leaves.clear();
            self.expression(0)?;
            if self.body.nodes.len() != next.0 + 1 {
                let message =
                    "each part of a list is one node: an element, a number, or an operation on nodes before it";
                return Err(Diagnostic::new(Code::Syntax, span, message));
            }
            let state = State::Read(next);
            self.definitions.insert(next.0, Definition { position: 0, span, state });
            if !self.cursor.sees("}") {
                self.cursor.expect(";")?;
            }
        }
        Ok(())
    }

    /// A value whose operators are at least so strong.
    fn expression(&mut self, least: u8) -> Result<NodeId, Diagnostic> {
        self.depth += 1;
        if self.depth > DEPTH {
            let message = format!("more than {DEPTH} operations inside each other");
            return Err(Diagnostic::new(Code::Limit, self.cursor.peek().span, message));
        }
        let mut value = self.prefixed()?;
        while let Some(&(sign, operator, strength)) = INFIX.iter().find(|row| self.cursor.sees(row.0) && row.2 >= least)
        {
            self.cursor.expect(sign)?;
            let right = self.expression(strength + 1)?;
            value = self.body.push(Node::Binary(operator, value, right));
        }
        self.depth -= 1;
        Ok(value)
    }

    fn prefixed(&mut self) -> Result<NodeId, Diagnostic> {
        if self.cursor.sees_real() {
            let value = self.cursor.real()?;
            return Ok(self.leaf(Node::Constant(value)));
        }
        for (sign, operation) in [("-", Unary::Neg), ("!", Unary::Not)] {
            if self.cursor.take(sign) {
                let operand = self.expression(PREFIX)?;
                return Ok(self.body.push(Node::Unary(operation, operand)));
            }
        }
        if self.cursor.take("(") {
            let value = self.expression(0)?;
            self.cursor.expect(")")?;
            return Ok(value);
        }
        self.atom()
    }

    /// An element, an iterator, a named node or a call.
    fn atom(&mut self) -> Result<NodeId, Diagnostic> {
        let span = self.cursor.peek().span;
        if let Some(number) = node(self.cursor) {
            return self.named(number, span);
        }
        if let Some(iterator) = self.known.iterator_value(self.cursor, self.iterators)? {
            return Ok(self.leaf(Node::Iterator(iterator)));
        }
        if self.cursor.sees_call() {
            let name = self.cursor.name()?;
            self.cursor.expect("(")?;
            return self.call(&name.text, name.span);
        }
        if !self.cursor.sees_name() && !self.cursor.sees_id() {
            return Err(self.cursor.expected("a value"));
        }
        let (tensor, index) = self.known.element(self.cursor, self.iterators)?;
        Ok(self.leaf(Node::Read { tensor, index }))
    }

    /// A leaf that is written like one before is that one, unless a prime follows.
    fn leaf(&mut self, node: Node) -> NodeId {
        let text = leaf(&node).expect("it is a leaf");
        match self.leaves.get(&text) {
            Some(&known) if !self.cursor.take("'") => known,
            _ => {
                let new = self.body.push(node);
                self.leaves.insert(text, new);
                new
            }
        }
    }

    /// A named node; its definition is read where it is first used.
    fn named(&mut self, number: usize, span: Span) -> Result<NodeId, Diagnostic> {
        let Some(definition) = self.definitions.get_mut(&number) else {
            return Err(Diagnostic::new(Code::Undef, span, format!("no value is named `n{number}`")));
        };
        match definition.state {
            State::Read(node) => Ok(node),
            State::Open => {
                Err(Diagnostic::new(Code::Syntax, definition.span, format!("`n{number}` is part of its own value")))
            }
            State::Unread => {
                definition.state = State::Open;
                let (position, back) = (definition.position, self.cursor.position());
                self.cursor.seek(position);
                let value = self.expression(0)?;
                if !self.cursor.sees(",") && !self.cursor.sees("@") && !self.cursor.at_line_end() {
                    return Err(self.cursor.expected("an operator or the end of the value"));
                }
                self.cursor.seek(back);
                self.definitions.get_mut(&number).expect("it is defined").state = State::Read(value);
                Ok(value)
            }
        }
    }

    /// What stands in the parentheses of a call.
    fn call(&mut self, name: &str, span: Span) -> Result<NodeId, Diagnostic> {
        let tensor = if name == "gather" { Some(self.known.tensor(self.cursor)?) } else { None };
        let mut operands = Vec::new();
        while !self.cursor.sees(")") {
            if tensor.is_some() || !operands.is_empty() {
                self.cursor.expect(",")?;
            }
            operands.push(self.expression(0)?);
        }
        self.cursor.expect(")")?;
        let function = || Function::ALL.iter().copied().find(|function| function.name() == name);
        let node = match (tensor, operands.as_slice()) {
            (Some(tensor), _) => Node::Gather { tensor, index: operands },
            (None, &[condition, yes, no]) if name == "select" => Node::Select { condition, yes, no },
            (None, &[operand]) if element(name).is_some() => Node::Cast(element(name).expect("just asked"), operand),
            _ => match function() {
                Some(function) => Node::Call(function, operands),
                None => {
                    return Err(Diagnostic::new(Code::Undef, span, format!("no function is named `{name}`")));
                }
            },
        };
        Ok(self.body.push(node))
    }
}
