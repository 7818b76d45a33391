//! Declarations: extents, ranges, links, and that every name is declared once.

use super::names::Symbol;
use super::{IteratorId, Kind, Range, Resolver, Variable, VariableId};
use crate::language::Limits;
use crate::language::tabla::ast::{self, Bound};
use arch::{Code, Diagnostic, Span};

impl<'s> Resolver<'s, '_> {
    /// Enter a variable into the namespace, unless its extents are wrong or its name is taken.
    pub(super) fn declare(&mut self, variable: &ast::Variable<'s>, kind: Kind) -> Option<VariableId> {
        let shape = self.extents(variable);
        if !self.free_name(variable.name) {
            return None;
        }
        let Some(shape) = shape else {
            self.names.insert(variable.name.text, Symbol::Broken, variable.name.span);
            return None;
        };
        let id = self.variable(variable.name, kind, shape);
        Some(id)
    }

    pub(super) fn variable(&mut self, name: ast::Name<'s>, kind: Kind, shape: Vec<u32>) -> VariableId {
        let id = VariableId(self.program.variables.len());
        self.names.insert(name.text, Symbol::Variable(id), name.span);
        self.program.variables.push(Variable {
            name: name.text,
            span: name.span,
            kind,
            shape,
            assigned: false,
            read: false,
        });
        id
    }

    /// Report a name that is declared twice.
    pub(super) fn free_name(&mut self, name: ast::Name<'s>) -> bool {
        let Some((_, first)) = self.names.peek(name.text) else { return true };
        self.report(
            Diagnostic::new(Code::Redef, name.span, format!("`{}` is declared twice", name.text))
                .with_label("second declaration")
                .with_note(first, "first declaration"),
        );
        false
    }

    pub(super) fn extents(&mut self, variable: &ast::Variable<'s>) -> Option<Vec<u32>> {
        let limits = self.options.limits;
        let mut shape = Vec::new();
        for extent in &variable.subscripts {
            let value = self.constant(extent, "an extent")?;
            if value < 1 {
                self.report(
                    Diagnostic::new(Code::Range, extent.span(), format!("an extent is at least 1, not {value}"))
                        .with_label("no elements"),
                );
                return None;
            }
            shape.push(u32::try_from(value).unwrap_or(u32::MAX));
        }
        self.fits(variable.name.text, variable.span, &shape, &limits).then_some(shape)
    }

    /// Check rank and number of elements.
    pub(super) fn fits(&mut self, name: &str, span: Span, shape: &[u32], limits: &Limits) -> bool {
        if shape.len() > limits.rank {
            self.report(
                Diagnostic::new(Code::Limit, span, format!("`{name}` has {} dimensions", shape.len()))
                    .with_label(format!("at most {} dimensions", limits.rank)),
            );
            return false;
        }
        let elements = shape.iter().fold(1u64, |product, &extent| product.saturating_mul(u64::from(extent)));
        if elements > limits.elements {
            self.report(
                Diagnostic::new(Code::Limit, span, format!("`{name}` has more than {} elements", limits.elements))
                    .with_label("too large"),
            );
            return false;
        }
        true
    }

    /// The integer that a bound, an extent or a constant subscript stands for.
    pub(super) fn constant(&mut self, bound: &Bound<'s>, what: &str) -> Option<i64> {
        match bound {
            Bound::Integer(value, _) => Some(*value),
            Bound::Name(name) => match self.lookup(*name)? {
                Symbol::Constant { value, integer: true } => Some(value as i64),
                symbol => {
                    let found = self.describe(symbol);
                    self.report(
                        Diagnostic::new(
                            Code::Kind,
                            name.span,
                            format!("{what} is an integer constant, `{}` is {found}", name.text),
                        )
                        .with_label("no integer constant"),
                    );
                    None
                }
            },
        }
    }

    pub(super) fn iterate(&mut self, iterator: &ast::Iterator<'s>) {
        let low = self.constant(&iterator.low, "a bound");
        let high = self.constant(&iterator.high, "a bound");
        if !self.free_name(iterator.name) {
            return;
        }
        let symbol = match (low, high) {
            (Some(low), Some(high)) if low < high => {
                let id = IteratorId(self.program.iterators.len());
                let name = iterator.name.text;
                self.program.iterators.push(Range { name, low, high, span: iterator.name.span, used: false });
                Symbol::Iterator(id)
            }
            (Some(low), Some(high)) => {
                let span = iterator.low.span().to(iterator.high.span());
                self.report(
                    Diagnostic::new(Code::Range, span, format!("the range {low}:{high} is empty"))
                        .with_label(format!("{low}, ..., {}", i128::from(high) - 1))
                        .with_help("the last value is one below the second bound"),
                );
                Symbol::Broken
            }
            _ => Symbol::Broken,
        };
        self.names.insert(iterator.name.text, symbol, iterator.name.span);
    }

    pub(super) fn link(&mut self, gradient: &ast::Variable<'s>, target: &ast::Variable<'s>) {
        let shape = self.extents(gradient);
        let model = self.lookup(target.name);
        let fault = |label: String| {
            let name = gradient.name.text;
            Diagnostic::new(
                Code::Link,
                target.span,
                format!("gradient `{name}` cannot be linked to `{}`", target.name.text),
            )
            .with_label(label)
        };
        let mut linked = None;
        match (model, &shape) {
            (Some(Symbol::Variable(model)), Some(shape)) if self.program.variables[model.0].kind == Kind::Model => {
                let declared = self.program.variables[model.0].shape.clone();
                let written = if target.subscripts.is_empty() { Some(declared.clone()) } else { self.extents(target) };
                if let Some(&first) = self.linked.get(&model) {
                    self.report(fault("this model has a gradient already".into()).with_note(first, "first gradient"));
                } else if *shape != declared || written.is_some_and(|written| written != declared) {
                    let span = self.program.variables[model.0].span;
                    self.report(
                        fault(format!("the gradient has shape {shape:?}, the model {declared:?}"))
                            .with_note(span, "the model"),
                    );
                } else {
                    self.linked.insert(model, gradient.name.span);
                    linked = Some(model);
                }
            }
            (Some(Symbol::Variable(model)), None) if self.program.variables[model.0].kind == Kind::Model => {}
            (Some(symbol), _) => {
                let found = self.describe(symbol);
                self.report(fault(format!("{found}, not a model")));
            }
            (None, _) => {}
        }
        if let (Some(model), Some(shape)) = (linked, shape) {
            if self.free_name(gradient.name) {
                self.variable(gradient.name, Kind::Gradient { model, link: gradient.span.to(target.span) }, shape);
            }
        } else if self.names.peek(gradient.name.text).is_none() {
            self.names.insert(gradient.name.text, Symbol::Broken, gradient.name.span);
        }
    }
}
