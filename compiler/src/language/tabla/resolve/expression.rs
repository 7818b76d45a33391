//! Expressions: what is read, which iterators are bound there, which the body of a group mentions.

use super::names::Symbol;
use super::{Expression, Group, IteratorId, Kind, Read, Resolver, Subscript, VariableId};
use crate::language::tabla::ast::{self, Bound, Form};
use arch::{Code, Diagnostic, Span};

impl<'s> Resolver<'s, '_> {
    /// The expression without names; `None` if something in it was wrong (and is reported).
    pub(super) fn expression(&mut self, expression: &ast::Expression<'s>) -> Option<Expression> {
        match &expression.form {
            Form::Number { value, .. } => Some(Expression::Number(*value)),
            Form::Variable(variable) => self.value(variable),
            Form::Chain { first, rest } => {
                let first = self.expression(first);
                // Look at every operand, also after an error: each may have one of its own.
                let rest: Vec<_> =
                    rest.iter().map(|(operator, operand)| (*operator, self.expression(operand))).collect();
                let rest =
                    rest.into_iter().map(|(operator, operand)| Some((operator, operand?))).collect::<Option<_>>()?;
                Some(Expression::Chain { first: Box::new(first?), rest })
            }
            Form::Group { kind, iterator: None, open, body } => {
                let body = self.expression(body);
                if *kind == ast::Group::Norm {
                    return Some(Expression::Square(Box::new(body?)));
                }
                let keyword = kind.keyword();
                self.report(
                    Diagnostic::new(Code::Arity, *open, format!("`{keyword}` needs an iterator"))
                        .with_label("missing `[iterator]`")
                        .with_help(format!("write `{keyword}[i](...)` with a declared iterator")),
                );
                None
            }
            Form::Group { kind, iterator: Some(iterator), body, .. } => {
                self.group(*kind, *iterator, body, expression.span)
            }
            Form::Call { iterator: Some(iterator), .. } => {
                self.report(
                    Diagnostic::new(Code::Arity, iterator.span, "a function of one number has no iterator")
                        .with_label("not allowed here")
                        .with_help("only sum, pi and norm run over an iterator"),
                );
                None
            }
            Form::Loss { loss, prediction, label } => self.loss(*loss, prediction, label, expression.span),
            Form::Call { function, iterator: None, body } => {
                let body = self.expression(body);
                Some(Expression::Call(*function, Box::new(body?)))
            }
        }
    }

    fn group(
        &mut self,
        kind: ast::Group,
        name: ast::Name<'s>,
        body: &ast::Expression<'s>,
        span: Span,
    ) -> Option<Expression> {
        let iterator = match self.lookup(name) {
            Some(Symbol::Iterator(iterator)) => iterator,
            Some(symbol) => {
                let found = self.describe(symbol);
                let message = format!("`{}` runs over an iterator, `{}` is {found}", kind.keyword(), name.text);
                self.report(Diagnostic::new(Code::Kind, name.span, message).with_label("no iterator"));
                return None;
            }
            None => return None,
        };
        self.program.iterators[iterator.0].used = true;
        if self.bound.contains(&iterator) {
            self.report(
                Diagnostic::new(Code::Shadow, name.span, format!("the iterator `{}` is already bound here", name.text))
                    .with_label("bound by the left side or an operator around this one")
                    .with_help("declare a second iterator with the same range"),
            );
            return None;
        }
        self.bound.push(iterator);
        let outside = std::mem::take(&mut self.mentioned);
        let body = self.expression(body);
        self.bound.pop();
        let mut free = std::mem::replace(&mut self.mentioned, outside);
        free.retain(|mentioned| *mentioned != iterator);
        for mentioned in &free {
            self.mention(*mentioned);
        }
        free.sort_by_key(|mentioned| self.bound.iter().position(|bound| bound == mentioned));
        Some(Expression::Group(Group { kind, iterator, free, body: Box::new(body?), span }))
    }

    fn mention(&mut self, iterator: IteratorId) {
        if !self.mentioned.contains(&iterator) {
            self.mentioned.push(iterator);
        }
    }

    fn value(&mut self, variable: &ast::Variable<'s>) -> Option<Expression> {
        let name = variable.name;
        let id = match self.lookup(name)? {
            Symbol::Variable(id) => id,
            Symbol::Constant { value, .. } if variable.subscripts.is_empty() => return Some(Expression::Number(value)),
            Symbol::Constant { .. } => {
                self.report(
                    Diagnostic::new(Code::Rank, variable.span, format!("the constant `{}` has no elements", name.text))
                        .with_label("subscripts on a number"),
                );
                return None;
            }
            Symbol::Iterator(_) => {
                self.report(
                    Diagnostic::new(Code::Kind, name.span, format!("the iterator `{}` is not a value", name.text))
                        .with_label("used as a number")
                        .with_help("iterators may only stand in subscripts; supply such numbers as a model_input"),
                );
                return None;
            }
            Symbol::Broken => return None,
        };
        self.program.variables[id.0].read = true;
        let bound = std::mem::take(&mut self.bound);
        let subscripts = self.subscripts(&variable.subscripts, Some(&bound));
        self.bound = bound;
        for subscript in subscripts.iter().flatten() {
            if let Subscript::Iterator(iterator) = *subscript {
                self.mention(iterator);
            }
        }
        if self.program.variables[id.0].shape.len() != variable.subscripts.len() {
            self.rank_mismatch(variable, id);
            return None;
        }
        let subscripts = subscripts?;
        if self.program.variables[id.0].kind != Kind::Interim && !self.bounds(variable, id, &subscripts) {
            return None;
        }
        Some(Expression::Read(Read { variable: id, subscripts, span: variable.span }))
    }

    /// Subscripts without names; on the right side (`bound` given) their iterators must be bound.
    pub(super) fn subscripts(
        &mut self,
        subscripts: &[Bound<'s>],
        bound: Option<&[IteratorId]>,
    ) -> Option<Vec<Subscript>> {
        let most = self.options.limits.rank;
        if let Some(beyond) = subscripts.get(most) {
            let message = format!("{} subscripts", subscripts.len());
            self.report(Diagnostic::new(Code::Limit, beyond.span(), message).with_label(format!("at most {most}")));
            return None;
        }
        let resolved: Vec<_> = subscripts.iter().map(|subscript| self.subscript(subscript, bound)).collect();
        resolved.into_iter().collect()
    }

    fn subscript(&mut self, subscript: &Bound<'s>, bound: Option<&[IteratorId]>) -> Option<Subscript> {
        let name = match subscript {
            Bound::Integer(value, _) => return Some(Subscript::Constant(*value)),
            Bound::Name(name) => *name,
        };
        match self.lookup(name)? {
            Symbol::Iterator(iterator) => {
                self.program.iterators[iterator.0].used = true;
                if bound.is_some_and(|bound| !bound.contains(&iterator)) {
                    self.report(
                        Diagnostic::new(Code::FreeIndex, name.span, format!("nothing runs over `{}` here", name.text))
                            .with_label("free iterator")
                            .with_help(format!(
                                "put `[{0}]` on the left side, or reduce with `sum[{0}](...)`",
                                name.text
                            )),
                    );
                    return None;
                }
                Some(Subscript::Iterator(iterator))
            }
            Symbol::Constant { value, integer: true } => Some(Subscript::Constant(value as i64)),
            symbol => {
                let found = self.describe(symbol);
                self.report(
                    Diagnostic::new(Code::Kind, name.span, format!("a subscript cannot be {found}"))
                        .with_label("iterator, integer constant or integer expected"),
                );
                None
            }
        }
    }

    /// First and one past the last value of a subscript.
    pub(super) fn values(&self, subscript: Subscript) -> (i64, i64) {
        match subscript {
            Subscript::Constant(value) => (value, value.saturating_add(1)),
            Subscript::Iterator(iterator) => {
                let range = &self.program.iterators[iterator.0];
                (range.low, range.high)
            }
        }
    }

    /// Check subscripts against declared extents.
    pub(super) fn bounds(&mut self, variable: &ast::Variable<'s>, id: VariableId, subscripts: &[Subscript]) -> bool {
        let declared = self.program.variables[id.0].span;
        for (dimension, (&subscript, place)) in subscripts.iter().zip(&variable.subscripts).enumerate() {
            let (low, high) = self.values(subscript);
            let extent = i64::from(self.program.variables[id.0].shape[dimension]);
            if low >= 0 && high <= extent {
                continue;
            }
            let label = match subscript {
                Subscript::Constant(value) => format!("index {value}, the extent is {extent}"),
                Subscript::Iterator(_) => format!("runs from {low} to {}, the extent is {extent}", high - 1),
            };
            let message = format!("dimension {} of `{}` is left", dimension + 1, variable.name.text);
            self.report(
                Diagnostic::new(Code::Bounds, place.span(), message)
                    .with_label(label)
                    .with_note(declared, "declared here"),
            );
            return false;
        }
        true
    }
}
