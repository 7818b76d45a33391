//! Assignments: constants (`m = 3;`), interims that grow with what is assigned, and what may be assigned at all.

use super::names::Symbol;
use super::{Expression, Kind, RATE, Resolver, Statement, Subscript, VariableId, no_rate};
use crate::language::tabla::ast;
use crate::tensor::Function;
use arch::{Code, Diagnostic, Span};

impl<'s> Resolver<'s, '_> {
    pub(super) fn assign(&mut self, target: &ast::Variable<'s>, value: &ast::Expression<'s>, span: Span) {
        let name = target.name;
        let known = self.names.get(name.text);
        if let (ast::Form::Number { value, integer }, true) = (&value.form, target.subscripts.is_empty())
            && matches!(known, None | Some(Symbol::Constant { .. }))
        {
            self.define(name, *value, *integer);
            return;
        }
        if name.text == RATE
            && self.learns
            && target.subscripts.is_empty()
            && matches!(known, None | Some(Symbol::Constant { .. }))
        {
            self.rate(name, value);
            return;
        }
        // The left side's iterators are bound in the value, but its name is not defined there yet.
        let subscripts = self.subscripts(&target.subscripts, None);
        let mut left = Vec::new();
        for subscript in subscripts.iter().flatten() {
            if let Subscript::Iterator(iterator) = *subscript
                && !left.contains(&iterator)
            {
                left.push(iterator);
            }
        }
        self.bound.clone_from(&left);
        let value = if subscripts.is_some() { self.expression(value) } else { None };
        self.bound.clear();
        self.mentioned.clear();
        let target_id = self.target(target, known, subscripts.as_deref());
        if let (Some(target), Some(subscripts), Some(value)) = (target_id, subscripts, value) {
            self.program.statements.push(Statement { target, subscripts, left, value, span });
        }
    }

    /// `mu = 0.1 * 2;`: the learning rate is a number, so it is computed here.
    fn rate(&mut self, name: ast::Name<'s>, value: &ast::Expression<'s>) {
        if self.names.overridden(name.text).is_some() {
            self.define(name, 0.0, false);
            return;
        }
        let span = value.span;
        let value = self.expression(value);
        self.mentioned.clear();
        match value.as_ref().map(|value| self.number(value)) {
            Some(Some(value)) if value.is_finite() => self.define(name, value, false),
            Some(Some(value)) => {
                let message = format!("the learning rate `{}` is {value}", name.text);
                self.report(Diagnostic::new(Code::Const, span, message).with_label("not a finite number"));
                self.names.insert(name.text, Symbol::Broken, name.span);
            }
            Some(None) => {
                self.report(no_rate(span, "is computed from values of the program"));
                self.names.insert(name.text, Symbol::Broken, name.span);
            }
            None => self.names.insert(name.text, Symbol::Broken, name.span),
        }
    }

    /// The value of an expression that reads nothing.
    fn number(&self, expression: &Expression) -> Option<f64> {
        match expression {
            Expression::Number(value) => Some(*value),
            Expression::Chain { first, rest } => {
                rest.iter().try_fold(self.number(first)?, |value, (operator, operand)| {
                    let operand = self.number(operand)?;
                    Some(match operator {
                        ast::Operator::Add => value + operand,
                        ast::Operator::Sub => value - operand,
                        ast::Operator::Mul => value * operand,
                        ast::Operator::Less => f64::from(u8::from(value < operand)),
                        ast::Operator::Greater => f64::from(u8::from(value > operand)),
                    })
                })
            }
            Expression::Square(body) => self.number(body).map(|value| value * value),
            // Mean and deviation of a Gaussian are options of the tool.
            Expression::Call(Function::Gaussian, _) | Expression::Read(_) | Expression::Loss { .. } => None,
            Expression::Call(function, body) => Some(function.value([self.number(body)?, 0.0, 0.0])),
            Expression::Group(group) => {
                let value = self.number(&group.body)?;
                let range = &self.program.iterators[group.iterator.0];
                let count = (range.high - range.low) as f64;
                Some(match group.kind {
                    ast::Group::Sum => value * count,
                    ast::Group::Product => libm::pow(value, count),
                    ast::Group::Norm => value * value * count,
                })
            }
        }
    }

    /// `m = 3;`
    pub(super) fn define(&mut self, name: ast::Name<'s>, value: f64, integer: bool) {
        let overridden = self.names.overridden(name.text);
        if let (None, Some((Symbol::Constant { .. }, first))) = (overridden, self.names.peek(name.text)) {
            self.report(
                Diagnostic::new(
                    Code::WarnConstRedef,
                    name.span,
                    format!("the constant `{}` is defined again", name.text),
                )
                .with_label("changes its value from here on; extents declared above stay")
                .with_note(first, "defined here before"),
            );
        }
        let symbol = overridden.unwrap_or(Symbol::Constant { value, integer });
        self.names.insert(name.text, symbol, name.span);
    }

    /// The variable a statement assigns; a new name becomes an interim.
    pub(super) fn target(
        &mut self,
        target: &ast::Variable<'s>,
        known: Option<Symbol>,
        subscripts: Option<&[Subscript]>,
    ) -> Option<VariableId> {
        let name = target.name;
        let fault =
            |code: Code, message: String, label: &str| Diagnostic::new(code, name.span, message).with_label(label);
        let id = match known {
            Some(Symbol::Broken) => return None,
            Some(Symbol::Iterator(_)) => {
                self.report(fault(
                    Code::Kind,
                    format!("`{}` is an iterator and cannot be assigned", name.text),
                    "an iterator",
                ));
                return None;
            }
            Some(Symbol::Variable(id)) => id,
            Some(Symbol::Constant { .. }) if !target.subscripts.is_empty() => {
                self.report(fault(
                    Code::Kind,
                    format!("`{}` is a constant and has no elements", name.text),
                    "a constant",
                ));
                return None;
            }
            Some(Symbol::Constant { .. }) | None => {
                let Some(subscripts) = subscripts else {
                    self.names.insert(name.text, Symbol::Broken, name.span);
                    return None;
                };
                self.variable(name, Kind::Interim, vec![0; subscripts.len()])
            }
        };
        let variable = &self.program.variables[id.0];
        if variable.kind == Kind::Input {
            let declared = variable.span;
            self.report(
                fault(Code::Immut, format!("`{}` is a model input and cannot be assigned", name.text), "assigned here")
                    .with_note(declared, "declared here")
                    .with_help("assign another name; it needs no declaration"),
            );
            return None;
        }
        self.program.variables[id.0].assigned = true;
        let subscripts = subscripts?;
        let rank = self.program.variables[id.0].shape.len();
        if rank != target.subscripts.len() {
            self.rank_mismatch(target, id);
            return None;
        }
        let inside = self.inside(target, id, subscripts);
        inside.then_some(id)
    }

    /// Grow an interim to hold what is assigned, or check the declared bounds.
    pub(super) fn inside(&mut self, target: &ast::Variable<'s>, id: VariableId, subscripts: &[Subscript]) -> bool {
        if self.program.variables[id.0].kind != Kind::Interim {
            return self.bounds(target, id, subscripts);
        }
        let mut shape = std::mem::take(&mut self.program.variables[id.0].shape);
        let mut good = true;
        for ((extent, subscript), place) in shape.iter_mut().zip(subscripts).zip(&target.subscripts) {
            let (low, high) = self.values(*subscript);
            if low < 0 {
                self.report(
                    Diagnostic::new(Code::Bounds, place.span(), format!("index {low} is below 0"))
                        .with_label("negative index"),
                );
                good = false;
            }
            *extent = (*extent).max(u32::try_from(high.max(1)).unwrap_or(u32::MAX));
        }
        good = good && self.fits(target.name.text, target.span, &shape, &self.options.limits);
        self.program.variables[id.0].shape = shape;
        good
    }

    pub(super) fn rank_mismatch(&mut self, variable: &ast::Variable<'s>, id: VariableId) {
        let declared = &self.program.variables[id.0];
        let (span, rank, count) = (declared.span, declared.shape.len(), variable.subscripts.len());
        let plural = if rank == 1 { "" } else { "s" };
        self.report(
            Diagnostic::new(
                Code::Rank,
                variable.span,
                format!("`{}` has {rank} dimension{plural}", variable.name.text),
            )
            .with_label(format!("{count} given"))
            .with_note(span, "its first place"),
        );
    }
}
