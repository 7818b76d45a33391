//! Expressions to nodes: types, accesses, functions; every access leaves the constraints its indices put on the index variables.

use super::ast::{self, Expression, Form, Name, Prefix};
use super::conditions::{Guarded, Place};
use super::functions::{self, Known};
use super::lower::Lowering;
use super::ranges::{Constraint, Range};
use super::scope::{Scope, View};
use super::types::{FLOAT, INT, Type};
use crate::tensor::{Affine, Binary, Body, Function, IterId, Node, NodeId, Unary};
use arch::{Code, Diagnostic, Span};
use std::collections::BTreeMap;

/// The statement under construction.
#[derive(Default)]
pub(super) struct Frame<'s> {
    /// Index variables: those of the left side first, then in order of appearance. Their number is that of their iterator.
    pub(super) variables: Vec<Name<'s>>,
    /// Ranges that the program states.
    pub(super) stated: Vec<Option<Range>>,
    pub(super) lets: BTreeMap<&'s str, Let>,
    pub(super) constraints: Vec<Constraint>,
    pub(super) body: Body,
    /// Conditions under which the current expression is evaluated: each one with all those around it, the last one with all.
    pub(super) path: Vec<NodeId>,
    /// Reads under conditions.
    pub(super) guarded: Vec<Guarded>,
}

/// A name bound by `where x = e`.
#[derive(Debug, Clone)]
pub(super) struct Let {
    value: Value,
    affine: Option<Affine>,
}

/// A node and its type.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value {
    pub(super) node: NodeId,
    pub(super) kind: Type,
}

/// Index variables that a statement may have, as a multiple of the dimensions of a tensor.
const LOOPS: usize = 4;

/// Integers in index arithmetic stay below this, so that no sum of products overflows.
const LARGEST: i64 = 1 << 28;

impl Frame<'_> {
    /// The iterator of an index variable.
    pub(super) fn variable(&self, name: &str) -> Option<IterId> {
        self.variables.iter().position(|known| known.text == name).map(IterId)
    }

    fn push(&mut self, node: Node, kind: Type) -> Value {
        Value { node: self.body.push(node), kind }
    }
}

impl<'s> Lowering<'s, '_> {
    /// `where x = e`
    pub(super) fn bind(&mut self, name: Name<'s>, value: &Expression<'s>, scope: &Scope<'s>, frame: &mut Frame<'s>) {
        let affine = affine(value, scope, frame);
        if let Some(value) = self.value(value, scope, frame) {
            frame.lets.insert(name.text, Let { value, affine });
        }
    }

    /// The node of an expression; `None` if something in it is wrong (and reported).
    pub(super) fn value(
        &mut self,
        expression: &Expression<'s>,
        scope: &Scope<'s>,
        frame: &mut Frame<'s>,
    ) -> Option<Value> {
        match &expression.form {
            Form::Integer(value) => Some(frame.push(Node::Constant(*value as f64), INT)),
            Form::Float(value) => Some(frame.push(Node::Constant(*value), FLOAT)),
            Form::Name(name) => self.name(*name, scope, frame),
            Form::Extent { tensor, dimension } => {
                let extent = self.extent(*tensor, *dimension, expression.span, scope)?;
                Some(frame.push(Node::Constant(extent as f64), INT))
            }
            Form::Apply { name, arguments } => match scope.tensors.get(name.text) {
                Some(view) => self.access(view, *name, arguments, scope, frame),
                None => self.apply(*name, arguments, scope, frame),
            },
            Form::Cast { kind, value } => {
                let value = self.value(value, scope, frame)?;
                let same = kind.element() == value.kind.element() || (kind.is_float() && !value.kind.is_float());
                let node = if same { value.node } else { frame.body.push(Node::Cast(kind.element(), value.node)) };
                Some(Value { node, kind: *kind })
            }
            Form::Chain { first, rest } => self.chain(first, rest, scope, frame),
            Form::Prefix { operators, value } => self.prefixed(operators, value, scope, frame),
            Form::Choice { cases, otherwise } => self.choice(cases, otherwise, scope, frame),
        }
    }

    /// `first operator operand operator operand ...`
    fn chain(
        &mut self,
        first: &Expression<'s>,
        rest: &[(ast::Binary, Expression<'s>)],
        scope: &Scope<'s>,
        frame: &mut Frame<'s>,
    ) -> Option<Value> {
        let mut value = self.value(first, scope, frame);
        let mut place = first.span;
        for (operator, operand) in rest {
            // The right side of `&&` is evaluated where the left side holds, that of `||` where it does not.
            let outer = frame.path.len();
            if let Some(left) = value.filter(|left| operator.is_logical() && left.kind == Type::Bool) {
                frame.under(left.node, *operator == ast::Binary::And);
            }
            let right = self.value(operand, scope, frame);
            frame.path.truncate(outer);
            value = match (value, right) {
                (Some(left), Some(right)) => {
                    let divides = matches!(operator, ast::Binary::Div | ast::Binary::Rem);
                    let divisor = if divides { affine(operand, scope, frame) } else { None };
                    let divisor = divisor.and_then(|divisor| divisor.as_constant());
                    self.operation(*operator, (left, place), (right, operand.span), divisor, frame)
                }
                _ => None,
            };
            place = place.to(operand.span);
        }
        value
    }

    /// `-x`, `~x`, `!x`
    fn prefixed(
        &mut self,
        operators: &[Prefix],
        operand: &Expression<'s>,
        scope: &Scope<'s>,
        frame: &mut Frame<'s>,
    ) -> Option<Value> {
        let place = operand.span;
        let mut value = self.value(operand, scope, frame)?;
        for operator in operators.iter().rev() {
            value = match operator {
                Prefix::Neg => frame.push(Node::Unary(Unary::Neg, value.node), value.kind.arithmetic()),
                Prefix::Invert => {
                    self.require_integer(value, place)?;
                    frame.push(Node::Call(Function::BitNot, vec![value.node]), value.kind.arithmetic())
                }
                Prefix::Not => {
                    self.require_bool(value, place)?;
                    frame.push(Node::Unary(Unary::Not, value.node), Type::Bool)
                }
            };
        }
        Some(value)
    }

    /// `condition ? yes : otherwise`, with as many conditions as there are.
    fn choice(
        &mut self,
        cases: &[(Expression<'s>, Expression<'s>)],
        otherwise: &Expression<'s>,
        scope: &Scope<'s>,
        frame: &mut Frame<'s>,
    ) -> Option<Value> {
        let outer = frame.path.len();
        let mut values = Vec::new();
        for (condition, yes) in cases {
            let place = condition.span;
            let condition = self.value(condition, scope, frame);
            let condition = condition.and_then(|value| self.require_bool(value, place).map(|()| value));
            let before = frame.path.len();
            if let Some(condition) = condition {
                frame.under(condition.node, true);
            }
            values.push((condition, self.value(yes, scope, frame)));
            frame.path.truncate(before);
            if let Some(condition) = condition {
                frame.under(condition.node, false);
            }
        }
        let result = self.value(otherwise, scope, frame);
        frame.path.truncate(outer);
        let mut result = result?;
        for (condition, yes) in values.into_iter().rev() {
            let (condition, yes) = (condition?, yes?);
            let select = Node::Select { condition: condition.node, yes: yes.node, no: result.node };
            result = frame.push(select, yes.kind.promote(result.kind));
        }
        Some(result)
    }

    fn require_bool(&mut self, value: Value, place: Span) -> Option<()> {
        if value.kind == Type::Bool {
            return Some(());
        }
        let message = format!("a condition is a Boolean, this is {}", value.kind.name());
        self.report(Diagnostic::new(Code::Type, place, message).with_label("compare it with something: `x != 0`"));
        None
    }

    fn require_integer(&mut self, value: Value, place: Span) -> Option<()> {
        if !value.kind.is_float() {
            return Some(());
        }
        let message = format!("bits are those of integers, this is {}", value.kind.name());
        self.report(Diagnostic::new(Code::Type, place, message).with_label("convert it: `int32(...)`"));
        None
    }

    fn operation(
        &mut self,
        operator: ast::Binary,
        (left, left_place): (Value, Span),
        (right, right_place): (Value, Span),
        divisor: Option<i64>,
        frame: &mut Frame<'s>,
    ) -> Option<Value> {
        if operator.is_logical() {
            self.require_bool(left, left_place)?;
            self.require_bool(right, right_place)?;
        }
        if operator.of_bits().is_some() {
            self.require_integer(left, left_place)?;
            self.require_integer(right, right_place)?;
        }
        let common = left.kind.promote(right.kind);
        let kind = if operator.is_logical() || operator.is_comparison() { Type::Bool } else { common.arithmetic() };
        let integer = common.arithmetic().is_integer();
        let divides = matches!(operator, ast::Binary::Div | ast::Binary::Rem);
        let mut right = right.node;
        if divides && integer && divisor.is_none_or(|divisor| divisor == 0) {
            if divisor == Some(0) && !frame.is_never_taken() {
                self.report(Diagnostic::new(Code::Const, right_place, "division by zero").with_label("always zero"));
                return None;
            }
            if let Some(&condition) = frame.path.last() {
                let no = frame.body.push(Node::Constant(1.0));
                right = frame.body.push(Node::Select { condition, yes: right, no });
            }
        }
        if let Some(function) = operator.of_bits() {
            return Some(frame.push(Node::Call(function, vec![left.node, right]), kind));
        }
        let operator = match operator {
            ast::Binary::Or => Binary::Or,
            ast::Binary::And => Binary::And,
            ast::Binary::Lt => Binary::Lt,
            ast::Binary::Le => Binary::Le,
            ast::Binary::Gt => Binary::Gt,
            ast::Binary::Ge => Binary::Ge,
            ast::Binary::Eq => Binary::Eq,
            ast::Binary::Ne => Binary::Ne,
            ast::Binary::Add => Binary::Add,
            ast::Binary::Sub => Binary::Sub,
            ast::Binary::Mul => Binary::Mul,
            ast::Binary::Div if integer => Binary::DivFloor,
            ast::Binary::Div => Binary::Div,
            ast::Binary::Rem if integer => Binary::RemFloor,
            _ => {
                let place = left_place.to(right_place);
                self.report(
                    Diagnostic::new(Code::Type, place, "`%` is an operation on integers")
                        .with_label(format!("of type {}", common.name()))
                        .with_help("on real numbers, write `fmod(a, b)`"),
                );
                return None;
            }
        };
        Some(frame.push(Node::Binary(operator, left.node, right), kind))
    }

    /// A name without parentheses: a let, a size, a scalar tensor, or an index variable.
    fn name(&mut self, name: Name<'s>, scope: &Scope<'s>, frame: &mut Frame<'s>) -> Option<Value> {
        if let Some(bound) = frame.lets.get(name.text) {
            return Some(bound.value);
        }
        if let Some(&(size, _)) = scope.sizes.get(name.text) {
            return Some(frame.push(Node::Constant(size as f64), INT));
        }
        if let Some(view) = scope.tensors.get(name.text) {
            return self.access(view, name, &[], scope, frame);
        }
        self.forbid_function_name(name)?;
        let iterator = self.index_variable(name, frame)?;
        Some(frame.push(Node::Iterator(iterator), INT))
    }

    /// The iterator of an index variable, which may be new.
    pub(super) fn index_variable(&mut self, name: Name<'s>, frame: &mut Frame<'s>) -> Option<IterId> {
        if let Some(known) = frame.variable(name.text) {
            return Some(known);
        }
        let most = LOOPS * self.options.limits.rank;
        if frame.variables.len() >= most {
            let message = format!("a statement has at most {most} index variables");
            self.report(Diagnostic::new(Code::Limit, name.span, message).with_label("one more"));
            return None;
        }
        frame.variables.push(name);
        frame.stated.push(None);
        Some(IterId(frame.variables.len() - 1))
    }

    /// A name of a function of the original language is no name of a tensor, a parameter or an index.
    pub(super) fn forbid_function_name(&mut self, name: Name<'s>) -> Option<()> {
        if !functions::is_reserved(name.text) {
            self.warn_shadow(name);
            return Some(());
        }
        self.report(
            Diagnostic::new(Code::Redef, name.span, format!("`{}` is a function of the language", name.text))
                .with_label("not free for other use"),
        );
        None
    }

    /// Say, once, that a definition has the name of a built-in function.
    pub(super) fn warn_shadow(&mut self, name: Name<'s>) {
        if functions::known(name.text).is_some() && self.shadows.insert(name.text) {
            self.report(
                Diagnostic::new(
                    Code::WarnShadow,
                    name.span,
                    format!("`{}` takes the place of the built-in function", name.text),
                )
                .with_label("defined here")
                .with_help("from here on the name means this definition"),
            );
        }
    }

    /// `A.1`
    pub(super) fn extent(&mut self, tensor: Name<'s>, dimension: usize, place: Span, scope: &Scope<'s>) -> Option<i64> {
        let Some(view) = scope.tensors.get(tensor.text) else {
            self.undefined(tensor, "tensor", scope);
            return None;
        };
        let Some(&(low, high)) = view.domain.get(dimension) else {
            let rank = view.domain.len();
            self.report(
                Diagnostic::new(Code::Rank, place, format!("`{}` has {rank} dimensions", tensor.text))
                    .with_label("dimensions are counted from 0"),
            );
            return None;
        };
        Some(high - low)
    }

    pub(super) fn undefined(&mut self, name: Name<'s>, what: &str, scope: &Scope<'s>) {
        let diagnostic = Diagnostic::new(Code::Undef, name.span, format!("there is no {what} `{}` here", name.text))
            .with_label("not defined so far");
        self.report(
            match scope.nearest(name.text).or_else(|| crate::language::nearest(name.text, functions::names())) {
                Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
                None => diagnostic,
            },
        );
    }

    /// The node of an index and, where it has one, its affine form.
    fn subscript(
        &mut self,
        subscript: &Expression<'s>,
        scope: &Scope<'s>,
        frame: &mut Frame<'s>,
    ) -> Option<(NodeId, Option<Affine>)> {
        let before = frame.body.nodes.len();
        let value = self.value(subscript, scope, frame);
        let affine = affine(subscript, scope, frame);
        if let Some(value) = value
            && !(value.kind.is_integer() || value.kind == Type::Bool)
        {
            let message = format!("an index is an integer, this is {}", value.kind.name());
            self.report(
                Diagnostic::new(Code::Type, subscript.span, message)
                    .with_label("index")
                    .with_help("convert it: `int32(...)`"),
            );
            return None;
        }
        if affine.is_some() {
            // Its nodes are not needed; nothing refers to them.
            frame.body.nodes.truncate(before);
        }
        value.map(|value| (value.node, affine))
    }

    /// `A(i, j+1)`
    fn access(
        &mut self,
        view: &View,
        name: Name<'s>,
        index: &[Expression<'s>],
        scope: &Scope<'s>,
        frame: &mut Frame<'s>,
    ) -> Option<Value> {
        // The indices are looked at also if their number is wrong: they may introduce variables.
        let subscripts: Vec<_> = index.iter().map(|subscript| self.subscript(subscript, scope, frame)).collect();
        if index.len() != view.domain.len() {
            let rank = view.domain.len();
            let plural = if rank == 1 { "" } else { "s" };
            self.report(
                Diagnostic::new(Code::Rank, name.span, format!("`{}` has {rank} dimension{plural}", name.text))
                    .with_label(format!("{} given", index.len()))
                    .with_note(view.span, "its declaration or last assignment"),
            );
            return None;
        }
        let subscripts: Vec<(NodeId, Option<Affine>)> = subscripts.into_iter().collect::<Option<_>>()?;
        for ((_, affine), &(low, high)) in subscripts.iter().zip(&view.domain) {
            if let Some(index) = affine {
                let guarded = !frame.path.is_empty();
                frame.constraints.push(Constraint { index: index.clone(), low, high, span: name.span, guarded });
            }
        }
        let taken = frame.path.last().copied();
        let affine = subscripts.iter().all(|(_, affine)| affine.is_some());
        let mut index = Vec::new();
        if taken.is_some() || !affine {
            for ((node, affine), &(base, _)) in subscripts.iter().zip(&view.domain) {
                let node = affine.as_ref().map_or(*node, |affine| affine_node(affine, frame));
                let base = frame.body.push(Node::Constant(base as f64));
                index.push(frame.body.push(Node::Binary(Binary::Sub, node, base)));
            }
        }
        let places: Vec<Place> = match taken {
            Some(taken) => {
                index.iter().zip(&view.domain).map(|(&node, &range)| frame.place(node, range, taken)).collect()
            }
            None => Vec::new(),
        };
        let node = if affine {
            let affine = subscripts.into_iter().filter_map(|(_, affine)| affine);
            let bases = view.domain.iter().map(|&(low, _)| Affine::constant(low));
            Node::Read {
                tensor: view.tensor,
                index: affine.zip(bases).map(|(index, base)| index.plus(-1, &base)).collect(),
            }
        } else {
            Node::Gather { tensor: view.tensor, index }
        };
        let value = frame.push(node, view.kind);
        if let Some(taken) = taken {
            frame.guarded.push(Guarded { read: value.node, tensor: view.tensor, taken, places, span: name.span });
        }
        Some(value)
    }

    /// `exp(x)`
    fn apply(
        &mut self,
        name: Name<'s>,
        arguments: &[Expression<'s>],
        scope: &Scope<'s>,
        frame: &mut Frame<'s>,
    ) -> Option<Value> {
        let own = self.is_visible(name.text);
        let known = functions::known(name.text).filter(|_| !own);
        if known.is_none() {
            if self.is_function(name.text) {
                // Its arguments may be whole tensors: nothing to look at in them.
                self.report(
                    Diagnostic::new(
                        Code::Unsupported,
                        name.span,
                        "a call of a function of this file is a statement of its own",
                    )
                    .with_label("call inside an expression")
                    .with_help(format!("write `result = {}(...)` first, with names as arguments", name.text)),
                );
                return None;
            }
            self.undefined(name, "tensor or function", scope);
        }
        let values: Vec<_> = arguments.iter().map(|argument| self.value(argument, scope, frame)).collect();
        let (arity, known) = known?;
        if arity != values.len() {
            let plural = if arity == 1 { "" } else { "s" };
            self.report(
                Diagnostic::new(Code::Arity, name.span, format!("`{}` has {arity} argument{plural}", name.text))
                    .with_label(format!("{} given", values.len())),
            );
            return None;
        }
        let values: Vec<Value> = values.into_iter().collect::<Option<_>>()?;
        let common = values.iter().skip(1).fold(values.first()?.kind, |kind, value| kind.promote(value.kind));
        let nodes: Vec<NodeId> = values.iter().map(|value| value.node).collect();
        match known {
            Known::Extreme(operator) => Some(frame.push(Node::Binary(operator, nodes[0], nodes[1]), common)),
            Known::Operator(operator) => {
                Some(frame.push(Node::Binary(operator, nodes[0], nodes[1]), common.promote(FLOAT)))
            }
            Known::Call(function) => Some(frame.push(Node::Call(function, nodes), common.promote(FLOAT))),
            Known::Norm => Some(norm(&nodes, common.promote(FLOAT), frame)),
            Known::InverseNorm => {
                let norm = norm(&nodes, common.promote(FLOAT), frame);
                let one = frame.body.push(Node::Constant(1.0));
                Some(frame.push(Node::Binary(Binary::Div, one, norm.node), norm.kind))
            }
        }
    }
}

/// The affine form of an index expression over the index variables, if it has one.
fn affine<'s>(expression: &Expression<'s>, scope: &Scope<'s>, frame: &Frame<'s>) -> Option<Affine> {
    let form = match &expression.form {
        Form::Integer(value) => Affine::constant(*value),
        Form::Name(name) => {
            if let Some(bound) = frame.lets.get(name.text) {
                return bound.affine.clone();
            }
            match scope.sizes.get(name.text) {
                Some(&(size, _)) => Affine::constant(size),
                None => Affine::iterator(frame.variable(name.text)?),
            }
        }
        Form::Extent { tensor, dimension } => {
            let &(low, high) = scope.tensors.get(tensor.text)?.domain.get(*dimension)?;
            Affine::constant(high - low)
        }
        Form::Cast { kind, value } if kind.is_integer() => affine(value, scope, frame)?,
        Form::Prefix { operators, value } if operators.iter().all(|operator| *operator == Prefix::Neg) => {
            let value = affine(value, scope, frame)?;
            if operators.len() % 2 == 0 { value } else { scaled(&value, -1)? }
        }
        Form::Chain { first, rest } => {
            let mut left = affine(first, scope, frame)?;
            for (operator, operand) in rest {
                let right = affine(operand, scope, frame)?;
                left = combined(*operator, &left, &right)?;
            }
            left
        }
        _ => return None,
    };
    small(&form).then_some(form)
}

fn small(form: &Affine) -> bool {
    form.offset.abs() <= LARGEST && form.terms.iter().all(|(_, coefficient)| coefficient.abs() <= LARGEST)
}

fn scaled(form: &Affine, factor: i64) -> Option<Affine> {
    let fits = |value: i64| value.checked_mul(factor).is_some_and(|value| value.abs() <= LARGEST);
    let all = fits(form.offset) && form.terms.iter().all(|&(_, coefficient)| fits(coefficient));
    all.then(|| Affine::default().plus(factor, form))
}

fn combined(operator: ast::Binary, left: &Affine, right: &Affine) -> Option<Affine> {
    let result = match (operator, left.as_constant(), right.as_constant()) {
        (ast::Binary::Add, _, _) => left.plus(1, right),
        (ast::Binary::Sub, _, _) => left.plus(-1, right),
        (ast::Binary::Mul, Some(factor), _) => scaled(right, factor)?,
        (ast::Binary::Mul, _, Some(factor)) => scaled(left, factor)?,
        (ast::Binary::Div, Some(a), Some(b)) if b != 0 => Affine::constant(divided(a, b).0),
        (ast::Binary::Rem, Some(a), Some(b)) if b != 0 => Affine::constant(divided(a, b).1),
        _ => return None,
    };
    small(&result).then_some(result)
}

/// Quotient towards minus infinity, and the remainder with the sign of the divisor.
pub(super) fn divided(a: i64, b: i64) -> (i64, i64) {
    let quotient = a.div_euclid(b) - i64::from(b < 0 && a.rem_euclid(b) != 0);
    (quotient, a - quotient * b)
}

/// The root of the sum of squares.
fn norm(nodes: &[NodeId], kind: Type, frame: &mut Frame) -> Value {
    let squares: Vec<NodeId> =
        nodes.iter().map(|&node| frame.body.push(Node::Binary(Binary::Mul, node, node))).collect();
    let add = |sum, &square: &NodeId| frame.body.push(Node::Binary(Binary::Add, sum, square));
    let sum = squares[1..].iter().fold(squares[0], add);
    frame.push(Node::Call(Function::Sqrt, vec![sum]), kind)
}

/// Nodes that compute an affine form.
fn affine_node(form: &Affine, frame: &mut Frame) -> NodeId {
    let mut sum = frame.body.push(Node::Constant(form.offset as f64));
    for &(iterator, coefficient) in &form.terms {
        let iterator = frame.body.push(Node::Iterator(iterator));
        let factor = frame.body.push(Node::Constant(coefficient as f64));
        let product = frame.body.push(Node::Binary(Binary::Mul, iterator, factor));
        sum = frame.body.push(Node::Binary(Binary::Add, sum, product));
    }
    sum
}
